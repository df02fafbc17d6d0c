"""Tree kernels against the enumeration of all their features."""

from collections import Counter
from fractions import Fraction
from itertools import combinations, product
from math import comb, sqrt

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    ElasticTree,
    Gaussian,
    GaussianProcessRegressor,
    KernelRidge,
    PartialTree,
    SubsetTree,
    Subtree,
    load,
    parse,
    save,
    tune,
    two_sample_test,
)
from mercer.exceptions import DomainError, MemoryPlanError
from mercer.kernels.trees.forest import forest
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
SIMILAR = {
    "labels": ["a", "d", "c"],
    "similarity": [[1.0, 0.2, 0.6], [0.2, 3.0, 0.0], [0.6, 0.0, 2.0]],
}
CHANGED = [
    ElasticTree(decay=0.5, mutation=0.3),
    ElasticTree(decay=0.4, elastic=False, mutation=1.0),
    ElasticTree(decay=0.5, **SIMILAR),
    ElasticTree(decay=0.5, elastic=False, mutation=0.1, **SIMILAR),
]
KERNELS += CHANGED


# ---- features, listed --------------------------------------------------------------------
def below(tree):
    """The tree and everything below it, as a list of nodes."""
    return [tree] + [node for child in tree[1:] for node in below(child)]


def children_first(tree):
    return [node for child in tree[1:] for node in children_first(child)] + [tree]


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


def rooted(kernel, v):
    """The fragments with root v: (pattern, weight)."""
    if isinstance(kernel, Subtree):
        return whole(v, kernel.decay)
    if isinstance(kernel, SubsetTree):
        return productions(v, kernel.decay)
    if isinstance(kernel, PartialTree):
        return fragments(v, sqrt(kernel.decay), kernel.span, lambda c: [c])
    return fragments(v, sqrt(kernel.decay), 1.0, below if kernel.elastic else lambda c: [c])


def features(kernel, tree):
    total = Counter()
    for pattern, weight in (found for node in below(tree) for found in rooted(kernel, node)):
        total[pattern] += weight
    return total


def alike(kernel, a, b):
    """How much two fragments are alike: the product over their nodes, if they have one shape."""
    if not getattr(kernel, "mutation", 0) and getattr(kernel, "labels", None) is None:
        return float(a == b)
    if len(a) != len(b):
        return 0.0
    own = float(a[0] == b[0])
    if kernel.labels is not None and {a[0], b[0]} <= set(kernel.labels):
        own = kernel.similarity[kernel.labels.index(a[0])][kernel.labels.index(b[0])]
    own = (1 - kernel.mutation) * own + kernel.mutation
    below = zip(a[1:], b[1:], strict=True)
    return own and own * np.prod([alike(kernel, c, d) for c, d in below])


def shared(kernel, a, b):
    """The sum over pairs of fragments, of all those in two lists of them."""
    if kernel not in CHANGED:
        return sum(w * b[t] for t, w in a.items())
    return sum(w * u * alike(kernel, s, t) for s, w in a.items() for t, u in b.items())


def brute(kernel, X, Y):
    left, right = ([features(kernel, x) for x in data] for data in (X, Y))
    return np.array([[shared(kernel, a, b) for b in right] for a in left])


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
def test_what_nodes_add(rng, kernel):
    """Node by node against the definition: the fragments with this root, in all trees."""
    X = [x for x in (random_tree(rng) for _ in range(20)) if len(below(x)) < 14]
    Y, coef = X[1:7], rng.standard_normal(6)
    listed = [features(kernel, y) for y in Y]
    for x in X:
        got = kernel.gains(kernel.prepare([x]), kernel.prepare(Y), coef)
        wanted = [
            sum(
                c * shared(kernel, {t: w}, y)
                for c, y in zip(coef, listed, strict=True)
                for t, w in rooted(kernel, v)
            )
            for v in children_first(x)
        ]
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-13)


# ---- gradients ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel",
    [*KERNELS, *(k.normalize() for k in KERNELS), Subtree(1.0), SubsetTree(1.0) * 2],
    ids=repr,
)
def test_gradients_against_differences(rng, kernel):
    """Differences of order h^4; to the left, where the decay is 1."""
    X, Y = ([random_tree(rng) for _ in range(n)] for n in (7, 5))
    W, w = rng.standard_normal((7, 5)), rng.standard_normal(7)
    P, Q = kernel.prepare(X), kernel.prepare(Y)

    def sums(theta):
        moved = kernel.with_theta(theta)
        return np.array([np.sum(W * moved(X, Y)), w @ moved.diag(moved.prepare(X))])

    wanted, h = [], 1e-3
    for e in h * np.eye(len(kernel.theta)):
        at = [sums(kernel.theta - k * e) for k in range(5)]
        wanted.append((25 * at[0] - 48 * at[1] + 36 * at[2] - 16 * at[3] + 3 * at[4]) / (12 * h))
    got = np.stack([kernel.grad_theta(P, Q, W), kernel.grad_theta_diag(P, w)], axis=1)
    np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-9 * np.abs(wanted).max())


