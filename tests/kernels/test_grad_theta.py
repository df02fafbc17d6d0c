"""Gradients with respect to hyper-parameters, against central differences of the whole kernel."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import (
    Binomial,
    Categorical,
    Constant,
    Custom,
    Exponential,
    Fourier,
    Gaussian,
    Induced,
    Laplacian,
    Linear,
    Matern,
    MercerExpansion,
    Nystrom,
    Periodic,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Schoenberg,
    Spectrum,
    Spline,
    SquaredMetric,
    Taylor,
    Theta,
)
from mercer.kernels.algebra.anchored import Anchored
from mercer.kernels.algebra.rescaled import Rescaled
from mercer.kernels.algebra.sums import Binary
from mercer.kernels.algebra.transforms import Transform
from mercer.kernels.base import Kernel
from mercer.kernels.distributions.embeddings import EmbeddingGaussian, MeanEmbedding
from mercer.kernels.vectors.dot import Dot
from mercer.kernels.vectors.radial import Radial
from mercer.params import Params, positive
from mercer.testing import check_kernel

data = np.random.default_rng(0)
X, Y, Z = (data.normal(size=(n, 3)) for n in (9, 6, 5))
SCALES = np.array([0.5, 1.0, 3.0])


def inside(X):
    return np.ones(len(X), bool)


def shrunk(X):
    return np.tanh(X) / 2


def factor(X):
    return 1 + X[:, 0] ** 2


RADIAL = [
    *(k(s) for k in (Gaussian, Laplacian) for s in (0.8, [0.8], SCALES, SCALES.tolist())),
    *(Laplacian(s, p=1) for s in (0.8, [0.8], SCALES)),
    *(Matern(s, nu=nu) for s in (0.8, SCALES) for nu in (0.3, 0.5, 0.9, 1, 1.2, 1.5, 2.2, 2.5, 9)),
    *(RationalQuadratic(s, alpha=a) for s in (0.8, SCALES) for a in (0.3, 1, 40.0)),
]
DOT = [
    Polynomial(degree=1),
    Polynomial(degree=3, offset=0.5, scale=0.3),
    Polynomial(degree=2, offset=0, scale=0.3),
    Exponential(0.2),
    Taylor([1, 0, 2]),
    Linear(),
]
CIRCLE = [
    Periodic(0.7, period=1.5),
    Theta(0.2, period=1.5),
    Theta(2.0, period=5.0),
    Fourier([0.7, 0.0, 0.3, 0.05], period=1.5),
]
LEAVES = [*RADIAL, *DOT, Constant(3), Constant(0)]
NESTED = [
    Schoenberg(SquaredMetric(Gaussian(SCALES) + 2 * Linear()), 0.4),
    Induced(SquaredMetric(Matern(0.8, nu=1.5)), np.zeros(3)) + Gaussian(),
    *(k.on(1) for k in CIRCLE),
    Binomial(1.5).pullback(shrunk),
    Binomial(1).pullback(shrunk),
    Gaussian(0.5) + Matern(SCALES) + 2,
    2 * Gaussian(SCALES) * Laplacian(0.5).on(0) + 0.5 * Periodic(0.7, 1.5).on(2) * Linear(),
    (0.3 * Gaussian(0.5) + Polynomial(2, 0.5, 0.3)) ** 3,
    Gaussian(0.5) ** 1 * Constant(0),
    Constant(2) * Constant(3) + Constant(4),
    Linear() ** 2 * Gaussian(SCALES),
    (Polynomial(2, 0.5, 0.3) + RationalQuadratic(SCALES)).normalize(),
    (2 * Exponential(0.2)).normalize() * 3,
    Linear().normalize() + Gaussian(),
    (Polynomial(2, 0.5, 0.3) * Gaussian(SCALES)).modulate(factor),
    Gaussian(SCALES).restrict(inside),
    (Polynomial(2, 0.5, 0.3) + Gaussian(SCALES)).center(Z),
    (Polynomial(2, 0.5, 0.3) * Gaussian(SCALES)).through(Z),
    Gaussian([0.5, 2.0]).on([2, 0]).normalize(),
    Nystrom(Polynomial(2, 0.5, 0.3) + Gaussian(SCALES), Z),
]


def differences(kernel, X, Y, W, h=1e-4):
    """The derivatives of sum(W * kernel(X, Y)) along each entry of theta, to order h^4."""

    def value(move):
        return np.sum(W * kernel.with_theta(kernel.theta + move)(X, Y))

    return np.array(
        [
            (8 * (value(e) - value(-e)) - (value(2 * e) - value(-2 * e))) / (12 * h)
            for e in h * np.eye(len(kernel.theta))
        ]
    )


def close(got, wanted):
    assert got.shape == wanted.shape
    assert got.dtype == np.float64
    size = np.abs(wanted).max(initial=1)
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8 * size)


def check(kernel, X, Y, rng):
    P, Q = kernel.prepare(X), kernel.prepare(Y)
    W = rng.normal(size=(X.shape[0], Y.shape[0]))
    close(kernel.grad_theta(P, Q, W), differences(kernel, X, Y, W))
    W = rng.normal(size=(X.shape[0], X.shape[0]))
    close(kernel.grad_theta(P, P, W), differences(kernel, X, X, W))
    w = rng.normal(size=X.shape[0])
    wanted = differences(kernel, X, X, np.diag(w))
    close(kernel.grad_theta_diag(P, w), wanted)
    close(Kernel.grad_theta_diag(kernel, P, w), wanted)


@pytest.mark.parametrize("kernel", [*LEAVES, *NESTED], ids=repr)
def test_against_differences(kernel, rng):
    check(kernel, X, Y, rng)


@pytest.mark.parametrize("kernel", LEAVES, ids=repr)
def test_sparse(kernel, rng):
    S, T = (sp.csr_matrix(np.where(A > 0, A, 0)) for A in (X, Y))
    check(kernel, S, T, rng)
    W = rng.normal(size=(9, 6))
    wanted = kernel.grad_theta(kernel.prepare(S.toarray()), kernel.prepare(T.toarray()), W)
    for left, right in ((S, T), (S.toarray(), T), (S, T.toarray())):
        got = kernel.grad_theta(kernel.prepare(left), kernel.prepare(right), W)
        np.testing.assert_allclose(got, wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [*LEAVES, *NESTED], ids=repr)
def test_float32(kernel, rng):
    W = rng.normal(size=(9, 6))
    exact = kernel.grad_theta(kernel.prepare(X), kernel.prepare(Y), W)
    P, Q = (kernel.prepare(A.astype(np.float32)) for A in (X, Y))
    got = kernel.grad_theta(P, Q, W)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, exact, rtol=1e-3, atol=1e-4 * np.abs(exact).max(initial=1))
    single = kernel.grad_theta(P, Q, W.astype(np.float32))
    np.testing.assert_allclose(single, got, rtol=1e-3, atol=1e-4 * np.abs(exact).max(initial=1))


def parts(kernel):
    """The kernel and all kernels inside it."""
    inner = (parts(v) for _, v in kernel._items() if isinstance(v, Kernel))
    return [kernel, *chain.from_iterable(inner)]


ELSEWHERE = tuple(  # tested with data of their own, beside their values
    f"mercer.kernels.{room}"
    for room in (
        "strings",
        "trees",
        "bags",
        "series",
        "graphs",
        "rankings",
        "sets",
        "fuzzy",
        "distributions",
        "generative",
    )
)


def test_every_kernel_with_a_gradient_is_here():
    for name in mercer.__all__:
        getattr(mercer, name)  # registers its class
    tested = {type(part) for kernel in (*LEAVES, *NESTED) for part in parts(kernel)}
    refuses = (Kernel.grad_theta, Anchored.grad_theta)
    written = {
        cls
        for cls in Params.registry.values()
        if issubclass(cls, Kernel)
        and cls.__module__.startswith("mercer.")
        and not inspect.isabstract(cls)
        and cls.grad_theta not in refuses
        and not cls.__module__.startswith(ELSEWHERE)
    }
    shared = {Binary, Transform, Rescaled}
    on_bags = {EmbeddingGaussian, MeanEmbedding}  # with data of their own
    assert written - tested <= shared | on_bags


# ---- alignment with theta -----------------------------------------------------------------
def test_entries_are_those_of_theta():
    k = 2 * Gaussian([0.5, 2.0]).on([0, 1]) + Polynomial(2, offset=0, scale=0.3) * Constant(0)
    names = [(h.name, np.size(h.value)) for h in k.hyperparameters()]
    assert names == [
        ("left__left__value", 1),
        ("left__right__kernel__lengthscale", 2),
        ("right__left__scale", 1),
    ]
    P = k.prepare(X)
    got = k.grad_theta(P, P, np.ones((9, 9)))
    K = Gaussian([0.5, 2.0])(X[:, :2])
    squares = [np.subtract.outer(X[:, j], X[:, j]) ** 2 / s**2 for j, s in ((0, 0.5), (1, 2.0))]
    wanted = [2 * K.sum(), 2 * np.sum(K * squares[0]), 2 * np.sum(K * squares[1]), 0.0]
    np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_shared_lengthscale_is_the_sum_of_separate_ones(rng):
    W = rng.normal(size=(9, 6))
    for kind in (Gaussian, Laplacian, Matern, RationalQuadratic):
        one, each = kind(0.8), kind([0.8] * 3)
        P, Q = one.prepare(X), one.prepare(Y)
        got = one.grad_theta(P, Q, W)
        split = each.grad_theta(P, Q, W)
        np.testing.assert_allclose(got[0], split[:3].sum(), rtol=1e-10)
        np.testing.assert_allclose(got[1:], split[3:], rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "samples"),
    [
        (Spectrum(2), ["abab", "abc"]),
        (Categorical(), ["a", "b", "a"]),
        (Spline(2), [0.1, 0.5]),
        (Linear(), X),
        (Taylor([1.0, 2.0]), X),
        (Linear().normalize(), X),
        (Linear().center(X), X),
        (Linear() ** 2 * Linear(), X),
        (Precomputed(), np.eye(3)),
        (Custom(lambda x, y: 1.0), [1, 2]),
    ],
    ids=lambda v: repr(v) if isinstance(v, Kernel) else "",
)
def test_no_hyperparameters_no_entries(kernel, samples):
    P, n = kernel.prepare(samples), len(samples)
    assert kernel.grad_theta(P, P, np.ones((n, n))).shape == (0,)
    assert kernel.grad_theta_diag(P, np.ones(n)).shape == (0,)


def test_strings_and_labels_in_an_expression(rng):
    k = 0.5 * Spectrum(2).on(0).normalize() + Gaussian(0.7).on(1) * Categorical().on(2)
    samples = [("abab", 0.3, "u"), ("abc", 1.0, "v"), ("cab", -0.2, "u"), ("ba", 0.5, "v")]
    P, W = k.prepare(samples), rng.normal(size=(4, 4))
    close(k.grad_theta(P, P, W), differences(k, samples, samples, W))


# ---- numbers that are hard ----------------------------------------------------------------
@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_near_duplicates_and_offsets(kernel, offset, rng):
    """Slopes of order 1/r must not blow up the rounding of x'Vx + y'Vy - 2 x'Vy."""
    A = np.vstack([X, X, X + 1e-13, X + 1e-9, X + 1e-5 * rng.normal(size=X.shape)]) + offset
    W = rng.normal(size=(45, 45))
    P = kernel.prepare(A)
    moved = P[:, None, :] - P[None, :, :]
    R2 = np.sum(moved**2, axis=-1)
    if getattr(kernel, "p", 2) == 1:
        V = W * np.exp(-np.abs(moved).sum(axis=-1))
        wanted = np.einsum("ij,ijd->d", V, np.abs(moved))
    else:
        wanted = -2 * np.einsum("ij,ijd->d", W * kernel.slope(R2), moved**2)
    size = np.size(kernel.lengthscale)
    wanted = wanted if size > 1 else wanted.sum(keepdims=True)
    got = kernel.grad_theta(P, P, W)[:size]
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("kernel", RADIAL, ids=repr)
def test_far_points(kernel):
    P, Q = kernel.prepare([[0.0, 0.0, 0.0]]), kernel.prepare([[1e100, 0.0, 0.0]])
    got = kernel.grad_theta(P, Q, np.ones((1, 1)))
    assert np.abs(got).max() < 1e-20


