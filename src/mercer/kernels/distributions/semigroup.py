r"""Semigroup kernels: functions k(P, Q) = phi(P + Q) of the mixture of two distributions.

Measures can be added, so a function of one measure makes a kernel of two. That of the entropy h is
positive definite since t log t is a mixture of exponentials, less a linear function:

.. math:: t \log t = \int_0^\infty (e^{-zt} - 1 + z t\, 1[z < 1]) \frac{dz}{z^2} + c\, t,

and each exponential of a sum is a product. That of the generalised variance is in
``generalized_variance.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, as_dense, as_vectors
from ...exceptions import DomainError
from ...params import positive
from ..base import Kernel, Tile, Tiled, weigh
from ..calculus import properties as prop
from ..calculus.domains import subset
from ..vectors.base import check_widths
from ..vectors.kind import VECTORS

_TOGETHER = 2**16  # entries of histograms that are added up at a time


@dataclass(eq=False, repr=False)
class SemigroupEntropy(Tiled):
    r"""The entropy kernel on histograms: large where the mixture of both is concentrated.

    .. math:: k(P, Q) = e^{-\lambda\, h((P + Q) / 2)}, \qquad h(P) = -\sum_i p_i \log p_i

    Histograms are rows of numbers >= 0, and are divided by their sums. Normalised, the kernel is
    exp(-lambda JS(P, Q)) of the Jensen-Shannon divergence.

    Parameters
    ----------
    decay : float
        lambda > 0.

    Examples
    --------
    >>> from mercer import SemigroupEntropy
    >>> k = SemigroupEntropy()
    >>> k([[1, 0], [0, 3], [1, 1]]).round(3)
    array([[1.  , 0.5 , 0.57],
           [0.5 , 1.  , 0.57],
           [0.57, 0.57, 0.5 ]])

    References
    ----------
    Cuturi, Fukumizu & Vert, *Semigroup kernels on measures*, Journal of Machine Learning Research
    6, 2005; Cuturi & Vert, *Semigroup kernels on finite sets*, NIPS 2004.
    """

    decay: float = positive(1.0)
    because = "exp(-h) of the entropy h, which is negative definite on measures that are added"
    domain = subset(VECTORS)

    def prepare(self, X: Data) -> np.ndarray:
        X = as_dense(as_vectors(X, type(self).__name__))
        if X.min() < 0:
            raise DomainError(
                "SemigroupEntropy works on histograms, rows of numbers >= 0, but X contains "
                f"{X.min():g}."
            )
        largest = X.max(axis=1, keepdims=True)
        if not largest.all():
            raise DomainError(
                f"SemigroupEntropy: sample {int(np.argmin(largest))} has no mass: all its entries "
                "are 0."
            )
        X = X / largest  # sums of these are finite
        return X / X.sum(axis=1, keepdims=True)

    def tiles(self, X: np.ndarray, Y: np.ndarray) -> Tile:
        logs = self.log_tiles(X, Y)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            L = logs(rows, cols)
            return np.exp(L, out=L)

        return tile

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.exp(self.log_diag(X))

    def log_tiles(self, X: np.ndarray, Y: np.ndarray) -> Tile:
        check_widths(X, Y)
        return lambda rows, cols: -self.decay * _mixed_entropies(X[rows], Y[cols])

    def log_diag(self, X: np.ndarray) -> np.ndarray:
        return -self.decay * _entropies(X)

    def grad_theta(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        L = self.log_tiles(X, Y)(slice(None), slice(None))
        return weigh(W, [L * np.exp(L)])

    def grad_theta_diag(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        L = self.log_diag(X)
        return weigh(w, [L * np.exp(L)])

    def grad_log_theta(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        return weigh(W, [self.log_tiles(X, Y)(slice(None), slice(None))])

    def grad_log_theta_diag(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        return weigh(w, [self.log_diag(X)])

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("the entropy is not negative, so k <= 1"),
            continuous=prop.yes("the entropy of finitely many numbers is continuous"),
            strictly_pd=prop.no("a histogram and its double are the same distribution"),
            positive_diag=prop.yes("the entropy is finite"),
        )


def Semigroup(function: str = "entropy", **parameters: Any) -> Kernel:
    """A semigroup kernel k(P, Q) = phi(P + Q), by the name of the function phi.

    Parameters
    ----------
    function : {"entropy", "variance"}
        :class:`SemigroupEntropy`, on histograms, or :class:`SemigroupVariance`, on bags of points.
    **parameters
        Those of the class.

    Examples
    --------
    >>> from mercer import Gaussian, Semigroup
    >>> Semigroup("entropy", decay=2.0)
    SemigroupEntropy(decay=2.0)
    >>> Semigroup("variance", kernel=Gaussian(), eta=0.1)
    SemigroupVariance(kernel=Gaussian(), eta=0.1)
    """
    from .generalized_variance import SemigroupVariance

    known: dict[str, type[Kernel]] = {"entropy": SemigroupEntropy, "variance": SemigroupVariance}
    if function not in known:
        raise ValueError(f'function must be "entropy" or "variance", got {function!r}.')
    return known[function](**parameters)


def _entropies(P: np.ndarray) -> np.ndarray:
    """-sum_i p_i log p_i of each row, with 0 log 0 = 0."""
    return -np.einsum("ij,ij->i", P, np.log(np.where(P > 0, P, 1)), dtype=np.float64)


def _mixed_entropies(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """[h((x_i + y_j) / 2)], some pairs at a time."""
    X, Y, H = X / 2, Y / 2, np.empty((len(X), len(Y)))
    step = max(1, _TOGETHER // X.shape[1])
    for i, x in enumerate(X):
        for j in range(0, len(Y), step):
            H[i, j : j + step] = _entropies(Y[j : j + step] + x)
    return H
