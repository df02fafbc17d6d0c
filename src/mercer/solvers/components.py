"""Principal components of features: the largest eigenvalues of a centred Gram matrix.

With sample weights w, D = diag(w) and q = sqrt(w / sum w), the scatter operator
sum_i w_i (phi_i - mu) (x) (phi_i - mu) has the eigenvalues of the n x n matrix

    A = (I - q q') D^1/2 K D^1/2 (I - q q'),

which for w = 1 is H K H. No matrix is ever centred: a product with A is one with K between two
projections.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..gram.base import Gram
from ..gram.tiles import one_blas_thread, slices
from .base import Solution
from .krylov import block_krylov
from .moments import Moments
from .tall import tall_inner, tall_product

METHODS = ("auto", "dense", "features", "krylov", "arpack", "randomized")
_SMALL = 1000  # rows up to which one dense decomposition is fastest
_MANY = 1 / 80_000  # eigenvalues, times n^2, from which it is again
_FEATURES = 4000  # more features than this are not decomposed
_EXACT, _ROUGH = 1e-10, 0.05  # relative residuals, where none is asked for
_PASSES = 500
_COPIES = 4  # matrices that a decomposition on a device takes
_STRIP = 2000  # rows of features that are centred at a time


@dataclass
class Spectrum(Solution):
    """Eigenvalues of A, largest first, and eigenvectors of unit length (``coef``).

    ``stats["residual"]`` is the largest ||A v - lambda v|| as a share of the first eigenvalue.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The eigenvalues.
    row_means : ndarray of shape (n,)
        The inner products <phi(x_i), mu>.
    trace : float
        The sum of all eigenvalues.
    rounding : float
        The error of an eigenvalue by rounding in K.
    """

    values: np.ndarray = field(default_factory=lambda: np.zeros(0))
    row_means: np.ndarray = field(default_factory=lambda: np.zeros(0))
    trace: float = 0.0
    rounding: float = 0.0


class Scatter:
    """The matrix A as an operator.

    Parameters
    ----------
    gram : Gram
        The operator K.
    weights : array of shape (n,), optional
        Sample weights >= 0, not all zero.
    """

    def __init__(self, gram: Gram, weights: np.ndarray | None = None) -> None:
        n = len(gram)
        self.gram = gram
        self.root = None if weights is None else np.sqrt(weights)
        self.mass = float(n) if weights is None else float(weights.sum())
        self.mean = np.full(n, 1 / n) if weights is None else weights / self.mass
        self.axis = np.sqrt(self.mean)

    def __len__(self) -> int:
        return len(self.gram)

    def scaled(self, V: np.ndarray) -> np.ndarray:
        """D^1/2 V."""
        return V if self.root is None else self.root[:, None] * V

    def project(self, V: np.ndarray) -> np.ndarray:
        """(I - q q') V."""
        return V - np.outer(self.axis, self.axis @ V)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        """A V; the first product also computes the row means of K, at almost no extra cost."""
        V = self.scaled(self.project(V))
        if "row_means" not in self.__dict__:
            V = np.column_stack([V, self.mean])
        product = self.gram @ V
        if "row_means" not in self.__dict__:
            self.row_means = product[:, -1].copy()
            product = product[:, :-1]
        return self.project(self.scaled(product))

    @cached_property
    def row_means(self) -> np.ndarray:
        """[<phi(x_i), mu>]: weighted means of the rows of K."""
        return self.gram @ self.mean

    @cached_property
    def squares(self) -> np.ndarray:
        """The diagonal of K."""
        return self.gram.diag().astype(np.float64)

    @cached_property
    def trace(self) -> float:
        """The sum of all eigenvalues."""
        return self.mass * float(self.mean @ (self.squares - self.row_means))

    @property
    def rounding(self) -> float:
        """The size of rounding errors in products: K may be much larger than A."""
        size = self.mass * max(float(self.mean @ self.row_means), float(self.mean @ self.squares))
        return 16 * float(np.finfo(self.gram.dtype).eps) * size

    def whole(self) -> Any:
        """A, on the device of K and in its memory; the stored array of K is used up."""
        what, to = f"the eigendecomposition of {len(self)} samples", self.gram.arrays
        K, mean, axis = self.gram.whole(what), to.put(self.mean), to.put(self.axis)
        means = K @ mean
        self.row_means = to.get(means)
        if self.root is not None:
            K *= to.put(self.root)[:, None]
            K *= to.put(self.root)[None, :]
        along = K @ axis
        along -= (axis @ along) / 2 * axis
        for rows in slices(len(K), _STRIP):
            K[rows] -= along[rows, None] * axis
            K[rows] -= axis[rows, None] * along
        return K


def principal(
    gram: Gram,
    k: int | None = None,
    weights: np.ndarray | None = None,
    *,
    method: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
    passes: int | None = None,
    rng: np.random.Generator | None = None,
) -> Spectrum:
    """The k largest eigenvalues of A, and their eigenvectors.

    Parameters
    ----------
    gram : Gram
        The operator K; its stored array, if any, is used up.
    k : int, optional
        How many; by default all.
    weights : array of shape (n,), optional
        Sample weights >= 0, not all zero.
    method : str
        One of :data:`METHODS`; "auto" decides by n, k and how K is stored.
    tol : float
        Relative residual at which iterations stop; 0 is full precision.
    max_iter : int, optional
        The most products of K with a block of vectors.
    passes : int, optional
        Their number for "randomized", which otherwise stops at a relative residual of 0.05: the
        error of an eigenvalue is of the order of its square.
    rng : numpy.random.Generator, optional
        Used to draw starting vectors.
    """
    start = time.perf_counter()
    n = len(gram)
    k = n if k is None else min(k, n)
    method = choose(gram, k) if method == "auto" else method
    iterative = method in ("krylov", "arpack", "randomized")
    if iterative and (3 * k >= n or n < 20):
        method, iterative = "dense", False  # no room for a larger space to search in
    scatter = Scatter(gram.packed() if iterative else gram, weights)
    rng = rng or np.random.default_rng(0)
    if method == "dense":
        found = _dense(scatter, k)
    elif method == "features":
        found = _features(scatter, k)
    elif method == "arpack":
        found = _arpack(scatter, k, tol, max_iter, rng)
    else:
        rough = method == "randomized"
        tol = tol or (_ROUGH if rough else _EXACT)
        with one_blas_thread():  # products run on our own pool, and all else is small
            found = _krylov(scatter, k, tol, max_iter, passes if rough else None, rough, rng)
    found.row_means, found.trace = scatter.row_means, scatter.trace
    found.rounding = scatter.rounding
    found.stats |= {"method": method, "seconds": time.perf_counter() - start}
    return found


def choose(gram: Gram, k: int) -> str:
    """The method for the k largest eigenvalues: "dense", "features" or "krylov"."""
    n = len(gram)
    if gram.rank is not None and gram.rank <= min(n, _FEATURES):
        return "features"
    stored = not gram.matrix_free or gram.fits(_COPIES)
    many = k > _MANY * n**2 and stored
    small = n <= _SMALL and stored
    return "dense" if small or many else "krylov"


def _dense(scatter: Scatter, k: int) -> Spectrum:
    n = len(scatter)
    s, U = scatter.gram.arrays.eigh(scatter.whole(), None if k == n else k)
    return Spectrum(U[:, ::-1], stats={"residual": n * float(np.finfo(float).eps)}, values=s[::-1])


def _features(scatter: Scatter, k: int) -> Spectrum:
    """From the scatter of explicit features Phi: A = F F' with F = D^1/2 (Phi - mean)."""
    phi: Any = scatter.gram.features
    weights = None if scatter.root is None else scatter.root**2
    moments = Moments.empty(phi.shape[1]).update(phi, weights)
    s, V = moments.axes(k)
    scores = np.asarray(phi @ V) - moments.mean @ V
    found = s > len(s) * np.finfo(float).eps * max(s[0], 0.0)
    U = scatter.scaled(scores) * np.divide(1, np.sqrt(np.maximum(s, 0)), where=found, out=0 * s)
    residual = phi.shape[1] * float(np.finfo(float).eps)
    return Spectrum(U, stats={"residual": residual}, values=np.where(found, s, 0.0))


def _arpack(
    scatter: Scatter, k: int, tol: float, max_iter: int | None, rng: np.random.Generator
) -> Spectrum:
    from scipy.sparse.linalg import LinearOperator, eigsh

    n = len(scatter)
    A = LinearOperator((n, n), matvec=lambda v: scatter @ v.reshape(n, 1), dtype=np.float64)
    start = rng.uniform(-1, 1, n)
    s, U = eigsh(A, k, which="LA", tol=tol, maxiter=max_iter, v0=start)
    s, U = s[::-1], U[:, ::-1]
    worst = np.linalg.norm(scatter @ U - U * s, axis=0).max() / max(s[0], np.finfo(float).tiny)
    return Spectrum(U, stats={"residual": float(worst)}, values=s)


def _krylov(
    scatter: Scatter,
    k: int,
    tol: float,
    max_iter: int | None,
    passes: int | None,
    rough: bool,
    rng: np.random.Generator,
) -> Spectrum:
    """Few vectors in a block if K is stored, many if every product recomputes it."""
    n = len(scatter)
    wide = rough or scatter.gram.matrix_free
    size = min(k + 10 if wide else max(16, k // 4), (n - k) // 4)
    found = block_krylov(
        scatter.__matmul__,
        _start(scatter, k, size, rng),
        k,
        tol=-1.0 if passes else tol,
        most=passes or max_iter or _PASSES,
        noise=lambda: -1.0 if passes else scatter.rounding,
    )
    first = max(float(found.values[0]), np.finfo(float).tiny)
    worst = float(found.residuals.max(initial=0.0)) / first
    converged = found.converged or passes is not None
    message = "solved"
    if not converged:
        message = (
            f"the eigenvalue solver stopped after {found.passes} products at a relative residual "
            f"of {worst:.1e}; raise max_iter or tol, or ask for fewer components."
        )
    stats = {"residual": worst, "block": size}
    return Spectrum(found.vectors, converged, found.passes, message, stats, values=found.values)


def _start(scatter: Scatter, k: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """A block rich in the leading eigenvectors, from random columns of K (Nyström)."""
    n = len(scatter)
    count = min(n, max(200, 4 * (k + 10)))
    chosen = np.sort(rng.choice(n, count, replace=False))
    columns = scatter.gram.block(np.arange(n), chosen).astype(np.float64)
    s, E = sla.eigh(columns[chosen], check_finite=False)
    kept = s > 1e-10 * max(s[-1], 0.0)
    F = scatter.scaled(tall_product(columns, E[:, kept] / np.sqrt(s[kept])))
    del columns
    F -= np.outer(scatter.axis, scatter.axis @ F)
    lead = min(F.shape[1], max(k + 10, size))
    Q = F[:, :0]
    if lead:
        ends = (F.shape[1] - lead, F.shape[1] - 1)
        _, V = sla.eigh(tall_inner(F, F), subset_by_index=ends, check_finite=False)
        Q = tall_product(F, V @ rng.standard_normal((lead, size)) if lead > size else V)
    return np.column_stack([Q, rng.standard_normal((n, size - Q.shape[1]))])
