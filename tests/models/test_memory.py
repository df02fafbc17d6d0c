"""What models take of memory: predictions in strips, fits within the limit of a plan."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer.exceptions import MemoryPlanError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
MANY = RNG.normal(size=(16_000, 2))  # 77 MB with all of X
Y, LABELS = np.sin(X[:, 0]), X[:, 0] > 0


def peak(function):
    """The most memory in bytes that arrays took at once."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("model", "y", "call"),
    [
        (mercer.KernelRidge(kernel="rbf"), Y, lambda m: m.predict(MANY)),
        (mercer.KernelRidge(kernel="rbf"), Y, lambda m: m.posterior_variance(MANY)),
        (mercer.GaussianProcessRegressor(optimizer=None), Y, lambda m: m.predict(MANY)),
        (mercer.GaussianProcessRegressor(optimizer=None), Y, lambda m: m.predict_interval(MANY)),
        (mercer.GaussianProcessRegressor(mercer.Gaussian() + 1, optimizer=None), Y,
         lambda m: m.parts()[0].predict(MANY, return_std=True)),
        (mercer.GaussianProcessClassifier(optimizer=None), LABELS, lambda m: m.predict(MANY)),
        (mercer.KernelLogisticRegression(), LABELS, lambda m: m.predict_proba(MANY)),
        (mercer.KernelQuantileRegressor(), Y, lambda m: m.predict(MANY)),
        (mercer.SemiparametricRidge(), Y, lambda m: m.predict(MANY)),
        (mercer.ThinPlateSpline(), Y, lambda m: m.predict(MANY)),
        (mercer.MultiOutputKernelRidge(kernel="rbf"), np.stack([Y, Y], axis=1),
         lambda m: m.predict(MANY)),
        (mercer.MultiOutputKernelRidge(kernel="rbf"), np.stack([Y, Y], axis=1),
         lambda m: m.posterior_variance(MANY)),
        (mercer.ConditionalEmbedding(alpha=0.1), Y, lambda m: m.predict(MANY)),
        (mercer.LSSVR(), Y, lambda m: m.predict(MANY)),
        (mercer.SVR(), Y, lambda m: m.predict(MANY)),
        (mercer.SVC(), LABELS, lambda m: m.predict(MANY)),
        (mercer.KernelPCA(2, kernel="rbf"), None, lambda m: m.transform(MANY)),
    ],
    ids=lambda c: type(c).__name__,
)  # fmt: skip
def test_predictions_never_hold_all_values(model, y, call):
    model.fit(X, y)
    assert peak(lambda: call(model)) < 60e6


SMALL = {"kernel": "rbf", "plan": mercer.Plan(memory="20 MB", workers=2)}
WIDE = RNG.normal(size=(2500, 3))  # K takes 50 MB


@pytest.mark.parametrize(
    "model",
    [
        mercer.SemiparametricRidge(**SMALL),
        mercer.ConditionalEmbedding(plan=SMALL["plan"]),
    ],
    ids=lambda m: type(m).__name__,
)
def test_what_needs_more_than_the_plan_allows_is_refused(model):
    def fit():
        with pytest.raises(MemoryPlanError, match=r"but the plan allows 20 MB; raise memory"):
            model.fit(WIDE, WIDE[:, 0])

    assert peak(fit) < 30e6  # what searches of bandwidths take, not K


def test_methods_keep_to_the_plan_of_the_model():
    model = mercer.KernelRidge(0.1, **SMALL)
    assert peak(lambda: model.fit(WIDE, np.sin(WIDE[:, 0]))) < 20e6
    with pytest.raises(MemoryPlanError, match="factor of 2500 samples needs 50 MB"):
        model.leave_one_out()
    with pytest.raises(MemoryPlanError, match="factor of 2500 samples needs 50 MB"):
        model.posterior_variance(WIDE[:2])


