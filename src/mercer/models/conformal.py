"""Conformal prediction: intervals that cover, whatever the distribution of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.model_selection import KFold, check_cv, train_test_split
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import (
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from ..checks import check_choice, check_folds, check_fraction
from ..data import Data
from ..randomness import as_random_state
from ..solvers.cholesky import NotPositiveDefiniteError
from .common import SEEN, Regressor, all_or_nothing, check_data, check_targets, check_weights
from .grid import fold_numbers
from .ridge import KernelRidge

METHODS = ("auto", "jackknife+", "cv+", "split")
_ENTRIES = 2**22  # of the array (new samples) x (training samples) that is held at a time


@dataclass(eq=False, repr=False)
class ConformalRegressor(MetaEstimatorMixin, Regressor, BaseEstimator):
    r"""Prediction intervals for any regressor, from its errors on samples it was not trained on.

    With :math:`\mu_{-i}` the model trained without sample i (or without its fold) and
    :math:`R_i = |y_i - \mu_{-i}(x_i)|`, the interval at x is

    .. math:: [\, q^-\{\mu_{-i}(x) - R_i\},\; q^+\{\mu_{-i}(x) + R_i\} \,]

    with q+ the value of rank ceil(level (n + 1)) among the n, and q- the one of the same rank from
    above.

    *Guarantee.* If training and new samples are exchangeable (independent draws of one
    distribution are), a new y lies in its interval with probability at least

    * 1 - 2a for jackknife+, with a = 1 - level,
    * 1 - 2a - sqrt(2 / n) for cv+,
    * 1 - a for split conformal,

    over the draw of training and new samples together; nothing is assumed of the model or of the
    distribution. In practice the first two come close to 1 - a, and their intervals are shorter
    than those of the third, as every sample is used for training. The guarantee is marginal: it
    holds on average over x, not for each x.

    For :class:`KernelRidge` and :class:`KernelRidgeCV` all models :math:`\mu_{-i}` follow from
    one factorisation: with G = (K + alpha W^-1)^-1,

    .. math:: \mu_{-i}(x) = \mu(x) - (k_x' G)_i \, c_i / G_{ii}

    *Bands.* An estimator that predicts several quantiles, such as ``KernelQuantileRegressor([0.1,
    0.9])``, determines where the interval is wide. With l and u the lowest and the highest of them
    and :math:`R_i = \max(l_{-i}(x_i) - y_i, y_i - u_{-i}(x_i))`, negative where y_i is inside, the
    interval is

    .. math:: [\, q^-\{l_{-i}(x) - R_i\},\; q^+\{u_{-i}(x) + R_i\} \,]

    (conformalised quantile regression): its width still follows the band, and the guarantees above
    hold for it.

    Choices made from all samples (alpha by :class:`KernelRidgeCV`, a "median" lengthscale) are kept
    in the leave-one-out models, so the guarantee for jackknife+ is exact only for parameters fixed
    beforehand; ``method="cv+"`` repeats these choices in each fold.

    Parameters
    ----------
    estimator : regressor
        Any scikit-learn regressor with one output, or one that predicts quantiles of it (or
        expectiles), one per column.
    method : {"auto", "jackknife+", "cv+", "split"}
        ``"auto"`` is jackknife+ if it has the closed form above, otherwise cv+. For other models,
        jackknife+ fits one model per sample.
    level : float
        The coverage probability 1 - a, between 0 and 1.
    cv : int or splitter
        Folds of cv+; every sample must be in exactly one test fold. With a number of folds, samples
        are shuffled.
    calibration_size : float
        The share of the samples that split conformal holds back from training.
    random_state : int, RandomState or None
        Used to shuffle folds, or draws the samples held back.

    Attributes
    ----------
    estimator_ : regressor
        The model behind :meth:`predict`: of all samples, or for split conformal of those not
        held back.
    estimators_ : list of regressors
        The models trained without some samples; empty where they come in closed form.
    residuals_ : ndarray of shape (n,)
        y_i - mu_{-i}(x_i), or R_i of a band.
    method_ : str
        The method used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalRegressor, Gaussian, KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, (300, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(300)
    >>> model = ConformalRegressor(KernelRidge(0.1, kernel=Gaussian()), level=0.9).fit(X, y)
    >>> model.predict_interval([[1.5]]).round(2)  # sin(1.5) ± 1.64 * 0.1 is best possible
    array([[0.83, 1.14]])

    References
    ----------
    Barber, Candès, Ramdas & Tibshirani, *Predictive inference with the jackknife+*, Annals of
    Statistics 2021; Romano, Patterson & Candès, *Conformalized quantile regression*, NeurIPS 2019.
    """

    estimator: Any
    _: KW_ONLY
    method: str = "auto"
    level: float = 0.9
    cv: Any = 10
    calibration_size: float = 0.25
    random_state: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (
        *SEEN,
        "estimator_",
        "estimators_",
        "residuals_",
        "method_",
        "_fold",
        "_trained",
        "_band",
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit the estimator, and those without some samples; weights are passed to all of them.

        Samples of weight 0 are left out.
        """
        check_choice("method", self.method, METHODS)
        X, y, weights, used = self._check_fit(X, y, sample_weight)
        _rank(self.level, len(y))
        self.estimators_: list[Any] = []
        self._trained: list[np.ndarray] = []
        self._band = False
        if self.method == "split":
            self.method_ = "split"
            self._fit_split(X, y, weights)
        else:
            self._fold = self._fold_numbers(used) if self.method == "cv+" else np.arange(len(y))
            self.estimator_ = clone(self.estimator)
            if self.method != "cv+" and isinstance(self.estimator_, KernelRidge):
                self.estimator_._keeps_all = True  # leaving one out in closed form needs each
            self.estimator_ = _fit(self.estimator_, X, y, weights)
            closed = _has_closed_form(self.estimator_)
            each = self.method == "jackknife+" or (self.method == "auto" and closed)
            self.method_ = "jackknife+" if each else "cv+"
            if each and closed:
                self.residuals_ = y - _leave_one_out(self.estimator_)
            else:
                if self.method == "auto":
                    self._fold = self._fold_numbers(used)
                self._fit_folds(X, y, weights)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        return self

    def predict(self, X: Data) -> np.ndarray:
        """What the estimator predicts; of several quantiles, the middle one."""
        check_is_fitted(self)
        found = self.estimator_.predict(self._seen_by(0, X) if self.method_ == "split" else X)
        return np.median(found, axis=1) if self._band else found

    def predict_interval(self, X: Data, level: Any = None) -> np.ndarray:
        """Lower and upper ends of the intervals at X, shape (m, 2); of several levels (m, 2, k).

        Parameters
        ----------
        X : data
            New samples.
        level : float or array of shape (k,), optional
            By default that of the constructor. Where the ends of jackknife+ or cv+ cross (at low
            levels they may), both are put at their mean.
        """
        check_is_fitted(self)
        R = self.residuals_ if self._band else np.abs(self.residuals_)
        level = self.level if level is None else level
        levels = [level] if np.ndim(level) == 0 else list(level)
        rank = np.array([_rank(p, len(R)) for p in levels])
        low, high = len(R) - rank, rank - 1  # positions in increasing order
        parts = []
        for below, above in self._held_out(X):
            lower = np.partition(below - R, low, axis=1)[:, low]
            upper = np.partition(above + R, high, axis=1)[:, high]
            middle = (lower + upper) / 2
            ends = [np.minimum(lower, middle), np.maximum(upper, middle)]
            parts.append(np.stack(ends, axis=1))
        found = np.concatenate(parts)
        return found if np.ndim(level) else found[..., 0]

    # ---- models without some samples -------------------------------------------------------
    def _held_out(self, X: Data) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """l_{-i}(x) and u_{-i}(x) for blocks of new x, one column per residual.

        Without a band both are mu_{-i}(x).
        """
        step = max(1, _ENTRIES // len(self.residuals_))
        if self.estimators_:
            found = [m.predict(self._seen_by(k, X)) for k, m in enumerate(self.estimators_)]
            by_fold = [_ends(values) for values in found]
            below, above = (np.stack(side, axis=1) for side in zip(*by_fold, strict=True))
            for start in range(0, len(below), step):
                part = slice(start, start + step)
                yield below[part, self._fold], above[part, self._fold]
            return
        model = self.estimator_
        X = check_data(model, X, model.kernel, reset=False)
        cross, mean = model.gram_.cross(X), model.predict(X)
        alphas, noise = model._noise_diagonals()
        inverse = model._factor(noise(alphas[0]))
        for start in range(0, len(mean), step):
            rows = slice(start, min(start + step, len(mean)))
            block = cross.block(rows, slice(0, cross.shape[1])).astype(float)
            values = mean[rows, None] - inverse.solve(block.T).T * self.residuals_
            yield values, values

    def _fit_folds(self, X: Data, y: np.ndarray, weights: np.ndarray | None) -> None:
        self._fold = np.unique(self._fold, return_inverse=True)[1]
        self.residuals_ = np.empty(len(y))
        for number in range(self._fold.max() + 1):
            test = np.flatnonzero(self._fold == number)
            self.residuals_[test] = self._fit_without(X, y, weights, test)

    def _fold_numbers(self, used: np.ndarray) -> np.ndarray:
        """The fold of each sample in use; a splitter sees also those of weight 0."""
        n = int(np.sum(used))
        cv = check_folds(self.cv, most=n)
        if isinstance(cv, int):
            splitter: Any = KFold(cv, shuffle=True, random_state=as_random_state(self.random_state))
            used = np.ones(n, dtype=bool)
        else:
            splitter = check_cv(cv)
        tests = [test for _, test in splitter.split(np.zeros((len(used), 1)))]
        numbers = fold_numbers(tests, len(used))[used]
        if len(np.unique(numbers)) < 2:
            raise ValueError("cv must have at least two non-empty folds.")
        return numbers

    def _fit_split(self, X: Data, y: np.ndarray, weights: np.ndarray | None) -> None:
        size = check_fraction("calibration_size", self.calibration_size)
        _, test = train_test_split(
            np.arange(len(y)), test_size=size, random_state=as_random_state(self.random_state)
        )
        _rank(self.level, len(test), " held back from training (calibration_size)")
        self.residuals_ = self._fit_without(X, y, weights, np.sort(test))
        self._fold = np.zeros(len(test), dtype=int)
        self.estimator_ = self.estimators_[0]

    def _fit_without(
        self, X: Data, y: np.ndarray, weights: np.ndarray | None, test: np.ndarray
    ) -> np.ndarray:
        """Add the model of all samples but ``test``, and return its residuals on these."""
        train = np.setdiff1d(np.arange(len(y)), test)
        X_train, y_train = _safe_split(self.estimator, X, y, train)
        own = None if weights is None else weights[train]
        self.estimators_.append(_fit(clone(self.estimator), X_train, y_train, own))
        self._trained.append(train)
        X_test, y_test = _safe_split(self.estimator, X, y, test, train)
        found = self.estimators_[-1].predict(X_test)
        self._band = np.ndim(found) == 2
        if not self._band:
            return y_test - found
        below, above = _ends(found)
        return np.maximum(below - y_test, y_test - above)

    def _seen_by(self, number: int, X: Data) -> Data:
        """X for one of ``estimators_``: for a kernel matrix, the columns it was trained on.

        All other data are the same for all.
        """
        if not get_tags(self.estimator).input_tags.pairwise:
            return X
        return np.asarray(X)[:, self._trained[number]]

    # ---- checks ----------------------------------------------------------------------------
    def _check_fit(
        self, X: Data, y: Any, sample_weight: Any
    ) -> tuple[Data, np.ndarray, np.ndarray | None, np.ndarray]:
        """The samples, targets and weights in use, and which ones these are."""
        y = column_or_1d(check_targets(self, X, y, (np.float64, np.float32)), warn=True)
        (X,) = indexable(X)
        if sample_weight is None:
            return X, y, None, np.ones(len(y), dtype=bool)
        if not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"sample_weight was given, but fit of {self.estimator!r} does not accept it; omit "
                "it."
            )
        weights = check_weights(sample_weight, y)
        if weights is None or weights.all():
            return X, y, weights, np.ones(len(y), dtype=bool)
        used = weights > 0
        if get_tags(self.estimator).input_tags.pairwise:
            raise ValueError("sample_weight must be > 0 with a kernel matrix; drop the others.")
        return _safe_indexing(X, np.flatnonzero(used)), y[used], weights[used], used

    def _restore(self) -> None:
        """What :func:`mercer.load` calls; files of mercer 0.1 know no bands."""
        self._band = getattr(self, "_band", False)


def _ends(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest prediction; both are the same if there is one."""
    return (values.min(axis=1), values.max(axis=1)) if values.ndim == 2 else (values, values)


def _fit(estimator: Any, X: Data, y: np.ndarray, weights: np.ndarray | None) -> Any:
    return estimator.fit(X, y) if weights is None else estimator.fit(X, y, sample_weight=weights)


def _has_closed_form(model: Any) -> bool:
    """Kernel ridge regression whose K can be factorised."""
    return (
        isinstance(model, KernelRidge)
        and not model.gram_.matrix_free
        and bool(np.all(model._noise_diagonals()[0] > 0))
    )


def _leave_one_out(model: KernelRidge) -> np.ndarray:
    try:
        return model.leave_one_out()
    except NotPositiveDefiniteError:
        raise ValueError(
            f"K + alpha I of {model!r} is not positive definite to working precision; raise its "
            f"alpha, or use method='cv+'."
        ) from None


def _rank(level: Any, n: int, which: str = "") -> int:
    """The rank, from below, of the upper end among n values."""
    level = check_fraction("level", level)
    rank = math.ceil(level * (n + 1) - 1e-9)
    if rank > n:
        least = math.ceil(level / (1 - level) - 1e-9)
        raise ValueError(
            f"level={level} needs at least {least} samples{which}, got {n} "
            f"sample{'s' * (n != 1)}; lower the level."
        )
    return rank
