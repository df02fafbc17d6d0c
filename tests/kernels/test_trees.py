"""Tree kernels against the enumeration of all their features."""

from collections import Counter
from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from mercer import SVC, ElasticTree, Gaussian, PartialTree, SubsetTree, Subtree, parse
from mercer.exceptions import DomainError
from mercer.kernels.forest import forest
from mercer.testing import check_kernel

CAT = "(VP (V brought) (NP (D a) (N cat)))"
DOG = "(VP (V brought) (NP (D a) (N dog)))"
KERNELS = [
    Subtree(decay=0.7),
    SubsetTree(decay=0.4),
    PartialTree(decay=0.6, span=0.5),
    ElasticTree(decay=0.5, elastic=False),
    ElasticTree(decay=0.5),
]


# ---- features, listed --------------------------------------------------------------------
def below(tree):
    """The tree and everything below it, as a list of nodes."""
    return [tree] + [node for child in tree[1:] for node in below(child)]


def productions(v, decay):
    """Fragments of whole productions with root v: (pattern, weight)."""
    if len(v) == 1:
        return []
    choices = [[((c[0],), 1.0), *productions(c, decay)] for c in v[1:]]
    return [
        ((v[0], *[p for p, _ in chosen]), sqrt(decay) * np.prod([w for _, w in chosen]))
        for chosen in product(*choices)
    ]


def whole(v, decay):
    inner = sum(len(node) > 1 for node in below(v))
    return [(v, sqrt(decay) ** inner)] if inner else []


def fragments(v, weight, span, reach):
    """Fragments with root v; ``reach(c)`` lists the nodes that may stand for the child c."""
    found = [((v[0],), weight * span)]
    children = v[1:]
    for size in range(1, len(children) + 1):
        for I in combinations(range(len(children)), size):
            choices = [
                [f for node in reach(children[i]) for f in fragments(node, weight, span, reach)]
                for i in I
            ]
            factor = weight * span ** (I[-1] - I[0] + 1)
            found += [
                ((v[0], *[p for p, _ in chosen]), factor * np.prod([w for _, w in chosen]))
                for chosen in product(*choices)
            ]
    return found


def features(kernel, tree):
    listed = {
        Subtree: lambda v: whole(v, kernel.decay),
        SubsetTree: lambda v: productions(v, kernel.decay),
        PartialTree: lambda v: fragments(v, sqrt(kernel.decay), kernel.span, lambda c: [c]),
        ElasticTree: lambda v: fragments(
            v, sqrt(kernel.decay), 1.0, below if kernel.elastic else lambda c: [c]
        ),
    }[type(kernel)]
    total = Counter()
    for node in below(tree):
        for pattern, weight in listed(node):
            total[pattern] += weight
    return total


def brute(kernel, X, Y):
    left, right = ([features(kernel, x) for x in data] for data in (X, Y))
    return np.array([[sum(w * b[t] for t, w in a.items()) for b in right] for a in left])


def random_tree(rng, depth=3):
    count = int(rng.integers(0, 4)) if depth else 0
    return (str(rng.choice(list("abc"))), *[random_tree(rng, depth - 1) for _ in range(count)])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_against_enumeration(rng, kernel):
    X = [random_tree(rng) for _ in range(12)]
    X = [x for x in X if len(below(x)) < 14][:8]
    np.testing.assert_allclose(kernel(X), brute(kernel, X, X), rtol=1e-12)
    np.testing.assert_allclose(kernel(X[:3], X[2:]), brute(kernel, X[:3], X[2:]), rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_keeps_its_promises(rng, kernel):
    X = list(dict.fromkeys(random_tree(rng) for _ in range(40)))[:25]
    check_kernel(kernel, X)
    check_kernel(kernel.normalize() if kernel.properties.positive_diag else kernel, X)
    assert parse(repr(kernel)) == kernel


# ---- known values ------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("kernel", "same", "other"),
    [
        (SubsetTree(1.0), 17, 10),
        (SubsetTree(0.4), 2.98304, 2.2336),
        (Subtree(1.0), 5, 2),
        (PartialTree(1.0, 1.0), 48, 34),
        (PartialTree(0.4, 0.4), 0.54211754, 0.47373939),
    ],
)
def test_published_values(kernel, same, other):
    K = kernel([CAT, DOG])
    np.testing.assert_allclose(K, [[same, other], [other, same]], rtol=1e-7)


def test_repeated_leaves():
    X = ["(S (NN dog)(VBP eat)(NN dog))", "(S (NN dog)(VBP eat)(NN fish))"]
    np.testing.assert_allclose(SubsetTree(1.0)(X), [[13, 7], [7, 11]])
    np.testing.assert_allclose(Subtree(1.0)(X), [[6, 3], [3, 4]])


