"""Samples as lists of codes with a few numbers each, compared where they share a code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Prepared
from ..strings.sequences import counted

Visit = Callable[..., None]


@dataclass(eq=False, repr=False)
class Lists(Prepared):
    """Codes of each sample, distinct, with a row of numbers for each; parts share the arrays.

    Parameters
    ----------
    codes : int64 array (m,)
        The codes of all samples.
    numbers : float array (m, p)
        What goes with each of them.
    start, size : int64 arrays
        For each sample its first code and the number of its codes.
    """

    codes: np.ndarray
    numbers: np.ndarray
    start: np.ndarray
    size: np.ndarray

    each = ("start", "size")

    @property
    def places(self) -> np.ndarray:
        """Where the codes of these samples are, one sample after the other."""
        return np.repeat(self.start, self.size) + counted(self.size)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """The sum over the codes of each sample, of values for all codes in the arrays."""
        row = np.repeat(np.arange(len(self)), self.size)
        sums = np.bincount(row, weights=values[self.places], minlength=len(self))
        return sums.astype(np.float64)  # also where there are none


def join(parts: list[Lists]) -> Lists:
    """The samples of all parts, each with arrays of its own, one part after the other."""
    size = np.concatenate([part.size for part in parts])
    codes = np.concatenate([part.codes for part in parts])
    numbers = np.concatenate([part.numbers for part in parts])
    return Lists(codes, numbers, np.cumsum(size) - size, size)


def add_shared(X: Lists, Y: Lists, visit: Visit, out: Any, *further: Any) -> None:
    """Visit all pairs of samples of X and Y at all codes that they share.

    ``visit(out, ends, columns, left, starts, rows, places, right, *further)`` is compiled: codes
    of X by sample, with the place of each among the codes of Y, or -1; and for each place
    the samples of Y that have it. ``left`` and ``right`` are the numbers that go with codes.
    """
    from ...features.inverted_loops import invert, number, recall

    mine, theirs = X.places, Y.places
    table, known = number(Y.codes[theirs])
    columns = known if Y is X else recall(X.codes[mine], table)
    ends, other = (np.concatenate([[0], np.cumsum(Z.size)]) for Z in (X, Y))
    width = int(known.max(initial=-1)) + 1
    starts, rows, places = invert(other, known, np.arange(len(theirs)), width)
    visit(out, ends, columns, X.numbers[mine], starts, rows, places, Y.numbers[theirs], *further)
