"""Online learning on a stream of labels, beside plain loops in NumPy and a library for streams.

All see each sample once. ``norma`` is NORMA with the hinge loss, beside a loop of the very same
steps; ``merged`` are single steps, beside a loop that tries four lengths, averages and
merges, too; ``default`` is what mercer does unless told otherwise, beside a loop of such steps with
one length and no watch for drift, and beside NORMA, which does a small part of the work. river has
no kernels: its nearest is a linear model on as many random Fourier features, fed sample by sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target
from ..online_loops import GAMMA, Loop, MergingLoop, NewtonLoop, River
from ..svm_data import load

LOOP = "a loop in NumPy"
NORMA = "NORMA, a loop in NumPy"
RIVER = "river, random features"
EXACT = "SVC, exact"
STAYS = "schedule='sqrt'"
_CHUNK = 10_000  # samples at a time: the loop is given all of them, too


def _stream(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes in ten dimensions, with a curved border; one label in twenty is wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 10))
    f = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.5 * X[:, 3]
    return X, (f > 0) ^ (rng.random(n) < 0.05)


_NORMA = {"update": "explicit", "removal": "oldest", "average": False, "eta": 1.0}
_SINGLE = {"update": "implicit", "schedule": "sqrt"}
_LOOPS = {"norma": {LOOP: Loop}, "merged": {LOOP: MergingLoop}, "": {}}
_LOOPS["default"] = {LOOP: NewtonLoop, NORMA: Loop}


def labels(n: int, budget: int, peers: str, options: Mapping[str, Any]) -> Contest:
    """Errors: the share of wrong labels of new samples."""
    from mercer import Gaussian, OnlineKernelMachine

    X, y = _stream(n, 0)
    new, truth = _stream(1000, 1)

    def ours() -> Any:
        model = OnlineKernelMachine(Gaussian.from_gamma(GAMMA), "hinge", budget=budget, **options)
        for start in range(0, n, _CHUNK):
            part = slice(start, start + _CHUNK)
            model.partial_fit(X[part], y[part], classes=[False, True])
        return model

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        return {name: float(np.mean(m.predict(new) != truth)) for name, m in outputs.items()}

    others: dict[str, Any] = dict(_LOOPS[peers]) | ({RIVER: River} if peers else {})
    calls = {name: lambda loop=loop: loop(budget).fit(X, y) for name, loop in others.items()}
    return Contest({MERCER: ours, **calls}, errors)


def drift(n: int, budget: int, change: str) -> Contest:
    """Errors: the share of wrong labels among the last quarter, each before it was learned."""
    from mercer import Gaussian, OnlineKernelMachine

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2))
    late, f = np.arange(n) >= n // 2, np.sin(3 * X[:, 0]) * X[:, 1]
    y = (f > 0) ^ (late if change == "labels" else False)
    X[:, 0] += 6.0 * (late & (change == "samples"))

    def run(options: Mapping[str, Any]) -> float:
        model, wrong = OnlineKernelMachine(Gaussian(0.5), "hinge", budget=budget, **options), []
        for start in range(0, n, 200):
            part = slice(start, start + 200)
            if start >= n - n // 4:
                wrong.append(1 - model.score(X[part], y[part]))
            model.partial_fit(X[part], y[part], classes=[False, True])
        return float(np.mean(wrong))

    calls = {MERCER: lambda: run({}), STAYS: lambda: run({"schedule": "sqrt"})}
    return Contest(calls, lambda outputs: dict(outputs))


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
            accuracy=Accuracy("excess error rate over the exact machine", most),
            rounds=1,
        )
        for name, how, options, most in (
            ("batch", "", {}, 0.03),
            ("single", "; single steps", _SINGLE, 0.1),
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
            {"n": 10_000, "budget": 500, "peers": name, "options": options},
            {"n": 4_000, "budget": 500, "peers": name, "options": options},
            {"n": 200, "budget": 50, "peers": name, "options": options},
            time=Target(speed=5.0),
            versus={NORMA: Target()},
            accuracy=Accuracy("share of wrong labels", wrong),
            rounds=3,
        )
        for name, words, options, wrong in (
            ("norma", "NORMA, hinge loss,", _NORMA, 0.5),
            ("merged", "hinge loss, single steps", _SINGLE, 0.25),
            ("default", "hinge loss", {}, 0.2),
        )
    ),
    *(
        Case(
            f"online.drift.{change}",
            f"hinge loss on a stream of {{n:,}} in which {words} half way, {{budget}} samples kept",
            drift,
            {"n": 20_000, "budget": 200, "change": change},
            {"n": 8_000, "budget": 100, "change": change},
            {"n": 2_000, "budget": 50, "change": change},
            accuracy=Accuracy("share of wrong labels in the last quarter", 0.05),
            rounds=1,
        )
        for change, words in (("labels", "labels turn round"), ("samples", "samples move away"))
    ),
    Case(
        "online.long",
        "hinge loss on a stream of {n:,}, d = 10, {budget} samples kept",
        labels,
        {"n": 1_000_000, "budget": 200, "peers": "", "options": {}},
        {"n": 50_000, "budget": 200, "peers": "", "options": {}},
        {"n": 200, "budget": 50, "peers": "", "options": {}},
        memory=Target(limit=200e6),  # half of it the stream itself
        accuracy=Accuracy("share of wrong labels", 0.25),
        rounds=1,
    ),
]
