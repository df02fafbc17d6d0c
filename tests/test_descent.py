import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import Gaussian
from mercer.descent import _Objective
from mercer.solvers import criteria


class Given(_Objective):
    """A function with its gradient in place of a criterion."""

    def __init__(self, function, start, bounds):
        self.function, self.start, self.bounds = function, start, bounds
        self.count = 0

    def __call__(self, free):
        self.count += 1
        return self.function(free)


def test_a_search_along_directions_ends_on_a_bound_like_one_along_the_axes(rng):
    for _ in range(20):
        L = rng.standard_normal((4, 4))
        H, goal = L @ L.T + 0.1 * np.eye(4), 2 * rng.standard_normal(4)

        def quadratic(x, H=H, goal=goal):
            return (x - goal) @ H @ (x - goal) / 2, H @ (x - goal)

        bounds = np.array([[-1.0, 1.0]] * 4)
        whole = Given(quadratic, np.zeros(4), bounds)
        found = whole._along(np.zeros(4), H, np.zeros(4, dtype=bool))
        exact = minimize(quadratic, np.zeros(4), jac=True, bounds=bounds, options={"ftol": 1e-14})
        assert found.fun >= exact.fun - 1e-9
        assert found.success
        on = np.isin(found.x, [-1.0, 1.0])
        np.testing.assert_allclose(quadratic(found.x)[1][~on], 0, atol=2e-2)


@pytest.mark.parametrize("best", [np.inf, 7.0])
def test_what_is_on_a_plateau_stays_or_comes_back(best):
    """The second coordinate is the logarithm of a length; only u = length^-2 matters."""
    goal = np.exp(-2 * best)

    def of_part(x):
        u = np.exp(-2 * x[1])
        return (x[0] - 1) ** 2 + u, np.array([2 * (x[0] - 1), -2 * u])

    def of_all(x):
        u = np.exp(-2 * x[1]) - goal
        unit = goal or 1e-6
        return (x[0] - 2) ** 2 + (u / unit) ** 2, np.array(
            [2 * (x[0] - 2), -4 * u * (u + goal) / unit**2]
        )

    bounds = np.array([[-12.0, 12.0]] * 2)
    part, whole = (Given(f, np.zeros(2), bounds) for f in (of_part, of_all))
    found = whole.go_on(part, np.array([1.0, 11.0]))
    assert found.x[0] == pytest.approx(2, abs=1e-3)
    assert found.x[1] == (11.0 if best == np.inf else pytest.approx(best, abs=0.05))
    assert whole.count < 40


def test_a_search_on_a_part_does_not_strand_lengthscales(rng):
    """Features that hardly matter run off on 500 samples; all of them bring them back."""
    X = rng.standard_normal((1000, 4))
    y = np.sin(2 * X[:, 0]) + 0.07 * X[:, 1] + 0.5 * rng.standard_normal(1000)
    part = _Objective(Gaussian(np.ones(4)), X[:500], y[:500, None], 0.1, criteria.evidence,
                      np.ones(500), (), (1e-10, 1e6), 1.0)  # fmt: skip
    stranded = np.array([0.0, 11.5, 11.5, 11.5, -1.0])
    near = part.closer(stranded)
    assert np.abs(near[1:4]).max() <= 8
    whole = _Objective(Gaussian(np.ones(4)), X, y[:, None], 0.1, criteria.evidence, np.ones(1000),
                       (), (1e-10, 1e6), 1.0)  # fmt: skip
    slopes = whole(near)[1]
    mixed = whole.off_plateaus(stranded, near)
    assert mixed[1] == near[1]  # it matters
    for j in (2, 3):
        assert mixed[j] == (stranded[j] if slopes[j] <= 0 else near[j])
    assert whole.off_plateaus(stranded, stranded) is stranded
