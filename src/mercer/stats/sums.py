"""Sums of kernel values over pairs of samples, for all permutations in one pass over the matrix.

Every statistic here is a quadratic form in the matrix K0 of kernel values with a zero diagonal.
With one column of weights per permutation, all its values are one matrix product; K0 is computed
tile by tile, each tile of the upper triangle is used for both triangles, and nothing of size n x n
is ever stored. Samples that are permuted together (:class:`~.permutations.Units`) are added up
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, length, take
from ..features.sparse import compress
from ..gram.base import HOST
from ..gram.plan import Plan
from ..gram.tiles import TILE, dealt, run, slices
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..progress import counted
from .bank import Bank
from .device_sums import device_sums
from .landmarks import amplified, landmark_groups, landmark_sums
from .permutations import Units
from .planned import bank_of, device_of

_HELD = 2**22  # entries of features, or of (features x permutations), held at once
_SAMPLES = 4  # samples of a unit, from which on kernel values with landmarks are added up
_EPS = np.finfo(np.float64).eps
_DENSE, _SPARSE = 4, 50  # tiles are this much faster, per entry, than features of either kind


@dataclass(frozen=True)
class PairSums:
    """The sums of k kernel matrices that statistics need; s units, c columns.

    Attributes
    ----------
    quadratic : ndarray of shape (k, c)
        u'K0u for each column u of weights.
    rows : ndarray of shape (k, s)
        Sums of K0 over all pairs whose first sample is in a unit.
    diag : ndarray of shape (k, s)
        Sums of k(x, x) over units.
    rounding : ndarray of shape (k, 1)
        The difference that rounding may cause between two equal quadratic forms.
    squares : ndarray of shape (k, 1)
        Sums of squares of K0, or a bound of them.
    """

    quadratic: np.ndarray
    rows: np.ndarray
    diag: np.ndarray
    rounding: np.ndarray
    squares: np.ndarray

    def put(self, places: list[int], other: PairSums) -> None:
        """Fill in the sums of some of the kernels."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[places] = theirs


def sums_of_kernels(
    kernels: Sequence[Kernel],
    X: Data,
    units: Units,
    weights: np.ndarray,
    workers: int | None = None,
    verbose: bool = False,
    plan: Plan | None = None,
) -> PairSums:
    """Pair sums of raw X: by features for kernels with few of them, by tiles for all others.

    Kernels with the same landmarks are summed over units together, before features are computed
    from these sums (:func:`~.landmarks.landmark_sums`), where units hold several samples.

    Parameters
    ----------
    kernels : list of Kernel
        Resolved kernels.
    X : data
        The samples.
    units : Units
        Which samples belong together.
    weights : array of shape (s, c)
        Weights of the units, one column per permutation, in single precision.
    workers : int, optional
        The number of threads.
    verbose : bool
        Show a progress bar.
    plan : Plan, optional
        How kernel values that are not products of features are stored.
    """
    order = np.argsort(units.place, kind="stable")
    k, s = len(kernels), len(units)
    whole = PairSums(*(np.empty((k, m)) for m in (weights.shape[1], s, s, 1, 1)))
    tiled = []
    seen = landmark_groups(kernels) if _SAMPLES * s <= len(order) else []
    for places in seen:
        some: list[Any] = [kernels[i] for i in places]
        device = device_of(plan, [k.kernel for k in some], X)
        found = landmark_sums(some, X, units, order, workers, verbose, device)
        for place, (sums, own, noise) in zip(places, found, strict=True):
            whole.put([place], of_unit_sums(sums, own, weights, noise))
    asked = plan is not None and plan.storage not in ("auto", "lowrank")
    done = {place for places in seen for place in places}
    for place, kernel in enumerate(kernels):
        if place in done:
            continue
        strips = None if asked else _feature_strips(kernel, X, order)
        if strips is None:
            tiled.append(place)
        else:
            whole.put([place], feature_sums(strips, units, weights, _noise(kernel)))
    if tiled:
        moved = None if np.array_equal(order, np.arange(len(order))) else order
        bank = bank_of([kernels[place] for place in tiled], X, moved, plan)
        whole.put(tiled, tile_sums(bank, units, weights, workers, verbose))
    return whole


