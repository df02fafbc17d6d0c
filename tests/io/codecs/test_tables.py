"""Tables of polars in files; those of pandas are in test_io.py."""

import numpy as np
import pytest

import mercer
from mercer import Categorical, Gaussian, KernelRidge, Spectrum, load, save
from mercer.exceptions import FileFormatError

pl = pytest.importorskip("polars")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m"


@pytest.fixture
def table(rng):
    n = 20
    return pl.DataFrame(
        {
            "x": rng.normal(size=n),
            "count": rng.integers(0, 9, n).astype(np.int32),
            "flag": rng.random(n) < 0.5,
            "colour": rng.choice(["red", "blue", "grün"], n),
            "series": [list(rng.normal(size=i % 3 + 1)) for i in range(n)],
        }
    )


def round_trip(value, path):
    save(value, path)
    return load(path)


def test_columns_keep_their_type(table, path):
    found = round_trip(table, path)
    assert found.schema == table.schema
    assert found.equals(table)


def test_missing_values_and_labels(path):
    table = pl.DataFrame({"a": [1, None], "b": [None, "x"], "c": [True, None], "d": [None, None]})
    assert round_trip(table, path).rows() == table.rows()
    column = pl.Series("c", ["a", "b", "a"], dtype=pl.Categorical)
    assert round_trip(column, path).to_list() == ["a", "b", "a"]


def test_objects(path):
    column = pl.Series("o", [(1, "a"), {"b": 2}], dtype=pl.Object)
    assert round_trip(column, path).to_list() == [(1, "a"), {"b": 2}]


def test_dates_are_refused(path):
    table = pl.DataFrame({"t": [1, 2]}).with_columns(pl.col("t").cast(pl.Date))
    with pytest.raises(ValueError, match="column 't' of DataFrame: it holds Date"):
        save(table, path)
    with pytest.raises(ValueError, match="it has no columns"):
        save(pl.DataFrame(), path)


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(kernel=Gaussian("median").on(["x", "count"]) * Categorical().on("colour")),
        mercer.SVR(Gaussian().on("x") + Spectrum(2).on("colour")),
        mercer.GaussianProcessRegressor(Gaussian().on("x")),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models(model, table, path, rng):
    fitted = model.fit(table, rng.normal(size=len(table)))
    np.testing.assert_array_equal(
        round_trip(fitted, path).predict(table[::2]), fitted.predict(table[::2])
    )


@pytest.mark.parametrize(
    "columns",
    [
        [],
        [{"name": "a", "objects": False, "items": [1, 2]}] * 2,
        [{"name": n, "objects": False, "items": [1] * i} for i, n in enumerate("abc")],
        [{"name": "a", "objects": False, "items": [1, "b", [2]]}],
        [{"name": 1, "objects": False, "items": [1]}],
        [{"objects": False, "items": [1]}],
    ],
)
def test_damaged_tables(columns, path, monkeypatch):
    from mercer.io.codecs import kinds

    monkeypatch.setitem(
        kinds.ENCODERS, "polars.DataFrame", lambda *_: {"type": "polars", "columns": columns}
    )
    save(pl.DataFrame({"a": [1]}), path)
    with pytest.raises(FileFormatError):
        load(path)
