"""Two-sample tests: all permutations of the maximum mean discrepancy, one kernel or twenty.

Peers permute one at a time, which takes hyppo half an hour at n = m = 2000. So each of them does as
many of the 1000 permutations as its name says, and what is promised of its time is scaled down in
proportion; kernels and distances, computed once, are less than 5 % of what is measured. The numpy
loop is what they would cost without overhead: one product K @ p for each permutation of a stored K.

alibi-detect pins numpy < 2 and cannot be installed beside the others; mmdagg and mmdfuse are on no
package index. Their times on two cores, n = m = 2000: 79 s (1000 permutations); 3.8 s and 15 s (20
kernels, 500 permutations), which is where the limit of "mmd.fused" comes from.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

_PERMUTATIONS = 1000
_HYPPO, _DCOR = 10, 50  # of them, at full size


def _samples(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.standard_normal((n, d)) + 0.01


def _closeness(truth: float) -> Any:
    return each(lambda pvalue: abs(pvalue - truth))


def one_kernel(n: int, d: int) -> Contest:
    """Errors: how far the p-value is from that of 1000 other permutations."""
    from mercer import Gaussian, two_sample_test

    X, Y = _samples(n, d)
    width = float(np.sqrt(d))

    def ours() -> float:
        k = Gaussian(width)
        return two_sample_test(X, Y, k, n_permutations=_PERMUTATIONS, rng=0).pvalue

    return Contest(
        {MERCER: ours, "numpy loop": lambda: loop(X, Y, width, 1)}, _closeness(loop(X, Y, width, 2))
    )


def loop(X: np.ndarray, Y: np.ndarray, width: float, seed: int) -> float:
    """The p-value by a stored kernel matrix and one product for each permutation."""
    Z, n, m = np.vstack([X, Y]), len(X), len(Y)
    squares = (Z**2).sum(axis=1)
    K = np.exp(-np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0) / (2 * width**2))
    np.fill_diagonal(K, 0)
    rng = np.random.default_rng(seed)

    def statistic(first: np.ndarray) -> float:
        row = K @ first
        second = 1 - first
        inner = first @ row / (n * (n - 1)) + second @ (K @ second) / (m * (m - 1))
        return float(inner - 2 * second @ row / (n * m))

    observed = np.repeat([1.0, 0.0], [n, m])
    value = statistic(observed)
    draws = [statistic(rng.permutation(observed)) for _ in range(_PERMUTATIONS)]
    return (1 + sum(draw >= value for draw in draws)) / (1 + _PERMUTATIONS)


def peers(n: int, d: int, hyppo: int, dcor: int) -> Contest:
    """The kernel of hyppo has the same width, the energy distance of dcor has none to choose."""
    from mercer import Gaussian, two_sample_test

    X, Y = _samples(n, d)

    def ours() -> float:
        return two_sample_test(X, Y, Gaussian("median"), n_permutations=_PERMUTATIONS, rng=0).pvalue

    def by_hyppo() -> float:
        from hyppo.ksample import MMD

        with warnings.catch_warnings():  # of few permutations
            warnings.simplefilter("ignore")
            return float(MMD().test(X, Y, reps=hyppo, auto=False)[1])

    def by_dcor() -> float:
        from dcor.homogeneity import energy_test

        return float(energy_test(X, Y, num_resamples=dcor, random_state=0).pvalue)

    return Contest({MERCER: ours, _name("hyppo", _HYPPO): by_hyppo, _name("dcor", _DCOR): by_dcor})


def _name(peer: str, count: int) -> str:
    return f"{peer}, {count} of {_PERMUTATIONS} permutations"


def many_kernels(n: int, d: int, permutations: int = _PERMUTATIONS) -> Contest:
    """No peer is installed from PyPI: the promise is about mercer's own time and memory."""
    from mercer import two_sample_test

    X, Y = _samples(n, d)
    return Contest({MERCER: lambda: two_sample_test(X, Y, n_permutations=permutations, rng=0)})


def large(n: int, d: int) -> Contest:
    from mercer import Gaussian, two_sample_test

    X, Y = _samples(n, d)
    k = Gaussian(float(np.sqrt(d)))
    return Contest({MERCER: lambda: two_sample_test(X, Y, k, n_permutations=_PERMUTATIONS, rng=0)})


_TINY = {"n": 30, "d": 10}
CASES = [
    Case(
        "mmd.permutation",
        "two-sample test, 1000 permutations, n=m={n}, d={d}",
        one_kernel,
        full={"n": 2000, "d": 10},
        quick={"n": 400, "d": 10},
        tiny=_TINY,
        time=Target(limit=0.5),
        memory=Target(limit=200e6),
        accuracy=Accuracy("difference in p from other permutations", 0.08),
        rounds=3,
    ),
    Case(
        "mmd.grid",
        "two-sample test of 20 kernels, 1000 permutations, n=m={n}, d={d}",
        many_kernels,
        full={"n": 500, "d": 10},
        quick={"n": 200, "d": 10},
        tiny=_TINY,
        time=Target(limit=0.6),
        memory=Target(limit=200e6),
    ),
    Case(
        "mmd.fused",
        "two-sample test of 20 kernels, 500 permutations, n=m={n}, d={d}",
        many_kernels,
        full={"n": 2000, "d": 10, "permutations": 500},
        quick={"n": 400, "d": 10, "permutations": 500},
        tiny={**_TINY, "permutations": 500},
        time=Target(limit=0.75),
        memory=Target(limit=200e6),
        rounds=3,
    ),
    Case(
        "mmd.bins",
        "two-sample test, 1000 permutations of bins, n=m={n:,}, d={d}",
        large,
        full={"n": 10_000, "d": 10},
        quick={"n": 4000, "d": 10},
        tiny=_TINY,
        time=Target(limit=2.0),
        memory=Target(limit=300e6),
        rounds=3,
    ),
    Case(
        "mmd.large",
        "two-sample test, 1000 permutations of bins, n=m={n:,}, d={d}",
        large,
        full={"n": 50_000, "d": 10},
        quick={"n": 8000, "d": 10},
        tiny=_TINY,
        time=Target(limit=60.0),
        memory=Target(limit=1e9),
        rounds=1,
        slow=True,
    ),
    Case(
        "mmd.million",
        "two-sample test of 20 kernels from 500 landmarks, 999 permutations, n=m={n:,}, d={d}",
        many_kernels,
        full={"n": 1_000_000, "d": 5, "permutations": 999},
        quick={"n": 100_000, "d": 5, "permutations": 999},
        tiny={**_TINY, "permutations": 19},
        time=Target(limit=60.0),
        memory=Target(limit=1e9),
        rounds=1,
        slow=True,
    ),
    Case(
        "mmd.peers",
        "two-sample test, n=m={n}, d={d}: all 1000 permutations by mercer, some by peers",
        peers,
        full={"n": 2000, "d": 10, "hyppo": _HYPPO, "dcor": _DCOR},
        quick={"n": 100, "d": 10, "hyppo": _HYPPO, "dcor": _DCOR},
        tiny={"n": 10, "d": 10, "hyppo": 2, "dcor": 2},
        versus={
            _name("hyppo", _HYPPO): Target(speed=1000 * _HYPPO / _PERMUTATIONS),
            _name("dcor", _DCOR): Target(speed=200 * _DCOR / _PERMUTATIONS),
        },
        rounds=1,
    ),
]
