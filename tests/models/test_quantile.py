import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import QuantileRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, Linear, Spectrum
from mercer.losses import Quantile
from mercer.models.machine import KernelMachine
from mercer.models.quantile import KernelQuantileRegressor


@parametrize_with_checks([KernelQuantileRegressor(tol=1e-8, alpha=0.1)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    x = rng.uniform(-2, 2, 300)
    return x[:, None], np.sin(2 * x) + (0.2 + 0.2 * np.abs(x)) * rng.standard_normal(300)


@pytest.mark.parametrize("q", [0.2, 0.5, 0.85])
def test_almost_no_penalty_is_the_linear_programme(rng, q):
    X = rng.standard_normal((40, 2))
    y = X @ [1.0, -2.0] + 3 + rng.standard_normal(40)
    ours = KernelQuantileRegressor(q, alpha=1e-3, kernel=Linear(), tol=1e-5).fit(X, y)
    theirs = QuantileRegressor(quantile=q, alpha=0, solver="highs").fit(X, y)
    loss = Quantile(q)
    best = loss.value(y, theirs.predict(X)).sum()
    assert loss.value(y, ours.predict(X)).sum() == pytest.approx(best, rel=1e-3)


def test_each_quantile_is_a_machine(data, rng):
    X, y = data
    w = rng.uniform(0, 2, 300)
    model = KernelQuantileRegressor([0.9, 0.1], alpha=1.0, kernel=Gaussian(), tol=1e-6)
    predicted = model.fit(X, y, w).predict(X)
    assert predicted.shape == (300, 2)
    assert model.crossings_ == 0
    for column, q in zip(predicted.T, (0.9, 0.1), strict=True):
        one = KernelMachine(Gaussian(), Quantile(q), alpha=1.0, tol=1e-6).fit(X, y, w)
        np.testing.assert_allclose(column, one.predict(X), atol=1e-4)
    single = KernelQuantileRegressor(0.9, alpha=1.0, kernel=Gaussian(), tol=1e-6).fit(X, y, w)
    assert single.predict(X).shape == (300,)
    np.testing.assert_allclose(single.predict(X), predicted[:, 0], atol=1e-4)


def test_coverage(data, rng):
    X, y = data
    q = [0.1, 0.5, 0.9]
    model = KernelQuantileRegressor(q, alpha=1.0, kernel=Gaussian(), tol=1e-6).fit(X, y)
    predicted = model.predict(X)
    for column, level in zip(predicted.T, q, strict=True):
        assert np.mean(y < column - 1e-4) <= level  # exact, because of the intercept
        assert np.mean(y > column + 1e-4) <= 1 - level
    x = rng.uniform(-2, 2, 4000)
    new = np.sin(2 * x) + (0.2 + 0.2 * np.abs(x)) * rng.standard_normal(4000)
    inside = np.mean(new[:, None] < model.predict(x[:, None]), axis=0)
    np.testing.assert_allclose(inside, q, atol=0.06)
    assert 0.2 < model.score(X, y) < 1


def test_predictions_never_cross(data):
    X, y = data
    q = [0.5, 0.1, 0.4, 0.45, 0.6, 0.9]
    model = KernelQuantileRegressor(q, alpha=1e-2, kernel=Gaussian(0.2)).fit(X[:40], y[:40])
    far = np.linspace(-4, 4, 500)[:, None]
    raw = model.gram_.cross(far) @ model.dual_coef_ + model.intercept_
    order = np.argsort(q)
    assert np.any(np.diff(raw[:, order], axis=1) < -1e-3)
    assert np.all(np.diff(model.predict(far)[:, order], axis=1) >= 0)
    np.testing.assert_allclose(np.sort(raw, axis=1), np.sort(model.predict(far), axis=1))
    assert 0 < model.crossings_ <= 1


def test_sorting_never_increases_the_loss(data, rng):
    X, y = data
    q = [0.5, 0.1, 0.4, 0.45, 0.6, 0.9]
    model = KernelQuantileRegressor(q, alpha=1e-2, kernel=Gaussian(0.2)).fit(X[:40], y[:40])
    far = rng.uniform(-3, 3, (2000, 1))
    raw = model.gram_.cross(far) @ model.dual_coef_ + model.intercept_
    target = raw.mean(axis=1) + rng.standard_normal(2000)

    def loss(F):
        return sum(Quantile(level).value(target, f) for level, f in zip(q, F.T, strict=True))

    before, after = loss(raw), loss(model.predict(far))
    assert np.all(after <= before + 1e-12)
    assert np.mean(after < before - 1e-6) > 0.3


def test_weights_are_repetitions(data, rng):
    X, y = data[0][:80], data[1][:80]
    times = rng.integers(0, 3, 80)
    model = KernelQuantileRegressor([0.3, 0.7], alpha=0.5, kernel=Gaussian(), tol=1e-8)
    weighted = model.fit(X, y, times).predict(X)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


def test_strings_and_files():
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 3
    counts = [t.count("a") for t in texts]
    model = KernelQuantileRegressor(0.5, alpha=0.01, kernel=Spectrum(1)).fit(texts, counts)
    np.testing.assert_allclose(model.predict(texts), counts, atol=0.1)
    new = clone(model)
    for name in model.saved_state:
        if hasattr(model, name):
            setattr(new, name, getattr(model, name))
    new._restore()
    np.testing.assert_array_equal(new.predict(texts), model.predict(texts))


@pytest.mark.parametrize(
    ("quantiles", "message"),
    [(0.0, "between 0 and 1"), ([0.1, 1.5], "between 0 and 1"), ([], "between 0 and 1"),
     ([0.5, 0.5], "all be different")],
)  # fmt: skip
def test_bad_quantiles(data, quantiles, message):
    with pytest.raises(ValueError, match=message):
        KernelQuantileRegressor(quantiles).fit(*data)
