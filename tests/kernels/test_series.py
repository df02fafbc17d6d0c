"""Kernels on series against enumeration, tensors and closed forms."""

from functools import cache
from itertools import product
from math import exp, factorial, log, sqrt

import numpy as np
import pytest
from scipy.special import i0, j0
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer.kernels.series_vectors as series_vectors
from mercer import (
    SVC,
    DynamicTimeWarping,
    Gaussian,
    GlobalAlignment,
    KernelRidge,
    LagEmbedding,
    Linear,
    Matern,
    Polynomial,
    RegularizedFourier,
    Signature,
    Spectrum,
    load,
    parse,
    save,
)
from mercer.exceptions import DomainError, UnresolvedError
from mercer.gram.tiles import evaluate
from mercer.kernels.ragged import ragged
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
]


@pytest.fixture
def walks(rng):
    """Random walks of several lengths in the plane."""
    return [rng.normal(size=(n, 2)).cumsum(axis=0) for n in rng.integers(4, 40, 24)]


# ---- the container -------------------------------------------------------------------------------
def test_all_forms_hold_the_same_series(rng):
    X = rng.normal(size=(5, 7, 2))
    padded = np.full((5, 9, 2), np.nan)
    padded[:, :7] = X
    as_list = [x.tolist() for x in X]
    for form in (X, padded, list(X), as_list, tuple(X), [x.astype(object) for x in X]):
        P = ragged(form, "test")
        np.testing.assert_array_equal(P.values.reshape(5, 7, 2), X)
        np.testing.assert_array_equal(P.size, 7)
    single = X.astype(np.float32)[:, :, 0]
    columns = [x[:, None] for x in single]
    for form in (single, list(single), columns, single[:, :, None]):
        P = ragged(form, "test")
        assert P.values.dtype == np.float64
        assert P.channels == 1
        np.testing.assert_array_equal(P.values.ravel(), single.ravel())
    np.testing.assert_array_equal(ragged(np.arange(6).reshape(2, 3), "").values.ravel(), range(6))


def test_series_of_many_lengths_and_parts_of_them():
    X = [[1, 2, 3], [4, np.nan, np.nan], [5, 6]]
    P = ragged(X, "test")
    np.testing.assert_array_equal(P.size, [3, 1, 2])
    Q = P[[2, 0]]
    assert len(Q) == 2
    np.testing.assert_array_equal(Q.values[Q.start], [[5], [1]])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        ([[1.0, 2.0], [1.0, np.nan, 2.0]], "sample 1 holds NaN or infinity at time 1"),
        (np.array([[1.0, np.inf]]), "sample 0 holds NaN or infinity at time 1"),
        ([[[1.0, np.nan], [2.0, 3.0]]], "sample 0 holds NaN or infinity at time 0"),
        ([[1.0], []], "sample 1 is empty"),
        ([[np.nan, np.nan]], "sample 0 is empty"),
        (np.zeros((3, 0)), "sample 0 is empty"),
        ([np.zeros((3, 2)), np.zeros((3, 1))], "sample 1 has points of 1 channels"),
        ([np.zeros((3, 2, 1))], "sample 0 has 3 dimensions"),
        ([1.0, 2.0], "sample 0 has 0 dimensions"),
        (["abc"], "sample 0 is no series"),
        ("abc", "got a string"),
        (np.zeros(3), "wrap a single series"),
        ([], "no samples"),
    ],
)
def test_what_is_not_series_is_refused(X, words):
    with pytest.raises(DomainError, match=words):
        GlobalAlignment(1.0)(X)


def test_channels_must_agree(rng):
    X, Y = rng.normal(size=(3, 5, 2)), rng.normal(size=(3, 5, 1))
    for kernel in (GlobalAlignment(1.0), Signature(), LagEmbedding(Linear(), 2)):
        with pytest.raises(ValueError, match="2 channels, but the other sample has 1"):
            kernel(X, Y)


# ---- alignments ----------------------------------------------------------------------------------
def paths(m, n):
    """All alignments of m and n points, as lists of pairs."""
    if m == n == 1:
        return [[(0, 0)]]
    before = [(m - 1, n), (m, n - 1), (m - 1, n - 1)]
    return [p + [(m - 1, n - 1)] for a, b in before if a and b for p in paths(a, b)]


def squared(x, y):
    return np.sum((x[:, None] - y[None]) ** 2, axis=-1)


