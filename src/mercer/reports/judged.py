"""Predictions for rows that a model has not seen: by folds, or for a test set."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from ..data import Data, length, take
from ..plots.intervals import Interval, intervals, quantiles_of
from .markup import count
from .rivals import BOOSTED, CONSTANT, Plain, constant, seconds_of_boosting
from .subject import Clock, Subject

LEVELS = [step / 20 for step in range(1, 20)]
_MOST_TEST = 20_000  # rows of a test set that are looked at
_ONE_THREAD = 5000  # rows up to which trees grow on one thread
_SHARE = 0.4  # of the budget for refits; half of it for the model
_PLAIN = 1.0  # seconds that a linear model may take even if the time is up


@dataclass
class Answers:
    """The predictions of a model for some rows."""

    prediction: np.ndarray
    proba: np.ndarray | None = None

    def put(self, rows: np.ndarray, other: Answers) -> None:
        """Answers for some of the rows."""
        self.prediction[rows] = other.prediction
        if self.proba is not None and other.proba is not None:
            self.proba[rows] = other.proba


@dataclass
class Judged:
    """Rows with their targets, and predictions of models that were not fitted to them."""

    X: Data
    y: np.ndarray
    rows: np.ndarray  # places in the data that were given
    how: str
    model: Answers
    rivals: dict[str, Answers] = field(default_factory=dict)
    bands: list[Interval] = field(default_factory=list)
    classes: np.ndarray | None = None
    parts: list[tuple[Any, np.ndarray]] = field(default_factory=list)  # fitted models, their rows
    missing: list[str] = field(default_factory=list)  # baselines that are not there, and why
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    fitted_to: int = 0

    @property
    def std(self) -> np.ndarray | None:
        """Half the width of the 68% interval or of the nearest to it: how sure the model is."""
        if not self.bands:
            return None
        band = min(self.bands, key=lambda b: abs(b.level - 0.7))
        return np.maximum((band.high - band.low)[:, 0] / 2, 0)


def judge(subject: Subject) -> Judged:
    """Predictions for a test set, or else for all rows by cross-validation."""
    return _on_test(subject) if subject.test is not None else _by_folds(subject)


def _on_test(subject: Subject) -> Judged:
    assert subject.test is not None
    X, y = subject.test
    rows = np.arange(len(y))
    if len(y) > _MOST_TEST:
        rows = np.sort(np.random.default_rng(subject.seed).permutation(len(y))[:_MOST_TEST])
        X, y = take(X, rows), y[rows]
    classes = _classes(subject.model, subject)
    start = time.perf_counter()
    found = ask(subject, subject.model, X, classes)
    seconds = time.perf_counter() - start
    bands = _bands(subject, subject.model, X)
    how = f"on a test set of {count(len(y), 'row')} not used in training"
    judged = Judged(X, y, rows, how, found, bands=bands, classes=classes)
    judged.parts = [(subject.model, np.arange(len(y)))]
    judged.predict_seconds, judged.fitted_to = seconds, subject.n
    judged.fit_seconds = float("nan") if subject.fit_seconds is None else subject.fit_seconds
    n = subject.n
    _compete(subject, judged, [(np.arange(n), n + np.arange(len(y)), np.arange(len(y)))], X)
    return judged


def _by_folds(subject: Subject) -> Judged:
    if subject.pairwise:
        raise ValueError(
            "the model takes kernel values, so it cannot be refitted; pass test=(K, y)."
        )
    rows = subject.some(subject.max_rows)
    y, X = subject.y[rows], take(subject.X, rows)
    classes = np.unique(subject.y) if subject.classifier else None
    splits, name = _splits(subject, rows)
    clock = subject.clock.share(_SHARE / 2)
    n = len(rows)
    model = _empty(n, y, classes)
    judged = Judged(X, y, np.arange(n), "", model, classes=classes)
    seen, bands, fits, asks = [], [], [], []
    for train, test in splits:
        start = time.perf_counter()
        fitted = subject.fitted(rows[train])
        fits.append(time.perf_counter() - start)
        part = take(X, test)
        start = time.perf_counter()
        model.put(test, ask(subject, fitted, part, classes))
        asks.append((time.perf_counter() - start) / len(test))
        bands.append(_bands(subject, fitted, part))
        seen.append((train, test))
        judged.parts.append((fitted, test))
        if clock.left < fits[-1]:
            break
    kept = np.sort(np.concatenate([test for _, test in seen]))
    places = np.searchsorted(kept, np.arange(n))
    few = len(seen) < len(splits)
    judged.how = (
        f"by {name}" if not few else f"on {len(seen)} of the folds of {name}, as time allows"
    )
    if n < subject.n:
        judged.how += f", on {n} of {subject.n} rows drawn at random"
    if subject.keeps_kernels:
        judged.how += ", with the kernels chosen on all rows"
    judged.fitted_to = int(np.mean([len(train) for train, _ in seen]))
    judged.fit_seconds, judged.predict_seconds = (
        float(np.mean(fits)),
        float(np.mean(asks)) * len(kept),
    )
    judged.X, judged.y, judged.rows = take(X, kept), y[kept], rows[kept]
    proba = None if model.proba is None else model.proba[kept]
    if proba is not None and np.isnan(proba).all():
        proba = None
    judged.model = Answers(model.prediction[kept], proba)
    judged.bands = _joined(bands, [places[test] for _, test in seen], len(kept))
    judged.parts = [(m, places[test]) for m, test in judged.parts]
    folds = [(rows[train], rows[test], places[test]) for train, test in seen]
    _compete(subject, judged, folds, None)
    return judged


def _splits(subject: Subject, rows: np.ndarray) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    y, n = subject.y[rows], len(rows)
    groups = None if subject.groups is None else np.asarray(subject.groups)[rows]
    if not isinstance(subject.cv, int):
        found = list(subject.cv.split(np.zeros((n, 1)), y, groups))
        return found, f"{len(found)}-fold cross-validation with {type(subject.cv).__name__}"
    folds = min(subject.cv, n)
    if groups is not None:
        folds = min(folds, len(np.unique(groups)))
        splitter: Any = GroupKFold(folds)
    elif subject.classifier and np.unique(y, return_counts=True)[1].min() >= 2:
        splitter = StratifiedKFold(
            max(2, min(folds, np.unique(y, return_counts=True)[1].max())),
            shuffle=True,
            random_state=subject.seed,
        )
    else:
        splitter = KFold(folds, shuffle=True, random_state=subject.seed)
    with subject.listening():
        found = list(splitter.split(np.zeros((n, 1)), y, groups))
    if subject.classifier:  # parts without which a class is missing can be learned from nothing
        found = [(train, test) for train, test in found if len(np.unique(y[train])) > 1]
    if not found:
        raise ValueError("too few rows of each class for cross-validation.")
    kept = " that keeps groups together" if groups is not None else ""
    return found, f"{len(found)}-fold cross-validation{kept}"


def ask(subject: Subject, model: Any, X: Data, classes: np.ndarray | None) -> Answers:
    """What a model says, with probabilities of all classes where it has them."""
    with subject.listening():
        prediction = np.asarray(model.predict(X))
        if prediction.ndim > 1:  # quantiles: the middle one is compared
            quantiles = quantiles_of(model)
            middle = 0 if quantiles is None else int(np.argmin(np.abs(quantiles - 0.5)))
            prediction = prediction[:, middle]
        if classes is None:
            return Answers(prediction.astype(float))
        return Answers(prediction, _probabilities(model, X, classes))


def _probabilities(model: Any, X: Data, classes: np.ndarray) -> np.ndarray | None:
    """Columns in the order of all classes, also of those that a fold has not seen."""
    if not hasattr(model, "predict_proba"):
        return None
    try:
        found = np.asarray(model.predict_proba(X), dtype=float)
    except (AttributeError, NotImplementedError):
        return None
    proba = np.zeros((len(found), len(classes)))
    for j, label in enumerate(model.classes_):
        place = np.flatnonzero(classes == label)
        if len(place):
            proba[:, place[0]] = found[:, j]
    return proba


def _bands(subject: Subject, model: Any, X: Data) -> list[Interval]:
    if subject.classifier:
        return []
    try:
        with subject.listening():
            asked = None if quantiles_of(model) is not None else LEVELS
            found = intervals(model, X, asked, noise=True)
    except (TypeError, ValueError):
        return []
    return [b for b in found if b.low.shape[1] == 1]


def _joined(bands: list[list[Interval]], places: list[np.ndarray], n: int) -> list[Interval]:
    """The intervals of all folds, in the order of rows."""
    if not bands or not all(bands):
        return []
    found = []
    for level in range(min(map(len, bands))):
        low, high = np.full((n, 1), np.nan), np.full((n, 1), np.nan)
        for part, at in zip(bands, places, strict=True):
            low[at], high[at] = part[level].low, part[level].high
        found.append(Interval(bands[0][level].level, low, high, bands[0][level].words))
    return found


def _compete(
    subject: Subject,
    judged: Judged,
    folds: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    X_test: Data | None,
) -> None:
    """Baselines on the same rows: (training rows, their test rows, places of these)."""
    if not subject.tabular:
        rivals: dict[str, Any] = {CONSTANT: constant(subject.classifier)}
        values: Any = np.zeros((subject.n + (0 if X_test is None else length(X_test)), 1))
        judged.missing.append("linear models and boosted trees need columns, which these data lack")
    else:
        plain = Plain(subject.X) if X_test is None else Plain(subject.X, X_test)
        values, rivals = plain.values, plain.rivals(subject.classifier, subject.seed)
    clock = subject.clock.share(_SHARE / 2)
    small = len(folds[0][0]) <= _ONE_THREAD  # threads would wait for each other
    heard = list(subject.said)
    with threadpool_limits(1 if small else None, user_api="openmp"):
        _fit_rivals(subject, judged, folds, rivals, values, clock)
    subject.said[:] = heard  # warnings of baselines are not about the model


def _fit_rivals(
    subject: Subject, judged: Judged, folds: list, rivals: dict[str, Any], values: Any, clock: Clock
) -> None:
    for name, rival in rivals.items():
        with subject.listening():
            words = _too_long(name, rival, values, subject, folds, clock)
        if words:
            judged.missing.append(words)
            continue
        answers = _empty(len(judged.y), judged.y, judged.classes)
        for train, test, places in folds:
            with subject.listening():
                fitted = clone(rival).fit(values[train], subject.y[train])
            answers.put(places, ask(subject, fitted, values[test], judged.classes))
        judged.rivals[name] = answers


def _too_long(
    name: str, rival: Any, values: Any, subject: Subject, folds: list, clock: Clock
) -> str:
    if name == CONSTANT:
        return ""
    if name == BOOSTED:
        train = folds[0][0]
        limit = clock.left / len(folds)
        if seconds_of_boosting(rival, values[train], subject.y[train], limit) < limit:
            return ""
    else:
        cost = values.shape[0] * float(values.shape[1]) ** 1.5 * len(folds)
        if cost < 2e8 * max(clock.left, _PLAIN):
            return ""
    return f"{name} would have taken longer than the budget allows"


def _empty(n: int, y: np.ndarray, classes: np.ndarray | None) -> Answers:
    if classes is None:
        return Answers(np.full(n, np.nan))
    prediction = np.empty(n, dtype=object if y.dtype.kind in "OUST" else y.dtype)
    return Answers(prediction, np.full((n, len(classes)), np.nan))


def _classes(model: Any, subject: Subject) -> np.ndarray | None:
    if not subject.classifier:
        return None
    assert subject.test is not None
    return np.unique(np.concatenate([subject.y, subject.test[1]]))
