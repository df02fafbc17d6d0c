r"""The semigroup kernel of the generalised variance: how much two bags spread when put together.

With A(P) the second moments of (1, x), and eta added to those of x, :math:`\det A(P)` is the
determinant of :math:`\Sigma(P) + \eta I`; A of a mixture is the mixture of both; and
:math:`\det(A)^{-1/2}` is the integral of :math:`e^{-w'Aw/2}` over w, but for a constant. So the
kernel is an integral of products of a function of P and the same function of Q.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, Zipped, as_dense
from ...exceptions import DomainError
from ...params import positive
from ..calculus import properties as prop
from ..pairs.base import on_all_cores
from ..pairs.logarithms import LogPaired
from ..vectors.base import check_widths
from .embeddings import OnBags

_MOST = 128  # features up to which a bag is its mean and its covariance


@dataclass(eq=False, repr=False)
class SemigroupVariance(OnBags, LogPaired):
    r"""The inverse generalised variance of the union of two bags, in the feature space of a kernel.

    .. math:: k(P, Q) = \det\left(I + \tfrac1\eta\,
              \Sigma\left(\tfrac{P + Q}2\right)\right)^{-1/2}

    where Sigma is the covariance of the features: of the points themselves for ``Linear()``,
    otherwise from kernel values alone. It is large if both bags lie in the same few directions.
    Each bag has mass 1, whatever its size. The time for a pair of bags is cubic in the number of
    features if that is at most 128, otherwise in the number of points.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the points; parameters such as "median" are resolved on all points.
    eta : float
        The variance below which a direction does not count, > 0.

    Examples
    --------
    >>> from mercer import Linear, SemigroupVariance
    >>> k = SemigroupVariance(Linear(), eta=1.0)
    >>> k([[[0.0], [2.0]], [[2.0]]]).round(4)  # variances 1, 3/4 and 0
    array([[0.7071, 0.7559],
           [0.7559, 1.    ]])

    References
    ----------
    Cuturi, Fukumizu & Vert, *Semigroup kernels on measures*, Journal of Machine Learning Research
    6, 2005.
    """

    eta: float = positive(1.0)
    because = "det(A + B)^(-1/2) of matrices of moments, which add: an integral of exponentials"

    def prepare(self, X: Data) -> Zipped:
        """Bags, and their means and covariances if features are few."""
        bags = self._prepared(X)
        count = self.kernel.n_features(bags.points)
        if count is None or count > _MOST:
            return Zipped(bags)
        phi = np.asarray(as_dense(self.kernel.features(bags.points)), dtype=np.float64)
        parts = [phi[a : a + n] for a, n in zip(bags.start, bags.size, strict=True)]
        means = np.array([part.mean(axis=0) for part in parts])
        centred = [part - mean for part, mean in zip(parts, means, strict=True)]
        return Zipped(bags, means, np.array([part.T @ part / len(part) for part in centred]))

    def sizes(self, X: Zipped) -> np.ndarray:
        bags, *moments = X.parts
        return np.full(len(X), moments[0].shape[1] ** 1.5) if moments else bags.size**1.5

    def pairs(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.exp(self.logs(X, Y, i, j))

    def slopes(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.log_slopes(X, Y, i, j) * self.pairs(X, Y, i, j)[:, None]

    def logs(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._in_pieces(self._logs, np.empty(len(i)), X, Y, i, j)

    def log_slopes(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._in_pieces(self._slopes, np.empty((len(i), len(self.theta))), X, Y, i, j)

    def _in_pieces(
        self, values: Any, out: np.ndarray, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray
    ) -> np.ndarray:
        def job(part: slice) -> None:
            out[part] = values(X, Y, i[part], j[part])

        on_all_cores(job, self.sizes(X)[i] * self.sizes(Y)[j])
        return out

    def _logs(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        if len(X.parts) > 1:
            return -0.5 * np.linalg.slogdet(self._of_features(X, Y, i, j))[1]
        found = np.empty(len(i))
        for place, (a, b) in enumerate(zip(i, j, strict=True)):
            A, _ = self._of_points(X.parts[0].bag(a), Y.parts[0].bag(b))
            found[place] = -np.log(np.diagonal(self._factor(A))).sum()
        return found

    def _slopes(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """By d log det A = tr(A^-1 dA)."""
        if len(X.parts) > 1 and len(self.theta) == 1:
            A = self._of_features(X, Y, i, j)
            return (A.shape[1] - np.trace(np.linalg.inv(A), axis1=1, axis2=2))[:, None] / 2
        found = np.empty((len(i), len(self.theta)))
        for place, (a, b) in enumerate(zip(i, j, strict=True)):
            P, Q = X.parts[0].bag(a), Y.parts[0].bag(b)
            A, share = self._of_points(P, Q)
            V = np.linalg.inv(A)
            found[place, -1] = (len(V) - np.trace(V)) / 2
            if len(self.theta) > 1:
                root = np.sqrt(share / self.eta)
                V *= root * root[:, None] / -2
                V -= np.outer(share, V.sum(axis=0))  # as the kernel was centred
                V -= np.outer(V.sum(axis=1), share)
                n = X.parts[0].size[a]
                found[place, :-1] = self.kernel.grad_theta(P, P, V[:n, :n])
                found[place, :-1] += self.kernel.grad_theta(Q, Q, V[n:, n:])
                found[place, :-1] += self.kernel.grad_theta(P, Q, 2 * V[:n, n:])
        return found

    def _of_features(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """I + Sigma / eta for pairs of bags, from means and covariances."""
        (_, m, S), (_, n, T) = X.parts, Y.parts
        check_widths(m, n)
        half = (m[i] - n[j]) / 2
        A = half[:, :, None] * half[:, None, :]
        A += S[i] / 2
        A += T[j] / 2
        A /= self.eta
        return A + np.eye(A.shape[1])

    def _of_points(self, P: Data, Q: Data) -> tuple[np.ndarray, np.ndarray]:
        """A matrix of the same determinant for the points of two bags, and the shares of these."""
        left, between, right = (self.kernel.pairwise(*both) for both in ((P, P), (P, Q), (Q, Q)))
        K = np.block([[left, between], [between.T, right]]).astype(np.float64, copy=False)
        n, m = between.shape
        share = np.repeat([0.5 / n, 0.5 / m], [n, m])
        mean = K @ share
        K -= mean + mean[:, None] - share @ mean
        root = np.sqrt(share / self.eta)
        K *= root
        K *= root[:, None]
        return K + np.eye(len(K)), share

    def _factor(self, A: np.ndarray) -> np.ndarray:
        try:
            return np.linalg.cholesky(A)
        except np.linalg.LinAlgError:
            raise DomainError(
                f"{self!r}: a covariance has an eigenvalue below -eta; either the kernel on "
                "points is not positive definite, or eta is below its rounding error: use a "
                "larger one."
            ) from None

    @property
    def properties(self) -> prop.Properties:
        return self._derived(
            bounded=prop.yes("the determinant of I + Sigma / eta is at least 1, so k <= 1"),
            positive_diag=prop.yes("the covariance of finitely many points is finite"),
        )
