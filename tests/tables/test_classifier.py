"""The classifier of mercer fit: it learns, it knows how sure it is, it survives a file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

from mercer import LSSVC, SVC, Gaussian, Plan, load, save
from mercer.tables.classifier import TableClassifier
from mercer.tables.ridge import RidgeClassifier, stratified
from mercer.tables.roles import tidy


def waves(rng, n=120):
    """The side of a wave that depends on a label, with one label in twenty wrong."""
    x, side = rng.uniform(0, 6, n), rng.choice(["left", "right"], n)
    up = (np.sin(x) > 0) == (side == "left")
    y = np.where(up ^ (rng.random(n) < 0.05), "up", "down")
    return pd.DataFrame({"x": x, "side": side, "id": [f"n{i}" for i in range(n)]}), y


@pytest.fixture
def fitted(rng):
    return TableClassifier().fit(*waves(rng))


def test_it_learns_and_is_calibrated(fitted, rng):
    table, y = waves(rng, 400)
    assert fitted.roles_ == {"x": "number", "side": "label"}
    assert (
        fitted.score(table, y) > 0.85 > 0.65 > fitted.linear_.score(tidy(table, fitted.roles_), y)
    )
    P = fitted.predict_proba(table)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.mean(fitted.classes_[P.argmax(axis=1)] == fitted.predict(table)) > 0.9
    assert log_loss(y, P) < 0.5
    assert fitted.n_settings_ == 23
    assert 0.85 < fitted.cv_accuracy_ < 1


def test_the_machine_with_the_best_validation_is_taken(rng):
    """Both families are validated again one fit at a time, on the same folds."""
    table, y = waves(rng, 150)
    left = table["side"] == "left"
    table, y = table.loc[left, ["x"]].reset_index(drop=True), y[left]
    kernel = Gaussian(0.7)
    folds = stratified(np.unique(y, return_inverse=True)[1], 5, 0)
    X = table.to_numpy()

    def accuracy(machine):
        return cross_val_score(machine, X, y, cv=folds).mean()

    squares = accuracy(LSSVC(C=10.0, kernel=kernel))
    for C in (1e-3, 5.0):
        vectors = accuracy(SVC(C=C, kernel=kernel))
        model = TableClassifier(kernel, alphas=[0.1], Cs=[C]).fit(table, y)
        assert isinstance(model.machine_, SVC if vectors > squares else RidgeClassifier)
        assert model.cv_accuracy_ == pytest.approx(max(vectors, squares))


def test_three_classes_and_text(rng):
    words = [
        "".join(rng.choice(list("abc"), 25, p=np.eye(3)[i] * 0.4 + 0.2)) for i in [0, 1, 2] * 25
    ]
    y = np.array(["A", "B", "C"] * 25)
    table = pd.DataFrame({"word": words, "noise": rng.normal(size=75)})
    model = TableClassifier().fit(table, y)
    assert model.roles_["word"] == "text"
    assert model.cv_accuracy_ > 0.8
    assert model.predict_proba(table).shape == (75, 3)


def test_many_rows_are_sampled_for_the_choice(rng, monkeypatch):
    """Each class stays in the sample, however rare it is."""
    monkeypatch.setattr("mercer.tables.classifier.SEARCH_ROWS", 50)
    table, y = waves(rng, 300)
    y = y.astype("<U4")
    y[:3] = "rare"
    model = TableClassifier(Gaussian(1.0).on("x"), plan=Plan(memory="100 kB")).fit(table, y)
    assert model.classes_.tolist() == ["down", "rare", "up"]
    assert len(getattr(model.machine_, "X_fit_", table)) == 300


def test_missing_values(fitted, rng):
    table, y = waves(rng, 10)
    wanted = fitted.predict(table)
    table.loc[2, "x"] = np.nan
    found = fitted.predict(table)
    assert found[2] is None
    assert np.isnan(fitted.predict_proba(table)[2]).all()
    np.testing.assert_array_equal(np.delete(found, 2), np.delete(wanted, 2))
    with pytest.raises(ValueError, match="missing values"):
        TableClassifier().fit(table, y)


@pytest.mark.parametrize("machine", ["vectors", "squares"])
def test_refit_and_files(machine, rng, tmp_path):
    table, y = waves(rng, 80)
    options = {"alphas": [1e5]} if machine == "vectors" else {"Cs": [1e-5]}
    first = TableClassifier(Gaussian("median").on("x"), **options).fit(table, y)
    assert isinstance(first.machine_, SVC) == (machine == "vectors")
    more, labels = waves(rng, 100)
    model = first.refit(more, labels)
    assert model.machine_.kernel_ == first.machine_.kernel_
    save(model, tmp_path / "m")
    found = load(tmp_path / "m")
    np.testing.assert_array_equal(found.predict(table), model.predict(table))
    np.testing.assert_array_equal(found.predict_proba(table), model.predict_proba(table))
    frame = found.tabulate(table, detail=True)
    assert list(frame.columns) == ["prediction", "p(down)", "p(up)"]


def test_clone_and_seed(rng):
    table, y = waves(rng, 60)
    model = TableClassifier(Gaussian(1.0).on("x"), random_state=3)
    first, second = clone(model).fit(table, y), clone(model).fit(table, y)
    np.testing.assert_array_equal(first.predict_proba(table), second.predict_proba(table))


def test_bad_labels(rng):
    table, y = waves(rng, 20)
    with pytest.raises(ValueError, match="the same label"):
        TableClassifier().fit(table, np.full(20, "up"))
    y[:] = "up"
    y[4] = "down"
    with pytest.raises(ValueError, match="'down' occurs once"):
        TableClassifier().fit(table, y)
