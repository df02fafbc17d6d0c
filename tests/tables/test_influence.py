"""Rows left out in closed form, beside fits without them."""

import numpy as np
import pandas as pd
import pytest

from mercer import Gaussian, KernelRidge
from mercer.tables import TableRegressor
from mercer.tables.influence import without_each


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
