"""Newton's method for a smooth loss with the norm of an RKHS.

The system alpha c + D (K c + b - F) = -slopes, with curvatures D, is solved by conjugate gradients,
preconditioned by a Cholesky factor of alpha I + D^1/2 K D^1/2 on the samples that have curvature,
in single precision where that is enough. When the factor is new, one step is almost exact; while D
changes little it is kept.

Reference: Chapelle, *Training a support vector machine in the primal*, 2007.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..engine.routines import solve_cholesky
from ..gram.base import Gram
from ..gram.stored import adjoint, moments, times
from ..kernels.indefinite import why_no_factor
from .auto import choose
from .cholesky import CholeskyFactor, NotPositiveDefiniteError
from .preconditioner import NystromPreconditioner, most_columns

if TYPE_CHECKING:
    from .representer import Problem

_NEWTON_STEPS = 100
FLAT = 1e-12  # curvature below this part of the largest one is none
_INNER = 100  # steps of conjugate gradients per Newton step
_SLOW = 20  # steps of conjugate gradients that cost as much as a new factor
_STALE = 1e4  # by how much the ratio of curvatures to those of the factor may vary
_MOST = 0.1  # what the preconditioner alone may leave of a residual for its step to be taken
_SHORT = 0.25  # of a Newton step
_LARGE = 2000  # samples from which the first guess comes from a quarter of them
_SINGLE = 1e-5  # of a bound of |D^1/2 K D^1/2|: an alpha above is not lost in single precision
_ROUGH = 1e-7  # tol from which on, and
_MANY = 1000  # samples from which on, that is considered

Inverse = Callable[[np.ndarray], np.ndarray]


# ---- linear systems ------------------------------------------------------------------------------
class System(NamedTuple):
    """K as Newton's method sees it: products, and inverses of alpha I + H K."""

    product: Callable[[np.ndarray], np.ndarray]
    inverse: Callable[[np.ndarray, float, bool], Inverse]  # of H and alpha; exact or nearly so
    costly: bool  # is an inverse worth keeping?
    matrix: np.ndarray | None = None


def system_of(gram: Gram, alpha: float) -> System:
    """The form that suits how K is stored."""
    phi = gram.features
    if phi is not None and choose(gram, alpha) == "primal":
        return System(lambda V: gram @ V, lambda h, a, _: _by_features(phi, h, a), False)
    if gram.matrix_free:
        return System(lambda V: gram @ V, lambda h, a, _: _nystrom(gram, h, a), False)
    n = len(gram)
    require_memory(16.0 * n * n, f"K of {n} samples beside its factor", gram.limit)
    return dense_system(np.asarray(gram.to_dense(), dtype=np.float64))


def dense_system(K: np.ndarray) -> System:
    """That of an array; products with a few columns are faster on the other side."""
    return System(lambda V: (V.T @ K.T).T, partial(_by_cholesky, K), True, K)


def _by_cholesky(K: np.ndarray, h: np.ndarray, alpha: float, exact: bool) -> Inverse:
    """R -> (alpha I + H K)^-1 R for R that vanishes where H does."""
    curved = np.flatnonzero(h)
    everything = len(curved) == len(K)
    single = not exact and alpha > _SINGLE * float(np.sum(h * np.diagonal(K)))
    dtype = np.dtype(np.float32 if single else np.float64)
    root = np.sqrt(h[curved]).astype(dtype)

    def factor(more: float) -> CholeskyFactor:
        part = K if everything else K[np.ix_(curved, curved)]
        A = np.multiply(part, root, dtype=dtype, casting="same_kind")
        A *= root[:, None]
        A.flat[:: len(A) + 1] += alpha + more
        return CholeskyFactor(A)

    try:
        L = factor(0.0)
    except NotPositiveDefiniteError:  # a preconditioner may be of a matrix that is slightly larger
        try:
            L = factor(1e-10 * float(np.sum(h * np.diagonal(K))))
        except NotPositiveDefiniteError:
            raise ValueError(why_no_factor(K, alpha)) from None

    def inverse(R: np.ndarray) -> np.ndarray:
        Z = np.zeros_like(R)
        Z[curved] = root[:, None] * L.solve((R[curved] / root[:, None]).astype(dtype, copy=False))
        return Z

    return inverse


