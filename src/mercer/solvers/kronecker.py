"""Ridge regression with several outputs: K ⊗ B is solved through K and B, never formed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import take
from ..engine.lapack import lapack, side
from ..engine.routines import solve_lower
from ..gram.algebra import SumGram
from ..gram.base import Gram
from .auto import solve_ridge
from .base import Solution
from .eigen import RidgeSpectrum, beside

if TYPE_CHECKING:
    from ..kernels.algebra.operator_valued import OperatorGram

_GROUPS = 3  # so many Cholesky factors are cheaper than one eigendecomposition
_SAMPLE = 300  # samples on which the parts of a sum are compared

Product = Callable[[np.ndarray], np.ndarray]


class KroneckerSpectrum:
    r"""(K ⊗ B + alpha I)^-1 from K = U diag(s) U' and B = V diag(t) V'.

    .. math:: R \mapsto U \left[ \frac{(U'RV)_{ij}}{s_i t_j + \alpha} \right]_{ij} V'

    Parameters
    ----------
    U : array of shape (n, r)
        Eigenvectors of K; r < n if the other eigenvalues are zero.
    s : array of shape (r,)
        Eigenvalues of K.
    B : array of shape (T, T)
        A positive semi-definite matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.kronecker import KroneckerSpectrum
    >>> spectrum = KroneckerSpectrum(np.eye(2), np.array([1.0, 3.0]), np.eye(2))
    >>> spectrum.solve(np.ones((2, 2)), alpha=1.0)
    array([[0.5 , 0.5 ],
           [0.25, 0.25]])
    """

    def __init__(self, U: np.ndarray, s: np.ndarray, B: np.ndarray) -> None:
        self.U, self.s = U, s
        t, self.V = np.linalg.eigh(B)
        self.t = np.maximum(t, 0)

    def solve(self, R: np.ndarray, alpha: float) -> np.ndarray:
        """(K ⊗ B + alpha I)^-1 R for R of shape (n, T)."""
        RV = R @ self.V
        inner = self.U.T @ RV
        found = self.U @ (inner / self._eigenvalues(alpha))
        if self.U.shape[1] < len(self.U):
            found += beside(self.U, RV) / alpha
        return found @ self.V.T

    def explained_variance(self, cross: np.ndarray, alpha: float) -> np.ndarray:
        """(k ⊗ B_t)' (K ⊗ B + alpha I)^-1 (k ⊗ B_t) for rows k of ``cross``, in the range of K.

        One row per row of ``cross``, one column per output t.
        """
        squares = (cross @ self.U) ** 2
        return squares @ (1 / self._eigenvalues(alpha)) @ ((self.V * self.t) ** 2).T

    def _eigenvalues(self, alpha: float) -> np.ndarray:
        return np.outer(self.s, self.t) + alpha


def solve_vector_ridge(
    gram: OperatorGram,
    Y: np.ndarray,
    alpha: float,
    weights: np.ndarray | None = None,
    *,
    rows: RidgeSpectrum | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    rng: np.random.Generator | None = None,
) -> Solution:
    """Minimise sum_i w_i ||y_i - f(x_i)||^2 + alpha ||f||^2 over f = sum_i K(., x_i) c_i.

    Entries of Y that are NaN are left out of the sum. One Kronecker product and a full Y are
    solved directly, one matrix of n T points as ridge regression on the observed ones, and all
    else by conjugate gradients.

    Parameters
    ----------
    gram : OperatorGram
        The matrix [K(x_i, x_j)].
    Y : array of shape (n, T)
        Targets.
    alpha : float
        Strength of the penalty, > 0.
    weights : array of shape (n,), optional
        Sample weights >= 0.
    rows : RidgeSpectrum, optional
        The eigendecomposition of the only K, if it is known already.
    tol : float
        Relative residual at which iterations stop.
    max_iter : int
        Most iterations.
    rng : numpy.random.Generator, optional
        Used to draw the samples a preconditioner is made from.

    Returns
    -------
    Solution
        With the coefficients c_i as rows of ``coef``; 0 where Y was not observed.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.kernels.algebra.operator_valued import Separable
    >>> from mercer.solvers.kronecker import solve_vector_ridge
    >>> gram = Separable(Gaussian(), np.eye(2)).gram([[0.0], [9.0]])
    >>> Y = np.array([[2.0, 4.0], [np.nan, 6.0]])
    >>> solve_vector_ridge(gram, Y, alpha=1.0).coef.round(4)
    array([[1., 2.],
           [0., 3.]])
    """
    start = time.perf_counter()
    rng = rng or np.random.default_rng(0)
    observed = ~np.isnan(Y)
    if len(gram.kronecker) == 1 and not gram.joint and observed.all():
        K, B = gram.kronecker[0]
        solution = _solve_separable(K, B, Y, alpha, weights, rows, tol, rng)
    elif len(gram.joint) == 1 and not gram.kronecker:
        solution = _solve_joint(gram, Y, observed, alpha, weights, tol, rng)
    else:
        solution = _solve_cg(gram, Y, observed, alpha, weights, tol, max_iter, rng)
    solution.stats["seconds"] = time.perf_counter() - start
    return solution


def _solve_separable(
    K: Gram,
    B: np.ndarray,
    Y: np.ndarray,
    alpha: float,
    weights: np.ndarray | None,
    rows: RidgeSpectrum | None,
    tol: float,
    rng: np.random.Generator,
) -> Solution:
    """By two eigendecompositions; by that of B alone if K is not stored or B has few eigenvalues.

    In the coordinates of the eigenvectors of B, output j is ridge regression with penalty
    alpha / t_j.
    """
    t, V = np.linalg.eigh(B)
    t = np.where(t > 1e-12 * t[-1], t, 0)
    groups = np.unique(np.round(t / max(t[-1], np.finfo(float).tiny), 12), return_inverse=True)[1]
    if rows is None and not K.matrix_free and groups.max() >= _GROUPS:
        rows = RidgeSpectrum(K, weights)
    if rows is not None:
        root = 1.0 if rows.root is None else rows.root[:, None]
        coef = root * KroneckerSpectrum(rows.U, rows.s, B).solve(root * Y, alpha)
        return Solution(coef, stats={"method": "kronecker"})
    rotated = Y @ V
    coef = (rotated if weights is None else weights[:, None] * rotated) / alpha
    last = Solution(coef, stats={"method": "kronecker"})
    for group in np.unique(groups[t > 0]):
        columns = groups == group
        eigenvalue = t[columns].mean()
        part = solve_ridge(K, rotated[:, columns], alpha / eigenvalue, weights, tol=tol, rng=rng)
        coef[:, columns] = part.coef / eigenvalue
        last = part if last.converged else last
    return Solution(coef @ V.T, last.converged, last.n_iter, last.message, last.stats)


def _solve_joint(
    gram: OperatorGram,
    Y: np.ndarray,
    observed: np.ndarray,
    alpha: float,
    weights: np.ndarray | None,
    tol: float,
    rng: np.random.Generator,
) -> Solution:
    """Ridge regression with one output, on the pairs of sample and output that were observed."""
    joint: Any = gram.joint[0][0]
    w = np.ones(len(Y)) if weights is None else weights
    used = np.flatnonzero(gram.flat(observed & (w > 0)[:, None]))
    if len(used) < len(joint):
        joint = type(joint)(joint.kernel, take(joint.X, used), workers=joint.workers)
    own = None if weights is None else np.tile(w, gram.n_outputs)[used]
    solution = solve_ridge(joint, gram.flat(Y)[used, None], alpha, own, tol=tol, rng=rng)
    coef = np.zeros(Y.size)
    coef[used] = solution.coef[:, 0]
    solution.coef = gram.unflat(coef)
    return solution


def _solve_cg(
    gram: OperatorGram,
    Y: np.ndarray,
    observed: np.ndarray,
    alpha: float,
    weights: np.ndarray | None,
    tol: float,
    max_iter: int,
    rng: np.random.Generator,
) -> Solution:
    """(R 𝐊 R + alpha I) b = R y with R the roots of the weights, 0 where y is missing; c = R b."""
    root = observed * (1.0 if weights is None else np.sqrt(weights)[:, None])
    rhs = root * np.where(observed, Y, 0)

    def system(V: np.ndarray) -> np.ndarray:
        return root * (gram @ (root * V)) + alpha * V

    P = _preconditioner(gram, observed, alpha, weights, rng)
    b, n_iter = conjugate_gradients(system, P, rhs, tol=tol, max_iter=max_iter)
    size = float(np.linalg.norm(rhs)) or 1.0
    residual = float(np.linalg.norm(rhs - system(b))) / size  # computed, not carried along
    converged = residual <= max(10 * tol, 1e-12)
    message = (
        "solved"
        if converged
        else (
            f"conjugate gradients stopped after {n_iter} iterations at a relative residual of "
            f"{residual:.1e}, tol={tol:g} was requested; raise max_iter, alpha or tol."
        )
    )
    return Solution(root * b, converged, n_iter, message, {"method": "cg", "residual": residual})


def conjugate_gradients(
    A: Product, P: Product, rhs: np.ndarray, *, tol: float, max_iter: int
) -> tuple[np.ndarray, int]:
    """A^-1 rhs and the number of iterations, for A and P ≈ A^-1 given by their products.

    Parameters
    ----------
    A, P : callable
        Symmetric positive definite maps of arrays of the shape of ``rhs``.
    rhs : array
        The right-hand side.
    tol : float
        Stop when the residual is below ``tol`` times the size of ``rhs``.
    max_iter : int
        Most iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.kronecker import conjugate_gradients
    >>> A = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> x, n_iter = conjugate_gradients(
    ...     lambda v: A @ v, np.positive, np.array([3.0, 0.0]), tol=1e-10, max_iter=9
    ... )
    >>> x.round(6), n_iter
    (array([ 2., -1.]), 2)
    """
    x, r = np.zeros_like(rhs, dtype=float), rhs.astype(float)
    enough = tol * np.linalg.norm(rhs)
    z = P(r)
    d, rz, n_iter = z, float(np.vdot(r, z)), 0
    while np.linalg.norm(r) > enough and n_iter < max_iter:
        Ad = A(d)
        step = rz / float(np.vdot(d, Ad))
        x += step * d
        r -= step * Ad
        z = P(r)
        rz, old = float(np.vdot(r, z)), rz
        d = z + (rz / old) * d
        n_iter += 1
    return x, n_iter


# ---- preconditioners -----------------------------------------------------------------------
def _preconditioner(
    gram: OperatorGram,
    observed: np.ndarray,
    alpha: float,
    weights: np.ndarray | None,
    rng: np.random.Generator,
) -> Product:
    """The inverse for the nearest Kronecker product, on the entries that were observed."""
    if not gram.kronecker:
        return np.positive
    grams = [K for K, _ in gram.kronecker]
    outputs = [B for _, B in gram.kronecker]
    a, b = _nearest_kronecker(grams, outputs, rng)
    K: Gram = grams[0] * a[0] if len(grams) == 1 else SumGram(grams, list(a))
    B = np.tensordot(b, outputs, axes=1)
    if any(part.matrix_free for part in grams):
        U, s = _nystrom(K, weights, rng)
    else:
        rows = RidgeSpectrum(K, weights)
        U, s = rows.U, rows.s
    spectrum = KroneckerSpectrum(U, s, B)
    return lambda R: np.where(observed, spectrum.solve(R, alpha), 0)


def _nearest_kronecker(
    grams: list[Gram], outputs: list[np.ndarray], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Weights a, b >= 0 for which (sum a_m K_m) ⊗ (sum b_m B_m) is closest to sum K_m ⊗ B_m.

    In the Frobenius norm, with K_m seen on a sample: the leading singular pair of
    sum vec(K_m) vec(B_m)' (Van Loan & Pitsianis 1993).
    """
    n = len(grams[0])
    chosen = np.sort(rng.choice(n, size=min(n, _SAMPLE), replace=False))
    blocks = np.stack([K.block(chosen, chosen).ravel() for K in grams]).astype(float)
    flat = np.stack([B.ravel() for B in outputs])
    S, Q = blocks @ blocks.T, flat @ flat.T
    values, vectors = np.linalg.eig(Q @ S)
    a = np.abs(vectors[:, np.argmax(values.real)].real)
    a /= np.sqrt(a @ S @ a) or 1.0
    return a, S @ a


def _nystrom(
    K: Gram, weights: np.ndarray | None, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Approximate eigenvectors and eigenvalues of W^1/2 K W^1/2, from some columns of K."""
    n = len(K)
    chosen = np.sort(rng.choice(n, size=min(n, int(max(10, 4 * np.sqrt(n)))), replace=False))
    columns = K.block(np.arange(n), chosen).astype(float)
    core = columns[chosen]
    core.flat[:: len(core) + 1] += 1e-12 * np.trace(core)
    rows = side(*columns.shape, len(core))
    F = lapack(rows, solve_lower, lapack(len(core), np.linalg.cholesky, core), columns.T).T
    F = F if weights is None else np.sqrt(weights)[:, None] * F
    U, singular, _ = lapack(rows, np.linalg.svd, F, full_matrices=False)
    return U, singular**2
