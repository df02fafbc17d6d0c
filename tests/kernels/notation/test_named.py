"""Kernels by scikit-learn's names."""

import numpy as np
import pytest
from sklearn.metrics.pairwise import pairwise_kernels

from mercer import SVC, Gaussian, independence_test
from mercer.exceptions import DomainError
from mercer.kernels.notation.named import as_kernel


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
def test_same_values_as_scikit_learn(rng, name):
    X = rng.standard_normal((7, 3))
    k = as_kernel(name, X, gamma=0.3, degree=3, coef0=1.0)
    options = {} if name in ("linear", "cosine") else {"gamma": 0.3, "coef0": 1.0, "degree": 3}
    expected = pairwise_kernels(X, metric=name, filter_params=True, **options)
    np.testing.assert_allclose(k(X), expected, rtol=1e-10)


@pytest.mark.parametrize("gamma", ["scale", "auto", None])
def test_points_on_the_line_are_one_feature(rng, gamma):
    x = rng.standard_normal(20)
    line, column = (as_kernel("rbf", X, gamma=gamma) for X in (x, x[:, None]))
    assert line == column
    assert gamma == "scale" or line == Gaussian.from_gamma(1.0)


def test_variables_may_be_points_on_the_line(rng):
    x = rng.standard_normal(60)
    assert independence_test(x, x**2, kernels="rbf", rng=0).pvalue < 0.01


def test_other_data_are_told_which_kernels_there_are():
    with pytest.raises(DomainError, match=r"kernel='rbf' works on vectors.*Spectrum"):
        as_kernel("rbf", ["ab", "cd"], gamma="scale")
    with pytest.raises((DomainError, ValueError)):
        SVC().fit(["ab", "cd"], [0, 1])


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_variances_that_are_no_numbers(rng, size):
    X = size * rng.standard_normal((9, 2))
    with pytest.raises(DomainError, match=r'gamma="scale".*divide X by a constant, or give gamma'):
        SVC().fit(X, np.arange(9) % 2)
