"""The single promises behind :mod:`mercer.testing`, each raising an AssertionError when broken."""

from __future__ import annotations

from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, length, take
from ..exceptions import DomainError
from ..features.sparse import sparse_block
from ..kernels.base import Kernel
from ..kernels.calculus.domains import Domain
from ..kernels.evaluator import Evaluator
from ..params import Params, same

SUBSET = 50  # samples in an eigenvalue, distance or gradient test
_DROP = 1e-12  # pivots that fall by this factor at once show a singular Gram matrix
_SINGLE_RANGE = 1e18  # numbers whose squares are finite in single precision
_RESOLVED = 1e-9  # of a coordinate: differences over shorter steps are mostly rounding


def require(condition: Any, message: str) -> None:
    """Fail with a sentence; unlike ``assert``, also under ``python -O``."""
    if not condition:
        raise AssertionError(f"{message}.")


def agree(got: Any, wanted: Any, tol: float, message: str) -> None:
    """Two arrays have one shape and differ by at most ``tol``."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    require(got.shape == wanted.shape, f"{message} (shapes {got.shape}, {wanted.shape})")
    error = float(np.max(np.abs(got - wanted), initial=0))
    require(error <= tol, f"{message} (by {error:.3g}, allowed {tol:.1g})")


def rounding(dtype: Any) -> float:
    """The relative error that two ways to the same number may show: 4e-10 in float64."""
    return float(np.finfo(dtype if np.dtype(dtype).kind == "f" else float).eps ** 0.6)


def round_trips(kernel: Kernel) -> None:
    """Clone, get_params and set_params, and repr give the same kernel back."""
    from sklearn.base import clone

    from ..kernels.notation.parse import parse

    try:
        copy = clone(kernel)
    except RuntimeError as error:
        raise AssertionError(f"clone fails; keep fields as given: {error}") from error
    require(copy == kernel, "clone(kernel) differs from the kernel")
    copy.set_params(**kernel.get_params())
    require(copy == kernel, "set_params(**get_params()) changes the kernel")
    if _is_literal(kernel):
        back = parse(repr(kernel))
        require(back == kernel, f"repr does not read back: {kernel!r} became {back!r}")


def fresh(k: Kernel, P: Data) -> None:
    """Overwriting a result changes no later one."""
    first = k.pairwise(P, P)
    kept = first.copy()
    first[...] = np.inf
    reused = "overwriting the result of pairwise changes the next one: return a fresh array"
    require(np.array_equal(k.pairwise(P, P), kept), reused)


def per_sample(
    k: Kernel, X: Data, P: Data, K: np.ndarray, tol: float, rng: np.random.Generator
) -> None:
    """Blocks of parts are parts of the block, whether samples are prepared together or alone."""
    n = length(X)
    tile, stop = k.tiles(P, P), n // 2 + 1
    rows, cols = rng.permutation(n)[:stop], rng.permutation(n)[:stop]
    for a, b in ((slice(0, stop), slice(n // 3, n)), (slice(n - 1, n), slice(0, n))):
        agree(tile(a, b), K[a, b], tol, f"tiles({a}, {b}) differs from pairwise")
        part = k.pairwise(take(P, a), take(P, b))
        agree(part, K[a, b], tol, "pairwise of a slice is not the slice of pairwise")
    part = k.pairwise(take(P, rows), take(P, cols))
    agree(part, K[np.ix_(rows, cols)], tol, "pairwise of permuted samples is not permuted")
    alone = "prepare is not sample by sample: it depends on the other samples, or on earlier calls"
    for subset in (rows, slice(0, 1), slice(0, n)):
        try:
            part = k.pairwise(k.prepare(take(X, subset)), P)
        except Exception as error:
            raise AssertionError(f"{alone} ({error})") from error
        agree(part, K[subset], tol, alone)


def feature_map(
    k: Kernel, X: Data, P: Data, K: np.ndarray, tol: float, rng: np.random.Generator
) -> None:
    """Features, where there are any, reproduce the kernel, sample by sample."""
    phi: Any = k.features(P)
    count = k.n_features(P)
    both = "features and n_features must both be None or both be given"
    require((phi is None) == (count is None), both)
    if phi is None:
        return
    require(phi.shape == (len(K), count), f"n_features is {count}, features have {phi.shape[1]}")
    agree(_products(phi, phi), K, tol, "features do not reproduce the kernel, <phi(x), phi(y)>")
    rows = rng.permutation(len(K))[: len(K) // 2 + 1]
    part = k.features(k.prepare(take(X, rows)))
    agree(_products(part, phi), K[rows], tol, "features of a subset are not a subset of features")


def stated(k: Kernel, X: Data, P: Data, K: np.ndarray, tol: float) -> None:
    """The formula, where there is one, gives the values of the kernel; in float32, too."""
    if k.formula(P) is None:
        return
    _as_stated(k, P, K, tol)
    Z = as_points(X)
    if Z is None or Z.dtype == np.float32 or not np.abs(Z).max() < _SINGLE_RANGE:
        return
    with suppress(DomainError), np.errstate(over="ignore"):  # rounded, they may lie outside
        P = k.prepare(Z.astype(np.float32))
        K = k.pairwise(P, P)
        if np.all(np.isfinite(K)):
            allowed = max(tol, float(np.abs(K).max()) * rounding(np.float32))
            _as_stated(k, P, K, allowed, " in float32")


def _as_stated(k: Kernel, P: Data, K: np.ndarray, tol: float, where: str = "") -> None:
    wrong = f"the formula differs from pairwise{where}: a class with values of its own states one"
    n, some = len(K), slice(0, len(K) // 2 + 1)
    formula, part = k.formula(P), k.formula(take(P, some))
    require(formula is not None and part is not None, "formula is None for some samples only")
    assert formula is not None
    assert part is not None
    (block,), (half,) = (
        Evaluator([of], [formula])(slice(None), slice(0, n)) for of in (formula, part)
    )
    agree(np.broadcast_to(block, K.shape), K, tol, wrong)
    agree(np.broadcast_to(half, K[some].shape), K[some], tol, wrong)
    agree(np.broadcast_to(formula.diag(), n), np.diagonal(K), tol, f"{wrong}, on the diagonal")


def gradient(k: Kernel, X: Data, rng: np.random.Generator) -> None:
    """grad_input agrees with central differences, where k is differentiable."""
    Z = as_points(X)
    if Z is None or k.properties.smooth.at_least < 1:
        return
    Z = Z[rng.permutation(len(Z))[:SUBSET]].astype(float)
    rows, P = Z[:5], k.prepare(Z)
    W = rng.standard_normal((len(rows), len(Z)))
    try:
        exact = k.grad_input(k.prepare(rows), P, W)
    except NotImplementedError:
        return
    exact = np.broadcast_to(exact, rows.shape)
    for j, values in enumerate(map(np.unique, Z.T)):
        gap = np.median(np.diff(values)) if len(values) > 1 else 1.0
        move = 1e-4 * min(gap, 1.0) * np.eye(Z.shape[1])[j]
        if move.max() < _RESOLVED * np.abs(rows[:, j]).max():
            continue  # steps so small that they are mostly rounding
        up, down = (k.pairwise(k.prepare(rows + e), P) for e in (move, -move))
        found = np.sum(W * (up - down), axis=1) / (2 * move.max())
        size = max(np.abs(found).max(), np.abs(k.diag(P)).max())
        message = "grad_input differs from central differences"
        agree(exact[:, j], found, 1e-4 * float(size), message)


def theta_gradient(k: Kernel, X: Data, rng: np.random.Generator) -> None:
    """grad_theta and grad_theta_diag agree with central differences, where they are written."""
    k = _inside(k)
    few, P, theta = take(X, rng.permutation(length(X))[:5]), k.prepare(X), k.theta
    W, w = rng.standard_normal((length(few), length(X))), rng.standard_normal(length(X))
    if k.pairwise(k.prepare(few), P).dtype != np.float64:  # differences would be mostly rounding
        return
    try:
        exact = [k.grad_theta(k.prepare(few), P, W), k.grad_theta_diag(P, w)]
    except NotImplementedError:
        return

    def sums(moved: np.ndarray) -> np.ndarray:
        new = k.with_theta(moved)
        Q = new.prepare(X)
        return np.array([np.vdot(W, new.pairwise(new.prepare(few), Q)), w @ new.diag(Q)])

    def differences(step: float) -> np.ndarray:
        moves = step * np.eye(len(theta))
        found = [(sums(theta + e) - sums(theta - e)) / (2 * step) for e in moves]
        return np.reshape(found, (len(theta), 2)).T

    found = differences(1e-6)
    unsettled = float(np.abs(differences(2e-6) - found).max(initial=0))
    size = max(np.abs(found).max(initial=0), np.abs(k.diag(P)).max())
    tol = 1e-4 * float(size) + unsettled
    agree(exact[0], found[0], tol, "grad_theta differs from central differences")
    agree(exact[1], found[1], tol, "grad_theta_diag differs from central differences")


def _inside(k: Kernel, margin: float = 1e-5) -> Kernel:
    """The kernel with numbers at an end of their range moved off it: they have two sides then."""
    known, theta = k.hyperparameters(), k.theta
    if not len(theta):
        return k
    ends = [np.log(h.bounds) if h.log else np.array(h.bounds) for h in known]
    low, high = np.repeat(ends, [np.size(h.value) for h in known], axis=0).T
    moved = margin * (np.abs(theta - low) < margin) - margin * (np.abs(theta - high) < margin)
    return k.with_theta(theta + moved) if moved.any() else k


def strictly_definite(K: np.ndarray, rows: np.ndarray) -> None:
    """No two samples coincide in feature space, and the Gram matrix shows no exact rank.

    The Gram matrix of a smooth kernel is singular to rounding without being so in fact; but
    then its pivots decay step by step, while those of a kernel of finite rank drop at once.
    """
    d = np.diagonal(K)
    D = d[:, None] + d[None, :] - 2 * K
    np.fill_diagonal(D, np.inf)
    i, j = np.unravel_index(np.argmin(D), D.shape)
    claim = "strictly_pd is claimed, but the distinct samples"
    require(D[i, j] != 0, f"{claim} {rows[i]} and {rows[j]} have the same features")
    left, pivots = np.array(K, dtype=float), []
    for _ in range(len(K)):
        at = int(np.argmax(np.diagonal(left)))
        pivots.append(max(float(left[at, at]), 1e-300))
        left -= np.outer(left[:, at], left[at]) / pivots[-1]
    large = np.array(pivots[:-1]) > 1e-3 * pivots[0]
    drops = np.flatnonzero(large & (np.array(pivots[1:]) < _DROP * pivots[0]))
    rank = int(drops[0]) + 1 if len(drops) else len(K)
    require(rank == len(K), f"{claim} have a Gram matrix of rank {rank} < {len(K)}")


def distinct(X: Data, domain: Domain) -> np.ndarray:
    """The places of samples that are surely different points of a domain."""
    known_apart = domain.facts.numeric and domain.faithful  # not so on a circle
    if known_apart and (Z := as_points(X)) is not None:
        grid = np.round(Z / (np.abs(Z).max() or 1), 3)  # near points look alike to the kernel too
        return np.sort(np.unique(grid, axis=0, return_index=True)[1])
    if domain.facts.hashable and isinstance(X, list | tuple) and all(map(_hashable, X)):
        known = {x: i for i, x in enumerate(X) if x is not None and x == x}  # one missing label
        return np.array(sorted(known.values()), dtype=int)
    return np.zeros(0, dtype=int)


def _hashable(x: Any) -> bool:
    try:
        hash(x)
    except TypeError:
        return False
    return True


def as_points(X: Data) -> np.ndarray | None:
    """X if it is a dense array of points, else None."""
    dense = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    return X if dense else None


def unchanged(before: Data, after: Data) -> bool:
    """Is the data still what a deep copy of it was?"""
    if isinstance(after, np.ndarray) and after.dtype.kind != "O":
        return before.dtype == after.dtype and before.tobytes() == after.tobytes()
    if isinstance(after, np.ndarray):
        before, after = before.tolist(), after.tolist()
    return same(before, after)


def _products(phi: Any, psi: Any) -> np.ndarray:
    return sparse_block(phi, psi) if sp.issparse(phi) else np.asarray(phi @ psi.T)


def _is_literal(value: Any) -> bool:
    """Does repr show all of the value, so that it can be read back?"""
    if isinstance(value, Params):
        known = Params.registry.get(type(value).__name__) is type(value)
        return known and all(_is_literal(v) for _, v in value._items())
    if isinstance(value, list | tuple | np.ndarray):
        short = getattr(value, "size", len(value)) <= 64
        return short and all(map(_is_literal, value))
    return isinstance(value, Real | str | slice | type(None))
