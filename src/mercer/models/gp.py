"""Gaussian process regression on any kernel and any data."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import MultiOutputMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..data import Data, length
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..gram.tiles import contract, evaluate
from ..kernels.base import Kernel
from ..kernels.indefinite import why_no_factor
from ..kernels.notation.named import as_kernel
from ..search.descent import rows_of, search
from ..search.outcome import Tuning
from ..solvers import criteria
from ..solvers.cholesky import NotPositiveDefiniteError
from ..solvers.weight_space import Factor, factors_of
from .common import (
    SEEN,
    KernelEstimator,
    Regressor,
    all_or_nothing,
    check_data,
    check_number,
    check_targets,
    covariance,
)
from .gp_evidence import evidences, joint_evidence, near
from .gp_parts import ProcessPart, draw, summands
from .gp_posterior import NewSamples, exact, is_approximate, make_gram, search_rows

_LEAST_NOISE = 1e-5  # learned, of the variance of y: less claims that observations are exact
_NONE = np.zeros(1)


@dataclass(eq=False, repr=False)
class GaussianProcessRegressor(MultiOutputMixin, Regressor, KernelEstimator):
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
        The variance of the noise in units of y squared, the same for all outputs: where the search
        begins, by default at a tenth of the variance of y. What is learned is at least 1e-5 of that
        variance; of several normalised outputs, the same part of the variance of each. An array,
        one for each sample, is taken as known.
    optimizer : {"lbfgs"} or None
        None leaves all hyper-parameters as they are.
    fixed : tuple of str
        Names of hyper-parameters that stay: ``"alpha"``, ``"left__value"``, ``"lengthscale"``.
    n_restarts_optimizer : int
        Further searches from random starts, up to a factor of 100 from the first in each number.
    normalize_y : bool
        Subtract the mean of y and divide by its spread; undone in predictions. Without it the scale
        of the kernel is that of y, and a search begins there if the weights in the kernel are far
        from it.
    random_state : int, RandomState or None
        Draws restarts, and the samples on which a search with many begins.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. With a ``rank``, hyper-parameters are chosen
        on as many samples as there are features (at least 500), and what the features do not see
        stays uncertain.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its hyper-parameters; its scale is that of the normalised y.
    gram_ : Gram
        The operator the model was trained with; predictions use ``gram_.cross``.
    alpha_ : float or ndarray
        The variance of the noise: as given for each sample, or one for each of several normalised
        outputs if it was learned.
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
    >>> mean, std = model.predict([[1.0], [20.0]], return_std=True)  # of f, as in scikit-learn
    >>> bool(abs(mean[0] - np.sin(1.0)) < 1e-3), bool(std[1] > 10 * std[0])
    (True, True)
    >>> (low, high), = model.predict_interval([[1.0]], 0.95)  # of a new observation y
    >>> bool(low < np.sin(1.0) < high)
    True

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, chapters 2 and 5.
    """

    kernel: Any = None
    _: KW_ONLY
    alpha: Any = None
    optimizer: str | None = "lbfgs"
    fixed: tuple[str, ...] = ()
    n_restarts_optimizer: int = 0
    normalize_y: bool = True
    random_state: Any = None
    plan: Plan | None = None

    saved_state = (
        *SEEN,
        "kernel_",
        "alpha_",
        "log_marginal_likelihood_value_",
        "dual_coef_",
        "X_train_",
        "y_train_",
        "_noise",
        "_y_mean",
        "_y_scale",
    )

    @all_or_nothing
    def fit(self, X: Data, y: Any) -> Self:
        """Choose the hyper-parameters, then condition on the data."""
        if self.optimizer not in ("lbfgs", None):
            raise ValueError(f'optimizer must be "lbfgs" or None, got {self.optimizer!r}.')
        X = check_data(self, X, covariance(self.kernel), reset=True)
        y = check_targets(self, X, y, ensure_all_finite="allow-nan")
        if np.isnan(y).any():
            raise ValueError(
                "Input y contains NaN: drop these rows, or take MultiOutputKernelRidge, which "
                "allows for missing entries of several outputs."
            )
        if np.abs(y).max() > np.sqrt(np.finfo(float).max / len(y)):
            raise ValueError("y is so large that its square is no number; divide it by a constant.")
        self._y_mean = y.mean(axis=0) if self.normalize_y else np.zeros(y.shape[1:])
        spread = y.std(axis=0) if self.normalize_y else np.ones(y.shape[1:])
        self._y_scale = np.where(np.ptp(y, axis=0) > 0, spread, 1.0)
        self.X_train_, self.y_train_ = X, (y - self._y_mean) / self._y_scale
        kernel = as_kernel(covariance(self.kernel), X).resolve(X)
        self.tuning_: Tuning | None = None
        alpha, noise = self._given_noise(y)
        if self.optimizer is not None:
            kernel, alpha, noise = self._learn(kernel, alpha, noise)
        self.kernel_, self.alpha_, self._noise = kernel, alpha, noise
        self._restore()
        self.kernel_ = getattr(self.gram_, "kernel", kernel)
        Y, n = self._targets(), length(X)
        C = np.empty_like(Y)
        for factor, outputs in self._by_factor():
            C[:, outputs] = factor.solve(Y[:, outputs])
        self.dual_coef_ = C.reshape(self.y_train_.shape)
        logdet = float(np.mean([factor.logdet() for factor in self._factors]))
        constant = Y.shape[1] * (logdet + n * np.log(2 * np.pi))
        self.log_marginal_likelihood_value_ = -(float((Y * C).sum()) + constant) / 2
        return self

    def predict(
        self,
        X: Data,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = False,
    ) -> Any:
        """The posterior mean of f, and its standard deviation or covariance.

        As in scikit-learn, they say how well f is known. An observation y = f(x) + noise scatters
        more: bands that are to hold observations need ``include_noise=True``, or come from
        :meth:`predict_interval`.

        Parameters
        ----------
        X : data
            New samples.
        return_std, return_cov : bool
            Also return the standard deviation, or the covariance matrix, of f.
        include_noise : bool
            Add the noise: the uncertainty of y, not of f (not for noise that differs by sample).

        Returns
        -------
        mean : ndarray of shape (m,) or (m, t)
        std : ndarray of shape (m,) or (m, t)
        cov : ndarray of shape (m, m) or (m, m, t)
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise ValueError("ask for the standard deviation or the covariance, not for both.")
        if include_noise and np.any(self._noise != self._noise[0]):
            raise ValueError(
                "include_noise needs one alpha, but the noise is known for each training sample; "
                "add that of the new samples to the squared standard deviations."
            )
        noise = self._noise[0] if include_noise else _NONE
        X = check_data(self, X, covariance(self.kernel), reset=False)
        kernel = exact(self.kernel_, self.kernel)
        lost = is_approximate(self.kernel_, self.kernel)
        new = NewSamples(self.gram_.cross(X), kernel, kernel.prepare(X), lost=lost)
        mean, spread = self._posterior(new, return_std, return_cov, noise)
        mean += self._y_mean
        return mean if spread is None else (mean, spread)

    def predict_interval(self, X: Data, level: float = 0.95) -> np.ndarray:
        """Intervals that hold an observation y at each x with this probability.

        The ends are mean ± z std, and std that of y: it includes the noise.

        Parameters
        ----------
        X : data
            New samples.
        level : float
            The probability, between 0 and 1.

        Returns
        -------
        ndarray of shape (m, 2) or (m, 2, t)
            Lower and upper ends.
        """
        check_number("level", level, "between 0 and 1", lambda p: 0 < p < 1)
        mean, std = self.predict(X, return_std=True, include_noise=True)
        half = ndtri((1 + level) / 2) * std
        return np.stack([mean - half, mean + half], axis=1)

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
        if is_approximate(self.kernel_, self.kernel):
            raise ValueError(
                "the features of the plan are those of the sum, and its parts are not known from "
                "them: fit without a rank, or give each summand as Nystrom(kernel)."
            )
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
        P, workers = kernel.prepare(self.X_train_), (self.plan or Plan()).workers
        n = length(self.X_train_)
        require_memory(16.0 * n * n, f"the likelihood of {n} samples", self.gram_.limit)
        K = np.ascontiguousarray(evaluate(kernel, P, P, workers=workers), dtype=np.float64)
        noise = factor * self._noise
        parts = evidences(K, self._targets(), noise)
        found = criteria.total(parts)
        if not eval_gradient:
            return -found.value
        slope = sum(float(d @ part.diagonal) for d, part in zip(noise.T, parts, strict=True))
        return -found.value, -np.append(contract(kernel, P, found.tile, workers=workers), slope)

    def posterior_kernel(self) -> Kernel:
        """The covariance of f given the data, as a kernel (of the normalised targets)."""
        check_is_fitted(self)
        if self._noise.shape[1] > 1:
            raise ValueError(
                "each output has a posterior kernel of its own, as the noise is a different part "
                "of the spread of each: fit them one by one, or use normalize_y=False."
            )
        return self.kernel_.given(self.X_train_, self._noise[:, 0])

    def _posterior(
        self, new: NewSamples, std: bool, cov: bool, noise: np.ndarray = _NONE
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Mean and spread of f, or of one of its parts, at new samples, in units of y."""
        coef = self.dual_coef_.reshape(len(self.dual_coef_), -1)
        mean, spread = new.posterior(coef, self._factors, std, cov)
        mean = self._y_scale * mean.reshape(len(mean), *self.dual_coef_.shape[1:])
        if spread is None:
            return mean, None
        if std:
            spread = np.sqrt(np.maximum(spread, 0.0) + noise)
            return mean, (spread[:, 0] if mean.ndim == 1 else spread) * self._y_scale
        spread[np.arange(len(mean)), np.arange(len(mean))] += noise
        return mean, (spread[:, :, 0] if mean.ndim == 1 else spread) * self._y_scale**2

    # ---- the parts of fit ------------------------------------------------------------------
    def _given_noise(self, y: np.ndarray) -> tuple[Any, np.ndarray]:
        """alpha in units of y squared, and the noise of the normalised y: (n, 1), or (n, outputs).

        By default it is the same part of the variance of every output.
        """
        if self.alpha is None:
            share = 0.1 if self.normalize_y else 0.1 * float(np.mean(y.var(axis=0))) or 1.0
            return self._in_units_of_y(share), np.full((len(y), 1), share)
        alpha = np.asarray(self.alpha, dtype=float)
        if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) != len(y)):
            raise ValueError(
                f"alpha must be a number or one for each of the {len(y)} samples, got shape "
                f"{alpha.shape}."
            )
        if not np.all(alpha > 0) or not np.all(np.isfinite(alpha)):
            raise ValueError(f"alpha must be > 0 and finite, got {self.alpha!r}.")
        noise = np.broadcast_to(alpha, len(y))[:, None] / np.atleast_1d(self._y_scale**2)
        return (alpha if alpha.ndim else float(alpha)), noise if np.ptp(noise[0]) else noise[:, :1]

    def _learn(
        self, kernel: Kernel, alpha: Any, noise: np.ndarray
    ) -> tuple[Kernel, Any, np.ndarray]:
        """The kernel and the noise that make y most likely."""
        Y, n, X = self._targets(), len(noise), self.X_train_
        known = "alpha" in self.fixed or np.ndim(self.alpha) > 0
        fixed = tuple(self.fixed) if "alpha" in self.fixed or not known else (*self.fixed, "alpha")
        unit = 1.0
        if not self.normalize_y:
            unit = float(np.mean(Y**2)) or 1.0
            kernel = near(kernel, X, unit, fixed)
        spread = float(np.mean(Y.var(axis=0))) or unit
        options: dict[str, Any] = {"scale": np.ones(n)}
        problem: tuple[Any, ...] = Y, float(np.exp(np.mean(np.log(noise)))), criteria.evidence
        if known:
            options, problem = {"scale": noise[:, 0]}, (Y, 1.0, criteria.evidence)
        if known and noise.shape[1] > 1:
            options = {"scale": np.zeros(n), "matrices": 2 * noise.shape[1] + 2}
            problem = np.hstack([Y, noise]), 1.0, joint_evidence
        rng = check_random_state(self.random_state)
        some = search_rows(n, self.plan, rng)
        if some is not None:
            X, options["scale"] = rows_of(kernel, X, some), options["scale"][some]
            problem = problem[0][some], *problem[1:]
        found = search(
            kernel,
            X,
            *problem,
            fixed=fixed,
            n_restarts=self.n_restarts_optimizer,
            rng=rng,
            least=_LEAST_NOISE * spread / unit,
            unit=unit,
            plan=self.plan,
            **options,
        )
        found.warn()
        self.tuning_ = found
        if known:
            return found.kernel, alpha, noise
        return found.kernel, self._in_units_of_y(found.alpha), np.full((n, 1), found.alpha)

    def _in_units_of_y(self, share: float) -> Any:
        alpha = share * self._y_scale**2
        return alpha if alpha.ndim else float(alpha)

    def _targets(self) -> np.ndarray:
        return self.y_train_.reshape(len(self.y_train_), -1)

    def _by_factor(self) -> list[tuple[Factor, slice]]:
        """Factors of K with its noise, each with the outputs that it belongs to."""
        if len(self._factors) == 1:
            return [(self._factors[0], slice(None))]
        return [(factor, slice(j, j + 1)) for j, factor in enumerate(self._factors)]

    def _restore(self) -> None:
        """Also what :func:`mercer.load` calls: factors are made again, not stored."""
        self.gram_: Any = make_gram(
            self.kernel_, self.X_train_, self.plan, self.optimizer is not None
        )
        try:
            self._factors = factors_of(self.gram_, self._noise)
        except NotPositiveDefiniteError as error:
            some = np.linspace(0, len(self.gram_) - 1, min(len(self.gram_), 500)).astype(int)
            K = self.gram_.block(some, some)
            raise NotPositiveDefiniteError(why_no_factor(K, float(np.mean(self._noise)))) from error
