"""Canonical correlations of two or more views, without the matrix of all views at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..exceptions import ConvergenceWarning, warn
from ..gram.tiles import one_blas_thread, run
from .krylov_product import Operator, largest_eigenpairs
from .views import FactorView, Smoother, View, shrinkage

_DIRECT = 500  # samples up to which every view is decomposed
_LAPACK = 600  # order up to which LAPACK finds all eigenvalues
_LARGEST = 6000  # order up to which it is called after the Krylov method has failed


class ReducedProblem:
    """The problem in terms of the principal components of every view.

    With A_m = U_m diag(s_m) U_m' and w_m = :func:`~mercer.solvers.views.shrinkage` of s_m, the
    regularised correlation matrix R has identities on its diagonal, and off it the blocks
    diag(w_i) U_i' U_j diag(w_j). Its order is the sum of the ranks.

    Parameters
    ----------
    s : list of ndarray
        The variances of the principal components of each view.
    cross : mapping
        U_i' U_j by (i, j), for all i < j.
    """

    def __init__(self, s: list[np.ndarray], cross: Mapping[tuple[int, int], np.ndarray]) -> None:
        self.s, self.cross = s, cross

    def largest(
        self, regularization: Sequence[float], k: int, form: str
    ) -> tuple[np.ndarray, list[np.ndarray]]:
        """The k largest eigenvalues of R - I; the parts of the eigenvectors in each view.

        Together the parts of a vector have the squared norm M; of two views, 1 each.
        """
        most = min(map(len, self.s))
        if k > most:
            raise ValueError(
                f"n_components must be at most {most}, the smallest rank of a (centred) view, got "
                f"{k}."
            )
        if len(self.s) == 2:
            left, values, right = _singular(self._blocks(regularization, form)[0, 1], k)
            return values, [left, right]
        R = self.correlation_matrix(regularization, form)
        R.flat[:: len(R) + 1] = 0
        values, Z = _eigen(R, k)
        ends = np.cumsum([len(s) for s in self.s])[:-1]
        return values, np.split(Z * np.sqrt(len(self.s)), ends)

    def correlation_matrix(self, regularization: Sequence[float], form: str) -> np.ndarray:
        """R itself."""
        at = np.cumsum([0, *map(len, self.s)])
        R = np.eye(at[-1])
        for (i, j), block in self._blocks(regularization, form).items():
            R[at[i] : at[i + 1], at[j] : at[j + 1]] = block
            R[at[j] : at[j + 1], at[i] : at[i + 1]] = block.T
        return R

    def log_det(self, regularization: Sequence[float], form: str) -> float:
        """log det R; -inf where R is singular."""
        if len(self.s) == 2:
            X = self._blocks(regularization, form)[0, 1]
            X = X if X.shape[0] <= X.shape[1] else X.T
            R = np.eye(len(X)) - X @ X.T
        else:
            R = self.correlation_matrix(regularization, form)
        try:
            L = lapack(len(R), np.linalg.cholesky, R)
        except np.linalg.LinAlgError:
            return -np.inf
        return 2 * float(np.log(np.diagonal(L)).sum())

    def smallest(self, regularization: Sequence[float], form: str) -> float:
        """The smallest eigenvalue of R, between 0 and 1."""
        R = self.correlation_matrix(regularization, form)
        R *= -1
        R.flat[:: len(R) + 1] = 0
        return 1 - float(_eigen(R, 1)[0][0])

    def _blocks(
        self, regularization: Sequence[float], form: str
    ) -> dict[tuple[int, int], np.ndarray]:
        pairs = zip(self.s, regularization, strict=True)
        w = [shrinkage(s, r, form) for s, r in pairs]
        return {(i, j): w[i][:, None] * Q * w[j] for (i, j), Q in self.cross.items()}


@dataclass
class CanonicalSolution:
    """Eigenvalues and functions, with a certificate.

    Attributes
    ----------
    eigenvalues : ndarray of shape (k,)
        The largest mu; for two views, the canonical correlations.
    coefs : list of ndarray
        The functions of each view, one column per eigenvalue.
    method : str
        ``"direct"`` or ``"krylov"``.
    residual : float
        The relative residual of the Krylov method; 0 for a direct one.
    converged : bool
        Whether the requested accuracy was reached.
    """

    eigenvalues: np.ndarray
    coefs: list[np.ndarray]
    method: str
    residual: float = 0.0
    converged: bool = True

    def warn(self) -> CanonicalSolution:
        """Warn if the solver did not converge."""
        if not self.converged:
            warn(
                "the canonical correlations are only accurate up to a residual of "
                f"{self.residual:.1e}; a larger regularization or fewer n_components converge "
                "faster, and a rank makes the problem smaller.",
                ConvergenceWarning,
            )
        return self


class CanonicalProblem:
    r"""The generalised eigenproblem of canonical correlation analysis for M >= 2 views.

    .. math:: \begin{pmatrix} 0 & A_1 A_2 & \cdots \\ A_2 A_1 & 0 & \cdots \\ \vdots & & \ddots
              \end{pmatrix} z = \mu \begin{pmatrix} B_1 & & \\ & B_2 & \\ & & \ddots
              \end{pmatrix} z

    with A_m of :mod:`mercer.solvers.views` and B_m = A_m^2 + r_m A_m or (A_m + r_m I / 2)^2.
    The Mn x Mn matrices are never formed. Small or factorised views are decomposed, which leaves
    a :class:`ReducedProblem` for every r. Large Gram matrices are not: with P_m = A_m^2 B_m^-1,
    the mu^2 of two views are the eigenvalues of P_1 P_2, and two Cholesky factors and a Krylov
    space give the largest of them; and similarly for more views.

    Parameters
    ----------
    views : sequence of View
        The views, of the same samples with the same weights.

    References
    ----------
    Bach & Jordan, *Kernel independent component analysis*, JMLR 2002.
    """

    def __init__(self, views: Sequence[View]) -> None:
        self.views = list(views)
        self.n = views[0].n

    @cached_property
    def reduced(self) -> ReducedProblem:
        """The problem after every view has been decomposed, on all cores."""
        run(lambda view: view.spectrum, self.views)
        U = [view.spectrum.U for view in self.views]
        M = len(U)
        cross = {(i, j): U[i].T @ U[j] for i in range(M) for j in range(i + 1, M)}
        return ReducedProblem([view.spectrum.s for view in self.views], cross)

    def solve(self, regularization: Sequence[float], k: int, form: str) -> CanonicalSolution:
        """The k largest eigenvalues and their functions.

        The functions of one eigenvalue have regularised variances z' B z that sum up to M; of two
        views, both are 1.

        Parameters
        ----------
        regularization : sequence of M floats
            The r of each view, >= 0.
        k : int
            How many.
        form : {"ridge", "squared"}
            Which B.
        """
        solution = None
        if self._large(regularization):
            smoothers = self._smoothers(regularization, form)
            find = self._two if len(smoothers) == 2 else self._several
            with one_blas_thread():  # many short calls: threads would wait for each other
                solution = find(smoothers, k)
        if solution is None:
            reduced = self.reduced
            with one_blas_thread():
                values, E = reduced.largest(regularization, k, form)
            coefs = [
                view.coef(e, shrinkage(view.spectrum.s, r, form))
                for view, e, r in zip(self.views, E, regularization, strict=True)
            ]
            solution = CanonicalSolution(values, coefs, "direct")
        fix_signs(solution.coefs)
        return solution

    def smallest(self, regularization: Sequence[float], form: str) -> float:
        """The smallest eigenvalue of the regularised correlation matrix, between 0 and 1."""
        if len(self.views) == 2:
            return 1 - float(self.solve(regularization, 1, form).eigenvalues[0])
        return self.reduced.smallest(regularization, form)

    def log_det(self, regularization: Sequence[float], form: str) -> float:
        """log det of the regularised correlation matrix; of two views, that of I - P_2 P_1."""
        if len(self.views) == 2 and self._large(regularization):
            first, second = self._smoothers(regularization, form)
            product = second.values(first.values(np.eye(self.n)))
            return float(lapack(self.n, np.linalg.slogdet, np.eye(self.n) - product)[1])
        return self.reduced.log_det(regularization, form)

    def _large(self, regularization: Sequence[float]) -> bool:
        """Are there Gram matrices that are better not decomposed?"""
        thin = all(isinstance(view, FactorView) for view in self.views)
        return not thin and self.n > _DIRECT and min(regularization) > 0

    def _smoothers(self, regularization: Sequence[float], form: str) -> list[Smoother]:
        found: dict[int, Smoother] = {}

        def one(m: int) -> None:
            found[m] = self.views[m].smoother(regularization[m], form)

        run(one, range(len(self.views)))
        return [found[m] for m in range(len(self.views))]

    def _two(self, smoothers: list[Smoother], k: int) -> CanonicalSolution | None:
        """By the eigenvalues of P_1 P_2; None where a decomposition has to take over."""
        first, second = smoothers
        found = largest_eigenpairs(first.values, second.values, self.n, k)
        if not found.converged or len(found.values) < k or _vanishing(found.values):
            return None
        values = np.sqrt(found.values)
        coefs = [first.coef(found.images / values), second.coef(found.vectors)]
        return CanonicalSolution(values, coefs, "krylov", found.residual)

    def _several(self, smoothers: list[Smoother], k: int) -> CanonicalSolution | None:
        """By the eigenvalues of E P, P with the blocks P_m and E adding up the other views."""
        M, n = len(smoothers), self.n
        parts = [slice(m * n, (m + 1) * n) for m in range(M)]

        def smooth(V: np.ndarray) -> np.ndarray:
            out = np.empty_like(V)

            def one(m: int) -> None:
                out[parts[m]] = smoothers[m].values(V[parts[m]])

            run(one, range(M))
            return out

        def others(V: np.ndarray) -> np.ndarray:
            blocks = V.reshape(M, n, -1)
            return (blocks.sum(axis=0) - blocks).reshape(V.shape)

        found = largest_eigenpairs(others, smooth, M * n, k)
        if len(found.values) < k or (not found.converged and M * n <= _LARGEST):
            return None
        V = found.vectors * np.sqrt(M)
        coefs = [s.coef(V[part]) for s, part in zip(smoothers, parts, strict=True)]
        return CanonicalSolution(found.values, coefs, "krylov", found.residual, found.converged)


def fix_signs(coefs: list[np.ndarray]) -> None:
    """Turn the functions so that the largest coefficient in the first view is positive."""
    first = coefs[0]
    at = np.argmax(np.abs(first), axis=0)
    signs = np.where(first[at, np.arange(first.shape[1])] < 0, -1.0, 1.0)
    for coef in coefs:
        coef *= signs


def _vanishing(squares: np.ndarray) -> bool:
    """Are the last of these so small that their roots, and what is divided by them, are noise?"""
    return bool(squares[-1] <= 1e-12 * squares[0])


def _singular(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The k largest singular values of X, with left and right vectors as columns."""
    if X.shape[0] < X.shape[1]:
        right, values, left = _singular(X.T, k)
        return left, values, right
    if X.shape[1] > _LAPACK:
        found = largest_eigenpairs(lambda v: X.T @ (X @ v), _identity, X.shape[1], k)
        if found.converged and not _vanishing(found.values):
            values = np.sqrt(found.values)
            return X @ found.vectors / values, values, found.vectors
    left, values, right = lapack(X.shape[1], np.linalg.svd, X, full_matrices=False)
    return left[:, :k], values[:k], right[:k].T


def _eigen(R: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues of a symmetric matrix, with vectors as columns."""
    if len(R) > _LAPACK:
        found = largest_eigenpairs(lambda v: R @ v, _identity, len(R), k)
        if found.converged:
            return found.values, found.vectors
    values, Z = lapack(len(R), eigh, R, k)
    return values[::-1], Z[:, ::-1]


_identity: Operator = np.asarray
