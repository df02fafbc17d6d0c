"""One graph in every form that people hold it in."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Graph, WeisfeilerLehman
from mercer.exceptions import DomainError
from mercer.kernels.graphs.reading import as_graph

EDGES = [(0, 1), (1, 2), (0, 3)]
LABELS = ["a", "b", "a", "c"]
A = np.zeros((4, 4), int)
for _u, _v in EDGES:
    A[_u, _v] = A[_v, _u] = 1


def test_forms_without_other_packages():
    wanted = Graph(EDGES, labels=LABELS)
    forms = [
        (A, LABELS),
        (sp.csr_matrix(A), np.array(LABELS)),
        (A, dict(enumerate(LABELS))),
        (EDGES, LABELS),
        (np.array(EDGES), LABELS),
        ([("p", "q"), ("q", "r"), ("p", "s")], dict(zip("pqrs", LABELS, strict=True))),
        (EDGES + [(v, u) for u, v in EDGES], LABELS),
    ]
    K = WeisfeilerLehman()([wanted, *forms])
    np.testing.assert_array_equal(K, K[0, 0])


def test_labels_of_edges():
    wanted = Graph(EDGES, labels=LABELS, edge_labels=["x", "y", "x"])
    names = {(0, 1): "x", (2, 1): "y", (0, 3): "x"}
    table = np.full((4, 4), "", dtype="<U1")
    for (u, v), name in names.items():
        table[u, v] = table[v, u] = name
    forms = [(EDGES, LABELS, ["x", "y", "x"]), (EDGES, LABELS, names), (A, LABELS, names)]
    K = WeisfeilerLehman()([wanted, *forms, (A, LABELS, table), (EDGES, LABELS)])
    np.testing.assert_array_equal(K[:5, :5], K[0, 0])
    assert K[0, 5] < K[0, 0]


def test_without_labels():
    forms = [A, sp.coo_array(A), (A,), (A, None), (EDGES, 4), (EDGES,), Graph(EDGES)]
    K = WeisfeilerLehman()(forms)
    np.testing.assert_array_equal(K, K[0, 0])
    np.testing.assert_array_equal(WeisfeilerLehman()(np.stack([A, A])), K[:2, :2])


def test_two_nodes_or_two_edges():
    square = np.array([[0, 1], [1, 0]])
    assert as_graph(square) == Graph([(0, 1)])
    assert as_graph((square, [1, 2])).n_edges == 1
    assert as_graph((np.array([[0, 1], [1, 2]]), [1, 2, 3])) == Graph(
        [(0, 1), (1, 2)], labels=[1, 2, 3]
    )


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (None, "it is missing"),
        (3.5, "it is a float; give a mercer.Graph, a networkx or igraph graph"),
        ("abc", "it is a str"),
        ((3, [1]), "first entry is a int"),
        (([(0, 1, 2)], [1, 2]), "first entry is not a list of edges, which are pairs of nodes"),
        (((0, 1), (1, 2)), r"edges without labels as the tuple \(edges,\)"),
        (([(0, 7)], [1, 2]), "refers to the node 7"),
        (([("x", "y")], {"x": 1}), "refers to the node 'y', which has no label"),
        ((A, LABELS, {(0, 1): "x"}), r"the edge \(0, 3\) has no label"),
        ((A, LABELS[:2]), "2 .*, but 4 nodes"),
    ],
)
def test_no_graph(sample, words):
    with pytest.raises(DomainError, match=f"WeisfeilerLehman: sample 1 is not a graph: .*{words}"):
        WeisfeilerLehman()([Graph([]), sample])


@pytest.mark.parametrize("X", [Graph(EDGES), (A, LABELS), (EDGES, 4), (EDGES, LABELS, ["x"] * 3)])
def test_one_graph_is_no_list(X):
    with pytest.raises(DomainError, match=r"got a single one; wrap it: \[x\]"):
        WeisfeilerLehman()(X)


def test_no_list_of_graphs():
    with pytest.raises(DomainError, match="no samples"):
        WeisfeilerLehman()([])
    for X in (A, sp.csr_matrix(A)):
        with pytest.raises(DomainError, match=r"wrap one adjacency matrix: \[x\]"):
            WeisfeilerLehman()(X)
    with pytest.raises(DomainError, match="got a str"):
        WeisfeilerLehman()("C1=CC=CC=C1")
    assert WeisfeilerLehman()((Graph([]), Graph(EDGES))).shape == (2, 2)  # a tuple of graphs


def test_networkx():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_nodes_from((f"n{i}", {"label": x, "x": [i, 1.0]}) for i, x in enumerate(LABELS))
    graph.add_edges_from((f"n{u}", f"n{v}", {"label": "e", "weight": 2.0}) for u, v in EDGES)
    found = as_graph(graph)
    assert found.labels.tolist() == LABELS
    assert found.weights.tolist() == [2.0] * 3
    assert found.edge_labels.tolist() == ["e"] * 3
    np.testing.assert_array_equal(found.attributes, [[i, 1.0] for i in range(4)])
    assert as_graph(nx.path_graph(3)) == Graph([(0, 1), (1, 2)])
    assert as_graph(nx.DiGraph([(0, 1), (1, 0)])) == Graph([(0, 1), (1, 0)], directed=True)
    assert as_graph(nx.MultiGraph([(0, 1), (0, 1)])).n_edges == 2
    assert as_graph(nx.Graph()) == Graph([])
    with pytest.raises(DomainError, match="got a single one"):
        WeisfeilerLehman()(graph)
    del graph.nodes["n1"]["label"]
    with pytest.raises(DomainError, match="node 1 has no 'label', while others have one"):
        WeisfeilerLehman()([graph])


def test_igraph():
    igraph = pytest.importorskip("igraph")
    graph = igraph.Graph(4, EDGES, vertex_attrs={"label": LABELS}, edge_attrs={"weight": [1, 1, 3]})
    assert as_graph(graph) == Graph(EDGES, labels=LABELS, weights=[1, 1, 3])
    assert as_graph(igraph.Graph(2, [(0, 1)], directed=True)).directed
