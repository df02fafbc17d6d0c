import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelRidge, Spectrum
from mercer.models.gp import GaussianProcessRegressor


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (60, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(60)


@parametrize_with_checks([GaussianProcessRegressor()])
def test_contract(estimator, check):
    check(estimator)


def fixed(kernel, alpha, **options):
    return GaussianProcessRegressor(kernel, alpha=alpha, optimizer=None, **options)


def test_mean_and_variance_are_those_of_ridge_regression(rng, data):
    X, y = data
    new = rng.uniform(-2, 2, (15, 2))
    model = fixed(Gaussian(0.8), 0.2, normalize_y=False).fit(X, y)
    ridge = KernelRidge(alpha=0.2, kernel=Gaussian(0.8)).fit(X, y)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, ridge.predict(new), atol=1e-10)
    np.testing.assert_allclose(std**2, ridge.posterior_variance(new), atol=1e-10)


def test_posterior_from_the_joint_normal_distribution(rng, data):
    X, y = data
    new = rng.uniform(-2, 2, (7, 2))
    kernel = 2 * Gaussian(0.8)
    K = kernel(np.concatenate([X, new]))
    A = K[:60, :60] + 0.2 * np.eye(60)
    mean, cov = fixed(kernel, 0.2, normalize_y=False).fit(X, y).predict(new, return_cov=True)
    np.testing.assert_allclose(mean, K[60:, :60] @ np.linalg.solve(A, y), atol=1e-10)
    exact = K[60:, 60:] - K[60:, :60] @ np.linalg.solve(A, K[:60, 60:])
    np.testing.assert_allclose(cov, exact, atol=1e-10)


def test_normalised_targets_shift_and_scale_with_y(rng, data):
    X, y = data
    one = fixed(Gaussian(0.8), 0.2).fit(X, y)
    two = fixed(Gaussian(0.8), 0.2 * 9).fit(X, 3 * y + 5)
    (mean, std), (mean2, std2) = (m.predict(X, return_std=True) for m in (one, two))
    np.testing.assert_allclose(mean2, 3 * mean + 5, atol=1e-8)
    np.testing.assert_allclose(std2, 3 * std, atol=1e-8)
    noisy = one.predict(X, return_std=True, include_noise=True)[1]
    np.testing.assert_allclose(noisy**2, std**2 + 0.2, atol=1e-9)


def test_likelihood_and_its_gradient(data):
    X, y = data
    model = fixed(2 * Gaussian(np.array([0.8, 1.5])), 0.2, normalize_y=False).fit(X, y)
    K = model.kernel_(X) + 0.2 * np.eye(60)
    exact = multivariate_normal(cov=K).logpdf(y)
    assert model.log_marginal_likelihood_value_ == pytest.approx(exact)
    assert model.log_marginal_likelihood() == pytest.approx(exact)
    theta = np.append(model.kernel_.theta, 0.3)
    slope = model.log_marginal_likelihood(theta, eval_gradient=True)[1]
    numeric = approx_fprime(theta, model.log_marginal_likelihood, 1e-6)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


def test_at_least_as_likely_as_the_peer(data):
    X, y = data
    z = (y - y.mean()) / y.std()
    peer = Peer(ConstantKernel() * RBF(np.ones(2)) + WhiteKernel(0.1), n_restarts_optimizer=2,
                random_state=0).fit(X, z)  # fmt: skip
    ours = GaussianProcessRegressor(1 * Gaussian(np.ones(2)), n_restarts_optimizer=2,
                                    random_state=0).fit(X, y)  # fmt: skip
    assert ours.log_marginal_likelihood_value_ > peer.log_marginal_likelihood_value_ - 1e-3
    np.testing.assert_allclose(ours.predict(X), peer.predict(X) * y.std() + y.mean(), atol=2e-2)


