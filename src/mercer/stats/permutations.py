"""What may be exchanged under the null hypothesis: single samples, blocks of a series, bins; by
group.

Positions of a sample are combined in *units* that stay together, and units of the same size in the
same group are exchanged. Such rearrangements form a group, so a permutation test over them has
exactly its level if units are exchangeable; neighbouring blocks of a series are so only
approximately. Units that are alone in their class stay in place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import is_count
from ..engine.memory import require_memory

_BINS_PER_SAMPLE = 20  # fewest bins of one sample: with fewer, there are few rearrangements


class Units:
    """Units of exchange over n positions.

    Parameters
    ----------
    place : array of shape (n,)
        The unit of each position, as a label.
    groups : array of shape (n,), optional
        Labels; units are exchanged within a group only, and have to lie inside one.

    Attributes
    ----------
    place : ndarray of shape (n,)
        The unit of each position, 0..s-1.
    size : ndarray of shape (s,)
        How many positions a unit has.
    classes : list of ndarray
        Units that are exchanged with each other.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.permutations import Units
    >>> units = Units(np.repeat([0, 1, 2], 2))  # three blocks of two
    >>> units.shuffled(np.array([1, 0, 0]), 3, np.random.default_rng(0)).tolist()
    [[0, 1, 0], [0, 0, 1], [0, 1, 0]]
    """

    def __init__(self, place: Any, groups: Any = None) -> None:
        self.place: np.ndarray = np.unique(np.asarray(place), return_inverse=True)[1].ravel()
        self.size = np.bincount(self.place)
        stratum = np.zeros(len(self.size), int)
        if groups is not None:
            codes = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
            stratum[self.place] = codes
            if np.any(stratum[self.place] != codes):
                raise ValueError("groups: every block must lie within one group.")
        kind = stratum * (self.size.max(initial=0) + 1) + self.size
        order = np.argsort(kind, kind="stable")
        ends = np.flatnonzero(np.diff(kind[order])) + 1  # one class for each stratum and size
        self.classes: list[np.ndarray] = np.split(order, ends)

    def __len__(self) -> int:
        return len(self.size)

    @property
    def single(self) -> bool:
        """Is every position its own unit?"""
        return len(self.size) == len(self.place)

    def check_movable(self, values: np.ndarray | None = None) -> None:
        """Raise an error if nothing can be permuted, or if the given values would not change."""
        if not any(len(members) > 1 for members in self.classes):
            raise ValueError("nothing can be permuted: every block or group has one member.")
        if values is not None and all(np.ptp(values[members]) == 0 for members in self.classes):
            raise ValueError(
                "nothing can be permuted: every group (or class of blocks of one size) lies "
                "within one sample, so no permutation moves anything from one sample to another."
            )

    def of_units(self, values: np.ndarray, name: str) -> np.ndarray:
        """One value per unit; all positions of a unit must have the same."""
        out = np.empty(len(self), np.asarray(values).dtype)
        out[self.place] = values
        if np.any(out[self.place] != values):
            raise ValueError(f"{name}: every block must lie within one sample.")
        return out

    def shuffled(self, values: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Values of units, rearranged at random within classes: shape (n_draws, s)."""
        held = float(n_draws) * values.nbytes
        require_memory(held, f"{n_draws} rearrangements of {len(values)} units")
        draws = np.tile(values, (n_draws, 1))
        for members in self.classes:
            if len(members) == len(values):
                return np.asarray(rng.permuted(draws, axis=1, out=draws))
            if len(members) > 1:
                draws[:, members] = rng.permuted(draws[:, members], axis=1)
        return draws

    def positions(self, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Random rearrangements of all positions, shape (n_draws, n): x[p] is x rearranged.

        Units move as a whole; inside them the order stays.
        """
        order = np.argsort(self.place, kind="stable")
        start = np.concatenate([[0], np.cumsum(self.size)[:-1]])
        rank = np.empty(len(order), np.intp)  # of a position inside its unit
        rank[order] = np.arange(len(order)) - np.repeat(start, self.size)
        moved = self.shuffled(np.arange(len(self)), n_draws, rng)
        return np.asarray(order[start[moved[:, self.place]] + rank])


def exchange(n: int, groups: Any = None, blocks: Any = None) -> Units:
    """Units of one sample of length n.

    Parameters
    ----------
    n : int
        The number of positions.
    groups : array of shape (n,), optional
        Permute within these groups only.
    blocks : int or array of shape (n,), optional
        The length of consecutive blocks that stay together, or the block of each position.

    Examples
    --------
    >>> from mercer.stats.permutations import exchange
    >>> exchange(7, blocks=3).size.tolist()
    [3, 3, 1]
    """
    _check_labels(groups, n, "groups")
    return Units(_places(n, blocks), groups)


def exchange_samples(sizes: Sequence[int], groups: Any = None, blocks: Any = None) -> Units:
    """Units of several samples joined one after the other; no block crosses from one to the next.

    Examples
    --------
    >>> from mercer.stats.permutations import exchange_samples
    >>> exchange_samples([4, 3], blocks=2).size.tolist()
    [2, 2, 2, 1]
    """
    n = int(sum(sizes))
    _check_labels(groups, n, "groups")
    if np.ndim(blocks) or blocks is None:
        return Units(_places(n, blocks), groups)
    place, first = np.empty(n, int), 0
    for part in np.split(np.arange(n), np.cumsum(sizes)[:-1]):
        place[part] = first + _places(len(part), blocks)
        first = int(place[part[-1]]) + 1
    return Units(place, groups)


def binned(labels: np.ndarray, n_bins: int, rng: np.random.Generator, groups: Any = None) -> Units:
    """About n_bins bins of equal size, each at random from one sample (and one group).

    Permuting bins instead of points makes the null distribution almost free, and keeps the level.
    The remainder of a sample is a smaller bin, which stays in place.

    Parameters
    ----------
    labels : array of shape (n,)
        The sample each position belongs to.
    n_bins : int
        How many bins in all, roughly; more where a small sample would get fewer than 20.
    rng : Generator
        Used to draw the bins.
    groups : array of shape (n,), optional
        Groups within which bins are formed.

    References
    ----------
    Domingo-Enrich, Dwivedi & Mackey, *Cheap permutation testing*, arXiv 2502.07672.
    """
    n = len(labels)
    _check_labels(groups, n, "groups")
    strata = np.zeros(n, int) if groups is None else np.unique(groups, return_inverse=True)[1]
    place, first = np.empty(n, int), 0
    for stratum in range(int(strata.max()) + 1):
        inside = strata == stratum
        codes, counts = np.unique(labels[inside], return_counts=True)
        width = max(1, min(int(inside.sum()) // n_bins, int(counts.min()) // _BINS_PER_SAMPLE))
        for code in codes:
            members = rng.permutation(np.flatnonzero(inside & (labels == code)))
            place[members] = first + np.arange(len(members)) // width
            first = int(place[members].max()) + 1
    return Units(place, strata)


def _places(n: int, blocks: Any) -> np.ndarray:
    if blocks is None:
        return np.arange(n)
    if np.ndim(blocks):
        _check_labels(blocks, n, "blocks")
        return np.asarray(blocks)
    if not is_count(blocks, 1, n):
        raise ValueError(f"blocks must be a length between 1 and {n}, or labels, got {blocks!r}.")
    return np.arange(n) // int(blocks)


def _check_labels(labels: Any, n: int, name: str) -> None:
    if labels is not None and np.shape(labels) != (n,):
        raise ValueError(
            f"{name} must hold one label per sample, shape ({n},), got shape {np.shape(labels)}."
        )


def refuse_permuted(
    shown: str, groups: Any, blocks: Any, stop_after: Any, *, series: bool, own: bool
) -> None:
    """Reject arguments for permutations if there are none.

    Blocks are allowed for null distributions of ``series`` and user-defined ones (``own``).
    """
    if groups is not None or (blocks is not None and not (own or series)):
        raise ValueError(f"groups and blocks are only for permutations; {shown} uses none.")
    if stop_after is not None and own:
        raise ValueError(f"stop_after is only for permutations; {shown} uses none.")
