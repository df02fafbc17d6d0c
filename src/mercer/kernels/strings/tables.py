"""Dynamic programmes over pairs of strings: sixteen tables at a time, pairs of like lengths."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ..base import Tile
from ..domains import STRINGS, Domain
from ..pairs import Paired, all_pairs, weighted_pairs
from ..wide import logarithms, plain
from .sequences import Sequences, read

_TOGETHER = 16  # pairs whose tables are filled side by side
_CELLS = 1e8  # of tables that one compiled call fills: a fraction of a second
_SLOWER = 20  # so much longer take wide numbers
STEP = 1e-30  # of complex differences, in which nothing cancels


@dataclass(eq=False, repr=False)
class Tabled(Paired):
    """A kernel whose values come from a table of |x| times |y| cells; samples are sequences.

    Its logarithms exist where its values are too large or too small to be represented.
    """

    @abstractmethod
    def logs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """log k(x_i, y_j) for pairs of samples; -inf for 0."""

    @abstractmethod
    def log_slopes(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """dlog k(x_i, y_j)/dtheta for pairs; 0 where k is 0."""

    def prepare(self, X: Data) -> Sequences:
        return read(X, type(self).__name__)

    def arranged(self, X: Sequences) -> np.ndarray:
        """By length, so that neighbouring pairs fill their tables in step."""
        return np.argsort(X.lengths, kind="stable")

    def slopes(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.log_slopes(X, Y, i, j) * self.pairs(X, Y, i, j)

    def log_tiles(self, X: Sequences, Y: Sequences) -> Tile | None:
        def tile(rows: Any, cols: Any) -> np.ndarray:
            P = X[rows]
            same = X is Y and isinstance(rows, slice) and rows == cols
            Q = P if same else Y[cols]
            left, right = self.arranged(P), self.arranged(Q)
            out = np.empty((len(P), len(Q)))
            out[np.ix_(left, right)] = all_pairs(
                lambda i, j: self.logs(P, Q, left[i], right[j]), len(P), len(Q), same
            )
            return out

        return tile

    def log_diag(self, X: Sequences) -> np.ndarray | None:
        out, order = np.empty(len(X)), self.arranged(X)
        out[order] = self.logs(X, X, order, order)
        return out

    def grad_log_theta(self, X: Sequences, Y: Sequences, W: np.ndarray) -> np.ndarray:
        rows, cols = self.arranged(X), self.arranged(Y)
        i, j, weights = weighted_pairs(np.asarray(W)[np.ix_(rows, cols)], X is Y)
        return np.array([weights @ self.log_slopes(X, Y, rows[i], cols[j])])

    def grad_log_theta_diag(self, X: Sequences, w: np.ndarray) -> np.ndarray:
        order = self.arranged(X)
        return np.array([np.asarray(w)[order] @ self.log_slopes(X, X, order, order)])

    @property
    def domain(self) -> Domain:
        return STRINGS


class Found(NamedTuple):
    """k = mantissa 2^(256 exponent) of pairs of strings, and dlog k/dtheta, if it was asked for."""

    mantissa: np.ndarray
    exponent: np.ndarray
    slopes: np.ndarray


class Counting(Tabled):
    """A sum over subsequences of two strings, which may be beyond floating point numbers."""

    decay: float  # a field of the kernels, after others

    @abstractmethod
    def found(
        self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray, sloped: bool = False
    ) -> Found:
        """Values of any size for pairs of samples."""

    def pairs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        found = self.found(X, Y, i, j)
        values = plain(found.mantissa, found.exponent)
        finite = np.isfinite(values)
        if not finite.all():
            at = int(np.argmin(finite))
            raise DomainError(
                f"{type(self).__name__}: k is larger than 1e308 for strings of {X.lengths[i[at]]} "
                f"and {Y.lengths[j[at]]} symbols; use .normalize(), which works from logarithms, "
                f"or lower decay (now {self.decay:g})."
            )
        return values

    def logs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        found = self.found(X, Y, i, j)
        return logarithms(found.mantissa, found.exponent)

    def log_slopes(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.found(X, Y, i, j, sloped=True).slopes


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


def in_steps(job: Callable[[int, int], None], end: int, step: int) -> None:
    """Call job(first, last) from 0 to ``end``, one step after the other, where Ctrl-C may come."""
    from ...gram.tiles import run

    run(lambda first: job(first, min(first + step, end)), range(0, end, step), workers=1)


def wide_steps(job: Callable[[int, int], None], x: np.ndarray, y: np.ndarray, depth: int) -> None:
    """Fill the rows of one table of wide numbers, job(first, last) after job(first, last)."""
    in_steps(job, len(x), max(1, int(_CELLS / _SLOWER / (depth * max(len(y), 1)))))


def moved(number: float, sloped: bool) -> Any:
    """A parameter, for slopes with a tiny imaginary part: that of k is k times dlog k/dlog of it."""
    return complex(number, number * STEP) if sloped else float(number)


def of_wide(table: Any, at: int) -> tuple[float, int, float]:
    """The mantissa and exponent at a place of a table, and the logarithm's derivative."""
    m, e = table[0][at], int(table[1][at])
    return float(m.real), e, float(m.imag / (STEP * m.real)) if m.real else 0.0


def numbered_symbols(X: Sequences, Y: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Symbols >= 0 that agree where those of X and Y do: negative ones stand for no symbol."""
    if min(X.symbols.min(initial=0), Y.symbols.min(initial=0)) >= 0:
        return X.symbols, Y.symbols
    letters = np.unique(np.concatenate([X.symbols, Y.symbols]))
    return np.searchsorted(letters, X.symbols), np.searchsorted(letters, Y.symbols)
