"""What models share that choose their parameters from a grid, by scores on held-out samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import (
    GroupShuffleSplit,
    ParameterGrid,
    ShuffleSplit,
    StratifiedShuffleSplit,
)
from sklearn.utils.validation import check_is_fitted

from ..data import Data
from ..progress import progress
from ..randomness import as_random_state

Setting = dict[str, Any]
CHOSEN = ("best_params_", "best_score_", "cv_results_")  # what a search leaves behind


class GridSearch:
    """Every setting of ``param_grid`` with every strength of a penalty; the best mean score wins.

    A setting is scored with all strengths at once, since they share its kernel matrix.
    """

    param_grid: Any
    cv: Any
    test_size: float
    random_state: Any
    verbose: bool
    best_params_: Setting
    best_score_: float
    cv_results_: dict[str, Any]

    def _grid(self) -> list[Setting]:
        return list(ParameterGrid(self.param_grid)) if self.param_grid else [{}]

    def _search(
        self,
        settings: list[Setting],
        strengths: list[Setting],
        score: Callable[[Setting], Iterable[np.ndarray]],
        average: Callable[..., np.ndarray] = np.mean,
    ) -> None:
        """Remember the scores and the best setting.

        ``score(setting)`` has the scores of all folds, for each of the ``strengths``.
        """
        tried: list[Setting] = []
        scores: list[np.ndarray] = []
        for setting in progress(settings, self.verbose):
            tried += [{**setting, **strength} for strength in strengths]
            scores += list(score(setting))
        mean = average(np.stack(scores), axis=1)
        if np.isnan(mean).all():
            scoring = getattr(self, "scoring", "accuracy")
            raise ValueError(
                f"scoring={scoring!r} is not defined on the folds of cv={self.cv!r}: all "
                f"scores are NaN; use larger folds or another score."
            )
        self.cv_results_ = {
            "params": tried,
            "split_test_scores": np.stack(scores),
            "mean_test_score": mean,
        }
        best = int(np.nanargmax(mean))
        self.best_params_, self.best_score_ = tried[best], float(mean[best])

    def _plain(self, model: Any, setting: Setting, *without: str) -> Any:
        """A model of the plain class, with parameters of this one, and those of a setting."""
        names = [name for name in model.get_params(deep=False) if name not in without]
        given = {name: clone(getattr(self, name), safe=False) for name in names}
        return model.set_params(**given).set_params(**clone(setting, safe=False))

    def _take_over(self, fitted: Any) -> None:
        """Copy the results of a fitted model."""
        params = fitted.get_params(deep=False)
        vars(self).update({k: value for k, value in vars(fitted).items() if k not in params})

    def _parts(
        self, n: int, groups: Any, classes: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The samples to choose with, and those to test with, in order."""
        if not self.test_size:
            return np.arange(n), np.arange(0)
        draw: Any = ShuffleSplit if classes is None else StratifiedShuffleSplit
        draw = draw if groups is None else GroupShuffleSplit
        draws = as_random_state(self.random_state)
        splitter = draw(1, test_size=self.test_size, random_state=draws)
        train, test = next(splitter.split(np.empty((n, 1)), classes, groups))
        return np.sort(train), np.sort(test)


class DrawnGrid(GridSearch):
    """One whose scores can be seen."""

    _strength: str  # the parameter that every setting is tried with

    def plot(self, X: Data = None, y: Any = None, ax: Any = None, **options: Any) -> Any:
        """Plot the scores as a map over the strength of the penalty and the other parameter, or as
        curves if there are more.

        With samples X, plot the fitted model instead.
        """
        from ..plots.selection import plot_grid

        if X is not None:
            return super().plot(X, y, ax, **options)  # type: ignore[misc]
        check_is_fitted(self)
        return plot_grid(self.cv_results_, self._strength, ax=ax)


def fold_numbers(tests: list[np.ndarray], n: int) -> np.ndarray:
    """The number of the test set that each of n samples is in."""
    if not np.array_equal(np.sort(np.concatenate(tests)), np.arange(n)):
        raise ValueError("cv must put every sample into exactly one test fold, as KFold does.")
    numbers = np.empty(n, dtype=int)
    for number, test in enumerate(tests):
        numbers[test] = number
    return numbers
