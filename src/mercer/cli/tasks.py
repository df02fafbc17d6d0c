"""Numbers or labels: how a target is read, which rows are held out, and how models are judged."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import (
    confusion_matrix,
    log_loss,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from ..tables.classifier import TableClassifier
from ..tables.regressor import TableRegressor
from ..tables.ridge import class_ranks
from ..tables.roles import Column, Table, label_target, numeric_target
from ..tables.rows import check_enough, held_share, select
from .baselines import rivals


class Task(ABC):
    """What to predict: :data:`NUMBERS` or :data:`LABELS`."""

    name: str
    kind: type
    measures: tuple[str, ...]
    best: str  # the measure that models are compared by
    constant: str  # what predicts without any column
    answer: str  # the method that is judged

    @abstractmethod
    def target(self, table: Table, name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """The values, a mask of those that can be learned, and notes on how they were read."""

    @abstractmethod
    def inside(self, y: np.ndarray, share: float, seed: int) -> np.ndarray:
        """A mask of the rows that are not held out."""

    @abstractmethod
    def scores(self, y: np.ndarray, found: np.ndarray, model: Any) -> tuple[float, ...]:
        """The measures of answers, which a model of tables gave or something beside it."""

    def main(self, scores: tuple[float, ...]) -> float:
        """The one that models are compared by."""
        return scores[self.measures.index(self.best)]


class _Numbers(Task):
    name, kind, answer, constant = "regression", TableRegressor, "predict", "the mean"
    measures, best = ("RMSE", "MAE", "R2"), "R2"

    def target(self, table: Table, name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
        y, how = numeric_target(table, name)
        return y, np.isfinite(y), [f"the target: {how}"] if how else []

    def inside(self, y: np.ndarray, share: float, seed: int) -> np.ndarray:
        held = round(share * len(y))
        found = np.ones(len(y), dtype=bool)
        if held > 1:  # there is no R2 of one row
            found[np.random.default_rng(seed).permutation(len(y))[:held]] = False
        return found

    def scores(self, y: np.ndarray, found: np.ndarray, model: Any) -> tuple[float, ...]:
        metrics = (root_mean_squared_error, mean_absolute_error, r2_score)
        return tuple(float(metric(y, found)) for metric in metrics)


class _Labels(Task):
    name, kind, answer, constant = "classification", TableClassifier, "predict_proba", "majority"
    measures, best = ("accuracy", "balanced", "log loss"), "accuracy"

    def target(self, table: Table, name: str) -> tuple[np.ndarray, np.ndarray, list[str]]:
        y = label_target(table, name)
        given = np.array([label is not None for label in y])
        labels, sizes = np.unique(y[given].astype(str), return_counts=True)
        once = labels[sizes == 1]
        if not len(once) or len(labels) - len(once) < 2:
            return y, given, []
        known = given & ~np.isin(np.where(given, y, "").astype(str), once)
        return y, known, [f"labels that occur once are left out: {', '.join(once)}"]

    def inside(self, y: np.ndarray, share: float, seed: int) -> np.ndarray:
        """The same share of each class, two rows at least."""
        codes = np.unique(y.astype(str), return_inverse=True)[1]
        sizes = np.bincount(codes)
        kept = np.maximum(np.minimum(2, sizes), sizes - np.round(share * sizes).astype(int))
        return class_ranks(codes, seed) < kept[codes]

    def scores(self, y: np.ndarray, found: np.ndarray, model: Any) -> tuple[float, ...]:
        classes, P = model.classes_, np.clip(found, 1e-15, None)
        right = classes[np.argmax(found, axis=1)] == y
        return (
            float(np.mean(right)),
            float(np.mean([np.mean(right[y == label]) for label in np.unique(y)])),
            float(log_loss(y, P / P.sum(axis=1, keepdims=True), labels=classes)),
        )


NUMBERS, LABELS = _Numbers(), _Labels()


@dataclass
class Fit:
    """What ``mercer fit`` found out.

    ``trained`` was fitted to the rows that were not held out, and the scores are its own;
    ``model`` is the same fitted again to all ``rows``.
    """

    task: Task
    model: Any
    trained: Any
    columns: list[Column]
    dropped: int
    rows: int
    notes: list[str] = field(default_factory=list)  # on the target
    held: int = 0
    scores: dict[str, tuple[float, ...]] = field(default_factory=dict)  # by model
    told: list[str] = field(default_factory=list)  # of the boosted trees
    held_out: Table = None  # of numbers: target, prediction, its deviation and a 90 % interval
    confusion: Any = None  # of labels: true classes in rows, predicted ones in columns

    def judge(
        self, X: Table, y: np.ndarray, new: Table, truth: np.ndarray, spent: float | None
    ) -> None:
        """Score the model on new rows, beside others that learn from X and y."""
        model, self.held = self.trained, len(truth)
        found, self.told = rivals(self.task, model, X, y, new, spent)
        if self.task is NUMBERS:
            self.held_out = model.tabulate(new, detail=True).set_index(new.index)
            self.held_out.insert(0, "target", truth)
            found["kernels"] = self.held_out["prediction"].to_numpy()
        else:
            found["kernels"] = P = model.predict_proba(new)
            guessed = model.classes_[np.argmax(P, axis=1)]
            self.confusion = confusion_matrix(truth, guessed, labels=model.classes_)
        self.scores = {name: self.task.scores(truth, f, model) for name, f in found.items()}


def fit_table(
    table: Table,
    target: str,
    task: Task = NUMBERS,
    *,
    features: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    test_size: float | None = None,
    missing: str = "use",
    seed: int = 0,
    baseline: bool = True,
    **options: Any,
) -> Fit:
    """Fit a model of tables, which takes all other options, and judge it."""
    held_share(test_size, 2)  # refused before a long column is read
    y, given, notes = task.target(table, target)
    chosen = select(table, target, given, features=features, roles=roles, missing=missing)
    X, y = chosen.X, y[chosen.rows]
    if task is LABELS and len(classes := np.unique(y := y.astype(str))) > max(2, len(y) / 4):
        raise ValueError(
            f"the target {target!r} has {len(classes)} different labels in {len(y)} rows: too "
            "many for a classifier."
        )
    inside = task.inside(y, held_share(test_size, len(y)), seed)
    check_enough(int(inside.sum()))
    model = task.kind(roles=chosen.roles, styles=chosen.styles, random_state=seed, **options)
    start = time.perf_counter()
    trained = clone(model).fit(X[inside], y[inside])
    spent = time.perf_counter() - start if baseline else None
    columns = chosen.described(trained.columns_)
    found = Fit(task, trained, trained, columns, chosen.dropped, len(y), notes)
    if not inside.all():
        found.judge(X[inside], y[inside], X[~inside], y[~inside], spent)
        found.model = trained.refit(X, y)
    return found
