"""Machines on features: coordinate descent and Snacks in SVC, SVR and KernelMachine."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC as TheirSVC
from sklearn.svm import SVR as TheirSVR

import mercer
from mercer import SVC, SVR, Gaussian, KernelMachine, Landmarks, Linear, Plan, RandomFourier
from mercer.exceptions import ConvergenceWarning
from mercer.models.svm_rows import for_features


@pytest.fixture
def labelled(rng):
    X = rng.standard_normal((500, 6))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.standard_normal(500) > 1).astype(int)
    return X, y


LANDMARKS = Plan(features=Landmarks(40, choose="uniform"))


def test_classifier_of_libsvm(labelled):
    X, y = labelled
    weights = np.where(np.arange(500) % 3 == 0, 2.0, 1.0)
    options = {"C": 0.1, "kernel": "linear", "class_weight": {1: 3.0}}
    theirs = TheirSVC(**options, tol=1e-6).fit(X, y, weights)
    for data in (X, sp.csr_matrix(X)):
        ours = SVC(**options, solver="coordinate", tol=1e-8).fit(data, y, weights)
        scores = ours.decision_function(data)
        assert np.allclose(scores, theirs.decision_function(X), atol=1e-3)
        assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-3)
        report = ours.decision_path()[0]
        w, sign = ours.coef_[0], np.where(y == 1, 1.0, -1.0)
        C = 0.1 * weights * np.where(y == 1, 3.0, 1.0)
        primal = w @ w / 2 + C @ np.maximum(1 - sign * scores, 0)
        assert report.primal == pytest.approx(primal, rel=1e-6)
        assert 0 <= report.gap <= 1.01e-8 * primal


def test_regression_of_libsvm(rng):
    X = rng.standard_normal((400, 5))
    t = X @ np.arange(5.0) + 7 + rng.standard_normal(400)
    options = {"C": 0.5, "epsilon": 0.4, "kernel": "linear"}
    ours = SVR(**options, solver="coordinate", tol=1e-8).fit(X, t)
    theirs = TheirSVR(**options, tol=1e-7).fit(X, t)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-3)


@pytest.mark.parametrize("solver", ["auto", "coordinate"])
def test_landmarks_predict_as_support_vectors_do(labelled, tmp_path, solver):
    X, y = labelled
    y = y + (X[:, 2] > 1)  # three classes
    model = SVC(C=5, kernel=Gaussian(2.0), plan=LANDMARKS, solver=solver, tol=1e-5).fit(X, y)
    assert len(model.gram_) == 40  # whatever the number of support vectors
    few = model.decision_function(X[:50])
    K = model.kernel_(X[:50], model.support_vectors_)
    parts = np.split(np.arange(len(model.support_)), np.cumsum(model.n_support_)[:-1])
    sums = np.stack([K[:, p] @ model.dual_coef_[:, p].T for p in parts], axis=1)
    model.decision_function_shape = "ovo"
    pairs = np.stack([sums[:, i, j - 1] + sums[:, j, i] for i, j in ((0, 1), (0, 2), (1, 2))], 1)
    assert np.allclose(model.decision_function(X[:50]), pairs + model.intercept_, atol=1e-5)
    model.decision_function_shape = "ovr"
    mercer.save(model, tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert np.allclose(again.decision_function(X[:50]), few)


def test_refitted_without_landmarks(labelled):
    X, y = labelled
    model = SVC(kernel=Gaussian(2.0), plan=LANDMARKS).fit(X, y)
    model.set_params(plan=None).fit(X, y)
    plain = SVC(kernel=Gaussian(2.0)).fit(X, y)
    assert np.allclose(model.decision_function(X), plain.decision_function(X))


def test_random_features(labelled):
    X, y = labelled
    plan = Plan(features=RandomFourier(60))
    model = SVC(C=1, kernel=Gaussian(2.0), plan=plan, solver="coordinate", tol=1e-6).fit(X, y)
    other = SVC(C=1, kernel=Gaussian(2.0), plan=plan, solver="decomposition", tol=1e-6).fit(X, y)
    assert np.allclose(model.decision_function(X), other.decision_function(X), atol=1e-2)


def test_snacks(labelled):
    X, y = labelled
    model = SVC(C=0.02, kernel="linear", solver="snacks", tol=0.05).fit(X, y)
    report = model.decision_path()[0]
    assert 0 <= report.gap <= 0.05 * report.primal
    with pytest.warns(ConvergenceWarning, match="stochastic subgradients"):
        SVC(C=100, kernel="linear", solver="snacks", max_iter=1000).fit(X, y)


def test_one_sample_set_of_errors(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match=r"solver must be one of .*'coordinate'"):
        SVC(solver="sgd").fit(X, y)
    for model in (
        SVC(solver="coordinate"),
        KernelMachine(Gaussian(), "hinge", solver="coordinate"),
    ):
        with pytest.raises(ValueError, match=r"needs a kernel with features.*Landmarks"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="hard margin"):
        SVC(C=np.inf, kernel="linear", solver="coordinate").fit(X, y)
    with pytest.raises(ValueError, match="storage='dense'"):
        SVC(kernel="linear", solver="coordinate", plan=Plan(storage="dense")).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        SVC(C=1e6, kernel="linear", solver="coordinate", max_iter=5000).fit(X, y)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_machine_by_other_solvers(labelled, loss, intercept):
    X, y = labelled
    options = {"alpha": 5.0, "fit_intercept": intercept}
    ours = KernelMachine(Linear(), loss, solver="coordinate", tol=1e-9, **options).fit(X, y)
    other = KernelMachine(Linear(), loss, tol=1e-8, **options).fit(X, y)
    assert np.allclose(ours.decision_function(X), other.decision_function(X), atol=1e-3)
    found = ours.solution_.stats
    assert found["method"] == "coordinate"
    assert found["gap"] <= 1e-9 * found["objective"]
    assert found["objective"] == pytest.approx(other.solution_.stats["objective"], rel=1e-6)


@pytest.mark.parametrize("loss", ["absolute", "epsilon_insensitive", "huber"])
def test_regression_machine_by_other_solvers(rng, loss):
    X = rng.standard_normal((300, 3))
    t = X @ np.arange(3.0) + 5 + rng.standard_normal(300)
    ours = KernelMachine(Linear(), loss, 10.0, solver="coordinate", tol=1e-9).fit(X, t)
    other = KernelMachine(Linear(), loss, 10.0, tol=1e-8).fit(X, t)
    assert np.allclose(ours.predict(X), other.predict(X), atol=1e-2)
    a, b = (m.solution_.stats["objective"] for m in (ours, other))
    assert a == pytest.approx(b, rel=1e-6)


def test_features_of_landmarks_are_single_where_that_is_not_seen():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1500, 4))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(1500) > 0
    plan = Plan(features=Landmarks(100, choose="uniform"))
    kernel = Gaussian(2.0)
    assert for_features(kernel, X, 1e-3, plan).dtype == np.float32
    for other in (
        for_features(kernel, X, 1e-5, plan),  # a tolerance that would see it
        for_features(kernel, X + 1e8, 1e-3, plan),  # samples that rounding moves
        for_features(kernel, X * 1e19, 1e-3, plan),
        for_features(kernel, X[:500], 1e-3, plan),
        for_features(kernel, X, 1e-3, Plan(features=RandomFourier(100))),
        for_features(Linear(), X, 1e-3, Plan()),
    ):
        assert other.dtype == np.float64
    model = SVC(kernel, C=3.0, plan=plan, solver="coordinate").fit(X, y)
    report = model.reports_[0]
    short = np.maximum(1 - np.where(y, 1, -1) * model.decision_function(X), 0)  # in double
    primal = 3.0 * short.sum() + 2 / report.margin**2
    assert primal == pytest.approx(report.primal, rel=1e-3)
    exact = SVC(model.kernel_, C=3.0, solver="coordinate", tol=1e-8).fit(X, y)
    assert exact.reports_[0].dual * (1 - 1e-4) <= primal <= exact.reports_[0].primal * (1 + 2e-3)
