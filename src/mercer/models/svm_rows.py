"""Rows of K for training support vector machines: in single precision if that is enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, evenly, length, take
from ..engine.memory import require_memory
from ..features.sparse import compress, occurring
from ..gram.device.rows import DeviceMatrix, DeviceRowGram
from ..gram.device.torch_ import HOST
from ..gram.exponential import Factors
from ..gram.plan import Plan
from ..gram.rows import FeatureRowGram, GivenRowGram, RowGram
from ..gram.tiles import evaluate, multiply, one_blas_thread, run, slices
from ..kernels.approximate.rules import Landmarks
from ..kernels.base import Kernel
from ..kernels.evaluator import exponents
from ..kernels.given.precomputed import MatrixRows, Precomputed
from ..kernels.vectors.bits import two_values
from ..kernels.vectors.distances import centre
from ..solvers.device_smo import SMALLEST
from ..solvers.smo_dense import LARGEST
from .common import on_vectors

_FEW = 1000  # problems up to this size, or with a tolerance below _FINE, are solved in double
_FINE = 1e-6
_PROBES = 64  # samples on which the rounding error of kernel values is measured
_FAR = 1000  # maximum number of samples on which the effect of single precision is measured
_PARTS = 16  # in which many columns are divided for few rows
_BLURRED = 1e-3  # the largest error of kernel values, relative to 1, for single precision
_ROUGH = 1e-3  # tolerances from which landmarks may be in single precision
_SINGLE_LIMIT = 100.0  # kernel values up to this size are computed in single precision
_SINGLE_RANGE = 1e18  # and of numbers whose squares do not overflow
_FEATURES_LIMIT = 1e4  # and up to this one, if products of features, kept in it
_MOST_FEATURES = 2000  # of a dense feature map
_SINGLE = "its rows computed in single precision when they are needed, and checked in double"


def training_rows(
    gram: Any, X: Data, tol: float, order: np.ndarray | None = None, storage: Any = "auto"
) -> RowGram:
    """K of the training samples, in this order, stored as the plan requests.

    By features if there are few, otherwise by blocks. An operator that is more than a kernel at
    samples is asked for these blocks itself; if it is to be stored, for all of K.

    If the problem is large enough for that to pay, and single precision is accurate enough for
    these samples, rows are computed and kept in it; products, by which the solver checks its
    results, are in double.
    """
    if gram.of_kernel and gram.device != HOST:
        if gram.kernel.on_device(gram.device) is not None:  # values of pairs, computed there
            return RowGram.of(gram, order)
        if len(gram) >= SMALLEST:
            return _on_device(gram, tol, order)
    if not gram.of_kernel or storage in ("dense", "lowrank"):
        if storage == "dense":  # K, and parts of it for pairs of classes
            what = f"K of {len(gram)} samples, and of pairs of classes,"
            require_memory(16.0 * len(gram) ** 2, what, gram.limit)
        return RowGram.of(gram, order)
    kernel, workers, given = gram.kernel, gram.workers, order
    if isinstance(kernel, Precomputed):
        return _given_rows(gram.X if order is None else take(gram.X, order), tol, workers)
    order = np.arange(length(X)) if order is None else order
    n = len(order)
    single = n > _FEW and tol >= _FINE
    dense = isinstance(X, np.ndarray) and on_vectors(kernel)
    vectors = dense or (sp.issparse(X) and on_vectors(kernel))
    if single and vectors:
        single = max(X.max(), -X.min()) < _SINGLE_RANGE
    if single and dense and kernel.properties.stationary:
        one = kernel.prepare(X[:1])
        height = float(kernel.diag(one)[0])
        if kernel.n_features(one) is None and height <= _SINGLE_LIMIT:
            # a shift, which a stationary kernel does not see, saves the digits that there are;
            # two values have none to save, and stay as they are to be recognised
            origin = centre(X).astype(np.float64) if two_values(X) is None else 0.0
            K = _in_single(
                kernel,
                kernel.prepare(_shifted(X, order, origin, workers)),
                lambda index: kernel.prepare(X[order[index]].astype(np.float64)),
                np.full(n, height),
                workers,
            )
            if K.error <= _BLURRED * height and (K.factors or not _moved(kernel, X, origin)):
                return K
            single = False
    if vectors and X.dtype != np.float64:
        X = take(X, order).astype(np.float64)  # what certifies is computed in double
        P = kernel.prepare(X)
    else:
        P = gram.X if given is None else take(gram.X, order)
        X = take(X, order) if vectors and single else X
    count = kernel.n_features(P) if storage == "auto" else None
    if count is not None and kernel.features_pay(P):
        large = float(kernel.diag(P).max(initial=0)) > _FEATURES_LIMIT
        dtype = np.float32 if single and not large else np.float64
        if sp.issparse(kernel.features(take(P, slice(0, 1)))):
            phi: Any = kernel.features(P)
            phi = compress(phi, occurring(phi))
            return FeatureRowGram(phi, dtype=dtype, workers=workers)
        if count <= min(n / 4, _MOST_FEATURES):
            return FeatureRowGram(kernel.features(P), dtype=dtype, workers=workers)
    diagonal = np.asarray(kernel.diag(P), dtype=np.float64)
    height = diagonal.max(initial=0)
    if single and height <= _SINGLE_LIMIT and not (vectors and _moved(kernel, X, 0.0)):
        rounded = kernel.prepare(X.astype(np.float32)) if vectors else P
        K = _in_single(kernel, rounded, partial(take, P), diagonal, workers)
        if K.error <= _BLURRED * height:
            return K
    if n <= LARGEST and storage == "auto" and 8.0 * n * n <= gram.limit:
        return RowGram.stored(evaluate(kernel, P, P, workers=workers), workers)
    return RowGram(kernel.tiles(P, P), diagonal, workers=workers)


def _on_device(gram: Any, tol: float, order: np.ndarray | None) -> RowGram:
    """K on the device of the operator, in single precision if that is accurate enough."""
    kernel, there = gram.kernel, (gram.X, order, gram.device)
    if tol >= _FINE:
        K = DeviceRowGram(DeviceMatrix(kernel, *there, np.float32), workers=gram.workers)
        height = float(np.abs(K.diagonal).max(initial=0))
        if height <= _SINGLE_LIMIT and K.error <= _BLURRED * height:
            return K
    return DeviceRowGram(DeviceMatrix(kernel, *there, np.float64), workers=gram.workers)


def _given_rows(P: MatrixRows, tol: float, workers: int | None) -> RowGram:
    """Rows of a given matrix, kept in single precision if that is enough."""
    values = P.matrix.square
    height = values[P.rows, P.rows].max(initial=0)
    single = len(P) > _FEW and tol >= _FINE and height <= _SINGLE_LIMIT
    return GivenRowGram(values, P.rows, np.float32 if single else np.float64, workers)


def _shifted(X: np.ndarray, order: np.ndarray, origin: Any, workers: int | None) -> np.ndarray:
    """X[order] - origin in single precision."""
    out = np.empty((len(order), X.shape[1]), np.float32)

    def part(at: slice) -> None:
        np.subtract(X[order[at]], origin, out=out[at], casting="same_kind")

    run(part, slices(len(order), 500), workers)
    return out


def for_features(kernel: Kernel, X: Data, tol: float, plan: Plan) -> Data:
    """Samples for features through landmarks: in single precision if that is enough.

    Kernel values and triangular systems then take half the time. Landmarks that differ from others
    only by rounding are left out.
    """
    dense = isinstance(X, np.ndarray) and X.dtype == np.float64 and on_vectors(kernel)
    through = plan.rank is not None or isinstance(plan.features, Landmarks)
    if not (dense and through and len(X) > _FEW and tol >= _ROUGH):
        return X
    fine = max(X.max(), -X.min()) < _SINGLE_RANGE and not _moved(kernel.resolve(X), X, 0.0)
    return X.astype(np.float32) if fine else X


def _moved(kernel: Kernel, X: Any, origin: Any) -> bool:
    """Do samples, less the origin, move visibly when they are rounded to single precision?

    Judged by (some of) the samples with the largest and smallest entries. By the Cauchy-Schwarz
    inequality, kernel values change by no more than samples move in feature space.
    """
    ends = (np.ravel(np.asarray(X.argmax(axis=0))), np.ravel(np.asarray(X.argmin(axis=0))))
    far = np.unique(np.concatenate(ends))
    far = far[evenly(len(far), _FAR)]
    Z = X[far].astype(np.float64)
    Z = Z if sp.issparse(Z) else Z - origin
    P, Q = kernel.prepare(Z), kernel.prepare(Z * (1 + np.finfo(np.float32).eps))
    own, other = kernel.diag(P), kernel.diag(Q)
    parts = slices(len(far), _PROBES)
    both = np.concatenate([np.diag(kernel.pairwise(take(P, s), take(Q, s))) for s in parts])
    squared = np.maximum(own + other - 2 * both, 0)
    return not np.sqrt(squared.max() * own.max()) <= _BLURRED * own.max()


def _in_single(
    kernel: Kernel,
    rounded: Data,
    exact: Callable[[np.ndarray], Data],
    diagonal: np.ndarray,
    workers: int | None,
) -> RowGram:
    """K by blocks of the samples in single precision, and by products of the exact ones."""

    def product(rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if len(rows) > _FAR:
            columns = weights[:, None]
            return multiply(kernel, exact(rows), exact(cols), columns, workers=workers)[:, 0]
        parts = slices(len(cols), max(_FAR, -(-len(cols) // _PARTS)))
        sums, some = np.empty((len(parts), len(rows))), exact(rows)

        def part(k: int) -> None:
            columns = weights[parts[k], None]
            others = exact(cols[parts[k]])
            sums[k] = multiply(kernel, some, others, columns, workers=1, tile=_FAR)[:, 0]

        run(part, range(len(parts)), workers)
        return sums.sum(axis=0)

    formula = kernel.formula(rounded)
    distances = exponents(formula, formula, np.float32)
    block: Any = kernel.tiles(rounded, rounded) if distances is None else distances.exp
    factors, error = None, 0.0
    if distances is not None:
        factors = Factors(distances.left, distances.right, np.float32(distances.unit))
        error = distances.error
    if error <= _BLURRED:
        some = evenly(len(diagonal), _PROBES)
        with one_blas_thread():  # not worth a second one
            near = block(some, some).astype(np.float32)
            found = np.abs(near - kernel.pairwise(exact(some), exact(some))).max()
        error = float(found) if np.isfinite(found) else np.inf
    return RowGram(
        block, diagonal, product=product, factors=factors, dtype=np.float32, error=error,
        workers=workers, how=_SINGLE,
    )  # fmt: skip
