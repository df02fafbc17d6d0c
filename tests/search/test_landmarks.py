import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Matern, Plan, Spectrum
from mercer.search.landmarks import LandmarkObjective, movable
from mercer.search.objective import Posed


@pytest.mark.parametrize("kernel", [2.0 * Gaussian(np.array([0.8, 1.5])) + 0.3 * Linear(),
                                    1.5 * Matern(1.3, nu=2.5)])  # fmt: skip
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("approximation", ["variational", "fitc"])
def test_slopes_are_those_of_differences(rng, kernel, outputs, approximation):
    X = rng.standard_normal((120, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]])
    scale = rng.uniform(0.5, 2, (120, outputs))
    posed = Posed(kernel, X, Y, 0.05, scale, (), (1e-6, 1e6), 1.0)
    objective = LandmarkObjective(
        posed, X[:7] + 0.05, moves=True, plan=Plan(), approximation=approximation
    )
    x = np.clip(objective.start, *(objective.bounds.T + [[1e-3], [-1e-3]]))
    slope, h = objective(x)[1], 1e-5
    steps = h * np.eye(len(x))
    numeric = [(objective(x + e)[0] - objective(x - e)[0]) / (2 * h) for e in steps]
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-4)


def test_landmarks_stay_among_the_samples(rng):
    X = rng.uniform(0, 1, (60, 1))
    kernel, scale = 1.0 * Gaussian(0.2), np.ones((60, 1))
    posed = Posed(kernel, X, np.sin(9 * X), 0.1, scale, ("alpha",), (1e-6, 1e6), 1.0)
    objective = LandmarkObjective(posed, X[:5], moves=True, plan=Plan())
    found = objective.landmarks(objective.descend(objective.start).x)
    assert found.shape == (5, 1)
    assert X.min() - 1e-12 <= found.min() < found.max() <= X.max() + 1e-12
    assert not np.allclose(found, X[:5])


def test_what_can_move():
    X = np.zeros((3, 2))
    assert movable(1 * Gaussian() + Linear(), X)
    assert not movable(Laplacian(), X)
    assert not movable(Gaussian().on(0), X)
    assert not movable(Spectrum(2), ["abc", "abd"])
