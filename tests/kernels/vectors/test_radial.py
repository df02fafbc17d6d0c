"""Kernels of the distance against scikit-learn, closed forms and quadrature."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.spatial.distance import cdist
from scipy.special import gammaln
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from mercer import Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.exceptions import DomainError

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(8, 3)), rng.normal(size=(5, 3))
D = cdist(X, Y)
SCALES = np.array([0.5, 1.0, 3.0])
ALL = [
    Gaussian(0.8),
    Gaussian(SCALES),
    Laplacian(0.8),
    Laplacian(SCALES, p=1),
    Matern(0.8, nu=0.5),
    Matern(0.8, nu=1.5),
    Matern(SCALES, nu=2.5),
    Matern(0.8, nu=2.2),
    RationalQuadratic(0.8, alpha=1),
    RationalQuadratic(SCALES, alpha=0.7),
]


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (Gaussian.from_gamma(0.4), rbf_kernel(X, Y, gamma=0.4)),
        (Gaussian(SCALES), gp.RBF(SCALES)(X, Y)),
        (Gaussian.from_sigma(1.7), np.exp(-(D**2) / (2 * 1.7**2))),
        (Gaussian.from_width(1.7), np.exp(-(D**2) / 1.7**2)),
        (Gaussian.from_variance(1.7), np.exp(-(D**2) / 1.7)),
        (Gaussian.from_bandwidth(1.7), np.exp(-(D**2) / (2 * 1.7))),
        (Laplacian(), np.exp(-D)),
        (Laplacian.from_gamma(0.4), np.exp(-0.4 * D)),
        (Laplacian.from_gamma(0.4, p=1), laplacian_kernel(X, Y, gamma=0.4)),
        (Laplacian(SCALES, p=1), laplacian_kernel(X / SCALES, Y / SCALES, gamma=1)),
        (Matern(1.3, nu=0.5), gp.Matern(1.3, nu=0.5)(X, Y)),
        (Matern(1.3, nu=1.5), gp.Matern(1.3, nu=1.5)(X, Y)),
        (Matern(SCALES, nu=2.5), gp.Matern(SCALES, nu=2.5)(X, Y)),
        (Matern(1.3, nu=0.8), gp.Matern(1.3, nu=0.8)(X, Y)),
        (Matern(1.3, nu=3.5), gp.Matern(1.3, nu=3.5)(X, Y)),
        (RationalQuadratic(1.3, alpha=0.7), gp.RationalQuadratic(1.3, 0.7)(X, Y)),
        (RationalQuadratic(1.3, alpha=1), gp.RationalQuadratic(1.3, 1)(X, Y)),
        (RationalQuadratic(1.3, alpha=1e6), np.exp(-(D**2) / (2 * 1.3**2))),
    ],
    ids=lambda v: repr(v) if not isinstance(v, np.ndarray) else "",
)
def test_formulas(kernel, wanted):
    rtol = 1e-5 if getattr(kernel, "alpha", 0) == 1e6 else 1e-10
    assert np.allclose(kernel(X, Y), wanted, rtol=rtol, atol=1e-15)


@pytest.mark.parametrize("nu", [0.3, 0.5, 1.0, 1.5, 2.5, 7.3, 20.0, 50.0])
def test_matern_is_a_mixture_of_gaussians(nu):
    """E exp(-r^2 / 2s) with s of a Gamma(nu, nu) distribution, by quadrature in log s."""
    constant = nu * np.log(nu) - gammaln(nu)
    for r in (1e-3, 0.1, 0.7, 2.0):

        def integrand(t, r=r):
            return np.exp(constant + nu * t - nu * np.exp(t) - r * r / 2 * np.exp(-t))

        pieces = [(-60 / min(nu, 10), -2), (-2, 0), (0, 2), (2, 6)]
        wanted = sum(quad(integrand, a, b, epsabs=1e-13, limit=200)[0] for a, b in pieces)
        assert Matern(nu=nu)([[0.0]], [[r]])[0, 0] == pytest.approx(wanted, abs=3e-10)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_gram(kernel):
    K = kernel(X)
    assert np.array_equal(K, K.T)
    assert np.array_equal(np.diag(K), np.ones(8))
    assert np.linalg.eigvalsh(K)[0] > 0
    assert np.allclose(kernel(X, Y), kernel(np.vstack([X, Y]))[:8, 8:], rtol=1e-12)
    assert np.array_equal(kernel.diag(kernel.prepare(X)), np.ones(8))


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_pairs(kernel):
    whole = kernel(X, Y)
    for i, j in ((0, 0), (3, 2), (7, 4)):
        assert whole[i, j] == pytest.approx(kernel(X[i : i + 1], Y[j : j + 1])[0, 0], rel=1e-12)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_stationary(kernel):
    t = np.array([1.0, -2.0, 0.5])
    assert np.allclose(kernel(X + t, Y + t), kernel(X, Y), rtol=1e-11)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_large_common_offset(kernel, offset):
    """The rounding of X + offset itself is all that may show."""
    moved = kernel(X + offset, Y + offset)
    back = kernel((X + offset) - offset, (Y + offset) - offset)
    assert np.allclose(moved, back, atol=1e-11)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_duplicates(kernel, dtype):
    """Where the kernel has a kink, equal samples must give k(x, x) to the last bit."""
    Z = (100 * rng.normal(size=(40, 3))).astype(dtype)
    values = np.diag(kernel(Z, Z.copy()))
    if kernel.kinked:
        assert np.array_equal(values, np.ones(40))
    else:
        largest = np.max(Z.astype(float) ** 2 @ np.ones(3)) / np.min(kernel.lengthscale) ** 2
        assert np.allclose(values, 1, rtol=0, atol=8 * largest * np.finfo(dtype).eps)
    K = kernel(np.vstack([Z, Z]))
    assert np.array_equal(K, K.T)
    assert np.array_equal(np.diag(K), np.ones(80))


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_float32(kernel):
    K = kernel(X.astype(np.float32), Y.astype(np.float32))
    assert K.dtype == np.float32
    assert np.allclose(K, kernel(X, Y), atol=2e-6)


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_sparse(kernel):
    S, T = sp.csr_matrix(np.where(X > 0, X, 0)), sp.csr_matrix(np.where(Y > 0, Y, 0))
    wanted = kernel(S.toarray(), T.toarray())
    for left, right in ((S, T), (S.toarray(), T), (S, T.toarray())):
        assert np.allclose(kernel(left, right), wanted, rtol=1e-10)
    assert np.array_equal(np.diag(kernel(S)), np.ones(8))


@pytest.mark.parametrize("kernel", ALL, ids=repr)
def test_far_points(kernel):
    K = kernel([[0.0, 0.0, 0.0]], [[1e100, 0.0, 0.0]])
    assert np.all(np.isfinite(K))
    assert K[0, 0] == pytest.approx(0, abs=1e-20)


# ---- gradients ----------------------------------------------------------------------------
SMOOTH = [k for k in ALL if k.properties.smooth.at_least >= 1]


@pytest.mark.parametrize("kernel", SMOOTH, ids=repr)
def test_gradient(kernel):
    W, h = rng.normal(size=(8, 5)), 1e-6
    wanted = np.empty_like(X)
    for c in range(3):
        step = np.zeros(3)
        step[c] = h
        wanted[:, c] = (W * (kernel(X + step, Y) - kernel(X - step, Y))).sum(axis=1) / (2 * h)
    G = kernel.grad_input(kernel.prepare(X), kernel.prepare(Y), W)
    assert np.allclose(G, wanted, atol=1e-7)
    S, T = kernel.prepare(sp.csr_matrix(X)), kernel.prepare(sp.csr_matrix(Y))
    assert np.allclose(kernel.grad_input(S, T, W), G)
    same = kernel.grad_input(kernel.prepare(X[:1]), kernel.prepare(X[:1]), np.ones((1, 1)))
    assert np.allclose(same, 0)  # a maximum at x = y


@pytest.mark.parametrize("kernel", [Laplacian(), Matern(nu=0.5), Matern(nu=1)], ids=repr)
def test_no_gradient_at_a_kink(kernel):
    with pytest.raises(NotImplementedError, match="not differentiable where x = y"):
        kernel.grad_input(X, Y, np.ones((8, 5)))


def test_smooth_kernels_were_tested():
    assert len(SMOOTH) == 7


# ---- lengthscales and errors --------------------------------------------------------------
@pytest.mark.parametrize("rule", ["median", "scale"])
def test_lengthscales_from_data(rule):
    k = Gaussian(rule).resolve(X)
    wanted = (
        np.median(cdist(X, X)[np.triu_indices(8, 1)])
        if rule == "median"
        else np.sqrt(3 * X.var() / 2)
    )
    assert k.lengthscale == pytest.approx(wanted)
    assert np.allclose(Gaussian(rule)(X), k(X))
    assert k.resolve(100 * X) is k


def test_one_lengthscale_in_a_list_is_for_all():
    assert np.allclose(Gaussian([2.0])(X), Gaussian(2.0)(X))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: Gaussian([1.0, 2.0])(X), "lengthscale has shape (2,), but X has 3 features"),
        (lambda: Gaussian([[1.0, 2.0, 3.0]])(X), "give one number or one per feature"),
        (lambda: Laplacian(p=1)(X, Y[:, :2]), "X has 3 features, but the other sample has 2"),
        (lambda: Matern()(X, Y[:, :2]), "X has 3 features, but the other sample has 2"),
        (lambda: Gaussian()(["ab", "c"]), "Gaussian works on vectors"),
        (lambda: Gaussian()([[np.nan]]), "Gaussian: X contains NaN"),
        (lambda: Matern()(np.zeros((0, 2))), "Matern: X has no samples"),
        (lambda: Gaussian("median").resolve(["a"]), "Gaussian works on vectors"),
    ],
)
def test_errors(use, message):
    with pytest.raises(ValueError) as error:
        use()
    assert message in str(error.value)


def test_strings_are_refused_with_a_remedy():
    with pytest.raises(DomainError, match=r"For strings use Spectrum\(k\)"):
        Gaussian()(["ab", "c"])


@pytest.mark.parametrize("lengthscale", [1.7, 0.3, np.array([1.7, 3.1, 0.9])])
def test_float32_far_from_the_origin(lengthscale):
    """Dividing by a lengthscale in single precision would move samples by a part of it."""
    Z = (rng.normal(size=(30, 3)) + [1e6, 0, 5e4]).astype(np.float32)
    squared = ((Z.astype(float)[:, None] - Z.astype(float)) / lengthscale) ** 2
    for kernel, wanted in (
        (Gaussian(lengthscale), np.exp(-squared.sum(axis=2) / 2)),
        (Laplacian(lengthscale), np.exp(-np.sqrt(squared.sum(axis=2)))),
        (Laplacian(lengthscale, p=1), np.exp(-np.sqrt(squared).sum(axis=2))),
    ):
        for given in (Z, sp.csr_matrix(Z)):
            assert np.allclose(kernel(given), wanted, rtol=0, atol=1e-4)
            assert np.allclose(kernel(given[:9], given), wanted[:9], rtol=0, atol=1e-4)