def test_tuning_finds_the_decay(rng):
    """Values drawn from a process with small fragments only: the evidence prefers a small decay."""
    X = [random_tree(rng) for _ in range(40)]
    K = SubsetTree(0.05)(X)
    y = np.linalg.cholesky(K + 1e-4 * np.eye(40)) @ rng.standard_normal(40)
    model = tune(GaussianProcessRegressor(SubsetTree(0.9), alpha=1e-4), X, y)
    assert model.kernel_.decay < 0.3


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_keeps_its_promises(rng, kernel):
    X = list(dict.fromkeys(random_tree(rng) for _ in range(40)))[:25]
    check_kernel(kernel, X)
    check_kernel(kernel.normalize() if kernel.properties.positive_diag else kernel, X)
    assert parse(repr(kernel)) == kernel


def test_keeps_its_promises_without_decay(rng):
    check_kernel(SubsetTree(1.0), [random_tree(rng) for _ in range(10)])


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

    commented = ElementTree.fromstring("<a><b><c/></b><d/></a>")
    commented.insert(0, ElementTree.Comment("a remark"))
    forms = [
        "(a (b c) d)",
        " ( a(b c)d ) ",
        ("a", ("b", "c"), "d"),
        ("a", ("b", ("c",)), ("d",)),
        ElementTree.fromstring("<a x='1'>text<b><c/></b><d/></a>"),
        ElementTree.ElementTree(ElementTree.fromstring("<a><b><c/></b><d/></a>")),
        commented,
        Labelled("a", [Labelled("b", ["c"]), "d"]),
        Digraph([(0, 1), (1, 2), (0, 3)], {0: "a", 1: "b", 2: "c", 3: "d"}),
    ]
    K = PartialTree()(forms)
    np.testing.assert_allclose(K, K[0, 0])


def test_graphs_of_networkx():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph([("a", "b"), ("b", "c"), ("a", "d")])
    diamond = networkx.DiGraph([("a", "b"), ("a", "e"), ("b", "d"), ("e", "d")])
    diamond.nodes["e"]["label"] = "c"
    wanted = PartialTree()(["(a (b c) d)", "(a (b d) (c d))"])
    np.testing.assert_allclose(PartialTree()([graph, diamond]), wanted)
    with pytest.raises(DomainError, match=r"it is a Graph; give .* a directed networkx graph"):
        PartialTree()([graph.to_undirected()])


def test_arrays_and_columns_of_bracket_strings():
    wanted = SubsetTree()([CAT, DOG])
    for form in (np.array([CAT, DOG]), np.array([[CAT], [DOG]], dtype=object)):
        np.testing.assert_array_equal(SubsetTree()(form), wanted)
    with pytest.raises(DomainError, match=r"select a column with \.on"):
        SubsetTree()(np.array([[CAT, DOG]]))
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"tree": [CAT, DOG], "n": [1, 2]}, index=[7, 3])
    np.testing.assert_array_equal(SubsetTree()(table["tree"]), wanted)
    np.testing.assert_array_equal(SubsetTree().on("tree")(table), wanted)


def test_labels_that_training_did_not_show():
    model = SVC(SubsetTree().normalize()).fit([CAT, DOG, "(S (N x))"], [0, 0, 1])
    known, new = model.decision_function([CAT, "(never (seen before))"])
    assert known < 0
    assert new == pytest.approx(model.intercept_[0])


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
        ("(a (b)", "never closed, at position 0"),
        ("(a (b) (c d", "never closed, at position 7"),
        ("(a b))", "never opened, at position 5"),
        (") (a", "never opened, at position 0"),
        ("(a) b)", "'b' stands after the end of the tree, at position 4"),
        ("(a) (b)", r"'\(' stands after the end of the tree, at position 4 \(in '\(a\) \(b\)'\)"),
        ("x (a)", "'x' is outside the brackets, at position 0"),
        ("dogs bark", "'dogs' is outside the brackets, at position 0"),
        ("", "empty"),
        (None, "it is missing"),
        (["a", "b"], "it is a list"),
        (
            Digraph([(0, 1), (2, 3), (3, 2)], {0: "a", 1: "b", 2: "c", 3: "d"}),
            "has a cycle, at or before the node 2",
        ),
        (3.5, "it is a float"),
        ((), "empty"),
        (("a", ["b"]), "list"),
        (Digraph([(0, 1), (1, 0)], {0: "a", 1: "b"}), "0 nodes without predecessors"),
        (
            Digraph([(0, 1), (1, 2), (2, 1)], {0: "a", 1: "b", 2: "c"}),
            "has a cycle, at or before the node 1",
        ),
    ],
)
def test_no_tree(sample, words):
    with pytest.raises(DomainError, match=f"sample 1 is not a tree: .*({words})"):
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


