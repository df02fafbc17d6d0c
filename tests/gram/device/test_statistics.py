"""Tests of samples on a device give what they give on the processor."""

import numpy as np
import pytest

from mercer import (
    Constant,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Plan,
    Polynomial,
    RationalQuadratic,
    Spectrum,
    independence_test,
    kernel_grid,
    stream,
    two_sample_test,
)
from mercer.exceptions import DeviceWarning
from mercer.stats.bank import Bank
from mercer.stats.device_sums import device_sums, landmark_values
from mercer.stats.landmarks import value_sums
from mercer.stats.planned import bank_of

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
from mercer.gram.device.distances import Distances  # noqa: E402

DEVICE = Plan(device="torch-cpu")


def same(test, *args, rtol=1e-4, **options):
    here, there = (test(*args, rng=0, plan=plan, **options) for plan in (None, DEVICE))
    assert there.statistic == pytest.approx(here.statistic, rel=rtol, abs=1e-7)
    assert there.pvalue == here.pvalue
    assert "torch-cpu" in there.computation
    return there


@pytest.fixture
def pair(rng):
    return rng.standard_normal((60, 2)), 1.1 * rng.standard_normal((45, 2)) + 0.2


KERNELS = [
    Gaussian(1.0),
    2 * Gaussian([0.5, 1.0]) * Matern(2.0) + RationalQuadratic(1.0),
    Gaussian(50.0),  # differences are small: in double precision
    1e-9 * Gaussian(1.0),
    Laplacian(1.0) + 1e7,
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sums_are_those_of_k(kernel, pair, rng, route):
    X, order = np.vstack(pair), rng.permutation(105)
    bank = bank_of([kernel], X, order, DEVICE)
    assert bank.device == "torch-cpu"
    weights = rng.standard_normal((35, 4)).astype(np.float32)
    unit = np.sort(rng.integers(0, 35, 105))
    (found,) = device_sums(bank, weights, unit)
    K = kernel(X[order]) / bank.scale[0]
    np.fill_diagonal(K, 0)
    V = weights[unit].astype(float)
    np.testing.assert_allclose(found.rows, K.sum(axis=1), rtol=1e-5)
    assert found.squares == pytest.approx(float((K**2).sum()), rel=1e-5)
    expected, size = ((np.abs(V) if absolute else V) for absolute in (False, True))
    bound = 2e-6 * np.einsum("ic,ij,jc->c", size, K, size).max()
    np.testing.assert_allclose(
        found.quadratic, np.einsum("ic,ij,jc->c", expected, K, expected), rtol=0, atol=bound
    )


def test_where_triton_fails_sums_are_plain(pair, interpreter, monkeypatch):
    def broken(source, name):
        raise RuntimeError("no compiler")

    monkeypatch.setattr("mercer.gram.device.triton_.compiled", broken)
    options = {"rng": 0, "n_permutations": 19}
    with pytest.warns(DeviceWarning, match="no compiler"):
        found = two_sample_test(*pair, [Gaussian(1.0), Matern(2.0)], plan=DEVICE, **options)
    assert found.pvalue == two_sample_test(*pair, [Gaussian(1.0), Matern(2.0)], **options).pvalue


@pytest.mark.parametrize("kernel", [Gaussian("median"), None], ids=repr)
@pytest.mark.parametrize("options", [{}, {"bins": 40}, {"blocks": 5}], ids=str)
def test_two_samples(pair, kernel, options, route):
    same(two_sample_test, *pair, kernel, n_permutations=19, **options)


def test_landmarks(pair, rng):
    X, Y = rng.standard_normal((700, 2)), 1.1 * rng.standard_normal((600, 2))
    here, there = (
        two_sample_test(X, Y, rng=0, n_permutations=19, landmarks=20, bins=60, plan=plan)
        for plan in (None, DEVICE)
    )
    assert there.pvalue == here.pvalue
    assert there.statistic == pytest.approx(here.statistic, rel=1e-3)


SEEN = [
    Gaussian(1.0),
    Gaussian([0.5, 1.0]),
    Matern(2.0) * 3,
    Gaussian(0.3) + 2 * RationalQuadratic(1.0),  # whose distances those of the first are
    Laplacian(2.0),
    1e9 * Laplacian(1.0),
    Exponential(0.1) * Gaussian(1.0),
    (Polynomial(degree=2) + 1).normalize(),  # of which coordinates are asked for
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("entries", [40, 2**20])
def test_values_with_landmarks(rng, monkeypatch, entries, dtype):
    monkeypatch.setattr("mercer.gram.device.torch_._ENTRIES", entries)
    monkeypatch.setattr("mercer.stats.device_sums._PIECE", 8)
    X = rng.standard_normal((50, 2)).astype(dtype)
    size, order = np.array([1, 10, 4, 0, 25, 10, 0]), rng.permutation(50)
    found = landmark_values(SEEN, X[:6], X, size, order, "torch-cpu")
    unit = np.repeat(np.arange(7), size) == np.arange(7)[:, None]
    double = X.astype(np.float64)
    expected = [unit @ kernel(double[order], double[:6]) for kernel in SEEN]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(found, value_sums(SEEN, X[:6], X, size, order), rtol=1e-5)


def test_samples_in_chunks(rng):
    X, Y = rng.standard_normal((700, 2)), 1.1 * rng.standard_normal((600, 2))
    chunks = [stream(X, rows=150), stream(Y, rows=220)]
    options = {"landmarks": 20, "bins": 60, "n_permutations": 99, "rng": 0}
    here, there = (two_sample_test(*chunks, plan=plan, **options) for plan in (None, DEVICE))
    assert there.pvalue == here.pvalue
    assert there.statistic == pytest.approx(here.statistic, rel=1e-3)
    assert "kernel values on torch-cpu" in there.computation


def test_distances_that_kernels_share_are_computed_once(rng, monkeypatch):
    X, computed = rng.standard_normal((300, 3)).astype(np.float32), []
    tile = Distances.__call__
    monkeypatch.setattr(Distances, "__call__", lambda *at: computed.append(at) or tile(*at))
    kernels = kernel_grid(X, 5, rng=0)
    landmark_values(kernels, X[:20], X, np.full(3, 100), np.arange(300), "torch-cpu")
    assert len(computed) == 2  # squared ones, and sums of absolute differences


def test_numbers_that_are_none_are_named(rng):
    X = rng.standard_normal((50, 2))
    X[30, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN|nan|finite"):
        landmark_values([Gaussian(1.0)], X[:6], X, np.full(5, 10), np.arange(50), "torch-cpu")


@pytest.mark.parametrize("kernel", [None, Gaussian(1.0), [Laplacian(1.0), Matern(2.0)]], ids=repr)
def test_many_samples_through_landmarks(rng, kernel):
    X = rng.standard_normal((1500, 3)).astype(np.float32)
    Y = (1.06 * rng.standard_normal((1200, 3))).astype(np.float32)
    options = {"landmarks": 30, "bins": 60, "n_permutations": 99, "rng": 0}
    here, there = (two_sample_test(X, Y, kernel, plan=plan, **options) for plan in (None, DEVICE))
    assert there.pvalue == here.pvalue
    assert there.statistic == pytest.approx(here.statistic, rel=1e-3)
    assert "torch-cpu" in there.computation


@pytest.mark.parametrize("kernels", [[Gaussian(1.0), 2 * Laplacian(1.0)], None], ids=repr)
@pytest.mark.parametrize(("n", "count"), [(203, 49), (60, 99)])
def test_independence(rng, kernels, n, count):
    X = rng.standard_normal((n, 2))
    Y = X**2 + 3 * rng.standard_normal((n, 2))
    same(independence_test, X, Y, kernels=kernels, n_permutations=count)


def test_what_a_device_cannot_do_is_done_here(pair):
    words = ["ab", "ba", "aab", "bab", "abab", "bb", "baa", "bba"]
    with pytest.warns(DeviceWarning, match="formula"):
        found = two_sample_test(
            words, words[::-1], Spectrum(2), rng=0, n_permutations=9, plan=DEVICE
        )
    assert found.pvalue > 0.5
    X = np.vstack(pair)
    assert bank_of([Gaussian(1.0), Constant(2.0)], X, None, DEVICE).device == "cpu"
    assert (
        bank_of([Gaussian(1.0)], X, None, Plan(device="torch-cpu", storage="tiled")).device == "cpu"
    )
    assert two_sample_test(*pair, Linear(), rng=0, plan=DEVICE).pvalue == pytest.approx(
        two_sample_test(*pair, Linear(), rng=0).pvalue
    )


def test_formulas_of_a_bank(pair):
    bank = Bank([Gaussian(1.0), Constant(1.0), 1e7 * Gaussian(2.0) + 1], pair[0])
    assert bank.formula(0) is not None
    assert bank.formula(1) is None
    assert list(bank.single()) == [True, True, False]
