"""Kernels as users give them: an object, one of scikit-learn's names, or a function."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from ...data import Data, as_vectors
from ...exceptions import DomainError
from ...ownership import owned
from ...params import Params
from ..base import Kernel
from ..given.custom import Custom
from ..given.foreign import from_function, from_sklearn, is_foreign
from ..given.precomputed import Precomputed
from ..vectors.distances import variance_scale
from ..vectors.dot import Linear, Polynomial
from ..vectors.radial import Gaussian, Laplacian

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
    """A kernel from a kernel, ours or scikit-learn's, from one of its names, or from a function."""
    if isinstance(kernel, Kernel):
        return _kept(kernel)
    if is_foreign(kernel):
        return from_sklearn(kernel, as_vectors(X, f"kernel={kernel!r}").shape[1])
    if isinstance(kernel, type) and issubclass(kernel, Params):
        name = kernel.__name__
        raise ValueError(f"kernel must be an object such as {name}(), got the class {name}.")
    if callable(kernel):
        return from_function(partial(kernel, **kernel_params) if kernel_params else kernel, X)
    if not (isinstance(kernel, str) and kernel in NAMES):
        listed = ", ".join(map(repr, NAMES))
        raise ValueError(f"kernel must be a mercer kernel, a function or one of {listed}; "
                         f"got {kernel!r}.")  # fmt: skip
    if kernel == "precomputed":
        return Precomputed()
    if kernel == "linear":
        return Linear()
    if kernel == "cosine":
        return Linear().normalize()
    gamma = as_gamma(gamma, kernel, X)
    if kernel == "rbf":
        return Gaussian.from_gamma(gamma)
    if kernel == "laplacian":
        return Laplacian.from_gamma(gamma, p=1)
    if kernel in ("poly", "polynomial"):
        if not (isinstance(degree, Real) and degree % 1 == 0):
            raise ValueError(f"degree must be a whole number, got {degree!r}.")
        return Polynomial(degree=int(degree), offset=coef0, scale=gamma)
    return _borrowed(kernel, gamma, coef0)


def _kept(kernel: Any) -> Any:
    """A copy for a fitted model, which must not change when the user sets parameters of theirs."""
    return kernel.replace(
        **{
            name: _kept(value) if isinstance(value, Params) else owned(value)
            for name, value in kernel._items()
        }
    )


def as_gamma(gamma: float | str | None, kernel: str, X: Data) -> Any:
    """scikit-learn's gamma as a number: 1 / (d var(X)) for "scale", 1 / d for "auto" and None."""
    if isinstance(gamma, str) and gamma == "scale":
        scale = variance_scale(as_vectors(X, f"kernel={kernel!r}"))
        if not 1e-150 < scale < 1e150:
            raise DomainError(
                'gamma="scale" is 1 / (d var(X)), which overflows or is 0 for X with a standard '
                f"deviation of about {scale:.1g}; divide X by a constant, or give gamma."
            )
        return 1 / (2 * scale**2)
    if gamma is None and kernel == "chi2":
        return 1.0
    if gamma is None or (isinstance(gamma, str) and gamma == "auto"):
        return 1.0 / as_vectors(X, f"kernel={kernel!r}").shape[1]
    if not (isinstance(gamma, Real) and 0 < gamma < np.inf):
        raise ValueError(f'gamma must be a positive number, "scale" or "auto", got {gamma!r}.')
    return gamma


def _borrowed(name: str, gamma: float | None, coef0: float) -> Kernel:
    """scikit-learn's other kernels, of which positive definiteness is not claimed."""
    from sklearn.metrics import pairwise

    options: dict[str, dict[str, Any]] = {
        "sigmoid": {"gamma": gamma, "coef0": coef0},
        "chi2": {"gamma": gamma},
        "additive_chi2": {},
    }
    function = getattr(pairwise, f"{name}_kernel")
    return Custom(partial(function, **options[name]), batch=True)
