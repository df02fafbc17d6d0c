"""The context-tree kernel: how well one Markov model explains two strings, averaged over models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, Rows
from ...params import integer, number, parameter, positive
from ..base import Kernel, not_resolved
from ..calculus import properties as prop
from ..pairs.base import weighted_pairs
from .kind import STRINGS
from .sequences import (
    Alphabet,
    Sequences,
    alphabet_symbols,
    check_alphabet,
    discover,
    places,
    read,
)
from .tables import in_parts


class Contexts:
    """Prepared samples: every letter with the letters before it, sorted by the latter.

    Parameters
    ----------
    before : int64 array of shape (N, depth)
        For every letter of all samples those before it, the nearest first; samples one after the
        other, and within each in lexical order.
    letter : int64 array of shape (N,)
        The letters themselves.
    ends : int64 array of shape (n + 1,)
        Sample i has the letters from ``ends[i]`` to ``ends[i + 1]``.
    alone : array of shape (N, depth + 1)
        log K of the subtree at each depth whose first letter this is, for the sample alone.
    """

    def __init__(
        self, before: np.ndarray, letter: np.ndarray, ends: np.ndarray, alone: np.ndarray
    ) -> None:
        self.before, self.letter, self.ends, self.alone = before, letter, ends, alone

    def __len__(self) -> int:
        return len(self.ends) - 1

    def __getitem__(self, rows: Rows) -> Contexts:
        places = Sequences(np.arange(len(self.letter)), self.ends)[rows]
        at = places.symbols
        return Contexts(self.before[at], self.letter[at], places.ends, self.alone[at])


@dataclass(eq=False, repr=False)
class ContextTree(Kernel):
    r"""The context-tree kernel: likelihoods of two strings under one Markov model, averaged.

    .. math:: k(x, y) = \sum_T \pi(T) \int P_{T, \theta}(x)^{s / n_x} P_{T, \theta}(y)^{s / n_y}
        \, d\omega(\theta \mid T)

    over trees T of contexts: in a model, the distribution of a letter depends on the letters before
    it, as far back as the tree goes along them. Nodes above the full depth are divided with
    probability ``branch``, and the distributions at the leaves have Dirichlet priors. Only the n_x
    letters of x with ``depth`` letters before them count, and a string has weight s = ``scale``,
    whatever its length.

    The sum over all trees is a recursion over the contexts that occur. With counts n_e of the
    letters e after a context c in both strings, and d letters in all,

    .. math:: K_c = (1 - b)\, \kappa_c + b \prod_a K_{ac}, \qquad
        \kappa_c = \frac{\Gamma(d \beta)}{\Gamma(d \beta + \sum_e n_e)}
        \prod_e \frac{\Gamma(\beta + n_e)}{\Gamma(\beta)}

    where at full depth K_c is kappa_c, and k(x, y) is K of the empty context.

    Parameters
    ----------
    depth : int
        The length of the longest contexts.
    scale : float
        The weight s of a string: how many letters it counts as.
    prior : float
        The parameter beta of the Dirichlet priors.
    branch : float
        The probability b, between 0 and 1.
    alphabet : str or sequence of int, optional
        The letters; by default those of the training data. Letters are left out if they, or any of
        the ``depth`` letters before them, are unknown.

    Examples
    --------
    >>> from mercer import ContextTree
    >>> k = ContextTree(depth=1, alphabet="ab").normalize()
    >>> k(["abababab", "babababa", "aabbaabb"]).round(3)
    array([[1.   , 0.99 , 0.006],
           [0.99 , 1.   , 0.006],
           [0.006, 0.006, 1.   ]])

    References
    ----------
    Cuturi & Vert, *The context-tree kernel for strings*, Neural Networks 2005; Willems, Shtarkov &
    Tjalkens, *The context-tree weighting method*, 1995.
    """

    depth: int = integer(3, low=0)
    scale: float = positive(10.0)
    prior: float = positive(0.5)
    branch: float = number(
        0.5, "a number between 0 and 1", lambda b: 0 <= b <= 1, bounds=(1e-3, 1 - 1e-3)
    )
    alphabet: Alphabet | None = parameter(None, check=check_alphabet, learned=(None,))
    because = "an integral of P(x) P(y) over models: the features of x are its likelihoods"
    domain = STRINGS

    def resolve(self, X: Data) -> ContextTree:
        if self.alphabet is not None:
            return self
        return self.replace(alphabet=discover(X, "ContextTree"))

    def prepare(self, X: Data) -> Contexts:
        from .context_loops import alone

        if self.alphabet is None:
            raise not_resolved(self)
        sequences = read(X, "ContextTree")
        digits = places(sequences.symbols, alphabet_symbols(self.alphabet))
        starts, counts = sequences.windows(self.depth + 1)
        windows = digits[starts[:, None] + np.arange(self.depth, -1, -1)]  # the letter first
        rows = np.repeat(np.arange(len(counts)), counts)
        known = (windows >= 0).all(axis=1)
        windows, rows = windows[known], rows[known]
        order = np.lexsort((*windows.T[:0:-1], rows)) if self.depth else np.arange(len(rows))
        before, letter = windows[order, 1:], windows[order, 0]
        ends = np.searchsorted(rows, np.arange(len(counts) + 1))
        own = np.zeros((len(letter), self.depth + 1))

        def some(part: np.ndarray) -> None:
            at, here = slice(ends[part[0]], ends[part[-1] + 1]), ends[part[0] : part[-1] + 2]
            own[at] = alone(before[at], letter[at], here - here[0], *self._numbers(), None)

        in_parts(some, np.diff(ends) * (self.depth + 1))
        return Contexts(before, letter, ends, own)

    def _numbers(self) -> tuple[int, float, float, float]:
        letters = len(self.alphabet or "")
        return letters, float(self.scale), float(self.prior), float(self.branch)

    def pairwise(self, X: Contexts, Y: Contexts) -> np.ndarray:
        i, j = np.divmod(np.arange(len(X) * len(Y)), len(Y))
        return self._pairs(X, Y, i, j).reshape(len(X), len(Y))

    def diag(self, X: Contexts) -> np.ndarray:
        i = np.arange(len(X))
        return self._pairs(X, X, i, i)

    def _pairs(self, X: Contexts, Y: Contexts, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._values(X, Y, i, j, (None, None), None)

    def _values(
        self, X: Contexts, Y: Contexts, i: np.ndarray, j: np.ndarray, own: Any, slopes: Any
    ) -> np.ndarray:
        """k of pairs; fills in the slopes of log k, if those of the samples alone are given."""
        from .context_loops import together

        sides = [
            part
            for P, d in zip((X, Y), own, strict=True)
            for part in (P.before, P.letter, P.ends, P.alone, d)
        ]
        out = np.empty(len(i))

        def some(part: np.ndarray) -> None:
            rows = None if slopes is None else np.empty((len(part), 3))
            out[part] = together(*sides, i[part], j[part], *self._numbers(), rows)
            if slopes is not None:
                slopes[part] = rows

        nodes = (np.diff(X.ends)[i] + np.diff(Y.ends)[j]) * (self.depth + 1)  # at most
        in_parts(some, nodes)
        return np.exp(out)

    def grad_theta(self, X: Contexts, Y: Contexts, W: np.ndarray) -> np.ndarray:
        i, j, weights = weighted_pairs(W, X is Y)
        return weights @ self._slopes(X, Y, i, j)

    def grad_theta_diag(self, X: Contexts, w: np.ndarray) -> np.ndarray:
        i = np.arange(len(X))
        return np.asarray(w) @ self._slopes(X, X, i, i)

    def _slopes(self, X: Contexts, Y: Contexts, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """dk/dtheta of pairs, with a column each for log scale, log prior and branch."""
        from .context_loops import alone

        sides = (X,) if X is Y else (X, Y)
        own = [np.zeros((*P.alone.shape, 3)) for P in sides]
        for P, slopes in zip(sides, own, strict=True):
            alone(P.before, P.letter, P.ends, *self._numbers(), slopes)
        slopes = np.empty((len(i), 3))
        return self._values(X, Y, i, j, (own[0], own[-1]), slopes)[:, None] * slopes

    @property
    def properties(self) -> prop.Properties:
        alike = f"all strings of up to {self.depth} letters have the same features"
        if self.depth == 0:
            alike = "'ab' and 'ba' have the same features"
        return self._stated(
            bounded=prop.yes("k(x, x) <= 1: likelihoods are at most 1"),
            **prop.blind(alike),
            positive_diag=prop.yes("likelihoods are positive"),
        )
