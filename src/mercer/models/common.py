"""What estimators share: kernels by scikit-learn's names, and data of any kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ..data import Data, is_frame, length
from ..kernels.base import Kernel
from ..kernels.custom import Custom
from ..kernels.distances import variance_scale
from ..kernels.dot import Linear, Polynomial
from ..kernels.precomputed import Precomputed
from ..kernels.radial import Gaussian, Laplacian
from ..params import copy_params

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


def covariance(kernel: Any) -> Any:
    """The kernel of a Gaussian process as it was given; ``1 * Gaussian("median")`` for None."""
    return 1 * Gaussian("median") if kernel is None else kernel


def _gamma(gamma: float | str | None, kernel: str, X: Data) -> Any:
    """scikit-learn's gamma as a number: "scale" is 1 / (d var(X)), "auto" and None 1 / d."""
    if gamma == "scale":
        return 1 / (2 * variance_scale(X) ** 2)
    if gamma == "auto" or (gamma is None and kernel != "chi2"):
        return 1.0 / X.shape[1]
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


def check_data(estimator: BaseEstimator, X: Data, kernel: Any, *, reset: bool) -> Data:
    """X as the kernel wants it: checked by scikit-learn if it is vectors, else by the kernel."""
    if not isinstance(kernel, Kernel) or (on_vectors(kernel) and not _is_structured(X)):
        X = validate_data(
            estimator, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), reset=reset
        )
        return X.tocsr() if sp.issparse(X) else X
    if length(X) == 0:
        raise ValueError("X has no samples: at least one is needed.")
    if is_frame(X) or isinstance(X, np.ndarray) or sp.issparse(X):
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    return X


def on_vectors(kernel: Kernel) -> bool:
    """Does the kernel work on rows of an (n, d) array of numbers?"""
    return kernel.domain.whole.kind in ("vectors", "ball", "interval", "circle", "everything")


def _is_structured(X: Data) -> bool:
    """A table, whose columns have names, or a list of strings, ...: the kernel knows what to do."""
    return is_frame(X) or (isinstance(X, list) and bool(X) and isinstance(X[0], str | bytes | dict))


def progress(items: list, verbose: bool) -> Any:
    """The items, with a progress bar if asked for."""
    if not verbose:
        return items
    from tqdm.auto import tqdm

    return tqdm(items, desc="kernel settings")


@contextmanager
def ticker(verbose: bool, what: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar that moves on with each call; a text in the call takes the place of what."""
    if not verbose:
        yield lambda text="": None
        return
    from tqdm.auto import tqdm

    with tqdm(desc=what, total=total, leave=total is not None) as bar:

        def tick(text: str = "") -> None:
            if text:
                bar.set_description(text, refresh=False)
            bar.update()

        yield tick
