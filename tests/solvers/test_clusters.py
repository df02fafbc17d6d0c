"""Kernel k-means against all partitions, and what its certificate promises."""

from itertools import product

import numpy as np
import pytest

from mercer import Gaussian, Linear, Plan
from mercer.solvers.clusters import kernel_kmeans


def inertia(labels, K, w):
    """J from its definition, in the form w'diag(K) - sum_c w_c'K w_c / W_c."""
    total = w @ np.diagonal(K)
    for c in np.unique(labels):
        mine = np.where(labels == c, w, 0)
        total -= mine @ K @ mine / mine.sum()
    return total


def best_of_all(K, w, k):
    n = len(K)
    return min(inertia(np.array(c), K, w) for c in product(range(k), repeat=n) if len(set(c)) == k)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_the_best_partition_of_few_samples_is_found(rng, weighted, k):
    X = rng.standard_normal((8, 2))
    w = rng.uniform(0.2, 2, 8) if weighted else np.ones(8)
    K = Gaussian(0.8)(X)
    found = kernel_kmeans(Gaussian(0.8).gram(X), k, w if weighted else None, rng=rng)
    best = best_of_all(K, w, k)
    assert found.inertia == pytest.approx(best)
    assert found.inertia == pytest.approx(inertia(found.labels, K, w))
    assert found.lower_bound <= best + 1e-9
    np.testing.assert_allclose(found.norms, np.diagonal(found.coef.T @ K @ found.coef))


def test_the_bound_is_that_of_the_eigenvalues(rng):
    X, H = rng.standard_normal((30, 3)), np.eye(30) - 1 / 30
    s = np.linalg.eigvalsh(H @ Gaussian(1.0)(X) @ H)
    found = kernel_kmeans(Gaussian(1.0).gram(X), 4, rng=rng)
    assert found.lower_bound == pytest.approx(s[:-3].sum(), rel=1e-6)


def test_clusters_far_apart_reach_the_bound(rng):
    X = np.vstack([rng.normal(c, 1e-4, (10, 1)) for c in (0, 10, 25)])
    found = kernel_kmeans(Gaussian(1.0).gram(X), 3, rng=rng)
    assert sorted(np.bincount(found.labels)) == [10, 10, 10]
    assert found.inertia <= found.lower_bound + 1e-6


def test_single_moves_leave_nothing_to_gain(rng):
    X, K = rng.standard_normal((40, 2)), None
    K = Gaussian(0.7)(X)
    found = kernel_kmeans(Gaussian(0.7).gram(X), 5, rng=rng, starts=2)
    for i, c in product(range(40), range(5)):
        moved = found.labels.copy()
        moved[i] = c
        if len(set(moved)) == 5:
            assert inertia(moved, K, np.ones(40)) >= found.inertia - 1e-9


@pytest.mark.parametrize("plan", [Plan(storage="tiled"), Plan(rank=60), Plan(storage="dense")])
def test_it_does_not_matter_where_K_is(rng, plan):
    X = np.vstack([rng.normal(c, 0.3, (20, 2)) for c in ([0, 0], [3, 0], [0, 3])])
    found = kernel_kmeans(Gaussian(1.0).gram(X, plan), 3, rng=np.random.default_rng(0))
    usual = kernel_kmeans(Gaussian(1.0).gram(X), 3, rng=np.random.default_rng(0))
    assert found.inertia == pytest.approx(usual.inertia, rel=1e-6)
    assert found.lower_bound == pytest.approx(usual.lower_bound, rel=1e-6)


@pytest.mark.parametrize("k", [1, 2, 6])
def test_duplicates_and_constants_fill_all_clusters(k):
    for X in (np.zeros((6, 1)), np.repeat([[0.0], [1.0]], 3, axis=0)):
        for gram in (Gaussian().gram(X), Linear().gram(X)):
            found = kernel_kmeans(gram, k, rng=np.random.default_rng(0))
            assert len(set(found.labels)) == k
            assert found.inertia >= found.lower_bound >= 0


def test_samples_without_weight_do_not_matter(rng):
    X = rng.standard_normal((30, 2))
    w = np.r_[np.ones(20), np.zeros(10)]
    found = kernel_kmeans(Gaussian().gram(X), 3, w, rng=np.random.default_rng(0))
    alone = kernel_kmeans(Gaussian().gram(X[:20]), 3, rng=np.random.default_rng(0))
    assert found.inertia == pytest.approx(alone.inertia, rel=0.05)
    assert found.inertia == pytest.approx(inertia(found.labels, Gaussian()(X), w + 1e-300))


def test_iterations_that_are_cut_off_are_told(rng):
    found = kernel_kmeans(Gaussian(0.1).gram(rng.standard_normal((200, 2))), 9, rng=rng, max_iter=1)
    assert not found.converged
    assert "max_iter" in found.message


def test_an_outlier_is_a_cluster_of_its_own(rng):
    X = np.vstack([rng.standard_normal((50, 2)), [[1e8, -1e8]]])
    found = kernel_kmeans(Linear().gram(X), 2, rng=rng)
    assert sorted(np.bincount(found.labels)) == [1, 50]
