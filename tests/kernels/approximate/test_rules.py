"""Kernels through few features: in the algebra, in models, in files."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    SVC,
    Custom,
    Gaussian,
    GaussianProcessRegressor,
    Hashing,
    KernelCCA,
    KernelLogisticRegression,
    KernelPCA,
    KernelRidge,
    Landmarks,
    Laplacian,
    Matern,
    Nystrom,
    Plan,
    Polynomial,
    RandomFourier,
    Spectrum,
    TensorSketch,
    load,
    parse,
    save,
)
from mercer.exceptions import UnresolvedError
from mercer.testing import check_kernel

RULES = [RandomFourier(200), TensorSketch(200), Landmarks(20), Landmarks(20, choose="kmeans")]


@pytest.fixture
def X(rng):
    return rng.standard_normal((150, 3))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_kernels_keep_their_promises(rule, X):
    kernel = Gaussian(2.0).approximate(rule).resolve(X)
    check_kernel(kernel, X[:25])
    check_kernel(2 * kernel + Matern(1.0), X[:25])


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_every_model_takes_them(rule, X):
    plan, y = Plan(features=rule), np.sin(X[:, 0])
    kernel = Gaussian(2.0)
    models = [
        (KernelRidge(1e-3, kernel=kernel, plan=plan), y),
        (GaussianProcessRegressor(kernel, plan=plan), y),
        (SVC(kernel, plan=plan), y > 0),
        (KernelLogisticRegression(kernel=kernel, plan=plan), y > 0),
    ]
    for model, target in models:
        assert clone(model).fit(X, target).score(X, target) > 0.9, model
    assert "LowRankGram" in models[0][0].fit(X, y).gram_.explain()
    Z = KernelPCA(3, kernel=kernel, plan=plan).fit_transform(X)
    exact = KernelPCA(3, kernel=kernel).fit_transform(X)
    assert np.abs(np.diag(np.corrcoef(Z.T, exact.T)[:3, 3:])).min() > 0.97
    assert KernelCCA(1, kernels=[kernel, kernel], plan=plan).fit((X, X + 0.01)) is not None


def test_plans_say_what_they_do(X):
    plan = Plan(features=RandomFourier(100))
    assert "100 random Fourier features" in plan.explain(Gaussian(), X)
    assert plan.gram(Gaussian(), X).rank == 100
    assert plan.gram(Polynomial(degree=1), X).rank == 4  # it has fewer of its own
    with pytest.raises(ValueError, match="two ways to specify the approximation"):
        Plan(rank=5, features=RandomFourier(100)).gram(Gaussian(), X)
    with pytest.raises(ValueError, match="storage='dense' excludes"):
        Plan(features=RandomFourier(100), storage="dense").gram(Gaussian(), X)
    with pytest.raises(ValueError, match="features must be a rule for features"):
        Plan(features=100)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(2.0).approximate(RandomFourier(60)) + 1,
        (Polynomial(degree=2) * Laplacian(3.0)).approximate(TensorSketch(60, seed=3)),
    ],
    ids=repr,
)
def test_files_and_text(kernel, X, tmp_path):
    model = KernelRidge(0.1, kernel=kernel).fit(X, X[:, 0])
    save(model, tmp_path / "model.mercer")
    again = load(tmp_path / "model.mercer")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert parse(repr(kernel)) == kernel


def test_features_belong_to_the_kernel(X):
    kernel = Gaussian("median").approximate(RandomFourier(50))
    with pytest.raises(UnresolvedError):
        kernel.prepare(X)
    resolved = kernel.resolve(X)
    assert np.array_equal(resolved(X[:5], X), resolved(X[:5], X))
    assert np.allclose(resolved(X[:5], X), resolved(X)[:5])
    assert resolved.resolve(X[:9]) == resolved  # drawn once
    other = kernel.replace(by=RandomFourier(50, seed=1)).resolve(X)
    assert not np.allclose(other(X), resolved(X))


def test_kernels_without_a_formula_are_refused(X):
    kernel = Custom(lambda x, y: float(x @ y))
    with pytest.raises(ValueError, match="has none; use Landmarks"):
        kernel.approximate(RandomFourier(10)).resolve(X)
    with pytest.raises(ValueError, match="Hashing needs a kernel with features"):
        Gaussian().approximate(Hashing(10)).prepare(X)
    with pytest.raises(ValueError, match="too few for a formula with 3 terms"):
        (Gaussian() + Matern() + Laplacian()).approximate(RandomFourier(5)).resolve(X)
    with pytest.raises(ValueError, match="more than 256 terms"):
        ((Gaussian() + Matern() + 1) ** 6).approximate(RandomFourier(1000)).resolve(X)


@pytest.mark.parametrize("choose", ["pivoted", "uniform", "leverage", "kmeans"])
def test_landmarks(choose, X):
    kernel = Nystrom(Gaussian(2.0), rank=40, choose=choose).resolve(X)
    K, low = Gaussian(2.0)(X), kernel(X)
    lost = np.trace(K - low) / np.trace(K)
    assert kernel.error(X) == pytest.approx(lost, abs=1e-10)
    assert np.linalg.norm(K - low, 2) <= lost * np.trace(K) * (1 + 1e-8)
    assert lost < 0.15
    assert len(kernel.reference) == 40


def test_leverage_scores_find_the_few(rng):
    """A hundred samples in a corner that hold a tenth of the features, among thousands alike."""
    crowd = 0.01 * rng.standard_normal((3000, 2))
    corner = np.array([40.0, 0.0]) + 3 * rng.standard_normal((60, 2))
    X = np.vstack([crowd, corner])
    uniform = Nystrom(Gaussian(1.0), rank=50, choose="uniform").resolve(X).error(X)
    leverage = Nystrom(Gaussian(1.0), rank=50, choose="leverage").resolve(X).error(X)
    assert leverage < uniform / 2


def test_means_of_clusters_are_for_vectors():
    with pytest.raises(ValueError, match='choose="kmeans" needs vectors'):
        Nystrom(Spectrum(2), rank=2, choose="kmeans").resolve(["abab", "bbab", "baba"])
    with pytest.raises(ValueError, match="a share of the trace"):
        Nystrom(Gaussian(), rank=0.1, choose="uniform").resolve(np.eye(5))
