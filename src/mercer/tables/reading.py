"""Tables from files: CSV, TSV and Parquet, as they come.

Text may be UTF-8, with or without a byte order mark, UTF-16, or what Windows writes in western
Europe (cp1252, a superset of Latin-1); columns are separated by commas, semicolons, tabs or bars,
whichever the first line holds most often outside quotes; values in quotes may hold separators and
line breaks; files may be compressed.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

from ..engine.memory import free_memory, memory_words
from ..frames import pandas
from .numbers import count
from .roles import Table

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip")
_SEPARATORS = {".csv": ",;\t|", ".txt": "\t,;|", ".tsv": "\t"}
TABLES = (*_SEPARATORS, ".parquet", ".pq")
_PROBE = 1 << 18  # bytes from which encoding and separator are told
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_QUOTED = re.compile(r'"[^"]*"')
_UNCHECKED = 1e8  # bytes that every machine has
_PARSED = 3  # bytes of memory that a byte of text takes while it is parsed, at least
_DAMAGED = (OSError, EOFError, zlib.error, zipfile.BadZipFile, lzma.LZMAError)
_REFUSED = (RuntimeError, NotImplementedError)  # by zipfile: passwords, unknown compression


def read_table(path: str | Path, strings: Iterable[str] = ()) -> Table:
    """The table in a CSV, TSV or Parquet file, also compressed; ``strings`` are not parsed."""
    pd, path = pandas(), Path(path)
    check_file(path)
    kind = kind_of(path)
    try:
        if kind in (".parquet", ".pq"):
            table = _decoded(_parquet(pd, path))
        elif kind in _SEPARATORS:
            table = _read_text(pd, path, _SEPARATORS[kind], dict.fromkeys(strings, str))
        else:
            raise ValueError(
                f"{path}: a table is a .csv, .tsv or .parquet file, not {kind!r}; save it as one."
            )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        raise ValueError(f"{path} is not a table: {error}".replace("\n", " ")) from None
    except _DAMAGED as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise ValueError(f"{path} is damaged: {error}".replace("\n", " ")) from None
    except ImportError:
        raise ImportError('Parquet files need pyarrow: pip install "mercer[table]".') from None
    table.columns = [str(name).strip() for name in table.columns]
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{path} has two columns of the same name, {twice[0]!r}; rename one.")
    if not len(table):
        raise ValueError(f"{path} has no rows.")
    return table


def check_file(path: Path) -> None:
    """Refuse what is no file; a name that was mistyped, perhaps, is told."""
    if path.is_file():
        return
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; give the name of a file in it.")
    if path.exists():
        raise ValueError(f"{str(path)!r} is a pipe or a device; save what comes from it to a file.")
    beside: list[str] = []
    with suppress(OSError):
        beside = [other.name for other in path.parent.iterdir()]
    close = get_close_matches(path.name, beside, n=1, cutoff=0.75)
    hint = f"; did you mean {str(path.with_name(close[0]))!r}?" if close else "."
    raise FileNotFoundError(f"there is no file {str(path)!r}{hint}")


def kind_of(path: Path) -> str:
    """The ending of a file's name, without that of a compression."""
    suffixes = [s.lower() for s in path.suffixes if s.lower() not in _COMPRESSED]
    return suffixes[-1] if suffixes else ""


def _parquet(pd: Any, path: Path) -> Table:
    import pyarrow
    from pyarrow import parquet

    try:
        about = parquet.read_metadata(path)
        _check_memory(
            8 * about.num_rows * about.num_columns,
            f"{path} holds {count(about.num_rows, 'row')} of {count(about.num_columns, 'column')}",
        )
        return pd.read_parquet(path)
    except (pyarrow.ArrowInvalid, pyarrow.ArrowException) as error:
        raise ValueError(f"{path} is not a Parquet file: {error}".replace("\n", " ")) from None


def _opened(path: Path) -> IO[bytes]:
    """The bytes of a file, without its compression."""
    kind = path.suffix.lower()
    if kind == ".zip":
        try:
            archive = zipfile.ZipFile(path)
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise ValueError(f"{path} holds {len(names)} files; a table is one.")
            return archive.open(names[0])
        except _REFUSED as error:
            raise ValueError(f"{path} cannot be decompressed: {error}") from None
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    return openers.get(kind, open)(path, "rb")


