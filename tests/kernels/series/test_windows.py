"""Windows and angles of series, against sums that are written out."""

from itertools import product

import numpy as np
import pytest

import mercer.kernels.series.windows as series_vectors
from mercer import Gaussian, LagEmbedding, RegularizedFourier
from mercer.exceptions import DomainError
from mercer.testing import check_kernel


@pytest.mark.parametrize(("window", "stride"), [(1, 1), (3, 1), (3, 2), (4, 5)])
def test_lag_embedding_is_a_mean_over_windows(rng, monkeypatch, window, stride):
    X = [rng.normal(size=(n, 2)) for n in (4, 5, 9, 30)]
    inner = Gaussian(1.5)
    W = [
        np.array([x[t : t + window].ravel() for t in range(0, len(x) - window + 1, stride)])
        for x in X
    ]
    expected = [[inner(a, b).mean() for b in W] for a in W]
    kernel = LagEmbedding(inner, window, stride)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)
    monkeypatch.setattr(series_vectors, "_WINDOWS", 7)
    np.testing.assert_allclose(kernel(X), expected, rtol=1e-12)


def test_lag_embedding_refuses_short_series():
    with pytest.raises(DomainError, match="sample 1 has 2 points, fewer than window=3"):
        LagEmbedding(Gaussian(), 3)([[1, 2, 3], [1, 2]])
    assert LagEmbedding(Gaussian(), 3).properties.characteristic.no


def test_regularized_fourier(rng):
    X = rng.normal(size=(6, 4, 2))
    q = 0.6
    expected = np.ones((6, 6))
    for t, c in product(range(4), range(2)):
        gap = X[:, None, t, c] - X[None, :, t, c]
        waves = 0.5 + sum(q**l * np.cos(l * gap) for l in range(1, 120))
        np.testing.assert_allclose(
            waves, (1 - q**2) / (2 * (1 - 2 * q * np.cos(gap) + q**2)), rtol=1e-12
        )
        expected *= waves / ((1 + q) / (2 * (1 - q)))
    np.testing.assert_allclose(RegularizedFourier(q)(X), expected, rtol=1e-12)
    check_kernel(RegularizedFourier(q), X)
    with pytest.raises(DomainError, match="samples 0 and 1 have 2 and 3"):
        RegularizedFourier()([[1, 2], [1, 2, 3]])
    with pytest.raises(DomainError, match="the two samples have 8 and 6"):
        RegularizedFourier()(X, X[:, :3])
    with pytest.raises(ValueError, match="between 0 and 1"):
        RegularizedFourier(1.0)


def test_slopes_in_several_blocks_of_windows(monkeypatch):
    rng = np.random.default_rng(8)
    series = [rng.normal(size=n) for n in (9, 12, 10)]
    k, W = LagEmbedding(Gaussian(1.2), 3), rng.normal(size=(3, 3))
    P = k.prepare(series)
    up, down = (LagEmbedding(Gaussian(1.2 * np.exp(h)), 3)(series) for h in (1e-5, -1e-5))
    monkeypatch.setattr(series_vectors, "_WINDOWS", 4)
    assert k.grad_theta(P, P, W) == pytest.approx(np.sum(W * (up - down)) / 2e-5, rel=1e-6)
