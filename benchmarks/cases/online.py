"""Online learning on a stream of labels, beside a plain loop in NumPy and a library for streams.

All see each sample once. The loop is NORMA with the hinge loss as one would write it down: a ring
of samples, one row of kernel values for each new one; the first case takes the very same steps.
The second one has the defaults, which merge samples, average, and try four lengths of steps. river
has no kernels: its nearest is a linear model on as many random Fourier features, fed sample by
sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target
from ..svm_data import load

LOOP = "a loop in NumPy"
RIVER = "river, random features"
EXACT = "SVC, exact"
_GAMMA = 0.25
_CHUNK = 10_000  # samples at a time: the loop is given all of them, too


def _stream(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in ten dimensions, with a curved border; one label in twenty is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3]
    return X, (f > 0) ^ (rng.random(n) < 0.05)


class Loop:
    """NORMA with a ring of samples."""

    def __init__(self, budget: int, eta: float = 1.0, alpha: float = 1e-5) -> None:
        self.budget, self.eta, self.alpha = budget, eta, alpha
        self.b = 0.0

    def fit(self, X: np.ndarray, y: np.ndarray) -> Loop:
        points, coef = np.zeros((self.budget, X.shape[1])), np.zeros(self.budget)
        place = 0
        for t, (x, label) in enumerate(zip(X, np.where(y, 1.0, -1.0), strict=True), 1):
            eta = self.eta / np.sqrt(t)
            k = np.exp(-_GAMMA * ((points - x) ** 2).sum(axis=1))
            score = k @ coef + self.b
            coef *= 1 - eta * self.alpha
            if label * score < 1:
                points[place], coef[place] = x, eta * label
                self.b += eta * label
                place = (place + 1) % self.budget
        self.points, self.coef = points, coef
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        squares = (X**2).sum(1)[:, None] + (self.points**2).sum(1) - 2 * X @ self.points.T
        return np.exp(-_GAMMA * squares) @ self.coef + self.b > 0


class River:
    """Logistic regression on random Fourier features."""

    def __init__(self, budget: int) -> None:
        from river import feature_extraction, linear_model

        features = feature_extraction.RBFSampler(gamma=_GAMMA, n_components=budget, seed=0)
        self.model = features | linear_model.LogisticRegression()

    def fit(self, X: np.ndarray, y: np.ndarray) -> River:
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(x)), label)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.array([self.model.predict_one(dict(enumerate(x))) for x in X.tolist()])


_NORMA = {"update": "explicit", "removal": "oldest", "average": False, "eta": 1.0}


def labels(n: int, budget: int, peers: bool, options: Mapping[str, Any]) -> Contest:
    """Errors: the share of wrong labels of new samples."""
    from mercer import Gaussian, OnlineKernelMachine

    X, y = _stream(n, 0)
    new, truth = _stream(1000, 1)

    def ours() -> Any:
        model = OnlineKernelMachine(Gaussian.from_gamma(_GAMMA), "hinge", budget=budget, **options)
        for start in range(0, n, _CHUNK):
            part = slice(start, start + _CHUNK)
            model.partial_fit(X[part], y[part], classes=[False, True])
        return model

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        return {name: float(np.mean(m.predict(new) != truth)) for name, m in outputs.items()}

    others = {LOOP: lambda: Loop(budget).fit(X, y), RIVER: lambda: River(budget).fit(X, y)}
    return Contest({MERCER: ours, **(others if peers else {})}, errors)


def batch(data: str, budget: int, options: Mapping[str, Any]) -> Contest:
    """Errors: the rate on new samples above that of an SVC of all of them, after one pass."""
    from mercer import SVC, Gaussian, OnlineKernelMachine

    problem = load(data)
    kernel = Gaussian.from_gamma(1 / problem.X.shape[1])
    order = np.random.default_rng(0).permutation(len(problem.X))
    X, y = problem.X[order], problem.y[order]

    def ours() -> Any:
        model = OnlineKernelMachine(kernel, "hinge", budget=budget, **options)
        classes = np.unique(y)
        for start in range(0, len(X), 1000):
            part = slice(start, start + 1000)
            model.partial_fit(X[part], y[part], classes=classes)
        return model

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        rates = {name: 1 - m.score(problem.new, problem.new_y) for name, m in outputs.items()}
        return {name: rate - rates.get(EXACT, 0.0) for name, rate in rates.items()}

    return Contest({MERCER: ours, EXACT: lambda: SVC(kernel=kernel).fit(X, y)}, errors)


CASES = [
    *(
        Case(
            f"online.{name}.{data.split(':')[0]}",
            "hinge loss, one pass over {data}, {budget} samples kept, against an SVC on all" + how,
            batch,
            {"data": data, "budget": 1000, "options": options},
            {"data": quick, "budget": 1000, "options": options},
            {"data": "mc:300:4", "budget": 50, "options": options},
            accuracy=Accuracy("excess error rate over the exact machine", 0.03),
            rounds=1,
        )
        for name, how, options in (
            ("batch", "", {}),
            ("newton", "; steps of second order", {"update": "newton"}),
        )
        for data, quick in (
            ("ijcnn1:49990", "ijcnn1:5000"),
            ("a9a:32561", "a9a:5000"),
            ("covertype:50000", "covertype:5000"),
            ("skin:50000", "skin:5000"),
            ("letter:15000", "letter:3000"),
            ("connect4:10000", "connect4:3000"),
            ("phoneme:4300", "phoneme:1000"),
            ("spambase:3600", "spambase:1000"),
            ("mc:20000:20", "mc:5000:20"),
        )
    ),
    *(
        Case(
            f"online.{name}",
            f"{words} on a stream of {{n:,}}, d = 10, {{budget}} samples kept",
            labels,
            {"n": 10_000, "budget": 500, "peers": True, "options": options},
            {"n": 4_000, "budget": 500, "peers": True, "options": options},
            {"n": 200, "budget": 50, "peers": True, "options": options},
            time=Target(speed=5.0),
            versus={LOOP: Target(speed=5.0)},
            accuracy=Accuracy("share of wrong labels", wrong),
            rounds=3,
        )
        for name, words, options, wrong in (
            ("norma", "NORMA, hinge loss,", _NORMA, 0.5),
            ("merged", "hinge loss", {}, 0.25),
        )
    ),
    Case(
        "online.long",
        "hinge loss on a stream of {n:,}, d = 10, {budget} samples kept",
        labels,
        {"n": 1_000_000, "budget": 200, "peers": False, "options": {}},
        {"n": 50_000, "budget": 200, "peers": False, "options": {}},
        {"n": 200, "budget": 50, "peers": False, "options": {}},
        memory=Target(limit=200e6),  # half of it the stream itself
        accuracy=Accuracy("share of wrong labels", 0.25),
        rounds=1,
    ),
]
