"""Boosted trees beside a fit: the ones of scikit-learn, within their part of the budget."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from mercer.cli import baselines
from mercer.cli.baselines import boosted
from mercer.cli.main import main
from mercer.tables import TableClassifier, TableRegressor


def numbers(rng, n):
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return X, np.sin(2 * X["a"].to_numpy()) + X["b"].to_numpy() ** 2


@pytest.mark.parametrize("classes", [False, True])
def test_in_two_steps_they_are_the_same(rng, classes):
    X, y = numbers(rng, 400)
    y = np.digitize(y, [0.5, 1.5]).astype(str) if classes else y
    kind = TableClassifier if classes else TableRegressor
    model = kind(budget="60 s").fit(X[:60], y[:60])
    found = boosted(model, X, y, classes=classes)
    own = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(
        random_state=0
    ).fit(X.to_numpy(), y)
    assert found.told == []
    if classes:
        np.testing.assert_allclose(found.predict_proba(X), own.predict_proba(X.to_numpy()))
    else:
        np.testing.assert_allclose(found.predict(X), own.predict(X.to_numpy()))


def test_they_stop_when_their_time_is_up(rng, monkeypatch):
    X, y = numbers(rng, 300)
    model = TableRegressor(budget="10 s").fit(X[:60], y[:60])
    ticks = iter([0.0, 0.0, 0.5, 0.5, 1.5])  # begun, fitting, five rounds, the rest, done
    monkeypatch.setattr(baselines, "clock", lambda: next(ticks))
    found = boosted(model, X, y, classes=False, spent=9.5)
    assert found.trees.n_iter_ == 15  # 1.5 s of 10, of which half a second is gone, 0.1 s each
    assert found.told == ["boosted trees were stopped after 15 of 100 rounds, as the budget allows"]
    assert found.seconds == 1.5


def test_of_too_many_rows_they_see_some(rng, monkeypatch):
    X, y = numbers(rng, 3000)
    model = TableRegressor(budget="20 s").fit(X[:60], y[:60])
    monkeypatch.setattr(baselines, "_RATE", 1200.0)
    found = boosted(model, X, y, classes=False)
    assert found.told[0] == "boosted trees were fitted to 1200 of 3000 rows, as the budget allows"
    assert np.isfinite(found.predict(X)).all()


def test_what_was_cut_short_is_said(folder, monkeypatch, capsys):
    ticks = iter(range(0, 10**6, 100))
    monkeypatch.setattr(baselines, "clock", lambda: float(next(ticks)))
    arguments = ["homes.csv", "--target", "price", "--budget", "2 s"]
    assert main(["fit", *arguments]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "boosted trees were stopped after 5 of 100 rounds, as the budget allows" in out
    assert main(["compare", *arguments]) == 0
    assert "boosted trees, cut short" in capsys.readouterr().out
