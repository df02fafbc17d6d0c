"""What all kernels on series promise: gradients, threads, models, tables, files."""

from functools import cache

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from mercer import (
    SVC,
    DynamicTimeWarping,
    Gaussian,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    GlobalAlignment,
    KernelPCA,
    KernelRidge,
    LagEmbedding,
    Linear,
    Matern,
    PairHMM,
    Polynomial,
    Signature,
    SoftSubsequence,
    Spectrum,
    load,
    parse,
    save,
    tune,
    two_sample_test,
)
from mercer.data import take
from mercer.gram.tiles import contract, evaluate
from mercer.kernels.base import Kernel
from mercer.testing import check_kernel

KERNELS = [
    GlobalAlignment(),
    GlobalAlignment(lengthscale=1.5, band=4),
    Signature(lengthscale="median"),
    Signature(depth=3, order=2, lengthscale=3.0, add_time=True, basepoint=True),
    Signature(Gaussian("median"), order=2),
    Signature(lengthscale=2.0).normalize(),
    LagEmbedding(Gaussian("median"), 3),
    LagEmbedding(Linear() + 1, window=2, stride=2),
    PairHMM(),
    PairHMM(lengthscale=1.0, opening=0.5, extension=0.4),
    SoftSubsequence(length=2, decay=0.7),
    SoftSubsequence().normalize(),
]
SLOPES = [
    GlobalAlignment(2.0),
    GlobalAlignment(5.0, band=20),
    DynamicTimeWarping(0.02),
    DynamicTimeWarping(0.02, band=9),
    PairHMM(2.0),
    PairHMM(1.0, opening=0.5, extension=0.4),
    SoftSubsequence(2.0, length=1),
    SoftSubsequence(2.0, decay=1.0),
    SoftSubsequence(2.0, length=2).normalize(),
    Signature(lengthscale=8.0),
    Signature(lengthscale=8.0, order=1, add_time=True),
    Signature(lengthscale=8.0, order=2, depth=4),
    Signature(lengthscale=8.0, order=5, depth=3, add_time=True, basepoint=True),
    Signature(lengthscale=8.0, add_time=True).normalize(),
    Signature(Gaussian(2.0)),
    Signature(Gaussian([2.0, 3.0]), order=1),
    Signature(Polynomial(2, 1.0, 0.05), order=2),
    Signature(2 * Matern(2.0, nu=1.5), order=4, depth=2),
    Signature(Gaussian([2.0, 3.0, 1.0]), add_time=True, basepoint=True, depth=3),
    LagEmbedding(2 * Gaussian(1.5), 2),
    0.5 * GlobalAlignment(2.0) + PairHMM(1.0) * GlobalAlignment(5.0),
]


@pytest.fixture
def walks(rng):
    """Random walks of several lengths in the plane."""
    return [rng.normal(size=(n, 2)).cumsum(axis=0) for n in rng.integers(4, 40, 24)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_keeps_all_promises(kernel, walks):
    check_kernel(kernel, walks)
    assert parse(repr(kernel)) == kernel
    assert "series of points in R^d" in kernel.explain()


# ---- gradients -----------------------------------------------------------------------------------
def differences(kernel, X, Y, W, h=1e-4):
    """The derivatives of sum(W * kernel(X, Y)) along each entry of theta, to order h^4."""

    def value(move):
        return np.sum(W * kernel.with_theta(kernel.theta + move)(X, Y))

    return np.array(
        [
            (8 * (value(e) - value(-e)) - (value(2 * e) - value(-2 * e))) / (12 * h)
            for e in h * np.eye(len(kernel.theta))
        ]
    )


@pytest.mark.parametrize("kernel", SLOPES, ids=repr)
def test_gradients_against_differences(kernel, rng):
    X = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in (2, 3, 20, 33, 17)]
    Y = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in (2, 40, 9)]
    P, Q = kernel.prepare(X), kernel.prepare(Y)

    def close(got, wanted):
        assert got.shape == kernel.theta.shape
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max(initial=1))

    W = rng.normal(size=(5, 3))
    close(kernel.grad_theta(P, Q, W), differences(kernel, X, Y, W))
    W = rng.normal(size=(5, 5))
    close(kernel.grad_theta(P, P, W), differences(kernel, X, X, W))
    w = rng.normal(size=5)
    close(kernel.grad_theta_diag(P, w), differences(kernel, X, X, np.diag(w)))
    close(Kernel.grad_theta_diag(kernel, P, w), differences(kernel, X, X, np.diag(w)))
    W = W + W.T
    total = contract(kernel, P, lambda rows, cols: W[rows, cols], tile=2)
    close(total, kernel.grad_theta(P, P, W))


