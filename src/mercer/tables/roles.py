"""The role of each column of a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from ..frames import distinct, is_gap, lacking, pandas
from .dates import are_dates, days, order_of
from .numbers import PLAIN, how_read, is_missing, numbers, style_of

Table = Any  # a pandas DataFrame

_MOSTLY = 0.9  # the share of values that decides
_SOME = 0.2  # the share of numbers among labels that is reported
_LARGEST = 1e100  # numbers whose squares, and sums of squares, are far from overflow
_FEW = 10  # a target with at most this many different values may be a label
_LONG = 20  # characters; longer strings, mostly different, are text
SAME = "the same value in every row"
ROLES = ("number", "label", "text", "date")
_NUMBERING = ("", "id", "index", "row", "unnamed: 0")


@dataclass(frozen=True)
class Column:
    """One column of a table: "number", "label", "text", "date" or "skipped", and why.

    ``style`` says how its numbers are written (:mod:`mercer.tables.numbers`), or which comes first
    in its dates: "year", "day" or "month".
    """

    name: str
    role: str
    why: str = ""
    style: str = PLAIN


# ---- roles ---------------------------------------------------------------------------------
def describe(
    table: Table,
    settled: Mapping[str, str] | None = None,
    styles: Mapping[str, str] | None = None,
) -> list[Column]:
    """The role of each column and the style of its numbers, unless they are given."""
    settled, styles = settled or {}, styles or {}
    require(table, settled)
    found = [
        _settled(name, table[name], settled[name], styles.get(name))
        if name in settled
        else _describe(name, table[name])
        for name in table.columns
    ]
    return _without_copies(table, found, settled)


def _without_copies(
    table: Table, columns: list[Column], settled: Mapping[str, str]
) -> list[Column]:
    """Columns that repeat another one, value by value, are skipped."""
    seen: dict[Any, str] = {}
    found = []
    for column in columns:
        if column.role in ("number", "label") and column.name not in settled:
            values = table[column.name]
            key = (str(values.dtype), int(_hash(values)))
            first = seen.setdefault(key, column.name)
            if first != column.name and values.equals(table[first].rename(column.name)):
                column = Column(column.name, "skipped", f"the same as {first!r} in every row")
        found.append(column)
    return found


def _hash(values: Any) -> int:
    pd = pandas()
    with suppress(TypeError, ValueError):
        hashes = pd.util.hash_pandas_object(values, index=False).to_numpy()
        weights = np.arange(1, 2 * len(hashes), 2, dtype=np.uint64)
        return int((hashes * weights).sum())  # modulo 2^64
    return id(values)


def _settled(name: str, column: Any, role: str, style: str | None) -> Column:
    odd = _odd(column)
    if odd is not None and role != "date":
        raise ValueError(f"the column {name!r} holds {odd} objects, which are not {role}s.")
    if role not in ROLES:
        raise ValueError(f"the role of {name!r} must be one of {', '.join(ROLES)}, got {role!r}.")
    if role == "number" and style is None and getattr(column.dtype, "kind", "O") not in "biuf":
        return _of_strings(name, column.dropna().astype(str), 0.0)
    if role == "date" and style is None:
        return Column(name, "date", style=_order(column))
    return Column(name, role, style=style or PLAIN)


def _describe(name: str, column: Any) -> Column:
    values = column.dropna()
    kind = getattr(column.dtype, "kind", "O")
    if kind == "M" or str(column.dtype).startswith("datetime") or _hold_dates(column):
        varies = values.nunique() > 1
        return Column(name, "date" if varies else "skipped", "" if varies else SAME, "year")
    odd = _odd(column)
    if odd is not None:
        return Column(name, "skipped", f"it holds {odd} objects")
    if kind == "m":
        return Column(name, "skipped", "durations are not used; add a column of days or seconds")
    if kind == "c":
        return Column(name, "skipped", "complex numbers are not used")
    if not values.nunique() > 1:
        why = SAME if len(values) else "it is empty"
        if len(values) and len(values) < len(column):
            return Column(name, "label")  # whether it is there is all that it says
        return Column(name, "skipped", why)
    if kind == "b" or column.dtype.name in ("category", "boolean"):
        return Column(name, "label")
    if kind in "iuf":
        found = Column(name, "number")
        if numbers_rows(name, column):
            return Column(name, "skipped", "it is a row number")
    elif are_dates(values.astype(str)):
        order = order_of(values.astype(str))
        said = "" if order == "year" else f"read with the {order} first"
        return Column(name, "date", said, order)
    else:
        found = _of_strings(name, values.astype(str), _MOSTLY)
    if found.role == "number":
        given = numbers(column, found.style)
        largest = float(given.abs().max())
        if largest > _LARGEST:
            why = f"values as large as {largest:.0e} cannot be computed with; use another unit"
            return Column(name, "skipped", why)
        if not given.nunique() > 1:
            return Column(name, "skipped", SAME)
    return found


def _order(column: Any) -> str:
    if getattr(column.dtype, "kind", "O") == "M":
        return "year"
    given = column.dropna().astype(str)
    return order_of(given) if len(given) else "year"


def _hold_dates(column: Any) -> bool:
    """Objects of the standard library, all of them dates."""
    if column.dtype != object:
        return False
    values = column.dropna()
    return bool(len(values)) and all(isinstance(x, date) for x in values)


def _odd(column: Any) -> str | None:
    """The type of the first value that is neither a number nor a string, if there is one."""
    if column.dtype != object:
        return None
    plain = (str, bool, int, float, np.generic, Decimal, date)
    return next((type(x).__name__ for x in column.dropna() if not isinstance(x, plain)), None)


def numbers_rows(name: str, column: Any) -> bool:
    """Does this column only count the rows?"""
    bare = str(name).lower()
    named = bare in _NUMBERING or bare.endswith(("_id", " id")) or str(name).endswith("Id")
    if not named or getattr(column.dtype, "kind", "O") not in "iuf":
        return False
    steps = np.diff(np.sort(column.dropna().to_numpy(dtype=float)))
    return bool(len(steps) and np.all(steps == 1))


def _of_strings(name: str, values: Any, least: float) -> Column:
    """The role of strings: numbers if at least this share of them is."""
    missing = is_missing(values)
    given = values[~missing]
    style = style_of(given)
    found = numbers(given, style).notna()
    share = found.mean() if len(found) else 0.0
    if share >= least and found.any():
        odd = [*values[missing], *given[~found]]
        why = f"{odd[0]!r} and the like, {len(odd)} in all, count as missing" if odd else ""
        said = how_read(given[found], style)
        return Column(name, "number", "; ".join(filter(None, [said, why])), style)
    if not len(given):
        return Column(name, "skipped", "it is empty")
    distinct = given.nunique() / len(given)
    length = float(given.str.len().mean())
    if distinct > 0.5 and length > _LONG and not _identifies(given):
        return Column(name, "text")
    if distinct > _MOSTLY and len(given) > _FEW:
        if _identifies(given):
            return Column(name, "skipped", "a different code in nearly every row; --text uses it")
        return Column(name, "text", "a different name in nearly every row: its letters are used")
    most = f"read as labels: only {share:.0%} of its values are numbers"
    return Column(name, "label", most if share > _SOME else "")


def _identifies(values: Any) -> bool:
    """Codes rather than names: one word each, half of it or more digits or hexadecimal."""
    some = values.iloc[:1000].str.strip()
    one_word = ~some.str.contains(r"\s", regex=True)
    hexadecimal = some.str.fullmatch(r"[0-9a-fA-F-]{16,}")
    digits = some.str.count(r"\d") >= 0.5 * some.str.len()
    return bool((one_word & (digits | hexadecimal)).mean() > _MOSTLY)


def require(table: Table, names: Iterable[str]) -> None:
    """Raise an error if a table lacks a column."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(lacking(missing, list(table.columns)))


