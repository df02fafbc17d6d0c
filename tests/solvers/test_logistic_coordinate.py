"""Dual coordinate descent of logistic regression, against Newton's method and scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from mercer import SVC, SVR, Gaussian, KernelLogisticRegression, KernelMachine, Linear, Plan
from mercer.chunks import ArrayChunks
from mercer.solvers.logistic_coordinate import solve_logistic_coordinate
from mercer.solvers.watch import Watch

RNG = np.random.default_rng(0)
N = 400
X = RNG.standard_normal((N, 4)) + 3.0
Y = np.where(np.sin(X.sum(axis=1)) + 0.3 * RNG.standard_normal(N) > 0, 1.0, -1.0)
W = RNG.random(N) * (RNG.random(N) > 0.1)
KERNEL, PLAN = Gaussian(2.0), Plan(rank=40)


def objective(w, b, phi, C):
    margins = Y * (phi @ w + b)
    return C @ np.logaddexp(0, -margins) + w @ w / 2


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("C", [0.01, 0.3, 3.0])
def test_the_optimum_is_that_of_scikit_learn(sparse, intercept, C):
    phi = sp.csr_matrix(X * (np.abs(X) > 2)) if sparse else X
    found = solve_logistic_coordinate(phi, Y, C * W, intercept=intercept, tol=1e-9)
    known = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-10, max_iter=10_000)
    known.fit(phi, Y, W)
    best = objective(known.coef_[0], known.intercept_, phi, C * W)
    assert found.converged
    point = found.point
    assert point.primal == pytest.approx(objective(point.w, point.intercept, phi, C * W))
    assert best * (1 - 1e-9) <= point.primal <= best * (1 + 1e-8)
    assert 0 <= point.gap <= 1e-9 * point.primal
    assert point.primal - point.gap <= best * (1 + 1e-9)  # a bound of the optimum
    np.testing.assert_allclose(point.w, known.coef_[0], atol=1e-3 * np.abs(known.coef_).max())
    slopes = C * W * Y * expit(-Y * (phi @ point.w + point.intercept))
    np.testing.assert_allclose(point.beta, slopes, atol=1e-3 * C)


def test_hard_numbers():
    wild = X.copy()
    wild[0] = 1e8
    for phi, y in ((wild, Y), (np.zeros_like(X), Y), (X, np.ones(N)), (X.astype(np.float32), Y)):
        found = solve_logistic_coordinate(phi, y, np.ones(N), tol=1e-3, max_iter=200 * N)
        assert np.isfinite([found.point.primal, found.point.gap, found.point.intercept]).all()
        assert np.isfinite(found.point.w).all()
    with pytest.raises(ValueError, match="scale the data"):
        solve_logistic_coordinate(1e200 * X, Y, np.ones(N))


def test_models_by_coordinates():
    for make in (
        lambda **o: KernelLogisticRegression(0.1, kernel=KERNEL, plan=PLAN, **o),
        lambda **o: KernelMachine(KERNEL, "logistic", 0.1, plan=PLAN, **o),
    ):
        newton = make(tol=1e-8).fit(X, Y, W)
        found = make(tol=1e-8, solver="coordinate").fit(X, Y, W)
        assert found.solution_.stats["method"] == "coordinate"
        assert found.solution_.stats["gap"] <= 1e-8 * found.solution_.stats["objective"]
        np.testing.assert_allclose(
            found.decision_function(X), newton.decision_function(X), atol=2e-3
        )
    text = KernelLogisticRegression(kernel=Linear(), solver="coordinate").fit(sp.csr_matrix(X), Y)
    assert text.score(X, Y) > 0.5
    with pytest.raises(ValueError, match="two classes, got 3"):
        KernelLogisticRegression(kernel=Linear(), solver="coordinate").fit(X, np.arange(N) % 3)
    with pytest.raises(ValueError, match="needs a kernel with features"):
        KernelLogisticRegression(kernel=KERNEL, solver="coordinate").fit(X, Y)
    with pytest.raises(ValueError, match="solver must be one of"):
        KernelLogisticRegression(solver="sgd").fit(X, Y)
    with pytest.raises(ValueError, match="never stored"):
        KernelLogisticRegression(kernel=KERNEL, plan=PLAN, solver="coordinate").fit(
            ArrayChunks(X, Y)
        )


# ---- what goes on beside solvers on features -----------------------------------------------------
OPTIONS = {"plan": PLAN, "solver": "coordinate"}
MODELS = {
    "logistic": KernelLogisticRegression(0.3, kernel=KERNEL, tol=1e-8, **OPTIONS),
    "machine": KernelMachine(KERNEL, "hinge", 1.0, tol=1e-5, **OPTIONS),
    "coordinate": SVC(KERNEL, tol=1e-5, **OPTIONS),
    "snacks": SVC(KERNEL, C=0.1, tol=0.02, plan=PLAN, solver="snacks"),
    "numbers": SVR(KERNEL, tol=1e-5, **OPTIONS),
}


class Stopped(Exception):
    pass


def stop_after(count):
    def callback(step):
        if step.n_iter >= count:
            raise Stopped

    return callback


@pytest.mark.parametrize("name", MODELS)
def test_callbacks_checkpoints_and_validation(name, tmp_path):
    model, path = MODELS[name], tmp_path / "state"
    model.set_params(callback=None, checkpoint=None, validation=None)
    seen = []
    model.set_params(callback=lambda step: bool(seen.append(step.n_iter) or len(seen) >= 2))
    model.fit(X, Y)
    assert len(seen) == 2
    model.set_params(callback=stop_after(3), checkpoint=path)
    with pytest.raises(Stopped):
        model.fit(X, Y)
    assert path.exists()
    first = []
    model.set_params(callback=lambda step: first.append(step.n_iter))
    model.fit(X, Y)
    assert first[0] in (3, 4)  # it went on
    assert not path.exists()
    noise = np.sign(RNG.standard_normal(N))
    model.set_params(callback=None, checkpoint=None, validation=(X[200:], noise[200:]))
    scores = [model.fit(X[:200], noise[:200]).score(X[200:], noise[200:])]
    scores.append(
        model.set_params(validation=None).fit(X[:200], noise[:200]).score(X[200:], noise[200:])
    )
    assert scores[0] >= scores[1] - 0.05
    with pytest.raises(ValueError, match="validation must be a tuple"):
        model.set_params(validation=X).fit(X, Y)
    model.set_params(validation=None)


def test_validation_keeps_the_best():
    phi, held = RNG.standard_normal((60, 80)), RNG.standard_normal((60, 80))
    truth = RNG.standard_normal(80)
    y, z = (np.sign(p @ truth + 8 * RNG.standard_normal(60)) for p in (phi, held))

    def error(w, b):
        return float(np.logaddexp(0, -z * (held @ w + b)).sum())

    seen = []

    def measure(state):
        seen.append(error(state["w"], float(state["level"][0])))
        return seen[-1]

    found = solve_logistic_coordinate(
        phi, y, np.full(60, 100.0), tol=1e-8, watch=Watch(validation=measure)
    )
    assert found.converged
    assert error(found.point.w, found.point.intercept) <= 1.05 * min(seen)


def test_what_is_refused():
    with pytest.raises(ValueError, match="callback is for solver"):
        SVC(KERNEL, callback=print).fit(X, Y)
    with pytest.raises(ValueError, match="checkpoint is for two classes"):
        SVC(KERNEL, plan=PLAN, solver="coordinate", checkpoint="a").fit(X, np.arange(N) % 3)
    with pytest.raises(ValueError, match="validation is for a single problem"):
        KernelMachine(
            KERNEL, "hinge", plan=PLAN, solver="coordinate", validation=(X, np.arange(N) % 3)
        ).fit(X, np.arange(N) % 3)
