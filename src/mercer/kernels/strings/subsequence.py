"""Subsequence kernels: symbols that two strings share in the same order, with gaps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...params import fraction, integer, parameter
from ..calculus import properties as prop
from ..pairs.logarithms import Found, WidePaired, moved
from ..pairs.wide import BITS, LARGEST, zeros
from .sequences import Sequences
from .spectrum import weights_of_lengths
from .tables import Tabled, in_pieces, in_steps, numbered_symbols, of_wide, wide_steps

_SMALLEST = -400.0  # log of the weight of a subsequence from which on it is kept apart


class Counting(Tabled, WidePaired):
    """A sum over subsequences of two strings."""

    def too_large(self, x: Sequences, y: Sequences) -> str:
        return f"strings of {x.lengths[0]} and {y.lengths[0]} symbols"


class GapWeighted(Counting):
    """A sum over lengths of subsequences, less with gaps."""

    decay: float  # a field of the kernels below, after the length

    @property
    @abstractmethod
    def by_length(self) -> np.ndarray:
        """The weights of subsequences of length 1, 2, ...; the last one is not zero."""

    def found(
        self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray, sloped: bool = False
    ) -> Found:
        from .table_loops import begin, fill_gapped, finish_gapped, gapped, gapped_room, lanes_for

        x, y = numbered_symbols(X, Y)
        data, decay, (factors, power) = (x, X.ends, y, Y.ends), float(self.decay), self._factors()
        out, flag, length = np.zeros((3, len(i))), True if sloped else None, len(factors)

        def many(part: slice) -> None:
            gapped(*data, i[part], j[part], factors, decay, flag, out[:, part])

        def long(part: slice, step: int) -> None:
            s, t = lanes_for(X.ends, i[part]), lanes_for(Y.ends, j[part])
            n, m = begin(*data, i[part], j[part], 0, s, t)
            arrays = gapped_room(length, n)
            slopes = gapped_room(length, n) if sloped else None
            in_steps(lambda a, b: fill_gapped(s, t, n, a, b, decay, arrays, slopes), m, step)
            finish_gapped(0, factors, arrays, slopes, out[:, part])

        in_pieces(X.lengths[i], Y.lengths[j], length, many, long)
        value, top, slope = out
        slope = slope / np.where(value > 0, value, 1.0) if sloped else slope
        exponent = np.full(len(i), power)
        for at in np.flatnonzero(~(np.maximum(top, value) <= LARGEST)):
            value[at], exponent[at], slope[at] = self._wide(X, Y, i[at], j[at], sloped)
        return Found(value, exponent, slope[:, None])

    def _factors(self) -> tuple[np.ndarray, int]:
        """What a pair of subsequences of each length counts, over 2^(256 p), and the power p.

        p is 0 unless decay^(2 length) is so small that values might be lost.
        """
        lengths, weights = np.arange(1, len(self.by_length) + 1), self.by_length
        logs = np.log(np.where(weights > 0, weights, 1)) + 2 * lengths * np.log(float(self.decay))
        if logs[-1] > _SMALLEST:
            return weights * float(self.decay) ** (2 * lengths), 0
        power = round(logs[weights > 0].max() / (BITS * np.log(2)))
        logs = np.where(weights > 0, logs, -np.inf)
        return np.exp(logs - power * BITS * np.log(2)), power

    def _wide(
        self, X: Sequences, Y: Sequences, i: int, j: int, sloped: bool
    ) -> tuple[float, int, float]:
        from .wide_loops import subsequence_rows, weighted_levels

        x, y, decay = X.one(i), Y.one(j), moved(self.decay, sloped)
        kind, weights = type(decay), self.by_length
        H = zeros((len(weights), len(y) + 1), kind, True)
        totals, out = zeros(len(weights), kind, True), zeros(1, kind, True)
        wide_steps(lambda a, b: subsequence_rows(x, y, a, b, decay, H, totals), x, y, len(weights))
        weighted_levels(totals, weights, decay, out)
        return of_wide(out, 0)


@dataclass(eq=False, repr=False)
class Subsequence(GapWeighted):
    r"""The gap-weighted subsequence kernel: shared subsequences of one length, penalised for gaps.

    .. math:: k(x, y) = \sum_{|u| = p} \; \sum_{I: x_I = u} \; \sum_{J: y_J = u}
        \lambda^{l(I) + l(J)}

    over all strings u of length p = ``length``, and all places I in x and J in y at which u can be
    read in order, where l(I) is the number of symbols from the first to the last of I. Only
    subsequences of exactly this length count; :class:`BlendedSubsequence` sums over lengths.
    Shorter strings have zero features.

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
    decay: float = fraction(0.5)
    because = "an inner product of explicit features: all subsequences of a length, with weights"

    @property
    def by_length(self) -> np.ndarray:
        return np.eye(int(self.length))[-1]

    @property
    def properties(self) -> prop.Properties:
        short = f"all strings shorter than {self.length} have features zero"
        alike = "'ab' and 'ba' have the same features" if self.length == 1 else short
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            **prop.blind(alike),
            positive_diag=prop.no(f"k(x, x) = 0 for strings shorter than {self.length}"),
        )


