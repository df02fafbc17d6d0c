"""Mean embeddings of known distributions against quadrature, sampling and each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import dblquad, quad
from sklearn.mixture import GaussianMixture

from mercer import (
    Gaussian,
    KnownEmbedding,
    Laplacian,
    Linear,
    NormalMixture,
    RKHSFunction,
    mean_embedding,
    mmd,
)
from mercer.exceptions import NumericalWarning, UnresolvedError

K = Gaussian(0.7)
LINE = [
    stats.norm(0.5, 1.2),
    stats.uniform(-1, 3),
    stats.expon(),
    stats.beta(0.5, 0.5),
    stats.gamma(0.3),
    stats.t(3),
    stats.lognorm(1.0),
]


def density_mean(kernel, P, x):
    low, high = max(P.ppf(1e-13), x - 40), min(P.isf(1e-13), x + 40)
    value, _ = quad(
        lambda z: float(kernel([[x]], [[z]])[0, 0]) * P.pdf(z),
        low, high, points=[x] if low < x < high else None, epsabs=1e-11, limit=500,
    )  # fmt: skip
    return value


@pytest.mark.parametrize("P", LINE[:3] + LINE[5:], ids=lambda P: P.dist.name)
def test_values_by_quadrature(P):
    mu = KnownEmbedding(K, P)
    for x in (-0.3, 1.4):
        assert mu([[x]])[0] == pytest.approx(density_mean(K, P, x), abs=max(1e-7, mu.error))


@pytest.mark.parametrize("P", LINE, ids=lambda P: P.dist.name)
def test_values_and_norms_by_sampling(P):
    Z = P.rvs((2, 20_000), random_state=0)
    mu = KnownEmbedding(K, P)
    x = np.linspace(-2, 4, 7)[:, None]
    block = K(x, Z[0][:, None])
    spread = block.std(axis=1) / np.sqrt(20_000)
    assert np.all(np.abs(mu(x) - block.mean(axis=1)) < 5 * spread + 1e-12)
    pairs = np.exp(-((Z[0] - Z[1]) ** 2) / (2 * 0.49))
    assert abs(mu.inner(mu) - pairs.mean()) < 5 * pairs.std() / np.sqrt(20_000)
    assert mu.norm() == pytest.approx(np.sqrt(mu @ mu))


@pytest.mark.parametrize("P", LINE[:2], ids=lambda P: P.dist.name)
@pytest.mark.parametrize("Q", [stats.norm(-1, 0.4), stats.uniform(0.5, 1), stats.expon(0.2)],
                         ids=lambda P: P.dist.name)  # fmt: skip
def test_inner_products_by_quadrature(P, Q):
    mu, nu = KnownEmbedding(K, P), KnownEmbedding(K, Q)
    wanted, _ = quad(
        lambda z: mu([[z]])[0] * Q.pdf(z), Q.ppf(1e-14), Q.isf(1e-14), epsabs=1e-11, limit=300
    )
    assert mu @ nu == pytest.approx(wanted, abs=1e-7)
    assert mu @ nu == pytest.approx(nu @ mu, abs=1e-12)


def test_uniform_norm():
    P = stats.uniform(2, 1.5)
    wanted, _ = dblquad(lambda y, x: np.exp(-((x - y) ** 2) / 0.98) / 1.5**2, 2, 3.5, 2, 3.5)
    assert KnownEmbedding(K, P).norm() ** 2 == pytest.approx(wanted, rel=1e-7)
    far = KnownEmbedding(K, stats.uniform(0, 1))([[20.0], [-19.0], [24.0]])
    assert far[0] == pytest.approx(far[1], rel=1e-8)
    assert far[2] > 0  # no cancellation in either tail


def test_closed_forms_agree_with_quadrature():
    """Sums of kernels are integrated by nodes, though this one is the same kernel."""
    doubled = 0.5 * Gaussian(0.7) + 0.5 * Gaussian(0.7)
    for P in (stats.norm(0.5, 1.2), stats.uniform(-1, 3)):
        closed, nodes = KnownEmbedding(K, P), KnownEmbedding(doubled, P)
        assert nodes.error > 0 == closed.error
        x = np.linspace(-3, 3, 9)[:, None]
        assert np.abs(closed(x) - nodes(x)).max() <= max(nodes.error, 1e-13)
        assert closed.norm() == pytest.approx(nodes.norm(), abs=1e-8)


def test_several_variables(rng):
    S = np.array([[1.0, 0.4], [0.4, 0.5]])
    k = Gaussian([0.7, 1.5])
    P = stats.multivariate_normal([0.2, -0.5], S)
    Z = P.rvs(200_000, random_state=0)
    mu = KnownEmbedding(k, P)
    x = rng.normal(size=(4, 2))
    assert mu(x) == pytest.approx(k(x, Z).mean(axis=1), abs=5e-3)
    pairs = np.exp(-0.5 * (((Z[::2] - Z[1::2]) / [0.7, 1.5]) ** 2).sum(axis=1))
    assert mu @ mu == pytest.approx(pairs.mean(), abs=5e-3)
    assert KnownEmbedding(k, ([0.2, -0.5], S)) @ mu == pytest.approx(mu @ mu)


def test_mixtures(rng):
    parts = [stats.norm(0, 1), stats.norm(3, 0.5)]
    mixture = NormalMixture([0.3, 0.7], [[0.0], [3.0]], [1.0, 0.25], "spherical")
    mu = KnownEmbedding(K, mixture)
    x = np.linspace(-2, 5, 8)[:, None]
    each = [KnownEmbedding(K, p) for p in parts]
    assert mu(x) == pytest.approx(0.3 * each[0](x) + 0.7 * each[1](x))
    G = np.array([[p @ q for q in each] for p in each])
    assert mu @ mu == pytest.approx(np.array([0.3, 0.7]) @ G @ [0.3, 0.7])
    X = rng.normal(size=(80, 2))
    fitted = GaussianMixture(2, random_state=0).fit(X)
    assert KnownEmbedding(K, fitted).norm() > 0


def test_known_and_sample(rng):
    """The maximum mean discrepancy to a sample; that to a large sample of P comes near it."""
    P = stats.norm(0, 1)
    X = rng.normal(0.5, 1, (200, 1))
    mu = KnownEmbedding(K, P)
    distance = mu.distance(mean_embedding(K, X))
    large = P.rvs((3000, 1), random_state=1)
    assert distance**2 == pytest.approx(mmd(X, large, K, biased=True), abs=5e-3)
    assert mean_embedding(K, X) @ mu == pytest.approx(mu(X).mean())
    f = RKHSFunction(K, [[0.0], [2.0]], [1.0, -3.0])
    assert mu @ f == pytest.approx(f(P.rvs((200_000, 1), random_state=2)).mean(), abs=0.02)
    family = RKHSFunction(K, [[0.0], [2.0]], np.eye(2))
    assert mu.inner(family) == pytest.approx(mu([[0.0], [2.0]]))


def test_other_kernels_on_the_line():
    P = stats.norm(1.0, 2.0)
    linear = KnownEmbedding(Linear(), P)
    assert linear([[3.0]])[0] == pytest.approx(3.0, abs=1e-6)
    with pytest.warns(NumericalWarning, match="error of at most"):
        kinked = KnownEmbedding(Laplacian(), P)
    assert abs(kinked([[0.3]])[0] - density_mean(Laplacian(), P, 0.3)) < kinked.error


def test_discrete_distributions_and_atoms():
    P = stats.poisson(4)
    mu = KnownEmbedding(K, P)
    n = np.arange(60)
    x = np.array([[0.5], [3.0]])
    assert mu(x) == pytest.approx(K(x, n[:, None] * 1.0) @ P.pmf(n), abs=1e-8)


def test_text():
    assert repr(KnownEmbedding(K, stats.norm(0, 1))) == (
        "KnownEmbedding(norm, k = Gaussian(lengthscale=0.7))"
    )


def test_bad_input():
    with pytest.raises(UnresolvedError, match="median"):
        KnownEmbedding(Gaussian("median"), stats.norm(0, 1))
    with pytest.raises(TypeError, match=r"scipy\.stats"):
        KnownEmbedding(K, "normal")
    with pytest.raises(NotImplementedError, match="Gaussian kernel only"):
        KnownEmbedding(Laplacian(), stats.multivariate_normal([0, 0]))
    with pytest.raises(ValueError, match="2 variables"):
        KnownEmbedding(K, stats.multivariate_normal([0, 0]))([[1.0]])
    with pytest.raises(ValueError, match="lengthscales"):
        KnownEmbedding(Gaussian([1.0, 2.0, 3.0]), stats.multivariate_normal([0, 0]))
    with pytest.raises(TypeError, match="different spaces"):
        KnownEmbedding(K, stats.norm()) @ KnownEmbedding(Gaussian(2.0), stats.norm())
    with pytest.raises(ValueError, match="no inner product"):
        KnownEmbedding(K, stats.norm(0, 1)) @ KnownEmbedding(K, ([0, 0], np.eye(2)))
