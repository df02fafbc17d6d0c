"""The largest eigenvalues of a product of two symmetric operators, by a block Krylov method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

Operator = Callable[[np.ndarray], np.ndarray]

_EXTRA = 6  # columns of a block beyond the eigenvectors asked for
_MEMORY = 256e6  # bytes the basis and its image may take
_NEGLIGIBLE = 1e-12  # columns this small, relative to the operator, are rounding errors
_DEPENDENT = 1e-12  # the squared sine of an angle below which a column depends on others
_ROUNDING = 1e-14  # relative errors of P u


@dataclass
class Eigenpairs:
    """The largest eigenvalues with their vectors, and how good they are.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Eigenvalues, largest first.
    vectors, images : ndarray of shape (size, k)
        Eigenvectors u with u' P u = 1, and P u.
    residual : float
        The largest norm of E P u - value u in the inner product of P, relative to the largest
        value: each value is within this of an eigenvalue.
    n_iter : int
        Blocks the space was made of.
    converged : bool
        Is the residual below the tolerance?
    """

    values: np.ndarray
    vectors: np.ndarray
    images: np.ndarray
    residual: float
    n_iter: int
    converged: bool


def largest_eigenpairs(
    outer: Operator,
    metric: Operator,
    size: int,
    k: int,
    *,
    tol: float = 1e-10,
    most: int = 600,
) -> Eigenpairs:
    """The k largest eigenvalues of E P for symmetric E and positive semi-definite P.

    E P is symmetric in the inner product u' P v, so the Rayleigh-Ritz method works in the space
    spanned by V, E P V, (E P)^2 V, ... for a random block V. Every block is made orthogonal to
    all before it, twice. The start is fixed: the same problem has the same answer.

    Parameters
    ----------
    outer, metric : callable
        E and P: from blocks of shape (size, b) to blocks of the same shape.
    size : int
        The order of E and P.
    k : int
        The number of eigenvalues.
    tol : float
        The residual, relative to the largest eigenvalue, at which to stop.
    most : int
        The largest dimension of the space.

    References
    ----------
    Parlett, *The Symmetric Eigenvalue Problem*, 1998, chapter 13.
    """
    width = min(size, k + _EXTRA)
    most = max(2 * width, min(most, size, int(_MEMORY / (16 * size))))
    basis = _Basis(metric, size, most + width)
    T = np.zeros((most + width, most + width))
    basis.append(np.random.default_rng(0).standard_normal((size, width)), 0.0)
    check, n_iter, scale, last = 2, 0, 0.0, slice(0, basis.end)
    while True:
        n_iter += 1
        end = basis.end
        W, T[:end, last] = basis.orthogonal(outer(basis.PV[:, last]))
        scale = max(scale, float(np.abs(T[:end, last]).max()))
        coupling = basis.append(W, scale)
        done = end + width > most or not len(coupling)
        if n_iter >= check or done:
            check = int(np.ceil(1.25 * n_iter))
            values, Y = _ritz(T[:end, :end], k)
            left = float(np.linalg.norm(coupling @ Y[last], axis=0).max())
            residual = left / max(abs(values[0]), 1e-300)
            if residual <= tol or done:
                break
        T[end : basis.end, last] = coupling
        last = slice(end, basis.end)
    vectors, images = basis.V[:, :end] @ Y, basis.PV[:, :end] @ Y
    return Eigenpairs(values, vectors, images, residual, n_iter, residual <= tol)


class _Basis:
    """Columns V with V' P V = I, and P V."""

    def __init__(self, metric: Operator, size: int, most: int) -> None:
        self.metric = metric
        self.V = np.empty((size, most), order="F")
        self.PV = np.empty((size, most), order="F")
        self.end = 0
        self._norm = 0.0  # of P, as far as it has been seen

    def orthogonal(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """W without its part in the basis, and the coefficients of that part."""
        V, PV = self.V[:, : self.end], self.PV[:, : self.end]
        H = PV.T @ W
        W = W - V @ H
        again = PV.T @ W  # rounding errors of the first pass
        W -= V @ again
        return W, H + again

    def append(self, W: np.ndarray, scale: float) -> np.ndarray:
        """Add an orthonormal basis N of the columns of W, and return C of W = N C.

        Columns are left out that are rounding errors: next to ``scale``, which is the size of the
        operator, or because P takes them to zero. So are those that depend on others.
        """
        PW = self.metric(W)
        squares, plain = np.einsum("ij,ij->j", W, PW), np.einsum("ij,ij->j", W, W)
        sizes = np.sqrt(np.einsum("ij,ij->j", PW, PW) / np.maximum(plain, 1e-300))
        self._norm = max(self._norm, float(sizes.max()))
        noise = np.maximum((_NEGLIGIBLE * scale) ** 2, _ROUNDING * self._norm * plain)
        some = squares > noise
        C = np.zeros((0, len(some)))
        if some.any():
            roots = np.sqrt(squares[some])
            W, PW = W[:, some] / roots, PW[:, some] / roots
            squares, Z = sla.eigh(W.T @ PW, check_finite=False)
            Z = Z[:, squares > _DEPENDENT]
            lengths = np.sqrt(squares[squares > _DEPENDENT])
            new = slice(self.end, self.end + len(lengths))
            self.V[:, new] = W @ (Z / lengths)
            self.PV[:, new] = PW @ (Z / lengths)
            self.end = new.stop
            C = np.zeros((len(lengths), len(some)))
            C[:, some] = lengths[:, None] * Z.T * roots
        return C


def _ritz(T: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues and vectors of the projected matrix, largest first."""
    c = len(T)
    values, Y = sla.eigh((T + T.T) / 2, subset_by_index=(max(c - k, 0), c - 1), check_finite=False)
    return values[::-1], Y[:, ::-1]
