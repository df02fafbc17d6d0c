"""What Newton's method in NumPy would take for ``large.logistic.5000``, from a part of it.

    OMP_NUM_THREADS=1 python -m benchmarks.newton

The whole would take half an hour and more. One step, on a tenth of the samples, is timed; a step on
all of them takes ten times as long but for solving the system, which is timed on its own. How many
steps there are is counted on a tenth of the samples with a fifth of the centres. Prints seconds by
the clock and of processors as JSON.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np

from .cases.large import _block, _centres, _data, _moments, _noisy, _solve

N, D, M = 1_000_000, 18, 5000
PART, FEWER = 10, 5


class Clock:
    """Seconds since it was made: by the clock, and of processors."""

    def __init__(self) -> None:
        self.start = time.perf_counter(), time.process_time()

    def __call__(self) -> np.ndarray:
        return np.array([time.perf_counter(), time.process_time()]) - self.start


def step(
    X: np.ndarray, y: np.ndarray, Z: np.ndarray, c: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray, np.ndarray]:
    """The next coefficients, the decrement, and the time of the sums and of the system."""

    def weigh(rows: slice, K: np.ndarray) -> tuple[Any, Any]:
        p = 1 / (1 + np.exp(-(K @ c)))
        return p * (1 - p), y[rows] - p

    clock = Clock()
    A, b = _moments(X, Z, np.float64, weigh)
    sums, clock = clock(), Clock()
    penalty = _block(Z.astype(np.float64), Z.astype(np.float64))
    g = b - penalty @ c
    d = _solve(A + penalty, g, np.float64)
    return c + d, float(g @ d) / 2, sums, clock()


def main() -> None:
    """Time one step, count them, and say what all of them would take."""
    X, f = _data(N // PART, D)
    y = (_noisy(f) > 0).astype(np.float64)
    few, c, steps = _centres(X, M // FEWER), np.zeros(M // FEWER), 0
    for _ in range(20):
        c, decrement, _, _ = step(X, y, few, c)
        steps += 1
        if decrement < 1e-6 * len(X):
            break
    _, _, sums, system = step(X, y, _centres(X, M), np.zeros(M))
    whole = steps * (PART * sums + system)
    names = ("seconds", "processor")
    told = {"steps": steps} | {
        what: dict(zip(names, map(float, np.round(times, 2)), strict=True))
        for what, times in (("sums", sums), ("system", system), ("extrapolated", whole))
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
