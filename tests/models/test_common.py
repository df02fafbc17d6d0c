"""What all estimators promise: data of their own, copies, threads."""

import copy
import inspect
import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, clone, is_classifier

import mercer
from mercer import (
    CCA,
    SVC,
    ConditionalEmbedding,
    ConformalRegressor,
    Constant,
    Gaussian,
    GaussianProcessRegressor,
    GlobalAlignment,
    KernelCCA,
    KernelPCA,
    KernelRidge,
    Linear,
    Nystrom,
    SemiSupervised,
    Spectrum,
)
from mercer.exceptions import DomainError
from mercer.models.common import check_data, on_vectors

PREDICTIONS = ("predict", "transform", "decision_function", "predict_proba", "score_samples")


def estimators():
    """One of each class, with kernels that do not prepare arrays of their own where possible."""
    made = []
    for name in mercer.__all__:
        found = getattr(mercer, name)
        if not (inspect.isclass(found) and issubclass(found, BaseEstimator)):
            continue
        known = inspect.signature(found).parameters
        if name == "ConformalRegressor":
            made.append(ConformalRegressor(KernelRidge(kernel="linear")))
        elif name == "SemiSupervised":
            made.append(SemiSupervised(KernelRidge(kernel=Linear())))
        elif name == "CCA":
            made.append(CCA(1))
        elif name in (
            "KernelDensity",
            "LevelSetTree",
            "SpectralClustering",
        ):  # values must not be negative
            made.append(found(kernel=Linear() + 100))
        elif name == "MultipleKernelMachine":
            made.append(found(kernels=[Linear(), Gaussian()]))
        elif "kernels" in known:
            made.append(found(kernels=Linear()))
        elif "kernel_x" in known:
            made.append(found(kernel_x=Linear(), kernel_y=Linear()))
        elif "kernel" in known and name not in ("MultiOutputKernelRidge", "LearnedPreImage"):
            made.append(found(kernel=Linear()))
        else:
            made.append(found())
    return made


@pytest.fixture(params=estimators(), ids=lambda model: type(model).__name__)
def model(request):
    return clone(request.param)


