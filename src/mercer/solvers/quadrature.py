r"""The evidence of a Gaussian process from products with K only, and its slope.

With a preconditioner P = F F' + D close to A = K + D, whose determinant is known,

.. math:: \log\det A = \log\det P + \operatorname{tr} \log(P^{-1/2} A P^{-1/2}),

and the trace is an expectation over random vectors z with E zz' = P: conjugate gradients for
A x = z are a Lanczos process for the matrix in it, and give its logarithm by Gauss quadrature. In
the slope,

.. math:: \operatorname{tr} A^{-1} dA = \operatorname{tr} P^{-1} dA
          + E\,(A^{-1} z - P^{-1} z)' \, dA \, P^{-1} z,

the first term is computed, and only the second, which is small where P is good, is an average over
z. The z are made of numbers that are drawn once, so that the estimate is a smooth function of the
hyper-parameters. Targets and all z share every product with K.

References: Gardner, Pleiss, Bindel, Weinberger & Wilson, *GPyTorch: blackbox matrix-matrix Gaussian
process inference with GPU acceleration*, NeurIPS 2018; Wenger, Pleiss, Hennig, Cunningham &
Gardner, *Preconditioning for scalable Gaussian process hyperparameter optimization*, ICML 2022;
Ubaru, Chen & Saad, *Fast estimation of tr(f(A)) via stochastic Lanczos quadrature*, SIMAX 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..engine.threads import check_cancelled
from ..gram.base import Gram
from .criteria import Criterion

PROBES = 16
TOL = 1e-3  # of residuals, in the norm of P^-1: errors of the evidence are of its square
_STEPS = 200
_JITTER = 1e-10  # of the trace of the block of pivots


class PivotPreconditioner:
    """(F F' + D)^-1 = D^-1 - U U', with F F' = K[:, S] K[S, S]^-1 K[S, :] for some samples S.

    Parameters
    ----------
    gram : Gram
        The operator K.
    noise : ndarray of shape (n,)
        The diagonal of D.
    pivots : ndarray of shape (r,)
        The samples S.

    Attributes
    ----------
    U : array of shape (n, r)
        Where the vectors of the operator live (``gram.arrays``), as all that it is multiplied with.
    """

    def __init__(self, gram: Gram, noise: np.ndarray, pivots: np.ndarray) -> None:
        self.arrays = to = gram.arrays
        columns = to.columns(gram, pivots)
        core = columns[pivots]
        jitter = max(_JITTER, 10 * float(np.finfo(gram.dtype).eps)) * float(core.trace())
        L = to.cholesky(to.shifted((core + core.T) / 2, jitter))
        F = to.solve_lower(L, columns.T).T
        self.noise = to.put(noise)[:, None]
        scaled = F / self.noise
        self._L = to.cholesky(to.shifted(F.T @ scaled, 1.0))
        self.U = to.solve_lower(self._L, scaled.T).T

    def __matmul__(self, V: Any) -> Any:
        return V / self.noise - self.U @ (self.U.T @ V)

    def logdet(self) -> float:
        """log det P."""
        noise, diagonal = (self.arrays.get(part) for part in (self.noise, self._L.diagonal()))
        return float(np.log(noise).sum()) + 2 * float(np.log(diagonal).sum())

    def draw(self, few: np.ndarray, many: np.ndarray) -> Any:
        """Vectors with the covariance P, from random signs, r and n for each."""
        few, many = self.arrays.put(few), self.arrays.put(many)
        return self.noise * (self.U @ (self._L.T @ few)) + self.noise**0.5 * many


@dataclass
class Draws:
    """Random signs from which vectors are made: they vary less than normal numbers would."""

    few: np.ndarray
    many: np.ndarray

    @classmethod
    def of(cls, n: int, rank: int, rng: np.random.Generator, probes: int = PROBES) -> Draws:
        """New ones, for n samples and a preconditioner of this rank."""
        few, many = (rng.choice([-1.0, 1.0], (size, probes)) for size in (rank, n))
        return cls(few, many)


@dataclass
class Krylov:
    """What conjugate gradients found for several columns.

    Attributes
    ----------
    X : array of shape (n, b)
        A^-1 B, to the tolerance; where vectors of the operator live.
    steps, ratios : list of lists
        For each column the coefficients of its steps and of its directions.
    residual : float
        The largest relative residual, in the norm of P^-1.
    """

    X: Any
    steps: list[list[float]]
    ratios: list[list[float]]
    residual: float

    def logarithm(self, column: int) -> float:
        """e' log(T) e of the Lanczos matrix T of a column, e its first unit vector."""
        a, b = np.array(self.steps[column]), np.array(self.ratios[column])
        if not len(a):
            return 0.0
        diagonal = 1 / a
        diagonal[1:] += b[: len(a) - 1] / a[:-1]
        beside = np.sqrt(b[: len(a) - 1]) / a[:-1]
        values, vectors = sla.eigh_tridiagonal(diagonal, beside, check_finite=False)
        return float(vectors[0] ** 2 @ np.log(np.maximum(values, np.finfo(float).tiny)))


def conjugate_gradients(
    gram: Gram, noise: np.ndarray, B: Any, P: PivotPreconditioner, tol: float = TOL
) -> Krylov:
    """(K + D)^-1 B for all columns at once; those that are done take part in no more products."""
    to, t = gram.arrays, B.shape[1]
    R, diagonal = to.put(B) + 0.0, to.put(noise)[:, None]
    X, Z = to.zeros(*B.shape), P @ R
    D, rz = Z + 0.0, to.dots(R, Z)
    first = np.where(rz > 0, rz, 1.0)
    steps: list[list[float]] = [[] for _ in range(t)]
    ratios: list[list[float]] = [[] for _ in range(t)]
    for _ in range(_STEPS):
        check_cancelled()
        active = np.flatnonzero(rz > tol**2 * first)
        if not len(active):
            break
        d = D if len(active) == t else D[:, active]
        Ad = to.product(gram, d) + diagonal * d
        curvature = to.dots(d, Ad)
        good = curvature > 0  # rounding has the last word
        if not good.all():
            active, d, Ad, curvature = active[good], d[:, good], Ad[:, good], curvature[good]
        if not len(active):
            break
        step = rz[active] / curvature
        at = slice(None) if len(active) == t else active
        X[:, at] += to.put(step) * d
        R[:, at] -= to.put(step) * Ad
        Z = P @ R[:, at]
        new = to.dots(R[:, at], Z)
        ratio = np.maximum(new, 0.0) / rz[active]
        D[:, at] = Z + to.put(ratio) * d
        rz[active] = new
        for j, a, b in zip(active, step, ratio, strict=True):
            steps[j].append(float(a))
            ratios[j].append(float(b))
    worst = float(np.sqrt(np.maximum(rz, 0.0) / first).max(initial=0.0))
    return Krylov(X, steps, ratios, worst)


@dataclass
class Estimate(Criterion):
    """The estimated evidence of the columns of Y, to be small, and its slope.

    Attributes
    ----------
    logdet, error : float
        The logarithm of the determinant, and its standard error.
    residual : float
        The largest relative residual of the systems that were solved.
    left, right, middle : arrays of shape (n, q), (n, q) and (n, r)
        W is L R' - M M' and a diagonal; they live where vectors of the operator do.
    own : ndarray of shape (n,)
        That diagonal.
    """

    logdet: float
    error: float
    residual: float
    left: Any
    right: Any
    middle: Any
    own: np.ndarray


def log_determinant(
    P: PivotPreconditioner, found: Krylov, columns: range, squares: np.ndarray
) -> tuple[float, float]:
    """log det A from the random vectors z among the columns, and its standard error.

    ``squares`` are their z' P^-1 z.
    """
    logs = squares * [found.logarithm(j) for j in columns]
    spread = float(logs.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else np.inf
    return P.logdet() + float(logs.mean()), spread


def estimate(
    gram: Gram, Y: np.ndarray, noise: np.ndarray, P: PivotPreconditioner, draws: Draws
) -> Estimate:
    """The evidence of the columns of Y, as :func:`~mercer.solvers.criteria.evidence` has it."""
    (n, t), probes, to = Y.shape, draws.many.shape[1], gram.arrays
    Z = P.draw(draws.few, draws.many)
    found = conjugate_gradients(gram, noise, to.beside(to.put(Y), Z), P)
    C, V = found.X[:, :t], P @ Z
    squares = to.dots(Z, V)
    logdet, error = log_determinant(P, found, range(t, t + probes), squares)
    E = found.X[:, t:] - V
    # then K and the noise, scaled together, have the slope that is known
    V = V * to.put(n / (probes * squares))
    left, right = to.beside(E, V, C) / 2, to.beside(t / 2 * V, t / 2 * E, -C)
    U, own = float(np.sqrt(t / 2)) * P.U, t / (2 * noise)

    def tile(rows: slice, cols: slice) -> np.ndarray:
        W = to.get(left[rows] @ right[cols].T - U[rows] @ U[cols].T)
        if rows == cols:
            W.flat[:: len(W) + 1] += own[rows]
        return W

    value = (float((Y * to.get(C)).sum()) + t * (logdet + n * np.log(2 * np.pi))) / 2
    diagonal = to.sums(left, right) - to.sums(U, U) + own
    error, residual = t / 2 * error, found.residual
    return Estimate(value, tile, diagonal, logdet, error, residual, left, right, U, own)
