r"""What predictions of a model of tables would be without each of its rows, in closed form.

A blend is a weighted sum of ridge regressions on pieces of the rows. With G = K + alpha W^-1 and
c = G^-1 y of a piece, leaving out row i changes its predictions by
(I - alpha W^-1 G^-1) e_i c_i / (G^-1)_ii; kernels, weights of the blend, the scale of the target
and the map to probabilities stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils import compute_sample_weight

_SAME = 1e-5  # by how much fitted values may differ, for a target of unit variance


def without_each(model: Any, X: Any, y: np.ndarray) -> np.ndarray | None:
    """The root mean square of how much predictions of all rows change without each of them.

    None if the model was not fitted to these rows, with equal weights and exact matrices.
    """
    found = _changes(model, X, y, np.ones(len(y)))
    if found is None:
        return None
    change = np.zeros((len(y), len(y)))
    for part, steps in found[1]:
        change += part * steps[:, 0]
    return model.std_ * np.sqrt(np.mean(change**2, axis=0))


def labels_without_each(model: Any, X: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The predictions of a classifier for all rows, with each of them left out.

    First the part of the probability that goes to other classes, the mean over rows of
    sum_k |p_k - q_k| / 2; then how many rows get another label. None if the model was not fitted to
    these rows, with weights of classes only and exact matrices.
    """
    w = np.ones(len(y))
    if model.class_weight is not None:
        w = compute_sample_weight(model.class_weight, y)
        w = w / w.mean()
    found = _changes(model, X, y, w)
    if found is None:
        return None
    values, parts = found
    scores = model.mean_ + values
    before = model.calibration_.probabilities(scores)
    labels = np.argmax(before, axis=1)
    moved, other = np.empty(len(y)), np.empty(len(y), dtype=int)
    for i in range(len(y)):
        change = sum(np.outer(part[:, i], steps[i]) for part, steps in parts)
        after = model.calibration_.probabilities(scores - change)
        moved[i] = np.abs(after - before).sum() / (2 * len(y))
        other[i] = np.count_nonzero(np.argmax(after, axis=1) != labels)
    return moved, other


def _changes(
    model: Any, X: Any, y: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]] | None:
    """Fitted values, and of each member P and s: without row i they change by -P_:i s_i.

    Rows of P belong to rows of the table, rows of s are (outputs,).
    """
    target, known = model._scaled(y)
    if not known.all():
        return None
    encoded = model._new(X)
    n = len(target)
    values, parts = np.zeros(target.shape), []
    for member in model.members_:
        part, steps = np.zeros((n, n)), np.zeros(target.shape)
        for rows, K in member.grams(encoded):
            noise = member.alpha / w[rows]
            try:
                inverse = cho_solve(cho_factor(K + np.diag(noise)), np.eye(len(rows)))
            except np.linalg.LinAlgError:
                return None
            c = inverse @ target[rows]
            values[rows] += member.weight * (K @ c)
            steps[rows] = member.weight * c / np.diagonal(inverse)[:, None]
            part[np.ix_(rows, rows)] = np.eye(len(rows)) - noise[:, None] * inverse
        parts.append((part, steps))
    if np.max(np.abs(values - model._values(encoded))) > _SAME:
        return None
    return values, parts
