"""Random kernel expressions on random data: one object, every way to use it, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import mercer
from mercer import (
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Plan,
    Polynomial,
    Power,
    Product,
    RationalQuadratic,
    Sum,
    parse,
)
from mercer.kernels.algebra.transforms import Transform

D = 3  # features of every sample
LEAVES = (
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
WORDS = {leaf.__name__: leaf for leaf in LEAVES}


def random(examples):
    """The settings of all tests here: the same examples every time, no clock."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )


# ---- strategies ---------------------------------------------------------------------------
sizes = st.floats(0.3, 3).map(lambda v: round(v, 2))
columns = st.sampled_from([0, 2, [0], [0, 1], [2, 1], slice(1, 3)])
leaves = st.one_of(
    st.builds(Gaussian, sizes),
    st.builds(Gaussian, st.lists(sizes, min_size=D, max_size=D)),
    st.builds(Laplacian, sizes, st.sampled_from([1, 2])),
    st.builds(Matern, sizes, st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(RationalQuadratic, sizes, sizes),
    st.just(Linear()),
    st.builds(Polynomial, st.integers(1, 3), st.sampled_from([0, 0.5, 2.0]), sizes),
    st.builds(Exponential, st.sampled_from([0.05, 0.1, 0.2])),
    st.builds(Constant, st.sampled_from([0, 0.5, 1, 3])),
)


def on(kernel, chosen):
    """On columns; per-feature lengthscales would not fit any more."""
    assume("lengthscale=[" not in repr(kernel))
    assume(".on(" not in repr(kernel))
    return kernel.on(chosen)


def grow(inner):
    """One more level of an expression."""
    return st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, p: a**p, inner, st.integers(2, 3)),
        st.builds(lambda c, a: c * a, st.sampled_from([0, 0.1, 2, 2.5]), inner),
        st.builds(lambda a, c: a + c, inner, st.sampled_from([0.25, 1])),
        st.builds(lambda a: a.normalize(), inner),
        st.builds(on, inner, columns),
    )


plain = st.recursive(leaves, grow, max_leaves=5)
# Centred kernels are not normalised: that divides rounding by rounding where they vanish.
kernels = st.one_of(
    plain,
    plain,
    plain.map(lambda k: k.center()),
    st.builds(lambda a, b: a.center() * b + 1, plain, plain),
)


few = st.integers(2, 7)


@st.composite
def data(draw, rows=few, kinds=("float64", "float32", "csr")):
    """A small sample with zeros and repetitions: dense, float32 or sparse."""
    numbers = st.floats(-1, 1, width=32).map(lambda v: 0.0 if abs(v) < 1e-3 else v)
    X = draw(arrays(np.float64, (draw(rows), D), elements=numbers))
    kind = draw(st.sampled_from(kinds))
    return sp.csr_matrix(X) if kind == "csr" else X.astype(kind)


def size(kernel):
    """A bound on all intermediate values for samples in [-1, 1]^3: what rounding is relative to."""
    if isinstance(kernel, Sum):
        return size(kernel.left) + size(kernel.right)
    if isinstance(kernel, Product):
        return size(kernel.left) * size(kernel.right)
    if isinstance(kernel, Power):
        return size(kernel.base) ** kernel.exponent
    if isinstance(kernel, mercer.Normalized):
        return 1.0
    if isinstance(kernel, Transform):
        return 4 * size(kernel.kernel)
    return max(1.0, float(kernel(np.ones((1, D)))[0, 0]))


def close(A, B, kernel, X):
    """Equal to rounding in the precision of X, on the scale of the kernel's values."""
    eps = np.finfo(X.dtype).eps
    scale = size(kernel)
    assert np.abs(np.asarray(A, float) - np.asarray(B, float)).max(initial=0) <= 200 * eps * scale


