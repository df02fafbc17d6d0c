"""Integrals from few values of a function: kernel and Bayesian quadrature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..checks import check_count
from ..data import Data, as_samples, take
from ..kernels.base import Kernel
from ..kernels.distributions.normal import as_mixture, drawn
from ..randomness import as_generator
from .function import RKHSFunction
from .known import KnownEmbedding

_CANDIDATES = 2000  # draws that points are chosen from
_JITTER = 1e-10  # of k(x, x): a pivot below is none
_STEP = 10.0  # by which jitter grows where a factorisation fails


class Integral(NamedTuple):
    """An estimate of an integral, with its standard deviation under a Gaussian process."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Quadrature:
    r"""Points and weights for integrals with respect to a distribution.

    Attributes
    ----------
    points : data
        The points x_i.
    weights : ndarray of shape (n,)
        The weights w_i; they need not sum to one.
    error : float
        The worst case: integrals of f are wrong by at most ``error`` times the norm of f in H_k.
    kernel : Kernel
        k.
    jitter : float
        The jitter added to k(x, x) so that weights could be computed; usually 0.
    """

    points: Data
    weights: np.ndarray
    error: float
    kernel: Kernel
    jitter: float = 0.0
    _factor: Any = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def embedding(self) -> RKHSFunction:
        """The weighted points as a function in H_k, near to the embedding of the distribution."""
        return RKHSFunction(self.kernel, self.points, self.weights)

    def integrate(self, f: Callable[[Data], Any] | Any) -> Integral:
        r"""The integral of a function, from its values at the points.

        If f is a Gaussian process with the covariance s^2 k, the posterior of its integral is
        normal: its mean is the sum of w_i f(x_i), its standard deviation ``error`` times s. The
        scale s^2 = f' K^-1 f / n maximises the likelihood.

        Parameters
        ----------
        f : callable or array of shape (n,)
            A function of all points together, or its values there.
        """
        y = np.ravel(np.asarray(f(self.points) if callable(f) else f, dtype=np.float64))
        if len(y) != len(self) or not np.all(np.isfinite(y)):
            raise ValueError(f"f must give {len(self)} finite values, one for each point.")
        scale = np.sqrt(max(float(y @ cho_solve(self._factor, y)) / len(y), 0.0))
        return Integral(float(self.weights @ y), float(scale * self.error))


def kernel_quadrature(
    kernel: Kernel, distribution: Any, points: Any = 20, *, rng: Any = None
) -> Quadrature:
    r"""Points and weights for integrals with respect to a known distribution.

    .. math:: \int f\, dP \approx \sum_i w_i f(x_i), \qquad w = K^{-1} \mu_P(x), \qquad
              \text{error}^2 = \|\mu_P\|^2 - w' \mu_P(x)

    These weights have the smallest possible error for all functions of a given norm, and are the
    posterior mean of the integral of a Gaussian process (Bayesian quadrature). The embedding
    :math:`\mu_P` is that of :class:`KnownEmbedding`. If only their number is given, points are
    chosen greedily from 2000 draws to minimise the error.

    Parameters
    ----------
    kernel : Kernel
        k, with all parameters resolved to numbers.
    distribution : object
        P, as for :class:`KnownEmbedding`.
    points : int or data
        How many points, or the points themselves.
    rng : None, int or Generator
        Used to draw the candidates.

    Returns
    -------
    Quadrature
        ``points``, ``weights``, ``error``, and ``integrate``.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from mercer import Gaussian, kernel_quadrature
    >>> rule = kernel_quadrature(Gaussian(1.0), norm(0, 1), 12, rng=0)
    >>> value, error = rule.integrate(lambda x: np.cos(x))
    >>> bool(abs(value - np.exp(-0.5)) < 1e-3)  # the exact value
    True

    References
    ----------
    O'Hagan, *Bayes-Hermite quadrature*, Journal of Statistical Planning and Inference 1991; Huszár
    & Duvenaud, *Optimally-weighted herding is Bayesian quadrature*, UAI 2012; Briol, Oates,
    Girolami, Osborne & Sejdinovic, *Probabilistic integration*, Statistical Science 2019.
    """
    mu = KnownEmbedding(kernel, distribution)
    square = float(mu.inner(mu))
    if points is None or isinstance(points, Real | str):
        candidates = _candidates(distribution, as_generator(rng))
        number = check_count("points", points, 1, len(candidates))
        points = _chosen(kernel, mu, candidates, number)
    else:
        points = as_samples(points)
    P = kernel.prepare(points)
    K, b = kernel.pairwise(P, P).astype(np.float64), np.asarray(mu(points), dtype=np.float64)
    size, jitter = float(np.abs(np.diagonal(K)).max()), 0.0
    while True:
        try:
            factor = cho_factor(K + jitter * np.eye(len(K)), lower=True)
            break
        except np.linalg.LinAlgError:
            if jitter > size:
                raise ValueError(
                    f"points: {kernel!r} does not give a positive definite matrix."
                ) from None
            jitter = jitter * _STEP if jitter else 1e-15 * size
    weights = cho_solve(factor, b)
    gap = square - 2 * float(weights @ b) + float(weights @ K @ weights)
    return Quadrature(points, weights, float(np.sqrt(max(gap, 0.0))), kernel, jitter, factor)


def _candidates(distribution: Any, rng: np.random.Generator) -> np.ndarray:
    if hasattr(distribution, "rvs"):
        found = np.asarray(distribution.rvs(size=_CANDIDATES, random_state=rng), dtype=np.float64)
    else:
        mixture = as_mixture(distribution)
        if mixture is None:
            raise TypeError(
                f"a {type(distribution).__name__} cannot be sampled from; pass the points."
            )
        found = drawn(mixture, _CANDIDATES, rng)
    return found[:, None] if found.ndim == 1 else found


def _chosen(kernel: Kernel, mu: KnownEmbedding, X: np.ndarray, count: int) -> np.ndarray:
    """Points by which the error falls most, one after the other (a pivoted Cholesky factor).

    The squared error falls by r(x)^2 / v(x): r is what the points so far leave of the embedding,
    and v what they leave of k(x, x).
    """
    P = kernel.prepare(X)
    v = np.array(kernel.diag(P), dtype=np.float64)
    floor = _JITTER * float(v.max())
    rest, rows = np.asarray(mu(X), dtype=np.float64).copy(), np.zeros((0, len(X)))
    chosen: list[int] = []
    for _ in range(count):
        gain = np.where(v > floor, rest**2 / np.maximum(v, floor), -1.0)
        gain[chosen] = -1.0
        i = int(np.argmax(gain))
        if gain[i] < 0:
            break  # nothing is left to be seen by this kernel, up to rounding
        chosen.append(i)
        column = kernel.pairwise(P, take(P, slice(i, i + 1)))[:, 0].astype(np.float64)
        row = (column - rows[:, i] @ rows) / np.sqrt(v[i])
        rest = rest - rest[i] / np.sqrt(v[i]) * row
        rows = np.vstack([rows, row])
        v = np.maximum(v - row**2, 0.0)
    return np.asarray(X[chosen])
