import re

import pandas as pd
import pytest

import mercer
from mercer.cli.main import main


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.fixture
def fitted(folder):
    assert (
        run("fit", "homes.csv", "--target", "price", "--features", "size,age,city", "--quiet") == 0
    )
    return folder


def test_a_page_of_a_model(fitted, capsys):
    code = run("report", "homes.mercer", "homes.csv", "--target", "price", "--budget", "5")
    assert code == 0
    page = (fitted / "homes.html").read_text(encoding="utf-8")
    assert "<h1>price, predicted from 3 columns</h1>" in page
    assert "mercer report homes.mercer homes.csv --target price" in page
    assert "Partial dependence" in page
    said = capsys.readouterr().out
    assert "saved     homes.html: 14 sections" in said
    assert re.search(r"left out .*drift", said)
    assert "influential" not in said
    assert "in closed form" in page


def test_the_target_is_the_column_that_is_not_used(fitted, capsys):
    pd.read_csv("homes.csv")[["size", "age", "city", "price"]].to_csv("few.csv", index=False)
    options = ("--test", "few.csv", "--out", "page.html", "--budget", "3", "--quiet")
    assert run("report", "homes.mercer", "few.csv", *options) == 0
    assert "predicted from 3 columns" in (fitted / "page.html").read_text(encoding="utf-8")
    assert capsys.readouterr().out == ""


def test_a_model_that_does_not_know_its_target(fitted, capsys):
    """As of a fit in Python, or of an earlier version."""
    model = mercer.load("homes.mercer")
    assert model.target_ == "price"
    del model.target_
    mercer.save(model, "other.mercer")
    assert run("report", "other.mercer", "homes.csv") == 2
    assert "use --target to say which column of homes.csv" in capsys.readouterr().err


def test_errors_are_one_line(fitted, capsys):
    for arguments, words in [
        (("missing.mercer", "homes.csv"), "missing.mercer"),
        (("homes.mercer", "missing.csv"), "no file"),
        (("homes.mercer", "homes.csv", "--out", "no/where.html"), "no folder"),
        (("homes.mercer", "homes.csv", "--target", "prize"), "prize"),
    ]:
        assert run("report", *arguments) == 2
        said = capsys.readouterr().err
        assert words in said
        assert said.count("\n") == 1
    with pytest.raises(SystemExit):
        run("report", "homes.mercer", "homes.csv", "--budget", "soon")
    assert "a duration is" in capsys.readouterr().err


def test_refits_keep_the_kernels_and_say_nothing(folder, capsys, monkeypatch):
    options = ("--features", "size,age,city", "--budget", "5", "--no-baseline")
    assert run("fit", "homes.csv", "--target", "price", *options) == 0
    capsys.readouterr()
    monkeypatch.setattr("mercer.tables.model.choose", None)  # nothing is chosen again
    options = ("--target", "price", "--budget", "20")
    assert run("report", "homes.mercer", "homes.csv", *options) == 0
    assert "comparing" not in capsys.readouterr().err
    page = (folder / "homes.html").read_text(encoding="utf-8")
    assert "by 5-fold cross-validation, with the kernels chosen on all rows" in page
    assert "verbose=True" not in page


def test_refits_without_a_class(folder, rng):
    table = pd.read_csv("homes.csv")[["size", "age", "city"]]
    table["kind"] = ["flat", "house"] * 59 + ["castle"] * 2
    table.to_csv("kinds.csv", index=False)
    options = ("--target", "kind", "--budget", "3", "--quiet")
    assert run("fit", "kinds.csv", *options) == 0
    assert run("report", "kinds.mercer", "kinds.csv", *options) == 0
    assert "could not be computed" not in (folder / "kinds.html").read_text(encoding="utf-8")


def test_another_table_is_refused(fitted, capsys):
    pd.DataFrame({"a": range(30), "price": range(30)}).to_csv("other.csv", index=False)
    assert run("report", "homes.mercer", "other.csv", "--target", "price") == 2
    assert "the table has no columns 'size', 'age', 'city'" in capsys.readouterr().err
    assert not (fitted / "homes.html").exists()
