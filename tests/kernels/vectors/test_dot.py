"""Kernels of the inner product against scikit-learn, series and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel

from mercer import Binomial, Exponential, Gaussian, Linear, Plan, Polynomial
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

rng = np.random.default_rng(0)
X, Y = 0.3 * rng.normal(size=(8, 3)), 0.3 * rng.normal(size=(5, 3))
T = X @ Y.T


ALL = [
    Linear(),
    Polynomial(degree=3),
    Polynomial(degree=2, offset=0),
    Polynomial(degree=4, offset=0.5, scale=2.0),
    Exponential(),
    Exponential(0.3),
    Binomial(),
    Binomial(0.4),
]


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (Linear(), linear_kernel(X, Y)),
        (Polynomial(), polynomial_kernel(X, Y, degree=3, gamma=1, coef0=1)),
        (Polynomial(4, 0.5, 2.0), polynomial_kernel(X, Y, degree=4, gamma=2, coef0=0.5)),
        (Polynomial(1, 0), T),
        (Exponential(0.7), np.exp(0.7 * T)),
        (Binomial(), 1 / (1 - T)),
        (Binomial(2.5), (1 - T) ** -2.5),
    ],
    ids=lambda v: repr(v) if not isinstance(v, np.ndarray) else "",
)
def test_formulas(kernel, wanted):
    assert np.allclose(kernel(X, Y), wanted, rtol=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_gram(kernel):
    K = kernel(X)
    assert np.array_equal(K, K.T)
    assert np.allclose(np.diag(K), kernel.diag(kernel.prepare(X)), rtol=1e-15)
    assert np.allclose(kernel.diag(kernel.prepare(X)), np.diag(kernel(X, X.copy())))
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * np.trace(K)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_float32_and_sparse(kernel):
    K = kernel(X.astype(np.float32), Y.astype(np.float32))
    assert K.dtype == np.float32
    assert np.allclose(K, kernel(X, Y), rtol=1e-5)
    S = sp.csr_matrix(np.where(X > 0, X, 0))
    assert np.allclose(kernel(S), kernel(S.toarray()), rtol=1e-13)
    assert np.allclose(kernel(S, Y), kernel(S.toarray(), Y), rtol=1e-13)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_gradient(kernel):
    W, h = rng.normal(size=(8, 5)), 1e-6
    wanted = np.empty_like(X)
    for c in range(3):
        step = np.zeros(3)
        step[c] = h
        wanted[:, c] = (W * (kernel(X + step, Y) - kernel(X - step, Y))).sum(axis=1) / (2 * h)
    G = kernel.grad_input(kernel.prepare(X), kernel.prepare(Y), W)
    assert np.allclose(G, wanted, atol=1e-7)
    S, R = kernel.prepare(sp.csr_matrix(X)), kernel.prepare(sp.csr_matrix(Y))
    assert np.allclose(kernel.grad_input(S, R, W), G)


# ---- features -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel",
    [Linear(), Polynomial(2), Polynomial(3, offset=0), Polynomial(4, 0.5, 2.0)],
    ids=repr,
)
def test_features(kernel):
    P = kernel.prepare(X)
    phi = kernel.features(P)
    assert phi.shape == (8, kernel.n_features(P))
    assert np.allclose(phi @ phi.T, kernel(X), rtol=1e-12)
    assert np.allclose(kernel.gram(X, Plan(storage="lowrank")).to_dense(), kernel(X))
    assert np.linalg.matrix_rank(phi) == min(8, phi.shape[1])  # no feature is superfluous


def test_features_of_sparse_and_float32():
    S = sp.csr_matrix(X)
    assert sp.issparse(Linear().features(Linear().prepare(S)))
    k = Polynomial(2)
    assert np.allclose(k.features(k.prepare(S)), k.features(k.prepare(X)))
    assert k.features(k.prepare(X.astype("f4"))).dtype == np.float32


def test_too_many_monomials_are_none():
    k = Polynomial(degree=20)
    P = k.prepare(np.ones((2, 20)))
    assert k.n_features(P) is None
    assert k.features(P) is None
    assert (k * Linear()).features((k * Linear()).prepare(np.ones((2, 20)))) is None


# ---- errors -------------------------------------------------------------------------------
def test_ball():
    inside, outside = [[0.6, 0.79]], [[0.1, 0.1], [0.6, 0.8]]
    assert np.isfinite(Binomial()(inside)).all()
    with pytest.raises(DomainError, match=r"sample 1 has norm >= 1, .*rescale X"):
        Binomial()(outside)
    with pytest.raises(DomainError, match="sample 1"):
        Binomial()(inside, outside)
    with pytest.raises(DomainError, match="sample 0"):
        Binomial()(sp.csr_matrix([[1.0, 0.0]]))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: Linear()(X, Y[:, :2]), "X has 3 features, but the other sample has 2 features"),
        (lambda: Polynomial()(["a"]), "Polynomial works on vectors"),
        (lambda: Exponential()([[np.inf]]), "Exponential: X contains NaN or infinity"),
        (lambda: Exponential(scale=[1.0, 2.0]), "Exponential: scale must be positive"),
        (lambda: Binomial(alpha=0), "Binomial: alpha must be positive"),
    ],
)
def test_errors(use, message):
    with pytest.raises(ValueError) as error:
        use()
    assert message in str(error.value)


@pytest.mark.parametrize("size", [1.0, 100.0, 1e4])
def test_the_normalised_exponential_kernel_is_gaussian_at_any_size(size):
    """Values of the kernel itself overflow from ||x||^2 = 710 on."""
    X = size + np.random.default_rng(0).normal(size=(20, 3))
    wanted = Gaussian(1 / np.sqrt(0.7))(X)
    for kernel in (Exponential(0.7).normalize(), 2 * Exponential(0.7).normalize() / 2):
        assert np.allclose(kernel(X), wanted, atol=1e-14 * size**2)
    check_kernel(Exponential(0.7).normalize(), X[:, :1] - size)
    k = Exponential(0.7).normalize()
    P, W = k.prepare(X), np.random.default_rng(1).normal(size=(20, 20))
    up, down = (Gaussian(1 / np.sqrt(0.7 * np.exp(h)))(X) for h in (1e-4, -1e-4))
    slope = np.sum(W * (up - down)) / 2e-4
    assert k.grad_theta(P, P, W) == pytest.approx(slope, rel=1e-5, abs=1e-12 * size**2)