def enumerated(x, y, s, band=None):
    """The global alignment kernel, one alignment after the other."""
    e = np.exp(-squared(x, y) / (2 * s**2))
    if band:
        i, j = np.indices(e.shape)
        e = e * np.maximum(1 - abs(i - j) / band, 0)
    local = e / (2 - e)
    return sum(np.prod([local[c] for c in p]) for p in paths(len(x), len(y)))


@pytest.mark.parametrize("band", [None, 1, 2, 3, 9])
def test_global_alignment_is_the_sum_over_alignments(rng, band):
    X = [rng.normal(size=(n, 2)) for n in (1, 2, 3, 5, 6)]
    kernel = GlobalAlignment(lengthscale=1.3, band=band)
    K = np.array([[enumerated(x, y, 1.3, band) for y in X] for x in X])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(kernel.log_values(X), np.log(K), rtol=1e-13, atol=1e-13)
    d = np.sqrt(np.diagonal(K))
    np.testing.assert_allclose(kernel(X), K / d[:, None] / d, rtol=1e-13)
    np.testing.assert_allclose(kernel(X[:2], X[1:]), (K / d[:, None] / d)[:2, 1:], rtol=1e-13)


def test_reference_values():
    """Delannoy numbers, and the values in tslearn's documentation."""
    constant = [np.ones(n) for n in (1, 2, 3, 4, 5)]
    delannoy = np.exp(GlobalAlignment(1.0).log_values(constant))
    np.testing.assert_allclose(np.diagonal(delannoy), [1, 3, 13, 63, 321], rtol=1e-14)
    assert delannoy[4, 2] == pytest.approx(41, rel=1e-14)
    kernel = GlobalAlignment(2.0)
    x, y = [1, 2, 3], [1, 2, 2, 3]
    assert exp(kernel.log_values([x], [y])[0, 0]) == pytest.approx(15.358189998, rel=1e-9)
    assert kernel([x], [y])[0, 0] == pytest.approx(0.8393369079, rel=1e-9)
    assert kernel([[1, 2, 2, 3]], [[1, 2, 3, 4]])[0, 0] == pytest.approx(0.65629661, rel=1e-7)


def test_local_kernel_is_accurate_over_its_whole_range():
    """Series of one point: log K is log(e / (2 - e)), with e from the exponential function."""
    gap = np.concatenate([np.linspace(0, 60, 2000), [0, 1e-9, 37.63, 1e6]])
    got = GlobalAlignment(1.0).log_values(np.zeros((1, 1)), gap[:, None])[0]
    half = gap**2 / 2
    expected = -half - np.log1p(-np.expm1(-half))
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)
    K = GlobalAlignment(1.0)(np.zeros((1, 1)), gap[:, None])[0]
    np.testing.assert_allclose(K, np.exp(expected), rtol=1e-12, atol=1e-300)


def log_recursion(x, y, s):
    """log K by a recursion that never leaves logarithms."""
    a = squared(x, y) / (2 * s**2)
    local = -a - np.log(2 - np.exp(-a))
    A = np.full((len(x) + 1, len(y) + 1), -np.inf)
    A[0, 0] = 0
    for i in range(len(x)):
        for j in range(len(y)):
            A[i + 1, j + 1] = np.logaddexp(np.logaddexp(A[i, j + 1], A[i + 1, j]), A[i, j])
            A[i + 1, j + 1] += local[i, j]
    return A[-1, -1]


@pytest.mark.parametrize("s", [0.3, 2.0, 30.0])
def test_long_series_against_logarithms(rng, s):
    x, y = (rng.normal(size=(n, 1)).cumsum(axis=0) / 5 for n in (230, 310))
    got = GlobalAlignment(s).log_values([x], [y])[0, 0]
    assert got == pytest.approx(log_recursion(x, y, s), rel=1e-12)


def test_any_length_and_any_distance_without_nan(rng):
    long = rng.normal(size=10_000).cumsum() / 10
    X = [long, long[:2000], long[:5], rng.normal(size=2000), 1e8 * np.ones(40), long[:5] + 1e8]
    kernel = GlobalAlignment().resolve(X[:4])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        K = kernel(X)
        logs = kernel.log_values(X[1:4])
    assert np.all(np.isfinite(K))
    assert np.all((K >= 0) & (K <= 1))
    np.testing.assert_array_equal(np.diagonal(K), 1)
    np.testing.assert_array_equal(K[:4, 4:], 0)
    assert logs[0, 0] > 710  # K itself would be infinite
    beyond = kernel([1e200 * np.ones(3), -1e200 * np.ones(30), long[:7]])
    np.testing.assert_array_equal(beyond, np.eye(3))
    constant = GlobalAlignment(1.0).log_values([np.zeros(2000)])[0, 0]
    assert constant == pytest.approx(_log_delannoy(1999), rel=1e-12)


