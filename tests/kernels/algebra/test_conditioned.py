import numpy as np
import pytest

from mercer import Gaussian, Linear, Spectrum
from mercer.kernels.algebra.conditioned import Conditioned
from mercer.kernels.notation.parse import parse
from mercer.testing import check_kernel


def schur(kernel, X, Z, noise):
    K = kernel(np.concatenate([X, Z]))
    n = len(X)
    A = K[n:, n:] + np.diag(np.broadcast_to(noise, len(Z)))
    return K[:n, :n] - K[:n, n:] @ np.linalg.solve(A, K[n:, :n])


@pytest.mark.parametrize("noise", [0.0, 0.3, np.linspace(0.1, 1, 8)])
def test_what_is_left_is_a_schur_complement(rng, noise):
    X, Z = rng.standard_normal((12, 2)), rng.standard_normal((8, 2))
    kernel = (2 * Gaussian()).given(Z, noise)
    exact = schur(2 * Gaussian(), X, Z, noise)
    np.testing.assert_allclose(kernel(X), exact, atol=1e-9)
    np.testing.assert_allclose(kernel.diag(kernel.prepare(X)), np.diag(exact), atol=1e-9)


def test_it_is_a_kernel(rng):
    X, Z = rng.standard_normal((12, 2)), rng.standard_normal((8, 2))
    check_kernel(Gaussian().given(Z, 0.3), X)


def test_functions_vanish_at_points_seen_without_noise(rng):
    Z = rng.standard_normal((5, 2))
    kernel = Gaussian().given(Z)
    np.testing.assert_allclose(kernel(Z, rng.standard_normal((9, 2))), 0, atol=1e-9)


def test_training_data_by_default_and_strings():
    words = ["ab", "ba", "abab"]
    kernel = Spectrum(2).given(noise=0.1).resolve(words)
    assert kernel.reference == words
    assert kernel(words).shape == (3, 3)


def test_properties():
    Z = [[0.0], [1.0]]
    noisy, exact = Gaussian().given(Z, 0.1).properties, Gaussian().given(Z).properties
    assert noisy.strictly_pd
    assert noisy.universal
    for fact in (exact.strictly_pd, exact.universal):
        assert not fact
        assert not fact.unknown
    assert exact.continuous
    assert Linear().given(Z).properties.bounded.unknown


def test_printing_and_reading_back():
    for kernel in (Gaussian().given(), Gaussian(2.0).given([[0.5]], 0.25)):
        assert parse(repr(kernel)) == kernel


def test_negative_noise_is_refused():
    with pytest.raises(ValueError, match="noise must be"):
        Conditioned(Gaussian(), None, -1.0)
