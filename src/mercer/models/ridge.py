"""Kernel ridge regression: scikit-learn's estimator, on any kernel, any data, any size."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..checks import as_numbers
from ..data import Data, length
from ..gram.plan import Plan
from ..randomness import as_generator
from ..solvers import auto
from ..solvers.auto import Solver, solve_ridge
from ..solvers.cholesky import CholeskyFactor, factor
from .common import (
    KernelByName,
    Regressor,
    all_or_nothing,
    check_data,
    check_targets,
    check_weights,
)
from .kept import KEPT, KeepsSamples, unseen
from .recursive import RecursiveRidge
from .streamed import Watched, as_chunks, head, ridge_by_passes, surveyed

SOLVERS = ("auto", *auto.SOLVERS, "falkon")


@dataclass(eq=False, repr=False)
class KernelRidge(MultiOutputMixin, Regressor, RecursiveRidge, KeepsSamples, Watched, KernelByName):
    r"""Kernel ridge regression.

    .. math:: \min_{f \in H_k} \sum_i w_i (y_i - f(x_i))^2 + \alpha \|f\|^2

    The solution is f = sum_i c_i k(x_i, .) with (K + alpha W^-1) c = y. In the other convention,
    (1/n) sum_i (...)^2 + lambda ||f||^2, alpha is n lambda.

    A drop-in replacement for :class:`sklearn.kernel_ridge.KernelRidge`: same parameters, same
    meaning, plus any :class:`~mercer.Kernel` on any data, less memory, and sample sizes at which an
    n x n matrix does not fit.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,)
        Strength of the penalty, >= 0; one for all targets or one each.
    kernel : Kernel, str or callable
        A kernel; a name known to scikit-learn (``"linear"``, ``"rbf"``, ``"poly"``,
        ``"laplacian"``, ``"cosine"``, ``"precomputed"``, ...); or a function of two samples.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn; a :class:`~mercer.Kernel` has its
        own.
    solver : {"auto", "cholesky", "primal", "cg", "falkon", "eigen"} or callable
        ``"primal"`` works with explicit features, ``"cg"`` never stores K, and ``"falkon"`` stores
        neither K nor the features of a plan with a rank (:mod:`mercer.solvers.falkon`). ``"eigen"``
        is for similarities that are not positive definite: negative eigenvalues of K count as zero.
        Your own solver is called as ``solver(gram, Y, alpha, weights, tol=tol, rng=rng)`` and
        returns a :class:`~mercer.solvers.Solution`.
    tol : float
        Relative residual of every target at which ``"cg"`` stops. If features are streamed: by how
        much the objective may exceed its minimum, relative to what f explains.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    random_state : int, RandomState or None
        Used to draw the preconditioner of ``"cg"`` and ``"falkon"``.
    verbose : bool
        Show a progress bar for iterative solvers, with the remaining time.
    callback : callable, optional
        Called after each iteration with a :class:`~mercer.solvers.watch.Step`; the solver stops if
        it returns True.
    checkpoint : path, optional
        A file for the state of the solver: an interrupted fit resumes from there.
    validation : tuple (X, y), optional
        Held-out samples: the solver stops when the error on them no longer decreases, and the best
        coefficients are kept. Only if features are streamed.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_kept,) or (n_kept, n_targets)
        The coefficients c, one for each sample in ``X_fit_``.
    X_fit_ : data
        The samples x_i in the sum for f: all or, with M features, at most M of them (the
        landmarks of a :class:`~mercer.Nystrom` kernel or of ``Plan(rank=M)``).
    n_samples_seen_ : int
        The number of training samples.
    kernel_ : Kernel
        The kernel with data-dependent parameters resolved to numbers.
    gram_ : Gram
        The operator of ``X_fit_``; predictions use ``gram_.cross``.
    rkhs_function_ : RKHSFunction
        The fitted function as an element of H_k.
    solution_ : Solution
        The solver's certificate: method, residual, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge
    >>> X = np.linspace(0, 3, 50)[:, None]
    >>> model = KernelRidge(alpha=0.01, kernel=Gaussian(lengthscale="median"))
    >>> model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.999
    True

    References
    ----------
    Saunders, Gammerman & Vovk, *Ridge regression learning algorithm in dual variables*, ICML 1998.
    """

    alpha: Any = 1
    _: KW_ONLY
    kernel: Any = "linear"
    solver: str | Solver = "auto"
    tol: float = 1e-8
    plan: Plan | None = None
    random_state: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (*KEPT, "_noise", "_axes", "_spectrum", "_stream")

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model to samples X, targets y of shape (n,) or (n, t), and weights.

        X may be :class:`~mercer.chunks.Chunks`, which carry their own targets and weights.
        """
        if not callable(self.solver) and self.solver not in SOLVERS:
            raise ValueError(
                f"solver must be one of {SOLVERS}, or a function, got {self.solver!r}."
            )
        chunks = as_chunks(X, y, sample_weight, self.plan)
        if chunks is not None:
            targets = surveyed(chunks, labels=False).targets
            check_data(self, head(chunks), self.kernel, reset=True, keep=False)
            return self._fit_by_passes(self._make_gram(chunks), None, None, targets)
        X, Y, weights = self._check_fit(X, y, sample_weight)
        flat = Y.ndim == 1
        Y = Y[:, None] if flat else Y
        alphas = self._check_alpha(Y.shape[1])
        gram = self._make_gram(X)
        if gram.streamed:
            return self._fit_by_passes(gram, Y, weights, None if flat else Y.shape[1])
        rng = as_generator(self.random_state, "random_state")
        solution = solve_ridge(
            gram,
            Y,
            alphas,
            weights,
            solver=self.solver,
            tol=self.tol,
            rng=rng,
            watch=self._watch(),
        ).warn()
        coef = solution.coef
        if (
            gram.features is None
        ):  # else they are rounded when they are few, and not much larger than f
            coef = coef.astype(np.result_type(gram.dtype, np.float32), copy=False)
        self._noise = alphas if weights is None else (alphas, weights)
        self._keep(gram, X, coef[:, 0] if flat else coef, solution.moments)
        kept = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        self.solution_ = replace(solution, coef=kept, moments=None)
        return self

    def predict(self, X: Data) -> np.ndarray:
        """f(x) for every sample of X, which may come in chunks."""
        return self._evaluate(X)

    def leave_one_out(self, X: Data = None, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Leave-one-out predictions: for each training sample, by the model trained on all others.

        In closed form from one factorisation: y_i - c_i / G_ii with G = (K + alpha W^-1)^-1.

        Parameters
        ----------
        X, y, sample_weight
            The training data. Needed only if the model keeps fewer samples; with v the
            :meth:`posterior_variance` and h_i = w_i v_i / alpha, the weight of y_i in f(x_i), this
            is (f(x_i) - h_i y_i) / (1 - h_i).
        """
        check_is_fitted(self)
        if X is not None and not self._has_all:
            return self._without_each(X, y, sample_weight)
        self._need_all("give it what the model was fitted to: X, y and weights")
        alphas, noise = self._noise_diagonals()
        C = self.dual_coef_.reshape(len(self.dual_coef_), -1).astype(float)
        gram = self.gram_.detached()
        targets = gram @ C
        result = np.empty_like(C)
        for alpha in np.unique(alphas):
            columns = alphas == alpha
            G = factor(gram, noise(alpha), np.dtype(np.float64)).inverse_diag()[:, None]
            c = C[:, columns]
            result[:, columns] = targets[:, columns] + noise(alpha)[:, None] * c - c / G
        return result[:, 0] if self.dual_coef_.ndim == 1 else result

    def posterior_variance(self, X: Data) -> np.ndarray:
        """k(x, x) - k_x' (K + alpha W^-1)^-1 k_x: the variance of f(x) under a Gaussian process.

        The prior covariance is the kernel and alpha the noise variance. With several alphas, one
        column each. With features it is alpha phi(x)' (Phi' W Phi + alpha I)^-1 phi(x), from the
        stored matrix Phi' W Phi.
        """
        X = self._checked(X)
        cross = self.gram_.cross(X)
        if not self._has_all:
            return self._variance_in_features(X, cross)
        alphas, noise = self._noise_diagonals()
        prior = self.kernel_.diag(self.kernel_.prepare(X)).astype(float)
        columns = []
        for alpha in self._different(alphas):
            inverse, variance = self._factor(noise(alpha)), prior.copy()
            for rows in cross.by_rows():
                block = cross.block(rows, slice(0, cross.shape[1]))
                half = inverse.half_solve(block.T.astype(float))
                variance[rows] -= np.einsum("ij,ij->j", half, half)
            columns.append(np.maximum(variance, 0))
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    # ---- the parts of fit ------------------------------------------------------------------
    def _restore(self) -> None:
        """Check that there are penalties for all targets and weights for all samples."""
        super()._restore()
        alphas, weights = self._noise if isinstance(self._noise, tuple) else (self._noise, None)
        targets = 1 if self.dual_coef_.ndim == 1 else self.dual_coef_.shape[1]
        fits = np.shape(alphas) == (targets,) and np.all(np.isfinite(alphas) & (alphas >= 0))
        if weights is not None:
            fits = fits and np.shape(weights) == (len(self.dual_coef_),) and np.all(weights >= 0)
        if not fits:
            raise ValueError("penalties or weights do not fit the rest.")

    def _check_fit(
        self, X: Data, y: Any, sample_weight: Any
    ) -> tuple[Data, np.ndarray, np.ndarray | None]:
        X = check_data(self, X, self.kernel, reset=True)
        Y = check_targets(self, X, y, (np.float64, np.float32))
        return X, Y, check_weights(sample_weight, Y)

    def _check_alpha(self, targets: int) -> np.ndarray:
        alpha = np.atleast_1d(as_numbers("alpha", self.alpha))
        if alpha.ndim != 1 or len(alpha) not in (1, targets):
            raise ValueError(
                f"alpha must be one number or one per target ({targets}), got shape {alpha.shape}."
            )
        if np.any(alpha < 0) or not np.all(np.isfinite(alpha)):
            raise ValueError(f"alpha must be >= 0 and finite, got {self.alpha!r}.")
        return np.broadcast_to(alpha, (targets,))

    def _make_gram(self, X: Data) -> Any:
        plan = self.plan or Plan()
        if isinstance(self.solver, str) and self.solver == "falkon":
            plan = plan.replace(storage="streamed")
        return plan.gram(self._as_kernel(head(X)), X)

    def _fit_by_passes(self, gram: Any, Y: Any, weights: Any, targets: int | None) -> Self:
        """With features that are never stored; targets come with the samples if Y is None."""
        alphas = self._check_alpha(targets or 1)
        rng = as_generator(self.random_state, "random_state")
        solution = ridge_by_passes(self, gram, Y, alphas, weights, rng)
        return self._take_weights(gram, solution, alphas, targets)

    def _take_weights(
        self, gram: Any, solution: Any, alphas: np.ndarray, targets: int | None
    ) -> Self:
        """Keep a function of streamed features, as a sum over few samples."""
        span, self._noise = gram.span(), alphas
        self._keep_span(span, gram, None)
        coef, moments = span.combine(solution.weights), solution.moments
        self.dual_coef_ = coef[:, 0] if targets is None else coef
        self._remember(span, moments)
        self.solution_ = replace(solution, coef=coef, moments=None, weights=None)
        return self

    def _keep(
        self, gram: Any, X: Data, coef: np.ndarray, moments: np.ndarray | None = None
    ) -> None:
        """Keep all samples with their coefficients, or few, with Phi' W Phi for variances."""
        span = self._keep_samples(gram, X)
        self.dual_coef_ = coef
        if span is None:
            self._remember(span, None)
            return
        alphas, weights = self._noise if isinstance(self._noise, tuple) else (self._noise, None)
        few = span.express(coef)
        self._noise, self.dual_coef_ = alphas, few.astype(gram.dtype, copy=False)
        if moments is None or moments.dtype != np.float64:
            moments = span.moments(weights)
        self._remember(span, moments)

    def _without_each(self, X: Data, y: Any, sample_weight: Any) -> np.ndarray:
        X = check_data(self, X, self.kernel, reset=False)
        y = check_targets(self, X, y)
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        alphas = self._noise[0] if isinstance(self._noise, tuple) else self._noise
        if length(X) != self.n_samples_seen_ or np.any(alphas == 0):
            raise ValueError(
                f"leave_one_out needs the {self.n_samples_seen_} training samples, and alpha > 0."
            )
        f, variance = self.predict(X), self.posterior_variance(X)
        columns = variance.reshape(len(variance), -1)
        h = weights[:, None] * columns / np.asarray(self._different(alphas))
        held_out = (f.reshape(h.shape[0], -1) - h * y.reshape(len(y), -1)) / (1 - h)
        return held_out.reshape(f.shape)

    # ---- factors made again, so that a fitted model stays small ------------------------------
    def _different(self, alphas: np.ndarray) -> np.ndarray:
        """The alphas of the columns of a variance: one for all, or one for each."""
        return alphas if self.dual_coef_.ndim == 2 and np.ptp(alphas) else alphas[:1]

    def _variance_in_features(self, X: Data, cross: Any) -> np.ndarray:
        """sum_j a / (s_j + a) g_j(x)^2, by eigenvalues and eigenvectors of Phi' W Phi.

        The part of phi(x) outside the span of the training features keeps its prior variance.
        """
        self._find_axes()
        alphas, s = self._different(np.asarray(self._noise)), np.asarray(self._spectrum)[:, None]
        total = s + alphas
        share = np.divide(alphas, total, where=total > 0, out=np.ones_like(total))
        values = np.asarray(cross @ self._axes, dtype=np.float64)
        squares = np.square(values, out=values)
        variance = squares @ share + unseen(self.kernel_, X, squares.sum(axis=1))[:, None]
        return variance[:, 0] if len(alphas) == 1 else variance

    def _noise_diagonals(self) -> tuple[np.ndarray, Any]:
        alphas, weights = self._noise if isinstance(self._noise, tuple) else (self._noise, None)
        if weights is not None and np.any(weights == 0):
            raise ValueError("not defined for samples of weight 0; fit without them.")
        scale = np.ones(len(self.dual_coef_)) if weights is None else 1 / weights
        return alphas, lambda alpha: alpha * scale

    def _factor(self, noise: np.ndarray) -> CholeskyFactor:
        return factor(self.gram_.detached(), noise, np.dtype(np.float64))
