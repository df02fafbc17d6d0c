"""A group of permutations small enough to visit all of it, large enough for a p-value.

Positions are laid out at random as a grid of m rows. Shifting its rows, k -> a k + s modulo m, with
a in a group of numbers prime to m, permutes the positions. All these permutations together form a
group, so the share of them whose statistic is at least the observed one is an exact p-value: under
the null hypothesis, every element of an orbit is equally likely to be the one that was observed.
And a sum over all shifts is a circular correlation, which Fourier transforms compute for all s at
once.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple

import numpy as np

from .permutations import Units

_LEFT_OUT = 0.005  # share of positions that may stay where they are, for a fast transform
_LEFT_OUT_OF_CLASSES = 0.02  # ... where several classes have to be cut into rows of one number


class Arrangement(NamedTuple):
    """Positions in rows that are shifted, and multipliers of row numbers.

    Attributes
    ----------
    grid : ndarray of shape (m, q)
        Positions; columns stay, rows move.
    fixed : ndarray
        Positions that never move, at most one in 50.
    multipliers : ndarray
        A group modulo m, 1 first.
    """

    grid: np.ndarray
    fixed: np.ndarray
    multipliers: np.ndarray

    @property
    def order(self) -> np.ndarray:
        """All positions, column after column, then those that are fixed."""
        return np.concatenate([self.grid.T.ravel(), self.fixed])

    def __len__(self) -> int:
        """The number of permutations, the identity among them."""
        return len(self.grid) * len(self.multipliers)

    def permutation(self, index: int) -> np.ndarray:
        """Permutation number ``index`` as an array p: x[p] is x rearranged; 0 is the identity."""
        m = len(self.grid)
        which, shift = divmod(index, m)
        p = np.arange(self.grid.size + len(self.fixed))
        rows = (self.multipliers[which] * np.arange(m) + shift) % m
        p[self.grid] = self.grid[rows]
        return p


def arrange(units: Units, least: int, rng: np.random.Generator) -> Arrangement | None:
    """A random arrangement with at least ``least`` permutations of units, if there is one.

    Parameters
    ----------
    units : Units
        What is exchanged. If units belong to several classes, there may be no arrangement.
    least : int
        The requested number of permutations.
    rng : Generator
        Used to draw the arrangement.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.arrangement import arrange
    >>> from mercer.stats.permutations import exchange
    >>> found = arrange(exchange(50), 1000, np.random.default_rng(0))
    >>> found.grid.shape, len(found)
    ((50, 1), 1000)
    >>> arrange(exchange(10), 1000, np.random.default_rng(0)) is None  # too few
    True
    """
    classes = [rng.permutation(members) for members in units.classes if len(members) > 1]
    m = _rows([len(members) for members in classes], len(units), least)
    multipliers = None if m is None else _multipliers(m, -(-least // m))
    if m is None or multipliers is None:
        return None
    order = np.argsort(units.place, kind="stable")
    start = np.cumsum(units.size) - units.size
    columns = []
    for members in classes:
        moved = members[: len(members) // m * m]
        inside = order[start[moved, None] + np.arange(units.size[members[0]])]
        columns.append(inside.reshape(m, -1))
    grid = np.hstack(columns)
    return Arrangement(grid, np.setdiff1d(order, grid), multipliers)


def _rows(sizes: list[int], n: int, least: int) -> int | None:
    """The number of rows that leaves out few units, with a fast transform; None if none does."""
    if len(sizes) == 1:
        width = max(1, sizes[0] // least)
        most = sizes[0] // width
        fewest = int(np.ceil(sizes[0] * (1 - _LEFT_OUT) / width))
        fewest = min(max(fewest, least), most)
        return min(range(most, fewest - 1, -1), key=_largest_factor)
    enough = [m for m in range(2, max(sizes, default=0) + 1) if m * _totient(m) >= least]
    left_out = {m: sum(size % m for size in sizes) for m in enough}
    if not left_out or min(left_out.values()) > _LEFT_OUT_OF_CLASSES * n:
        return None
    return min(left_out, key=lambda m: (left_out[m], -m))


def _largest_factor(m: int) -> int:
    largest, p = 1, 2
    while p * p <= m:
        while m % p == 0:
            largest, m = p, m // p
        p += 1
    return max(largest, m)


def _totient(m: int) -> int:
    """How many numbers below m are prime to it."""
    return sum(gcd(a, m) == 1 for a in range(1, m))


def _multipliers(m: int, least: int) -> np.ndarray | None:
    """The smallest group found, by adding generators, of at least this many units modulo m."""
    units = [a for a in range(1, m) if gcd(a, m) == 1] if least > 1 else [1]
    if len(units) < least:
        return None
    group = {1 % m}
    while len(group) < least:
        larger = {a: _generated(group, a, m) for a in units if a not in group}
        enough = [g for g in larger.values() if len(g) >= least]
        group = min(enough or larger.values(), key=len)
    return np.array(sorted(group))


def _generated(group: set[int], a: int, m: int) -> set[int]:
    """The group that a and a group of units modulo m generate."""
    powers, power = [1], a
    while power not in group:
        powers.append(power)
        power = power * a % m
    return {g * p % m for g in group for p in powers}
