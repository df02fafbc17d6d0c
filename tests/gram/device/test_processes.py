"""Gaussian processes by products on a device: nothing of the size of the data is moved between."""

import numpy as np
import pytest

from mercer import Gaussian, GaussianProcessRegressor, Matern, Plan, pivoted_cholesky
from mercer.gram import DeviceGram
from mercer.gram.stored import TiledGram
from mercer.search.estimated import slopes_of
from mercer.solvers import criteria
from mercer.solvers.iterative import IterativeFactor
from mercer.solvers.quadrature import Draws, PivotPreconditioner, conjugate_gradients, estimate

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
DEVICE = Plan(device="torch-cpu")


@pytest.fixture
def data(rng):
    X = rng.standard_normal((400, 2))
    return X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(400)


@pytest.fixture
def by_products(monkeypatch):
    """A device on which K does not fit."""
    monkeypatch.setattr(DeviceGram, "fits", lambda gram, doubles: False)


def both(kernel, X):
    P = kernel.prepare(X)
    return TiledGram(kernel, P), DeviceGram(kernel, P, device="torch-cpu")


def test_estimates_are_those_of_the_processor(data):
    X, y = data
    kernel, noise = 1.5 * Matern([1.0, 2.0]), np.full(400, 0.04)
    pivots = pivoted_cholesky(TiledGram(kernel, kernel.prepare(X)), 40, rng=0).pivots
    draws = Draws.of(400, 40, np.random.default_rng(0), 4)
    here, there = (
        estimate(gram, y[:, None], noise, PivotPreconditioner(gram, noise, pivots), draws)
        for gram in both(kernel, X)
    )
    assert there.value == pytest.approx(here.value, rel=1e-9)
    assert there.logdet == pytest.approx(here.logdet, rel=1e-9)
    np.testing.assert_allclose(there.diagonal, here.diagonal, rtol=1e-6)
    block = slice(0, 30), slice(20, 60)
    np.testing.assert_allclose(there.tile(*block), here.tile(*block), atol=1e-7)
    grams, P = both(kernel, X), kernel.prepare(X)
    slopes = [slopes_of(g, kernel, P, [e]) for g, e in zip(grams, (here, there), strict=True)]
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-6)


def test_products_in_single_precision_solve_systems(data, route):
    X, y = data
    gram = both(Gaussian(1.0), X)[1].products(np.float32)
    noise = np.full(400, 0.1)
    pivots = pivoted_cholesky(gram, 20, rng=0).pivots
    P = PivotPreconditioner(gram, noise, pivots)
    found = conjugate_gradients(gram, noise, y[:, None], P, tol=1e-5)
    exact = np.linalg.solve(Gaussian(1.0)(X) + np.diag(noise), y[:, None])
    np.testing.assert_allclose(found.X.numpy(), exact, atol=1e-3)


def test_residuals_make_up_for_single_precision(data):
    """Also where it leads nowhere, so that products in double take its place."""
    X, y = data
    for noise in (0.1, 1e-6):
        gram = both(100 * Gaussian(3.0), X)[1]
        factor = IterativeFactor(gram, np.full(400, noise))
        coef = factor.solve(y[:, None])
        left = y[:, None] - (100 * Gaussian(3.0)(X) + noise * np.eye(400)) @ coef
        assert factor.solution.converged
        assert np.linalg.norm(left) <= 1e-5 * np.linalg.norm(y)


def test_variances_are_never_understated(data, rng):
    X, _ = data
    kernel, new = Gaussian(0.7), rng.standard_normal((30, 2))
    here, there = (IterativeFactor(gram, np.full(400, 0.05)) for gram in both(kernel, X))
    B = kernel(X, new)
    exact = np.einsum("ij,ij->j", B, np.linalg.solve(kernel(X) + 0.05 * np.eye(400), B))
    found = there.explained(B)
    np.testing.assert_allclose(found, here.explained(B), rtol=1e-6)
    assert np.all(found <= exact + 1e-9)
    half = there.half_solve(B)
    assert np.all(np.einsum("ij,ij->j", half, half) <= exact + 1e-9)
    prior = np.ones(30)
    refined = there.refined(B, prior, 0.01)
    ratio = np.sqrt((prior - refined) / (prior - exact))
    assert np.all((ratio >= 1 - 1e-9) & (ratio <= 1.01))


@pytest.mark.parametrize("all_of_k", [False, True])
def test_numbers_are_learned(rng, request, all_of_k):
    """On a search that begins on a part of the samples, and goes on with all."""
    if not all_of_k:
        request.getfixturevalue("by_products")
    X = rng.standard_normal((700, 2))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(700)
    here, there = (
        GaussianProcessRegressor(Gaussian(1.0) * 1.0, random_state=0, plan=plan).fit(X, y)
        for plan in (Plan(), DEVICE)
    )
    theta = np.append(here.kernel_.theta, 0.0)
    a, b = (model.log_marginal_likelihood(theta) for model in (here, there))
    assert there.gram_.device == "torch-cpu"
    assert b == pytest.approx(a, abs=0.01 * len(y))
    np.testing.assert_allclose(there.kernel_.theta, here.kernel_.theta, atol=0.4)
    new = rng.standard_normal((50, 2))
    mean, std = there.predict(new, return_std=True)
    np.testing.assert_allclose(mean, there.predict(new), atol=1e-8)
    exact, spread = here.predict(new, return_std=True)
    np.testing.assert_allclose(mean, exact, atol=0.1)
    np.testing.assert_allclose(std, spread, rtol=0.3)


def test_the_evidence_from_all_of_k(data):
    X, y = data
    model = GaussianProcessRegressor(
        Matern(1.0), alpha=0.04, optimizer=None, normalize_y=False, plan=DEVICE
    ).fit(X, np.c_[y, X[:, 1]])
    value, slope = model.log_marginal_likelihood(np.zeros(2), eval_gradient=True)
    K, Y = Matern(1.0)(X), model.y_train_
    exact = criteria.evidence(K + np.diag(model._noise[:, 0]), Y)
    assert value == pytest.approx(-exact.value, rel=1e-9)
    assert slope[-1] == pytest.approx(-model._noise[:, 0] @ exact.diagonal, rel=1e-6)