def test_narrow_kernels(rng):
    """Local kernels down to the smallest numbers, in all places."""
    kernel = GlobalAlignment(1.0)
    X = [rng.choice([0.0, 20.0, 37.0, 37.6], size=(n, 1)) for n in rng.integers(1, 7, 40)]
    logs = np.array([[log_recursion(x, y, 1.0) for y in X] for x in X])
    np.testing.assert_allclose(kernel.log_values(X), logs, rtol=1e-12, atol=1e-12)
    d = np.diagonal(logs) / 2
    K = kernel(X)
    np.testing.assert_allclose(K, np.exp(logs - d[:, None] - d), rtol=1e-10, atol=1e-305)
    assert np.count_nonzero((K > 0) & (K < 1e-250)) > 10


def _log_delannoy(n):
    """Central Delannoy numbers: n D(n) = 3 (2n - 1) D(n-1) - (n-1) D(n-2)."""
    ratio, total = 3.0, log(3.0)
    for k in range(2, n + 1):
        ratio = (3 * (2 * k - 1) - (k - 1) / ratio) / k
        total += log(ratio)
    return total


def test_median_rule(rng):
    X = [rng.normal(size=(n, 2)) for n in (3, 4, 8)]
    Z = np.concatenate(X)
    distance = np.median(np.sqrt(squared(Z, Z)[np.triu_indices(len(Z), 1)]))
    assert GlobalAlignment().resolve(X).lengthscale == pytest.approx(distance * sqrt(4))
    with pytest.raises(UnresolvedError, match="resolve"):
        GlobalAlignment()(X, X[:1])
    assert GlobalAlignment()([np.ones(3)])[0, 0] == 1  # no two distinct points


@pytest.mark.parametrize("band", [None, 5])
def test_global_alignment_is_strictly_positive_definite(rng, band):
    X = [rng.normal(size=n).cumsum() for n in rng.integers(1, 30, 60)]
    K = GlobalAlignment(1.0, band)(X)
    assert np.linalg.eigvalsh(K)[0] > 1e-6
    p = GlobalAlignment(1.0, band).properties
    assert p.strictly_pd
    assert p.characteristic
    assert p.universal
    assert p.bounded


def test_warping_is_the_smallest_alignment(rng):
    X = [rng.normal(size=(n, 2)) for n in (1, 2, 4, 5)] + [rng.normal(size=(37, 2))]
    for band in (None, 1, 3):
        got = DynamicTimeWarping(gamma=0.7, band=band).distances(X)
        for (i, x), (j, y) in product(enumerate(X[:4]), repeat=2):
            inside = [
                p for p in paths(len(x), len(y)) if not band or all(abs(a - b) < band for a, b in p)
            ]
            costs = [sum(squared(x, y)[c] for c in p) for p in inside]
            assert got[i, j] == pytest.approx(min(costs, default=np.inf), rel=1e-14)
        K = DynamicTimeWarping(gamma=0.7, band=band)(X)
        np.testing.assert_allclose(K, np.exp(-0.7 * got), rtol=1e-14)


def test_warping_is_not_said_to_be_a_kernel(walks):
    kernel = DynamicTimeWarping()
    assert kernel.properties.psd.unknown
    assert "not known to be a kernel" in kernel.explain()
    far = kernel.distances(walks)
    assert kernel.resolve(walks).gamma == pytest.approx(1 / np.median(far[far > 0]))
    assert not (kernel + GlobalAlignment(1.0)).properties.psd


# ---- signatures ----------------------------------------------------------------------------------
def tensors(path, order, depth):
    """The product of truncated exponentials of the increments, as arrays (Chen's identity)."""
    steps = np.diff(path, axis=0)
    d = steps.shape[1]
    S = [np.ones(())] + [np.zeros((d,) * k) for k in range(1, depth + 1)]
    for u in steps:
        E = [np.ones(())]
        for r in range(1, min(order, depth) + 1):
            E.append(np.multiply.outer(E[-1], u) / r)
        S = [
            sum(np.multiply.outer(S[k - r], E[r]) for r in range(min(k, len(E) - 1) + 1))
            for k in range(depth + 1)
        ]
    return S


def tensor_product(x, y, order, depth):
    pairs = zip(tensors(x, order, depth), tensors(y, order, depth), strict=True)
    return sum(float(np.sum(a * b)) for a, b in pairs)


