"""Pivoted Cholesky: a low-rank factor of K from few of its columns, with its exact error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..checks import check_count
from ..gram.base import Gram
from ..gram.tiles import run, slices
from ..randomness import as_generator

_STRIP = 2000  # rows updated at a time by one thread
_ROUNDING = 100  # units in the last place of the largest diagonal entry: less is nothing


@dataclass(frozen=True)
class PivotedCholesky:
    """What :func:`pivoted_cholesky` returns: K = L L' + E with E positive semi-definite.

    Attributes
    ----------
    pivots : ndarray of shape (r,)
        The columns of K that were used, in order.
    factor : ndarray of shape (n, r)
        L; its rows at the pivots are lower triangular. Columns are contiguous.
    diagonal : ndarray of shape (n,)
        The diagonal of the error E.
    trace : float
        The trace of K.
    """

    pivots: np.ndarray
    factor: np.ndarray
    diagonal: np.ndarray
    trace: float

    @property
    def rank(self) -> int:
        """The number of columns of L."""
        return len(self.pivots)

    @property
    def residual(self) -> float:
        """The trace of E, which bounds its norm and every error of an eigenvalue."""
        return float(self.diagonal.sum())

    @property
    def relative(self) -> float:
        """The trace of E as a share of the trace of K."""
        return self.residual / self.trace if self.trace > 0 else 0.0

    @property
    def worst(self) -> float:
        """The largest entry of E, which is on its diagonal."""
        return float(self.diagonal.max(initial=0.0))

    def __repr__(self) -> str:
        n = len(self.diagonal)
        return f"PivotedCholesky(rank {self.rank} of {n}, relative error {self.relative:.2g})"


def pivoted_cholesky(
    gram: Gram,
    rank: int | None = None,
    tol: float | None = None,
    *,
    random: bool = True,
    rng: Any = None,
    block: int | None = None,
    dtype: Any = np.float64,
) -> PivotedCholesky:
    r"""Pivoted Cholesky: a factor L with few columns such that K is close to L L', in O(n r^2)
    operations and O(n r) memory.

    .. math:: K - L L' = E \succeq 0, \qquad \operatorname{tr} E = \sum_i E_{ii}

    Column by column, a pivot s is chosen and K is replaced by its residual,
    E - E[:, s] E[s, :] / E[s, s]. Only the columns of the pivots and the diagonal are ever
    computed, so the error E has a trace that is known exactly.

    Random pivots are drawn with probability proportional to the diagonal of E; greedy ones are
    where it is largest. The random choice is close to the best possible error in expectation, and
    is not led astray by outliers. Pivots are proposed in blocks: those which a sequence of single
    steps would not have taken are rejected, so the result has the same distribution (greedy: is
    the same), while columns of K come in blocks on all cores.

    Parameters
    ----------
    gram : Gram
        A symmetric, positive semi-definite operator; its ``block`` and ``diag`` are used.
    rank : int, optional
        The maximum number of columns; by default as many as ``tol`` requires.
    tol : float, optional
        Stop when the trace of E is at most this share of the trace of K; by default at 1e-3, or
        only at ``rank`` if that is given.
    random : bool
        Random or greedy pivots.
    rng : None, int or numpy.random.Generator
        Used to draw random pivots.
    block : int, optional
        How many pivots are proposed at a time; by default a tenth of those chosen so far, at
        least 32.
    dtype : dtype
        The precision of L. Single precision halves the memory; the residual is then accurate to
        about 1e-5 of the largest entry of K, and no pivots below that are used.

    Returns
    -------
    PivotedCholesky

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, pivoted_cholesky
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> K = Gaussian(0.2).gram(X)
    >>> found = pivoted_cholesky(K, tol=1e-6, rng=0)
    >>> found.rank < 20, found.relative <= 1e-6
    (True, True)
    >>> error = K.to_dense() - found.factor @ found.factor.T
    >>> bool(abs(np.trace(error) - found.residual) < 1e-10)
    True

    References
    ----------
    Chen, Epperly, Tropp & Webber, *Randomly pivoted Cholesky*, Comm. Pure Appl. Math. 2025;
    Epperly, Tropp & Webber, *Embrace rejection*, 2024 (blocks).
    """
    if gram.shape[0] != gram.shape[1]:
        raise ValueError(f"pivoted_cholesky needs a square K, got shape {gram.shape}.")
    check_count("rank", rank, also=(None,))
    check_count("block", block, also=(None,))
    tol = tol if tol is not None else 1e-3 if rank is None else 0.0
    if not 0 <= tol < 1:
        raise ValueError(f"tol must be in [0, 1), got {tol!r}.")
    n, rng = len(gram), as_generator(rng)
    left = np.array(gram.diag(), dtype=np.float64)
    if np.any(left < 0):
        raise ValueError(
            f"K has a negative diagonal entry ({left.min():.3g}), so it is not a kernel matrix."
        )
    trace, most = float(left.sum()), n if rank is None else min(rank, n)
    coarse = max(float(np.finfo(gram.dtype).eps), float(np.finfo(dtype).eps))
    nothing = _ROUNDING * coarse * left.max(initial=0.0)
    # column by column: what is never used of the memory asked for is never taken
    columns = np.empty((most if rank is not None else min(most, 128), n), dtype)
    pivots = np.empty(0, dtype=np.int64)
    while len(pivots) < most and left.sum() > tol * trace and np.any(left > nothing):
        r = len(pivots)
        size = min(most - r, block or max(32, r // 10))
        chance = np.where(left > nothing, left, 0.0)
        if random:
            proposed = rng.choice(n, size, p=chance / chance.sum())
        else:
            proposed = np.argsort(-chance, kind="stable")[:size]
        if r + size > len(columns):
            more = np.empty((min(most - r, max(r, size)), n), dtype)
            columns = np.concatenate([columns[:r], more])
        F = columns[:r, proposed].T.astype(np.float64)
        core = gram.block(proposed, proposed).astype(np.float64) - F @ F.T
        left[proposed] = np.maximum(np.diagonal(core), 0.0)
        if random:
            accepted, L = _rejection(core, rng, nothing)
        else:
            chance[proposed] = 0.0
            accepted, L = _descent(core, chance.max(), nothing)
        if accepted:
            new = proposed[accepted]
            _append(gram, columns.T, new, r, L, left)
            pivots = np.concatenate([pivots, new])
    return PivotedCholesky(pivots, columns[: len(pivots)].T, left, trace)


def _rejection(
    core: np.ndarray, rng: np.random.Generator, nothing: float
) -> tuple[list[int], np.ndarray]:
    """The proposals that single random steps would have taken, and the factor of their block.

    A proposal was drawn by its diagonal entry before the block; it is kept with the probability
    by which that entry is smaller now. Proposals drawn twice are rejected the second time.
    """
    draws = rng.random(len(core)) * np.diagonal(core)
    accepted: list[int] = []
    for i, draw in enumerate(draws):
        if core[i, i] > max(draw, nothing):
            _eliminate(core, i, accepted)
    return accepted, np.tril(core[np.ix_(accepted, accepted)])


def _descent(core: np.ndarray, beyond: float, nothing: float) -> tuple[list[int], np.ndarray]:
    """The candidates that single greedy steps would have taken, and the factor of their block.

    Diagonal entries only fall, so the largest one of all is among the candidates as long as it
    is at least what the largest outside them was before.
    """
    accepted: list[int] = []
    while len(accepted) < len(core):
        free = np.diagonal(core).copy()
        free[accepted] = -1.0
        i = int(np.argmax(free))
        if free[i] <= nothing or (accepted and free[i] < beyond):
            break
        _eliminate(core, i, accepted)
    return accepted, np.tril(core[np.ix_(accepted, accepted)])


def _eliminate(core: np.ndarray, i: int, accepted: list[int]) -> None:
    """One Cholesky step in place: column i becomes that of the factor, the rest what is left."""
    column = core[:, i] / np.sqrt(core[i, i])
    done = list(accepted)
    accepted.append(i)
    kept = core[:, accepted].copy()
    core -= np.outer(column, column)
    core[:, accepted] = kept
    core[:, i] = column
    core[done, i] = 0.0


def _append(
    gram: Gram, factor: np.ndarray, new: np.ndarray, r: int, L: np.ndarray, left: np.ndarray
) -> None:
    """Columns of the factor for new pivots, (K[:, new] - F F[new]') L^-T, and what they leave."""
    everything = np.arange(len(left))
    columns = gram.block(everything, new).astype(factor.dtype, copy=False)
    inner, stop = factor[new, :r].copy(), r + len(new)
    L = L.astype(factor.dtype)

    def strip(rows: slice) -> None:
        part = columns[rows] - factor[rows, :r] @ inner.T
        part = sla.solve_triangular(L, part.T, lower=True, check_finite=False).T
        factor[rows, r:stop] = part
        left[rows] -= np.einsum("ij,ij->i", part, part)
        np.maximum(left[rows], 0.0, out=left[rows])

    run(strip, slices(len(left), _STRIP))
    left[new] = 0.0
