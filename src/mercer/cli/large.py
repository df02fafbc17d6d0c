"""``mercer fit`` on files that are larger than memory."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from ..chunks.front import stream
from ..engine.memory import parse_memory
from ..tables.classifier import TableClassifier
from ..tables.regressor import TableRegressor
from ..tables.roles import Table
from ..tables.rows import held_share
from .baselines import Constant
from .classify import Classification, class_scores
from .fit import Fit, number_scores, selection_options, task_of

_CHECKED = 20_000  # rows held out that are predicted
_FIRST = 20_000  # rows from which roles and the task are read
_CHUNKS = 50  # chunks would fill the memory asked for: readers hold some, and copies of them
_LEAST = 1000  # rows of a chunk


def fit_large(args: Namespace, options: dict[str, Any]) -> tuple[Table, str, Any]:
    """The first rows of the file, the task, and what was found out."""
    share = held_share(args.test_size, 2)
    chosen = selection_options(args)
    columns = chosen["features"] and [n for n in chosen["features"] if n != args.target]
    head = next(iter(stream(args.table, missing="keep", rows=_FIRST))).X
    task = task_of(args, head)
    rows = None
    if args.memory is not None:
        most = parse_memory(args.memory) / (_CHUNKS * 8 * head.shape[1])
        rows = int(np.clip(most, _LEAST, _FIRST))
    chunks = stream(args.table, target=args.target, columns=columns, missing="keep", rows=rows)
    count, held = chunks.n_samples, None
    most = chunks
    if share:
        most, held = chunks.split(share, rng=args.seed)
    kind = TableRegressor if task == "regression" else TableClassifier
    roles = chosen["roles"] or None
    model: Any = kind(roles=roles, random_state=args.seed, **options).fit(most)
    scores: dict[str, tuple[float, ...]] = {}
    shown = confusion = None
    if held is not None:
        check = held.sample(_CHECKED, args.seed)
        scores, shown, confusion = _judged(model, check.X, np.asarray(check.y), task)
    checked = min(_CHECKED, count - most.n_samples)
    if model.rows_ >= 0.9 * most.n_samples:  # of a sample, or by passes over all of them
        model.rows_ = count
    if task == "regression":
        found: Any = Fit(model, model, model.columns_, 0, count, scores, shown)
    else:
        found = Classification(
            model, model, model.columns_, 0, count, checked, scores, confusion
        )  # fmt: skip
    return head, task, found


def _judged(model: Any, X: Table, y: np.ndarray, task: str) -> tuple[dict, Any, Any]:
    from sklearn.metrics import confusion_matrix

    if task == "regression":
        known = np.isfinite(y.astype(float))
        X, y = X[known].reset_index(drop=True), y[known].astype(float)
        shown = model.tabulate(X, detail=True)
        shown.insert(0, "target", y)
        rivals = {"the mean": Constant(model).predict(y), "kernels": shown["prediction"]}
        scores = {name: number_scores(y, np.asarray(f)) for name, f in rivals.items()}
        return scores, shown, None
    y = y.astype(model.classes_.dtype)
    known = np.isin(y, model.classes_)
    P, y = model.predict_proba(X[known].reset_index(drop=True)), y[known]
    rivals = {"majority": Constant(model).predict_proba(y), "kernels": P}
    found = model.classes_[np.argmax(P, axis=1)]
    told = {name: class_scores(y, Q, model.classes_) for name, Q in rivals.items()}
    return told, None, confusion_matrix(y, found, labels=model.classes_)
