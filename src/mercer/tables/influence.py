"""What predictions of a model of tables would be without each of its rows, in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

_SAME = 1e-5  # by how much fitted values may differ, for a target of unit variance


def without_each(model: Any, X: Any, y: np.ndarray) -> np.ndarray | None:
    r"""The root mean square of how much predictions of all rows change without each of them.

    A blend is a weighted sum of ridge regressions on pieces of the rows. With G = K + alpha I and
    c = G^-1 y of a piece, leaving out row i changes its predictions by
    (I - alpha G^-1) e_i c_i / (G^-1)_ii; kernels, weights and the scale of the target stay as they
    are. None if the model was not fitted to these rows, with equal weights and exact matrices.
    """
    encoded, target = model._new(X), (y - model.mean_) / model.std_
    n = len(y)
    values, change = np.zeros(n), np.zeros((n, n))
    for member in model.members_:
        for rows, K in member.grams(encoded):
            one = np.eye(len(rows))
            try:
                inverse = cho_solve(cho_factor(K + member.alpha * one), one)
            except np.linalg.LinAlgError:
                return None
            c = inverse @ target[rows]
            values[rows] += member.weight * (K @ c)
            part = (one - member.alpha * inverse) * (c / np.diagonal(inverse))
            change[np.ix_(rows, rows)] += member.weight * part
    if np.max(np.abs(values - model._values(encoded)[:, 0])) > _SAME:
        return None
    return model.std_ * np.sqrt(np.mean(change**2, axis=0))
