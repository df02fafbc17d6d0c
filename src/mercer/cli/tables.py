"""Tables from files, and what each of their columns is good for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Table = Any  # a pandas DataFrame

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_SEPARATORS = {".csv": ",;\t|", ".txt": "\t,;|", ".tsv": "\t"}
_MOSTLY = 0.9  # the share of values that decides
_FEW = 10  # different values of a target, which may be labels then
_LONG = 20  # characters; longer strings, mostly different, are text
_NUMBERING = ("", "id", "index", "row", "unnamed: 0")


@dataclass(frozen=True)
class Column:
    """One column of a table: "number", "label", "text" or "skipped", and why."""

    name: str
    role: str
    why: str = ""


def pandas() -> Any:
    """The module pandas, which reading tables needs."""
    try:
        import pandas
    except ImportError:
        raise ImportError('reading tables needs pandas: pip install "mercer[table]".') from None
    return pandas


def read_table(path: str | Path, strings: Iterable[str] = ()) -> Table:
    """The table in a CSV, TSV or Parquet file, also compressed; ``strings`` are not parsed."""
    pd, path = pandas(), Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}.")
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in _COMPRESSED]
    kind = suffixes[-1] if suffixes else ""
    try:
        if kind in (".parquet", ".pq"):
            table = pd.read_parquet(path)
        elif kind in _SEPARATORS:
            options = {"sep": _separator(pd, path, _SEPARATORS[kind]), "skipinitialspace": True}
            table = pd.read_csv(
                path, low_memory=False, dtype=dict.fromkeys(strings, str), **options
            )
        else:
            raise ValueError(f"{path}: a table is a .csv, .tsv or .parquet file, not {kind!r}.")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; save it as UTF-8 first.") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{path} is not a table: {error}".replace("\n", " ")) from None
    except ImportError:
        raise ImportError('Parquet files need pyarrow: pip install "mercer[table]".') from None
    table.columns = [str(name).strip() for name in table.columns]
    if not table.columns.is_unique:
        raise ValueError(f"{path} has two columns of the same name; rename one.")
    if not len(table):
        raise ValueError(f"{path} has no rows.")
    return table


def _separator(pd: Any, path: Path, choices: str) -> str:
    """The one of the usual separators that the first line holds most often."""
    if len(choices) == 1:
        return choices
    whole = {"sep": "\x01", "quoting": 3, "header": None, "dtype": str, "encoding": "utf-8-sig"}
    first = str(pd.read_csv(path, nrows=1, **whole).iat[0, 0])
    return max(choices, key=first.count)


# ---- roles ---------------------------------------------------------------------------------
def describe(table: Table, settled: Mapping[str, str] | None = None) -> list[Column]:
    """The role of each column: by its values, unless it is settled already."""
    settled = settled or {}
    require(table, settled)
    return [
        Column(name, settled[name]) if name in settled else _describe(name, table[name])
        for name in table.columns
    ]


def _describe(name: str, column: Any) -> Column:
    values = column.dropna()
    kind = getattr(column.dtype, "kind", "O")
    if not values.nunique() > 1:
        return Column(name, "skipped", "the same value in every row")
    if kind == "b" or column.dtype.name == "category":
        return Column(name, "label")
    if kind in "iuf":
        if numbers_rows(name, column):
            return Column(name, "skipped", "it numbers the rows")
        return Column(name, "number")
    if kind == "M" or values.astype(str).str.match(r"\d{4}-\d\d-\d\d").all():
        return Column(name, "skipped", "dates are not used; add columns such as year or month")
    if not values.map(lambda x: isinstance(x, str | bool | int | float)).all():
        return Column(name, "skipped", f"it holds {type(values.iloc[0]).__name__} objects")
    return _describe_strings(name, values.astype(str))


def numbers_rows(name: str, column: Any) -> bool:
    """Does this column only count the rows?"""
    if name.lower() not in _NUMBERING or getattr(column.dtype, "kind", "O") not in "iuf":
        return False
    return bool(np.all(np.diff(column.dropna()) == 1))


def _describe_strings(name: str, values: Any) -> Column:
    numbers = pandas().to_numeric(values, errors="coerce").notna()
    if numbers.mean() >= _MOSTLY:
        odd = values[~numbers].tolist()
        why = f"{odd[0]!r} and the like, {len(odd)} in all, count as missing" if odd else ""
        return Column(name, "number", why)
    distinct = values.nunique() / len(values)
    if distinct > 0.5 and values.str.len().mean() > _LONG:
        return Column(name, "text")
    if distinct > _MOSTLY:
        return Column(
            name, "skipped", "a different name in nearly every row; --text uses its letters"
        )
    return Column(name, "label")


def require(table: Table, names: Iterable[str]) -> None:
    """Refuse a table that lacks a column."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        lacks = ", ".join(map(repr, missing))
        known = ", ".join(map(repr, table.columns))
        raise ValueError(f"the table has no column {lacks}; it has: {known}.")


# ---- values --------------------------------------------------------------------------------
def tidy(table: Table, roles: Mapping[str, str]) -> Table:
    """The columns that have a role: numbers as float, labels and text as strings, else missing."""
    pd = pandas()
    require(table, roles)
    columns = {
        name: _numbers(table[name])
        if role == "number"
        else pd.Series([_string(x) for x in table[name]], dtype=object, index=table.index)
        for name, role in roles.items()
    }
    return pd.DataFrame(columns, index=table.index).reset_index(drop=True)


def incomplete(table: Table, roles: Mapping[str, str]) -> np.ndarray:
    """Which rows lack a number or a text? (A missing label is a label of its own.)"""
    names = [name for name, role in roles.items() if role != "label"]
    return table[names].isna().to_numpy().any(axis=1)


def holds_labels(table: Table, name: str) -> bool:
    """Does a target tell classes apart? (Not if it is numbers, even as text, unless few.)"""
    require(table, [name])
    column = table[name]
    given = column.dropna()
    if not len(given):
        raise ValueError(f"the target {name!r} is missing in every row.")
    if column.dtype.name == "category" or getattr(column.dtype, "kind", "O") == "b":
        return True
    if getattr(column.dtype, "kind", "O") in "iuf":
        return False
    return bool(_numbers(given).notna().mean() < _MOSTLY or given.nunique() <= _FEW)


def few_whole_numbers(table: Table, name: str) -> int:
    """How many different values a target of whole numbers has, or 0 if they are not few."""
    values = np.unique(_numbers(table[name]).dropna())
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


def numeric_target(table: Table, name: str) -> np.ndarray:
    """The target as numbers, NaN where it is missing; refuses labels."""
    if holds_labels(table, name):
        distinct = table[name].dropna().unique()
        shown = ", ".join(repr(str(x)) for x in distinct[:3]) + ", ..." * (len(distinct) > 3)
        raise ValueError(
            f"the target {name!r} holds labels ({shown}), not numbers; tell them apart with "
            f"--task classification."
        )
    values = _numbers(table[name]).to_numpy()
    if len(np.unique(values[np.isfinite(values)])) < 2:
        raise ValueError(f"the target {name!r} has the same value in every row.")
    return values


def _numbers(column: Any) -> Any:
    values = pandas().to_numeric(column, errors="coerce").astype(float)
    return values.where(np.isfinite(values))


def _string(x: Any) -> str | None:
    """A label as a string, the same whether a file gave it as a bool, a number or a string."""
    if x is None or type(x).__name__ == "NAType" or x != x:
        return None
    if isinstance(x, float | np.floating) and float(x).is_integer():
        x = int(x)
    text = str(x).strip()
    return text.capitalize() if text.lower() in ("true", "false") else text
