"""The local alignment kernel: all ways to align parts of two strings, by their scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import nonnegative, number, one_of, parameter
from ..base import Tile
from ..calculus import properties as prop
from ..pairs.logarithms import STEP
from ..pairs.wide import logarithms, zeros
from .sequences import Alphabet, Sequences, alphabet_symbols, check_alphabet, places, read
from .substitution import BLOSUM62, PROTEIN
from .tables import Tabled, in_pieces, in_steps, numbered_symbols, of_wide, wide_steps

Weights = tuple[np.ndarray | None, float, float, float, float]

_LARGEST = 700.0  # of a logarithm: e to this power, and the slope of it, can be represented
_DEPTH = 3  # numbers in a cell of a table
_NARROWEST, _ROWS = 4, 64  # columns and rows that share a power of two: at least, at most
_UNSCALED = 200.0  # of log k, up to which no number of a table needs a power of two
_STEEPEST = 138.0  # in one step of an alignment: e to this power is 2^199


def _scores(value: Any) -> str | None:
    wanted = "a pair (match, mismatch), 'blosum62', or a symmetric matrix of scores"
    if isinstance(value, str):
        return None if value == "blosum62" else wanted
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return wanted
    if not np.all(np.isfinite(array)):
        return wanted
    square = array.ndim == 2 and array.shape[0] == array.shape[1] and bool(np.all(array == array.T))
    return None if array.shape == (2,) or square else wanted


@dataclass(eq=False, repr=False)
class LocalAlignment(Tabled):
    r"""The local alignment kernel: exp(beta score), summed over all local alignments.

    .. math:: k(x, y) = \sum_{\pi} \exp(\beta\, s(\pi)), \qquad
        s(\pi) = \sum_{(i, j) \in \pi} S(x_i, y_j) - \sum_{\text{gaps}} g(\text{length})

    A local alignment pairs symbols of x with symbols of y in order; the empty one counts, with
    score 0. Between neighbouring pairs, n > 0 skipped symbols of one string cost
    g(n) = opening + (n - 1) extension. As beta grows, log(k) / beta tends to the score of the best
    alignment, that of Smith and Waterman.

    With ``log=True`` the value is log(k) / beta, in the units of the scores. This works best for
    proteins, since k(x, x) is so much larger than k(x, y); but the logarithm of a kernel is not
    known to be a kernel. ``k.through()``, the empirical kernel map, makes it one.

    Parameters
    ----------
    scores : pair, "blosum62" or matrix
        S as (match, mismatch) for any symbols, the table BLOSUM62 of amino acids, or a symmetric
        matrix with one row per symbol of the alphabet.
    alphabet : str or sequence of int, optional
        The symbols of a matrix of scores. Symbols missing from it, or from BLOSUM62, get the lowest
        score with every symbol. For BLOSUM62, lower-case letters (soft-masked regions) are the same
        amino acids as upper-case ones.
    beta : float
        The larger beta is, the more the best alignments dominate.
    opening, extension : float
        What the first and every further symbol of a gap cost.
    log : bool
        Whether to return log(k) / beta in place of k.

    Notes
    -----
    k is positive definite if the matrix exp(beta S) is, since alignments are convolutions of
    letters and gaps; see ``properties.psd`` for given parameters. For a pair of scores this holds
    if match >= mismatch.

    Examples
    --------
    >>> from mercer import LocalAlignment
    >>> LocalAlignment(beta=1.0, scores=(1.0, 0.0))(["A", "C"]).round(4)  # 1 + e^S
    array([[3.7183, 2.    ],
           [2.    , 3.7183]])
    >>> k = LocalAlignment("blosum62", log=True)
    >>> k(["HEAGAWGHEE", "PAWHEAE", "MQIFVKTL"]).round(1)
    array([[62.2, 21. ,  8.6],
           [21. , 44.2,  8.2],
           [ 8.6,  8.2, 38.4]])

    References
    ----------
    Saigo, Vert, Ueda & Akutsu, *Protein homology detection using string alignment kernels*,
    Bioinformatics 2004; Vert, Saigo & Akutsu, *Local alignment kernels for biological sequences*,
    in Kernel Methods in Computational Biology, 2004.
    """

    scores: Any = parameter((5.0, -4.0), check=_scores)
    alphabet: Alphabet | None = parameter(None, check=check_alphabet)
    beta: float = number(0.5, "positive", lambda b: b > 0, bounds=(0.01, 10.0), log=True)
    opening: float = nonnegative(11.0, tuned=False)
    extension: float = nonnegative(1.0, tuned=False)
    log: bool = one_of(False, False, True)
    because = "a convolution of kernels on letters and gaps, if exp(beta S) is one, without log"

    def prepare(self, X: Data) -> Sequences:
        sequences = read(X, "LocalAlignment")
        table = self._table()
        if table is None:
            return sequences
        matrix, letters = table
        found = places(sequences.symbols, letters)
        if isinstance(self.scores, str):  # lower case marks regions of low complexity
            masked = places(sequences.symbols, alphabet_symbols(PROTEIN.lower()))
            found = np.where(found < 0, masked, found)
        return Sequences(np.where(found < 0, len(matrix) - 1, found), sequences.ends)

    def pairs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._of_logs(self.logs(X, Y, i, j), X, Y, i, j)

    def slopes(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        logs, slopes = self._aligned(X, Y, i, j, sloped=True)
        values = self._of_logs(logs, X, Y, i, j)
        return (slopes / self.beta - values if self.log else slopes * values)[:, None]

    def _of_logs(
        self, logs: np.ndarray, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray
    ) -> np.ndarray:
        """The values of the kernel."""
        if self.log:
            return logs / self.beta
        if logs.max(initial=0) > _LARGEST:
            at = int(np.argmax(logs))
            raise DomainError(
                f"LocalAlignment: k is e^{logs[at]:.0f} for strings of {X.lengths[i[at]]} and "
                f"{Y.lengths[j[at]]} symbols, which overflows; use .normalize() or log=True, "
                "which work with logarithms, or lower beta."
            )
        return np.exp(logs)

    def logs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._aligned(X, Y, i, j, sloped=False)[0]

    def log_slopes(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._aligned(X, Y, i, j, sloped=True)[1][:, None]

    def log_tiles(self, X: Sequences, Y: Sequences) -> Tile | None:
        return None if self.log else super().log_tiles(X, Y)

    def log_diag(self, X: Sequences) -> np.ndarray | None:
        return None if self.log else super().log_diag(X)

    def _aligned(
        self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray, sloped: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """log k of pairs, and its derivatives along log(beta)."""
        weights, slopes_of = self._weights()
        width, every, proven = self._strips(Y)
        moved = slopes_of if sloped else None
        out, slopes = log_sums(X, Y, i, j, (width, every), weights, moved)
        for at in [] if proven else np.flatnonzero(~(out <= _UNSCALED)):
            found = self._wide(X, Y, i[at], j[at], sloped)
            out[at], slopes[at : at + 1] = found[0], found[1] if sloped else 0.0
        return out, slopes

    def _strips(self, Y: Sequences) -> tuple[int, int, bool]:
        """How many columns and rows share a power of two, and whether nothing can be lost by it."""
        from .alignment_loops import WIDEST

        table = self._table()
        best = self.beta * max(float(np.max(self.scores if table is None else table[0])), 0.0)
        opening, extension = self.beta * self.opening, self.beta * self.extension
        width, every = strips(Y, best, opening, extension)
        proven = width >= _NARROWEST and every >= 1
        return (width, every, True) if proven else (WIDEST, 1, False)

    def _wide(
        self, X: Sequences, Y: Sequences, i: int, j: int, sloped: bool
    ) -> tuple[float, float]:
        """The same for one pair, with a power of two for every number."""
        from .wide_loops import alignment_rows

        x, y = X.one(i), Y.one(j)
        pairs: Any = zip(*self._weights(), strict=True)  # of the table and others, with slopes
        values: list[Any] = [w if w is None or not sloped else w + 1j * STEP * d for w, d in pairs]
        kind = complex if sloped else float
        M, X_, Z, total = (zeros(n, kind, True) for n in (len(y), len(y), len(y), 1))
        Z[0][:] = 1.0
        scores = values[0], tuple(values[1:])
        wide_steps(lambda a, b: alignment_rows(x, y, a, b, *scores, M, X_, Z, total), x, y, 1)
        m, e, slope = of_wide(total, 0)
        log_sum = float(logarithms(np.array(m), np.array(e)))
        log_k = float(np.logaddexp(0.0, log_sum))
        return log_k, slope * np.exp(log_sum - log_k)

    def _weights(self) -> tuple[Weights, Weights]:
        """Those of the table, of same and other symbols, of gaps; and beta times their slopes."""
        table, costs = self._table(), np.array([self.opening, self.extension], dtype=float)
        pair = np.asarray(self.scores, dtype=float) if table is None else np.zeros(2)
        matrix = None if table is None else table[0]

        def of(scores: np.ndarray | None, d: int) -> Any:
            if scores is None:
                return None
            return (self.beta * scores) ** d * np.exp(self.beta * scores)

        def all_of(d: int) -> Weights:
            inside = of(matrix, d)
            square = None if inside is None else np.pad(inside, (0, 1))
            return square, *of(pair, d).tolist(), *of(-costs, d).tolist()

        return all_of(0), all_of(1)

    def _table(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Scores with a last row for unknown symbols, and the symbols; None for a pair of them."""
        if isinstance(self.scores, str):
            matrix, letters = BLOSUM62, alphabet_symbols(PROTEIN)
        else:
            matrix = np.asarray(self.scores, dtype=float)
            if matrix.ndim == 1:
                self._check_size(matrix)
                return None
            if self.alphabet is None or len(self.alphabet) != len(matrix):
                raise ValueError(
                    f"LocalAlignment: alphabet must name the {len(matrix)} symbols of the matrix "
                    f"of scores, got {self.alphabet!r}."
                )
            letters = alphabet_symbols(self.alphabet)
        self._check_size(matrix)
        return np.pad(matrix, (0, 1), constant_values=matrix.min()), letters

    def _check_size(self, scores: np.ndarray) -> None:
        if self.beta * scores.max() > _STEEPEST:
            raise ValueError(
                f"LocalAlignment: beta times the largest score is {self.beta * scores.max():.0f}, "
                f"and e to this power is too large; lower beta."
            )

    @property
    def properties(self) -> prop.Properties:
        if self.log:
            doubt = prop.Fact(None, "the logarithm of a kernel is not known to be a kernel")
            return self._stated(psd=doubt)
        return self._stated(
            psd=self._psd(),
            bounded=prop.no("k(x, x) grows with the length of x"),
            positive_diag=prop.yes("k(x, x) >= 1: the empty alignment"),
        )

    def _psd(self) -> prop.Fact:
        table = self._table()
        match, mismatch = self.scores if table is None else (0.0, 0.0)
        matrix = np.array([[match, mismatch], [mismatch, match]]) if table is None else table[0]
        weights = np.exp(self.beta * matrix)
        rounding = 1e-12 * weights.max() * len(weights)
        if np.linalg.eigvalsh(weights)[0] >= -rounding:
            return prop.yes(self.because)
        if np.linalg.eigvalsh(1 + weights)[0] < -rounding:
            return prop.no("its matrix for single letters, 1 + exp(beta S), is indefinite")
        return prop.Fact(
            None, "exp(beta S) has a negative eigenvalue, and with it the proof does not hold"
        )


