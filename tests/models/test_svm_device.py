"""Support vector machines with Plan(device=...), by PyTorch on the processor."""

import numpy as np
import pytest

from mercer import SVC, SVCCV, SVR, Gaussian, Laplacian, NuSVC, NuSVR, OneClassSVM, Plan, load, save
from mercer.exceptions import ConvergenceWarning

torch = pytest.importorskip("torch")
from mercer.models import svm_rows  # noqa: E402

PLAN = Plan(device="torch-cpu")


@pytest.fixture(autouse=True)
def _also_small(monkeypatch):
    """Problems that would be left to the processor are solved there, too."""
    monkeypatch.setattr(svm_rows, "SMALLEST", 0)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((240, 3))
    return X, np.digitize(X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(240), [-0.4, 0.4])


@pytest.mark.parametrize(
    "model",
    [
        SVC(C=3),
        SVC(C=3, multiclass="ovr"),
        SVC(C=3, kernel=Laplacian(1.0), class_weight="balanced"),
        SVC(C=np.inf, kernel=Gaussian(0.5)),
        SVC(C=2, tol=1e-8),
        NuSVC(nu=0.3),
    ],
    ids=repr,
)
def test_classifiers_find_what_the_processor_finds(model, data, rng):
    X, y = data
    there, Z = model.set_params(plan=PLAN).fit(X, y), rng.standard_normal((50, 3))
    scores, labels = there.decision_function(Z), there.predict(Z)
    reports, how = there.reports_, there._how
    here = model.set_params(plan=None).fit(X, y)
    np.testing.assert_allclose(scores, here.decision_function(Z), atol=0.02)
    assert np.mean(labels == here.predict(Z)) > 0.97
    assert "torch-cpu" in how
    assert all(report.violation < model.tol for report in reports)
    assert all(report.gap < 0.02 * abs(report.primal) for report in reports)


@pytest.mark.parametrize("model", [SVR(C=3), NuSVR(nu=0.3, C=3), OneClassSVM(nu=0.2)], ids=repr)
def test_one_problem(model, data, rng):
    X, Z = data[0], rng.standard_normal((50, 3))
    target = X[:, 0] * X[:, 1]

    def scores():
        one = isinstance(model, OneClassSVM)
        model.fit(X, None if one else target)
        return model.decision_function(Z) if one else model.predict(Z)

    there = (model.set_params(plan=PLAN), scores(), model._how)
    assert "torch-cpu" in there[2]
    model.set_params(plan=None)
    np.testing.assert_allclose(there[1], scores(), atol=0.02)


def test_weights_of_zero_and_probabilities(data):
    X, y = data
    w = np.where(np.arange(240) < 200, 1.0, 0.0)
    model = SVC(C=2, plan=PLAN).fit(X, y, w)
    assert model.support_.max() < 200
    other = SVC(C=2, plan=PLAN).fit(X[:200], y[:200])
    np.testing.assert_allclose(
        model.decision_function(X[200:]), other.decision_function(X[200:]), atol=1e-2
    )
    proba = SVC(C=2, plan=PLAN, probability=True, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)


def test_saved_and_read_again(data, tmp_path):
    X, y = data
    model = SVC(C=2, plan=PLAN).fit(X, y)
    save(model, tmp_path / "svc.mercer")
    again = load(tmp_path / "svc.mercer")
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-9)


def test_few_steps(data):
    X, y = data
    with pytest.warns(ConvergenceWarning, match="stopped after 5 steps"):
        model = SVC(C=3, max_iter=5, plan=PLAN).fit(X, y > 0)
    assert model.fit_status_ == 1


def test_a_grid(data):
    X, y = data
    grid = SVCCV([1.0, 10.0], cv=3, random_state=0)
    there = grid.set_params(plan=PLAN).fit(X, y).cv_results_["mean_test_score"]
    here = grid.set_params(plan=None).fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(there, here, atol=0.02)


def test_small_problems_stay_on_the_processor(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(svm_rows, "SMALLEST", 1000)
    assert "torch-cpu" not in SVC(plan=PLAN).fit(X, y)._how
