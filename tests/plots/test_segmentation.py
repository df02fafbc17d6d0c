"""Pictures of segmentations."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from mercer import change_points  # noqa: E402


def test_costs_and_the_number_that_was_chosen(rng):
    X = np.concatenate([rng.normal(0, 1, 50), rng.normal(5, 1, 50)])
    found = change_points(X)
    costs, penalised, chosen = found.plot().lines
    np.testing.assert_allclose(costs.get_ydata(), found.costs)
    assert np.argmin(penalised.get_ydata()) == chosen.get_xdata()[0] == found.n_changes == 1
    assert len(change_points(X, 3).plot().lines) == 2