def strips(Y: Sequences, best: float, opening: float, extension: float) -> tuple[int, int]:
    """How many columns and rows of a table share a power of two, so that nothing is lost by it.

    See :mod:`.alignment_loops`: by which factors, given as logarithms, a pair, a gap or a row can
    change numbers. There may be none, if these are too large.
    """
    from .alignment_loops import REACH, SPAN, WIDEST

    fall = 2 * opening + extension
    growth = best + np.log(2 * (2 + Y.lengths.max(initial=0)))
    width = min(WIDEST, int((SPAN - fall) / (2 * (best + extension) + 1e-9)))
    return width, min(_ROWS, int(REACH / max(growth, fall)))


def log_sums(
    X: Sequences,
    Y: Sequences,
    i: np.ndarray,
    j: np.ndarray,
    shape: tuple[int, int],
    weights: Weights,
    slopes_of: Weights | None,
    whole: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """log of the sums over alignments of pairs, and its derivatives, if those of weights are given.

    The alignments are local, or those of the ``whole`` strings; ``shape`` is that of strips.
    """
    from .alignment_loops import alignments, begin, begin_whole, fill, finish, room, whole_room

    table, *others = weights
    D_table, *D_others = slopes_of or (None,)
    scores = table, tuple(others), D_table, tuple(D_others) if slopes_of else None
    out, slopes = np.zeros(len(i)), np.zeros(len(i) if slopes_of else 0)
    x, y = numbered_symbols(X, Y)
    data = x, X.ends, y, Y.ends
    unknown = -1 if table is None else len(table) - 1

    def rooms(rows: np.ndarray, cols: np.ndarray) -> tuple[Any, Any]:
        n, m = int(X.lengths[rows].max()), int(Y.lengths[cols].max())
        sizes = whole_room(max(n, m), scores[1], scores[3]) if whole else None
        return sizes, room(n, m, *shape, slopes_of is not None)

    def many(part: slice) -> None:
        rows, cols = i[part], j[part]
        alignments(
            *data, rows, cols, unknown, *shape, *scores, *rooms(rows, cols), out[part], slopes[part]
        )

    def long(part: slice, step: int) -> None:
        rows, cols = i[part], j[part]
        sizes, arrays = rooms(rows, cols)
        n, m = begin(*data, rows, cols, 0, unknown, arrays)
        if whole:
            begin_whole(X.ends, Y.ends, rows, cols, 0, n, shape[1], arrays, sizes)
        columns = max(1, step // shape[0]) * shape[0]  # whole strips
        in_steps(lambda a, b: fill(arrays, n, a, b, *shape, *scores, sizes), m, columns)
        finish(arrays, 0, out[part], slopes[part], sizes)

    in_pieces(X.lengths[i], Y.lengths[j], _DEPTH, many, long)
    return out, slopes
