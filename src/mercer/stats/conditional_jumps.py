"""Jumps of a function of Z, as unpenalised columns 1[z > c] in addition to a kernel.

Smooth kernels blur a jump, and errors that two regressions make at the same place look like
dependence. A column that jumps there has no such error, and of all places to jump the best is found
at the price of one inverse: with G = (K + alpha I)^-1 and u = G s for a column s,

    G - u u' / s'u

is the inverse with s added, for all s at once sums over columns of G in the order of Z.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

_FEWEST = 5  # observations on either side of a jump


class Jump(NamedTuple):
    """The function 1[z_column > place]."""

    column: int
    place: float


def columns_of(Z: np.ndarray, jumps: Sequence[Jump]) -> np.ndarray:
    """The values of jumps, shape (n, jumps)."""
    found = [Z[:, jump.column] > jump.place for jump in jumps]
    return np.column_stack(found).astype(np.float64) if found else np.empty((len(Z), 0))


def without(G: np.ndarray, S: np.ndarray) -> np.ndarray:
    """(K + alpha I)^-1 with additional columns S, from that without."""
    if not S.shape[1]:
        return G
    U = G @ S
    return np.asarray(G - U @ np.linalg.solve(S.T @ U, U.T))


def best_jump(
    inverses: Iterable[np.ndarray], Z: np.ndarray, Y: np.ndarray, jumps: Sequence[Jump]
) -> tuple[float, Jump | None]:
    """The jump with the least sum of squared leave-one-out residuals, given other jumps.

    Parameters
    ----------
    inverses : iterable of array of shape (n, n)
        (K + alpha I)^-1 of the kernels and penalties that are tried.
    Z : array of shape (n, d)
        The condition.
    Y : array of shape (n, t)
        Outputs.
    jumps : list of Jump
        Those that were found before.

    Returns
    -------
    loss : float
        The sum over all outputs; infinite if there is no place for a jump.
    jump : Jump or None
        The jump.
    """
    S = columns_of(Z, jumps)
    sorted_ = [(np.argsort(z, kind="stable"), _places(z, j, jumps)) for j, z in enumerate(Z.T)]
    best: tuple[float, Jump | None] = (np.inf, None)
    for G in inverses:
        G = without(G, S)
        for column, (order, first) in enumerate(sorted_):
            if not len(first):
                continue
            losses = _losses(G[np.ix_(order, order)], Y[order], first)
            at = int(losses.argmin())
            if losses[at] < best[0]:
                above, below = Z[order[first[at]], column], Z[order[first[at] - 1], column]
                best = float(losses[at]), Jump(column, float((above + below) / 2))
    return best


def _losses(G: np.ndarray, Y: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Losses of jumps before each of some positions, everything in the order of a column."""
    U = np.cumsum(G[:, ::-1], axis=1)[:, ::-1][:, first]
    down = np.cumsum(U[::-1], axis=0)[::-1]
    inside = down[first, np.arange(len(first))]  # s'Gs
    spread = np.diagonal(G)[:, None] - U**2 / inside
    total = np.zeros(len(first))
    for y in Y.T:
        residuals = (G @ y)[:, None] - U * ((y @ U) / inside)
        residuals /= spread
        total += np.einsum("ij,ij->j", residuals, residuals)
    return total


def _places(z: np.ndarray, column: int, jumps: Sequence[Jump]) -> np.ndarray:
    """Positions in the order of z that a jump may be before, not next to another one."""
    ordered = np.sort(z)
    n = len(z)
    first = np.arange(_FEWEST, n - _FEWEST + 1)
    first = first[ordered[first] > ordered[first - 1]]
    for jump in jumps:
        if jump.column == column:
            first = first[np.abs(first - np.sum(z <= jump.place)) >= _FEWEST]
    return first
