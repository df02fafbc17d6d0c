"""mercer fit, from a table to a model."""

import json

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, load, parse
from mercer.cli.main import main
from mercer.cli.summary import _roles, meaning, summary
from mercer.cli.tasks import fit_table
from mercer.tables.roles import Column


def test_fit_says_what_it_did(folder, capsys):
    assert main(["fit", "homes.csv", "--target", "price", "--budget", "10 s"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 98
    for words in (
        "120 rows: 96 to fit, 24 held out",
        "2 numbers: size, age",
        "1 label: city",
        "skipped planet: the same value in every row",
        "settings compared by 3-fold cross-validation",
        "relevance ",
        "the mean",
        "linear",
        "boosted trees",
        "of the targets lie in their 90% interval",
        "saved     homes.mercer, fitted again to all 120 rows",
        "next      mercer predict homes.mercer NEW_TABLE.csv",
    ):
        assert words in out
    assert [p.name for p in folder.iterdir() if "homes" not in p.name] == []
    model = load("homes.mercer")
    assert model.members_[0].machines_[0].n_samples_seen_ == 120


def test_scores(folder):
    table = pd.read_csv("homes.csv")
    found = fit_table(table, "price", budget=10)
    held = found.held_out
    error = held["target"] - held["prediction"]
    y = held["target"]
    rmse, mae, r2 = found.scores["kernels"]
    assert rmse == pytest.approx(np.sqrt(np.mean(error**2)))
    assert mae == pytest.approx(np.mean(np.abs(error)))
    assert r2 == pytest.approx(1 - np.sum(error**2) / np.sum((y - y.mean()) ** 2))
    assert rmse < found.scores["linear"][0] < found.scores["the mean"][0]
    assert rmse < found.scores["boosted trees"][0]
    np.testing.assert_array_equal(y, table.loc[held.index, "price"])
    np.testing.assert_allclose(found.trained.predict(table.loc[held.index]), held["prediction"])
    assert f"{rmse:.3f}"[:4] in summary(found)


def test_json(folder, capsys):
    arguments = ["--target", "price", "--budget", "5 s", "--json"]
    assert main(["fit", "homes.csv", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    told = json.loads(captured.out)
    assert told["task"] == "regression"
    assert told["rows"] == {"fit": 96, "held_out": 24, "left_out": 0}
    assert set(told["scores"]) == {"the mean", "linear", "boosted trees", "kernels"}
    assert told["model"] == "homes.mercer"
    assert main(["predict", "homes.mercer", "homes.csv", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 120
    assert main(["fit", "homes.csv", *arguments, "--target", "city", "--no-baseline"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["classes"] == ["Bonn", "Köln"]
    assert "boosted trees" not in told["scores"]


def test_quiet_and_same_seed(folder, capsys):
    for name in ("a", "b"):
        arguments = ["--target", "price", "--quiet", "--out", name, "--seed", "4"]
        arguments += ["--test-size", "0", "--budget", "5 s"]
        assert main(["fit", "homes.csv", *arguments]) == 0
    assert capsys.readouterr() == ("", "")
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_options(folder, capsys):
    kernel = "Gaussian('median').on(['size', 'age']) + Linear().on('size')"
    arguments = ["--kernel", kernel, "--features", "size,age", "--alphas", "0.1,1"]
    arguments += ["--test-size", "0", "--memory", "1 MB", "--out", "m.mercer"]
    assert main(["fit", "homes.csv", "--target", "price", *arguments]) == 0
    out = capsys.readouterr().out
    assert "120 rows: 120 to fit, 0 held out" in out
    assert "chosen among 2" in out
    assert "held out  " not in out
    assert load("m.mercer").members_[0].machine_.kernel_.right.columns == "size"


def test_settled_roles(folder, capsys):
    arguments = ["--target", "price", "--labels", "age", "--text", "address", "--quiet"]
    assert main(["fit", "homes.csv", *arguments, "--budget", "5 s"]) == 0
    roles = load("homes.mercer").roles_
    assert roles == {"address": "text", "size": "number", "age": "label", "city": "label"}


def test_missing_values(folder, capsys):
    """They are used, unless somebody wants it otherwise; rows without a target are not."""
    table = pd.read_csv("homes.csv")
    table.loc[[3, 4], "size"] = np.nan
    table.loc[[4, 5], "price"] = np.nan
    table.loc[6, "city"] = None  # a missing label is a label of its own
    table.to_csv("holes.csv", index=False)
    fit = ["fit", "holes.csv", "--target", "price", "--budget", "5 s", "--no-baseline"]
    assert main(fit) == 0
    out = capsys.readouterr().out
    assert "118 rows: 94 to fit, 24 held out; 2 rows left out" in out
    assert "size: 1 missing" in out
    assert main([*fit, "--missing", "error"]) == 2
    error = capsys.readouterr().err
    assert "missing in size (2 times), the target (2 times)" in error
    assert "3 rows of 120 with --missing drop" in error
    assert main([*fit, "--missing", "drop"]) == 0
    assert "3 rows left out" in capsys.readouterr().out


def test_nothing_is_half_written(folder, monkeypatch, capsys):
    """Ctrl-C while a model is fitted or saved leaves the old file, and nothing else."""
    (folder / "homes.mercer").write_bytes(b"old")

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    for place in ("mercer.tables.model.choose", "mercer.io.files.os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(place, stop)
            assert main(["fit", "homes.csv", "--target", "price", "--budget", "2 s"]) == 130
        assert capsys.readouterr().err.endswith("mercer: error: stopped.\n")
        assert (folder / "homes.mercer").read_bytes() == b"old"
        assert sorted(p.name for p in folder.iterdir()) == ["homes.csv", "homes.mercer"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "prize"], "no column 'prize'"),
        (["--target", "city", "--task", "regression"], "), not numbers; use --task"),
        (["--target", "address"], "120 different labels in 120 rows"),
        (["--target", "city", "--features", "city,age"], "'city' is the target"),
        (["--target", "price", "--features", "size,sise"], "no column 'sise'"),
        (["--target", "price", "--features", "planet"], "the same value in every row"),
        (["--target", "price", "--test-size", "1.5"], "--test-size is a share"),
        (["--target", "price", "--kernel", "Gaussian().on('nowhere')"], "no column 'nowhere'"),
        (
            ["--target", "price", "--kernel", "Spectrum(2)", "--features", "size,age"],
            "0 columns of role 'text'",
        ),
    ],
)
def test_bad_requests(arguments, words, folder, capsys):
    assert main(["fit", "homes.csv", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "homes.mercer").exists()


def test_too_few_rows(folder, capsys):
    pd.read_csv("homes.csv").head(4).to_csv("few.csv", index=False)
    assert main(["fit", "few.csv", "--target", "price"]) == 2
    assert "4 rows to fit a model to: at least 5" in capsys.readouterr().err


def test_meaning():
    assert "infinitely smooth; universal" in meaning(Gaussian())
    assert "not universal" in meaning(Gaussian().on("a") + Gaussian().on("b"))


def test_few_whole_numbers_get_a_hint(folder, capsys):
    table = pd.read_csv("homes.csv").drop(columns="address")
    table["stars"] = (table["size"] > 100).astype(int) + (table["age"] > 15)
    table.to_csv("stars.csv", index=False)
    quick = ["--budget", "2 s", "--no-baseline"]
    assert main(["fit", "stars.csv", "--target", "stars", *quick]) == 0
    assert "the target holds 3 different whole numbers" in capsys.readouterr().out
    assert main(["fit", "stars.csv", "--target", "stars", "--task", "regression", *quick]) == 0
    assert "hint" not in capsys.readouterr().out
    assert main(["fit", "stars.csv", "--target", "stars", "--task", "classification", *quick]) == 0
    out = capsys.readouterr().out
    assert "hint" not in out
    assert "3 classes: 0, 1, 2" in out
    assert load("stars.mercer").classes_.tolist() == ["0", "1", "2"]


def test_two_numbers_are_classes(folder, capsys):
    table = pd.read_csv("homes.csv").drop(columns="address")
    table["dear"] = (table.pop("price") > 200).astype(int)
    table.to_csv("dear.csv", index=False)
    assert main(["fit", "dear.csv", "--target", "dear"]) == 0
    out = capsys.readouterr().out
    assert "2 classes: 0, 1" in out
    assert "hint      the target holds two numbers" in out
    forced = ["--task", "regression", "--kernel", "Gaussian(60.0).on('size')"]
    assert main(["fit", "dear.csv", "--target", "dear", *forced]) == 0
    out = capsys.readouterr().out
    assert "R2" in out
    assert "hint" not in out


def test_rows_that_end_in_a_comma(folder, capsys):
    text = (folder / "homes.csv").read_text(encoding="utf-8").splitlines()
    lines = [text[0], *(line + "," for line in text[1:])]
    (folder / "comma.csv").write_text("\n".join(lines), encoding="utf-8")
    for name in ("homes", "comma"):
        arguments = ["--target", "price", "--kernel", "Gaussian(60.0).on('size')", "--quiet"]
        assert main(["fit", f"{name}.csv", *arguments]) == 0
    table = pd.read_csv("homes.csv")
    first, second = (load(f"{name}.mercer").predict(table) for name in ("homes", "comma"))
    np.testing.assert_array_equal(first, second)


def test_decimal_commas_from_fit_to_predict(folder, capsys):
    """The style is settled by the table of the fit: "1,234" alone would be more than a thousand."""
    table = pd.read_csv("homes.csv").drop(columns="address")
    german = table.assign(**{n: table[n].map(str).str.replace(".", ",") for n in ("size", "price")})
    german.to_csv("german.csv", index=False, sep=";")
    kernel = "Gaussian([60.0, 6.0]).on(['size', 'age'])"
    assert main(["fit", "german.csv", "--target", "price", "--kernel", kernel]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "the target: commas are decimal" in out
    assert "size: commas are decimal" in out
    model = fit_table(table, "price", kernel=parse(kernel)).model
    row = "size;age;city;planet\n120,125;9;Bonn;earth\n"
    (folder / "new.csv").write_text(row)
    assert main(["predict", "german.mercer", "new.csv", "--out", "p.csv"]) == 0
    wanted = model.predict(table[:1].assign(size=120.125, age=9, city="Bonn"))
    assert pd.read_csv("p.csv")["prediction"][0] == pytest.approx(wanted[0], rel=1e-9)


def test_many_rows_are_approximated(folder, monkeypatch, capsys):
    """A kernel that is given, by landmarks; with as many of them as rows, nothing changes."""
    monkeypatch.setattr("mercer.tables.model.MANY_ROWS", 50)
    monkeypatch.setattr("mercer.tables.model.RANK", 30)
    table = pd.read_csv("homes.csv").drop(columns="address")
    options = {"kernel": Gaussian([60.0, 6.0]).on(["size", "age"]), "alphas": [0.1]}
    options["baseline"] = False
    few = fit_table(table, "price", **options)
    assert len(few.trained.members_[0].machine_.dual_coef_) == 30
    everything = fit_table(table, "price", rank=None, **options)
    assert few.scores["kernels"][2] == pytest.approx(everything.scores["kernels"][2], abs=0.05)
    same = fit_table(table, "price", rank=96, **options)
    for name in ("prediction", "std"):
        np.testing.assert_allclose(same.held_out[name], everything.held_out[name], rtol=1e-3)


def test_irrelevant_columns_are_learned(rng):
    """One lengthscale per column finds the two that matter among ten."""
    X = rng.uniform(-2, 2, size=(150, 10))
    table = pd.DataFrame(X, columns=[f"c{i}" for i in range(10)])
    table["y"] = np.sin(2 * X[:, 0]) * X[:, 1]
    found = fit_table(table, "y", budget=10)
    relevance = found.trained.relevance_
    assert set(list(relevance)[:2]) == {"c0", "c1"}
    assert found.scores["kernels"][2] > 0.8 > found.scores["linear"][2]


def test_a_verdict_on_a_kernel_without_a_constant(rng):
    size = rng.normal(80, 10, 100)
    table = pd.DataFrame({"size": size, "price": 3 * size + rng.normal(size=100)})
    options = {"budget": "2 s", "baseline": False}
    without = fit_table(table, "price", kernel=parse("Linear().on('size')"), **options)
    said = " ".join(summary(without).split())
    assert "a linear model is better on these rows" in said
    assert "+ 1 adds a constant" in said
    found = fit_table(table, "price", kernel=parse("Linear().on('size') + 1"), **options)
    assert found.scores["kernels"][2] > 0.99


def test_what_is_true_of_many_columns_is_said_once():
    columns = [Column(f"x{i}", "number", "long tails") for i in range(30)]
    columns += [Column("a", "skipped", "constant"), Column("b", "skipped", "constant")]
    told = _roles([*columns, Column("c", "label", "3 missing")])
    assert told[2:] == [
        f"{', '.join(f'x{i}' for i in range(12))}, ... (18 more): long tails",
        "c: 3 missing",
        "skipped a, b: constant",
    ]