# ---- forms -------------------------------------------------------------------------------
class Digraph:
    """As much of a directed graph of networkx as is looked at."""

    def __init__(self, edges, labels):
        self.nodes = {v: {"label": label} for v, label in labels.items()}
        self.edges = edges

    def in_degree(self):
        return [(v, sum(v == b for _, b in self.edges)) for v in self.nodes]

    def successors(self, v):
        return [b for a, b in self.edges if a == v]


class Labelled(list):
    """As nltk has it."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


def test_all_forms_are_the_same_tree():
    from xml.etree import ElementTree

    forms = [
        "(a (b c) d)",
        " ( a(b c)d ) ",
        ("a", ("b", "c"), "d"),
        ("a", ("b", ("c",)), ("d",)),
        ElementTree.fromstring("<a x='1'>text<b><c/></b><d/></a>"),
        Labelled("a", [Labelled("b", ["c"]), "d"]),
        Digraph([(0, 1), (1, 2), (0, 3)], {0: "a", 1: "b", 2: "c", 3: "d"}),
    ]
    K = PartialTree()(forms)
    np.testing.assert_allclose(K, K[0, 0])


def test_shared_nodes_of_a_graph_are_repeated():
    diamond = Digraph([(0, 1), (0, 2), (1, 3), (2, 3)], {0: "a", 1: "b", 2: "c", 3: "d"})
    K = PartialTree()([diamond, "(a (b d) (c d))"])
    np.testing.assert_allclose(K, K[0, 0])


def test_unlabelled_root_and_single_nodes():
    np.testing.assert_allclose(SubsetTree(1.0)(["( (S (A a)))", "((S (A a)))"]), 6)
    K = PartialTree(1.0, 1.0)(["cat", "cat", "dog"])
    np.testing.assert_allclose(K, [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    assert not SubsetTree()(["cat", "dog"]).any()


def test_deep_trees_need_no_recursion():
    deep = "(a " * 5000 + "b" + ")" * 5000
    assert len(forest([deep], "x").nodes.label) == 5001
    assert Subtree(1.0)([deep])[0, 0] == 5000


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ("(a (b)", "never closed"),
        ("(a) b)", "never opened|outside"),
        ("(a) (b)", "not one root"),
        ("(a) b", "outside the brackets"),
        ("", "not one root"),
        (3.5, "it is a float"),
        ((), "empty"),
        (("a", ["b"]), "list"),
        (Digraph([(0, 1), (1, 0)], {0: "a", 1: "b"}), "0 nodes without predecessors"),
        (Digraph([(0, 1), (1, 2), (2, 1)], {0: "a", 1: "b", 2: "c"}), "never ends"),
    ],
)
def test_no_tree(sample, words):
    with pytest.raises(DomainError, match=f"sample 1 is no tree: .*({words})"):
        SubsetTree()([CAT, sample])


def test_no_list_of_trees():
    with pytest.raises(DomainError, match=r"wrap it: \[x\]"):
        SubsetTree()(CAT)
    with pytest.raises(DomainError, match="no samples"):
        SubsetTree()([])
    with pytest.raises(ValueError, match=r"decay must be a number in \(0, 1\]"):
        SubsetTree(decay=1.5)


# ---- in use ------------------------------------------------------------------------------
def test_in_a_support_vector_machine(rng):
    """Trees with a certain production, on plain lists, with the decay chosen by a grid."""
    X = [random_tree(rng) for _ in range(80)]
    y = np.array([any(node[0] == "a" and len(node) > 2 for node in below(x)) for x in X])
    search = GridSearchCV(
        SVC(PartialTree().normalize(), C=100), {"kernel__kernel__decay": [0.2, 0.8]}, cv=3
    ).fit(X, y)
    assert search.score(X, y) > 0.9
    assert search.best_params_["kernel__kernel__decay"] in (0.2, 0.8)


def test_beside_numbers():
    rows = [(CAT, 1.0), (DOG, 2.0), (CAT, 2.0)]
    K = (SubsetTree().on(0) * Gaussian().on(1))(rows)
    expected = SubsetTree()([r[0] for r in rows]) * Gaussian()(np.array([[1.0], [2.0], [2.0]]))
    np.testing.assert_allclose(K, expected)


def test_few_features_are_used_for_complete_subtrees():
    many = [CAT, DOG] * 30
    gram = Subtree().gram(many)
    assert type(gram).__name__ == "LowRankGram"
    np.testing.assert_allclose(gram.to_dense(), Subtree()(many))
