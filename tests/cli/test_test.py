"""mercer test, from tables to a verdict."""

import json

import numpy as np
import pandas as pd
import pytest

from mercer import two_sample_test
from mercer.cli.main import main


@pytest.fixture
def tables(tmp_path, monkeypatch, rng):
    """Two samples that differ in age only, and a table in which y and c depend on x."""
    monkeypatch.chdir(tmp_path)
    n = 80
    for name, shift in (("a.csv", 0), ("b.csv", 12)):
        columns = {
            "id": range(n),
            "age": rng.normal(40 + shift, 10, n),
            "income": rng.lognormal(10, 0.5, n),
            "city": rng.choice(["Rome", "Oslo", "Lima"], n),
        }
        pd.DataFrame(columns).to_csv(name, index=False)
    x = rng.normal(size=n)
    columns = {
        "x": x,
        "noise": rng.normal(size=n),
        "y": x**2 + 0.2 * rng.normal(size=n),
        "c": np.where(x > 0, "up", "down"),
        "same": 1,
    }
    pd.DataFrame(columns).to_csv("t.csv", index=False)
    return tmp_path


def listed(out, name):
    """The p-value of a part, as it was printed."""
    line = next(line for line in out.splitlines() if f" {name} " in line.replace("where", "  "))
    return float(line.split()[-2])


def test_two_samples(tables, capsys):
    assert main(["test", "two-sample", "a.csv", "b.csv", "--permutations", "199"]) == 0
    out = capsys.readouterr().out
    assert "80 and 80 rows" in out
    assert "evidence against" in out
    assert "no evidence" not in out
    assert listed(out, "age") == 0.005
    assert listed(out, "income") > 0.05
    assert " id " not in out
    assert max(map(len, out.splitlines())) <= 98


def test_json(tables, capsys):
    arguments = ["--permutations", "99", "--json"]
    assert main(["test", "two-sample", "a.csv", "b.csv", *arguments]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert captured.err == ""
    assert told["pvalue"] == 0.01
    assert told["pvalue_interval"][1] > 0.01
    assert told["where"][0]["name"] == "age"
    assert {part["name"] for part in told["where"]} == {"age", "income", "city"}
    assert all(part["corrected"] >= part["pvalue"] for part in told["where"])
    assert main(["test", "independence", "t.csv", "--x", "x,same", "--y", "y", *arguments]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["skipped"] == {"same": "the same value in every row"}
    assert told["where"] == []


def test_two_samples_that_do_not_differ(tables, capsys):
    arguments = ["a.csv", "b.csv", "--features", "income,city", "--permutations", "99"]
    assert main(["test", "two-sample", *arguments]) == 0
    assert "no evidence against" in capsys.readouterr().out


def test_numbers_are_tested_as_in_python(tables, capsys):
    arguments = ["a.csv", "b.csv", "--features", "income", "--seed", "3"]
    assert main(["test", "two-sample", *arguments]) == 0
    a, b = (pd.read_csv(name)["income"].to_numpy() for name in ("a.csv", "b.csv"))
    expected = two_sample_test(a, b, rng=3).pvalue  # the unit of the numbers does not matter
    assert f"p-value   {expected:.4g} (" in capsys.readouterr().out


def test_a_kernel_of_the_user(tables, capsys):
    expression = "Gaussian('median').on('age')"
    arguments = ["a.csv", "b.csv", "--kernel", expression, "--permutations", "99"]
    assert main(["test", "two-sample", *arguments]) == 0
    assert "0.01" in capsys.readouterr().out


def test_independence(tables, capsys):
    arguments = ["t.csv", "--x", "x,noise", "--y", "y,c,same", "--plot", "picture.png"]
    assert main(["test", "independence", *arguments, "--permutations", "199"]) == 0
    out = capsys.readouterr().out
    assert "80 rows" in out
    assert "skipped same: the same value in every row" in out
    assert listed(out, "x, y") <= 0.005
    assert listed(out, "x, c") <= 0.005
    assert listed(out, "noise, y") > 0.05
    assert (tables / "picture.png").stat().st_size > 1000


def test_missing_values(tables, capsys):
    table = pd.read_csv("a.csv")
    table.loc[3, "age"] = np.nan
    table.to_csv("a.csv", index=False)
    assert main(["test", "two-sample", "a.csv", "b.csv", "--missing", "error"]) == 2
    assert "--missing drop" in capsys.readouterr().err
    arguments = ["a.csv", "b.csv", "--plot", "two.png"]
    assert main(["test", "two-sample", *arguments, "--permutations", "39"]) == 0
    assert "79 and 80 rows; 1 row with missing values left out" in capsys.readouterr().out
    assert (tables / "two.png").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["two-sample", "a.csv", "t.csv"], "no column in common"),
        (["two-sample", "a.csv", "none.csv"], "there is no file"),
        (["two-sample", "a.csv", "b.csv", "--features", "height"], "no column 'height'"),
        (["two-sample", "a.csv", "b.csv", "--plot", "nowhere/x.png"], "there is no folder"),
        (["independence", "t.csv", "--x", "x", "--y", "x"], "'x' is in --x and in --y"),
        (["independence", "t.csv", "--x", "same", "--y", "x"], "no column of --x can be used"),
    ],
)
def test_refused(tables, capsys, arguments, words):
    assert main(["test", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_blocks_of_a_series(tables, capsys):
    arguments = ["a.csv", "b.csv", "--features", "age", "--permutations", "99", "--blocks", "8"]
    assert main(["test", "two-sample", *arguments]) == 0
    assert "20 blocks" in capsys.readouterr().out
    columns = ["t.csv", "--x", "x", "--y", "y", "--permutations", "99", "--blocks", "4"]
    assert main(["test", "independence", *columns]) == 0
    assert "159 permutations" in capsys.readouterr().out  # 20 blocks: shifts times multipliers
    assert main(["test", "independence", *columns[:-1], "1000"]) == 2
    assert "blocks must be" in capsys.readouterr().err


def test_many_columns_are_tested_one_by_one(tmp_path, monkeypatch, capsys, rng):
    """The first are listed, corrected for all of them."""
    monkeypatch.chdir(tmp_path)
    for name, shift in (("a.csv", 0), ("b.csv", 2)):
        X = rng.normal(size=(40, 12))
        X[:, 10] += shift
        pd.DataFrame(X, columns=[f"c{i}" for i in range(12)]).to_csv(name, index=False)
    arguments = ["two-sample", "a.csv", "b.csv", "--permutations", "199"]
    assert main(["test", *arguments]) == 0
    out = capsys.readouterr().out
    first = next(line for line in out.splitlines() if line.split()[0] == "c10").split()
    assert [float(x) for x in first[1:]] == pytest.approx([0.005, 0.06])
    assert "... 4 more, with larger p-values" in out
    monkeypatch.setattr("mercer.cli.test._TESTED", 5)
    assert main(["test", *arguments]) == 0
    assert "12 columns are too many to test one by one" in capsys.readouterr().out
