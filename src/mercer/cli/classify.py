"""``mercer fit`` on labels: choose a kernel and a machine, judge them on rows held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss

from ..gram.plan import Plan
from ..models.lssvm import LSSVC
from ..tables.classifier import TableClassifier
from ..tables.regressor import exact
from ..tables.ridge import class_ranks
from ..tables.roles import Column, Table, label_target, tidy
from ..tables.rows import check_enough, check_share, select


@dataclass
class Classification:
    """What ``mercer fit`` found out about labels.

    ``trained`` was fitted to the rows that were not held out, and the scores are its own;
    ``model`` is the same fitted again to all ``rows``.
    """

    model: TableClassifier
    trained: TableClassifier
    columns: list[Column]
    dropped: int
    rows: int
    held: int
    scores: dict[str, tuple[float, ...]]  # accuracy, balanced accuracy, log loss; by model
    confusion: Any  # of the rows held out: true classes in rows, predicted ones in columns
    plan: str = ""  # of least squares


def classify_table(
    table: Table,
    target: str,
    *,
    features: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    test_size: float = 0.2,
    missing: str = "error",
    seed: int = 0,
    **options: Any,
) -> Classification:
    """Fit a :class:`TableClassifier`, which takes all other options, and judge it."""
    check_share(test_size)
    y = label_target(table, target)
    given = np.array([label is not None for label in y])
    chosen = select(table, target, given, features=features, roles=roles, missing=missing)
    X, y = chosen.X, y[chosen.rows].astype(str)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > max(2, len(y) / 4):
        raise ValueError(
            f"the target {target!r} has {len(classes)} different labels in {len(y)} rows: too "
            f"many to learn what they have in common."
        )
    sizes = np.bincount(codes)
    kept = np.maximum(2, sizes - np.round(test_size * sizes).astype(int))  # of every class
    inside = class_ranks(codes, seed) < kept[codes]
    check_enough(int(inside.sum()))
    model = TableClassifier(roles=chosen.roles, styles=chosen.styles, random_state=seed, **options)
    trained = clone(model).fit(X[inside], y[inside])
    held = int(np.sum(~inside))
    scores, confusion = _judge(trained, X[~inside], y[~inside], y[inside]) if held else ({}, None)
    model = trained.refit(X, y) if held else trained
    machine, plan = trained.machine_, ""
    if isinstance(machine, LSSVC):
        rows = tidy(X[inside], trained.roles_, trained.styles_)
        plan = (machine.plan or Plan()).explain(exact(machine.kernel_), rows)
    return Classification(
        model, trained, chosen.columns, chosen.dropped, len(y), held, scores, confusion, plan
    )


def _judge(
    model: TableClassifier, X: Table, y: np.ndarray, training: np.ndarray
) -> tuple[dict, np.ndarray]:
    classes = model.classes_
    frequencies = np.array([np.mean(training == label) for label in classes])
    rows = tidy(X, model.roles_, model.styles_)
    rivals = {
        "majority": np.tile(frequencies, (len(y), 1)),
        "linear": model.linear_.predict_proba(rows),
        "kernel": model.predict_proba(X),
    }
    scores = {}
    for name, P in rivals.items():
        found = classes[np.argmax(P, axis=1)]
        scores[name] = (
            float(accuracy_score(y, found)),
            _balanced(y, found),
            float(log_loss(y, P, labels=classes)),
        )
    return scores, confusion_matrix(y, model.predict(X).astype(str), labels=classes)


def _balanced(y: np.ndarray, found: np.ndarray) -> float:
    """The mean over the classes that occur in y of the share that was found."""
    return float(np.mean([np.mean(found[y == label] == label) for label in np.unique(y)]))
