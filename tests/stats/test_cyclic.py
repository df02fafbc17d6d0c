"""Groups of permutations, and statistics over all of them, against brute force."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Nystrom, Polynomial, Spectrum
from mercer.stats.arrangement import arrange
from mercer.stats.cyclic import shifted_sums
from mercer.stats.cyclic_features import shifted_feature_sums
from mercer.stats.gather import permuted_sums
from mercer.stats.permutations import exchange

SHAPES = [  # n, permutations wanted, options, rows x columns, fixed
    (50, 1000, {}, (50, 1), 0),
    (45, 40, {}, (45, 1), 0),
    (47, 10, {}, (11, 4), 3),
    (101, 30, {}, (33, 3), 2),
    (62, 100, {"blocks": 3}, (20, 3), 2),
    (60, 10, {"blocks": 3}, (10, 6), 0),
    (42, 30, {"groups": np.repeat([0, 1, 2], [14, 14, 14])}, (14, 3), 0),
]


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


@pytest.mark.parametrize(("n", "least", "options", "shape", "fixed"), SHAPES)
def test_arrangements_are_groups(rng, n, least, options, shape, fixed):
    found = arrange(exchange(n, **options), least, rng)
    assert found.grid.shape == shape
    assert len(found.fixed) == fixed
    assert sorted(found.order) == list(range(n))
    assert len(found) >= least
    everything = {tuple(found.permutation(i)) for i in range(len(found))}
    assert len(everything) == len(found)
    assert found.permutation(0).tolist() == list(range(n))
    some = [found.permutation(int(i)) for i in rng.choice(len(found), 6)]
    assert all(tuple(p[q]) in everything for p in some for q in some)


def test_groups_and_blocks_stay_together(rng):
    labels = np.repeat([0, 1, 2], [14, 14, 14])
    found = arrange(exchange(42, groups=labels), 30, rng)
    for i in range(len(found)):
        assert np.array_equal(labels[found.permutation(i)], labels)
    blocks = arrange(exchange(60, blocks=3), 100, rng)
    for i in range(len(blocks)):
        moved = blocks.permutation(i).reshape(20, 3)
        assert np.all(moved[:, 0] % 3 == 0)
        assert np.all(np.diff(moved, axis=1) == 1)


def test_there_is_no_group_for_too_few_observations_or_awkward_groups(rng):
    assert arrange(exchange(12), 1000, rng) is None
    assert arrange(exchange(40, groups=np.repeat([0, 1], [23, 17])), 100, rng) is None
    assert arrange(exchange(4, groups=[0, 1, 2, 3]), 2, rng) is None


@pytest.mark.parametrize(("n", "least", "options", "shape", "fixed"), SHAPES)
def test_sums_over_the_group_are_those_of_each_permutation(rng, n, least, options, shape, fixed):
    X = rng.standard_normal((n, 2))
    Y = X**2 + rng.standard_normal((n, 2))
    left, right = [Gaussian(), Laplacian(2.0, p=1)], [Gaussian(0.5), Gaussian(30.0)]
    found = arrange(exchange(n, **options), least, rng)
    sums = shifted_sums((left, right), X, Y, found)
    for a, k in enumerate(left):
        for b, m in enumerate(right):
            K, L = centred(k(X)), centred(m(Y))
            spread = np.linalg.norm(K) * np.linalg.norm(L) / n
            for i in range(0, len(found), 7):
                p = found.permutation(i)
                P = K * L[np.ix_(p, p)]
                assert sums.own[a, b, i] == pytest.approx(np.trace(P), abs=1e-5 * spread)
                total = P.sum() - np.trace(P)
                assert sums.pairs[a, b, i] == pytest.approx(total, abs=1e-5 * spread)
            assert sums.traces[a, b] == pytest.approx(np.trace(K) * np.trace(L), rel=1e-4)


@pytest.mark.parametrize(("n", "least"), [(101, 30), (101, 300), (90, 20)])
def test_features_give_the_same_as_tiles(rng, n, least):
    X, Y = rng.standard_normal((2, n, 2))
    found = arrange(exchange(n), least, rng)
    kernels = [Polynomial(degree=2), Linear()], [Nystrom(Gaussian(), Y[:20]), Linear()]
    tiles, features = (f(kernels, X, Y, found) for f in (shifted_sums, shifted_feature_sums))
    for one, other in zip(tiles[:3], features[:3], strict=True):
        assert other == pytest.approx(one, abs=1e-5 * np.abs(one).max())


def test_the_answer_does_not_depend_on_threads(rng):
    X, Y = rng.standard_normal((2, 300, 2))
    found = arrange(exchange(300), 70, rng)
    one, two = (shifted_sums(([Gaussian()],) * 2, X, Y, found, workers=w) for w in (1, 2))
    assert np.array_equal(one.pairs, two.pairs)
    assert np.array_equal(one.own, two.own)


def test_any_kernel(rng):
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(31)]
    y = rng.standard_normal(31)
    found = arrange(exchange(31), 62, rng)
    sums = shifted_sums(([Spectrum(2)], [Gaussian()]), words, y, found)
    K, L = centred(Spectrum(2)(words)), centred(Gaussian()(y[:, None]))
    p = found.permutation(40)
    total = np.sum(K * L[np.ix_(p, p)])
    assert sums.pairs[0, 0, 40] + sums.own[0, 0, 40] == pytest.approx(total, rel=1e-4)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_random_permutations_of_several_matrices(rng, d):
    n = 17
    matrices = [Gaussian()(rng.standard_normal((n, 2))).astype(np.float32) for _ in range(d)]
    perms = np.array([[rng.permutation(n) for _ in range(d - 1)] for _ in range(20)])
    found = permuted_sums(matrices, perms)
    for b in range(20):
        P = matrices[0].astype(float)
        for M, p in zip(matrices[1:], perms[b], strict=True):
            P = P * M[np.ix_(p, p)]
        assert found.own[b] == pytest.approx(np.trace(P), rel=1e-6)
        assert found.pairs[b] == pytest.approx(P.sum() - np.trace(P), rel=1e-5)
