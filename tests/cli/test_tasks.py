"""mercer fit and mercer predict on labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss

from mercer import load
from mercer.cli.main import main
from mercer.cli.summary import summary
from mercer.cli.tasks import LABELS, fit_table


@pytest.fixture
def flats(folder, rng):
    """homes.csv with a column that says whether the price is above the middle."""
    table = pd.read_csv("homes.csv").drop(columns="address")
    table["dear"] = np.where(table.pop("price") > 150, "yes", "no")
    table.to_csv("flats.csv", index=False)
    return table


def test_fit_says_what_it_did(flats, capsys):
    assert main(["fit", "flats.csv", "--target", "dear"]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 98
    for words in (
        "120 rows: 96 to fit, 24 held out",
        "2 classes: no, yes",
        "1 label: city",
        "compared by 3-fold cross-validation",
        "boosted trees",
        "accuracy   balanced   log loss",
        "majority",
        "confusion true \\ predicted   no   yes",
        "fitted again to all 120 rows",
    ):
        assert words in out or words in " ".join(out.split())
    assert "hint" not in out


def test_scores(flats):
    found = fit_table(flats, "dear", LABELS, budget=5)
    accuracy, balanced, loss = found.scores["kernels"]
    C = found.confusion
    assert C.sum() == found.held == 24
    assert found.rows == 120
    assert accuracy == pytest.approx(np.trace(C) / C.sum())
    assert balanced == pytest.approx(np.mean(np.diag(C) / C.sum(axis=1)))
    assert found.scores["majority"][1] == 0.5
    assert loss < found.scores["majority"][2]
    assert accuracy > found.scores["majority"][0]
    shares = [(flats["dear"] == "no").mean(), C[0].sum() / C.sum()]
    assert abs(shares[0] - shares[1]) < 0.05  # the rows held out are stratified
    true, guessed = np.repeat([0, 0, 1, 1], C.ravel()), np.repeat([0, 1, 0, 1], C.ravel())
    assert balanced == pytest.approx(balanced_accuracy_score(true, guessed))


def test_many_classes(rng):
    """Ten classes still fit on the screen; labels that occur once are left out, and named."""
    table = pd.DataFrame(rng.normal(size=(61, 2)), columns=["a", "b"])
    table["y"] = [f"a rather long name {i % 10}" for i in range(60)] + ["lonely"]
    table["a"] = np.arange(61) % 10
    found = fit_table(table, "y", LABELS, budget=2)
    text = summary(found)
    assert max(map(len, text.splitlines())) <= 98
    assert "labels that occur once are left out: lonely" in text
    assert found.scores["kernels"][0] > 0.8


def test_quiet_and_without_test(flats, capsys):
    for name in ("a", "b"):
        arguments = ["--target", "dear", "--quiet", "--out", name, "--test-size", "0"]
        assert main(["fit", "flats.csv", *arguments]) == 0
    assert capsys.readouterr() == ("", "")
    with open("a", "rb") as a, open("b", "rb") as b:
        assert a.read() == b.read()


def test_missing_values(flats, capsys):
    flats.loc[3, "dear"] = None
    flats.to_csv("holes.csv", index=False)
    assert main(["fit", "holes.csv", "--target", "dear", "--budget", "2 s"]) == 0
    assert "119 rows" in capsys.readouterr().out


def test_predict(flats, capsys):
    assert main(["fit", "flats.csv", "--target", "dear", "--quiet"]) == 0
    model = load("flats.mercer")
    assert main(["predict", "flats.mercer", "flats.csv", "--proba", "--out", "p.csv"]) == 0
    found = pd.read_csv("p.csv")
    assert list(found.columns) == ["prediction", "p(no)", "p(yes)"]
    assert found["prediction"].tolist() == model.predict(flats).tolist()
    np.testing.assert_allclose(found.iloc[:, 1:], model.predict_proba(flats))
    capsys.readouterr()
    flats.loc[0, "size"] = np.nan
    flats.to_csv("new.csv", index=False)
    assert main(["predict", "flats.mercer", "new.csv"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[0].split() == ["row", "prediction"]
    assert captured.out.splitlines()[2].split()[1] in ("yes", "no")
    assert captured.err == ""
    assert main(["predict", "flats.mercer", "new.csv", "--std"]) == 2
    assert "predicts labels: use --proba in place of --std" in capsys.readouterr().err


def test_the_linear_model_has_probabilities_of_its_own(rng):
    x = rng.normal(size=(400, 3))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=400) > 0, "yes", "no")
    table = pd.DataFrame(x, columns=list("abc")).assign(y=y)
    found = fit_table(table, "y", LABELS, budget="2 s", baseline=False)
    lines = LogisticRegression().fit(x[:300], y[:300])
    assert found.scores["linear"][2] < 1.3 * log_loss(y[300:], lines.predict_proba(x[300:]))


def test_a_verdict_where_nothing_was_learned(rng):
    y = np.where(np.arange(200) % 20 == 0, "yes", "no")
    table = pd.DataFrame({"x": rng.normal(size=200), "y": y})
    found = fit_table(table, "y", LABELS, budget="2 s", baseline=False)
    said = " ".join(summary(found).split())
    assert "always predicting the most frequent class is as accurate" in said
    assert "a linear model does as well" not in said
