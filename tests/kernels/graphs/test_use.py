"""Kernels on graphs in models, tests, tables and files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    Gaussian,
    GaussianProcessRegressor,
    Graph,
    GraphFiltration,
    Graphlet,
    KernelPCA,
    KernelRidge,
    ShortestPath,
    TfIdf,
    WeisfeilerLehman,
    WLAlignment,
    WLOptimalAssignment,
    load,
    parse,
    read_tu,
    save,
    two_sample_test,
)

from .conftest import random_graph

KERNELS = [
    WeisfeilerLehman(2),
    WLOptimalAssignment(2),
    WLAlignment(2),
    ShortestPath(),
    Graphlet(4),
    GraphFiltration(2),
]


@pytest.fixture
def data(rng):
    X = [random_graph(rng, int(rng.integers(4, 10)), p=0.3) for _ in range(40)]
    return X, np.array([x.n_edges - 2 * sum(x.labels == "a") > 0 for x in X])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_in_models(data, kernel, tmp_path):
    X, y = data
    assert parse(repr(kernel)) == kernel == clone(kernel)
    model = SVC(kernel.normalize(), C=10).fit(X, y)
    assert model.score(X, y) > 0.7
    save(model, tmp_path / "model")
    found = load(tmp_path / "model").decision_function(X)
    np.testing.assert_allclose(found, model.decision_function(X), rtol=1e-9, atol=1e-9)
    process = GaussianProcessRegressor(kernel.normalize(), alpha=0.1, optimizer=None)
    process.fit(X[:25], y[:25] * 1.0)
    assert np.isfinite(process.predict(X[25:], return_std=True)).all()
    assert KernelPCA(2, kernel=kernel).fit_transform(X).shape == (40, 2)
    assert 0 < two_sample_test(X[:20], X[20:], kernel, n_permutations=19, rng=0).pvalue <= 1


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_in_tables(data, kernel):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame({"graph": X, "size": [float(x.n_nodes) for x in X]})
    product = kernel.normalize().on("graph") * Gaussian().on("size")
    sizes = np.array([[x.n_nodes] for x in X], dtype=float)
    wanted = kernel.normalize()(X) * Gaussian()(sizes)
    np.testing.assert_allclose(product(table), wanted, rtol=1e-12, atol=1e-12)
    assert KernelRidge(0.1, kernel=product).fit(table, y).predict(table[:3]).shape == (3,)


def test_searches(data):
    X, y = data
    grid = {"kernel__kernel__iterations": [0, 2], "C": [1, 100]}
    search = GridSearchCV(SVC(WeisfeilerLehman().normalize()), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.5
    truth = GraphFiltration(1, [4.0, 3.0, 2.0], gamma=3.0).normalize()
    z = np.linalg.cholesky(truth(X) + 0.01 * np.eye(40)) @ np.random.default_rng(1).normal(size=40)
    process = GaussianProcessRegressor(truth.replace(kernel=truth.kernel.replace(gamma=0.3)))
    gamma = process.set_params(alpha=0.01).fit(X, z).kernel_.kernel.gamma
    assert 0.3 < gamma < 30


def test_weights_of_rare_colours(data):
    X, _ = data
    kernel = TfIdf(WeisfeilerLehman(1)).resolve(X)
    assert kernel(X).shape == (40, 40)


def test_features_of_the_whole_are_linear(data):
    """A linear machine on features is the kernel machine."""
    X, _ = data
    gram = WeisfeilerLehman(2).gram(X)
    assert type(gram).__name__ == "LowRankGram"
    np.testing.assert_allclose(gram.to_dense(), WeisfeilerLehman(2)(X))


def test_graphs_of_networkx_in_tables_and_files(tmp_path):
    nx, pd = pytest.importorskip("networkx"), pytest.importorskip("pandas")
    X = [nx.path_graph(n) for n in range(1, 9)] + [nx.cycle_graph(n) for n in range(3, 11)]
    y = [0] * 8 + [1] * 8
    table = pd.DataFrame({"graph": pd.Series(X, dtype=object)})
    model = SVC(WeisfeilerLehman(1).normalize().on("graph"), C=100).fit(table, y)
    assert model.score(table, y) == 1
    save(model, tmp_path / "model")
    assert load(tmp_path / "model").score(table, y) == 1


def test_everything_is_defined_for_nothing():
    nothing = [Graph([]), Graph([], nodes=1), Graph([], nodes=3), Graph([(0, 0)])]
    for kernel in KERNELS:
        K = kernel(nothing)
        assert np.isfinite(K).all()
        assert np.isfinite(kernel.normalize()(nothing)).all()


@pytest.mark.slow
def test_published_accuracies(shared_data):
    """MUTAG: 79 % and more by Weisfeiler-Lehman, as published."""
    X, y = read_tu(shared_data / "graphs" / "MUTAG.zip")
    grid = {"kernel__kernel__iterations": [1, 2, 3], "C": [1, 10, 100]}
    search = GridSearchCV(SVC(WLOptimalAssignment().normalize()), grid, cv=10).fit(X, y)
    assert search.best_score_ > 0.79
