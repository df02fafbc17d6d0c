"""``mercer fit`` on labels: choose kernels, judge them on rows held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix, log_loss

from ..tables.classifier import TableClassifier
from ..tables.ridge import class_ranks
from ..tables.roles import Column, Table, label_target
from ..tables.rows import check_enough, check_share, select
from .baselines import Constant, Linear, boosted


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
    left_out: dict[str, int] = field(default_factory=dict)  # labels that occur once

    measures = ("accuracy", "balanced", "log loss")


def classify_table(
    table: Table,
    target: str,
    *,
    features: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    test_size: float = 0.2,
    missing: str = "use",
    seed: int = 0,
    baseline: bool = True,
    **options: Any,
) -> Classification:
    """Fit a :class:`TableClassifier`, which takes all other options, and judge it."""
    check_share(test_size)
    y = label_target(table, target)
    given, once = learnable(y)
    chosen = select(table, target, given, features=features, roles=roles, missing=missing)
    X, y = chosen.X, y[chosen.rows].astype(str)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > max(2, len(y) / 4):
        raise ValueError(
            f"the target {target!r} has {len(classes)} different labels in {len(y)} rows: too "
            f"many to learn what they have in common."
        )
    inside = kept_inside(codes, test_size, seed)
    check_enough(int(inside.sum()))
    model = TableClassifier(roles=chosen.roles, styles=chosen.styles, random_state=seed, **options)
    trained = clone(model).fit(X[inside], y[inside])
    held = int(np.sum(~inside))
    scores: dict[str, tuple[float, ...]] = {}
    confusion = None
    if held:
        scores, confusion = _judge(trained, X, y, inside, baseline)
    model = trained.refit(X, y) if held else trained
    left_out = {str(label): 1 for label in once}
    return Classification(
        model, trained, chosen.described(trained.columns_), chosen.dropped, len(y), held, scores,
        confusion, left_out,
    )  # fmt: skip


def learnable(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A mask of the rows with a label that occurs twice, and the labels that occur once."""
    given = np.array([label is not None for label in y])
    labels, sizes = np.unique(y[given].astype(str), return_counts=True)
    once = labels[sizes == 1]
    if len(labels) - len(once) < 2:
        return given, once[:0]
    return given & ~np.isin(np.where(given, y, "").astype(str), once), once


def kept_inside(codes: np.ndarray, test_size: float, seed: int) -> np.ndarray:
    """A mask of the rows that are not held out: the same share of each class, two at least."""
    sizes = np.bincount(codes)
    kept = np.maximum(np.minimum(2, sizes), sizes - np.round(test_size * sizes).astype(int))
    return class_ranks(codes, seed) < kept[codes]


def _judge(
    model: TableClassifier, X: Table, y: np.ndarray, inside: np.ndarray, baseline: bool
) -> tuple[dict, np.ndarray]:
    classes, new, truth = model.classes_, X[~inside], y[~inside]
    rivals = {"majority": Constant(model).predict_proba(new)}
    if hasattr(model.linear_, "machines_"):
        rivals["linear"] = Linear(model, X[inside], y[inside]).predict_proba(new)
    if baseline:
        rivals["boosted trees"] = boosted(model, X[inside], y[inside], classes=True).predict_proba(
            new
        )
    rivals["kernels"] = model.predict_proba(new)
    found = {name: class_scores(truth, P, classes) for name, P in rivals.items()}
    predicted = classes[np.argmax(rivals["kernels"], axis=1)].astype(str)
    return found, confusion_matrix(truth, predicted, labels=classes)


def class_scores(y: np.ndarray, P: np.ndarray, classes: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, balanced accuracy and log loss of probabilities."""
    found = classes[np.argmax(P, axis=1)]
    P = np.clip(P, 1e-15, None)
    return (
        float(np.mean(found == y)),
        float(np.mean([np.mean(found[y == label] == label) for label in np.unique(y)])),
        float(log_loss(y, P / P.sum(axis=1, keepdims=True), labels=classes)),
    )
