"""The shipped checks of kernels and Gram operators."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from ..data import Data, Rows, as_dense, length, take
from ..gram.base import Gram
from ..kernels.base import Kernel
from ..kernels.given.custom import Custom
from ..randomness import as_generator
from . import promises as promise
from .promises import agree, require

_IMPLIES = (
    ("universal", "strictly_pd"),
    ("c0_universal", "universal"),
    ("integrally_pd", "characteristic"),
    ("integrally_pd", "strictly_pd"),
    ("strictly_pd", "positive_diag"),
)


@dataclass(frozen=True)
class PSDCheck:
    """The verdict of :func:`check_psd`, true if there is no evidence against the function.

    Attributes
    ----------
    psd : bool
        Symmetric, and no eigenvalue below -tolerance.
    min_eigenvalue : float
        The smallest eigenvalue of (the symmetric part of) the Gram matrix.
    asymmetry : float
        The largest difference between k(x, y) and k(y, x).
    tolerance : float
        What rounding errors alone may cause.
    witness : ndarray
        The unit vector v with v'Kv = min_eigenvalue: the weights that make the sum negative.
    """

    psd: bool
    min_eigenvalue: float
    asymmetry: float
    tolerance: float
    witness: np.ndarray

    def __bool__(self) -> bool:
        return self.psd

    def __str__(self) -> str:
        if self.asymmetry > self.tolerance:
            return f"not symmetric: k(x, y) and k(y, x) differ by up to {self.asymmetry:.3g}."
        found = f"the smallest eigenvalue is {self.min_eigenvalue:.3g}"
        allowed = f"rounding explains {-self.tolerance:.1g}"
        if self.psd:
            return f"no evidence against positive definiteness on this sample: {found} ({allowed})."
        return f"not positive definite: {found} ({allowed}); see witness."


def check_psd(
    function: Callable[[Any, Any], float] | Kernel, X: Data, rtol: float | None = None
) -> PSDCheck:
    """Check on a sample that a function of two samples is symmetric and positive definite.

    A numerical test can refute positive definiteness, never prove it.

    Parameters
    ----------
    function : callable or Kernel
        k(x, y), called on pairs of samples; or a kernel, for example ``Custom(f, batch=True)``.
    X : data
        The samples; the eigenvalues of their Gram matrix are computed.
    rtol : float, optional
        Rounding allowed per sample, relative to the largest entry; by default 100 units in the
        last place.

    Returns
    -------
    PSDCheck
        Truthy if no counterexample was found; otherwise with a witness v, v'Kv < 0.

    Examples
    --------
    >>> from mercer.testing import check_psd
    >>> print(check_psd(lambda x, y: -abs(x - y), [0.0, 1.0, 3.0]))
    not positive definite: the smallest eigenvalue is -4.11 (rounding explains -2e-13); see witness.
    """
    kernel = (function if isinstance(function, Kernel) else Custom(function)).resolve(X)
    P = kernel.prepare(X)
    K = kernel.pairwise(P, P)
    if not np.all(np.isfinite(K)):
        raise ValueError("check_psd: the function returns NaN or infinity on these samples.")
    unit = 100 * np.finfo(K.dtype).eps if rtol is None else rtol
    tolerance = float(unit * len(K) * np.abs(K).max())
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    asymmetry = float(np.abs(K - K.T).max())
    psd = bool(values[0] >= -tolerance and asymmetry <= tolerance)
    return PSDCheck(psd, float(values[0]), asymmetry, tolerance, vectors[:, 0])


def check_kernel(kernel: Kernel, X: Data, rng: Any = 0, rtol: float | None = None) -> None:
    """Check that a kernel keeps every promise of :class:`mercer.Kernel` on a sample.

    Blocks, diagonal, tiles, formula and features agree; the Gram matrix is symmetric and positive
    semi-definite; ``prepare`` works sample by sample; nothing modifies X or shares memory with
    a later result; parameters, ``clone``, ``resolve`` and ``repr`` round-trip; the stated
    properties and the gradients, with respect to samples and to hyper-parameters, are not
    contradicted by numbers.

    Parameters
    ----------
    kernel : Kernel
        The kernel to check.
    X : data
        At least two samples, most of them distinct; 20 to 100 are a good number.
    rng : int or Generator
        The seed of the random subsets.
    rtol : float, optional
        Error allowed, relative to the largest kernel value; by default about 4e-10 (float64).

    Raises
    ------
    AssertionError
        With the first promise that is broken.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> from mercer.testing import check_kernel
    >>> check_kernel(Spectrum(2).normalize(), ["abab", "babb", "cab", "aabb"])
    """
    promise.round_trips(kernel)
    before, rng = deepcopy(X), as_generator(rng)
    k = kernel.resolve(X)
    require(k.unresolved is None, f"after resolve(X) {k.unresolved} still depends on data")
    require(k.resolve(X) == k, "resolve is not idempotent: resolving twice changes the kernel")
    n, P = length(X), k.prepare(X)
    K = k.pairwise(P, P)
    require(K.shape == (n, n), f"pairwise has shape {K.shape} on {n} samples, not {(n, n)}")
    require(K.dtype.kind == "f", f"pairwise returns {K.dtype}; return floating point numbers")
    require(np.all(np.isfinite(K)), "pairwise returns NaN or infinity")
    tol = float(np.abs(K).max()) * (promise.rounding(K.dtype) if rtol is None else rtol)
    agree(K, K.T, tol, "not symmetric: k(x, y) and k(y, x) differ")
    agree(k.diag(P), np.diagonal(K), tol, "diag differs from the diagonal of pairwise")
    for _ in range(3):
        rows = rng.choice(n, min(n, promise.SUBSET), replace=False)
        low = float(np.linalg.eigvalsh(K[np.ix_(rows, rows)])[0])
        require(low >= -len(rows) * tol, f"not positive semi-definite: eigenvalue {low:.3g}")
    promise.fresh(k, P)
    promise.per_sample(k, X, P, K, tol, rng)
    agree(k(X), K, tol, "kernel(X) differs from pairwise")
    promise.stated(k, X, P, K, tol)
    promise.feature_map(k, X, P, K, tol, rng)
    check_properties(k, X, rng)
    promise.gradient(k, X, rng)
    promise.theta_gradient(k, X, rng)
    require(promise.unchanged(before, X), "X was modified; work on a copy")


def check_properties(kernel: Kernel, X: Data, rng: Any = 0) -> None:
    """Check that the stated properties agree with each other and with the numbers on a sample.

    Parameters
    ----------
    kernel : Kernel
        The kernel, resolved or resolvable on X.
    X : data
        Some samples.
    rng : int or Generator
        The seed of the random subset.

    Raises
    ------
    AssertionError
        With the claim that is contradicted, and by what.

    Examples
    --------
    >>> from mercer import Matern
    >>> from mercer.testing import check_properties
    >>> check_properties(Matern(), [[0.0], [0.5], [1.0]])
    """
    k, rng = kernel.resolve(X), as_generator(rng)
    p = k.properties
    for one, other in _IMPLIES:
        clash = getattr(p, one) and getattr(p, other).no
        require(not clash, f"properties: {one} is yes but {other} is no")
    rough = p.analytic and p.smooth.at_most < inf
    require(not rough, "properties: analytic is yes but smooth stops at some order")
    torn = p.continuous.no and p.smooth.at_least >= 0
    require(not torn, "properties: continuous is no but smooth says at least C^0")
    P = k.prepare(X)
    d = k.diag(P)
    first = take(P, slice(0, 1))
    tol = float(np.abs(d).max()) * promise.rounding(k.pairwise(first, first).dtype)
    if p.positive_diag:
        require(np.all(d > 0), f"positive_diag is claimed, but some k(x, x) is {d.min():g}")
    if p.stationary:
        agree(d, np.full_like(d, d[0]), tol, "stationary is claimed, but k(x, x) varies")
        if p.domain.kind == "vectors" and (Z := promise.as_points(X)) is not None:
            moved = k(Z + rng.uniform(-1, 1, Z.shape[1]))
            agree(moved, k(Z), 100 * tol, "stationary is claimed, but shifting X changes K")
    rows = promise.distinct(X, p.domain)
    if p.strictly_pd and len(rows) > 1:
        rows = rng.permutation(rows)[: promise.SUBSET]
        promise.strictly_definite(k.pairwise(take(P, rows), take(P, rows)), rows)


def check_gram(
    gram: Gram, dense: np.ndarray, X_new: Data | None = None, cross: np.ndarray | None = None
) -> None:
    """Check a Gram operator against the matrix it represents.

    Parameters
    ----------
    gram : Gram
        The operator.
    dense : ndarray
        The matrix it should be.
    X_new, cross : optional
        New data, and the matrix that ``gram.cross(X_new)`` should be.

    Raises
    ------
    AssertionError
        With the first operation that differs.

    Examples
    --------
    >>> from mercer import Linear
    >>> from mercer.testing import check_gram
    >>> check_gram(Linear().gram([[1.0], [2.0]]), [[1, 2], [2, 4]], [[3.0]], [[3, 6]])
    """
    dense = np.asarray(dense)
    (n, m), rng = dense.shape, np.random.default_rng(0)
    tol = float(np.abs(dense).max()) * promise.rounding(gram.dtype)
    require(gram.shape == (n, m), f"shape is {gram.shape}, not {(n, m)}")
    picks: list[tuple[Rows, Rows]] = [
        (slice(0, n), slice(0, m)),
        (slice(n // 3, n), slice(0, (m + 1) // 2)),
        (rng.permutation(n)[: n // 2 + 1], rng.permutation(m)[: m // 2 + 1]),
        (slice(0, 1), rng.permutation(m)[:3]),
        (rng.permutation(n)[:3], slice(0, m)),
    ]
    for rows, cols in picks:
        wanted = dense[rows][:, cols]
        agree(gram.block(rows, cols), wanted, tol, f"block({rows}, {cols}) is wrong")
    agree(gram.to_dense(), dense, tol, "to_dense is wrong")
    v, V = rng.standard_normal(m), rng.standard_normal((m, 12))
    agree(gram @ v, dense @ v, 10 * m * tol, "K @ vector is wrong")
    agree(gram @ V, dense @ V, 10 * m * tol, "K @ matrix is wrong")
    agree(gram.normal(V), dense.T @ (dense @ V), 10 * m * n * tol, "normal, K' K V, is wrong")
    picked = rng.permutation(n)[: n // 2 + 1]
    agree(gram.rows(picked), dense[picked], tol, "rows is wrong")
    if gram.features is not None and gram.symmetric:
        phi = gram.features
        product = as_dense(phi @ phi.T)
        agree(product, dense, 10 * tol, "features do not multiply to K")
    agree((2 * gram + gram * 3).to_dense(), 5 * dense, 5 * tol, "2 * K + K * 3 is wrong")
    require(isinstance(gram.explain(), str), "explain() does not return a string")
    if gram.symmetric and n == m:
        agree(gram.diag(), np.diagonal(dense), tol, "diag is wrong")
        part = gram.subset(picked)
        agree(part.to_dense(), dense[np.ix_(picked, picked)], tol, "subset is wrong")
        agree(part.diag(), np.diagonal(dense)[picked], tol, "diag of a subset is wrong")
        some = V[: len(picked)]
        wanted = dense[np.ix_(picked, picked)] @ some
        agree(part @ some, wanted, 10 * m * tol, "subset @ V is wrong")
        shifted = dense + 0.5 * np.eye(n)
        agree(gram.shift(0.5).to_dense(), shifted, tol, "shift is wrong")
        H = np.eye(n) - 1 / n
        agree(gram.center().to_dense(), H @ dense @ H, 4 * tol, "center is wrong")
        agree(gram.center() @ V, H @ dense @ H @ V, 40 * m * tol, "center() @ V is wrong")
    if X_new is not None:
        operator = gram.cross(X_new)
        require(operator.shape == (length(X_new), m), f"cross has shape {operator.shape}")
        if cross is not None:
            check_gram(operator, cross)
