"""Walk kernels against dense linear algebra on product graphs, and listed walks."""

import math
from itertools import product

import numpy as np
import pytest
import scipy.linalg
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    Categorical,
    Gaussian,
    GaussianProcessRegressor,
    Graph,
    KernelPCA,
    Linear,
    MarginalizedGraph,
    RandomWalk,
    load,
    parse,
    save,
    two_sample_test,
)
from mercer.exceptions import DomainError
from mercer.kernels.graphs import walk_counts, walks
from mercer.testing import check_kernel

EMPTY = Graph([], nodes=0)
ALONE = Graph([], nodes=1)
BARE = Graph([], nodes=3)


def cycle(n):
    return ([(i, (i + 1) % n) for i in range(n)],)


def path(n, labels=None):
    return ([(i, i + 1) for i in range(n - 1)], n if labels is None else labels)


def random_graph(rng, n=None, directed=False, weighted=True, marks=True):
    n = int(rng.integers(2, 7)) if n is None else n
    edges = [(u, v) for u, v in product(range(n), repeat=2) if u < v or directed]
    edges = [edge for edge in edges if rng.uniform() < (0.3 if directed else 0.5)]
    edges += [(0, 0)]  # a loop
    return Graph(
        edges,
        nodes=n,
        labels=rng.choice(list("ab"), n).tolist(),
        attributes=rng.standard_normal((n, 2)),
        edge_labels=rng.choice([1, 2], len(edges)).tolist() if marks else None,
        weights=rng.uniform(0.2, 1, len(edges)) if weighted else None,
        directed=directed,
    )


def arcs(g):
    """(u, v, weight, label) for each way to go along an edge."""
    weights = np.ones(g.n_edges) if g.weights is None else g.weights
    labels = [None] * g.n_edges if g.edge_labels is None else g.edge_labels.tolist()
    found = []
    for (u, v), w, label in zip(g.edges.tolist(), weights, labels, strict=True):
        found.append((u, v, w, label))
        if not g.directed and u != v:
            found.append((v, u, w, label))
    return found


def dense(kernel, g, h):
    """The matrix of the product graph, and how far pairs of nodes match."""
    match = np.ones((g.n_nodes, h.n_nodes))
    if kernel.node == "labels":
        match = (g.labels[:, None] == h.labels[None, :]).astype(float)
    elif kernel.node is not None:
        numbers = kernel.node.domain.kind == "vectors"
        parts = [x.attributes if numbers else x.labels.tolist() for x in (g, h)]
        match = kernel.node(*parts)
    W = np.zeros((g.n_nodes, h.n_nodes, g.n_nodes, h.n_nodes))
    for u, v, w, e in arcs(g):
        for u2, v2, w2, e2 in arcs(h):
            same = 1.0
            if kernel.edge == "labels":
                same = float(e == e2)
            elif kernel.edge is not None:
                same = kernel.edge([[e]], [[e2]])[0, 0]
            W[u, u2, v, v2] += w * w2 * same
    n = match.size
    return W.reshape(n, n), match.ravel()


def brute(kernel, g, h):
    W, m = dense(kernel, g, h)
    W = m[:, None] * W
    if kernel.steps is not None:
        total, walk = 0.0, m
        for k in range(kernel.steps + 1):
            c = kernel.decay**k / (math.factorial(k) if kernel.kind == "exponential" else 1)
            total += c * walk.sum()
            walk = W @ walk
        return total
    if kernel.kind == "exponential":
        return (scipy.linalg.expm(kernel.decay * W) @ m).sum()
    return np.linalg.solve(np.eye(len(m)) - kernel.decay * W, m).sum()


KERNELS = [
    RandomWalk(0.05),
    RandomWalk(0.3, "exponential"),
    RandomWalk(0.5, steps=3),
    RandomWalk(0.3, "exponential", steps=2),
    RandomWalk(0.05, node="labels"),
    RandomWalk(0.05, node="labels", edge="labels"),
    RandomWalk(0.05, edge="labels"),
    RandomWalk(0.4, "exponential", node="labels", edge="labels"),
    RandomWalk(0.7, node="labels", steps=4),
    RandomWalk(0.05, node=Gaussian(1.0)),
    RandomWalk(0.02, node=Linear()),
    RandomWalk(0.05, "exponential", node=Linear()),
    RandomWalk(0.05, node=Categorical(), edge=Gaussian(2.0)),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("directed", [False, True])
def test_against_the_product_graph(rng, kernel, directed):
    X = [random_graph(rng, directed=directed) for _ in range(5)]
    X += [random_graph(rng, directed=False)]
    wanted = np.array([[brute(kernel, g, h) for h in X] for g in X])
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel(X[:2], X[1:]), wanted[:2, 1:], rtol=1e-12)


