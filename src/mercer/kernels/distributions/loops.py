"""Products of normal densities, pair by pair, compiled."""

from __future__ import annotations

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def normal_products(m, S, c, n, T, e, rho, out):
    """log of the integral of N(m_i, S_i)^rho N(n_j, T_j)^rho, given what depends on i or j alone.

    It is c_i + e_j - log det(S_i + T_j) / 2 - rho/2 |m_i - n_j|^2 in the metric of its inverse.
    """
    d = m.shape[1]
    L = np.empty((d, d))
    z = np.empty(d)
    for i in range(len(m)):
        for j in range(len(n)):
            volume = 1.0  # of the diagonal of L, taken to logarithms now and then
            logs = 0.0
            square = 0.0
            for a in range(d):
                for b in range(a + 1):
                    total = S[i, a, b] + T[j, a, b]
                    for k in range(b):
                        total -= L[a, k] * L[b, k]
                    if a > b:
                        L[a, b] = total / L[b, b]
                    else:
                        L[a, a] = np.sqrt(total)
                volume *= L[a, a]
                if not 1e-100 < volume < 1e100:
                    logs += np.log(volume)
                    volume = 1.0
                value = m[i, a] - n[j, a]
                for k in range(a):
                    value -= L[a, k] * z[k]
                z[a] = value / L[a, a]
                square += z[a] * z[a]
            out[i, j] = c[i] + e[j] - logs - np.log(volume) - 0.5 * rho * square
