"""Subclasses of kernels with a method of their own: the others follow."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer import Gaussian, GlobalAlignment, KernelRidge, Laplacian, Linear, Plan
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


@pytest.mark.parametrize("own", ["pairwise", "tiles"])
def test_features_of_a_parent_are_not_those_of_other_values(own, rng):
    class ByPairs(Linear):
        def pairwise(self, X, Y):
            return super().pairwise(X, Y) ** 3

    class ByTiles(Linear):
        def pairwise(self, X, Y):
            return self.tiles(X, Y)(slice(None), slice(None))

        def tiles(self, X, Y):
            inner = super().tiles(X, Y)
            return lambda rows, cols: inner(rows, cols) ** 3

        def diag(self, X):
            return super().diag(X) ** 3

    X, y = rng.standard_normal((30, 2)), rng.standard_normal(30)
    kernel = ByPairs() if own == "pairwise" else ByTiles()
    P = kernel.prepare(X)
    assert kernel.features(P) is None
    assert kernel.n_features(P) is None
    K = (X @ X.T) ** 3
    wanted = K @ np.linalg.solve(K + np.eye(30), y)
    found = KernelRidge(1.0, kernel=kernel).fit(X, y).predict(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


def test_what_a_class_does_not_touch_stays():
    class Named(Gaussian):
        because = "its parent is"

    assert Named.tiles is Gaussian.tiles
    assert Named.formula is Gaussian.formula

    class Logarithmic(Linear):
        def prepare(self, X):
            return super().prepare(np.log(X))

    assert Logarithmic.features is Linear.features
    assert Logarithmic.formula is Kernel.formula

    class Doubled(Linear):
        def pairwise(self, X, Y):
            return 2 * super().pairwise(X, Y)

    assert Doubled.tiles is Kernel.tiles
    assert Doubled.formula is Kernel.formula


def test_counts_are_kernel_values_like_others(rng):
    @dataclass(eq=False, repr=False)
    class Overlap(Kernel):
        def pairwise(self, X, Y):
            return np.array([[len(x & y) for y in Y] for x in X])

    class Real(Overlap):
        def pairwise(self, X, Y):
            return super().pairwise(X, Y).astype(float)

    sets = [{int(i) for i in rng.choice(12, 4)} for _ in range(30)]
    y = np.array([len(s) for s in sets]) + 0.5
    assert Overlap().pairwise(sets, sets).dtype == np.float64
    for plan in (None, Plan(storage="tiled"), Plan(rank=5)):
        found, wanted = (
            KernelRidge(0.1, kernel=k, plan=plan, random_state=0).fit(sets, y).predict(sets)
            for k in (Overlap(), Real())
        )
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal((0.5 * Overlap() + 1)(sets), (0.5 * Real() + 1)(sets))
    np.testing.assert_array_equal(Overlap().normalize()(sets), Real().normalize()(sets))


@pytest.mark.parametrize("name", ["grad_theta", "grad_input"])
def test_gradients_of_a_parent_are_not_those_of_other_values(name, rng):
    class Cubed(Gaussian):
        def pairwise(self, X, Y):
            return super().pairwise(X, Y) ** 3

    class Restated(Cubed):
        def pairwise(self, X, Y):
            return super().pairwise(X, Y)

        grad_theta = Kernel.grad_theta

    X = rng.standard_normal((6, 2))
    for kernel in (Cubed(1.0), Restated(1.0)):
        P = kernel.prepare(X)
        with pytest.raises(NotImplementedError, match="has no gradient"):
            getattr(kernel, name)(P, P, np.ones((6, 6)))


def test_logarithms_of_a_parent_are_not_those_of_other_values(rng):
    class Cubed(GlobalAlignment):
        def pairwise(self, X, Y):
            return super().pairwise(X, Y) ** 3

    series = [rng.standard_normal((n, 1)) for n in (4, 5, 6)]
    wanted = GlobalAlignment(1.0).normalize()(series) ** 3
    np.testing.assert_allclose(Cubed(1.0).normalize()(series), wanted, rtol=1e-10)
