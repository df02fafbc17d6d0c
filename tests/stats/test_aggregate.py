"""Statistics of several kernels as one: scores, and what only a narrow kernel sees."""

from itertools import combinations, product

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from mercer import (
    Categorical,
    Gaussian,
    dependence_grid,
    independence_test,
    kernel_grid,
    two_sample_test,
)
from mercer.stats.aggregate import column_units, combine, wider_kernels
from mercer.stats.independence_grid import wider_combinations
from mercer.stats.permutations import exchange_samples
from mercer.stats.samples import Samples, relabelled


def score(T):
    """The score of one row, straight from its definition."""
    rest = np.sort(T)[:-1]
    z = (T - rest.mean()) / rest.std()
    g = max(np.mean(((rest - rest.mean()) / rest.std()) ** 3), 1e-3)
    return 6 / g * (np.cbrt(np.maximum(1 + g * z / 2, 0)) - 1) + g / 6


def standard(T):
    rest = np.sort(T)[:-1]
    return (T - rest.mean()) / rest.std()


@pytest.fixture
def statistics(rng):
    """Three kernels, each with the noise of the wider ones, and skewed."""
    a, b, c = rng.chisquare(2, (3, 300))
    return np.array([a + b + c, b + c, c])


# ---- the second score ------------------------------------------------------------------------
def test_second_score_is_that_of_a_residual(statistics):
    T = statistics
    Z = np.array([standard(row) for row in T])
    kept = np.arange(300) != Z.max(axis=0).argmax()

    def residual(k, seen):
        design = np.c_[np.ones(kept.sum()), Z[seen][:, kept].T]
        coef = np.linalg.solve(design.T @ design, design.T @ Z[k, kept])
        return Z[k] - coef[0] - coef[1:] @ Z[seen]

    expected = [
        np.maximum(score(T[0]), score(residual(0, [1, 2])) - 0.5),
        np.maximum(score(T[1]), score(residual(1, [2])) - 0.5),
        score(T[2]),
    ]
    found = combine(T, [[1, 2], [2], []])
    np.testing.assert_allclose(found.scores, expected, atol=1e-9)
    np.testing.assert_array_equal(found.values, found.scores.max(axis=0))


def test_scores_do_not_depend_on_the_order_of_labellings(statistics, rng):
    order, wider = rng.permutation(300), [[1, 2], [2], []]
    scores = combine(statistics, wider).scores
    found = combine(statistics[:, order], wider).scores
    np.testing.assert_allclose(found, scores[:, order], atol=1e-9)


def test_noise_of_a_wider_kernel_is_removed(rng):
    """What stands out of the narrow kernel's own noise drowns in that of the wide one."""
    wide, own = rng.standard_normal((2, 1000))
    own[0], wide[0] = 4.0, -1.0
    T = np.array([3 * wide + own, wide])
    plain, both = combine(T), combine(T, [[1], []])
    assert plain.values[0] < 2
    assert both.values[0] > 3
    assert np.all(both.scores >= plain.scores)


def test_kernels_that_are_the_same_have_no_second_score(rng):
    T = rng.chisquare(3, 200) * np.array([[1.0], [2.0]]) + 1e-6 * rng.standard_normal((2, 200))
    np.testing.assert_array_equal(combine(T, [[1], []]).scores, combine(T).scores)
    constant = np.ones((2, 50))
    np.testing.assert_array_equal(combine(constant, [[1], []]).scores, combine(constant).scores)


def test_few_labellings_give_no_regression(rng):
    T = rng.chisquare(3, (2, 12))
    np.testing.assert_array_equal(combine(T, [[1], []]).scores, combine(T).scores)


# ---- which kernels are wider -----------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 2, 10])
def test_wider_kernels_are_wider(rng, n):
    kernels, wider = kernel_grid(rng.standard_normal((50, 2)), n), wider_kernels(n)
    assert len(wider) == len(kernels)
    assert [k for k, seen in enumerate(wider) if not seen] == [n - 1]
    for kernel, seen in zip(kernels[:n], wider[:n], strict=True):
        assert all(np.all(kernels[w].lengthscale > kernel.lengthscale) for w in seen)
    assert all(seen == [n - 1] for seen in wider[n:])


