"""Tables from files: CSV, TSV and Parquet, as they come."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..frames import pandas
from .roles import Table

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_SEPARATORS = {".csv": ",;\t|", ".txt": "\t,;|", ".tsv": "\t"}


def read_table(path: str | Path, strings: Iterable[str] = ()) -> Table:
    """The table in a CSV, TSV or Parquet file, also compressed; ``strings`` are not parsed."""
    pd, path = pandas(), Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}.")
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in _COMPRESSED]
    kind = suffixes[-1] if suffixes else ""
    try:
        if kind in (".parquet", ".pq"):
            table = _decoded(pd.read_parquet(path))
        elif kind in _SEPARATORS:
            table = _read_text(pd, path, _SEPARATORS[kind], dict.fromkeys(strings, str))
        else:
            raise ValueError(f"{path}: a table is a .csv, .tsv or .parquet file, not {kind!r}.")
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8 text; save it as UTF-8 first.") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise ValueError(f"{path} is not a table: {error}".replace("\n", " ")) from None
    except ImportError:
        raise ImportError('Parquet files need pyarrow: pip install "mercer[table]".') from None
    table.columns = [str(name).strip() for name in table.columns]
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{path} has two columns of the same name, {twice[0]!r}; rename one.")
    if not len(table):
        raise ValueError(f"{path} has no rows.")
    return table


def _read_text(pd: Any, path: Path, separators: str, dtype: dict[str, type]) -> Table:
    """A table of text. Values stand below the name in their place, whatever ends the lines.

    (By default pandas takes rows that are longer than the header as rows with a name in front,
    and moves all columns by one; and it renames columns of the same name.)
    """
    options: dict[str, Any] = {"encoding": "utf-8-sig"}
    whole = {"sep": "\x01", "quoting": 3, "header": None, "dtype": str, "keep_default_na": False}
    lines = pd.read_csv(path, nrows=2, **whole, **options)[0].tolist()
    sep = max(separators, key=lines[0].count)  # the one that the first line holds most often
    options |= {"sep": sep, "skipinitialspace": True, "index_col": False}
    fields = [len(row) for row in csv.reader(lines, delimiter=sep, skipinitialspace=True)]
    named, width = fields[0], max(fields)
    head = pd.read_csv(path, header=None, nrows=1, dtype=str, **options)
    header = ["" if name != name else str(name).strip() for name in head.iloc[0].tolist()]
    header += [""] * (width - len(header))
    names = [name or f"Unnamed: {i}" for i, name in enumerate(header)]
    # read under the numbers of the columns, since names may occur twice
    places = {i: dtype[name] for i, name in enumerate(names) if name in dtype}
    table = pd.read_csv(
        path, header=0, names=range(width), low_memory=False, dtype=places, **options
    )
    nameless = [i for i in range(named, width) if table[i].notna().any()]
    if nameless:
        raise ValueError(
            f"{path}: rows have {nameless[-1] + 1} values, and the first line has {named} names; "
            f"give each column a name."
        )
    used = [i for i in range(width) if header[i] or table[i].notna().any()]
    table = table[used]
    table.columns = [names[i] for i in used]
    return table


def _decoded(table: Table) -> Table:
    """Columns of bytes as strings, if that is what they are."""
    for i, name in enumerate(table.columns):
        column = table.iloc[:, i]
        if column.dtype == object and all(isinstance(x, bytes) for x in column.dropna()):
            with suppress(UnicodeDecodeError):
                table[name] = [x.decode() if isinstance(x, bytes) else None for x in column]
    return table
