from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone

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
    SquaredEpsilonInsensitive,
    SquaredHinge,
    as_loss,
)


def huber(r, d):
    return np.where(np.abs(r) <= d, r**2 / 2, d * np.abs(r) - d**2 / 2)


def smoothed(m, h):
    return np.where(m >= 1, 0.0, np.where(m <= 1 - h, 1 - m - h / 2, (1 - m) ** 2 / (2 * h)))


FORMULAS = [
    (Squared(), lambda y, f: (y - f) ** 2 / 2),
    (Absolute(), lambda y, f: np.abs(y - f)),
    (Huber(0.6), lambda y, f: huber(y - f, 0.6)),
    (Quantile(0.2), lambda y, f: np.maximum(0.2 * (y - f), -0.8 * (y - f))),
    (Expectile(0.3), lambda y, f: np.where(y > f, 0.3, 0.7) * (y - f) ** 2),
    (EpsilonInsensitive(0.5), lambda y, f: np.maximum(np.abs(y - f) - 0.5, 0)),
    (SquaredEpsilonInsensitive(0.5), lambda y, f: np.maximum(np.abs(y - f) - 0.5, 0) ** 2 / 2),
    (Hinge(), lambda y, f: np.maximum(1 - y * f, 0)),
    (SquaredHinge(), lambda y, f: np.maximum(1 - y * f, 0) ** 2 / 2),
    (SmoothedHinge(0.7), lambda y, f: smoothed(y * f, 0.7)),
    (Logistic(), lambda y, f: np.log1p(np.exp(-y * f))),
    (Poisson(), lambda y, f: np.exp(f) - y * f),
]
each = pytest.mark.parametrize(("loss", "formula"), FORMULAS, ids=[repr(l) for l, _ in FORMULAS])
KINKS = {Absolute: [0.0], Quantile: [0.0], EpsilonInsensitive: [-0.5, 0.5], Hinge: [0.0]}


def targets(loss, rng, n=60):
    draw = {
        "real": lambda: rng.standard_normal(n),
        "sign": lambda: np.where(rng.random(n) < 0.5, 1.0, -1.0),
        "count": lambda: rng.poisson(2.0, n).astype(float),
    }
    return draw[loss.targets]()


@dataclass(eq=False, repr=False)
class OnlyValue(Loss):
    """What a user may write: another loss, of which only the value is known."""

    inner: Loss = None

    def value(self, y, f):
        return self.inner.value(y, f)


@each
def test_value(rng, loss, formula):
    y, f = targets(loss, rng), 2 * rng.standard_normal(60)
    np.testing.assert_allclose(loss.value(y, f), formula(y, f), atol=1e-14)
    column = loss.value(y[:, None], f[:, None])
    np.testing.assert_array_equal(column[:, 0], loss.value(y, f))


@each
def test_slope_and_curvature_by_differences(rng, loss, formula):
    y, f, h = targets(loss, rng), 2 * rng.standard_normal(60), 1e-6
    difference = (formula(y, f + h) - formula(y, f - h)) / (2 * h)
    np.testing.assert_allclose(loss.slope(y, f), difference, atol=1e-7)
    if loss.smooth:
        bend = (loss.slope(y, f + h) - loss.slope(y, f - h)) / (2 * h)
        np.testing.assert_allclose(loss.curvature(y, f), bend, atol=1e-6, rtol=1e-5)
        assert np.all(loss.curvature(y, f) >= 0)


@each
def test_subgradients_support_the_loss(rng, loss, formula):
    """L(y, g) >= L(y, f) + u (g - f) for both ends u, and for no u outside: at kinks, too."""
    y, g = np.round(4 * targets(loss, rng)) / 4, np.linspace(-4, 4, 801)
    for kink in KINKS.get(type(loss), [0.3]):
        f = y + kink
        low, high = loss.subgradient_range(y, f)
        assert np.all(low <= high)
        if type(loss) in KINKS:
            assert np.all(high - low > 0.1)
        away = g[None, :] - f[:, None]
        slack = formula(y[:, None], g[None, :]) - formula(y, f)[:, None]
        for u in (low, high, (low + high) / 2):
            assert np.all(slack >= u[:, None] * away - 1e-12)
        near = 1e-6
        for u, side in ((low - 0.01, -near), (high + 0.01, near)):
            assert np.all(formula(y, f + side) < formula(y, f) + u * side)