def encoding_of(probe: bytes) -> str:
    """The encoding of a text, from its first bytes."""
    for mark, name in _MARKS.items():
        if probe.startswith(mark):
            return name
    if len(probe) > 3 and probe.count(0) >= len(probe) // 4:  # every other byte, without a mark
        return "utf-16-le" if probe[1::2].count(0) > probe[0::2].count(0) else "utf-16-be"
    return "utf-8"


def _encoding(path: Path) -> str:
    """The encoding of a whole file: UTF-8, UTF-16, or else cp1252, which has nearly every byte.

    Files with bytes that are not text, or that unpack to more than fits in memory, are rejected.
    """
    with _opened(path) as file:
        found = encoding_of(file.read(_PROBE))
    decoder, size = codecs.getincrementaldecoder("utf-8")(), 0
    with _opened(path) as file:
        while block := file.read(_PROBE):
            size += len(block)
            _check_memory(_PARSED * size, f"{path} holds more than {memory_words(size)} of text")
            if found in ("utf-8", "cp1252") and b"\x00" in block:
                raise ValueError(f"{path} is not a table: it contains bytes that are not text.")
            if found == "utf-8":
                found = _utf8_or_not(decoder, block)
    return _utf8_or_not(decoder, b"") if found == "utf-8" else found


def _utf8_or_not(decoder: codecs.IncrementalDecoder, block: bytes) -> str:
    """Are these bytes valid UTF-8, or the end of it if there are none?"""
    try:
        decoder.decode(block, final=not block)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _check_memory(nbytes: float, what: str) -> None:
    """Reject data that would not fit in memory."""
    if nbytes > _UNCHECKED and nbytes > (free := free_memory()):
        raise ValueError(
            f"{what}, more than fits in the {memory_words(free)} of memory available; read a part "
            "of it, or read it in chunks with mercer.stream."
        )


def _text(path: Path, encoding: str) -> IO[str]:
    """The text of a file."""
    errors = "replace" if encoding == "cp1252" else "strict"
    return io.TextIOWrapper(_opened(path), encoding=encoding, errors=errors, newline="")


def separator_of(text: str, known: str) -> str:
    """The separator that the first line holds most often, outside quotes."""
    line = next((x for x in _QUOTED.sub("", text).splitlines() if x.strip()), "")
    return max(known, key=line.count)


def _read_text(pd: Any, path: Path, separators: str, dtype: dict[str, type]) -> Table:
    """A table of text. Values stand below the name in their place, whatever ends the lines.

    (By default pandas takes rows that are longer than the header as rows with a name in front,
    and moves all columns by one; and it renames columns of the same name.)
    """
    try:
        encoding = _encoding(path)
        with _text(path, encoding) as file:
            probe = file.read(_PROBE)
            sep = separator_of(probe, separators)
            lines = csv.reader(io.StringIO(probe), delimiter=sep, skipinitialspace=True)
            rows = [row for row, _ in zip((r for r in lines if r), range(2), strict=False)]
        if not rows:
            raise ValueError(f"{path} is not a table: it is empty.")
        header = [name.strip() for name in rows[0]]
        named, width = len(header), max(map(len, rows))
        header += [""] * (width - named)
        names = [name or f"Unnamed: {i}" for i, name in enumerate(header)]
        # read under the numbers of the columns, since names may occur twice
        places = {i: dtype[name] for i, name in enumerate(names) if name in dtype}
        with _text(path, encoding) as file:
            table = pd.read_csv(
                file, header=0, names=range(width), low_memory=False, dtype=places, sep=sep,
                skipinitialspace=True, index_col=False,
            )  # fmt: skip
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is not text: {error.reason}.") from None
    nameless = [i for i in range(named, width) if table[i].notna().any()]
    if nameless:
        raise ValueError(
            f"{path}: rows have {nameless[-1] + 1} values, and the first line has {named} names; "
            "give each column a name."
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
