"""What people get wrong most often: one sentence that names the remedy, and nothing is written."""

import os
import shutil

import pandas as pd
import pytest

from mercer.cli.main import main


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with a table, its model, and files that look alike."""
    folder = tmp_path_factory.mktemp("desk")
    before = os.getcwd()
    os.chdir(folder)
    n = 40
    table = pd.DataFrame({"size": range(n), "age": [i % 7 for i in range(n)]})
    table["city"] = ["Ulm", "Bonn"] * 20
    table["price"] = 2.0 * table["size"] + table["age"]
    table.to_csv("homes.csv", index=False)
    table.drop(columns=["age", "city"]).to_csv("less.csv", index=False)
    table.head(0).to_csv("names.csv", index=False)
    wide = pd.DataFrame({f"column{i}": [1.0, 2.0] for i in range(2000)})
    wide.to_csv("wide.csv", index=False)
    (folder / "empty.csv").touch()
    (folder / "folder").mkdir()
    shutil.copy("homes.csv", "homes.xlsx")
    fit = ["fit", "homes.csv", "--target", "price", "--budget", "1 s", "--no-baseline", "--quiet"]
    assert main(fit) == 0
    os.chdir(before)
    return folder


FIT = ["fit", "homes.csv", "--target", "price"]
MISTAKES = {
    "name of the table": (["fit", "home.csv", "--target", "price"], "did you mean 'homes.csv'"),
    "no such table": (["fit", "x/far.csv", "--target", "y"], r"there is no file 'x/far.csv'\."),
    "folder for a table": (["fit", "folder", "--target", "y"], "'folder' is a folder; .* a file"),
    "spreadsheet": (["fit", "homes.xlsx", "--target", "price"], "not '.xlsx'; save it as one"),
    "empty file": (["fit", "empty.csv", "--target", "y"], "empty.csv is not a table: it is empty"),
    "no rows": (["fit", "names.csv", "--target", "price"], "names.csv has no rows"),
    "no target": (["fit", "homes.csv"], "use --target to say .* 'city', 'price'"),
    "name of the target": (["fit", "homes.csv", "--target", "Prize"], "did you mean 'price'"),
    "no such target": (["fit", "homes.csv", "--target", "y"], "no column 'y'; it has: 'size', .*"),
    "wide table": (["fit", "wide.csv", "--target", "y"], r"'column11', ... \(2000 in all\)\.$"),
    "no such feature": ([*FIT, "--features", "size,garden"], "no column 'garden'; it has: "),
    "labels as numbers": (
        ["fit", "homes.csv", "--target", "city", "--task", "regression"],
        "holds labels .* --task classification",
    ),
    "kernel": ([*FIT, "--kernel", "Gausian()"], r"not a kernel; did you mean Gaussian\?$"),
    "bracket": ([*FIT, "--kernel", "Gaussian("], "was never closed"),
    "column of a kernel": ([*FIT, "--kernel", "Linear().on('sise')"], "did you mean 'size'"),
    "budget": ([*FIT, "--budget", "soon"], '"30 s" or "2 min", got .soon. .*mercer fit --help'),
    "memory": ([*FIT, "--memory", "lots"], '"2 GB", got .lots.'),
    "choice": ([*FIT, "--task", "regresion"], "'regresion' .*'regression'"),
    "command with a slip": (["fti", "homes.csv"], "there is no command 'fti'; did you mean fit?"),
    "option with a slip": ([*FIT, "--buget=9"], "did you mean --budget.*fit --help"),
    "a target that is a feature": (
        ["report", "homes.mercer", "homes.csv", "--target", "size"], "model predicts from 'size'",
    ),
    "option": ([*FIT, "--fast"], "--fast .*--help"),
    "command": (["train", "homes.csv"], "'train' .*'fit'"),
    "model to a folder": ([*FIT, "--out", "folder"], "give the model the name of a file"),
    "model to nowhere": ([*FIT, "--out", "x/m.mercer"], "there is no folder 'x' for the model"),
    "no model": (["predict", "home.mercer", "homes.csv"], "did you mean 'homes.mercer'"),
    "table for a model": (
        ["predict", "homes.csv", "homes.mercer"], "homes.csv is a table; the model comes first",
    ),
    "model over the table": ([*FIT, "--out", "homes.csv"], "'homes.csv' is a file that is read"),
    "predictions over the model": (
        ["predict", "homes.mercer", "homes.csv", "--out", "homes.mercer"], "is a file that is read",
    ),
    "predictions over the table": (
        ["predict", "homes.mercer", "homes.csv", "--out", "./homes.csv"], "is a file that is read",
    ),
    "page over the model": (
        ["report", "homes.mercer", "homes.csv", "--out", "homes.mercer"], "is a file that is read",
    ),
    "folder for a model": (["predict", "folder", "homes.csv"], "'folder' is a folder"),
    "columns that are missing": (
        ["predict", "homes.mercer", "less.csv"], "no columns 'age', 'city'; it has: 'size'",
    ),
    "predictions to a folder": (
        ["predict", "homes.mercer", "homes.csv", "--out", "folder"], "'folder' is a folder",
    ),
    "probabilities of numbers": (
        ["predict", "homes.mercer", "homes.csv", "--proba"], "use --std in place of --proba",
    ),
    "row": (["explain", "homes.mercer", "homes.csv", "--row", "40"], "from 0 to 39, got 40"),
    "no model to explain": (["explain", "home.mercer"], "did you mean 'homes.mercer'"),
    "page to a folder": (
        ["report", "homes.mercer", "homes.csv", "--out", "folder"], "give the page the name",
    ),
    "one table of two": (["test", "two-sample", "homes.csv"], "required: B .*two-sample --help"),
    "no kind of test": (["test", "homes.csv", "less.csv"], "'homes.csv' .*two-sample"),
    "picture to nowhere": (
        ["test", "two-sample", "homes.csv", "less.csv", "--plot", "x/p.png"], "no folder 'x'",
    ),
    "no kernel to tune": (["tune", "homes.csv", "--target", "price"], "--kernel .*tune --help"),
    "one target of two": (["compare", "homes.csv", "--target", "price,prise"], "mean 'price'"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_a_line(name, desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    before = {p.name: p.stat().st_mtime_ns for p in desk.rglob("*")}
    arguments, message = MISTAKES[name]
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = stop.code
    said, words = capsys.readouterr()
    assert code == 2
    assert said == ""
    *progress, line = words.splitlines()
    assert not progress  # it is refused before any work
    assert line.startswith("mercer: error: ")
    assert len(line) < 400
    assert pd.Series([line]).str.contains(message).item(), line
    assert {p.name: p.stat().st_mtime_ns for p in desk.rglob("*")} == before


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    os.chmod("folder", 0o555)
    assert main([*FIT, "--out", "folder/m.mercer"]) == 2
    assert "'folder' is not writable" in capsys.readouterr().err


def test_values_that_are_no_numbers_are_told(desk, monkeypatch, capsys):
    monkeypatch.chdir(desk)
    new = pd.DataFrame({"size": ["10", "wide", "n/a"], "age": ["", "old", "new"], "city": "Ulm"})
    new.to_csv("new.csv", index=False)
    assert main(["predict", "homes.mercer", "new.csv"]) == 0
    first, second = capsys.readouterr().err.splitlines()
    assert "'size' held numbers when the model was fitted; values such as 'wide', in 1" in first
    assert "'age' held numbers when the model was fitted; values such as 'old', in 2" in second
    assert main(["predict", "homes.mercer", "homes.csv"]) == 0
    assert capsys.readouterr().err == ""


def test_a_report_knows_the_target(desk, monkeypatch, capsys):
    """Though another column is not used, either."""
    monkeypatch.chdir(desk)
    table = pd.read_csv("homes.csv").assign(note="same")
    table.to_csv("more.csv", index=False)
    assert main(["report", "homes.mercer", "more.csv", "--budget", "1 s", "--out", "r.html"]) == 0
    assert "price, predicted from" in (desk / "r.html").read_text(encoding="utf-8")


def test_long_expressions_are_no_names_of_files(capsys):
    assert main(["explain", " + ".join(f"Gaussian({i / 7})" for i in range(1, 60))]) == 0
    assert "k = Gaussian(" in capsys.readouterr().out
    assert main(["explain", "(" * 900]) == 2
    assert "is not an expression" in capsys.readouterr().err
