"""Subclasses of kernels with a method of their own: the others follow."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear
from mercer.kernels.base import Kernel


class Halved(Laplacian):
    """By ``pairwise``, which calls that of the parent."""

    def pairwise(self, X, Y):
        return super().pairwise(X, Y) / 2


class SquaredLaplacian(Laplacian):
    """By ``tiles``, which call those of the parent."""

    def tiles(self, X, Y):
        inner = super().tiles(X, Y)
        return lambda rows, cols: inner(rows, cols) ** 2


class SquaredAndHalved(SquaredLaplacian):
    def pairwise(self, X, Y):
        return super().pairwise(X, Y) / 2


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (Halved, lambda K: K / 2),
        (SquaredLaplacian, lambda K: K**2),
        (SquaredAndHalved, lambda K: K**2 / 2),
    ],
)
def test_blocks_follow_the_method_of_a_subclass(kind, values, p, rng):
    X = rng.standard_normal((9, 2))
    kernel, wanted = kind(1.5, p=p), values(Laplacian(1.5, p=p)(X))
    P = kernel.prepare(X)
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(kernel.pairwise(P, P), wanted, rtol=1e-12)
    np.testing.assert_allclose((kernel + 1)(X), wanted + 1, rtol=1e-12)
    assert kernel.formula(P) is None


def test_what_a_class_does_not_touch_stays():
    class Named(Gaussian):
        because = "its parent is"

    assert Named.tiles is Gaussian.tiles
    assert Named.formula is Gaussian.formula

    class Doubled(Linear):
        def pairwise(self, X, Y):
            return 2 * super().pairwise(X, Y)

    assert Doubled.tiles is Kernel.tiles
    assert Doubled.formula is Kernel.formula
