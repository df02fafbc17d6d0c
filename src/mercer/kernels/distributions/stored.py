"""How distributions and models of other packages are written to files: by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kinds import Stored

_TYPES = ("full", "tied", "diag", "spherical")


def _of_normal(frozen: Any) -> dict[str, Any]:
    return {"mean": np.asarray(frozen.mean), "covariance": np.asarray(frozen.cov)}


def _normal(mean: np.ndarray, covariance: np.ndarray) -> Any:
    from scipy.stats import multivariate_normal

    return multivariate_normal(mean, covariance, allow_singular=True)


def _of_mixture(model: Any) -> dict[str, Any]:
    fitted = ("weights_", "means_", "covariances_", "precisions_cholesky_")
    if not all(hasattr(model, name) for name in fitted):
        raise ValueError("a GaussianMixture that is not fitted has nothing to store; fit it first.")
    numbers = {name.rstrip("_"): np.asarray(getattr(model, name)) for name in fitted}
    return {**numbers, "covariance_type": model.covariance_type}


def _mixture(
    weights: np.ndarray,
    means: np.ndarray,
    covariances: np.ndarray,
    precisions_cholesky: np.ndarray,
    covariance_type: str,
) -> Any:
    from sklearn.mixture import GaussianMixture

    if covariance_type not in _TYPES:
        raise ValueError(f"a mixture with covariances of unknown type {covariance_type!r}")
    m, d = np.shape(means)
    shape = {"full": (m, d, d), "tied": (d, d), "diag": (m, d), "spherical": (m,)}[covariance_type]
    found = (np.shape(weights), np.shape(covariances), np.shape(precisions_cholesky))
    if found != ((m,), shape, shape):
        raise ValueError("a mixture whose weights, means and covariances do not fit each other")
    model = GaussianMixture(m, covariance_type=covariance_type)
    model.weights_, model.means_, model.covariances_ = weights, means, covariances
    model.precisions_cholesky_ = precisions_cholesky
    if covariance_type in ("full", "tied"):
        P = precisions_cholesky
        model.precisions_ = P @ np.swapaxes(P, -1, -2)
    else:
        model.precisions_ = precisions_cholesky**2
    model.converged_, model.n_features_in_ = True, d
    return model


STORED = (
    Stored("multivariate_normal", ("scipy.multivariate_normal_frozen",), _of_normal, _normal),
    Stored("gaussian_mixture", ("sklearn.GaussianMixture",), _of_mixture, _mixture),
)
