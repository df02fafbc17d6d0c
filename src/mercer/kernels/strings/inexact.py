"""Inexact k-mers: substrings that agree up to mismatches, or at some of their places.

Both kernels are sums over *patterns*, sets of places of a window: two windows that agree at the
places of a pattern count once for it. With the neighbourhoods of the mismatch kernel that is so,
too: how many strings lie within m mismatches of both of two windows depends on the number d of
places at which they differ only, and a function of d is a sum over the sets of places at which
they agree (Kuksa, Huang & Pavlovic, *Scalable algorithms for string kernels with inexact
matching*, NIPS 2008).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np

from ...data import Data
from ...params import integer, parameter
from ..base import not_resolved
from ..calculus import properties as prop
from .codes import Part
from .passes import Pattern
from .patterned import Patterned
from .sequences import Alphabet, Sequences, alphabet_symbols, check_alphabet, discover, places


def require_window(kernel: Any) -> None:
    """Refuse substrings that are longer than their window."""
    if kernel.k > kernel.g:
        raise ValueError(
            f"{type(kernel).__name__}: k must be at most g, the length of the window; got "
            f"k={kernel.k} and g={kernel.g}."
        )


@dataclass(eq=False, repr=False)
class GappyKmer(Patterned):
    r"""The gapped k-mer kernel: windows of length g that agree at k positions.

    .. math:: k(x, y) = \sum_{P} \#\{(i, j): x_{i + p} = y_{j + p} \text{ for all } p \in P\}

    over all sets P of k of the g positions of a window. Two windows that agree at s positions count
    C(s, k) times. Strings shorter than g have no window: their features are zero.

    Parameters
    ----------
    g : int
        The length of the windows.
    k : int
        The number of positions that must agree, at most g; the other g - k are gaps.

    Examples
    --------
    >>> from mercer import GappyKmer
    >>> GappyKmer(g=3, k=2)(["AAA", "AAC", "CAAC"])  # AAA and AAC agree in A A _
    array([[3., 1., 2.],
           [1., 3., 3.],
           [2., 3., 6.]])

    References
    ----------
    Ghandi et al., *Enhanced regulatory sequence prediction using gapped k-mer features*, PLoS
    Computational Biology 2014; Blakely et al., *FastSK: fast sequence analysis with gapped string
    kernels*, Bioinformatics 2020.
    """

    g: int = integer(6, low=1)
    k: int = integer(4, low=1)
    because = "an inner product of explicit features: the counts of all k-mers with g - k gaps"

    @property
    def codes_per_window(self) -> int:
        return comb(self.g, self.k)

    @property
    def span(self) -> int:
        return self.g

    def patterns(self) -> list[Pattern]:
        require_window(self)
        return [Pattern(kept, 1.0) for kept in combinations(range(self.g), self.k)]

    @property
    def properties(self) -> prop.Properties:
        return self._without_short(self.g)


@dataclass(eq=False, repr=False)
class Mismatch(Patterned):
    r"""The (k, m)-mismatch kernel: substrings of length k with up to m mismatches.

    .. math:: k(x, y) = \sum_{u \in A^k} \phi_u(x) \phi_u(y), \qquad
        \phi_u(x) = \#\{i : x_i \dots x_{i+k-1} \text{ differs from } u \text{ at} \le m
        \text{ places}\}

    over all strings u of length k over an alphabet A. Substrings with a symbol outside the alphabet
    are left out, and strings shorter than k have zero features.

    Parameters
    ----------
    k : int
        The length of the substrings.
    m : int
        The maximum number of mismatches, less than k.
    alphabet : str or sequence of int, optional
        The symbols; by default those of the training data.

    Notes
    -----
    The value for two windows at Hamming distance d is the number of strings within m of both.
    Written as a sum over sets of at least k - 2m places at which they agree, all its weights are
    non-negative if the alphabet is large, as that of proteins is: then the square roots of these
    weights times the counts of gapped k-mers are the features. Otherwise they are the counts of
    the definition.

    Examples
    --------
    >>> from mercer import Mismatch
    >>> Mismatch(k=3, m=1, alphabet="ACGT")(["AAA", "AAC", "ACC", "CCC"])[0]
    array([10.,  4.,  2.,  0.])

    References
    ----------
    Leslie, Eskin, Cohen, Weston & Noble, *Mismatch string kernels for discriminative protein
    classification*, Bioinformatics 2004.
    """

    k: int = integer(5, low=1)
    m: int = integer(1, low=0)
    alphabet: Alphabet | None = parameter(None, check=check_alphabet, learned=(None,))
    because = "an inner product of explicit features: the counts of all k-mers up to m mismatches"

    def resolve(self, X: Data) -> Mismatch:
        return self if self.alphabet is not None else self.replace(alphabet=discover(X, "Mismatch"))

    @property
    def codes_per_window(self) -> int:
        if min(self._weights()) >= 0:
            return len(self.patterns())
        letters = len(self.alphabet or "ACGT")
        return sum(comb(self.k, j) * (letters - 1) ** j for j in range(self.m + 1))

    def read(self, X: Data) -> Sequences:
        if self.alphabet is None:
            raise not_resolved(self)
        if self.m >= self.k:
            raise ValueError(
                f"Mismatch: m must be less than k, got m={self.m} and k={self.k}; with m = k all "
                f"substrings match."
            )
        sequences = super().read(X)
        found = places(sequences.symbols, alphabet_symbols(self.alphabet))
        return Sequences(found, sequences.ends)

    @property
    def span(self) -> int:
        return self.k

    def patterns(self) -> list[Pattern]:
        return [
            Pattern(kept, float(weight))
            for q, weight in enumerate(self._weights())
            for kept in combinations(range(self.k), self.k - q)
            if weight
        ]

    def _weights(self) -> list[int]:
        return pattern_weights(len(self.alphabet or "ACGT"), self.k, self.m)

    def windows(self, sequences: Sequences) -> tuple[np.ndarray, np.ndarray]:
        return sequences.known_windows(self.k)

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        if min(self._weights()) >= 0:
            yield from super().parts(sequences)
            return
        starts, counts = self.windows(sequences)
        letters = len(self.alphabet or "")
        codes = _neighbours(sequences.symbols, starts, self.k, self.m, letters)
        yield Part(codes, counts, starts, range(self.k))

    @property
    def properties(self) -> prop.Properties:
        size = "unknown" if self.alphabet is None else f"{len(self.alphabet)}^{self.k}"
        known = prop.yes(f"there are {size} substrings") if self.alphabet is not None else None
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            finite_dim=known or prop.UNKNOWN,
            positive_diag=prop.no(f"k(x, x) = 0 for strings shorter than {self.k}"),
            characteristic=prop.no("strings with the same k-mer counts have the same features"),
        )


def shared_neighbours(letters: int, k: int, m: int) -> list[int]:
    """How many strings lie within m mismatches of both of two k-mers that differ at d places.

    For d = 0, ..., min(2m, k). Of the d places, t are as in the first, u as in the second and r
    as in neither; z of the others are changed, too.

    Examples
    --------
    >>> from mercer.kernels.strings.inexact import shared_neighbours
    >>> shared_neighbours(letters=4, k=5, m=1)
    [16, 4, 2]
    """
    return [
        sum(
            comb(k - d, z) * (letters - 1) ** z * comb(d, t) * comb(d - t, u) * (letters - 2) ** r
            for z in range(k - d + 1)
            for t in range(d + 1)
            for u in range(d - t + 1)
            if (r := d - t - u) + z + max(t, u) <= m
        )
        for d in range(min(2 * m, k) + 1)
    ]


def pattern_weights(letters: int, k: int, m: int) -> list[int]:
    """Weights a_q of the patterns with q places left out, so that their sum is the kernel.

    Two k-mers that differ at d places agree in C(k - d, q - d) of the patterns, so the weights
    solve sum_q a_q C(k - d, q - d) = shared_neighbours[d].
    """
    shared = shared_neighbours(letters, k, m)
    weights = [0] * len(shared)
    for d in reversed(range(len(shared))):
        others = range(d + 1, len(shared))
        weights[d] = shared[d] - sum(weights[q] * comb(k - d, q - d) for q in others)
    return weights


def _neighbours(digits: np.ndarray, starts: np.ndarray, k: int, m: int, letters: int) -> np.ndarray:
    """The codes of all strings within m mismatches of each window: numbers to base ``letters``."""
    if letters**k > 2**56:
        raise ValueError(
            f"Mismatch: {letters} symbols to the power of k={k} are more than 2^56 substrings; "
            f"lower k."
        )
    place = [letters ** (k - 1 - j) for j in range(k)]
    digit = [digits[starts + j] for j in range(k)]
    exact = sum(d * p for d, p in zip(digit, place, strict=True))
    columns = []
    for changed in range(m + 1):
        for at in combinations(range(k), changed):
            for steps in product(range(1, letters), repeat=changed):
                moves = (
                    ((digit[j] + step) % letters - digit[j]) * place[j]
                    for j, step in zip(at, steps, strict=True)
                )
                columns.append(exact + sum(moves))
    return np.stack(columns, axis=1)
