"""From the columns of a table to coordinates for kernels.

Every rule is fitted to the rows of training alone, and kept as plain values:

* *numbers* are centred and divided by their standard deviation; a column with values beyond six of
  them is transformed first, asinh((x - median) / spread), which is linear near the middle and
  logarithmic far out; new values are clipped at one unit beyond the training range;
* *sentinels*: a value such as -999 or 99999 that repeats, is an end of the column and lies further
  out than twice the range of all others, is a missing value; so is one of -99 or below among
  numbers that are all >= 0, whatever their range, and one of 99 or above among numbers <= 0;
* *missing* numbers and dates become the median, with an additional column that indicates them;
  missing labels are a separate label;
* *labels* have a coordinate for each of the 40 most frequent levels that occur twice; any others
  share one, and are told apart by a coordinate for the frequency of the label and some for its
  letters;
* *text* is encoded by its most informative combinations of two to four letters; kernels on whole
  texts come later;
* *dates* are a trend and positions in the year, the week and the day.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..frames import distinct, pandas
from .dates import cycles_of, on_circle
from .roles import Table

LEVELS = 40  # levels of a label with their own coordinate
_FAR = 6.0  # standard deviations
_FEW = 10  # columns with at most this many different values are not transformed
_STEP = 1.4  # the distance of two labels; the typical difference of two numbers is 1.1
_SENTINELS = {s * (10.0**k - 1) for k in range(1, 7) for s in (1, -1)}
_SENTINELS |= {s * x for x in (88.0, 888.0, 8888.0) for s in (1, -1)}
_SENTINELS |= {-1.0, 32767.0, -32768.0, 2147483647.0, -2147483648.0}
_ODD = 99.0  # from here on, the only value of its sign is a sentinel
_HASHES = 4096  # places for combinations of letters
_TEXT, _NAMES = 32, 8  # coordinates from letters: of text, of labels


@dataclass
class Encoded:
    """Rows as coordinates, with their names and columns, and texts.

    ``own`` is the table in its own units, without gaps, if a kernel needs it.
    """

    Z: np.ndarray
    names: list[str]
    sources: list[str]
    texts: dict[str, list[str]]
    own: Table = None

    def __len__(self) -> int:
        return len(self.Z)

    def take(self, rows: Any) -> Encoded:
        """Some of the rows."""
        texts = {n: [t[i] for i in np.arange(len(t))[rows]] for n, t in self.texts.items()}
        own = None if self.own is None else self.own.iloc[rows].reset_index(drop=True)
        return Encoded(self.Z[rows], self.names, self.sources, texts, own)


def learn_parts(table: Table, roles: dict[str, str]) -> list[dict[str, Any]]:
    """What is needed to encode a tidy table, column by column."""
    known: set[bytes] = set()
    parts = []
    for name, role in roles.items():
        values = table[name].to_numpy()
        part: dict[str, Any] = {"column": str(name), "role": role}
        if role == "number":
            part |= _learn_number(values.astype(float))
        elif role == "date":
            part |= _learn_date(values.astype(float))
        elif role == "label":
            part |= _learn_label(values)
        else:
            part |= {"letters": _learn_letters(_strings(values), _TEXT)}
        if role in ("number", "date"):
            mask = np.packbits(~np.isfinite(without_sentinels(part, values.astype(float))))
            part["says_missing"] = bool(mask.any()) and mask.tobytes() not in known
            known.add(mask.tobytes())
        parts.append(part)
    return parts


def encode(parts: list[dict[str, Any]], table: Table) -> Encoded:
    """The coordinates of a tidy table."""
    blocks, names, sources, texts = [], [], [], {}
    for part in parts:
        name, values = part["column"], table[part["column"]].to_numpy()
        block, labels = _ENCODERS[part["role"]](part, values)
        blocks.append(block)
        names += [f"{name}{label}" for label in labels]
        sources += [name] * len(labels)
        if part["role"] == "text":
            texts[name] = _strings(values)
    Z = np.concatenate(blocks, axis=1) if blocks else np.empty((len(table), 0))
    return Encoded(Z, names, sources, texts)


def completed(parts: list[dict[str, Any]], table: Table) -> Table:
    """A tidy table in its own units, without gaps: medians, and the label "missing"."""
    columns = {}
    for part in parts:
        values = table[part["column"]].to_numpy()
        if part["role"] in ("number", "date"):
            values = without_sentinels(part, values.astype(float))
            values = np.where(np.isfinite(values), values, part["median"])
        else:
            values = np.array([x or "" for x in values.tolist()], dtype=object)
        columns[part["column"]] = values
    return type(table)(columns)


def words_of(part: dict[str, Any]) -> str:
    """What was done to a column, for the report; or nothing."""
    said = []
    if part.get("sentinels"):
        said.append(f"{', '.join(f'{x:g}' for x in part['sentinels'])} counts as missing")
    if part.get("bend"):
        said.append("long tails, so transformed")
    if part.get("missing"):
        said.append(f"{part['missing']} missing")
    if part.get("others"):
        said.append(f"{part['others']} rare labels count as one")
    if part.get("cycles"):
        said.append(f"trend, {', '.join(part['cycles'])}")
    return "; ".join(said)


# ---- numbers and dates -----------------------------------------------------------------------
def _learn_number(values: np.ndarray) -> dict[str, Any]:
    sentinels = _sentinels(values)
    x = values[np.isfinite(values) & ~np.isin(values, sentinels)]
    missing = len(values) - len(x)
    part: dict[str, Any] = {"sentinels": sentinels, "missing": missing, "bend": 0.0, "median": 0.0}
    if not len(x):
        return part | {"mean": 0.0, "std": 1.0, "low": 0.0, "high": 0.0}
    part["median"] = middle = float(np.median(x))
    distinct = len(np.unique(x))
    std = float(x.std())
    if distinct > _FEW and np.abs(x - x.mean()).max() > _FAR * std > 0:
        spread = float(np.median(np.abs(x - middle)))
        low, high = np.quantile(x, [0.01, 0.99])
        part["bend"] = float(max(spread, (high - low) / 12, 1e-9 * std)) or 1.0
        x = np.arcsinh((x - middle) / part["bend"])
        std = float(x.std())
    if distinct <= _FEW:
        std = max(std, float(np.ptp(x)) / 3)
    std = std if std > 0 else 1.0
    mean = float(x.mean())
    low, high = (x.min() - mean) / std - 1, (x.max() - mean) / std + 1
    return part | {"mean": mean, "std": std, "low": float(low), "high": float(high)}


def _sentinels(values: np.ndarray) -> list[float]:
    x = values[np.isfinite(values)]
    if len(x) < 8:
        return []
    often = max(2, 0.002 * len(x))
    ends = {float(x.min()), float(x.max())} & _SENTINELS
    found = [end for end in sorted(ends) if np.sum(x == end) >= often]
    while found:
        rest = x[~np.isin(x, found)]
        if len(np.unique(rest)) < 5:
            return []
        low, high = rest.min(), rest.max()
        far = [e for e in found if _is_apart(e, low, high)]
        if far == found:
            break
        found = far  # the others are numbers, which those that are left lie far from, or not
    return found


def _is_apart(end: float, low: float, high: float) -> bool:
    """Is it far from all other values, or the only one of its sign?"""
    alone = (end <= -_ODD and low >= 0) or (end >= _ODD and high <= 0)
    return bool(alone or min(abs(end - low), abs(end - high)) > 2 * (high - low))


def without_sentinels(part: dict[str, Any], values: np.ndarray) -> np.ndarray:
    """Sentinels replaced by NaN."""
    odd = part.get("sentinels")
    return np.where(np.isin(values, odd), np.nan, values) if odd else values


def _encode_number(part: dict[str, Any], values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    x = without_sentinels(part, values.astype(float))
    missing = ~np.isfinite(x)
    x = np.where(missing, part["median"], x)
    if part["bend"]:
        x = np.arcsinh((x - part["median"]) / part["bend"])
    z = np.clip((x - part["mean"]) / part["std"], part["low"], part["high"])
    return _with_gaps(part, z[:, None], missing, [""])


def _learn_date(values: np.ndarray) -> dict[str, Any]:
    part = _learn_number(values)
    part["sentinels"], part["bend"] = [], 0.0
    x = values[np.isfinite(values)]
    if len(x):
        std = float(x.std()) or 1.0
        mean = float(x.mean())
        part |= {"median": float(np.median(x)), "mean": mean, "std": std}
        part |= {
            "low": float((x.min() - mean) / std - 1),
            "high": float((x.max() - mean) / std + 1),
        }
    return part | {"cycles": cycles_of(values), "missing": int(len(values) - len(x))}


def _encode_date(part: dict[str, Any], values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    x = values.astype(float)
    missing = ~np.isfinite(x)
    x = np.where(missing, part["median"], x)
    trend = np.clip((x - part["mean"]) / part["std"], part["low"], part["high"])
    blocks, labels = [trend[:, None]], [" (trend)"]
    for cycle in part["cycles"]:
        blocks.append(on_circle(x, cycle))
        labels += [f" ({cycle}, sin)", f" ({cycle}, cos)"]
    return _with_gaps(part, np.concatenate(blocks, axis=1), missing, labels)


def _with_gaps(
    part: dict[str, Any], block: np.ndarray, missing: np.ndarray, labels: list[str]
) -> tuple[np.ndarray, list[str]]:
    if not part["says_missing"]:
        return block, labels
    return np.column_stack([block, _STEP * missing]), [*labels, " (missing)"]


# ---- labels and text -------------------------------------------------------------------------
def _learn_label(values: np.ndarray) -> dict[str, Any]:
    counts = Counter(values.tolist())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
    levels = [level for level, n in ordered[:LEVELS] if n > 1]
    others = len(counts) - len(levels)
    part: dict[str, Any] = {"levels": levels, "others": others, "letters": None, "frequent": None}
    if others > 1:
        strings = _strings(values)
        logs = np.log(np.array([counts[x] for x in values.tolist()], dtype=float))
        part["frequent"] = {
            "levels": [x for x, n in ordered if n > 1][:100_000],
            "logs": np.log([float(n) for x, n in ordered if n > 1][:100_000]),
            "mean": float(logs.mean()),
            "std": float(logs.std()) or 1.0,
        }
        part["letters"] = _learn_letters(strings, _NAMES)
    return part


def _encode_label(part: dict[str, Any], values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Encode each distinct label once, since their letters take long."""
    codes, levels = distinct(pandas().Series(values, dtype=object))
    missing = np.array([None], dtype=object)
    block, labels = _encode_levels(part, np.concatenate([levels, missing]))
    return block[codes], labels