def _by_features(phi: Any, h: np.ndarray, alpha: float) -> Inverse:
    """The same for K = Phi Phi', by a system as large as there are features."""
    A = moments(phi, h)
    A.flat[:: len(A) + 1] += alpha
    L = lapack(len(A), np.linalg.cholesky, A)

    def inverse(R: np.ndarray) -> np.ndarray:
        """Z with Phi'Z = w, and what rounding, divided by alpha, has left between them."""
        w = solve_cholesky(L, adjoint(phi, R))
        Z = (R - h[:, None] * times(phi, w)) / alpha
        return Z + h[:, None] * times(phi, solve_cholesky(L, w - adjoint(phi, Z)))

    return inverse


def _nystrom(gram: Gram, h: np.ndarray, alpha: float) -> Inverse:
    """Nearly the same, by a low-rank approximation of K."""
    h = np.maximum(h, FLAT * h.max())
    rank = most_columns(len(h), gram.limit / 4)
    P = NystromPreconditioner(gram, alpha / h, rank, np.random.default_rng(0))
    return lambda R: P @ (R / h[:, None])


class Preconditioner:
    """(c, b) with alpha c + H (K c + b) = r and, if there is an intercept, sum H (K c + b) = s."""

    def __init__(
        self, system: System, h: np.ndarray, alpha: float, intercept: bool, exact: bool = False
    ) -> None:
        self.h, self.alpha, self.intercept = h, alpha, intercept
        self.inverse = system.inverse(h, alpha, exact)
        if intercept:
            self.one = self.inverse(h[:, None])
            self.total = float(self.one.sum())
        self.first, self.last = 0, 0

    def __call__(self, R: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Z = self.inverse(R)
        if not self.intercept:
            return Z, np.zeros(R.shape[1])
        b = (Z.sum(axis=0) - (R.sum(axis=0) - s) / self.alpha) / self.total
        return Z - self.one * b, b

    def serves(self, h: np.ndarray) -> bool:
        """Can the factor be used for these curvatures, and does that pay?"""
        if self.last > max(_SLOW, 2 * self.first) or np.any((h > 0) != (self.h > 0)):
            return False
        floor = 0.05 * h.max()
        ratio = (h + floor) / (self.h + floor)
        return bool(ratio.max() <= _STALE * ratio.min())


# ---- Newton's method -----------------------------------------------------------------------------
def solve_newton(
    problem: Problem, tol: float, max_iter: int | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Coefficients, intercepts and the number of steps."""
    system = system_of(problem.gram, problem.alpha)
    return minimise(problem, system, tol, max_iter or _NEWTON_STEPS)


def minimise(
    problem: Problem, system: System, tol: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """The same for K in a given form."""
    C, b = _first_guess(problem, system)
    exact = tol < _ROUGH or len(C) < _MANY
    KC = system.product(C) if C.any() else np.zeros_like(C)
    F, kept, n_iter, reach = KC + b, None, 0, np.inf
    while True:
        G = problem.slopes(F)
        violation = problem.violation(C, F, 0.0)
        if violation <= tol or n_iter >= max_iter:
            return C, b, n_iter
        h, curve = problem.curvature(F, np.abs(G).max(axis=1) / reach)
        if kept is None or not (system.costly and kept.serves(h)):
            kept = Preconditioner(system, h, problem.alpha, problem.intercept, exact)
        goal = problem.largest * max(0.1 * tol, violation * min(0.1, violation))
        flat = h == 0
        D = np.where(flat[:, None], -G / problem.alpha - C, 0.0)
        KD = system.product(D) if D.any() else np.zeros_like(D)
        D, KD, e = _newton_step(problem, system, kept, curve, C, G, D, KD, goal)
        n_iter += 1
        # slopes may be lost in rounding, where K hardly sees D
        t = 1.0 if problem.violation(C + D, F + KD + e, 0.0) <= violation / 2 else 0.0
        t = t or _search(problem, F, KD + e, np.sum(D * KC), np.sum(D * KD))
        if t == 0:
            return C, b, n_iter
        # after a step that had to be cut short no score goes much farther than it went there
        reach = t * float(np.abs(KD + e).max()) if t < _SHORT else 4 * reach
        C, KC, b = C + t * D, KC + t * KD, b + t * e
        F = KC + b


def _first_guess(problem: Problem, system: System) -> tuple[np.ndarray, np.ndarray]:
    """The best constant, or the function that a quarter of many samples give."""
    if problem.start is not None:
        return problem.start
    n = len(problem.y)
    C = np.zeros((n, problem.scores))
    if n < _LARGE or system.matrix is None:
        return C, problem.b
    some = np.sort(np.random.default_rng(0).permutation(n)[: n // 4])
    part = problem.part(some)
    found, b, _ = minimise(part, dense_system(system.matrix[np.ix_(some, some)]), 1e-2, 20)
    K = system.matrix[:, some] @ found
    value = problem.loss_at(K + b) + problem.alpha * np.sum(found * K[some]) / 2
    if value < problem.loss_at(np.broadcast_to(problem.b, C.shape)):
        C[some] = found
        return C, b
    return C, problem.b


def _newton_step(
    problem: Problem,
    system: System,
    precondition: Preconditioner,
    curve: Callable[[np.ndarray], np.ndarray],
    C: np.ndarray,
    G: np.ndarray,
    D: np.ndarray,
    KD: np.ndarray,
    goal: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Directions (D, e) of (c, b) with alpha (C + D) + G + W (K D + e) = 0, also K D.

    Conjugate gradients from the D given, for the matrix of the quadratic model, alpha K + K W K
    with a border for the intercept. Residuals R are kept without their factor K. As long as the
    preconditioner alone removes most of them, its steps are taken as they are: their lengths would
    come from inner products with K, which are rounding for residuals that K does not see (those of
    samples that are all alike).
    """
    alpha, e = problem.alpha, np.zeros(problem.scores)
    bend = curve(KD + e)
    R, s = -(alpha * (C + D) + G + bend), -(G + bend).sum(axis=0)
    P, KP, p, gamma, enough = np.zeros_like(D), np.zeros_like(D), np.zeros_like(e), np.inf, 0.0
    fresh, refining = precondition.last == 0, True
    for k in range(_INNER if fresh else 2 * max(_SLOW, precondition.first)):
        precondition.last = k + 1
        precondition.first = k + 1 if fresh else precondition.first
        if np.abs(R).max() <= goal and np.abs(s).max() <= goal * len(R):
            return D, KD, e
        Z, z = precondition(R, s)
        KZ = system.product(Z)
        if refining:
            bend = curve(KZ + z)
            left, rest = R - alpha * Z - bend, s - bend.sum(axis=0)
            refining = bool(
                np.abs(left).max() <= _MOST * np.abs(R).max()
                and np.abs(rest).max() <= max(_MOST * np.abs(s).max(), goal * len(R))
            )
            if refining:
                D, KD, e, R, s = D + Z, KD + KZ, e + z, left, rest
                continue
        old, gamma = gamma, float(np.sum(R * KZ) + s @ z)
        if np.isinf(old):
            enough = gamma * (goal / np.abs(R).max()) ** 2
        if gamma <= enough:
            left = R - alpha * Z - curve(KZ + z)
            better = np.abs(left).max() < np.abs(R).max()
            return (D + Z, KD + KZ, e + z) if better else (D, KD, e)
        ratio = gamma / old
        P, KP, p = Z + ratio * P, KZ + ratio * KP, z + ratio * p
        bend = curve(KP + p)
        Q, q = alpha * P + bend, bend.sum(axis=0)
        curvature = float(np.sum(KP * Q) + p @ q)
        if not curvature > 0:  # what is left is rounding
            return D, KD, e
        step = gamma / curvature
        D, KD, e = D + step * P, KD + step * KP, e + step * p
        R, s = R - step * Q, s - step * q
    return D, KD, e


def _search(
    problem: Problem, F: np.ndarray, dF: np.ndarray, linear: float, quadratic: float
) -> float:
    """How far to go along a direction: 1 unless the slope there is far from zero."""

    def slope(t: float) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            fall = float(np.sum(problem.slopes(F + t * dF) * dF))
        return fall + problem.alpha * (linear + t * quadratic)

    first, t, low, high = slope(0.0), 1.0, 0.0, np.inf
    if not first < 0:
        return 0.0
    for _ in range(60):
        s = slope(t)
        if abs(s) <= 0.3 * abs(first):
            return t
        if s < 0:
            low, t = t, 2 * t if np.isinf(high) else (t + high) / 2
        else:
            high, t = t, (low + t) / 2
    return low
