import numpy as np
import pytest
from sklearn import svm as sk
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import OneClassSVM, Spectrum


@parametrize_with_checks([OneClassSVM(gamma=0.1, tol=1e-9)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def X(rng):
    return rng.standard_normal((300, 3))


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_equals_scikit_learn(X, nu):
    ours = OneClassSVM(nu=nu, tol=1e-8).fit(X)
    theirs = sk.OneClassSVM(nu=nu, tol=1e-8).fit(X)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    np.testing.assert_allclose(ours.offset_, theirs.offset_, rtol=1e-6)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


def test_nu_is_the_fraction_outside(X):
    for nu in (0.05, 0.2, 0.5):
        model = OneClassSVM(nu=nu, tol=1e-6).fit(X)
        outside = np.mean(model.decision_function(X) < -1e-4)
        assert outside <= nu + 1e-9
        assert len(model.support_) / len(X) >= nu
        assert abs(outside - nu) < 0.05


def test_weights(X, rng):
    w = rng.uniform(0, 2, len(X))
    ours = OneClassSVM(nu=0.2, tol=1e-8).fit(X, sample_weight=w)
    theirs = sk.OneClassSVM(nu=0.2, tol=1e-8).fit(X, sample_weight=w)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_strings():
    usual = ["abab", "baba", "abba", "aabb", "abaab"] * 4
    model = OneClassSVM(nu=0.1, kernel=Spectrum(2).normalize()).fit(usual)
    scores = model.score_samples(["abab", "xyz"])
    assert scores[0] > scores[1]
    assert model.predict(["xyz"])[0] == -1


def test_bad_nu(X):
    with pytest.raises(ValueError, match="nu must be in"):
        OneClassSVM(nu=1.5).fit(X)


def test_bad_weights(X):
    with pytest.raises(ValueError, match="sample_weight must be >= 0, and not all zero"):
        OneClassSVM().fit(X, sample_weight=-np.ones(len(X)))


@pytest.mark.parametrize("gamma", [0.1, 5.0, 50.0])
@pytest.mark.parametrize("nu", [0.01, 0.05, 0.2, 1.0])
@pytest.mark.parametrize(("n", "dtype"), [(300, float), (300, np.float32), (1200, float)])
@pytest.mark.parametrize("tol", [1e-1, 1e-3])
def test_no_more_than_nu_are_outside_whatever_tol_is(gamma, nu, n, dtype, tol):
    """Samples on the edge are inside, though their scores are equal up to tol only."""
    X = np.random.default_rng(0).standard_normal((n, 3)).astype(dtype)
    model = OneClassSVM(nu=nu, gamma=gamma, tol=tol).fit(X)
    outside = model.predict(X) < 0
    assert outside.mean() <= nu
    assert np.mean(model.decision_function(X) < 0) == outside.mean()
    assert len(model.support_) >= nu * n * (1 - 1e-12)


def test_no_more_than_nu_of_the_weight(rng):
    X, w = rng.standard_normal((200, 2)), rng.uniform(0, 3, 200)
    model = OneClassSVM(nu=0.1, gamma=2.0).fit(X, sample_weight=w)
    assert w[model.predict(X) < 0].sum() <= 0.1 * w.sum()