# ---- values beyond floating point numbers --------------------------------------------------------
def stack(n):
    """A chain of n equal nodes."""
    tree = ("a",)
    for _ in range(n - 1):
        tree = ("a", tree)
    return tree


def rows(n):
    """A table of n rows, each with one cell."""
    return ("table", *[("tr", "td")] * n)


def cosine(value, left, right):
    return float(Fraction(value**2, left * right)) ** 0.5


def test_embedded_chains_at_any_length():
    """Chains of m and n nodes have C(m + n, m) - 1 pairs of embedded chains of one length."""
    sizes = [600, 560, 1]
    K = ElasticTree(1.0).normalize()([stack(n) for n in sizes])

    def count(m, n):
        return comb(m + n, m) - 1

    assert count(560, 560) > 10**320
    wanted = [[cosine(count(m, n), count(m, m), count(n, n)) for n in sizes] for m in sizes]
    np.testing.assert_allclose(K, wanted, rtol=1e-11, atol=1e-100)
    with pytest.raises(DomainError, match=r"trees of 600 and 600 nodes; use \.normalize\(\)"):
        ElasticTree(1.0)([stack(600)])
    model = KernelRidge(kernel=ElasticTree(1.0).normalize()).fit(
        [stack(n) for n in sizes], [1, 2, 3]
    )
    assert np.isfinite(model.predict([stack(590)])).all()


@pytest.mark.parametrize("kernel", [PartialTree(1.0, 1.0), ElasticTree(1.0, elastic=False)])
def test_fragments_of_stars_at_any_size(kernel):
    """A root with m leaves, all labels alike: C(m + n, m) pairs of fragments with both roots."""
    sizes = [540, 530, 2]

    def count(m, n):
        return comb(m + n, m) + m * n + m + n

    assert count(530, 530) > 10**309
    wanted = [[cosine(count(m, n), count(m, m), count(n, n)) for n in sizes] for m in sizes]
    X = [("a", *["a"] * n) for n in sizes]
    np.testing.assert_allclose(kernel.normalize()(X), wanted, rtol=1e-11, atol=1e-100)
    with pytest.raises(DomainError, match="541 and 541 nodes"):
        kernel(X)


def test_tables_of_any_length():
    """Rows are fragments, and tables with some rows cut off: m n decay, and (1 + decay)^n."""
    sizes, X = [1110, 3], [rows(1110), rows(3)]

    def logs(decay):
        own = [
            np.logaddexp(2 * np.log(n) + np.log(decay), np.log(decay) + n * np.log1p(decay))
            for n in sizes
        ]
        return np.array(
            [
                [0.0 if m == n else np.log(m * n * decay) - (own[i] + own[j]) / 2
                 for j, n in enumerate(sizes)]
                for i, m in enumerate(sizes)
            ]
        )  # fmt: skip

    k = SubsetTree(0.9).normalize()
    np.testing.assert_allclose(k(X), np.exp(logs(0.9)), rtol=1e-10)
    P, h = k.prepare(X), 1e-5
    W = np.zeros((2, 2))
    W[0, 1] = 1 / k(X)[0, 1]
    wanted = (logs(0.9 * np.exp(h)) - logs(0.9 * np.exp(-h)))[0, 1] / (2 * h)
    assert k.grad_theta(P, P, W)[0] == pytest.approx(wanted, rel=1e-6)
    with pytest.raises(DomainError, match="1e308"):
        k.kernel.grad_theta(P.parts[0], P.parts[0], np.eye(2))


def test_what_overflows_is_no_evidence():
    X = [stack(n) for n in (560, 570, 3, 4, 5, 6)]
    with pytest.raises(DomainError, match="1e308"):
        two_sample_test(X, X, kernel=ElasticTree(1.0))
    result = two_sample_test(X, X, kernel=ElasticTree(1.0).normalize(), n_permutations=19)
    assert result.pvalue > 0.5


