"""Files: what goes in comes out, to the last bit, and strangers' files run nothing."""

import io
import json
import pickle
import sys
import tracemalloc
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

import mercer
from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVCCV,
    SVR,
    Categorical,
    Gaussian,
    KernelRidge,
    KernelRidgeCV,
    Laplacian,
    Linear,
    Matern,
    NuSVC,
    NuSVR,
    OneClassSVM,
    Plan,
    Polynomial,
    RKHSFunction,
    Spectrum,
    load,
    save,
)
from mercer.exceptions import FileFormatError
from mercer.io.files import FORMAT
from mercer.kernels.base import Kernel
from mercer.params import same


@pytest.fixture
def path(tmp_path):
    return tmp_path / "object.mercer"


@pytest.fixture
def table(rng):
    n = 40
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "count": rng.integers(0, 9, n),
            "flag": rng.random(n) < 0.5,
            "colour": rng.choice(["red", "blue", "grün"], n),
            "size": pd.Categorical(rng.choice(["S", "M"], n)),
            "dna": ["".join(rng.choice(list("ACGT"), 12)) for _ in range(n)],
        }
    )


def round_trip(obj, path):
    save(obj, path)
    return load(path)


def rewrite(path, *, header=None, members=None):
    """The same archive with another description, or with members replaced or added."""
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    if header is not None:
        contents["model.json"] = json.dumps(header(json.loads(contents["model.json"])))
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (contents | (members or {})).items():
            archive.writestr(name, data)


# ---- values ----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        2**70,
        0.1,
        float("inf"),
        "grün \ud800 \x00",
        b"\x00\xff",
        [1, "a", [None]],
        (1.5, ("b",)),
        {"a": 1, 2: [3], ("t", 1): None},
        slice(None, 4, 2),
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.array(["ab", "c"]),
        np.array([["ab", None], ["c", "d"]], dtype=object),
        np.array("2024-01-01", dtype="datetime64[D]"),
        np.zeros((0, 3)),
    ],
)
def test_values(value, path):
    found = round_trip(value, path)
    assert type(found) is type(value)
    assert same(found, value)
    if isinstance(value, np.ndarray):
        assert found.dtype == value.dtype
        assert found.flags.f_contiguous == value.flags.f_contiguous


def test_nan_and_numpy_scalars(path):
    found = round_trip([float("nan"), np.float64(0.1), np.int32(7), np.True_], path)
    assert np.isnan(found[0])
    assert found[1:] == [0.1, 7, True]


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array])
def test_sparse(kind, path, rng):
    X = kind(sp.random(20, 2**40, density=1e-11, format="csr", random_state=rng))
    found = round_trip(X, path)
    assert type(found) is kind
    assert same(found, X)


def test_table(table, path):
    table.loc[3, "x"] = np.nan
    table.loc[4, "colour"] = None
    table["level"] = pd.Categorical(table["count"])
    table["maybe"] = pd.array([1, None] * 20, dtype="Int64")
    found = round_trip(table.set_index(table.index + 7), path)
    assert list(found.columns) == list(table.columns)
    assert list(found.index) == list(range(len(table)))
    for name in ("x", "count", "flag", "colour", "dna"):
        pd.testing.assert_series_equal(found[name], table[name])
    assert found["size"].tolist() == table["size"].tolist()
    assert found["level"].tolist() == table["count"].tolist()
    assert found["maybe"].isna().tolist() == [False, True] * 20


def test_columns_of_anything(path):
    """Series, trees and vectors as cells, and values that are missing."""
    cells = [("S", "a", ("b", "c")), [1.0, 2.0], None, "plain"]
    frame = pd.DataFrame({"n": range(4), "cell": pd.Series(cells, dtype=object)})
    assert round_trip(frame, path)["cell"].tolist() == cells
    array = np.empty(2, dtype=object)
    array[:] = [np.arange(3.0), np.arange(2.0)]
    found = round_trip(array, path)
    assert found.dtype == object
    assert all(np.array_equal(x, y) for x, y in zip(found, array, strict=True))


@pytest.mark.parametrize(
    "values", [["a", "b"], [1.5, 2.5], [1, 2], [("S", "a"), ("S", "b")]], ids=str
)
def test_series_of_pandas(values, path):
    series = pd.Series(values, index=[7, 9], name="column")
    pd.testing.assert_series_equal(round_trip(series, path), series.reset_index(drop=True))


