"""Kernel ridge regression with several outputs that know of each other."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count, check_positive
from ..data import Data, length, take
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..kernels.algebra.operator_valued import OperatorGram, OperatorKernel, Separable, not_psd
from ..kernels.given.precomputed import Precomputed
from ..randomness import as_generator
from ..rkhs.function import RKHSFunction
from ..solvers.cholesky import CholeskyFactor
from ..solvers.eigen import RidgeSpectrum
from ..solvers.kronecker import KroneckerSpectrum, solve_vector_ridge
from ..solvers.output import learn_output
from .common import (
    KernelByName,
    Regressor,
    all_or_nothing,
    check_data,
    check_targets,
    check_weights,
    seen_columns,
)
from .kept import KEPT, few_gram, unseen

_BLOCK = 1024  # new samples at a time, in variances


@dataclass(eq=False, repr=False)
class MultiOutputKernelRidge(MultiOutputMixin, Regressor, KernelByName):
    r"""Kernel ridge regression in the space of an operator-valued kernel.

    .. math:: \min_{f \in H_K} \sum_i w_i \|y_i - f(x_i)\|^2 + \alpha \|f\|^2

    The solution is f = sum_i K(., x_i) c_i. For K(x, y) = k(x, y) B it follows from the
    eigendecompositions of [k(x_i, x_j)] and B alone. Sums of such kernels, and targets with
    missing entries (NaN), are solved by conjugate gradients; nothing of size nT x nT is stored.

    Parameters
    ----------
    alpha : float
        Strength of the penalty, > 0.
    kernel : Kernel, str, callable or OperatorKernel
        The kernel k as in :class:`KernelRidge`, or a whole operator-valued kernel:
        :class:`Separable`, a sum of those, or :class:`Transformable`.
    output : {"identity", "learn"} or array of shape (T, T)
        The matrix B for a kernel k: positive semi-definite, coupling the outputs; with
        ``"identity"`` they are independent, and ``"learn"`` is explained below.
    gamma, degree, coef0, kernel_params
        As in :class:`KernelRidge`.
    tol : float
        Relative residual at which conjugate gradients stop.
    max_iter : int
        Maximum number of iterations, of conjugate gradients and in learning B.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    random_state : int, RandomState or None
        Used to draw the samples a preconditioner is made from.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, T)
        The coefficients c_i; 0 where a target is missing. Those of a few samples if these span all
        (:class:`KernelRidge`).
    kernel_ : OperatorKernel
        K with every data-dependent parameter, and B, as numbers.
    output_ : ndarray of shape (T, T)
        B, if the kernel is k(x, y) B.
    gram_ : OperatorGram
        The operator of ``X_fit_``.
    X_fit_ : data
        The training samples. Through M features, at most M of them that span all, if the kernel is
        k(x, y) B and no target is missing.
    n_samples_seen_ : int
        The number of training samples.
    solution_ : Solution
        The solver's certificate.
    n_iter_ : int
        Iterations of conjugate gradients; 1 where a direct method was used.
    learned_ : Solution
        How B was learned, if it was: ``stats["objective"]`` holds the objective along the way,
        ``stats["violation"]`` by how much the conditions for a minimum are missed.

    Notes
    -----
    ``output="learn"`` maximises the likelihood of the targets as a Gaussian process with covariance
    :math:`\sigma^2 (K \otimes B + \alpha I)`, over B of trace T, with :math:`\sigma^2` at its
    optimum. The objective is

    .. math:: \tfrac{1}{2} \log \left( \tilde y' (K \otimes B + \alpha I)^{-1} \tilde y \right)
              + \tfrac{1}{2N} \log \det(K \otimes B + \alpha I), \quad N = T \sum_i w_i

    and decreases at every step of a quasi-Newton method on B = T L L' / tr L L', which needs one
    eigendecomposition of K in all. It does not change when y is multiplied by a number. It is not
    convex, so the result is a local minimum. If targets are missing, B is learned from the complete
    samples. B has T (T + 1) / 2 - 1 free numbers: with few samples, or functions that hardly vary,
    a fixed B can predict better.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, MultiOutputKernelRidge
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> Y = np.column_stack([np.sin(X[:, 0]), -np.sin(X[:, 0])])
    >>> Y[30:, 1] = np.nan  # the second output is known on the left only
    >>> B = [[1.0, -0.9], [-0.9, 1.0]]
    >>> model = MultiOutputKernelRidge(0.01, kernel=Gaussian(), output=B).fit(X, Y)
    >>> model.predict([[4.5]]).round(1)
    array([[-1. ,  0.9]])

    References
    ----------
    Micchelli & Pontil, *On learning vector-valued functions*, Neural Computation 2005.
    Bonilla, Chai & Williams, *Multi-task Gaussian process prediction*, NIPS 2007.
    """

    alpha: Any = 1.0
    _: KW_ONLY
    kernel: Any = "linear"
    output: Any = "identity"
    tol: float = 1e-8
    max_iter: int = 1000
    plan: Plan | None = None
    random_state: Any = None

    saved_state = (*KEPT, "output_", "_axes", "_spectrum", "_weights", "_observed", "n_iter_")

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets y of shape (n,) or (n, T), NaN where missing, and weights."""
        check_positive("alpha", self.alpha)
        check_count("max_iter", self.max_iter)
        X = check_data(self, X, self._scalar_kernel, reset=True)
        Y, weights = self._check_targets(X, y, sample_weight)
        flat = Y.ndim == 1
        Y = Y[:, None] if flat else Y
        kernel = self._operator_kernel(X, Y.shape[1])
        gram = kernel.gram(X, self.plan)
        rows: RidgeSpectrum | None = None
        if isinstance(self.output, str) and self.output == "learn":
            rows, B = self._learn(gram, Y, weights)
            kernel = kernel.replace(B=B)
            gram = OperatorGram([(gram.kronecker[0][0], B)], [], len(B))
        if isinstance(kernel, Separable):
            self.output_ = np.asarray(kernel.B, dtype=float)
        solution = solve_vector_ridge(
            gram,
            Y.astype(float),
            float(self.alpha),
            weights,
            rows=rows,
            tol=self.tol,
            max_iter=self.max_iter,
            rng=as_generator(self.random_state, "random_state"),
        ).warn()
        self.n_iter_ = max(1, solution.n_iter)
        self._weights, self._observed = weights, ~np.isnan(Y)
        coef = self._keep(kernel, gram, X, solution.coef)
        self.solution_ = replace(solution, coef=coef)
        self.dual_coef_ = coef[:, 0] if flat else coef
        return self

    def _keep(
        self, kernel: OperatorKernel, gram: OperatorGram, X: Data, coef: np.ndarray
    ) -> np.ndarray:
        """All samples, or a few that span all if no target is missing; their coefficients."""
        self.kernel_, self.gram_ = kernel, gram
        self.X_fit_, self.n_samples_seen_ = X, length(X)
        self._axes, self._spectrum = None, None
        span = None
        if isinstance(kernel, Separable) and self._observed.all():
            span = gram.kronecker[0][0].span()
        if span is None:
            return coef
        self.kernel_ = kernel.replace(kernel=span.gram.kernel)
        self.X_fit_ = span.points(X)
        self._spectrum, self._axes = span.axes(span.moments(self._weights))
        self._weights = self._observed = None
        self._restore()
        return span.express(coef)

    def predict(self, X: Data) -> np.ndarray:
        """f(x) for every sample of X: shape (m,) or (m, T), as y."""
        check_is_fitted(self)
        X = check_data(self, X, self._scalar_kernel, reset=False)
        f = self.gram_.cross(X) @ self.dual_coef_.reshape(len(self.dual_coef_), -1)
        return f[:, 0] if self.dual_coef_.ndim == 1 else f

    @property
    def rkhs_function_(self) -> RKHSFunction:
        """The outputs of f, as elements of H_k, for kernels k(x, y) B."""
        check_is_fitted(self)
        if not isinstance(self.kernel_, Separable):
            raise AttributeError(f"rkhs_function_ needs a kernel k(x, y) B, not {self.kernel_!r}")
        coef = self.dual_coef_.reshape(len(self.dual_coef_), -1) @ np.asarray(self.kernel_.B)
        flat = self.dual_coef_.ndim == 1
        return RKHSFunction(
            self.kernel_.scalar,
            self.X_fit_,
            coef[:, 0] if flat else coef,
            columns=seen_columns(self),
        )

    def posterior_variance(self, X: Data) -> np.ndarray:
        """The variance of each output of f(x) under a Gaussian process, shape (m,) or (m, T).

        The prior covariance is K and alpha the variance of the noise. For kernels k(x, y) B and
        targets without missing entries it follows from the eigendecompositions of both factors;
        otherwise the covariance of all targets that are known is stored and factorised.
        """
        check_is_fitted(self)
        X = check_data(self, X, self._scalar_kernel, reset=False)
        separable = len(self.gram_.kronecker) == 1 and not self.gram_.joint
        if self._axes is not None:
            variance = self._variance_in_features(X)
        elif separable and self._observed.all():
            variance = self._variance_in_samples(X)
        else:
            variance = self._dense_variance(X)
        variance = np.maximum(variance, 0)
        return variance[:, 0] if self.dual_coef_.ndim == 1 else variance

    def _variance_in_samples(self, X: Data) -> np.ndarray:
        """From the spectra of K and of B."""
        K, B = self.gram_.kronecker[0]
        rows = RidgeSpectrum(K.detached(), self._weights)
        spectrum, cross = KroneckerSpectrum(rows.U, rows.s, B), K.cross(X)
        kernel = self.kernel_.scalar
        variance = np.outer(kernel.diag(kernel.prepare(X)).astype(float), np.diag(B))
        everything = slice(0, cross.shape[1])
        for start in range(0, len(variance), _BLOCK):
            part = slice(start, min(start + _BLOCK, len(variance)))
            block = cross.block(part, everything).astype(float)
            block = block if rows.root is None else block * rows.root
            variance[part] -= spectrum.explained_variance(block, float(self.alpha))
        return variance

    def _variance_in_features(self, X: Data) -> np.ndarray:
        """From the eigenvalues s of Phi' W Phi: K has them, too, with k_x' U = s^1/2 g(x)'."""
        (K, B), s = self.gram_.kronecker[0], np.asarray(self._spectrum)
        values = np.asarray(K.cross(X) @ self._axes, dtype=np.float64)
        spectrum = KroneckerSpectrum(np.eye(len(s)), s, B)
        own = np.sum(values**2, axis=1)
        prior = np.outer(own + unseen(self.kernel_.scalar, X, own), np.diag(B))
        return prior - spectrum.explained_variance(values * np.sqrt(s), float(self.alpha))

    def _dense_variance(self, X: Data) -> np.ndarray:
        """From the covariance of all pairs of sample and output whose target is known."""
        n, T = self._observed.shape
        require_memory(3 * 8.0 * (n * T) ** 2, f"the covariance of {n * T} targets")
        known = np.flatnonzero(self._observed)
        A = self.gram_.to_dense()[np.ix_(known, known)].astype(np.float64, copy=False)
        weights = np.ones(n) if self._weights is None else self._weights
        A.flat[:: len(A) + 1] += float(self.alpha) / np.repeat(weights, T)[known]
        factor = CholeskyFactor(A)
        variance = self.kernel_.gram(X, Plan(storage="tiled")).diag().astype(np.float64)
        block = max(1, _BLOCK // T)
        for start in range(0, len(variance), block):
            rows = np.arange(start, min(start + block, len(variance)))
            cross = self.gram_.cross(take(X, rows)).to_dense()[:, known]
            half = factor.half_solve(cross.T.astype(np.float64))
            variance[rows] -= np.einsum("ij,ij->j", half, half).reshape(-1, T)
        return variance

    # ---- the parts of fit ------------------------------------------------------------------
    def _check_targets(
        self, X: Data, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets, NaN where missing, and weights."""
        Y = check_targets(self, X, y, (np.float64, np.float32), ensure_all_finite="allow-nan")
        missing = np.isnan(Y).all(axis=0)
        if np.any(missing):
            raise ValueError(
                f"Input y contains NaN only in output {int(np.argmax(missing))}: drop that column."
            )
        return Y, check_weights(sample_weight, Y)

    @property
    def _scalar_kernel(self) -> Any:
        return self.kernel.scalar if isinstance(self.kernel, OperatorKernel) else self.kernel

    def _operator_kernel(self, X: Data, T: int) -> OperatorKernel:
        named = self.output if isinstance(self.output, str) else None
        if isinstance(self.kernel, OperatorKernel):
            if named != "identity":
                raise ValueError(
                    "output must be left at 'identity' with an operator-valued kernel, which "
                    "couples the outputs itself."
                )
            if self.kernel.n_outputs != T:
                raise ValueError(
                    f"kernel has {self.kernel.n_outputs} outputs, but y has {T} columns."
                )
            return self.kernel.resolve(X)
        if named is not None and named not in ("identity", "learn"):
            raise ValueError(f"output must be 'identity', 'learn' or a matrix, got {named!r}.")
        B = np.eye(T) if named else self.output
        if (wanted := not_psd(B)) is not None:
            raise ValueError(f"output must be {wanted}, got {B!r}.")
        if len(B) != T:
            raise ValueError(f"output must be {T} x {T}, as y has {T} columns; got {np.shape(B)}.")
        return Separable(self._as_kernel(X), np.array(B, dtype=float)).resolve(X)

    def _learn(
        self, gram: OperatorGram, Y: np.ndarray, weights: np.ndarray | None
    ) -> tuple[RidgeSpectrum | None, np.ndarray]:
        """B, and the eigendecomposition of K if it is that of all samples."""
        K, T = gram.kronecker[0][0], Y.shape[1]
        complete = np.flatnonzero(~np.isnan(Y).any(axis=1))
        if len(complete) < T + 1:
            raise ValueError(
                f"output='learn' needs more than {T} samples without missing targets, got "
                f"{len(complete)}; give output as a matrix."
            )
        part = len(complete) < len(Y)
        w = weights[complete] if part and weights is not None else weights
        rows = RidgeSpectrum(Precomputed().gram(K.block(complete, complete)) if part else K, w)
        self.learned_ = learn_output(
            rows, Y[complete].astype(float), float(self.alpha), max_iter=self.max_iter
        ).warn()
        return None if part else rows, self.learned_.coef

    def _restore(self) -> None:
        """Called by :func:`mercer.load`: the operator is rebuilt, not stored."""
        self._axes = getattr(self, "_axes", None)  # not in files with all samples, always
        make = self.kernel_.gram if self._axes is None else partial(few_gram, self.kernel_)
        self.gram_ = make(self.X_fit_, self.plan)
