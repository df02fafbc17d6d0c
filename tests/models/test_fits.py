"""What fits share: all or nothing, warnings at the caller, weights, values that are refused."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone, is_clusterer

import mercer
from mercer.exceptions import NumericalWarning

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(30, 2)), RNG.normal(size=(25, 2)) + 1.0
NUMBERS, LABELS = (X[:, 0] - X[:, 1], Z[:, 0] * Z[:, 1]), (X[:, 0] > 0, Z[:, 1] > 1)

REGRESSORS = [
    mercer.KernelRidge(kernel="rbf"),
    mercer.KernelRidgeCV(kernel="rbf"),
    mercer.GaussianProcessRegressor(optimizer=None),
    mercer.KernelQuantileRegressor(),
    mercer.KernelMachine(loss="huber"),
    mercer.SemiparametricRidge(),
    mercer.ThinPlateSpline(),
    mercer.MultiOutputKernelRidge(kernel="rbf"),
    mercer.ConditionalEmbedding(),
    mercer.ConformalRegressor(mercer.KernelRidge(kernel="rbf")),
    mercer.SemiSupervised(mercer.KernelRidge(kernel="rbf")),
    mercer.LSSVR(),
    mercer.SVR(),
    mercer.NuSVR(),
    mercer.KernelExpectileRegressor(),
    mercer.KernelRanker(),
    mercer.MultipleKernelMachine([mercer.Gaussian(), mercer.Linear()]),
    mercer.SparseKernelMachine(),
    mercer.OnlineKernelMachine(),
]
CLASSIFIERS = [
    mercer.KernelLogisticRegression(),
    mercer.GaussianProcessClassifier(optimizer=None),
    mercer.LSSVC(),
    mercer.SVC(),
    mercer.NuSVC(nu=0.3),
    mercer.SVCCV(cv=2),
    mercer.SequenceLabeller(),
    mercer.KernelFisherDiscriminant(),
]
OTHERS = [
    mercer.OneClassSVM(),
    mercer.SVDD(),
    mercer.OnlineOneClassSVM(),
    mercer.KernelKMeans(2, random_state=0),
    mercer.SpectralClustering(2, random_state=0),
    mercer.KernelDensity(),
    mercer.LevelSetTree(),
    mercer.KernelPCA(2, kernel="rbf"),
    mercer.KernelCCA(regularization=0.1),
    mercer.KernelCCACV(regularizations=[0.1, 1.0]),
    mercer.CCA(1, regularization=0.1),
    mercer.FunctionalCCA(),
]
CASES = [
    *((model, NUMBERS) for model in REGRESSORS),
    *((model, LABELS) for model in CLASSIFIERS),
    *((model, (X[:, :1], Z[:, :1])) for model in OTHERS),
]


def interruptible(model):
    """The same estimator, which can be interrupted at any assignment to one of its attributes."""

    def assign(self, name, value):
        left = vars(self).pop("left", None)
        if left == 0 and name != "__dict__":
            raise KeyboardInterrupt
        object.__setattr__(self, name, value)
        if left:
            vars(self)["left"] = left - 1

    kind = type(model)
    return type(kind.__name__, (kind,), {"__setattr__": assign, "__module__": kind.__module__})(
        **model.get_params(deep=False)
    )


def outcome(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)


@pytest.mark.parametrize(("model", "targets"), CASES, ids=lambda c: type(c).__name__)
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(model, targets):
    model = interruptible(model).fit(X, targets[0])
    before, expected = dict(vars(model)), outcome(model, X)
    for left in range(200):
        vars(model)["left"] = left
        try:
            model.fit(Z, targets[1])
        except KeyboardInterrupt:
            vars(model).pop("left", None)
            assert vars(model).keys() == before.keys()
            assert all(vars(model)[name] is before[name] for name in before)
            np.testing.assert_array_equal(outcome(model, X), expected)
        else:
            break
    assert 0 < left < 200
    if not is_clusterer(model):  # whose labels may well be the same
        assert not np.array_equal(outcome(model, X), expected)


def test_an_interrupted_first_fit_leaves_nothing():
    model = interruptible(mercer.KernelRidge(kernel="rbf"))
    vars(model)["left"] = 2
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, NUMBERS[0])
    assert vars(model).keys() - {"left"} == mercer.KernelRidge().get_params().keys()


def test_a_batch_that_is_refused_leaves_the_stream_as_it_was():
    model = mercer.KernelPCA(2, kernel="rbf").partial_fit(X)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="sample_weight"):
        model.partial_fit(Z, sample_weight=np.full(len(Z), -1.0))
    assert all(vars(model)[name] is before[name] for name in before)


def test_warnings_of_a_fit_point_to_the_line_that_called_it():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mercer.KernelRidge(alpha=0, kernel="rbf").fit(np.zeros((3, 1)), np.ones(3))
    assert [(w.category, w.filename) for w in caught] == [(NumericalWarning, __file__)]


@pytest.mark.parametrize("model", [mercer.KernelLogisticRegression(), mercer.LSSVC()])
def test_classes_are_balanced_by_the_weights_of_their_samples(model):
    """A sample of weight 3 counts as three, also when the totals of classes are made equal."""
    y = (X[:, 0] + 0.5 * X[:, 1] > 0.8).astype(int)
    repeats = np.where(y == 1, 5, 1) + (np.arange(len(y)) % 3)
    model = model.set_params(kernel=mercer.Gaussian(), class_weight="balanced")
    one = clone(model).fit(X, y, sample_weight=repeats.astype(float))
    many = clone(model).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(one.decision_function(Z), many.decision_function(Z), atol=1e-5)


def test_negative_weights_of_classes_are_refused():
    with pytest.raises(ValueError, match="class_weight must be >= 0"):
        mercer.KernelLogisticRegression(class_weight={False: -1.0, True: 1.0}).fit(X, LABELS[0])


@pytest.mark.parametrize(
    ("model", "targets", "methods"),
    [
        (mercer.KernelRidge(kernel="rbf"), NUMBERS, ["leave_one_out", "posterior_variance"]),
        (mercer.KernelLogisticRegression(), LABELS, ["leave_one_out"]),
        (mercer.KernelMachine(loss="huber"), NUMBERS, ["predict"]),
        (mercer.ConditionalEmbedding(alpha=0.1), NUMBERS, ["weights"]),
        (mercer.KernelQuantileRegressor([0.2, 0.8]), NUMBERS, ["predict"]),
        (mercer.LSSVR(), NUMBERS, ["predict"]),
    ],
    ids=lambda c: type(c).__name__,
)
def test_methods_of_a_fitted_model_leave_its_matrix_alone(model, targets, methods):
    """What one thread reads, no other one overwrites."""
    model = clone(model).fit(X, targets[0])
    K = model.gram_.to_dense()
    before = K.copy()
    for name in methods:
        getattr(model, name)(*(() if name == "leave_one_out" else (Z,)))
        np.testing.assert_array_equal(K, before)
        assert model.gram_.to_dense() is K


def test_a_shared_model_gives_all_threads_the_same():
    big = RNG.normal(size=(400, 3))
    model = mercer.KernelRidge(0.01, kernel="rbf").fit(big, np.sin(3 * big[:, 0]))
    expected = model.leave_one_out()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: model.leave_one_out(), range(24)))
    for held_out in found:
        np.testing.assert_allclose(held_out, expected, atol=1e-8)


# ---- what is no kernel, or no number ------------------------------------------------------------
FAR = 40.0 * X


@pytest.mark.filterwarnings("ignore::mercer.exceptions.DenseWarning")
@pytest.mark.parametrize("storage", ["dense", "tiled", "lowrank"])
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (mercer.KernelRidge(), NUMBERS[0]),
        (mercer.KernelRidgeCV(), NUMBERS[0]),
        (mercer.GaussianProcessRegressor(optimizer=None), NUMBERS[0]),
        (mercer.GaussianProcessRegressor(), NUMBERS[0]),
        (mercer.GaussianProcessClassifier(optimizer=None), LABELS[0]),
        (mercer.KernelLogisticRegression(), LABELS[0]),
        (mercer.KernelQuantileRegressor(), NUMBERS[0]),
        (mercer.SemiparametricRidge(), NUMBERS[0]),
        (mercer.LSSVR(), NUMBERS[0]),
        (mercer.LSSVC(), LABELS[0]),
        (mercer.ConditionalEmbedding(), NUMBERS[0]),
        (mercer.MultiOutputKernelRidge(), np.stack([NUMBERS[0]] * 2, axis=1)),
        (mercer.KernelPCA(2), None),
    ],
    ids=lambda c: type(c).__name__,
)
def test_kernel_values_that_are_not_finite_are_refused(model, y, storage):
    """exp(<x, y>) overflows on unscaled data; before, models were fitted that predict NaN."""
    kernel, data = mercer.Exponential(), FAR
    if storage == "lowrank":
        kernel, data = mercer.Polynomial(2), 1e100 * X
    name = "kernel_x" if hasattr(model, "kernel_x") else "kernel"
    model = clone(model).set_params(**{name: kernel})
    if hasattr(model, "plan"):
        model.set_params(plan=mercer.Plan(storage=storage))
    with (
        np.errstate(all="ignore"),
        pytest.raises(mercer.exceptions.DomainError, match=r"not finite numbers; scale the data"),
    ):
        model.fit(data, y)


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (mercer.KernelRidge(), NUMBERS[0]),
        (mercer.SVR(), NUMBERS[0]),
        (mercer.NuSVR(), NUMBERS[0]),
        (mercer.SVC(), LABELS[0]),
        (mercer.OneClassSVM(), NUMBERS[0]),
        (mercer.GaussianProcessRegressor(optimizer=None), NUMBERS[0]),
        (mercer.GaussianProcessRegressor(optimizer=None, landmarks=5), NUMBERS[0]),
    ],
    ids=lambda m: type(m).__name__,
)
def test_new_samples_without_finite_kernel_values_are_refused(model, y):
    """Scores that are no numbers would be labels all the same."""
    model = clone(model).set_params(kernel=mercer.Exponential()).fit(X, y)
    assert np.isfinite(model.predict(Z)).all()
    with (
        np.errstate(all="ignore"),
        pytest.raises(mercer.exceptions.DomainError, match="not finite"),
    ):
        model.predict(1000 * FAR)


def similarity(a, b):
    """Symmetric, but not positive semi-definite."""
    return -abs(float(a[0] - b[0]))


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge(0.01, kernel=similarity),
        mercer.KernelRidge(0.01, kernel=similarity, solver="cg"),
        mercer.GaussianProcessRegressor(similarity, alpha=0.01, optimizer=None),
        mercer.LSSVR(similarity),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_negative_eigenvalue_of_what_is_no_kernel_is_named(model):
    K = -np.abs(X[:, :1] - X[:, 0])
    low = np.linalg.eigvalsh(K)[0]
    refused = not isinstance(model, mercer.LSSVR) and model.get_params().get("solver") != "auto"
    expect = pytest.raises(np.linalg.LinAlgError) if refused else pytest.warns(NumericalWarning)
    with expect as caught:
        model.fit(X, NUMBERS[0])
    said = str(caught.value if refused else caught[0].message)
    assert "the kernel matrix is not positive semi-definite" in said
    if model.get_params().get("solver") != "cg":  # which sees a part of K
        assert f"smallest eigenvalue is {low:.2g}" in said


def test_negative_eigenvalues_count_as_zero_on_request():
    model = mercer.KernelRidge(0.01, kernel=similarity, solver="eigen").fit(X, NUMBERS[0])
    s, U = np.linalg.eigh(-np.abs(X[:, :1] - X[:, 0]))
    projected = (U * np.maximum(s, 0)) @ U.T
    expected = projected @ np.linalg.solve(projected + 0.01 * np.eye(len(X)), NUMBERS[0])
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-8)
    weights = np.linspace(0.5, 2, len(X))
    for w in (None, weights):  # a kernel stays what it is
        ridge = mercer.KernelRidge(0.1, kernel="rbf").fit(X, NUMBERS[0], w)
        eigen = mercer.KernelRidge(0.1, kernel="rbf", solver="eigen").fit(X, NUMBERS[0], w)
        np.testing.assert_allclose(eigen.predict(Z), ridge.predict(Z), atol=1e-7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidgeCV(kernel="rbf"),
        mercer.KernelRidgeCV(kernel="rbf", cv=3),
        mercer.GaussianProcessRegressor(optimizer=None),
        mercer.SemiparametricRidge(),
        mercer.ThinPlateSpline(),
        mercer.KernelMachine(),
        mercer.KernelExpectileRegressor(),
        mercer.SparseKernelMachine(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_targets_without_squares_are_refused(model, size):
    """A choice among sums of squares that are all 0, or infinite, was the first one."""
    with pytest.raises(ValueError, match=r"y (is so|varies so) .* by a constant"):
        clone(model).fit(X, size * NUMBERS[0])


@pytest.mark.parametrize("size", [1e200, 1e-200])
@pytest.mark.parametrize(
    "model",
    [mercer.KernelRidge(kernel="rbf"), mercer.LSSVR()],
    ids=lambda m: type(m).__name__,
)
def test_targets_of_any_size_where_nothing_is_squared(model, size):
    one = clone(model).fit(X, NUMBERS[0]).predict(Z)
    if model.get_params().get("loss") == "absolute":  # whose slope is 1 whatever the unit
        model = clone(model).set_params(alpha=1 / size)
    np.testing.assert_allclose(
        clone(model).fit(X, size * NUMBERS[0]).predict(Z) / size, one, atol=1e-4
    )