def chain(depth):
    tree = ("leaf",)
    for i in range(depth):
        tree = (f"n{i % 3}", tree)
    return tree


def test_deep_tuples(path):
    """Python cannot compare or print them, so they are unfolded here."""
    found, wanted = round_trip([chain(5000), [[], ()]], path), chain(5000)
    assert found[1] == [[], ()]
    tree = found[0]
    while len(wanted) == 2:
        assert (type(tree), len(tree), tree[0]) == (tuple, 2, wanted[0])
        tree, wanted = tree[1], wanted[1]
    assert tree == wanted


XML = "<a k='1'>t<b>u</b>v<!-- no --><c><b/></c></a>"


def networkx_trees():
    networkx = pytest.importorskip("networkx")
    return [
        networkx.DiGraph([("r", "a"), ("r", "b")]),
        networkx.DiGraph([("r", "a"), ("a", "b"), ("b", "c")]),
        networkx.DiGraph([(0, 1)]),
    ]


def nltk_trees():
    Tree = pytest.importorskip("nltk").Tree
    texts = ["(S (NP dogs) (VP bark))", "(S (NP cats) (VP (V see) (NP dogs)))", "(NP dogs)"]
    return [Tree.fromstring(text) for text in texts]


def elements():
    return [ElementTree.fromstring(x) for x in (XML, "<a><b/></a>", "<c><b/><b/></c>")]


@pytest.mark.parametrize(
    "trees",
    [
        elements,
        lambda: [ElementTree.ElementTree(e) for e in elements()],
        lambda: [chain(5000), chain(30), ("n0", ("n1", "x"))],
        lambda: pd.Series(["(S (NP dogs) (VP bark))", "(S a)", "(NP (S a) b)"], index=[3, 5, 8]),
        networkx_trees,
        nltk_trees,
    ],
    ids=["element", "document", "deep", "series", "networkx", "nltk"],
)
def test_models_on_trees(trees, path):
    X = trees()
    model = KernelRidge(0.1, kernel=mercer.Subtree()).fit(X, [1.0, 2.0, 3.0])
    found = round_trip(model, path)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    assert type(found.X_fit_) is type(X)
    assert [type(x) for x in found.X_fit_] == [type(x) for x in X]


def test_xml_is_kept(path):
    element = ElementTree.fromstring(XML)
    found = round_trip(element, path)
    text = ElementTree.tostring(element, encoding="unicode").replace("<!-- no -->", "")
    assert ElementTree.tostring(found, encoding="unicode") == text


def test_graphs_are_kept(path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.MultiDiGraph(name="g")
    graph.add_node(1, label="one")
    graph.add_edge(1, ("t", 2), key="k", weight=2.0)
    found = round_trip(graph, path)
    assert type(found) is networkx.MultiDiGraph
    assert found.graph == {"name": "g"}
    assert dict(found.nodes(data=True)) == {1: {"label": "one"}, ("t", 2): {}}
    assert list(found.edges(keys=True, data=True)) == [(1, ("t", 2), "k", {"weight": 2.0})]


def test_table_of_dates_is_refused(path):
    frame = pd.DataFrame({"when": pd.to_datetime(["2020-01-01"])})
    with pytest.raises(ValueError, match=r"column 'when' of DataFrame.*datetime64"):
        save(frame, path)
    assert not path.exists()


# ---- our objects -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.1 + 0.2),
        Gaussian(lengthscale="median"),
        Laplacian(np.array([1.0, 2.5]), p=1).on(["a", "b"]),
        2 * Matern(nu=1.5).on(slice(0, 3)) + Linear() ** 2 + 1,
        Polynomial(3, offset=0.5).normalize(),
        (Spectrum(2) + Spectrum(3)).normalize().on("dna") * Categorical().on("colour"),
        Linear().center(np.eye(3)),
        Gaussian().through(["not", "resolved"]),
        Plan(memory="2 GB", workers=2),
    ],
    ids=repr,
)
def test_params(kernel, path):
    found = round_trip(kernel, path)
    assert found == kernel
    assert repr(found) == repr(kernel)


def test_every_public_kernel_without_functions(path):
    """Whatever has defaults for all its parameters can be saved."""
    made = []
    for name in mercer.__all__:
        found = getattr(mercer, name)
        if isinstance(found, type) and issubclass(found, Kernel):
            try:
                made.append(found())
            except TypeError:  # abstract, or with a parameter that has no default
                continue
    assert len(made) > 15
    for kernel in made:
        assert round_trip(kernel, path) == kernel


