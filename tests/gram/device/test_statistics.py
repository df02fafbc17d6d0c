"""Tests of samples on a device give what they give on the processor."""

import numpy as np
import pytest

from mercer import (
    Constant,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Plan,
    RationalQuadratic,
    Spectrum,
    independence_test,
    two_sample_test,
)
from mercer.exceptions import DeviceWarning
from mercer.stats.bank import Bank
from mercer.stats.device_sums import device_sums, landmark_values
from mercer.stats.landmarks import value_sums
from mercer.stats.planned import bank_of

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
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


@pytest.mark.parametrize("chunk", [7, 1000])
def test_values_with_landmarks(rng, monkeypatch, chunk):
    monkeypatch.setattr("mercer.stats.device_sums._CHUNK", chunk)
    X, Z, order = rng.standard_normal((50, 2)), rng.standard_normal((6, 2)), rng.permutation(50)
    size = np.array([1, 10, 4, 25, 10])
    kernels = [Gaussian(1.0), Matern(2.0) * 3, 1e9 * Laplacian(1.0)]
    found = landmark_values(kernels, Z, X, size, order, "torch-cpu")
    expected = value_sums(kernels, Z, X, size, order)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


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
