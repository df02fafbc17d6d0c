"""mercer compare, tune, plan, explain and bench."""

import json
import shlex

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.cli.main import main


def test_compare(folder, capsys):
    arguments = ["--target", "price,city", "--budget", "3 s", "--features", "size,age,city,price"]
    kernel = "Gaussian([60.0, 6.0]).on(['size', 'age'])"
    assert main(["compare", "homes.csv", *arguments, "--kernel", kernel]) == 0
    out = capsys.readouterr().out
    for words in ("regression, 5 models", "classification, 5 models", "boosted trees", "constant"):
        assert words in out
    assert main(["compare", "homes.csv", "--target", "price", "--budget", "3 s", "--json"]) == 0
    models = json.loads(capsys.readouterr().out)["price"]["models"]
    scores = {row["model"]: row["R2"] for row in models}
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert scores["kernels, chosen"] > scores["linear"] > scores["constant"]


def test_tune(folder, capsys):
    kernel = "Gaussian([10.0, 10.0]).on(['size', 'age'])"
    arguments = ["tune", "homes.csv", "--target", "price", "--kernel", kernel]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == 120
    assert told["kernel"].startswith("Gaussian(lengthscale=[")
    assert told["kernel"] != kernel
    assert main([*arguments, "--rows", "50"]) == 0
    assert "on 50 rows" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*arguments, "--rows", "2"])
    assert "--rows: must be an integer >= 5, got '2'" in capsys.readouterr().err


def test_plan(folder, capsys):
    assert main(["plan", "homes.csv", "--target", "price", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["rows"] == 120
    assert told["folds"] == 3
    assert told["pieces"] == 1
    assert main(["plan", "homes.csv", "--target", "city"]) == 0
    assert "one model of all rows" in capsys.readouterr().out
    big = pd.DataFrame(np.random.default_rng(0).normal(size=(30_000, 3)), columns=list("abc"))
    big.to_csv("big.csv", index=False)
    assert main(["plan", "big.csv", "--target", "a", "--budget", "20 s"]) == 0
    assert "pieces of" in capsys.readouterr().out


def test_explain_a_row(folder, capsys):
    assert main(["fit", "homes.csv", "--target", "price", "--quiet", "--budget", "3 s"]) == 0
    assert main(["explain", "homes.mercer"]) == 0
    assert "relevance" in capsys.readouterr().out
    assert main(["explain", "homes.mercer", "homes.csv", "--row", "3", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    total = told["base"] + sum(c["adds"] for c in told["columns"])
    assert total == pytest.approx(told["prediction"])
    assert main(["explain", "homes.mercer", "homes.csv", "--row", "300"]) == 2
    assert "--row must be from 0 to 119" in capsys.readouterr().err


def test_explain_many_columns(folder, capsys, monkeypatch):
    """Fewer orders are drawn, which is said; the parts add up as before."""
    fit = ["fit", "homes.csv", "--target", "price", "--budget", "2 s", "--no-baseline", "--quiet"]
    assert main(fit) == 0
    explain = ["explain", "homes.mercer", "homes.csv"]
    assert main(explain) == 0
    assert "orders" not in capsys.readouterr().out
    monkeypatch.setattr("mercer.cli.explain._STEPS", 30)
    assert main(explain) == 0
    assert "from 14 random orders" in " ".join(capsys.readouterr().out.split())
    assert main([*explain, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["orders"] == 14
    total = told["base"] + sum(c["adds"] for c in told["columns"])
    assert total == pytest.approx(told["prediction"])


def test_what_comes_next_can_be_copied(folder, capsys):
    """On one line, with quotes where they are needed."""
    table = pd.read_csv("homes.csv").rename(columns={"size": "size in square metres"})
    table["age of the house when it was sold"] = table.pop("age")
    table.to_csv("my homes.csv", index=False)
    arguments = ["my homes.csv", "--target", "price"]
    assert main(["plan", *arguments]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "next      mercer fit 'my homes.csv' --target price --budget '1 min'"
    features = "size in square metres,age of the house when it was sold"
    kernel = ["--kernel", "Gaussian() + Linear()", "--features", features, "--rows", "40"]
    assert main(["tune", *arguments, *kernel]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    words = shlex.split(last)
    assert words[:7] == ["next", "mercer", "fit", "my homes.csv", "--target", "price", "--kernel"]
    assert len(words) == 8
    assert mercer.parse(words[7])


def test_bench(capsys):
    assert main(["bench", "--rows", "150", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 5
    assert all(row["mercer"] > 0 and row["scikit-learn"] > 0 for row in rows)


def test_compare_leaves_out_labels_that_occur_once(folder, capsys):
    table = pd.read_csv("homes.csv")
    kinds = np.array(["flat", "house"] * 60, dtype=object)
    for seed in range(3):
        kinds[40 * seed + 7] = f"castle {seed}"
    table.assign(kind=kinds).to_csv("kinds.csv", index=False)
    arguments = ["compare", "kinds.csv", "--target", "kind", "--features", "size,age"]
    assert main([*arguments, "--budget", "2 s", "--test-size", "0.5"]) == 0
    assert "boosted trees" in capsys.readouterr().out
    assert main([*arguments, "--test-size", "0"]) == 2
    assert "--test-size must be above 0" in capsys.readouterr().err


def test_dates_are_numbers_to_kernels(folder, capsys):
    dates = pd.date_range("2021-01-01", periods=120).strftime("%Y-%m-%d")
    pd.DataFrame({"when": dates, "y": np.arange(120.0)}).to_csv("dates.csv", index=False)
    assert main(["plan", "dates.csv", "--target", "y", "--kernel", "Gaussian()"]) == 0
    assert "120 samples" in capsys.readouterr().out
    assert main(["tune", "dates.csv", "--target", "y", "--kernel", "Gaussian(30.0)"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    kernel = said.split("kernel ", 1)[1].split(" alpha")[0]
    assert f'mercer fit dates.csv --target y --kernel "{kernel}"' in said


def test_explain_says_that_there_is_no_file(folder, capsys):
    assert main(["explain", "nowhere.mercer"]) == 2
    assert capsys.readouterr().err == "mercer: error: there is no file 'nowhere.mercer'.\n"
