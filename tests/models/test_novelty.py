import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import svm as sk
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVDD, Gaussian, Linear, OneClassSVM, Polynomial, Spectrum


@parametrize_with_checks([OneClassSVM(gamma=0.1, tol=1e-9), SVDD(gamma=0.1, tol=1e-9)])
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


class TestBall:
    """SVDD: the smallest ball in feature space."""

    def test_is_the_half_space_of_a_constant_diagonal(self, rng):
        X, w = rng.standard_normal((120, 2)), rng.uniform(0.5, 2, 120)
        ball = SVDD(Gaussian(1.0), nu=0.2, tol=1e-8).fit(X, sample_weight=w)
        plane = OneClassSVM(Gaussian(1.0), nu=0.2, tol=1e-8).fit(X, sample_weight=w)
        new = rng.standard_normal((50, 2))
        scale = 2 / (0.2 * w.sum())
        expected = scale * plane.decision_function(new)
        np.testing.assert_allclose(ball.decision_function(new), expected, atol=1e-6)

    def test_distances_by_definition(self, rng):
        X = rng.standard_normal((40, 2))
        k = Polynomial(2, offset=1.0)
        model = SVDD(k, nu=0.2, tol=1e-8).fit(X)
        b = np.zeros(40)
        b[model.support_] = model.dual_coef_[0] / model.dual_coef_.sum()
        K = k(X)
        squares = np.diag(K) - 2 * K @ b + b @ K @ b
        np.testing.assert_allclose(-model.score_samples(X), squares, atol=1e-6 * squares.max())
        assert np.mean(squares > model.radius_**2 * (1 + 1e-9)) <= 0.2
        np.testing.assert_allclose(model.center_(X), K @ b, atol=1e-8 * np.abs(K).max())

    @pytest.mark.parametrize("nu", [0.05, 0.4])
    def test_the_optimum_by_brute_force(self, rng, nu):
        """The primal, whose centre is a point of the plane for the linear kernel."""
        X = rng.standard_normal((25, 2))

        def primal(v):
            squares = np.sum((X - v[:2]) ** 2, axis=1)
            return v[2] + np.maximum(0, squares - v[2]).sum() / (nu * 25)

        starts = [np.append(X[i], 1.0) for i in range(5)]
        options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20000, "maxfev": 20000}
        best = min(
            (minimize(primal, s, method="Nelder-Mead", options=options) for s in starts),
            key=lambda found: found.fun,
        )
        model = SVDD(Linear(), nu=nu, tol=1e-9).fit(X)
        found = primal(np.append(model.center_.weights(), model.radius_**2))
        assert found == pytest.approx(best.fun, rel=1e-4)
        unit = (nu * 25) ** 2 / 2
        assert model.reports_[0].dual / unit == pytest.approx(found, rel=1e-4)

    def test_refusals(self, rng):
        K = np.eye(5)
        with pytest.raises(ValueError, match="does not provide k"):
            SVDD("precomputed").fit(K)