def test_periods_count_all_turns(rng):
    """Samples many turns apart, whose angles alone do not tell how the period moves them."""
    x, y = rng.uniform(-300, 300, 8), rng.uniform(5000, 6000, 6)
    W = rng.normal(size=(8, 6))
    for k in CIRCLE:
        got = k.grad_theta(k.prepare(x), k.prepare(y), W)
        wanted = differences(k, x, y, W, h=1e-7)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


# ---- kernels without a gradient -----------------------------------------------------------
@dataclass(eq=False, repr=False)
class Bump(Radial):
    height: float = positive(1.0)

    def profile(self, D):
        return np.exp(-D)

    def slope(self, R2):
        return -np.exp(-R2)


@dataclass(eq=False, repr=False)
class Shift(Dot):
    offset: float = positive(1.0)

    def profile(self, T):
        return T + self.offset

    def slope(self, T):
        return np.ones_like(T)


@pytest.mark.parametrize(
    "kernel", [MercerExpansion().on(0), 2 * MercerExpansion().on(0), Bump(), Shift()]
)
def test_a_missing_gradient_says_so(kernel):
    P = kernel.prepare(X)
    name = next(n for n in ("MercerExpansion", "Bump", "Shift") if n in repr(kernel))
    with pytest.raises(NotImplementedError, match=f"{name} has no gradient with respect to its"):
        kernel.grad_theta(P, P, np.ones((9, 9)))


