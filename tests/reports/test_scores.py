import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import KFold, cross_val_predict
from threadpoolctl import threadpool_limits

from mercer import Gaussian, GaussianProcessRegressor, KernelLogisticRegression, KernelRidge
from mercer.reports.judged import Answers, Judged, judge
from mercer.reports.rivals import BOOSTED, CONSTANT, LINEAR, Plain
from mercer.reports.scores import ACCURACY, AUC, BALANCED, LOSS, MAE, R2, RMSE, Scores, verdict
from mercer.reports.subject import Clock, subject_of


def judged(y, f, proba=None, classes=None, **rivals):
    n = len(y)
    return Judged(np.zeros((n, 1)), y, np.arange(n), "", Answers(f, proba), rivals, classes=classes)


def test_scores_of_numbers_are_scikit_learns(rng):
    y = 1e6 + rng.normal(size=200)
    f = y + rng.normal(0, 0.5, 200)
    found = Scores(judged(y, f)).table["model"]
    assert found[RMSE].value == pytest.approx(root_mean_squared_error(y, f))
    assert found[MAE].value == pytest.approx(mean_absolute_error(y, f))
    assert found[R2].value == pytest.approx(r2_score(y, f))


def test_scores_of_labels_are_scikit_learns(rng):
    classes = np.array(["a", "b", "c"])
    y = classes[rng.integers(0, 3, 150)]
    P = rng.dirichlet(np.ones(3), 150)
    label = classes[P.argmax(axis=1)]
    found = Scores(judged(y, label, P, classes)).table["model"]
    assert found[ACCURACY].value == pytest.approx(accuracy_score(y, label))
    assert found[BALANCED].value == pytest.approx(balanced_accuracy_score(y, label))
    assert found[LOSS].value == pytest.approx(log_loss(y, P, labels=classes))
    two = np.array([0, 1])
    y, p = rng.integers(0, 2, 100), rng.random(100)
    found = Scores(judged(y, (p > 0.5).astype(int), np.stack([1 - p, p], 1), two)).table["model"]
    assert found[AUC].value == pytest.approx(roc_auc_score(y, p))
    p = p.round(1)  # ties
    found = Scores(judged(y, (p > 0.5).astype(int), np.stack([1 - p, p], 1), two)).table["model"]
    assert found[AUC].value == pytest.approx(roc_auc_score(y, p))
    rows = rng.integers(0, 100, 100)
    weights = np.bincount(rows, minlength=100)
    expected = roc_auc_score(y[rows], p[rows])
    assert roc_auc_score(y, p, sample_weight=weights) == pytest.approx(expected)
    low, high = found[AUC].interval
    assert low < found[AUC].value < high
    assert 0.05 < high - low < 0.4


def test_intervals_hold_what_they_promise():
    """Of the mean absolute error of normal errors, which is known."""
    hits = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        y = rng.normal(size=150)
        low, high = Scores(judged(y, np.zeros(150)), seed).table["model"][MAE].interval
        hits += low <= np.sqrt(2 / np.pi) <= high
    assert hits >= 25  # 28 or 29 would be expected


def test_differences_are_taken_on_the_same_rows(rng):
    y = rng.normal(size=300)
    noise = 3 * rng.normal(size=300)  # shared by both, so that only pairs show the difference
    scores = Scores(judged(y, y + noise, **{CONSTANT: Answers(y + 1.1 * noise)}))
    gap = scores.difference(CONSTANT)
    low, high = gap.interval
    assert 0 < low < gap.value < high
    own = scores.table["model"][RMSE].interval
    assert high - low < 0.3 * (own[1] - own[0])


def test_rows_without_prediction_are_left_out(rng):
    y, f = rng.normal(size=20), np.zeros(20)
    f[3] = np.nan
    scores = Scores(judged(y, f))
    assert scores.known.sum() == 19
    assert scores.table["model"][RMSE].value == pytest.approx(
        np.sqrt(np.mean(np.delete(y, 3) ** 2))
    )