@pytest.fixture
def data(model, rng):
    X = rng.normal(size=(30, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=30)
    if is_classifier(model):
        y = (y > np.median(y)).astype(int)
    if type(model).__name__ == "SmoothingSpline":
        X = X[:, 0].copy()
    return X, y


def outputs(model, X):
    found = {}
    for name in PREDICTIONS:
        if hasattr(model, name):
            values = getattr(model, name)(X)
            found[name] = np.asarray(values[0] if isinstance(values, tuple) else values, float)
    if hasattr(model, "leave_one_out"):
        found["leave_one_out"] = np.asarray(model.leave_one_out(), float)
    assert found
    return found


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


# ---- data of its own ---------------------------------------------------------------------------
def test_a_fitted_model_does_not_change_with_the_data(model, data, rng):
    X, y = data
    given = {}
    if "sample_weight" in inspect.signature(model.fit).parameters:
        given["sample_weight"] = rng.uniform(0.5, 1.5, size=30)
    new = X[:5] + 0.5
    model.fit(X, y, **given)
    before = outputs(model, new)
    for array in (X, y, *given.values()):
        array[...] = array[::-1] * 7 + 1
    assert_same(outputs(model, new), before)
    assert_same(outputs(pickle.loads(pickle.dumps(model)), new), before)


def test_nor_with_the_kernel(rng):
    X = rng.normal(size=(20, 2))
    y, scales, marks = X[:, 0], np.array([0.5, 2.0]), X[:5].copy()
    model = KernelRidge(kernel=Nystrom(Gaussian(scales), marks), alpha=0.1).fit(X, y)
    before = model.predict(X)
    scales *= 10
    marks += 5
    np.testing.assert_array_equal(model.predict(X), before)


def data_of_all_kinds(rng):
    X = rng.normal(size=(12, 3))
    cells = np.empty(12, dtype=object)
    for i in range(12):
        cells[i] = rng.normal(size=3 + i)
    series = [rng.normal(size=(4 + i % 3, 2)) for i in range(12)]

    def spoil_array(A):
        A[...] = A[::-1] * 3

    def spoil_items(A):
        for item in A:
            item[...] = item[::-1] * 3

    def spoil_csr(A):
        A.data *= 3
        A.indices[:] = A.indices[::-1].copy()

    def spoil_frame(A):
        A.iloc[:, :] = A.to_numpy()[::-1] * 3

    def spoil_list(A):
        A[0], A[1] = A[1], A[0]

    return {
        "array": (X, Linear(), spoil_array),
        "float32": (X.astype(np.float32), Linear(), spoil_array),
        "view": (np.hstack([X, X])[:, ::2], Linear(), spoil_array),
        "csr": (sp.csr_matrix(np.where(X > 0, X, 0)), Linear(), spoil_csr),
        "frame": (pd.DataFrame(X, columns=list("abc")), Linear(), spoil_frame),
        "columns": (pd.DataFrame(X, columns=list("abc")), Linear().on("a"), spoil_frame),
        "named": (X, "linear", spoil_array),
        "strings": (["abc", "abd", "bcd", "cda"] * 3, Spectrum(2), spoil_list),
        "tuples": ([(x, "abc") for x in X], Gaussian().on(0) * Spectrum(2).on(1), None),
        "series": (series, GlobalAlignment(1.0), spoil_items),
        "cells": (cells, GlobalAlignment(1.0), spoil_items),
    }


@pytest.mark.parametrize("kind", data_of_all_kinds(np.random.default_rng(0)))
@pytest.mark.parametrize(
    "model",
    [KernelRidge(), GaussianProcessRegressor(optimizer=None), KernelPCA(2), SVC()],
    ids=lambda model: type(model).__name__,
)
def test_data_of_any_kind_are_owned(kind, model, rng):
    X, kernel, spoil = data_of_all_kinds(rng)[kind]
    new = copy.deepcopy(X)
    model = clone(model).set_params(kernel=kernel).fit(X, np.arange(12) % 2)
    before = outputs(model, new)
    if spoil is None:
        for x, _ in X:
            x *= 3
    else:
        spoil(X)
    assert_same(outputs(model, new), before)


def test_kernels_and_outputs_of_other_models_are_owned(rng):
    X, Y = rng.normal(size=(20, 2)), [f"{'ab' * (i % 3)}c" for i in range(20)]
    model = ConditionalEmbedding(Gaussian(), Spectrum(2)).fit(X, Y)
    before = model.predict(X)
    Y[:] = ["zzz"] * 20
    assert model.predict(X) == before


def test_nothing_is_copied_without_need(rng, tmp_path):
    X = rng.normal(size=(10, 2))
    assert check_data(BaseEstimator(), X, "rbf", reset=False) is X
    assert check_data(BaseEstimator(), X, "rbf", reset=True, keep=False) is X
    np.save(tmp_path / "X.npy", X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert np.shares_memory(check_data(BaseEstimator(), stored, "rbf", reset=True), stored)


# ---- copies, threads, tables -------------------------------------------------------------------
def test_copies_of_a_fitted_model(model, data):
    X, y = data
    model.fit(X, y)
    expected = outputs(model, X)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        assert_same(outputs(again, X), expected)


def test_one_kernel_in_many_threads(rng):
    X = rng.normal(size=(300, 3))
    kernel = (2 * Gaussian("median") + Linear()).normalize()
    expected, barrier, found = kernel(X), threading.Barrier(4, timeout=10), [None] * 4

    def work(i):
        barrier.wait()
        found[i] = kernel(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for K in found:
        np.testing.assert_array_equal(K, expected)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_scores_as_tables(container, rng):
    library = pytest.importorskip(container)
    X = pd.DataFrame(rng.normal(size=(12, 3)), columns=list("abc"), index=range(5, 17))
    Y = rng.normal(size=(12, 2))
    with sklearn.config_context(transform_output=container):
        for model in (KernelPCA(2), CCA(2), KernelCCA(2)):
            name = type(model).__name__.lower()
            scores = model.fit(X, Y).transform(X)
            assert isinstance(scores, library.DataFrame)
            assert list(scores.columns) == [f"{name}0", f"{name}1"]
            assert container == "polars" or list(scores.index) == list(X.index)
        for scores in (KernelCCA(2).fit_transform(X, Y), KernelCCA(2).fit(X, Y).transform([X, Y])):
            assert [type(s) for s in scores] == [library.DataFrame] * 2


TRANSFORMERS = [
    getattr(mercer, name)
    for name in mercer.__all__
    if isinstance(getattr(mercer, name), type) and hasattr(getattr(mercer, name), "transform")
    and issubclass(getattr(mercer, name), sklearn.base.BaseEstimator)
]  # fmt: skip


def test_the_list_of_transformers_is_not_empty():
    names = {model.__name__ for model in TRANSFORMERS}
    assert names >= {"KernelPCA", "KernelCCA", "CCA", "KernelICA", "KernelFisherDiscriminant"}
    assert names >= {"KernelKMeans", "SpectralClustering"}


@pytest.mark.parametrize("container", ["pandas", "polars"])
@pytest.mark.parametrize("model", TRANSFORMERS, ids=lambda model: model.__name__)
def test_set_output(model, container, rng):
    """Tables out, with the numbers and names that arrays have; other methods are as before."""
    library = pytest.importorskip(container)
    X = library.DataFrame({name: rng.normal(size=24) for name in "abc"})
    y = np.arange(24) % 3
    target = rng.normal(size=(24, 2)) if "CCA" in model.__name__ else y
    options = {"random_state": 0} if "random_state" in model().get_params() else {}
    options |= {"n_clusters": 3} if "n_clusters" in model().get_params() else {}
    plain = model(**options).fit(X, target)
    tabular = model(**options).set_output(transform=container).fit(X, target)
    scores = tabular.transform(X)
    assert isinstance(scores, library.DataFrame)
    wanted = np.asarray(plain.transform(X))
    np.testing.assert_allclose(scores.to_numpy(), wanted)
    names = [f"{model.__name__.lower()}{i}" for i in range(wanted.shape[1])]
    assert list(scores.columns) == list(plain.get_feature_names_out()) == names
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(plain, method):
            np.testing.assert_allclose(getattr(tabular, method)(X), getattr(plain, method)(X))
    if hasattr(plain, "score"):
        assert tabular.score(X, target) == pytest.approx(plain.score(X, target))


HIDDEN = np.arange(12) == 4
INSIDE = ("CCA", "ConformalRegressor", "SemiSupervised")  # which want an argument, or two views
MODELS = [
    getattr(mercer, name)
    for name in mercer.__all__
    if hasattr(getattr(mercer, name), "saved_state") and name not in INSIDE
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_masked_targets_and_weights_are_refused(model, rng):
    X = rng.normal(size=(12, 1))
    estimator = model(mercer.Quantile()) if model is mercer.KernelMachine else model()
    y = np.arange(12) % 2.0
    with pytest.raises(DomainError, match=r"y has 1 masked entries.*y\.filled"):
        estimator.fit(X, np.ma.array(y, mask=HIDDEN))
    if "sample_weight" in inspect.signature(model.fit).parameters:
        weights = np.ma.array(np.ones(12), mask=HIDDEN)
        with pytest.raises(DomainError, match=r"sample_weight has 1 masked entries"):
            estimator.fit(X, y, sample_weight=weights)
    assert not any(name.endswith("_") for name in vars(estimator))


SCORED = [m for m in MODELS if "y" in inspect.signature(getattr(m, "score", len)).parameters]


@pytest.mark.parametrize("model", SCORED, ids=lambda model: model.__name__)
def test_scores_refuse_masks(model, rng):
    """Before anything is computed: not even a fit is needed."""
    X, y = rng.normal(size=(12, 1)), np.arange(12) % 2.0
    estimator = model(mercer.Quantile()) if model is mercer.KernelMachine else model()
    with pytest.raises(DomainError, match="y has 1 masked entries"):
        estimator.score(X, np.ma.array(y, mask=HIDDEN))
    if "sample_weight" in inspect.signature(model.score).parameters:
        with pytest.raises(DomainError, match="sample_weight has 1 masked entries"):
            estimator.score(X, y, sample_weight=np.ma.array(np.ones(12), mask=HIDDEN))


def test_a_mask_that_hides_nothing_is_no_harm(rng):
    X, y = rng.normal(size=(12, 1)), np.arange(12.0)
    model, plain = mercer.KernelRidge(), mercer.KernelRidge().fit(X, y)
    model.fit(X, np.ma.array(y), np.ma.array(np.ones(12)))
    np.testing.assert_array_equal(model.dual_coef_, plain.dual_coef_)


def test_masked_targets_of_searches_and_paths(rng):
    X, y = rng.normal(size=(12, 1)), np.ma.array(np.arange(12.0), mask=HIDDEN)
    weights = np.ma.array(np.ones(12), mask=HIDDEN)
    for name, options in {"y": {}, "sample_weight": {"sample_weight": weights}}.items():
        target = y if name == "y" else y.data
        with pytest.raises(DomainError, match=f"{name} has 1 masked"):
            mercer.tune(mercer.KernelRidge(), X, target, **options)
        with pytest.raises(DomainError, match=f"{name} has 1 masked"):
            mercer.ridge_path(mercer.Gaussian(), X, target, [1.0], **options)
    hidden = np.ma.array(X, mask=HIDDEN[:, None])
    for make in (mercer.covariance, mercer.mean_embedding):
        with pytest.raises(DomainError, match="X has 1 masked"):
            make(mercer.Gaussian(), hidden)


@pytest.mark.parametrize("kernel", ["rbf", Gaussian(), Linear()], ids=repr)
@pytest.mark.parametrize("samples", [[{"a"}, {"b"}, {"c"}], [object()] * 3], ids=["set", "object"])
def test_lists_of_what_is_no_number_are_refused_with_a_kernel_for_them(kernel, samples):
    with pytest.raises(DomainError, match=r"works on vectors.* For strings use Spectrum\(k\)"):
        KernelRidge(kernel=kernel).fit(samples, [1.0, 2.0, 3.0])


def test_columns_of_a_table_are_no_rows_of_numbers():
    assert on_vectors(Constant(1))
    assert on_vectors(Gaussian())
    assert not on_vectors(Constant(1).on("a"))


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(Gaussian()),
        KernelPCA(Gaussian()),
        KernelCCA(Gaussian()),
        mercer.KernelQuantileRegressor(Gaussian()),
        mercer.SVCCV(Gaussian()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_kernel_in_the_place_of_a_number_is_named(model, rng):
    X = rng.normal(size=(10, 2))
    with pytest.raises(ValueError, match=r"must not be a kernel, .*Gaussian.*\(kernels?=\.\.\.\)"):
        model.fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize(
    "model",
    [mercer.SVDD(), mercer.NuSVC(nu=0.3), mercer.SpectralClustering(2), mercer.ThinPlateSpline()],
)
def test_weights_whose_products_are_no_numbers_are_refused(rng, model, size):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="multiply all by a constant"):
        model.fit(X, X[:, 0] > 0, sample_weight=np.full(20, size))
    model.fit(X, X[:, 0] > 0, sample_weight=np.full(20, size**0.01))
