"""The subject of a report: a model with its data and a time budget."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..chunks.base import Chunks
from ..data import Data, as_samples, holds_numbers, is_frame, length, take, unmasked
from ..engine.durations import duration_words, parse_duration
from ..frames import opened
from ..kernels.base import Kernel
from ..tables.model import TableModel

LEAST = 3  # rows of a report
_PART = 0.05  # of the budget, for choosing the kernels of one refit
_INNER = ("best_estimator_", "regressor_", "model_", "estimator_")


class Clock:
    """The time that is left of a budget."""

    def __init__(self, budget: float | str) -> None:
        self.budget = parse_duration(budget)
        if not self.budget > 0:
            raise ValueError(f"budget must be a time > 0, such as 60 or '2 min', got {budget!r}.")
        self.start = time.perf_counter()

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self.start

    @property
    def left(self) -> float:
        """Seconds until the end; negative when it is over."""
        return self.budget - self.spent

    def share(self, part: float) -> Clock:
        """A clock for a part of the budget, or for what is left if that is less."""
        return Clock(max(min(part * self.budget, self.left), 1e-3))

    def refusal(self) -> str:
        """Why something was left out."""
        return f"the budget of {duration_words(self.budget)} was already used up; allow more."


@dataclass
class Subject:
    """A fitted model with the data it was trained on, and others if there are any."""

    model: Any
    X: Data
    y: np.ndarray
    clock: Clock
    test: tuple[Data, np.ndarray] | None = None
    names: list[str] = field(default_factory=list)
    max_rows: int = 2000
    cv: Any = 5
    groups: Any = None
    seed: int = 0
    fit_seconds: float | None = None
    said: list[str] = field(default_factory=list)  # warnings of fits

    @property
    def n(self) -> int:
        """How many training rows there are."""
        return len(self.y)

    @property
    def classifier(self) -> bool:
        """Does the model predict labels?"""
        return bool(is_classifier(self.model))

    @property
    def tabular(self) -> bool:
        """Are rows made of columns?"""
        return bool(self.names)

    @property
    def inner(self) -> Any:
        """The estimator that has the kernel, inside pipelines, searches and models of tables."""
        return inside(self.model)

    @property
    def kernel(self) -> Kernel | None:
        """The kernel with numbers for parameters, if the model has one of ours."""
        for name in ("kernel_", "kernel"):
            found = getattr(self.inner, name, None)
            if isinstance(found, Kernel):
                return found
        return None

    @property
    def pairwise(self) -> bool:
        """Does the model take kernel values in place of samples?"""
        return bool(get_tags(self.model).input_tags.pairwise)

    def some(self, most: int, seed: int = 0) -> np.ndarray:
        """Rows drawn at random, at most so many; of every class one at least. In order."""
        if self.n <= most:
            return np.arange(self.n)
        order = np.random.default_rng([self.seed, seed]).permutation(self.n)
        if self.classifier:
            _, first = np.unique(self.y[order], return_index=True)
            rest = np.setdiff1d(np.arange(self.n), first, assume_unique=True)
            order = order[np.concatenate([first, rest])]
        return np.sort(order[:most])

    def fitted(self, rows: np.ndarray, model: Any = None) -> Any:
        """A copy fitted to some rows; a model of tables keeps the kernels it has chosen."""
        X, y = take(self.X, rows), self.y[rows]
        with self.listening():
            if model is None and self.keeps_kernels and self._has_all_classes(y):
                return self.model.refit(X, y)
            own = clone(self.model if model is None else model)
            if isinstance(own, TableModel):  # chosen again, for fewer classes
                own.set_params(budget=max(1.0, _PART * self.clock.budget))
            loud = (name for name in own.get_params() if name.rpartition("__")[2] == "verbose")
            return own.set_params(**dict.fromkeys(loud, False)).fit(X, y)

    @property
    def keeps_kernels(self) -> bool:
        """Is it a model of tables, whose kernels need not be chosen again?"""
        return isinstance(self.model, TableModel) and hasattr(self.model, "members_")

    def _has_all_classes(self, y: np.ndarray) -> bool:
        return not self.classifier or np.array_equal(np.unique(y), self.model.classes_)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Warnings are kept for the reader."""
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            yield
        for warning in heard:
            words = " ".join(str(warning.message).split())
            if words not in self.said:
                self.said.append(words)


def subject_of(
    model: Any, X: Data, y: Any, clock: Clock, test: Any = None, **options: Any
) -> Subject:
    """A subject from what a user gave; refuses what no report can be made of."""
    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(
            f"a report is about a classifier, a regressor or the result of a test, not about "
            f"{type(model).__name__}."
        )
    classifier = is_classifier(model)
    X, y = _checked(X, y, "X", "y", classifier)
    if test is not None:
        if not (isinstance(test, tuple | list) and len(test) == 2):
            raise ValueError("test must be a pair (X_test, y_test).")
        test = _checked(test[0], test[1], "the X of test", "the y of test", classifier)
    if classifier and len(np.unique(y)) < 2:
        raise ValueError("y has only one class; a report needs two or more.")
    pairwise = get_tags(model).input_tags.pairwise
    names = [] if pairwise else column_names(X)
    found = Subject(model, X, y, clock, test, names, **options)
    try:
        check_is_fitted(model)
    except NotFittedError:
        start = time.perf_counter()
        found.model = found.fitted(np.arange(found.n))
        found.fit_seconds = time.perf_counter() - start
    return found


def inside(model: Any) -> Any:
    """The innermost estimator: of a pipeline the last step, of a search the best one, ..."""
    for _ in range(10):
        if getattr(model, "steps", None):
            model = model.steps[-1][1]
            continue
        if isinstance(getattr(model, "kernel_", None), Kernel):
            return model
        found = [getattr(model, name) for name in _INNER if hasattr(model, name)]
        if not found:
            return model
        model = found[0]
    return model


def column_names(X: Data) -> list[str]:
    """The names of columns, or x0, x1, ... of an array; none if rows are not made of columns."""
    if is_frame(X):
        return [str(name) for name in X.columns]
    if not holds_numbers(X):
        return []
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    return [f"x{j}" for j in range(shape[1] if len(shape) > 1 else 1)]


def _checked(X: Data, y: Any, X_name: str, y_name: str, classifier: bool) -> tuple[Any, Any]:
    if isinstance(X, Chunks):
        raise TypeError(f"{X_name} is in chunks; make a report on a subsample in memory.")
    if y is None:
        raise ValueError(f"a report on a model needs {y_name}, the target.")
    X = as_samples(X, "a report")
    y = unmasked(opened(y), y_name)
    if np.ndim(y) == 2 and np.shape(y)[1] > 1:
        raise ValueError(f"{y_name} has {np.shape(y)[1]} columns; make a report for each target.")
    y = column_or_1d(np.asarray(y))
    if length(X) != len(y):
        raise ValueError(f"{X_name} has {length(X)} rows and {y_name} has {len(y)}.")
    if len(y) < LEAST:
        raise ValueError(f"{X_name} has {len(y)} rows; a report needs at least {LEAST}.")
    if not classifier:
        try:
            y = y.astype(float)
        except (TypeError, ValueError):
            raise ValueError(f"{y_name} must hold numbers for a regressor.") from None
    bad = ~np.isfinite(y) if y.dtype.kind == "f" else np.array([v is None or v != v for v in y])
    if bad.any():
        raise ValueError(
            f"{y_name} has {int(bad.sum())} missing or infinite values; drop those rows."
        )
    return X, y
