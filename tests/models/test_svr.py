import numpy as np
import pytest
from sklearn import svm as sk
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    LSSVR,
    SVR,
    Gaussian,
    KernelMachine,
    KernelQuantileRegressor,
    KernelRidge,
    NuSVR,
    Spectrum,
)
from mercer.exceptions import ConvergenceWarning


@parametrize_with_checks([SVR(gamma=0.1, tol=1e-9), NuSVR(gamma=0.1, tol=1e-9), LSSVR(gamma=0.1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    return make_friedman1(250, random_state=0)


@pytest.mark.parametrize("options", [{"C": 5.0}, {"C": 1.0, "kernel": "linear", "epsilon": 0.5}])
def test_svr_equals_scikit_learn(data, options):
    X, y = data
    ours, theirs = SVR(tol=1e-8, **options).fit(X, y), sk.SVR(tol=1e-8, **options).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-2)


def test_a_tube_around_all_targets_needs_no_support_vector(data):
    """Also of a kernel of which nothing is known, as of a function."""
    X, y = data
    model = SVR(kernel=lambda a, b: float(np.exp(-np.sum((a - b) ** 2))), epsilon=100.0)
    model.fit(X[:30], y[:30])
    assert len(model.support_) == 0
    assert np.ptp(model.predict(X[:5])) == 0


def test_nu_svr_equals_scikit_learn_and_svr(data):
    X, y = data
    ours = NuSVR(nu=0.4, C=5.0, tol=1e-8).fit(X, y)
    theirs = sk.NuSVR(nu=0.4, C=5.0, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    same = SVR(C=5.0, epsilon=ours.epsilon_, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), same.predict(X), atol=1e-3)
    assert np.mean(np.abs(y - ours.predict(X)) > ours.epsilon_ + 1e-3) <= 0.4


def test_optimality_conditions(data):
    """Residuals and coefficients fit together: inside the tube 0, outside +-C, on it between."""
    X, y = data
    model = SVR(C=2.0, epsilon=0.3, kernel=Gaussian(2.0), tol=1e-8).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    r = y - model.predict(X)
    assert np.all(np.abs(r[beta == 0]) <= 0.3 + 1e-6)
    assert np.all(r[beta == 2.0] >= 0.3 - 1e-6)
    assert np.all(r[beta == -2.0] <= -0.3 + 1e-6)
    free = (beta != 0) & (np.abs(beta) < 2.0)
    np.testing.assert_allclose(r[free], 0.3 * np.sign(beta[free]), atol=1e-6)


def test_weights_and_strings(data, rng):
    X, y = data
    w = rng.uniform(0, 1, len(y))
    ours, theirs = SVR(tol=1e-8).fit(X, y, w), sk.SVR(tol=1e-8).fit(X, y, w)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-4)
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab"] * 4
    counts = [t.count("a") for t in texts]
    assert (
        SVR(kernel=Spectrum(1), C=100, epsilon=0.01).fit(texts, counts).score(texts, counts) > 0.95
    )


def test_least_squares_solves_its_system(data, rng):
    X, y = data
    w = rng.uniform(0.1, 2, len(y))
    model = LSSVR(C=3.0, kernel=Gaussian(2.0)).fit(X, y, w)
    K = Gaussian(2.0)(X)
    n = len(y)
    A = np.block(
        [[K + np.diag(1 / (3.0 * w)), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]]
    )
    expected = np.linalg.solve(A, np.append(y, 0))
    np.testing.assert_allclose(model.dual_coef_, expected[:-1], atol=1e-8)
    assert model.intercept_ == pytest.approx(expected[-1])
    assert model.dual_coef_.sum() == pytest.approx(0, abs=1e-8)


def test_least_squares_does_not_shrink_a_constant(data):
    X, y = data
    far = LSSVR(kernel=Gaussian()).fit(X, y + 1000).predict(X) - 1000
    np.testing.assert_allclose(far, LSSVR(kernel=Gaussian()).fit(X, y).predict(X), atol=1e-6)
    shrunk = KernelRidge(kernel=Gaussian()).fit(X, y + 1000).predict(X) - 1000
    assert np.abs(shrunk - y).mean() > np.abs(far - y).mean()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVR(C=0), "C must be > 0"),
        (SVR(C=np.inf), "C must be > 0 and finite"),
        (SVR(epsilon=-1), "epsilon must be >= 0"),
        (NuSVR(nu=0), "nu must be in"),
        (NuSVR(C="1"), "C must be a number, got '1'"),
        (SVR(epsilon="none"), "epsilon must be a number"),
        (LSSVR(C=0), "C must be > 0"),
        (LSSVR(C="1"), "C must be a number"),
    ],
)
def test_bad_parameters(data, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data)


@pytest.mark.parametrize("model", [SVR(), NuSVR(), LSSVR()], ids=repr)
def test_bad_weights(data, model):
    X, y = data
    with pytest.raises(ValueError, match="sample_weight must be >= 0, and not all zero"):
        model.fit(X, y, np.r_[-1.0, np.ones(len(y) - 1)])


def test_early_stop_is_said(data):
    with pytest.warns(ConvergenceWarning, match="raise tol or max_iter") as caught:
        model = SVR(max_iter=2).fit(*data)
    assert (model.fit_status_, model.n_iter_) == (1, 2)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("n", [60, 1200])
@pytest.mark.parametrize("size", [1e25, 1e100, 1e300])
def test_one_target_of_any_size(n, size, rng):
    """It is on its bound, and all else stays as it is for one that is only large."""
    X = rng.normal(size=(n, 2))
    y = np.sin(X[:, 0])
    one, other = y.copy(), y.copy()
    one[3], other[3] = 1e6, size
    for model in (
        SVR(gamma=0.5),
        NuSVR(gamma=0.5, nu=0.3),
        KernelMachine(loss="absolute", kernel=Gaussian()),
        KernelMachine(loss="huber", kernel=Gaussian()),
        KernelQuantileRegressor(0.5, kernel=Gaussian()),
    ):
        wanted = clone(model).fit(X, one).predict(X)
        assert np.allclose(clone(model).fit(X, other).predict(X), wanted, atol=2e-3)
