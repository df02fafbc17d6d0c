"""The context-tree kernel, against a sum over all trees."""

from itertools import product
from math import exp, lgamma

import numpy as np
import pytest
from scipy.special import digamma

from mercer import ContextTree, KernelRidge, tune
from mercer.exceptions import UnresolvedError


def brute(x, y, depth, scale, prior, branch, letters):
    """sum over trees of their prior times the Dirichlet integrals at their leaves."""

    def counts(context):
        n = dict.fromkeys(letters, 0.0)
        for s in (x, y):
            for i in range(depth, len(s)):
                if s[:i].endswith(context):
                    n[s[i]] += scale / (len(s) - depth)
        return n

    def integral(context):
        n = list(counts(context).values())
        total = lgamma(len(letters) * prior) - lgamma(len(letters) * prior + sum(n))
        return exp(total + sum(lgamma(prior + c) - lgamma(prior) for c in n))

    def trees(context):
        if len(context) == depth:
            return [(1.0, [context])]
        found = [(1 - branch, [context])]
        for parts in product(*(trees(a + context) for a in letters)):
            leaves = [leaf for _, leaves in parts for leaf in leaves]
            found.append((branch * float(np.prod([p for p, _ in parts])), leaves))
        return found

    return sum(p * np.prod([integral(leaf) for leaf in leaves]) for p, leaves in trees(""))


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("branch", [0.0, 0.3, 1.0])
def test_sum_over_all_trees(rng, depth, branch):
    X = ["".join(rng.choice(list("ab"), rng.integers(0, 9))) for _ in range(6)]
    wanted = [[brute(x, y, depth, 3.0, 0.4, branch, "ab") for y in X] for x in X]
    K = ContextTree(depth, 3.0, 0.4, branch, "ab")(X)
    np.testing.assert_allclose(K, wanted, rtol=1e-12)


def test_three_letters_deep(rng):
    X = ["".join(rng.choice(list("abc"), 12)) for _ in range(3)]
    wanted = [[brute(x, y, 2, 5.0, 0.5, 0.5, "abc") for y in X] for x in X]
    np.testing.assert_allclose(ContextTree(2, 5.0, alphabet="abc")(X), wanted, rtol=1e-12)


def test_unknown_letters_and_what_follows_are_left_out():
    k = ContextTree(1, alphabet="ab")
    parts = k(["abxba", "ab", "ba", ""])
    assert parts[3, 3] == 1  # no letters, likelihood 1
    assert k(["x"])[0, 0] == 1
    assert k(["axb"])[0, 0] == 1
    same = ContextTree(1, alphabet=[97, 98])([b"abxba", b"ab", b"ba", b""])
    np.testing.assert_array_equal(parts, same)
    with pytest.raises(UnresolvedError):
        ContextTree(1)(["ab"], ["ba"])
    assert ContextTree(1).resolve(["ba"]).alphabet == "ab"


def test_length_does_not_matter_but_content_does():
    k = ContextTree(2, alphabet="ab")
    long, longer = "ab" * 50, "ab" * 400
    K = k.normalize()([long, longer, "aabb" * 25])
    assert K[0, 1] > 0.999
    assert K[0, 2] < 0.1
    assert k.properties.bounded
    assert (k([long, longer]) <= 1).all()


@pytest.mark.parametrize("depth", [0, 1, 3])
@pytest.mark.parametrize("branch", [0.05, 0.5, 0.9])
def test_slopes_are_those_of_the_values(rng, depth, branch):
    X = ["".join(rng.choice(list("abc"), rng.integers(0, 25))) for _ in range(7)]
    Y = X[2:4] + ["".join(rng.choice(list("abc"), 15)) for _ in range(3)]
    kernel = ContextTree(depth, 4.0, 0.7, branch, "abc")
    assert [h.name for h in kernel.hyperparameters()] == ["scale", "prior", "branch"]
    W, V, w = rng.normal(size=(7, 5)), rng.normal(size=(7, 7)), rng.normal(size=7)

    def sums(theta):
        k = kernel.with_theta(theta)
        P = k.prepare(X)
        return np.array([np.sum(W * k(X, Y)), np.sum(V * k(X)), w @ k.diag(P)])

    h = 1e-5
    wanted = np.array(
        [(sums(kernel.theta + e) - sums(kernel.theta - e)) / (2 * h) for e in h * np.eye(3)]
    ).T
    P, Q = kernel.prepare(X), kernel.prepare(Y)
    got = [kernel.grad_theta(P, Q, W), kernel.grad_theta(P, P, V), kernel.grad_theta_diag(P, w)]
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("branch", [0.0, 1.0])
def test_slopes_where_no_node_or_every_node_is_divided(rng, branch):
    X = ["".join(rng.choice(list("ab"), 12)) for _ in range(4)]
    W, h = rng.normal(size=(4, 4)), 1e-6
    inward = h if branch == 0 else -h
    here, near = (
        np.sum(W * ContextTree(2, 4.0, 0.7, b, "ab")(X)) for b in (branch, branch + inward)
    )
    kernel = ContextTree(2, 4.0, 0.7, branch, "ab")
    P = kernel.prepare(X)
    got = kernel.grad_theta(P, P, W)
    assert got[2] == pytest.approx((near - here) / inward, rel=1e-4)
    assert np.all(np.isfinite(got))


def test_the_digamma_function():
    from mercer.kernels.strings.context_loops import _digamma

    for x in (1e-3, 0.3, 1.0, 4.5, 9.9, 10.0, 37.0, 1e4):
        assert _digamma(x) == pytest.approx(float(digamma(x)), rel=1e-13)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.BoundWarning")
def test_tuning_finds_the_numbers_of_the_kernel(rng):
    """Letters that depend on the one before them: contexts help, and the evidence says so."""
    X, y = [], np.repeat([0.0, 1.0], 25)
    for sticky in np.where(y > 0, 0.8, 0.5):
        moves = rng.uniform(size=60) > sticky
        X.append("".join(np.where(np.cumsum(moves) % 2, "a", "b")))
    start = KernelRidge(0.1, kernel=ContextTree(2, alphabet="ab").normalize())
    tuned = tune(start, X, y)
    fixed = tuple(f"kernel__kernel__{n}" for n in ("scale", "prior", "branch"))
    assert tuned.tuning_.value < tune(start, X, y, fixed=fixed).tuning_.value - 1e-3


@pytest.mark.parametrize(
    "options", [{"branch": 1.5}, {"prior": 0.0}, {"scale": -1.0}, {"depth": -1}]
)
def test_bad_parameters(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        ContextTree(**options)
