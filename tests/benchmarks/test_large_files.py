"""Files of gigabytes, here of kilobytes: what is in them, and what is kept of results."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def large_files(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.large_files")


@pytest.mark.parametrize("kind", ["numbers", "mixed"])
def test_both_forms_hold_the_same_rows(large_files, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(large_files, "ROWS", 300)
    csv, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    rows = large_files.write(kind, csv, parquet, 60_000)
    dates = [] if kind == "numbers" else ["day", "at"]
    text, packed = pd.read_csv(csv, parse_dates=dates), pd.read_parquet(parquet)
    assert rows == len(text) == len(packed)
    assert rows > 300
    for name in text:
        if name in dates:
            assert (text[name] == pd.to_datetime(packed[name])).all()
        elif text[name].dtype.kind == "f":
            np.testing.assert_allclose(text[name], packed[name])
        else:
            assert text[name].fillna("").tolist() == packed[name].fillna("").tolist()


def test_a_result_takes_the_place_of_an_older_one(large_files, tmp_path, monkeypatch):
    monkeypatch.setattr(large_files, "RESULTS", tmp_path / "r.json")
    found = {
        "kind": "numbers", "form": "csv", "csv_bytes": 10**9, "bytes": 10**9, "rows": 10**6,
        "options": "", "fit_seconds": 50.0, "fit_processor": 60.0, "fit_peak": 5e8,
        "rows_used": 10**6, "r2": 0.9, "predict_seconds": 9.0, "predict_processor": 8.0,
        "predict_peak": 3e8,
    }  # fmt: skip
    large_files.keep(found)
    large_files.keep(found | {"form": "parquet"})
    large_files.keep(found | {"fit_seconds": 40.0})
    assert [(r["form"], r["fit_seconds"]) for r in large_files.known()] == [
        ("parquet", 50.0), ("csv", 40.0)
    ]  # fmt: skip
    assert large_files.show().splitlines()[0] == (
        "numbers, csv, 1.00, 1.0, 1.00, 40, 60, 500, 0.900, 9, 8, 300"
    )