def test_wider_combinations(rng):
    x = rng.standard_normal(40)
    left, right = dependence_grid(x), dependence_grid(x)
    widths = [float(k.lengthscale) for k in left]
    assert widths == sorted(widths)
    every = list(product(left, right))
    found = wider_combinations(every, [left, right], [True, True])
    assert found[0] == [1, 3, 4]  # (0, 1), (1, 0) and (1, 1)
    assert found[5] == [8]
    assert found[8] == []
    matched = list(zip(left, right, strict=True))
    assert wider_combinations(matched, [left, right], [True, True]) == [[1], [2], []]
    one = Gaussian(1.0)
    pairs = [(k, one) for k in left]
    assert wider_combinations(pairs, [left, [one]], [True, False]) == [[1], [2], []]
    assert wider_combinations(every, [left, right], [False, False]) == [[]] * 9


# ---- in the tests ----------------------------------------------------------------------------
def test_the_default_test_is_exact_over_all_permutations(rng):
    """Averaged over every labelling of eight points, P(p <= a) <= a."""
    Z = rng.standard_normal((8, 2))
    labels = np.array([[int(i not in c) for i in range(8)] for c in combinations(range(8), 4)])
    values, _ = relabelled(kernel_grid(Z), Samples(Z[:4], Z[4:]), exchange_samples((4, 4)), labels)
    T = combine(values, wider_kernels(10)).values
    pvalues = np.array([np.mean(t - 1e-9 <= T) for t in T])
    for level in (0.05, 0.1, 0.5):
        assert np.mean(pvalues <= level) <= level


def test_only_default_kernels_are_known_to_be_wider(rng, monkeypatch):
    known = []

    def recorded(statistics, wider=None, tolerance=None):
        known.append(wider)
        return combine(statistics, wider, tolerance)

    monkeypatch.setattr("mercer.stats.aggregate.combine", recorded)
    X, Y = rng.standard_normal((2, 40, 2))
    kernels = two_sample_test(X, Y, n_permutations=49, rng=0).kernel
    two_sample_test(X, Y, kernels, n_permutations=49, rng=0)
    assert known == [wider_kernels(10), None]
    x, y = rng.standard_normal((2, 40))
    colours = np.where(y > 0, "red", "blue").tolist()
    independence_test(x, colours, kernels=[None, Categorical()], n_permutations=49)
    independence_test(x, y, kernels=[dependence_grid(x), Gaussian(1.0)], n_permutations=49)
    assert known[2:] == [[[1], [2], []], [[], [], []]]


def test_a_stretched_column_is_seen():
    """A plain maximum of scores rejects six times out of ten."""
    count = 0
    for i in range(25):
        X, Y = np.random.default_rng(i).standard_normal((2, 100, 10))
        Y[:, 0] *= 2
        count += two_sample_test(X, Y, n_permutations=99, rng=i).pvalue <= 0.05
    assert count >= 20


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e200])
def test_units_of_columns_of_any_size(size):
    """The second column has a spread by its standard deviation only, whose squares vanish."""
    Z = np.array([[1.0, 0], [2, 0], [3, 0], [4, 0], [5, 0], [6, 9]])
    assert column_units(size * Z) / size == pytest.approx(column_units(Z))


def test_a_labelling_far_below_the_others_does_not_lift_them():
    """It makes the skewness negative, and the curve would end just above the others."""
    draws = np.random.default_rng(0).normal(size=(1, 1000))
    draws[0, 0] = -9.0
    assert combine(draws).values.max() < 4.5


@pytest.mark.parametrize("seed", range(3))
def test_a_plain_difference_of_a_real_column_is_never_exceeded(seed):
    """What a narrow kernel sees beyond a wide one is far below zero for the observed labels."""
    table = load_diabetes(scaled=False)
    mass, ill = table.data[:, [2]], table.target > np.median(table.target)
    assert two_sample_test(mass[ill], mass[~ill], rng=seed).pvalue == 0.001
