"""Hilbert-Schmidt operators between RKHSs: rank-one operators, covariances, and their spectra."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..data import Data, length
from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..gram.tiles import TILE, run, slices
from ..kernels.base import Kernel
from .frames import Family, Features, Frame, combine, dense, orthonormal
from .function import RKHSFunction, require_same_space
from .vector import Vector


class Term(NamedTuple):
    """sum_i w_i F_i (x) G_i, with the F_i in one RKHS and the G_i in another."""

    left: Frame
    weights: np.ndarray
    right: Frame


class HSOperator(Vector):
    r"""An operator of finite rank from one RKHS to another.

    .. math:: C = \sum_{i} w_i\, F_i \otimes G_i : H_Y \to H_X, \qquad
              C g = \sum_i w_i \langle G_i, g \rangle F_i

    where F_i and G_i are functions, or features of samples. Made by :func:`outer`,
    :func:`covariance`, :func:`cross_covariance` or :meth:`from_matrix`, and then applied to
    functions (``C(g)``), added, scaled, composed (``C @ D``) and transposed (``C.T``, the
    adjoint).

    Parameters
    ----------
    *terms : Term
        Triples (F, w, G), added up.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, covariance
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 4.0], [2.0, 4.0]])
    >>> C = covariance(Linear(), X)
    >>> C
    HSOperator(rank <= 4, k = Linear())
    >>> C.singular_values().round(4)  # the variances of the two columns
    array([4., 1.])
    >>> f = Linear().at([1.0, 1.0])
    >>> round(C.bilinear(f, f), 4)  # the variance of f(X)
    5.0

    References
    ----------
    Gretton, Bousquet, Smola & Schölkopf, *Measuring statistical dependence with Hilbert-Schmidt
    norms*, ALT 2005.
    """

    __array_ufunc__ = None  # a NumPy scalar times C is C scaled, not an array

    def __init__(self, *terms: Term) -> None:
        self.terms = terms
        self.kernel_x, self.kernel_y = terms[0].left.kernel, terms[0].right.kernel
        for term in terms[1:]:
            require_same_space(self.kernel_x, term.left.kernel)
            require_same_space(self.kernel_y, term.right.kernel)

    @classmethod
    def from_matrix(
        cls, kernel_x: Kernel, X: Data, A: Any, kernel_y: Kernel, Y: Data
    ) -> HSOperator:
        """sum_ij A[i, j] k(x_i, .) (x) l(y_j, .) for a matrix A."""
        A = np.asarray(A, dtype=np.float64)
        if A.shape != (length(X), length(Y)):
            raise ValueError(
                f"from_matrix: A must have one row per sample of X and one column per sample of "
                f"Y, shape ({length(X)}, {length(Y)}), got {A.shape}."
            )
        left = Family(Features(kernel_x, X).combine(A))
        return cls(Term(left, np.ones(A.shape[1]), Features(kernel_y, Y)))

    # ---- an operator ---------------------------------------------------------------------
    def __call__(self, g: RKHSFunction) -> RKHSFunction:
        """The function C g."""
        require_same_space(self.kernel_y, g.kernel)
        parts: Any = [t.left.combine(_scaled(t.weights, t.right.along(g))) for t in self.terms]
        return sum(parts[1:], start=parts[0])

    @property
    def T(self) -> HSOperator:
        """The adjoint C*, with <f, C g> = <C* f, g>."""
        return HSOperator(*(Term(t.right, t.weights, t.left) for t in self.terms))

    def bilinear(self, f: RKHSFunction, g: RKHSFunction) -> Any:
        """<f, C g>; for a centred cross-covariance, the covariance of f(X) and g(Y)."""
        pairs = [t.left.along(f).T @ _scaled(t.weights, t.right.along(g)) for t in self.terms]
        total = np.sum(pairs, axis=0)
        return float(total) if np.ndim(total) == 0 else total

    def __matmul__(self, other: Any) -> HSOperator:
        if not isinstance(other, HSOperator):
            return NotImplemented
        require_same_space(self.kernel_y, other.kernel_x)
        return HSOperator(*(_compose(a, b) for a in self.terms for b in other.terms))

    def trace(self) -> float:
        """The trace of an operator from a space to itself: sum_i w_i <G_i, F_i>."""
        require_same_space(self.kernel_x, self.kernel_y)
        total, step = 0.0, 64
        for F, w, G in self.terms:
            block = F.products(G)
            for rows in slices(F.size, step):
                total += float(w[rows] @ np.diagonal(block(rows, rows)))
        return total

    # ---- a vector ------------------------------------------------------------------------
    def hs_inner(self, other: HSOperator) -> float:
        """The Hilbert-Schmidt inner product <C, D> = tr(C* D)."""
        require_same_space(self.kernel_x, other.kernel_x)
        require_same_space(self.kernel_y, other.kernel_y)
        return sum(_hs_inner(a, b) for a in self.terms for b in other.terms)

    def hs_norm(self) -> float:
        """The Hilbert-Schmidt norm; squared, the sum of all squared singular values.

        Of a centred cross-covariance the square is HSIC, tr(K H L H) / n^2; of the difference of
        two operators, their squared distance.
        """
        return float(np.sqrt(max(self.hs_inner(self), 0.0)))

    def __add__(self, other: Any) -> HSOperator:
        if not isinstance(other, HSOperator):
            return NotImplemented
        return HSOperator(*self.terms, *other.terms)

    def _times(self, factor: float) -> HSOperator:
        return HSOperator(*(t._replace(weights=t.weights * factor) for t in self.terms))

    # ---- its spectrum --------------------------------------------------------------------
    def singular_functions(
        self, k: int | None = None
    ) -> tuple[RKHSFunction, np.ndarray, RKHSFunction]:
        """The singular value decomposition C = sum_j s_j u_j (x) v_j, its k largest terms.

        Returns
        -------
        u, s, v : RKHSFunction, array, RKHSFunction
            ``u[j]`` and ``v[j]`` have norm 1; all non-zero s_j, in descending order, unless k is
            smaller. Costs O(r^3) for r terms F_i (x) G_i.
        """
        (U, s, Vt), S, R = self._svd(vectors=True)
        kept = _significant(s)[:k]
        u = combine([t.left for t in self.terms], S @ U[:, kept])
        v = combine([t.right for t in self.terms], R @ Vt.T[:, kept])
        return u, s[kept], v

    def singular_values(self, k: int | None = None) -> np.ndarray:
        """The k largest singular values, all non-zero ones by default, in descending order."""
        s = self._svd(vectors=False)[0]
        return s[_significant(s)[:k]]

    def norm(self) -> float:
        """The operator norm, the largest singular value.

        Of a centred cross-covariance this is the largest covariance of f(X) and g(Y) over f and g
        of norm 1, the constrained covariance COCO, 1/n included.
        """
        return float(self.singular_values(1).sum())

    def eigenfunctions(self, k: int | None = None) -> tuple[np.ndarray, RKHSFunction]:
        """The k eigenvalues largest in size, and eigenfunctions of norm 1, of a self-adjoint C.

        For a covariance these are the kernel principal components: the eigenvalues are d_j / n
        with d_j those of H K H.
        """
        require_same_space(self.kernel_x, self.kernel_y)
        frames = list({id(F): F for t in self.terms for F in (t.left, t.right)}.values())
        starts = np.cumsum([0] + [F.size for F in frames])
        place = {id(F): slice(i, i + F.size) for F, i in zip(frames, starts, strict=False)}
        Q, S = orthonormal(frames)
        core = np.zeros((Q.shape[1], Q.shape[1]))
        for F, w, G in self.terms:
            core += Q[place[id(F)]].T @ (w[:, None] * Q[place[id(G)]])
        if np.abs(core - core.T).max(initial=0) > 1e-8 * np.abs(core).max(initial=0):
            raise ValueError(
                "eigenfunctions: the operator is not self-adjoint; use singular_functions."
            )
        values, V = lapack(len(core), eigh, (core + core.T) / 2)
        order = np.argsort(-np.abs(values), kind="stable")
        kept = order[_significant(np.abs(values[order]))[:k]]
        return values[kept], combine(frames, S @ V[:, kept])

    def _svd(self, vectors: bool) -> Any:
        """SVD of C in orthonormal bases of the two spans, and these bases."""
        lefts, rights = [t.left for t in self.terms], [t.right for t in self.terms]
        Q, S = orthonormal(lefts)
        symmetric = all(t.left is t.right for t in self.terms)
        P, R = (Q, S) if symmetric else orthonormal(rights)
        core = Q.T @ (np.concatenate([t.weights for t in self.terms])[:, None] * P)
        how = {"full_matrices": False, "compute_uv": vectors}
        found = lapack(min(core.shape), np.linalg.svd, core, **how)
        return found, S, R

    def __repr__(self) -> str:
        rank = sum(t.left.size for t in self.terms)
        same = self.kernel_x == self.kernel_y
        source = "" if same else f", from the space of k = {self.kernel_y!r}"
        return f"HSOperator(rank <= {rank}, k = {self.kernel_x!r}{source})"


def outer(f: RKHSFunction, g: RKHSFunction) -> HSOperator:
    """The rank-one operator f (x) g, with (f (x) g) h = <g, h> f.

    For families of T functions each, the sum of f[t] (x) g[t].

    Examples
    --------
    >>> from mercer import Gaussian, outer
    >>> k = Gaussian()
    >>> f, g = 2 * k.at(0.0), k.at(1.0)
    >>> round(outer(f, g).hs_norm(), 10)  # ||f|| ||g||
    2.0
    """
    left, right = Family(f), Family(g)
    if left.size != right.size:
        raise ValueError(f"outer: f holds {left.size} functions, but g holds {right.size}.")
    return HSOperator(Term(left, np.ones(left.size), right))


def covariance(kernel: Kernel, X: Data, center: bool = True) -> HSOperator:
    r"""The empirical covariance operator of a sample in H_k.

    .. math:: C = \frac1n \sum_i (\phi(x_i) - \mu) \otimes (\phi(x_i) - \mu), \qquad
              \langle f, C g \rangle = \operatorname{cov}(f(X), g(X))

    Parameters
    ----------
    kernel : Kernel
        The kernel; parameters such as "median" are computed from X.
    X : data
        The sample.
    center : bool
        Subtract the mean feature mu; without, <f, C g> is the mean of f(X) g(X).

    Examples
    --------
    >>> from mercer import Gaussian, covariance
    >>> values, functions = covariance(Gaussian(), [0.0, 1.0, 2.0]).eigenfunctions(1)
    >>> values.round(4), functions[0]
    (array([0.2882]), RKHSFunction(3 points, k = Gaussian()))
    """
    F = Features(kernel, X, center)
    return HSOperator(Term(F, np.full(F.size, 1 / F.size), F))


def cross_covariance(
    kernel_x: Kernel, X: Data, kernel_y: Kernel, Y: Data, center: bool = True
) -> HSOperator:
    r"""The empirical cross-covariance operator of paired samples, from H_Y to H_X.

    .. math:: C_{XY} = \frac1n \sum_i (\phi(x_i) - \mu_X) \otimes (\psi(y_i) - \mu_Y), \qquad
              \langle f, C_{XY}\, g \rangle = \operatorname{cov}(f(X), g(Y))

    Parameters
    ----------
    kernel_x, kernel_y : Kernel
        The kernels of the two spaces; parameters such as "median" are computed from X and Y.
    X, Y : data
        The samples: y_i belongs to x_i.
    center : bool
        Subtract the mean features; without, <f, C g> is the mean of f(X) g(Y).

    Examples
    --------
    >>> from mercer import Linear, cross_covariance
    >>> C = cross_covariance(Linear(), [[0.0], [2.0]], Linear(), [[1.0], [5.0]])
    >>> round(C.hs_norm(), 10)  # the covariance of the two numbers, in size
    2.0

    References
    ----------
    Gretton, Bousquet, Smola & Schölkopf, *Measuring statistical dependence with Hilbert-Schmidt
    norms*, ALT 2005.
    """
    if length(X) != length(Y):
        raise ValueError(f"X and Y must be paired, got {length(X)} and {length(Y)} samples.")
    left, right = Features(kernel_x, X, center), Features(kernel_y, Y, center)
    return HSOperator(Term(left, np.full(left.size, 1 / left.size), right))


def _compose(a: Term, b: Term) -> Term:
    """(F w G*)(F' w' G'*), with the middle matrix folded into the side that becomes smaller."""
    M = _scaled(a.weights, dense(a.right, b.left)) * b.weights
    if b.left.size <= a.left.size:
        return Term(Family(a.left.combine(M)), np.ones(M.shape[1]), b.right)
    return Term(a.left, np.ones(M.shape[0]), Family(b.right.combine(M.T)))


def _hs_inner(a: Term, b: Term) -> float:
    """sum_ij w_i v_j <F_i, F'_j> <G_i, G'_j>, tile by tile."""
    first = a.left.products(b.left)
    square = a.left is a.right and b.left is b.right
    second = first if square else a.right.products(b.right)
    pairs = [(r, c) for r in slices(a.left.size, TILE) for c in slices(b.left.size, TILE)]
    jobs = [(r, c) for r, c in pairs if a is not b or c.start >= r.start]
    parts = np.zeros(len(jobs))

    def job(i: int) -> None:
        rows, cols = jobs[i]
        block = first(rows, cols)
        block = block * (block if square else second(rows, cols))
        twice = 2 if a is b and rows != cols else 1
        parts[i] = twice * (a.weights[rows] @ block @ b.weights[cols])

    run(job, range(len(jobs)))
    return float(parts.sum())


def _scaled(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    return (weights * values.T).T


def _significant(sizes: np.ndarray) -> np.ndarray:
    """The places of sizes (descending) that are not zero up to rounding."""
    return np.flatnonzero(sizes > len(sizes) * np.finfo(float).eps * sizes.max(initial=0))