@pytest.mark.parametrize(
    "kernel",
    [
        SubsetTree(0.3),
        PartialTree(0.6, 0.3),
        ElasticTree(0.4, elastic=False),
        ElasticTree(0.4),
        ElasticTree(0.4, mutation=0.2),
        ElasticTree(0.4, False, 0.2, ["A", "dogs"], [[1.0, 0.7], [0.7, 1.0]]),
    ],
    ids=repr,
)
def test_wide_numbers_are_the_same_numbers(kernel, rng, monkeypatch):
    """What is computed in wide numbers, or in steps, only where it has to be, everywhere."""
    from mercer.kernels.trees import base as tree_base

    X = [
        "(S (N dogs) (V (A b) (B (A b) (C d) (A b))) (N dogs))",
        "(S (S (N cats) (V (A b))) (N dogs (A b) (A b)))",
        "S",
        "(V (A b) (A b) (B (A b) (C d) (A b)))",
    ]
    W = rng.normal(size=(4, 4))

    def all_of():
        P, Q = kernel.prepare(X), kernel.normalize().prepare(X)
        return (
            kernel(X),
            kernel.diag(P),
            kernel.grad_theta(P, P, W),
            kernel.grad_theta_diag(P, W[0]),
            kernel.normalize().grad_theta(Q, Q, W),
            kernel.gains(P[:1], P, W[0]),
        )

    before = all_of()
    monkeypatch.setattr(tree_base, "_CELLS", 3.0)
    stepped = all_of()
    monkeypatch.setattr(tree_base, "LARGEST", -1.0)
    for first, second, wanted in zip(stepped, all_of(), before, strict=True):
        np.testing.assert_allclose(first, wanted, rtol=1e-12)
        np.testing.assert_allclose(second, wanted, rtol=1e-12)


def test_tables_of_nodes_that_do_not_fit(monkeypatch):
    monkeypatch.setattr("mercer.engine.memory.free_memory", lambda: 2e8)
    wide = ("a", *["b"] * 6000)
    with pytest.raises(
        MemoryPlanError, match="6001 and 6001 nodes needs 288 MB, but 200 MB are available"
    ):
        ElasticTree()([wide])
    assert ElasticTree()([stack(3000)], [("b",)])[0, 0] == 0  # one row of the table is kept


@pytest.mark.parametrize("steps", [1, 7, 50])
@pytest.mark.parametrize(
    "kernel",
    [
        SubsetTree(0.7),
        PartialTree(0.6, 0.5),
        ElasticTree(),
        ElasticTree(elastic=False),
        ElasticTree(mutation=0.3),
        ElasticTree(elastic=False, mutation=0.3),
        ElasticTree(elastic=False, **SIMILAR),
    ],
)
def test_sums_in_many_short_calls_are_those_of_one(kernel, steps, monkeypatch):
    """Nodes with many children are interrupted between two of them."""
    import mercer.kernels.trees.base as base

    wide = "(a " + " ".join(["(b c)", "b", "(c b b)"] * 4) + ")"
    trees = [wide, f"(a {wide} b {wide})", "(b (a b c) (a (b c) b c))"]
    values, slopes = kernel(trees), kernel.grad_theta(*[kernel.prepare(trees)] * 2, np.ones((3, 3)))
    cosines = kernel.normalize()(trees)
    monkeypatch.setattr(base, "_CELLS", steps)
    P = kernel.prepare(trees)
    assert np.allclose(kernel(trees), values, rtol=1e-13)
    assert np.allclose(kernel.grad_theta(P, P, np.ones((3, 3))), slopes, rtol=1e-12)
    monkeypatch.setattr(base, "LARGEST", 1e-300)  # everything is computed again, in wide numbers
    assert np.allclose(kernel(trees), values, rtol=1e-13)
    assert np.allclose(kernel.normalize()(trees), cosines, rtol=1e-13)


# ---- labels that change --------------------------------------------------------------------
def test_labels_that_do_not_matter():
    """With mutation 1 trees are compared by their shapes, and with 0 by their labels."""
    X = [CAT, DOG, "(S (N x) (V y))"]
    plain = ["(a (a a) (a (a a) (a a)))"] * 2 + ["(a (a a) (a a))"]
    for elastic in (True, False):
        k = ElasticTree(0.4, elastic)
        np.testing.assert_allclose(ElasticTree(0.4, elastic, 1.0)(X), k(plain), rtol=1e-13)
        one = ElasticTree(0.4, elastic, 0.0, ["cat", "N"], [[1.0, 0.0], [0.0, 1.0]])
        np.testing.assert_allclose(one(X), k(X), rtol=1e-13)