def _encode_levels(part: dict[str, Any], values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    levels = part["levels"]
    place = {level: i for i, level in enumerate(levels)}
    codes = np.array([place.get(x, -1) for x in values.tolist()], dtype=int)
    known = codes >= 0
    if len(levels) == 2 and not part["others"]:
        both = np.where(known, codes, 0.5)[:, None] * _STEP
        return both, [f" = {levels[1]}"]
    block = np.zeros((len(values), len(levels)))
    block[np.flatnonzero(known), codes[known]] = _STEP / 2
    labels = [f" = {'missing' if level is None else level}" for level in levels]
    blocks = [block]
    frequent = part["frequent"]
    if frequent is not None:
        logs = dict(zip(frequent["levels"], np.asarray(frequent["logs"]).tolist(), strict=True))
        z = np.array([logs.get(x, 0.0) for x in values.tolist()])
        blocks.append(((z - frequent["mean"]) / frequent["std"])[:, None])
        labels.append(" (frequency)")
    if part["letters"] is not None:
        found = _letters(part["letters"], _strings(values))
        blocks.append(found)
        labels += [f" (letters {i})" for i in range(found.shape[1])]
    return np.concatenate(blocks, axis=1), labels


def _encode_text(part: dict[str, Any], values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    if part["letters"] is None:
        return np.empty((len(values), 0)), []
    found = _letters(part["letters"], _strings(values))
    return found, [f" (letters {i})" for i in range(found.shape[1])]


def _strings(values: np.ndarray) -> list[str]:
    return ["" if x is None or x != x else str(x) for x in values.tolist()]


@cache
def _hasher() -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), n_features=_HASHES, norm=None, alternate_sign=False
    )


