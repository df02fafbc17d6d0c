"""The yardsticks of the cases for support vector machines, and their data."""

import sys
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import sklearn.svm
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

ROOT = Path(__file__).resolve().parents[2]
GAMMA, C = 0.3, 5.0


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.fixture
def problem():
    """Three overlapping classes, named out of order."""
    from benchmarks.svm_data import Problem

    rng = np.random.default_rng(0)
    y = rng.integers(3, size=150)
    X = rng.standard_normal((150, 2)) + 1.2 * np.array([[0, 0], [1, 1], [0, 2]])[y]
    return Problem(X, np.array(["z", "b", "m"])[y], X[:10], GAMMA)


def two(problem):
    from benchmarks.svm_data import Problem

    keep = problem.y != "m"
    return Problem(problem.X[keep], problem.y[keep], problem.new, GAMMA)


def maximum(X, y, **options):
    """The dual value of a two-class machine at the optimum, entry by entry."""
    model = sklearn.svm.SVC(C=C, tol=1e-9, **options).fit(X, y)
    b, S = model.dual_coef_[0], model.support_vectors_
    if options.get("kernel") == "poly":
        K = polynomial_kernel(S, degree=3, gamma=GAMMA, coef0=1.0)
    else:
        K = rbf_kernel(S, gamma=GAMMA)
    n = len(b)
    return sum(abs(b)) - sum(b[i] * K[i, j] * b[j] for i in range(n) for j in range(n)) / 2


def test_blocks_add_up(monkeypatch, problem):
    from benchmarks import svm_dual

    monkeypatch.setattr(svm_dual, "_BLOCK", 7)
    B = np.random.default_rng(1).standard_normal((150, 3))
    K = rbf_kernel(problem.X, gamma=GAMMA)
    found = svm_dual.quadratic(svm_dual.gaussian(GAMMA), problem.X, B)
    np.testing.assert_allclose(found, np.diag(B.T @ K @ B), rtol=1e-12)


@pytest.mark.parametrize("module", ["sklearn.svm", "mercer"])
def test_the_dual_of_several_classes_is_the_sum_over_pairs(problem, module):
    from benchmarks.svm_dual import classification, gaussian

    SVC = pytest.importorskip(module).SVC
    dual = classification(problem, gaussian(GAMMA), C)
    expected = sum(
        maximum(problem.X[keep], problem.y[keep], gamma=GAMMA)
        for i, j in combinations(["b", "m", "z"], 2)
        for keep in [(problem.y == i) | (problem.y == j)]
    )
    model = SVC(C=C, gamma=GAMMA, tol=1e-6).fit(problem.X, problem.y)
    assert dual(model) == pytest.approx(expected, rel=1e-9)


def test_the_dual_of_two_classes_and_another_kernel(problem):
    from benchmarks.svm_dual import classification, polynomial

    both = two(problem)
    options = {"kernel": "poly", "gamma": GAMMA, "coef0": 1.0}
    model = sklearn.svm.SVC(C=C, tol=1e-6, **options).fit(both.X, both.y)
    dual = classification(both, polynomial(GAMMA, 3, 1.0), C)
    assert dual(model) == pytest.approx(maximum(both.X, both.y, **options), rel=1e-9)


def squared_norm(model):
    """||f||^2 of a machine with one function."""
    b = model.dual_coef_[0]
    return b @ rbf_kernel(model.support_vectors_, gamma=GAMMA) @ b


def test_the_dual_of_regression_equals_its_primal(problem):
    from benchmarks.svm_data import Problem
    from benchmarks.svm_dual import gaussian, regression

    y = np.sin(problem.X[:, 0]) + 0.3 * problem.X[:, 1]
    model = sklearn.svm.SVR(C=C, gamma=GAMMA, tol=1e-8).fit(problem.X, y)
    loss = np.maximum(0, np.abs(y - model.predict(problem.X)) - 0.1).sum()
    dual = regression(Problem(problem.X, y, problem.new, GAMMA), gaussian(GAMMA), C, 0.1)
    assert dual(model) == pytest.approx(squared_norm(model) / 2 + C * loss, rel=1e-6)


