"""The working set of a decomposition solver: which variables are in it, and their kernel block."""

from __future__ import annotations

import numpy as np

from ..gram.rows import RowGram
from ..gram.tiles import run, slices
from .smo_loops import mirror, refill

_FIRST = 64  # variables of the first round
_QUICKLY = 1024  # up to here the number doubles in each round
_SLOWLY = 16  # then it grows by this many in each round
_LARGEST = 4096
SMALLEST = 64  # however small the cache
_RENEWED = 3  # one in this many variables is replaced in a round
_FEW_FEATURES = 128  # up to this many, computing the block is faster than gathering it
_LEAST, _PIECES = 32, 12  # minimum of new rows in a job; maximum of jobs
_SHARED = 100_000  # entries of the block worth a second thread


class WorkingSet:
    """Some of the active variables, and K between them.

    It grows from round to round: quickly at first, so that few rows are computed before it is known
    which ones matter, and slowly from then on, since what is solved among thousands of variables is
    not undone by the next ones.

    Parameters
    ----------
    K : RowGram
        The kernel matrix.
    rows : float
        Kernel rows for which there is room in memory.
    workers : int, optional
        Threads.

    Attributes
    ----------
    members : ndarray
        Places of its variables in the active set.
    block : ndarray
        K of the members, in its upper left corner.
    computed : bool
        Are its entries computed, not gathered from kernel rows?
    size, most : int
        The current target and the maximum number of members.
    """

    def __init__(self, K: RowGram, rows: float, workers: int | None) -> None:
        self.K, self.workers = K, workers
        self.computed = K.factors is not None and K.factors.work <= _FEW_FEATURES
        # a block that is computed takes none of the room, and rows of those that move at most
        most = max(rows // 2, min(rows, _QUICKLY)) if self.computed else rows // 2
        self.most = int(min(_LARGEST, len(K.diagonal), max(SMALLEST, most)))
        self.size = min(_FIRST, self.most)

    def restart(self, active: np.ndarray) -> None:
        """Start again without members, among these variables."""
        self.active = active
        self.members = np.empty(0, np.int64)
        self.entered = np.empty(0, np.int64)  # the number of the renewal in which they came in
        self.renewals = 0
        self.block = np.empty((0, 0), self.K.dtype)

    def grow(self) -> None:
        """Enlarge the working set for the next round."""
        larger = min(2 * self.size, _QUICKLY) if self.size < _QUICKLY else self.size + _SLOWLY
        self.size = min(larger, self.most)

    @property
    def wanted(self) -> int:
        """The number of new members in the next renewal."""
        return max(self.size - len(self.members), self.size // _RENEWED)

    def renew(self, new: np.ndarray) -> np.ndarray:
        """Add new variables, in place of the oldest ones if it is full; returns their places."""
        self.renewals += 1
        room = self.size - len(self.members)
        oldest = np.argsort(self.entered, kind="stable")[: max(0, len(new) - room)]
        places = np.concatenate([oldest, len(self.members) + np.arange(len(new) - len(oldest))])
        self.members = np.append(self.members, new[len(oldest) :])
        self.entered = np.append(self.entered, new[len(oldest) :])
        self.members[places], self.entered[places] = new, self.renewals
        return places

    def refill(self, places: np.ndarray, rows: np.ndarray, slots: np.ndarray) -> None:
        """Update the block at these places.

        Its entries are scattered over the kernel rows: those of the members are ``rows[slots]``.
        """
        m = len(self.members)
        order = np.argsort(self.members)
        rank = np.full(m, -1)
        rank[places] = np.arange(len(places))
        self.make_room(m)

        def fill(at: slice) -> None:
            new = places[at]
            refill(self.block, new, rows, slots[new], self.members, order)

        def reflect(at: slice) -> None:
            mirror(self.block, places, rank, at.start, at.stop)

        pieces = slices(len(places), max(_LEAST, -(-len(places) // _PIECES)))
        for part in (fill, reflect):  # one after the other: columns are read from complete rows
            run(part, pieces, self.workers if len(places) * m > _SHARED else 1)

    def make_room(self, size: int) -> None:
        """Make room in the block for this many members."""
        if size <= len(self.block):
            return
        room = min(self.most, max(size * 5 // 4, _QUICKLY))
        before, known = self.block, len(self.block)
        # rows a power of two apart would be slow to transpose
        self.block = np.empty((room, room + 16), self.K.dtype)
        self.block[:known, :known] = before[:, :known]
