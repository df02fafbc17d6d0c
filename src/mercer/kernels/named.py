"""Kernels as users give them: an object, one of scikit-learn's names, or a function."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..data import Data, as_vectors
from ..params import copy_params
from .base import Kernel
from .custom import Custom
from .distances import variance_scale
from .dot import Linear, Polynomial
from .precomputed import Precomputed
from .radial import Gaussian, Laplacian

NAMES = (
    "linear",
    "rbf",
    "poly",
    "polynomial",
    "laplacian",
    "cosine",
    "precomputed",
    "sigmoid",
    "chi2",
    "additive_chi2",
)


def as_kernel(
    kernel: Any,
    X: Data,
    *,
    gamma: Any = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
) -> Kernel:
    """A kernel from a kernel, one of scikit-learn's names, or a function of two samples."""
    if isinstance(kernel, Kernel):
        return copy_params(kernel)  # a fitted model must not change when set_params is called
    if callable(kernel):
        return Custom(partial(kernel, **kernel_params) if kernel_params else kernel)
    if kernel not in NAMES:
        listed = ", ".join(map(repr, NAMES))
        raise ValueError(f"kernel must be a mercer kernel, a function or one of {listed}; "
                         f"got {kernel!r}.")  # fmt: skip
    if kernel == "precomputed":
        return Precomputed()
    if kernel == "linear":
        return Linear()
    if kernel == "cosine":
        return Linear().normalize()
    gamma = _gamma(gamma, kernel, X)
    if kernel == "rbf":
        return Gaussian.from_gamma(gamma)
    if kernel == "laplacian":
        return Laplacian.from_gamma(gamma, p=1)
    if kernel in ("poly", "polynomial"):
        return Polynomial(degree=int(degree), offset=coef0, scale=gamma)
    return _borrowed(kernel, gamma, coef0)


def _gamma(gamma: float | str | None, kernel: str, X: Data) -> Any:
    """scikit-learn's gamma as a number: "scale" is 1 / (d var(X)), "auto" and None 1 / d."""
    if gamma == "scale":
        return 1 / (2 * variance_scale(as_vectors(X, f"kernel={kernel!r}")) ** 2)
    if gamma == "auto" or (gamma is None and kernel != "chi2"):
        return 1.0 / as_vectors(X, f"kernel={kernel!r}").shape[1]
    if isinstance(gamma, str) or (gamma is not None and not gamma > 0):
        raise ValueError(f'gamma must be a positive number, "scale" or "auto", got {gamma!r}.')
    return gamma


def _borrowed(name: str, gamma: float | None, coef0: float) -> Kernel:
    """scikit-learn's other kernels, of which positive definiteness is not claimed."""
    from sklearn.metrics import pairwise

    options: dict[str, dict[str, Any]] = {
        "sigmoid": {"gamma": gamma, "coef0": coef0},
        "chi2": {"gamma": 1.0 if gamma is None else gamma},
        "additive_chi2": {},
    }
    function = getattr(pairwise, f"{name}_kernel")
    return Custom(partial(function, **options[name]), batch=True)
