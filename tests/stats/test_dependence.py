"""HSIC and its relatives against definitions, closed forms and exhaustive enumeration."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer import (
    Categorical,
    Distance,
    Gaussian,
    Laplacian,
    Linear,
    Nystrom,
    Plan,
    Polynomial,
    Precomputed,
    Spectrum,
    cka,
    cross_covariance,
    dhsic,
    distance_correlation,
    distance_covariance,
    hsic,
    kernel_canonical_correlation,
    mmd,
    nocco,
)


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def brute_u(K, L):
    """The U-statistic, by loops over distinct indices."""
    n = range(len(K))
    two = np.mean([K[i, j] * L[i, j] for i, j in permutations(n, 2)])
    three = np.mean([K[i, j] * L[i, q] for i, j, q in permutations(n, 3)])
    four = np.mean([K[i, j] * L[q, r] for i, j, q, r in permutations(n, 4)])
    return two + four - 2 * three


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((23, 2))
    return X, np.c_[X[:, :1] ** 2, rng.standard_normal((23, 1))]


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(), Polynomial(degree=2), Distance()])
def test_biased_is_the_trace_and_the_norm_of_the_cross_covariance(pair, kernel):
    X, Y = pair
    K, L = kernel(X), Gaussian()(Y)
    found = hsic(X, Y, kernel, Gaussian(), biased=True)
    assert found == pytest.approx(np.trace(centred(K) @ centred(L)) / 23**2)
    C = cross_covariance(kernel, X, Gaussian(), Y)
    assert found == pytest.approx(C.hs_norm() ** 2)


def test_unbiased_is_the_mean_over_distinct_indices(pair):
    X, Y = (Z[:8] for Z in pair)
    for k in (Gaussian(), Polynomial(degree=2)):
        assert hsic(X, Y, k, k) == pytest.approx(brute_u(k(X), k(Y)))


def test_unbiased_over_all_samples_of_a_small_distribution():
    """The mean over every possible sample of size 4, with its probability, is HSIC itself."""
    points = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
    p = np.array([0.5, 0.3, 0.2])
    K, L = Gaussian()(points[:, :1]), Gaussian()(points[:, 1:])
    truth = p @ (K * L) @ p + (p @ K @ p) * (p @ L @ p) - 2 * p @ ((K @ p) * (L @ p))
    total = 0.0
    for draw in product(range(3), repeat=4):
        Z = points[list(draw)]
        total += np.prod(p[list(draw)]) * hsic(Z[:, 0], Z[:, 1], Gaussian(), Gaussian())
    assert total == pytest.approx(truth, rel=1e-10)


def test_closed_form_of_the_bivariate_normal_distribution(rng):
    """Correlation 0.6, Gaussian kernels of width 1: 0.0166159996."""
    C = np.array([[1, 0.6], [0.6, 1]])
    first = np.linalg.det(np.eye(2) + 2 * C) ** -0.5
    third = 0.5 * np.linalg.det(np.eye(2) + C / 2) ** -0.5
    truth = first + 1 / 3 - 2 * third
    assert truth == pytest.approx(0.0166159996, abs=1e-10)
    Z = rng.multivariate_normal([0, 0], C, size=(20, 400))
    found = [hsic(z[:, 0], z[:, 1], Gaussian(), Gaussian()) for z in Z]
    assert np.mean(found) == pytest.approx(truth, abs=3 * np.std(found) / np.sqrt(20))


def test_linear_kernels_give_the_covariance(pair):
    X, Y = pair
    C = (X - X.mean(0)).T @ (Y - Y.mean(0)) / 23
    assert hsic(X, Y, Linear(), Linear(), biased=True) == pytest.approx(np.sum(C**2))


def test_labels_give_the_two_sample_discrepancy(rng):
    X, Y = rng.standard_normal((12, 2)), rng.standard_normal((17, 2)) + 0.5
    Z, labels = np.vstack([X, Y]), ["x"] * 12 + ["y"] * 17
    found = hsic(Z, labels, Gaussian(), Categorical(), biased=True)
    share = 12 * 17 / 29**2
    assert found == pytest.approx(2 * share**2 * mmd(X, Y, Gaussian(), biased=True))


@pytest.mark.parametrize("storage", ["dense", "tiled"])
@pytest.mark.parametrize("biased", [False, True])
def test_any_plan_and_any_form_of_features_give_the_same(rng, storage, biased):
    X, Y = rng.standard_normal((2, 600, 2))
    k = Polynomial(degree=2)
    found = hsic(X, Y, k, k, biased=biased, plan=Plan(storage=storage))
    assert found == pytest.approx(hsic(X, Y, k, k, biased=biased))
    assert found == pytest.approx(hsic(k(X), k(Y), *2 * [Precomputed()], biased=biased))


def test_bandwidths_come_from_the_own_variable(pair):
    X, Y = pair
    assert hsic(X, 1000 * Y) == pytest.approx(hsic(X, Y))
    k, m = (Gaussian("median").resolve(Z) for Z in pair)
    assert hsic(X, Y) == hsic(X, Y, k, m)


def test_strings_and_functions(pair):
    words = ["abab", "babb", "cab", "aabb", "bbb", "abc"]
    y = np.arange(6.0)
    K, L = centred(Spectrum(2)(words)), centred(Gaussian(2.0)(y[:, None]))
    found = hsic(words, y, Spectrum(2), Gaussian(2.0), biased=True)
    assert found == pytest.approx(np.sum(K * L) / 36)
    X, Y = pair
    assert hsic(X, Y, "linear", lambda a, b: a @ b) == pytest.approx(hsic(X, Y, Linear(), Linear()))


# ---- several variables ---------------------------------------------------------------------
def test_joint_hsic_of_two_is_the_biased_one_and_of_three_its_definition(rng):
    X, Y, Z = (rng.standard_normal((9, d)) for d in (1, 2, 3))
    k = Gaussian()
    assert dhsic(X, Y, kernels=k) == pytest.approx(hsic(X, Y, k, k, biased=True))
    A, B, C = k(X), k(Y), k(Z)
    together = (A * B * C).mean()
    apart = A.mean() * B.mean() * C.mean()
    mixed = (A.mean(0) * B.mean(0) * C.mean(0)).mean()
    assert dhsic(X, Y, Z, kernels=[k, k, k]) == pytest.approx(together + apart - 2 * mixed)


def test_joint_hsic_sees_what_no_pair_shows(rng):
    x, y = rng.choice([-1.0, 1.0], (2, 400))
    z = x * y
    pairs = max(hsic(a, b, biased=True) for a, b in ((x, y), (x, z), (y, z)))
    assert dhsic(x, y, z) > 10 * pairs


# ---- relatives -----------------------------------------------------------------------------
def test_alignment(pair):
    X, Y = pair
    K, L = centred(Gaussian()(X)), centred(Gaussian()(Y))
    expected = np.sum(K * L) / np.linalg.norm(K) / np.linalg.norm(L)
    assert cka(X, Y, Gaussian(), Gaussian()) == pytest.approx(expected)
    assert cka(X, X, biased=False) == pytest.approx(1)
    k = Gaussian()
    unbiased = hsic(X, Y, k, k) / np.sqrt(hsic(X, X, k, k) * hsic(Y, Y, k, k))
    assert cka(X, Y, k, k, biased=False) == pytest.approx(unbiased)
    with pytest.raises(ValueError, match="constant"):
        cka(X, np.ones(23))


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("size", [1e-90, 1e-30, 1e30, 1e90])
@pytest.mark.parametrize("kernel", [Linear(), Distance(), 1e-30 * Gaussian(2.0)])
def test_units_do_not_matter_for_alignment(pair, kernel, size, biased):
    X, Y = pair
    wanted = cka(X, Y, kernel, kernel, biased=biased)
    if isinstance(kernel, Linear | Distance):
        found = cka(size * X, size * Y, kernel, kernel, biased=biased)
    else:
        found = cka(X, Y, size * kernel, size * kernel, biased=biased)
    assert found == pytest.approx(wanted, rel=1e-9)
    assert np.isfinite(wanted)
    assert wanted != 0


def test_variables_that_hardly_vary_have_no_unbiased_alignment(rng):
    """One observation unlike the others: the unbiased estimate of its size is rounding."""
    with pytest.raises(ValueError, match="too few to estimate how much"):
        cka(np.arange(40) == 7, rng.normal(size=40), biased=False)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear()])
def test_nocco_is_the_trace_of_smoothers(pair, kernel):
    R = []
    for Z in pair:
        K = centred(kernel(Z))
        R.append(np.linalg.solve(K + 23 * 1e-2 * np.eye(23), K))
    found = nocco(*pair, kernel, kernel, regularization=1e-2)
    assert found == pytest.approx(np.trace(R[0] @ R[1]))
    whole = [Nystrom(kernel, Z) for Z in pair]
    for kernels in (whole, [whole[0], kernel], [kernel, whole[1]]):
        assert nocco(*pair, *kernels, regularization=1e-2) == pytest.approx(found)


def test_nocco_is_the_sum_of_squared_canonical_correlations(pair):
    """Bach & Jordan's regularisation is n lambda / 2, so lambda = 2 epsilon."""
    R = [kernel_canonical_correlation(*pair, kernels=Gaussian(), regularization=2e-2)]
    assert R[0] ** 2 < nocco(*pair, Gaussian(), Gaussian(), regularization=1e-2) < 23


