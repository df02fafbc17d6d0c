"""Gaussian process regression on any kernel and any data."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from ..checks import check_number
from ..chunks.base import Chunks
from ..data import Data
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import landmarks
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..randomness import as_random_state
from ..search.objective import ALPHA, Posed
from ..search.outcome import Tuning
from ..solvers.iterative import rank_for
from ..solvers.weight_space import by_products
from .common import (
    SEEN,
    KernelEstimator,
    Regressor,
    all_or_nothing,
    check_data,
    check_squares,
    check_targets,
    covariance,
)
from .gp_chunks import fit_chunks, predict_chunks
from .gp_conditioned import NO_NOISE, ConditionedProcess
from .gp_evidence import likelihood, near
from .gp_given import (
    check_choices,
    for_landmarks,
    given_landmarks,
    given_noise,
    in_units_of_y,
    present,
)
from .gp_learning import LANDMARKS, Learning
from .gp_parts import ProcessPart, summands
from .gp_posterior import NewSamples, exact, is_approximate, search_rows, with_room
from .streamed import as_chunks

_LEAST_NOISE = 1e-5  # learned, of the variance of y: less claims that observations are exact


class _Learned(NamedTuple):
    """The result of a search: the noise of each sample and output; points are landmarks."""

    kernel: Kernel
    noise: np.ndarray
    points: Data | None


@dataclass(eq=False, repr=False)
class GaussianProcessRegressor(ConditionedProcess, MultiOutputMixin, Regressor, KernelEstimator):
    r"""Gaussian process regression.

    .. math:: y_i = f(x_i) + e_i, \quad f \sim GP(0, k), \quad e_i \sim N(0, \alpha)

    The posterior of f at x has the mean k_x' c with (K + alpha I) c = y, which is what
    :class:`KernelRidge` predicts, and the variance k(x, x) - k_x' (K + alpha I)^-1 k_x. The noise
    and every number in the kernel are chosen by the marginal likelihood of y, whose gradient is
    computed tile by tile: it needs no memory beyond the factor of K.

    For many samples, use M ``landmarks``, with n M^2 operations; or, if K does not fit the
    ``plan``, all samples are used through products with a K that is never stored.

    Parameters
    ----------
    kernel : Kernel, str or callable, optional
        The covariance, with the starting values of its hyper-parameters; by default
        ``1 * Gaussian("median")``.
    alpha : float or array of shape (n,), optional
        The noise variance in units of y squared, the same for all outputs. This is the starting
        value, by default a tenth of the variance of y. The learned noise is at least 1e-5 of that
        variance; for several normalised outputs it is the same fraction of the variance of each. An
        array, with one entry per sample, is taken as known.
    optimizer : {"lbfgs"} or None
        None leaves all hyper-parameters as they are.
    fixed : tuple of str
        Names of hyper-parameters that stay: ``"alpha"``, ``"left__value"``, ``"lengthscale"``.
    n_restarts_optimizer : int
        The number of restarts from random points, up to a factor of 100 from the first start in
        each parameter.
    normalize_y : bool
        Subtract the mean of y and divide by its standard deviation; predictions are transformed
        back. Otherwise the kernel has the scale of y, and the search starts there if the weights in
        the kernel are far from it.
    landmarks : int or data, optional
        The number of landmarks (inducing points), or the landmarks themselves: the process is
        approximated by the closest one that depends on f only through its values at the landmarks.
        Hyper-parameters maximise a lower bound on the evidence. Landmarks start at samples chosen
        by pivoted Cholesky and, for differentiable kernels on vectors, are optimised too, within
        the range of the samples; ``fixed=("landmarks",)`` keeps them in place. The model keeps only
        the landmarks, not the samples.
    approximation : {"variational", "fitc"}
        Whether the variance that landmarks miss is penalised in the bound, or treated as additional
        noise of each sample (:mod:`mercer.solvers.fitc`); the evidence is then not a bound.
    random_state : int, RandomState or None
        Used to draw restarts, the subsample on which a search with many samples starts, and random
        vectors for estimates.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. With a ``rank``, hyper-parameters are chosen
        on as many samples as there are features (at least 500), and f keeps its prior variance
        where the features carry no information. If K does not fit in memory, or with
        ``storage="tiled"``, it is not stored: coefficients come from conjugate gradients, the
        evidence and its gradient are estimated, and variances are never below the exact ones.

    Attributes
    ----------
    kernel_ : Kernel
        The kernel with its hyper-parameters; its scale is that of the normalised y.
    gram_ : Gram
        The operator the model was trained with, or that of the landmarks; predictions use
        ``gram_.cross``.
    alpha_ : float or ndarray
        The noise variance: as given for each sample, or one value for each of several normalised
        outputs if it was learned.
    log_marginal_likelihood_value_ : float
        The logarithm of the likelihood of the (normalised) y; with landmarks a lower bound (or that
        of FITC), without a stored K an estimate.
    dual_coef_ : ndarray
        The coefficients c.
    X_train_, y_train_ : data
        Samples, and their normalised targets.
    landmarks_ : data
        The landmarks, in place of ``X_train_`` and ``y_train_``, if there are any.
    solution_ : Solution
        How the coefficients of a process without landmarks were computed, and their residual.
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
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, chapters 2 and 5;
    Titsias, *Variational learning of inducing variables in sparse Gaussian processes*, AISTATS
    2009; Gardner, Pleiss, Bindel, Weinberger & Wilson, *GPyTorch*, NeurIPS 2018.
    """

    kernel: Any = None
    _: KW_ONLY
    alpha: Any = None
    optimizer: str | None = "lbfgs"
    fixed: tuple[str, ...] = ()
    n_restarts_optimizer: int = 0
    normalize_y: bool = True
    landmarks: Any = None
    approximation: str = "variational"
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
        "landmarks_",
        "_roots",
        "_noise",
        "_y_mean",
        "_y_scale",
    )

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the hyper-parameters, then condition on the data.

        Parameters
        ----------
        X, y : data
            Samples, and targets of shape (n,) or (n, t). With ``landmarks``, X may be
            :class:`~mercer.chunks.Chunks`, which carry their own targets and weights:
            hyper-parameters and landmarks are learned from some of them, then all are processed in
            one pass.
        sample_weight : array of shape (n,), optional
            The noise of a sample is alpha divided by its weight; those of weight 0 count as absent.
        """
        check_choices(self)
        if isinstance(X, Chunks):
            as_chunks(X, y, sample_weight, self.plan)
            fit_chunks(self, X)
            return self
        X = check_data(self, X, covariance(self.kernel), reset=True)
        y = check_targets(self, X, y, ensure_all_finite="allow-nan")
        if np.isnan(y).any():
            raise ValueError(
                "Input y contains NaN: drop these rows, or use MultiOutputKernelRidge, which "
                "allows missing entries for several outputs."
            )
        check_squares(y)
        for name in ("y_train_", "_noise", "landmarks_", "_roots"):  # of another way to fit
            self.__dict__.pop(name, None)
        X, y, alpha, weights = present(self, X, y, sample_weight)
        self._y_mean, self._y_scale = np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        if self.normalize_y:
            self._y_mean = np.average(y, axis=0, weights=weights)
            spread = np.sqrt(np.average((y - self._y_mean) ** 2, axis=0, weights=weights))
            self._y_scale = np.where(np.ptp(y, axis=0) > 0, spread, 1.0)
        self.X_train_, self.y_train_ = X, (y - self._y_mean) / self._y_scale
        kernel = as_kernel(covariance(self.kernel), X).resolve(X)
        points = given_landmarks(self, kernel)
        if self.landmarks is not None:
            self.X_train_ = for_landmarks(kernel, X)
        self.tuning_: Tuning | None = None
        self.alpha_, noise = given_noise(y, alpha, self._y_scale, self.normalize_y)
        if self.optimizer is not None:
            kernel, noise, points = self._learn(kernel, noise, weights, points)
        else:
            noise = noise / weights[:, None]
        self.kernel_ = kernel
        if self.landmarks is None:
            self._condition(noise)
        else:
            chosen = self._chosen(kernel) if points is None else points
            self._condition_on(chosen, noise)
        return self

    def predict(
        self,
        X: Data,
        return_std: bool = False,
        return_cov: bool = False,
        include_noise: bool = False,
        std_tol: float | None = None,
    ) -> Any:
        """The posterior mean of f, and its standard deviation or covariance.

        As in scikit-learn, they describe the uncertainty about f. An observation y = f(x) + noise
        varies more: bands for observations need ``include_noise=True``, or come from
        :meth:`predict_interval`.

        Parameters
        ----------
        X : data
            New samples.
        return_std, return_cov : bool
            Also return the standard deviation, or the covariance matrix, of f.
        include_noise : bool
            Add the noise variance: the uncertainty of y, not of f (not available if the noise
            differs between samples).
        std_tol : float, optional
            If K is not stored, standard deviations are upper bounds, from a part of the data. With
            this tolerance, they exceed the exact ones by at most this fraction: 0.01 for 1 %.

        Returns
        -------
        mean : ndarray of shape (m,) or (m, t)
        std : ndarray of shape (m,) or (m, t)
        cov : ndarray of shape (m, m) or (m, m, t)
        """
        check_is_fitted(self)
        if isinstance(X, Chunks):
            options = {"include_noise": include_noise, "std_tol": std_tol}
            return predict_chunks(self, X, return_std, return_cov, **options)
        if return_std and return_cov:
            raise ValueError("at most one of return_std and return_cov can be True.")
        if include_noise and np.ndim(self.alpha):
            raise ValueError(
                "include_noise needs a single alpha, but alpha is an array with the noise of "
                "each training sample; add the noise of the new samples to the squared standard "
                "deviations yourself."
            )
        noise = NO_NOISE
        if include_noise:  # one for all outputs, or for each that has a factor of its own
            noise = np.atleast_1d(self.alpha_ / self._y_scale**2)[: len(self._factors)]
        X = check_data(self, X, covariance(self.kernel), reset=False)
        X = for_landmarks(self.kernel_, X) if "landmarks_" in vars(self) else X
        kernel = exact(self.kernel_, self.kernel)
        lost = is_approximate(self.kernel_, self.kernel)
        if std_tol is not None:
            check_number("std_tol", std_tol, "> 0", lambda tol: tol > 0)
        new = NewSamples(self.gram_.cross(X), kernel, kernel.prepare(X), True, lost, std_tol)
        mean, spread = self._posterior(new, return_std, return_cov, noise)
        mean += self._y_mean
        return mean if spread is None else (mean, spread)

    def parts(self) -> list[ProcessPart]:
        """The posterior of each summand of the kernel, in the order in which they are written.

        With k = k_1 + ... + k_p the process is a sum f_1 + ... + f_p of independent ones; the
        means of its parts and the mean of y (if y is normalised) add up to what ``predict``
        returns.
        """
        check_is_fitted(self)
        if is_approximate(self.kernel_, self.kernel):
            raise ValueError(
                "the features of the plan approximate the sum, and do not determine its parts: "
                "fit without a rank, or pass each summand as Nystrom(kernel)."
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
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        self._need_samples("the likelihood of other hyper-parameters")
        if theta is not None:
            expected = len(kernel.theta) + 1
            if len(theta) != expected:
                raise ValueError(
                    f"theta must have {expected} entries: those of kernel_.theta, and the "
                    f"logarithm of a noise factor; got {len(theta)}."
                )
            kernel, factor = kernel.with_theta(theta[:-1]), float(np.exp(theta[-1]))
        noise, plan = factor * self._noise, self.plan or Plan()
        gram = kernel.gram(self.X_train_, with_room(plan, searched=True))
        return likelihood(gram, kernel, self._targets(), noise, eval_gradient)

    def posterior_kernel(self) -> Kernel:
        """The covariance of f given the data, as a kernel (of the normalised targets)."""
        check_is_fitted(self)
        self._need_samples("the posterior kernel")
        if self._noise.shape[1] > 1:
            raise ValueError(
                "each output has its own posterior kernel, because noise relative to the "
                "variance differs between outputs: fit them one by one, or use normalize_y=False."
            )
        return self.kernel_.given(self.X_train_, self._noise[:, 0])

    # ---- the parts of fit ------------------------------------------------------------------
    def _learn(
        self, kernel: Kernel, noise: np.ndarray, weights: np.ndarray, points: Data | None
    ) -> _Learned:
        """The kernel, the noise, and landmarks if there are any, that make y most likely."""
        X, Y = self.X_train_, self._targets()
        known = "alpha" in self.fixed or np.ndim(self.alpha) > 0
        fixed = tuple(self.fixed) if "alpha" in self.fixed or not known else (*self.fixed, "alpha")
        unit = 1.0
        if not self.normalize_y:
            unit = float(np.mean(Y**2)) or 1.0
            kernel = near(kernel, X, unit, fixed)
        spread = float(np.mean(Y.var(axis=0))) or unit
        alpha = 1.0 if known else float(np.exp(np.mean(np.log(noise))))
        scale = (noise if known else np.ones((len(noise), 1))) / weights[:, None]
        rng = as_random_state(self.random_state)
        limits = _LEAST_NOISE * spread, ALPHA[1] * unit
        names = tuple(name for name in fixed if name != LANDMARKS)
        task = Learning(
            Posed(kernel, X, Y, alpha, scale, names, limits, unit),
            self.n_restarts_optimizer, rng, self.plan, self.approximation, LANDMARKS not in fixed,
        )  # fmt: skip
        products = self.landmarks is None and by_products(
            kernel.gram(X, with_room(self.plan, searched=True))
        )
        few = products or self.landmarks is not None
        rank = rank_for(len(Y), (self.plan or Plan()).limit) if products else 0
        some = search_rows(len(Y), self.plan, rng, few)
        found = task.from_k(some)
        if self.landmarks is not None:
            points = self._chosen(found.kernel) if points is None else points
            found, points = task.from_landmarks(found, points)
        elif products and some is not None:
            found = task.from_estimates(found, some, rank)
        found.warn()
        self.tuning_ = found
        if not known:
            self.alpha_ = in_units_of_y(found.alpha, self._y_scale)
        return _Learned(found.kernel, found.alpha * scale, points)

    def _chosen(self, kernel: Kernel) -> Data:
        """Landmarks from the samples."""
        return landmarks(kernel, self.X_train_, self.landmarks)