@pytest.mark.parametrize(("order", "depth"), [(1, 4), (2, 4), (3, 5), (4, 4), (9, 3)])
def test_truncated_signature_against_tensors(rng, order, depth):
    X = [0.4 * rng.normal(size=(n, 2)).cumsum(axis=0) for n in (1, 2, 3, 6, 20)]
    expected = [[tensor_product(x, y, order, depth) for y in X] for x in X]
    np.testing.assert_allclose(Signature(order=order, depth=depth)(X), expected, rtol=1e-13)
    lifted = Signature(Linear(), order=order, depth=depth)
    np.testing.assert_allclose(lifted(X), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_all_levels_are_the_limit_of_many(rng, order):
    X = [0.3 * rng.normal(size=(n, 3)).cumsum(axis=0) for n in (2, 17, 18, 40)]
    many = Signature(order=order, depth=60)(X)
    np.testing.assert_allclose(Signature(order=order)(X), many, rtol=1e-13)


@pytest.mark.parametrize(("scale", "expected"), [(1.0, i0(2.0)), (-1.0, j0(2.0))])
def test_straight_lines(scale, expected):
    """<u, v> = 1 and -1: Bessel functions."""
    assert expected == pytest.approx({1.0: 2.2795853023, -1.0: 0.2238907791}[scale], abs=1e-10)
    x = np.linspace(0, 1, 2)[:, None] * [0.6, 0.8]
    for pieces in (1, 7, 40):
        y = scale * np.linspace(0, 1, pieces + 1)[:, None] * [0.6, 0.8]
        errors = [abs(Signature(order=p)([x], [y])[0, 0] - expected) for p in (1, 2, 4, 12)]
        assert errors[-1] < 1e-14
        assert sorted(errors, reverse=True) == errors


def test_time_does_not_matter_unless_it_is_added(rng):
    x = rng.normal(size=(6, 2)).cumsum(axis=0) / 2
    t = np.sort(np.concatenate([np.arange(6), rng.uniform(0, 5, 30)]))
    finer = np.stack([np.interp(t, np.arange(6), c) for c in x.T], axis=1)
    for kernel in (Signature(order=15), Signature(Linear(), order=15), Signature(order=6, depth=6)):
        K = kernel([x, finer, finer + 7])
        np.testing.assert_allclose(K, K[0, 0], rtol=1e-12)
    K = Signature(order=15, add_time=True)([x, finer])
    assert abs(K[0, 0] - K[0, 1]) > 1e-3


def test_lifted_path_is_the_path_of_features(rng):
    """With the explicit features of a polynomial kernel on the line: 1, sqrt2 x, x^2."""
    X = [0.3 * rng.normal(size=n).cumsum() for n in (4, 9, 21)]
    features = [np.stack([np.sqrt(2) * x, x**2], axis=1) for x in X]
    for order, depth in ((3, None), (2, 4)):
        K = Signature(Polynomial(degree=2, offset=1.0), order=order, depth=depth)(X)
        np.testing.assert_allclose(K, Signature(order=order, depth=depth)(features), rtol=1e-12)


def test_lifted_in_groups(rng, monkeypatch):
    import mercer.kernels.signature as signature

    X = [rng.normal(size=(n, 2)) for n in (3, 5, 2, 8, 1, 6)]
    kernel = Signature(Gaussian(1.0))
    whole, cross = kernel(X), kernel(X[:4], X[1:])
    monkeypatch.setattr(signature, "_VALUES", 130)  # two of at most 8 points
    np.testing.assert_allclose(kernel(X), whole, rtol=1e-13)
    np.testing.assert_allclose(kernel(X[:4], X[1:]), cross, rtol=1e-13)
    np.testing.assert_allclose(cross, whole[:4, 1:], rtol=1e-13)


def test_augmented_paths(rng):
    X = [rng.normal(size=(n, 1)) for n in (2, 5, 9)]
    by_hand = []
    for x in X:
        timed = np.hstack([x / 2, np.linspace(0, 1, len(x))[:, None]])
        by_hand.append(np.vstack([np.zeros(2), timed]))
    K = Signature(lengthscale=2.0, add_time=True, basepoint=True)(X)
    np.testing.assert_allclose(K, Signature()(by_hand), rtol=1e-14)
    one = Signature(add_time=True)([[3.0], [3.0, 4.0]])
    assert one[0, 0] == one[0, 1] == 1


@pytest.mark.parametrize("kernel", [Signature(), Signature(Gaussian("median")), Signature(depth=4)])
def test_signature_is_positive_semidefinite_to_rounding(rng, kernel):
    X = rng.normal(size=(200, 35, 3)).cumsum(axis=1) / 15
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] > -1e-13 * np.linalg.norm(K, 2)