@pytest.mark.parametrize("kind", [GlobalAlignment, PairHMM])
def test_gradients_of_long_and_distant_series(rng, kind):
    """Along lengths at which K itself leaves the range of numbers; 0 where k is 0."""
    x = rng.normal(size=1500).cumsum() / 5
    X = [x, x[:1450] + 0.1 * rng.normal(size=1450)]
    kernel, W = kind(10.0), rng.normal(size=(2, 2))
    got = kernel.grad_theta(kernel.prepare(X), kernel.prepare(X), W)
    assert abs(got[0]) > 1e-8
    np.testing.assert_allclose(got, differences(kernel, X, X, W), rtol=1e-6)
    far = kernel.prepare([np.zeros(900), 1e3 * np.arange(900.0), np.full(4, 1e200)])
    with np.errstate(over="raise", invalid="raise"):
        slopes = kernel.grad_theta(far, far, np.ones((3, 3)))
    assert slopes == pytest.approx(0, abs=1e-100)


def test_the_unit_of_lifted_paths_is_that_of_their_kernel():
    names = [h.name for h in Signature(Gaussian(2.0), lengthscale=3.0).hyperparameters()]
    assert names == ["kernel__lengthscale"]
    assert [h.name for h in Signature(lengthscale=3.0).hyperparameters()] == ["lengthscale"]
    P = Signature(Linear()).prepare([[1.0, 2.0]])
    assert Signature(Linear()).grad_theta(P, P, np.ones((1, 1))).shape == (0,)


@pytest.mark.parametrize(
    "kernel",
    [
        GlobalAlignment(),
        PairHMM(),
        Signature(Gaussian("median")).normalize(),
        Signature(lengthscale="median", add_time=True).normalize(),
    ],
    ids=repr,
)
def test_hyperparameters_are_learned(rng, kernel):
    """The height of a bump from a series in which it comes late or early."""
    heights = rng.uniform(1, 3, 36)
    X = [
        h * np.exp(-(((np.arange(T) - rng.uniform(4, T - 4)) / 2) ** 2))
        for h, T in zip(heights, rng.integers(11, 16, 36), strict=True)
    ]
    start = kernel.resolve(X[:26])
    wide = start.with_theta(start.theta + 1)
    model = tune(KernelRidge(kernel=wide, alpha=0.1), X[:26], heights[:26], by="loo")
    assert model.score(X[26:], heights[26:]) > 0.85
    process = GaussianProcessRegressor(kernel=2.0 * wide, alpha=1e-2).fit(X[:26], heights[:26])
    fixed = GaussianProcessRegressor(kernel=2.0 * wide, alpha=1e-2, optimizer=None)
    before = fixed.fit(X[:26], heights[:26]).log_marginal_likelihood_value_
    assert process.log_marginal_likelihood_value_ > before + 1
    assert process.score(X[26:], heights[26:]) > 0.85


# ---- models --------------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", KERNELS[:5], ids=repr)
def test_same_values_on_any_number_of_threads(kernel, walks):
    k = kernel.resolve(walks)
    P = k.prepare(walks)
    one = evaluate(k, P, P, workers=1, tile=7)
    np.testing.assert_array_equal(evaluate(k, P, P, workers=3, tile=7), one)
    np.testing.assert_allclose(k(walks), one, rtol=1e-13)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (lambda: GlobalAlignment(lengthscale=-1.0), "lengthscale must be positive"),
        (lambda: GlobalAlignment(band=0), "band must be None or an integer"),
        (lambda: Signature(order=0), "order must be an integer >= 1"),
        (lambda: Signature(depth=True), "depth must be None or an integer"),
        (lambda: Signature(kernel="rbf"), "kernel must be None or a kernel"),
        (lambda: Signature(add_time="yes"), "add_time must be one of"),
        (lambda: LagEmbedding(Linear(), 0), "window must be an integer >= 1"),
    ],
)
def test_bad_parameters(kernel, name):
    with pytest.raises(ValueError, match=name):
        kernel()


def bumps(rng, n):
    """Ragged series in two classes: one bump up, or one down, anywhere."""
    y = np.arange(n) % 2
    X = []
    for label in y:
        T = int(rng.integers(25, 45))
        bump = np.exp(-(((np.arange(T) - rng.uniform(8, T - 8)) / 3) ** 2))
        X.append(2 * (2 * label - 1) * bump + 0.2 * rng.normal(size=T))
    return X, y


@pytest.mark.parametrize(
    ("kernel", "grid"),
    [
        (GlobalAlignment(), {"kernel__lengthscale": [1.0, 3.0], "C": [1, 10]}),
        (Signature(lengthscale="median", add_time=True), {"kernel__order": [1, 2]}),
        (LagEmbedding(Gaussian("median"), 5), {"kernel__window": [3, 8]}),
    ],
)
def test_classification_of_lists_of_arrays(rng, kernel, grid):
    X, y = bumps(rng, 60)
    search = GridSearchCV(SVC(kernel=kernel), grid, cv=3).fit(X[:40], y[:40])
    assert search.score(X[40:], y[40:]) >= 0.9