# ---- one kernel, every way to evaluate it -------------------------------------------------
@random(150)
@given(kernels, data())
def test_gram_matrix(k, X):
    K = k(X)
    assert K.dtype in (X.dtype, np.float64)
    assert np.array_equal(K, K.T)
    eps = np.finfo(X.dtype).eps
    assert np.linalg.eigvalsh(K.astype(float))[0] >= -200 * eps * len(K) * size(k)
    k = k.resolve(X)
    P = k.prepare(X)
    assert np.array_equal(k.diag(P).astype(K.dtype), np.diag(K))
    close(np.diag(K), np.diag(k.pairwise(P, P)), k, X)


@random(60)
@given(kernels, data(), data(kinds=["float64"]))
def test_blocks_are_made_of_pairs(k, X, Y):
    Y = sp.csr_matrix(Y) if sp.issparse(X) else Y.astype(X.dtype)
    k = k.resolve(X)
    K = k(X, Y)
    one_by_one = [
        [k(X[i : i + 1], Y[j : j + 1])[0, 0] for j in range(Y.shape[0])] for i in range(X.shape[0])
    ]
    close(K, one_by_one, k, X)
    close(k(Y, X), K.T, k, X)
    close(k(X, X), k(X), k, X)


@random(60)
@given(kernels, data())
def test_sparse_is_dense(k, X):
    k = k.resolve(X)
    dense = X.toarray() if sp.issparse(X) else X
    close(k(sp.csr_matrix(X)), k(dense), k, X)


@random(80)
@given(kernels, data(), data(rows=st.just(3), kinds=["float64"]), st.integers(0, 2**32 - 1))
def test_storages_agree(k, X, Y, seed):
    Y = sp.csr_matrix(Y) if sp.issparse(X) else Y.astype(X.dtype)
    k = k.resolve(X)
    n = X.shape[0]
    K = k(X).astype(float)
    V = np.random.default_rng(seed).normal(size=(n, 2))
    H = np.eye(n) - 1 / n
    storages = ["dense", "tiled"]
    if k.n_features(k.prepare(X)) is not None:
        storages.append("lowrank")
    for storage in storages:
        gram = k.gram(X, Plan(storage=storage))
        assert gram.shape == (n, n)
        close(gram.to_dense(), K, k, X)
        close(gram.diag(), np.diag(K), k, X)
        close(gram.block(slice(1, n), [0]), K[1:, [0]], k, X)
        close(gram @ V, K @ V, k, X)
        close(gram @ V[:, 0], K @ V[:, 0], k, X)
        close(gram.cross(Y).to_dense(), k(Y, X), k, X)
        close(gram.cross(Y) @ V, k(Y, X).astype(float) @ V, k, X)
        close(gram.shift(0.5).to_dense(), K + 0.5 * np.eye(n), k, X)
        close(gram.shift(0.5) @ V, K @ V + 0.5 * V, k, X)
        close(gram.center().to_dense(), H @ K @ H, k, X)
        close(gram.center() @ V, H @ K @ H @ V, k, X)
        rows = k(Y, X).astype(float)
        wanted = (rows - K.mean(axis=0)) @ H
        close(gram.center().cross(Y).to_dense(), wanted, k, X)


@random(60)
@given(plain, data())
def test_features_when_there_are_some(k, X):
    P = k.prepare(X)
    phi = k.features(P)
    assert (phi is None) == (k.n_features(P) is None)
    if phi is not None:
        assert phi.shape == (X.shape[0], k.n_features(P))
        assert k.properties.finite_dim
        product = phi @ phi.T
        close(product.toarray() if sp.issparse(product) else product, k(X), k, X)


# ---- an expression is its text ------------------------------------------------------------
@random(200)
@given(kernels)
def test_text_reads_back(k):
    text = repr(k)
    assert eval(text, dict(WORDS)) == k
    if "slice" not in text:
        assert parse(text) == k


@random(60)
@given(kernels)
def test_explained(k):
    assert max(map(len, k.explain().splitlines())) <= 100


