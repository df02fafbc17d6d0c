"""Compiled sums over pairs of permuted entries."""

from __future__ import annotations

import numpy as np

from .._compiled import njit


@njit(cache=True, nogil=True, fastmath={"nsz", "reassoc", "contract"})
def sum_of_products(first, rest, permutations, out):
    """out[b] = sum over i > j of first[i, j] prod_v rest[v, p_bv(i), p_bv(j)]."""
    n = first.shape[0]
    product = np.empty(n, np.float32)
    for b in range(permutations.shape[0]):
        total = 0.0
        for i in range(1, n):
            row = first[i]
            last = rest.shape[0] - 1
            for v in range(last):
                p = permutations[b, v]
                source = rest[v, p[i]]
                for j in range(i):
                    product[j] = row[j] * source[p[j]]
                row = product
            p = permutations[b, last]
            source = rest[last, p[i]]
            for j in range(i):
                product[j] = row[j] * source[p[j]]
            for j in range(i):
                total += product[j]
        out[b] = total