@pytest.mark.parametrize(
    ("model", "matrices"),
    [
        (mercer.KernelRidge(0.1, kernel="rbf", plan=mercer.Plan(workers=2)), 1.5),
        (mercer.KernelRidgeCV(kernel="rbf"), 3.5),
        (mercer.SemiparametricRidge(), 5.5),
        (mercer.SemiparametricRidge(alpha="gcv"), 6.5),
    ],
    ids=lambda c: type(c).__name__,
)
def test_fits_take_no_more_than_is_asked_for(model, matrices):
    half = WIDE[:1000]
    assert peak(lambda: model.fit(half, half[:, 0])) < matrices * 8e6


@pytest.mark.parametrize("memory", [20e6, 30e6, 45e6])  # K takes 18 MB
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (mercer.KernelLogisticRegression(), WIDE[:1500, 0] > 0),
        (mercer.KernelLogisticRegression(), np.digitize(WIDE[:1500, 0], [-0.5, 0.5])),
        (mercer.KernelQuantileRegressor(), WIDE[:1500, 0]),
        (mercer.KernelMachine(loss="huber"), WIDE[:1500, 0]),
        (mercer.KernelMachine(loss="hinge"), WIDE[:1500, 0] > 0),
        (mercer.LSSVR(), WIDE[:1500, 0]),
        (mercer.LSSVC(), WIDE[:1500, 0] > 0),
        (mercer.KernelRidge(kernel="rbf"), WIDE[:1500, 0]),
    ],
    ids=lambda c: type(c).__name__,
)
def test_fits_keep_to_the_plan(model, y, memory):
    """With what solvers make of K, and the tiles in which it is computed."""
    model = clone(model).set_params(plan=mercer.Plan(memory=memory, workers=2))
    model.fit(WIDE[:1500], y)  # loops that are compiled, or read from files, are not arrays
    assert peak(lambda: model.fit(WIDE[:1500], y)) < memory


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (mercer.KernelLogisticRegression(kernel=mercer.Gaussian(1.0)), True),
        (mercer.KernelQuantileRegressor(kernel=mercer.Gaussian(1.0)), False),
        (
            mercer.KernelMachine(loss="huber", kernel=mercer.Gaussian(1.0), fit_intercept=False),
            False,
        ),
        (mercer.LSSVR(kernel=mercer.Gaussian(1.0)), False),
    ],
    ids=lambda c: type(c).__name__,
)
def test_fits_without_k_keep_to_the_plan(model, labels):
    """K takes 128 MB, six times what is allowed: it is computed in tiles, and so is all else."""
    X = np.random.default_rng(1).normal(size=(4000, 5))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 4]
    y = y > 0 if labels else y
    X = X[:, :4]
    model = clone(model).set_params(plan=mercer.Plan(memory="20 MB", workers=2))
    model.fit(X, y)
    assert peak(lambda: model.fit(X, y)) < 20e6


def test_cross_validation_without_k_stays_far_below_it():
    """Six systems at once, of 2000 samples each, and vectors for all of them."""
    X = np.random.default_rng(1).normal(size=(6000, 4))  # K takes 288 MB
    plan = mercer.Plan(memory="40 MB", workers=2)
    model = mercer.KernelRidgeCV([0.1, 1.0], kernel=mercer.Gaussian(2.0), cv=3, plan=plan)
    model.fit(X[:2600], X[:2600, 0])
    assert peak(lambda: model.fit(X, np.sin(X[:, 0]))) < 44e6


@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_a_stored_matrix_that_leaves_no_room_is_refused(loss):
    plan = mercer.Plan(memory="20 MB", workers=2, storage="dense")
    model, y = mercer.KernelMachine(loss=loss, plan=plan), np.sign(WIDE[:1500, 0])

    def fit():
        with pytest.raises(MemoryPlanError, match="needs 36 MB, but the plan allows 20 MB"):
            model.fit(WIDE[:1500], y)

    assert peak(fit) < 5e6
