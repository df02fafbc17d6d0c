"""The kernel of a distance against its formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer import Distance, Linear, distance_correlation, two_sample_test
from mercer.testing import check_kernel


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("origin", [None, [1.0, -2.0, 0.5]])
def test_formula(rng, exponent, origin):
    X, Y = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    z = np.zeros((1, 3)) if origin is None else np.array([origin])
    to_x, to_y = cdist(X, z) ** exponent, cdist(Y, z) ** exponent
    wanted = (to_x + to_y.T - cdist(X, Y) ** exponent) / 2
    k = Distance(exponent, origin)
    assert k(X, Y) == pytest.approx(wanted, abs=1e-12)
    assert k(sp.csr_matrix(X), sp.csr_matrix(Y)) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_promises(rng, exponent, dtype):
    X = rng.standard_normal((30, 2)).astype(dtype)
    check_kernel(Distance(exponent), X)
    check_kernel(Distance(exponent, [0.5, 0.5]), X)


def test_exponent_two_is_linear(rng):
    X = rng.standard_normal((5, 2))
    z = np.array([1.0, 2.0])
    assert Distance(2.0, z)(X) == pytest.approx(Linear()(X - z))
    assert Distance(2.0).properties.characteristic.no
    assert Distance(1.9).properties.characteristic


def test_brownian_motion_on_the_line():
    x = np.array([0.5, 1.0, 3.0])
    assert Distance()(x[:, None]) == pytest.approx(np.minimum.outer(x, x))


def test_bad_parameters():
    for exponent in (0.0, 2.1, np.nan, "one"):
        with pytest.raises(ValueError, match="exponent must be"):
            Distance(exponent)
    with pytest.raises(ValueError, match="origin must be"):
        Distance(origin=[[1.0]])
    with pytest.raises(ValueError, match="2 entries, but X has 3"):
        Distance(origin=[1.0, 2.0])(np.zeros((2, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-310, 1e-200, 1e-150, 1e-30, 1e18, 1e38, 1e152, 1e200, 1e300])
@pytest.mark.parametrize("exponent", [1.0, 0.5])
def test_numbers_without_squares(dtype, size, exponent):
    if dtype is np.float32 and not 1.2e-38 < size < 3.4e38:
        return
    mixed = np.array([[0.0, 1.0], [size, 0.0], [2.0, 3.0], [size, size / 2]], dtype)
    for X in (mixed, (size * np.array([[0.1, 1.0], [0.5, 0.0], [0.2, 0.3]])).astype(dtype)):
        for z in ((0.0, 0.0), (size / 60, 0.0)):
            V = X.astype(np.longdouble) - np.array(z, np.longdouble)
            a = np.sqrt((V**2).sum(axis=1)) ** exponent
            D = np.sqrt(((V[:, None] - V[None]) ** 2).sum(axis=2)) ** exponent
            wanted = (a[:, None] + a - D) / 2
            for Z in (X, sp.csr_matrix(X)):
                found = Distance(exponent, z)(Z)
                assert np.all(np.abs(found - wanted) <= 1e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("size", [1e-150, 1e-200, 1e-300])
def test_statistics_of_distances_of_any_size(rng, size):
    """Distances of 1e-200 were all 0, and every two samples alike."""
    X, Y = rng.standard_normal((20, 2)), rng.standard_normal((20, 2)) + 0.5
    test = two_sample_test(size * X, size * Y, Distance(), n_permutations=99, rng=0)
    assert test.pvalue == two_sample_test(X, Y, Distance(), n_permutations=99, rng=0).pvalue
    near = distance_correlation(size * X, size * Y)
    assert near == pytest.approx(distance_correlation(X, Y), rel=1e-9)
