"""What all tasks of ``benchmarks.gpu`` share: a table of rows, clocks, simulated samples."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

TASKS: dict[str, Callable[[Board], None]] = {}
_BLOCK = 2**20  # rows of simulated samples with random numbers of their own


@dataclass
class Board:
    """Rows of a table, printed as they come."""

    options: argparse.Namespace
    rows: list[dict[str, str]] = field(default_factory=list)
    begin: float = field(default_factory=time.perf_counter)
    task: str = ""

    def add(self, what: str, found: str, asked: str = "", right: str = "") -> None:
        """One row: what, how fast, what was asked for, and how right it is."""
        row = {"what": what, "found": found, "asked": asked, "right": right}
        self.rows.append({"task": self.task, **row})
        print(f"{what:58} {found:28} {asked:18} {right}", flush=True)


def task(f: Callable[[Board], None]) -> Callable[[Board], None]:
    """Known to the command line by its name."""
    TASKS[f.__name__] = f
    return f


def seconds(call: Callable[[], Any], rounds: int = 3) -> float:
    """The median of calls, after one that compiles."""
    import torch

    found = []
    for _ in range(rounds + 1):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        torch.cuda.synchronize()
        found.append(time.perf_counter() - start)
    return float(np.median(found[1:]))


def once(call: Callable[[], Any]) -> tuple[float, Any]:
    """One call, and what it returns."""
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def normal(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Samples in single precision."""
    return np.random.default_rng(seed).standard_normal((n, d), dtype=np.float32)


def simulated(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Samples in single precision and targets of 1 and -1, functions of the seed and row number.

    Blocks of rows have generators of their own: all cores make 36 GB in some seconds, which is
    less than a pass over them takes.
    """
    X, y, w = np.empty((n, d), np.float32), np.empty(n, np.float32), normal(1, d, 5)[0]

    def block(start: int) -> None:
        samples, noise = (np.random.default_rng([seed, start // _BLOCK, k]) for k in range(2))
        part = X[start : start + _BLOCK]
        samples.standard_normal(out=part, dtype=np.float32)
        f = np.sin(2 * part[:, 0]) + part[:, 1] * part[:, 2] + np.float32(0.3) * (part @ w)
        y[start : start + _BLOCK] = np.sign(f + noise.standard_normal(len(part), dtype=np.float32))

    with ThreadPoolExecutor() as pool:
        list(pool.map(block, range(0, n, _BLOCK)))
    return X, y
