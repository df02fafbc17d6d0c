"""Vectors with two values as bits, against kernels of the vectors themselves."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer import Gaussian
from mercer.kernels.evaluator import exponents
from mercer.kernels.vectors.bits import DifferingBits, two_values


@pytest.fixture
def vectors(rng):
    """Zeros and ones, more of them than a word has bits and not a multiple of that."""
    X = (rng.random((40, 77)) < 0.3).astype(float)
    return X, (rng.random((25, 77)) < 0.6).astype(float)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 1.0), (2.5, 2.75), (-0.3, 0.0)])
@pytest.mark.parametrize("width", [1, 31, 32, 33, 64, 77])
def test_exponentials_of_distances(vectors, low, high, width):
    X, Y = (np.where(V[:, :width] > 0, high, low) for V in vectors)
    bits = DifferingBits(X, Y, (low, high), -0.1)
    K = np.exp(-0.1 * cdist(X, Y, "sqeuclidean"))
    assert bits.left.shape == (40, -(-width // 32))
    np.testing.assert_allclose(bits.exp(slice(None), slice(None)), K, rtol=1e-13)
    some = np.array([7, 3])
    np.testing.assert_allclose(bits.exp(some, slice(2, 9)), K[some, 2:9], rtol=1e-13)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix, sp.csr_array])
def test_a_gaussian_kernel_finds_them(vectors, kind):
    X, Y = map(kind, vectors)
    kernel = Gaussian(3.0)
    bits = exponents(*(kernel.formula(kernel.prepare(V)) for V in (X, Y)))
    assert isinstance(bits, DifferingBits)
    np.testing.assert_allclose(bits.exp(slice(None), slice(None)), kernel(X, Y), rtol=1e-13)


def test_one_value_may_be_missing_in_some_of_them(vectors):
    X, _ = vectors
    kernel, new = Gaussian(2.0), np.zeros((2, 77))
    bits = exponents(*(kernel.formula(kernel.prepare(V)) for V in (new, X)))
    assert isinstance(bits, DifferingBits)
    np.testing.assert_allclose(bits.exp(slice(None), slice(None)), kernel(new, X), rtol=1e-13)


def test_what_has_other_values(vectors):
    X, Y = vectors
    assert two_values(X, Y) == (0.0, 1.0)
    assert two_values(X, 2 * Y) is None
    assert two_values(sp.csr_array(X), 2 * Y) is None
    assert two_values(np.zeros((3, 2))) is None  # one value
    assert two_values(np.full((3, 2), np.nan)) is None
    X[-1, -1] = 0.5  # the first rows do not tell
    assert two_values(X) is None
    assert two_values(sp.csr_array(X)) is None
    assert two_values(sp.csr_array((3, 2))) is None
    assert two_values(sp.csr_array((3, 10**6))) is None  # not to be written out
    anisotropic = Gaussian(np.linspace(1, 2, 77))
    formula = anisotropic.formula(anisotropic.prepare(Y))
    assert not isinstance(exponents(formula, formula), DifferingBits)
