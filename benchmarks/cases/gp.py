"""Gaussian processes on Friedman's first problem: hyper-parameters by the marginal likelihood.

Both searches begin at the same point. Errors: by how much the log marginal likelihood per sample
falls short of the best one found.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

SKLEARN = "scikit-learn"


def fit(n: int, d: int, ard: bool) -> Contest:
    from sklearn.datasets import make_friedman1
    from sklearn.gaussian_process import GaussianProcessRegressor as Peer
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    from mercer import Gaussian, GaussianProcessRegressor

    X, y = make_friedman1(n, n_features=d, noise=1.0, random_state=0)
    y = (y - y.mean()) / y.std()
    scale: Any = np.ones(d) if ard else 1.0

    def ours() -> Any:
        return GaussianProcessRegressor(1 * Gaussian(scale), random_state=0).fit(X, y)

    def theirs() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # parameters at their bounds
            return Peer(ConstantKernel() * RBF(scale) + WhiteKernel(0.1)).fit(X, y)

    def shortfall(outputs: Mapping[str, Any]) -> dict[str, float]:
        values = {k: m.log_marginal_likelihood_value_ / n for k, m in outputs.items()}
        best = max(values.values())
        return {name: best - value for name, value in values.items()}

    return Contest({MERCER: ours, SKLEARN: theirs}, shortfall)


_LIKELIHOOD = Accuracy("shortfall of the log likelihood per sample", 1e-5)
_WORDS = "Gaussian process, hyper-parameters and fit, n = {n:,}, d = {d}, "

CASES = [
    Case(
        f"gp.{name}",
        _WORDS + words,
        fit,
        {"n": 2000, "d": d, "ard": ard},
        {"n": 400, "d": d, "ard": ard},
        {"n": 60, "d": 5, "ard": ard},
        time=Target(speed=4.0),
        memory=Target(speed=1.0),
        accuracy=_LIKELIHOOD,
        rounds=1 if ard else 2,
        slow=ard,
    )
    for name, words, d, ard in (
        ("isotropic", "one lengthscale", 10, False),
        ("ard", "one lengthscale per feature", 8, True),
    )
]
