import numpy as np
import pytest

from mercer import Gaussian, KernelRidge, Linear, Plan, Polynomial, Precomputed, losses
from mercer.exceptions import DenseWarning
from mercer.solvers.held_out import leave_one_out
from mercer.solvers.representer import solve_representer

N = 60


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (N, 2))
    f = np.sin(2 * X[:, 0]) + X[:, 1]
    noise = rng.standard_normal(N)
    targets = {
        "real": f + 0.3 * noise,
        "sign": np.where(f + noise > 0, 1.0, -1.0),
        "classes": np.digitize(f + 0.7 * noise, [-0.7, 0.7]),
        "count": rng.poisson(np.exp(f / 2)).astype(float),
    }
    weights = rng.uniform(0.3, 2, N)
    weights[3] = 0
    return X, targets, weights


def solved(gram, y, loss, alpha, w, intercept):
    return solve_representer(gram, y, loss, alpha, w, intercept=intercept, tol=1e-9)


def refitted(kernel, X, y, loss, alpha, weights, intercept):
    """By n fits."""
    weights = np.ones(N) if weights is None else weights
    out = []
    for i in range(N):
        w = np.where(np.arange(N) == i, 0.0, weights)
        gram = kernel.gram(X)
        found = solved(gram, y, loss, alpha, w, intercept)
        out.append((gram.block(np.array([i]), np.arange(N)) @ found.coef + found.intercept)[0])
    return np.array(out)


def held_out(gram, y, loss, alpha, w, intercept):
    found = solved(gram, y, loss, alpha, w, intercept)
    args = gram, found.coef, found.intercept, y, loss, alpha, w
    return leave_one_out(*args, intercept=intercept)


def centred(F):
    return F - F.mean(axis=1, keepdims=True) if F.shape[1] > 1 else F


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2)], ids=["matrix", "features"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_exact_for_the_squared_loss(data, kernel, intercept, weighted):
    X, targets, w = data
    y, w = targets["real"], w if weighted else None
    for alpha in (1e-4, 0.3):
        fast = held_out(kernel.gram(X), y, losses.Squared(), alpha, w, intercept)
        slow = refitted(kernel, X, y, losses.Squared(), alpha, w, intercept)
        np.testing.assert_allclose(fast, slow, atol=1e-8)


def test_without_an_intercept_it_is_that_of_ridge_regression(data):
    X, targets, _ = data
    y = targets["real"]
    ridge = KernelRidge(1e-7, kernel=Gaussian()).fit(X, y)
    found = leave_one_out(
        ridge.gram_, ridge.dual_coef_[:, None], np.zeros(1), y, losses.Squared(), 1e-7,
        intercept=False,
    )  # fmt: skip
    np.testing.assert_allclose(found[:, 0], ridge.leave_one_out(), rtol=1e-6)


def newton_step(K, C, b, y, loss, alpha, weights, intercept, i):
    """The scores of sample i after one Newton step without it, in coefficients and constants."""
    k = C.shape[1]
    w = np.where(np.arange(N) == i, 0.0, np.ones(N) if weights is None else weights)
    F, column = K @ C + b, y if k > 1 else y[:, None]
    slope = (w[:, None] * loss.slope(column, F)).ravel()
    bend = [loss.curvature_times(column, F, np.broadcast_to(e, F.shape)) for e in np.eye(k)]
    W = np.zeros((N, k, N, k))
    W[np.arange(N), :, np.arange(N)] = w[:, None, None] * np.stack(bend, axis=2)
    J = np.kron(K, np.eye(k))
    P = alpha * J
    if intercept:
        J = np.hstack([J, np.kron(np.ones((N, 1)), np.eye(k))])
        P = np.pad(P, (0, k))
    at = np.append(C.ravel(), b) if intercept else C.ravel()
    H = P + J.T @ W.reshape(N * k, N * k) @ J
    at = at - np.linalg.lstsq(H, P @ at + J.T @ slope, rcond=1e-13)[0]
    return (J @ at).reshape(N, k)[i]


ALL = [losses.Logistic(), losses.Multinomial(), losses.Poisson(), losses.Huber(0.5),
       losses.SquaredHinge()]  # fmt: skip


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("intercept", [True, False])
def test_it_is_one_newton_step(data, loss, intercept):
    X, targets, w = data
    y, K = targets[loss.targets], Gaussian(0.3)(X)
    found = solved(Precomputed().gram(K), y, loss, 0.2, w, intercept)
    args = found.coef, found.intercept, y, loss, 0.2, w
    fast = leave_one_out(Precomputed().gram(K), *args, intercept=intercept)
    for i in (0, 3, 17, 42):
        step = newton_step(K, *args, intercept, i)
        np.testing.assert_allclose(centred(fast[[i]])[0], centred(step[None])[0], atol=1e-6)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weighted", [True, False])
def test_close_to_refits(data, several, weighted):
    X, targets, w = data
    loss = losses.Multinomial() if several else losses.Logistic()
    y, w = targets[loss.targets], w if weighted else None
    gram = Gaussian().gram(X)
    found = solved(gram, y, loss, 1.0, w, True)
    naive = gram @ found.coef + found.intercept
    fast = leave_one_out(gram, found.coef, found.intercept, y, loss, 1.0, w)
    slow = refitted(Gaussian(), X, y, loss, 1.0, w, True)

    def mean(F):
        return np.average(loss.value(y if several else y[:, None], F).reshape(-1), weights=w)

    assert mean(fast) == pytest.approx(mean(slow), abs=5e-3 if several else 1e-3)
    assert abs(mean(naive) - mean(slow)) > 25 * abs(mean(fast) - mean(slow))
    assert np.abs(centred(fast - slow)).max() < 0.1


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Multinomial(), losses.Huber(0.3)])
@pytest.mark.parametrize("intercept", [True, False])
def test_features_and_matrices_agree(data, loss, intercept):
    X, targets, w = data
    y = targets[loss.targets]
    few = held_out(Linear().gram(X), y, loss, 0.1, w, intercept)
    whole = held_out(Precomputed().gram(Linear()(X)), y, loss, 0.1, w, intercept)
    with pytest.warns(DenseWarning, match="leaving out each of"):
        tiled = held_out(Linear().gram(X, Plan(storage="tiled")), y, loss, 0.1, w, intercept)
    np.testing.assert_allclose(centred(few), centred(whole), atol=1e-6)
    np.testing.assert_allclose(centred(few), centred(tiled), atol=1e-6)


def test_a_sample_of_weight_zero_is_out_already(data):
    X, targets, w = data
    for loss in (losses.Logistic(), losses.Multinomial()):
        y, gram = targets[loss.targets], Gaussian().gram(X)
        found = solved(gram, y, loss, 0.5, w, True)
        F = gram @ found.coef + found.intercept
        left = leave_one_out(gram, found.coef, found.intercept, y, loss, 0.5, w)
        np.testing.assert_allclose(left[3], F[3], atol=1e-10)


def test_kinks_are_refused(data):
    X, targets, _ = data
    with pytest.raises(ValueError, match="need a smooth loss"):
        held_out(Gaussian().gram(X), targets["real"], losses.Absolute(), 1.0, None, True)