def test_noise_known_for_each_sample(data):
    X, y = data
    noise = np.linspace(0.01, 1, 60)
    model = fixed(Gaussian(0.8), noise, normalize_y=False).fit(X, y)
    c = np.linalg.solve(Gaussian(0.8)(X) + np.diag(noise), y)
    np.testing.assert_allclose(model.dual_coef_, c, atol=1e-9)
    tuned = GaussianProcessRegressor(Gaussian(0.8), alpha=noise).fit(X, y)
    np.testing.assert_allclose(tuned.alpha_, noise)
    with pytest.raises(ValueError, match="known per sample"):
        tuned.predict(X, return_std=True, include_noise=True)


def test_samples_have_the_posterior_mean_and_covariance(data):
    X, y = data
    model = fixed(Gaussian(0.8), 0.2).fit(X, y)
    new = np.array([[0.0, 0.0], [0.3, 0.1], [1.9, -1.9]])
    mean, cov = model.predict(new, return_cov=True)
    draws = model.sample_y(new, 40_000, random_state=1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(draws), cov, atol=0.02)


def test_posterior_as_a_kernel(rng, data):
    X, y = data
    model = fixed(Gaussian(0.8), 0.2, normalize_y=False).fit(X, y)
    new = rng.uniform(-2, 2, (7, 2))
    np.testing.assert_allclose(
        model.posterior_kernel()(new), model.predict(new, return_cov=True)[1], atol=1e-10
    )


def test_several_targets(data):
    X, y = data
    Y = np.stack([y, -2 * y + 1], axis=1)
    model = fixed(Gaussian(0.8), 0.2).fit(X, Y)
    mean, std = model.predict(X[:5], return_std=True)
    assert mean.shape == std.shape == (5, 2)
    np.testing.assert_allclose(mean[:, 1], -2 * mean[:, 0] + 1, atol=1e-9)
    assert model.sample_y(X[:5], 3).shape == (5, 2, 3)
    assert model.predict(X[:5], return_cov=True)[1].shape == (5, 5, 2)


def test_strings(rng):
    words = ["".join(rng.choice(list("abc"), 10)) for _ in range(60)]
    y = np.array([w.count("ab") for w in words], dtype=float)
    model = GaussianProcessRegressor(1 * Spectrum(2)).fit(words, y)
    assert model.score(words, y) > 0.99
    mean, std = model.predict(["ababababab"], return_std=True)
    assert abs(mean[0] - 5) < 3 * std[0] + 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha must be > 0"),
        ({"alpha": [1.0, 2.0]}, "one for each of the 60"),
        ({"optimizer": "adam"}, "optimizer must be"),
        ({"fixed": ("length",)}, "fixed names 'length'"),
    ],
)
def test_bad_options(data, options, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        GaussianProcessRegressor(**options).fit(X, y)


def test_both_kinds_of_uncertainty_at_once_are_refused(data):
    X, y = data
    model = fixed(Gaussian(), 0.1).fit(X, y)
    with pytest.raises(ValueError, match="not for both"):
        model.predict(X, return_std=True, return_cov=True)


def test_missing_targets_are_refused_with_a_remedy(data):
    X, y = data[:2]
    Y = np.column_stack([y, y])
    Y[0, 1] = np.nan
    with pytest.raises(ValueError, match="MultiOutputKernelRidge"):
        GaussianProcessRegressor().fit(X, Y)


def test_restarts_leave_a_poor_optimum(rng):
    x = np.linspace(0, 20, 60)[:, None]
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(60)
    start = 1 * Gaussian(2.0)  # all is noise, from there
    once = GaussianProcessRegressor(start, random_state=0).fit(x, y)
    assert once.tuning_.unneeded[0].startswith("1e-05 * Gaussian(")
    again = GaussianProcessRegressor(start, n_restarts_optimizer=8, random_state=0).fit(x, y)
    assert again.log_marginal_likelihood_value_ > once.log_marginal_likelihood_value_ + 5
    assert again.kernel_.right.lengthscale < 1
