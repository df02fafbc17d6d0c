"""Coordinates made on a device, against those that kernels prepare."""

import numpy as np
import pytest

from mercer import (
    Binomial,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from mercer.gram.device.points import Points, recipe

torch = pytest.importorskip("torch")


def doubled(X):
    return 2 * X


MADE = [
    Gaussian(0.7),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian([0.5, 1.0, 2.0], p=1),
    Matern(1.5) * Linear() + 1,
    (Gaussian(0.5) + Linear()) ** 2,
    Gaussian(0.4).on([0, 2]) * Laplacian(1.0).on(1) + RationalQuadratic(2.0).on(slice(1, 3)),
    Polynomial(degree=2) * Exponential(0.1),
    Gaussian([1.0, 2.0]).on([1, 0]).on([0, 2]),
]
ASKED_FOR = [
    (Polynomial(degree=2) + 1).normalize(),
    Binomial(2.0),  # of which not all vectors are in the domain
    Gaussian(0.5).pullback(doubled),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", MADE, ids=repr)
def test_they_are_those_of_the_kernel(kernel, dtype, rng):
    X = rng.uniform(-0.5, 0.5, (30, 3)).astype(dtype)
    found = recipe(kernel, X[:10])(torch.tensor(X))
    expected = kernel.formula(kernel.prepare(X))
    known = {}
    for a, b in zip(found.atoms(), expected.atoms(), strict=True):
        np.testing.assert_array_equal(a.points, b.points)
        assert len(a.points) == 30
        assert a.points.dtype == dtype
        assert a.profile is not None
        assert a.weight == b.weight
        known.setdefault(id(b.points), set()).add(id(a.points))
    assert all(len(ids) == 1 for ids in known.values())  # what was shared is


@pytest.mark.parametrize("kernel", ASKED_FOR, ids=repr)
def test_others_are_left_to_the_kernel(kernel, rng):
    assert recipe(kernel, rng.uniform(-0.3, 0.3, (10, 3))) is None


def test_so_are_a_preparation_of_its_own_and_other_samples(rng):
    class Shifted(Gaussian):
        def prepare(self, X):
            return super().prepare(X) + 1

    X = rng.standard_normal((10, 3))
    assert recipe(Shifted(1.0), X) is None
    assert recipe(Gaussian(1.0), X.tolist()) is None
    assert recipe(Gaussian(1.0), X.astype(int)) is None
    assert recipe(Gaussian(1.0), X[:0]) is None


def test_points_stand_for_an_array():
    points = Points(torch.ones((4, 2), dtype=torch.float32))
    assert points.shape == (4, 2)
    assert points.dtype == np.float32
    np.testing.assert_array_equal(np.asarray(points, np.float64), np.ones((4, 2)))