def test_the_dual_of_novelty_detection_equals_its_primal(problem):
    from benchmarks.svm_dual import gaussian, nu_form

    nu, X = 0.2, problem.X
    model = sklearn.svm.OneClassSVM(nu=nu, gamma=GAMMA, tol=1e-8).fit(X)
    loss = np.maximum(0, -model.decision_function(X)).sum()
    primal = squared_norm(model) / 2 - nu * len(X) * model.offset_[0] + loss
    dual = nu_form(problem, gaussian(GAMMA), nu, balanced=False)
    assert dual(model) == pytest.approx(primal, rel=1e-6)


def test_the_dual_of_the_nu_classifier_equals_its_primal(problem):
    from benchmarks.svm_dual import gaussian, nu_form

    nu, both = 0.7, two(problem)
    model = sklearn.svm.NuSVC(nu=nu, gamma=GAMMA, tol=1e-8).fit(both.X, both.y)
    width = nu * len(both.X) / np.abs(model.dual_coef_).sum()  # the margin f was divided by
    signs = np.where(both.y == model.classes_[1], 1, -1)
    loss = width * np.maximum(0, 1 - signs * model.decision_function(both.X)).sum()
    primal = width**2 * squared_norm(model) / 2 - nu * len(both.X) * width + loss
    dual = nu_form(both, gaussian(GAMMA), nu, balanced=True)
    assert dual(model) == pytest.approx(primal, rel=1e-6)


class Changed:
    """A fitted model with other coefficients."""

    def __init__(self, model, coef):
        self.support_, self.dual_coef_ = model.support_, coef
        self.classes_ = getattr(model, "classes_", None)


def test_points_outside_the_feasible_set_have_no_value(problem):
    from benchmarks.svm_data import Problem
    from benchmarks.svm_dual import classification, gaussian, nu_form, regression

    both, k = two(problem), gaussian(GAMMA)
    y = (both.y == "z") + 0.1 * both.X[:, 0]
    numbers = Problem(both.X, y, both.new, GAMMA)
    for dual, model in (
        (classification(both, k, C), sklearn.svm.SVC(C=C, gamma=GAMMA).fit(both.X, both.y)),
        (regression(numbers, k, C, 0.1), sklearn.svm.SVR(C=C, gamma=GAMMA).fit(both.X, y)),
        (nu_form(both, k, 0.7, True), sklearn.svm.NuSVC(nu=0.7, gamma=GAMMA).fit(both.X, both.y)),
    ):
        coef = model.dual_coef_
        assert np.isfinite(dual(Changed(model, coef)))
        outside, unequal = coef.copy(), coef.copy()
        outside[0, coef.argmax()] += C
        outside[0, coef.argmin()] -= C
        unequal[0, np.abs(coef).argmin()] *= 0.9
        assert dual(Changed(model, outside)) == -np.inf
        assert dual(Changed(model, unequal)) == -np.inf


def test_shortfall_is_measured_from_the_best():
    from benchmarks.svm_dual import shortfall

    errors = shortfall(float)({"mercer": 2.0, "worse": 1.0, "infeasible": -np.inf})
    assert errors == {"mercer": 0.0, "worse": 0.5, "infeasible": np.inf}


@pytest.mark.parametrize("classes", [2, 3])
def test_the_gap_is_that_of_the_certificate(problem, classes):
    from benchmarks.svm_dual import gap, gaussian

    from mercer import SVC

    data = problem if classes == 3 else two(problem)
    model = SVC(C=C, gamma=GAMMA, tol=1e-2).fit(data.X, data.y)
    reports = model.decision_path()
    primal = sum(report.primal for report in reports)
    expected = sum(report.gap for report in reports) / primal
    found = gap(data, gaussian(GAMMA), C)({"mercer": model})["mercer"]
    assert 0 < found < 0.1
    assert found == pytest.approx(expected, rel=1e-6)


# ---- contests ------------------------------------------------------------------------------------
TINY = {"data": "mc:120:4", "C": 1.0, "tol": 1e-6}


