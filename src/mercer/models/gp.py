"""Gaussian process regression on any kernel and any data."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import Data, length
from ..gram.tiles import contract, evaluate
from ..kernels.base import Kernel
from ..kernels.indefinite import why_no_factor
from ..kernels.named import as_kernel
from ..solvers import criteria
from ..solvers.cholesky import CholeskyFactor, NotPositiveDefiniteError
from ..tuning import search
from .common import all_or_nothing, check_data, covariance
from .gp_parts import ProcessPart, draw, summands

_LEAST_NOISE = 1e-5  # learned, of the variance of y: less claims that observations are exact


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    r"""Gaussian process regression.

    .. math:: y_i = f(x_i) + e_i, \quad f \sim GP(0, k), \quad e_i \sim N(0, \alpha)

    The posterior of f at x has the mean k_x' c with (K + alpha I) c = y, which is what
    :class:`KernelRidge` predicts, and the variance k(x, x) - k_x' (K + alpha I)^-1 k_x. The noise
    and every number in the kernel are chosen by the marginal likelihood of y, whose gradient is
    computed tile by tile: it needs no memory beyond the factor of K.

    Parameters
    ----------
    kernel : Kernel, str or callable, optional
        The covariance, and where the search for its hyper-parameters begins; by default
        ``1 * Gaussian("median")``.
    alpha : float or array of shape (n,), optional
        The variance of the noise in units of y squared: where the search begins, by default at a
        tenth of the variance of y. What is learned is at least 1e-5 of that variance. An array,
        one for each sample, is taken as known.
    optimizer : {"lbfgs"} or None
        None leaves all hyper-parameters as they are.
    fixed : tuple of str
        Names of hyper-parameters that stay: ``"alpha"``, ``"left__value"``, ``"lengthscale"``.
    n_restarts_optimizer : int
        Further searches from random starts, up to a factor of 100 from the first in each number.
    normalize_y : bool
        Subtract the mean of y and divide by its spread; undone in predictions.
    random_state : int, RandomState or None
        Draws restarts, and the samples on which a search with many begins.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its hyper-parameters; its scale is that of the normalised y.
    alpha_ : float or ndarray
        The variance of the noise.
    log_marginal_likelihood_value_ : float
        The logarithm of the likelihood of the (normalised) y.
    dual_coef_ : ndarray
        The coefficients c.
    X_train_, y_train_ : data
        Samples, and their normalised targets.
    tuning_ : Tuning or None
        What the search found.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessRegressor
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = GaussianProcessRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> mean, std = model.predict([[1.0], [20.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(1.0)) < 1e-3), bool(std[1] > 10 * std[0])
    (True, True)

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, chapters 2 and 5.
    """

    saved_state: ClassVar[tuple[str, ...]] = (
        "kernel_",
        "alpha_",
        "log_marginal_likelihood_value_",
        "dual_coef_",
        "X_train_",
        "y_train_",
        "_noise",
        "_y_mean",
        "_y_scale",
        "n_features_in_",
        "feature_names_in_",
    )

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: Any = None,
        optimizer: str | None = "lbfgs",
        fixed: tuple[str, ...] = (),
        n_restarts_optimizer: int = 0,
        normalize_y: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.alpha = alpha
        self.optimizer = optimizer
        self.fixed = fixed
        self.n_restarts_optimizer = n_restarts_optimizer
        self.normalize_y = normalize_y
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @all_or_nothing
    def fit(self, X: Data, y: Any) -> Self:
        """Choose the hyper-parameters, then condition on the data."""
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f'optimizer must be "lbfgs" or None, got {self.optimizer!r}.')
        X = check_data(self, X, covariance(self.kernel), reset=True)
        if y is None:
            raise ValueError(
                "GaussianProcessRegressor requires y to be passed, but the target y is None."
            )
        y = check_array(
            y, ensure_2d=False, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y"
        )
        if np.isnan(y).any():
            raise ValueError(
                "Input y contains NaN: drop these rows, or take MultiOutputKernelRidge, which "
                "allows for missing entries of several outputs."
            )
        check_consistent_length(X, y)
        alpha, scale, known = self._check_alpha(y)
        self._y_mean = y.mean(axis=0) if self.normalize_y else np.zeros(y.shape[1:])
        spread = y.std(axis=0) if self.normalize_y else np.ones(y.shape[1:])
        self._y_scale = np.where(spread > 0, spread, 1.0)
        unit = float(np.mean(self._y_scale**2))  # of the noise
        self.X_train_, self.y_train_ = X, (y - self._y_mean) / self._y_scale
        kernel = as_kernel(covariance(self.kernel), X).resolve(X)
        self.tuning_ = None
        if self.optimizer is not None:
            self.tuning_ = search(
                kernel,
                X,
                self._targets(),
                alpha / unit,
                criteria.evidence,
                scale=scale,
                fixed=(*self.fixed, "alpha") if known else tuple(self.fixed),
                n_restarts=self.n_restarts_optimizer,
                rng=check_random_state(self.random_state),
                least=_LEAST_NOISE,
            )
            self.tuning_.warn()
            kernel, alpha = self.tuning_.kernel, self.tuning_.alpha * unit
        self.kernel_ = kernel
        self._noise = alpha / unit * scale
        self.alpha_ = alpha * scale if known else alpha
        self._restore()
        self.dual_coef_ = self._factor.solve(self.y_train_)
        Y, n = self._targets(), length(X)
        fit = float((Y * self.dual_coef_.reshape(Y.shape)).sum())
        constant = self._factor.logdet() + n * np.log(2 * np.pi)
        self.log_marginal_likelihood_value_ = -(fit + Y.shape[1] * constant) / 2
        return self

    def predict(
        self,
        X: Data,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = False,
    ) -> Any:
        """The posterior mean, and its standard deviation or covariance.

        Parameters
        ----------
        X : data
            New samples.
        return_std, return_cov : bool
            Also return the standard deviation, or the covariance matrix, of f.
        include_noise : bool
            Add the noise: the uncertainty of y, not of f (not for noise known per sample).

        Returns
        -------
        mean : ndarray of shape (m,) or (m, t)
        std : ndarray of shape (m,) or (m, t)
        cov : ndarray of shape (m, m) or (m, m, t)
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise ValueError("ask for the standard deviation or the covariance, not for both.")
        if include_noise and np.ndim(self.alpha_):
            raise ValueError("include_noise needs one alpha, but the noise is known per sample.")
        noise = float(self._noise[0]) if include_noise else 0.0
        mean, spread = self._posterior(self.kernel_, self._train, X, return_std, return_cov, noise)
        mean += self._y_mean
        return mean if spread is None else (mean, spread)

    def sample_y(self, X: Data, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of f at X from the posterior: shape (m, n_samples) or (m, t, n_samples)."""
        mean, cov = self.predict(X, return_cov=True)
        return draw(mean, cov, n_samples, random_state)

    def parts(self) -> list[ProcessPart]:
        """The posterior of each summand of the kernel, in the order in which they are written.

        With k = k_1 + ... + k_p the process is a sum f_1 + ... + f_p of independent ones; the
        means of its parts and the mean of y (if y is normalised) add up to what ``predict``
        returns.
        """
        check_is_fitted(self)
        return [ProcessPart(self, kernel) for kernel in summands(self.kernel_)]

    def log_marginal_likelihood(
        self, theta: np.ndarray | None = None, eval_gradient: bool = False
    ) -> Any:
        """The logarithm of the likelihood of the (normalised) training targets.

        Parameters
        ----------
        theta : ndarray, optional
            Logarithms of the hyper-parameters of the kernel (``kernel_.theta``) and of a factor
            of the noise at the end; by default those of the fitted model, where the factor is 1.
        eval_gradient : bool
            Also return the derivatives.
        """
        check_is_fitted(self)
        kernel, factor = self.kernel_, 1.0
        if theta is not None:
            expected = len(kernel.theta) + 1
            if len(theta) != expected:
                raise ValueError(
                    f"theta must have {expected} entries: those of kernel_.theta, and the "
                    f"logarithm of a factor of the noise; got {len(theta)}."
                )
            kernel, factor = kernel.with_theta(theta[:-1]), float(np.exp(theta[-1]))
        P = kernel.prepare(self.X_train_)
        A = np.ascontiguousarray(evaluate(kernel, P, P), dtype=np.float64)
        A.flat[:: len(A) + 1] += factor * self._noise
        found = criteria.evidence(A, self._targets())
        if not eval_gradient:
            return -found.value
        noise = factor * float(self._noise @ found.diagonal)
        return -found.value, -np.append(contract(kernel, P, found.tile), noise)

    def posterior_kernel(self) -> Kernel:
        """The covariance of f given the data, as a kernel (of the normalised targets)."""
        check_is_fitted(self)
        return self.kernel_.given(self.X_train_, self._noise)

    def _posterior(
        self, kernel: Kernel, train: Data, X: Data, std: bool, cov: bool, noise: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Mean and spread of f, or of one of its parts: the process whose covariance is given."""
        X = check_data(self, X, covariance(self.kernel), reset=False)
        P = kernel.prepare(X)
        cross = evaluate(kernel, P, train).astype(np.float64, copy=False)
        mean = self._y_scale * (cross @ self.dual_coef_)
        if not (std or cov):
            return mean, None
        half = self._factor.half_solve(cross.T)
        square = self._y_scale**2
        if std:
            variance = kernel.diag(P) - np.einsum("ij,ij->j", half, half)
            variance = np.maximum(variance, 0.0) + noise
            return mean, np.sqrt(variance if mean.ndim == 1 else variance[:, None]) * self._y_scale
        matrix = evaluate(kernel, P, P) - half.T @ half
        matrix.flat[:: len(matrix) + 1] += noise
        return mean, matrix * square if mean.ndim == 1 else matrix[:, :, None] * square

    # ---- the parts of fit ------------------------------------------------------------------
    def _check_alpha(self, y: np.ndarray) -> tuple[float, np.ndarray, bool]:
        """Where the noise begins, its pattern over samples, and whether it is known."""
        if self.alpha is None:
            return 0.1 * float(np.mean(y.var(axis=0))) or 1.0, np.ones(len(y)), False
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) != len(y)):
            raise ValueError(
                f"alpha must be a number or one for each of the {len(y)} samples, got shape "
                f"{alpha.shape}."
            )
        if not np.all(alpha > 0) or not np.all(np.isfinite(alpha)):
            raise ValueError(f"alpha must be > 0 and finite, got {self.alpha!r}.")
        if alpha.ndim == 1:
            return 1.0, alpha, True
        return float(alpha), np.ones(len(y)), False

    def _targets(self) -> np.ndarray:
        return self.y_train_.reshape(len(self.y_train_), -1)

    def _restore(self) -> None:
        """Also what :func:`mercer.load` calls: the factor is made again, not stored."""
        self._train = self.kernel_.prepare(self.X_train_)
        A = np.ascontiguousarray(evaluate(self.kernel_, self._train, self._train), dtype=np.float64)
        A.flat[:: len(A) + 1] += self._noise
        try:
            self._factor = CholeskyFactor(A)
        except NotPositiveDefiniteError as error:
            K = evaluate(self.kernel_, self._train, self._train)
            raise NotPositiveDefiniteError(why_no_factor(K, float(np.mean(self._noise)))) from error
