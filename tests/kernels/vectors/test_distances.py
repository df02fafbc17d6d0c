"""Squared distances against scipy, and lengthscales read off data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist, pdist
from sklearn.svm import SVC

from mercer import Gaussian, Laplacian, Matern, RationalQuadratic
from mercer.kernels.vectors.distances import SquaredDistances, median_distance, variance_scale
from mercer.testing import difficult_samples

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
ALL = slice(None)


@pytest.mark.parametrize("weight", [1.0, -0.5, 3.0])
def test_against_scipy(weight):
    D = SquaredDistances(X, Y, weight=weight)(ALL, ALL)
    assert np.allclose(D, weight * cdist(X, Y, "sqeuclidean"), rtol=1e-12)


def test_tiles_are_parts_of_the_whole():
    distances = SquaredDistances(X, Y, exact=True)
    whole = distances(ALL, ALL)
    assert np.allclose(distances(slice(2, 6), slice(1, 4)), whole[2:6, 1:4], rtol=1e-13)


def test_signs():
    assert SquaredDistances(X, X)(ALL, ALL).min() >= 0
    assert SquaredDistances(X, X, weight=-0.5)(ALL, ALL).max() <= 0


@pytest.mark.parametrize("offset", [0, 1e3, 1e6])
def test_a_common_offset_does_not_cost_digits(offset):
    moved = SquaredDistances(X + offset, Y + offset)(ALL, ALL)
    wanted = cdist(X + offset, Y + offset, "sqeuclidean")  # the rounding of X + offset is not ours
    assert np.allclose(moved, wanted, rtol=1e-12)


def test_exact_near_zero():
    near = X + 1e-9 * rng.normal(size=X.shape)
    wanted = cdist(X, near, "sqeuclidean")
    exact = SquaredDistances(X, near, exact=True)(ALL, ALL)
    assert np.allclose(exact, wanted, rtol=1e-6)
    assert np.array_equal(np.diag(SquaredDistances(X, X.copy(), exact=True)(ALL, ALL)), np.zeros(9))


@pytest.mark.parametrize("exact", [False, True])
def test_sparse(exact):
    S, T = sp.csr_matrix(np.where(X > 0, X, 0)), sp.csr_matrix(np.where(Y > 0, Y, 0))
    wanted = cdist(S.toarray(), T.toarray(), "sqeuclidean")
    for left, right in ((S, T), (S.toarray(), T), (S, T.toarray())):
        assert np.allclose(SquaredDistances(left, right, exact=exact)(ALL, ALL), wanted)
    if exact:
        assert np.array_equal(np.diag(SquaredDistances(S, S.copy(), exact=True)(ALL, ALL)), [0] * 9)


def test_float32():
    D = SquaredDistances(X.astype("f4"), Y.astype("f4"), exact=True)(ALL, ALL)
    assert D.dtype == np.float32
    assert np.allclose(D, cdist(X, Y, "sqeuclidean"), rtol=1e-5)


def test_sparse_samples_in_single_precision_beside_others_in_double():
    """The same numbers: norms in single precision would leave something between equal samples."""
    single = np.where(X > 0, X, 0).astype("f4")
    double = single.astype(float)
    for left in (single, sp.csr_matrix(single)):
        for right in (double, sp.csr_matrix(double)):
            for A, B in ((left, right), (right, left)):
                D = SquaredDistances(A, B, exact=True)(ALL, ALL)
                assert np.allclose(D, cdist(double, double, "sqeuclidean"), rtol=1e-12, atol=1e-24)


def test_widths_must_agree():
    for left, right in ((X, Y[:, :2]), (sp.csr_matrix(X), sp.csr_matrix(Y[:, :2]))):
        with pytest.raises(ValueError, match="X has 4 features, but the other sample has 2"):
            SquaredDistances(left, right)(ALL, ALL)


# ---- lengthscales -------------------------------------------------------------------------
def test_median():
    assert median_distance(X) == pytest.approx(np.median(pdist(X)))
    assert median_distance(sp.csr_matrix(X)) == pytest.approx(np.median(pdist(X)))
    twice = np.vstack([X, X])  # distances of zero do not count
    distances = pdist(twice)
    assert median_distance(twice) == pytest.approx(np.median(distances[distances > 1e-12]))


def test_median_of_many_is_a_subsample():
    many = rng.normal(size=(5000, 2))
    assert median_distance(many) == median_distance(many)
    assert median_distance(many) == pytest.approx(np.median(pdist(many[:2000])), rel=0.05)


def test_data_without_spread():
    same = np.ones((5, 2))
    assert median_distance(same) == 1
    assert variance_scale(same) == 1
    assert median_distance(same[:1]) == 1


def test_variance_scale_is_that_of_scikit_learn():
    model = SVC(gamma="scale").fit(X, np.arange(9) % 2)
    assert 1 / (2 * variance_scale(X) ** 2) == pytest.approx(model._gamma)
    assert variance_scale(sp.csr_matrix(X)) == pytest.approx(variance_scale(X))


@pytest.mark.parametrize("exact", [False, True])
def test_weighted_squares_by_column(exact):
    near = np.vstack([X[:5], X[:3] + 1e-9])
    V = rng.normal(size=(9, 8))
    wanted = np.einsum("ij,ijd->d", V, (X[:, None] - near[None]) ** 2)
    for left, right in ((X, near), (sp.csr_matrix(X), near), (X, sp.csr_matrix(near))):
        distances = SquaredDistances(left, right, exact=exact)
        got = distances.by_column(V, distances(ALL, ALL))
        assert np.allclose(got, wanted, rtol=1e-12)


def test_close_pairs_by_column_come_from_their_differences():
    near = X + 1e-9 * rng.normal(size=X.shape)
    V = np.diag(1 / np.sum((X - near) ** 2, axis=1))
    distances = SquaredDistances(X, near, exact=True)
    wanted = np.einsum("ii,id->d", V, (X - near) ** 2)
    assert np.allclose(distances.by_column(V, distances(ALL, ALL)), wanted, rtol=1e-6)


# ---- data on which products cancel ----------------------------------------------------------
DIFFICULT = difficult_samples(n=120, rng=1)


def brute_force(left, right, profile):
    left, right = left.astype(np.longdouble), right.astype(np.longdouble)
    with np.errstate(over="ignore"):
        squared = ((left[:, None] - right[None]) ** 2).sum(axis=2)
        return profile(squared).astype(np.float64)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("name", DIFFICULT)
def test_kernel_values_do_not_depend_on_where_samples_are(name, dtype):
    V = DIFFICULT[name]
    if np.abs(V).max() > np.finfo(dtype).max:
        pytest.skip("no numbers of this precision")
    V = V.astype(dtype)
    smooth, kinked = (1e-12, 1e-9) if dtype == "f8" else (2e-5, 1e-4)
    profiles = [
        (Gaussian(), lambda r2: np.exp(-r2 / 2)),
        (Laplacian(), lambda r2: np.exp(-np.sqrt(r2))),
        (Matern(), lambda r2: (1 + np.sqrt(3 * r2)) * np.exp(-np.minimum(np.sqrt(3 * r2), 1e4))),
        (RationalQuadratic(alpha=2), lambda r2: (1 + r2 / 4) ** -2),
    ]
    for kernel, profile in profiles:
        allowed = kinked if kernel.kinked else smooth
        wanted = brute_force(V, V, profile)
        wanted = np.where(np.isfinite(wanted), wanted, 0)
        for sample in (V, sp.csr_matrix(V)):
            assert np.allclose(kernel(sample), wanted, rtol=0, atol=allowed)
            across = kernel(sample[:50], sample[40:])
            assert np.allclose(across, wanted[:50, 40:], rtol=0, atol=allowed)


@pytest.mark.parametrize("name", DIFFICULT)
@pytest.mark.parametrize("exact", [False, True])
def test_weighted_squares_by_column_of_distant_groups(name, exact):
    V = DIFFICULT[name]
    if np.abs(V).max() > 1e100:
        pytest.skip("squares overflow")
    distances = SquaredDistances(V, V, exact=exact)
    D = distances(ALL, ALL)
    W = np.exp(-D / 2)
    exactly = (V.astype(np.longdouble)[:, None] - V[None]) ** 2
    wanted = np.einsum("ij,ijd->d", W, exactly).astype(float)
    assert np.allclose(distances.by_column(W, D), wanted, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", DIFFICULT)
def test_pulls_of_distant_groups(name):
    V = DIFFICULT[name]
    D = SquaredDistances(V, V[:40], exact=True)(ALL, slice(0, 40))
    W = np.exp(-D / 2)
    with np.errstate(over="ignore", invalid="ignore"):
        by = V.astype(np.longdouble)[:, None] - V[None, :40]
        wanted = np.where(W[:, :, None] > 0, W[:, :, None] * by, 0).sum(axis=1).astype(float)
    for right in (V[:40], sp.csr_matrix(V[:40])):
        assert np.allclose(SquaredDistances(V, right).pull(W), wanted, rtol=1e-9, atol=1e-10)


def test_wide_sparse_vectors_are_not_written_out_to_be_compared():
    wide = sp.random(40, 300_000, density=1e-4, random_state=3, format="csr")
    wide = sp.csr_matrix(wide + sp.csr_matrix(([1e9] * 40, (range(40), [5] * 40)), wide.shape))
    part = wide[:, np.unique(wide.indices)].toarray()
    wanted = cdist(part, part, "sqeuclidean")
    assert np.allclose(SquaredDistances(wide, wide)(ALL, ALL), wanted, rtol=1e-12)


def test_lengthscales_of_enormous_numbers_are_finite():
    V = X.copy()
    V[2, 1] = 1e200
    assert median_distance(V) == pytest.approx(median_distance(X), rel=0.5)
    assert median_distance(1e200 * X) == pytest.approx(1e200 * median_distance(X))
    assert variance_scale(1e200 * X) == pytest.approx(1e200 * variance_scale(X))
    sparse = sp.csr_matrix(np.abs(X) + 1e6)
    assert variance_scale(sparse) == pytest.approx(variance_scale(np.abs(X) + 1e6), rel=1e-9)


@pytest.mark.parametrize(
    ("dtype", "size"), [("f4", 1e-25), ("f4", 1e25), ("f8", 1e-170), ("f8", 1e-300), ("f8", 1e170)]
)
def test_lengthscales_do_not_depend_on_the_unit(dtype, size):
    """Squares of such numbers vanish or overflow."""
    V = (size * X).astype(dtype)
    for Z in (V, sp.csr_matrix(V)):
        assert median_distance(Z) / size == pytest.approx(median_distance(X), rel=1e-4)
        assert variance_scale(Z) / size == pytest.approx(variance_scale(X), rel=1e-4)
        for kernel in (Gaussian("median"), Gaussian("scale")):
            assert np.allclose(kernel.resolve(Z)(Z), kernel.resolve(X)(X), atol=1e-4)
    V[0] = 1.0  # far from all others, or near the origin
    assert median_distance(V) / size == pytest.approx(median_distance(X), rel=0.5)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_error_that_is_announced_is_that_of_the_product(dtype):
    far = (50 * X + 3).astype(dtype)
    distances = SquaredDistances(far, far, weight=-0.5)
    found = np.abs(distances.left @ distances.right.T + cdist(far, far, "sqeuclidean") / 2).max()
    assert found <= 4 * distances.error
    assert distances.error <= 2000 * np.finfo(dtype).eps * 50


def test_a_common_offset_of_sparse_samples_is_taken_off(rng):
    """Pair by pair it took time in proportion to the pairs; now nothing cancels."""
    V = np.where(rng.random((30, 50)) < 0.2, rng.normal(size=(30, 50)), 0.0)
    V[:, 7] = 1e6 + rng.normal(size=30)
    left, right = sp.csr_matrix(V), sp.csr_matrix(V[:9])
    for A, B in ((left, left), (left, right)):
        distances = SquaredDistances(A, B, weight=-0.5)
        wanted = -0.5 * cdist(A.toarray(), B.toarray(), "sqeuclidean")
        assert not distances.in_doubt
        assert np.allclose(distances(ALL, ALL), wanted, atol=1e-9)
    assert left[0, 7] > 9e5  # what was given stays


def test_no_distance_of_the_wrong_sign():
    """Two bursts of samples far apart: within each, products cancel to something below zero."""
    rng = np.random.default_rng(0)
    times = 1.7e5 + np.repeat(rng.integers(0, 1000, 30), 10) + 1e-7 * rng.normal(size=300)
    Z = np.c_[times, 1e-7 * rng.normal(size=300)]
    for weight in (0.5, -0.5):
        D = np.sign(weight) * SquaredDistances(Z, Z.copy(), weight)(ALL, ALL)
        assert np.all(D >= 0)
