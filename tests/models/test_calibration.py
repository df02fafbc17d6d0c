import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from mercer import SVC
from mercer.models.calibration import Calibration


def test_recovers_the_map_that_made_the_data(rng):
    f = rng.standard_normal((20000, 1)) * 2
    p = expit(np.where(f > 0, 3.0, 0.5) * f - 1.0)[:, 0]
    y = (rng.random(20000) < p).astype(int)
    found = Calibration().fit(f, y)
    np.testing.assert_allclose(found.slopes, [0.5, 3.0], rtol=0.1)
    np.testing.assert_allclose(found.offsets, [-1.0], atol=0.1)


def test_softmax_with_an_intercept_for_each_class(rng):
    f, b = rng.standard_normal((20000, 3)), np.array([1.0, 0.0, -1.0])
    p = softmax(2 * f + b, axis=1)
    y = (p.cumsum(axis=1) < rng.random((20000, 1))).sum(axis=1)
    found = Calibration().fit(f, y)
    assert found.slopes[0] == pytest.approx(2.0, rel=0.05)
    np.testing.assert_allclose(found.offsets, b, atol=0.1)


def test_equals_logistic_regression_where_slopes_are_free(rng):
    """Two features, f₊ and f₋: the same convex problem, but for the smoothing of labels."""
    f = rng.standard_normal(5000)
    y = (rng.random(5000) < expit(f + 0.7)).astype(int)
    w = rng.uniform(0.5, 2.0, 5000)
    sides = np.column_stack([np.minimum(f, 0), np.maximum(f, 0)])
    theirs = LogisticRegression(C=1e8, tol=1e-10).fit(sides, y, w)
    ours = Calibration().fit(1e3 * f[:, None], y, w)  # the scale of scores means nothing
    np.testing.assert_allclose(1e3 * ours.slopes, theirs.coef_[0], rtol=0.01)
    np.testing.assert_allclose(ours.offsets, theirs.intercept_, atol=0.01)


@pytest.mark.parametrize("k", [1, 3])
def test_scores_that_know_nothing_give_the_base_rates(rng, k):
    y = rng.choice(max(k, 2), 400, p=[0.9, 0.1] if k == 1 else [0.7, 0.2, 0.1])
    shares = np.bincount(y) / 400
    for f in (np.zeros((400, k)), -(rng.standard_normal((400, k)) ** 2)):
        p = Calibration().fit(f, y).probabilities(f)
        np.testing.assert_allclose(p.mean(axis=0), shares, atol=0.01)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_perfect_separation_stays_finite(size):
    f = size * np.concatenate([-np.ones((50, 1)), np.ones((50, 1))])
    p = Calibration().fit(f, np.repeat([0, 1], 50)).probabilities(f)
    assert p.max() < 1
    assert p[-1, 1] > 0.95


@pytest.mark.parametrize("weights", [None, "balanced", {0: 1, 1: 50}])
def test_rare_classes_keep_their_prevalence(weights):
    """Class weights move the boundary, not the probabilities."""
    X, y = make_classification(
        3000, 5, weights=[0.95], flip_y=0.0, class_sep=0.7, random_state=3, n_informative=3
    )
    rng = np.random.default_rng(0)
    y = np.where(rng.random(3000) < 0.02, 1 - y, y)
    train, test = np.arange(1000), np.arange(1000, 3000)
    model = SVC(probability=True, class_weight=weights, random_state=0).fit(X[train], y[train])
    p = model.predict_proba(X[test])[:, 1]
    assert p.mean() == pytest.approx(y[test].mean(), abs=0.012)
    base = np.full(2000, y[train].mean())
    assert log_loss(y[test], p) < log_loss(y[test], base)
    plain = SVC(class_weight=weights).fit(X[train], y[train])
    np.testing.assert_array_equal(model.predict(X[test]), plain.predict(X[test]))


def test_weighted_classes_among_three():
    X, y = make_classification(
        2400, 6, n_informative=4, n_classes=3, weights=[0.8, 0.15], flip_y=0.1, random_state=0
    )
    model = SVC(probability=True, class_weight="balanced", random_state=0).fit(X[:800], y[:800])
    p = model.predict_proba(X[800:])
    np.testing.assert_allclose(p.mean(axis=0), np.bincount(y[800:]) / 1600, atol=0.03)
    base = np.tile(np.bincount(y[:800]) / 800, (1600, 1))
    assert log_loss(y[800:], p) < log_loss(y[800:], base)


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_are_calibrated_and_mostly_agree_with_predict(classes):
    if classes == 2:
        X, y = make_classification(1500, 5, flip_y=0.2, weights=[0.7], random_state=0)
    else:
        X, y = load_iris(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    half = len(y) // 2
    model = SVC(probability=True).fit(X[:half], y[:half])
    p = model.predict_proba(X[half:])
    assert np.mean(model.classes_[p.argmax(axis=1)] == model.predict(X[half:])) > 0.95
    np.testing.assert_allclose(p.sum(axis=1), 1)
    base = np.tile(np.bincount(y[:half]) / half, (len(p), 1))
    assert log_loss(y[half:], p) < log_loss(y[half:], base)
    if classes == 2:
        sure = p.max(axis=1)
        right = model.classes_[p.argmax(axis=1)] == y[half:]
        assert abs(sure.mean() - right.mean()) < 0.05
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[half:])), p)


def test_only_when_asked_for():
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X, y)
    assert not hasattr(model, "predict_proba")
    model.set_params(probability=True)  # the fitted machine has not been calibrated
    with pytest.raises(AttributeError) as caught:
        _ = model.predict_proba
    assert "fit again" in str(caught.value.__cause__)
    assert hasattr(model.fit(X, y), "predict_proba")
    model.set_params(probability=False)
    assert model.predict_proba(X).shape == (150, 3)  # it has been
    assert not hasattr(model.fit(X, y), "predict_proba")
