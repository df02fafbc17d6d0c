"""Trees of nested level sets."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelDensity, LevelSetTree, Plan, Spectrum
from mercer.solvers.level_tree import labels_of, level_tree


@parametrize_with_checks([LevelSetTree()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def random_graph(rng, n=40):
    A = np.triu(rng.random((n, n)) < 3 / n, 1)
    return sp.csr_array((A | A.T).astype(float))


@pytest.mark.parametrize("seed", range(6))
def test_branches_are_components_of_every_level(seed):
    rng = np.random.default_rng(seed)
    graph, values, w = random_graph(rng), rng.normal(size=40), rng.dirichlet(np.ones(40))
    tree = level_tree(values, w, graph, 1e-9)
    for level in np.sort(values):
        above = np.flatnonzero(values >= level)
        count, expected = connected_components(graph[above][:, above])
        found = tree.at(level)[tree.node[above]]
        assert len(np.unique(found)) == count
        assert len(np.unique(found + 1000 * expected)) == count
    for v, up in enumerate(tree.parent):
        around = tree.at(max(tree.base[v], -1e9) + 1e-12)
        inside = [u for u in range(len(tree.parent)) if around[u] == v]
        rows = np.isin(tree.node, inside)
        assert tree.mass[v] == pytest.approx(w[rows].sum())
        assert tree.top[v] == values[rows].max()
        if up >= 0:
            assert tree.base[v] < values[rows].min()


def test_light_parts_are_no_branches(rng):
    graph, values = random_graph(rng, 60), rng.normal(size=60)
    tree = level_tree(values, np.full(60, 1 / 60), graph, 0.1)
    assert np.all(tree.mass >= 0.1 - 1e-12)
    for v in range(len(tree.parent)):
        assert np.count_nonzero(tree.parent == v) != 1  # a branch ends only where others begin


def test_labels_go_uphill():
    path = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(9, 9)).tocsr()
    values = np.array([1.0, 3.0, 2.0, 0.5, 2.5, 4.0, 2.0, 1.0, 0.0])
    tree = level_tree(values, np.full(9, 1 / 9), path, 0.2)
    np.testing.assert_array_equal(labels_of(tree, values, path), [1, 1, 1, 0, 0, 0, 0, 0, 0])


def test_three_peaks(rng):
    centres = np.array([[-3.0, 0.0], [0.0, 0.0], [0.0, 4.0]])
    truth = np.repeat([0, 1, 2], [150, 250, 100])
    X = centres[truth] + 0.6 * rng.normal(size=(500, 2))
    model = LevelSetTree(Gaussian(0.5)).fit(X)
    assert model.n_clusters_ == 3
    for c, label in enumerate([1, 0, 2]):  # by mass
        assert np.mean(model.labels_[truth == c] == label) > 0.95
    np.testing.assert_array_equal(model.predict(centres), [1, 0, 2])
    assert set(model.components(0.5)) == {-1, 0, 1, 2}
    nested = [model.components(mass) for mass in (0.3, 0.6, 0.9, 1.0)]
    for inner, outer in pairwise(nested):
        assert np.all(outer[inner >= 0] >= 0)
        for c in np.unique(inner[inner >= 0]):
            assert len(np.unique(outer[inner == c])) == 1  # a component is a part of one below
    density = KernelDensity(Gaussian(0.5), mass=0.6).fit(X)
    np.testing.assert_allclose(model.leave_one_out_, density.leave_one_out_)
    np.testing.assert_allclose(model.score_samples(X), density.score_samples(X))
    assert model.level(0.6) == density.level(0.6)


def test_clusters_of_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list(letters), 12)) for letters in ("ab", "cd") for _ in range(20)]
    found = LevelSetTree(Spectrum(2).normalize() + 0.01, neighbors=5, min_mass=0.2)
    found = found.fit_predict(words)
    assert len(set(found[:20])) == len(set(found[20:])) == 1
    assert found[0] != found[20]


def test_weights_count(rng):
    X = np.concatenate([rng.normal(-3, 0.5, 60), rng.normal(3, 0.5, 60)])[:, None]
    w = np.repeat([1.0, 0.0], 60)
    model = LevelSetTree(Gaussian(0.5), neighbors=5).fit(X, sample_weight=w)
    assert model.n_clusters_ == 1
    assert model.tree_.mass.sum() == pytest.approx(1)


def test_landmarks_and_narrow_kernels(rng):
    X = np.concatenate([rng.normal(-3, 0.5, 100), rng.normal(3, 0.5, 100)])[:, None]
    assert LevelSetTree(Gaussian(0.5), plan=Plan(rank=30)).fit(X).n_clusters_ == 2
    alone = LevelSetTree(Gaussian(1e-3), min_mass=0.2).fit(X)  # neighbours by logarithms
    assert np.mean(alone.labels_[:100] != alone.labels_[100:]) > 0.9 or alone.n_clusters_ == 1


def test_the_picture(rng):
    X = np.concatenate([rng.normal(m, 0.5, 100) for m in (-3, 0, 3)])[:, None]
    model = LevelSetTree(Gaussian(0.3)).fit(X)
    ax = model.plot()
    assert len(ax.collections) == len(model.tree_.parent)
    assert ax.get_ylabel() == "log density"
    model.plot(X)
    plt.close("all")


def test_what_is_refused(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="min_mass must be"):
        LevelSetTree(min_mass=0.0).fit(X)
    with pytest.raises(ValueError, match="neighbors must be"):
        LevelSetTree(neighbors=0).fit(X)
    with pytest.raises(ValueError, match="mass must be"):
        LevelSetTree().fit(X).components(0.0)


def test_samples_without_anything_in_common_are_not_joined():
    """Strings of two alphabets, fewer of each than there are neighbours."""
    words = ["abab", "baba", "aabb", "abba"] * 2 + ["cdcd", "dcdc", "ccdd", "cddc"] * 2
    tree = LevelSetTree(Spectrum(2), neighbors=10).fit(words)
    assert tree.n_clusters_ == 2
    assert len(set(tree.labels_[:8])) == len(set(tree.labels_[8:])) == 1
    found = tree.predict(["abab", "dcdc", "zzzz"])
    assert found.tolist() == [tree.labels_[0], tree.labels_[-1], -1]


def test_integers_that_are_repeated():
    grid = np.indices((6, 6)).reshape(2, -1).T.astype(float)
    assert LevelSetTree(Gaussian(), neighbors=5).fit(np.repeat(grid, 10, axis=0)).n_clusters_ == 1


def test_rounded_samples(rng):
    X = np.round(np.concatenate([rng.normal(m, 0.5, 400) for m in (-3, 0, 3)]), 1)[:, None]
    assert LevelSetTree(Gaussian(0.3)).fit(X).n_clusters_ == 3


def test_one_value():
    model = LevelSetTree(Gaussian()).fit(np.ones((30, 2)))
    assert model.n_clusters_ == 1
    assert not model.labels_.any()
