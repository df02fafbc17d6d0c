"""Propagation and neighbourhood hashes against their definitions, one node at a time."""

from collections import Counter

import numpy as np
import pytest

from mercer import Graph, NeighborhoodHash, Propagation
from mercer.exceptions import DomainError
from mercer.kernels.graphs.container import graphs
from mercer.testing import check_kernel

from .conftest import adjacency, random_graph, relabelled


def with_attributes(graph, rng):
    numbers = rng.integers(0, 3, (graph.n_nodes, 2)).astype(float)
    return Graph._literally(
        graph.edges,
        nodes=graph.n_nodes,
        labels=graph.labels,
        attributes=numbers,
        weights=graph.weights,
        directed=graph.directed,
    )


def spread(graph, p, steps):
    A = adjacency(graph)
    d = A.sum(axis=1)
    T = np.where(d[:, None] > 0, A / np.where(d > 0, d, 1)[:, None], np.eye(len(A)))
    found = [p]
    for _ in range(steps):
        found.append(T @ found[-1])
    return found


def pairs_alike(x, y, exact):
    """Pairs of nodes with the same vectors (up to rounding) at each step."""
    return sum(
        np.sum(np.all(np.abs(a[:, None] - b[None]) < exact, axis=2))
        for a, b in zip(x, y, strict=True)
    )


@pytest.mark.parametrize("metric", ["tv", "l2", "hellinger"])
@pytest.mark.parametrize("directed", [False, True])
def test_narrow_bins_hold_equal_distributions(rng, metric, directed):
    X = [random_graph(rng, n, directed=directed, weights=True) for n in (4, 6, 7, 5, 1)]
    p = [spread(g, (g.labels[:, None] == np.array(["a", "b"])) * 1.0, 3) for g in X]
    wanted = [[pairs_alike(a, b, 1e-9) for b in p] for a in p]
    np.testing.assert_array_equal(Propagation(3, 1e-7, metric)(X), wanted)


def test_attributes(rng):
    X = [with_attributes(random_graph(rng, n), rng) for n in (4, 6, 7, 5)]
    for use in ("attributes", "both"):
        p = [spread(g, g.attributes, 2) for g in X]
        if use == "both":
            labels = [spread(g, (g.labels[:, None] == np.array(["a", "b"])) * 1.0, 2) for g in X]
            p = [
                [np.hstack(t) for t in zip(*both, strict=True)]
                for both in zip(p, labels, strict=True)
            ]
        wanted = [[pairs_alike(a, b, 1e-9) for b in p] for a in p]
        np.testing.assert_array_equal(Propagation(2, 1e-7, "l2", use)(X), wanted)


def test_bins_hold_what_is_near():
    """The probability that two points share a bin is known for the Euclidean distance.

    Nodes without edges keep their attributes, and have new bins at each step.
    """
    from scipy.special import erf

    near = [Graph([], nodes=1, attributes=[[a, b]]) for a, b in ((0.0, 0.0), (0.3, 0.4))]
    hits = Propagation(1999, 1.0, "l2", "attributes")(near)[0, 1]
    d = 0.5
    wanted = erf(1 / (d * np.sqrt(2))) - d * np.sqrt(2 / np.pi) * (1 - np.exp(-1 / (2 * d * d)))
    assert abs(hits / 2000 - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 2000)
    far = Propagation(0, 1e9, "l2", "attributes")(near)
    assert far.tolist() == [[1, 1], [1, 1]]


def test_seeds_and_subsets(rng):
    X = [random_graph(rng, 8) for _ in range(10)]
    k = Propagation(3, 0.5)
    K = k(X)
    assert not np.array_equal(K, k.replace(seed=1)(X))
    for i in (0, 7):
        np.testing.assert_array_equal(k(X[i : i + 1], X[:3]), K[i : i + 1, :3])


# ---- neighbourhood hashes --------------------------------------------------------------------
def rot(x, by):
    by %= 64
    return ((x << by) | (x >> (64 - by))) & (2**64 - 1)


def hashes(graph, rounds, counted):
    from mercer.mixing import mix

    state = [int(x) for x in mix(graphs([graph], "test").flat.labels)]
    around = [np.flatnonzero(row).tolist() for row in adjacency(graph)]
    for _ in range(rounds):
        new = []
        for v, near in enumerate(around):
            label = rot(state[v], 1)
            if counted:
                for each, times in Counter(state[w] for w in near).items():
                    label ^= rot(each ^ times, times)
            else:
                for w in near:
                    label ^= state[w]
            new.append(label)
        state = new
        yield Counter(state)


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_hashes_of_neighbourhoods(rng, counted, directed):
    X = [random_graph(rng, n, directed=directed) for n in (4, 7, 9, 5, 1)]
    X = [*X, Graph([]), Graph([(i, 3) for i in range(3)]), Graph([(0, 1), (1, 2)])]
    each = [list(hashes(g, 3, counted)) for g in X]
    wanted = np.zeros((len(X), len(X)))
    for i, a in enumerate(each):
        for j, b in enumerate(each):
            for one, other in zip(a, b, strict=True):
                c, n = (one & other).total(), one.total() + other.total()
                wanted[i, j] += c / (n - c) / 3 if n else 0
    np.testing.assert_allclose(NeighborhoodHash(3, counted)(X), wanted, rtol=1e-13)


# ---- contract ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel",
    [
        Propagation(2),
        Propagation(3, 0.3, "hellinger"),
        Propagation(0, 0.1).normalize(),
        NeighborhoodHash(2),
        NeighborhoodHash(2, counted=True) + 1,
    ],
    ids=repr,
)
def test_contract(variant, kernel, rng):
    X = [g for g in variant if g.n_nodes]  # of which normalised kernels know
    check_kernel(kernel, X)
    other = [relabelled(g, rng) for g in X]
    np.testing.assert_allclose(kernel(other), kernel(X), rtol=1e-12)


def test_refusals(rng):
    g = random_graph(rng, 5)
    with pytest.raises(DomainError, match="not all nodes have the same number"):
        Propagation(use="attributes")([g])
    with pytest.raises(DomainError, match="hellinger"):
        Propagation(use="both", metric="hellinger")([g])
    with pytest.raises(DomainError, match="graph 1 has edges of negative weight"):
        Propagation()([g, Graph([(0, 1)], weights=[-1.0])])
    with pytest.raises(ValueError, match="width must be positive"):
        Propagation(width=0)
    assert Propagation()([Graph([])]).tolist() == [[0.0]]
    assert NeighborhoodHash()([Graph([]), Graph([], nodes=2)]).tolist() == [[0, 0], [0, 1]]
