"""Several classes: a machine for each pair, or for each class against the rest."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC as Peer
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVCCV, Gaussian, NuSVC, Plan, load, save

X, labels = load_iris(return_X_y=True)


@parametrize_with_checks([SVC(gamma=0.1, tol=1e-9, multiclass="ovr")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_one_machine_for_each_class():
    """The scores are those of binary machines, fitted one by one by another library."""
    ours = SVC(C=2.0, gamma=0.5, tol=1e-8, multiclass="ovr").fit(X, labels)
    theirs = OneVsRestClassifier(Peer(C=2.0, gamma=0.5, tol=1e-8)).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.dual_coef_.shape == (3, len(ours.support_))
    assert [report.classes for report in ours.reports_] == [("rest", 0), ("rest", 1), ("rest", 2)]
    assert max(report.gap for report in ours.reports_) < 1e-5


def test_weights_and_two_classes(rng):
    w = rng.uniform(0.5, 2.0, len(labels))
    ours = SVC(gamma=0.5, tol=1e-8, multiclass="ovr", class_weight={1: 3.0}).fit(X, labels, w)
    for j in range(3):
        weight = w * np.where(labels == 1, 3.0, 1.0)
        theirs = Peer(gamma=0.5, tol=1e-8).fit(X, labels == j, weight)
        np.testing.assert_allclose(
            ours.decision_function(X)[:, j], theirs.decision_function(X), atol=1e-6
        )
    two = labels < 2
    pair, rest = (SVC(multiclass=way).fit(X[two], labels[two]) for way in ("ovo", "ovr"))
    np.testing.assert_array_equal(pair.decision_function(X), rest.decision_function(X))


def test_probabilities_grids_landmarks_and_files(tmp_path):
    model = SVC(probability=True, multiclass="ovr", random_state=0).fit(X, labels)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(P.argmax(axis=1) == labels) > 0.95
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))
    grid = SVCCV([0.1, 1.0, 10.0], multiclass="ovr", random_state=0, cv=3).fit(X, labels)
    assert grid.decision_function(X).shape == (150, 3)
    single = SVC(C=grid.C_, multiclass="ovr").fit(X, labels)
    np.testing.assert_allclose(grid.decision_function(X), single.decision_function(X))
    split = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    grid = SVCCV([1.0], multiclass="ovr", cv=split, test_size=0).fit(X, labels)
    alone = cross_val_score(SVC(multiclass="ovr"), X, labels, cv=split)
    np.testing.assert_allclose(grid.cv_results_["split_test_scores"][0], alone)
    few = SVC(kernel=Gaussian(1.0), multiclass="ovr", plan=Plan(rank=20)).fit(X, labels)
    assert np.mean(few.predict(X) == labels) > 0.95
    scores = few.rkhs_function_(X) + few.intercept_
    np.testing.assert_allclose(scores, few.decision_function(X), atol=1e-8)


def test_the_nu_form_reports_its_own_problem(rng):
    """Primal from its definition, the dual from the coefficients, and rho from both."""
    Z = rng.standard_normal((60, 2))
    y = np.where(Z[:, 0] + 0.5 * rng.standard_normal(60) > 0, 1, -1)
    w = rng.uniform(0.5, 1.5, 60)
    model = NuSVC(nu=0.4, kernel=Gaussian(1.0), tol=1e-8).fit(Z, y, w)
    (report,), K = model.reports_, Gaussian(1.0)(Z)
    beta = np.zeros(60)
    beta[model.support_] = model.dual_coef_[0] * report.rho
    assert np.abs(beta).max() <= w.max() + 1e-9
    scores = model.decision_function(Z) * report.rho
    slack = np.maximum(0, report.rho - y * scores)
    primal = beta @ K @ beta / 2 - 0.4 * w.sum() * report.rho + w @ slack
    assert report.primal == pytest.approx(primal, abs=1e-6)
    assert report.dual == pytest.approx(-beta @ K @ beta / 2, abs=1e-6)
    assert report.gap == pytest.approx(0, abs=1e-5)
    assert report.margin == pytest.approx(2 * report.rho / np.sqrt(beta @ K @ beta))


def test_refusals():
    with pytest.raises(ValueError, match='multiclass must be "ovo" or "ovr"'):
        SVC(multiclass="rest").fit(X, labels)
    with pytest.raises(ValueError, match="needs machines for pairs of classes"):
        SVC(multiclass="ovr", decision_function_shape="ovo").fit(X, labels)
    with pytest.raises(ValueError, match="class 0 against the rest: specified nu is infeasible"):
        NuSVC(nu=0.9, multiclass="ovr").fit(X, labels)
