"""Forward and backward passes over hidden Markov chains, scaled at every step, compiled."""

from __future__ import annotations

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def forward_backward(start, A, logs, ends, gamma, xi, pairs, total):
    """Posteriors of states, and of successive ones; log-likelihoods, -inf for impossible sequences.

    ``logs`` holds log p(x_t | s) of all sequences one after the other. ``xi`` gets sums over time
    for each sequence, ``pairs`` the posteriors of (s_t, s_t+1) at every t, unless it is empty.
    """
    S = len(start)
    B = np.empty(logs.shape)
    scale = np.empty(len(logs))
    ahead = np.empty(S)
    later = np.empty(S)
    for n in range(len(ends) - 1):
        lo, hi = ends[n], ends[n + 1]
        total[n] = 0.0
        for t in range(lo, hi):
            top, size = -np.inf, 0.0
            for s in range(S):
                top = max(top, logs[t, s])
            for s in range(S):
                B[t, s] = np.exp(logs[t, s] - top) if top > -np.inf else 0.0
                if t == lo:
                    value = start[s]
                else:
                    value = 0.0
                    for r in range(S):
                        value += gamma[t - 1, r] * A[r, s]
                gamma[t, s] = value * B[t, s]
                size += gamma[t, s]
            if not size > 0.0:
                total[n] = -np.inf
                break
            scale[t] = size
            for s in range(S):
                gamma[t, s] /= size
            total[n] += np.log(size) + top
        if total[n] == -np.inf:
            continue
        ahead[:] = 1.0  # beta_t, scaled so that alpha beta is the posterior
        for t in range(hi - 2, lo - 1, -1):
            for s in range(S):
                later[s] = B[t + 1, s] * ahead[s] / scale[t + 1]
            for r in range(S):
                value = 0.0
                for s in range(S):
                    step = A[r, s] * later[s]
                    value += step
                    xi[n, r, s] += gamma[t, r] * step
                    if len(pairs) > 0:
                        pairs[t, r, s] = gamma[t, r] * step
                ahead[r] = value
            for r in range(S):
                gamma[t, r] *= ahead[r]
