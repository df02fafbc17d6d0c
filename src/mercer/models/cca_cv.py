"""Kernel canonical correlation analysis with the regularization chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from ..checks import check_folds
from ..data import Data, length
from ..gram.plan import Plan
from ..solvers.canonical import CanonicalProblem
from ..solvers.views import View
from .cca import KernelCCA
from .common import all_or_nothing
from .grid import CHOSEN, GridSearch, Setting
from .multiview import as_views, correlate, mean_correlation


class KernelCCACV(GridSearch, KernelCCA):
    """Kernel canonical correlation analysis with the regularization chosen by cross-validation.

    The score is the correlation of the scores on held-out samples, averaged over pairs of views,
    components and folds. Gram matrices are computed once for each setting of the kernels, on all
    samples, and small or factorised views are decomposed once per fold for all regularizations.

    Parameters
    ----------
    regularizations : list of float, or of lists of one float per view
        The values to try, > 0.
    n_components, kernels, form, rank, plan, random_state
        As in :class:`KernelCCA`.
    param_grid : dict or list of dict, optional
        Other parameters to try: ``{"kernels__lengthscale": [0.1, 1]}`` where all views have the
        same kernel, lists of kernels, ``{"kernels": [[k, l], [k, m]]}``, or ``{"form": [...]}``.
    cv : int, splitter or iterable
        Folds, as in scikit-learn; with a number of folds, samples are not shuffled.
    verbose : bool
        Show a progress bar over kernel settings.

    Attributes
    ----------
    regularization_ : float or list of float
        The best regularization.
    best_params_ : dict
        The best setting, regularization included.
    best_score_ : float
        Its held-out correlation.
    cv_results_ : dict
        ``"params"``, ``"mean_test_score"`` and ``"split_test_scores"`` of shape (settings, folds).
    correlations_, dual_coef_, points_, functions_, offsets_, kernels_, left_out_, solution_
        As in :class:`KernelCCA`, of the model fitted to all samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelCCACV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(150, 2))
    >>> Y = np.column_stack([X[:, 0] ** 2, rng.normal(size=150)]) + rng.normal(size=(150, 2))
    >>> model = KernelCCACV([1e-4, 1e-2, 1.0]).fit(X, Y)
    >>> model.regularization_, round(model.best_score_, 2)
    (0.01, 0.84)

    References
    ----------
    Leurgans, Moyeed & Silverman, *Canonical correlation analysis when the data are curves*, JRSS B
    1993.
    """

    saved_state: ClassVar[tuple[str, ...]] = (*KernelCCA.saved_state, *CHOSEN, "regularization_")

    def __init__(
        self,
        regularizations: Any = (1e-4, 1e-3, 1e-2, 1e-1, 1.0),
        n_components: int = 1,
        *,
        kernels: Any = None,
        form: str = "ridge",
        rank: Any = "auto",
        param_grid: Any = None,
        cv: Any = 5,
        plan: Plan | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.regularizations = regularizations
        self.n_components = n_components
        self.kernels = kernels
        self.form = form
        self.rank = rank
        self.param_grid = param_grid
        self.cv = cv
        self.plan = plan
        self.random_state = random_state
        self.verbose = verbose

    @property
    def regularization(self) -> Any:
        """The regularization of the final fit."""
        return self.regularization_

    @all_or_nothing
    def fit(self, X: Any, y: Data = None, sample_weight: Any = None) -> Self:
        """Choose by cross-validation, then fit to all samples with the best setting.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`KernelCCA.fit`; held-out correlations are not weighted.
        """
        found = as_views(X, y)
        given = (
            [self.regularizations] if np.ndim(self.regularizations) == 0 else self.regularizations
        )
        candidates = [self._check_parameters(found, r, self.form) for r in given]
        if not candidates or min(r.min() for r in candidates) == 0:
            raise ValueError(f"regularizations must be positive, got {self.regularizations!r}.")
        n = length(found[0])
        folds = list(check_cv(check_folds(self.cv)).split(np.empty((n, 1))))
        smallest = min(float(r.min()) for r in candidates)

        def score(setting: Setting) -> np.ndarray:
            model = clone(self).set_params(**clone(setting, safe=False))
            parts = model._make_views(found, sample_weight, smallest)
            views = [part.view for part in parts]
            return held_out(views, candidates, folds, model.n_components, model.form)

        self._search(self._grid(), [{"regularization": _plain(r)} for r in candidates], score)
        self.regularization_ = self.best_params_["regularization"]
        final = self._plain(KernelCCA(), self.best_params_, "regularization")
        self._take_over(final.fit(found, sample_weight=sample_weight))
        return self


def held_out(
    views: Sequence[View],
    candidates: list[np.ndarray],
    folds: list[tuple[np.ndarray, np.ndarray]],
    k: int,
    form: str,
) -> np.ndarray:
    """The mean held-out correlation of k components, for each regularization in every fold."""
    scores = np.empty((len(candidates), len(folds)))
    for f, (train, test) in enumerate(folds):
        some = [view.restrict(train) for view in views]
        problem = CanonicalProblem(some)
        for c, regularization in enumerate(candidates):
            found = problem.solve(regularization.tolist(), k, form)
            pairs = zip(some, found.coefs, strict=True)
            R = correlate([view.evaluate(coef, test) for view, coef in pairs])
            scores[c, f] = mean_correlation(R).mean()
    return scores


def _plain(regularization: np.ndarray) -> Any:
    """One number where all views have the same."""
    values = regularization.tolist()
    return values[0] if len(set(values)) == 1 else values
