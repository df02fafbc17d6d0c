"""The filtration kernel against its definition, with Wasserstein distances from scipy."""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from mercer import Graph, GraphFiltration, WeisfeilerLehman
from mercer.exceptions import UnresolvedError
from mercer.testing import check_kernel

from .conftest import colours_of, relabelled


def cut(graph, weights, floor):
    kept = np.asarray(weights) >= floor
    return Graph._literally(
        graph.edges[kept],
        nodes=graph.n_nodes,
        labels=graph.labels,
        edge_labels=None if graph.edge_labels is None else graph.edge_labels[kept],
        directed=graph.directed,
    )


def sizes(graph, how):
    """Weights of edges; parallel ones do not occur here."""
    if how == "given":
        return np.ones(graph.n_edges) if graph.weights is None else graph.weights
    degree = np.bincount(graph.edges.ravel(), minlength=graph.n_nodes)
    return degree[graph.edges].sum(axis=1)


def histograms(kernel, graph):
    weights, floors = sizes(graph, kernel.weights), [*kernel.thresholds[:-1], -np.inf]
    found = {}
    for l, floor in enumerate(floors):
        levels = colours_of(cut(graph, weights, floor), kernel.iterations)
        for key, n in Counter((i, c) for i, level in enumerate(levels) for c in level).items():
            found.setdefault(key, np.zeros(len(floors)))[l] += n
    return found


def brute(kernel, x, y):
    p, q, total, alpha = histograms(kernel, x), histograms(kernel, y), 0.0, kernel.thresholds
    for key in p.keys() & q.keys():
        w = wasserstein_distance(alpha, alpha, p[key], q[key])
        total += p[key].sum() * q[key].sum() * np.exp(-kernel.gamma * w)
    return total


@pytest.mark.parametrize(
    "kernel",
    [
        GraphFiltration(2, [6.0, 4.0, 3.0], gamma=0.7),
        GraphFiltration(1, [2.0, 1.0, 0.5], "given", 2.0),
        GraphFiltration(3, [4.0]),
    ],
    ids=repr,
)
def test_against_the_definition(variant, kernel):
    X = [g for g in variant if not (g.edges[:, 0] == g.edges[:, 1]).any()]
    wanted = [[brute(kernel, x, y) for y in X] for x in X]
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-12)


def test_one_level_is_weisfeiler_lehman(variant):
    K = GraphFiltration(3, thresholds=1)(variant)
    np.testing.assert_array_equal(K, WeisfeilerLehman(3)(variant))


def test_thresholds_from_data():
    graph = Graph([(i, i + 1) for i in range(8)], weights=np.arange(1.0, 9.0))
    kernel = GraphFiltration(1, 4, "given").resolve([graph])
    assert len(kernel.thresholds) == 4
    assert kernel.thresholds[-1] == 1.0
    assert kernel.unresolved is None
    assert kernel.resolve([graph]) is kernel
    assert GraphFiltration(thresholds=9).resolve([Graph([])]).thresholds == [0.0]
    with pytest.raises(UnresolvedError, match="thresholds=4 depends on the data"):
        GraphFiltration().prepare([graph])


def test_isomorphic_graphs_are_one(variant, rng):
    kernel = GraphFiltration(2, [5.0, 3.0, 2.0])
    other = [relabelled(g, rng) for g in variant]
    np.testing.assert_allclose(kernel(variant, other), kernel(variant), rtol=1e-12)


def test_keeps_its_promises(variant):
    kernel = GraphFiltration(2, [5.0, 3.0, 2.0], gamma=0.5)
    check_kernel(kernel, variant)
    check_kernel(kernel.normalize(), variant)


def test_gradient(variant, rng):
    kernel = GraphFiltration(2, [5.0, 3.0, 2.0], gamma=0.5)
    W = rng.standard_normal((5, len(variant)))
    P, Q, h = kernel.prepare(variant[:5]), kernel.prepare(variant), 1e-5
    up, down = (kernel.replace(gamma=0.5 * np.exp(s)).pairwise(P, Q) for s in (h, -h))
    found = kernel.grad_theta(P, Q, W)
    np.testing.assert_allclose(found, np.sum(W * (up - down)) / (2 * h), rtol=1e-7)
    np.testing.assert_array_equal(kernel.grad_theta_diag(Q, np.ones(len(variant))), [0.0])


@pytest.mark.parametrize("bad", [0, True, [], [1.0, 2.0], [1.0, 1.0], [np.nan], "many"])
def test_thresholds_that_are_none(bad):
    with pytest.raises(ValueError, match="thresholds must be a number of levels"):
        GraphFiltration(thresholds=bad)
