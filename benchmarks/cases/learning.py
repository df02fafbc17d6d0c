"""Weights of kernels beside MKLpy, and rankings beside LIBLINEAR on all pairs.

MKLpy's EasyMKL maximises another criterion, so both are judged by the share of new samples that
they get wrong. LIBLINEAR solves the same problem as :class:`mercer.KernelRanker`, if all pairs are
written out: both are judged by the objective.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

MKLPY, LIBLINEAR = "MKLpy", "scikit-learn, all pairs"


def views(n: int) -> Contest:
    """Two classes of digits, seen as pixels, ink, Fourier coefficients, edges, and noise."""
    from sklearn.datasets import load_digits

    from mercer import Gaussian, MultipleKernelMachine

    rng = np.random.default_rng(0)
    digits = load_digits()
    images, y = digits.images / 16, np.where(digits.target % 2, 1, -1)
    parts = [
        images.reshape(len(y), -1),
        np.hstack([images.sum(axis=1), images.sum(axis=2)]),
        np.abs(np.fft.rfft2(images)).reshape(len(y), -1),
        np.diff(images, axis=2).reshape(len(y), -1),
        rng.normal(size=(len(y), 30)),
    ]
    order = rng.permutation(len(y))
    train, test = order[:n], order[n:]
    ends = np.cumsum([0, *(V.shape[1] for V in parts)]).tolist()
    X = np.hstack(parts)
    columns = [slice(*ends[m : m + 2]) for m in range(len(parts))]
    kernels = [Gaussian("median").on(c).resolve(X[train]) for c in columns]

    def ours() -> np.ndarray:
        model = MultipleKernelMachine(kernels, "hinge", alpha=1.0).fit(X[train], y[train])
        return model.predict(X[test])

    def theirs() -> np.ndarray:
        from MKLpy.algorithms import EasyMKL
        from sklearn.svm import SVC

        own = [k(X[train]) for k in kernels]
        model = EasyMKL(lam=0.1, learner=SVC(C=1.0)).fit(own, y[train])
        return np.asarray(model.predict([k(X[test], X[train]) for k in kernels]))

    def wrong(outputs: Any) -> dict[str, float]:
        return {name: float(np.mean(found != y[test])) for name, found in outputs.items()}

    return Contest({MERCER: ours, MKLPY: theirs}, wrong)


def ranking(n: int) -> Contest:
    """A linear function, one group; errors: the objective above the smaller one, relative."""
    from mercer import KernelRanker, Linear
    from mercer.solvers.ranking import Pairs

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = X @ rng.standard_normal(20) + rng.standard_normal(n)
    alpha = 0.01 * n * n

    def ours() -> np.ndarray:
        model = KernelRanker(alpha, kernel=Linear()).fit(X, y)
        weights = model.rkhs_function_.weights()
        assert weights is not None
        return weights

    def theirs() -> np.ndarray:
        from sklearn.svm import LinearSVC

        i, j = np.triu_indices(n, 1)
        sign = np.sign(y[i] - y[j])
        D = (X[i] - X[j]) * np.where(np.arange(len(sign)) % 2, sign, 1.0)[:, None]
        labels = np.where(np.arange(len(sign)) % 2, 1.0, sign)
        model = LinearSVC(C=1 / (2 * alpha), fit_intercept=False, dual=False, tol=1e-4)
        return model.fit(D, labels).coef_[0]

    def excess(outputs: Any) -> dict[str, float]:
        pairs = Pairs(y, np.zeros(n, dtype=int), alpha, None)
        values = {
            name: pairs.loss_at((X @ w)[:, None]) + alpha * float(w @ w) / 2
            for name, w in outputs.items()
        }
        best = min(values.values())
        return {name: value / best - 1 for name, value in values.items()}

    return Contest({MERCER: ours, LIBLINEAR: theirs}, excess)


CASES = [
    Case(
        "learning.views",
        "weights of five kernels and a machine, {n:,} digits",
        views,
        {"n": 1_000},
        {"n": 300},
        {"n": 60},
        time=Target(speed=1.0),
        accuracy=Accuracy("error rate on new digits", 0.05),
        rounds=3,
    ),
    Case(
        "learning.ranking",
        "ranking, {n:,} samples in one group, 20 features",
        ranking,
        {"n": 1_500},
        {"n": 400},
        {"n": 60},
        time=Target(speed=3.0),
        accuracy=Accuracy("relative excess of the objective", 1e-4),
        rounds=3,
    ),
]
