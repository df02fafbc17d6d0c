"""The estimators of MMD^2 against brute force, closed forms and exhaustive enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer import (
    Categorical,
    Distance,
    Gaussian,
    Laplacian,
    Linear,
    Plan,
    Polynomial,
    Precomputed,
    Spectrum,
    distance_of_means,
    mmd,
    mmd_interval,
    mmd_multi,
    witness,
)
from mercer.stats.witnesses import extremes, peak, relevance


def brute(K, n, biased=False):
    """MMD^2 by loops over pairs of a pooled kernel matrix."""
    N = len(K)
    first, second = range(n), range(n, N)

    def mean(a, b, distinct):
        values = [K[i, j] for i in a for j in b if not (distinct and i == j)]
        return sum(values) / len(values)

    inner = mean(first, first, not biased) + mean(second, second, not biased)
    return inner - 2 * mean(first, second, False)


def between_normals(mean, std):
    """MMD^2 of N(0, 1) and N(mean, std^2), Gaussian kernel of width 1."""

    def f(gap, v):
        return np.sqrt(1 / (1 + v)) * np.exp(-(gap**2) / 2 / (1 + v))

    return f(0, 2) + f(0, 2 * std**2) - 2 * f(mean, 1 + std**2)


@pytest.fixture
def pair(rng):
    return rng.standard_normal((9, 2)), rng.standard_normal((13, 2)) + 0.5


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Laplacian(), Polynomial(degree=2), Distance()])
def test_biased_and_unbiased_are_means_over_pairs(pair, kernel):
    X, Y = pair
    K = kernel(np.vstack(pair))
    assert mmd(X, Y, kernel) == pytest.approx(brute(K, 9))
    assert mmd(X, Y, kernel, biased=True) == pytest.approx(brute(K, 9, biased=True))
    assert mmd(X, Y, kernel, estimator="v") == mmd(X, Y, kernel, biased=True)


@pytest.mark.parametrize("storage", ["dense", "tiled"])
def test_any_plan_gives_the_same(pair, storage):
    found = mmd(*pair, Gaussian(), plan=Plan(storage=storage))
    assert found == pytest.approx(mmd(*pair, Gaussian()), rel=1e-12)


def test_linear_kernel_is_the_distance_of_means(pair):
    X, Y = pair
    gap = np.sum((X.mean(0) - Y.mean(0)) ** 2)
    assert mmd(X, Y, Linear(), biased=True) == pytest.approx(gap)
    noise = np.trace(np.cov(X.T)) / len(X) + np.trace(np.cov(Y.T)) / len(Y)
    assert mmd(X, Y, Linear()) == pytest.approx(gap - noise)
    assert mmd(X, Y, Gaussian(), biased=True) == pytest.approx(
        distance_of_means(Gaussian(), X, Y) ** 2
    )


def test_distance_kernel_is_the_energy_distance(pair):
    X, Y = pair
    for beta in (0.5, 1.0, 1.7):
        rho = [cdist(A, B) ** beta for A, B in ((X, Y), (X, X), (Y, Y))]
        energy = 2 * rho[0].mean() - rho[1].mean() - rho[2].mean()
        for origin in (None, [3.0, -1.0]):
            k = Distance(beta, origin)
            assert 2 * mmd(X, Y, k, biased=True) == pytest.approx(energy)


def test_energy_distance_on_the_line_is_the_integral_of_squared_cdf_differences(rng):
    x, y = rng.standard_normal(30), rng.standard_normal(20) + 1
    t = np.sort(np.concatenate([x, y]))
    F, G = (np.searchsorted(np.sort(z), t[:-1], side="right") / len(z) for z in (x, y))
    integral = np.sum((F - G) ** 2 * np.diff(t))
    assert mmd(x, y, Distance(), biased=True) == pytest.approx(integral)


def test_closed_form_of_normal_distributions(rng):
    """N(0, 1) against N(0.5, 1.5^2), Gaussian kernel of width 1: 0.0617272767."""
    truth = between_normals(0.5, 1.5)
    assert truth == pytest.approx(0.0617272767, abs=1e-10)
    x, y = rng.normal(0, 1, 3000), rng.normal(0.5, 1.5, 3000)
    found = mmd_interval(x, y, Gaussian())
    assert abs(found.value - truth) < 3 * found.error
    for estimator in ("h", "block", "incomplete", "linear"):
        assert mmd(x, y, Gaussian(), estimator=estimator) == pytest.approx(truth, abs=0.03)


def test_standard_error_is_that_of_repetitions(rng):
    found = [
        mmd_interval(rng.normal(0, 1, 60), rng.normal(1, 1.5, 80), Gaussian()) for _ in range(300)
    ]
    errors = np.array([f.error for f in found])
    assert errors.mean() == pytest.approx(np.std([f.value for f in found]), rel=0.15)
    truth = between_normals(1, 1.5)
    assert np.mean([f.low <= truth <= f.high for f in found]) > 0.9
    with pytest.raises(ValueError, match="confidence"):
        mmd_interval([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0], confidence=95)


@pytest.mark.parametrize("estimator", ["u", "h", "linear", "block", "incomplete"])
def test_unbiased_over_all_samples_of_two_small_distributions(estimator):
    """The mean over every possible pair of samples, with its probability, is MMD^2 of P and Q."""
    values, p, q = [0.0, 1.0, 2.5], np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    K = Gaussian()(np.array(values)[:, None])
    truth = (p - q) @ K @ (p - q)
    n, total = 3 if estimator == "u" else 2, 0.0
    options = {"block_size": 2} if estimator == "block" else {}
    options |= {"n_shifts": 1} if estimator == "incomplete" else {}
    for xs in product(range(3), repeat=n):
        for ys in product(range(3), repeat=2):
            X, Y = (np.array([values[i] for i in z]) for z in (xs, ys))
            weight = np.prod(p[list(xs)]) * np.prod(q[list(ys)])
            total += weight * mmd(X, Y, Gaussian(), estimator=estimator, **options)
    assert total == pytest.approx(truth, rel=1e-10)


def test_h_form_and_incomplete_by_definition(rng):
    X, Y = rng.standard_normal((2, 7, 2))
    k = Gaussian()
    A, B, C = k(X), k(Y), k(X, Y)
    H = A + B - C - C.T
    off = ~np.eye(7, dtype=bool)
    assert mmd(X, Y, k, estimator="h") == pytest.approx(H[off].mean())
    diagonals = np.concatenate([np.diagonal(H, r) for r in (1, 2, 3)])
    assert mmd(X, Y, k, estimator="incomplete", n_shifts=3) == pytest.approx(diagonals.mean())
    assert mmd(X, Y, k, estimator="incomplete", n_shifts=6) == pytest.approx(H[off].mean())
    assert mmd(X, Y, k, estimator="linear") == pytest.approx(np.mean([H[0, 1], H[2, 3], H[4, 5]]))
    whole = mmd(X, Y, k, estimator="block", block_size=7)
    assert whole == pytest.approx(mmd(X, Y, k))


def test_several_samples_add_up_over_pairs(rng):
    samples = [rng.standard_normal((n, 2)) + n / 10 for n in (5, 8, 6)]
    for biased in (False, True):
        pairs = [(0, 1), (0, 2), (1, 2)]
        each = [
            len(samples[g]) * len(samples[h]) / 19**2
            * mmd(samples[g], samples[h], Gaussian(), biased=biased)
            for g, h in pairs
        ]  # fmt: skip
        assert mmd_multi(samples, Gaussian(), biased=biased) == pytest.approx(sum(each))
    grand = np.vstack(samples).mean(0)
    between = sum(len(s) / 19 * np.sum((s.mean(0) - grand) ** 2) for s in samples)
    assert mmd_multi(samples, Linear(), biased=True) == pytest.approx(between)


def test_labels_and_strings_and_matrices(rng):
    x, y = list("aabbc"), list("abbb")
    p, q = np.array([2, 2, 1]) / 5, np.array([1, 3, 0]) / 4
    assert mmd(x, y, Categorical(), biased=True) == pytest.approx(np.sum((p - q) ** 2))
    words = ["abab", "babb", "cab", "aabb", "bbb"]
    K = Spectrum(2)(words)
    assert mmd(words[:2], words[2:], Spectrum(2)) == pytest.approx(brute(K, 2))
    assert mmd(K[:2], K[2:], Precomputed()) == pytest.approx(brute(K, 2))
    assert mmd([[0.0, 1.0]] * 3, [[1.0, 0.0]] * 2, np.dot) == pytest.approx(2)


def test_defaults_to_the_median_of_all_samples(pair):
    k = Gaussian("median").resolve(np.vstack(pair))
    assert mmd(*pair) == mmd(*pair, k)
    assert mmd(*pair, "linear") == pytest.approx(mmd(*pair, Linear()))
    lists = [Z.tolist() for Z in pair]
    assert mmd(*lists, "rbf") == pytest.approx(mmd(*pair, Gaussian.from_gamma(0.5)))


def test_bad_input():
    X = np.zeros((4, 2))
    with pytest.raises(ValueError, match="estimator must be one of"):
        mmd(X, X, estimator="w")
    with pytest.raises(ValueError, match='"v" with biased=True'):
        mmd(X, X, estimator="u", biased=True)
    with pytest.raises(ValueError, match="at least 2"):
        mmd(X[:1], X)
    with pytest.raises(ValueError, match="same number of features, got 2, 3"):
        mmd(X, np.zeros((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        mmd(X, np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="as many of each"):
        mmd(X, X[:3], estimator="h")
    with pytest.raises(ValueError, match="block_size"):
        mmd(X, X, estimator="block", block_size=5)
    with pytest.raises(ValueError, match="n_shifts"):
        mmd(X, X, estimator="incomplete")
    with pytest.raises(ValueError, match="at least two samples"):
        mmd_multi([X])
    with pytest.raises(ValueError, match="not a data set"):
        mmd(3.0, X)


# ---- the witness function ------------------------------------------------------------------
def test_witness_is_the_difference_of_embeddings(pair):
    X, Y = pair
    k = Gaussian()
    w = witness(X, Y, k)
    t = np.array([[0.3, -0.2], [1.0, 1.0]])
    assert w(t) == pytest.approx(k(t, X).mean(1) - k(t, Y).mean(1))
    assert w.norm() ** 2 == pytest.approx(mmd(X, Y, k, biased=True))
    assert (w(X).mean() - w(Y).mean()) == pytest.approx(w.norm() ** 2)


def test_extremes_and_peak(pair):
    X, Y = pair
    w = witness(X, Y, Gaussian())
    Z = np.vstack(pair)
    found = extremes(w, Z, 3)
    assert np.all(w(Z)[found.highest[0]] >= w(Z))
    assert np.all(w(Z)[found.lowest[0]] <= w(Z))
    grid = np.stack([g.ravel() for g in np.meshgrid(*2 * [np.linspace(-4, 4, 81)])], axis=1)
    assert w(peak(w, Z)[None])[0] >= w(grid).max() - 1e-9
    assert w(peak(w, Z, sign=-1)[None])[0] <= w(grid).min() + 1e-9
    with pytest.raises(ValueError, match="count"):
        extremes(w, Z, 0)


def test_relevance_finds_the_shifted_feature_in_any_unit(rng):
    X, Y = rng.standard_normal((2, 150, 4))
    Y[:, 2] += 1
    units = np.array([1.0, 100.0, 0.01, 1.0])
    r = relevance(witness(X, Y, Gaussian(2.0)), np.vstack([X, Y]))
    scaled = witness(X * units, Y * units, Gaussian(2.0 * units))
    assert r.argmax() == 2
    assert r[2] > 0.5
    assert r.sum() == pytest.approx(1)
    assert relevance(scaled, np.vstack([X, Y]) * units) == pytest.approx(r)
