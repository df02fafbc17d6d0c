"""The model of mercer fit: it learns, it knows how sure it is, it survives a file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from mercer import Gaussian, KernelRidge, load, save
from mercer.tables.regressor import TableRegressor


def waves(rng, n=120):
    """A wave on either side, with noise of standard deviation 0.1."""
    x, side = rng.uniform(0, 6, n), rng.choice(["left", "right"], n)
    y = 5 + np.where(side == "left", 1, -1) * np.sin(x) + 0.1 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "side": side, "id": [f"n{i}" for i in range(n)]}), y


@pytest.fixture
def fitted(rng):
    return TableRegressor().fit(*waves(rng))


def test_it_learns_and_is_calibrated(fitted, rng):
    table, y = waves(rng, 400)
    mean, std = fitted.predict(table, return_std=True)
    assert np.sqrt(np.mean((mean - y) ** 2)) < 0.15
    assert fitted.score(table, y) > 0.95
    assert 0.9 < np.mean(np.abs(mean - y) < 1.96 * std) < 0.995
    far = pd.DataFrame({"x": [100.0], "side": "left"})
    assert fitted.predict(far, return_std=True)[1][0] > 3 * std.max()


def test_attributes(fitted):
    assert fitted.roles_ == {"x": "number", "side": "label"}
    assert [c.role for c in fitted.columns_] == ["number", "label", "skipped"]
    assert fitted.n_settings_ == 23
    assert 0.08 < fitted.cv_rmse_ < 0.15
    assert isinstance(fitted.linear_, KernelRidge)


def test_variance_matches_leave_one_out(rng):
    """Errors of leave-one-out, each model refitted, are as large as they are said to be."""
    table, y = waves(rng, 40)
    model = TableRegressor(Gaussian(1.5).on("x"), alphas=[0.05]).fit(table[["x"]], y)
    centred = y - model.offset_
    ratios = []
    for i in range(len(y)):
        keep = np.arange(len(y)) != i
        ridge = KernelRidge(0.05, kernel=Gaussian(1.5)).fit(
            table.loc[keep, ["x"]].to_numpy(), centred[keep]
        )
        row = table.loc[[i], ["x"]].to_numpy()
        error = centred[i] - ridge.predict(row)[0]
        ratios.append(error**2 / (ridge.posterior_variance(row)[0] + 0.05))
    np.testing.assert_allclose(model.variance_, np.mean(ratios), rtol=1e-8)


def test_given_kernel_and_penalty(rng):
    table, y = waves(rng)
    kernel = Gaussian("median").on("x")
    model = TableRegressor(kernel, alphas=[0.3], cv=None).fit(table, y)
    wanted = KernelRidge(0.3, kernel=kernel).fit(table, y - y.mean()).predict(table) + y.mean()
    np.testing.assert_allclose(model.predict(table), wanted, rtol=1e-12)


def test_text(rng):
    """The target is the share of one letter, which a Gaussian on numbers cannot see."""
    words = ["".join(rng.choice(list("ab"), 30, p=[p, 1 - p])) for p in rng.random(80)]
    y = np.array([w.count("a") for w in words], dtype=float)
    table = pd.DataFrame({"word": words, "noise": rng.normal(size=80)})
    model = TableRegressor().fit(table, y)
    assert model.roles_["word"] == "text"
    assert model.cv_rmse_ < 0.2 * y.std()


def test_many_rows_are_sampled_for_the_choice(rng, monkeypatch):
    monkeypatch.setattr("mercer.tables.regressor.SEARCH_ROWS", 50)
    monkeypatch.setattr("mercer.tables.regressor.CHECKED_ROWS", 50)
    table, y = waves(rng, 150)
    model = TableRegressor().fit(table, y)
    assert len(model.ridge_.dual_coef_) == 150
    coef, centred = model.ridge_.dual_coef_, y - model.offset_
    np.testing.assert_allclose(model.variance_, coef @ centred / 150)  # maximum likelihood
    assert model.score(table, y) > 0.95


def test_missing_values(fitted, rng):
    table, y = waves(rng, 10)
    wanted = fitted.predict(table)
    table.loc[2, "x"] = np.nan
    table.loc[3, "side"] = None
    found = fitted.predict(table)
    assert np.isnan(found[2])
    assert np.isfinite(np.delete(found, 2)).all()
    np.testing.assert_allclose(np.delete(found, [2, 3]), np.delete(wanted, [2, 3]))
    assert np.isnan(fitted.predict(table[2:3], return_std=True)).all()
    with pytest.raises(ValueError, match="missing values"):
        TableRegressor().fit(table, y)
    with pytest.raises(ValueError, match="no column 'side'"):
        fitted.predict(table[["x"]])


def test_files(fitted, tmp_path, rng):
    table, _ = waves(rng, 20)
    save(fitted, tmp_path / "model.mercer")
    found = load(tmp_path / "model.mercer")
    for a, b in zip(found.predict(table, True), fitted.predict(table, True), strict=True):
        np.testing.assert_array_equal(a, b)
    assert found.roles_ == fitted.roles_


def test_clone_and_seed(rng):
    table, y = waves(rng, 60)
    model = TableRegressor(random_state=3)
    first, second = clone(model).fit(table, y), clone(model).fit(table, y)
    np.testing.assert_array_equal(first.predict(table), second.predict(table))


def test_nothing_to_use():
    with pytest.raises(ValueError, match="no column"):
        TableRegressor().fit(pd.DataFrame({"a": [1, 1, 1]}), [1.0, 2.0, 3.0])


@pytest.mark.parametrize("seed", [0, 1])
def test_many_columns_of_mixed_units(seed):
    """Constants, columns that nearly depend on each other, outliers, sentinels, repeated rows."""
    rng = np.random.default_rng(seed)
    n, p = 120, 60
    unit = 10.0 ** rng.uniform(-12, 12, p)
    V = rng.normal(size=(n, p)) * unit + unit * rng.choice([0, 1, 1e3, 1e6], p)
    V[:, ::7] = rng.integers(0, 3, V[:, ::7].shape)
    V[:, 3], V[:, 5], V[:, 8] = 5.0, 2 * V[:, 6], V[:, 9] + 1e-9 * unit[9]
    V[0, 10], V[1, 11] = 1e8 * unit[10], -99999
    V[n // 2 :] = V[: n // 2]
    table = pd.DataFrame(V, columns=[f"c{j}" for j in range(p)])
    y = V[:, 0] + rng.normal(size=n) * 0.1
    model = TableRegressor(random_state=0).fit(table, y)
    assert np.isfinite(model.predict(table)).all()
    assert model.score(table, y) > 0.5
