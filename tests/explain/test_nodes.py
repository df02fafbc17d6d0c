"""Weights of the nodes of graphs, against the decisions of the models they come from."""

import numpy as np
import pytest

from mercer import (
    SVC,
    Gaussian,
    Graph,
    Graphlet,
    KernelRidge,
    ShortestPath,
    SubsetTree,
    WeisfeilerLehman,
    WLOptimalAssignment,
    node_weights,
)
from mercer.explain.trees import NodeWeight

KERNELS = [
    WeisfeilerLehman(2),
    WeisfeilerLehman(2).normalize(),
    WLOptimalAssignment(2),
    WLOptimalAssignment(2).normalize(),
    ShortestPath(),
    ShortestPath(weighted=True).normalize(),
    2 * WeisfeilerLehman(1).normalize() + ShortestPath(labels=False) * 0.5,
]


def random_graph(rng, directed=False):
    n = int(rng.integers(3, 9))
    edges = [(u, v) for u in range(n) for v in range(n) if u < v and rng.random() < 0.4]
    labels = list(rng.choice(list("CNO"), n))
    weights = rng.choice([1.0, 2.0], len(edges))
    return Graph(edges, labels=labels, weights=weights, directed=directed)


@pytest.fixture
def data(rng):
    X = [random_graph(rng, i % 5 == 0) for i in range(30)]
    return X, np.array([sum(x.labels == "N") - x.n_edges / 4 for x in X])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nodes_add_up_to_the_decision(kernel, data, rng):
    X, y = data
    new = [*X[:3], random_graph(rng), Graph([(0, 1)], labels=["never", "seen"]), Graph([], nodes=1)]
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    machine = SVC(kernel=kernel).fit(X, y > np.median(y))
    for x in new:
        nodes = node_weights(model, x)
        labels = [None] * x.n_nodes if x.labels is None else x.labels.tolist()
        assert [node.label for node in nodes] == labels
        total = sum(node.weight for node in nodes)
        assert total == pytest.approx(model.predict([x])[0], abs=1e-9)
        total = sum(node.weight for node in node_weights(machine, x))
        assert total + machine.intercept_[0] == pytest.approx(
            machine.decision_function([x])[0], abs=1e-9
        )


def test_nodes_that_look_alike_weigh_the_same(data):
    X, y = data
    star = Graph([(0, 1), (0, 2), (0, 3)], labels=["N", "C", "C", "C"])
    for kernel in KERNELS:
        nodes = node_weights(KernelRidge(0.1, kernel=kernel).fit([*X, star], [*y, 1.0]), star)
        assert nodes[1].weight == pytest.approx(nodes[2].weight)
        assert nodes[0].weight != pytest.approx(nodes[1].weight)


def test_the_node_that_matters():
    """Graphs with an N at the end of a chain, or not: it is the N that decides."""
    X = [Graph([(0, 1), (1, 2)], labels=["C", "C", end]) for end in "NC" * 4]
    model = SVC(kernel=WeisfeilerLehman(0), C=10).fit(X, [1, 0] * 4)
    weights = [node.weight for node in node_weights(model, X[0])]
    assert weights[2] > 0 > weights[0] == weights[1]


def test_in_a_table(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame({"graph": X, "size": [float(x.n_nodes) for x in X]})
    kernel = WeisfeilerLehman(1).on("graph") + Gaussian().on("size")
    model = KernelRidge(0.1, kernel=kernel).fit(table, y)
    row = table.iloc[[3]]
    alone = WeisfeilerLehman(1)(X[3:4], X)[0] @ model.dual_coef_
    assert sum(node.weight for node in node_weights(model, row)) == pytest.approx(alone)


def test_other_kernels_are_refused(data):
    X, y = data
    model = KernelRidge(0.1, kernel=Graphlet(3)).fit(X, y)
    with pytest.raises(TypeError, match="WLOptimalAssignment, ShortestPath"):
        node_weights(model, X[0])
    tree = KernelRidge(0.1, kernel=SubsetTree()).fit(["(a b)", "(a c)"], [0.0, 1.0])
    assert isinstance(node_weights(tree, "(a b)")[0], NodeWeight)
