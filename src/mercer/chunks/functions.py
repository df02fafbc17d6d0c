"""Chunks that a function of the user yields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import check_count
from .base import Chunk, regrouped
from .source import Source


class FunctionChunks(Source):
    """The chunks that a function yields: X, (X, y) or (X, y, weight).

    Parameters
    ----------
    function : callable
        A function without arguments. It is called once for each pass, and must yield the same
        chunks every time. Pass a generator function, not a generator, which can be read only once.
    rows : int, optional
        Samples in a chunk; by default the chunks stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.chunks import FunctionChunks
    >>> def days():
    ...     for day in range(3):
    ...         X = np.random.default_rng(day).normal(size=(4, 2))
    ...         yield X, X[:, 0]
    >>> chunks = FunctionChunks(days)
    >>> len(chunks), [chunk.start for chunk in chunks]
    (12, [0, 4, 8])
    """

    def __init__(self, function: Callable[[], Iterable[Any]], rows: int | None = None) -> None:
        if not callable(function):
            raise TypeError(
                f"a {type(function).__name__} can be read only once, but a fit takes many passes; "
                "pass a function without arguments that returns a new one."
            )
        super().__init__(f"{getattr(function, '__name__', 'the function')}()")
        self.function, self.rows = function, check_count("rows", rows, also=(None,))

    def _read(self) -> Iterator[Chunk]:
        found = self.function()
        if not hasattr(found, "__iter__"):
            raise TypeError(
                f"{self.name} returned a {type(found).__name__}; it must return an iterable of "
                "chunks: X, (X, y) or (X, y, weight)."
            )
        chunks = map(as_chunk, found)
        return chunks if self.rows is None else regrouped(chunks, self.rows)


def as_chunk(item: Any) -> Chunk:
    """X, or a tuple of X, y and weight, as a chunk."""
    if isinstance(item, Chunk):
        return item
    X, y, weight = (*item, None, None)[:3] if isinstance(item, tuple) else (item, None, None)
    if isinstance(item, tuple) and len(item) > 3:
        raise TypeError(f"a chunk is X, (X, y) or (X, y, weight), got {len(item)} parts.")
    X = X.tocsr() if sp.issparse(X) else X
    y = None if y is None else np.asarray(y)
    return Chunk(X, y, None if weight is None else np.asarray(weight, dtype=float))
