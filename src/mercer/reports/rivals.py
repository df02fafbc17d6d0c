"""Baselines: what a constant, a linear model and boosted trees make of the same rows."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ..data import Data, is_frame, join
from ..frames import holds_dates
from .data import column_at

CONSTANT, LINEAR, BOOSTED = "constant", "linear", "gradient boosting"
_MOST_LABELS = 50  # of a column that a linear model sees one by one
_MOST_CODES = 254  # labels of a column that trees tell apart; rarer ones are one
_TRIALS = (2, 8)  # trees of fits that tell how long a hundred take


class Plain:
    """The columns of one or two tables as baselines take them: all of them numbers.

    Labels are codes, in the order of how often they occur; NaN is what is missing. No column
    learns from another one or from the target.
    """

    def __init__(self, *tables: Data) -> None:
        self.labels: list[int] = []
        X = join(*tables)
        if sp.issparse(X):
            self.values: Any = X.tocsr()
        elif is_frame(X):
            found = [self._column(X, place) for place in range(len(X.columns))]
            self.values = np.column_stack(found)
        else:
            array = np.asarray(X, dtype=float)
            self.values = array[:, None] if array.ndim == 1 else array

    def _column(self, X: Data, place: int) -> np.ndarray:
        values = column_at(X, place)
        if isinstance(values, np.ndarray):
            return values
        if holds_dates(values):
            return _days(values)
        self.labels.append(place)
        ranks = {word: i for i, (word, _) in enumerate(Counter(map(str, values)).most_common())}
        return np.array([min(ranks[str(v)], _MOST_CODES) for v in values], dtype=float)

    def rivals(self, classifier: bool, seed: int) -> dict[str, Any]:
        """Estimators that are not fitted, by name."""
        width, known = self.values.shape[1], set(self.labels)
        numbers = [j for j in range(width) if j not in known]
        found: dict[str, Any] = {CONSTANT: constant(classifier)}
        linear: Any = (
            LogisticRegression(max_iter=300) if classifier else RidgeCV(np.logspace(-3, 4, 8))
        )
        if sp.issparse(self.values):
            found[LINEAR] = make_pipeline(StandardScaler(with_mean=False), linear)
            return found  # trees would need all zeros
        scaled = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
        coded = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=_MOST_LABELS)
        columns = [("numbers", scaled, numbers), ("labels", coded, self.labels)]
        found[LINEAR] = make_pipeline(ColumnTransformer(columns, sparse_threshold=0), linear)
        kind = HistGradientBoostingClassifier if classifier else HistGradientBoostingRegressor
        found[BOOSTED] = kind(random_state=seed, categorical_features=self.labels or None)
        return found


def constant(classifier: bool) -> Any:
    """The shares of classes, or the mean."""
    return DummyClassifier() if classifier else DummyRegressor()


def seconds_of_boosting(model: Any, X: np.ndarray, y: np.ndarray, limit: float) -> float:
    """How long a fit will take, from two with few trees; infinite if one is beyond the limit."""
    took: list[float] = []
    for trees in _TRIALS:
        if sum(took) * 10 > limit:
            return float("inf")
        start = time.perf_counter()
        clone(model).set_params(max_iter=trees).fit(X, y)
        took.append(time.perf_counter() - start)
    each = max(took[1] - took[0], 0.0) / (_TRIALS[1] - _TRIALS[0])
    return took[0] + each * model.max_iter


def _days(items: list) -> np.ndarray:
    """Dates as days, NaN where there is none."""
    found = np.full(len(items), np.nan)
    for i, value in enumerate(items):
        try:
            found[i] = value.timestamp() / 86_400
        except (AttributeError, ValueError, OverflowError, OSError):
            try:
                found[i] = value.toordinal()
            except (AttributeError, ValueError):
                found[i] = getattr(value, "total_seconds", lambda: np.nan)() / 86_400
    return found
