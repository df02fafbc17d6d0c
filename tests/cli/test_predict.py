"""mercer predict, from a model and a table to predictions."""

import builtins

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, load, save
from mercer.cli.main import main
from mercer.tables import TableRegressor


@pytest.fixture
def model(folder):
    assert main(["fit", "homes.csv", "--target", "price", "--quiet", "--budget", "5 s"]) == 0
    return load("homes.mercer")


def test_predict_to_a_file(model, capsys):
    assert main(["predict", "homes.mercer", "homes.csv", "--std", "--out", "p.csv"]) == 0
    assert "p.csv: 120 rows" in capsys.readouterr().out
    found = pd.read_csv("p.csv")
    table = pd.read_csv("homes.csv")
    assert list(found.columns) == ["prediction", "std", "low", "high"]
    mean, std = model.predict(table, return_std=True)
    wanted = np.column_stack([mean, std, model.predict_interval(table)])
    np.testing.assert_allclose(found, wanted)


def test_predict_on_the_screen(model, capsys):
    assert main(["predict", "homes.mercer", "homes.csv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["row", "prediction"]
    assert len(lines) == 12
    assert "120 rows in all" in lines[-1]
    assert main(["predict", "homes.mercer", "homes.csv", "--out", "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 121


def test_predict_new_rows(model, capsys):
    new = pd.DataFrame({"city": ["Bonn", "Paris", None], "age": [3, "unknown", 4], "size": 80})
    new["address"] = "1 High Street"
    new.to_csv("new.csv", index=False)
    assert main(["predict", "homes.mercer", "new.csv", "--out", "p.csv"]) == 0
    assert pd.read_csv("p.csv")["prediction"].notna().all()
    new[["city"]].to_csv("new.csv", index=False)
    assert main(["predict", "homes.mercer", "new.csv"]) == 2
    assert "no columns 'address', 'size', 'age'; it has: 'city'" in capsys.readouterr().err


def test_predict_with_other_files(folder, capsys):
    save(Gaussian(), "kernel.mercer")
    assert main(["predict", "kernel.mercer", "homes.csv"]) == 2
    assert "holds a Gaussian, not a model of mercer fit" in capsys.readouterr().err
    assert main(["predict", "homes.csv", "homes.csv"]) == 2
    assert "homes.csv is a table; the model comes first" in capsys.readouterr().err


def test_without_pandas(tmp_path, monkeypatch, capsys):
    """The message says what to install, before the model is read."""
    original = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pandas":
            raise ImportError("No module named 'pandas'")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["predict", str(tmp_path / "m.mercer"), "new.csv"]) == 2
    assert 'pip install "mercer[table]"' in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("option", [[], ["--std"]])
def test_large_files_are_predicted_chunk_by_chunk(
    ending, option, tmp_path, monkeypatch, capsys, rng
):
    monkeypatch.chdir(tmp_path)
    n = 300
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "code": rng.choice(["001", "002", "A7"], n),
            "day": pd.date_range("2021-03-01", periods=n).strftime("%Y-%m-%d"),
            "share": [f"{x} %" for x in rng.integers(0, 99, n)],
        }
    )
    table["y"] = table["x"] + (table["code"] == "001")
    table.to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "--target", "y", "--budget", "1 s", "--quiet"]) == 0
    new = table.drop(columns="y")[table["code"] != "A7"].reset_index(drop=True)
    new.loc[::7, "x"] = np.nan
    new.to_csv("new.csv", index=False) if ending == "csv" else new.to_parquet("new.parquet")
    predict = ["predict", "t.mercer", f"new.{ending}", *option, "--out"]
    assert main([*predict, "whole.csv"]) == 0
    monkeypatch.setattr("mercer.cli.predict._LARGE", 100)
    seen = []
    original = TableRegressor.tabulate
    monkeypatch.setattr(
        TableRegressor, "tabulate", lambda self, X, d: seen.append(len(X)) or original(self, X, d)
    )
    monkeypatch.setattr("mercer.chunks.tables.rows_of_chunk", lambda width: 64)
    assert main([*predict, "parts.csv"]) == 0
    assert len(seen) == -(-len(new) // 64)
    assert f"saved     parts.csv: {len(new)} rows" in capsys.readouterr().out
    parts, whole = pd.read_csv("parts.csv"), pd.read_csv("whole.csv")
    pd.testing.assert_frame_equal(parts, whole, rtol=1e-9)
