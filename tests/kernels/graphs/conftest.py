"""Graphs to try kernels on."""

import numpy as np
import pytest

from mercer import Graph


def random_graph(
    rng, n=None, *, p=0.35, labels=True, edge_labels=False, directed=False, weights=False
):
    """A random graph; edges of directed ones go both ways now and then."""
    n = int(rng.integers(0, 9)) if n is None else n
    pairs = [(u, v) for u in range(n) for v in range(n) if (u < v or (directed and u != v))]
    edges = [pair for pair in pairs if rng.random() < p]
    return Graph(
        edges,
        nodes=n,
        labels=list(rng.choice(list("ab"), n)) if labels else None,
        edge_labels=list(rng.choice([1, 2], len(edges))) if edge_labels else None,
        weights=rng.choice([0.5, 1.0, 2.0], len(edges)) if weights else None,
        directed=directed,
    )


def relabelled(graph, rng):
    """The same graph with its nodes and edges in another order, and edges turned round."""
    order = rng.permutation(graph.n_nodes)
    place = np.argsort(order)
    lines = rng.permutation(graph.n_edges)
    edges = place[graph.edges[lines]] if graph.n_edges else graph.edges
    if not graph.directed and graph.n_edges:
        turned = rng.random(graph.n_edges) < 0.5
        edges = np.where(turned[:, None], edges[:, ::-1], edges)
    return Graph._literally(
        edges,
        nodes=graph.n_nodes,
        labels=None if graph.labels is None else graph.labels[order],
        attributes=None if graph.attributes is None else graph.attributes[order],
        edge_labels=None if graph.edge_labels is None else graph.edge_labels[lines],
        weights=None if graph.weights is None else graph.weights[lines],
        directed=graph.directed,
    )


VARIANTS = {
    "plain": {"labels": False},
    "labelled": {},
    "edges": {"edge_labels": True},
    "directed": {"directed": True},
    "all": {"edge_labels": True, "directed": True, "weights": True},
}


@pytest.fixture(params=VARIANTS, ids=str)
def variant(request, rng):
    """Some random graphs of one variety, small and smaller, and odd ones."""
    found = [random_graph(rng, **VARIANTS[request.param]) for _ in range(14)]
    loop = Graph([(0, 0), (0, 1)], labels=["a", "b"])
    return [*found, Graph([]), Graph([], nodes=1), Graph([], nodes=2, labels=["a", "a"]), loop]


@pytest.fixture
def pair():
    """The graphs of figure 2 of Shervashidze et al. (2011)."""
    return [
        Graph([(0, 4), (1, 4), (2, 3), (2, 5), (3, 4), (3, 5), (4, 5)], labels=[1, 1, 2, 3, 4, 5]),
        Graph([(0, 4), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)], labels=[1, 2, 2, 3, 4, 5]),
    ]


def adjacency(graph):
    """The matrix of the weights of edges."""
    A = np.zeros((graph.n_nodes, graph.n_nodes))
    weights = np.ones(graph.n_edges) if graph.weights is None else graph.weights
    for (u, v), w in zip(graph.edges.tolist(), weights, strict=True):
        A[u, v] += w
        if not graph.directed and u != v:
            A[v, u] += w
    return A


def neighbours(graph):
    """For each node what is at the other ends of its edges: (direction, label of edge, node)."""
    around = [set() for _ in range(graph.n_nodes)]
    labels = [0] * graph.n_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    for (u, v), label in zip(graph.edges.tolist(), labels, strict=True):
        around[u].add(("out" if graph.directed else "", label, v))
        around[v].add(("in" if graph.directed else "", label, u))
    return around


def colours_of(graph, iterations):
    """Weisfeiler-Leman colours as nested tuples: one list per iteration."""
    around = neighbours(graph)
    state = [None] * graph.n_nodes if graph.labels is None else graph.labels.tolist()
    found = [list(state)]
    for _ in range(iterations):
        state = [
            (state[v], tuple(sorted(((d, e, state[w]) for d, e, w in around[v]), key=repr)))
            for v in range(graph.n_nodes)
        ]
        found.append(list(state))
    return found
