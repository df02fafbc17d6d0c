"""Causal graphs: known graphs from an oracle, equivalence classes by brute force, real tests."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from mercer import CausalGraph, causal_graph
from mercer.stats.causal import partial_correlation


def d_separated(A, i, j, given):
    """By the moral graph of the ancestors (Lauritzen)."""
    keep, todo = set(), [i, j, *given]
    while todo:
        v = todo.pop()
        if v not in keep:
            keep.add(v)
            todo += np.flatnonzero(A[:, v]).tolist()
    M = A | A.T
    for v in keep:
        for a, b in combinations([p for p in np.flatnonzero(A[:, v]) if p in keep], 2):
            M[a, b] = M[b, a] = True
    seen, todo = set(), [i]
    while todo:
        v = todo.pop()
        if v in seen:
            continue
        seen.add(v)
        todo += [w for w in np.flatnonzero(M[v]) if w in keep and w not in given]
    return j not in seen


def random_dag(rng, d, share=0.4):
    order = rng.permutation(d)
    A = np.triu(rng.random((d, d)) < share, 1)
    return A[np.ix_(order, order)]


def oracle_graph(A):
    """The PC algorithm with a test that knows the truth; variables carry their numbers."""
    d = len(A)

    def test(x, y, z):
        given = [] if z is None else np.argmax(z[:d], axis=0).tolist()
        return float(d_separated(A, int(np.argmax(x[:d])), int(np.argmax(y[:d])), given))

    data = np.tile(np.eye(d), (5, 1))  # column i is largest in row i
    return causal_graph(data, test=test, alpha=0.5)


@pytest.mark.parametrize("seed", range(12))
def test_finds_the_equivalence_class_of_any_graph(seed):
    rng = np.random.default_rng(seed)
    A = random_dag(rng, 6)
    found = oracle_graph(A)
    assert found.distance(CausalGraph.of_dag(A, found.names)) == 0


def test_classes_by_brute_force(rng):
    """A direction is known if all graphs of the same skeleton and colliders have it."""

    def colliders(A):
        near = A | A.T
        return {(min(i, j), k, max(i, j)) for k in range(4)
                for i, j in combinations(np.flatnonzero(A[:, k]), 2) if not near[i, j]}  # fmt: skip

    def acyclic(A):
        return any(not np.any(np.tril(A[np.ix_(o, o)])) for o in permutations(range(4)))

    for _ in range(10):
        A = random_dag(rng, 4, 0.6)
        edges = np.argwhere(A)
        members = []
        for flips in product([False, True], repeat=len(edges)):
            B = np.zeros_like(A)
            for (i, j), flip in zip(edges, flips, strict=True):
                B[(j, i) if flip else (i, j)] = True
            if acyclic(B) and colliders(B) == colliders(A):
                members.append(B)
        np.testing.assert_array_equal(CausalGraph.of_dag(A).adjacency, np.any(members, axis=0))


def test_a_collider_that_only_kernels_see(rng):
    x, y, e = rng.normal(size=(3, 200))
    data = np.column_stack([x, y, x**2 + np.abs(y) + 0.2 * e])
    found = causal_graph(data, names=list("xyz"), n_permutations=99, rng=0)
    assert set(found.directed) == {("x", "z"), ("y", "z")}
    assert found.parents("z") == ["x", "y"]
    assert found.separated == {("x", "y"): []}
    assert found.n_tests >= 4
    assert str(causal_graph(data, test="linear")) != str(found)
    found.plot()


def test_tables_with_labels_and_unknown_directions(rng):
    pd = pytest.importorskip("pandas")
    kind = rng.choice(["a", "b", "c"], 200)
    size = (kind == "a") * 2.0 + (kind == "b") + 0.3 * rng.normal(size=200)
    weight = size + 0.3 * rng.normal(size=200)
    found = causal_graph(
        pd.DataFrame({"kind": kind, "size": size, "weight": weight}), n_permutations=99, rng=0
    )
    assert set(found.undirected) == {("kind", "size"), ("size", "weight")}
    truth = CausalGraph.of_dag([[0, 1, 0], [0, 0, 1], [0, 0, 0]], found.names)
    scores = found.scores(truth)
    assert scores.pop("distance") == 0
    assert set(scores.values()) == {1.0}
    wrong = CausalGraph.of_dag([[0, 0, 1], [0, 0, 1], [0, 0, 0]], found.names)
    assert wrong.scores(truth)["skeleton_recall"] == 0.5
    assert wrong.distance(truth) == 3


def test_partial_correlations(rng):
    x, e = rng.normal(size=(2, 400))
    z = x + e
    y = z + rng.normal(size=400)
    x, y, z = (v[:, None] for v in (x, y, z))
    assert partial_correlation(x, y, None) < 1e-6
    assert partial_correlation(x, y, z) > 0.01
    assert partial_correlation(x, np.ones((400, 1)), None) == 1.0


def test_errors(rng):
    X = rng.normal(size=(30, 3))
    with pytest.raises(ValueError, match="alpha"):
        causal_graph(X, alpha=0)
    with pytest.raises(ValueError, match="test must"):
        causal_graph(X, test="kci")
    with pytest.raises(ValueError, match="at least two variables"):
        causal_graph(X[:, :1])
    with pytest.raises(ValueError, match="at least 20"):
        causal_graph(X[:5])
    with pytest.raises(ValueError, match="3 names"):
        causal_graph(X, names=["a"])
    with pytest.raises(ValueError, match="distinct"):
        causal_graph(X, names=["a", "a", "b"])
    with pytest.raises(ValueError, match="most"):
        causal_graph(X, most=-1)
    with pytest.raises(ValueError, match="cycle"):
        CausalGraph.of_dag([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="no variable"):
        causal_graph(X, test="linear").parents("q")
    assert causal_graph(X, test="linear", most=0).n_tests == 3


def test_missing_labels_are_no_labels(rng):
    pd = pytest.importorskip("pandas")
    labels = np.array(["a", "b"], dtype=object)[rng.integers(0, 2, 50)]
    labels[3] = None
    frame = pd.DataFrame({"x": rng.normal(size=50), "label": labels})
    with pytest.raises(ValueError, match="'label' has missing"):
        causal_graph(frame)
