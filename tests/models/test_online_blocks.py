"""Which samples of a stream are kept, where many of them are alike."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, OnlineKernelMachine
from mercer.models.online_blocks import new_ones


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, (700, 2))
    return X, np.sin(3 * X[:, 0]) * X[:, 1]


def chosen(kernel, old, new, most=100):
    block = kernel(new, np.vstack([old, new]))
    return new_ones(block, np.concatenate([kernel.diag(old), kernel.diag(new)]), most)


def test_copies_are_not_chosen(rng):
    Z = rng.standard_normal((6, 2))
    old, new = Z[:2], Z[[0, 2, 3, 2, 1, 4, 4, 3, 5]]
    np.testing.assert_array_equal(chosen(Gaussian(), old, new), [1, 2, 5, 8])
    np.testing.assert_array_equal(chosen(Gaussian(), old, new, most=2), [1, 2])
    np.testing.assert_array_equal(chosen(Gaussian(), old[:0], new), [0, 1, 2, 4, 5, 8])
    single = chosen(Gaussian(), old.astype(np.float32), new.astype(np.float32))
    np.testing.assert_array_equal(single, [1, 2, 5, 8])


def test_features_that_are_multiples_or_zero(rng):
    """They add nothing to the span; but a machine that keeps nothing has no function at all."""
    Z, none = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]), np.zeros((0, 2))
    np.testing.assert_array_equal(chosen(Linear(), none, Z), [0, 2])
    np.testing.assert_array_equal(chosen(Linear(), Z[1:2], Z), [0, 2])
    np.testing.assert_array_equal(chosen(Linear(), none, np.zeros((3, 2))), [0])
    assert len(chosen(Linear(), Z[:1], np.zeros((3, 2)))) == 0
    np.testing.assert_array_equal(chosen(Linear(), none, 1e100 * Z), [0, 2])


@pytest.mark.parametrize("chunk", [1, 700])
def test_copies_leave_room_for_others(data, chunk):
    """Each sample ten times, one after the other."""
    X, y = (np.repeat(part[:70], 10, axis=0) for part in data)
    model = OnlineKernelMachine(Gaussian(0.5), budget=50)
    for start in range(0, 700, chunk):
        model.partial_fit(X[start : start + chunk], y[start : start + chunk])
    assert model.update_ == "newton"
    assert len(model.X_fit_) == len(np.unique(model.X_fit_, axis=0)) == 50
    np.testing.assert_array_equal(model.X_fit_, X[:500:10])
    assert model.score(*data) > 0.85


def test_zeros_in_front(data):
    X = np.vstack([np.zeros((3, 2)), data[0]])
    model = OnlineKernelMachine(Linear()).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) > 0.999
    assert 2 <= len(model.X_fit_) <= 1000


@pytest.mark.parametrize("removal", ["merge", "smallest"])
def test_the_budget_holds_where_squares_overflow(data, removal):
    X, y = data
    model = OnlineKernelMachine(
        Gaussian(0.5), "hinge", update="implicit", removal=removal, budget=9
    )
    for _ in range(2):
        model.partial_fit(X, y > 0, sample_weight=np.full(700, 1e300))
    assert len(model.X_fit_) <= 9
    assert np.all(np.isfinite(model.decision_function(X)))
