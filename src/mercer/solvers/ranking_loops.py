"""Sums over all pairs that a ranking gets wrong, or right by too little, without forming them."""

from __future__ import annotations

import numpy as np

from .._compiled import njit


@njit(cache=True, nogil=True)
def pair_sums(F, V, w, level, order, starts, out):
    """For each sample, sums of w and w V over its partners in active pairs.

    A pair (i, j) of one group is active if i ranks higher, level_i > level_j, and F_i - F_j < 1.
    ``order`` sorts each group, from ``starts[q]`` to ``starts[q + 1]``, by F. Rows of ``out``: of
    the lower partners of i the sums of w and w V, of the higher partners the same.

    Partners enter a binary indexed tree over levels as F goes on, so that all takes n log n steps.
    """
    tree = np.zeros((2, 1))
    for q in range(len(starts) - 1):
        first, last = starts[q], starts[q + 1]
        depth = 0
        for t in range(first, last):
            depth = max(depth, level[order[t]] + 1)
        if len(tree[0]) < depth + 1:
            tree = np.zeros((2, depth + 1))
        for side in range(2):
            tree[:, : depth + 1] = 0.0
            p = last - 1 if side == 0 else first
            for step in range(last - first):
                i = order[last - 1 - step] if side == 0 else order[first + step]
                while first <= p < last:
                    j = order[p]
                    if (side == 0 and not F[j] > F[i] - 1) or (side == 1 and not F[j] < F[i] + 1):
                        break
                    at = level[j] + 1 if side == 0 else depth - level[j]
                    while at <= depth:
                        tree[0, at] += w[j]
                        tree[1, at] += w[j] * V[j]
                        at += at & -at
                    p += -1 if side == 0 else 1
                at = level[i] if side == 0 else depth - 1 - level[i]
                total, weighted = 0.0, 0.0
                while at > 0:
                    total += tree[0, at]
                    weighted += tree[1, at]
                    at -= at & -at
                out[2 * side, i] = total
                out[2 * side + 1, i] = weighted
