"""The Kernel interface: defaults that hold for any subclass, and how expressions are used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from mercer import Constant, Gaussian, Kernel, Linear, Polynomial, Power, Product, Sum
from mercer.exceptions import NotAKernelError, UnresolvedError
from mercer.kernels.base import not_resolved
from mercer.params import parameter, positive

X = np.random.default_rng(0).normal(size=(7, 3))
Y = np.random.default_rng(1).normal(size=(4, 3))


@dataclass(eq=False, repr=False)
class Overlap(Kernel):
    """The smallest kernel there is: only the required method."""

    def pairwise(self, X, Y):
        return np.array([[float(len(x & y)) for y in Y] for x in X])


SETS = [{1, 2}, {2, 3, 4}, set(), {1, 2, 3}]


def test_one_method_is_enough():
    k = Overlap()
    K = k(SETS)
    assert K.tolist() == [[2, 1, 0, 2], [1, 3, 0, 2], [0, 0, 0, 0], [2, 2, 0, 3]]
    assert k.diag(k.prepare(SETS)).tolist() == [2, 3, 0, 3]
    assert k(SETS, [{1}]).tolist() == [[1], [0], [0], [1]]
    assert k.features(SETS) is None
    assert k.n_features(SETS) is None
    assert k.resolve(SETS) is k
    assert k.unresolved is None
    assert k.properties.psd
    assert k.properties.strictly_pd.unknown
    assert np.allclose((k.gram(SETS) @ np.ones(4)), K.sum(axis=1))


def test_default_diag_of_many_samples():
    sets = [set(range(i % 7)) for i in range(100)]
    assert Overlap().diag(sets).tolist() == [i % 7 for i in range(100)]


def test_abstract():
    with pytest.raises(TypeError, match="abstract"):
        Kernel()


def test_no_samples():
    with pytest.raises(ValueError, match="Overlap: X has no samples"):
        Overlap()([])
    with pytest.raises(ValueError, match="no samples"):
        Constant(1)([])
    with pytest.raises(ValueError, match="no samples"):
        (Gaussian() + 1)(np.zeros((0, 2)))


def test_no_gradient():
    with pytest.raises(NotImplementedError, match="Overlap has no gradient"):
        Overlap().grad_input(SETS, SETS, np.ones((4, 4)))


# ---- the algebra --------------------------------------------------------------------------
def test_types_of_expressions():
    G, L = Gaussian(), Linear()
    assert type(G + L) is Sum
    assert type(G * L) is Product
    assert type(G**2) is Power
    assert (G + 0) is G
    assert (0 + G) is G
    assert G**1 is G
    assert Constant(1) == G**0
    assert sum([G, L, G]) == G + L + G
    assert Product(Constant(2), G) == 2 * G
    assert Product(G, Constant(2)) == G * 2
    assert Sum(G, Constant(1)) == G + 1
    assert np.float64(2) * G == 2 * G
    assert np.int64(2) + G == 2 + G


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda k: k - k, "A difference of kernels is not a kernel"),
        (lambda k: k - 1, "A difference of kernels is not a kernel"),
        (lambda k: 1 - k, "A difference of kernels is not a kernel"),
        (lambda k: np.float64(1) - k, "A difference of kernels is not a kernel"),
        (lambda k: -k, "A negative multiple of a kernel is not a kernel: -1 * k(x, x)"),
        (lambda k: -2 * k, "-2 * k(x, x) would be negative"),
        (lambda k: k * -0.5, "Weights must be >= 0"),
        (lambda k: k / -2, "-0.5 * k(x, x) would be negative"),
        (lambda k: k + -1, "Weights must be >= 0"),
        (lambda k: k**-1, "k ** -1: only non-negative integer powers"),
        (lambda k: k**0.5, "k ** 0.5: only non-negative integer powers"),
        (lambda k: k**k, "only non-negative integer powers"),
    ],
)
def test_not_a_kernel(build, message):
    with pytest.raises(NotAKernelError) as error:
        build(Gaussian())
    assert message in str(error.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda k: k + "1",
        lambda k: k * None,
        lambda k: [1] + k,
        lambda k: k + True,
        lambda k: k * 1j,
        lambda k: k / k,
        lambda k: 1 / k,
        lambda k: k * np.ones(2),
        lambda k: np.ones(2) * k,
        lambda k: np.ones(2) + k,
        lambda k: k @ k,
    ],
)
def test_operands_that_are_no_kernels(build):
    with pytest.raises(TypeError):
        build(Gaussian())


def test_weights_that_are_no_numbers():
    for weight in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="value must be a finite number >= 0"):
            weight * Gaussian()
    with pytest.raises(ZeroDivisionError):
        Gaussian() / 0


def test_division():
    assert np.allclose((Gaussian() / 4)(X), Gaussian()(X) / 4)


# ---- calling ------------------------------------------------------------------------------
def test_call_is_symmetric_with_an_exact_diagonal():
    K = (Gaussian() + Linear())(X)
    assert np.array_equal(K, K.T)
    assert np.allclose(np.diag(K), 1 + (X**2).sum(axis=1), rtol=1e-15)
    assert (Gaussian()(X) == 1).sum() == 7


def test_call_with_new_data_is_a_block_of_the_whole():
    whole = Gaussian()(np.vstack([X, Y]))
    assert np.allclose(Gaussian()(X, Y), whole[:7, 7:], rtol=1e-13)
    assert np.array_equal(Gaussian()(X, X), Gaussian()(X))


def test_unresolved_parameters():
    k = Gaussian("median") * 2 + Linear()
    assert k.unresolved == 'left__left__lengthscale="median"'
    resolved = k.resolve(X)
    assert resolved.unresolved is None
    assert k.left.left.lengthscale == "median"
    assert np.allclose(k(X), resolved(X))
    with pytest.raises(UnresolvedError) as error:
        k(X, Y)
    assert 'lengthscale="median" depends on the data' in str(error.value)
    assert "kernel.resolve(X_train)" in str(error.value)
    with pytest.raises(UnresolvedError, match="resolve"):
        k.prepare(X)


@dataclass(eq=False, repr=False)
class Capped(Overlap):
    """Fields that say which of their values data decide."""

    cap: float = positive("largest", choices=("largest",))
    known: frozenset | None = parameter(None, learned=(None,))
    note: str | None = parameter(None)

    def prepare(self, X):
        if self.unresolved:
            raise not_resolved(self)
        return X


def test_fields_say_what_data_decide():
    assert Capped().unresolved == 'cap="largest"'
    assert Capped(2.0).unresolved == "known=None"
    assert Capped(2.0, frozenset({1})).unresolved is None
    assert (Linear() + Capped(2.0)).unresolved == "right__known=None"
    with pytest.raises(
        UnresolvedError, match="Capped: known=None depends on the data; call kernel"
    ):
        Capped(2.0).prepare(SETS)


def test_kernel_metric():
    k = Polynomial(degree=2)
    phi, psi = k.features(k.prepare(X)), k.features(k.prepare(Y))
    wanted = np.linalg.norm(phi[:, None] - psi[None], axis=2)
    assert np.allclose(k.distance(X, Y), wanted)
    assert np.abs(np.diag(k.distance(X))).max() == 0
    assert np.allclose(Linear().distance(X), np.linalg.norm(X[:, None] - X[None], axis=2))
    assert Gaussian("median").distance(X).shape == (7, 7)


def test_canonical_feature():
    f = Gaussian().at(X[0])
    assert np.allclose(f(Y), Gaussian()(Y, X[:1])[:, 0])


def test_precedence_when_printed():
    G, L = Gaussian(), Linear()
    for k, shown in (
        ((G + L) * G, "(Gaussian() + Linear()) * Gaussian()"),
        (G + L * G, "Gaussian() + Linear() * Gaussian()"),
        (G + (L + G), "Gaussian() + (Linear() + Gaussian())"),
        (G * (L * G), "Gaussian() * (Linear() * Gaussian())"),
        ((G * L) ** 2, "(Gaussian() * Linear()) ** 2"),
        ((G**2) ** 3, "(Gaussian() ** 2) ** 3"),
        ((G + 1).normalize(), "(Gaussian() + 1).normalize()"),
        ((2 * G).on("a"), "(2 * Gaussian()).on('a')"),
        ((G**2).center(), "(Gaussian() ** 2).center()"),
        (G.on("a").normalize(), "Gaussian().on('a').normalize()"),
        (0.1 * G + 1e-7, "0.1 * Gaussian() + 1e-07"),
        (G * (1 / 3), "Gaussian() * 0.3333333333333333"),
        (Constant(2) + Constant(3), "Constant(value=2) + 3"),
        (Sum(G, Constant(0)), "Gaussian() + Constant(value=0)"),
        (0 * G, "0 * Gaussian()"),
    ):
        assert repr(k) == shown
        assert eval(shown, {"Gaussian": Gaussian, "Linear": Linear, "Constant": Constant}) == k