def test_distance_covariance_from_distances(pair):
    X, Y = pair
    for beta in (0.5, 1.0, 1.5):
        a, b = (cdist(Z, Z) ** beta for Z in pair)
        assert distance_covariance(X, Y, exponent=beta, biased=True) == pytest.approx(
            np.mean(centred(a) * centred(b))
        )
        few = slice(0, 7)
        assert distance_covariance(X[few], Y[few], exponent=beta) == pytest.approx(
            brute_u(a[few, few], b[few, few])
        )
    a, b = (centred(cdist(Z, Z)) for Z in pair)
    correlation = np.sum(a * b) / np.linalg.norm(a) / np.linalg.norm(b)
    assert distance_correlation(X, Y) == pytest.approx(correlation)
    assert distance_covariance(X + 1e6, Y) == pytest.approx(distance_covariance(X, Y), rel=1e-6)


def test_bad_input(pair):
    X, Y = pair
    with pytest.raises(ValueError, match="the same number of observations, got 23, 20"):
        hsic(X, Y[:20])
    with pytest.raises(ValueError, match="at least 4"):
        hsic(X[:3], Y[:3])
    with pytest.raises(ValueError, match="two variables"):
        dhsic(X)
    with pytest.raises(ValueError, match="one entry for each of the 2"):
        dhsic(X, Y, kernels=[Gaussian()])
    with pytest.raises(ValueError, match="NaN"):
        hsic(X, np.full(23, np.nan))
    with pytest.raises(ValueError, match="regularization"):
        nocco(X, Y, regularization=0)
    with pytest.raises(ValueError, match="variable 1 is a float"):
        hsic(X, 3.0)
