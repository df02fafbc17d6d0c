"""Mixtures of normal distributions, as samples of data and as models of vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import logsumexp

from ...data import Data, as_dense, as_vectors
from ...exceptions import DomainError
from ...params import Params, parameter
from ..calculus.domains import Domain
from ..vectors.kind import VECTORS

_ASYMMETRY = 1e-5  # relative: what matrices computed in float32 may show
_TYPES = ("full", "tied", "diag", "spherical")


def probabilities(value: Any) -> str | None:
    """What shares must be, for a field; None if these are fine."""
    array = _numbers(value)
    fine = array is not None and array.ndim == 1 and array.size > 0 and bool(np.all(array >= 0))
    if not fine or array is None or abs(array.sum() - 1) > 1e-6:
        return "numbers >= 0 that sum to 1"
    return None


def finite(value: Any) -> str | None:
    """What an array must be, for a field; None if this is one."""
    array = _numbers(value)
    return "an array of finite numbers" if array is None or not array.size else None


def _numbers(value: Any) -> np.ndarray | None:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if bool(np.all(np.isfinite(array))) else None


@dataclass(eq=False, repr=False)
class NormalMixture(Params):
    r"""A mixture of normal distributions; with one component, a normal distribution.

    .. math:: p(x) = \sum_k w_k\, \mathcal{N}(x;\ \mu_k, \Sigma_k)

    A sample of data for :class:`mercer.ProbabilityProduct`, a model for :class:`mercer.Fisher`, and
    a distribution whose mean embedding is known (:class:`mercer.KnownEmbedding`).

    Parameters
    ----------
    weights : array of shape (m,)
        The shares w of the components.
    means : array of shape (m, d)
        Their means.
    covariances : array
        Their covariances, of shape (m, d, d); of shape (d, d) for one covariance shared by all, (m,
        d) for variances of independent features, (m,) for one variance per component. These are the
        ``covariances_`` of scikit-learn's ``GaussianMixture``.
    covariance_type : {"full", "tied", "diag", "spherical"}
        Which of these shapes it is.

    Examples
    --------
    >>> from mercer import NormalMixture
    >>> p = NormalMixture([0.5, 0.5], [[0.0], [2.0]], [1.0, 1.0], covariance_type="spherical")
    >>> p.log_likelihood([[1.0]]).round(4)
    array([-1.4189])
    """

    weights: Any = parameter(check=probabilities)
    means: Any = parameter(check=finite)
    covariances: Any = parameter(check=finite)
    covariance_type: str = parameter(
        "full", check=lambda v: None if v in _TYPES else f"one of {', '.join(map(repr, _TYPES))}"
    )

    def __post_init__(self) -> None:
        means = np.asarray(self.means)
        m, d = (len(self.weights), means.shape[-1] if means.ndim == 2 else 0)
        shapes = {"full": (m, d, d), "tied": (d, d), "diag": (m, d), "spherical": (m,)}
        wanted = shapes[self.covariance_type]
        if means.shape != (m, d) or np.shape(self.covariances) != wanted:
            raise ValueError(
                f"NormalMixture: {m} weights need means of shape ({m}, d) and covariances of shape "
                f"{wanted if d else 'as covariance_type says'}, got {means.shape} and "
                f"{np.shape(self.covariances)}."
            )
        self.factors  # noqa: B018  # raises where one is not positive definite

    @property
    def dimension(self) -> int:
        """The number of features."""
        return int(np.shape(self.means)[1])

    @property
    def matrices(self) -> np.ndarray:
        """The covariance of every component, shape (m, d, d)."""
        S, (m, d) = np.asarray(self.covariances, dtype=np.float64), np.shape(self.means)
        if self.covariance_type == "full":
            return S
        if self.covariance_type == "tied":
            return np.broadcast_to(S, (m, d, d))
        return np.reshape(S, (m, -1, 1)) * np.eye(d)

    @property
    def factors(self) -> np.ndarray:
        """The Cholesky factors of the covariances."""
        matrices = self.matrices
        skew = np.abs(matrices - np.swapaxes(matrices, 1, 2)).max()
        if skew > _ASYMMETRY * np.abs(matrices).max():
            raise ValueError("NormalMixture: covariances must be symmetric matrices.")
        try:
            return np.linalg.cholesky(matrices)
        except np.linalg.LinAlgError:
            raise ValueError(
                "NormalMixture: covariances must be positive definite; add a small multiple of the "
                "identity matrix."
            ) from None

    @property
    def domain(self) -> Domain:
        """Where the density is: the set of samples of which it is a model."""
        return VECTORS

    def read(self, X: Data, owner: str) -> np.ndarray:
        """Vectors with as many features as this has."""
        V = dense(X, owner)
        if V.shape[1] != self.dimension:
            raise DomainError(
                f"{owner}: X has {V.shape[1]} features, but the model has dimension "
                f"{self.dimension}."
            )
        return V

    def log_likelihood(self, X: Data) -> np.ndarray:
        """log p(x) of every sample."""
        return logsumexp(self._log_joint(self.read(X, "NormalMixture")), axis=1)

    def posterior(self, V: np.ndarray) -> np.ndarray:
        """The probabilities of the components given each point, shape (n, m)."""
        logs = self._log_joint(V)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def scores(self, X: Data, owner: str) -> dict[str, np.ndarray]:
        """Derivatives of log p(x) at every sample, by name of the parameter, a row per sample.

        Weights are moved by their logits (w is proportional to exp(a)), covariances by their
        entries, of which there is one for both places of a symmetric matrix.
        """
        V = self.read(X, owner)
        R, w = self.posterior(V), np.asarray(self.weights, dtype=np.float64)
        means, G = normal_scores(V, R, np.asarray(self.means, dtype=np.float64), self.factors)
        n = len(R)
        if self.covariance_type == "tied":
            G = G.sum(axis=1, keepdims=True)
        if self.covariance_type in ("full", "tied"):
            spread = lower_entries(G)
        else:
            spread = np.diagonal(G, axis1=2, axis2=3)
            spread = spread if self.covariance_type == "diag" else spread.sum(axis=2)
        return {
            "weights": R - w,
            "means": means.reshape(n, -1),
            "covariances": np.reshape(spread, (n, -1)),
        }

    def _log_joint(self, V: np.ndarray) -> np.ndarray:
        logs = np.empty((len(V), len(self.weights)))
        with np.errstate(divide="ignore"):
            shares = np.log(np.asarray(self.weights, dtype=np.float64))
        means = np.asarray(self.means, dtype=np.float64)
        for k, L in enumerate(self.factors):
            logs[:, k] = shares[k] + normal_logs(V - means[k], L)
        return logs


def dense(X: Data, owner: str) -> np.ndarray:
    """Vectors as an array in double precision."""
    return np.asarray(as_dense(as_vectors(X, owner)), dtype=np.float64)


def normal_logs(apart: np.ndarray, L: np.ndarray) -> np.ndarray:
    """log N(x; mu, L L') of rows x - mu."""
    z = solve_triangular(L, apart.T, lower=True)
    constant = np.log(np.diagonal(L)).sum() + len(L) / 2 * np.log(2 * np.pi)
    return -0.5 * np.einsum("ij,ij->j", z, z) - constant


def normal_scores(
    V: np.ndarray, R: np.ndarray, means: np.ndarray, factors: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """R_ik times the derivatives of log N(x_i; mu_k, S_k) by mu, (n, m, d), and S, (n, m, d, d)."""
    (n, m), d = R.shape, V.shape[1]
    by_mean, by_matrix = np.empty((n, m, d)), np.empty((n, m, d, d))
    for k, L in enumerate(factors):
        precision = cho_solve((L, True), np.eye(d))
        a = (V - means[k]) @ precision
        by_mean[:, k] = R[:, k, None] * a
        by_matrix[:, k] = 0.5 * R[:, k, None, None] * (a[:, :, None] * a[:, None, :] - precision)
    return by_mean, by_matrix


def power_constants(matrices: np.ndarray, rho: float) -> np.ndarray:
    """What each of two normal densities of these covariances adds to ``normal_products``.

    Its power p^rho is a normal density of covariance S / rho, times a constant; the other half of
    the constant of the density of their difference, of covariance (S + T) / rho, is here as well.
    """
    d = matrices.shape[-1]
    volumes = np.linalg.slogdet(matrices)[1]
    shape = (1 - rho) / 2 * (d * np.log(2 * np.pi) + volumes) - d / 2 * np.log(rho)
    return shape - d / 4 * np.log(2 * np.pi / rho)


def lower_entries(G: np.ndarray) -> np.ndarray:
    """The entries of symmetric matrices on and below the diagonal, those below doubled."""
    rows, cols = np.tril_indices(G.shape[-1])
    return G[..., rows, cols] * np.where(rows == cols, 1.0, 2.0)


def as_mixture(x: Any) -> NormalMixture | None:
    """One of ours, from what scipy, scikit-learn or a user calls a normal distribution.

    A pair (mean, covariance), ``scipy.stats.norm(...)`` or ``multivariate_normal(...)``, a fitted
    ``GaussianMixture``; None for anything else.
    """
    if isinstance(x, NormalMixture):
        return x
    if all(hasattr(x, name) for name in ("weights_", "means_", "covariances_", "covariance_type")):
        return NormalMixture(x.weights_, x.means_, x.covariances_, x.covariance_type)
    if isinstance(x, tuple) and len(x) == 2:
        mean = np.atleast_1d(np.asarray(x[0], dtype=np.float64))
        return _one(mean, np.asarray(x[1], dtype=np.float64))
    family = getattr(getattr(x, "dist", None), "name", None)
    if family == "norm":
        return _one(np.atleast_1d(x.mean()), np.atleast_1d(x.var()))
    if type(x).__name__ == "multivariate_normal_frozen":
        return _one(np.atleast_1d(x.mean), np.asarray(x.cov, dtype=np.float64))
    return None


def _one(mean: np.ndarray, covariance: np.ndarray) -> NormalMixture:
    """A normal distribution; variances may stand for a diagonal matrix."""
    covariance = np.atleast_1d(covariance)
    S = covariance if covariance.ndim == 2 else np.eye(len(mean)) * covariance
    return NormalMixture([1.0], mean[None], S[None])


def drawn(mixture: NormalMixture, n: int, rng: np.random.Generator) -> np.ndarray:
    """A sample of n from a mixture, shape (n, d)."""
    which = rng.choice(len(mixture.weights), n, p=np.asarray(mixture.weights, dtype=float))
    roots = np.linalg.cholesky(mixture.matrices)
    noise = rng.standard_normal((n, mixture.dimension))
    return np.asarray(
        np.asarray(mixture.means)[which] + np.einsum("nij,nj->ni", roots[which], noise)
    )


def fitted(bag: Any, ridge: float) -> NormalMixture:
    """The normal distribution with the moments of a bag of points, its covariance made regular.

    The covariance is that of the points themselves (divided by their number), to which ``ridge``
    times its mean variance is added on the diagonal, or ``ridge`` itself where all points are one.
    """
    V = dense(bag, "ProbabilityProduct")
    apart = V - V.mean(axis=0)
    S = apart.T @ apart / len(V)
    size = np.trace(S) / len(S)
    S = S + ridge * (size if size > 0 else 1.0) * np.eye(len(S))
    return _one(V.mean(axis=0), S)
