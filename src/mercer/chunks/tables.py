"""Chunks of tables in files: Parquet, Arrow and CSV, read by pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_choice, check_count
from ..exceptions import FileFormatError
from .base import Chunk, regrouped
from .roles import Roles, listed
from .source import COMPRESSED, Source, existing, rows_of_chunk

_MISSING = ("error", "drop", "keep")
_NOTHING = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip  # as pandas reads them
_WIDE = 40  # bytes of a value that is not a number
_SEPARATORS = ",;\t|"
_BLOCK = 1 << 20  # bytes of text read at a time; some dozens of blocks exist at once
_PAGE = 1 << 20  # bytes of a column read at a time


class TableChunks(Source):
    """The rows of tables that pyarrow reads; chunks are tables of pandas.

    Parameters
    ----------
    target, weight : str, optional
        Columns; a list of them makes a target with several columns.
    columns : list of str, optional
        Those to read; by default all.
    rows : int, optional
        Samples in a chunk; by default as many as take 16 MB.
    missing : {"error", "drop", "keep"}
        What to do with rows that have no value in one of these columns.
    """

    def __init__(
        self,
        name: str,
        paths: list[Path],
        target: Any = None,
        weight: Any = None,
        columns: Any = None,
        rows: int | None = None,
        missing: str = "error",
    ) -> None:
        check_choice("missing", missing, _MISSING)
        super().__init__(name, paths)
        self._checked = missing == "keep"
        self.roles, self.missing = Roles(columns, target, weight), missing
        known = self.schema.names
        twice = [n for n in known if known.count(n) > 1]
        if twice:
            raise ValueError(
                f"{name} has two columns with the same name, {twice[0]!r}; rename one."
            )
        self.wanted = list(dict.fromkeys(self._named(known)))
        usual = rows_of_chunk(sum(_width(self.schema.field(n)) for n in self.wanted))
        self.rows = check_count("rows", rows, also=(None,)) or usual

    @cached_property
    @abstractmethod
    def schema(self) -> Any:
        """Names and types of all columns."""

    @abstractmethod
    def _batches(self) -> Iterator[Any]:
        """Record batches of the requested columns, of any size."""

    def _named(self, known: list[str]) -> list[str]:
        """The columns that have a role."""
        roles = self.roles
        asked = [*roles.columns, *roles.others]
        for name in asked:
            if name not in known:
                raise ValueError(f"{self.name} has no column {name!r}; there are {listed(known)}.")
        return asked if roles.columns else known

    def _read(self) -> Iterator[Chunk]:
        return regrouped(self._chunks(), self.rows)

    def _chunks(self) -> Iterator[Chunk]:
        start = 0
        try:
            for batch in self._batches():
                table = self._complete(batch, start)
                start += batch.num_rows
                if table.num_rows:
                    yield self.roles(Chunk(table.to_pandas(), start=start - batch.num_rows))
        except (OSError, _arrow().ArrowInvalid) as error:
            words = " ".join(str(error).split())
            raise FileFormatError(f"{self.name}, after row {start}: {words}") from None

    def _complete(self, batch: Any, start: int) -> Any:
        """The rows without missing values, or an error that says where one is; plain types."""
        import pyarrow.compute as pc

        batch = batch.select(self.wanted)
        if self.missing == "keep":
            plain = [column.cast(_with_gaps(column.type)) for column in batch.columns]
            return _arrow().Table.from_arrays(plain, names=self.wanted)
        lost = [pc.is_null(column, nan_is_null=True) for column in batch.columns]
        counts = [pc.sum(mask).as_py() or 0 for mask in lost]
        if any(counts) and self.missing == "error":
            column = int(np.argmax(np.array(counts) > 0))
            row = pc.index(lost[column], True).as_py()
            raise ValueError(
                f"{self.name}, row {start + row}: column {self.wanted[column]!r} has no value; "
                'fill it, or drop such rows with missing="drop".'
            )
        if any(counts):
            whole = ~np.logical_or.reduce([np.asarray(mask) for mask in lost])
            batch = batch.filter(_arrow().array(whole))
        plain = [column.cast(_plain(column.type)) for column in batch.columns]
        return _arrow().Table.from_arrays(plain, names=self.wanted)


class ParquetChunks(TableChunks):
    """The rows of a data set of Arrow: Parquet files, folders of them, tables.

    Parameters
    ----------
    source : path, list of paths, pyarrow.dataset.Dataset or pyarrow.Table
        A folder may be partitioned by names such as ``year=2024``.
    target, weight, columns, rows, missing
        As for :class:`TableChunks`.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from mercer.chunks import ParquetChunks
    >>> table = pa.table({"age": [31.0, 45.0, 27.0], "sick": ["no", "yes", "no"]})
    >>> [chunk] = ParquetChunks(table, target="sick")
    >>> list(chunk.X.columns), chunk.y.tolist()
    (['age'], ['no', 'yes', 'no'])
    """

    def __init__(self, source: Any, target: Any = None, weight: Any = None, **options: Any) -> None:
        ds = _arrow("dataset")
        name, self.dataset = f"the {type(source).__name__}", source
        if isinstance(source, str | PathLike | list | tuple):
            given = source if isinstance(source, list | tuple) else [source]
            files = [existing(path) for path in given]
            name = str(files[0]) if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
            kind = "ipc" if files[0].suffix in (".arrow", ".feather", ".ipc") else "parquet"
            try:
                self.dataset = ds.dataset(
                    str(files[0]) if len(files) == 1 else [str(f) for f in files],
                    format=kind,
                    partitioning="hive",
                )
            except (OSError, _arrow().ArrowInvalid) as error:
                words = " ".join(str(error).split())
                raise FileFormatError(
                    f"{name} is not a file of this kind, or is truncated: {words}"
                ) from None
        elif isinstance(source, _arrow().Table):
            self.dataset = ds.dataset(source)
        paths = [Path(path) for path in getattr(self.dataset, "files", [])]
        super().__init__(name, [p for p in paths if p.exists()], target, weight, **options)

    @cached_property
    def schema(self) -> Any:
        return self.dataset.schema

    @property
    def n_samples(self) -> int:
        if self.missing == "drop":
            return super().n_samples
        if "_counted" not in vars(self):
            self._counted = self.dataset.count_rows()
        return self._counted

    def about(self) -> float:
        return self.n_samples if self.missing != "drop" else self.dataset.count_rows()

    def _batches(self) -> Iterator[Any]:
        for fragment in self.dataset.get_fragments():
            if self._is_plain(fragment):
                yield from self._pages(fragment)
            else:
                yield from fragment.to_batches(
                    schema=self.schema,
                    columns=self.wanted,
                    batch_size=self.rows,
                    batch_readahead=1,
                    use_threads=False,
                )

    def _is_plain(self, fragment: Any) -> bool:
        """Is this a Parquet file in which the requested columns are stored as they are?"""
        if not isinstance(fragment, _arrow("dataset").ParquetFileFragment):
            return False
        own = fragment.physical_schema
        return all(
            name in own.names and own.field(name).type == self.schema.field(name).type
            for name in self.wanted
        )

    def _pages(self, fragment: Any) -> Iterator[Any]:
        """Rows of a Parquet file, page by page: the scanner of Arrow holds whole groups of rows."""
        with fragment.open() as file:
            parquet = _arrow("parquet").ParquetFile(file, pre_buffer=False, buffer_size=_PAGE)
            yield from parquet.iter_batches(
                batch_size=self.rows, columns=self.wanted, use_threads=False
            )


class CsvChunks(TableChunks):
    """The rows of a text file with a header, separated by commas, semicolons, tabs or bars.

    The first megabytes decide whether a column holds numbers or strings.

    Parameters
    ----------
    path : path
        Also compressed: ``.csv.gz``.
    target, weight, columns, rows, missing
        As for :class:`TableChunks`.
    strings : list of str
        Columns that are strings, whatever the first megabytes hold.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        target: Any = None,
        weight: Any = None,
        strings: Iterable[str] = (),
        **options: Any,
    ) -> None:
        self.path, self.strings = existing(path), frozenset(strings)
        super().__init__(str(path), [self.path], target, weight, **options)

    @cached_property
    def schema(self) -> Any:
        pa = _arrow()
        try:
            with self._open() as first:
                found = first.schema
        except (OSError, pa.ArrowInvalid) as error:
            raise FileFormatError(f"{self.name} is not a table, or is truncated: {error}") from None
        # whole numbers at first may have a point later; what is empty at first may be numbers
        loose = [
            pa.float64() if pa.types.is_integer(f.type) or pa.types.is_null(f.type) else f.type
            for f in found
        ]
        loose = [
            pa.string() if name in self.strings else kind
            for name, kind in zip(found.names, loose, strict=True)
        ]
        return pa.schema(list(zip(found.names, loose, strict=True)))

    def _open(self, **convert: Any) -> Any:
        csv = _arrow("csv")
        return csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(block_size=_BLOCK),
            parse_options=csv.ParseOptions(delimiter=self._separator),
            convert_options=csv.ConvertOptions(
                strings_can_be_null=True, null_values=_NOTHING, **convert
            ),
            memory_pool=_arrow().system_memory_pool(),  # others keep what they have been given
        )

    @cached_property
    def _separator(self) -> str:
        head = self._head().decode("utf-8", "replace").partition("\n")[0]
        return max(_SEPARATORS, key=head.count)

    def _head(self) -> bytes:
        with _arrow().input_stream(str(self.path)) as file:
            return file.read(1 << 16)

    def about(self) -> float | None:
        """From the lengths of the first lines; None for files that are compressed."""
        known, head = super().about(), self._head()
        if known is not None or not head.count(b"\n") or self.path.suffix in COMPRESSED:
            return known
        return self.path.stat().st_size * head.count(b"\n") / len(head)

    def _batches(self) -> Iterator[Any]:
        types = {name: self.schema.field(name).type for name in self.wanted}
        with self._open(include_columns=self.wanted, column_types=types) as reader:
            yield from reader


def _arrow(part: str = "") -> Any:
    """The module pyarrow, or one in it."""
    from importlib import import_module

    try:
        return import_module(f"pyarrow.{part}" if part else "pyarrow")
    except ImportError:
        raise ImportError('reading tables needs pyarrow: pip install "mercer[table]".') from None


def _plain(kind: Any) -> Any:
    """Dictionaries replaced by their values, decimals by floats; everything else as it is."""
    types = _arrow().types
    if types.is_dictionary(kind):
        return kind.value_type
    return _arrow().float64() if types.is_decimal(kind) else kind


def _with_gaps(kind: Any) -> Any:
    """Types that are the same in pandas whether or not values are missing."""
    pa, plain = _arrow(), _plain(kind)
    if pa.types.is_boolean(plain):
        return pa.string()
    if pa.types.is_date(plain):
        return pa.timestamp("s")  # else they are Python objects, one for each row
    return pa.float64() if pa.types.is_integer(plain) else plain


def _width(field: Any) -> int:
    try:
        return max(field.type.bit_width // 8, 1)
    except ValueError:
        return _WIDE
