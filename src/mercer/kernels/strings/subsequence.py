"""Subsequence kernels: symbols that two strings share in the same order, with gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exceptions import DomainError
from ...params import integer, parameter
from .. import properties as prop
from .sequences import Sequences
from .tables import Tabled, numbered_symbols


def _fraction(value: Any) -> str | None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return None if number and 0 < float(value) <= 1 else "a number in (0, 1]"


@dataclass(eq=False, repr=False)
class Subsequence(Tabled):
    r"""The gap-weighted subsequence kernel: shared subsequences of one length, less with gaps.

    .. math:: k(x, y) = \sum_{|u| = p} \; \sum_{I: x_I = u} \; \sum_{J: y_J = u}
        \lambda^{l(I) + l(J)}

    over all strings u of length p = ``length``, and all places I in x and J in y at which u can be
    read in order, where l(I) is the number of symbols from the first to the last of I. Only
    subsequences of this very length count; add kernels for several. Shorter strings have
    features zero.

    Parameters
    ----------
    length : int
        The length p of the subsequences.
    decay : float
        The factor lambda in (0, 1] for every symbol that is passed over or matched.

    Notes
    -----
    The table of two strings has length * abs(x) * abs(y) entries; sixteen are filled at once.

    Examples
    --------
    >>> from mercer import Subsequence
    >>> k = Subsequence(length=2, decay=0.5)
    >>> k(["cat", "car", "bat", "bar"])[0]  # ca, at: 0.5^4 each, c_t: 0.5^6
    array([0.140625, 0.0625  , 0.0625  , 0.      ])
    >>> k.normalize()(["cat", "car"]).round(4)
    array([[1.    , 0.4444],
           [0.4444, 1.    ]])

    References
    ----------
    Lodhi, Saunders, Shawe-Taylor, Cristianini & Watkins, *Text classification using string
    kernels*, JMLR 2002.
    """

    length: int = integer(3, low=1)
    decay: float = parameter(0.5, check=_fraction)
    because = "an inner product of explicit features: all subsequences of a length, with weights"

    def pairs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        from .table_loops import subsequences

        x, y = numbered_symbols(X, Y)
        return subsequences(x, X.ends, y, Y.ends, i, j, int(self.length), float(self.decay))

    @property
    def properties(self) -> prop.Properties:
        short = f"all strings shorter than {self.length} have features zero"
        alike = "'ab' and 'ba' have the same features" if self.length == 1 else short
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            strictly_pd=prop.no(alike),
            universal=prop.no(alike),
            characteristic=prop.no(alike),
            positive_diag=prop.no(f"k(x, x) = 0 for strings shorter than {self.length}"),
        )


@dataclass(eq=False, repr=False)
class AllSubsequences(Tabled):
    r"""The all-subsequences kernel: in how many ways two strings share a subsequence.

    .. math:: k(x, y) = \#\{(I, J) : x_I = y_J\}

    over all sets of places I in x and J in y, of any size: the empty subsequence counts once. With
    a ``decay`` d, a pair of subsequences of length p counts d^2p.

    The numbers grow exponentially with the lengths; from about 500 symbols on they can overflow,
    which is reported as an error.

    Parameters
    ----------
    decay : float
        The factor in (0, 1] for every symbol of a subsequence, in either string.

    Examples
    --------
    >>> from mercer import AllSubsequences
    >>> AllSubsequences()(["ab", "ba", "aab"])  # ab, ba: the empty one, a and b
    array([[ 4.,  3.,  6.],
           [ 3.,  4.,  4.],
           [ 6.,  4., 12.]])

    References
    ----------
    Shawe-Taylor & Cristianini, *Kernel methods for pattern analysis*, 2004, section 11.3.
    """

    decay: float = parameter(1.0, check=_fraction)
    because = "an inner product of explicit features: how often each subsequence occurs"

    def pairs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        from .table_loops import all_subsequences

        x, y = numbered_symbols(X, Y)
        values = all_subsequences(x, X.ends, y, Y.ends, i, j, float(self.decay))
        if not np.all(np.isfinite(values)):
            at = int(np.argmin(np.isfinite(values)))
            raise DomainError(
                f"AllSubsequences: strings of {X.lengths[i[at]]} and {Y.lengths[j[at]]} symbols "
                f"share more than 1e308 subsequences; lower decay (now {self.decay:g}), or use "
                f"Subsequence(length)."
            )
        return values

    @property
    def properties(self) -> prop.Properties:
        triangular = (
            "a string is a subsequence of itself once, and of no other string of its length or "
            "shorter, so the features of different strings are linearly independent"
        )
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            strictly_pd=prop.yes(triangular),
            positive_diag=prop.yes("k(x, x) >= 1: the empty subsequence"),
        )
