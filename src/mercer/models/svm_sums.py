"""Sums over groups of support vectors, one for each class, with separate coefficients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..gram.tiles import Exponential, run, slices

_ROWS, _COLS = 250, 500  # of a tile: for larger ones, memory is allocated anew each time
_MOST_ROWS, _STRIPS = 2000, 128  # of compiled sums, whose threads need the interpreter seldom


def groups(sizes: np.ndarray) -> list[slice]:
    """The places of consecutive groups of these sizes."""
    ends = np.cumsum(sizes).tolist()
    return [slice(start, stop) for start, stop in zip([0, *ends[:-1]], ends, strict=True)]


def sum_groups(
    block: Any, m: int, coef: np.ndarray, sizes: np.ndarray, workers: int | None = None
) -> np.ndarray:
    """K[:, group] @ coef[group] for each group of columns: shape (m, groups, t).

    With one group per class, a support vector is multiplied with a coefficient for each of the
    other classes, instead of one for each pair of classes, of which most are zero.
    """
    coef = np.ascontiguousarray(coef)
    out = np.zeros((m, len(sizes), coef.shape[1]))

    def strip(rows: slice) -> None:
        for g, of in enumerate(groups(sizes)):
            for start in range(of.start, of.stop, _COLS):
                cols = slice(start, min(start + _COLS, of.stop))
                out[rows, g] += block(rows, cols) @ coef[cols]

    run(strip, slices(m, _ROWS), workers)
    return out


def compiled_sums(
    found: Exponential, m: int, coef: np.ndarray, sizes: np.ndarray, workers: int | None
) -> np.ndarray:
    """The same where K is the exponential of inner products."""
    out = np.zeros((len(sizes), m, coef.shape[1]))
    adders = [found.adder(of, coef[of]) for of in groups(sizes)]

    def strip(rows: slice) -> None:
        for g, add in enumerate(adders):
            add(rows, out[g, rows])

    run(strip, slices(m, min(_MOST_ROWS, max(_ROWS, -(-m // _STRIPS)))), workers)
    return out.transpose(1, 0, 2)


def products_of_groups(
    product: Callable[[np.ndarray], np.ndarray], coef: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """The same by one product with K, for a K on a device: zeros cost nothing there."""
    wide = np.zeros((len(coef), len(sizes), coef.shape[1]))
    for g, of in enumerate(groups(sizes)):
        wide[of, g] = coef[of]
    found = product(wide.reshape(len(coef), -1))
    return found.reshape(len(found), len(sizes), -1)
