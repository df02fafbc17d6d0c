"""Newton steps in the span of kept samples, against the formula in dense matrices."""

import numpy as np
import pytest

from mercer import Gaussian
from mercer.losses import Squared
from mercer.solvers.online import Expansion
from mercer.solvers.online_loops import OLDEST, Rule
from mercer.solvers.online_newton import Curvature, take_in_newton

KERNEL = Gaussian(1.0)


def rule(alpha, window=0.0):
    return Rule(np.array([0.01]), 0.5, alpha, True, False, 0.0, -1.0, window, 30, OLDEST)


@pytest.fixture
def begun(rng):
    """30 samples that are kept, of 40 that were seen."""
    Z, rest = rng.standard_normal((30, 2)), rng.standard_normal((10, 2))
    w, v = rng.random(30) + 0.5, rng.random(10) + 0.5
    time, K, C = float(w.sum() + v.sum()), KERNEL(Z), KERNEL(rest, Z)
    curvature = Curvature.empty().grown(K, w, C, v, time, 1e-3)
    state = Expansion.empty(1)
    state.coef, state.mean, state.time = rng.standard_normal((1, 30)), np.zeros((1, 0)), time
    return Z, K, (K * w) @ K + (C.T * v) @ C, curvature, state


def test_one_step_is_the_formula(begun, rng):
    Z, K, A, curvature, state = begun
    x, y, w = rng.standard_normal((1, 2)), np.array([[0.7]]), np.array([1.3])
    k, t = KERNEL(x, Z), state.time
    after, known = take_in_newton(state, curvature, rule(1e-9), Squared(), y, w, k)
    whole = A + curvature.penalty * (K + 1e-7 * np.eye(30))
    eta = w[0] * 0.01 * (t + w[0]) ** -0.5
    q = t * (k @ np.linalg.solve(whole, k.T)).item()
    u = (k @ state.coef[0] - y[0, 0]).item() / (1 + eta * q)  # at the end of the step
    expected = state.coef[0] - eta * u * t * np.linalg.solve(whole, k[0])
    np.testing.assert_allclose(after.coef @ K, [expected @ K], atol=1e-6)
    assert after.time == pytest.approx(t + w[0])
    later = known.later(1e9, 1e-3)  # factors are made anew, with the sample
    L = np.linalg.cholesky(K + 1e-7 * np.eye(30))
    np.testing.assert_allclose(L @ later.seen @ L.T, A + w[0] * k.T @ k, rtol=1e-6, atol=1e-6)


def test_the_penalty_shrinks_and_never_turns_round(begun):
    _, K, A, curvature, state = begun
    nothing = np.zeros((1, 30)), np.zeros((1, 1)), np.ones(1)
    norm = (state.coef @ K @ state.coef.T).item()
    for alpha in (1e-6, 1e-2, 1e6):
        k, y, w = nothing
        after, _ = take_in_newton(state, curvature, rule(alpha), Squared(), y, w, k)
        assert 0 <= (after.coef @ K @ after.coef.T).item() < norm
        assert (after.coef @ K @ state.coef.T).item() > 0
    small = 1e-6
    after, _ = take_in_newton(state, curvature, rule(small), Squared(), y, w, k)
    whole = A + curvature.penalty * (K + 1e-7 * np.eye(30))
    eta = 0.01 * (state.time + 1) ** -0.5
    slope = state.time * np.linalg.solve(whole, K @ state.coef[0])
    change = after.coef[0] - state.coef[0]
    np.testing.assert_allclose(change @ K, -eta * small * slope @ K, rtol=1e-3, atol=1e-12)


def test_averages_weigh_iterates_by_time(begun, rng):
    Z, _, _, curvature, state = begun
    state.mean = rng.standard_normal((1, 30))
    x, y = rng.standard_normal((1, 2)), np.array([[0.2]])
    args = Squared(), y, np.ones(1), KERNEL(x, Z)
    after, _ = take_in_newton(state, curvature, rule(1e-12, np.inf), *args)
    share = 2 / (state.time + 2)
    expected = (1 - share) * state.mean + share * after.coef
    np.testing.assert_allclose(after.mean, expected, atol=1e-6)


def test_what_is_known_is_that_of_all_samples(begun):
    _, K, _, curvature, state = begun
    again = Curvature.restored(curvature.told(), curvature.weights, K, state.time, 1e-3)
    np.testing.assert_allclose(again.whole, curvature.whole, atol=1e-8)
    with pytest.raises(ValueError, match="positive semi-definite"):
        Curvature.empty().grown(-K, np.ones(30), np.zeros((0, 30)), np.zeros(0), 30.0, 1e-3)
