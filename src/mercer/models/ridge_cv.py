"""Kernel ridge regression with alpha and kernel parameters chosen by exact cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils.validation import indexable

from ..data import Data
from ..solvers.eigen import RidgeSpectrum
from .common import progress
from .ridge import KernelRidge


class KernelRidgeCV(KernelRidge):
    """Kernel ridge regression that picks alpha and kernel parameters by cross-validation.

    For each setting of the kernel one eigendecomposition gives the held-out predictions of every
    alpha and every fold (or of leave-one-out) in closed form; no model is refitted. Lengthscales
    such as "median" are resolved once, on all samples.

    Parameters
    ----------
    alphas : array of float
        The values of alpha to try.
    kernel : Kernel, str or callable
        As in :class:`KernelRidge`.
    param_grid : dict or list of dict, optional
        Other parameters to try, by their nested names: ``{"kernel__lengthscale": [0.1, 1]}``,
        ``{"gamma": [0.1, 1]}``, or whole kernels, ``{"kernel": [Gaussian(), Laplacian()]}``.
    cv : None, int, splitter or iterable
        None is leave-one-out; otherwise as in scikit-learn.
    scoring : str or callable
        A scikit-learn regression score, computed on the held-out predictions (for leave-one-out
        over all of them at once), larger is better.
    gamma, degree, coef0, kernel_params, plan
        As in :class:`KernelRidge`.
    verbose : bool
        Show a progress bar over kernel settings.

    Attributes
    ----------
    alpha_ : float
        The best alpha.
    best_params_ : dict
        The best setting, alpha included.
    best_score_ : float
        Its cross-validated score.
    cv_results_ : dict
        ``"params"`` (one dict per setting and alpha), ``"mean_test_score"`` and
        ``"split_test_scores"`` of shape (settings, folds).
    dual_coef_, X_fit_, kernel_, gram_, rkhs_function_, solution_
        As in :class:`KernelRidge`, of the model refitted on all data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidgeCV
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])
    >>> grid = {"kernel__lengthscale": [0.1, 1.0, 10.0]}
    >>> KernelRidgeCV(kernel=Gaussian(), param_grid=grid).fit(X, y).kernel_
    Gaussian()

    References
    ----------
    Rifkin & Lippert, *Notes on regularized least squares*, MIT-CSAIL-TR-2007-025.
    """

    saved_state = (*KernelRidge.saved_state, "alpha_", "best_params_", "best_score_", "cv_results_")

    def __init__(
        self,
        alphas: Any = (1e-3, 1e-2, 1e-1, 1.0, 10.0),
        *,
        kernel: Any = "linear",
        param_grid: Any = None,
        cv: Any = None,
        scoring: Any = "neg_mean_squared_error",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        plan: Any = None,
        verbose: bool = False,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.plan = plan
        self.verbose = verbose

    solver, tol, random_state = "auto", 1e-8, None  # of the final fit

    @property
    def alpha(self) -> float:
        """The alpha of the final fit."""
        return self.alpha_

    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> KernelRidgeCV:
        """Choose by cross-validation, then fit on all data with the best setting."""
        alphas = np.atleast_1d(np.asarray(self.alphas, dtype=float))
        if alphas.ndim != 1 or not len(alphas) or np.any(alphas <= 0):
            raise ValueError(f"alphas must be positive numbers, got {self.alphas!r}.")
        settings = list(ParameterGrid(self.param_grid)) if self.param_grid else [{}]
        raw = X
        X, y, weights = self._check_fit(X, y, sample_weight)
        Y = y[:, None] if y.ndim == 1 else y
        folds = None
        if self.cv is not None:
            folds = _folds(self.cv, raw, y)
        metric = _metric(self.scoring)
        tried: list[dict[str, Any]] = []
        scores: list[np.ndarray] = []
        for setting in progress(settings, self.verbose):
            candidate = clone(self).set_params(**clone(setting, safe=False))
            spectrum = RidgeSpectrum(candidate._make_gram(X), weights)
            tried += [{**setting, "alpha": float(alpha)} for alpha in alphas]
            scores += _all_scores(spectrum, Y, alphas, folds, metric, weights)
        self.cv_results_ = {
            "params": tried,
            "split_test_scores": np.stack(scores),
            "mean_test_score": np.stack(scores).mean(axis=1),
        }
        best = int(np.argmax(self.cv_results_["mean_test_score"]))
        self.best_params_ = tried[best]
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])
        self.alpha_ = self.best_params_["alpha"]
        chosen = {k: v for k, v in self.best_params_.items() if k != "alpha"}
        final = KernelRidge(
            alpha=self.alpha_,
            **{
                name: clone(getattr(self, name), safe=False)
                for name in ("kernel", "gamma", "degree", "coef0", "kernel_params", "plan")
            },
        ).set_params(**clone(chosen, safe=False))
        final.fit(X, y, sample_weight)
        for name in ("dual_coef_", "X_fit_", "kernel_", "gram_", "solution_", "_noise"):
            setattr(self, name, getattr(final, name))
        return self


def _metric(scoring: Any) -> Callable[..., float]:
    """A function of (true, predicted, weights), larger is better."""
    if callable(scoring) and not hasattr(scoring, "_score_func"):
        return scoring
    scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring

    def metric(y: np.ndarray, f: np.ndarray, weights: np.ndarray | None) -> float:
        value = scorer._score_func(y, f, sample_weight=weights, **scorer._kwargs)
        return scorer._sign * float(value)

    return metric


def _all_scores(
    spectrum: RidgeSpectrum,
    Y: np.ndarray,
    alphas: np.ndarray,
    folds: list[np.ndarray] | None,
    metric: Callable[..., float],
    weights: np.ndarray | None,
) -> list[np.ndarray]:
    """Scores of every fold, for every alpha."""
    parts: list[Any] = [slice(None)] if folds is None else list(folds)
    if folds is None:
        held_out = [[spectrum.leave_one_out(Y, float(alpha))] for alpha in alphas]
    else:
        held_out = spectrum.held_out(Y, list(map(float, alphas)), folds)
    w = [None if weights is None else weights[V] for V in parts]
    return [
        np.array([metric(Y[V], F, wV) for V, F, wV in zip(parts, of_alpha, w, strict=True)])
        for of_alpha in held_out
    ]


def _folds(cv: Any, X: Data, y: Any) -> list[np.ndarray]:
    """The test sets of a splitter whose training sets are all other samples."""
    X, y = indexable(X, y)
    splits = list(check_cv(cv).split(X, y))
    if any(len(train) + len(test) != len(y) for train, test in splits):
        raise ValueError(
            "cv must train on all samples outside each test fold (KFold, RepeatedKFold, "
            "GroupKFold, ...); for other splitters use GridSearchCV(KernelRidge(...))."
        )
    return [np.asarray(test) for _, test in splits]
