"""Counts of small subgraphs, against all sets of nodes."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from mercer import Graph, Graphlet
from mercer.exceptions import DomainError
from mercer.kernels.graphs import graphlets
from mercer.kernels.graphs.container import graphs
from mercer.kernels.graphs.graphlets import table_of
from mercer.testing import check_kernel

from .conftest import random_graph, relabelled

K4 = Graph(list(combinations(range(4), 2)))
C5 = Graph([(i, (i + 1) % 5) for i in range(5)])
P5 = Graph([(i, i + 1) for i in range(4)])
STAR = Graph([(0, i) for i in range(1, 5)])


def classes(graph, k):
    """Degrees and triangles of connected induced subgraphs, which tell those of four apart."""
    joined = {frozenset(e) for e in graph.edges.tolist() if e[0] != e[1]}
    found = []
    for nodes in combinations(range(graph.n_nodes), k):
        inside = [e for e in joined if e <= set(nodes)]
        reached, ahead = {nodes[0]}, [nodes[0]]
        while ahead:
            v = ahead.pop()
            new = {w for e in inside if v in e for w in e} - reached
            reached |= new
            ahead += new
        if len(reached) == k:
            degrees = sorted(sum(v in e for e in inside) for v in nodes)
            three = sum(
                {frozenset(p) for p in combinations(t, 2)} <= joined for t in combinations(nodes, 3)
            )
            found.append((*degrees, three))
    return found


@pytest.mark.parametrize("k", [3, 4, 5])
def test_against_all_sets(variant, k):
    """Columns and invariants correspond: sums over classes with one invariant are equal."""
    phi = Graphlet(k).prepare(variant)
    told = [classes(g, k) for g in variant]
    np.testing.assert_array_equal(phi.sum(axis=1), [len(t) for t in told])
    known = {c: {i: t.count(c) for i, t in enumerate(told)} for t in told for c in t}
    columns = {tuple(phi[:, j]) for j in range(phi.shape[1]) if phi[:, j].any()}
    for counts in known.values():
        row = tuple(float(counts[i]) for i in range(len(told)))
        assert k == 5 or row in columns


def test_known_values():
    three, four, five = (Graphlet(k).prepare([K4, C5, P5, STAR]) for k in (3, 4, 5))
    np.testing.assert_array_equal(three, [[0, 4], [5, 0], [3, 0], [6, 0]])
    np.testing.assert_array_equal(four.sum(axis=1), [1, 5, 2, 4])
    assert four[0, -1] == 1  # the complete graph has most edges
    assert four[1].argmax() == four[2].argmax() != four[3].argmax()
    np.testing.assert_array_equal(five.sum(axis=1), [0, 1, 1, 1])
    assert len({row.argmax() for row in five[1:]}) == 3


def test_numbers_of_graphs():
    """Connected graphs of 3, 4 and 5 nodes: 2, 6 and 21."""
    assert [table_of(k)[1] for k in (3, 4, 5)] == [2, 6, 21]
    sizes = np.bincount(table_of(4)[0])
    assert sizes.tolist() == [4, 12, 12, 3, 6, 1, 26]  # of 64 graphs on four named nodes


@pytest.mark.parametrize("k", [3, 4, 5])
def test_isomorphic_graphs_are_one(variant, rng, k):
    other = [relabelled(g, rng) for g in variant]
    np.testing.assert_array_equal(Graphlet(k).prepare(other), Graphlet(k).prepare(variant))


def test_some_steps_at_a_time(rng, monkeypatch):
    X = [random_graph(rng, n, p=0.4) for n in (9, 0, 12, 5)]
    whole = Graphlet(5).prepare(X)
    monkeypatch.setattr(graphlets, "_STEPS", 3)
    np.testing.assert_array_equal(Graphlet(5).prepare(X), whole)


@pytest.mark.parametrize("k", [3, 4, 5])
def test_samples_have_the_right_mean(rng, k):
    sparse = random_graph(rng, 30, p=0.15)
    edges = [*map(tuple, sparse.edges.tolist()), (0, 0), *map(tuple, sparse.edges[:3].tolist())]
    labels = ["a"] * (len(sparse.edges) + 1) + ["b"] * 3
    X = [random_graph(rng, 28, p=0.4), Graph(edges, nodes=30, edge_labels=labels), STAR]
    kernel = Graphlet(k, samples=40_000)
    drawn = np.stack([kernel._drawn(graphs([x], "Graphlet")) for x in X])  # however few there are
    exact = Graphlet(k).prepare(X)
    total = exact.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(drawn / total, exact / total, atol=0.015)  # six standard errors


def test_samples_of_regular_and_of_large_graphs():
    complete = Graph(list(combinations(range(40), 2)))
    assert Graphlet(4, samples=3).prepare([complete])[0, -1] == pytest.approx(comb(40, 4))
    ring = Graph([(i, (i + 1) % 3000) for i in range(3000)])
    np.testing.assert_allclose(Graphlet(5, samples=10).prepare([ring]).sum(), 3000)
    far, path = Graph([], nodes=100), Graph([(i, i + 1) for i in range(2000)])
    some = Graphlet(5, samples=5000).prepare([far, path])
    np.testing.assert_allclose(some.sum(axis=1), [0, 1997], rtol=0.01)
    np.testing.assert_array_equal(Graphlet(5, samples=5000).prepare([path])[0], some[1])


def test_samples_where_there_are_few_sets(rng):
    X = [random_graph(rng, n, p=0.4) for n in (6, 3)]
    np.testing.assert_array_equal(Graphlet(4, samples=15).prepare(X), Graphlet(4).prepare(X))


@pytest.mark.parametrize("kernel", [Graphlet(), Graphlet(3), Graphlet(4, samples=50)], ids=repr)
def test_keeps_its_promises(variant, kernel):
    check_kernel(kernel, variant)


def test_too_many_sets():
    hub = Graph([(0, i) for i in range(1, 2000)])
    with pytest.raises(
        DomainError, match=r"graph 1 has a node with 1999 neighbours.* give samples"
    ):
        Graphlet()([STAR, hub])
    assert Graphlet(3)([hub])[0, 0] == comb(1999, 2) ** 2
    assert np.isfinite(Graphlet(samples=100)([hub])).all()
    for bad in ({"size": 6}, {"samples": 0}, {"samples": 2.5}):
        with pytest.raises(ValueError, match="must be"):
            Graphlet(**bad)
