"""mercer fit on files that do not fit the memory asked for, or the time."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from mercer import load
from mercer.chunks import CsvChunks
from mercer.cli.main import main

N = 1200


@pytest.fixture
def passes(monkeypatch):
    """The rows of each pass over a file that went to its end."""
    counted, read = [], CsvChunks.__iter__

    def counting(self):
        rows = 0
        for chunk in read(self):
            rows += len(chunk)
            yield chunk
        counted.append(rows)

    monkeypatch.setattr(CsvChunks, "__iter__", counting)
    return counted


@pytest.fixture
def table(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("mercer.cli.fit._TINY", 100)
    monkeypatch.setattr("mercer.tables.streaming.SAMPLE", 300)
    monkeypatch.setattr("mercer.tables.landmarks.MOST", 100)
    found = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["u", "v"], N)})
    found["y"] = np.where(found["b"] == "u", np.sin(2 * found["a"]), found["a"])
    found["k"] = np.where(found["y"] > 0, "up", "down")
    found.loc[::20, "a"] = np.nan
    found.to_csv("t.csv", index=False)
    return found


@pytest.fixture
def little_memory(monkeypatch):
    monkeypatch.setattr("mercer.cli.fit._IN_MEMORY", 1000)


def test_files_larger_than_memory(table, little_memory, passes, capsys):
    fit = ["fit", "t.csv", "--memory", "2 MB", "--budget", "2 s"]
    assert main([*fit, "--target", "y", "--features", "a,b", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(told["rows"].values()) == N
    assert told["rows"]["held_out"] == N / 5
    assert told["rows_used"] == told["rows"]["fit"]
    assert told["scores"]["kernels"]["R2"] > 0.7
    assert list(told["scores"]) == ["the mean", "linear", "boosted trees", "kernels"]
    assert passes == [N, N]
    assert main([*fit, "--target", "k", "--features", "a,b"]) == 0
    out, err = capsys.readouterr()
    assert "t.csv has" in err
    assert "is read in 2 passes of about" in err
    assert "100 landmarks to 912 rows" in err  # of 960, of which 48 decide about the blend
    assert "2 classes: down, up" in out
    assert "saved     t.mercer\n" in out
    assert load("t.mercer").score(table[["a", "b"]], table["k"]) > 0.8


@pytest.mark.parametrize(
    ("options", "expected"),
    [([], 2), (["--budget", "30 s"], 2), (["--budget", "10 s"], 1), (["--test-size", "0"], 2)],
)
def test_files_that_take_long_to_read(options, expected, table, passes, monkeypatch, capsys):
    """Short budgets leave no time for a second pass; without one, reading is beside it."""
    size = Path("t.csv").stat().st_size
    monkeypatch.setattr("mercer.cli.fit._READ", size / 31.0)
    monkeypatch.setattr("mercer.cli.large._READ", size / 5.0)
    budgets = []
    original = "mercer.cli.large.fit_surveyed"
    from mercer.cli.large import fit_surveyed

    def fitted(model, *args, **kwargs):
        budgets.append(model.budget)
        return fit_surveyed(model.set_params(budget="1 s"), *args, **kwargs)

    monkeypatch.setattr(original, fitted)
    fit = ["fit", "t.csv", "--target", "y", "--features", "a,b", "--no-baseline", *options]
    assert main([*fit, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(passes) == expected
    assert budgets == [{(): 60.0, ("--budget", "30 s"): 20.0, ("--budget", "10 s"): 5.0}.get(
        tuple(options), 60.0
    )]  # fmt: skip
    held = 0 if "--test-size" in options else N / 5
    assert told["rows"]["held_out"] == held
    assert told["rows_used"] == (N - held if expected == 2 else 300)


def test_a_budget_that_is_long_enough_reads_the_table_as_a_whole(table, passes, monkeypatch):
    monkeypatch.setattr("mercer.cli.fit._READ", Path("t.csv").stat().st_size / 31.0)
    fit = ["fit", "t.csv", "--target", "y", "--features", "a,b", "--no-baseline", "--quiet"]
    monkeypatch.setattr("mercer.tables.model.TableModel._seconds", lambda self: 1.0)
    assert main([*fit, "--budget", "2 min"]) == 0
    assert passes == []


def test_nothing_is_left_after_an_interruption(table, little_memory, monkeypatch, tmp_path, capsys):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.tables.landmarks.RidgeSums", interrupted)
    assert main(["fit", "t.csv", "--target", "y", "--memory", "2 MB", "--budget", "1 s"]) == 130
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_what_a_fit_would_do(table, little_memory, passes, capsys):
    plan = ["plan", "t.csv", "--target", "y", "--features", "a,b", "--memory", "2 MB"]
    assert main([*plan, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert abs(told["rows"] - N) < 0.1 * N
    assert (told["sample"], told["passes"], told["landmarks"]) == (300, 2, 100)
    assert main(plan) == 0
    out = capsys.readouterr().out
    assert "passes    2 of about" in out
    assert "100 landmarks, on" in out
    assert out.endswith("mercer fit t.csv --target y\n")


def test_rows_with_missing_values(table, little_memory, capsys):
    fit = ["fit", "t.csv", "--target", "y", "--features", "a,b", "--memory", "2 MB"]
    assert main([*fit, "--missing", "error"]) == 2
    assert "t.csv, row 0: column 'a' has no value" in capsys.readouterr().err
    assert main([*fit, "--missing", "drop", "--budget", "1 s", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert sum(told["rows"].values()) == table["a"].notna().sum()


def test_a_kernel_that_is_given_takes_one_pass(table, little_memory, passes, capsys):
    fit = ["fit", "t.csv", "--target", "y", "--memory", "2 MB", "--budget", "1 s"]
    assert main([*fit, "--kernel", "Gaussian().on('a')", "--features", "a"]) == 0
    assert "is read in 1 pass of about" in capsys.readouterr().err
    assert passes == [N]
