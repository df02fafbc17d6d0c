"""mercer fit on files that do not fit the memory asked for."""

import json

import numpy as np
import pandas as pd

from mercer import load
from mercer.cli.main import main


def test_files_larger_than_memory(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mercer.cli.fit._TINY", 100)
    monkeypatch.setattr("mercer.cli.fit._IN_MEMORY", 1000)
    monkeypatch.setattr("mercer.tables.streaming.SAMPLE", 300)
    monkeypatch.setattr("mercer.tables.landmarks.MOST", 100)
    n = 1200
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["u", "v"], n)})
    table["y"] = np.where(table["b"] == "u", np.sin(2 * table["a"]), table["a"])
    table["k"] = np.where(table["y"] > 0, "up", "down")
    table.loc[::20, "a"] = np.nan
    table.to_csv("t.csv", index=False)
    fit = ["fit", "t.csv", "--memory", "2 MB", "--budget", "2 s"]
    assert main([*fit, "--target", "y", "--features", "a,b", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(told["rows"].values()) == n
    assert told["scores"]["kernels"]["R2"] > 0.7
    assert main([*fit, "--target", "k", "--features", "a,b"]) == 0
    out = capsys.readouterr().out
    assert "2 classes: down, up" in out
    assert "saved     t.mercer\n" in out
    assert load("t.mercer").score(table[["a", "b"]], table["k"]) > 0.8
