"""Few samples that span all features: functions of a kernel with M features need at most M."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_dense, take
from ..engine.lapack import lapack
from ..engine.routines import eigh, qr_with_pivots, solve_lower
from ..ownership import owned
from .tiles import slices

_STRIP = 4096  # samples whose features are used at a time
_RESOLVED = 1e-8  # of the longest direction: shorter ones, and rounding divided by it, are small
_SPARE = 256  # candidates beyond the number of samples that are looked for


class Span(ABC):
    """A few samples z_j with span{k(z_j, .)} = span{k(x_i, .)}, to rounding.

    Parameters
    ----------
    gram : Gram
        The operator of all samples, a product of features.
    """

    def __init__(self, gram: Any) -> None:
        self.gram = gram

    @abstractmethod
    def points(self, X: Data) -> Data:
        """The few samples; X are all, as they were given."""

    @abstractmethod
    def combine(self, weights: np.ndarray) -> np.ndarray:
        """Coefficients a with sum_j a_j k(z_j, .) = <w, phi(.)>, for weights of shape (M, t)."""

    def express(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients a with sum_j a_j k(z_j, .) = sum_i c_i k(x_i, .), for each column of c."""
        found = self.combine(self._adjoint(coef.reshape(len(coef), -1)))
        found = found.astype(coef.dtype, copy=False)
        return found[:, 0] if coef.ndim == 1 else found

    def _adjoint(self, C: np.ndarray) -> np.ndarray:
        """Phi' c."""
        return self.gram.adjoint(C)

    def moments(self, sample_weight: np.ndarray | None) -> np.ndarray:
        """Phi' W Phi, in double precision."""
        return self.gram.moments(sample_weight)

    def axes(self, moments: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of Phi' W Phi, and its unit eigenvectors u as functions <u, phi(.)>.

        The functions are given by their coefficients, one column each. Eigenvalues that are
        rounding are zero.
        """
        s, U = lapack(len(moments), eigh, moments)
        s = np.where(s > len(s) * np.finfo(float).eps * s.max(), s, 0.0)
        return s, self._resolved(U)

    def _resolved(self, weights: np.ndarray) -> np.ndarray:
        """As :meth:`combine`, of unit vectors: values of the functions are not to be rounding."""
        return self.combine(weights)


class LandmarkSpan(Span):
    """The landmarks of a Nystrom kernel k_m: k_m(z, .) = k(z, .) for each of them."""

    def points(self, X: Data) -> Data:
        return owned(self._kernel.reference)

    def combine(self, weights: np.ndarray) -> np.ndarray:
        return self._kernel.combine(weights).coef

    @property
    def _kernel(self) -> Any:
        return self.gram.kernel


class SampleSpan(Span):
    """Samples whose features are a basis of those of all."""

    @cached_property
    def places(self) -> np.ndarray:
        """Where they are among all samples, in increasing order."""
        return independent_rows(self.gram.phi)

    def points(self, X: Data) -> Data:
        return take(X, self.places)

    def combine(self, weights: np.ndarray) -> np.ndarray:
        Q, R = self._factors
        if not np.all(np.diagonal(R)):  # all features are zero
            return np.zeros((len(R), weights.shape[1]))
        return lapack(len(R), solve_lower, R.T, Q.T @ weights, transposed=True)

    def _resolved(self, weights: np.ndarray) -> np.ndarray:
        """Without directions that features hardly have, for which coefficients would be huge."""
        Q, R = self._factors
        turn, T, pivots = lapack(len(R), qr_with_pivots, R)
        sizes = np.abs(np.diagonal(T))
        rank = max(int(np.sum(sizes > _RESOLVED * sizes[0])), 1)
        found = np.zeros((len(R), weights.shape[1]))
        if sizes[0] > 0:
            turned = (Q @ turn[:, :rank]).T @ weights
            corner = T[:rank, :rank].T
            found[pivots[:rank]] = lapack(rank, solve_lower, corner, turned, transposed=True)
        return found

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Q R = Phi', of the few samples."""
        rows = as_dense(self.gram.phi[self.places])
        return tuple(lapack(len(rows), np.linalg.qr, rows.astype(np.float64).T))


def independent_rows(phi: Any) -> np.ndarray:
    """Places of rows of an array or CSR matrix that are a basis of the span of all, to rounding.

    QR with pivots of some rows, drawn at random with a fixed seed; then of rows that are not in
    their span, until there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram.span import independent_rows
    >>> len(independent_rows(np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 0.0], [3.0, 6.0]])))
    1
    """
    n, m = phi.shape
    order = np.random.default_rng(0).permutation(n)
    missing = np.eye(m)  # an orthonormal basis of what the rows found so far do not span
    sizes = _row_norms(phi, None)
    rounding = float(np.finfo(np.result_type(phi.dtype, np.float32)).eps)
    tol = m * rounding * float(sizes.max(initial=0.0))
    places = np.empty(0, dtype=int)
    while missing.shape[1]:
        outside = order[sizes[order] > tol]
        if not len(outside):
            break
        some = outside[: missing.shape[1] + _SPARE]
        rows = np.asarray(lapack(len(some), operator.matmul, phi[some], missing))
        Q, R, pivots = lapack(len(rows), qr_with_pivots, rows.T)
        rank = int(np.sum(np.abs(np.diagonal(R)) > tol))
        places = np.concatenate([places, some[pivots[:rank]]])
        missing = lapack(m, operator.matmul, missing, Q[:, rank:])
        sizes = _row_norms(phi, missing)
    return np.sort(places) if len(places) else np.zeros(1, dtype=int)  # f = 0 needs a sample, too


def _row_norms(phi: Any, basis: np.ndarray | None) -> np.ndarray:
    """Lengths of the rows, or of their projections on a subspace."""
    norms = np.zeros(phi.shape[0])
    for rows in slices(len(norms), _STRIP):
        part: Any = phi[rows] if basis is None else np.asarray(phi[rows] @ basis)
        squares = part.multiply(part) if sp.issparse(part) else np.square(part, dtype=np.float64)
        norms[rows] = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    return norms
