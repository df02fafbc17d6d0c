"""COCO, canonical correlations and NOCCO as statistics of a test, against the functions."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom

from mercer import (
    Gaussian,
    Linear,
    Spectrum,
    cka,
    coco,
    independence_test,
    kernel_canonical_correlation,
    nocco,
)
from mercer.stats.independence_measures import MEASURES, PermutedMeasure
from mercer.stats.permutations import exchange
from mercer.stats.variables import Variables

DIRECT = {
    "coco": lambda X, Y, kx, ky, r: coco(X, Y, kx, ky).value,
    "kcca": lambda X, Y, kx, ky, r: kernel_canonical_correlation(
        X, Y, kernels=[kx, ky], regularization=r
    ),
    "nocco": lambda X, Y, kx, ky, r: nocco(X, Y, kx, ky, regularization=r),
}
PENALTY = {"coco": None, "kcca": 0.02, "nocco": 1e-3}


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((40, 2))
    return X, np.c_[X[:, :1] ** 2, rng.standard_normal((40, 1))] + 0.3 * rng.standard_normal(
        (40, 2)
    )


def permuted(X, Y, kernels, measure, penalty, rng, **options):
    joint = Variables(X, Y)
    return PermutedMeasure(
        joint, [[k] for k in kernels], exchange(len(X), **options), measure=measure,
        regularization=penalty or 0.0, n_permutations=50, rng=rng,
    )  # fmt: skip


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kernels", [(Gaussian(0.8), Gaussian(1.5)), (Gaussian(), Linear())])
def test_statistics_are_those_of_the_functions_on_permuted_data(measure, kernels, pair, rng):
    X, Y = pair
    penalty = PENALTY[measure]
    found = permuted(X, Y, kernels, measure, penalty, rng)
    orders = [np.arange(40), *(rng.permutation(40) for _ in range(3))]
    direct = [DIRECT[measure](X, Y[p], *kernels, penalty) for p in orders]
    assert found._under(np.array(orders))[0] == pytest.approx(direct, rel=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_pvalue_is_the_share_of_all_permutations(measure, rng):
    """Six observations: all 720 permutations."""
    X, Y = rng.standard_normal((2, 6, 1))
    k, penalty = Gaussian(), PENALTY[measure]
    all_values = permuted(X, Y, (k, k), measure, penalty, rng)
    every = all_values._under(np.array(list(permutations(range(6)))))[0]
    share = np.mean(every >= every[0] * (1 - 1e-9))
    found = independence_test(
        X, Y, kernels=k, statistic=measure, regularization=penalty, n_permutations=2000, rng=0
    )
    assert found.statistic == pytest.approx(DIRECT[measure](X, Y, k, k, penalty), rel=1e-6)
    low, high = binom.ppf([0.001, 0.999], 2000, share) / 2000
    assert low - 1e-3 <= found.pvalue <= high + 1e-3


def test_linear_kernels_give_canonical_correlations(pair):
    X, Y = pair
    found = independence_test(
        X, Y, kernels=Linear(), statistic="kcca", regularization=1e-10, n_permutations=99, rng=0
    )
    Q, R = (np.linalg.qr(Z - Z.mean(axis=0))[0] for Z in pair)
    rho = np.linalg.svd(Q.T @ R, compute_uv=False)
    assert found.statistic == pytest.approx(rho[0])
    total = independence_test(
        X, Y, kernels=Linear(), statistic="nocco", regularization=1e-10, n_permutations=9, rng=0
    )
    assert total.statistic == pytest.approx(np.sum(rho**2))
    assert np.all((found.null >= 0) & (found.null <= 1))


@pytest.mark.parametrize("measure", MEASURES)
def test_level_with_19_permutations(measure, rng):
    """Under independence one in twenty p-values is 1/20."""
    count = 0
    for _ in range(200):
        x, y = rng.standard_normal((2, 20))
        found = independence_test(
            x, y, kernels=Gaussian(), statistic=measure, n_permutations=19, rng=rng
        )
        count += found.pvalue <= 0.05
    assert binom.ppf(0.001, 200, 0.05) <= count <= binom.ppf(0.999, 200, 0.05)


@pytest.mark.parametrize("measure", MEASURES)
def test_dependence_is_found(measure, rng):
    x = rng.uniform(-2, 2, 150)
    y = x**2 + 0.3 * rng.standard_normal(150)
    found = independence_test(x, y, statistic=measure, n_permutations=99, rng=0)
    assert found.pvalue == 0.01
    assert len(found.details[measure]) == 9
    assert MEASURES[measure] in found.method


def test_alignment_needs_no_test_of_its_own(pair):
    """CKA is the biased HSIC divided by what no permutation changes."""
    X, Y = pair
    k = Gaussian()
    test = independence_test(X, Y, kernels=k, statistic="v", n_permutations=199, rng=0)
    ratios = [
        cka(X, Y[p], k, k) / independence_test(
            X, Y[p], kernels=k, statistic="v", n_permutations=1, rng=0
        ).statistic
        for p in (np.arange(40), np.arange(40)[::-1])
    ]  # fmt: skip
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-5)
    assert test.pvalue == pytest.approx(0.05, abs=0.05)


def test_groups_and_blocks_stay_together(pair, rng):
    X, Y = pair
    groups = np.repeat([0, 1], 20)
    found = permuted(X, Y, (Gaussian(), Gaussian()), "coco", None, rng, groups=groups)
    seen = found.draw(5)[0]
    orders = found.units.positions(5, np.random.default_rng(0))
    assert np.all(orders[:, :20] < 20)
    assert seen.shape == (5,)
    result = independence_test(
        X, Y, kernels=Gaussian(), statistic="nocco", blocks=4, n_permutations=49, rng=0
    )
    assert result.n_permutations == 49


def test_early_stop_and_threads(pair):
    from mercer import Plan

    X, Y = pair
    options = {"kernels": Gaussian(), "statistic": "kcca", "n_permutations": 499, "rng": 0}
    noise = np.random.default_rng(5).standard_normal(40)
    stopped = independence_test(X, noise, stop_after=10, **options)
    assert stopped.n_permutations < 499
    one, two = (independence_test(X, Y, plan=Plan(workers=w), **options) for w in (1, 2))
    assert np.array_equal(one.null, two.null)


def test_any_data(rng):
    words = ["aab", "aaa", "aba", "bbb", "bab", "bba"] * 5
    y = np.array([1.0, 1.1, 0.9, -1.0, -0.8, -1.2] * 5) + 0.1 * rng.standard_normal(30)
    for measure in MEASURES:
        found = independence_test(
            words, y, kernels=[Spectrum(1), Gaussian("median")], statistic=measure,
            n_permutations=99, rng=0,
        )  # fmt: skip
        assert found.pvalue == 0.01


def test_few_columns_say_so(monkeypatch, rng):
    """Where factors of full rank would take too long, they are cut, and the result says so."""
    from mercer.stats import independence_measures

    monkeypatch.setattr(independence_measures, "_WORK", 1e5)
    X, Y = rng.standard_normal((2, 60, 8))
    found = independence_test(X, Y, kernels=Gaussian(), statistic="nocco", n_permutations=9, rng=0)
    assert "factors of 20 columns" in found.notes[-1]
    assert found.statistic < nocco(X, Y, Gaussian(), Gaussian())


def test_constant_variable(rng):
    found = independence_test(
        np.ones(20), rng.standard_normal(20), kernels=Gaussian(), statistic="coco", rng=0
    )
    assert found.pvalue == 1.0
    assert "constant" in found.notes[-1]


def test_bad_input(pair):
    X, Y = pair
    with pytest.raises(ValueError, match="statistic must be"):
        independence_test(X, Y, statistic="cca")
    with pytest.raises(ValueError, match='statistic must be "v"'):
        independence_test(X, Y, X, statistic="coco")
    with pytest.raises(ValueError, match="statistic must be"):
        independence_test(X, Y, kernels=Gaussian(), statistic="coco", null="spectrum")
    with pytest.raises(ValueError, match="at random"):
        independence_test(X, Y, statistic="coco", permutations="cyclic")
    with pytest.raises(ValueError, match="regularization is for"):
        independence_test(X, Y, statistic="coco", regularization=0.1)
    with pytest.raises(ValueError, match="regularization must be > 0"):
        independence_test(X, Y, statistic="kcca", regularization=0.0)
    with pytest.raises(ValueError, match="nothing can be permuted"):
        independence_test(X, Y, statistic="kcca", blocks=40)
