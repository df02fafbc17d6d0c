"""Compiled sweeps over coefficients with a penalty of their absolute values."""

from __future__ import annotations

from .._compiled import njit


@njit(cache=True, nogil=True)
def sweep(H, p, v, g, alpha, tol, most):
    """Minimise v'Hv / 2 - p'v + alpha |v|_1 coefficient by coefficient; v and g = Hv are updated.

    Stops when no slope changes by more than tol within a sweep; returns the largest change.
    """
    m = len(v)
    largest = 0.0
    for _ in range(most):
        largest = 0.0
        for j in range(m):
            own = H[j, j]
            if own <= 0:
                continue
            aim = p[j] - g[j] + own * v[j]
            new = 0.0
            if aim > alpha:
                new = (aim - alpha) / own
            elif aim < -alpha:
                new = (aim + alpha) / own
            change = new - v[j]
            if change != 0:
                v[j] = new
                for i in range(m):
                    g[i] += change * H[j, i]
                largest = max(largest, own * abs(change))
        if largest <= tol:
            break
    return largest
