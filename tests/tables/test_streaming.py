"""Files read in passes: the same rules, and a model of all rows."""

import numpy as np
import pandas as pd
import pytest

from mercer import load, save, stream
from mercer.tables import TableClassifier, TableRegressor


@pytest.fixture
def table(rng):
    n = 1500
    found = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n)})
    found["c"] = rng.choice(["x", "y"], n)
    found["y"] = np.sin(3 * found["a"]) * found["b"] + (found["c"] == "x")
    found["k"] = np.where(found["y"] > 0.3, "high", "low")
    found.loc[rng.random(n) < 0.05, "a"] = np.nan
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_all_rows_count(kind, table, tmp_path, monkeypatch):
    monkeypatch.setattr("mercer.tables.streaming.SAMPLE", 400)
    monkeypatch.setattr("mercer.tables.landmarks.MOST", 200)
    path = tmp_path / f"t.{kind}"
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    X = table[["a", "b", "c"]]
    options = {"columns": ["a", "b", "c"], "missing": "keep", "rows": 400}
    model = TableRegressor(budget=1).fit(stream(path, target="y", **options))
    few = TableRegressor(budget=1).fit(X[:400], table["y"][:400])
    assert model.score(X, table["y"]) > few.score(X, table["y"])
    assert any(m.machines_[0].n_samples_seen_ > 1000 for m in model.members_)
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))
    low, high = model.predict_interval(X).T
    assert 0.8 < np.mean((table["y"] >= low) & (table["y"] <= high)) < 0.98
    if kind == "csv":
        model = TableClassifier(budget=1).fit(stream(path, target="k", **options))
        assert model.score(X, table["k"]) > 0.85


def test_what_is_refused(table):
    with pytest.raises(ValueError, match="need a target"):
        TableRegressor().fit(stream(table[["a", "b"]].fillna(0.0)))
    with pytest.raises(ValueError, match="chunks with named columns"):
        TableRegressor().fit(stream(np.ones((50, 2)), target=np.arange(50.0)))


def test_a_blend_that_is_no_better_is_dropped(monkeypatch, tmp_path, rng):
    """Of a smooth function landmarks tell all; predictions take a fraction of the time then."""
    monkeypatch.setattr("mercer.tables.streaming.SAMPLE", 200)
    table = pd.DataFrame({"a": rng.normal(size=2000), "b": rng.normal(size=2000)})
    y = (np.sin(table["a"]) + 0.3 * rng.normal(size=2000)).to_numpy()
    source = stream(table.assign(y=y), target="y", rows=300)
    model = TableRegressor(budget=2).fit(source)
    assert len(model.members_) == 1
    assert model.members_[0].machines_[0].n_samples_seen_ == model.rows_ - 100
    assert model.rows_ == 2000
    alone = TableRegressor(budget=2).fit(table[:200], y[:200])
    truth = np.sin(table["a"])
    errors = [np.mean((m.predict(table) - truth) ** 2) for m in (model, alone)]
    assert errors[0] < errors[1] / 2


def test_weights_of_rows_count(monkeypatch, rng):
    """Half of the rows, with nearly no weight, say the opposite."""
    monkeypatch.setattr("mercer.tables.streaming.SAMPLE", 300)
    table = pd.DataFrame({"a": rng.normal(size=2000), "b": rng.normal(size=2000)})
    sign = rng.choice([-1.0, 1.0], 2000)
    table["y"], table["w"] = sign * table["a"], np.where(sign > 0, 1.0, 1e-3)
    source = stream(table, target="y", weight="w", rows=300)
    model = TableRegressor(budget=2).fit(source)
    assert np.corrcoef(model.predict(table), table["a"])[0, 1] > 0.9
