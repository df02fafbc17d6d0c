"""Damaged and forged files: each is refused in one way, or gives an object that works."""

import io
import json
import signal
import zipfile
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import Gaussian, KernelRidge, Spectrum, load, save
from mercer.exceptions import FileFormatError

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
    tables = {"table": mercer.LSSVR(table).fit(TABLE, Y)}
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


@contextmanager
def at_most(seconds):
    """Fails what does not end."""

    def stop(*_):
        raise TimeoutError("it does not end")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def try_to_use(path, new):
    """Loads a file; refused, or else it must answer. Was it refused?"""
    with at_most(60):
        try:
            model = load(path)
        except FileFormatError as error:
            return str(path) in str(error)
        if hasattr(model, "fit") and any(n.endswith("_") for n in vars(model)):
            getattr(model, "predict", getattr(model, "transform", None))(new)
    return False


def mutate_bytes(files, path, count, seed):
    rng = np.random.default_rng(seed)
    refused, names = 0, sorted(files)
    for i in range(count):
        data, new = files[names[i % len(names)]]
        data = bytearray(data)
        places = rng.integers(len(data), size=rng.integers(1, 4))
        if i % 2:  # in the headers of the archive, which say where everything is
            places = rng.integers(max(0, len(data) - 300), len(data), size=2)
        for place in places:
            data[place] = rng.integers(256)
        if i % 17 == 0:
            data = data[: rng.integers(len(data))]
        path.write_bytes(data)
        refused += try_to_use(path, new)
    return refused


ODD = (
    None,
    True,
    -1,
    0,
    1,
    2,
    13,
    10**9,
    10**30,
    1e308,
    -0.5,
    "",
    "x",
    "precomputed",
    [],
    {},
    [[]],
)
ODD_NODES = ({"type": "float", "value": "nan"}, {"type": "float", "value": "inf"}, {"type": "tuple",
    "items": []}, {"type": "array", "array": 0}, {"type": "dict", "items": []})  # fmt: skip


def places_of(node, found):
    """All (container, key) pairs below a node."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list):
            places_of(node[key], found)
    return found


def forge_array(array, rng):
    choice = rng.integers(9)
    if choice == 0:
        return array[:-1]
    if choice == 1:
        return array.T
    if choice == 2:
        return array.reshape(-1)
    if choice == 3:
        return array.astype(rng.choice(["i1", "f4", "U5", "?", "c16", "M8[s]"]))
    if choice == 4:
        return np.zeros((0, *array.shape[1:]))
    if choice == 5:
        return array[..., None]
    if choice == 6:
        return np.zeros((len(array), 0)) if array.ndim else np.zeros(0)
    other = array.astype(float) if array.dtype.kind in "biuf" else array.copy()
    if other.size and other.dtype.kind == "f":
        other.flat[rng.integers(other.size)] = rng.choice([np.nan, np.inf, -1, 1e300, 1e9])
    return other


def forge(data, rng):
    """The archive with one thing changed in its description, or one array."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in contents if name != "model.json"]
    if arrays and rng.random() < 0.5:
        name = arrays[rng.integers(len(arrays))]
        with np.errstate(all="ignore"):
            try:
                array = forge_array(np.load(io.BytesIO(contents[name])), rng)
            except (IndexError, TypeError, ValueError):
                array = np.arange(3)
        stream = io.BytesIO()
        np.save(stream, array)
        contents[name] = stream.getvalue()
    else:
        header = json.loads(contents["model.json"])
        places = places_of(header["value"], [])
        for _ in range(rng.integers(1, 3)):
            container, key = places[rng.integers(len(places))]
            other, there = places[rng.integers(len(places))]
            action = rng.integers(4)
            if action == 0 and isinstance(container, dict):
                container.pop(key, None)
            elif action == 1:
                odd = [*ODD, *ODD_NODES]
                container[key] = odd[rng.integers(len(odd))]
            elif action == 2 and there in other if isinstance(other, dict) else there < len(other):
                container[key] = json.loads(json.dumps(other[there]))
            elif isinstance(container, list):
                container.append(container[0] if container else 0)
        contents["model.json"] = json.dumps(header).encode()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, member in contents.items():
            archive.writestr(name, member)
    return stream.getvalue()


def forge_files(files, path, count, seed):
    rng = np.random.default_rng(seed)
    refused, names = 0, sorted(files)
    for i in range(count):
        data, new = files[names[i % len(names)]]
        path.write_bytes(forge(data, rng))
        refused += try_to_use(path, new)
    return refused


@pytest.mark.parametrize("name", ["dual_coef_", "intercept_"])
def test_a_machine_on_a_matrix_that_was_given_has_all_functions(name, tmp_path):
    model = mercer.SVC(kernel="precomputed").fit(X @ X.T, CODES)
    setattr(model, name, getattr(model, name)[:-1])
    save(model, tmp_path / "m")
    with pytest.raises(FileFormatError, match="number of support vectors is inconsistent"):
        load(tmp_path / "m")


@pytest.mark.parametrize("points", ["", [], [X]])
def test_views_are_as_many_in_all_parts(points, tmp_path):
    model = mercer.KernelCCA(kernels=Gaussian()).fit([X, X[:, :1]])
    model.points_ = points
    save(model, tmp_path / "m")
    with pytest.raises(FileFormatError, match="one for each view"):
        load(tmp_path / "m")


def test_bytes_that_are_damaged(files, tmp_path):
    assert mutate_bytes(files, tmp_path / "m", 600, 0) > 500


def test_files_that_are_forged(files, tmp_path):
    assert forge_files(files, tmp_path / "m", 300, 1) > 150


@pytest.mark.slow
def test_many_bytes_that_are_damaged(files, tmp_path):
    assert mutate_bytes(files, tmp_path / "m", 8000, 2) > 7000


@pytest.mark.slow
def test_many_files_that_are_forged(files, tmp_path):
    assert forge_files(files, tmp_path / "m", 12_000, 3) > 6000
