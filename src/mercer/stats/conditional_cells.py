"""Cells of observations with the same or a similar Z, and permutations within them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, is_frame
from ..engine.lapack import lapack
from ..exceptions import DomainError
from ..frames import rows as rows_of
from ..kernels.base import Kernel
from ..kernels.labels.categorical import Categorical
from .conditional_regression import Condition, numbers
from .independence_grid import dependence_grid

_SMALLEST = 8  # observations of a cell of neighbours
_DIRECTIONS = 5  # principal components of a kernel that cells are cut along
_OFTEN = 5  # observations of each value of Z, on average, if it is discrete


def values_of(Z: Data) -> np.ndarray | None:
    """A label for each observation, the same for equal ones; None if Z cannot be compared.

    Numbers of which some are missing are not compared.
    """
    try:
        V = numbers(Z)
        return np.unique(V, axis=0, return_inverse=True)[1].ravel()
    except DomainError:
        if sp.issparse(Z) or getattr(Z, "dtype", np.dtype(object)).kind == "f":
            return None
        rows: Any = rows_of(Z) if is_frame(Z) else Z
    codes: dict[Any, int] = {}
    try:
        return np.array([codes.setdefault(_plain(row), len(codes)) for row in rows])
    except TypeError:  # not hashable, or missing
        return None


def _plain(row: Any) -> Any:
    if isinstance(row, float) and np.isnan(row):
        raise TypeError  # is it equal to another one that is missing?
    return tuple(row.tolist()) if isinstance(row, np.ndarray) and row.ndim == 1 else row


def is_discrete(labels: np.ndarray | None) -> bool:
    """Does every value occur often enough for permutations among its observations?"""
    return labels is not None and len(labels) >= _OFTEN * (int(labels.max()) + 1)


def cells(given: Condition) -> np.ndarray:
    """Labels of cells of 8 to 15 neighbours in Z, by halving along the widest direction."""
    points = given.data if given.vectors else _components(given)
    labels = np.empty(given.n, int)
    parts, count = [np.arange(given.n)], 0
    while parts:
        part = parts.pop()
        if len(part) < 2 * _SMALLEST:
            labels[part] = count
            count += 1
            continue
        widest = int(np.argmax(points[part].std(axis=0)))
        order = part[np.argsort(points[part, widest], kind="stable")]
        parts += [order[: len(order) // 2], order[len(order) // 2 :]]
    return labels


def _components(given: Condition) -> np.ndarray:
    """Leading principal components of the kernel of Z."""
    D = given.distances
    B = (D.mean(axis=0) + D.mean(axis=1)[:, None] - D - D.mean()) / 2
    s, U = lapack(len(B), np.linalg.eigh, B)
    return np.asarray(U[:, -_DIRECTIONS:] * np.sqrt(np.maximum(s[-_DIRECTIONS:], 0)))


def within(X: Data, labels: np.ndarray) -> np.ndarray:
    """Columns less their means within cells, divided by their standard deviations there.

    Rearranging X within cells rearranges the result in the same way, so permutation tests of it
    are as exact as those of X.
    """
    V = numbers(X).astype(np.float64)
    V = V - V.mean(axis=0)
    count = np.bincount(labels)[:, None]
    for power in (1, 2):
        sums = np.zeros((len(count), V.shape[1]))
        np.add.at(sums, labels, V**power)
        mean = sums / count
        if power == 1:
            size = np.abs(V).max(axis=0)
            V = V - mean[labels]
            V[np.abs(V) <= 1e-12 * size] = 0.0
    spread = np.sqrt(mean)[labels]
    return np.divide(V, spread, out=np.zeros_like(V), where=spread > 0)


def pooled_and_apart(
    t: np.ndarray, labels: np.ndarray, apart: bool
) -> tuple[np.ndarray, list[Kernel]]:
    """Columns in addition to the labels of cells, and kernels on them.

    Those of :func:`dependence_grid`, and the widest of them once more; if ``apart``, as a kernel
    within cells only, which sees dependence that is different in different cells.
    """
    pooled = [k.on(list(range(t.shape[1]))) for k in dependence_grid(t)]
    last = pooled[-1] * Categorical().on([t.shape[1]]) if apart else pooled[-1]
    return np.column_stack([t, labels]), [*pooled, last]