def test_published_values():
    k = RandomWalk(0.1)
    cycles = [cycle(3), cycle(4), cycle(5)]
    K = k(cycles)
    np.testing.assert_allclose([K[0, 0], K[0, 1], K[1, 1], K[2, 2]], [15, 20, 80 / 3, 125 / 3])
    K = k([path(2), path(3)])
    np.testing.assert_allclose(K[[0, 0, 1], [0, 1, 1]], [4.444444, 6.938776, 11.041667], atol=5e-7)
    K = RandomWalk(0.1, node="labels")([path(3, list("aba")), path(2, list("ab"))])
    np.testing.assert_allclose(
        K[[0, 0, 1], [0, 1, 1]], [6.0416667, 3.4693878, 2.2222222], atol=5e-8
    )


def test_labels_that_are_the_same_everywhere_make_no_difference(rng):
    X = [Graph(random_graph(rng, n).edges, nodes=n, labels=[7] * n) for n in (3, 5, 8)]
    for kind in ("geometric", "exponential"):
        a, b = RandomWalk(0.03, kind), RandomWalk(0.03, kind, node="labels", edge="labels")
        np.testing.assert_allclose(a(X), b(X), rtol=1e-12)


# ---- convergence -------------------------------------------------------------------------
def test_the_sum_must_be_finite():
    """Up to 1 / rho^2 and no further, graph by graph."""
    star = ([(0, i) for i in range(1, 10)],)  # rho = 3
    for kernel in (RandomWalk(), RandomWalk(node="labels")):
        assert kernel.replace(decay=0.11)([star]).shape == (1, 1)
        with pytest.raises(DomainError, match=r"graph 1 of 10 nodes.*which is 0.111 for it"):
            kernel.replace(decay=0.112)([cycle(3), star])
        np.testing.assert_allclose(kernel.replace(decay=0.2475)([cycle(3)]), 9 / (1 - 4 * 0.2475))
        with pytest.raises(DomainError, match=r"which is 0\.25"):
            kernel.replace(decay=0.25)([cycle(3)])
    assert RandomWalk(5.0, "exponential")([star])[0, 0] > 0
    assert RandomWalk(5.0, steps=3)([star])[0, 0] > 0
    edge = path(2)  # on which walks do not fade: A = A^-1
    np.testing.assert_allclose(RandomWalk(1.0, steps=20000)([edge]), [[4 * 20001]])
    with pytest.raises(DomainError, match="than a floating-point number can represent"):
        RandomWalk(1.0, "exponential")([Graph([(0, 1)], weights=[1e200])])
    with pytest.raises(DomainError, match="exceeds 1e300"):
        RandomWalk(100.0, "exponential", node="labels")([star])


def test_close_to_the_limit(rng):
    """Walks of thousands of steps count here."""
    g = random_graph(rng, 6)
    A = np.zeros((6, 6))
    for u, v, w, _ in arcs(g):
        A[u, v] += w
    rho = np.abs(np.linalg.eigvals(A)).max()
    for near, node in ((0.99, None), (0.9999, "labels")):
        kernel = RandomWalk(near / rho**2, node=node)
        np.testing.assert_allclose(kernel([g]), [[brute(kernel, g, g)]], rtol=1e-10)
    with pytest.raises(DomainError, match="lower it by 1 per cent"):
        RandomWalk(0.9999 / rho**2)([g])


def test_directed_graphs_without_cycles_have_few_walks():
    """Their matrices are nilpotent: any decay will do."""
    g = Graph([(0, 1), (1, 2), (0, 2)], directed=True)
    for node in (None, "labels"):
        np.testing.assert_allclose(RandomWalk(10.0, node=node)([g]), [[9 + 10 * 9 + 100 * 1]])


# ---- edge cases ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel", [RandomWalk(), RandomWalk(node="labels"), RandomWalk(kind="exponential")], ids=repr
)
def test_small_graphs(kernel):
    loop = Graph([(0, 0)])
    X = [EMPTY, ALONE, BARE, loop]
    geometric = kernel.kind == "geometric"
    once = 1 / (1 - 0.1) if geometric else np.exp(0.1)
    wanted = np.outer([0, 1, 3, 1], [0, 1, 3, 1]).astype(float)
    wanted[3, 3] = once
    np.testing.assert_allclose(kernel(X), wanted)
    np.testing.assert_allclose(kernel.diag(kernel.prepare(X)), np.diag(wanted))
    assert kernel([EMPTY]).tolist() == [[0.0]]
    assert kernel([EMPTY, ALONE], [EMPTY]).tolist() == [[0.0], [0.0]]


