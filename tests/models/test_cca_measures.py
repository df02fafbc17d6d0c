"""Measures of dependence against closed forms and the dense correlation matrix."""

import numpy as np
import pytest

from mercer import (
    Gaussian,
    KernelCCA,
    Linear,
    Spectrum,
    kernel_canonical_correlation,
    kernel_generalized_variance,
)


def correlation_matrix(grams, r, form):
    """The regularised correlation matrix, n M x n M."""
    n = len(grams[0])
    H = np.eye(n) - 1 / n
    T = []
    for gram in grams:
        s, U = np.linalg.eigh(H @ gram @ H)
        s = np.maximum(s, 0)
        w = np.sqrt(s / (s + n * r)) if form == "ridge" else s / (s + n * r / 2)
        T.append((U * w) @ U.T)
    blocks = [[np.eye(n) if i == j else a @ b for j, b in enumerate(T)] for i, a in enumerate(T)]
    return np.block(blocks)


@pytest.fixture
def views(rng):
    t = rng.normal(size=60)
    return [t, t**2 + 0.1 * rng.normal(size=60), np.column_stack([t, rng.normal(size=(60, 2))])]


@pytest.mark.parametrize("form", ["ridge", "squared"])
@pytest.mark.parametrize("M", [2, 3])
def test_dense_matrix(views, form, M):
    kernel, options = Gaussian(0.7), {"regularization": 0.05, "form": form}
    R = correlation_matrix([kernel(V) for V in views[:M]], 0.05, form)
    np.testing.assert_allclose(
        kernel_generalized_variance(views[:M], kernels=kernel, **options),
        -0.5 * np.linalg.slogdet(R)[1],
        rtol=1e-8,
    )
    np.testing.assert_allclose(
        kernel_canonical_correlation(views[:M], kernels=kernel, **options),
        1 - np.linalg.eigvalsh(R)[0],
        rtol=1e-8,
    )


def test_gaussian_mutual_information(rng):
    """Linear kernels without regularization: -1/2 log(det C / (det C_x det C_y det C_z))."""
    views = [rng.normal(size=(200, d)) for d in (2, 3, 1)]
    views[1][:, 0] += views[0][:, 0]
    views[2][:, 0] += views[1][:, 1]
    for M in (2, 3):
        C = np.cov(np.hstack(views[:M]).T)
        parts = sum(np.linalg.slogdet(np.cov(V.T).reshape(V.shape[1], -1))[1] for V in views[:M])
        expected = -0.5 * (np.linalg.slogdet(C)[1] - parts)
        for r, tolerance in ((0, 1e-10), (1e-8, 1e-6)):
            found = kernel_generalized_variance(views[:M], kernels=Linear(), regularization=r)
            np.testing.assert_allclose(found, expected, rtol=tolerance)


def test_all_correlations_of_two_views(views):
    """-1/2 sum_i log(1 - rho_i^2)."""
    X, Y = views[:2]
    model = KernelCCA(19, kernels=Gaussian(0.5), form="squared").fit(X, Y)
    assert model.correlations_[-1] < 1e-6
    found = kernel_generalized_variance(X, Y, kernels=Gaussian(0.5))
    np.testing.assert_allclose(found, -0.5 * np.sum(np.log1p(-(model.correlations_**2))), rtol=1e-8)
    first = kernel_canonical_correlation(X, Y, kernels=Gaussian(0.5))
    np.testing.assert_allclose(first, model.correlations_[0], rtol=1e-10)


def test_dependence_that_correlation_does_not_see(rng):
    x, e = rng.normal(size=(2, 300))
    assert abs(np.corrcoef(x, x**2)[0, 1]) < 0.2
    for measure in (kernel_canonical_correlation, kernel_generalized_variance):
        assert measure(x, x**2) > 5 * measure(x, e)


def test_low_rank_and_strings(rng):
    share = rng.uniform(0, 1, 100)
    reads = ["".join(rng.choice(["G", "A"], p=[p, 1 - p], size=30)) for p in share]
    kernels = [Spectrum(k=2).normalize(), Gaussian("median")]
    exact = kernel_generalized_variance(reads, share, kernels=kernels, rank=None)
    low = kernel_generalized_variance(reads, share, kernels=kernels, rank=40, rng=0)
    np.testing.assert_allclose(low, exact, rtol=1e-3)
    shuffled = kernel_generalized_variance(reads, rng.permutation(share), kernels=kernels)
    assert exact > 3 * shuffled


def test_views_that_determine_each_other(rng):
    x = rng.normal(size=(30, 2))
    found = kernel_generalized_variance(x, 2 * x, kernels=Linear(), regularization=0)
    assert found > 15  # inf, but for rounding errors


def test_bad_input(views):
    with pytest.raises(ValueError, match="list of two or more"):
        kernel_generalized_variance(views[0])
    with pytest.raises(ValueError, match="form must be"):
        kernel_canonical_correlation(views, form="cubed")
