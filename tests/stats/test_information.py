"""Kernel mutual information: determinants and tables of counts by hand, limits, bounds, errors."""

import numpy as np
import pytest

from mercer import (
    Categorical,
    Gaussian,
    Linear,
    coco,
    kernel_mutual_information,
    parzen_mutual_information,
)

SAME = [Categorical()] * 2


def table(*counts):
    """Two variables with labels 0 and 1, by the number of each pair."""
    pairs = np.repeat([(0, 0), (0, 1), (1, 0), (1, 1)], counts, axis=0)
    return [list(map(str, column)) for column in pairs.T]


@pytest.mark.parametrize("scale", ["trace", "rows"])
def test_is_the_determinant(rng, scale):
    x, e = rng.normal(size=(2, 30))
    y = 0.2 * x + e
    kernels = Gaussian(2.0), Gaussian(3.0)
    K, L = (k(v) for k, v in zip(kernels, (x, y), strict=True))
    nu = [np.trace(M) if scale == "trace" else min(map(sum, M)) for M in (K, L)]
    H = np.eye(30) - 1 / 30
    by_hand = -0.5 * np.log(np.linalg.det(np.eye(30) - H @ K @ H @ L / nu[0] / nu[1]))
    assert kernel_mutual_information(x, y, *kernels, scale=scale) == pytest.approx(by_hand)


def test_is_a_sum_over_the_spectrum_of_coco(rng):
    x, y = rng.normal(size=(2, 40))
    spectrum = coco(x, y, Gaussian(), Gaussian()).spectrum
    found = kernel_mutual_information(x, y, Gaussian(), Gaussian())
    assert found == pytest.approx(-0.5 * np.log(np.prod(1 - spectrum**2)))


def test_labels_by_hand():
    """Equality has centred matrices 2 (u - mean) (u - mean)' of the indicator u of one label."""
    x, y = table(40, 20, 10, 30)
    u, v = (np.array(labels) == "1" for labels in (x, y))
    square = 4 * (100 * np.cov(u, v, bias=True)[0, 1]) ** 2
    least = 40 * 50  # the rarer label of x, and of y
    found = kernel_mutual_information(x, y, *SAME, scale="rows")
    assert found == pytest.approx(-0.5 * np.log(1 - square / least))
    found = kernel_mutual_information(x, y, *SAME)
    assert found == pytest.approx(-0.5 * np.log(1 - square / 100**2))
    r = np.corrcoef(u, v)[0, 1]
    found = parzen_mutual_information(x, y, *SAME)
    assert found == pytest.approx(-0.5 * np.log(1 - r**2), rel=1e-9)


@pytest.mark.parametrize("counts", [(26, 24, 24, 26), (30, 20, 20, 30), (40, 20, 15, 25)])
def test_row_sums_bound_the_mutual_information_of_a_table(counts):
    """Windows of equality smooth nothing: what is bounded is the information of the table."""
    p = np.reshape(counts, (2, 2)) / sum(counts)
    truth = np.sum(p * np.log(p / np.outer(p.sum(axis=1), p.sum(axis=0))))
    x, y = table(*counts)
    upper = kernel_mutual_information(x, y, *SAME, scale="rows")
    assert truth <= parzen_mutual_information(x, y, *SAME) <= upper * (1 + 1e-9)


def test_far_from_independence_row_sums_bound_nothing(rng):
    x = rng.normal(size=50)
    assert kernel_mutual_information(x, x, scale="rows") == np.inf
    assert np.isfinite(kernel_mutual_information(x, x))


def test_smoothed_normal_variables(rng):
    """A window of width 1 at x, on a grid of normal samples, is N(x / 2, 1 / 2)."""
    x, e = rng.normal(size=(2, 1000))
    for r in (0.6, 0.9):
        y = r * x + np.sqrt(1 - r**2) * e
        smoothed = r / 3  # the canonical correlations of normal variables are its powers
        limit = -0.5 * sum(np.log(1 - smoothed ** (2 * i)) for i in range(1, 20))
        found = parzen_mutual_information(x, y, Gaussian(), Gaussian())
        assert found == pytest.approx(limit, rel=0.15)


def test_grows_with_dependence(rng):
    x, e = rng.normal(size=(2, 300))
    pairs = [(x, r * x + np.sqrt(1 - r**2) * e) for r in (0.0, 0.3, 0.6, 0.9)]
    for measure in (kernel_mutual_information, parzen_mutual_information):
        values = [measure(*pair, Gaussian(0.5), Gaussian(0.5)) for pair in pairs]
        assert np.all(np.diff(values) > 0)


@pytest.mark.parametrize("measure", [kernel_mutual_information, parzen_mutual_information])
def test_symmetry_and_constants(rng, measure):
    x, y = rng.normal(size=(2, 50))
    one = measure(x, y)
    assert one == pytest.approx(measure(y, x), rel=1e-9)
    assert one == pytest.approx(measure(1e6 + 3 * x, y), rel=1e-6)
    assert measure(np.ones(50), y) == pytest.approx(0, abs=1e-12)
    assert np.isfinite(measure(x, x, Gaussian(1e-3), Gaussian(1e-3)))


def test_errors(rng):
    x, y = rng.normal(size=(2, 20))
    with pytest.raises(ValueError, match="densities"):
        parzen_mutual_information(x, y, Linear(), Linear())
    with pytest.raises(ValueError, match="row sums"):
        kernel_mutual_information(x, y, Linear(), Linear(), scale="rows")
    with pytest.raises(ValueError, match="scale must be"):
        kernel_mutual_information(x, y, scale="min")
