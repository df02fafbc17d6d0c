"""Many pairs given the same Z: the same results as one by one."""

import numpy as np
import pytest

from mercer import Plan, conditional_independence_test
from mercer.stats import conditional_shared
from mercer.stats.conditional_shared import Given, kernel_tests


@pytest.fixture
def variables(rng):
    z = rng.normal(size=(2, 60))
    x = np.sin(z[0]) + 0.5 * rng.normal(size=60)
    y = x + z[1] + 0.5 * rng.normal(size=60)
    w = z[0] * z[1] + rng.normal(size=60)
    label = np.equal.outer(rng.integers(0, 3, 60), np.arange(3)).astype(float)
    return [*(v[:, None] for v in (x, y, w, *z)), label]


@pytest.mark.parametrize("places", [(3,), (3, 4), (5,), (3, 5)])
def test_results_are_those_of_single_tests(variables, places):
    given = Given(variables, places, 49)
    Z = np.column_stack([variables[v] for v in places])
    for i, j in ((0, 1), (0, 2), (1, 2)):
        alone = conditional_independence_test(
            variables[i], variables[j], Z, n_permutations=49, rng=7
        )
        found = given.test(i, j, np.random.default_rng(7))
        assert found.pvalue == alone.pvalue
        assert found.method == alone.method
        assert found.notes == alone.notes


def test_regressions_are_learned_once(variables, monkeypatch):
    made = []

    class Counted(conditional_shared.Left):
        def __init__(self, *args):
            made.append(args[0])
            super().__init__(*args)

    monkeypatch.setattr(conditional_shared, "Left", Counted)
    ask = kernel_tests(variables, 19, np.random.default_rng(0), None)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        ask(i, j, (3,))
    assert len(made) == 3
    ask(0, 1, (4,))
    assert len(made) == 5


def test_plans_that_cannot_be_kept_to(variables):
    with pytest.raises(ValueError, match="use a plan without rank"):
        Given(variables, (3,), 19, Plan(rank=5)).test(0, 1, np.random.default_rng(0))
