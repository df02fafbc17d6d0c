"""Nested graph kernels: traces by their definition, and kernels of traces."""

import numpy as np
import pytest

from mercer import SVC, GlobalAlignment, Graph, NestedGraph, load, parse, save
from mercer.exceptions import DomainError
from mercer.kernels.graphs import nested
from mercer.kernels.graphs.container import graphs
from mercer.kernels.graphs.nested import complexity_traces
from mercer.testing import check_kernel

from .conftest import adjacency, random_graph, relabelled


def traces(X):
    return complexity_traces(graphs(X, "test"))


def lengths(A):
    D = np.where(A > 0, 1.0, np.inf)
    np.fill_diagonal(D, 0)
    for k in range(len(D)):
        D = np.minimum(D, D[:, k : k + 1] + D[k : k + 1])
    return D


def entropy(A):
    d = A.sum(axis=1)
    P = d[d > 0] / d.sum() if d.sum() else np.ones(1)
    return -np.sum(P * np.log(P))


def by_definition(g):
    A = adjacency(g)
    if not len(A):
        return [0.0]
    D = lengths(A)
    reach = np.isfinite(D).sum(axis=1)
    spread = [np.var(np.delete(row, v)[np.isfinite(np.delete(row, v))]) if r > 1 else 0.0
              for v, (row, r) in enumerate(zip(D, reach, strict=True))]  # fmt: skip
    most = reach == reach.max()
    least = np.min(np.array(spread)[most])
    found = []
    for v in np.flatnonzero(most & (np.array(spread) < least + 1e-12)):
        ends = D[v][np.isfinite(D[v])].max()
        balls = [np.flatnonzero(D[v] <= l) for l in range(1, max(1, int(ends)) + 1)]
        found.append([round(entropy(A[np.ix_(b, b)]), 9) for b in balls])
    return max(found, key=lambda t: (len(t), t))


def test_traces_by_definition(rng):
    X = [random_graph(rng, int(n), p=0.25, weights=bool(n % 2)) for n in rng.integers(0, 14, 40)]
    X += [Graph([(0, 0), (0, 1), (1, 2)]), Graph([(0, 1), (2, 3), (3, 4), (4, 2)], nodes=6)]
    for g, got in zip(X, traces(X), strict=True):
        np.testing.assert_allclose(got, by_definition(g), atol=2e-9)


def test_traces_by_hand():
    star = Graph([(0, i) for i in range(1, 9)])
    path = Graph([(i, i + 1) for i in range(4)])
    circle = Graph([(i, (i + 1) % 7) for i in range(7)])
    got = traces([star, path, circle, Graph([], nodes=3), Graph([])])
    np.testing.assert_allclose(got[0], [np.log(2) / 2 + np.log(16) / 2])
    three = -(np.log(1 / 4) / 2 + np.log(1 / 2) / 2)
    five = -(3 * np.log(1 / 4) / 4 + np.log(1 / 8) / 4)
    np.testing.assert_allclose(got[1], [three, five])
    layers = [three, five, np.log(7)]
    np.testing.assert_allclose(got[2], layers)
    assert got[3].tolist() == got[4].tolist() == [0.0]


def test_kernels_of_traces(rng):
    X = [random_graph(rng, int(n)) for n in rng.integers(1, 12, 8)]
    T = traces(X)
    np.testing.assert_allclose(
        NestedGraph(lengthscale=0.4)(X), GlobalAlignment(0.4)([t.tolist() for t in T]), rtol=1e-12
    )
    longest = 6
    padded = np.array([[*t, *[t[-1]] * longest][:longest] for t in T])
    wanted = np.exp(-np.abs(padded[:, None] - padded[None]) / 0.7).sum(axis=2) / 2
    kernel = NestedGraph("reproducing", 0.7, longest)
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-13)


@pytest.mark.parametrize("kernel", [NestedGraph(), NestedGraph("reproducing", 0.5)], ids=repr)
def test_contract(rng, kernel):
    X = [random_graph(rng, int(n), p=0.25) for n in rng.integers(0, 14, 14)]
    check_kernel(kernel, X)
    np.testing.assert_allclose(kernel([relabelled(g, rng) for g in X]), kernel(X), rtol=1e-9)
    assert parse(repr(kernel)) == kernel
    assert "trac" in kernel.explain() or "entrop" in kernel.explain()


def test_calls_that_are_cut_short(rng, monkeypatch):
    X = [random_graph(rng, 9) for _ in range(5)]
    whole = traces(X)
    monkeypatch.setattr(nested, "_OPERATIONS", 0)
    for one, other in zip(traces(X), whole, strict=True):
        np.testing.assert_array_equal(one, other)


def test_use_and_refusals(rng, tmp_path):
    X = [random_graph(rng, 10, p=p) for p in [0.15] * 10 + [0.7] * 10]
    y = np.repeat([0, 1], 10)
    model = SVC(NestedGraph(lengthscale=0.3), C=100).fit(X, y)
    assert model.score(X, y) > 0.9
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    with pytest.raises(DomainError, match="graph 1 is directed"):
        NestedGraph()([X[0], Graph([(0, 1)], directed=True)])
    with pytest.raises(ValueError, match="layers must be an integer >= 1"):
        NestedGraph(layers=0)
