r"""A Gaussian process through landmarks, with the variance they miss as noise of each sample.

Given the values at the landmarks, samples are taken to be independent: with the notation of
:mod:`mercer.solvers.variational`, y has the covariance

.. math:: Q + \Lambda, \qquad \Lambda = D + \operatorname{diag}(K - Q),

and the evidence is log N(y | 0, Q + Lambda), that of another model, not a bound on that of the
exact one. Its variances differ from place to place where landmarks are far apart, which suits data
whose noise does; but a search may call a signal noise, and more landmarks need not be better.

References: Snelson & Ghahramani, *Sparse Gaussian processes using pseudo-inputs*, NIPS 2006;
Quiñonero-Candela & Rasmussen, *A unifying view of sparse approximate Gaussian process regression*,
JMLR 2005; Bauer, van der Wilk & Rasmussen, *Understanding probabilistic sparse Gaussian process
approximations*, NIPS 2016.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as sla

from ..gram.tiles import check_cancelled
from .variational import JITTER, Bound


class Conditional(Bound):
    """The negative logarithm of the evidence of independent samples, given the landmarks."""

    approximates = False

    def _felt(self, rows: slice, left: np.ndarray) -> np.ndarray:
        return self.noise[rows] + left

    @cached_property
    def _slopes(self) -> np.ndarray:
        """The derivative with respect to each entry of Lambda."""
        w, t = self.whitened, self.Y.shape[1]
        out = np.empty(len(self.Y))
        for place, rows in enumerate(w.strips):
            check_cancelled()
            A, felt = w.strip(place), self.felt[rows]
            inner = np.einsum("ij,ij->j", A, self._inverse @ A)
            residual = (self.Y[rows] - A.T @ self._gamma) / felt[:, None]
            out[rows] = t * (1 / felt - inner / felt**2) - np.einsum("ij,ij->i", residual, residual)
        return out / 2

    @cached_property
    def by_noise(self) -> float:
        """The derivative with respect to the logarithm of a factor of all noise."""
        return float(self._slopes @ self.noise)

    def cross_weights(self, place: int) -> np.ndarray:
        rows, A = self.whitened.strips[place], self.whitened.strip(place)
        t, g, felt = self.Y.shape[1], self._gamma, self.felt[rows, None]
        G = (A.T @ (t * self._inverse + g @ g.T) - self.Y[rows] @ g.T) / felt
        G -= 2 * self._slopes[rows, None] * A.T
        return sla.solve_triangular(self.whitened.L, G.T, lower=True, trans=1).T

    def inner_weights(self) -> np.ndarray:
        t, g, w = self.Y.shape[1], self._gamma, self.whitened
        G = t * (np.eye(len(g)) - self._inverse) - g @ g.T
        for place, rows in enumerate(w.strips):
            A = w.strip(place)
            G -= 2 * (A * self._slopes[rows]) @ A.T
        half = sla.solve_triangular(w.L, G, lower=True, trans=1, check_finite=False)
        W = -sla.solve_triangular(w.L, half.T, lower=True, trans=1, check_finite=False) / 2
        W.flat[:: len(W) + 1] += JITTER * np.trace(W) / len(W)
        return W

    def diagonal_weights(self) -> np.ndarray:
        return self._slopes
