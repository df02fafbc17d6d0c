"""Colours of nodes against nested tuples, and what is counted of them."""

from collections import Counter

import numpy as np
import pytest

from mercer import Graph, WeisfeilerLehman, WLOptimalAssignment
from mercer.kernels.graphs.container import pack
from mercer.kernels.graphs.refinement import colours
from mercer.testing import check_kernel

from .conftest import colours_of, relabelled


def counts(graph, h):
    return Counter((i, c) for i, level in enumerate(colours_of(graph, h)) for c in level)


def brute(X, Y, h, combine):
    left, right = ([counts(g, h) for g in Z] for Z in (X, Y))
    return np.array([[sum(combine(n, y[c]) for c, n in x.items()) for y in right] for x in left])


def test_colours_are_those_of_nested_tuples(variant):
    found = list(colours(pack(variant, "x"), 3))
    start = np.cumsum([0] + [g.n_nodes for g in variant])
    told = [[c for g in variant for c in colours_of(g, 3)[i]] for i in range(4)]
    for codes, names in zip(found, told, strict=True):
        assert len(codes) == start[-1]
        assert len(set(codes.tolist())) == len(set(names))
        assert len(set(zip(codes.tolist(), names, strict=True))) == len(set(names))


@pytest.mark.parametrize("h", [0, 1, 3])
def test_against_counting(variant, h):
    K, same = WeisfeilerLehman(h), brute(variant, variant, h, lambda m, n: m * n)
    np.testing.assert_array_equal(K(variant), same)
    np.testing.assert_array_equal(K(variant[:5], variant[3:]), same[:5, 3:])
    best = brute(variant, variant, h, min)
    np.testing.assert_array_equal(WLOptimalAssignment(h)(variant), best)


def test_the_best_matching(rng):
    """Kriege et al.: the sum of minima is the weight of the best matching of nodes."""
    from scipy.optimize import linear_sum_assignment

    from .conftest import random_graph

    X = [random_graph(rng, n) for n in (5, 7, 6, 4)]
    K = WLOptimalAssignment(3)(X)
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            a, b = (np.array(colours_of(g, 3), dtype=object) for g in (x, y))
            alike = np.array(
                [
                    [sum(a[l][u] == b[l][v] for l in range(4)) for v in range(y.n_nodes)]
                    for u in range(x.n_nodes)
                ]
            )
            rows, cols = linear_sum_assignment(alike, maximize=True)
            assert K[i, j] == alike[rows, cols].sum()


@pytest.mark.parametrize(
    ("h", "sums", "best"),
    [(0, (8, 7, 8), (6, 5, 6)), (1, (16, 11, 14), (12, 8, 12)), (2, (24, 11, 20), (18, 8, 18)),
     (3, (32, 11, 26), (24, 8, 24))],
)  # fmt: skip
def test_published_values(pair, h, sums, best):
    for kernel, (a, b, c) in ((WeisfeilerLehman(h), sums), (WLOptimalAssignment(h), best)):
        np.testing.assert_array_equal(kernel(pair), [[a, b], [b, c]])


def test_number_of_features(pair):
    found = [len(np.unique(WeisfeilerLehman(h).prepare(pair).indices)) for h in range(4)]
    assert found == [5, 13, 24, 35]


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(3), WLOptimalAssignment(3)], ids=repr)
def test_isomorphic_graphs_are_one(variant, rng, kernel):
    other = [relabelled(g, rng) for g in variant]
    np.testing.assert_array_equal(kernel(variant, other), kernel(variant))


def test_what_colours_do_not_see():
    six = Graph([(i, (i + 1) % 6) for i in range(6)])
    two = Graph([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    for kernel in (WeisfeilerLehman(4), WLOptimalAssignment(4)):
        K = kernel([six, two])
        np.testing.assert_array_equal(K, K[0, 0])
        assert kernel.properties.strictly_pd.no


def test_labels_directions_and_names_of_edges_matter():
    k = WeisfeilerLehman(1)
    plain = Graph([(0, 1), (1, 2)])
    for other in (
        Graph([(0, 1), (1, 2)], labels=[0, 0, 0]),
        Graph([(0, 1), (1, 2)], edge_labels=[0, 0]),
        Graph([(0, 1), (1, 2)], directed=True),
    ):
        assert k([plain, other])[0, 1] < k([plain])[0, 0]
    there, back = Graph([(0, 1), (0, 2)], directed=True), Graph([(1, 0), (2, 0)], directed=True)
    np.testing.assert_array_equal(k([there, back])[0, 1], 9)  # 3 * 3 labels, no colours


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(2), WLOptimalAssignment(2)], ids=repr)
def test_keeps_its_promises(variant, kernel):
    check_kernel(kernel, variant)
    check_kernel(kernel.normalize(), variant)


def test_many_graphs_in_pieces(rng):
    """Those that are packed together have the same features as alone."""
    from .conftest import random_graph

    X = [random_graph(rng, 40, p=0.1) for _ in range(300)]
    for kernel in (WeisfeilerLehman(5), WLOptimalAssignment(5)):
        whole, alone = kernel.prepare(X), kernel.prepare([X[217]])
        row = whole[217]
        order, other = np.argsort(row.indices), np.argsort(alone.indices)
        np.testing.assert_array_equal(row.indices[order], alone.indices[other])
        np.testing.assert_array_equal(row.data[order], alone.data[other])
    with pytest.raises(ValueError, match="iterations must be an integer >= 0"):
        WeisfeilerLehman(-1)
