"""Dynamic programmes over pairs of strings: sixteen tables at a time, pairs of like lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ..pairs.logarithms import LogPaired, slope
from .kind import STRINGS
from .sequences import Sequences, read

_TOGETHER = 16  # pairs whose tables are filled side by side
_CELLS = 1e8  # of tables that one compiled call fills: a fraction of a second
_WORK = 5e6  # likewise, of longer steps
_SLOWER = 20  # so much longer take wide numbers


@dataclass(eq=False, repr=False)
class Tabled(LogPaired):
    """A kernel whose values come from a table of |x| times |y| cells; samples are sequences."""

    domain = STRINGS

    def prepare(self, X: Data) -> Sequences:
        return read(X, type(self).__name__)

    def arranged(self, X: Sequences) -> np.ndarray:
        """By length, so that neighbouring pairs fill their tables in step."""
        return np.argsort(X.lengths, kind="stable")


# ---- calls of compiled loops that are short enough for Ctrl-C ----------------------------------
def in_pieces(
    n: np.ndarray,
    m: np.ndarray,
    depth: int,
    many: Callable[[slice], None],
    long: Callable[[slice, int], None],
) -> None:
    """Go through a list of pairs of lengths n and m, in calls of a fraction of a second each.

    ``many(part)`` fills all tables of some pairs; ``long(part, step)`` those of sixteen, or fewer,
    that are too long for one call, in steps of some columns.
    """
    from ...gram.tiles import run

    if not len(n):
        return
    first = np.arange(0, len(n), _TOGETHER)
    rows, cols = np.maximum.reduceat(n, first), np.maximum.reduceat(m, first)
    cells = _TOGETHER * depth * rows.astype(float) * cols
    alone, piece = cells > _CELLS, np.cumsum(cells) // _CELLS
    new = np.ones(len(first), bool)
    new[1:] = (np.diff(piece) > 0) | alone[1:] | alone[:-1]
    starts = np.flatnonzero(new)

    def job(place: int) -> None:
        at = starts[place]
        stop = first[starts[place + 1]] if place + 1 < len(starts) else len(n)
        part = slice(int(first[at]), int(stop))
        if alone[at]:
            long(part, max(1, int(_CELLS / (_TOGETHER * depth * rows[at]))))
        else:
            many(part)

    run(job, range(len(starts)))


def in_parts(job: Callable[[np.ndarray], None], work: np.ndarray) -> None:
    """Call a job on the numbers of neighbouring items, as many as make up a fraction of a second.

    ``work`` is how much each item takes, in units of some ten nanoseconds.
    """
    from ...gram.tiles import run

    piece = np.cumsum(work) // _WORK
    every = np.arange(len(work))
    run(job, np.split(every, np.flatnonzero(np.diff(piece)) + 1) if len(work) else [])


def in_steps(job: Callable[[int, int], None], end: int, step: int) -> None:
    """Call job(first, last) from 0 to ``end``, one step after the other, where Ctrl-C may come."""
    from ...gram.tiles import run

    run(lambda first: job(first, min(first + step, end)), range(0, end, step), workers=1)


def wide_steps(job: Callable[[int, int], None], x: np.ndarray, y: np.ndarray, depth: int) -> None:
    """Fill the rows of one table of wide numbers, job(first, last) after job(first, last)."""
    in_steps(job, len(x), max(1, int(_CELLS / _SLOWER / (depth * max(len(y), 1)))))


def of_wide(table: Any, at: int) -> tuple[float, int, float]:
    """The mantissa and exponent at a place of a table, and the logarithm's derivative."""
    m, e = table[0][at], int(table[1][at])
    return float(m.real), e, float(slope(m))


def numbered_symbols(X: Sequences, Y: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Symbols >= 0 that agree where those of X and Y do: negative ones stand for no symbol."""
    if min(X.symbols.min(initial=0), Y.symbols.min(initial=0)) >= 0:
        return X.symbols, Y.symbols
    letters = np.unique(np.concatenate([X.symbols, Y.symbols]))
    return np.searchsorted(letters, X.symbols), np.searchsorted(letters, Y.symbols)
