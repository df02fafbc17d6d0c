"""Hyper-parameters: checks, nested names, equality, printing, the vector form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import Constant, Gaussian, Laplacian, Linear, Matern, Polynomial, Product, Sum
from mercer.params import (
    Params,
    copy_params,
    fraction,
    integer,
    nonnegative,
    one_of,
    parameter,
    positive,
    same,
    show,
)


@dataclass(eq=False, repr=False)
class Inner(Params):
    width: Any = positive(1.0, arrays=True, choices=("auto",))
    level: float = nonnegative(0.5)


@dataclass(eq=False, repr=False)
class Outer(Params):
    inner: Inner = parameter()
    count: int = integer(3, low=1)
    mode: str = one_of("fast", "fast", "exact")
    tol: float = positive(1e-6, tuned=False)
    shift: float = parameter(0.0, bounds=(-1.0, 1.0))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Inner(width=0), 'Inner: width must be positive or "auto", got 0.'),
        (lambda: Inner(width=-1.0), "got -1.0"),
        (lambda: Inner(width=float("nan")), "got nan"),
        (lambda: Inner(width=float("inf")), "got inf"),
        (lambda: Inner(width=[1.0, -2.0]), "width must be positive"),
        (lambda: Inner(width=[]), "width must be positive"),
        (lambda: Inner(width=[[1.0], [1.0, 2.0]]), "width must be positive"),
        (lambda: Inner(width=True), "width must be positive"),
        (lambda: Inner(width=None), "width must be positive"),
        (lambda: Inner(width="median"), "got 'median'"),
        (lambda: Inner(width=1j), "width must be positive"),
        (lambda: Inner(level=-0.1), "level must be a finite number >= 0, got -0.1"),
        (lambda: Inner(level=[0.1]), "level must be a finite number >= 0"),
        (lambda: Inner(level=True), "level must be a finite number >= 0"),
        (lambda: Outer(Inner(), count=0), "count must be an integer >= 1, got 0"),
        (lambda: Outer(Inner(), count=2.0), "count must be an integer >= 1, got 2.0"),
        (lambda: Outer(Inner(), count=True), "count must be an integer >= 1, got True"),
        (lambda: Outer(Inner(), mode="slow"), "mode must be one of 'fast', 'exact', got 'slow'"),
        (lambda: Outer(Inner(), tol=[1e-3]), "tol must be positive"),
        (lambda: Gaussian(lengthscale=0), 'lengthscale must be positive or "median" or "scale"'),
        (lambda: Matern(nu=[1.5, 2.5]), "Matern: nu must be positive"),
        (lambda: Matern(nu=100), "at most 50"),
        (lambda: Polynomial(degree=1.5), "Polynomial: degree must be an integer >= 1"),
        (lambda: Polynomial(offset=-1), "Polynomial: offset must be a finite number >= 0"),
        (lambda: Laplacian(p=3), "Laplacian: p must be one of 1, 2, got 3"),
        (lambda: Sum(Linear(), 3), "Sum: right must be a kernel, got 3"),
    ],
)
def test_refused(build, message):
    with pytest.raises(ValueError) as error:
        build()
    assert message in str(error.value)


def test_accepted():
    assert Inner(width=[1.0, 2]).width == [1.0, 2]  # kept as given: clone compares identities
    assert Inner(width="auto").width == "auto"
    assert Inner(width=np.float32(2)).width == 2
    assert Outer(Inner(), count=np.int64(4)).count == 4
    assert Outer(Inner(), mode="exact").mode == "exact"


def test_checked_whenever_set():
    inner = Inner()
    with pytest.raises(ValueError, match="width must be positive"):
        inner.width = -1
    with pytest.raises(ValueError, match="width must be positive"):
        inner.set_params(width=-1)
    with pytest.raises(ValueError, match="width must be positive"):
        inner.replace(width=-1)
    assert inner.width == 1.0


def test_nested_get_and_set():
    outer = Outer(Inner(2.0))
    assert outer.get_params() == {
        "inner": outer.inner,
        "inner__width": 2.0,
        "inner__level": 0.5,
        "count": 3,
        "mode": "fast",
        "tol": 1e-6,
        "shift": 0.0,
    }
    assert set(outer.get_params(deep=False)) == {"inner", "count", "mode", "tol", "shift"}
    inner = outer.inner
    assert outer.set_params(inner__width=3.0, count=5) is outer
    assert outer.inner is inner
    assert (inner.width, outer.count) == (3.0, 5)


def test_object_and_its_parameter_set_at_once():
    new = Inner(7.0)
    outer = Outer(Inner()).set_params(inner__width=3.0, inner=new)
    assert outer.inner is new
    assert new.width == 3.0


def test_set_params_says_what_is_there():
    with pytest.raises(ValueError, match=r"Outer has no parameter 'size'; its parameters: count,"):
        Outer(Inner()).set_params(size=3)
    with pytest.raises(ValueError, match="Inner has no parameter 'size'"):
        Outer(Inner()).set_params(inner__size=3)
    with pytest.raises(ValueError, match="count has no parameters of its own, so count__x"):
        Outer(Inner()).set_params(count__x=3)


def test_deep_kernel_parameters():
    k = 2 * Gaussian(0.5).on("a") + Polynomial(degree=2)
    assert k.get_params()["left__right__kernel__lengthscale"] == 0.5
    k.set_params(left__left__value=3, right__degree=4, left__right__kernel__lengthscale="median")
    assert repr(k) == "3 * Gaussian(lengthscale='median').on('a') + Polynomial(degree=4)"


def test_sklearn_clone():
    scales = np.array([1.0, 2.0])
    k = 2 * Gaussian(scales).on(["a", "b"]) + Matern(nu=2.5).normalize()
    copy = clone(k)
    assert copy == k
    assert copy is not k
    assert copy.left.right.kernel is not k.left.right.kernel
    copy.set_params(left__right__kernel__lengthscale=5.0)
    assert k.left.right.kernel.lengthscale is scales


def test_copy_shares_nothing_nested():
    k = Gaussian() + Linear()
    new = copy_params(k)
    new.left.lengthscale = 9.0
    assert k.left.lengthscale == 1.0


def test_equality():
    assert Gaussian() == Gaussian(1)
    assert Gaussian() != Gaussian(2)
    assert Gaussian() != Laplacian()
    assert Gaussian([1.0, 2.0]) == Gaussian(np.array([1.0, 2.0]))
    assert Gaussian() + Linear() == Gaussian() + Linear()
    assert Gaussian() + Linear() != Linear() + Gaussian()
    assert Gaussian() != 3
    with pytest.raises(TypeError):
        hash(Gaussian())


def test_same():
    frame = pd.DataFrame({"a": [1, 2]})
    assert same(frame, frame.copy())
    assert not same(frame, pd.DataFrame({"a": [1, 3]}))
    assert same(sp.csr_matrix(np.eye(2)), sp.csr_matrix(np.eye(2)))
    assert not same(sp.csr_matrix(np.eye(2)), sp.csr_matrix(np.eye(3)))
    assert same([np.ones(2), "a"], [np.ones(2), "a"])
    assert not same([1, 2], [1])
    assert same(1, 1.0)
    assert not same(1, True)
    assert not same("1", 1)
    assert same((1, 2), [1, 2])


def test_printing_shows_what_differs_from_the_default():
    assert repr(Gaussian()) == "Gaussian()"
    assert repr(Gaussian(1)) == "Gaussian()"
    assert repr(Gaussian(np.array([1.0, 0.5]))) == "Gaussian(lengthscale=[1.0, 0.5])"
    assert repr(Gaussian(np.float64(0.5))) == "Gaussian(lengthscale=0.5)"
    assert repr(Matern(nu=2.5, lengthscale="scale")) == "Matern(lengthscale='scale', nu=2.5)"
    assert repr(Outer(Inner())) == "Outer(inner=Inner())"


def test_show():
    assert show(np.zeros(100)) == "<array of shape (100,)>"
    assert show(["x"] * 100) == "<100 samples>"
    assert show(np.log) == "np.log"
    assert show(show) == "show"
    assert show(pd.DataFrame({"a": [1, 2]})) == "<data of shape (2, 1)>"
    assert show([1, "a", None]) == "[1, 'a', None]"
    assert show(np.int64(3)) == "3"
    assert show((np.float64(0.5), 1)) == "(0.5, 1)"
    assert show(("a",)) == "('a',)"


def test_parameters_are_printed_whole_and_data_in_brief():
    assert repr(Gaussian(np.arange(1, 101))) == f"Gaussian(lengthscale={list(range(1, 101))})"
    assert repr(Gaussian(list(range(1, 101)))) == f"Gaussian(lengthscale={list(range(1, 101))})"
    assert repr(Gaussian().on(list(range(100)))) == f"Gaussian().on({list(range(100))})"
    assert repr(Gaussian().center(np.zeros(100))).endswith(".center(<array of shape (100,)>)")


def test_same_dicts():
    assert same([{"x": np.arange(2)}], [{"x": np.arange(2)}])
    assert not same({"x": np.arange(2)}, {"x": np.arange(3)})
    assert not same({"x": 1}, {"y": 1})


# ---- tuning -------------------------------------------------------------------------------
def test_hyperparameters():
    outer = Outer(Inner([2.0, 3.0]), shift=0.25)
    names = [h.name for h in outer.hyperparameters()]
    assert names == ["inner__width", "inner__level", "shift"]  # not count, mode or tol
    assert np.allclose(outer.theta, [np.log(2), np.log(3), np.log(0.5), 0.25])


def test_theta_round_trip():
    k = 2 * Gaussian([1.0, 3.0]) + Polynomial(offset=0.5) * Matern(nu=2.5)
    theta = np.linspace(-1, 1, len(k.theta))
    new = k.with_theta(theta)
    assert np.allclose(new.theta, theta)
    assert np.allclose(k.with_theta(k.theta).theta, k.theta)
    assert k.left.left.value == 2
    assert new.right.right.nu == 2.5  # not tuned: it picks the formula
    assert isinstance(new.left.left.value, float)
    assert new.left.right.lengthscale.shape == (2,)


def test_zeros_and_names_are_not_tuned():
    assert [h.name for h in Polynomial(offset=0).hyperparameters()] == ["scale"]
    assert len((0 * Gaussian("median")).theta) == 0
    assert Polynomial(offset=0).with_theta(np.array([1.0])).offset == 0
    assert len(Linear().theta) == 0
    assert Linear().with_theta(np.zeros(0)) == Linear()


def test_registry_knows_every_class():
    assert Params.registry["Gaussian"] is Gaussian
    assert Params.registry["Product"] is Product
    assert Params.registry["Constant"] is Constant


def test_fractions():
    @dataclass(eq=False, repr=False)
    class Fading(Params):
        decay: float = fraction(0.5)

    assert Fading(np.float32(1)).hyperparameters()[0].bounds == (1e-3, 1.0)
    assert Fading(1.0).with_theta(Fading(1.0).theta) == Fading(1.0)
    np.testing.assert_allclose(Fading(0.25).theta, [np.log(0.25)])
    for wrong in (0, 1.5, -0.1, np.nan, True, "0.5", None):
        with pytest.raises(ValueError, match=r"decay must be a number in \(0, 1\]"):
            Fading(wrong)
