"""The shipped check of losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..losses.base import Loss
from ..randomness import as_generator
from .promises import agree, require

_SAMPLES = 40
_CLASSES = 3
_TARGETS = ("real", "sign", "count", "classes")
_STEPS = (0.05, 1.0, 20.0)  # of the proximal step
_BISECTIONS = 60


def check_loss(loss: Loss, y: Any = None, rng: Any = 0) -> None:
    """Check that a loss keeps every promise of :class:`mercer.losses.Loss`.

    It is convex, and works sample by sample; slopes, curvature and subgradients agree with
    differences of values; a loss that is said to be smooth has no kinks; the proximal step, the
    conjugate and the dual, where there are any, belong to the value; the best constant is one, and
    a weight of 2 counts as two samples; labels are coded as they should.

    Parameters
    ----------
    loss : Loss
        The loss to check.
    y : array, optional
        Targets, 20 to 100 of them; by default numbers, signs, counts or codes of three classes, as
        ``loss.targets`` says. A loss that does not take these needs its own, such as
        positive numbers.
    rng : int or Generator
        The seed of scores and targets.

    Raises
    ------
    AssertionError
        With the first promise that is broken.

    Examples
    --------
    >>> from mercer.losses import Huber
    >>> from mercer.testing import check_loss
    >>> check_loss(Huber(0.5))
    """
    rng = as_generator(rng)
    require(loss.targets in _TARGETS, f"targets is {loss.targets!r}, not one of {_TARGETS}")
    y = _targets(loss, rng) if y is None else np.asarray(y)
    several = loss.targets == "classes"
    n = len(y)
    shape = (n, int(y.max()) + 1) if several else (n,)
    f = 2 * rng.standard_normal(shape)
    _round_trips(loss)
    _sample_by_sample(loss, y, f, rng)
    _convex(loss, y, rng, shape)
    _slopes(loss, y, f, rng)
    if not several:
        _kinks(loss, y)
        _prox(loss, y, rng)
    _conjugate(loss, y, f, rng)
    _constant(loss, y, rng, shape)
    _labels(loss, y, shape)
    if not several:
        predicted = loss.prediction(f)
        require(np.shape(predicted) == shape, "prediction changes the shape of scores")


def _targets(loss: Loss, rng: np.random.Generator) -> np.ndarray:
    drawn = {
        "real": rng.standard_normal(_SAMPLES),
        "sign": np.where(rng.random(_SAMPLES) < 0.5, 1.0, -1.0),
        "count": rng.poisson(2.0, _SAMPLES).astype(float),
        "classes": np.arange(_SAMPLES) % _CLASSES,
    }
    y = drawn[loss.targets]
    if loss.targets in ("real", "count"):
        try:
            loss.check_targets(y)
        except ValueError as error:
            raise ValueError(f"check_loss: {loss!r} needs its own targets ({error})") from None
    return y


def _round_trips(loss: Loss) -> None:
    from sklearn.base import clone

    copy = clone(loss)
    copy.set_params(**loss.get_params())
    require(copy == loss, "set_params(**get_params()) changes the loss")


def _sample_by_sample(loss: Loss, y: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> None:
    before = y.copy(), f.copy()
    L = loss.value(y, f)
    require(np.shape(L) == y.shape, f"value has shape {np.shape(L)}, not {y.shape}")
    require(np.all(np.isfinite(L)), "value is not finite at moderate scores")
    require(np.shape(loss.slope(y, f)) == f.shape, "slope does not have the shape of scores")
    require(
        np.shape(loss.curvature(y, f)) == f.shape, "curvature does not have the shape of scores"
    )
    loss.curvature_times(y, f, np.ones_like(f))
    loss.subgradient_range(y, f)
    same = np.array_equal(before[0], y) and np.array_equal(before[1], f)
    require(same, "targets or scores were modified; work on a copy")
    some = rng.permutation(len(y))[: len(y) // 2]
    tol = 1e-12 * (1 + float(np.abs(L).max()))
    agree(loss.value(y[some], f[some]), L[some], tol, "value is not sample by sample")
    slope = loss.slope(y, f)
    agree(loss.slope(y[some], f[some]), slope[some], 1e-6, "slope is not sample by sample")
    if f.ndim == 1:
        column = loss.value(y[:, None], f[:, None])
        agree(column, L[:, None], tol, "value of columns is not elementwise")


def _convex(loss: Loss, y: np.ndarray, rng: np.random.Generator, shape: tuple) -> None:
    for spread in (0.01, 1.0, 5.0):
        f = 2 * rng.standard_normal(shape)
        g = f + spread * rng.standard_normal(shape)
        t = float(rng.uniform(0.2, 0.8))
        ends = loss.value(y, f), loss.value(y, g)
        between = loss.value(y, t * f + (1 - t) * g)
        above = between - t * ends[0] - (1 - t) * ends[1]
        size = 1 + np.abs(ends[0]) + np.abs(ends[1])
        worst = float(np.max(above / size))
        require(worst <= 1e-12, f"not convex: a value lies above the chord by {worst:.2g}")


def _slopes(loss: Loss, y: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> None:
    slope = loss.slope(y, f)
    require(np.all(np.isfinite(slope)), "slope is not finite at moderate scores")
    size = 1 + float(np.abs(slope).max())
    V = rng.standard_normal(f.shape)
    h = 1e-5
    found = (loss.value(y, f + h * V) - loss.value(y, f - h * V)) / (2 * h)
    wanted = _inner(slope, V)
    rough = np.abs(wanted - found) > 1e-6 * size * (1 + np.abs(V).max())
    if loss.smooth:
        require(not rough.any(), f"slope differs from differences of value at sample {_at(rough)}")
    # a subgradient: no value lies below the tangent
    low, high = loss.subgradient_range(y, f)
    require(np.all(low <= high + 1e-6 * size), "subgradient_range: low is above high")
    for u, name in ((slope, "slope"), (low, "the left slope"), (high, "the right slope")):
        for reach in (0.03, 1.0):
            g = f + reach * V
            under = loss.value(y, f) + _inner(u, g - f) - loss.value(y, g)
            wrong = under > 1e-6 * size * (1 + np.abs(V).max())
            require(not wrong.any(), f"{name} is not a subgradient at sample {_at(wrong)}")
    require(np.all(loss.curvature(y, f) >= 0), "curvature is negative")
    if not loss.smooth:
        return
    bend = (loss.slope(y, f + h * V) - loss.slope(y, f - h * V)) / (2 * h)
    exact = loss.curvature_times(y, f, V)
    tol = 1e-4 * (1 + float(np.abs(bend).max()))
    wrong = np.abs(exact - bend) > tol
    require(not wrong.any(), f"curvature differs from differences of slope at sample {_at(wrong)}")


def _kinks(loss: Loss, y: np.ndarray) -> None:
    """Follow the steepest rise of the slope: in a smooth loss it vanishes with the step."""
    if not loss.smooth:
        return
    grid = np.linspace(-4, 4, 81)
    slopes = np.array([loss.slope(y, np.full(len(y), g)) for g in grid])
    at = np.argmax(np.diff(slopes, axis=0), axis=0)
    low, high = grid[at], grid[at + 1]
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        a, b, c = (loss.slope(y, x) for x in (low, middle, high))
        left = b - a >= c - b
        low, high = np.where(left, low, middle), np.where(left, middle, high)
        if np.all(high - low < 1e-7):
            break
    jump = loss.slope(y, high) - loss.slope(y, low)
    size = 1 + float(np.abs(slopes).max())
    wrong = jump > 1e-3 * size
    require(not wrong.any(), f"smooth is claimed, but the slope jumps at f = {low[_at(wrong)]:.4g}")


def _prox(loss: Loss, y: np.ndarray, rng: np.random.Generator) -> None:
    v = 2 * rng.standard_normal(len(y))
    for step in _STEPS:
        try:
            found = loss.prox(y, v, step)
        except TypeError:  # it has none, and says so
            return
        s = loss.slope(y, v)
        low, high = v - step * np.maximum(s, 0), v - step * np.minimum(s, 0)

        def cost(f: np.ndarray, step: float = step) -> np.ndarray:
            return loss.value(y, f) + (f - v) ** 2 / (2 * step)

        for _ in range(2 * _BISECTIONS):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            right = cost(a) > cost(b)
            low, high = np.where(right, a, low), np.where(right, high, b)
        best = (low + high) / 2
        tol = 1e-4 * (1 + float(np.abs(v).max())) * max(1.0, np.sqrt(step))
        wrong = (np.abs(found - best) > tol) | ~np.isfinite(found)
        require(
            not wrong.any(), f"prox with step {step:g} is not the minimum at sample {_at(wrong)}"
        )


def _conjugate(loss: Loss, y: np.ndarray, f: np.ndarray, rng: np.random.Generator) -> None:
    """Fenchel and Young: L*(u) + L(f) >= u f, and equality where u is a slope at f."""
    u = loss.slope(y, f)
    value, product = loss.value(y, f), _inner(u, f)
    size = 1 + float(np.abs(value).max() + np.abs(product).max())
    star = loss.conjugate(y, u)
    if star is not None:
        require(np.shape(star) == y.shape, f"conjugate has shape {np.shape(star)}, not {y.shape}")
        wrong = ~(np.abs(star + value - product) <= 1e-5 * size)
        require(not wrong.any(), f"conjugate does not belong to value at sample {_at(wrong)}")
        g = 2 * rng.standard_normal(f.shape)
        wrong = star + loss.value(y, g) < _inner(u, g) - 1e-5 * size * (1 + np.abs(g).max())
        require(not wrong.any(), f"conjugate is too small at sample {_at(wrong)}")
    dual = loss.dual(y)
    if dual is None:
        return
    t, low, high, epsilon, soft = dual
    inside = (u >= low - 1e-7 * size) & (u <= high + 1e-7 * size)
    require(np.all(inside), "dual: slopes of the loss lie outside of its bounds")
    quadratic = t * u + epsilon * np.abs(u) + np.where(u < 0, *soft) * u**2 / 2
    wrong = np.abs(quadratic + value - product) > 1e-5 * size
    require(not wrong.any(), f"dual does not belong to value at sample {_at(wrong)}")


def _constant(loss: Loss, y: np.ndarray, rng: np.random.Generator, shape: tuple) -> None:
    w = rng.integers(1, 4, len(y)).astype(float)
    b = np.asarray(loss.constant(y, w))
    wanted = shape[1:] or (1,)
    require(b.shape == wanted, f"constant has shape {b.shape}, not {wanted}: one for each score")

    best = _total(loss, y, w, b, shape)
    for reach in (1e-3, 0.1, 1.0):
        for _ in range(4):
            other = _total(loss, y, w, b + reach * rng.standard_normal(b.shape), shape)
            require(other >= best - 1e-6 * (1 + abs(best)), "constant is not the best one")
    again = np.repeat(np.arange(len(y)), w.astype(int))
    twice = _total(loss, y, w, loss.constant(y[again], np.ones(len(again))), shape)
    require(
        abs(twice - best) <= 1e-6 * (1 + abs(best)),
        "constant: a sample of weight 2 does not count as two samples",
    )


def _total(loss: Loss, y: np.ndarray, w: np.ndarray, b: np.ndarray, shape: tuple) -> float:
    scores = np.full(len(y), b[0]) if len(shape) == 1 else np.tile(b, (len(y), 1))
    return float(w @ loss.value(y, scores))


def _labels(loss: Loss, y: np.ndarray, shape: tuple) -> None:
    """The right label is the one whose score is large."""
    if loss.targets == "sign":
        require(set(np.unique(y)) <= {-1.0, 1.0}, "targets is 'sign', so y must be -1 or +1")
        good, bad = loss.value(y, 3 * y), loss.value(y, -3 * y)
        require(np.all(good < bad), "labels: a score of the sign of y costs more than one against")
    if loss.targets == "classes":
        good, bad = np.zeros(shape), np.zeros(shape)
        good[np.arange(len(y)), y] = 3
        bad[np.arange(len(y)), y] = -3
        right = loss.value(y, good) < loss.value(y, bad)
        require(np.all(right), "labels: a large score of the right class costs more than a small")


def _inner(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """u v, added up over the scores of a sample."""
    product = u * v
    return product if product.ndim == 1 else product.sum(axis=1)


def _at(wrong: np.ndarray) -> int:
    return int(np.argmax(np.reshape(wrong, (len(wrong), -1)).any(axis=1)))
