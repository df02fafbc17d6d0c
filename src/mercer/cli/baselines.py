"""What a model of a table has to beat: the mean, a linear model, boosted trees."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from ..engine.durations import parse_duration
from ..frames import pandas
from ..models.calibration import Calibration
from ..tables.encoding import encode
from ..tables.numbers import part_of
from ..tables.roles import Table, tidy

_SMALL = 1_000_000  # values, up to which threads of OpenMP wait for each other most of the time
_LEVELS = 250  # that boosted trees take of a label
_SHARE = 0.15  # of the budget, for boosted trees
_TRIAL = 5  # rounds that tell how long all of them take
_RATE = 2e6  # values that are binned in a second, with some time left for rounds
_LEAST = 1000  # rows that they always see
clock = time.perf_counter


class Constant:
    """The mean of the target, or the shares of the classes, of a model's training rows."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.model.mean_)

    def predict_proba(self, X: Any) -> np.ndarray:
        shares = (np.ravel(self.model.mean_) + 1) / 2
        shares = np.array([1 - shares[0], shares[0]]) if len(shares) == 1 else shares
        return np.tile(shares, (len(X), 1))


class Linear:
    """The linear baseline of a model of tables, with its own probabilities."""

    def __init__(self, model: Any, X: Table, y: np.ndarray) -> None:
        self.model = model
        if hasattr(model, "classes_"):
            codes = np.searchsorted(model.classes_, y)
            self.calibration = Calibration().fit(self._scores(X), codes, np.ones(len(y)))

    def predict(self, X: Table) -> np.ndarray:
        return self.model.mean_ + self.model.std_ * self._values(X)[:, 0]

    def predict_proba(self, X: Table) -> np.ndarray:
        return self.calibration.probabilities(self._scores(X))

    def _values(self, X: Table) -> np.ndarray:
        return self.model.linear_.predict(self.model._new(X))

    def _scores(self, X: Table) -> np.ndarray:
        return self.model.mean_ + self._values(X)


def boosted(
    model: Any, X: Table, y: np.ndarray, *, classes: bool, spent: float | None = None
) -> Any:
    """scikit-learn's boosted trees with their defaults, on the columns that the model uses.

    They get a part of the budget of the model, or half of what the model left of it when it was
    fitted in ``spent`` seconds. A few rounds tell how long all of them take; if that takes too
    long, rounds or rows are left out, and ``told`` says so.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    budget = parse_duration("1 min" if model.budget is None else model.budget)
    start, allowed = clock(), _SHARE * budget
    used = min(len(X), max(int(_RATE * allowed / max(X.shape[1], 1)), _LEAST))
    if spent is not None:
        allowed = max(allowed, (budget - spent) / 2)
    some = np.sort(np.random.default_rng(0).permutation(len(X))[:used])
    if classes and len(np.unique(y[some])) < len(np.unique(y)):
        some = np.arange(len(X))
    rows = _rows(model, X.iloc[some])
    trees = kind(categorical_features="from_dtype", random_state=0, warm_start=True)
    rounds = trees.max_iter
    model._say(f"boosted trees on {part_of(len(some), len(X))}, for comparison")
    with _threads(rows):
        first = clock()
        trees.set_params(max_iter=_TRIAL).fit(rows, y[some])
        each = (clock() - first) / _TRIAL
        left = allowed - (clock() - start)
        more = int(np.clip(left / each, 0, rounds - _TRIAL))
        if more and trees.n_iter_ == _TRIAL:
            trees.set_params(max_iter=_TRIAL + more).fit(rows, y[some])
    told = []
    if len(some) < len(X):
        told.append(
            f"boosted trees were fitted to {part_of(len(some), len(X))}, as the budget allows"
        )
    if trees.n_iter_ == trees.max_iter < rounds:
        told.append(
            f"boosted trees were stopped after {trees.n_iter_} of {rounds} rounds, as the budget "
            f"allows"
        )
    return _Trees(model, rows, trees, clock() - start, told)


def rivals(
    task: Any, model: Any, X: Table, y: np.ndarray, new: Table, spent: float | None
) -> tuple[dict[str, np.ndarray], list[str]]:
    """What all of them answer for new rows, and notes; no trees without the time a fit took."""
    others: dict[str, Any] = {task.constant: Constant(model)}
    if hasattr(model.linear_, "machines_"):
        others["linear"] = Linear(model, X, y)
    told: list[str] = []
    if spent is not None:
        trees = boosted(model, X, y, classes=hasattr(model, "classes_"), spent=spent)
        others["boosted trees"], told = trees, trees.told
    return {name: getattr(other, task.answer)(new) for name, other in others.items()}, told


class _Trees:
    def __init__(
        self, model: Any, rows: Table, trees: Any, seconds: float, told: list[str]
    ) -> None:
        self.model, self.trees, self.seconds, self.told = model, trees, seconds, told
        self.dtypes = {name: rows[name].dtype for name in rows}

    def predict(self, X: Table) -> np.ndarray:
        return self._ask(self.trees.predict, X)

    def predict_proba(self, X: Table) -> np.ndarray:
        return self._ask(self.trees.predict_proba, X)

    def _ask(self, answer: Any, X: Table) -> np.ndarray:
        rows = _rows(self.model, X).astype(self.dtypes)
        with _threads(rows):
            return answer(rows)


def _threads(rows: Table) -> Any:
    """A context with one thread for small tables."""
    return threadpool_limits(1 if rows.size < _SMALL else None)


def _rows(model: Any, X: Table) -> Table:
    """Numbers with gaps, labels as categories, and coordinates from the letters of texts."""
    pd = pandas()
    table = tidy(X, model.roles_, model.styles_)
    encoded = encode(model.parts_, table)
    columns: dict[str, Any] = {}
    for part in model.parts_:
        name, role = part["column"], part["role"]
        if role in ("number", "date"):
            columns[f"{len(columns)}"] = table[name].to_numpy(dtype=float)
        elif role == "label" and len(part["levels"]) + part["others"] <= _LEVELS:
            values = table[name].where(table[name].notna(), "(missing)")
            columns[f"{len(columns)}"] = pd.Series(values.to_numpy(), dtype="category")
        else:
            for j in np.flatnonzero([source == name for source in encoded.sources]):
                columns[f"{len(columns)}"] = encoded.Z[:, j]
    return pd.DataFrame(columns)
