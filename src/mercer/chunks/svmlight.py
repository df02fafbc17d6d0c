"""Chunks of SVMlight files: lines ``label index:value index:value ...``, as CSR matrices."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import check_count
from ..exceptions import FileFormatError
from .base import Chunk, regrouped
from .source import Source, existing
from .svmlight_loops import INDEX, LABEL, ORDER, PAIR, parse

_BLOCK = 1 << 24  # bytes of text at a time, which take about as much memory once they are read
_OPEN: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_POWERS = 10.0 ** np.arange(23)
_WRONG = {
    LABEL: "a line begins with its label, one number",
    PAIR: "pairs index:value follow the label",
    INDEX: "an index is a whole number",
    ORDER: "indices increase from left to right",
}


class SvmlightChunks(Source):
    r"""The lines of a file in the format of SVMlight and LIBSVM, as sparse rows with labels.

    Comments and query numbers (``qid:3``) are left out. Numbers are read as Python reads them.

    Parameters
    ----------
    path : path
        Also compressed: ``.gz``, ``.bz2``, ``.xz``.
    n_features : int, optional
        The number of columns; by default the largest index, found in a separate pass.
    zero_based : bool or "auto"
        Whether column numbers start at 0. By default they do if number 0 occurs.
    rows : int, optional
        Samples in a chunk; by default those in 16 MB of text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from mercer.chunks import SvmlightChunks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two.svm")
    ...     _ = path.write_text("+1 1:0.5 3:2\n-1 2:1e-3\n")
    ...     [chunk] = SvmlightChunks(path)
    >>> chunk.X.toarray(), chunk.y
    (array([[5.e-01, 0.e+00, 2.e+00],
           [0.e+00, 1.e-03, 0.e+00]]), array([ 1., -1.]))
    """

    def __init__(
        self,
        path: str | PathLike[str],
        n_features: int | None = None,
        zero_based: bool | str = "auto",
        rows: int | None = None,
    ) -> None:
        if zero_based not in (True, False, "auto"):
            raise ValueError(f'zero_based must be True, False or "auto", got {zero_based!r}.')
        self.path = existing(path)
        super().__init__(str(path), [self.path])
        self.n_features = check_count("n_features", n_features, also=(None,))
        self.rows, self.zero_based = check_count("rows", rows, also=(None,)), zero_based

    def _read(self) -> Iterator[Chunk]:
        width, first = self._columns
        chunks = (self._chunk(block, width, first) for block in self._blocks())
        return chunks if self.rows is None else regrouped(chunks, self.rows)

    @cached_property
    def _columns(self) -> tuple[int, int]:
        """The number of columns, and the index of the first."""
        if self.n_features is not None and self.zero_based != "auto":
            return self.n_features, int(not self.zero_based)
        lowest, highest = 1, 0
        for block in self._blocks():
            lowest = min(lowest, int(block.indices.min(initial=1)))
            highest = max(highest, int(block.indices.max(initial=0)))
        first = int(not self.zero_based) if self.zero_based != "auto" else min(lowest, 1)
        return self.n_features or highest + 1 - first, first

    def _chunk(self, block: _Block, width: int, first: int) -> Chunk:
        columns = block.indices - first
        outside = (columns < 0) | (columns >= width)
        if outside.any():
            pair = int(np.argmax(outside))
            row = block.start + int(np.searchsorted(block.starts, pair, side="right")) - 1
            last = width - 1 + first
            raise FileFormatError(
                f"{self.name}, row {row}: index {block.indices[pair]} is outside {first} to "
                f"{last}; omit n_features and zero_based to infer them."
            )
        shape = (len(block.labels), width)
        X = sp.csr_matrix((block.values, columns, block.starts), shape=shape)
        return Chunk(X, block.labels)

    def _blocks(self) -> Iterator[_Block]:
        """Some lines at a time."""
        line, start, rest = 0, 0, b""
        try:
            with _OPEN.get(self.path.suffix, open)(self.path, "rb") as file:
                while True:
                    text = file.read(_BLOCK)
                    end = text.rfind(b"\n") + 1 if text else 0
                    if text and not end:
                        rest += text
                        continue
                    whole = rest + text[:end]
                    if whole:
                        block = _parsed(whole, self.name, line, start)
                        line, start = line + whole.count(b"\n"), start + len(block.labels)
                        yield block
                    if not text:
                        return
                    rest = text[end:]
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise FileFormatError(
                f"{self.name}, after line {line}: the compressed file is damaged: {error}"
            ) from None


@dataclass
class _Block:
    """Some lines as arrays, and the number of the first sample."""

    labels: np.ndarray
    starts: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    start: int


def _parsed(text: bytes, name: str, line: int, start: int) -> _Block:
    """The samples in whole lines; ``line`` have been read before them."""
    raw = np.frombuffer(text, dtype=np.uint8)
    lines, pairs = text.count(b"\n") + 1, text.count(b":")
    labels, starts = np.empty(lines), np.empty(lines + 1, dtype=np.int64)
    indices, values = np.empty(pairs, dtype=np.int64), np.empty(pairs)
    hard = np.empty((lines + pairs, 3), dtype=np.int64)
    n, m, unread, wrong, at = parse(raw, _POWERS, labels, starts, indices, values, hard)

    def error(problem: str, at: int) -> FileFormatError:
        number = line + text.count(b"\n", 0, at) + 1
        words = text[at : at + 40].split(b"\n")[0].decode("utf-8", "replace")
        return FileFormatError(f"{name}, line {number}: {problem}, got {words!r}.")

    if wrong:
        raise error(_WRONG[wrong], at)
    for slot, first, stop in hard[:unread]:
        try:
            value = float(text[first:stop])
        except ValueError:
            problem = _WRONG[LABEL] if slot < 0 else "a value is a number"
            raise error(problem, first) from None
        if slot < 0:
            labels[-1 - slot] = value
        else:
            values[slot] = value
    return _Block(labels[:n], starts[: n + 1], indices[:m], values[:m], start)