def _counted(strings: list[str]) -> Any:
    counts = _hasher().transform([s[:5000] for s in strings])
    counts.data = 1 + np.log(counts.data)
    return counts


def _weighted(counts: Any, idf: np.ndarray) -> Any:
    import scipy.sparse as sp
    from sklearn.preprocessing import normalize

    return normalize(counts @ sp.diags_array(idf))


def _learn_letters(strings: list[str], most: int) -> dict[str, Any] | None:
    """The directions in which the letters of texts differ most; None if there are none."""
    from sklearn.utils.extmath import randomized_svd

    some = strings[:20_000]
    counts = _counted(some)
    seen = np.bincount(counts.indices, minlength=_HASHES)
    idf = np.where(seen > 0, np.log((1 + len(some)) / (1 + seen)) + 1, 0.0)
    weighted = _weighted(counts, idf)
    rank = min(most, len(some) - 1, int((seen > 0).sum()) - 1)
    if rank < 1:
        return None
    _, s, Vt = randomized_svd(weighted, rank, random_state=0)
    keep = s > 1e-6 * s[0] if s[0] > 0 else np.zeros(len(s), bool)
    if not keep.any():
        return None
    V = Vt[keep].T
    P = weighted @ V
    total = float(P.var(axis=0).sum()) or 1.0
    return {"idf": idf, "axes": V * np.sqrt(min(4.0, len(P.T)) / total), "mean": P.mean(axis=0)}


def _letters(part: dict[str, Any], strings: list[str]) -> np.ndarray:
    axes = np.asarray(part["axes"])
    out = np.empty((len(strings), axes.shape[1]))
    for start in range(0, len(strings), 50_000):
        rows = slice(start, start + 50_000)
        out[rows] = _weighted(_counted(strings[rows]), np.asarray(part["idf"])) @ axes
    return out


_ENCODERS = {
    "number": _encode_number, "date": _encode_date, "label": _encode_label, "text": _encode_text
}  # fmt: skip
