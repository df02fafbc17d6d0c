"""Jumps beside a kernel, against loops over observations and places."""

import numpy as np
import pytest

from mercer import Gaussian
from mercer.stats.conditional_jumps import Jump, best_jump, columns_of, without
from mercer.stats.conditional_regression import Condition


def left_out(K, penalty, S, y):
    """Residuals of a ridge regression with free columns S, each observation left out in turn."""
    n, k = S.shape
    out = np.empty(n)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        A = np.block(
            [
                [K[np.ix_(rest, rest)] + penalty * np.eye(n - 1), S[rest]],
                [S[rest].T, np.zeros((k, k))],
            ]
        )
        c = np.linalg.solve(A, np.concatenate([y[rest], np.zeros(k)]))
        out[i] = y[i] - K[i, rest] @ c[: n - 1] - S[i] @ c[n - 1 :]
    return out


def test_free_columns_beside_a_kernel(rng):
    Z, y = rng.standard_normal((24, 2)), rng.standard_normal(24)
    K = Gaussian(0.8)(Z) + 1
    S = columns_of(Z, [Jump(0, 0.1), Jump(1, -0.2)])
    G = without(np.linalg.inv(K + 0.3 * np.eye(24)), S)
    assert G @ y / np.diagonal(G) == pytest.approx(left_out(K, 0.3, S, y), abs=1e-8)


def test_the_best_place_against_a_loop(rng):
    Z = rng.standard_normal((30, 2))
    y = 1.0 * (Z[:, 1] > 0.2) + 0.3 * rng.standard_normal(30)
    K = Gaussian(1.0)(Z) + 1
    first = Jump(0, float(np.median(Z[:, 0])))
    losses = {}
    for column in (0, 1):
        z = np.sort(Z[:, column])
        for at in range(5, 26):
            if column == 0 and abs(at - 15) < 5:
                continue  # too close to the one that is there
            jump = Jump(column, (z[at - 1] + z[at]) / 2)
            losses[jump] = np.sum(left_out(K, 0.5, columns_of(Z, [first, jump]), y) ** 2)
    inverse = np.linalg.inv(K + 0.5 * np.eye(30))
    loss, jump = best_jump([inverse], Z, y[:, None], [first])
    best = min(losses, key=losses.get)
    assert loss == pytest.approx(losses[best])
    assert (jump.column, jump.place) == pytest.approx(best)


def test_there_is_no_place_among_equal_values(rng):
    Z = np.ones((20, 1))
    assert best_jump([np.eye(20)], Z, rng.standard_normal((20, 1)), []) == (np.inf, None)


def test_jumps_leave_no_error_behind(rng):
    """Smooth kernels left residuals of half a jump on both sides of it."""
    z = rng.permutation(np.linspace(-2, 2, 120))
    noise = 0.02 * rng.standard_normal(120)
    y = 1.0 * (z > 0.31) - 2.0 * (z > -0.77) + np.sin(z) + noise
    given = Condition(z)
    [choice] = given.choose(y[:, None])
    places = [jump.place * np.ptp(z) / np.ptp(given.data) for jump in choice.jumps]
    assert sorted(places) == pytest.approx([-0.77, 0.31], abs=0.04)
    assert np.abs(given.residuals(choice).maker @ (y - y.mean())).max() < 0.12


def test_no_jumps_where_there_are_none(rng):
    z = rng.standard_normal(100)
    Y = np.column_stack([rng.standard_normal(100), np.sin(2 * z) + 0.3 * rng.standard_normal(100)])
    assert [choice.jumps for choice in Condition(z).choose(Y)] == [(), ()]
