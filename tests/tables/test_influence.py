"""Rows left out in closed form, beside fits without them."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from mercer import Gaussian, KernelRidge
from mercer.tables import TableClassifier, TableRegressor
from mercer.tables.influence import labels_without_each, without_each


@pytest.fixture
def table(rng):
    x = rng.uniform(-2, 2, 60)
    return pd.DataFrame({"x": x, "c": rng.choice(["a", "b"], 60)}), np.sin(x) + 0.1 * x**2


@pytest.mark.parametrize("leaf", [5000, 25])
def test_they_are_what_refitting_gives(table, leaf):
    X, y = table
    model = TableRegressor(budget=1).fit(X, y)
    encoded = model._new(X)
    for member in model.members_:
        member.leaf = leaf
    target = (y - model.mean_) / model.std_
    model._fit_members(model.members_, encoded, target[:, None], np.ones(60))
    found = without_each(model, X, y)
    i, change = 7, np.zeros(60)
    for member in model.members_:
        for rows, K in member.grams(encoded):
            if i in rows:
                kept = rows != i
                machine = KernelRidge(member.alpha, kernel="precomputed")
                machine.fit(K[np.ix_(kept, kept)], target[rows[kept]])
                full = KernelRidge(member.alpha, kernel="precomputed").fit(K, target[rows])
                change[rows] += member.weight * (full.predict(K) - machine.predict(K[:, kept]))
    assert found[i] == pytest.approx(model.std_ * np.sqrt(np.mean(change**2)), rel=1e-6)


def test_an_outlier_counts_most(table):
    X, y = table
    y[11] += 5
    model = TableRegressor(Gaussian(1.0).on("x"), alphas=[0.1]).fit(X, y)
    assert np.argmax(without_each(model, X, y)) == 11


def test_rows_that_the_model_does_not_know(table):
    X, y = table
    model = TableRegressor(budget=1).fit(X[:50], y[:50])
    assert without_each(model, X, y) is None
    assert without_each(model, X[:50], -y[:50]) is None
    weighted = TableRegressor(Gaussian(1.0).on("x"), alphas=[0.1])
    assert without_each(weighted.fit(X, y, np.arange(1.0, 61)), X, y) is None


def labelled(table, classes):
    X, y = table
    edges = np.quantile(y, np.linspace(0, 1, classes + 1)[1:-1])
    labels = np.array(list("pqrs"))[np.digitize(y, edges)]
    labels[5] = "p" if labels[5] != "p" else "q"
    return X, labels


def by_refitting(model, X, y, w, i):
    """Probabilities of all rows, by machines fitted again without row i."""
    encoded, kept = model._new(X), np.arange(len(y)) != i
    codes = np.searchsorted(model.classes_, y)
    Y = 2.0 * (codes[:, None] == np.arange(len(model.classes_))) - 1
    Y = (Y if len(model.classes_) > 2 else Y[:, 1:]) - model.mean_
    scores = np.tile(model.mean_, (len(y), 1))
    for member in model.members_:
        for rows, K in member.grams(encoded):
            assert len(rows) == len(y)
            machine = KernelRidge(member.alpha, kernel="precomputed", solver="cholesky")
            machine.fit(K[np.ix_(kept, kept)], Y[kept], w[kept])
            scores += member.weight * machine.predict(K[:, kept])
    return model.calibration_.probabilities(scores)


@pytest.mark.parametrize(("classes", "weights"), [(2, None), (3, None), (2, "balanced")])
def test_labels_are_what_refitting_gives(table, classes, weights):
    X, y = labelled(table, classes)
    if weights:
        y[y == "p"] = np.where(np.arange((y == "p").sum()) % 3, "q", "p")
    model = TableClassifier(budget=1, class_weight=weights).fit(X, y)
    w = np.ones(60)
    if weights:
        names, counts = np.unique(y, return_counts=True)
        w = 30.0 / counts[np.searchsorted(names, y)]
    moved, other = labels_without_each(model, X, y)
    full = model.predict_proba(X)
    for i in (0, 5, 31):
        P = by_refitting(model, X, y, w, i)
        assert moved[i] == pytest.approx(np.abs(P - full).sum() / 120, rel=1e-5)
        assert other[i] == (P.argmax(axis=1) != full.argmax(axis=1)).sum()


def test_rows_that_count_are_those_that_change_a_model_fitted_again(table):
    """Distances and means are then learned anew, which the closed form leaves as they are."""
    X, y = labelled(table, 2)
    model = TableClassifier(Gaussian(1.0).on("x"), alphas=[0.1]).fit(X, y)
    moved, _ = labels_without_each(model, X, y)
    change, full = np.zeros(60), model.predict_proba(X)
    for i in range(60):
        rest = np.arange(60) != i
        change[i] = np.abs(model.refit(X[rest], y[rest]).predict_proba(X) - full).sum() / 120
    assert moved.argmax() == change.argmax()
    assert spearmanr(moved, change).statistic > 0.9


def test_labels_that_the_model_does_not_know(table):
    X, y = labelled(table, 3)
    model = TableClassifier(budget=1).fit(X[:50], y[:50])
    assert labels_without_each(model, X, y) is None
    assert labels_without_each(model, X[:50], np.roll(y[:50], 1)) is None
    assert labels_without_each(model, X[:50], np.where(y[:50] == "p", "z", y[:50])) is None
    weighted = TableClassifier(budget=1).fit(X, y, np.arange(1.0, 61))
    assert labels_without_each(weighted, X, y) is None
