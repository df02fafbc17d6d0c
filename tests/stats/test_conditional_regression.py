"""Regressions on the condition: leave-one-out against loops, and the choice of kernels."""

import numpy as np
import pytest

from mercer import Gaussian, Matern
from mercer.stats import conditional_regression
from mercer.stats.conditional_regression import Condition, candidates


def test_leave_one_out_against_a_loop(rng):
    Z, Y = rng.standard_normal((25, 2)), rng.standard_normal((25, 3))
    Y -= Y.mean(axis=0)
    kernels = [Gaussian(0.7), Matern(1.5) + 1]
    penalties = np.array([0.01, 0.1, 1.0])
    losses = np.zeros((2, 3, 3))
    residuals = np.zeros((2, 3, 25, 3))
    for k, kernel in enumerate(kernels):
        K = kernel(Z)
        for a, penalty in enumerate(penalties):
            for i in range(25):
                rest = np.delete(np.arange(25), i)
                c = np.linalg.solve(K[np.ix_(rest, rest)] + penalty * np.eye(24), Y[rest])
                residuals[k, a, i] = Y[i] - K[i, rest] @ c
            losses[k, a] = np.sum(residuals[k, a] ** 2, axis=0)
    given = Condition(Z, kernels, penalties)
    for column, choice in enumerate(given.choose(Y)):
        k, a = np.unravel_index(losses[:, :, column].argmin(), (2, 3))
        assert choice.kernel == k
        assert choice.penalty == penalties[max(0, a - 1)]  # one step below the best
        assert choice.r2 == pytest.approx(1 - losses[k, a, column] / np.sum(Y[:, column] ** 2))
        a = list(penalties).index(choice.penalty)
        found = given.residuals(choice).maker @ Y
        assert found == pytest.approx(residuals[k, a])
    [joint] = given.choose(Y, joint=True)
    assert joint.kernel == losses.sum(axis=2).min(axis=1).argmin()


def test_scale_is_that_of_a_gaussian_process(rng):
    """The variance of y_i given all others, of a process with noise alpha, divided by alpha."""
    z = rng.standard_normal((20, 1))
    given = Condition(z, Gaussian(0.5), [0.1])
    residuals = given.residuals(given.choose(rng.standard_normal((20, 1)))[0])
    K = Gaussian(0.5)(z)
    for i in (0, 7):
        rest = np.delete(np.arange(20), i)
        c = np.linalg.solve(K[np.ix_(rest, rest)] + 0.1 * np.eye(19), K[rest, i])
        assert residuals.scale[i] ** 2 == pytest.approx((1.1 - K[i, rest] @ c) / 0.1)


def test_correlations_of_residuals_of_noise(rng):
    given = Condition(rng.standard_normal(15), Gaussian(0.5), [0.3])
    residuals = given.residuals(given.choose(rng.standard_normal((15, 1)))[0])
    drawn = residuals.maker @ rng.standard_normal((15, 100_000))
    assert residuals.correlations == pytest.approx(np.corrcoef(drawn), abs=0.02)


def test_each_kind_of_function_finds_its_kernel(rng):
    z = rng.uniform(-2, 2, 200)
    noise = 0.1 * rng.standard_normal((200, 4))
    Y = np.column_stack([np.sin(2 * z), np.sin(8 * z), z > 0, 3 * z]) + noise
    given = Condition(z)
    choices = given.choose(Y)
    names = [repr(given.kernels[choice.kernel]) for choice in choices]
    assert names[0].startswith("Gaussian")
    assert names[1].startswith(("Gaussian(lengthscale=0.2", "Gaussian(lengthscale=0.4"))
    assert [len(choice.jumps) for choice in choices] == [0, 0, 1, 0]
    assert all(choice.r2 > 0.9 for choice in choices)
    Z = rng.standard_normal((200, 10))
    few = Condition(Z)
    [linear] = few.choose((Z.sum(axis=1) + rng.standard_normal(200))[:, None])
    assert "Linear" in repr(few.kernels[linear.kernel])


def test_landmarks_stand_for_many_observations(rng, monkeypatch):
    z = rng.standard_normal(120)
    y = np.sin(2 * z) + 0.2 * rng.standard_normal(120)
    exact = Condition(z)
    [choice] = exact.choose(y[:, None])
    monkeypatch.setattr(conditional_regression, "_EXACT", 100)
    monkeypatch.setattr(conditional_regression, "_LANDMARKS", 60)
    thin = Condition(z)
    [other] = thin.choose(y[:, None])
    assert other.r2 == pytest.approx(choice.r2, abs=0.01)
    wanted = exact.residuals(choice).maker @ (y - y.mean())
    found = thin.residuals(other).maker @ (y - y.mean())
    assert np.corrcoef(wanted, found)[0, 1] > 0.95


def test_neighbours_are_the_nearest(rng):
    Z = rng.standard_normal((30, 2))
    given = Condition(Z, Gaussian(1.0))  # distances in feature space have the same order
    near = given.neighbours(3)
    D = np.linalg.norm(Z[:, None] - Z[None], axis=2)
    assert np.array_equal(near, np.argsort(D, axis=1)[:, 1:4])


@pytest.mark.parametrize("d", [1, 3, 30])
def test_candidates_are_of_size_one(rng, d):
    """So that one grid of penalties serves all of them; the constant is 1."""
    Z = Condition(rng.standard_normal((300, d)) * 50).data
    for kernel in candidates(d):
        assert np.mean(np.diagonal(kernel(Z))) == pytest.approx(2, abs=0.5)
