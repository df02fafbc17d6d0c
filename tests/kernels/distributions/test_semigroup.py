"""Semigroup kernels against entropies by scipy, and determinants of covariances by numpy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from sklearn.base import clone

from mercer import (
    SVC,
    Custom,
    Gaussian,
    GaussianProcessRegressor,
    Kendall,
    KernelPCA,
    Laplacian,
    Linear,
    Polynomial,
    Semigroup,
    SemigroupEntropy,
    SemigroupVariance,
    Spectrum,
    load,
    parse,
    save,
    two_sample_test,
)
from mercer.exceptions import DomainError
from mercer.kernels.distributions import semigroup
from mercer.testing import check_kernel

POINTS = [Linear(), Polynomial(2), Gaussian(0.8), Laplacian()]


@pytest.fixture
def histograms(rng):
    return rng.poisson(0.7, (30, 12)) + np.eye(12)[rng.integers(0, 12, 30)]


@pytest.fixture
def bags(rng):
    return [rng.normal(rng.normal(), 1, (rng.integers(1, 9), 2)) for _ in range(14)]


# ---- the entropy of a mixture --------------------------------------------------------------------
def test_entropies(histograms):
    P = histograms / histograms.sum(axis=1, keepdims=True)
    H = np.array([[entropy((p + q) / 2) for q in P] for p in P])
    assert SemigroupEntropy(1.7)(histograms) == pytest.approx(np.exp(-1.7 * H), rel=1e-12)
    JS = np.array([[jensenshannon(p, q) ** 2 for q in P] for p in P])
    got = SemigroupEntropy(1.7).normalize()(histograms)
    assert got == pytest.approx(np.exp(-1.7 * JS), rel=1e-7)


def test_promises_of_entropies(histograms, monkeypatch):
    for k in (SemigroupEntropy(), SemigroupEntropy(0.2).normalize(), 2 * SemigroupEntropy(3.0)):
        check_kernel(k, histograms)
    check_kernel(SemigroupEntropy(), histograms.astype(np.float32))
    K = SemigroupEntropy()(histograms)
    assert SemigroupEntropy()(sp.csr_matrix(histograms)) == pytest.approx(K)
    assert SemigroupEntropy()(pd.DataFrame(histograms)) == pytest.approx(K)
    assert SemigroupEntropy()(histograms * 1e300) == pytest.approx(K)
    monkeypatch.setattr(semigroup, "_TOGETHER", 50)
    assert SemigroupEntropy()(histograms) == pytest.approx(K)


def test_bad_histograms(histograms):
    k = SemigroupEntropy()
    with pytest.raises(DomainError, match=r"numbers >= 0, but X contains -1"):
        k([[1.0, -1.0]])
    with pytest.raises(DomainError, match="sample 1 has no mass"):
        k([[1.0, 1.0], [0.0, 0.0]])
    with pytest.raises(ValueError, match="features"):
        k(histograms, 1 + histograms[:, :3])
    with pytest.raises(ValueError, match="decay must be positive"):
        SemigroupEntropy(-1.0)


# ---- the generalised variance --------------------------------------------------------------------
def brute(phi, bags, eta):
    """det(I + Sigma / eta)^(-1/2) of explicit features, each bag with half of the weight."""
    K = np.empty((len(bags), len(bags)))
    for i, P in enumerate(bags):
        for j, Q in enumerate(bags):
            both = np.concatenate([phi(P), phi(Q)])
            weights = np.repeat([0.5 / len(P), 0.5 / len(Q)], [len(P), len(Q)])
            S = np.atleast_2d(np.cov(both.T, aweights=weights, ddof=0))
            K[i, j] = np.linalg.det(np.eye(len(S)) + S / eta) ** -0.5
    return K


def test_variances(bags):
    wanted = brute(lambda P: P, bags, 0.3)
    assert SemigroupVariance(Linear(), 0.3)(bags) == pytest.approx(wanted, rel=1e-10)
    far = [bag + 1e6 for bag in bags]
    assert SemigroupVariance(Linear(), 0.3)(far) == pytest.approx(wanted, rel=1e-6)
    by_values = SemigroupVariance(Custom(lambda a, b: float(a @ b)), 0.3)
    assert by_values(bags) == pytest.approx(wanted, rel=1e-10)


def test_variances_of_many_features(bags, rng):
    A = rng.normal(size=(2, 200)) / 10  # more features than are kept
    high = [bag @ A for bag in bags]
    wanted = brute(lambda P: P, high[:6], 0.5)
    assert SemigroupVariance(Linear(), 0.5)(high[:6]) == pytest.approx(wanted, rel=1e-9)


def test_variances_in_feature_space(bags):
    def squares(P):
        return np.column_stack([P**2, np.sqrt(2) * P[:, 0] * P[:, 1]])

    wanted = brute(squares, bags[:8], 0.7)
    k = SemigroupVariance(Polynomial(2, offset=0.0), 0.7)
    assert k(bags[:8]) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("k", POINTS, ids=repr)
def test_promises_of_variances(k, bags):
    check_kernel(SemigroupVariance(k, 0.4), bags)
    check_kernel(SemigroupVariance(k, 2.0).normalize(), bags[:10])


def test_bags_of_other_samples(rng):
    texts = [["".join(rng.choice(list("ab"), 5)) for _ in range(3)] for _ in range(12)]
    check_kernel(SemigroupVariance(Spectrum(2)), texts)
    ballots = [np.argsort(rng.random((4, 5)), axis=1) for _ in range(12)]
    check_kernel(SemigroupVariance(Kendall(), 0.2), ballots)
    check_kernel(SemigroupVariance(Gaussian("median"), 0.2), ballots)


def test_values_too_small_for_numbers_are_normalised_from_logarithms(bags, rng):
    high = [rng.normal(0, 1, (90, 60)) for _ in range(5)]
    k = SemigroupVariance(Linear(), 1e-12)
    assert k(high).max() == 0
    both = [[np.concatenate([P, Q]) for Q in high] for P in high]
    L = np.array([[np.linalg.slogdet(np.cov(R.T, ddof=0))[1] for R in row] for row in both])
    d = np.diagonal(L)
    wanted = np.exp((d[:, None] + d) / 4 - L / 2)
    assert k.normalize()(high) == pytest.approx(wanted, rel=1e-6)
    P = np.array([[1.0, 1.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.1, 0.0]])
    got = SemigroupEntropy(5000.0).normalize()(P)
    wanted = [[np.exp(-5000 * jensenshannon(p, q) ** 2) for q in P] for p in P]
    assert got == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-12)
    for kernel, X in ((SemigroupEntropy(5000.0), P), (SemigroupVariance(Gaussian(), 0.1), bags)):
        check_kernel(kernel.normalize(), X)


def test_bags_of_one_point_and_of_equal_points():
    k = SemigroupVariance(Gaussian(), 0.5)
    assert k([[[1.0]], [[1.0], [1.0]]]) == pytest.approx(np.ones((2, 2)))


def test_eta_is_too_small_for_what_is_no_kernel():
    k = SemigroupVariance(Custom(lambda a, b: -float(a[0] * b[0])), 1e-3)
    with pytest.raises(DomainError, match="not positive definite, or eta"):
        k([[[0.0], [3.0]], [[1.0]]])
    assert k.properties.psd.unknown


def test_use(rng, tmp_path):
    """Bags that differ by their spread."""
    y = np.repeat([0, 1], 20)
    X = [rng.normal(0, s, (30, 2)) for s in 1 + y]
    H = np.array([np.histogram(bag, np.linspace(-6, 6, 13))[0] for bag in X])
    for k, data in ((SemigroupVariance(Linear(), 0.5), X), (SemigroupVariance(Gaussian()), X),
                    (SemigroupEntropy(), H)):  # fmt: skip
        assert parse(repr(k)) == k == clone(k)
        model = SVC(k, C=100).fit(data[::2], y[::2])
        assert model.score(data[1::2], y[1::2]) > 0.85
        save(model, tmp_path / "model")
        assert np.array_equal(load(tmp_path / "model").predict(data), model.predict(data))
        assert KernelPCA(2, kernel=k).fit_transform(data).shape == (40, 2)
        assert two_sample_test(data[:20], data[20:], kernel=k, rng=0).pvalue < 0.05
        assert k.properties.bounded
        assert k.properties.positive_diag
    process = GaussianProcessRegressor(SemigroupVariance(Linear()), alpha=0.1, optimizer=None)
    assert process.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.5
    table = pd.DataFrame({"bag": X, "age": rng.normal(size=40)})
    k = SemigroupVariance(Linear())
    assert k.on("bag")(table) == pytest.approx(k(X))


def test_by_name():
    assert Semigroup(decay=2.0) == SemigroupEntropy(decay=2.0)
    assert Semigroup("variance", kernel=Linear()) == SemigroupVariance(Linear())
    with pytest.raises(ValueError, match='"entropy" or "variance"'):
        Semigroup("mean")