@dataclass(eq=False, repr=False)
class Scaled(Linear):
    """The right kernel with a gradient by the variance instead of its logarithm."""

    variance: float = positive(2.0)
    power = 0
    wrong_diag = False

    def profile(self, T):
        return self.variance * T

    def slope(self, T):
        return np.full_like(T, self.variance)

    def features(self, X):
        return np.sqrt(self.variance) * X

    def theta_slopes(self, T):
        yield T * self.variance**self.power

    def grad_theta_diag(self, X, w):
        return super().grad_theta_diag(X, w) * (2 if self.wrong_diag else 1)


@dataclass(eq=False, repr=False)
class ScaledRight(Scaled):
    power = 1


@dataclass(eq=False, repr=False)
class ScaledOnDiagonal(ScaledRight):
    wrong_diag = True


def test_the_shipped_check_compares_gradients():
    check_kernel(ScaledRight(), X)
    with pytest.raises(AssertionError, match="grad_theta differs from central differences"):
        check_kernel(Scaled(), X)
    with pytest.raises(AssertionError, match="grad_theta_diag differs"):
        check_kernel(ScaledOnDiagonal(), X)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(SCALES),
        Gaussian(2.0),
        Matern(1.5, 0.7),
        Laplacian(SCALES),
        Laplacian(1.3, p=2),
        RationalQuadratic(SCALES, alpha=0.8),
        Gaussian(1.5) + 2 * Linear(),
        3 * Gaussian(SCALES),
        Linear(),
    ],
    ids=repr,
)
def test_sums_with_weights_and_their_slopes(kernel):
    P, Q, W = kernel.prepare(X), kernel.prepare(Y), data.normal(size=(9, 6))
    total, slopes = kernel.weighed(P, Q, W)
    assert total == pytest.approx(np.sum(W * kernel.pairwise(P, Q)))
    np.testing.assert_allclose(slopes, kernel.grad_theta(P, Q, W), rtol=1e-12)


def test_slopes_of_ones_own_are_those_of_a_multiple():
    @dataclass(eq=False, repr=False)
    class Odd(Gaussian):
        def grad_theta(self, X, Y, W):
            return np.array([17.0])

    kernel = 2 * Odd(1.0)
    P, Q = kernel.prepare(X), kernel.prepare(Y)
    W = np.ones((9, 6))
    values = 2 * Gaussian(1.0)(X, Y).sum()
    np.testing.assert_allclose(kernel.grad_theta(P, Q, W), [values, 17.0])
