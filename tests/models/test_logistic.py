import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, Linear, Polynomial, Spectrum, load, save
from mercer.models.logistic import KernelLogisticRegression
from mercer.models.machine import KernelMachine


@parametrize_with_checks(
    [KernelLogisticRegression(tol=1e-9), KernelLogisticRegression(kernel=Gaussian(), tol=1e-9)]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    return X[:, :2] - X[:, :2].mean(axis=0), y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_is_logistic_regression(iris, rng, classes, intercept, weighted):
    X, y = iris
    X, y = X[y < classes], y[y < classes]
    w = rng.uniform(0, 2, len(y)) if weighted else None
    ours = KernelLogisticRegression(0.5, kernel=Linear(), fit_intercept=intercept, tol=1e-9)
    theirs = LogisticRegression(C=2.0, fit_intercept=intercept, tol=1e-10, max_iter=10_000)
    ours.fit(X, y, w)
    theirs.fit(X, y, w)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("classes", [2, 3])
def test_nonlinear_kernel_is_regression_on_its_features(iris, classes):
    X, y = iris
    X, y = X[y < classes], y[y < classes]
    kernel = Polynomial(2, offset=1.0)
    K = kernel(X)
    s, U = np.linalg.eigh(K)
    keep = s > 1e-9 * s.max()
    phi = U[:, keep] * np.sqrt(s[keep])
    ours = KernelLogisticRegression(0.2, kernel=kernel, tol=1e-9).fit(X, y)
    theirs = LogisticRegression(C=5.0, tol=1e-10, max_iter=20_000).fit(phi, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(phi), atol=2e-5)


def test_probabilities(iris):
    X, y = iris
    model = KernelLogisticRegression(0.1, kernel=Gaussian()).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X))
    np.testing.assert_allclose(p.mean(axis=0), [1 / 3] * 3, atol=1e-6)  # slopes of b are 0
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0, atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), p.argmax(axis=1))
    value = log_loss(y, p, normalize=False) + 0.05 * np.sum(model.rkhs_function_.norm() ** 2)
    assert model.solution_.stats["objective"] == pytest.approx(value)
    assert abs(model.solution_.stats["gap"]) < 1e-6
    two = KernelLogisticRegression(0.1, kernel=Gaussian()).fit(X, y == 2)
    machine = KernelMachine(Gaussian(), "logistic", 0.1).fit(X, y == 2)
    np.testing.assert_allclose(two.decision_function(X), machine.decision_function(X), atol=1e-4)
    assert np.all(np.isfinite(two.predict_log_proba(1e3 * X)))


def test_two_classes_agree_with_the_joint_form(iris):
    """The same p(y | x), as the squared norm of f is that of two functions f/2 and -f/2, twice."""
    X, y = iris
    y = y == 2
    one = KernelLogisticRegression(0.4, kernel=Gaussian(), tol=1e-9).fit(X, y)
    both = KernelMachine(Gaussian(), "multinomial", 0.8, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(both.decision_function(X), one.decision_function(X), atol=1e-5)


def test_weights_are_repetitions_and_classes_can_be_balanced(iris, rng):
    X, y = iris
    times = rng.integers(0, 3, len(y))
    model = KernelLogisticRegression(0.3, kernel=Gaussian(), tol=1e-9)
    weighted = model.fit(X, y, times).predict_proba(X)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).predict_proba(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)
    rare = np.concatenate([np.flatnonzero(y == 1), np.flatnonzero(y == 2)[:8]])
    plain = clone(model).fit(X[rare], y[rare]).predict_proba(X)[:, 1]
    balanced = clone(model).set_params(class_weight="balanced").fit(X[rare], y[rare])
    assert np.all(balanced.predict_proba(X).mean(axis=0)[1] > plain.mean())
    doubled = clone(model).set_params(class_weight={1: 1, 2: 2}).fit(X[rare], y[rare])
    by_hand = clone(model).fit(X[rare], y[rare], np.where(y[rare] == 2, 2.0, 1.0))
    np.testing.assert_allclose(doubled.dual_coef_, by_hand.dual_coef_)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_leave_one_out_is_close_to_refits(iris, classes, intercept):
    X, y = iris
    X, y = X[y > 2 - classes][::2], y[y > 2 - classes][::2]
    model = KernelLogisticRegression(0.5, kernel=Gaussian(), fit_intercept=intercept).fit(X, y)
    refits = cross_val_predict(clone(model), X, y, cv=LeaveOneOut(), method="predict_proba")
    assert model.leave_one_out_loss() == pytest.approx(log_loss(y, refits), abs=2e-3)
    assert log_loss(y, model.predict_proba(X)) < log_loss(y, refits) - 0.02
    proba = model.leave_one_out_proba()
    np.testing.assert_allclose(proba, refits, atol=0.02)
    f = model.leave_one_out()
    assert f.shape == model.decision_function(X).shape
    if classes == 3:
        np.testing.assert_allclose(softmax(f, axis=1), proba)


def test_leave_one_out_of_weighted_and_saved_models(iris, rng, tmp_path):
    X, y = iris
    w = rng.uniform(0, 2, len(y))
    model = KernelLogisticRegression(0.5, kernel=Gaussian(), class_weight={1: 2.0}).fit(X, y, w)
    whole = w * np.where(y == 1, 2, 1)
    expected = log_loss(y, model.leave_one_out_proba(), sample_weight=whole)
    assert model.leave_one_out_loss() == pytest.approx(expected)
    for i in (0, 60, 120):
        rest = np.delete(np.arange(len(y)), i)
        one = clone(model).fit(X[rest], y[rest], w[rest]).predict_proba(X[[i]])
        np.testing.assert_allclose(model.leave_one_out_proba()[[i]], one, atol=0.01)
    save(model, tmp_path / "model.mercer")
    np.testing.assert_allclose(
        load(tmp_path / "model.mercer").leave_one_out(), model.leave_one_out()
    )


def test_strings():
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 3
    labels = ["with" if "ab" in t else "without" for t in texts]
    model = KernelLogisticRegression(0.01, kernel=Spectrum(2)).fit(texts, labels)
    assert model.score(texts, labels) == 1
    assert model.predict(["xxab"])[0] == "with"


def test_bad_input(iris):
    X, y = iris
    with pytest.raises(ValueError, match="alpha must be > 0"):
        KernelLogisticRegression(0).fit(X, y)
    with pytest.raises(ValueError, match="number of classes"):
        KernelLogisticRegression().fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelLogisticRegression().fit(X, X[:, 0])