def test_own_class(path):
    @dataclass(eq=False, repr=False)
    class OverlapForTheTestOfFiles(Kernel):
        weight: float = 2.0

        def pairwise(self, X, Y):
            return np.array([[self.weight * len(set(x) & set(y)) for y in Y] for x in X])

    kernel = OverlapForTheTestOfFiles(3.0) + 1
    found = round_trip(kernel, path)
    np.testing.assert_array_equal(found(["ab", "bc"]), [[7, 4], [4, 7]])


def test_function_in_rkhs(path, rng):
    f = RKHSFunction(Gaussian(0.7), rng.normal(size=(9, 2)), rng.normal(size=(9, 3)))
    g = round_trip(f, path)
    X = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(g(X), f(X))
    assert f.distance(g).max() == 0


# ---- results ---------------------------------------------------------------------------------
@pytest.mark.parametrize("null", ["permutation", "gamma", "spectrum", "pearson", "normal"])
def test_results_of_tests(null, path, rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(0.4, 1, size=(30, 2))
    kernel = [Gaussian(1.0), Gaussian(2.0)] if null == "permutation" else Gaussian()
    result = mercer.two_sample_test(X, Y, kernel, null=null, rng=0)
    found = round_trip(result, path)
    assert isinstance(found, mercer.TestResult)
    assert str(found) == str(result)
    assert same(found.null, result.null)
    assert list(found.details) == list(result.details)
    assert all(same(found.details[name], value) for name, value in result.details.items())
    assert found.kernel == result.kernel
    if result.distribution is not None:
        t = np.array([0.5, 1.0, 2.0]) * result.statistic
        np.testing.assert_allclose(found.distribution.sf(t), result.distribution.sf(t))


def test_other_results(path, rng):
    X = rng.normal(size=(30, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    tuning = mercer.tune(KernelRidge(kernel=Gaussian()), X, y).tuning_
    assert str(round_trip(tuning, path)) == str(tuning)
    few = mercer.compress(X, 5, Gaussian(), rng=0)
    found = round_trip(few, path)
    assert found.mmd == few.mmd
    np.testing.assert_array_equal(found.points, few.points)
    np.testing.assert_array_equal(found.embedding(X), few.embedding(X))
    interval = mercer.mmd_interval(X, X + 1, Gaussian())
    assert round_trip(interval, path) == interval
    assert type(round_trip(interval, path)) is type(interval)
    f = mercer.FourierFunction([1.0, 0.5j], 2.0)
    np.testing.assert_array_equal(round_trip(f, path)([0.1, 0.2]), f([0.1, 0.2]))


# ---- models ----------------------------------------------------------------------------------
TABLE_KERNEL = Gaussian("median").on(["x", "count"]) * (
    1 + Categorical().on("colour") + Categorical().on("size")
) + Spectrum(2).normalize().on("dna")


@pytest.mark.parametrize(
    "kernel", [TABLE_KERNEL, Spectrum(3).on("dna"), Linear().on(["x", "flag"])]
)
def test_ridge_on_a_table(kernel, table, path, rng):
    y = rng.normal(size=(len(table), 2))
    weights = rng.random(len(table)) + 0.5
    model = KernelRidge([0.1, 1.0], kernel=kernel, plan=Plan(workers=1)).fit(table, y, weights)
    found = round_trip(model, path)
    np.testing.assert_array_equal(found.predict(table), model.predict(table))
    np.testing.assert_array_equal(found.posterior_variance(table), model.posterior_variance(table))
    np.testing.assert_array_equal(found.leave_one_out(), model.leave_one_out())
    assert found.kernel_ == model.kernel_
    assert list(found.feature_names_in_) == list(table.columns)
    assert found.get_params() == model.get_params()


@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "laplacian", "cosine"])
def test_ridge_on_arrays(name, path, rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)
    for data in (X, X.astype(np.float32), sp.csr_matrix(X)):
        if name == "laplacian" and sp.issparse(data):
            continue
        model = KernelRidge(0.5, kernel=name).fit(data, y)
        found = round_trip(model, path)
        new = data[::2]  # the very array a model was fitted to takes a shortcut of its own
        np.testing.assert_array_equal(found.predict(new), model.predict(new))
        assert found.n_features_in_ == 4


def test_ridge_on_strings(path):
    words = ["kernel", "kerning", "colonel", "corn"]
    model = KernelRidge(kernel=Spectrum(2)).fit(words, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(
        round_trip(model, path).predict(["corner"]), model.predict(["corner"])
    )


def test_ridge_cv(path, rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    grid = {"kernel": [Gaussian(0.5), Gaussian(2.0), Linear()]}
    cv = KFold(4, shuffle=True, random_state=3)
    model = KernelRidgeCV([0.1, 1.0], kernel=Gaussian(), param_grid=grid, cv=cv).fit(X, y)
    found = round_trip(model, path)
    np.testing.assert_array_equal(found.predict(X), model.predict(X))
    assert (found.alpha_, found.best_score_) == (model.alpha_, model.best_score_)
    assert found.best_params_ == model.best_params_
    assert found.cv.get_n_splits() == 4
    found.fit(X, y)  # it is as good as new
    assert found.best_score_ == model.best_score_


WORDS = ["kernel", "kerning", "colonel", "corn", "cork", "keel", "corner", "kettle", "coke", "keg"]
ANSWERS = ("predict", "decision_function", "predict_proba", "score_samples")


def assert_same_answers(found, model, X):
    asked = [name for name in ANSWERS if hasattr(model, name)]
    assert asked == [name for name in ANSWERS if hasattr(found, name)]
    for name in asked:
        np.testing.assert_array_equal(getattr(found, name)(X), getattr(model, name)(X))
    for name in model.saved_state:
        assert hasattr(found, name) == hasattr(model, name)
    assert str(found.get_params()) == str(model.get_params())


MACHINES = [
    SVC(C=2.0, probability=True),
    SVC(kernel=Matern(2.0, nu=1.5), class_weight={"a": 2.0, "b": 1.0, "c": 1.0}, break_ties=True),
    NuSVC(nu=0.3, kernel="poly", decision_function_shape="ovo"),
    SVR(C=2.0),
    NuSVR(nu=0.4, kernel=Gaussian("median")),
    OneClassSVM(nu=0.2),
    LSSVC(C=3.0, plan=Plan(workers=1)),
    LSSVR(kernel="linear"),
]


REGRESSORS = [
    mercer.GaussianProcessRegressor(),
    mercer.SemiparametricRidge(Gaussian(), basis="linear", alpha=0.1),
    mercer.KernelMachine(Gaussian(), mercer.Huber(0.2)),
    mercer.KernelQuantileRegressor([0.2, 0.8]),
    mercer.ThinPlateSpline(),
    mercer.MultiOutputKernelRidge(0.1, kernel=Gaussian()),
    mercer.ConformalRegressor(KernelRidge(0.1, kernel=Gaussian())),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
def test_regressors_on_arrays(model, path, rng):
    X = rng.normal(size=(30, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=30)
    fitted = clone(model).fit(X, y)
    new = rng.normal(size=(5, 2))
    np.testing.assert_allclose(round_trip(fitted, path).predict(new), fitted.predict(new))


@pytest.mark.parametrize(
    "model", [mercer.GaussianProcessClassifier(), mercer.KernelLogisticRegression()], ids=repr
)
def test_probabilities(model, path, rng):
    X = rng.normal(size=(40, 2))
    fitted = clone(model).fit(X, X[:, 0] > 0)
    again = round_trip(fitted, path)
    np.testing.assert_allclose(again.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_machines_on_arrays(machine, path, rng):
    X = rng.normal(size=(60, 3))
    codes = np.digitize(X[:, 0] + 0.5 * rng.normal(size=60), [-0.5, 0.5])
    y = np.array(["a", "b", "c"])[codes] if is_classifier(machine) else codes + 0.5
    for data in (X, X.astype(np.float32), sp.csr_matrix(X)):
        if sp.issparse(data) and isinstance(machine.kernel, Kernel):
            continue
        model = clone(machine).fit(data, y)
        found = round_trip(model, path)
        assert_same_answers(found, model, data[::2])
        if hasattr(model, "decision_path"):
            assert found.decision_path() == model.decision_path()
            classes = ("a", "b") if hasattr(model, "classes_") else ()
            assert found.decision_path()[0].classes == classes


@pytest.mark.parametrize("machine", MACHINES, ids=repr)
def test_machines_on_strings(machine, path):
    """Two classes, of bool and of whole numbers: labels keep their type."""
    first = np.array([word[1] == "e" for word in WORDS])
    for y in (first, first.astype(int)):
        kernel = Spectrum(1).normalize()
        model = clone(machine).set_params(kernel=kernel)
        if hasattr(model, "class_weight"):
            model.set_params(class_weight="balanced")
        model.fit(WORDS, y)
        found = round_trip(model, path)
        assert_same_answers(found, model, ["corny", "kelp"])
        assert getattr(found, "classes_", first).dtype == getattr(model, "classes_", first).dtype
        if hasattr(model, "support_"):
            assert found.support_vectors_ == model.support_vectors_


def test_machines_on_a_table(table, path):
    model = SVC(kernel=TABLE_KERNEL, probability=True).fit(table, table["flag"])
    assert_same_answers(round_trip(model, path), model, table[::3].reset_index(drop=True))


def test_machine_on_its_own_matrix(path, rng):
    """With kernel="precomputed" support vectors are columns of the matrix."""
    X = rng.normal(size=(40, 2))
    K = Gaussian()(X)
    model = SVC(kernel="precomputed", tol=1e-10).fit(K, X[:, 0] > 0)
    assert_same_answers(round_trip(model, path), model, K[:7])
    wanted = SVC(kernel=Gaussian(), tol=1e-10).fit(X, X[:, 0] > 0).decision_function(X[:7])
    np.testing.assert_allclose(model.decision_function(K[:7]), wanted, rtol=1e-8)


def test_svc_cv(path, rng):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] * X[:, 1] > 0
    cv = StratifiedKFold(3, shuffle=True, random_state=1)
    grid = {"kernel": [Gaussian(0.5), Gaussian(2.0)]}
    model = SVCCV([1, 10], param_grid=grid, cv=cv, random_state=0, probability=True).fit(X, y)
    found = round_trip(model, path)
    assert_same_answers(found, model, X)
    assert (found.C, found.best_score_, found.test_score_) == (
        model.C,
        model.best_score_,
        model.test_score_,
    )
    assert found.best_params_ == model.best_params_
    assert found.decision_path() == model.decision_path()
    assert found.fit(X, y).best_score_ == model.best_score_


def test_unfitted_model(path):
    found = round_trip(KernelRidge(0.3, kernel=Gaussian(2.0)), path)
    assert found.kernel == Gaussian(2.0)
    assert not hasattr(found, "gram_")


# ---- refusals --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("obj", "message"),
    [
        (Gaussian().pullback(np.log), r"Pullback\.map: it is a function"),
        (KernelRidge(kernel=lambda x, y: 1.0), r"KernelRidge\.kernel: it is a function"),
        (KernelRidgeCV(cv=ShuffleSplit()), r"KernelRidgeCV\.cv: it is a ShuffleSplit"),
        ({"a": [1, bytearray(2)]}, r"dict\['a'\]\[1\]: it is a bytearray"),
        (np.array([1, range(2)], dtype=object), r"ndarray\[1\]: it is a range"),
        (pd.DataFrame(index=[1, 2]), r"it has no columns"),
        (np.ma.array([1, 2]), r"MaskedArray of int64"),
        (sp.coo_matrix(np.eye(2)), r"coo_matrix"),
        (1j, r"complex"),
    ],
)
def test_what_cannot_be_saved(obj, message, path):
    with pytest.raises(ValueError, match=rf"cannot save.*{message}"):
        save(obj, path)
    assert not path.exists()


def test_foreign_subclass_is_refused(path):
    class Mine(KernelRidge):
        pass

    with pytest.raises(ValueError, match="Mine is not one of mercer's own"):
        save(Mine(), path)


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        save(Gaussian(), tmp_path / "nowhere" / "kernel.mercer")


def test_the_same_object_gives_the_same_bytes(path, tmp_path):
    save(Gaussian(2.0), path)
    save(Gaussian(2.0), tmp_path / "again")
    assert path.read_bytes() == (tmp_path / "again").read_bytes()


# ---- files from strangers ----------------------------------------------------------------------
class Bomb:
    """Leaves a mark where it is unpickled."""

    def __reduce__(self):
        return (exec, ("import sys; sys.modules['mercer_was_here'] = True",))


def test_pickled_array_is_refused(path):
    save(np.arange(3.0), path)
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb()], dtype=object), allow_pickle=True)
    rewrite(path, members={"arrays/0.npy": stream.getvalue()})
    with pytest.raises(ValueError, match="array of Python objects"):
        load(path)
    rewrite(path, members={"arrays/0.npy": pickle.dumps(Bomb())})
    with pytest.raises(ValueError, match="damaged"):
        load(path)
    assert "mercer_was_here" not in sys.modules


@pytest.mark.parametrize(
    "name",
    ["os.system", "antigravity", "this", "Popen", "mercer.io.save", "Radial", "Binary", "save"],
)
def test_tampered_class_name_imports_nothing(name, path):
    sys.modules.pop("antigravity", None)
    before = set(sys.modules)
    save(Gaussian(), path)

    def tamper(header):
        header["value"]["class"] = name
        return header

    rewrite(path, header=tamper)
    with pytest.raises(ValueError, match=f"'{name}', which is not a kernel"):
        load(path)
    rewrite(path, header=lambda h: h | {"value": h["value"] | {"type": "estimator", "params": {}}})
    with pytest.raises(ValueError, match=f"'{name}', which is not an estimator"):
        load(path)
    assert {m for m in set(sys.modules) - before if not m.startswith("mercer.")} == set()


def test_estimators_get_their_own_attributes_only(path, rng):
    save(KernelRidge(kernel=Gaussian()).fit(rng.normal(size=(5, 1)), np.ones(5)), path)

    def tamper(header):
        header["value"]["state"]["predict"] = "not yours"
        return header

    rewrite(path, header=tamper)
    with pytest.raises(ValueError, match="'predict', which it does not have"):
        load(path)


@pytest.mark.parametrize(
    "value",
    [
        {"type": "no such thing"},
        {"type": "report", "fields": {"gap": 1.0}},
        {"type": "report", "fields": {"run": "code"}},
        {"type": "calibration"},
        {"type": "estimator", "class": "SVC", "params": {}, "state": {"support_": [1]}},
        {"type": "array", "array": 5},
        {"type": "array", "array": "../../etc/passwd"},
        {"type": "params", "class": "Gaussian", "fields": {"lengthscale": -1.0}},
        {"type": "params", "class": "Gaussian", "fields": {"no_such": 1}},
        {"type": "params", "class": ["Gaussian"], "fields": {}},
        {"type": "params"},
        {"type": "dict", "items": [[[], 1]]},
        {"type": "splitter", "class": "ShuffleSplit", "params": {}},
        {"type": "function", "kernel": 1, "points": [1], "coef": [1]},
        {"type": "frame", "rows": 3, "columns": [{"name": "a", "strings": ["x"], "dtype": "str"}]},
        {
            "type": "csr",
            "class": "csr_matrix",
            "shape": [1, 1],
            "data": 0,
            "indices": 0,
            "indptr": 0,
        },
    ],
)
def test_damaged_descriptions(value, path):
    save(np.arange(3.0), path)
    rewrite(path, header=lambda h: h | {"value": value})
    with pytest.raises(ValueError, match=str(path)):
        load(path)


def test_sparse_indices_are_checked(path):
    save(sp.csr_matrix(np.eye(3)), path)
    stream = io.BytesIO()
    np.save(stream, np.array([0, 1, 10**6], dtype=np.int32))
    rewrite(path, members={"arrays/1.npy": stream.getvalue()})
    with pytest.raises(ValueError, match="damaged"):
        load(path)


def test_array_that_claims_to_be_larger_than_it_is(path):
    save(np.arange(3.0), path)
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        stream, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    )
    rewrite(path, members={"arrays/0.npy": stream.getvalue() + b"\0" * 24})
    with pytest.raises(FileFormatError, match="larger than the file"):
        load(path)
    for shape, words in (((4,), "truncated array"), ((10**18, 0), "larger than the file")):
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            stream, {"descr": "<f8", "fortran_order": False, "shape": shape}
        )
        rewrite(path, members={"arrays/0.npy": stream.getvalue()})
        with pytest.raises(FileFormatError, match=words):
            load(path)


