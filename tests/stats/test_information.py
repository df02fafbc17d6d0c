"""Kernel mutual information: beside that of normal variables, discrete ones by hand, errors."""

import numpy as np
import pytest

from mercer import Categorical, Gaussian, Linear, kernel_mutual_information


def test_labels_by_hand(rng):
    """With equality as kernel, correlations are those of the table of counts."""
    x, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    y = np.where(rng.random(200) < 0.5, x, y)
    r = np.corrcoef(x, y)[0, 1]
    found = kernel_mutual_information(list(map(str, x)), list(map(str, y)), *[Categorical()] * 2)
    assert found == pytest.approx(-0.5 * np.log(1 - r**2), rel=1e-9)


def test_near_that_of_normal_variables(rng):
    x, e = rng.normal(size=(2, 600))
    values = [
        kernel_mutual_information(x, r * x + np.sqrt(1 - r**2) * e, Gaussian(0.5), Gaussian(0.5))
        for r in (0.0, 0.3, 0.6, 0.9)
    ]
    assert np.all(np.diff(values) > 0)
    assert values[2] == pytest.approx(-0.5 * np.log(1 - 0.6**2), rel=0.3)


def test_symmetry_constants_and_errors(rng):
    x, y = rng.normal(size=(2, 50))
    one = kernel_mutual_information(x, y)
    assert one == pytest.approx(kernel_mutual_information(y, x), rel=1e-9)
    assert one == pytest.approx(kernel_mutual_information(1e6 + 3 * x, y), rel=1e-6)
    assert kernel_mutual_information(np.ones(50), y) == pytest.approx(0, abs=1e-12)
    assert np.isfinite(kernel_mutual_information(x, x, Gaussian(1e-3), Gaussian(1e-3)))
    with pytest.raises(ValueError, match="densities"):
        kernel_mutual_information(x, y, Linear(), Linear())
