"""Tests of independence: all permutations of HSIC, one pair of kernels or nine.

Peers permute one at a time, which takes hyppo four minutes at n = 2000. So each of them does as
many of the 999 permutations as its name says, and what is promised of its time is scaled down in
proportion; what it computes once, kernels and distances, is less than a tenth of what is measured.
The numpy loop is what they would cost without overhead: one gathered matrix and one sum for each
permutation of stored matrices.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

_PERMUTATIONS = 999
_LOOP = 99  # permutations of the loop, a tenth of ours
_HYPPO, _DCOR = 30, 100  # permutations of peers at full size


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


def million(n: int, d: int) -> Contest:
    """The default, as a user calls it."""
    from mercer import independence_test

    X, Y = _variables(n, d)
    return Contest({MERCER: lambda: independence_test(X, Y, rng=0).pvalue})


def conditional(n: int, d: int) -> Contest:
    """Tests that compute different things: ours learns kernels and penalties, KCI has fixed ones.

    What they reject is in ``benchmarks.conditional``.
    """
    from mercer import conditional_independence_test

    X, Y = _variables(n, d)
    Z = X + np.random.default_rng(1).standard_normal((n, d))

    def causal_learn() -> float:
        from causallearn.utils.KCI.KCI import KCI_CInd

        return float(KCI_CInd().compute_pvalue(X, Y, Z)[0])

    def ours() -> float:
        return conditional_independence_test(X, Y, Z, rng=0).pvalue

    return Contest({MERCER: ours, "causal-learn": causal_learn})


def peers(n: int, d: int, hyppo: int, dcor: int) -> Contest:
    from mercer import Gaussian, independence_test

    X, Y = _variables(n, d)

    def ours() -> float:
        k = Gaussian("median")
        return independence_test(X, Y, kernels=k, n_permutations=_PERMUTATIONS, rng=0).pvalue

    def by_hyppo() -> float:
        from hyppo.independence import Hsic

        with warnings.catch_warnings():  # of few permutations
            warnings.simplefilter("ignore")
            return float(Hsic().test(X, Y, reps=hyppo, auto=False)[1])

    def by_dcor() -> float:
        from dcor.independence import distance_covariance_test

        return float(distance_covariance_test(X, Y, num_resamples=dcor, random_state=0).pvalue)

    return Contest({MERCER: ours, _name("hyppo", _HYPPO): by_hyppo, _name("dcor", _DCOR): by_dcor})


def _name(peer: str, count: int) -> str:
    return f"{peer}, {count} of {_PERMUTATIONS} permutations"


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
        accuracy=Accuracy("difference in p from 99 other permutations", 0.15),
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
        quick={"n": 300, "d": 2},
        tiny=_TINY,
        rounds=3,
    ),
    Case(
        "hsic.million",
        "independence test of 9 pairs of kernels from landmarks, 999 permutations, n={n:,}, d={d}",
        million,
        full={"n": 1_000_000, "d": 5},
        quick={"n": 50_000, "d": 5},
        tiny=_TINY,
        time=Target(limit=90.0),
        memory=Target(limit=1e9),
        rounds=1,
        slow=True,
    ),
    Case(
        "hsic.peers",
        "independence test, n={n:,}, d={d}: all 999 permutations by mercer, some by peers",
        peers,
        full={"n": 2000, "d": 3, "hyppo": _HYPPO, "dcor": _DCOR},
        quick={"n": 200, "d": 3, "hyppo": _HYPPO, "dcor": _DCOR},
        tiny={**_TINY, "hyppo": 2, "dcor": 2},
        versus={
            _name("hyppo", _HYPPO): Target(speed=500 * _HYPPO / 1000),
            _name("dcor", _DCOR): Target(speed=50 * _DCOR / 1000),
        },
        rounds=2,
    ),
]
