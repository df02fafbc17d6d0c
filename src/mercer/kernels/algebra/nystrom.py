"""The Nyström approximation as a kernel: finitely many features, from landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...checks import is_count, is_number
from ...data import Data, Zipped, as_vectors, holds_numbers, in_double, length, take
from ...engine.lapack import lapack
from ...engine.routines import cholesky_with_pivots, solve_lower
from ...params import copy_params, one_of, parameter
from ..base import Kernel
from ..calculus import properties as prop
from ..calculus.transformed import of_through
from ..given.precomputed import Precomputed
from .anchored import AnchoredFeatures

if TYPE_CHECKING:
    from ...rkhs.function import RKHSFunction

_STRIP = 2000  # samples whose features one thread computes at a time
_LLOYD = 10_000_000  # pairs of samples and means up to which all samples are looked at each time
CHOICES = ("pivoted", "uniform", "leverage", "kmeans")


def is_rank(value: Any) -> str | None:
    """What a rank has to be, if this is not one: a number of features, or a share to lose."""
    fine = is_count(value) or (is_number(value) and 0 < value < 1)
    return None if fine else "an integer >= 1, or a number in (0, 1)"


class Basis(NamedTuple):
    """The landmarks that count, prepared, and the factor L of their Gram matrix."""

    kept: np.ndarray
    landmarks: Data
    factor: np.ndarray


@dataclass(eq=False, repr=False)
class Nystrom(AnchoredFeatures):
    r"""A kernel approximated with landmarks z_1..z_m: its Gram matrices have rank m at most.

    .. math:: k_m(x, y) = k(x, Z)\, k(Z, Z)^{+}\, k(Z, y)

    In feature space phi(x) is projected onto the span of phi(z_1)..phi(z_m). With k(Z, Z) = L L'
    the features are k(x, Z) L^-T, so every model that can use features takes O(n m^2) operations,
    on any data that k accepts, and predicts with the approximate kernel it was trained with.

    L is pivoted: landmarks whose features depend on those of the others, up to rounding, are left
    out (:attr:`dropped`).

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    reference : data, optional
        The landmarks Z. By default they are chosen from the data the kernel is resolved on, with a
        fixed seed.
    rank : int or float
        The number of landmarks or, below 1, the share of the trace of K that may be lost (for
        ``choose="pivoted"``).
    choose : {"pivoted", "uniform", "leverage", "kmeans"}
        ``"pivoted"``: by randomly pivoted Cholesky (:func:`mercer.pivoted_cholesky`), which adapts
        to the remaining error, at the cost of n m kernel values. ``"uniform"``: m samples at
        random, at no cost. ``"leverage"``: at random, in proportion to ridge leverage scores, which
        are estimated from m other samples. ``"kmeans"``: the means of m clusters of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Nystrom
    >>> X = np.linspace(0, 1, 300)[:, None]
    >>> k = Nystrom(Gaussian(0.3), rank=12).resolve(X)
    >>> k.reference.shape, bool(abs(k(X) - Gaussian(0.3)(X)).max() < 1e-6)
    ((12, 1), True)
    >>> print(k.gram(X).explain().splitlines()[0])
    LowRankGram: 300 x 300, float64, as a product of features; 28.8 kB

    References
    ----------
    Williams & Seeger, *Using the Nyström method to speed up kernel machines*, NIPS 2000.
    """

    rank: Any = parameter(500, check=is_rank)
    choose: str = one_of("pivoted", *CHOICES)
    because = "<P phi(x), P phi(y)> with the projection P onto the span of the landmarks"

    def resolve(self, X: Data) -> Kernel:
        kernel, reference = self.kernel.resolve(X), self.reference
        if reference is None:
            reference = landmarks(kernel, X, self.rank, self.choose)
        if kernel is self.kernel and reference is self.reference:
            return self
        return replace(self, kernel=kernel, reference=reference)

    def prepare(self, X: Data) -> Zipped:
        return self.extend(self.kernel.prepare(X))

    def extend(self, P: Data) -> Zipped:
        """What :meth:`prepare` returns, from data that are prepared for k."""
        from ...gram.tiles import evaluate, run, slices

        basis = self._basis()
        phi = np.ascontiguousarray(evaluate(self.kernel, P, basis.landmarks))

        # landmarks that would make L so small that dividing by it costs many digits were left out
        factor = basis.factor.astype(phi.dtype, copy=False)

        def strip(rows: slice) -> None:
            lapack(len(factor), solve_lower, factor, phi[rows].T, overwrite=True)  # in phi

        run(strip, slices(len(phi), _STRIP))
        return Zipped(P, phi)

    def combine(self, weights: np.ndarray) -> RKHSFunction:
        """The function <w, phi(.)> of k itself, with the landmarks as its centres.

        The features are orthonormal functions in H_k, so its norm there is that of the vector w;
        weights of shape (n_features, T) give T functions.
        """
        from ...rkhs.function import RKHSFunction

        basis, weights = self._basis(), np.asarray(weights, dtype=np.float64)
        coef = np.zeros((length(self.reference), *weights.shape[1:]))
        coef[basis.kept] = _solve(basis.factor, weights, transposed=True)
        return RKHSFunction(self.kernel, self.reference, coef)

    def error(self, X: Data) -> float:
        """The share of the trace of K on X that is lost: a certificate.

        K - K_m is positive semi-definite, so the trace bounds its norm, and every error of an
        eigenvalue.
        """
        P = self.prepare(X)
        whole = self.kernel.diag(P.parts[0]).sum(dtype=np.float64)
        return float(max(whole - self.diag(P).sum(dtype=np.float64), 0.0) / whole) if whole else 0.0

    @property
    def dropped(self) -> int:
        """The number of landmarks that add nothing, to rounding, to the span of the others."""
        return length(self._anchors()) - len(self._basis().kept)

    def grad_input(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        return self.kernel.grad_input(X.parts[0], self._basis().landmarks, W @ self._dual(Y))

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        """With the landmarks held fixed."""
        Z, A, B, d = self._basis().landmarks, self._dual(X), self._dual(Y), self.kernel.grad_theta
        return d(X.parts[0], Z, W @ B) + d(Y.parts[0], Z, W.T @ A) - d(Z, Z, A.T @ W @ B)

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        Z, A, d = self._basis().landmarks, self._dual(X), self.kernel.grad_theta
        weighted = w[:, None] * A
        return 2 * d(X.parts[0], Z, weighted) - d(Z, Z, A.T @ weighted)

    @property
    def properties(self) -> prop.Properties:
        return of_through(self.kernel.properties)

    def _dual(self, X: Zipped) -> np.ndarray:
        """k(x, Z) k(Z, Z)^+, one row per sample."""
        return _solve(self._basis().factor, X.parts[1].T, transposed=True).T

    def _basis(self) -> Basis:
        """Cached until the kernel or the landmarks change."""
        kernel, reference, basis = self.__dict__.get("_made", (None, None, None))
        if basis is None or reference is not self.reference or kernel != self.kernel:
            Z, double = self._anchors(), in_double(self.reference)
            exact = Z if double is self.reference else self.kernel.prepare(double)
            basis = _make_basis(self.kernel, Z, exact)
            self.__dict__["_made"] = copy_params(self.kernel), self.reference, basis
        return basis


def landmarks(kernel: Kernel, X: Data, rank: float, choose: str = "pivoted") -> Data:
    """Landmarks from data, for a resolved kernel."""
    if isinstance(kernel, Precomputed):
        raise ValueError(
            "landmarks need the kernel itself: k(z, x) cannot be computed from a precomputed "
            "matrix."
        )
    if choose == "pivoted":
        return take(X, _pivots(kernel, kernel.prepare(X), rank))
    if rank < 1:
        raise ValueError(
            f'rank={rank!r} is a share of the trace, which only choose="pivoted" can guarantee; '
            "give a number of landmarks."
        )
    n, m, rng = length(X), int(rank), np.random.default_rng(0)
    if m >= n:
        return X
    if choose == "uniform":
        return take(X, np.sort(rng.choice(n, m, replace=False)))
    if choose == "kmeans":
        return _means(kernel, X, m)
    return take(X, np.sort(rng.choice(n, m, replace=False, p=_leverage(kernel, X, m, rng))))


def _pivots(kernel: Kernel, P: Data, rank: float) -> np.ndarray:
    from ...gram.stored import TiledGram
    from ...solvers.pivoted import pivoted_cholesky

    few: dict[str, Any] = {"rank": int(rank)} if rank >= 1 else {"tol": float(rank)}
    return pivoted_cholesky(TiledGram(kernel, P), rng=0, **few).pivots


def _means(kernel: Kernel, X: Data, m: int) -> np.ndarray:
    """Means of clusters of samples, which have to be vectors."""
    from sklearn.cluster import KMeans, MiniBatchKMeans  # takes long to import

    if not (holds_numbers(X) and kernel.domain.whole.facts.numeric):
        raise ValueError(
            f'choose="kmeans" needs vectors, and {kernel!r} is on {kernel.domain}; use "pivoted".'
        )
    points = as_vectors(X, "Nystrom")
    few = length(X) * m <= _LLOYD
    method = KMeans if few else MiniBatchKMeans
    return method(m, n_init=1, random_state=0, max_iter=25).fit(points).cluster_centers_


def _leverage(kernel: Kernel, X: Data, m: int, rng: np.random.Generator) -> np.ndarray:
    """Ridge leverage scores l_i = (K (K + c I)^-1)_ii as probabilities, from m samples.

    c is such that they add up to about m / 2, as seen from these samples.
    """
    pilot = Nystrom(kernel, take(X, np.sort(rng.choice(length(X), m, replace=False))), m)
    P = pilot.prepare(X)
    phi = P.parts[1].astype(np.float64, copy=False)
    rest = np.maximum(kernel.diag(P.parts[0]) - np.einsum("ij,ij->i", phi, phi), 0.0)
    values, vectors = lapack(m, np.linalg.eigh, phi.T @ phi)
    values = np.maximum(values, 0.0)
    low, high = -16.0, 1.0  # powers of ten between which c is, in units of the largest eigenvalue
    for _ in range(40):
        middle = (low + high) / 2
        c = values[-1] * 10**middle
        low, high = (middle, high) if np.sum(values / (values + c)) > m / 2 else (low, middle)
    c = values[-1] * 10**high
    scores = (phi @ vectors) ** 2 @ (1 / (values + c)) + rest / c
    scores = np.minimum(scores, 1.0)
    return scores / scores.sum()


def _make_basis(kernel: Kernel, Z: Data, exact: Data) -> Basis:
    """Prepared landmarks, as they are and in double precision, of which the factor is made.

    Values of samples at the landmarks may be in single precision. Their rounding errors, which
    look like noise, are sqrt(m) times as large in some direction, and features of landmarks that
    add less than that to the others would be made of them.
    """
    from ...gram.tiles import evaluate

    K, one = evaluate(kernel, exact, exact), take(Z, slice(0, 1))
    m, double = len(K), float(np.finfo(np.float64).eps)
    rounding = float(np.finfo(evaluate(kernel, one, one).dtype).eps)
    tol = max(m * double, np.sqrt(m) * rounding) * float(np.diagonal(K).max())
    A = K.T.astype(np.float64, copy=False)  # the same matrix, as LAPACK stores it: no copy
    L, order, rank = lapack(m, cholesky_with_pivots, A, tol)
    if rank == 0:
        raise ValueError(f"Nystrom: {kernel!r} is zero at all {m} landmarks; give others.")
    kept = order[:rank]
    return Basis(kept, take(Z, kept), np.tril(L[:rank, :rank]))


def _solve(L: np.ndarray, B: np.ndarray, transposed: bool = False) -> np.ndarray:
    return lapack(len(L), solve_lower, L, B, transposed=transposed)
