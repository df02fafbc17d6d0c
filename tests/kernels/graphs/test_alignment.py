"""The alignment kernel against its definition, and against matrices that are aligned."""

from collections import Counter
from itertools import product
from math import sqrt

import numpy as np
import pytest

from mercer import Graph, WLAlignment
from mercer.testing import check_kernel

from .conftest import colours_of, neighbours, random_graph, relabelled


def densities(graph, level):
    """rho of all (colour, direction, label of edge, colour), and numbers of nodes of colours."""
    count = Counter(level)
    arcs = Counter()
    for u, around in enumerate(neighbours(graph)):
        for direction, label, v in around:
            if u != v and direction != "in":
                arcs[level[u], direction, label, level[v]] += 1
    return {
        (a, d, e, b): n / (count[a] * count[b] - (a == b) * count[a])
        for (a, d, e, b), n in arcs.items()
    }, count


def brute(x, y, h):
    total = 0.0
    for one, other in zip(colours_of(x, h), colours_of(y, h), strict=True):
        (p, m), (q, n) = densities(x, one), densities(y, other)
        for key in p.keys() & q.keys():
            a, b = key[0], key[3]
            total += sqrt(p[key] * q[key]) * min(m[a], n[a]) * min(m[b], n[b])
    return total


@pytest.mark.parametrize("h", [0, 1, 3])
def test_against_the_definition(variant, h):
    wanted = [[brute(x, y, h) for y in variant] for x in variant]
    np.testing.assert_allclose(WLAlignment(h)(variant), wanted, rtol=1e-12, atol=1e-12)
    X, Y = variant[:4], variant[2:]
    np.testing.assert_allclose(WLAlignment(h)(X, Y), np.array(wanted)[:4, 2:], rtol=1e-12)


def test_itself():
    """Where all colours differ, a graph is aligned with itself, and all edges are in common."""
    path = Graph([(0, 1), (1, 2), (2, 3)], labels=list("abcd"))
    assert WLAlignment(0)([path])[0, 0] == pytest.approx(6)
    assert WLAlignment(4)([path])[0, 0] == pytest.approx(5 * 6)


def test_averages_over_alignments(rng):
    """rho is the mean of the adjacency matrix over all ways to arrange nodes of one colour."""
    x = random_graph(rng, 5, p=0.5)
    A = np.zeros((5, 5))
    A[tuple(x.edges.T)] = A[tuple(x.edges.T[::-1])] = 1
    names = x.labels.tolist()
    p, _ = densities(x, names)
    for a, b in product("ab", "ab"):
        rows, cols = ([i for i in range(5) if names[i] == c] for c in (a, b))
        pairs = [(i, j) for i in rows for j in cols if i != j]
        if pairs and (a, "", 0, b) in p:
            assert p[a, "", 0, b] == pytest.approx(np.mean([A[pair] for pair in pairs]))


def test_isomorphic_graphs_are_one(variant, rng):
    other = [relabelled(g, rng) for g in variant]
    np.testing.assert_allclose(WLAlignment(2)(variant, other), WLAlignment(2)(variant), rtol=1e-12)


@pytest.mark.parametrize("kernel", [WLAlignment(2), WLAlignment(0)], ids=repr)
def test_keeps_its_promises(variant, kernel):
    check_kernel(kernel, variant)
    check_kernel(kernel.normalize(), variant)
