import numpy as np
import pytest
from scipy.optimize import OptimizeResult, minimize

from mercer import Gaussian
from mercer.search.descent import DenseObjective
from mercer.search.objective import Posed
from mercer.solvers import criteria


class Given(DenseObjective):
    """A function with its gradient in place of a criterion."""

    def __init__(self, function, start, bounds):
        self.function, self.start, self.bounds = function, start, bounds
        self.free = np.append(np.ones(len(start), dtype=bool), False)  # no noise
        self.count = 0

    def __call__(self, free):
        self.count += 1
        return self.function(free)


def evidence(kernel, X, y):
    """That of a Gaussian process, whose noise is free."""
    posed = Posed(kernel, X, y[:, None], 0.1, np.ones(len(y)), (), (1e-10, 1e6), 1.0)
    return DenseObjective(posed, criteria.evidence)


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


@pytest.mark.parametrize("best", [np.inf, 1.0])
def test_what_is_on_a_plateau_stays_or_comes_back(best):
    """The second coordinate is the logarithm of a length; only u = length^-2 matters."""
    goal = np.exp(-2 * best)

    def of_part(x):
        u = np.exp(-2 * x[1])
        return (x[0] - 1) ** 2 + u, np.array([2 * (x[0] - 1), -2 * u])

    def of_all(x):
        u = np.exp(-2 * x[1])
        slope = np.array([2 * (x[0] - 2), -4 * u * (u - goal)])
        return (x[0] - 2) ** 2 + (u - goal) ** 2, slope

    bounds = np.array([[-12.0, 12.0]] * 2)
    part, whole = (Given(f, np.zeros(2), bounds) for f in (of_part, of_all))
    np.testing.assert_array_equal(
        part.idle(np.array([1.0, 11.0]), np.ones(2, dtype=bool)), [False, True]
    )
    found = whole.go_on(part, np.array([1.0, 11.0]))
    assert found.x[0] == pytest.approx(2, abs=2e-2)
    assert np.exp(-2 * found.x[1]) == pytest.approx(goal, abs=2e-2)
    assert whole.count < 40


def test_what_begins_again_never_ends_worse_than_it_was():
    """From the start of the second coordinate, a search would end in a poor minimum."""

    def double_well(x):
        value = (x[0] - 1) ** 2 - 5 / (1 + (x[1] - 9) ** 2) - 1 / (1 + x[1] ** 2)
        slope = 10 * (x[1] - 9) / (1 + (x[1] - 9) ** 2) ** 2 + 2 * x[1] / (1 + x[1] ** 2) ** 2
        return value, np.array([2 * (x[0] - 1), slope])

    def flat(x):
        return 100 * (x[0] - 1) ** 2, np.array([200 * (x[0] - 1), 0.0])

    bounds = np.array([[-12.0, 12.0]] * 2)
    part, whole = (Given(f, np.zeros(2), bounds) for f in (flat, double_well))
    assert part.idle(np.array([1.0, 9.3]), np.ones(2, dtype=bool))[1]
    assert whole.go_on(part, np.array([1.0, 9.3])).x[1] == pytest.approx(9, abs=0.1)


def test_a_search_on_a_part_does_not_strand_lengthscales(rng):
    """Features that hardly matter run off on 500 samples; all of them bring them back."""
    X = rng.standard_normal((1000, 4))
    y = np.sin(2 * X[:, 0]) + 0.15 * X[:, 1] + 0.5 * rng.standard_normal(1000)
    part, whole = (evidence(Gaussian(np.ones(4)), X[:n], y[:n]) for n in (500, 1000))
    found = part.descend(part.start).x
    stranded = found.copy()
    stranded[1:4] = 11.5
    direct = whole.descend(whole.start)
    best = whole.go_on(part, stranded)
    assert best.fun <= direct.fun + 0.05
    assert best.x[1] < 5 < 11.5  # it matters
    assert whole(np.where(np.arange(5) == 1, 11.5, best.x))[0] > best.fun + 1


def test_a_lengthscale_that_collapsed_begins_again(rng):
    """Groups that learn nothing from each other: the lengthscale between them has no slope."""
    X = np.column_stack([rng.normal(size=60), np.arange(60) % 4])
    y = np.sin(2 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=60)
    whole = evidence(Gaussian(np.ones(2)), X, y)
    strangers = OptimizeResult(x=np.log([0.6, 1e-4, 0.01]), success=True)
    strangers.fun = whole(strangers.x)[0]
    assert abs(whole(strangers.x)[1][1]) < 1e-9
    found = whole.settle(strangers)
    assert found.fun < strangers.fun - 10
    assert found.x[1] > 0
    assert whole.settle(found) is found
