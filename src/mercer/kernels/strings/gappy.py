"""The gapped k-mers of Leslie and Kuang: subsequences of windows, and windows with wildcards.

In :class:`.inexact.GappyKmer` it matters where in a window its gaps are; in the subsequences of
:class:`RestrictedGappy` it does not. (Leslie & Kuang, *Fast string kernels using inexact matching
for protein sequences*, JMLR 2004.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ...features.inverted import products
from ...params import fraction, integer, parameter
from ..base import Tile, weigh
from ..calculus import properties as prop
from .base import Substrings
from .codes import COLUMNS, Part, pattern_codes
from .inexact import GappyKmer, require_window
from .passes import Pattern
from .patterned import Patterned
from .sequences import Sequences


def _optional_fraction(value: Any) -> str | None:
    check = fraction().metadata["check"]
    return None if value is None or check(value) is None else "None or a number in (0, 1]"


@dataclass(eq=False, repr=False)
class RestrictedGappy(Substrings):
    r"""The restricted gappy kernel: subsequences of length k inside windows of length g.

    .. math:: k(x, y) = \sum_{u \in A^k} \phi_u(x) \phi_u(y), \qquad
        \phi_u(x) = \#\{i : u \text{ is a subsequence of } x_i \dots x_{i+g-1}\}

    A window counts once for a subsequence, however many times it occurs in it. With a ``decay`` d
    every occurrence counts, weighted by its gaps:

    .. math:: \phi_u(x) = \sum_i \;
        \sum_{i \le i_1 < \dots < i_k < i+g,\; x_{i_1} \dots x_{i_k} = u} d^{\, i_k - i_1 + 1 - k}

    which is :class:`.Subsequence` restricted to gaps that fit into a window. Unlike for
    :class:`.GappyKmer`, it makes no difference where the gaps are: ``A_TC`` matches ``AT_C``.
    Strings shorter than g have no window: their features are zero.

    Parameters
    ----------
    g : int
        The length of the windows.
    k : int
        The length of the subsequences, at most g.
    decay : float, optional
        The factor d in (0, 1] for every symbol skipped between the first and the last of a
        subsequence. By default only the presence of subsequences counts.

    Examples
    --------
    >>> from mercer import RestrictedGappy
    >>> RestrictedGappy(g=3, k=2)(["AAB", "ABB", "BAA"])  # AAB: AA, AB; ABB: AB, BB; BAA: BA, AA
    array([[2., 1., 1.],
           [1., 2., 0.],
           [1., 0., 2.]])
    >>> RestrictedGappy(g=3, k=2, decay=0.5)(["AAB", "ABB"])  # AAB: AA, AB and A_B
    array([[3.25, 2.25],
           [2.25, 3.25]])

    References
    ----------
    Leslie & Kuang, *Fast string kernels using inexact matching for protein sequences*, JMLR 2004.
    """

    g: int = integer(6, low=1)
    k: int = integer(4, low=1)
    decay: float | None = parameter(None, check=_optional_fraction, bounds=(1e-3, 1.0), log=True)
    because = "an inner product of explicit features: the counts of all subsequences of windows"

    @property
    def span(self) -> int:
        """The length of the windows."""
        return self.g

    @property
    def codes_per_window(self) -> int:
        return max(1, comb(self.g, self.k))

    def prepare(self, X: Data) -> Sequences:
        """Sequences; features are computed when needed, since they have derivatives."""
        return self.read(X)

    def features(self, X: Sequences) -> sp.csr_matrix:
        return self.counts(X)

    def n_features(self, X: Sequences) -> int:
        return COLUMNS

    def tiles(self, X: Sequences, Y: Sequences) -> Tile:
        phi = self.features(X)
        return products(phi, phi if Y is X else self.features(Y))

    def diag(self, X: Sequences) -> np.ndarray:
        return super().diag(self.features(X))

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        return self._parts(sequences, 0)

    def _parts(self, sequences: Sequences, order: int) -> Iterator[Part]:
        """The features, or their derivatives by log(decay), whose order is 1."""
        require_window(self)
        starts, counts = sequences.windows(self.g)
        ways = list(combinations(range(self.g), self.k))
        codes = [pattern_codes(sequences.symbols, starts, kept) for kept in ways]
        together = np.stack(codes, axis=1)
        if self.decay is None:
            together.sort(axis=1)
            weights = np.ones(together.shape)
            weights[:, 1:] = together[:, 1:] != together[:, :-1]
        else:
            gaps = np.array([kept[-1] - kept[0] + 1 - self.k for kept in ways], dtype=float)
            weights = gaps**order * float(self.decay) ** gaps
        yield Part(together, counts, starts, range(self.g), weights)

    def _moved(self, X: Sequences) -> sp.csr_matrix:
        return self.counts(X, lambda chunk: self._parts(chunk, 1))

    def grad_theta(self, X: Sequences, Y: Sequences, W: np.ndarray) -> np.ndarray:
        if self.decay is None:
            return np.zeros(0)
        every = slice(None)
        tile = products(self._moved(X), self.features(Y))(every, every)
        tile += products(self.features(X), self._moved(Y))(every, every)
        return weigh(W, [tile])

    def grad_theta_diag(self, X: Sequences, w: np.ndarray) -> np.ndarray:
        if self.decay is None:
            return np.zeros(0)
        phi, moved = self.features(X), self._moved(X)  # with the same columns in the same order
        row = np.repeat(np.arange(len(X)), np.diff(phi.indptr))
        return weigh(w, [2 * np.bincount(row, phi.data * moved.data, minlength=len(X))])

    @property
    def properties(self) -> prop.Properties:
        return self._without_short(self.g)


@dataclass(eq=False, repr=False)
class Wildcard(Patterned):
    r"""The (k, m)-wildcard kernel: k-mers with up to m wildcard positions.

    .. math:: k(x, y) = \sum_{u \in (A \cup \{*\})^k} \phi_u(x) \phi_u(y), \qquad
        \phi_u(x) = d^{\, \#_*(u)}\, \#\{i : x_i \dots x_{i+k-1} \text{ matches } u\}

    over all strings u with at most m wildcards ``*``, which match every symbol. That is the sum
    over j = 0, ..., m of d^(2j) ``GappyKmer(k, k - j)``. Strings shorter than k have zero features.

    Parameters
    ----------
    k : int
        The length of the substrings.
    m : int
        The largest number of wildcards, less than k.
    decay : float
        The factor d in (0, 1] for every wildcard.

    Examples
    --------
    >>> from mercer import Wildcard
    >>> Wildcard(k=3, m=1, decay=0.5)(["AAA", "AAC", "CCC"])  # AAA and AAC agree in AA*
    array([[1.75, 0.25, 0.  ],
           [0.25, 1.75, 0.  ],
           [0.  , 0.  , 1.75]])

    References
    ----------
    Leslie & Kuang, *Fast string kernels using inexact matching for protein sequences*, JMLR 2004.
    """

    k: int = integer(5, low=1)
    m: int = integer(2, low=0)
    decay: float = fraction(0.5)
    because = "an inner product of explicit features: the weighted counts of k-mers with wildcards"

    @property
    def codes_per_window(self) -> int:
        return sum(comb(self.k, j) for j in range(self.m + 1))

    @property
    def span(self) -> int:
        return self.k

    def patterns(self) -> list[Pattern]:
        return [
            Pattern(kept, float(self.decay) ** (2 * j))
            for j, kernel in enumerate(self._gapped())
            for kept, _ in kernel.patterns()
        ]

    def _gapped(self) -> list[GappyKmer]:
        """The kernels of j = 0, ..., m wildcards."""
        if self.m >= self.k:
            raise ValueError(
                f"Wildcard: m must be less than k, got m={self.m} and k={self.k}; k wildcards "
                f"match every substring."
            )
        return [GappyKmer(self.k, self.k - j) for j in range(self.m + 1)]

    def _slopes(self) -> list[tuple[float, GappyKmer]]:
        """dk/dlog(decay) as a weighted sum of kernels."""
        return [(2 * j * float(self.decay) ** (2 * j), g) for j, g in enumerate(self._gapped())][1:]

    def grad_theta(self, X: Sequences, Y: Sequences, W: np.ndarray) -> np.ndarray:
        found = [weight * weigh(W, [g.pairwise(X, Y)]) for weight, g in self._slopes()]
        return sum(found, start=np.zeros(1))

    def grad_theta_diag(self, X: Sequences, w: np.ndarray) -> np.ndarray:
        found = [weight * weigh(w, [g.diag(X)]) for weight, g in self._slopes()]
        return sum(found, start=np.zeros(1))

    @property
    def properties(self) -> prop.Properties:
        return self._without_short(self.k)
