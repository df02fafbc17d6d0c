"""``mercer fit`` on labels: choose kernels, judge them on held-out rows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix, log_loss

from ..tables.classifier import TableClassifier
from ..tables.ridge import class_ranks
from ..tables.roles import Column, Table, label_target
from ..tables.rows import check_enough, held_share, select
from .baselines import Constant, Linear, boosted


@dataclass
class Classification:
    """What ``mercer fit`` found out about labels.

    ``trained`` was fitted to the rows that were not held out, and has these scores; ``model`` is
    the same model fitted again to all ``rows``.
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
    told: list[str] = field(default_factory=list)  # of the boosted trees

    measures = ("accuracy", "balanced", "log loss")


def classify_table(
    table: Table,
    target: str,
    *,
    features: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    test_size: float | None = None,
    missing: str = "use",
    seed: int = 0,
    baseline: bool = True,
    **options: Any,
) -> Classification:
    """Fit a :class:`TableClassifier`, which takes all other options, and judge it."""
    held_share(test_size, 2)  # refused before a long column is read
    y = label_target(table, target)
    given, once = learnable(y)
    chosen = select(table, target, given, features=features, roles=roles, missing=missing)
    X, y = chosen.X, y[chosen.rows].astype(str)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) > max(2, len(y) / 4):
        raise ValueError(
            f"the target {target!r} has {len(classes)} different labels in {len(y)} rows: too "
            "many for a classifier."
        )
    inside = kept_inside(codes, held_share(test_size, len(y)), seed)
    check_enough(int(inside.sum()))
    model = TableClassifier(roles=chosen.roles, styles=chosen.styles, random_state=seed, **options)
    start = time.perf_counter()
    trained = clone(model).fit(X[inside], y[inside])
    spent = time.perf_counter() - start
    held = int(np.sum(~inside))
    scores: dict[str, tuple[float, ...]] = {}
    confusion: Any = None
    told: list[str] = []
    if held:
        scores, confusion, told = _judge(trained, X, y, inside, spent if baseline else None)
    model = trained.refit(X, y) if held else trained
    left_out = {str(label): 1 for label in once}
    return Classification(
        model, trained, chosen.described(trained.columns_), chosen.dropped, len(y), held, scores,
        confusion, left_out, told,
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
    model: TableClassifier, X: Table, y: np.ndarray, inside: np.ndarray, spent: float | None
) -> tuple[dict, np.ndarray, list[str]]:
    classes, new, truth = model.classes_, X[~inside], y[~inside]
    rivals = {"majority": Constant(model).predict_proba(new)}
    if hasattr(model.linear_, "machines_"):
        rivals["linear"] = Linear(model, X[inside], y[inside]).predict_proba(new)
    told: list[str] = []
    if spent is not None:
        trees = boosted(model, X[inside], y[inside], classes=True, spent=spent)
        rivals["boosted trees"], told = trees.predict_proba(new), trees.told
    rivals["kernels"] = model.predict_proba(new)
    found = {name: class_scores(truth, P, classes) for name, P in rivals.items()}
    predicted = classes[np.argmax(rivals["kernels"], axis=1)].astype(str)
    return found, confusion_matrix(truth, predicted, labels=classes), told


def class_scores(y: np.ndarray, P: np.ndarray, classes: np.ndarray) -> tuple[float, float, float]:
    """Accuracy, balanced accuracy and log loss of probabilities."""
    found = classes[np.argmax(P, axis=1)]
    P = np.clip(P, 1e-15, None)
    return (
        float(np.mean(found == y)),
        float(np.mean([np.mean(found[y == label] == label) for label in np.unique(y)])),
        float(log_loss(y, P / P.sum(axis=1, keepdims=True), labels=classes)),
    )