@dataclass(eq=False, repr=False)
class BlendedSubsequence(GapWeighted):
    r"""The blended subsequence kernel: shared subsequences of several lengths, penalised for gaps.

    .. math:: k(x, y) = \sum_{p=1}^{q} a_p\, k_p(x, y)

    where k_p is :class:`Subsequence` of length p and q = ``length``. All lengths come from one
    table, in little more than the time of the longest.

    Parameters
    ----------
    length : int
        The largest length q.
    decay : float
        The factor lambda in (0, 1] for every symbol that is passed over or matched.
    weights : sequence of q numbers >= 0, optional
        The weights a_1, ..., a_q; by default all are 1.

    Examples
    --------
    >>> from mercer import BlendedSubsequence, Subsequence
    >>> X = ["cat", "car", "bat", "bar"]
    >>> BlendedSubsequence(length=2, decay=0.5)(X)[0]
    array([0.890625, 0.5625  , 0.5625  , 0.25    ])
    >>> (Subsequence(1) + Subsequence(2))(X)[0]
    array([0.890625, 0.5625  , 0.5625  , 0.25    ])

    References
    ----------
    Shawe-Taylor & Cristianini, *Kernel methods for pattern analysis*, 2004, section 11.5.
    """

    length: int = integer(3, low=1)
    decay: float = fraction(0.5)
    weights: Sequence[float] | np.ndarray | None = parameter(None, check=weights_of_lengths)
    because = "an inner product of explicit features: all subsequences up to a length, with weights"

    @property
    def by_length(self) -> np.ndarray:
        if self.weights is None:
            return np.ones(int(self.length))
        weights = np.asarray(self.weights, dtype=float)
        if len(weights) != self.length:
            raise ValueError(
                f"BlendedSubsequence: weights must hold one number for each length up to "
                f"{self.length}, got {len(weights)}."
            )
        return weights[: np.flatnonzero(weights)[-1] + 1]

    @property
    def properties(self) -> prop.Properties:
        lengths = np.flatnonzero(self.by_length) + 1
        alike = prop.UNKNOWN
        if lengths[0] > 1:
            alike = prop.no(f"all strings shorter than {lengths[0]} have features zero")
        elif lengths[-1] == 1:
            alike = prop.no("'ab' and 'ba' have the same features")
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            **dict.fromkeys(("strictly_pd", "universal", "characteristic"), alike),
            positive_diag=prop.no("k(x, x) = 0 for the empty string"),
        )


@dataclass(eq=False, repr=False)
class AllSubsequences(Counting):
    r"""The all-subsequences kernel: in how many ways two strings share a subsequence.

    .. math:: k(x, y) = \#\{(I, J) : x_I = y_J\}

    over all sets of places I in x and J in y, of any size: the empty subsequence counts once. With
    a ``decay`` d, a pair of subsequences of length p counts d^2p.

    The numbers grow exponentially with the lengths; from about 500 symbols on they can overflow,
    which is reported as an error. ``k.normalize()`` works from their logarithms, at any length.

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

    decay: float = fraction(1.0)
    because = "an inner product of explicit features: how often each subsequence occurs"

    def found(
        self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray, sloped: bool = False
    ) -> Found:
        from .table_loops import all_room, all_subsequences, begin, fill_all, finish_all, lanes_for

        x, y = numbered_symbols(X, Y)
        data, decay = (x, X.ends, y, Y.ends), float(self.decay)
        out, flag = np.zeros((2, len(i))), True if sloped else None

        def many(part: slice) -> None:
            all_subsequences(*data, i[part], j[part], decay, flag, out[:, part])

        def long(part: slice, step: int) -> None:
            s, t = lanes_for(X.ends, i[part]), lanes_for(Y.ends, j[part])
            n, m = begin(*data, i[part], j[part], 0, s, t)
            K, edge = all_room(n, m)
            in_steps(lambda a, b: fill_all(s, t, n, a, b, decay, K, edge, flag), m, step)
            finish_all(0, m, K, out[:, part])

        in_pieces(X.lengths[i], Y.lengths[j], 1, many, long)
        value, slope = out
        exponent = np.zeros(len(i), np.int64)
        wide = ~(value <= LARGEST)
        slope = slope / np.where(wide, 1.0, value)
        for at in np.flatnonzero(wide):
            value[at], exponent[at], slope[at] = self._wide(X, Y, i[at], j[at], sloped)
        return Found(value, exponent, slope[:, None])

    def _wide(
        self, X: Sequences, Y: Sequences, i: int, j: int, sloped: bool
    ) -> tuple[float, int, float]:
        from .wide_loops import all_subsequence_rows

        x, y, decay = X.one(i), Y.one(j), moved(self.decay, sloped)
        K = zeros(len(y) + 1, type(decay), True)
        K[0][:] = 1.0
        wide_steps(lambda a, b: all_subsequence_rows(x, y, a, b, decay, K), x, y, 1)
        return of_wide(K, len(y))

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
