"""The likelihood against Gaussian processes, its gradient, and columns that do not matter."""

import numpy as np
import pytest
from scipy.optimize import check_grad

from mercer.tables.likely import likely_weights, objective
from mercer.tables.metric import Profile

PROFILE = Profile("likely", rounds=0)


def test_gradient_and_value(rng):
    Z, w = rng.normal(size=(25, 3)), rng.uniform(0.5, 2, 25)
    Y = np.column_stack([np.sin(Z[:, 0]), Z[:, 1]])
    theta = np.array([-0.3, 0.2, -1.0, -1.5])
    value, slopes = objective(theta, PROFILE, Z, Y, w)
    error = check_grad(*[lambda t, i=i: objective(t, PROFILE, Z, Y, w)[i] for i in (0, 1)], theta)
    assert error < 1e-3 * np.linalg.norm(slopes)
    C = PROFILE.kernel(Z * np.exp(theta[:3])) + np.diag(np.exp(-1.5) / w)
    total = np.trace(Y.T @ np.linalg.solve(C, Y))
    wanted = 25 * np.log(total / 50) + np.linalg.slogdet(C)[1]
    assert value == pytest.approx(wanted, rel=1e-6)


def test_columns_that_matter(rng):
    Z = rng.uniform(-2, 2, size=(120, 10))
    y = np.sin(2 * Z[:, 0]) * Z[:, 1]
    weights = likely_weights(PROFILE, Z, ((y - y.mean()) / y.std())[:, None], np.ones(120))
    assert weights[:2].min() > 10 * weights[2:].max()


def test_equal_rows():
    weights = likely_weights(PROFILE, np.zeros((10, 2)), np.arange(10.0)[:, None], np.ones(10))
    assert np.isfinite(weights).all()
