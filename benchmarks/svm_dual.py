"""The dual problems of support vector machines, from coefficients and data, in double precision.

Nothing here is mercer's: values are computed from ``support_``, ``dual_coef_`` and ``intercept_``
as scikit-learn defines them, so that every contender is judged by the same yardstick.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from .harness import MERCER, Errors
from .svm_data import Problem

_BLOCK = 1000  # rows of the kernel matrix at a time
_SLACK = 1e-8  # how far a point may leave the feasible set, relative to its size

Kernel = Callable[[np.ndarray, np.ndarray], np.ndarray]
Dual = Callable[[Any], float]  # from a fitted model to the value that is maximised


def gaussian(gamma: float) -> Kernel:
    """exp(-gamma ||x - y||^2)."""

    def kernel(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        squares = (X**2).sum(axis=1)[:, None] + (Y**2).sum(axis=1) - 2 * X @ Y.T
        return np.exp(-gamma * np.maximum(squares, 0.0))

    return kernel


def polynomial(gamma: float, degree: int, coef0: float) -> Kernel:
    """(gamma <x, y> + coef0)^degree."""
    return lambda X, Y: (gamma * X @ Y.T + coef0) ** degree


def quadratic(kernel: Kernel, S: np.ndarray, B: np.ndarray) -> np.ndarray:
    """b'Kb for each column b of B, where K is that of the rows of S."""
    total = np.zeros(B.shape[1])
    for part in _parts(len(S)):
        total += np.einsum("ij,ij->j", B[part], kernel(S[part], S) @ B)
    return total


# ---- what each machine maximises; -inf outside the feasible set ----------------------------------
def classification(problem: Problem, kernel: Kernel, C: float) -> Dual:
    """sum |b| - b'Kb / 2 with sum b = 0 and |b| <= C, summed over the pairs of classes."""

    def dual(model: Any) -> float:
        S, B = problem.X[model.support_], pairs(model, problem.y)
        side = _signs(len(model.classes_))[_codes(problem.y)[model.support_]]
        size = np.abs(B).sum(axis=0)
        inside = np.all(side * B >= 0) and np.abs(B).max() <= C * (1 + _SLACK)
        if not inside or np.any(np.abs(B.sum(axis=0)) > _SLACK * size):
            return -np.inf
        return float((size - quadratic(kernel, S, B) / 2).sum())

    return dual


def regression(problem: Problem, kernel: Kernel, C: float, epsilon: float) -> Dual:
    """b'y - epsilon sum |b| - b'Kb / 2 with sum b = 0 and |b| <= C."""

    def dual(model: Any) -> float:
        S, b = problem.X[model.support_], model.dual_coef_[0]
        size = np.abs(b).sum()
        if np.abs(b).max() > C * (1 + _SLACK) or abs(b.sum()) > _SLACK * size:
            return -np.inf
        linear = b @ problem.y[model.support_] - epsilon * size
        return float(linear - quadratic(kernel, S, b[:, None])[0] / 2)

    return dual


def nu_form(problem: Problem, kernel: Kernel, nu: float, balanced: bool) -> Dual:
    """-a'Ka / 2 with |a| <= 1 and sum |a| = nu n; of two classes each has half of the sum.

    Classifiers divide a by the margin they find, so a is brought back to its sum.
    """

    def dual(model: Any) -> float:
        S, b = problem.X[model.support_], model.dual_coef_[0]
        total = nu * len(problem.X)
        a = b * (total / np.abs(b).sum())
        # the sum of a solver is exact only to its own rounding: allow for it in the bound
        if np.abs(a).max() > 1 + 1e-6 or (balanced and abs(a.sum()) > _SLACK * total):
            return -np.inf
        return float(-quadratic(kernel, S, a[:, None])[0] / 2)

    return dual


# ---- errors --------------------------------------------------------------------------------------
def shortfall(dual: Dual) -> Errors:
    """How far each falls short of the best value found, relative to it."""

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        values = {name: dual(model) for name, model in outputs.items()}
        best = max(values.values())
        return {name: (best - value) / abs(best) for name, value in values.items()}

    return errors


def gap(problem: Problem, kernel: Kernel, C: float) -> Errors:
    """The duality gap of mercer's classifier over its primal value, summed over pairs.

    It bounds the shortfall without any peer to compare with.
    """
    dual = classification(problem, kernel, C)

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        model = outputs[MERCER]
        S, B = problem.X[model.support_], pairs(model, problem.y)
        codes, signs = _codes(problem.y), _signs(len(model.classes_))
        b = model.intercept_ * (-1.0 if len(signs) == 2 else 1.0)
        loss = 0.0
        for part in _parts(len(problem.X)):
            side = signs[codes[part]]
            f = kernel(problem.X[part], S) @ B + b
            loss += float((np.maximum(0.0, 1 - side * f) * (side != 0)).sum())
        primal = float(quadratic(kernel, S, B).sum()) / 2 + C * loss
        return {MERCER: (primal - dual(model)) / primal}

    return errors


# ---- pairs of classes ----------------------------------------------------------------------------
def pairs(model: Any, y: np.ndarray) -> np.ndarray:
    """One column per pair (i, j) of classes, from LIBSVM's layout: i >= 0, j <= 0, others 0."""
    codes = _codes(y)[model.support_]
    k = len(model.classes_)
    if k == 2:  # there, alone, the second class is the positive one
        return -model.dual_coef_.T
    B = np.zeros((len(codes), k * (k - 1) // 2))
    for column, (i, j) in zip(B.T, combinations(range(k), 2), strict=True):
        column[codes == i] = model.dual_coef_[j - 1, codes == i]
        column[codes == j] = model.dual_coef_[i, codes == j]
    return B


def _codes(y: np.ndarray) -> np.ndarray:
    return np.unique(y, return_inverse=True)[1]


def _signs(k: int) -> np.ndarray:
    """For each class and each pair (i, j): 1 for i, -1 for j, 0 for the others."""
    signs = np.zeros((k, k * (k - 1) // 2))
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        signs[i, p], signs[j, p] = 1.0, -1.0
    return signs


def _parts(n: int) -> Iterator[slice]:
    return (slice(i, i + _BLOCK) for i in range(0, n, _BLOCK))
