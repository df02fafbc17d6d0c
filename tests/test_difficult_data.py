"""Models and tests on difficult samples, against computations from kernel values by differences.

Nothing here knows how mercer computes a kernel matrix: K comes from the differences of all pairs
in extended precision, and what is expected of a model follows from K alone.
"""

from __future__ import annotations

import faulthandler

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from sklearn import svm as sk

import mercer
from mercer import Gaussian, Matern
from mercer.testing import difficult_samples

SAMPLES = difficult_samples(n=60, rng=3)
MODERATE = [name for name, X in SAMPLES.items() if np.abs(X).max() < 1e100]
ALPHA = 0.1


@pytest.fixture(autouse=True)
def watch():
    """A loop that does not end becomes a failure, with the place where it hangs."""
    faulthandler.dump_traceback_later(240, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


def gaussian(X, Y):
    with np.errstate(over="ignore"):
        squared = (X.astype(np.longdouble)[:, None] - Y.astype(np.longdouble)[None]) ** 2
        return np.exp(-squared.sum(axis=2) / 2).astype(float)


def containers(X):
    """The same numbers as people hold them."""
    yield X
    yield np.asfortranarray(X)
    yield sp.csr_matrix(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    yield frozen


@pytest.fixture(params=SAMPLES)
def X(request):
    return SAMPLES[request.param]


@pytest.fixture
def targets(rng):
    return np.sin(np.arange(60.0)) + 0.1 * rng.normal(size=60)


@pytest.fixture
def labels(rng):
    return np.where(rng.random(60) < 0.5, -1, 1)


def test_ridge(X, targets):
    K = gaussian(X, X)
    wanted = K @ la.solve(K + ALPHA * np.eye(60), targets, assume_a="pos")
    for Z in containers(X):
        model = mercer.KernelRidge(alpha=ALPHA, kernel=Gaussian()).fit(Z, targets)
        assert np.allclose(model.predict(Z), wanted, atol=1e-9)
    residuals = targets - wanted
    left_out = residuals / (1 - np.diag(la.solve(K + ALPHA * np.eye(60), K).T))
    assert np.allclose(targets - model.leave_one_out(), left_out, atol=1e-8)


def test_iterative_ridge(X, targets):
    K = gaussian(X, X)
    wanted = K @ la.solve(K + ALPHA * np.eye(60), targets, assume_a="pos")
    plan = mercer.Plan(memory="20 kB")
    model = mercer.KernelRidge(alpha=ALPHA, kernel=Gaussian(), plan=plan).fit(X, targets)
    assert np.allclose(model.predict(X), wanted, atol=1e-5)


def test_gaussian_process(X, targets):
    model = mercer.GaussianProcessRegressor(
        Gaussian(), alpha=ALPHA, optimizer=None, normalize_y=False
    )
    model.fit(X, targets)
    A = gaussian(X, X) + ALPHA * np.eye(60)
    sign, volume = np.linalg.slogdet(A)
    evidence = -(targets @ la.solve(A, targets) + volume + 60 * np.log(2 * np.pi)) / 2
    assert sign > 0
    assert model.log_marginal_likelihood() == pytest.approx(evidence, rel=1e-9)
    mean, std = model.predict(X, return_std=True)
    K = gaussian(X, X)
    assert np.allclose(mean, K @ la.solve(A, targets), atol=1e-9)
    assert np.allclose(std**2, np.diag(K - K @ la.solve(A, K)), atol=1e-7)


def test_support_vector_classifier(X, labels):
    K = gaussian(X, X)
    wanted = sk.SVC(kernel="precomputed", C=3, tol=1e-8).fit(K, labels).decision_function(K)
    for Z in containers(X):
        model = mercer.SVC(gamma=0.5, C=3, tol=1e-8).fit(Z, labels)
        assert np.allclose(model.decision_function(Z), wanted, atol=1e-5)
    report = model.decision_path()[0]
    beta = np.zeros(60)
    beta[model.support_] = model.dual_coef_[0]
    squared = beta @ K @ beta
    slack = np.maximum(0, 1 - labels * (K @ beta + model.intercept_[0]))
    assert report.primal == pytest.approx(squared / 2 + 3 * slack.sum(), rel=1e-7)
    assert report.dual == pytest.approx(np.abs(beta).sum() - squared / 2, rel=1e-7)
    assert report.gap <= 1e-4 * max(1, report.primal)


def test_support_vector_regression(X, targets):
    K = gaussian(X, X)
    wanted = sk.SVR(kernel="precomputed", C=3, tol=1e-8).fit(K, targets).predict(K)
    model = mercer.SVR(gamma=0.5, C=3, tol=1e-8).fit(X, targets)
    assert np.allclose(model.predict(X), wanted, atol=1e-5)


def test_one_class(X):
    K = gaussian(X, X)
    wanted = sk.OneClassSVM(kernel="precomputed", nu=0.3, tol=1e-8).fit(K)
    model = mercer.OneClassSVM(gamma=0.5, nu=0.3, tol=1e-8).fit(X)
    assert np.allclose(model.decision_function(X), wanted.decision_function(K), atol=1e-5)


def test_logistic_regression(X, labels):
    """At the optimum, with a penalty of 1, coefficients are the negative slopes of the loss."""
    K = gaussian(X, X)
    model = mercer.KernelLogisticRegression(1.0, kernel=Gaussian(), tol=1e-8).fit(X, labels)
    f = model.decision_function(X)
    c = labels / (1 + np.exp(labels * f))
    assert abs(c.sum()) < 1e-6
    assert np.allclose(K @ c + np.ravel(model.intercept_)[0], f, atol=1e-5)


def test_principal_components(X):
    K = gaussian(X, X)
    centring = np.eye(60) - 1 / 60
    values = la.eigvalsh(centring @ K @ centring)[::-1][:3]
    if values[2] < 1e-8 or min(values[:2] - values[1:]) < 1e-6:
        return  # components are not determined
    scores = mercer.KernelPCA(3, kernel=Gaussian()).fit_transform(X)
    assert np.allclose((scores**2).sum(axis=0), values, rtol=1e-7)


@pytest.mark.parametrize("name", MODERATE)
def test_two_samples(name):
    X = SAMPLES[name]
    A, B = X[:30], X[30:]
    K = gaussian(X, X)
    np.fill_diagonal(K, 0)
    within = K[:30, :30].sum() / (30 * 29) + K[30:, 30:].sum() / (30 * 29)
    wanted = within - 2 * K[:30, 30:].mean()
    assert mercer.mmd(A, B, Gaussian(), biased=False) == pytest.approx(wanted, abs=1e-10)
    result = mercer.two_sample_test(A, B, Gaussian(), n_permutations=99, rng=0)
    assert 0 < result.pvalue <= 1


@pytest.mark.parametrize("name", MODERATE)
def test_dependence(name):
    X = SAMPLES[name]
    K, L = gaussian(X, X), gaussian(X[::-1], X[::-1])
    centring = np.eye(60) - 1 / 60
    wanted = np.trace(centring @ K @ centring @ L) / 60**2
    found = mercer.hsic(X, X[::-1].copy(), Gaussian(), Gaussian(), biased=True)
    assert found == pytest.approx(wanted, abs=1e-10)


def test_float32(X, targets, labels):
    if np.abs(X).max() > 1e30:
        return
    X = X.astype(np.float32)
    K = gaussian(X, X)
    wanted = K @ la.solve(K + ALPHA * np.eye(60), targets, assume_a="pos")
    model = mercer.KernelRidge(alpha=ALPHA, kernel=Gaussian()).fit(X, targets)
    assert np.allclose(model.predict(X), wanted, atol=1e-3)
    machine = mercer.SVC(gamma=0.5, C=3, tol=1e-6).fit(X, labels)
    wanted = sk.SVC(kernel="precomputed", C=3, tol=1e-6).fit(K, labels).decision_function(K)
    assert np.allclose(machine.decision_function(X), wanted, atol=1e-3)


@pytest.mark.parametrize("name", MODERATE)
def test_memory_mapped(name, tmp_path, targets):
    X = SAMPLES[name]
    mapped = np.memmap(tmp_path / "X", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    model = mercer.KernelRidge(alpha=ALPHA, kernel=Matern()).fit(mapped, targets)
    again = mercer.KernelRidge(alpha=ALPHA, kernel=Matern()).fit(X, targets)
    assert np.allclose(model.predict(mapped), again.predict(X), atol=1e-10)
