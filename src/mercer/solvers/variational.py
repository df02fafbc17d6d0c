r"""A Gaussian process through landmarks: the variational bound on the evidence, with its slope.

The process is summarised by its values at M landmarks, k(Z, Z) = L L'. With the noise D and

.. math:: A = L^{-1} k(Z, X), \quad Q = A'A, \quad B = I + A D^{-1} A', \quad h = A D^{-1} y

the evidence of y is at least

.. math:: \log N(y \mid 0, Q + D) - \tfrac12 \operatorname{tr} D^{-1}(K - Q),

an equation if the landmarks are all samples. The second term is the variance that landmarks miss:
it prevents a search from treating it as noise, so more landmarks are always better. The best
distribution of the values at the landmarks is known in closed form; f at x then has the mean k(x,
Z) L^-T B^-1 h and the variance k(x, x) - a'(I - B^-1)a with a = L^-1 k(Z, x).

Samples are read in strips, each of which needs memory for its own values only; n M^2 operations.

References: Titsias, *Variational learning of inducing variables in sparse Gaussian processes*,
AISTATS 2009; Bauer, van der Wilk & Rasmussen, *Understanding probabilistic sparse Gaussian process
approximations*, NIPS 2016.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.lapack import lapack
from ..engine.routines import solve_lower
from ..gram.base import Gram
from ..gram.tiles import check_cancelled, run, slices
from .cholesky import NotPositiveDefiniteError

JITTER = 1e-8  # of the mean of k(z, z): a noise with which landmarks are seen, still a lower bound
_STRIP = 1000  # samples at a time
_GROUPS = 8  # independent accumulators


# A D^-1 A', A D^-1 Y, tr D^-1 (K - Q), and the sums of y^2 / D and log D
LandmarkSums = tuple[np.ndarray, np.ndarray, float, float, float]


class LandmarkFactor:
    """What data leave of the covariance at landmarks: R with R'R = k(Z,Z)^-1 - (its posterior).

    A stand-in for the factor of K + noise at predictions: the variance of f(x) that the data
    explain is |R k(Z, x)|^2.
    """

    def __init__(self, root: np.ndarray) -> None:
        self.root = root

    def half_solve(self, B: np.ndarray) -> np.ndarray:
        """R B, whose squared column norms are explained variances."""
        return self.root @ B

    def explained(self, B: np.ndarray) -> np.ndarray:
        """The variances that the data explain, for columns k(Z, x) of B."""
        half = self.half_solve(B)
        return np.einsum("ij,ij->j", half, half)


@dataclass
class Whitened:
    """Landmarks and samples: L^-1 k(Z, x), computed in strips of samples whenever it is used.

    Attributes
    ----------
    cross : Gram
        k(X, Z), of shape (n, M).
    inner : ndarray of shape (M, M)
        k(Z, Z).
    diagonal : ndarray of shape (n,)
        k(x, x) of the samples.
    keep : bool
        Hold all of it in memory, for a second look.
    """

    cross: Gram
    inner: np.ndarray
    diagonal: np.ndarray
    keep: bool = True

    def __post_init__(self) -> None:
        A = np.array(self.inner, dtype=np.float64)
        A.flat[:: len(A) + 1] += JITTER * float(np.mean(np.diagonal(A)))
        try:
            self.L = lapack(len(A), np.linalg.cholesky, A)
        except np.linalg.LinAlgError as error:
            raise NotPositiveDefiniteError(
                "the kernel matrix of the landmarks is not positive definite."
            ) from error
        self.strips = slices(len(self.cross), _STRIP)
        self._kept: list[np.ndarray | None] = [None] * len(self.strips)

    def strip(self, place: int) -> np.ndarray:
        """L^-1 k(Z, x) of the samples of a strip, as columns."""
        known = self._kept[place]
        if known is not None:
            return known
        block = self.cross.rows(self.strips[place]).astype(np.float64, copy=False)
        A = solve_lower(self.L, block.T)
        if self.keep:
            self._kept[place] = A
        return A


class Bound:
    """The negative logarithm of the evidence, from above, of the columns of Y.

    A change of kernel values changes it by the sum of their changes times the weights below.

    Parameters
    ----------
    whitened : Whitened
        Landmarks and samples.
    Y : ndarray of shape (n, t)
        Targets, each of them a draw of the same process.
    noise : ndarray of shape (n,)
        The diagonal of D.

    Attributes
    ----------
    value : float
        The bound on -log p(Y).
    coef : ndarray of shape (M, t)
        The mean of f is k(x, Z) coef.
    felt : ndarray of shape (n,)
        The noise of samples in addition to what landmarks explain: D itself.
    """

    approximates = True  # is what landmarks do not see charged for?

    def __init__(self, whitened: Whitened, Y: np.ndarray, noise: np.ndarray) -> None:
        self._conclude(len(Y), self._summed(whitened, Y, noise))

    @classmethod
    def sums_of(cls, whitened: Whitened, Y: np.ndarray, noise: np.ndarray) -> LandmarkSums:
        """What a part of the samples adds to the bound."""
        return object.__new__(cls)._summed(whitened, Y, noise)

    @classmethod
    def from_sums(cls, whitened: Whitened, n: int, sums: LandmarkSums) -> Bound:
        """The bound of n samples, of which these are the sums; it has no slopes."""
        whole = object.__new__(cls)
        whole.whitened = whitened
        whole._conclude(n, sums)
        return whole

    def _summed(self, whitened: Whitened, Y: np.ndarray, noise: np.ndarray) -> LandmarkSums:
        self.whitened, self.Y, self.noise = whitened, Y, noise
        self.felt = np.array(noise, dtype=np.float64)
        outer, h, trace = self._sums()
        squares = float((Y * Y / self.felt[:, None]).sum())
        return outer, h, trace, squares, float(np.log(self.felt).sum())

    def _conclude(self, n: int, sums: LandmarkSums) -> None:
        self._outer, self._h, trace, squares, logs = sums
        m, t = self._h.shape
        B = self._outer.copy()
        B.flat[:: m + 1] += 1
        factor = lapack(m, np.linalg.cholesky, B)
        c = lapack(m, solve_lower, factor, self._h)
        self._gamma = lapack(m, solve_lower, factor, c, transposed=True)
        half = lapack(m, solve_lower, factor, np.eye(m))
        self._inverse = half.T @ half
        explained = float((c * c).sum())
        logdet = logs + 2 * float(np.log(np.diagonal(factor)).sum())
        constant = n * np.log(2 * np.pi)
        self.value = (t * (constant + logdet + trace) + squares - explained) / 2
        self._parts = squares, explained, trace

    def _sums(self) -> tuple[np.ndarray, np.ndarray, float]:
        """A D^-1 A', A D^-1 Y and tr D^-1 (K - Q), in the same order for any number of threads."""
        w, m = self.whitened, len(self.whitened.L)
        groups = min(_GROUPS, len(w.strips))
        outer, h = np.zeros((groups, m, m)), np.zeros((groups, m, self.Y.shape[1]))
        trace = np.zeros(len(w.strips))

        def group(g: int) -> None:
            for place in range(g, len(w.strips), groups):
                check_cancelled()
                rows, A = w.strips[place], w.strip(place)
                left = np.maximum(w.diagonal[rows] - np.einsum("ij,ij->j", A, A), 0.0)
                self.felt[rows] = self._felt(rows, left)
                root = np.sqrt(self.felt[rows])
                trace[place] = (left / self.noise[rows]).sum() if self.approximates else 0.0
                scaled = A / root
                outer[g] += scaled @ scaled.T
                h[g] += scaled @ (self.Y[rows] / root[:, None])

        run(group, range(groups), w.cross.workers)
        return outer.sum(axis=0), h.sum(axis=0), float(trace.sum())

    def _felt(self, rows: slice, left: np.ndarray) -> np.ndarray:
        """The noise of samples of which landmarks leave such variances."""
        return self.noise[rows]

    @cached_property
    def by_noise(self) -> float:
        """The derivative with respect to the logarithm of a factor of all noise."""
        (n, t), (squares, explained, trace) = self.Y.shape, self._parts
        seen = float(len(self._inverse) - np.trace(self._inverse))
        gamma = float((self._gamma**2).sum())
        return (t * (n - trace - seen) - squares + explained + gamma) / 2

    @cached_property
    def coef(self) -> np.ndarray:
        """L^-T B^-1 h."""
        L = self.whitened.L
        return lapack(len(L), solve_lower, L, self._gamma, transposed=True)

    @cached_property
    def factor(self) -> LandmarkFactor:
        """The part of the covariance that the data explain."""
        L = self.whitened.L
        values, vectors = lapack(len(L), np.linalg.eigh, self._outer)
        values = np.maximum(values, 0.0)
        root = np.sqrt(values / (1 + values))[:, None] * vectors.T
        return LandmarkFactor(lapack(len(L), solve_lower, L, root.T, transposed=True).T)

    @cached_property
    def _turned(self) -> np.ndarray:
        """(t (I - B^-1) - g g') L^-1, with g = B^-1 h."""
        t, g = self.Y.shape[1], self._gamma
        G = t * (np.eye(len(g)) - self._inverse) - g @ g.T
        return lapack(len(G), solve_lower, self.whitened.L, G, transposed=True).T

    def cross_weights(self, place: int) -> np.ndarray:
        """Those of k(X, Z) for the samples of a strip, one row each."""
        rows = self.whitened.strips[place]
        felt = self.whitened.strip(place).T @ self._turned + self.Y[rows] @ self.coef.T
        return felt / -self.noise[rows, None]

    def inner_weights(self) -> np.ndarray:
        """Those of k(Z, Z), whose diagonal also moves the jitter."""
        t, g, L = self.Y.shape[1], self._gamma, self.whitened.L
        G = t * (np.eye(len(g)) - self._inverse - self._outer) - g @ g.T
        half = lapack(len(L), solve_lower, L, G, transposed=True)
        W = -lapack(len(L), solve_lower, L, half.T, transposed=True) / 2
        W.flat[:: len(W) + 1] += JITTER * np.trace(W) / len(W)
        return W

    def diagonal_weights(self) -> np.ndarray:
        """Those of k(x, x)."""
        return self.Y.shape[1] / (2 * self.noise)
