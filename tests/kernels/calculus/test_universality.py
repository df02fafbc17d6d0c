"""Universality of several kinds, and separability: what is stated, what follows, what does not."""

import numpy as np
import pytest

from mercer import (
    Categorical,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Separable,
    Taylor,
    Transformable,
)

RADIAL = [Gaussian(), Laplacian(), Matern(nu=1.5), RationalQuadratic(alpha=0.5)]


@pytest.mark.parametrize("k", RADIAL)
def test_radial_kernels_are_dense_in_what_vanishes_at_infinity(k):
    p = k.properties
    assert p.vanishing
    assert p.c0_universal
    assert p.separable
    assert p.universal
    far = k(np.array([[0.0]]), np.array([[1e3], [1e6]]))[0]
    assert far[0] > far[1] or far[0] == 0  # it does vanish
    assert far[1] < 1e-2
    assert "c0-universal" in k.explain()


def test_closure():
    g, lap, lin = Gaussian(), Laplacian(), Linear()
    assert (g + lap).properties.c0_universal
    assert (g * lap).properties.c0_universal
    assert (2.0 * g).properties.c0_universal
    assert (g**2).properties.c0_universal
    assert (g + lin).properties.c0_universal.no  # <x, y> is not even bounded
    assert (g * lin).properties.c0_universal.no
    assert (g + lin).properties.universal
    assert (g + 1.0).properties.c0_universal.value is not True  # constants do not vanish
    assert (g + lin).properties.separable
    apart = g.on("a") * lap.on("b")
    assert apart.properties.vanishing
    assert apart.properties.c0_universal
    assert g.on("a").properties.c0_universal  # on that column
    assert not (g.on("a") + g.on("b")).properties.c0_universal


def test_finite_dimension_and_discrete_domains():
    assert Linear().properties.c0_universal.no
    assert Polynomial(3).properties.separable
    assert Categorical().properties.universal
    on_a_set = Gaussian().restrict(lambda X: np.abs(X[:, 0]) < 1)
    assert on_a_set.properties.c0_universal.unknown  # functions need not vanish at its edge


def test_taylor_kernels_by_statement():
    def geometric(n):
        return 1.0

    def even(n):
        return float(n % 2 == 0)

    plain, stated = Taylor(geometric, radius=1), Taylor(geometric, radius=1, all_positive=True)
    assert plain.properties.universal.unknown
    assert stated.properties.universal
    assert "as stated" in stated.properties.universal.because
    assert stated.properties.strictly_pd
    X = np.linspace(-0.9, 0.9, 7)[:, None]
    np.testing.assert_allclose(stated(X), plain(X))
    with pytest.raises(ValueError, match="a_1 is 0"):
        Taylor(even, radius=1, all_positive=True)
    with pytest.raises(ValueError, match="polynomial"):
        Taylor([1, 2], all_positive=True)


def test_operator_valued_kernels():
    B, singular = np.array([[2.0, 1.0], [1.0, 2.0]]), np.ones((2, 2))
    assert Separable(Gaussian(), B).universal
    assert Separable(Gaussian(), singular).universal.no
    assert Separable(Linear(), B).universal.no
    both = Separable(Gaussian(), singular) + Separable(Gaussian(2.0), B)
    assert both.universal
    assert (Separable(Linear(), B) + Separable(Linear(), B)).universal.unknown
    assert Transformable(Gaussian(), [np.positive, np.negative]).universal.unknown
    # what the fact says: combinations in the null space of B are out of reach
    gram = Separable(Gaussian(), singular).gram(np.array([[0.0], [1.0]])).to_dense()
    reached = (gram @ np.ones(4)).reshape(2, 2)
    np.testing.assert_allclose(reached @ [1.0, -1.0], 0, atol=1e-12)
