"""Pairs of items that two rankings put in the same order, with weights: compiled."""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ..vectors.bits import ones

_WORD = 32  # bits


@njit(cache=True, nogil=True)
def top_heavy(begin, end, order, begin2, end2, order2, i, j):
    """Of rankings i and j, the sum of (m + 1 - max(x_b, y_b)) over pairs a, b with a first in both.

    Items are taken up by the first ranking, place by place; bits say which places of the second
    one have been seen, so those ahead of an item are the bits below its place.
    """
    m = order.shape[1]
    seen = np.empty(m // _WORD + 1, np.uint32)
    place = np.empty(m, np.int32)  # in the second ranking, of each item a different one
    out = np.empty(i.size)
    for pair in range(i.size):
        x, y = i[pair], j[pair]
        for t in range(m):
            place[order2[y, t]] = t
        seen[:] = 0
        total, entered = 0, 0
        for t in range(m):
            item = order[x, t]
            if begin[x, item] < 0:
                break
            while entered < begin[x, item]:  # all items of earlier places
                at = place[order[x, entered]]
                if begin2[y, order[x, entered]] >= 0:
                    seen[at // _WORD] |= np.uint32(1) << np.uint32(at % _WORD)
                entered += 1
            limit = begin2[y, item]
            if limit < 0:
                continue
            ahead = 0
            for w in range(limit // _WORD):
                ahead += ones(seen[w])
            below = (np.uint32(1) << np.uint32(limit % _WORD)) - np.uint32(1)
            ahead += ones(np.uint32(seen[limit // _WORD] & below))
            total += ahead * (m + 1 - max(end[x, item], end2[y, item]))
        out[pair] = total
    return out
