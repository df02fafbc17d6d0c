"""Least squares with probabilities, and folds that hold all classes."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from mercer import LSSVC, Gaussian, load, save
from mercer.tables.ridge import RidgeClassifier, class_ranks, stratified


@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"]])
def test_probabilities(classes, rng, tmp_path):
    """They agree with predict, are better than frequencies, and survive a file."""
    X = rng.normal(size=(400, 2))
    codes = np.digitize(X[:, 0] + 0.5 * rng.normal(size=400), [0.0, 0.7][: len(classes) - 1])
    y = np.array(classes)[codes]
    model = RidgeClassifier(C=2.0, kernel=Gaussian(1.5)).fit(X[:200], y[:200])
    plain = LSSVC(C=2.0, kernel=Gaussian(1.5)).fit(X[:200], y[:200])
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    P = model.predict_proba(X[200:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert np.mean(model.classes_[P.argmax(axis=1)] == model.predict(X[200:])) > 0.9
    constant = np.tile(np.bincount(codes[:200]) / 200, (200, 1))
    assert log_loss(y[200:], P) < 0.8 * log_loss(y[200:], constant)
    save(model, tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


def test_weights_count(rng):
    """A sample of weight two is a sample that occurs twice, up to the folds of calibration."""
    X = rng.normal(size=(60, 1))
    y = X[:, 0] + 0.3 * rng.normal(size=60) > 0
    model = RidgeClassifier(kernel=Gaussian()).fit(X, y, np.full(60, 2.0))
    twice = RidgeClassifier(kernel=Gaussian()).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(model.decision_function(X), twice.decision_function(X), rtol=1e-8)
    assert np.all(model.calibration_.slopes > 0)


def test_class_ranks():
    codes = np.array([0, 1, 0, 0, 1, 2])
    ranks = class_ranks(codes, 3)
    for code, size in enumerate((3, 2, 1)):
        assert sorted(ranks[codes == code]) == list(range(size))
    np.testing.assert_array_equal(ranks, class_ranks(codes, 3))


def test_folds():
    codes = np.repeat([0, 1], [50, 3])
    folds = stratified(codes, 5, 0)
    assert len(folds) == 3
    assert all(set(codes[train]) == set(codes[test]) == {0, 1} for train, test in folds)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(53))
