"""Tables in, numbers out: gaps, weights, intervals, explanations, files, scikit-learn's checks."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelRidge, load, save
from mercer.tables import TableClassifier, TableRegressor
from mercer.tables.model import as_frame

NOT_EQUIVALENT = {
    "check_sample_weight_equivalence_on_dense_data": "rows decide the folds of the search",
}


@parametrize_with_checks(
    [TableRegressor(budget=1)], expected_failed_checks=lambda _: NOT_EQUIVALENT
)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture
def table(rng):
    n = 150
    found = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "when": pd.date_range("2021-01-01", periods=n, freq="5D"),
            "side": rng.choice(["left", "right", "top"], n),
            "noise": rng.normal(size=n),
        }
    )
    season = np.sin(2 * np.pi * found["when"].dt.day_of_year / 365)
    found["y"] = 2 * found["x"] + 3 * season + 2.0 * (found["side"] == "left")
    found["y"] += 0.2 * rng.normal(size=n)
    found.loc[::9, "x"] = np.nan
    found.loc[1::11, "side"] = None
    return found


def test_it_learns(table):
    X, y = table.drop(columns="y"), table["y"]
    model = TableRegressor(budget=5).fit(X[:110], y[:110])
    assert model.roles_ == {"x": "number", "when": "date", "side": "label", "noise": "number"}
    assert model.score(X[110:], y[110:]) > 0.6
    assert model.validation_error_ < 0.4
    assert "17 missing" in {c.name: c.why for c in TableRegressor(budget=1).fit(X, y).columns_}["x"]
    assert model.relevance_["x"] > model.relevance_["noise"]
    assert len(model.kernel_words()) == len(model.members_)


def test_cross_validation_and_order_of_columns(table):
    X, y = table.drop(columns="y"), table["y"]
    assert cross_val_score(TableRegressor(budget=1), X, y, cv=3).mean() > 0.4
    model = TableRegressor(budget=1).fit(X, y)
    mixed = X[["noise", "side", "when", "x"]].assign(extra=1)
    np.testing.assert_array_equal(model.predict(X), model.predict(mixed))
    with pytest.raises(ValueError, match="no column 'when'"):
        model.predict(X.drop(columns="when"))


def test_intervals(rng):
    """They hold nine in ten new targets or so, and are wider where there are no rows."""
    x = rng.uniform(-2, 2, 600)
    table, y = pd.DataFrame({"x": x}), np.sin(2 * x) + 0.2 * rng.normal(size=600)
    model = TableRegressor(budget=2).fit(table[:200], y[:200])
    low, high = model.predict_interval(table[200:], level=0.9).T
    assert 0.82 < np.mean((y[200:] >= low) & (y[200:] <= high)) < 0.97
    mean, std = model.predict(table[200:], return_std=True)
    np.testing.assert_allclose((low + high) / 2, mean)
    assert 0.15 < std.mean() < 0.3
    wide = model.predict_interval(pd.DataFrame({"x": [2.8, 0.0]}))
    assert np.ptp(wide[0]) > np.ptp(wide[1])
    several = model.predict_interval(table[:5], level=[0.9, 0.3])
    for j, level in enumerate((0.9, 0.3)):
        np.testing.assert_array_equal(several[..., j], model.predict_interval(table[:5], level))
    for level in (90, [0.5, 1.0]):
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            model.predict_interval(table, level)


def test_explanations_add_up(table):
    X, y = table.drop(columns="y"), table["y"]
    model = TableRegressor(budget=2).fit(X, y)
    for row in (X.iloc[[5]], X.iloc[5], X.iloc[5].to_dict()):
        found = model.explain(row)
        assert found["adds"].sum() + found.attrs["base"] == pytest.approx(found.attrs["prediction"])
        assert found.attrs["prediction"] == pytest.approx(model.predict(X.iloc[[5]])[0])
    assert set(found["column"]) == set(X.columns)
    assert found.set_index("column").loc["noise", "adds"] == pytest.approx(0, abs=0.5)
    with pytest.raises(ValueError, match="one row, got 2"):
        model.explain(X[:2])


def test_explanations_take_little_memory(table, monkeypatch):
    """However few rows are predicted together, the answer is the same."""
    X = table.drop(columns="y")
    model = TableRegressor(budget=2).fit(X, table["y"])
    wanted = model.explain(X[:1])
    sizes = []
    monkeypatch.setattr("mercer.tables.shapley._VALUES", 40)
    monkeypatch.setattr(
        model, "_values", lambda x: sizes.append(len(x.Z)) or type(model)._values(model, x)
    )
    found = model.explain(X[:1])
    assert max(sizes[:-1]) == 40 // (X.shape[1] + 1)
    assert found["column"].tolist() == wanted["column"].tolist()
    np.testing.assert_allclose(found["adds"], wanted["adds"], rtol=1e-6, atol=1e-8)


def test_explanations_of_a_sum(rng):
    """Of f = a(x) + b(z), what a column adds is its part minus the mean over the other rows."""
    X = rng.normal(size=(80, 2))
    table = pd.DataFrame(X, columns=["a", "b"])
    kernel = Gaussian(1.0).on("a") + Gaussian(1.0).on("b")
    y = np.sin(X[:, 0]) + X[:, 1]
    model = TableRegressor(kernel, alphas=[0.01]).fit(table, y)
    found = model.explain(table.iloc[[3]], n_orders=300).set_index("column")["adds"]
    swapped = model.background_.assign(a=table["a"][3])
    wanted = np.mean(model.predict(swapped) - model.predict(model.background_))
    assert found["a"] == pytest.approx(wanted, abs=0.1)


def test_given_kernels(table):
    X, y = table[["x", "noise"]].fillna(0.0), table["y"]
    kernel = Gaussian([1.0, 30.0]).on(["x", "noise"])
    model = TableRegressor(kernel, alphas=[0.1]).fit(X, y)
    z = (y - y.mean()) / y.std(ddof=0)
    ridge = KernelRidge(0.1, kernel=kernel).fit(X, z)
    np.testing.assert_allclose(model.predict(X), y.mean() + y.std(ddof=0) * ridge.predict(X))
    assert model.members_[0].machine_.kernel_ == kernel
    few = TableRegressor(kernel, alphas=[0.1], rank=20).fit(X, y)
    assert len(few.members_[0].machine_.dual_coef_) == 20


def test_weights(rng):
    """Rows of weight 0 are not there; heavy rows are fitted."""
    x = np.linspace(-1, 1, 60)
    table, y = pd.DataFrame({"x": x}), np.where(np.arange(60) % 2, x, -x)
    w = np.where(np.arange(60) % 2, 1.0, 0.0)
    model = TableRegressor(budget=1).fit(table, y, w)
    only = TableRegressor(budget=1).fit(table[1::2], y[1::2])
    np.testing.assert_allclose(model.predict(table), only.predict(table), atol=0.1)
    with pytest.raises(ValueError, match="zero"):
        TableRegressor().fit(table, y, 0 * w)


def test_text(rng):
    words = rng.choice(["alpha", "beta", "gamma"], (120, 6))
    y = (words == "beta").sum(axis=1) + 0.1 * rng.normal(size=120)
    table = pd.DataFrame({"text": [" ".join(row) for row in words]})
    model = TableRegressor(budget=2).fit(table[:80], y[:80])
    assert model.roles_ == {"text": "text"}
    assert model.score(table[80:], y[80:]) > 0.9


def test_files_and_refit(table, tmp_path):
    X, y = table.drop(columns="y"), table["y"]
    model = TableRegressor(budget=2).fit(X[:100], y[:100])
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    pd.testing.assert_frame_equal(again.explain(X[:1]), model.explain(X[:1]))
    more = model.refit(X, y)
    assert [m.alpha for m in more.members_] == [m.alpha for m in model.members_]
    assert sum(len(m.dual_coef_) for m in more.members_[0].machines_) == 150
    assert more.score(X, y) > 0.8


def test_hard_tables(rng):
    """Outliers of 1e8, offsets of 1e7, duplicates, constants, more columns than rows."""
    n = 80
    x = rng.normal(size=n)
    hard = pd.DataFrame({"x": x, "offset": 1e7 + x, "unit": 1e-9 * rng.normal(size=n), "one": 1})
    hard.loc[0, "x"] = 1e8
    model = TableRegressor(budget=1).fit(pd.concat([hard, hard]), np.tile(np.sin(x), 2))
    assert np.isfinite(model.predict(hard)).all()
    assert model.score(hard, np.sin(x)) > 0.8
    wide = pd.DataFrame(rng.normal(size=(30, 400)))
    assert np.isfinite(TableRegressor(budget=1).fit(wide, wide[0]).predict(wide)).all()
    with pytest.raises(ValueError, match="no column of the table can be used"):
        TableRegressor().fit(pd.DataFrame({"a": [1, 1, 1]}), [1, 2, 3])
    with pytest.raises(ValueError, match="for labels use TableClassifier"):
        TableRegressor().fit(pd.DataFrame({"a": [1, 2, 3]}), ["a", "b", "c"])
    with pytest.raises(ValueError, match="alphas must be positive"):
        TableRegressor(alphas=[0.0]).fit(pd.DataFrame({"a": np.arange(9)}), np.arange(9))


def test_tables_of_polars(table):
    pl = pytest.importorskip("polars")
    X, y = table.drop(columns="y"), table["y"]
    found = TableRegressor(budget=1).fit(pl.from_pandas(X), y)
    wanted = TableRegressor(budget=1).fit(X, y)
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-9)


def test_columns_of_polars_that_pandas_has_no_name_for(rng):
    """Durations and times of day are seconds, with their gaps; long integers are numbers."""
    pl = pytest.importorskip("polars")
    seconds = rng.integers(0, 86_400, 60)
    X = pl.DataFrame({"long": seconds}).select(
        pl.col("long").cast(pl.Int128),
        lasted=pl.duration(seconds=pl.col("long")),
        at=pl.when(pl.col("long") > 5000).then((pl.col("long") * 10**9).cast(pl.Time)),
    )
    frame = as_frame(X, None)
    np.testing.assert_array_equal(frame["long"], seconds)
    np.testing.assert_array_equal(frame["lasted"], seconds)
    np.testing.assert_array_equal(frame["at"], np.where(seconds > 5000, seconds, np.nan))
    model = TableRegressor(budget=1).fit(X.select("lasted"), seconds)
    assert model.score(X.select("lasted"), seconds) > 0.99


def test_refits_measure_uncertainty_as_their_errors_were(table, monkeypatch):
    y = table.pop("y")
    monkeypatch.setattr("mercer.tables.model._ADAPTIVE", 120)
    model = TableRegressor(budget=1).fit(table[:100], y[:100])
    again = model.refit(table, y)
    assert model.adaptive_
    assert again.adaptive_  # although all rows are more than 120
    before, after = (np.median(np.ptp(m.predict_interval(table), axis=1)) for m in (model, again))
    assert 0.5 < after / before < 1.5


def test_refits_take_arrays_with_columns_that_are_not_used(rng):
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    again = TableRegressor(budget=1).fit(X, X[:, 1]).refit(X[:40], X[:40, 1])
    assert again.n_features_in_ == 3
    assert again.score(X, X[:, 1]) > 0.9


def test_of_many_rows_some_are_used(rng, monkeypatch):
    """As many as the budget allows, in fits to other rows as well."""
    monkeypatch.setattr("mercer.tables.search._FEW", 60)
    monkeypatch.setattr("mercer.tables.search._ROW", 1e-3)
    monkeypatch.setattr("mercer.tables.search._LEAST_LEAF", 50)
    table = pd.DataFrame({"a": rng.normal(size=900), "b": rng.choice(["x", "y"], 900)})
    y = np.sin(table["a"]) + (table["b"] == "x")
    model = TableRegressor(budget="2 s").fit(table, y)
    used = model.rows_
    assert 100 < used < 400
    assert model.rows_given_ == 900
    assert sum(len(m.dual_coef_) for m in model.members_[0].machines_) == used
    assert model.score(table, y) > 0.9
    again = model.refit(table[:600], y[:600])
    assert again.rows_ == used
    heavy = np.where(np.arange(900) < 450, 1.0, 0.0)
    assert TableRegressor(budget="2 s").fit(table, y, heavy).rows_ < used
    labels = np.where(y > 0.5, "high", "low").astype(object)
    labels[:3] = "rare"
    sorter = TableClassifier(budget="2 s").fit(table, labels)
    assert sorter.rows_ < 500
    assert list(sorter.classes_) == ["high", "low", "rare"]
    assert list(sorter.refit(table, labels).classes_) == ["high", "low", "rare"]
