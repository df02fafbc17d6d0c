"""Constants, sums, products and powers: values, diagonals, features, gradients, types."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    Constant,
    Exponential,
    Gaussian,
    Linear,
    Matern,
    Plan,
    Polynomial,
    RationalQuadratic,
    Spectrum,
    direct_sum,
    tensor,
)
from mercer.features.products import MAX_COLUMNS

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
D2 = ((X[:, None] - Y[None]) ** 2).sum(axis=2)
DOT = X @ Y.T


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (Gaussian() + Linear(), np.exp(-D2 / 2) + DOT),
        (Gaussian() * Linear(), np.exp(-D2 / 2) * DOT),
        (2 * Gaussian() + 3, 2 * np.exp(-D2 / 2) + 3),
        (3 + Gaussian() * 2, 2 * np.exp(-D2 / 2) + 3),
        ((Linear() + 1) ** 3, (DOT + 1) ** 3),
        (Linear() ** 7, DOT**7),
        (Gaussian() ** 2 * (Linear() + 0.5) / 4, np.exp(-D2) * (DOT + 0.5) / 4),
        (Constant(2) * Constant(3) + Constant(1), np.full((6, 4), 7.0)),
        (Constant(2) ** 5, np.full((6, 4), 32.0)),
        (0 * Gaussian() + Linear(), DOT),
        (sum([Gaussian(), Linear(), Linear()]), np.exp(-D2 / 2) + 2 * DOT),
    ],
    ids=repr,
)
def test_values(kernel, wanted):
    assert np.allclose(kernel(X, Y), wanted, rtol=1e-12)
    K = kernel(X)
    assert np.allclose(kernel.diag(kernel.prepare(X)), np.diag(kernel(X, X.copy())), rtol=1e-12)
    assert np.array_equal(K, K.T)


def test_parts_are_not_overwritten():
    stored = DOT.copy()

    class Same(Linear):
        def profile(self, T):
            return stored.copy()

    k = Same() * Same() + Same()
    assert np.allclose(k(X, Y), DOT**2 + DOT)
    assert np.array_equal(stored, DOT)


# ---- features -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel",
    [
        Linear() + 1,
        Linear() * Linear(),
        (Linear() + 2) ** 3,
        2 * Polynomial(degree=2) + Linear(),
        Constant(3),
        (Linear() + 1).normalize() * Linear(),
    ],
    ids=repr,
)
def test_features_give_the_kernel(kernel):
    P = kernel.prepare(X)
    phi = kernel.features(P)
    assert phi.shape == (6, kernel.n_features(P))
    assert np.allclose(phi @ phi.T, kernel(X))
    S = kernel.prepare(sp.csr_matrix(X))
    psi = kernel.features(S)
    assert psi.shape == (6, kernel.n_features(S))
    dense = psi.toarray() if sp.issparse(psi) else psi
    assert np.allclose(dense @ dense.T, kernel(X))


@pytest.mark.parametrize("kernel", [Gaussian() + Linear(), Linear() * Gaussian(), Gaussian() ** 2])
def test_infinite_features(kernel):
    assert kernel.features(kernel.prepare(X)) is None
    assert kernel.n_features(kernel.prepare(X)) is None


def test_wide_sparse_features():
    """Codes of k-mers need int64 columns; times a few columns they stay sparse and exact."""
    pairs = [(0.5, "abracadabra"), (2.0, "cadabra"), (-1.0, "abc")]
    k = 3 * Spectrum(3).on(1) * (Linear().on(0) + 1) + Spectrum(2).on(1)
    P = k.prepare(pairs)
    phi = k.features(P)
    assert (phi is None) == (k.n_features(P) is None)
    if phi is not None:
        assert phi.shape[1] <= MAX_COLUMNS
        close = k.gram(pairs, Plan(storage="lowrank")).to_dense()
        assert np.allclose(close, k(pairs))
    huge = Spectrum(3) ** 40
    words = [p[1] for p in pairs]
    assert huge.n_features(huge.prepare(words)) is None
    assert huge.features(huge.prepare(words)) is None


def test_enormous_dense_features_are_none():
    k = (Polynomial(degree=3) ** 3) ** 4
    P = k.prepare(X)
    assert k.n_features(P) is None
    assert k.features(P) is None
    assert k.gram(X).to_dense() == pytest.approx((X @ X.T + 1) ** 36)
    product = Polynomial(degree=20) * Polynomial(degree=20) * Linear()
    assert product.n_features(product.prepare(X)) is None


def test_powers_of_sparse_features_do_not_explode():
    S = sp.random(300, 1100, density=0.2, format="csr", random_state=0)
    for k in (Linear() + 1, 2 * Linear(), Linear() * (Linear().on([0, 1]) + 1)):
        assert Plan().explain(k, S).startswith("LowRankGram")
        assert np.allclose(k.gram(S).to_dense(), k(S))
    for k in ((Linear() + 1) ** 4, Linear() * Linear()):  # 10^9 and 10^5 numbers per sample
        assert Plan().explain(k, S).startswith("DenseGram")


# ---- gradients ----------------------------------------------------------------------------
def central_difference(kernel, X, Y, W, h=1e-5):
    """sum_j W_ij dk(x_i, y_j)/dx_i, one coordinate at a time."""
    G = np.empty_like(X)
    for c in range(X.shape[1]):
        step = np.zeros(X.shape[1])
        step[c] = h
        G[:, c] = (W * (kernel(X + step, Y) - kernel(X - step, Y))).sum(axis=1) / (2 * h)
    return G


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian() + Linear(),
        Gaussian(0.7) * Linear(),
        (Linear() + 1) ** 3,
        Gaussian(2.0) ** 2,
        2 * Matern(nu=2.5) + 1,
        Matern(nu=1.5) * Exponential(0.3) + RationalQuadratic() * Polynomial(degree=2),
        Constant(2) + Gaussian([0.5, 1.0, 2.0]),
    ],
    ids=repr,
)
def test_gradients(kernel):
    W = rng.normal(size=(6, 4))
    G = kernel.grad_input(kernel.prepare(X), kernel.prepare(Y), W)
    assert np.allclose(np.broadcast_to(G, X.shape), central_difference(kernel, X, Y, W), atol=1e-7)


def test_gradient_of_a_constant():
    assert np.array_equal(Constant(2).grad_input(np.zeros((3, 0)), Y, np.ones((3, 4))), [[0.0]] * 3)


# ---- types and domains --------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel",
    [Gaussian() + 1, 2.5 * Gaussian(), Linear() * Gaussian(), (Linear() + 1) ** 3, Gaussian() / 3],
    ids=repr,
)
def test_float32_stays_float32(kernel):
    K = kernel(X.astype(np.float32))
    assert K.dtype == np.float32
    assert np.allclose(K, kernel(X), rtol=1e-4, atol=1e-5)


def test_sparse_equals_dense():
    S, T = sp.csr_matrix(np.where(X > 0.3, X, 0)), sp.csr_matrix(np.where(Y > 0, Y, 0))
    for k in (Gaussian() * (Linear() + 1), (Gaussian() + Linear()) ** 2, Matern() + Polynomial()):
        assert np.allclose(k(S, T), k(S.toarray(), T.toarray()), rtol=1e-12)
        assert np.allclose(k(S), k(S.toarray()), rtol=1e-12)


def test_tensor_and_direct_sum():
    pairs = [(0.0, "aba"), (1.0, "abb"), (0.5, "b")]
    a = Gaussian()(np.array([p[0] for p in pairs]))
    b = Spectrum(2)([p[1] for p in pairs])
    assert repr(tensor(Gaussian(), Spectrum(2))) == "Gaussian().on(0) * Spectrum(k=2).on(1)"
    assert np.allclose(tensor(Gaussian(), Spectrum(2))(pairs), a * b)
    assert np.allclose(direct_sum(Gaussian(), Spectrum(2))(pairs), a + b)


def test_errors_of_the_parts_come_through():
    with pytest.raises(ValueError, match="X has 3 features, but the other sample has 2 features"):
        (Gaussian() + Linear())(X, Y[:, :2])
    with pytest.raises(ValueError, match="lengthscale has shape"):
        (Gaussian([1.0, 2.0]) * Linear())(X)