def tile_sums(
    bank: Bank,
    units: Units,
    weights: np.ndarray,
    workers: int | None = None,
    verbose: bool = False,
) -> PairSums:
    """Pair sums tile by tile; the samples of the bank are in the order of the units.

    For one-hot, rare and other discrete data, equal sums were found to differ by up to 2 n |K0|
    times the precision of tiles, with the Frobenius norm; twice that is taken as the rounding
    error.
    """
    k, s, n = len(bank), len(units), bank.n
    unit = np.repeat(np.arange(s), units.size)
    if bank.device != HOST:
        found = device_sums(bank, weights, unit, verbose)
        by_unit = [np.bincount(unit, one.rows, s) for one in found]
        return _with_rounding(
            bank, units, np.stack([one.quadratic for one in found]), np.stack(by_unit),
            np.array([[one.squares] for one in found]),
        )  # fmt: skip
    strips = slices(n, max(32, min(TILE, n // 8)))
    groups = dealt(len(strips))
    quadratic, rows, squares = (np.zeros((len(groups), k, m)) for m in (weights.shape[1], s, 1))
    meet = _of_samples(bank, weights) if units.single else _of_units(bank, weights, unit)

    def group(g: int) -> None:
        for i, j in groups[g]:
            meet(strips[i], strips[j], quadratic[g], rows[g], squares[g])

    run(counted(group, len(groups), verbose, "kernel values"), range(len(groups)), workers)
    return _with_rounding(bank, units, *(part.sum(axis=0) for part in (quadratic, rows, squares)))


def _with_rounding(
    bank: Bank, units: Units, quadratic: np.ndarray, rows: np.ndarray, total: np.ndarray
) -> PairSums:
    """Sums in the original units of kernels, with their rounding errors."""
    n, own, scale = bank.n, bank.diag(), bank.scale[:, None]
    diag = np.add.reduceat(own, np.cumsum(units.size) - units.size, axis=1)
    norm = np.sqrt((n * np.sum(own**2, axis=1) + own.sum(axis=1) ** 2) / 2)  # of (d_i + d_j) / 2
    inside = (4 * _EPS + bank.exact / 4) * norm  # of terms that cancel within a kernel value
    rounding = 4 * n * (bank.eps()[:, None] * np.sqrt(total) + inside[:, None])
    sums = quadratic, rows, diag, rounding, scale * total
    return PairSums(*(scale * part for part in sums))


def feature_sums(
    strips: Iterable[Any], units: Units, weights: np.ndarray, noise: float = 0.0
) -> PairSums:
    """Pair sums of one kernel from its features, strip by strip in the order of the units.

    With E the sums of features over units, u'K0u is |E'u|^2 minus the pairs (i, i). Discrepancies
    do not depend on the origin of feature space, so dense features are moved to one near their
    mean.
    """
    s, unit = len(units), np.repeat(np.arange(len(units)), units.size)
    E: Any = 0
    origin: Any = None
    start, own = 0, np.empty(len(unit))
    for phi in strips:
        if not sp.issparse(phi):
            origin = phi.mean(axis=0, dtype=np.float64) if origin is None else origin
            phi = phi - origin
        rows = slice(start, start := start + phi.shape[0])
        squares = phi.multiply(phi).sum(axis=1) if sp.issparse(phi) else np.square(phi).sum(axis=1)
        own[rows] = np.asarray(squares).ravel()
        E = E + _indicator(unit[rows], s).T @ phi
    noise *= float(np.sqrt(units.size.max()))
    return of_unit_sums(E, np.bincount(unit, own, s), weights, noise)


def of_unit_sums(E: Any, diag: np.ndarray, weights: np.ndarray, noise: float = 0.0) -> PairSums:
    """Pair sums of one kernel from sums, over units, of features E and of k(x, x).

    ``noise`` is the rounding error of a row of E, where that is more than double precision has.
    """
    quadratic = np.empty(weights.shape[1])
    for at in slices(len(quadratic), max(1, _HELD // max(E.shape))):
        U = weights[:, at].astype(np.float64)
        V = np.asarray(E.T @ U)
        quadratic[at] = np.einsum("ij,ij->j", V, V) - diag @ U**2
    rows_ = np.asarray(E @ np.asarray(E.sum(axis=0)).ravel()).ravel() - diag
    trace = float(diag.sum())
    spread = E.data if sp.issparse(E) else E - E.mean(axis=0)
    norm = float(np.linalg.norm(spread))
    s = len(diag)
    rounding = 16 * (s * _EPS * (trace + norm**2) + np.sqrt(s) * noise * norm)
    sums = quadratic[None], rows_[None], diag[None]
    return PairSums(*sums, np.full((1, 1), rounding), np.full((1, 1), trace * trace))


def _feature_strips(kernel: Kernel, X: Data, order: np.ndarray) -> Iterable[Any] | None:
    """The features of X in an order, strip by strip, where they are cheaper than tiles."""
    n, first = length(X), kernel.prepare(take(X, slice(0, 1)))
    count = kernel.n_features(first)
    if count is None:
        return None
    if not sp.issparse(kernel.features(first)):
        if _DENSE * count > n:
            return None
        parts = slices(n, max(1, _HELD // count))
        return (kernel.features(kernel.prepare(take(X, order[part]))) for part in parts)
    P = kernel.prepare(X)
    if not kernel.features_pay(P):
        return None
    phi: Any = kernel.features(P)
    if _SPARSE * phi.nnz > n * n:
        return None
    return [compress(phi, np.unique(phi.indices))[order]]


def _noise(kernel: Kernel) -> float:
    """The rounding error of the features of one sample, where a triangular solve makes it large."""
    if not isinstance(kernel, Nystrom):
        return 0.0
    basis = kernel._basis()
    return amplified(basis, float(kernel.kernel.diag(basis.landmarks).max()), np.float64)


def _of_samples(bank: Bank, weights: np.ndarray) -> Callable[..., None]:
    """A function that adds a tile to quadratic forms, sums of rows and sums of squares."""
    tiles = bank.tiles()

    def meet(
        at: slice, to: slice, quadratic: np.ndarray, rows: np.ndarray, squares: np.ndarray
    ) -> None:
        same = at == to
        for place, T in tiles(at, to):
            if same:
                np.fill_diagonal(T, 0)
            squares[place] += (1 if same else 2) * float(np.vdot(T, T))
            G = T @ weights[to].astype(T.dtype, copy=False)
            G *= weights[at]
            quadratic[place] += (1 if same else 2) * G.sum(axis=0, dtype=np.float64)
            rows[place, at] += T @ np.ones(T.shape[1], T.dtype)
            if not same:
                rows[place, to] += np.ones(len(T), T.dtype) @ T

    return meet


def _of_units(bank: Bank, weights: np.ndarray, unit: np.ndarray) -> Callable[..., None]:
    """The same for units with several samples; all kernels of a tile at once."""
    add, weights, k = bank.unit_sums(), weights.astype(np.float64), len(bank)

    def meet(
        at: slice, to: slice, quadratic: np.ndarray, rows: np.ndarray, squares: np.ndarray
    ) -> None:
        a, b = (slice(unit[part.start], unit[part.stop - 1] + 1) for part in (at, to))
        left, right = (_bounds(unit[part]) for part in (at, to))
        T, square = np.zeros((k, len(left) - 1, len(right) - 1)), np.zeros(k)
        add(at, to, left, right, T, square)
        twice = 1 if at == to else 2
        squares[:, 0] += twice * square
        G = T.reshape(-1, T.shape[2]) @ weights[b]
        quadratic += twice * np.einsum("kac,ac->kc", G.reshape(*T.shape[:2], -1), weights[a])
        rows[:, a] += T.sum(axis=2)
        if at != to:
            rows[:, b] += T.sum(axis=1)

    return meet


def _bounds(unit: np.ndarray) -> np.ndarray:
    """The starts of units, and the end of the last one."""
    return np.concatenate([[0], np.flatnonzero(np.diff(unit)) + 1, [len(unit)]])


def _indicator(unit: np.ndarray, s: int) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(unit)), (np.arange(len(unit)), unit)), shape=(len(unit), s))
