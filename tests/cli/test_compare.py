"""mercer compare, tune, plan, explain and bench."""

import json

import numpy as np
import pandas as pd
import pytest

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
    assert main([*arguments, "--rows", "2"]) == 2


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


def test_bench(capsys):
    assert main(["bench", "--rows", "150", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 5
    assert all(row["mercer"] > 0 and row["scikit-learn"] > 0 for row in rows)