@pytest.mark.parametrize("kernel", [GlobalAlignment(), PairHMM()], ids=repr)
def test_other_models_of_lists_of_arrays(rng, kernel):
    X, y = bumps(rng, 40)
    places = KernelPCA(2, kernel=kernel).fit_transform(X)
    assert places.shape == (40, 2)
    assert abs(np.corrcoef(places[:, 0], y)[0, 1]) > 0.85
    up, down = [X[i] for i in np.flatnonzero(y)], [X[i] for i in np.flatnonzero(1 - y)]
    assert two_sample_test(up, down, kernel=kernel, rng=0).pvalue < 0.05
    assert two_sample_test(up[:10], up[10:], kernel=kernel, rng=0).pvalue > 0.05
    process = GaussianProcessClassifier(kernel=kernel).fit(X[:30], y[:30])
    assert process.score(X[30:], y[30:]) >= 0.9


def test_series_of_one_point_and_constant_series():
    X = [[1.0], [1.0, 1.0], [1.0, 1.0, 1.0], [2.0]]
    for kernel in KERNELS:
        if "LagEmbedding" not in repr(kernel):
            K = kernel(X)
            assert np.isfinite(K).all()
            np.testing.assert_array_equal(K, K.T)
    same = [np.ones(5)] * 3
    for kernel in KERNELS:
        K = kernel(same)
        np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)


@pytest.mark.parametrize("kernel", SLOPES, ids=repr)
def test_no_pairs(kernel, rng):
    P = kernel.prepare(list(rng.normal(size=(3, 6, 2))))
    none = take(P, slice(0, 0))
    assert kernel.pairwise(none, P).shape == (0, 3)
    assert not kernel.grad_theta(none, P, np.ones((0, 3))).any()
    assert not kernel.grad_theta(P, P, np.zeros((3, 3))).any()


def test_pipelines_and_arrays(rng):
    X = rng.normal(size=(30, 12)).cumsum(axis=1)
    X[:, -1] = np.nan
    y = X[:, -2] - X[:, 0]
    model = make_pipeline(KernelRidge(alpha=1e-3, kernel=GlobalAlignment()))
    scores = [model.fit(Z, y).score(Z, y) for Z in (X, X[:, :, None], list(X))]
    assert min(scores) > 0.9
    assert np.ptp(scores) < 1e-12


def test_arrays_of_another_length_are_predicted(rng):
    """The number of times of an array is not a number of features."""
    X, new = rng.normal(size=(20, 12, 2)), rng.normal(size=(5, 9, 2))
    y = X[:, :, 0].mean(axis=1)
    for kernel in (GlobalAlignment(), Signature(lengthscale="median").normalize()):
        model = KernelRidge(kernel=kernel).fit(X, y)
        np.testing.assert_array_equal(model.predict(new), model.predict(list(new)))


def test_column_of_a_table(rng):
    pd = pytest.importorskip("pandas")
    X, _ = bumps(rng, 8)
    words = ["abab", "ab"] * 4
    table = pd.DataFrame({"signal": X, "word": words})
    kernel = GlobalAlignment(2.0).on("signal") * Spectrum(2).on("word")
    expected = GlobalAlignment(2.0)(X) * Spectrum(2)(words)
    np.testing.assert_allclose(kernel(table), expected, rtol=1e-14)
    p = kernel.properties
    assert p.domain.columns == {"signal", "word"}
    assert p.psd


@pytest.mark.parametrize("kernel", [GlobalAlignment(band=20), Signature(Gaussian("median"))])
def test_models_are_saved(rng, tmp_path, kernel):
    X, y = bumps(rng, 20)
    model = SVC(kernel=kernel).fit(X, y)
    save(model, tmp_path / "model")
    back = load(tmp_path / "model")
    assert back.kernel_ == model.kernel_
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))


@cache
def gun_point(folder):
    with np.load(folder / "timeseries" / "GunPoint.npz") as file:
        X, y, n = np.moveaxis(file["X"], 1, 2), file["y"], int(file["n_train"])
    return X[:n], y[:n], X[n:], y[n:]


def test_gun_point(shared_data):
    X, y, new, truth = gun_point(shared_data)
    kernel = GlobalAlignment().resolve(X)
    narrow = kernel.replace(lengthscale=kernel.lengthscale / 2)
    model = SVC(kernel=narrow, C=10).fit(X, y)
    assert model.score(new, truth) >= 0.99
