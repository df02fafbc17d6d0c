"""The marginalised kernel against sums over listed walks."""

import numpy as np
import pytest

from mercer import Gaussian, Graph, MarginalizedGraph
from mercer.exceptions import DomainError

from .test_walks import ALONE, BARE, EMPTY, arcs, random_graph

LONGEST = 60


def listed(g, stop, depth):
    """{(nodes, marks): probability} of all walks up to a length."""
    leaving = {v: [arc for arc in arcs(g) if arc[0] == v] for v in range(g.n_nodes)}
    ahead = [((v,), (), 1 / g.n_nodes) for v in range(g.n_nodes)]
    found = {}
    for _ in range(depth):
        going = []
        for nodes, marks, p in ahead:
            out = leaving[nodes[-1]]
            ends = stop if out else 1.0
            found[nodes, marks] = found.get((nodes, marks), 0) + p * ends
            total = sum(w for *_, w, _ in out)
            going += [((*nodes, v), (*marks, e), p * (1 - stop) * w / total) for _, v, w, e in out]
        ahead = going
    return found


def alike(g, h, one, other):
    (v, e), (w, f) = one, other
    same = len(v) == len(w) and e == f
    return same and [g.labels[x] for x in v] == [h.labels[x] for x in w]


@pytest.mark.parametrize("directed", [False, True])
def test_against_listed_walks(rng, directed):
    """With stop = 0.9, walks of more than 6 nodes have a probability of 1e-5 in either graph."""
    kernel = MarginalizedGraph(0.9)
    X = [random_graph(rng, n, directed=directed) for n in (3, 3, 2)]
    X.append(Graph([], labels=["a", "b"], attributes=np.zeros((2, 2))))
    walks = [listed(g, 0.9, 6) for g in X]
    wanted = [
        [
            sum(p * q for one, p in a.items() for other, q in b.items() if alike(g, h, one, other))
            for h, b in zip(X, walks, strict=True)
        ]
        for g, a in zip(X, walks, strict=True)
    ]
    np.testing.assert_allclose(kernel(X), wanted, atol=1e-9)


def by_system(g, h, stop):
    """The same by a dense linear system, for any stop."""
    n, m = g.n_nodes, h.n_nodes
    P = np.zeros((n, m, n, m))
    sides = []
    for x in (g, h):
        out = np.zeros(x.n_nodes)
        for u, _, w, _ in arcs(x):
            out[u] += w
        sides.append(out)
    for u, v, w, e in arcs(g):
        for u2, v2, w2, e2 in arcs(h):
            same = e == e2 and g.labels[v] == h.labels[v2]
            P[u, u2, v, v2] += same * (1 - stop) ** 2 * w * w2 / sides[0][u] / sides[1][u2]
    one, other = (np.where(out > 0, stop, 1.0) for out in sides)
    R = np.linalg.solve(np.eye(n * m) - P.reshape(n * m, n * m), np.outer(one, other).ravel())
    match = (g.labels[:, None] == h.labels[None, :]).ravel()
    return R[match].sum() / (n * m)


@pytest.mark.parametrize("stop", [0.001, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("directed", [False, True])
def test_against_the_linear_system(rng, stop, directed):
    X = [random_graph(rng, directed=directed) for _ in range(4)] + [random_graph(rng)]
    numbers = np.zeros((3, 2))  # and a node without edges
    X.append(Graph([(0, 1)], labels=list("aba"), edge_labels=[1], attributes=numbers))
    wanted = [[by_system(g, h, stop) for h in X] for g in X]
    np.testing.assert_allclose(MarginalizedGraph(stop)(X), wanted, rtol=1e-11)


def test_probabilities_add_up(rng):
    """If all matches, k is the probability that two walks are equally long."""
    X = [
        Graph([(i, (i + 1) % n) for i in range(n)], weights=rng.uniform(size=n))
        for n in (3, 4, 5, 9)
    ]
    s = 0.2
    np.testing.assert_allclose(
        MarginalizedGraph(s, node=None, edge=None)(X), np.full((4, 4), s * s / (1 - (1 - s) ** 2))
    )


def test_small_graphs():
    K = MarginalizedGraph(0.3)([EMPTY, ALONE, BARE])
    np.testing.assert_allclose(K, [[0, 0, 0], [0, 1, 1], [0, 1, 1]])


def test_kernels_on_nodes(rng):
    X = [random_graph(rng, marks=False) for _ in range(4)]
    near = MarginalizedGraph(0.2, node=Gaussian(1e3), edge=None)(X)
    np.testing.assert_allclose(near, MarginalizedGraph(0.2, None, None)(X), rtol=1e-4)
    with pytest.raises(DomainError, match="above 1"):
        MarginalizedGraph(0.1, node=9 * Gaussian(1.0))(X)
    with pytest.raises(ValueError, match=r"stop must be a number in \(0, 1\]"):
        MarginalizedGraph(0.0)
