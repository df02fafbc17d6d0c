"""The multiscale Laplacian kernel against its definition, in a basis of the joint feature space."""

import numpy as np
import pytest

from mercer import SVC, Gaussian, Graph, MultiscaleLaplacian, load, parse, save
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

from .conftest import random_graph, relabelled


def adjacency(graph):
    A = np.zeros((graph.n_nodes, graph.n_nodes))
    weights = np.ones(graph.n_edges) if graph.weights is None else graph.weights
    for (u, v), w in zip(graph.edges.tolist(), weights, strict=True):
        if u != v:
            A[u, v] += w
            A[v, u] += w
    return A


def ball(A, v, radius):
    reached = np.eye(len(A))[v] > 0
    for _ in range(radius):
        reached = reached | (A[reached] > 0).any(axis=0)
    return np.flatnonzero(reached)


def flat_kernel(A, B, K, eta, gamma):
    """|S|^1/4 |S'|^1/4 / |(S + S') / 2|^1/2 in coordinates of the features of all nodes."""
    n = len(A)
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-10 * max(values.max(initial=0), 1e-300)
    Q = vectors[:, keep] * np.sqrt(values[keep])
    S = []
    for M, phi in ((A, Q[:n]), (B, Q[n:])):
        L = np.diag(M.sum(axis=1)) - M + eta * np.eye(len(M))
        S.append(phi.T @ np.linalg.inv(L) @ phi + gamma * np.eye(Q.shape[1]))
    logs = [np.linalg.slogdet(M)[1] for M in (*S, (S[0] + S[1]) / 2)]
    return np.exp(logs[0] / 4 + logs[1] / 4 - logs[2] / 2)


def brute(kernel, g, h, base):
    """The recursion as it is written, on the disjoint union of both graphs."""
    A, B = adjacency(g), adjacency(h)
    n, m = len(A), len(B)
    union = np.block([[A, np.zeros((n, m))], [np.zeros((m, n)), B]])
    K = base(g, h)
    for level in range(1, kernel.levels + 1):
        around = [ball(union, v, level) for v in range(n + m)]
        parts = [union[np.ix_(b, b)] for b in around]
        new = np.empty((n + m, n + m))
        for v in range(n + m):
            for w in range(n + m):
                both = np.concatenate([around[v], around[w]])
                joint = K[np.ix_(both, both)]
                new[v, w] = flat_kernel(parts[v], parts[w], joint, kernel.eta, kernel.gamma)
        K = new
    return flat_kernel(A, B, K, kernel.eta, kernel.gamma)


def labels(g, h):
    both = np.concatenate([g.labels, h.labels])
    return (both[:, None] == both[None, :]).astype(float)


def degrees(g, h):
    both = np.concatenate([adjacency(x).sum(axis=1) for x in (g, h)])
    return (both[:, None] == both[None, :]).astype(float)


@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize(("node", "base"), [("labels", labels), ("degrees", degrees)])
def test_against_the_definition(rng, levels, node, base):
    kernel = MultiscaleLaplacian(levels, 0.3, 0.2, node)
    X = [random_graph(rng, n, weights=node == "labels") for n in (1, 3, 5, 4)]
    wanted = [[brute(kernel, g, h, base) for h in X] for g in X]
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-9)
    np.testing.assert_allclose(kernel(X[1:3], X), wanted[1:3], rtol=1e-9)


def test_attributes(rng):
    X = []
    for n in (3, 5, 4):
        edges = random_graph(rng, n).edges
        X.append(Graph(edges, nodes=n, attributes=rng.standard_normal((n, 2))))
    inner = Gaussian(0.8)
    kernel = MultiscaleLaplacian(1, 0.1, 0.1, inner)
    wanted = [
        [
            brute(kernel, g, h, lambda a, b: inner(np.vstack([a.attributes, b.attributes])))
            for h in X
        ]
        for g in X
    ]
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-8)
    check_kernel(MultiscaleLaplacian(1, 0.1, 0.1, Gaussian("median")), X)


def test_single_nodes_by_hand():
    """S = 1 / eta + gamma along one direction, for the same label; two of them for others."""
    eta, gamma = 0.5, 0.25
    X = [Graph([], nodes=1, labels=["a"]), Graph([], nodes=1, labels=["b"]), Graph([])]
    K = MultiscaleLaplacian(0, eta, gamma)(X)
    S = 1 / eta + gamma
    apart = np.sqrt(S * gamma) / ((S + gamma) / 2)
    nothing = (S * gamma) ** 0.25 / np.sqrt((S + gamma) / 2)
    wanted = [[1, apart, nothing], [apart, 1, nothing], [nothing, nothing, 1]]
    np.testing.assert_allclose(K, wanted, rtol=1e-13)


@pytest.mark.parametrize(
    "kernel",
    [
        MultiscaleLaplacian(),
        MultiscaleLaplacian(0, 1.0, 1e-3),
        MultiscaleLaplacian(1, 0.01, 0.01, "degrees"),
    ],
    ids=repr,
)
def test_contract(rng, kernel):
    X = [random_graph(rng, int(n)) for n in rng.integers(0, 9, 14)]
    check_kernel(kernel, X)
    np.testing.assert_allclose(kernel([relabelled(g, rng) for g in X]), kernel(X), rtol=1e-9)
    assert parse(repr(kernel)) == kernel


def test_calls_that_are_cut_short(rng, monkeypatch):
    from mercer.kernels.graphs import laplacian

    X = [random_graph(rng, 6) for _ in range(4)]
    whole = MultiscaleLaplacian(2)(X)
    monkeypatch.setattr(laplacian, "_OPERATIONS", 0)
    np.testing.assert_array_equal(MultiscaleLaplacian(2)(X), whole)


def test_use_and_refusals(rng, tmp_path):
    X = [random_graph(rng, 8, p=p) for p in [0.15] * 10 + [0.6] * 10]
    y = np.repeat([0, 1], 10)
    model = SVC(MultiscaleLaplacian(1), C=100).fit(X, y)
    assert model.score(X, y) > 0.9
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    with pytest.raises(DomainError, match="graph 1 is directed"):
        MultiscaleLaplacian()([X[0], Graph([(0, 1)], directed=True)])
    with pytest.raises(DomainError, match="negative weight"):
        MultiscaleLaplacian()([Graph([(0, 1)], weights=[-1.0])])
    with pytest.raises(ValueError, match="node must be"):
        MultiscaleLaplacian(node="degree")
