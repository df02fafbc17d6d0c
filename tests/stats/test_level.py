"""The level of every test: of 1000 samples under the hypothesis, 5 % are rejected at 5 %.

Rates are held against the band in which those of a test of that level lie with a probability of
99 %. Of many correct tests one in a hundred is outside, so a case that is outside gets a second
trial: 4000 new samples, and a band that is half as wide. Discrete data have ties, which can only
make p-values larger, so there the band has no lower end; nor has it one for the conditional test
and for the wild bootstrap of short series, which err on the safe side. Distributions that are
limits are tested at the sample sizes that their documentation names.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from mercer import (
    Categorical,
    Custom,
    Distance,
    Gaussian,
    Linear,
    Spectrum,
    conditional_independence_test,
    goodness_of_fit_test,
    independence_test,
    k_sample_test,
    two_sample_test,
)

pytestmark = pytest.mark.slow

LEVEL = 0.05
MEDIAN = Gaussian("median")


def band(repetitions):
    """Numbers of rejections that a test of this level has with a probability of 99 %."""
    return binom.ppf([0.005, 0.995], repetitions, LEVEL)


def rejections(draw, test, repetitions, seed=0):
    """How many of so many samples are rejected."""
    count = 0
    for i in range(repetitions):
        rng = np.random.default_rng([seed, i])
        count += test(*draw(rng), rng=rng).pvalue <= LEVEL
    return count


def check(draw, test, record, conservative=False):
    """Is the rate of rejections inside the band, in the first or in the longer second trial?"""
    for seed, repetitions in enumerate((1000, 4000)):
        low, high = band(repetitions)
        count = rejections(draw, test, repetitions, seed)
        record("rate", count / repetitions)
        if (conservative or low <= count) and count <= high:
            return
    raise AssertionError(f"{count} of {repetitions} rejected, not {low:.0f} to {high:.0f}")


# ---- data under the hypothesis -------------------------------------------------------------
@dataclass
class Graph:
    """A graph by its adjacency matrix, and a kernel: nodes of the same degree in common."""

    adjacency: np.ndarray

    def in_common(self, other):
        mine, theirs = (np.bincount(g.adjacency.sum(axis=0), minlength=9) for g in (self, other))
        return float(np.minimum(mine, theirs).sum())


def graph(rng):
    upper = np.triu(rng.random((8, 8)) < 0.4, 1).astype(int)
    return Graph(upper + upper.T)


def word(rng):
    return "".join(rng.choice(list("acgt"), rng.integers(8, 16)))


def normal(n, m, rng, d=2):
    return rng.standard_normal((n, d)), rng.standard_normal((m, d))


def scaled(n, m, rng):
    units = np.array([1.0, 1e3, 1e-3])
    return rng.standard_normal((n, 3)) * units, rng.standard_normal((m, 3)) * units


def heavy(n, m, rng):
    return rng.standard_cauchy((n, 2)), rng.standard_cauchy((m, 2))


def counts(n, m, rng):
    return rng.integers(0, 3, (n, 2)) * 1.0, rng.integers(0, 3, (m, 2)) * 1.0


def words(n, m, rng):
    return [word(rng) for _ in range(n)], [word(rng) for _ in range(m)]


def graphs(n, m, rng):
    return [graph(rng) for _ in range(n)], [graph(rng) for _ in range(m)]


def clusters(n, m, rng):
    """Clusters of five, strongly alike within."""
    return tuple(
        np.repeat(rng.standard_normal(size // 5), 5) + 0.3 * rng.standard_normal(size)
        for size in (n, m)
    )


def series(n, m, rng, memory=0.5):
    """Two stationary series that remember."""
    from scipy.signal import lfilter

    noise = rng.standard_normal(n + m + 200) * np.sqrt(1 - memory**2)
    parts = np.split(noise, [n + 100])
    return tuple(lfilter([1.0], [1.0, -memory], part)[100:] for part in parts)


# ---- two and more samples ------------------------------------------------------------------
DEFAULT = partial(two_sample_test, n_permutations=199)
ONE = partial(DEFAULT, kernel=MEDIAN)

EXACT = {
    "default, 8 and 8": (partial(normal, 8, 8), DEFAULT),
    "default, 15 and 15": (partial(normal, 15, 15), DEFAULT),
    "default, 30 and 120": (partial(scaled, 30, 120), DEFAULT),
    "default, heavy tails": (partial(heavy, 12, 20), DEFAULT),
    "default, ten columns": (partial(normal, 20, 20, d=10), DEFAULT),
    "default, biased": (partial(normal, 15, 15), partial(DEFAULT, statistic="v")),
    "default, bins": (partial(normal, 40, 60), partial(DEFAULT, bins=40)),
    "default, landmarks": (partial(normal, 15, 20), partial(DEFAULT, landmarks=10)),
    "one kernel, 8 and 8": (partial(normal, 8, 8), ONE),
    "one kernel, 15 and 15": (partial(normal, 15, 15), ONE),
    "one kernel, 30 and 120": (partial(scaled, 30, 120), ONE),
    "one kernel, 19 permutations": (partial(normal, 15, 15), partial(ONE, n_permutations=19)),
    "energy distance": (partial(normal, 15, 15), partial(DEFAULT, kernel=Distance())),
    "stopped early": (partial(normal, 15, 20), partial(ONE, stop_after=15)),
    "optimized on one half": (partial(normal, 14, 14), partial(DEFAULT, kernel="optimize")),
    "strings": (partial(words, 12, 18), partial(DEFAULT, kernel=Spectrum(2))),
    "strings, several kernels": (
        partial(words, 12, 18),
        partial(DEFAULT, kernel=[Spectrum(1), Spectrum(2), Spectrum(3)]),
    ),
    "clusters": (partial(clusters, 60, 80), partial(DEFAULT, blocks=5)),
    "clusters, one kernel": (partial(clusters, 60, 80), partial(ONE, blocks=5)),
}
TIES = {
    "default, counts, 8 and 8": (partial(counts, 8, 8), DEFAULT),
    "default, counts, 15 and 25": (partial(counts, 15, 25), DEFAULT),
    "one kernel, counts": (partial(counts, 15, 15), ONE),
    "graphs": (partial(graphs, 10, 15), partial(DEFAULT, kernel=Custom(Graph.in_common))),
}


@pytest.mark.parametrize("case", EXACT)
def test_two_samples(case, record_property):
    check(*EXACT[case], record_property)


@pytest.mark.parametrize("case", TIES)
def test_two_samples_with_ties(case, record_property):
    check(*TIES[case], record_property, conservative=True)


def test_two_samples_within_groups_that_differ(record_property):
    """Groups have different means and different shares of the samples."""

    def draw(rng):
        g = np.concatenate([rng.random(20) < 0.3, rng.random(20) < 0.7])
        X, Y = np.split(rng.standard_normal((40, 2)) + 3 * g[:, None], 2)
        return X, Y, g

    def test(X, Y, g, rng):
        return DEFAULT(X, Y, groups=g, rng=rng)

    check(draw, test, record_property)


@pytest.mark.parametrize("kernel", [None, MEDIAN])
@pytest.mark.parametrize("sizes", [(8, 8, 8), (10, 20, 40)])
def test_several_samples(kernel, sizes, record_property):
    def test(*samples, rng):
        return k_sample_test(samples, kernel, n_permutations=199, rng=rng)

    def draw(rng):
        return [rng.standard_normal((n, 2)) for n in sizes]

    check(draw, test, record_property)


@pytest.mark.parametrize("sizes", [(30, 30), (30, 120)])
@pytest.mark.parametrize("null", ["pearson", "gamma", "spectrum", "wild"])
def test_two_samples_without_permutations(null, sizes, record_property):
    check(partial(normal, *sizes), partial(ONE, null=null), record_property)


@pytest.mark.parametrize("statistic", ["linear", "block"])
def test_two_samples_by_the_normal_limit(statistic, record_property):
    def test(X, Y, rng):
        return two_sample_test(X, Y, Gaussian(1.0), null="normal", statistic=statistic, rng=rng)

    conservative = statistic == "block"  # its variance is overestimated: 3 % are rejected
    check(partial(normal, 400, 400), test, record_property, conservative)


SERIES = {
    "wild, correlation .5": (partial(series, 200, 200), {"null": "wild", "blocks": 5}),
    "wild, correlation .5, n=400": (partial(series, 400, 400), {"null": "wild", "blocks": 5}),
}
SHORT_SERIES = {  # of few times their memory, where the wild bootstrap is on the safe side
    "wild, n=100": (partial(series, 100, 100), {"null": "wild", "blocks": 5}),
    "wild, correlation .8": (partial(series, 200, 200, memory=0.8), {"null": "wild", "blocks": 14}),
}


@pytest.mark.parametrize(("n", "correlation", "blocks"), [(200, 0.5, 20), (448, 0.8, 56)])
def test_two_series_in_blocks_of_four_times_their_memory(n, correlation, blocks, record_property):
    draw = partial(series, n, n, memory=correlation)
    check(draw, partial(ONE, blocks=blocks), record_property)


@pytest.mark.parametrize("case", SERIES)
def test_two_series(case, record_property):
    draw, options = SERIES[case]
    check(draw, partial(ONE, **options), record_property)


@pytest.mark.parametrize("kernel", [MEDIAN, Linear(), Gaussian(0.2)])
@pytest.mark.parametrize("case", SHORT_SERIES)
def test_two_short_series(case, kernel, record_property):
    draw, options = SHORT_SERIES[case]
    check(draw, partial(DEFAULT, kernel=kernel, **options), record_property, conservative=True)


def test_two_series_of_different_lengths(record_property):
    test = partial(ONE, null="wild", blocks=5)
    check(partial(series, 80, 240), test, record_property, conservative=True)


# ---- hostile data --------------------------------------------------------------------------
def one_hot(n, rng, labels=3):
    return np.eye(labels)[rng.integers(0, labels, n)]


HOSTILE = {
    "Bernoulli(.01)": lambda n, rng: (rng.random((n, 1)) < 0.01) * 1.0,
    "Bernoulli(.01), five": lambda n, rng: (rng.random((n, 5)) < 0.01) * 1.0,
    "one-hot, 3": one_hot,
    "one-hot, 20": partial(one_hot, labels=20),
    "rounded": lambda n, rng: np.round(rng.standard_normal((n, 2))),
    "Cauchy": lambda n, rng: rng.standard_cauchy((n, 2)),
    "constant column": lambda n, rng: np.c_[np.full(n, 7.0), rng.standard_normal(n)],
    "units": lambda n, rng: rng.standard_normal((n, 3)) * [1e-6, 1, 1e6] + [0, 0, 1e7],
    "sentinel": lambda n, rng: np.where(
        rng.random((n, 2)) < 0.1, -99999.0, rng.integers(0, 3, (n, 2))
    ),
    "offset": lambda n, rng: 1e6 + rng.integers(0, 2, (n, 2)),
    "single precision": lambda n, rng: rng.integers(0, 3, (n, 2)).astype(np.float32) / 10,
}
QUICK = {"n_permutations": 19}  # one in twenty is exact
KERNELS = {"default": None, "one": MEDIAN, "linear": Linear(), "energy": Distance()}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("data", HOSTILE)
def test_two_hostile_samples(data, kernel, record_property):
    def draw(rng):
        return np.split(HOSTILE[data](45, rng), [20])

    test = partial(two_sample_test, kernel=KERNELS[kernel], **QUICK)
    check(draw, test, record_property, conservative=True)


@pytest.mark.parametrize("data", HOSTILE)
def test_three_hostile_samples(data, record_property):
    def draw(rng):
        return np.split(HOSTILE[data](45, rng), [12, 24])

    def test(*samples, rng):
        return k_sample_test(samples, rng=rng, **QUICK)

    check(draw, test, record_property, conservative=True)


DEPENDENCE = {
    "default": {},
    "at random": {"permutations": "random"},
    "one pair, biased": {"kernels": MEDIAN, "statistic": "v"},
    "linear": {"kernels": Linear()},
    "coco": {"kernels": MEDIAN, "statistic": "coco"},
    "nocco": {"kernels": MEDIAN, "statistic": "nocco"},
}


@pytest.mark.parametrize("how", DEPENDENCE)
@pytest.mark.parametrize("data", HOSTILE)
def test_independence_of_hostile_variables(data, how, record_property):
    def draw(rng):
        return HOSTILE[data](30, rng), HOSTILE[data](30, rng)

    test = partial(independence_test, **QUICK, **DEPENDENCE[how])
    check(draw, test, record_property, conservative=True)


@pytest.mark.parametrize("data", ["Bernoulli(.01)", "one-hot, 3", "Cauchy", "sentinel"])
def test_joint_independence_of_hostile_variables(data, record_property):
    def draw(rng):
        return [HOSTILE[data](25, rng) for _ in range(3)]

    check(draw, partial(independence_test, **QUICK), record_property, conservative=True)


@pytest.mark.parametrize("test", [two_sample_test, independence_test])
@pytest.mark.parametrize("null", ["pearson", "gamma", "spectrum", "wild"])
@pytest.mark.parametrize("data", ["one-hot, 3", "rounded", "Cauchy", "constant column"])
def test_hostile_data_without_permutations(data, null, test, record_property):
    def draw(rng):
        return HOSTILE[data](40, rng), HOSTILE[data](40, rng)

    options = {"kernel" if test is two_sample_test else "kernels": MEDIAN, "null": null}
    check(draw, partial(test, n_permutations=199, **options), record_property, conservative=True)


@pytest.mark.parametrize("test", [two_sample_test, independence_test])
def test_spectra_in_twenty_dimensions(test, record_property):
    options = {"kernel" if test is two_sample_test else "kernels": MEDIAN, "null": "spectrum"}
    check(partial(normal, 60, 60, d=20), partial(test, **options), record_property)


# ---- independence --------------------------------------------------------------------------
JOINT = partial(independence_test, n_permutations=199)
PAIR = partial(JOINT, kernels=MEDIAN)


def pair(n, rng, d=1):
    return rng.standard_normal(n), rng.standard_normal((n, d))


def several(n, dims, rng):
    """Variables whose columns are strongly dependent on each other."""
    return [rng.standard_normal((n, 1)) + 0.2 * rng.standard_normal((n, d)) for d in dims]


def mixed(n, rng):
    return [word(rng) for _ in range(n)], rng.standard_normal(n)


INDEPENDENT = {
    "default, n=8": (partial(pair, 8), JOINT),
    "default, n=15": (partial(pair, 15), JOINT),
    "default, n=30, 1 and 5 columns": (partial(pair, 30, d=5), JOINT),
    "default, n=60": (partial(pair, 60), JOINT),
    "default, n=230": (partial(pair, 230), JOINT),
    "default, at random": (partial(pair, 30), partial(JOINT, permutations="random")),
    "default, cyclic": (partial(pair, 30), partial(JOINT, permutations="cyclic")),
    "default, landmarks": (partial(pair, 60), partial(JOINT, landmarks=15)),
    "one pair, n=8": (partial(pair, 8), PAIR),
    "one pair, n=30": (partial(pair, 30), PAIR),
    "one pair, biased": (partial(pair, 30), partial(PAIR, statistic="v")),
    "one pair, cyclic": (partial(pair, 40), partial(PAIR, permutations="cyclic")),
    "one pair, stopped early": (partial(pair, 30), partial(PAIR, stop_after=15)),
    "heavy tails": (partial(heavy, 25, 25), JOINT),
    "three variables": (partial(several, 20, (1, 3, 2)), JOINT),
    "three variables, one kernel": (partial(several, 20, (1, 3, 2)), PAIR),
    "four variables": (partial(several, 15, (1, 1, 2, 1)), PAIR),
    "strings and numbers": (partial(mixed, 20), partial(JOINT, kernels=[Spectrum(2), None])),
    "clusters": (partial(clusters, 100, 100), partial(PAIR, blocks=5)),
}


@pytest.mark.parametrize("case", INDEPENDENT)
def test_independence(case, record_property):
    check(*INDEPENDENT[case], record_property)


def colours(n, rng):
    return rng.choice(list("rgb"), n).tolist(), rng.choice(list("rgb"), n).tolist()


@pytest.mark.parametrize("draw", [partial(counts, 20, 20), partial(counts, 60, 60)])
def test_independence_with_ties(draw, record_property):
    check(draw, JOINT, record_property, conservative=True)


@pytest.mark.parametrize("n", [15, 60])
def test_independence_of_labels(n, record_property):
    test = partial(JOINT, kernels=Categorical())
    check(partial(colours, n), test, record_property, conservative=True)


@pytest.mark.parametrize("share", [0.5, 0.37])
def test_independence_within_groups(share, record_property):
    g = np.arange(60) < 60 * share

    def draw(rng):
        return tuple(3 * g + rng.standard_normal((2, 60)))

    check(draw, partial(JOINT, groups=g), record_property)


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("null", ["pearson", "gamma", "spectrum", "wild"])
def test_independence_without_permutations(null, n, record_property):
    check(partial(pair, n, d=2), partial(PAIR, null=null), record_property)


@pytest.mark.parametrize("null", ["pearson", "wild", "gamma", "spectrum"])
def test_independence_by_narrow_kernels(null, record_property):
    test = partial(JOINT, kernels=Gaussian(0.3), null=null)
    check(partial(pair, 30, d=2), test, record_property, conservative=True)


@pytest.mark.parametrize(("n", "correlation", "blocks"), [(200, 0.5, 10), (392, 0.8, 28)])
def test_independence_in_blocks_of_twice_the_memory(n, correlation, blocks, record_property):
    draw = partial(series, n, n, memory=correlation)
    check(draw, partial(PAIR, blocks=blocks), record_property)


@pytest.mark.parametrize("case", SERIES)
def test_independence_of_series(case, record_property):
    draw, options = SERIES[case]
    check(draw, partial(PAIR, **options), record_property)


@pytest.mark.parametrize("kernel", [MEDIAN, Linear(), Gaussian(0.2)])
@pytest.mark.parametrize("case", SHORT_SERIES)
def test_independence_of_short_series(case, kernel, record_property):
    draw, options = SHORT_SERIES[case]
    check(draw, partial(JOINT, kernels=kernel, **options), record_property, conservative=True)


@pytest.mark.parametrize("statistic", ["coco", "kcca", "nocco"])
@pytest.mark.parametrize("kernels", [MEDIAN, [[Gaussian(0.5), Gaussian(2.0)], MEDIAN]])
def test_independence_by_other_measures(statistic, kernels, record_property):
    options = {"statistic": statistic, "kernels": kernels, "n_permutations": 99}
    check(partial(pair, 20), partial(independence_test, **options), record_property)


HOSTILE_TO_CORRELATIONS = {
    "rare": lambda r: (r.random(60) < 0.1) * 1.0,
    "one-hot": lambda r: np.eye(3)[r.choice(3, 60, p=[0.8, 0.15, 0.05])],
    "ties": lambda r: r.integers(0, 4, 60) * 1.0,
    "Cauchy": lambda r: r.standard_cauchy(60),
}


@pytest.mark.parametrize("data", HOSTILE_TO_CORRELATIONS)
def test_kernel_canonical_correlations_of_hostile_variables(data, record_property):
    one = HOSTILE_TO_CORRELATIONS[data]
    test = partial(independence_test, statistic="kcca", n_permutations=99)
    check(lambda r: (one(r), one(r)), test, record_property, conservative=data != "Cauchy")


# ---- given a third variable, and a density -------------------------------------------------
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("null", ["wild", "local"])
def test_conditional_independence(null, d, record_property):
    def draw(rng):
        Z = rng.standard_normal((100, d))
        mean = Z.sum(axis=1) / np.sqrt(d)
        return np.tanh(mean) + rng.standard_normal(100), mean + rng.standard_normal(100), Z

    def test(X, Y, Z, rng):
        return conditional_independence_test(X, Y, Z, null=null, n_permutations=199, rng=rng)

    check(draw, test, record_property, conservative=True)


def rare(z, rng, most=0.1):
    return (rng.random(len(z)) < most / (1 + np.exp(-2 * z))) * 1.0


def with_sentinels(z, rng):
    """A code for what is missing in 10 % of the observations."""
    return np.where(rng.random(len(z)) < 0.1, -99999.0, z + rng.standard_normal(len(z)))


GIVEN = {
    "rare": rare,
    "a tenth": partial(rare, most=0.2),
    "sentinels": with_sentinels,
    "one-hot": lambda z, rng: np.eye(3)[
        np.clip(np.round(z + rng.standard_normal(len(z))), -1, 1).astype(int)
    ],
    "Cauchy": lambda z, rng: z + rng.standard_cauchy(len(z)),
    "three values": lambda z, rng: np.clip(np.round(z + rng.standard_normal(len(z))), -1, 1),
}


@pytest.mark.parametrize("data", GIVEN)
def test_conditional_independence_of_hostile_variables(data, record_property):
    def draw(rng):
        z = rng.standard_normal(100)
        return GIVEN[data](z, rng), GIVEN[data](z, rng), z

    def test(X, Y, Z, rng):
        return conditional_independence_test(X, Y, Z, n_permutations=199, rng=rng)

    check(draw, test, record_property, conservative=True)


DENSITIES = {
    "normal, 30": (lambda r: r.standard_normal((30, 2)), lambda x: -x),
    "normal, 100": (lambda r: r.standard_normal((100, 1)), lambda x: -x),
    "Student, 100": (lambda r: r.standard_t(5, (100, 1)), lambda x: -6 * x / (5 + x**2)),
}
BOUNDED = {
    "exponential": (lambda r: r.exponential(size=60), lambda x: -np.ones_like(x), (0, np.inf)),
    "uniform": (lambda r: r.random((60, 2)), np.zeros_like, (0, 1)),
    "gamma": (lambda r: r.gamma(0.5, size=60), lambda x: -0.5 / x - 1, (0, np.inf)),
    "beta": (lambda r: r.beta(0.5, 2, 60), lambda x: -0.5 / x - 1 / (1 - x), (0, 1)),
}


@pytest.mark.parametrize("case", BOUNDED)
def test_goodness_of_fit_with_a_boundary(case, record_property):
    draw, score, support = BOUNDED[case]
    test = partial(goodness_of_fit_test, score=score, support=support, n_draws=199)
    check(lambda r: (draw(r),), test, record_property)


@pytest.mark.parametrize("case", DENSITIES)
def test_goodness_of_fit(case, record_property):
    draw, score = DENSITIES[case]
    check(
        lambda r: (draw(r),),
        partial(goodness_of_fit_test, score=score, n_draws=199),
        record_property,
    )


def test_goodness_of_fit_of_a_chain(record_property):
    test = partial(goodness_of_fit_test, score=lambda x: -x, n_draws=199, memory=5.0)
    check(lambda r: series(200, 200, r)[:1], test, record_property)
