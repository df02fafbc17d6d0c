"""Compression against brute-force distances, greedy choices by enumeration, and random subsets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import (
    Gaussian,
    Laplacian,
    Linear,
    Nystrom,
    Polynomial,
    Spectrum,
    compress,
    mean_embedding,
)


def brute_mmd(K, places, weights=None):
    w = -np.full(len(K), 1 / len(K))
    np.add.at(w, places, 1 / len(places) if weights is None else weights)
    return np.sqrt(max(w @ K @ w, 0))


@pytest.fixture
def X(rng):
    return np.concatenate([rng.normal(-2, 0.5, (60, 2)), rng.normal(1, 1, (90, 2))])


@pytest.mark.parametrize("kernel", [None, Gaussian(0.7), Laplacian(), Polynomial(2), Linear()])
@pytest.mark.parametrize("method", ["thinning", "herding"])
@pytest.mark.parametrize("weights", [False, True, "nonnegative"])
def test_the_mmd_is_exact(X, kernel, method, weights):
    found = compress(X, 11, kernel, method=method, weights=weights, rng=3)
    K = found.kernel(X)
    assert len(found) == len(set(found.indices)) == 11
    assert found.mmd == pytest.approx(brute_mmd(K, found.indices, found.weights), abs=1e-7)
    assert found.weights.sum() == pytest.approx(1)
    assert np.array_equal(found.points, X[found.indices])
    gap = found.embedding - mean_embedding(found.kernel, X)
    assert found.mmd == pytest.approx(gap.simplify().norm(), abs=1e-7)


def test_single_precision_has_an_exact_mmd_too(X):
    few = compress(X.astype(np.float32), 20, Gaussian(), rng=0)
    assert few.points.dtype == np.float32
    K = Gaussian()(X.astype(np.float32).astype(np.float64))
    assert few.mmd == pytest.approx(brute_mmd(K, few.indices), rel=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2)])  # k(x, x) constant, and not
def test_herding_takes_the_best_point_each_time(X, kernel):
    K = kernel(X)
    chosen = compress(X, 7, kernel, method="herding").indices.tolist()
    for t in range(7):
        free = [i for i in range(len(X)) if i not in chosen[:t]]
        distances = [brute_mmd(K, [*chosen[:t], i]) for i in free]
        assert brute_mmd(K, chosen[: t + 1]) == pytest.approx(min(distances), abs=1e-9)


def test_herding_is_nested_and_not_random(X):
    long = compress(X, 20, Gaussian(), method="herding", rng=1)
    short = compress(X, 8, Gaussian(), method="herding", rng=2)
    assert np.array_equal(long.indices[:8], short.indices)


def test_no_exchange_improves_thinning(X):
    K = Gaussian()(X)
    found = compress(X, 9, Gaussian(), rng=0)
    assert np.array_equal(found.indices, np.sort(found.indices))
    rest = np.setdiff1d(np.arange(len(X)), found.indices)
    for place in range(9):
        others = np.delete(found.indices, place)
        best = min(brute_mmd(K, [*others, i]) for i in rest)
        assert found.mmd <= best + 1e-9


def test_thinning_is_near_the_best_subset(rng):
    X = rng.normal(size=(12, 1))
    K = Gaussian()(X)
    best = min(brute_mmd(K, list(S)) for S in combinations(range(12), 4))
    found = min(compress(X, 4, Gaussian(), rng=seed).mmd for seed in range(5))
    assert best - 1e-12 <= found <= 1.2 * best


@pytest.mark.parametrize(("method", "share"), [("thinning", 0.2), ("herding", 0.4)])
def test_better_than_random_subsets(method, share):
    ours, theirs = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 2))
        K = Gaussian()(X)
        ours.append(compress(X, kernel=Gaussian(), method=method, rng=seed).mmd)
        draws = (rng.choice(400, 20, replace=False) for _ in range(20))
        theirs.append(np.mean([brute_mmd(K, draw) for draw in draws]))
    assert np.mean(ours) < share * np.mean(theirs)


def test_halving_alone_beats_a_random_half():
    """The loaded coin, without refinement: the distance of a half to the whole."""
    from mercer.rkhs.compression import _halve

    ours, theirs = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(1201, 1))
        gram = Gaussian().gram(X)
        K = gram.to_dense()
        half = _halve(gram, np.arange(1201), rng)
        assert np.array_equal(half // 2, np.arange(600))  # one of each pair
        ours.append(brute_mmd(K, half))
        theirs.append(brute_mmd(K, rng.choice(1201, 600, replace=False)))
    assert np.mean(ours) < 0.5 * np.mean(theirs)


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2)])  # by tiles, and by features
def test_halving_in_blocks_is_the_walk_written_out(monkeypatch, kernel):
    from mercer.rkhs import compression as module

    n = 301
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 2))
    K = kernel(X)
    coins = np.random.default_rng(7).random(n // 2)
    psi, s2, kept = np.zeros(n), 0.0, []  # psi: coefficients of the signed sum
    for i, coin in enumerate(coins):
        f = np.zeros(n)
        f[2 * i], f[2 * i + 1] = 1, -1
        b2 = f @ K @ f
        a = max(np.sqrt(b2 * s2 * 2 * np.log(2 * len(coins) / 0.5)), b2)
        sign = 1 if coin < (1 - psi @ K @ f / a) / 2 else -1
        s2 += b2 * max(0, 1 + (b2 - 2 * a) * s2 / a**2)
        psi += sign * f
        kept.append(2 * i if sign > 0 else 2 * i + 1)
    monkeypatch.setattr(module, "_PAIRS", 13)
    found = module._halve(kernel.gram(X), np.arange(n), np.random.default_rng(7))
    assert found.tolist() == kept


@pytest.mark.parametrize("weights", [True, "nonnegative"])
def test_weights_are_optimal(X, weights):
    few = compress(X, 6, Gaussian(), weights=weights, rng=0)
    K = Gaussian()(X)
    S, mean = K[np.ix_(few.indices, few.indices)], K.mean(axis=1)[few.indices]
    bounds = [(0 if weights == "nonnegative" else None, None)] * 6
    best = minimize(
        lambda w: w @ S @ w - 2 * w @ mean,
        np.full(6, 1 / 6),
        jac=lambda w: 2 * (S @ w - mean),
        bounds=bounds,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    assert few.weights == pytest.approx(best.x, abs=1e-5)
    assert few.mmd <= compress(X, 6, Gaussian(), rng=0).mmd


def test_negative_weights_are_clipped_to_the_best_others():
    X = np.array([[0.0], [0.1], [5.0], [5.2], [9.0]])
    signed = compress(X, 4, Polynomial(2), weights=True, rng=0)
    few = compress(X, 4, Polynomial(2), weights="nonnegative", rng=0)
    assert few.weights.min() >= 0
    assert signed.mmd <= few.mmd + 1e-9


def test_strings_and_features(rng):
    texts = ["".join(rng.choice(list("acgt"), 12)) for _ in range(60)]
    few = compress(texts, 8, Spectrum(2), rng=0)
    assert few.points == [texts[i] for i in few.indices]
    K = Spectrum(2)(texts)
    assert few.mmd == pytest.approx(brute_mmd(K, few.indices), rel=1e-9)
    draws = [brute_mmd(K, rng.choice(60, 8, replace=False)) for _ in range(20)]
    assert few.mmd < 0.6 * np.mean(draws)


def test_low_rank_kernel_gives_nearly_the_same_quality(rng):
    X = rng.normal(size=(500, 2))
    few = compress(X, 20, Nystrom(Gaussian(), rank=100), rng=0)
    assert brute_mmd(Gaussian()(X), few.indices) < 0.03


def test_all_points_and_one_point(X):
    everything = compress(X, len(X), Gaussian())
    assert np.array_equal(everything.indices, np.arange(len(X)))
    assert everything.mmd == pytest.approx(0, abs=1e-7)
    one = compress(X, 1, Gaussian(), rng=0)
    assert one.mmd == pytest.approx(min(brute_mmd(Gaussian()(X), [i]) for i in range(len(X))))
    assert len(compress(X[:1])) == 1


def test_equal_samples():
    found = compress(np.zeros((9, 2)), 3, Gaussian(), weights=True, rng=0)
    assert found.mmd == pytest.approx(0, abs=1e-7)
    assert found.weights == pytest.approx(1 / 3)


def test_same_seed_same_answer(X):
    first, second = (compress(X, 10, Gaussian(), rng=5).indices for _ in range(2))
    assert np.array_equal(first, second)


def test_bad_input(X):
    for size in (0, -1, 151, 2.5, True, "many"):
        with pytest.raises(ValueError, match="size must be an integer from 1 to 150"):
            compress(X, size)
    with pytest.raises(ValueError, match="method must be one of"):
        compress(X, method="greedy")
    with pytest.raises(ValueError, match="weights must be False, True"):
        compress(X, weights="positive")
    with pytest.raises(TypeError, match="kernel must be a mercer kernel"):
        compress(X, kernel="rbf")
    with pytest.raises(ValueError, match="no samples"):
        compress([])
