"""The posterior of a Gaussian process: given all samples, or through landmarks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count, check_fraction
from ..data import Data, evenly
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.indefinite import why_no_factor
from ..rkhs.function import RKHSFunction
from ..search.landmarks import bounds
from ..solvers.base import Solution
from ..solvers.cholesky import NotPositiveDefiniteError
from ..solvers.variational import LandmarkFactor
from ..solvers.weight_space import Factor, by_products, factors_of
from .common import seen_columns
from .gp_parts import draw
from .gp_posterior import NewSamples, make_gram, with_room

NO_NOISE = np.zeros(1)


class ConditionedProcess:
    """What a fitted process has, from its kernel, its noise and its samples or landmarks.

    Factors of K with its noise are recomputed for a model from a file; those of landmarks are few
    numbers, and are kept.
    """

    optimizer: str | None
    approximation: str
    plan: Plan | None
    kernel_: Kernel
    X_train_: Data
    y_train_: np.ndarray
    dual_coef_: np.ndarray
    log_marginal_likelihood_value_: float
    gram_: Any
    _factors: list[Any]
    _roots: np.ndarray
    _noise: np.ndarray
    _y_scale: np.ndarray

    predict: Callable[..., Any]

    def _condition(self, noise: np.ndarray) -> None:
        """The posterior given all samples."""
        self._noise = noise
        self._restore()
        self.kernel_ = getattr(self.gram_, "kernel", self.kernel_)
        Y = self._targets()
        C = np.empty_like(Y)
        for factor, outputs in self._by_factor():
            C[:, outputs] = factor.solve(Y[:, outputs])
        self.dual_coef_ = C.reshape(self.y_train_.shape)
        direct = Solution(C, stats={"method": "cholesky"})
        self.solution_ = getattr(self._factors[0], "solution", None) or direct
        logdet = float(np.mean([factor.logdet() for factor in self._factors]))
        constant = Y.shape[1] * (logdet + len(Y) * np.log(2 * np.pi))
        self.log_marginal_likelihood_value_ = -(float((Y * C).sum()) + constant) / 2

    def _condition_on(self, points: Data, noise: np.ndarray) -> None:
        """The posterior of the process at landmarks; samples are not needed any more."""
        X, kernel = self.X_train_, self.kernel_
        prepared = kernel.prepare(X), kernel.prepare(points)
        plan = self.plan or Plan()
        parts = bounds(kernel, *prepared, self._targets(), noise, plan, self.approximation)
        coef = np.hstack([part.coef for part in parts])
        self.dual_coef_ = coef.reshape(len(coef), *self.y_train_.shape[1:])
        self._roots = np.stack([part.factor.root for part in parts])
        self.log_marginal_likelihood_value_ = -sum(part.value for part in parts)
        self.landmarks_ = points
        del self.X_train_, self.y_train_
        self._restore()

    def _posterior(
        self, new: NewSamples, std: bool, cov: bool, noise: np.ndarray = NO_NOISE
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

    def predict_interval(self, X: Data, level: float = 0.95) -> np.ndarray:
        """Intervals that contain an observation y at each x with this probability.

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
        check_fraction("level", level)
        mean, std = self.predict(X, return_std=True, include_noise=True)
        half = ndtri((1 + level) / 2) * std
        return np.stack([mean - half, mean + half], axis=1)

    def sample_y(self, X: Data, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of f at X from the posterior: shape (m, n_samples) or (m, t, n_samples)."""
        check_count("n_samples", n_samples)
        mean, cov = self.predict(X, return_cov=True)
        return draw(mean, cov, n_samples, random_state)

    def _need_samples(self, what: str) -> None:
        if "landmarks_" in vars(self):
            raise ValueError(f"{what} needs all samples, but this model keeps only its landmarks.")

    def _targets(self) -> np.ndarray:
        return self.y_train_.reshape(len(self.y_train_), -1)

    def _by_factor(self) -> list[tuple[Factor, slice]]:
        """Factors of K with its noise, each with the outputs that it belongs to."""
        if len(self._factors) == 1:
            return [(self._factors[0], slice(None))]
        return [(factor, slice(j, j + 1)) for j, factor in enumerate(self._factors)]

    @property
    def _points(self) -> Data:
        """The samples whose covariances with new ones predictions go by."""
        return vars(self).get("landmarks_", vars(self).get("X_train_"))

    @property
    def rkhs_function_(self) -> RKHSFunction:
        """The posterior mean, without the mean of y if y is normalised, as an element of H_k."""
        check_is_fitted(self)
        return RKHSFunction(
            self.kernel_, self._points, self.dual_coef_ * self._y_scale, columns=seen_columns(self)
        )

    def _restore(self) -> None:
        """Also called by :func:`mercer.load`: factors are recomputed, not stored."""
        searched = self.optimizer is not None
        if "landmarks_" in vars(self):
            self.gram_ = self.kernel_.gram(self.landmarks_, self.plan)
            self.gram_.notes = ("these are the landmarks that represent all samples",)
            self._factors = [LandmarkFactor(root) for root in self._roots]
            return
        plan = with_room(self.plan, searched)
        self.gram_ = make_gram(self.kernel_, self.X_train_, plan, searched)
        if by_products(self.gram_) and not self.gram_.fits(self._noise.shape[1] + 1):
            self.gram_.notes = ("systems by conjugate gradients, the evidence by estimates",)
        try:
            self._factors = factors_of(self.gram_, self._noise)
        except NotPositiveDefiniteError as error:
            some = evenly(len(self.gram_), 500)
            K = self.gram_.block(some, some)
            raise NotPositiveDefiniteError(why_no_factor(K, float(np.mean(self._noise)))) from error
