"""Machines on explicit features beside LIBLINEAR and the approximations of scikit-learn.

Text is made: words by Zipf's law, weighted as by tf-idf; a fit is judged by its objective.
Landmarks are judged by errors on new samples, and in the last case beside the exact kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..harness import MERCER, Accuracy, Case, Contest, Target
from ..svm_data import load

LIBLINEAR = "LIBLINEAR (scikit-learn)"
NYSTROEM, FOURIER = "Nystroem + LinearSVC", "RBFSampler + SGDClassifier"
LOGISTIC = "Nystroem + LogisticRegression"
LIBSVM, EXACT = "LIBSVM (scikit-learn), exact", "SVC of mercer, exact"


def text(n: int, d: int, C: float, loss: str) -> Contest:
    """Errors: by how much the objective is above the smallest, as a part of it."""
    from sklearn.svm import LinearSVC

    from mercer import KernelMachine, Linear

    X, y = _words(n, d)
    sign = np.where(y == 1, 1.0, -1.0)
    factor = 1.0 if loss == "hinge" else 0.5  # our squared hinge is half of theirs
    ours = KernelMachine(
        Linear(), loss, factor / C, fit_intercept=False, solver="coordinate", tol=1e-5
    )
    theirs = LinearSVC(C=C, loss=loss, fit_intercept=False, tol=1e-4, max_iter=10_000)

    def objective(model: Any) -> float:
        w = X.T @ model.dual_coef_ if hasattr(model, "dual_coef_") else model.coef_[0]
        short = np.maximum(1 - sign * (X @ w), 0)
        return float(w @ w / 2 + C * np.sum(short if loss == "hinge" else short**2))

    def excess(outputs: Mapping[str, Any]) -> dict[str, float]:
        values = {name: objective(model) for name, model in outputs.items()}
        return {name: value / min(values.values()) - 1 for name, value in values.items()}

    return Contest({MERCER: lambda: ours.fit(X, y), LIBLINEAR: lambda: theirs.fit(X, y)}, excess)


def landmarks(data: str, m: int, ours: int, C: float, peers: tuple[str, ...]) -> Contest:
    """m features of scikit-learn, landmarks of ours; the rate on new samples, above theirs."""
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    problem = load(data)
    near = partial(Nystroem, gamma=problem.gamma, n_components=m, random_state=0)
    waves = RBFSampler(gamma=problem.gamma, n_components=m, random_state=0)
    known = {
        NYSTROEM: make_pipeline(near(), LinearSVC(C=C, loss="hinge", max_iter=100)),
        LOGISTIC: make_pipeline(near(), LogisticRegression(C=C, max_iter=200)),
        FOURIER: make_pipeline(
            waves, SGDClassifier(alpha=1 / (C * len(problem.X)), average=True, random_state=0)
        ),
    }
    models = {MERCER: _ours(problem.gamma, ours, C), **{name: known[name] for name in peers}}
    return Contest(_fits(models, data), _above(data))


def exact(data: str, m: int, C: float) -> Contest:
    """Errors: the rate on new samples, above that of the exact kernel."""
    from sklearn.svm import SVC as TheirSVC

    from mercer import SVC, Gaussian

    gamma = load(data).gamma
    models = {
        MERCER: _ours(gamma, m, C),
        LIBSVM: TheirSVC(C=C, gamma=gamma, cache_size=2000),
        EXACT: SVC(C=C, kernel=Gaussian.from_gamma(gamma), cache_size=2000),
    }
    return Contest(_fits(models, data), _above(data))


def _ours(gamma: float, m: int, C: float) -> Any:
    from mercer import SVC, Gaussian, Landmarks, Plan

    plan = Plan(features=Landmarks(m, choose="uniform"))
    return SVC(C=C, kernel=Gaussian.from_gamma(gamma), plan=plan, solver="coordinate")


def _fits(models: dict[str, Any], data: str) -> dict[str, Callable[[], Any]]:
    problem = load(data)
    return {name: partial(model.fit, problem.X, problem.y) for name, model in models.items()}


def _above(data: str) -> Callable[[Mapping[str, Any]], dict[str, float]]:
    problem = load(data)

    def above(outputs: Mapping[str, Any]) -> dict[str, float]:
        rates = {name: 1 - m.score(problem.new, problem.new_y) for name, m in outputs.items()}
        lowest = min((rate for name, rate in rates.items() if name != MERCER), default=0.0)
        return {name: rate - lowest for name, rate in rates.items()}

    return above


def _words(n: int, d: int, words: int = 90) -> tuple[Any, np.ndarray]:
    """About 70 different words in each document, of unit length, and two noisy classes."""
    rng = np.random.default_rng(0)
    often = np.cumsum(1 / np.arange(1, d + 1))
    ends = np.concatenate([[0], np.cumsum(np.maximum(rng.poisson(words, n), 3))])
    drawn = np.searchsorted(often / often[-1], rng.random(ends[-1])).clip(0, d - 1)
    X = sp.csr_matrix((np.ones(len(drawn)), drawn.astype(np.int32), ends), shape=(n, d))
    X.sum_duplicates()
    rare = np.log(n / (1 + np.bincount(X.indices, minlength=d))) + 1
    X.data = (1 + np.log(X.data)) * rare[X.indices]
    X = sp.csr_matrix(sp.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())) @ X)
    score = X @ rng.standard_normal(d)
    score += 0.15 * score.std() * rng.standard_normal(n)
    return X, (score > np.median(score)).astype(int)


_EXCESS = Accuracy("relative excess of the objective", 2e-5)
# of 5,000 new samples; landmarks are drawn at random, by all alike
_BETTER = Accuracy("excess error rate over the best of the others", 0.001)
_POINT = Accuracy("excess error rate over the exact kernel", 0.01)
_TINY = {"data": "mc:1200:4", "m": 600, "C": 1.0}

CASES = [
    *(
        Case(
            f"features.text.{loss}",
            f"linear machine, {loss}, synthetic text, n = {{n:,}}, d = {{d:,}}, C={{C:g}}",
            text,
            {"n": 100_000, "d": 50_000, "C": 1.0, "loss": loss},
            {"n": 20_000, "d": 20_000, "C": 1.0, "loss": loss},
            {"n": 500, "d": 300, "C": 1.0, "loss": loss},
            time=Target(speed=1.0),
            accuracy=_EXCESS,
            rounds=3,
        )
        for loss in ("hinge", "squared_hinge")
    ),
    *(
        Case(
            f"features.landmarks.{data.split(':')[0]}.{name}",
            "SVC, {ours:,} landmarks against {m:,} of scikit-learn, {data}, C={C:g}",
            landmarks,
            {"data": data, "m": 1000, "ours": m, "C": C, "peers": peers},
            {"data": quick, "m": 300, "ours": 3 * m // 10, "C": C, "peers": peers},
            {"data": "mc:1200:4", "m": 600, "ours": 600, "C": 1.0, "peers": peers},
            versus={peer: Target(speed=3.0) for peer in peers},
            accuracy=_BETTER,
            rounds=1,
        )
        for data, quick, C, tuned in (
            ("ijcnn1:49990", "ijcnn1:10000", 10.0, (1000, 350)),
            ("covertype:200000", "covertype:20000", 10.0, (500, 300)),
            ("kddcup:200000", "kddcup:20000", 10.0, (500, 300)),
            ("mc:100000:54", "mc:20000:54", 1.0, (1300, 1000)),
        )
        for name, m, peers in (
            ("svc", tuned[0], (NYSTROEM,)),
            ("others", tuned[1], (LOGISTIC, FOURIER)),
        )
    ),
    Case(
        "features.exact.ijcnn1",
        "SVC, {m:,} landmarks against the exact kernel, {data}, C={C:g}",
        exact,
        {"data": "ijcnn1:120000", "m": 300, "C": 10.0},
        {"data": "ijcnn1:20000", "m": 300, "C": 10.0},
        _TINY,
        versus={LIBSVM: Target(speed=10.0)},  # our exact one is quick where support vectors are few
        accuracy=_POINT,
        rounds=1,
        slow=True,
    ),
]