def test_similar_labels_in_numbers_of_any_size():
    """Stacks of n nodes, all labels different: common chains of m nodes count mutation^m."""
    n, m = 40, 60
    left, right = "".join(f"(a{i} " for i in range(n)), "".join(f"(b{i} " for i in range(m))
    X = [left + "a" + ")" * n, right + "b" + ")" * m]
    for s in (0.3, 1e-5, 1e-200, 1e-300):
        k = ElasticTree(1.0, True, s)
        sizes = (n + 1, m + 1)

        def wanted(p, q, on, off):
            """sum over chains in both, place by place: a node of either, then one below."""
            A = np.full((p + 1, q + 1), -np.inf)  # log of sums over all nodes from i, j on
            C = -np.inf
            for i in range(p - 1, -1, -1):
                for j in range(q - 1, -1, -1):
                    own = np.log(on if on != off and i == j else off)
                    c = own + np.logaddexp(0.0, A[i + 1, j + 1])
                    C = np.logaddexp(C, c)
                    A[i, j] = np.logaddexp(np.logaddexp(A[i + 1, j], A[i, j + 1]), c)
                    if A[i + 1, j + 1] > -np.inf:
                        A[i, j] += np.log1p(-np.exp(A[i + 1, j + 1] - A[i, j]))
            return C

        logs = k.log_tiles(P := k.prepare(X), P)(slice(0, 2), slice(0, 2))
        same = [wanted(p, p, 1.0, s) for p in sizes]
        other = wanted(*sizes, s, s)
        np.testing.assert_allclose(logs, [[same[0], other], [other, same[1]]], rtol=1e-9)


def test_what_may_be_similar():
    for mutation in (-0.1, 1.5, "much", True):
        with pytest.raises(ValueError, match="mutation must be a number in"):
            ElasticTree(mutation=mutation)
    for labels in ("ab", ["a", "a"], [1, 2], []):
        with pytest.raises(ValueError, match="labels must be None, or a list of distinct"):
            ElasticTree(labels=labels)
    for similarity in ([1.0], [[1.0, 2.0], [0.0, 1.0]], [[0.0]], [[-1.0]], [[np.nan]], "near"):
        with pytest.raises(ValueError, match="similarity must be None, or a symmetric"):
            ElasticTree(similarity=similarity)
    for k in (ElasticTree(labels=["a"]), ElasticTree(similarity=[[1.0]])):
        with pytest.raises(ValueError, match="a row for each of the labels"):
            k([CAT])


def test_positive_definite_as_far_as_labels_are():
    bad = {"labels": ["a", "b"], "similarity": [[1.0, 2.0], [2.0, 1.0]]}
    assert ElasticTree(**bad).properties.psd.no
    assert np.linalg.eigvalsh(ElasticTree(**bad)(["a", "b"]))[0] < 0
    assert ElasticTree(mutation=1.0, **bad).properties.psd
    flat = ElasticTree(labels=["a", "b"], similarity=[[1.0, 1.0], [1.0, 1.0]])
    assert flat.properties.psd
    assert flat.properties.strictly_pd.unknown
    assert ElasticTree(mutation=0.9).properties.strictly_pd
    assert ElasticTree(mutation=1.0).properties.strictly_pd.no


def test_similar_labels_in_use(rng, tmp_path):
    """Nouns that training did not show are known by their likeness."""
    nouns = ["cat", "dog", "idea", "plan"]
    near = np.kron(np.eye(2), [[1.0, 0.9], [0.9, 1.0]])
    k = ElasticTree(0.5, labels=nouns, similarity=near).normalize()
    X = ["(N (D a) cat)", "(N (D the) cat)", "(N (D a) idea)", "(N (D the) idea)"]
    model = SVC(C=100.0, kernel=k).fit(X, [0, 0, 1, 1])
    assert list(model.predict(["(N (D a) dog)", "(N (D a) plan)"])) == [0, 1]
    save(model, tmp_path / "model.mercer")
    assert load(tmp_path / "model.mercer").kernel_ == model.kernel_
    y = ElasticTree(0.3, mutation=0.3)(Y := [random_tree(rng) for _ in range(30)])
    values = np.linalg.cholesky(y + 1e-3 * np.eye(30)) @ rng.standard_normal(30)
    start = ElasticTree(0.3, mutation=0.01)
    tuned = tune(GaussianProcessRegressor(start, alpha=1e-3), Y, values)
    assert tuned.kernel_.mutation > 0.03
