r"""The order of each pair of items in a ranking, as a number s in [-1, 1].

It is 1 if the first item of the pair comes before the second, -1 if it comes after, 0 if they are
tied. Everything here is about inner products :math:`\sum_{i < j} s_{ij} s'_{ij}`. If all s are
whole numbers, they are counted: with bits p for s = 1 and q for s = -1, a pair of rankings differs
in d_p, d_q and d_m bits of p, of q and of p | q, and

.. math:: \sum s s' = \tfrac12 (\|s\|^2 + \|s'\|^2 + d_m) - d_p - d_q .

Merge sort takes longer, at any number of items (128: 15 ns for all pairs of items by bits, 4,000 ns
by sorting), as it cannot know which way the next comparison goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...data import Data, Prepared
from ..vectors.bits import look_up, pack
from .base import same_items
from .orders import read, standings

_HELD = 128  # items up to which bits are kept: 1 kB for each ranking, twice
_ROOM = 2**28  # bytes of bits that are kept while one matrix is computed
_TOGETHER = 2**15  # pairs of items whose bits are made, and compared, at a time
_ROWS = 256  # of features that are made at a time
_PRODUCTS = 2**12  # pairs of items whose signs are numbers, and multiplied at a time


@dataclass(eq=False, repr=False)
class Rankings(Prepared):
    """Rankings, prepared; parts of it are rankings again.

    Parameters
    ----------
    places : array of shape (n, m)
        How many items come before each item, in single precision; NaN for items not ranked.
    norms : array of shape (n,)
        The squared norm of each vector of signs.
    leans : array of shape (n, m), or None
        What is expected of an item and one that is not ranked: the chance that it comes after it,
        less the chance that it comes before. None if that is not needed.
    before, after : arrays of uint32, or None
        The signs as bits: s = 1, and s = -1. Where they are not kept they are made when needed.
    """

    places: np.ndarray
    norms: np.ndarray
    leans: np.ndarray | None = None
    before: np.ndarray | None = None
    after: np.ndarray | None = None

    each = ("places", "norms", "leans", "before", "after")

    def packed(self) -> Rankings:
        """These rankings with their bits, if there is room for them."""
        sides = (1,) if self.strict else (1, -1)
        room = len(sides) * len(self) * self.pairs / 8 <= _ROOM
        if self.before is not None or not self.whole or not room:
            return self
        planes = [np.concatenate(list(_bits(self, sign)), axis=1) for sign in sides]
        return Rankings(self.places, self.norms, self.leans, *planes)

    @property
    def pairs(self) -> int:
        """The number of pairs of items."""
        m = self.places.shape[1]
        return m * (m - 1) // 2

    @property
    def strict(self) -> bool:
        """Are all pairs in order?"""
        return bool(self.norms.min(initial=self.pairs) == self.pairs)

    @property
    def whole(self) -> bool:
        """Are all signs whole numbers?"""
        return self.leans is None or not np.isnan(self.places).any()


def compared(X: Data, owner: str, missing: str) -> Rankings:
    """Raw data as rankings; ``missing`` says what pairs with an item that is not ranked count."""
    ranks = read(X, owner)
    first, last = standings(ranks)
    ranked = np.sum(~np.isnan(ranks), axis=1)
    norms = np.nansum(ranked[:, None] - last, axis=1)  # of each item, those that come after it
    leans = None
    if missing == "average":
        leans = np.nan_to_num((first + last - ranked[:, None]) / (ranked[:, None] + 1))
        norms = norms + (ranks.shape[1] - ranked) * np.sum(leans**2, axis=1)
    places = first.astype(np.float32)
    found = Rankings(places, norms, leans)
    return found.packed() if ranks.shape[1] <= _HELD else found


def packed(X: Rankings, Y: Rankings) -> tuple[Rankings, Rankings]:
    """Rankings of the same items, both with their bits if there is room."""
    same_items(X.places, Y.places)
    left = X.packed()
    return left, left if Y is X else Y.packed()


def agreements(X: Rankings, Y: Rankings) -> np.ndarray:
    """[sum_{i<j} s_ij s'_ij] for all pairs of rankings."""
    if not (X.whole and Y.whole):
        out = np.zeros((len(X), len(Y)))
        for s, t in zip(_signs(X), _signs(Y), strict=True):
            out += s @ t.T
        return out
    out = np.add.outer(X.norms, Y.norms)
    out /= 2
    count = np.arange(_TOGETHER + X.places.shape[1] + 32.0)
    if X.strict and Y.strict:
        for p, r in zip(_bits(X, 1), _bits(Y, 1), strict=True):
            out -= look_up(2 * count, p, r)
        return out
    for p, q, r, s in zip(*(_bits(Z, sign) for Z in (X, Y) for sign in (1, -1)), strict=True):
        out += look_up(count / 2, p | q, r | s)
        out -= look_up(count, p, r)
        out -= look_up(count, q, s)
    return out


def signs(X: Rankings) -> np.ndarray:
    """The vectors s, one column for each pair i < j of items: (0, 1), (0, 2), ..., (1, 2), ..."""
    i, j = np.triu_indices(X.places.shape[1], 1)
    out = np.empty((len(X), X.pairs))
    for start in range(0, len(X), _ROWS):
        part = X[start : start + _ROWS]
        leans = () if part.leans is None else (part.leans[:, i], part.leans[:, j])
        out[start : start + _ROWS] = _sign(part.places[:, i], part.places[:, j], *leans)
    return out


def _sign(a: np.ndarray, b: np.ndarray, *leans: np.ndarray) -> np.ndarray:
    """s for items at places a and b; comparisons with NaN are false."""
    s = np.subtract(a < b, a > b, dtype=np.float64)
    if leans:
        s += np.isnan(a) * leans[1]
        s -= np.isnan(b) * leans[0]
    return s


# ---- all pairs of items, a few at a time ---------------------------------------------------------
def shifts(m: int, together: int) -> Iterator[list[tuple[int, int]]]:
    """Pairs of items as (d, w): item i and item i + d modulo m, for i < w; some d at a time."""
    step = max(1, together // m)
    for low in range(1, m // 2 + 1, step):
        some = range(low, min(low + step, m // 2 + 1))
        yield [(d, m if 2 * d < m else m // 2) for d in some]


def paired(A: np.ndarray, together: int) -> Iterator[list[tuple[np.ndarray, np.ndarray]]]:
    """Columns of A, beside the columns of the items that they are paired with."""
    twice = np.concatenate([A, A[:, : A.shape[1] // 2]], axis=1)
    for some in shifts(A.shape[1], together):
        yield [(twice[:, :w], twice[:, d : d + w]) for d, w in some]


def _bits(X: Rankings, sign: int) -> Iterator[np.ndarray]:
    """Where s is 1, or where it is -1, some pairs of items at a time."""
    kept = X.before if sign > 0 else X.after
    compare = np.less if sign > 0 else np.greater
    start, n = 0, len(X)
    for some in paired(X.places, _TOGETHER):
        width = sum(a.shape[1] for a, _ in some)
        if kept is not None:
            end = start + -(-width // 32)
            yield np.ascontiguousarray(kept[:, start:end])
            start = end
            continue
        flags, at = np.empty((n, width), bool), 0
        for a, b in some:
            compare(a, b, out=flags[:, at : at + a.shape[1]])
            at += a.shape[1]
        yield pack(flags, True)


def _signs(X: Rankings) -> Iterator[np.ndarray]:
    assert X.leans is not None
    for some, leans in zip(paired(X.places, _PRODUCTS), paired(X.leans, _PRODUCTS), strict=True):
        parts = [_sign(a, b, *by) for (a, b), by in zip(some, leans, strict=True)]
        yield np.concatenate(parts, axis=1)
