"""Gram matrices: whole, as arrays, and as operators that are never stored."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Errors, Target, each

Reference = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of ||x - y||^2 and <x, y>


# ---- kernels and what they should be, from distances and products in extended precision ----------
def _kernels(d: int) -> dict[str, tuple[Any, Reference]]:
    """By name: a kernel of mercer at a scale typical of its data, and its formula."""
    import mercer as mc

    s3, s5 = np.sqrt(np.longdouble(3)), np.sqrt(np.longdouble(5))
    length = float(np.sqrt(d))
    scale = 1 / d
    return {
        "gaussian": (mc.Gaussian.from_gamma(scale), lambda D, P: np.exp(-D * scale)),
        "laplacian": (
            mc.Laplacian(lengthscale=length),
            lambda D, P: np.exp(-np.sqrt(D) / length),
        ),
        "matern32": (
            mc.Matern(lengthscale=length, nu=1.5),
            lambda D, P: (1 + s3 * np.sqrt(D) / length) * np.exp(-s3 * np.sqrt(D) / length),
        ),
        "matern52": (
            mc.Matern(lengthscale=length, nu=2.5),
            lambda D, P: (
                (1 + s5 * np.sqrt(D) / length + 5 * D / length**2 / 3)
                * np.exp(-s5 * np.sqrt(D) / length)
            ),
        ),
        "rational": (
            mc.RationalQuadratic(lengthscale=length),
            lambda D, P: 1 / (1 + D / length**2 / 2),
        ),
        "rational2": (
            mc.RationalQuadratic(lengthscale=length, alpha=2.0),
            lambda D, P: (1 + D / length**2 / 4) ** -2,
        ),
        "linear": (mc.Linear(), lambda D, P: P),
        "polynomial": (
            mc.Polynomial(degree=3, offset=1.0, scale=scale),
            lambda D, P: (P * scale + 1) ** 3,
        ),
        "exponential": (mc.Exponential(scale=scale), lambda D, P: np.exp(P * scale)),
    }


def _sample(n: int, d: int, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d)).astype(dtype)


def entry_error(X: np.ndarray, formula: Reference) -> Callable[[np.ndarray], float]:
    """max |K_ij - k_ij| / max(1, |k_ij|) over random entries, some of them on the diagonal."""
    rng = np.random.default_rng(1)
    i, j = rng.integers(len(X), size=(2, 5000))
    j[:500] = i[:500]

    def error(K: np.ndarray) -> float:
        x, y = X[i].astype(np.longdouble), X[j].astype(np.longdouble)
        exact = formula(((x - y) ** 2).sum(axis=1), (x * y).sum(axis=1))
        return float((np.abs(K[i, j] - exact) / np.maximum(1, np.abs(exact))).max())

    return error


# ---- whole matrices ------------------------------------------------------------------------------
def gaussian(n: int, d: int, dtype: str) -> Contest:
    X = _sample(n, d, dtype)
    kernel, formula = _kernels(d)["gaussian"]

    def peer() -> np.ndarray:
        from sklearn.metrics.pairwise import rbf_kernel

        return rbf_kernel(X, gamma=1 / d)

    return Contest({MERCER: lambda: kernel(X), "scikit-learn": peer}, each(entry_error(X, formula)))


def other(n: int, d: int, kernel: str) -> Contest:
    X = _sample(n, d)
    kernels = _kernels(d)
    ours, formula = kernels[kernel]
    error = entry_error(X, formula)
    return Contest(
        {MERCER: lambda: ours(X), "mercer's Gaussian": lambda: kernels["gaussian"][0](X)},
        lambda outputs: {MERCER: error(outputs[MERCER])},
    )


# ---- products with a matrix that is never stored -----------------------------------------------
def product(n: int, d: int, symmetric: bool) -> Contest:
    from mercer import Gaussian, Plan

    X, gamma = _sample(n, d), 1 / d
    rng = np.random.default_rng(2)
    Z = X if symmetric else rng.standard_normal((n, d))
    v = rng.standard_normal(n)

    def ours() -> np.ndarray:
        K = Gaussian.from_gamma(gamma).gram(X, Plan(storage="tiled"))
        return (K if symmetric else K.cross(Z)) @ v

    return Contest(
        {MERCER: ours, "floor: GEMM + exp": lambda: floor(Z, X, gamma)},
        _row_errors(Z, X, gamma, v),
    )


def floor(X: np.ndarray, Y: np.ndarray, gamma: float) -> None:
    """The least a product over all n x n entries needs: their distances by GEMM, and their exp.

    No symmetry is used: a product that does use it may be faster than this. The result is
    thrown away and never meets a vector.
    """
    from threadpoolctl import threadpool_limits

    from mercer.gram.tiles import TILE, cores

    ones = np.ones((len(X), 1))
    left = np.hstack([2 * gamma * X, -gamma * (X**2).sum(1, keepdims=True), ones])
    right = np.hstack([Y, ones, -gamma * (Y**2).sum(1, keepdims=True)])
    starts = range(0, len(X), TILE)

    def strip(i: int) -> None:
        rows = left[i : i + TILE]
        space = np.empty((len(rows), TILE))
        for j in starts:
            columns = right[j : j + TILE]
            tile = space[:, : len(columns)]
            np.matmul(rows, columns.T, out=tile)
            np.exp(tile, out=tile)

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cores()) as pool:
        for _ in pool.map(strip, starts):
            pass


def _row_errors(X: np.ndarray, Y: np.ndarray, gamma: float, v: np.ndarray) -> Errors:
    """Error on 50 random rows, relative to the largest of them, by direct summation."""
    chosen = np.random.default_rng(3).integers(len(X), size=50)

    def errors(outputs: Any) -> dict[str, float]:
        exact = [v @ np.exp(-gamma * ((Y - x) ** 2).sum(axis=1)) for x in X[chosen]]
        difference = outputs[MERCER][chosen] - exact
        return {MERCER: float(np.abs(difference).max() / np.abs(exact).max())}

    return errors


FULL, QUICK, TINY = {"n": 10_000, "d": 50}, {"n": 2_000, "d": 50}, {"n": 300, "d": 50}

CASES = [
    Case(
        f"gram.gaussian.{dtype}",
        f"Gaussian Gram matrix, {dtype}, n={{n:,}}, d={{d}}, fresh output",
        partial(gaussian, dtype=dtype),
        FULL,
        QUICK,
        TINY,
        time=Target(speed=speed),
        accuracy=Accuracy("max abs error of entries", most),
        rounds=7,
    )
    for dtype, speed, most in (("float64", 2.0, 1e-14), ("float32", 3.5, 1e-6))
]
CASES += [
    Case(
        f"gram.{kernel}",
        f"{title} Gram matrix, n={{n:,}}, d={{d}}",
        partial(other, kernel=kernel),
        FULL,
        QUICK,
        TINY,
        time=Target(cost=1.3),
        accuracy=Accuracy("max error of entries", 1e-13),
        rounds=7,
    )
    for kernel, title in {
        "laplacian": "Laplacian",
        "matern32": "Matérn 3/2",
        "matern52": "Matérn 5/2",
        "rational": "Rational quadratic (alpha=1)",
        "rational2": "Rational quadratic (alpha=2)",
        "linear": "Linear",
        "polynomial": "Polynomial (degree 3)",
        "exponential": "Exponential",
    }.items()
]
CASES += [
    Case(
        f"gram.matvec.{kind}",
        f"K @ v, {title}, K never stored, n={{n:,}}, d={{d}}",
        partial(product, symmetric=kind == "square"),
        {"n": 100_000, "d": 20},
        {"n": 20_000, "d": 20},
        {"n": 600, "d": 20},
        time=Target(speed=0.6),
        memory=Target(limit=1e9),
        accuracy=Accuracy("error on 50 rows, relative to the largest", 1e-12),
        rounds=3,
    )
    for kind, title in {"square": "K of one sample", "cross": "K of two samples"}.items()
]
