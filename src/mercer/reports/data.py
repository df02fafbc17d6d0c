"""The data: columns and their kinds, missing values, constants, repeated rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, is_frame, length, take
from ..frames import column, holds_dates
from .markup import (
    Html,
    count,
    definitions,
    folded,
    join,
    listed,
    number,
    paragraph,
    percent,
    short,
    table,
    tag,
)
from .page import Section
from .subject import Subject
from .svg import Chart, figure, figures

_MOST_SHOWN = 60  # columns in the table,
_AT_ONCE = 16  # and those that are shown without being asked for
_FEW = 20  # different numbers that are shown one by one
_LOOKED_AT = 100_000  # rows of a column
_MOST_ENTRIES = 20_000_000  # of data that are searched for rows that occur twice


@dataclass
class Column:
    """A column, in numbers."""

    name: str
    kind: str
    missing: int
    distinct: int
    words: str
    bars: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @property
    def constant(self) -> bool:
        """Does it hold one value, or none?"""
        return self.distinct <= 1


def columns_of(X: Data) -> list[Column]:
    """All columns, described."""
    if is_frame(X):
        names = list(X.columns)
        some = take(X, slice(0, _LOOKED_AT)) if length(X) > _LOOKED_AT else X
        return [_described(str(name), column_at(some, j)) for j, name in enumerate(names)]
    V: Any = X.tocsc() if sp.issparse(X) else np.asarray(X, dtype=float)
    V = V[:, None] if V.ndim == 1 else V
    found = []
    for j in range(V.shape[1]):
        values = V[:, [j]].toarray()[:, 0] if sp.issparse(V) else V[:, j]
        found.append(_described(f"x{j}", values[:_LOOKED_AT]))
    return found


def data_section(subject: Subject) -> Section:
    """The data section."""
    X, n = subject.X, subject.n
    facts: list[tuple[str, str]] = [("rows", number(n))]
    body: list[Html | None] = []
    notes: list[str] = []
    if subject.tabular:
        found = columns_of(X)
        facts.append(("columns", number(len(found))))
        kinds = Counter(c.kind for c in found)
        facts += [(kind, number(many)) for kind, many in kinds.most_common()]
        entries = sum(c.missing for c in found)
        share = entries / max(n * len(found), 1)
        facts.append(("missing values", f"{number(entries)} ({percent(share)})"))
        constants = [c.name for c in found if c.constant]
        facts.append(("constant columns", number(len(constants))))
        if constants:
            notes.append(f"Constant, so not used: {_several(constants)}.")
        holes = [c for c in sorted(found, key=lambda c: -c.missing) if c.missing]
        if holes:
            notes.append(
                "Most missing values: " + _several([f"{c.name} ({c.missing})" for c in holes]) + "."
            )
        same = _repeated(X)
        if same is not None:
            facts.append(("rows that repeat others", number(same)))
        body += [definitions(facts), listed(notes) if notes else None, _table(found)]
    else:
        facts += _samples(subject)
        body.append(definitions(facts))
    body += [tag("h3", "The target"), _target(subject)]
    return Section("Data", join(body))


def column_at(X: Data, place: int) -> np.ndarray | list:
    """A column of a table by its place: names may occur twice."""
    if hasattr(X, "iloc"):
        X = X.iloc[:, [place]]
        return column(X, X.columns[0])
    return column(X, X.columns[place])


def _described(name: str, values: np.ndarray | list) -> Column:
    if isinstance(values, np.ndarray):
        known = values[np.isfinite(values)]
        missing = int(np.sum(np.isnan(values)))
        distinct = len(np.unique(known))
        if not len(known):
            return Column(name, "empty", missing, 0, "")
        low, middle, high = (float(q) for q in (known.min(), np.median(known), known.max()))
        words = f"{number(low, 3)} · {number(middle, 3)} · {number(high, 3)}"
        bars = (
            np.histogram(known, 16)[0] if np.isfinite(high - low) and distinct > 1 else np.zeros(0)
        )
        kind = "numbers"
        if distinct == 2:
            kind = "two values"
        return Column(name, kind, missing, distinct, words, bars)
    known = [v for v in values if v is not None and v == v]
    missing = len(values) - len(known)
    if not known:
        return Column(name, "empty", missing, 0, "")
    if holds_dates(known):
        ends = f"{short(min(known), 19)} to {short(max(known), 19)}"
        return Column(name, "dates", missing, len(set(known)), ends)
    common = Counter(map(_hashable, known)).most_common()
    top = ", ".join(f"{short(v, 18)} ({m})" for v, m in common[:3])
    distinct = len(common)
    kind = "labels" if distinct <= max(50, len(known) // 5) else "text"
    if kind == "text":
        lengths = [len(str(v)) for v in known]
        top = f"{min(lengths)} to {max(lengths)} characters; {short(known[0], 30)}"
    bars = np.array([m for _, m in common[:16]]) if kind == "labels" else np.zeros(0)
    return Column(name, kind, missing, distinct, top, bars)


def _hashable(value: Any) -> Any:
    return value if isinstance(value, str | bool) else str(value)


def _table(found: list[Column]) -> Html:
    first = _part(found, found[:_AT_ONCE])
    rest = found[_AT_ONCE:_MOST_SHOWN]
    if not rest:
        return first
    return join([first, folded(f"{len(rest)} more columns", _part(found, rest))])


def _part(found: list[Column], shown: list[Column]) -> Html:
    rows = [
        (short(c.name), c.kind, c.words, number(c.distinct), number(c.missing), _spark(c))
        for c in shown
    ]
    caption = "Columns: minimum, median and maximum, or the most frequent labels."
    if len(found) > len(shown):
        caption += f" {len(shown)} of {number(len(found))}."
    head = ["column", "kind", "values", "distinct", "missing", "distribution"]
    return table(caption, head, rows, words=range(3))


def _spark(c: Column) -> Html:
    """A histogram the size of a word."""
    if not len(c.bars):
        return Html("")
    top = max(float(c.bars.max()), 1.0)
    path = "".join(
        f"M{6 * i} 20V{20 - 19 * v / top:.1f}h5V20Z" for i, v in enumerate(c.bars.tolist())
    )
    width = max(6 * len(c.bars), 60)
    return tag("svg", tag("path", d=path, class_="bar h1"), viewBox=f"0 0 {width} 20",
               class_="spark", aria_hidden="true", preserveAspectRatio="none")  # fmt: skip


def _several(names: list[str], most: int = 8) -> str:
    shown = ", ".join(short(name, 40) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _repeated(X: Data) -> int | None:
    """How many rows are copies of earlier ones; None if that would take long."""
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    n, width = length(X), X.shape[1] if getattr(X, "ndim", 2) > 1 else 1
    if n * width > _MOST_ENTRIES:
        return None
    if sp.issparse(X):
        C = X.tocsr()
        rows = {
            (C.indices[a:b].tobytes(), C.data[a:b].tobytes())
            for a, b in zip(C.indptr[:-1], C.indptr[1:], strict=True)
        }
        return n - len(rows)
    if hasattr(X, "duplicated"):
        try:
            return int(X.duplicated().sum())
        except TypeError:
            return None
    if is_frame(X):
        return n - len({str(row) for row in X.rows()})
    V = np.ascontiguousarray(np.asarray(X, dtype=float).reshape(n, -1))
    return n - len({row.tobytes() for row in V})


def _samples(subject: Subject) -> list[tuple[str, str]]:
    """Samples that are not rows of columns: their kind and lengths."""
    X = subject.X
    facts = [("samples", type(_first(X)).__name__)]
    if subject.kernel is not None:
        facts.append(("kind", str(subject.kernel.domain)))
    sizes = [len(x) for x in take(X, slice(0, 5000)) if hasattr(x, "__len__")]
    if sizes:
        facts.append(
            ("length", f"{min(sizes)} to {max(sizes)}, median {number(float(np.median(sizes)))}")
        )
    keys = [x for x in take(X, slice(0, 50_000)) if isinstance(x, str)]
    if keys:
        facts.append(("samples that repeat others", number(len(keys) - len(set(keys)))))
        letters = sorted(set("".join(keys[:2000])))
        if len(letters) <= 40:
            facts.append(("letters", "".join(letters)))
    return facts


def _first(X: Data) -> Any:
    one = take(X, slice(0, 1))
    return one.iloc[0] if hasattr(one, "iloc") else one[0]


def _target(subject: Subject) -> Html:
    y = subject.y
    if subject.classifier:
        classes, sizes = np.unique(y, return_counts=True)
        place = np.argsort(-sizes, kind="stable")
        shown = place[:15]
        rows = [
            (short(classes[i]), number(int(sizes[i])), percent(sizes[i] / len(y))) for i in shown
        ]
        caption = f"{count(len(classes), 'class', 'classes')}"
        if len(classes) > len(shown):
            caption += f", the most frequent {len(shown)}"
        words = []
        ratio = sizes.max() / sizes.min()
        if ratio >= 3:
            words.append(
                paragraph(
                    f"The classes are unbalanced: the largest has {number(float(ratio), 3)} times "
                    "the rows of the smallest. Use the balanced accuracy in addition to the "
                    "accuracy."
                )
            )
        return join([*words, table(caption, ["class", "rows", "share"], rows)])
    low, high = float(y.min()), float(y.max())
    facts = definitions(
        [
            ("mean", number(float(y.mean()))),
            ("standard deviation", number(float(y.std()))),
            ("minimum", number(low)),
            ("median", number(float(np.median(y)))),
            ("maximum", number(high)),
            ("distinct values", number(len(np.unique(y)))),
        ]
    )
    if not high > low:
        return facts
    bars, edges = np.histogram(y, min(40, max(8, int(np.sqrt(len(y))))))
    seen = f"histogram of the target, from {number(low)} to {number(high)}"
    chart = Chart(seen, (low, high), (0, bars.max() * 1.05), xlabel="target", ylabel="rows")
    return join(
        [facts, figures(figure(chart.bars(edges, bars), "The distribution of the target."))]
    )
