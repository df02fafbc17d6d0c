"""Weights of nodes and fragments, against the decisions of the models they come from."""

from collections import Counter

import numpy as np
import pytest

from mercer import (
    SVC,
    SVR,
    ElasticTree,
    Gaussian,
    KernelLogisticRegression,
    KernelRidge,
    PartialTree,
    SubsetTree,
    Subtree,
    Words,
    fragment_weights,
    node_weights,
)

KERNELS = [
    Subtree(0.7),
    Subtree().normalize(),
    SubsetTree(0.5),
    SubsetTree(0.5).normalize(),
    PartialTree(0.6, 0.5).normalize(),
    ElasticTree(0.3),
    ElasticTree(0.3, elastic=False).normalize(),
    2 * SubsetTree(0.4).normalize() + PartialTree() * 0.5,
]
NEW = ["(a (b c) (b c))", "(a (b x) (unseen (c a)))", "(unseen thing)", "a", ("c", ("a", "b"), "b")]


def random_tree(rng, depth=3):
    count = int(rng.integers(0, 4)) if depth else 0
    children = [random_tree(rng, depth - 1) for _ in range(count)]
    label = str(rng.choice(list("abc")))
    return (label, *children) if children else label


@pytest.fixture
def data(rng):
    X = [("a", random_tree(rng), random_tree(rng, 2)) for _ in range(30)]
    return X, np.array([repr(x).count("'b'") - 0.5 * repr(x).count("'c'") for x in X])


def below(tree):
    """The tree and everything below it, as a list of nodes, in the order in which they are read."""
    children = tree[1:] if isinstance(tree, tuple) else ()
    return [tree, *(node for child in children for node in below(child))]


def label(node):
    return node[0] if isinstance(node, tuple) else node


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nodes_add_up_to_the_decision(kernel, data):
    X, y = data
    labels = (y > np.median(y)).astype(int)
    for model in (
        SVC(C=5, kernel=kernel).fit(X, labels),
        SVR(kernel=kernel).fit(X, y),
        KernelRidge(0.1, kernel=kernel).fit(X, y),
        KernelLogisticRegression(0.1, kernel=kernel).fit(X, labels),
    ):
        decide = getattr(model, "decision_function", model.predict)
        for x in [*NEW, X[3]]:
            weights = node_weights(model, x)
            wanted = decide([x])[0] - np.ravel(getattr(model, "intercept_", 0.0))[0]
            assert sum(node.weight for node in weights) == pytest.approx(wanted, abs=1e-9)


def test_nodes_come_in_the_order_of_reading(data):
    X, y = data
    model = KernelRidge(0.1, kernel=PartialTree()).fit(X, y)
    for x in X[:5]:
        nodes, wanted = node_weights(model, x), below(x)
        assert [node.label for node in nodes] == [label(node) for node in wanted]
        assert nodes[0].parent is None
        for node, tree in zip(nodes[1:], wanted[1:], strict=True):
            assert any(tree is child for child in wanted[node.parent][1:])


@pytest.mark.parametrize("kernel", [SubsetTree(0.5), PartialTree(0.6, 0.5), ElasticTree(0.3)])
def test_a_node_has_the_fragments_of_which_it_is_the_root(kernel, data):
    """f(x) minus f of all that is below the root is what the root adds."""
    X, y = data
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    for x in X[:5]:
        nodes = node_weights(model, x)
        rest = sum(model.predict([child])[0] for child in x[1:])
        assert nodes[0].weight == pytest.approx(model.predict([x])[0] - rest, abs=1e-9)


# ---- fragments ---------------------------------------------------------------------------
def cuts(v):
    """Fragments of whole productions with root v: (text, productions), all of them."""
    if not isinstance(v, tuple):
        return []
    texts = [(v[0], 1)]
    for child in v[1:]:
        choices = [(label(child), 0), *cuts(child)]
        texts = [(f"{text} {more}", k + l) for text, k in texts for more, l in choices]
    return [(f"({text})", k) for text, k in texts]


def complete(v):
    if not isinstance(v, tuple):
        return []
    texts = [complete(child)[0] if isinstance(child, tuple) else (child, 0) for child in v[1:]]
    return [(f"({' '.join([v[0], *(t for t, _ in texts)])})", 1 + sum(k for _, k in texts))]


