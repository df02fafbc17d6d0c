import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import mercer
from mercer import Gaussian, Linear
from mercer.solvers.laplace import find_mode, laplace_evidence


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((40, 2))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(40) > 0, 1.0, -1.0)


def test_mode_against_a_general_optimiser(problem):
    X, y = problem
    K = 4 * Gaussian()(X) + 1e-6 * np.eye(40)
    mode = find_mode(K, y)
    inverse = np.linalg.inv(K)
    found = minimize(
        lambda f: -log_expit(y * f).sum() + f @ inverse @ f / 2,
        mode.f + 0.01,
        jac=lambda f: -y / (1 + np.exp(y * f)) + inverse @ f,
        method="BFGS",
        options={"gtol": 1e-6},
    )
    assert mode.converged
    np.testing.assert_allclose(mode.f, K @ mode.slope, atol=1e-6)
    assert -log_expit(y * mode.f).sum() + mode.slope @ mode.f / 2 <= found.fun + 1e-8


def test_evidence_is_that_of_the_peer(problem):
    X, y = problem
    peer = GaussianProcessClassifier(ConstantKernel(4.0) * RBF(1.0), optimizer=None).fit(X, y)
    value = laplace_evidence(4 * Gaussian()(X), y[:, None]).value
    assert -value == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-6)


def test_slope_in_every_direction(rng, problem):
    X, y = problem
    K = 4 * Gaussian()(X) + 0.1 * np.eye(40)
    found = laplace_evidence(K.copy(), y[:, None])
    everything = slice(0, 40)
    W = found.tile(everything, everything)
    np.testing.assert_allclose(W, W.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(W), found.diagonal, atol=1e-12)
    D = rng.standard_normal((40, 40))
    D, h = D + D.T, 1e-5
    change = (
        laplace_evidence(K + h * D, y[:, None]).value
        - laplace_evidence(K - h * D, y[:, None]).value
    )
    assert (W * D).sum() == pytest.approx(change / (2 * h), rel=1e-5)


def test_large_covariances_do_not_overshoot(problem):
    X, y = problem
    mode = find_mode(1e6 * Gaussian(0.3)(X), y)
    assert mode.converged
    assert np.all(y * mode.f > 0)


def mode_by_weights(phi, y):
    """Latent values by Newton's method for weights of the features, to rounding."""
    w = np.zeros(phi.shape[1])
    for _ in range(100):
        p = expit(phi @ w)
        bent = phi.T @ ((p * (1 - p))[:, None] * phi) + np.eye(len(w))
        w = w + np.linalg.solve(bent, phi.T @ (y * expit(-y * (phi @ w))) - w)
    return phi @ w


@pytest.mark.parametrize("variance", [1.0, 1e4, 1e6])
def test_predictions_where_the_process_varies_much_more_than_labels_tell(rng, variance):
    """What the latent values are off by would be multiplied by the covariance."""
    X = rng.standard_normal((400, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + rng.logistic(size=400) > 0, 1.0, -1.0)
    wanted = mode_by_weights(np.sqrt(variance) * X, y)
    model = mercer.GaussianProcessClassifier(variance * Linear(), optimizer=None).fit(X, y)
    assert np.allclose(model.latent_mean_and_variance(X)[0], wanted, atol=1e-6)
    assert np.allclose(model.rkhs_function_(X), wanted, atol=1e-6)
    whole = find_mode(variance * X @ X.T, y)
    assert np.allclose(variance * X @ (X.T @ whole.coef), wanted, atol=1e-4)
