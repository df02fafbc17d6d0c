"""A user's own function as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, as_dense, is_frame, length
from ...frames import records
from ...params import a_function, one_of
from ..base import Kernel
from ..calculus.properties import Fact, Properties


@dataclass(eq=False, repr=False)
class Custom(Kernel):
    """k(x, y) given by a Python function.

    Nothing is assumed about the function: test it with
    :func:`mercer.testing.check_psd`, or write a class and test that with
    :func:`mercer.testing.check_kernel`.

    Parameters
    ----------
    function : callable
        From two samples to a number; with ``batch=True`` from two data sets to the block of
        all values. Samples are the items of a list, the rows of an array (numbers if it is
        one-dimensional), or dicts, one per row of a table. It should be pure: blocks are
        computed on several threads.
    batch : bool
        Whether the function is called once per block (fast) instead of once per pair (simple).

    Examples
    --------
    >>> from mercer import Custom
    >>> def shared(x, y):
    ...     return len(set(x) & set(y))
    >>> Custom(shared)
    Custom(function=shared)
    >>> Custom(shared)(["abc", "bcd"])
    array([[3., 2.],
           [2., 3.]])
    >>> (2 * Custom(shared) + 1)(["abc"], ["b", "xyz"])
    array([[3., 1.]])
    """

    function: Callable[[Any, Any], Any] = a_function("a function of two samples")
    batch: bool = one_of(False, False, True)
    because = "a user-defined function, assumed to be positive definite"

    def prepare(self, X: Data) -> Data:
        X = super().prepare(X)
        if self.batch:
            return X
        return records(X) if is_frame(X) else list(X)

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        values = self.function(X, Y) if self.batch else self._loop(X, Y)
        block = _floats(as_dense(values))
        wanted = (length(X), length(Y))
        if block.shape != wanted:
            each = "a block of" if self.batch else "one number per pair of samples, in all"
            raise ValueError(
                f"Custom: function must return {each} shape {wanted}, got shape {block.shape}."
            )
        if not np.all(np.isfinite(block)):
            i, j = np.argwhere(~np.isfinite(block))[0]
            raise ValueError(
                f"Custom: function returned {block[i, j]} for samples {i} and {j} of a block; it "
                f"must be finite everywhere."
            )
        return block

    def diag(self, X: Data) -> np.ndarray:
        if self.batch:
            return super().diag(X)
        return _floats([self.function(x, x) for x in X])

    def _loop(self, X: list, Y: list) -> list:
        return [[self.function(x, y) for y in Y] for x in X]

    @property
    def properties(self) -> Properties:
        return Properties(self.domain, psd=Fact(None, "not checked; see mercer.testing.check_psd"))


def _floats(values: Any) -> np.ndarray:
    """A fresh array: the function may keep a reference to what it returned."""
    try:
        array = np.array(values)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("Custom: function must return numbers.") from None