@pytest.mark.parametrize("size", [1, 2, 4, 100])
@pytest.mark.parametrize(("kernel", "rooted"), [(SubsetTree(0.5), cuts), (Subtree(0.7), complete)])
def test_fragments_against_enumeration(kernel, rooted, size, data):
    X, y = zip(*((x, t) for x, t in zip(*data, strict=True) if len(below(x)) < 14), strict=True)
    X = list(X)
    assert len(X) > 5
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    wanted = Counter()
    for x, c in zip(X, model.dual_coef_, strict=True):
        for text, productions in (f for v in below(x) for f in rooted(v)):
            if productions <= size:
                wanted[text] += c * kernel.decay**productions
    found = dict(fragment_weights(model, None, size=size))
    assert found.keys() == wanted.keys()
    for text, weight in found.items():
        assert weight == pytest.approx(wanted[text], abs=1e-10)
    few = fragment_weights(model, 4, size=size)
    assert [abs(w) for _, w in few] == sorted(map(abs, found.values()), reverse=True)[: len(few)]
    if size == 100:  # all fragments: those of x add up to f(x)
        total = sum(found[text] for v in below(X[0]) for text, _ in rooted(v))
        assert total == pytest.approx(model.predict(X[:1])[0], abs=1e-9)


def test_fragments_of_a_normalised_kernel(data):
    X, y = data
    model = SVC(C=5, kernel=3 * SubsetTree(0.5).normalize()).fit(X, y > 0)
    x = ("a", ("b", "c"), "b")
    weights = dict(fragment_weights(model, None, size=2))
    f = sum(weights.get(text, 0.0) for v in below(x) for text, _ in cuts(v))
    norm = np.sqrt(SubsetTree(0.5)([x])[0, 0])
    assert f / norm + model.intercept_[0] == pytest.approx(model.decision_function([x])[0])


def test_several_classes_have_a_function_for_each_pair(data):
    X, y = data
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    kernel = SubsetTree().normalize()
    model = SVC(C=5, kernel=kernel, decision_function_shape="ovo").fit(X, classes)
    scores = model.decision_function(X[:1])[0]
    for pair in range(3):
        nodes = node_weights(model, X[0], output=pair)
        total = sum(node.weight for node in nodes) + model.intercept_[pair]
        assert total == pytest.approx(scores[pair], abs=1e-9)
    assert fragment_weights(model, 1, output=0) != fragment_weights(model, 1, output=1)


# ---- tables ------------------------------------------------------------------------------
def test_columns_and_other_kernels(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    table = pd.DataFrame({"one": X, "other": X[::-1], "text": [" ".join(map(str, x)) for x in X]})
    first, second = PartialTree().normalize().on("one"), SubsetTree().on("other")
    both = KernelRidge(0.1, kernel=first + second + 0.5 * Words().on("text") + 2).fit(table, y)
    row = table.iloc[[4]]
    parts = [sum(w for _, w, _ in node_weights(both, row, column=c)) for c in ("one", "other")]
    rest = (0.5 * Words()([table["text"][4]], list(table["text"])) + 2)[0] @ both.dual_coef_
    assert sum(parts) + rest == pytest.approx(both.predict(row)[0], abs=1e-9)
    assert fragment_weights(both, 1, column="other")[0].text.startswith("(")
    with pytest.raises(ValueError, match=r"several columns \('one', 'other'\)"):
        node_weights(both, row)
    with pytest.raises(ValueError, match="uses the column 'text'; they use 'one', 'other'"):
        node_weights(both, row, column="text")
    with pytest.raises(ValueError, match="one row of a table, got 2"):
        node_weights(both, table.iloc[:2], column="one")
    pairs = [(x, float(t)) for x, t in zip(X, y, strict=True)]
    model = KernelRidge(0.1, kernel=SubsetTree().on(0) + Gaussian(1.0).on(1)).fit(pairs, y)
    assert [node.label for node in node_weights(model, pairs[0])] == list(map(label, below(X[0])))


def test_refusals(data):
    X, y = data
    with pytest.raises(TypeError, match="not made of kernels on trees"):
        node_weights(KernelRidge(0.1, kernel=SubsetTree() * PartialTree()).fit(X, y), X[0])
    with pytest.raises(TypeError, match="not made of kernels on trees"):
        node_weights(KernelRidge(kernel=Gaussian()).fit([[0.0], [1.0]], [0.0, 1.0]), "a")
    partial = KernelRidge(0.1, kernel=PartialTree()).fit(X, y)
    with pytest.raises(TypeError, match="PartialTree are too many to list"):
        fragment_weights(partial)
    with pytest.raises(ValueError, match="size must be an integer >= 1"):
        fragment_weights(partial, size=0)
    with pytest.raises(TypeError, match="fitted kernel model"):
        node_weights("model", "a")


def test_nodes_of_trees_whose_values_are_no_numbers():
    """k(x, x) of a chain of 900 nodes is beyond 1e308; what its nodes add is not."""

    def chain(n):
        tree = ("a",)
        for _ in range(n):
            tree = ("a", tree)
        return tree

    model = KernelRidge(0.1, kernel=ElasticTree().normalize())
    model.fit([chain(n) for n in (900, 880, 5, 40)], [1.0, 2.0, 3.0, 4.0])
    weights = [node.weight for node in node_weights(model, chain(890))]
    assert np.isfinite(weights).all()
    assert sum(weights) == pytest.approx(model.predict([chain(890)])[0], rel=1e-9)
