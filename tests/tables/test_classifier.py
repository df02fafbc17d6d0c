"""Tables in, labels out, with probabilities."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, load, save
from mercer.tables import TableClassifier

NOT_EQUIVALENT = {
    "check_sample_weight_equivalence_on_dense_data": "rows decide the folds of the search",
}


@parametrize_with_checks(
    [TableClassifier(budget=1)], expected_failed_checks=lambda _: NOT_EQUIVALENT
)
def test_scikit_learn(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


@pytest.fixture
def table(rng):
    n = 300
    found = pd.DataFrame(
        {"x": rng.normal(size=n), "z": rng.normal(size=n), "c": rng.choice(["u", "v"], n)}
    )
    score = found["x"] * np.where(found["c"] == "u", 1, -1) + 0.3 * rng.normal(size=n)
    found["y"] = np.where(score > 0, "yes", "no")
    found.loc[::10, "z"] = np.nan
    return found


def test_it_learns_and_is_calibrated(table):
    X, y = table.drop(columns="y"), table["y"]
    model = TableClassifier(budget=3).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.8
    assert abs(model.validation_accuracy_ - 0.88) < 0.1
    P = model.predict_proba(X[200:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert log_loss(y[200:], P) < 0.5
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[200:]))
    np.testing.assert_array_equal(model.decision_function(X) > 0, model.predict(X) == "yes")


def test_three_classes_files_and_refit(table, tmp_path):
    X = table.drop(columns="y")
    y = np.array(["a", "b", "c"])[np.digitize(X["x"], [-0.5, 0.5])]
    model = TableClassifier(budget=2).fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.85
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(X), model.predict_proba(X))
    more = model.refit(X, y)
    assert more.score(X, y) > 0.9
    with pytest.raises(ValueError, match="rows of the same classes"):
        model.refit(X, np.where(y == "c", "a", y))
    found = model.tabulate(X[:3], detail=True)
    assert list(found.columns) == ["prediction", "p(a)", "p(b)", "p(c)"]


def test_rare_classes(rng):
    """Balanced weights find more of them."""
    n = 400
    x = rng.normal(size=(n, 2))
    y = (x[:, 0] + 0.8 * rng.normal(size=n) > 1.8).astype(int)
    table = pd.DataFrame(x, columns=["a", "b"])
    plain = TableClassifier(budget=1).fit(table[:250], y[:250])
    even = TableClassifier(class_weight="balanced", budget=1).fit(table[:250], y[:250])
    scores = [balanced_accuracy_score(y[250:], m.predict(table[250:])) for m in (plain, even)]
    assert scores[1] > scores[0]
    once = np.where(np.arange(250) == 7, 2, y[:250])  # a class that occurs once is no accident
    assert np.isfinite(TableClassifier(budget=1).fit(table[:250], once).predict_proba(table)).all()


def test_given_kernels_and_explanations(table):
    X, y = table[["x", "c"]], table["y"]
    kernel = Gaussian(1.0).on("x")
    model = TableClassifier(kernel, alphas=[0.1, 1.0]).fit(X, y)
    assert model.members_[0].kernel == kernel
    model = TableClassifier(budget=1).fit(X, y)
    row = X.iloc[[0]]
    found = model.explain(row)
    assert found["adds"].sum() + found.attrs["base"] == pytest.approx(found.attrs["prediction"])
    yes, no = (model.explain(row, output=label) for label in ("yes", "no"))
    np.testing.assert_allclose(yes["adds"], -no["adds"])
    with pytest.raises(ValueError, match="'maybe' is not one of the classes"):
        model.explain(row, output="maybe")


def test_bad_labels(table):
    X = table[["x", "c"]]
    with pytest.raises(ValueError, match="one class"):
        TableClassifier().fit(X, ["a"] * len(X))
    with pytest.raises(ValueError, match="too many for a classifier"):
        TableClassifier().fit(X, [f"l{i}" for i in range(len(X))])
    with pytest.raises(ValueError, match="requires y"):
        TableClassifier().fit(X)
