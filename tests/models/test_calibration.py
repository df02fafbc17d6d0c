import numpy as np
import pytest
from scipy.special import expit
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss

from mercer import SVC
from mercer.models.calibration import Calibration


def test_recovers_the_slopes_that_made_the_data(rng):
    f = rng.standard_normal((20000, 1)) * 2
    p = expit(np.where(f > 0, 3.0, 0.5) * f)[:, 0]
    y = (rng.random(20000) < p).astype(int)
    slopes = Calibration().fit(f, y).slopes
    np.testing.assert_allclose(slopes, [0.5, 3.0], rtol=0.1)


def test_softmax_temperature(rng):
    f = rng.standard_normal((20000, 3))
    p = np.exp(2 * f) / np.exp(2 * f).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((20000, 1))).sum(axis=1)
    assert Calibration().fit(f, y).slopes[0] == pytest.approx(2.0, rel=0.05)


def test_perfect_separation_stays_finite():
    f = np.concatenate([-np.ones((50, 1)), np.ones((50, 1))])
    p = Calibration().fit(f, np.repeat([0, 1], 50)).probabilities(f)
    assert p.max() < 1
    assert p[-1, 1] > 0.95


@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_agree_with_predict_and_are_calibrated(classes):
    if classes == 2:
        X, y = make_classification(1500, 5, flip_y=0.2, weights=[0.7], random_state=0)
    else:
        X, y = load_iris(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
    half = len(y) // 2
    model = SVC(probability=True).fit(X[:half], y[:half])
    p = model.predict_proba(X[half:])
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X[half:]))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    base = np.tile(np.bincount(y[:half]) / half, (len(p), 1))
    assert log_loss(y[half:], p) < log_loss(y[half:], base)
    if classes == 2:
        sure = p.max(axis=1)
        right = model.predict(X[half:]) == y[half:]
        assert abs(sure.mean() - right.mean()) < 0.05
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X[half:])), p)


def test_only_when_asked_for():
    X, y = load_iris(return_X_y=True)
    assert not hasattr(SVC().fit(X, y), "predict_proba")
