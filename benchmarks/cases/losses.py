"""Losses other than the squared one on Friedman's first problem, beside our own ridge regression.

What a loss costs beyond a Cholesky factor: Newton's method for labels, the dual for kinks. There is
no kernel logistic regression in scikit-learn; the nearest is a linear one on landmarks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

RIDGE = "KernelRidge of mercer"
LANDMARKS = "scikit-learn, 500 landmarks"
_GAMMA = 0.5


def _friedman(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_friedman1

    return make_friedman1(n, n_features=10, noise=2.0, random_state=seed)


def _ridge(X: np.ndarray, y: np.ndarray) -> Callable[[], Any]:
    from mercer import KernelRidge

    model = KernelRidge(1.0, kernel="rbf", gamma=_GAMMA)
    return lambda: model.fit(X, y)


def labels(n: int, classes: int) -> Contest:
    """Errors: by how much the log loss on new data exceeds the smallest one."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.pipeline import make_pipeline

    from mercer import Gaussian, KernelLogisticRegression

    X, y = _friedman(n)
    new, truth = _friedman(2000, seed=1)
    edges = np.quantile(y, np.arange(1, classes) / classes)
    codes, new_codes = np.digitize(y, edges), np.digitize(truth, edges)
    ours = KernelLogisticRegression(1.0, kernel=Gaussian.from_gamma(_GAMMA))
    theirs = make_pipeline(
        Nystroem(gamma=_GAMMA, n_components=min(500, n), random_state=0),
        LogisticRegression(C=1.0, max_iter=1000),
    )

    def excess(outputs: Mapping[str, Any]) -> dict[str, float]:
        fitted = {k: m for k, m in outputs.items() if hasattr(m, "predict_proba")}
        values = {k: log_loss(new_codes, m.predict_proba(new)) for k, m in fitted.items()}
        return {k: value - min(values.values()) for k, value in values.items()}

    return Contest(
        {
            MERCER: lambda: ours.fit(X, codes),
            RIDGE: _ridge(X, y),
            LANDMARKS: lambda: theirs.fit(X, codes),
        },
        excess,
    )


def numbers(n: int, loss: str) -> Contest:
    """The error is the violation of the optimality conditions, as a part of the largest slope."""
    from mercer import Gaussian, KernelMachine, KernelQuantileRegressor

    X, y = _friedman(n)
    kernel = Gaussian.from_gamma(_GAMMA)
    model: Any = KernelMachine(kernel, loss, 1.0, tol=1e-4)
    if loss == "quantile":
        model = KernelQuantileRegressor(0.9, alpha=1.0, kernel=kernel, tol=1e-4)
    return Contest(
        {MERCER: lambda: model.fit(X, y), RIDGE: _ridge(X, y)},
        lambda outputs: {MERCER: outputs[MERCER].solution_.stats["violation"]},
    )


_EXCESS = Accuracy("excess log loss on new data over the best", 0.02)
_VIOLATION = Accuracy("violation of optimality", 1.01e-4)

CASES = [
    *(
        Case(
            f"losses.{name}",
            "logistic regression, {classes} classes, n = {n:,}, d = 10",
            labels,
            {"n": 5_000, "classes": classes},
            {"n": 1_000, "classes": classes},
            {"n": 60, "classes": classes},
            versus={RIDGE: target},
            accuracy=_EXCESS,
            rounds=3,
        )
        for name, classes, target in (
            ("logistic", 2, Target(cost=3.0)),
            ("multinomial", 4, Target()),  # four functions instead of one: nothing is promised
        )
    ),
    *(
        Case(
            f"losses.{loss}",
            f"{loss} regression, n = {{n:,}}, d = 10",
            numbers,
            {"n": 5_000, "loss": loss},
            {"n": 1_000, "loss": loss},
            {"n": 60, "loss": loss},
            time=Target(cost=5.0),
            accuracy=_VIOLATION,
            rounds=3,
        )
        for loss in ("quantile", "huber")
    ),
]
