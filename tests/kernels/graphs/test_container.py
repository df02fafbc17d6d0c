"""Flat arrays of many graphs, against the graphs."""

import numpy as np
import pytest

from mercer import Categorical, Graph, WeisfeilerLehman, load, save
from mercer.exceptions import DomainError
from mercer.kernels.graphs.container import pack
from mercer.testing import check_kind

from .conftest import VARIANTS, adjacency, random_graph


def test_adjacency(variant):
    X = pack(variant, "x")
    for rows in (slice(None), slice(3, 9), [5, 2, 15, 2], np.arange(18)[::-1]):
        part = X[rows]
        chosen = [variant[i] for i in np.arange(len(variant))[rows]]
        for stacked in (part, part.stacked()):
            assert len(stacked) == len(chosen)
            for i, graph in enumerate(chosen):
                np.testing.assert_array_equal(stacked.adjacency(i).toarray(), adjacency(graph))
        np.testing.assert_array_equal(part.arcs, [(adjacency(g) != 0).sum() for g in chosen])
        codes = part.stacked().flat.labels
        assert len(codes) == sum(g.n_nodes for g in chosen)


def test_pieces_hold_all():
    rng = np.random.default_rng(1)
    found = [random_graph(rng, 5) for _ in range(20)]
    pieces = pack(found, "x").pieces(np.full(20, 3.0), 10.0)
    assert [len(piece) for piece in pieces] == [4, 3, 3, 4, 3, 3]
    together = np.concatenate([piece.flat.labels for piece in pieces])
    np.testing.assert_array_equal(together, pack(found, "x").flat.labels)


def test_parallel_edges_are_added_up_unless_labels_differ():
    once = pack([Graph([(0, 1), (0, 1), (1, 1)], weights=[1, 2, 5])], "x")
    assert once.flat.indices.tolist() == [1, 0, 1]
    assert once.flat.weights.tolist() == [3, 3, 5]
    apart = pack([Graph([(0, 1), (0, 1), (0, 1)], edge_labels=["x", "y", "x"])], "x")
    assert sorted(apart.flat.weights.tolist()) == [1, 1, 2, 2]
    assert apart.adjacency(0).toarray().tolist() == [[0, 3], [3, 0]]
    lengths = Graph([(0, 1), (1, 0)], edge_labels=["x", "y"], weights=[4, 3])
    assert pack([lengths], "x").shortest(0).toarray().tolist() == [[0, 3], [3, 0]]


def test_codes_depend_on_labels_only():
    labels = [3, "3", 3.0, "x", (1, "x"), True, 2**60, -1]
    codes = pack([Graph([], nodes=8, labels=labels)], "x").flat.labels
    assert codes[0] == codes[2]
    assert len(set(codes.tolist())) == 7
    for label, code in zip(labels, codes.tolist(), strict=True):
        other = pack([Graph([]), Graph([], labels=[label, "y"]), Graph([], labels=[7])], "x")
        assert other.flat.labels[0] == code
    np.testing.assert_array_equal(codes[[0, 1, 3]], Categorical().prepare([3, "3", "x"]))
    assert pack([Graph([], nodes=1)], "x").flat.labels.tolist() == [0]


def test_attributes():
    one, two = Graph([], attributes=np.ones((2, 3))), Graph([], attributes=np.zeros((1, 3)))
    assert pack([one, Graph([]), two], "x").flat.attributes.shape == (3, 3)
    for other in (Graph([], nodes=1), Graph([], attributes=np.ones((1, 2)))):
        mixed = pack([one, other], "K")  # of use to kernels that do not look at them
        assert mixed.flat.attributes is None
        assert np.array_equal(WeisfeilerLehman()([one, other])[0, :1], WeisfeilerLehman()([one])[0])
    with pytest.raises(DomainError, match="K: labels must be hashable"):
        pack([Graph([], labels=[{1}, {2}])], "K")


def test_the_kind(rng):
    X = [random_graph(rng, 4 + i % 4, **VARIANTS["all"]) for i in range(20)]
    check_kind("graphs", X, WeisfeilerLehman(2))


def test_graphs_of_other_packages_go_to_files(tmp_path):
    nx, igraph = pytest.importorskip("networkx"), pytest.importorskip("igraph")
    first = nx.MultiDiGraph([("a", "b"), ("a", "b")])
    second = igraph.Graph(2, [(0, 1)], vertex_attrs={"label": ["x", "y"]})
    save([first, second], tmp_path / "graphs")
    one, other = load(tmp_path / "graphs")
    assert nx.utils.graphs_equal(one, first)
    assert (other.get_edgelist(), other.vs["label"]) == ([(0, 1)], ["x", "y"])
