"""What readers of data sets share: lines of text with their numbers, and what comes out."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import IO, Any

import numpy as np

from ..exceptions import FileFormatError

Source = str | PathLike[str] | IO[str] | IO[bytes]
_UNDECODED = re.compile("[\udc80-\udcff]")
_GZIP, _UTF16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")


@dataclass(eq=False)
class Records:
    """The samples of a file, and what it says about each: ``X, y = records``.

    Attributes
    ----------
    X : list or ndarray
        The samples, as kernels take them.
    y : ndarray or None
        Their labels (strings) or targets (numbers), if the file has any.
    names : list of str or None
        Their names, if they have any.
    about : dict
        What else there is in the file; see the reader.
    """

    X: Any
    y: np.ndarray | None = None
    names: list[str] | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.X)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __repr__(self) -> str:
        parts = [f"{len(self)} samples"]
        if self.y is not None:
            classes = self.y.dtype.kind != "f"
            parts.append(f"{len(np.unique(self.y))} classes" if classes else "targets")
        parts += ["names"] if self.names is not None else []
        return f"Records({', '.join(parts)})"


class Lines:
    """The lines of a text file, one by one: plain or gzip, whatever ends its lines.

    Parameters
    ----------
    source : path or open file
        An open file may be one of text or of bytes; it is not closed.
    encoding : str
        That of bytes. Files that begin with the mark of UTF-16 are read as such.
    """

    def __init__(self, source: Source, encoding: str = "utf-8") -> None:
        self._source, self._encoding = source, encoding
        given = isinstance(source, str | PathLike)
        self.name = str(fspath(source) if given else getattr(source, "name", "the open file"))  # type: ignore[arg-type]
        self.number = 0  # of the line that was read last

    def __iter__(self) -> Iterator[str]:
        """Lines without what ends them."""
        if not isinstance(self._source, str | PathLike):
            yield from self._read(self._source)
            return
        with open(self._source, "rb") as file:
            yield from self._read(file)

    def error(self, problem: str, number: int | None = None) -> FileFormatError:
        """What is wrong, with the file and the line, which is the last one by default."""
        return FileFormatError(f"{self.name}, line {number or self.number or 1}: {problem}")

    def _read(self, file: IO[Any]) -> Iterator[str]:
        try:
            with self._text(file) as text:
                for line in text:
                    self.number += 1
                    yield self._checked(line)
        except UnicodeDecodeError as error:
            raise self.error(f"what follows is not text in {error.encoding}.") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise self.error(f"the compressed file is damaged after it: {error}.") from None

    def _checked(self, line: str) -> str:
        """A line without what ends it, and the first one without the mark of an encoding."""
        if not line.isascii() and _UNDECODED.search(line):
            raise self.error(
                f"it is not text in {self._encoding}; name its encoding, such as "
                f'encoding="latin-1".'
            )
        return (line.removeprefix("\ufeff") if self.number == 1 else line).rstrip("\r\n")

    @contextmanager
    def _text(self, file: IO[Any]) -> Iterator[Iterable[str]]:
        """The file as text; one that was given stays open."""
        if file.read(0) != b"":
            yield file
            return
        layers: list[Any] = [] if hasattr(file, "peek") else [io.BufferedReader(file)]
        buffered: Any = layers[0] if layers else file
        if buffered.peek(2)[:2] == _GZIP:
            buffered = gzip.GzipFile(fileobj=buffered)
        encoding = "utf-16" if buffered.peek(2)[:2] in _UTF16 else self._encoding
        layers.append(io.TextIOWrapper(buffered, encoding, errors="surrogateescape"))
        try:
            yield layers[-1]
        finally:
            for layer in reversed(layers):
                layer.detach()
