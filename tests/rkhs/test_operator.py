"""Operators against explicit matrices in feature coordinates, and the formulas of HSIC and COCO."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import (
    Constant,
    Gaussian,
    HSOperator,
    Laplacian,
    Linear,
    Polynomial,
    RKHSFunction,
    Spectrum,
    covariance,
    cross_covariance,
    mean_embedding,
    outer,
)

KX, KY = Polynomial(degree=2), Polynomial(degree=3, scale=0.5)


@pytest.fixture
def rng():
    return np.random.default_rng(2)


@pytest.fixture
def sample(rng):
    X = rng.normal(size=(12, 2))
    Y = X[:, :1] ** 2 + 0.3 * rng.normal(size=(12, 1))
    return X, Y


def phi(k, X):
    return k.features(k.prepare(np.asarray(X)))


def centred(A):
    return A - A.mean(axis=0)


def random_function(k, d, rng, n=4):
    return RKHSFunction(k, rng.normal(size=(n, d)), rng.normal(size=n))


def explicit(C):
    """C as a matrix in the coordinates of the two finite feature maps, column by column."""
    rng = np.random.default_rng(3)
    d = np.shape(C.terms[0].right.combine(np.zeros(C.terms[0].right.size)).points)[1]
    points = rng.normal(size=(60, d))
    probes = RKHSFunction(C.kernel_y, points, np.eye(60))
    return C(probes).weights() @ np.linalg.pinv(probes.weights())


@pytest.fixture
def operators(sample, rng):
    """Operators from H_Y to H_X of every make, with their matrices by independent means."""
    X, Y = sample
    f, g = random_function(KX, 2, rng), random_function(KY, 1, rng)
    A = rng.normal(size=(12, 5))
    made = {
        "cross": (
            cross_covariance(KX, X, KY, Y),
            centred(phi(KX, X)).T @ centred(phi(KY, Y)) / 12,
        ),
        "uncentred": (cross_covariance(KX, X, KY, Y, center=False), phi(KX, X).T @ phi(KY, Y) / 12),
        "outer": (outer(f, g), np.outer(f.weights(), g.weights())),
        "matrix": (
            HSOperator.from_matrix(KX, X, A, KY, Y[:5]),
            phi(KX, X).T @ A @ phi(KY, Y[:5]),
        ),
    }
    a, b = made["cross"], made["outer"]
    made["sum"] = (a[0] - 2 * b[0] / 3, a[1] - 2 * b[1] / 3)
    return made


@pytest.mark.parametrize("name", ["cross", "uncentred", "outer", "matrix", "sum"])
def test_one_operator_against_its_matrix(operators, name, rng):
    C, M = operators[name]
    f, g = random_function(KX, 2, rng), random_function(KY, 1, rng)
    assert explicit(C) == pytest.approx(M, abs=1e-8)
    assert C(g).weights() == pytest.approx(M @ g.weights())
    assert explicit(C.T) == pytest.approx(M.T, abs=1e-8)
    assert C.bilinear(f, g) == pytest.approx(f.weights() @ M @ g.weights())
    assert f @ C(g) == pytest.approx(C.T(f) @ g)
    assert C.hs_norm() == pytest.approx(np.linalg.norm(M, "fro"))
    assert C.norm() == pytest.approx(np.linalg.norm(M, 2))
    s = np.linalg.svd(M, compute_uv=False)
    s = s[s > 1e-10 * s[0]]
    assert C.singular_values() == pytest.approx(s)
    assert C.singular_values(2) == pytest.approx(s[:2])
    u, values, v = C.singular_functions()
    assert values == pytest.approx(s)
    r = len(s)
    assert u @ u == pytest.approx(np.eye(r), abs=1e-8)
    assert v @ v == pytest.approx(np.eye(r), abs=1e-8)
    assert C(v[0])(rng.normal(size=(3, 2))).shape == (3,)
    assert u.weights() @ np.diag(s) @ v.weights().T == pytest.approx(M, abs=1e-8)


@pytest.mark.parametrize("first", ["cross", "uncentred", "outer", "matrix", "sum"])
@pytest.mark.parametrize("second", ["cross", "uncentred", "outer", "matrix", "sum"])
def test_two_operators_against_their_matrices(operators, first, second):
    (C, M), (D, N) = operators[first], operators[second]
    assert C.hs_inner(D) == pytest.approx(np.trace(M.T @ N))
    assert (C.T @ D).trace() == pytest.approx(np.trace(M.T @ N))
    assert explicit(C @ D.T) == pytest.approx(M @ N.T, abs=1e-7)
    assert explicit(C + D) == pytest.approx(M + N, abs=1e-8)
    distance = (C - D).hs_norm()
    assert distance == pytest.approx(np.linalg.norm(M - N), abs=1e-6)


def test_families_of_functions(operators, rng):
    C, M = operators["sum"]
    F = RKHSFunction(KX, rng.normal(size=(4, 2)), rng.normal(size=(4, 3)))
    G = RKHSFunction(KY, rng.normal(size=(5, 1)), rng.normal(size=(5, 2)))
    assert C(G).weights() == pytest.approx(M @ G.weights())
    assert C.bilinear(F, G) == pytest.approx(F.weights().T @ M @ G.weights())
    several = outer(RKHSFunction(KX, F.points, F.coef[:, :2]), G)
    assert explicit(several) == pytest.approx(F.weights()[:, :2] @ G.weights().T, abs=1e-8)


def test_rank_one_operators(rng):
    k = Gaussian()
    a, b, c, u, v = (random_function(k, 1, rng) for _ in range(5))
    C = outer(a, b)
    X = rng.normal(size=(4, 1))
    assert C(c)(X) == pytest.approx((b @ c) * a(X))
    assert C.hs_norm() == pytest.approx(a.norm() * b.norm())
    assert C.trace() == pytest.approx(a @ b)
    assert C.hs_inner(outer(u, v)) == pytest.approx((a @ u) * (b @ v))
    L = outer(u, v) + covariance(k, X)
    assert L.hs_inner(C) == pytest.approx(L.bilinear(a, b))


# ---- covariances ---------------------------------------------------------------------------
def test_bilinear_is_the_covariance_of_the_values(rng):
    X, Y = rng.normal(size=(50, 2)), rng.normal(size=(50, 1))
    k, l = Gaussian(), Laplacian()
    f, g = random_function(k, 2, rng), random_function(l, 1, rng)
    expected = np.cov(f(X), g(Y), bias=True)
    assert cross_covariance(k, X, l, Y).bilinear(f, g) == pytest.approx(expected[0, 1])
    assert covariance(k, X).bilinear(f, f) == pytest.approx(expected[0, 0])
    assert covariance(k, X, center=False).bilinear(f, f) == pytest.approx(np.mean(f(X) ** 2))


def test_centring_subtracts_the_product_of_the_means(rng):
    X, Y = rng.normal(size=(9, 2)), rng.normal(size=(9, 1))
    k, l = Gaussian(), Laplacian()
    means = outer(mean_embedding(k, X), mean_embedding(l, Y))
    rest = cross_covariance(k, X, l, Y, center=False) - means - cross_covariance(k, X, l, Y)
    assert rest.hs_norm() == pytest.approx(0, abs=1e-7)


def gram_matrices(k, X, l, Y):
    n = len(X)
    H = np.eye(n) - 1 / n
    return k(X), l(Y), H


def test_hs_norm_is_hsic(rng):
    n = 1100  # several tiles
    X = rng.normal(size=(n, 2))
    Y = np.sin(X[:, :1]) + 0.5 * rng.normal(size=(n, 1))
    k, l = Gaussian(), Laplacian(lengthscale=0.5)
    K, L, H = gram_matrices(k, X, l, Y)
    C = cross_covariance(k, X, l, Y)
    assert C.hs_norm() ** 2 == pytest.approx(np.trace(K @ H @ L @ H) / n**2)
    V = covariance(k, X)
    assert V.hs_norm() ** 2 == pytest.approx(np.trace(K @ H @ K @ H) / n**2)
    assert V.trace() == pytest.approx(np.trace(H @ K) / n)
    half = covariance(k, X[: n // 2])
    Hh = np.eye(n // 2) - 2 / n
    cross = H @ K[:, : n // 2] @ Hh
    assert V.hs_inner(half) == pytest.approx(np.sum(cross**2) / (n * (n // 2)))


def test_hs_norm_survives_a_large_common_offset(rng):
    x, y = rng.normal(size=(2, 200, 1))
    C = cross_covariance(Linear(), x + 1e5, Linear(), y - 1e5)
    assert C.hs_norm() == pytest.approx(abs(np.cov(x[:, 0], y[:, 0], bias=True)[0, 1]), rel=1e-4)


def test_norm_is_coco(rng):
    """The largest generalised eigenvalue of [[0, KL/n], [LK/n, 0]] against diag(K, L)."""
    n = 40
    X = rng.uniform(-2, 2, size=(n, 1))
    Y = np.cos(2 * X) + 0.1 * rng.normal(size=(n, 1))
    k, l = Gaussian(), Gaussian(lengthscale=0.5)
    K, L, H = gram_matrices(k, X, l, Y)
    K, L = H @ K @ H, H @ L @ H
    C = cross_covariance(k, X, l, Y)
    coco = np.sqrt(np.max(np.linalg.eigvals(K @ L).real)) / n
    assert C.norm() == pytest.approx(coco)
    u, s, v = C.singular_functions(3)
    assert u.norm() == pytest.approx(np.ones(3))
    assert v.norm() == pytest.approx(np.ones(3))
    for j in range(3):
        assert np.cov(u[j](X), v[j](Y), bias=True)[0, 1] == pytest.approx(s[j])
    assert np.sum(C.singular_values() ** 2) == pytest.approx(np.trace(K @ L) / n**2)
    for _ in range(20):
        f, g = random_function(k, 1, rng), random_function(l, 1, rng)
        covariance_of_values = np.cov(f(X), g(Y), bias=True)[0, 1]
        assert abs(covariance_of_values) <= C.norm() * f.norm() * g.norm() + 1e-12


def test_eigenfunctions_are_the_kernel_principal_components(rng):
    n = 30
    X = rng.normal(size=(n, 2))
    k = Gaussian()
    K, _, H = gram_matrices(k, X, k, X)
    d = np.linalg.eigvalsh(H @ K @ H)[::-1]
    C = covariance(k, X)
    values, f = C.eigenfunctions(4)
    assert values == pytest.approx(d[:4] / n)
    assert f.inner(f) == pytest.approx(np.eye(4), abs=1e-9)
    image = C(f)
    assert image(X) == pytest.approx(f(X) * values)
    assert f(X).var(axis=0) == pytest.approx(values)
    assert np.abs(C.singular_values(4)) == pytest.approx(values)
    assert C.norm() == pytest.approx(values[0])


def test_eigenfunctions_of_a_difference(rng):
    X, Y = rng.normal(size=(15, 2)), rng.normal(size=(10, 2)) * [1, 3]
    k = Linear()
    M = np.cov(X.T, bias=True) - np.cov(Y.T, bias=True)
    expected = np.linalg.eigvalsh(M)
    values, f = (covariance(k, X) - covariance(k, Y)).eigenfunctions()
    assert values == pytest.approx(expected[np.argsort(-np.abs(expected))])
    w = f.weights()
    assert M @ w == pytest.approx(w * values)


def test_eigenfunctions_need_a_self_adjoint_operator(rng):
    a, b = random_function(Gaussian(), 1, rng), random_function(Gaussian(), 1, rng)
    with pytest.raises(ValueError, match="self-adjoint"):
        outer(a, b).eigenfunctions()
    values, _ = (outer(a, b) + outer(b, a)).eigenfunctions()
    expected = [a @ b + a.norm() * b.norm(), a @ b - a.norm() * b.norm()]
    assert values == pytest.approx(sorted(expected, key=lambda t: -abs(t)))


def test_powers_of_a_covariance(rng):
    X = rng.normal(size=(8, 2))
    C = covariance(Gaussian(), X)
    assert (C @ C).trace() == pytest.approx(C.hs_norm() ** 2)
    assert (C @ C).norm() == pytest.approx(C.norm() ** 2)
    assert (C @ C @ C).trace() == pytest.approx(np.sum(C.singular_values() ** 3))


def test_strings_against_numbers():
    words, y = ["abab", "ba", "ccab", "c"], np.array([1.0, 0.0, 2.0, -1.0])
    k = Spectrum(1)
    counts = np.array([[w.count(c) for c in "abc"] for w in words], dtype=float)
    M = centred(counts).T @ centred(y[:, None]) / 4
    C = cross_covariance(k, words, Linear(), y)
    assert C.hs_norm() == pytest.approx(np.linalg.norm(M))
    assert C(Linear().at(1.0))(["a", "bb"]) == pytest.approx([M[0, 0], 2 * M[1, 0]])


def test_constant_samples_have_no_covariance():
    C = covariance(Constant(1), [[1.0], [2.0], [3.0]])
    assert C.hs_norm() == pytest.approx(0, abs=1e-15)
    assert covariance(Gaussian(), [[1.0]]).norm() == 0
    assert len(covariance(Gaussian(), [[1.0]]).singular_values()) == 0


def test_kernels_are_resolved_on_their_own_samples(rng):
    X, Y = rng.normal(size=(10, 2)), 5 * rng.normal(size=(10, 1))
    k = Gaussian("median")
    C = cross_covariance(k, X, k, Y)
    assert C.kernel_x == k.resolve(X)
    assert C.kernel_y == k.resolve(Y)
    assert not covariance(k, X).kernel_x.unresolved


def test_bad_input(rng):
    k, l = Gaussian(), Laplacian()
    X = rng.normal(size=(5, 1))
    C = cross_covariance(k, X, l, X)
    with pytest.raises(ValueError, match="paired"):
        cross_covariance(k, X, l, X[:3])
    with pytest.raises(ValueError, match="at least one sample"):
        covariance(k, X[:0])
    with pytest.raises(ValueError, match=r"\(5, 5\)"):
        HSOperator.from_matrix(k, X, np.eye(3), l, X)
    with pytest.raises(ValueError, match="2 functions"):
        outer(RKHSFunction(k, X, np.ones((5, 2))), k.at(0.0))
    for wrong in (
        lambda: C(k.at(0.0)),
        lambda: C.bilinear(l.at(0.0), l.at(0.0)),
        lambda: C + C.T,
        lambda: C @ C,
        lambda: C.trace(),
        lambda: C.eigenfunctions(),
        lambda: C.hs_inner(C.T),
        lambda: sum([C, covariance(k, X)], start=C),
    ):
        with pytest.raises(TypeError, match="different spaces"):
            wrong()
    with pytest.raises(TypeError):
        C + 1
    with pytest.raises(TypeError):
        C @ k.at(0.0)


def test_repr(rng):
    X = rng.normal(size=(5, 1))
    assert repr(covariance(Gaussian(), X)) == "HSOperator(rank <= 5, k = Gaussian())"
    assert repr(np.float64(2) * outer(Gaussian().at(0.0), Linear().at(1.0))) == (
        "HSOperator(rank <= 1, k = Gaussian(), from the space of k = Linear())"
    )
