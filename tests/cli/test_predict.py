"""mercer predict, from a model and a table to predictions."""

import builtins

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, load, save
from mercer.cli.main import main


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
