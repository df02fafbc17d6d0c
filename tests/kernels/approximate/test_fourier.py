"""Random Fourier features against the kernels that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    Exponential,
    Gaussian,
    Laplacian,
    Matern,
    Polynomial,
    RandomFourier,
    RationalQuadratic,
)

KERNELS = [
    Gaussian(2.0),
    Gaussian([1.0, 2.0, 4.0]),
    Laplacian(3.0),
    Laplacian([6.0, 3.0, 9.0], p=1),
    Matern(2.0, nu=1.5),
    Matern(2.0, nu=0.7),
    Matern(2.0, nu=2.5),
    RationalQuadratic(2.0, alpha=0.8),
    2 * Gaussian(2.0) * Matern(3.0) + 1,
    Gaussian(1.0).on([0]) * Laplacian(2.0).on([1, 2]) + 0.5 * Matern(1.0).on([2]),
    Gaussian(3.0) ** 3,
    Exponential(0.1),
    (Gaussian(2.0) + 1).normalize(),
]


@pytest.mark.parametrize("kind", ["orthogonal", "independent"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_unbiased(kernel, kind):
    """The mean over 60 draws is within five standard errors of k, entry by entry."""
    X = np.random.default_rng(1).standard_normal((12, 3))
    draws = np.array(
        [kernel.approximate(RandomFourier(64, kind=kind, seed=s)).resolve(X)(X) for s in range(60)]
    )
    error = draws.std(axis=0, ddof=1) / np.sqrt(len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - kernel(X)) <= 5 * error + 1e-9)


def test_the_error_falls_with_the_root_of_n():
    X = np.random.default_rng(2).standard_normal((100, 4))
    few, many = (
        np.mean(
            [
                Matern(2.0).approximate(RandomFourier(n, seed=s)).resolve(X).error(X)
                for s in range(8)
            ]
        )
        for n in (100, 1600)
    )
    assert 3 < few / many < 5.3


def test_orthogonal_directions_have_less_variance():
    X = np.random.default_rng(3).standard_normal((60, 8))

    def error(kind):
        rules = [RandomFourier(64, kind=kind, seed=s) for s in range(20)]
        return np.mean([Gaussian(3.0).approximate(rule).resolve(X).error(X) for rule in rules])

    assert error("orthogonal") < 0.8 * error("independent")


def test_far_from_the_origin_nothing_is_lost():
    X = np.random.default_rng(4).standard_normal((50, 2))
    near = Gaussian(1.0).approximate(RandomFourier(100)).resolve(X)
    far = Gaussian(1.0).approximate(RandomFourier(100)).resolve(X + 1e8)
    assert np.abs(far(X + 1e8) - near(X)).max() < 1e-6
    single = Gaussian(1.0).approximate(RandomFourier(100)).resolve((X + 1e3).astype(np.float32))
    phi = single((X + 1e3).astype(np.float32))
    assert phi.dtype == np.float32
    assert np.abs(phi - near(X)).max() < 5e-3  # the rounding of 1e3 in single precision


def test_sparse_samples():
    dense = np.random.default_rng(5).binomial(1, 0.3, (40, 6)).astype(float)
    kernel = Gaussian(2.0).approximate(RandomFourier(3000))
    sparse = sp.csr_matrix(dense)
    assert np.abs(kernel.resolve(sparse)(sparse) - Gaussian(2.0)(dense)).max() < 0.15


def test_other_functions_are_refused():
    with pytest.raises(ValueError, match=r"polynomial is not one; use TensorSketch"):
        Polynomial().approximate(RandomFourier(10)).resolve(np.eye(3))
