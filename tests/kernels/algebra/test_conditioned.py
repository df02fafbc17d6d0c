import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal, localcontext

import numpy as np
import pytest
from sklearn.base import clone

from mercer import Custom, Gaussian, Linear, Spectrum
from mercer.kernels.algebra.conditioned import Conditioned
from mercer.kernels.notation.parse import parse
from mercer.testing import check_kernel


def schur(kernel, X, Z, noise):
    K = kernel(np.concatenate([X, Z]))
    n = len(X)
    A = K[n:, n:] + np.diag(np.broadcast_to(noise, len(Z)))
    return K[:n, :n] - K[:n, n:] @ np.linalg.solve(A, K[n:, :n])


def schur_in_decimals(X, Z, noise):
    """For the Gaussian kernel, by elimination in 50 digits."""
    with localcontext() as context:
        context.prec = 50
        points = [[Decimal(float(v)) for v in row] for row in (*Z, *X)]
        rows = [
            [(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / 2).exp() for y in points]
            for x in points
        ]
        m = len(Z)
        for i in range(m):
            rows[i][i] += Decimal(noise)
        for i in range(m):
            for row in rows[i + 1 :]:
                part = row[i] / rows[i][i]
                row[i:] = [a - part * b for a, b in zip(row[i:], rows[i][i:], strict=True)]
        return np.array([[float(v) for v in row[m:]] for row in rows[m:]])


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


def test_copies_are_seen_once(rng):
    X, Z = rng.standard_normal((9, 2)), rng.standard_normal((5, 2))
    once = Gaussian().given(Z)(X)
    np.testing.assert_allclose(once, schur_in_decimals(X, Z, 0), atol=1e-12)
    np.testing.assert_allclose(Gaussian().given(np.repeat(Z, 3, axis=0))(X), once, atol=1e-12)
    noisy = Gaussian().given(np.repeat(Z, 3, axis=0), 0.3)(X)
    np.testing.assert_allclose(noisy, schur_in_decimals(X, Z, 0.1), atol=1e-12)


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7, 1e-9, 1e-12])
def test_points_close_together(rng, apart):
    """Between what no noise leaves and what the noise of rounding does, and always a kernel."""
    X, Z = rng.standard_normal((9, 2)), rng.standard_normal((3, 2))
    Z = np.concatenate([Z, Z + apart * rng.standard_normal(Z.shape)])
    K = Gaussian().given(Z)(np.concatenate([X, Z]))
    assert np.linalg.eigvalsh(K)[0] > -1e-14
    np.testing.assert_allclose(K[9:], 0, atol=1e-7)
    low, high = (schur_in_decimals(X, Z, noise) for noise in (0, 4e-14))
    assert np.all(np.diag(K)[:9] > np.diag(low) - 1e-12)
    assert np.all(np.diag(K)[:9] < np.diag(high) + 1e-12)


def test_points_of_all_sizes():
    """Each counts in units of its own variance; the origin tells a linear kernel nothing."""
    Z = np.array([[1e-6, 0.0, 0.0], [0.0, 1e6, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(Linear().given(Z)(np.eye(3)), np.diag([0.0, 0.0, 1.0]), atol=1e-12)


def test_single_precision(rng):
    X, Z = (rng.standard_normal((n, 2)).astype(np.float32) for n in (9, 30))
    exact = Gaussian().given(Z.astype(float))(X.astype(float))
    np.testing.assert_allclose(Gaussian().given(Z)(X), exact, atol=1e-6)


def test_the_factor_is_made_once(rng, monkeypatch):
    X, Z = rng.standard_normal((9, 2)), rng.standard_normal((6, 2))
    kernel = Gaussian().given(Z, 0.1)
    expected, calls, make = kernel(X), [], Conditioned._make
    monkeypatch.setattr(Conditioned, "_make", lambda self: calls.append(1) or make(self))
    for same in (kernel, copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel)), clone(kernel)):
        assert same == kernel
        np.testing.assert_array_equal(same(X), expected)
    calls.clear()
    np.testing.assert_array_equal(kernel(X), expected)
    assert not calls
    changes = {"noise": 0.2}, {"kernel__lengthscale": 2.0}, {"reference": Z + 1}
    for changed in changes:
        kernel.set_params(**changed)
        found = kernel(X)
        np.testing.assert_allclose(
            found, schur(kernel.kernel, X, kernel.reference, kernel.noise), atol=1e-9
        )
    assert len(calls) == len(changes)


def test_many_threads_share_a_kernel(rng):
    X, Z = rng.standard_normal((40, 2)), rng.standard_normal((30, 2))
    expected, kernel = Gaussian().given(Z, 0.1)(X), Gaussian().given(Z, 0.1)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: kernel(X), range(32)):
            np.testing.assert_array_equal(found, expected)


def test_what_cannot_be_conditioned_is_refused():
    Z = np.array([[0.0], [1.0]])
    indefinite = Custom(lambda x, y: 1.0 - abs(x[0] - y[0]) * 3)
    with pytest.raises(ValueError, match=r"smallest eigenvalue is -1\. Give a larger noise"):
        indefinite.given(Z)(Z)
    with pytest.raises(ValueError, match="noise has 3 entries, but there are 2 points"):
        Gaussian().given(Z, [0.1, 0.2, 0.3])(Z)
    for noise in (np.nan, np.inf, [[0.1]], "x", [[0.1], [0.2, 0.3]]):
        with pytest.raises(ValueError, match="noise must be a finite number >= 0"):
            Gaussian().given(Z, noise)
