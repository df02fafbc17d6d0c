"""Sources: chunks that are read, numbered, checked, and the same in every pass."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, is_frame, length
from .base import Chunk, Chunks, no_samples

COMPRESSED = (".gz", ".bz2", ".xz")
BYTES = 16e6  # of a chunk, unless its number of rows is given


class Source(Chunks):
    """Chunks read from an external source.

    A subclass only has to read: :meth:`_read` yields chunks. Everything else is done here: rows are
    numbered, every chunk is compared with the first, the first pass checks that numbers are finite,
    and a source that has changed since then is rejected.

    Parameters
    ----------
    name : str
        The name of the source in errors.
    paths : list of Path
        The files behind it, if there are any.
    """

    def __init__(self, name: str, paths: Iterable[Path] = ()) -> None:
        self.name, self.paths = name, list(paths)
        self._stamp = stamp(self.paths)
        self._checked = False

    @abstractmethod
    def _read(self) -> Iterator[Chunk]:
        """The chunks; row numbers are filled in."""

    def __iter__(self) -> Iterator[Chunk]:
        if stamp(self.paths) != self._stamp:
            raise self._change("was written to since it was opened")
        first: dict[str, str] | None = None
        start = 0
        for chunk in self._read():
            if not length(chunk.X):
                continue
            chunk = replace(chunk, start=start)
            where = f"{self.name}, rows {start} to {start + len(chunk) - 1}"
            found = described(chunk, where)
            first = first or found
            for what, words in found.items():
                if words != first[what]:
                    raise ValueError(
                        f"{where}: {what} are {words}, and {first[what]} in the rows before; all "
                        f"chunks need the same columns and types."
                    )
            if not self._checked:
                require_finite(chunk, self.name)
            start += len(chunk)
            yield chunk
        if not start:
            raise no_samples(self.name)
        self._checked = True
        before = vars(self).setdefault("_counted", start)
        if before != start:
            raise self._change(f"had {before} rows, and has {start} now")

    def _change(self, what: str) -> ValueError:
        return ValueError(
            f"{self.name} {what}; results of several passes need the same rows in each of them."
        )


def stamp(paths: Iterable[Path]) -> list[tuple[int, int]]:
    """Size and time of files, which show whether they were written to."""
    return [(s.st_size, s.st_mtime_ns) for s in (path.stat() for path in paths)]


def existing(path: Any) -> Path:
    """A file or folder that must exist."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}.")
    return path


def rows_of_chunk(row_bytes: float) -> int:
    """The number of samples in a chunk of some megabytes."""
    return int(max(1024, BYTES // max(row_bytes, 1)))


def described(chunk: Chunk, where: str) -> dict[str, str]:
    """Columns and types in words; they must be the same for all chunks."""
    for name, values in (("targets", chunk.y), ("weights", chunk.weight)):
        if values is not None and len(values) != len(chunk):
            raise ValueError(f"{where}: {len(chunk)} samples, but {len(values)} {name}.")
    return {
        "samples": _kind(chunk.X),
        "targets": "missing" if chunk.y is None else _kind(chunk.y),
        "weights": "missing" if chunk.weight is None else "given",
    }


def _kind(X: Data) -> str:
    if is_frame(X):
        return "rows of a table with " + ", ".join(
            f"{name!r} ({_numbers(dtype)})" for name, dtype in zip(X.columns, X.dtypes, strict=True)
        )
    if sp.issparse(X):
        return f"rows of a sparse matrix with {X.shape[1]} columns"
    if isinstance(X, np.ndarray):
        what = _numbers(X.dtype)
        if X.ndim == 1:
            return what
        sizes = f"{X.shape[1]} columns" if X.ndim == 2 else f"the shape {X.shape[1:]}"
        return f"rows of {what} with {sizes}"
    return f"of a {type(X).__name__}"


def _numbers(dtype: Any) -> str:
    kind = getattr(dtype, "kind", "O")
    return "numbers" if kind in "biuf" else "dates" if kind in "mM" else "objects"


def require_finite(chunk: Chunk, name: str) -> None:
    """Refuse NaN and infinity in vectors, targets and weights, with their row; and weights < 0."""
    parts = {"": chunk.X, "the target": chunk.y, "the weight": chunk.weight}
    for part, values in parts.items():
        found = None if values is None else _not_finite(values)
        if found is not None:
            row, column, value = found
            what = part or f"column {column!r}"
            raise ValueError(
                f"{name}, row {chunk.start + row}: {what} is {value}; fill or drop such rows first."
            )
    if chunk.weight is not None and np.any(chunk.weight < 0):
        row = chunk.start + int(np.argmax(chunk.weight < 0))
        raise ValueError(f"{name}, row {row}: the weight is negative.")


def _not_finite(X: Data) -> tuple[int, Any, float] | None:
    """Row, column and value of the first number that is not finite."""
    if is_frame(X):
        for place, name in enumerate(X.columns):
            column = np.asarray(X.iloc[:, place] if hasattr(X, "iloc") else X[:, place])
            found = _not_finite(column)
            if found is not None:
                return found[0], name, found[2]
        return None
    values = X.data if sp.issparse(X) else X
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or X.ndim > 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=float)):  # one pass; a second one only if it looks bad
            return None
    bad = ~np.isfinite(values)
    if not bad.any():
        return None
    at = np.unravel_index(int(np.argmax(bad)), values.shape)
    if sp.issparse(X):
        row = int(np.searchsorted(X.indptr, at[0], side="right")) - 1
        return row, int(X.indices[at[0]]), float(values[at])
    return int(at[0]), int(at[1]) if X.ndim == 2 else 0, float(values[at])