@each
@pytest.mark.parametrize("step", [0.05, 1.0, 20.0])
def test_prox_equals_a_scalar_optimiser(rng, loss, formula, step):
    y, v = targets(loss, rng, 12), 3 * rng.standard_normal(12)
    found = loss.prox(y, v, step)
    for i in range(12):
        best = minimize_scalar(
            lambda f, i=i: float(formula(y[i], f) + (f - v[i]) ** 2 / (2 * step)),
            bounds=(-30, 70),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert found[i] == pytest.approx(best.x, abs=1e-5)


@each
def test_conjugate_is_a_supremum(rng, loss, formula):
    y, f = targets(loss, rng, 10), np.linspace(-40, 40, 400_001)
    slopes = loss.slope(y, rng.standard_normal(10))
    for i in range(10):
        u = 0.9 * slopes[i] if loss.targets != "count" else slopes[i]
        with np.errstate(over="ignore"):
            best = np.max(u * f - formula(y[i], f))
        assert loss.conjugate(y[i : i + 1], np.array([u]))[0] == pytest.approx(best, abs=1e-4)
    bounded = {Absolute, Huber, Quantile, EpsilonInsensitive, Hinge, SmoothedHinge, Logistic}
    if type(loss) in bounded:
        assert np.all(np.isinf(loss.conjugate(y, np.full(10, 2.0))))


@each
def test_constant_is_the_best(rng, loss, formula):
    y, w = targets(loss, rng), rng.uniform(0, 2, 60)
    b = loss.constant(y, w)[0]
    best = minimize_scalar(lambda c: w @ formula(y, c), bounds=(-5, 5), method="bounded",
                           options={"xatol": 1e-10})  # fmt: skip
    assert w @ formula(y, b) <= best.fun + 1e-9


def test_constant_is_the_middle_of_a_flat_part():
    assert Absolute().constant(np.arange(4.0), np.ones(4))[0] == pytest.approx(1.5)
    assert Hinge().constant(np.ones(3), np.ones(3))[0] == pytest.approx(1.0)


@pytest.mark.parametrize("loss", [Squared(), Absolute(), Quantile(0.2), Expectile(0.3)], ids=repr)
@pytest.mark.parametrize("unit", [1e-90, 1e-20, 1e-9, 1e9, 1e90])
def test_constant_has_the_unit_of_the_targets(loss, unit, rng):
    y, w = rng.standard_normal(60), rng.uniform(0, 2, 60)
    assert loss.constant(unit * y, w) / unit == pytest.approx(loss.constant(y, w), abs=1e-10)


@each
def test_value_alone_is_enough(rng, loss, formula):
    mine = OnlyValue(loss)
    y, f = targets(loss, rng), rng.standard_normal(60)
    np.testing.assert_allclose(mine.slope(y, f), loss.slope(y, f), atol=1e-5)
    if loss.smooth:
        np.testing.assert_allclose(mine.curvature(y, f), loss.curvature(y, f), atol=1e-3)
    low, high = mine.subgradient_range(y, f)
    assert np.all(low <= loss.slope(y, f) + 1e-6)
    assert np.all(high >= loss.slope(y, f) - 1e-6)
    np.testing.assert_allclose(mine.prox(y, f, 0.7), loss.prox(y, f, 0.7), atol=1e-5)
    assert mine.conjugate(y, f) is None
    assert mine.dual(y) is None


def test_large_scores_do_not_overflow():
    with np.errstate(all="raise", under="ignore"):
        assert Logistic().value(np.array([1.0]), np.array([-1e4]))[0] == pytest.approx(1e4)
        assert Logistic().curvature(np.array([1.0]), np.array([1e3]))[0] >= 0
        f = Poisson().prox(np.array([2.0]), np.array([1e4]), 1.0)[0]
    assert f + np.exp(f) == pytest.approx(1e4 + 2)


class TestMultinomial:
    def test_two_classes_are_logistic(self, rng):
        y, f = rng.integers(0, 2, 20), rng.standard_normal((20, 2))
        sign, margin = np.where(y == 1, 1.0, -1.0), f[:, 1] - f[:, 0]
        expected = Logistic().value(sign, margin)
        np.testing.assert_allclose(Multinomial().value(y, f), expected)
        np.testing.assert_allclose(Multinomial().slope(y, f)[:, 1], Logistic().slope(sign, margin))

    def test_derivatives_by_differences(self, rng):
        loss, h = Multinomial(), 1e-6
        y, f, v = rng.integers(0, 4, 9), rng.standard_normal((9, 4)), rng.standard_normal((9, 4))
        along = (loss.value(y, f + h * v) - loss.value(y, f - h * v)) / (2 * h)
        np.testing.assert_allclose(np.sum(loss.slope(y, f) * v, axis=1), along, atol=1e-8)
        bend = (loss.slope(y, f + h * v) - loss.slope(y, f - h * v)) / (2 * h)
        np.testing.assert_allclose(loss.curvature_times(y, f, v), bend, atol=1e-8)
        one = np.eye(4)[2] * np.ones((9, 1))
        np.testing.assert_allclose(
            loss.curvature(y, f)[:, 2], loss.curvature_times(y, f, one)[:, 2], atol=1e-12
        )

    def test_conjugate_is_tight_at_a_slope_and_a_bound_elsewhere(self, rng):
        loss, y = Multinomial(), rng.integers(0, 3, 8)
        f, g = rng.standard_normal((8, 3)), rng.standard_normal((8, 3))
        u = loss.slope(y, f)
        conjugate = loss.conjugate(y, u)
        np.testing.assert_allclose(conjugate, np.sum(u * f, axis=1) - loss.value(y, f))
        assert np.all(conjugate >= np.sum(u * g, axis=1) - loss.value(y, g) - 1e-12)

    def test_constant_gives_the_frequencies(self):
        b = Multinomial().constant(np.array([0, 1, 1, 2]), np.ones(4))
        np.testing.assert_allclose(np.exp(b) / np.exp(b).sum(), [0.25, 0.5, 0.25])

    def test_has_no_proximal_step(self):
        with pytest.raises(TypeError, match="newton"):
            Multinomial().prox(np.array([0]), np.zeros((1, 2)), 1.0)


def test_names_parameters_and_errors():
    for name, loss in LOSSES.items():
        assert as_loss(name) == loss()
    assert repr(Huber(0.5)) == "Huber(delta=0.5)"
    assert clone(Quantile(0.2)) == Quantile(0.2)
    with pytest.raises(ValueError, match="loss must be a mercer loss or one of 'squared'"):
        as_loss("cubic")
    with pytest.raises(ValueError, match="q must be between 0 and 1"):
        Quantile(1.0)
    with pytest.raises(ValueError, match="delta must be positive"):
        Huber(0)
    with pytest.raises(ValueError, match="epsilon must be a finite number >= 0"):
        EpsilonInsensitive(-1)
