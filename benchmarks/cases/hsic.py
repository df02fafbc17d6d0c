"""Tests of independence: all permutations of HSIC, one pair of kernels or nine.

Peers permute one at a time. hyppo and dcor take minutes at full size and are only measured on
request; the numpy loop is what they would cost without overhead: one gathered matrix and one sum
for each permutation of stored matrices.
"""

from __future__ import annotations

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

_PERMUTATIONS = 999
_LOOP = 99  # permutations of the loop, a tenth of ours


def _variables(n: int, d: int, strength: float = 0.03) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X, noise = rng.standard_normal((2, n, d))
    return X, strength * X + noise


def one_pair(n: int, d: int) -> Contest:
    """Errors: how far the p-value is from that of other permutations."""
    from mercer import Gaussian, independence_test

    X, Y = _variables(n, d)
    width = float(np.sqrt(2 * d))

    def ours() -> float:
        k = Gaussian(width)
        return independence_test(X, Y, kernels=k, n_permutations=_PERMUTATIONS, rng=0).pvalue

    truth = loop(X, Y, width, 2)
    calls = {MERCER: ours, "numpy loop (99 permutations)": lambda: loop(X, Y, width, 1)}
    return Contest(calls, each(lambda pvalue: abs(pvalue - truth)))


def loop(X: np.ndarray, Y: np.ndarray, width: float, seed: int) -> float:
    """The p-value by stored matrices, one of them gathered for each permutation."""
    matrices = []
    for Z in (X, Y):
        squares = (Z**2).sum(axis=1)
        K = np.exp(-np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0) / (2 * width**2))
        K -= K.mean(axis=0)
        K -= K.mean(axis=1)[:, None]
        matrices.append(K)
    K, L = matrices
    rng = np.random.default_rng(seed)
    value = np.vdot(K, L)
    draws = []
    for _ in range(_LOOP):
        p = rng.permutation(len(K))
        draws.append(np.vdot(K, L[np.ix_(p, p)]))
    return float((1 + np.sum(np.array(draws) >= value)) / (1 + _LOOP))


def default(n: int, d: int) -> Contest:
    """No peer combines kernels with exact permutations: the promise is about mercer's own cost."""
    from mercer import independence_test

    X, Y = _variables(n, d)
    return Contest({MERCER: lambda: independence_test(X, Y, rng=0).pvalue})


def large(n: int, d: int) -> Contest:
    from mercer import Gaussian, independence_test

    X, Y = _variables(n, d)
    k = Gaussian(float(np.sqrt(2 * d)))
    return Contest(
        {MERCER: lambda: independence_test(X, Y, kernels=k, landmarks=100, rng=0).pvalue}
    )


def conditional(n: int, d: int) -> Contest:
    from mercer import conditional_independence_test

    X, Y = _variables(n, d)
    Z = X + np.random.default_rng(1).standard_normal((n, d))

    def causal_learn() -> float:
        from causallearn.utils.KCI.KCI import KCI_CInd

        return float(KCI_CInd().compute_pvalue(X, Y, Z)[0])

    ours = {MERCER: lambda: conditional_independence_test(X, Y, Z, corrected=False).pvalue}
    return Contest({**ours, "causal-learn": causal_learn})


def peers(n: int, d: int) -> Contest:
    from mercer import Gaussian, independence_test

    X, Y = _variables(n, d)

    def hyppo() -> float:
        from hyppo.independence import Hsic

        return float(Hsic().test(X, Y, reps=_PERMUTATIONS, auto=False)[1])

    def dcor() -> float:
        from dcor.independence import distance_covariance_test

        test = distance_covariance_test(X, Y, num_resamples=_PERMUTATIONS, random_state=0)
        return float(test.pvalue)

    k = Gaussian("median")
    ours = {MERCER: lambda: independence_test(X, Y, kernels=k, rng=0).pvalue}
    return Contest({**ours, "hyppo": hyppo, "dcor (distance covariance)": dcor})


_TINY = {"n": 40, "d": 2}
CASES = [
    Case(
        "hsic.permutation",
        "independence test, 999 permutations, n={n:,}, d={d}",
        one_pair,
        full={"n": 2000, "d": 3},
        quick={"n": 400, "d": 3},
        tiny=_TINY,
        time=Target(limit=0.3),
        memory=Target(limit=200e6),
        accuracy=Accuracy("of p, against 99 other permutations", 0.15),
        rounds=3,
    ),
    Case(
        "hsic.default",
        "independence test of 9 pairs of kernels, 999 permutations, n={n:,}, d={d}",
        default,
        full={"n": 2000, "d": 3},
        quick={"n": 400, "d": 3},
        tiny=_TINY,
        time=Target(limit=0.6),
        memory=Target(limit=300e6),
        rounds=3,
    ),
    Case(
        "hsic.large",
        "independence test from 100 landmarks, 999 permutations, n={n:,}, d={d}",
        large,
        full={"n": 100_000, "d": 3},
        quick={"n": 5000, "d": 3},
        tiny={"n": 200, "d": 2},
        time=Target(limit=15.0),
        memory=Target(limit=400e6),
        rounds=1,
    ),
    Case(
        "hsic.conditional",
        "conditional independence test, n={n:,}, d={d}",
        conditional,
        full={"n": 1000, "d": 2},
        quick={"n": 200, "d": 2},
        tiny=_TINY,
        time=Target(speed=1.5),
        rounds=3,
    ),
    Case(
        "hsic.peers",
        "independence test, 999 permutations, n={n:,}, d={d}",
        peers,
        full={"n": 500, "d": 3},
        quick={"n": 60, "d": 3},
        tiny=_TINY,
        time=Target(speed=5),
        rounds=1,
        slow=True,
    ),
]