@random(60)
@given(kernels)
def test_vector_of_hyperparameters(k):
    theta = k.theta
    new = k.with_theta(theta + 0.1)
    assert np.allclose(new.theta, theta + 0.1)
    assert np.array_equal(k.theta, theta)
    assert type(new) is type(k)


# ---- laws ---------------------------------------------------------------------------------
@random(60)
@given(plain, plain, plain, data(kinds=["float64"]))
def test_laws(a, b, c, X):
    def same(left, right):
        close(left(X), right(X), left, X)

    same(a + b, b + a)
    same(a * b, b * a)
    same((a + b) + c, a + (b + c))
    same((a * b) * c, a * (b * c))
    same(a * (b + c), a * b + a * c)
    same((a * b) ** 2, a**2 * b**2)
    same((a + b) ** 2, a**2 + 2 * a * b + b**2)
    same(a**3, a * a * a)
    same(sum([a, b, c]), a + b + c)
    same(a / 2, 0.5 * a)
    same(2 * a, a + a)
    same(1 * a, a)
    same(0 * a + b, b)
    same(a**0 * b, b)
    same((a * b).normalize(), a.normalize() * b.normalize())
    same((3 * a).normalize(), a.normalize())
    same(a.normalize().normalize(), a.normalize())
    close((a + 5).center()(X), a.center()(X), a + 5, X)
    close((a + b).center()(X), (a.center() + b.center())(X), a + b, X)


# ---- what properties promise --------------------------------------------------------------
def spread(seed, n=6):
    """Points that differ in every column, far apart on the scale of 1."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(n) - (n - 1) / 2 for _ in range(D)], axis=1)


@random(150)
@given(plain, st.integers(0, 2**32 - 1))
def test_properties_are_true(k, seed):
    p = k.properties
    rng = np.random.default_rng(seed)
    X, Y, t = rng.normal(size=(6, D)), rng.normal(size=(5, D)), 2 * rng.normal(size=D)
    K = k(X, Y)
    scale = max(1.0, np.abs(K).max())
    with np.errstate(over="ignore"):
        diag = [k.diag(k.prepare(r * X)).max() for r in (1, 3, 10)]
    if p.bounded:
        assert max(diag) <= diag[0] * (1 + 1e-9)  # of these kernels only constant ones
    elif p.bounded.no:
        assert diag[2] > 2 * diag[0]
    moved = np.abs(k(X + t) - k(X)).max()
    if p.stationary:
        assert moved <= 1e-9 * scale
        assert np.allclose(k(X + t, Y + t), K, atol=1e-9)
    elif p.stationary.no:
        assert moved > 1e-6
    if p.continuous:
        assert np.abs(k(X + 1e-10, Y) - K).max() <= 1e-7 * size(k) ** 2 * scale
    at_zero = k(np.zeros((1, D)))[0, 0]
    if p.positive_diag:
        assert min(at_zero, k.diag(k.prepare(X)).min()) > 0
    elif p.positive_diag.no:
        assert at_zero == 0
    if p.strictly_pd:
        G = k.normalize()(0.5 * spread(seed))
        assert np.linalg.eigvalsh(G)[0] > 1e-13


@random(60)
@given(plain, st.integers(0, 2**32 - 1))
def test_centred_bounds(k, seed):
    X = np.random.default_rng(seed).normal(size=(5, D))
    centred = k.center(X)
    assert centred.properties.strictly_pd.no
    assert np.abs(centred(X).sum(axis=0)).max() <= 1e-11 * max(1, np.abs(k(X)).max()) * 5
    if centred.properties.bounded:
        far = 10 * X
        assert np.diag(centred(far)).max() <= 4 * k.diag(k.prepare(far)).max() + 1e-9


@pytest.mark.parametrize("strategy", [plain, kernels])
def test_strategies_reach_every_rule(strategy):
    words = {*WORDS, "+", "*", "**", ".on(", ".normalize()"}
    seen = set()

    @random(300)
    @given(strategy)
    def look(k):
        seen.update(word for word in words if word in repr(k))

    look()
    assert seen == words
