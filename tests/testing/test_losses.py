"""Every loss of the library passes; what is wrong with a bad one is named."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer.losses import (
    LOSSES,
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Multinomial,
    Poisson,
    Quantile,
    SmoothedHinge,
    Squared,
)
from mercer.testing import check_loss

GOOD = [
    *(loss() for loss in LOSSES.values()),
    Huber(0.3),
    Quantile(0.9),
    Expectile(0.2),
    EpsilonInsensitive(0.0),
    SmoothedHinge(1.5),
]


@pytest.mark.parametrize("loss", GOOD, ids=repr)
@pytest.mark.parametrize("seed", [0, 1])
def test_losses_of_the_library(loss, seed):
    check_loss(loss, rng=seed)


@dataclass(eq=False, repr=False)
class Asinh(Loss):
    """sqrt(1 + (f - y)^2), of which only the value is written."""

    smooth = True

    def value(self, y, f):
        return np.sqrt(1 + (f - y) ** 2)


def test_values_are_enough():
    check_loss(Asinh())


@dataclass(eq=False, repr=False)
class Positive(Loss):
    """y exp(-f) + f, for positive y."""

    smooth = True

    def value(self, y, f):
        return y * np.exp(-f) + f

    def check_targets(self, y, weights=None, intercept=True):
        if np.any(y <= 0):
            raise ValueError("y must be > 0.")


def test_targets_of_its_own():
    with pytest.raises(ValueError, match=r"needs its own targets \(y must be > 0"):
        check_loss(Positive())
    check_loss(Positive(), np.random.default_rng(0).gamma(2.0, 1.0, 40))


def broken(base, **changes):
    """A class that differs from a good one in what is given."""
    return dataclass(eq=False, repr=False)(type(f"Broken{base.__name__}", (base,), changes))()


def shifted(method, by):
    return lambda self, y, *rest: method(self, y, *rest) + by


BAD = {
    "not convex": broken(Asinh, value=lambda self, y, f: np.log1p((f - y) ** 2)),
    "slope differs": broken(Logistic, slope=lambda self, y, f: -y / (1 + np.exp(2 * y * f))),
    "slope is not a subgradient": broken(Absolute, slope=lambda self, y, f: np.full(f.shape, 2.0)),
    "the left slope is not a subgradient": broken(
        Asinh, subgradient_range=lambda self, y, f: (np.full(f.shape, -2.0), np.ones(f.shape))
    ),
    "low is above high": broken(
        Absolute, subgradient_range=lambda self, y, f: (np.ones(f.shape), -np.ones(f.shape))
    ),
    "curvature is negative": broken(Squared, curvature=lambda self, y, f: -np.ones(f.shape)),
    "curvature differs": broken(Squared, curvature=lambda self, y, f: 2 * np.ones(f.shape)),
    "smooth is claimed, but the slope jumps": broken(
        Asinh,
        value=lambda self, y, f: np.abs(f - y),
        slope=lambda self, y, f: np.sign(f - y),
        curvature=lambda self, y, f: np.zeros(f.shape),
    ),
    "prox with step": broken(Squared, prox=lambda self, y, v, step: (v + y) / 2),
    "conjugate does not belong": broken(Logistic, conjugate=shifted(Logistic.conjugate, 0.1)),
    "dual: slopes": broken(
        Asinh, dual=lambda self, y: Squared().dual(y)._replace(lower=-0.01, upper=0.01)
    ),
    "dual does not belong": broken(Asinh, dual=lambda self, y: Squared().dual(y)),
    "constant is not the best": broken(Poisson, constant=shifted(Poisson.constant, 0.5)),
    "a sample of weight 2": broken(
        Poisson,
        constant=lambda self, y, w: Poisson.constant(self, y, w) if np.ptp(w) else np.zeros(1),
    ),
    "one for each score": broken(Multinomial, constant=lambda self, y, w: np.zeros(1)),
    "a score of the sign of y": broken(
        Hinge, dual=lambda self, y: Hinge().dual(-y)
    ),
    "a large score of the right class": broken(
        Multinomial,
        value=lambda self, y, f: Multinomial.value(self, y, -f),
        slope=lambda self, y, f: -Multinomial.slope(self, y, -f),
        curvature_times=lambda self, y, f, v: Multinomial.curvature_times(self, y, -f, v),
        conjugate=lambda self, y, u: None,
        constant=lambda self, y, w: -Multinomial.constant(self, y, w),
    ),
    "value is not sample by sample": broken(
        Asinh, value=lambda self, y, f: Asinh.value(self, y, f) + np.mean(f) ** 2
    ),
    "value has shape": broken(Asinh, value=lambda self, y, f: Asinh.value(self, y, f).sum()),
    "value is not finite": broken(
        Asinh, value=lambda self, y, f: np.where(f > y, np.inf, y - f)
    ),
    "targets is 'words'": broken(Asinh, targets="words"),
    "prediction changes the shape": broken(Asinh, prediction=lambda self, f: f.sum()),
}  # fmt: skip


@pytest.mark.parametrize("problem", BAD)
def test_a_broken_loss_is_caught(problem):
    with pytest.raises(AssertionError, match=problem):
        check_loss(BAD[problem])


def test_nothing_is_written_into_what_is_given():
    class Careless(Asinh):
        def value(self, y, f):
            f -= y
            return np.sqrt(1 + f**2)

    with pytest.raises(AssertionError, match="were modified"):
        check_loss(dataclass(eq=False, repr=False)(Careless)())