def test_an_array_is_used_once(path):
    """So that a small file cannot ask for a large amount of memory."""
    save([np.arange(3.0), np.arange(3.0)], path)
    node = {"type": "array", "array": 0}
    rewrite(path, header=lambda h: h | {"value": [node, node]})
    with pytest.raises(ValueError, match="damaged"):
        load(path)


def peak_memory(path):
    """Bytes that reading a file takes at most, whether it succeeds or not."""
    tracemalloc.start()
    try:
        with suppress(FileFormatError):
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("method", "text"),
    [
        (zipfile.ZIP_DEFLATED, b"[],"),
        (zipfile.ZIP_DEFLATED, b'"",'),
        (zipfile.ZIP_BZIP2, b" "),
        (zipfile.ZIP_LZMA, b" "),
    ],
)
def test_bombs(method, text, path):
    """Tightly packed, and with a declared size that is a lie: memory is bounded by the file."""
    count = 20 * 2**20 // len(text)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("model.json", b"[" + text * count + b"0]")
        assert path.stat().st_size < 2**17
    assert peak_memory(path) < 30 * 2**20
    with pytest.raises(FileFormatError, match=r"larger than|in a way"):
        load(path)
    size = (count * len(text) + 3).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(size, (100).to_bytes(4, "little")))
    assert peak_memory(path) < 30 * 2**20
    with pytest.raises(FileFormatError):
        load(path)


