"""Parameters of another type than they are declared with are refused, by name."""

import inspect

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import mercer
from mercer import SVC, SVR, Gaussian, KernelRidge, Linear, Plan, models
from mercer.checks import as_numbers
from mercer.models.declared import _declared, check_declared

ESTIMATORS = [
    found
    for found in (getattr(models, name) for name in dir(models))
    if inspect.isclass(found) and issubclass(found, BaseEstimator)
]
NEEDED = {"estimator": SVC(), "kernels": [Gaussian(), Linear()]}


def built(cls, **given):
    needs = [
        name
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is parameter.empty
    ]
    return cls(**{name: NEEDED[name] for name in needs} | given)


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_wrong_types_are_named_and_defaults_are_right(cls):
    check_declared(built(cls))
    assert _declared(cls)
    for name in _declared(cls):
        for wrong in (object(), 1j):
            with pytest.raises(ValueError, match=rf"\b{name} must be "):
                check_declared(built(cls, **{name: wrong}))


def test_words():
    for given, words in (
        ({"C": "1"}, "SVC: C must be a number, got '1'."),
        ({"C": np.nan}, "C must be > 0, got nan"),
        ({"max_iter": 10.0}, "SVC: max_iter must be an integer, got 10.0."),
        ({"plan": "2 GB"}, 'SVC: plan must be a Plan such as Plan(memory="2 GB") or None'),
        ({"kernel": np.eye(3)}, "kernel must be a kernel, got an array of shape (3, 3)"),
        ({"random_state": "a"}, "random_state must be None, an integer >= 0"),
    ):
        with pytest.raises(ValueError) as error:
            SVC(**given).fit(np.eye(3), [0, 1, 1])
        assert words in str(error.value)


def test_numbers_of_numpy_are_numbers():
    model = SVC(C=np.float32(2), degree=np.int8(2), shrinking=np.True_, plan=Plan())
    check_declared(model)
    check_declared(SVC(shrinking=1, verbose=0))


def test_as_numbers():
    np.testing.assert_array_equal(as_numbers("a", (1, 2.5)), [1, 2.5])
    assert as_numbers("a", np.float32(2)).shape == ()
    for wrong in ("1", None, {}, [[1], [2, 3]], 1j, ["a"], True):
        with pytest.raises(ValueError, match=r"^a must be a number or an array of numbers, got"):
            as_numbers("a", wrong)


@pytest.mark.parametrize("wrong", ["abc", {}, None, [[1], [2, 3]], Gaussian])
def test_a_penalty_that_is_no_number_is_named(wrong, rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match=r"^alpha must be a number"):
        KernelRidge(wrong).fit(X, X[:, 0])


@pytest.mark.parametrize("wrong", [[], {}, np.inf, -1, "abc", object(), np.ones(2)])
def test_a_gamma_that_is_no_number_is_named(wrong, rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match="gamma must be a positive number"):
        SVR(gamma=wrong).fit(X, X[:, 0])


def test_a_class_in_the_place_of_a_kernel_is_named(rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match=r"an object such as Gaussian\(\), got the class"):
        SVR(Gaussian).fit(X, X[:, 0])


def test_a_broken_power_is_refused(rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match=r"degree must be a whole number, got 2\.5"):
        KernelRidge(kernel="poly", degree=2.5).fit(X, X[:, 0])
    assert mercer.KernelRidge(kernel="poly", degree=2.0).fit(X, X[:, 0]).kernel_.degree == 2
