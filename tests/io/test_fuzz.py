"""Damaged and forged files: each is refused in one way, or gives an object that works."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import Gaussian, KernelRidge, Spectrum, load, save
from mercer.exceptions import FileFormatError
from mercer.tables import TableClassifier, TableRegressor

spec = importlib.util.spec_from_file_location("forge", Path(__file__).with_name("forge.py"))
forge = importlib.util.module_from_spec(spec)
spec.loader.exec_module(forge)

X = np.random.default_rng(7).normal(size=(14, 2))
Y, CODES = np.sin(X[:, 0]), np.digitize(X[:, 0], [-0.4, 0.4])
WORDS = ["kernel", "kerning", "colonel", "corn", "cork", "keel", "corner", "kettle", "coke", "keg"]
TABLE = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "c": ["a", "b"] * 7})
NEW = {"array": X[::-1] + 0.1, "words": ["kern", "coal"], "table": TABLE[::2]}


def zoo():
    """Fitted models of every kind of state, with the data that they are asked about."""
    table = Gaussian().on(["x", "z"]) * mercer.Categorical().on("c")
    models = {
        "ridge": KernelRidge(0.1, kernel=Gaussian("median")).fit(X, Y),
        "landmarks": KernelRidge(0.1, kernel=Gaussian(), plan=mercer.Plan(rank=5)).fit(X, Y),
        "weights": KernelRidge(kernel=Gaussian()).fit(X, np.c_[Y, Y], np.arange(1.0, 15)),
        "cv": mercer.KernelRidgeCV([0.1, 1.0], kernel=Gaussian()).fit(X, Y),
        "gp": mercer.GaussianProcessRegressor(Gaussian(), optimizer=None).fit(X, Y),
        "gpc": mercer.GaussianProcessClassifier(Gaussian(), optimizer=None).fit(X, CODES),
        "spline": mercer.ThinPlateSpline().fit(X, Y),
        "semi": mercer.SemiparametricRidge(Gaussian(), alpha=0.1).fit(X, Y),
        "machine": mercer.KernelMachine(Gaussian(), mercer.Huber(0.2)).fit(X, Y),
        "quantile": mercer.KernelQuantileRegressor([0.2, 0.8]).fit(X, Y),
        "logistic": mercer.KernelLogisticRegression().fit(X, CODES),
        "outputs": mercer.MultiOutputKernelRidge(0.1, kernel=Gaussian()).fit(X, np.c_[Y, -Y]),
        "conformal": mercer.ConformalRegressor(KernelRidge(kernel=Gaussian())).fit(X, Y),
        "svc": mercer.SVC().fit(X, CODES),
        "svr": mercer.SVR().fit(X, Y),
        "one": mercer.OneClassSVM().fit(X),
        "lssvc": mercer.LSSVC().fit(X, CODES),
        "pca": mercer.KernelPCA(2, kernel=Gaussian()).fit(X),
    }
    words = {"strings": KernelRidge(kernel=Spectrum(2)).fit(WORDS, np.arange(10.0))}
    tables = {
        "table": mercer.LSSVR(table).fit(TABLE, Y),
        "blend": TableRegressor(budget=1).fit(TABLE, Y),
        "labels": TableClassifier(budget=1).fit(TABLE, CODES),
    }
    named = [(models, "array"), (words, "words"), (tables, "table")]
    return {name: (model, NEW[kind]) for group, kind in named for name, model in group.items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The models as bytes, and the method that is asked."""
    path = tmp_path_factory.mktemp("zoo") / "model"
    found = {}
    for name, (model, new) in zoo().items():
        save(model, path)
        found[name] = (path.read_bytes(), new)
    return found


def try_to_use(path, new):
    """Loads a file; refused, or else it must answer. Was it refused?"""
    with forge.at_most(60):
        try:
            model = load(path)
        except FileFormatError as error:
            return str(path) in str(error)
        if hasattr(model, "fit") and any(n.endswith("_") for n in vars(model)):
            getattr(model, "predict", getattr(model, "transform", None))(new)
    return False


def changed_files(change, files, path, count, seed):
    """How many of so many files, changed in one way, were refused."""
    rng = np.random.default_rng(seed)
    refused, names = 0, sorted(files)
    for i in range(count):
        data, new = files[names[i % len(names)]]
        path.write_bytes(change(data, rng))
        refused += try_to_use(path, new)
    return refused


@pytest.mark.parametrize("name", ["dual_coef_", "intercept_"])
def test_a_machine_on_a_matrix_that_was_given_has_all_functions(name, tmp_path):
    model = mercer.SVC(kernel="precomputed").fit(X @ X.T, CODES)
    setattr(model, name, getattr(model, name)[:-1])
    save(model, tmp_path / "m")
    with pytest.raises(FileFormatError, match="number of support vectors is inconsistent"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("roles_", {}),
        ("roles_", {"x": "number", "z": "number", "c": "colour"}),
        ("parts_", []),
        ("mean_", np.zeros(2)),
        ("scores_", np.array([])),
        ("classes_", np.array([0, 1])),
        ("calibration_", 3),
    ],
)
def test_models_of_tables_have_parts_that_fit(name, value, tmp_path):
    labels = name in ("classes_", "calibration_")
    kind, y = (TableClassifier, CODES) if labels else (TableRegressor, Y)
    model = kind(budget=1, alphas=(0.1,)).fit(TABLE, y)
    save(model, tmp_path / "m")
    load(tmp_path / "m")
    setattr(model, name, value)
    save(model, tmp_path / "m")
    with pytest.raises(FileFormatError):
        load(tmp_path / "m")


@pytest.mark.parametrize("points", ["", [], [X]])
def test_views_are_as_many_in_all_parts(points, tmp_path):
    model = mercer.KernelCCA(kernels=Gaussian()).fit([X, X[:, :1]])
    model.points_ = points
    save(model, tmp_path / "m")
    with pytest.raises(FileFormatError, match="one for each view"):
        load(tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pvalue", "x"),
        ("statistic", [1.0]),
        ("pvalue_interval", 0.5),
        ("pvalue_interval", ("a", 1)),
    ],
)
def test_results_can_be_shown(name, value, tmp_path):
    result = mercer.two_sample_test(X[:7], X[7:], rng=0)
    save(replace(result, **{name: value}), tmp_path / "m")
    with pytest.raises(FileFormatError, match="damaged object"):
        load(tmp_path / "m")


def test_bytes_that_are_damaged(files, tmp_path):
    assert changed_files(forge.damage, files, tmp_path / "m", 600, 0) > 500


def test_files_that_are_forged(files, tmp_path):
    assert changed_files(forge.forge, files, tmp_path / "m", 300, 1) > 150


def test_archives_that_are_strange(files, tmp_path):
    assert changed_files(forge.strange, files, tmp_path / "m", 60, 4) > 50
    assert not (tmp_path.parent / "ran").exists()


@pytest.mark.slow
def test_many_bytes_that_are_damaged(files, tmp_path):
    assert changed_files(forge.damage, files, tmp_path / "m", 8000, 2) > 7000


@pytest.mark.slow
def test_many_files_that_are_forged(files, tmp_path):
    assert changed_files(forge.forge, files, tmp_path / "m", 12_000, 3) > 6000