def test_folds_predict_what_cross_validation_predicts(wave, ridge):
    X, y = wave
    subject = subject_of(ridge, X, y, Clock(600))
    found = judge(subject)
    folds = KFold(5, shuffle=True, random_state=0)
    expected = cross_val_predict(clone(ridge), X, y, cv=folds)
    np.testing.assert_allclose(found.model.prediction, expected)
    assert list(found.rivals) == [CONSTANT, LINEAR, BOOSTED]
    assert "5-fold" in found.how


def test_groups_stay_together(wave, ridge):
    X, y = wave
    groups = np.arange(len(y)) // 6
    subject = subject_of(ridge, X, y, Clock(600), groups=groups)
    for _, rows in judge(subject).parts:
        assert not set(groups[rows]) & set(groups[np.setdiff1d(np.arange(len(y)), rows)])


def test_intervals_of_folds_are_in_the_order_of_rows(wave):
    X, y = wave
    model = GaussianProcessRegressor(1 * Gaussian(1.0), alpha=0.01, optimizer=None)
    found = judge(subject_of(model, X, y, Clock(600)))
    band = found.bands[-1]
    middle = (band.low + band.high)[:, 0] / 2
    np.testing.assert_allclose(middle, found.model.prediction, atol=1e-8)


def test_a_test_set_is_predicted_by_the_model_itself(wave, ridge):
    X, y = wave
    ridge.fit(X[:60], y[:60])
    found = judge(subject_of(ridge, X[:60], y[:60], Clock(600), (X[60:], y[60:])))
    np.testing.assert_allclose(found.model.prediction, ridge.predict(X[60:]))
    linear = found.rivals[LINEAR].prediction
    assert root_mean_squared_error(y[60:], linear) > root_mean_squared_error(
        y[60:], found.model.prediction
    )


def test_classes_a_fold_has_not_seen_have_probability_zero(rng):
    X = rng.normal(size=(31, 2))
    y = np.array(["a", "b"] * 15 + ["rare"])
    model = KernelLogisticRegression(kernel=Gaussian(1.0))
    found = judge(subject_of(model, X, y, Clock(600)))
    assert found.model.proba.shape == (31, 3)
    assert found.model.proba[30, 2] == 0


def test_baselines_take_tables_as_they_come():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 80
    table = pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "label": rng.choice(["x", "y", None], n),
            "many": [f"name {i}" for i in range(n)],
            "day": pd.date_range("2020-01-01", periods=n),
            "flag": rng.random(n) < 0.5,
        }
    )
    plain = Plain(table)
    assert plain.labels == [1, 2]
    assert np.diff(plain.values[:, 3]) == pytest.approx(1)
    for rival in plain.rivals(False, 0).values():
        with threadpool_limits(1):
            rival.fit(plain.values, rng.normal(size=n))
        assert np.isfinite(rival.predict(plain.values)).all()


def test_the_verdict_says_when_a_baseline_is_better(rng):
    y = rng.normal(size=200)
    subject = subject_of(KernelRidge(), rng.normal(size=(200, 1)), y, Clock(60))
    good, bad = Answers(y + 0.1 * rng.normal(size=200)), Answers(y + rng.normal(size=200))
    worse = verdict(subject, Scores(judged(y, bad.prediction, **{BOOSTED: good})))
    better = verdict(subject, Scores(judged(y, good.prediction, **{BOOSTED: bad})))
    same = verdict(subject, Scores(judged(y, good.prediction, **{BOOSTED: good})))
    assert ("worse" in worse, "better" in better, "no clear difference" in same) == (True,) * 3
    both = Scores(judged(y, good.prediction, **{BOOSTED: bad, CONSTANT: bad}))
    assert "the only baseline" in better
    assert "the best baseline" in verdict(subject, both)