def test_the_optional_peer_runs_where_it_is_installed(monkeypatch):
    from benchmarks.cases import svm

    monkeypatch.setitem(sys.modules, "sklearnex", None)
    contest = svm.predict(**TINY)
    with pytest.raises(ImportError):
        contest.calls[svm.INTELEX]()
    package = ModuleType("sklearnex")
    monkeypatch.setitem(sys.modules, "sklearnex", package)
    monkeypatch.setitem(sys.modules, "sklearnex.svm", sklearn.svm)
    for setup in (svm.fit, svm.predict):
        contest = setup(**TINY)
        outputs = {name: call() for name, call in contest.calls.items()}
        assert set(outputs) == {"mercer", svm.SKLEARN, svm.INTELEX}
        assert contest.errors(outputs)["mercer"] <= 1e-3


def test_predictions_use_the_models_of_the_fit_before(monkeypatch):
    from benchmarks.cases import svm

    names = ("mercer", svm.SKLEARN)
    models = {name: call() for name, call in svm.fit(names=names, **TINY).calls.items()}
    monkeypatch.setattr(svm, "_fit", lambda *what, **options: pytest.fail("fitted again"))
    calls = svm.predict(names=names, **TINY).calls
    assert [calls[name].func.__self__ for name in names] == list(models.values())


def test_all_contenders_have_the_same_settings():
    from benchmarks.cases import svm

    contest = svm.fit(names=("mercer", svm.SKLEARN), **TINY)
    ours, theirs = (call().get_params() for call in contest.calls.values())
    for name in ("C", "kernel", "gamma", "tol", "cache_size"):
        assert ours[name] == theirs[name]
    assert (ours["gamma"], ours["cache_size"]) == (0.25, 2000)


def test_growth_is_the_slope_of_the_logarithms(monkeypatch):
    from benchmarks.cases import svm

    powers = {"mercer": 1.5, svm.SKLEARN: 2.0}
    monkeypatch.setattr(svm, "_cost", lambda name, problem, n, rounds, C: 1e-6 * n ** powers[name])
    contest = svm.growth("mc:1600:4", C=1.0)
    outputs = {name: call() for name, call in contest.calls.items()}
    assert list(outputs["mercer"]) == [200, 400, 800, 1600]
    assert contest.errors(outputs) == {"mercer": pytest.approx(-0.5)}


def test_the_default_set_leaves_long_fits_out():
    from benchmarks.cases.svm import CASES

    slow = {case.name for case in CASES if case.slow}
    assert "svm.fit.mc-30000-50.c10" in slow
    assert "svm.fit.mc-30000-50.c1" not in slow
    assert "svm.fit.mc-10000-50.c100" not in slow
    assert {case.group.name for case in CASES if "fit.a9a" in case.name} == {"SVM fit, n ≥ 30,000"}


# ---- data ----------------------------------------------------------------------------------------
def test_real_data_are_read_scaled_and_split(tmp_path, monkeypatch):
    from benchmarks.svm_data import _read

    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "vectors").mkdir()
    X = np.arange(40).reshape(20, 2).astype(np.uint8)
    X[:, 1] = 7  # a constant feature
    for name in ("letter", "mnist"):
        np.savez(tmp_path / "vectors" / f"{name}.npz", X=X, y=np.arange(20), n_train=15)
    train, y, new, _ = _read("letter", 10)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), [1, 0], atol=1e-12)
    np.testing.assert_array_equal(y, np.arange(10))
    np.testing.assert_allclose(new[:, 0], (X[15:, 0] - X[:10, 0].mean()) / X[:10, 0].std())
    train, _, new, _ = _read("mnist", 20)
    np.testing.assert_allclose(train, X / 255)
    assert new.shape == (0, 2)


def test_data_that_are_not_there(tmp_path, monkeypatch):
    from benchmarks.harness import Unavailable
    from benchmarks.svm_data import load

    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(Unavailable, match="kin40k is not at hand"):
        load("kin40k:123")


def test_names_of_data():
    from benchmarks.svm_data import fifth, load, rows

    assert rows("mc:10000:50") == 10_000
    assert fifth("mc:10000:50") == "mc:2000:50"
    assert fifth("usps:7291") == "usps:1458"
    made = load("mc:90:5:3")
    assert made.X.shape == (90, 5)
    assert made.gamma == 0.2
    assert set(made.y) == {0, 1, 2}
