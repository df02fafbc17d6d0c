"""Shortest paths against those of scipy, counted one by one."""

from collections import Counter

import numpy as np
import pytest
from scipy.sparse.csgraph import floyd_warshall

from mercer import Graph, ShortestPath
from mercer.exceptions import DomainError
from mercer.kernels.graphs import shortest_path
from mercer.testing import check_kernel

from .conftest import VARIANTS, adjacency, random_graph, relabelled

KERNELS = [
    ShortestPath(),
    ShortestPath(labels=False),
    ShortestPath(weighted=True),
    ShortestPath(labels=False, weighted=True),
]


def paths(graph, labels, weighted):
    n = graph.n_nodes
    D = floyd_warshall(adjacency(graph), unweighted=not weighted) if n else np.zeros((0, 0))
    names = [0] * n if graph.labels is None or not labels else graph.labels.tolist()
    pairs = [(u, v) for u in range(n) for v in range(n) if u != v and np.isfinite(D[u, v])]
    return Counter((names[u], round(D[u, v], 6), names[v]) for u, v in pairs)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_against_counting(variant, kernel):
    if not kernel.labels:
        variant = [g for g in variant if g.labels is not None] or variant
    same = len({g.labels is None for g in variant}) == 1
    X = variant if same else [g for g in variant if g.labels is None]
    told = [paths(g, kernel.labels, kernel.weighted) for g in X]
    wanted = [[sum(n * y[c] for c, n in x.items()) for y in told] for x in told]
    np.testing.assert_array_equal(kernel(X), wanted)


def test_published_values(pair):
    np.testing.assert_array_equal(ShortestPath()(pair), [[48, 28], [28, 32]])
    np.testing.assert_array_equal(ShortestPath(labels=False)(pair), 356)
    water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    hydronium = Graph([(0, 1), (0, 2), (0, 3)], labels=["O", "H", "H", "H"])
    K = ShortestPath().normalize()([water, hydronium])
    assert K[0, 1] == pytest.approx(0.9428090, abs=1e-7)
    K = ShortestPath(labels=False).normalize()([water, hydronium])
    assert K[0, 1] == pytest.approx(0.9486833, abs=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_isomorphic_graphs_are_one(variant, rng, kernel):
    other = [relabelled(g, rng) for g in variant]
    np.testing.assert_array_equal(kernel(variant, other), kernel(variant))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_keeps_its_promises(variant, kernel):
    check_kernel(kernel, variant)


@pytest.mark.parametrize("kernel", KERNELS[::2], ids=repr)
def test_from_some_nodes_at_a_time(rng, kernel, monkeypatch):
    X = [random_graph(rng, n, p=0.2, weights=True) for n in (12, 3, 20, 0, 7)]
    whole = kernel(X)
    monkeypatch.setattr(shortest_path, "_PAIRS", 30)
    np.testing.assert_array_equal(kernel(X), whole)


def test_lengths_that_are_sums_in_another_order():
    one = Graph([(0, 1), (1, 2), (2, 3)], weights=[0.1, 0.2, 0.3])
    other = Graph([(0, 1), (1, 2), (2, 3)], weights=[0.3, 0.2, 0.1])
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    np.testing.assert_array_equal(ShortestPath(weighted=True)([one, other])[0, 1], 4 * 8)


def test_lengths_must_be_positive():
    good = random_graph(np.random.default_rng(0), 5, **VARIANTS["labelled"])
    bad = Graph([(0, 1), (1, 2)], weights=[1, -2])
    with pytest.raises(DomainError, match="must be positive, but graph 1 has the weight -2"):
        ShortestPath(weighted=True)([good, bad])
    ShortestPath()([good, bad])