def test_other_bombs(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", b"[" * 100_000)
    with pytest.raises(FileFormatError, match="damaged"):
        load(path)
    save(np.zeros(10), path)
    with zipfile.ZipFile(path) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    with pytest.raises(FileFormatError, match="compressed"):
        load(path)


def test_repetitive_descriptions_are_read_back(path):
    """They could be packed more tightly than is allowed for, so they are not."""
    assert round_trip(["red"] * 400_000, path) == ["red"] * 400_000
    assert path.stat().st_size > 2_000_000


@pytest.mark.parametrize("name", ["../model.json", "arrays/0.pkl", "extra.py", "/etc/passwd"])
def test_other_members_are_refused(name, path):
    save(Gaussian(), path)
    rewrite(path, members={name: b""})
    with pytest.raises(ValueError, match="not a mercer file"):
        load(path)


def test_versions_and_other_files(path):
    save(Gaussian(), path)
    rewrite(path, header=lambda h: h | {"format": FORMAT + 1, "mercer": "9.9"})
    with pytest.raises(ValueError, match=r"format 2, written by mercer '9.9'"):
        load(path)
    for data in (b"", b"PK\x03\x04", b"a,b\n1,2\n", path.read_bytes()[:-30]):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"object\.mercer"):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(path.with_name("nothing"))


def test_files_of_version_0_1_are_read():
    """They were written by that version; predictions were noted then."""
    folder = Path(__file__).parent / "files"
    x = np.arange(8.0)
    strings = ["kern", "corn", "keel", "coal", "keg", "cod", "kelp", "coke"]
    table = pd.DataFrame({"x": x, "c": list("abababab"), "s": strings})
    np.testing.assert_allclose(
        load(folder / "ridge-0.1.zip").predict(table[:3]),
        [0.08210906140516816, 0.7441786059925515, 0.7596590840623523],
        rtol=1e-9,
    )
    machine = load(folder / "svc-0.1.zip")
    wanted = [2.222231080259015, 0.9361951453432829, -0.21271384829165474]
    found = machine.decision_function(np.c_[x, x % 3])[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert [report.classes for report in machine.decision_path()] == [(0, 1), (0, 2), (1, 2)]


def test_the_number_of_features_is_a_number(path, rng):
    """A kernel matrix is not predicted for a check: the number is looked at by itself."""
    K = rng.normal(size=(6, 4))
    save(KernelRidge(kernel="precomputed").fit(K @ K.T, np.ones(6)), path)

    def without(header):
        header["value"]["state"]["n_features_in_"] = []
        return header

    rewrite(path, header=without)
    with pytest.raises(FileFormatError, match="invalid number of features"):
        load(path)


def test_sets_of_dates(path):
    days = [{date(2024, 1, day), datetime(2024, 1, day, 12)} for day in (1, 2, 3, 4)]
    model = mercer.SVC(kernel=mercer.Jaccard()).fit(days, [0, 0, 1, 1])
    found = round_trip(model, path)
    np.testing.assert_array_equal(found.decision_function(days), model.decision_function(days))
    aware = [{datetime(2024, 1, 1, day, tzinfo=UTC)} for day in (1, 2)]
    with pytest.raises(ValueError, match="time zone"):
        save(mercer.SVC(kernel=mercer.Jaccard()).fit(aware, [0, 1]), path)