def test_signature_median_and_overflow(rng):
    X = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in (30, 40, 50)]
    for options in ({}, {"add_time": True}, {"depth": 2}, {"basepoint": True}):
        kernel = Signature(lengthscale="median", **options).resolve(X)
        assert np.median(np.diagonal(kernel(X))) == pytest.approx(10, rel=0.02)
    assert Signature(lengthscale="median").resolve([np.ones(4)]).lengthscale == 1
    loop = Signature(lengthscale="median", depth=1).resolve([[0.0, 1.0, 0.0]])
    assert np.isfinite(loop.lengthscale)
    with pytest.raises(ValueError, match="not lifted by a kernel"):
        Signature(Gaussian(), lengthscale="median")(X)
    with pytest.raises(ValueError, match='set lengthscale="median"'):
        Signature()([1e6 * x for x in X])
    K = Signature(lengthscale="median")([1e6 * x for x in X])
    np.testing.assert_allclose(K, Signature(lengthscale="median")(X), rtol=1e-9)


def test_signature_properties():
    assert Signature(depth=3).properties.finite_dim
    assert Signature().properties.strictly_pd.no
    assert Signature(add_time=True).properties.characteristic.no
    assert Signature(add_time=True, basepoint=True).properties.strictly_pd.unknown
    assert Signature(Matern()).properties.continuous
    assert "truncated" in Signature().explain()


# ---- windows and angles --------------------------------------------------------------------------
@pytest.mark.parametrize(("window", "stride"), [(1, 1), (3, 1), (3, 2), (4, 5)])
def test_lag_embedding_is_a_mean_over_windows(rng, monkeypatch, window, stride):
    X = [rng.normal(size=(n, 2)) for n in (4, 5, 9, 30)]
    inner = Gaussian(1.5)
    W = [
        np.array([x[t : t + window].ravel() for t in range(0, len(x) - window + 1, stride)])
        for x in X
    ]
    expected = [[inner(a, b).mean() for b in W] for a in W]
    kernel = LagEmbedding(inner, window, stride)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)
    monkeypatch.setattr(series_vectors, "_WINDOWS", 7)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)


def test_lag_embedding_refuses_short_series():
    with pytest.raises(DomainError, match="sample 1 has 2 points, fewer than window=3"):
        LagEmbedding(Gaussian(), 3)([[1, 2, 3], [1, 2]])
    assert LagEmbedding(Gaussian(), 3).properties.characteristic.no


def test_regularized_fourier(rng):
    X = rng.normal(size=(6, 4, 2))
    q = 0.6
    expected = np.ones((6, 6))
    for t, c in product(range(4), range(2)):
        gap = X[:, None, t, c] - X[None, :, t, c]
        waves = 0.5 + sum(q**l * np.cos(l * gap) for l in range(1, 120))
        np.testing.assert_allclose(
            waves, (1 - q**2) / (2 * (1 - 2 * q * np.cos(gap) + q**2)), rtol=1e-12
        )
        expected *= waves / ((1 + q) / (2 * (1 - q)))
    np.testing.assert_allclose(RegularizedFourier(q)(X), expected, rtol=1e-12)
    check_kernel(RegularizedFourier(q), X)
    with pytest.raises(DomainError, match="samples 0 and 1 hold 2 and 3"):
        RegularizedFourier()([[1, 2], [1, 2, 3]])
    with pytest.raises(DomainError, match="the two samples hold 8 and 6"):
        RegularizedFourier()(X, X[:, :3])
    with pytest.raises(ValueError, match="between 0 and 1"):
        RegularizedFourier(1.0)


# ---- all of them ---------------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_keeps_all_promises(kernel, walks):
    check_kernel(kernel, walks)
    assert parse(repr(kernel)) == kernel
    assert "series of points in R^d" in kernel.explain()


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


def test_pipelines_and_arrays(rng):
    X = rng.normal(size=(30, 12)).cumsum(axis=1)
    X[:, -1] = np.nan
    y = X[:, -2] - X[:, 0]
    model = make_pipeline(KernelRidge(alpha=1e-3, kernel=GlobalAlignment()))
    scores = [model.fit(Z, y).score(Z, y) for Z in (X, X[:, :, None], list(X))]
    assert min(scores) > 0.9
    assert np.ptp(scores) < 1e-12


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


def test_exponents_of_the_reference():
    """The tensors of the tests: a single segment has u^r / r! at level r."""
    S = tensors(np.array([[0.0], [2.0]]), 5, 4)
    np.testing.assert_allclose([float(s.sum()) for s in S], [2**k / factorial(k) for k in range(5)])
