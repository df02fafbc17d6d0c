"""Labels that cannot be those of classes."""

import numpy as np
import pandas as pd
import pytest

from mercer import LSSVC, SVC, KernelLogisticRegression, OnlineKernelMachine, Plan, stream

WORDS = ["a", "b", None, "a", "b", "a"]
GAPS = {
    "list": WORDS,
    "object": np.array(WORDS, dtype=object),
    "nan among words": np.array(["a", "b", np.nan, "a", "b", "a"], dtype=object),
    "Series": pd.Series(WORDS),
    "string": pd.Series(WORDS, dtype="string"),
    "category": pd.Series(WORDS, dtype="category"),
    "Int64": pd.Series([0, 1, None, 0, 1, 0], dtype="Int64"),
    "float": np.array([0, 1, np.nan, 0, 1, 0]),
    "bool": [True, False, None, True, False, True],
}


@pytest.mark.parametrize("name", GAPS)
@pytest.mark.parametrize("model", [SVC, LSSVC, KernelLogisticRegression])
def test_missing_labels_are_found(name, model, rng):
    with pytest.raises(ValueError, match="sample 2 has no label"):
        model().fit(rng.normal(size=(6, 2)), GAPS[name])


def test_missing_labels_of_streams(rng):
    X = rng.normal(size=(6, 2))
    with pytest.raises(ValueError, match="sample 2 has no label"):
        OnlineKernelMachine(loss="logistic").partial_fit(X, GAPS["list"], classes=["a", "b"])
    model = KernelLogisticRegression(plan=Plan(rank=3))
    with pytest.raises(ValueError, match="row 2: the target is nan"):
        model.fit(stream(lambda: iter([(X, GAPS["float"])])))


def test_labels_without_an_order(rng):
    with pytest.raises(ValueError, match="several types, numbers and str, which cannot be sorted"):
        SVC().fit(rng.normal(size=(4, 2)), np.array(["a", 1, "a", 2.0], dtype=object))


@pytest.mark.parametrize("y", [[True, False, True, False], ["b", "a", "b", "a"], [2, 1.0, 2, 1]])
def test_labels_of_a_list(y, rng):
    X = rng.normal(size=(4, 2))
    assert SVC(C=1e3).fit(X, y).predict(X).tolist() == y
