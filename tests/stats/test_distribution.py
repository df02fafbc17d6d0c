"""Tests against distributions: closed forms, simulation, families, other data, errors."""

import numpy as np
import pytest
from scipy import stats

import mercer
from mercer import Gaussian, Laplacian, Spectrum, distribution_test, mmd, mmd_to


def test_discrepancy_to_a_distribution_is_the_limit_of_that_to_samples(rng):
    x = rng.normal(0.5, 1, 200)
    k = Gaussian(0.8)
    many = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    for biased in (True, False):
        exact = mmd_to(x, stats.norm(0, 1), k, biased=biased)
        inside = k(x[:, None])
        own = inside.mean() if biased else (inside.sum() - 200) / (200 * 199)
        brute = own - 2 * k(x[:, None], many[:, None]).mean() + k(many[:, None]).mean()
        assert exact == pytest.approx(brute, abs=1e-6)
    assert mmd_to(x, stats.norm(0, 1), k) == pytest.approx(mmd(x, many, k), abs=5e-3)


def test_statistic_of_one_kernel(rng):
    x = rng.normal(size=50)
    found = distribution_test(x, stats.norm(0, 1), Gaussian(1.0), rng=0, n_draws=19)
    assert found.statistic == pytest.approx(mmd_to(x, stats.norm(0, 1), Gaussian(1.0), biased=True))
    assert len(found.null) == 19
    assert "norm(0, 1)" in found.hypothesis


@pytest.mark.parametrize(
    ("family", "draw", "other"),
    [
        (stats.norm, lambda r: r.normal(5, 3, 100), lambda r: r.exponential(2, 100)),
        (stats.expon, lambda r: r.exponential(3, 100), lambda r: r.uniform(0, 1, 100)),
        ("normal", lambda r: r.normal(5, 3, (100, 2)), lambda r: r.standard_t(1.5, (100, 2))),
    ],
)
def test_families(rng, family, draw, other):
    options = {"n_draws": 39, "rng": 0}
    assert distribution_test(draw(rng), family, **options).pvalue > 0.05
    assert distribution_test(other(rng), family, **options).pvalue < 0.05


def test_units_do_not_matter_to_a_family_of_locations_and_scales(rng):
    x = rng.standard_t(4, 60)
    one, other = (distribution_test(v, stats.norm, n_draws=19, rng=0) for v in (x, 1e4 + 50 * x))
    assert one.pvalue == other.pvalue
    assert one.statistic == pytest.approx(other.statistic, rel=1e-6)


def test_many_variables_mixtures_and_kernels_without_closed_forms(rng):
    X = rng.normal(size=(60, 2))
    normal = (np.zeros(2), np.eye(2))
    options = {"n_draws": 39, "rng": 0}
    assert distribution_test(X, normal, **options).pvalue > 0.05
    assert distribution_test(X + 1, normal, Laplacian("median"), **options).pvalue < 0.05
    mixture = mercer.NormalMixture([0.5, 0.5], [[-3.0], [3.0]], [np.eye(1)] * 2)
    x = np.concatenate([rng.normal(-3, 1, 30), rng.normal(3, 1, 30)])
    assert distribution_test(x, mixture, **options).pvalue > 0.05
    assert distribution_test(x, stats.norm(0, 3), **options).pvalue < 0.05


class Coins:
    """Words of independent letters, and how to fit them."""

    def __init__(self, words):
        self.share = np.mean([letter == "a" for word in words for letter in word])

    def rvs(self, size, random_state):
        letters = random_state.random((size, 8)) < self.share
        return ["".join("a" if a else "b" for a in row) for row in letters]


def test_models_of_strings(rng):
    words = Coins(["aab"]).rvs(60, rng)
    assert distribution_test(words, Coins, Spectrum(2), n_draws=39, rng=0).pvalue > 0.05
    runs = ["aaaabbbb"] * 30 + ["bbbbaaaa"] * 30
    assert distribution_test(runs, Coins, Spectrum(2), n_draws=39, rng=0).pvalue < 0.05


def test_results_are_saved(rng, tmp_path):
    found = distribution_test(rng.normal(size=30), stats.norm, n_draws=19, rng=0)
    mercer.save(found, tmp_path / "found.mercer")
    again = mercer.load(tmp_path / "found.mercer")
    assert again.pvalue == found.pvalue
    assert again.details["distribution"].mean() == found.details["distribution"].mean()


def test_errors(rng):
    x = rng.normal(size=30)
    with pytest.raises(ValueError, match="n_draws"):
        distribution_test(x, stats.norm, n_draws=0)
    with pytest.raises(ValueError, match='"normal"'):
        distribution_test(x, "gamma")
    with pytest.raises(TypeError, match="got a int"):
        distribution_test(x, 3)
    with pytest.raises(ValueError, match="at least 4"):
        distribution_test(x[:3], stats.norm)
    with pytest.raises(ValueError, match="singular"):
        distribution_test(np.column_stack([x, x]), "normal")
    with pytest.raises(TypeError, match="rvs"):
        distribution_test(x, lambda sample: 0)
    with pytest.raises(ValueError, match="at least 2"):
        mmd_to(x[:1], stats.norm(0, 1), Gaussian())
