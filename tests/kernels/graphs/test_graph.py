"""Graphs as values."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Graph
from mercer.exceptions import DomainError


def test_parts():
    graph = Graph([(0, 1), (1, 2)], labels=["a", "b", "c"], weights=[1, 2], edge_labels=[3, 4])
    assert (graph.n_nodes, graph.n_edges, graph.directed) == (3, 2, False)
    assert repr(graph) == "Graph(3 nodes, 2 edges, labels, edge labels, weights)"
    assert repr(Graph([(0, 1)], attributes=np.ones((2, 3)), directed=True)) == (
        "Graph(2 nodes, 1 edge, 3 attributes, directed)"
    )
    assert repr(Graph([])) == "Graph(0 nodes, 0 edges)"
    assert Graph([(0, 4)]).n_nodes == 5
    assert Graph([], nodes=3).n_nodes == 3


def test_it_does_not_change():
    edges = np.array([[0, 1]])
    graph = Graph(edges)
    edges[:] = 7
    assert graph.edges.tolist() == [[0, 1]]
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0] = 1
    with pytest.raises(AttributeError, match="graphs are immutable"):
        graph.directed = True


def test_equality():
    a, b = (Graph([(0, 1)], labels=["x", "y"]) for _ in range(2))
    assert a == b
    assert hash(a) == hash(b)
    assert a != Graph([(0, 1)], labels=["x", "z"])
    assert a != Graph([(0, 1)])
    assert a != Graph([(0, 1)], labels=["x", "y"], directed=True)
    assert a != "a graph"
    assert a == copy.deepcopy(a) == pickle.loads(pickle.dumps(a))


def test_edges_in_both_directions_are_one():
    graph = Graph([(0, 1), (1, 0), (1, 2), (2, 1), (2, 2)], weights=[5, 5, 6, 6, 7])
    assert graph.edges.tolist() == [[0, 1], [1, 2], [2, 2]]
    assert graph.weights.tolist() == [5, 6, 7]
    assert Graph([(0, 1), (1, 0)], weights=[1, 2]).n_edges == 2  # two edges that differ
    assert Graph([(0, 1), (1, 0), (1, 2)]).n_edges == 3
    assert Graph([(0, 1), (1, 0)], directed=True).n_edges == 2


@pytest.mark.parametrize("sparse", [False, True])
def test_adjacency_matrices(sparse):
    A = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 3]])
    graph = Graph.from_adjacency(sp.csr_array(A) if sparse else A)
    assert graph == Graph([(0, 1), (1, 2), (2, 2)], nodes=3, weights=[2, 1, 3])
    one_way = Graph.from_adjacency(np.triu(A, 1))
    assert one_way == Graph([(0, 1), (1, 2)], nodes=3, weights=[2, 1], directed=True)
    assert Graph.from_adjacency(np.zeros((2, 2))) == Graph([], nodes=2)
    named = np.array([["", "x", ""], ["x", "", "y"], ["", "y", "z"]])
    assert Graph.from_adjacency(A, edge_labels=named).edge_labels.tolist() == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"edges": [(0, 5)], "nodes": 3}, r"refers to the node 5, but nodes are 0, \.\.\., 2"),
        ({"edges": [(0, -1)], "nodes": 3}, "refers to the node -1"),
        ({"edges": [(0, 1)], "nodes": ["a", "b"]}, "names are labels"),
        ({"edges": [], "nodes": -1}, "number of nodes >= 0"),
        ({"edges": [(0, 1, 2)]}, "pairs of whole numbers"),
        ({"edges": [(0.5, 1.0)]}, "pairs of whole numbers"),
        ({"edges": [(0, 1)], "labels": ["a"]}, "refers to the node 1"),
        ({"edges": [(0, 1)], "labels": "ab"}, "list or an array, got a str"),
        ({"edges": [(0, 1)], "labels": ["a", None]}, "label 1 is missing"),
        (
            {"edges": [(0, 1)], "labels": [[1, 2], [3, 4]]},
            "numeric values of a node are attributes",
        ),
        ({"edges": [(0, 1)], "labels": [1, 2], "attributes": [[1.0]]}, "1 attributes, but 2 nodes"),
        ({"edges": [(0, 1)], "attributes": [[1.0], [np.nan]]}, "finite"),
        ({"edges": [(0, 1)], "attributes": [["x"], ["y"]]}, "must be numbers"),
        ({"edges": [(0, 1)], "weights": [1, 2]}, "2 weights, but 1 edges"),
        ({"edges": [(0, 1)], "edge_labels": []}, "0 edge_labels, but 1 edges"),
        ({"edges": [(0, 1)], "weights": [np.inf]}, "finite"),
    ],
)
def test_refuses_nonsense(parts, words):
    with pytest.raises(DomainError, match=words):
        Graph(**parts)


def test_adjacency_that_is_none():
    with pytest.raises(DomainError, match=r"square, got shape \(2, 3\)"):
        Graph.from_adjacency(np.ones((2, 3)))
    with pytest.raises(DomainError, match="hold numbers"):
        Graph.from_adjacency(np.array([["a"]]))
    with pytest.raises(DomainError, match="edge labels have shape"):
        Graph.from_adjacency(np.ones((2, 2)), edge_labels=np.ones((3, 3)))
