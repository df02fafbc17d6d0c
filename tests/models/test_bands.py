"""Bands: expectiles by definition, and quantiles with the coverage that was asked for."""

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    ConformalRegressor,
    Gaussian,
    KernelExpectileRegressor,
    KernelMachine,
    KernelQuantileRegressor,
    KernelRidge,
    load,
    save,
)
from mercer.losses import Expectile


@parametrize_with_checks(
    [
        KernelExpectileRegressor(0.7, alpha=0.1, tol=1e-9),
        ConformalRegressor(KernelQuantileRegressor([0.1, 0.9], alpha=0.1), level=0.5, cv=2),
    ],
    expected_failed_checks=lambda model: (
        dict.fromkeys(
            [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
            "folds of repeated samples are others than those of weights",
        )
        if isinstance(model, ConformalRegressor)
        else {}
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def noisy(rng, n):
    """Spread that grows with x."""
    X = rng.uniform(0, 3, (n, 1))
    return X, np.sin(X[:, 0]) + (0.1 + 0.4 * X[:, 0]) * rng.standard_normal(n)


def test_expectiles(rng):
    X, y = noisy(rng, 80)
    w = rng.uniform(0.5, 2, 80)
    model = KernelExpectileRegressor([0.2, 0.5, 0.8], alpha=0.5, kernel=Gaussian(1.0)).fit(X, y, w)
    f = model.predict(X)
    assert np.all(np.diff(f, axis=1) >= 0)
    for j, q in enumerate((0.2, 0.5, 0.8)):
        single = KernelMachine(Gaussian(1.0), Expectile(q), alpha=0.5, tol=1e-8).fit(X, y, w)
        np.testing.assert_allclose(f[:, j], single.predict(X), atol=1e-4)
        above, below = np.maximum(y - f[:, j], 0), np.maximum(f[:, j] - y, 0)
        assert q * w @ above == pytest.approx((1 - q) * w @ below, rel=1e-3)  # by the intercept
    ridge = KernelMachine(Gaussian(1.0), alpha=0.5).fit(X, y, w)
    np.testing.assert_allclose(f[:, 1], ridge.predict(X), atol=1e-4)
    assert 0 < model.score(X, y, w) < 1
    with pytest.raises(ValueError, match="expectiles must lie between 0 and 1"):
        KernelExpectileRegressor([0.0, 1.5]).fit(X, y)


def test_the_score_of_quantiles_is_that_of_scikit_learn(rng):
    X, y = noisy(rng, 60)
    w = rng.uniform(0.5, 2, 60)
    model = KernelQuantileRegressor(0.7, kernel=Gaussian(1.0)).fit(X, y)
    theirs = d2_pinball_score(y, model.predict(X), sample_weight=w, alpha=0.7)
    assert model.score(X, y, w) == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("method", ["split", "cv+"])
def test_intervals_by_definition(rng, method):
    X, y = noisy(rng, 60)
    band = KernelQuantileRegressor([0.1, 0.5, 0.9], alpha=0.1, kernel=Gaussian(1.0))
    model = ConformalRegressor(band, method=method, level=0.8, cv=4, random_state=0).fit(X, y)
    new = np.linspace(0, 3, 7)[:, None]
    rank = int(np.ceil(0.8 * (len(model.residuals_) + 1)))
    lower, upper = [], []
    for x in new:
        ends = [m.predict([x])[0, [0, 2]] for m in model.estimators_]
        low = sorted(ends[k][0] - r for k, r in zip(model._fold, model.residuals_, strict=True))
        high = sorted(ends[k][1] + r for k, r in zip(model._fold, model.residuals_, strict=True))
        lower.append(low[len(low) - rank])
        upper.append(high[rank - 1])
    np.testing.assert_allclose(model.predict_interval(new), np.c_[lower, upper])
    middle = model.estimator_.predict(new)[:, 1]
    np.testing.assert_allclose(model.predict(new), middle)


def test_bands_cover_and_follow_the_spread(rng):
    """The band alone is too narrow on few samples; calibrated it covers, wide where y is noisy."""
    X, y = noisy(rng, 150)
    new, truth = noisy(rng, 4000)
    band = KernelQuantileRegressor([0.1, 0.9], alpha=0.003, kernel=Gaussian(0.2))
    ends = band.fit(X, y).predict(new)
    assert np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])) < 0.76
    model = ConformalRegressor(band, level=0.8, random_state=0).fit(X, y)
    found = model.predict_interval(new)
    assert 0.77 < np.mean((found[:, 0] <= truth) & (truth <= found[:, 1])) < 0.9
    width = np.diff(found, axis=1)[:, 0]
    assert width[new[:, 0] > 2].mean() > 1.5 * width[new[:, 0] < 1].mean()


def test_other_estimators_and_files(rng, tmp_path):
    X, y = noisy(rng, 100)
    theirs = ConformalRegressor(QuantileRegressor(quantile=0.5, alpha=0.0), level=0.9).fit(X, y)
    assert theirs.predict_interval(X).shape == (100, 2)
    model = ConformalRegressor(KernelExpectileRegressor([0.1, 0.9]), level=0.8).fit(X, y)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_allclose(again.predict_interval(X), model.predict_interval(X))
    np.testing.assert_allclose(again.predict(X), model.predict(X))


@pytest.mark.parametrize("name", ["concrete", "airfoil"])
def test_a_real_table(shared_data, name):
    """An 80 % band that covers far less is calibrated, and then covers 80 %."""
    file = np.load(shared_data / "vectors_regression" / f"{name}.npz")
    X, y = file["X"].astype(float), np.ravel(file["y"]).astype(float)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    some = np.random.default_rng(0).permutation(len(y))
    train, test = some[:400], some[400:]

    def coverage(ends):
        return np.mean((ends[:, 0] <= y[test]) & (y[test] <= ends[:, 1]))

    band = KernelQuantileRegressor([0.1, 0.9], alpha=0.1, kernel=Gaussian("median"))
    alone = coverage(band.fit(X[train], y[train]).predict(X[test]))
    model = ConformalRegressor(band, level=0.8, cv=5, random_state=0).fit(X[train], y[train])
    assert alone < 0.75 < coverage(model.predict_interval(X[test])) < 0.88
    ridge = ConformalRegressor(KernelRidge(0.1, kernel=Gaussian("median")), level=0.8)
    assert ridge.fit(X[train], y[train]).predict_interval(X[test]).shape == (len(test), 2)