def test_refusals():
    with pytest.raises(DomainError, match="graph 1 has edges of negative weight"):
        RandomWalk()([cycle(3), Graph([(0, 1)], weights=[-1.0])])
    with pytest.raises(DomainError, match="not all nodes have the same number"):
        RandomWalk(node=Gaussian(1.0))([cycle(3)])
    with pytest.raises(DomainError, match="graph 0 has no labels of nodes"):
        RandomWalk(node=Categorical())([cycle(3)])
    with pytest.raises(DomainError, match="graph 0 has no labels of edges"):
        RandomWalk(edge=Categorical())([cycle(3)])
    words = Graph([(0, 1)], edge_labels=["single"])
    with pytest.raises(DomainError, match="not all edge labels are numbers"):
        RandomWalk(edge=Gaussian(1.0))([words])
    with pytest.raises(ValueError, match='node must be None, "labels" or a kernel'):
        RandomWalk(node="label")
    with pytest.raises(ValueError, match="steps must be None or an integer >= 0"):
        RandomWalk(steps=-1)
    with pytest.raises(ValueError, match="decay must be positive"):
        RandomWalk(0.0)


def test_calls_that_are_cut_short_go_on(rng, monkeypatch):
    X = [random_graph(rng) for _ in range(5)]
    for kernel in (RandomWalk(0.05, node="labels"), RandomWalk(0.1, "exponential", edge="labels")):
        whole = kernel(X)
        monkeypatch.setattr(walks, "_OPERATIONS", 0)
        np.testing.assert_array_equal(kernel(X), whole)
        monkeypatch.undo()


def test_many_terms_come_in_blocks(rng, monkeypatch):
    X = [random_graph(rng) for _ in range(5)]
    whole = RandomWalk(0.08)(X)
    monkeypatch.setattr(walk_counts, "_TERMS", 3)
    np.testing.assert_allclose(RandomWalk(0.08)(X), whole, rtol=1e-14)


# ---- contract and use ----------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel",
    [
        *KERNELS,
        RandomWalk(0.05).normalize(),
        MarginalizedGraph(0.3),
        MarginalizedGraph(0.2).normalize(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("directed", [False, True])
def test_contract(rng, kernel, directed):
    X = [random_graph(rng, directed=directed) for _ in range(9)] + [random_graph(rng)]
    check_kernel(kernel, X)


def test_in_models(rng, tmp_path):
    pd = pytest.importorskip("pandas")
    X = [random_graph(rng, 6) for _ in range(12)]
    X += [
        Graph([(i, (i + 1) % 6) for i in range(6)], labels=["a"] * 6, attributes=np.zeros((6, 2)))
        for _ in range(12)
    ]
    y = np.repeat([0, 1], 12)
    for kernel in (RandomWalk(0.05), RandomWalk(0.05, node="labels"), MarginalizedGraph(0.3)):
        model = SVC(kernel.normalize(), C=100).fit(X, y)
        assert model.score(X, y) > 0.8
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
        assert parse(repr(kernel)) == kernel
        assert KernelPCA(2, kernel=kernel).fit_transform(X).shape == (24, 2)
        assert two_sample_test(X[:12], X[12:], kernel, rng=0).pvalue < 0.2
        table = pd.DataFrame({"graph": X, "x": rng.standard_normal(24)})
        both = kernel.on("graph") + Gaussian(1.0).on("x")
        assert SVC(both, C=100).fit(table, y).score(table, y) > 0.8
    process = GaussianProcessRegressor(RandomWalk(0.02, node="labels").normalize()).fit(X, y)
    assert process.kernel_.theta[0] != np.log(0.02)
    grid = {"kernel__decay": [0.01, 0.05], "kernel__node": [None, "labels"]}
    search = GridSearchCV(SVC(RandomWalk(), C=100), grid, cv=3).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    attributes = RandomWalk(0.05, node=Gaussian("median"))
    both = attributes.replace(edge=Gaussian("median")).resolve(X[:12])
    assert both.edge.lengthscale == 1  # of labels 1 and 2
    found = attributes.resolve(X[:12])
    assert found.unresolved is None
    assert found.node.lengthscale > 0
