"""Models as graphs of ONNX: what a runtime computes is what the model says."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import mercer
from mercer import (
    SVC,
    SVR,
    Exponential,
    Gaussian,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    NuSVC,
    OneClassSVM,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from mercer.exceptions import DomainError
from mercer.io import to_onnx

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(3)
X, NEW = RNG.normal(size=(70, 3)), RNG.normal(size=(40, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
CODES = np.digitize(Y, [-0.5, 0.5])
KERNELS = [
    Gaussian(0.7),
    Gaussian([1.0, 2.0, 0.5]),
    Laplacian(1.3),
    Laplacian(1.1, p=1),
    Matern(1.2, nu=0.5),
    Matern(1.2, nu=1.5),
    Matern(nu=2.5),
    RationalQuadratic(1.0, alpha=2.0),
    Linear(),
    Polynomial(3, offset=0.5),
    Exponential(),
    2 * Gaussian(0.9) + Linear() ** 2 * Gaussian().on([0, 2]) + Laplacian().on(slice(1, 3)) + 1,
]


def ask(graph, new=NEW):
    """What a runtime says of new samples."""
    session = runtime.InferenceSession(graph.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": new}), strict=True))


def near(found, value):
    assert found.shape == value.shape
    np.testing.assert_allclose(found, value, atol=1e-10 * (1 + np.abs(value).max()))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels(kernel):
    model = KernelRidge(0.1, kernel=kernel).fit(X, Y)
    near(ask(to_onnx(model))["prediction"], model.predict(NEW))


@pytest.mark.parametrize(
    "model",
    [
        SVR(),
        GaussianProcessRegressor(Gaussian(), optimizer=None, normalize_y=True),
        mercer.LSSVR(),
        KernelRidge(0.1, kernel=Gaussian("median"), plan=mercer.Plan(rank=8)),
    ],
    ids=lambda m: type(m).__name__,
)
def test_regression(model):
    model.fit(X, Y)
    near(ask(to_onnx(model))["prediction"], model.predict(NEW))


def test_several_targets_and_functions():
    model = KernelRidge(0.1, kernel=Gaussian()).fit(X, np.c_[Y, Y**2])
    near(ask(to_onnx(model))["prediction"], model.predict(NEW))
    near(ask(to_onnx(model.rkhs_function_))["prediction"], model.rkhs_function_(NEW))
    line = mercer.RKHSFunction(Gaussian(), X[:, 0], Y)
    near(ask(to_onnx(line), NEW[:, :1])["prediction"], line(NEW[:, 0]))


@pytest.mark.parametrize("labels", ["numbers", "truth", "words"])
@pytest.mark.parametrize(
    "model",
    [SVC(), SVC(multiclass="ovr"), NuSVC(nu=0.2), mercer.LSSVC(), KernelLogisticRegression()],
    ids=lambda m: f"{type(m).__name__}-{getattr(m, 'multiclass', '')}",
)
def test_classification(model, labels):
    c = {"numbers": CODES + 3, "truth": CODES > 0, "words": np.array(["a", "bb", "ö"])[CODES]}
    model.fit(X, c[labels])
    found = ask(to_onnx(model))
    assert found["label"].tolist() == model.predict(NEW).tolist()
    if labels == "truth" and hasattr(model, "decision_function"):
        near(found["scores"], model.decision_function(NEW))


def test_novelty():
    model = OneClassSVM(nu=0.2).fit(X)
    found = ask(to_onnx(model), 2 * NEW)
    assert found["label"].tolist() == model.predict(2 * NEW).tolist()
    assert len(set(found["label"])) == 2
    near(found["scores"], model.decision_function(2 * NEW))


def test_columns_of_a_table_by_name():
    names = ["size", "age", "rooms"]
    kernel = Gaussian().on(["rooms", "size"]) + Linear().on("age")
    model = KernelRidge(0.1, kernel=kernel).fit(pd.DataFrame(X, columns=names), Y)
    near(ask(to_onnx(model))["prediction"], model.predict(pd.DataFrame(NEW, columns=names)))


def test_a_file_is_written_whole(tmp_path):
    model = SVR().fit(X, Y)
    made = to_onnx(model, tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == made
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    assert made.producer_name == "mercer"


def test_shared_distances_are_computed_once():
    model = KernelRidge(0.1, kernel=Gaussian() + Matern(nu=2.5) + RationalQuadratic()).fit(X, Y)
    kinds = [node.op_type for node in to_onnx(model).graph.node]
    assert kinds.count("MatMul") == 2  # one for the distances, one for the coefficients


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelRidge(kernel=Polynomial(2).normalize()).fit(X, Y), "normalised or modulated"),
        (KernelRidge(kernel=Gaussian().pullback(np.sin)).fit(X, Y), "applies a function"),
        (KernelRidge(kernel=Matern(nu=3.1)).fit(X, Y), "matern(nu=3.1) cannot be expressed"),
        (KernelRidge(kernel=Spectrum(1)).fit(["ab", "bc", "c"], [1, 2, 3]), "vectors"),
        (mercer.KernelPCA(2, kernel=Gaussian()).fit(X), "not those of one function"),
        (mercer.KernelMachine(Gaussian(), mercer.Poisson()).fit(X, CODES), "more than a function"),
        (SVC(break_ties=True).fit(X, CODES), "break_ties"),
    ],
)
def test_refusals_are_one_sentence(model, words):
    with pytest.raises((ValueError, DomainError), match=r"to_onnx: ") as error:
        to_onnx(model)
    assert words in str(error.value)


def test_without_onnx(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"mercer\[onnx\]"):
        to_onnx(SVR().fit(X, Y))


ODD = np.where(np.arange(70)[:, None] == 5, 1e8, X)
APART = np.where(np.arange(70)[:, None] % 2, X, X + 1e6)


@pytest.mark.parametrize("data", [X, ODD, APART, X * [1e-3, 1.0, 1e6]], ids=range(4))
@pytest.mark.parametrize("kernel", [Gaussian(), Laplacian(), Matern(nu=0.5), Matern(nu=2.5)])
def test_distances_that_cancel(kernel, data):
    model = KernelRidge(0.1, kernel=kernel).fit(data, Y)
    near(ask(to_onnx(model), data)["prediction"], model.predict(data))


@pytest.mark.parametrize(
    "kernel",
    [0.1 * Gaussian(), 0.1 * Linear(), Linear() + 0.3, Polynomial(2, scale=0.3, offset=0.7)],
)
def test_numbers_stay_in_double_precision(kernel):
    """Runtimes put single numbers into matrix products, in single precision."""
    model = KernelRidge(0.1, kernel=kernel).fit(X, Y)
    found = ask(to_onnx(model))["prediction"]
    np.testing.assert_allclose(found, model.predict(NEW), atol=1e-12 * np.abs(Y).max(), rtol=1e-11)


def test_sparse_and_single_samples():
    model = SVR(kernel=Gaussian()).fit(sp.csr_matrix(X), Y)
    near(ask(to_onnx(model))["prediction"], model.predict(sp.csr_matrix(NEW)))
    model = KernelRidge(1e-3, kernel=Gaussian()).fit(X.astype(np.float32), Y)
    expected = model.predict(NEW.astype(np.float32))
    np.testing.assert_allclose(ask(to_onnx(model))["prediction"], expected, atol=1e-3)


def test_labels_of_scores_that_are_rounding():
    points = np.array([[1.0], [-1.0], [0.0]])
    model = SVC(kernel=Linear(), C=1e3).fit(points, [1, 0, 1])
    to_onnx(model)


SUMS = [Gaussian() + 0.1 * Linear(), Gaussian() + Polynomial(2), Gaussian() * Linear() + 1]


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")
@pytest.mark.parametrize("kernel", SUMS, ids=repr)
@pytest.mark.parametrize("move", [0.0, 300.0, 3e4, 1e6, 1e9])
def test_large_inner_products_are_written_or_refused_for_what_they_are(kernel, move):
    """Sums of large terms that cancel: up to rounding, or an error that says so."""
    data = X * [1.0, 10.0, 100.0] + move
    model = KernelRidge(1.0, kernel=kernel).fit(data, Y)
    terms = np.abs(kernel(data)) @ np.abs(model.dual_coef_)
    rounding = 8 * np.finfo(float).eps * terms.max()
    try:
        found, told = ask(to_onnx(model), data)["prediction"], ""
    except ValueError as error:
        told = str(error)
    if told:
        assert "terms of KernelRidge cancel" in told
        assert "Scale the columns" in told
        assert rounding > 1e-3
    else:
        expected = model.predict(data)
        size = 1 + np.abs(expected).max()
        np.testing.assert_allclose(found, expected, atol=1e-8 * size + 4 * rounding)


def test_levels_that_cross_are_sorted():
    """As by the model, which was not noticed where none of the first samples crossed."""
    noisy = Y + RNG.normal(size=len(Y))
    for levels in ([0.1, 0.5, 0.9], [0.9, 0.4, 0.5]):
        model = mercer.KernelQuantileRegressor(levels, alpha=0.01, kernel=Gaussian()).fit(X, noisy)
        as_fitted = model.rkhs_function_(NEW) + model.intercept_
        assert not np.allclose(model.predict(NEW), as_fitted)
        near(ask(to_onnx(model))["prediction"], model.predict(NEW))


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"]])
def test_gaussian_processes_for_two_classes(labels):
    labels = np.array(labels)[(Y > 0).astype(int)]
    model = mercer.GaussianProcessClassifier(Gaussian(), optimizer=None).fit(X, labels)
    found = ask(to_onnx(model))
    assert found["label"].tolist() == model.predict(NEW).tolist()
    near(found["scores"], model.latent_mean_and_variance(NEW)[0])


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelFisherDiscriminant(kernel=Gaussian()).fit(X, np.array(["a", "b"])[CODES % 2]),
        mercer.KernelKMeans(3, kernel=Gaussian(), random_state=0).fit(X),
    ],
    ids=lambda m: type(m).__name__,
)
def test_what_is_not_decided_by_signs_is_refused_in_words(model):
    with pytest.raises(ValueError, match=r"^to_onnx: .*; mercer.save works"):
        to_onnx(model)


def test_models_in_single_precision_are_graphs_in_double():
    plan = mercer.Plan(features=mercer.Landmarks(12))
    model = KernelRidge(0.1, kernel=Gaussian(), plan=plan).fit(X.astype(np.float32), Y)
    assert model.predict(NEW.astype(np.float32)).dtype == np.float32
    found = ask(to_onnx(model))["prediction"]
    np.testing.assert_allclose(found, model.predict(NEW), atol=1e-4)


@pytest.mark.parametrize("kernel", [Matern(1.2, nu=1.5), Matern(1.2, nu=2.5), Gaussian()], ids=repr)
def test_samples_whose_distances_overflow(kernel):
    model = KernelRidge(0.1, kernel=kernel).fit(X, Y)
    far = np.where(np.arange(3) == 1, 1e160, NEW[:5])
    near(ask(to_onnx(model), far)["prediction"], model.predict(far))