# ---- values --------------------------------------------------------------------------------
def tidy(table: Table, roles: Mapping[str, str], styles: Mapping[str, str] | None = None) -> Table:
    """The columns that have a role: numbers and dates (in days) as float, the rest as strings.

    Missing values are NaN or None.
    """
    pd, styles = pandas(), styles or {}
    require(table, roles)
    columns = {
        name: _values(table[name], role, styles.get(name, PLAIN)) for name, role in roles.items()
    }
    return pd.DataFrame(columns, index=table.index).reset_index(drop=True)


def _values(column: Any, role: str, style: str) -> Any:
    if role == "number":
        return numbers(column, style)
    if role == "date":
        return days(column, style)
    codes, levels = distinct(column)
    strings = np.array([*map(_string, levels), None], dtype=object)[codes]
    return pandas().Series(strings, dtype=object, index=column.index)


def incomplete(table: Table, roles: Mapping[str, str]) -> np.ndarray:
    """Which rows lack a number, a date or a text? (A missing label is a separate label.)"""
    names = [name for name, role in roles.items() if role != "label"]
    return table[names].isna().to_numpy().any(axis=1)


def holds_labels(table: Table, name: str) -> bool:
    """Is a target a label? It is if it has two different values, or is not numeric."""
    require(table, [name])
    column = table[name]
    given = column.dropna()
    if not len(given):
        raise ValueError(f"the target {name!r} is missing in every row.")
    if given.nunique() == 2 or not _is_numeric(column):
        return True
    few = given.nunique() <= _FEW
    return few and getattr(column.dtype, "kind", "O") not in "iuf"  # numbers, but as strings


def _is_numeric(column: Any) -> bool:
    kind = getattr(column.dtype, "kind", "O")
    if column.dtype.name == "category" or kind in "biuf":
        return kind in "iuf"
    given = column.dropna().astype(str)
    found = _target_numbers(given[~is_missing(given)])[0]
    return len(found) > 0 and bool(found.notna().mean() >= _MOSTLY)


def _target_numbers(column: Any) -> tuple[Any, str]:
    """The target as numbers, and how its strings were read."""
    if getattr(column.dtype, "kind", "O") in "iuf":
        return numbers(column), ""
    given = column.dropna().astype(str)
    given = given[~is_missing(given)]
    style = style_of(given)
    return numbers(column, style), how_read(given, style)


def few_whole_numbers(table: Table, name: str) -> int:
    """The number of different values of a target of whole numbers, or 0 if there are many."""
    values = np.unique(_target_numbers(table[name])[0].dropna())
    whole = len(values) <= _FEW and bool(np.all(values == np.round(values)))
    return len(values) if whole else 0


def label_target(table: Table, name: str) -> np.ndarray:
    """The target as strings, None where it is missing."""
    require(table, [name])
    labels = np.array([_string(x) for x in table[name]], dtype=object)
    found = {x for x in labels if x is not None}
    if len(found) < 2:
        state = "the same value" if found else "missing"
        raise ValueError(f"the target {name!r} {'has' if found else 'is'} {state} in every row.")
    return labels


def numeric_target(table: Table, name: str) -> tuple[np.ndarray, str]:
    """The target as numbers, NaN where it is missing, and how strings were read; no labels."""
    require(table, [name])
    column = table[name]
    if not column.notna().any():
        raise ValueError(f"the target {name!r} is missing in every row.")
    if not _is_numeric(column):
        distinct = column.dropna().unique()
        shown = ", ".join(repr(str(x)) for x in distinct[:3]) + ", ..." * (len(distinct) > 3)
        raise ValueError(
            f"the target {name!r} holds labels ({shown}), not numbers; use --task classification."
        )
    found, how = _target_numbers(column)
    values = found.to_numpy()
    finite = values[np.isfinite(values)]
    if len(np.unique(finite)) < 2:
        raise ValueError(f"the target {name!r} has the same value in every row.")
    if np.abs(finite).max() > _LARGEST:
        raise ValueError(
            f"the target {name!r} has values as large as {np.abs(finite).max():.0e}, whose "
            "squares overflow; use another unit, or take logarithms."
        )
    if (spread := np.ptp(finite)) < 1 / _LARGEST:
        raise ValueError(
            f"the target {name!r} has values that differ by {spread:.0e}, whose squares underflow; "
            "use another unit, or take logarithms."
        )
    return values, how


def _string(x: Any) -> str | None:
    """A label as a string, the same whether a file gave it as a bool, a number or a string."""
    if is_gap(x):
        return None
    if isinstance(x, bytes):
        x = x.decode("utf-8", "backslashreplace")
    if isinstance(x, float | np.floating) and float(x).is_integer():
        x = int(x)
    text = str(x).strip()
    return text.capitalize() if text.lower() in ("true", "false") else text
