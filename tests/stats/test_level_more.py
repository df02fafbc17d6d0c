"""The level of further tests: sequential, paired, by classifiers, relative, of distributions.

As in ``test_level.py``: of 1000 samples under the hypothesis, the share that is rejected at 5 % has
to be in the band in which it lies with a probability of 99 %. Sequential tests are looked at after
every bet, and rejected if they ever were, so there the band has no lower end; nor has it one where
p-values err on the safe side (the largest of three, relative tests of samples on both sides).
"""

from functools import partial

import numpy as np
import pytest
from scipy import stats

from mercer import (
    Gaussian,
    SequentialIndependenceTest,
    SequentialTwoSampleTest,
    Spectrum,
    classifier_test,
    distribution_test,
    interaction_test,
    paired_test,
    relative_fit_test,
    relative_test,
    sensitivity_indices,
)
from mercer.tables import compare_tables, screen_columns

pytestmark = pytest.mark.slow

LEVEL = 0.05
MEDIAN = Gaussian("median")


def check(draw, test, record, conservative=False):
    """Is the rate of rejections inside the band, in the first or in the longer second trial?"""
    for seed, repetitions in enumerate((1000, 4000)):
        low, high = stats.binom.ppf([0.005, 0.995], repetitions, LEVEL)
        rngs = [np.random.default_rng([seed, i]) for i in range(repetitions)]
        count = sum(test(*draw(rng), rng=rng) <= LEVEL for rng in rngs)
        record("rate", count / repetitions)
        if (conservative or low <= count) and count <= high:
            return
    raise AssertionError(f"{count} of {repetitions} rejected, not {low:.0f} to {high:.0f}")


def sequential(Test, X, Y, rng, **options):
    """The smallest p-value over all looks."""
    return Test(**options).update(X, Y).pvalue


def pvalue(test, *data, rng=None, **options):
    return test(*data, rng=rng, **options).pvalue


def unseeded(test, *data, rng=None, **options):
    return test(*data, **options).pvalue


def normal(n, rng, d=2):
    return rng.normal(size=(n, d)), rng.normal(size=(n, d))


def counts(n, rng):
    return rng.integers(0, 3, (n, 2)) * 1.0, rng.integers(0, 3, (n, 2)) * 1.0


def heavy(n, rng):
    return rng.standard_cauchy((n, 2)), rng.standard_cauchy((n, 2))


def words(n, rng):
    return tuple(["".join(rng.choice(list("ab"), 6)) for _ in range(n)] for _ in range(2))


def pairs(n, rng):
    common = rng.normal(0, 3, (n, 2))
    return common + rng.normal(size=(n, 2)), common + rng.normal(size=(n, 2))


STREAMS = {
    "two samples": (partial(normal, 300), partial(sequential, SequentialTwoSampleTest)),
    "two samples, budget": (
        partial(normal, 300, d=1),
        partial(sequential, SequentialTwoSampleTest, budget=50),
    ),
    "two samples, heavy tails": (partial(heavy, 200), partial(sequential, SequentialTwoSampleTest)),
    "two samples, ties": (partial(counts, 200), partial(sequential, SequentialTwoSampleTest)),
    "two samples, strings": (
        partial(words, 100),
        partial(sequential, SequentialTwoSampleTest, kernel=Spectrum(2)),
    ),
    "independence": (partial(normal, 400, d=1), partial(sequential, SequentialIndependenceTest)),
    "independence, ties": (partial(counts, 400), partial(sequential, SequentialIndependenceTest)),
    "independence, heavy tails": (
        partial(heavy, 300),
        partial(sequential, SequentialIndependenceTest),
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_streams_under_optional_stopping(name, record_property):
    check(*STREAMS[name], record_property, conservative=True)


def tables(rng):
    """Two tables with dependent columns of numbers and one of labels."""
    pd = pytest.importorskip("pandas")

    def one(n):
        a = rng.normal(size=n)
        columns = {"a": a, "b": a + rng.normal(size=n), "c": rng.choice(list("xyz"), n)}
        return pd.DataFrame(columns)

    return one(20), one(15)


def target(rng):
    table, _ = tables(rng)
    return (table.assign(y=rng.normal(size=20)),)


def any_column(test, *data, rng=None, **options):
    """The smallest of the corrected p-values: is any column found?"""
    return test(*data, rng=rng, **options).adjusted.min()


def interacting(rng):
    """Three inputs, of which the third does nothing."""
    X = rng.uniform(size=(25, 3))
    return X, X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=25)


def third(kind, *data, rng=None):
    found = sensitivity_indices(*data, n_permutations=19, n_bootstrap=0, rng=rng)
    return getattr(found, f"{kind}_pvalues")[2]


EXACT = {
    "columns of two tables": (tables, partial(any_column, compare_tables, n_permutations=99)),
    "columns and a target": (
        target,
        partial(any_column, screen_columns, target="y", n_permutations=99),
    ),
    "sensitivity, first order": (interacting, partial(third, "first")),
    "sensitivity, total": (interacting, partial(third, "total")),
    "paired": (partial(pairs, 20), partial(pvalue, paired_test, n_permutations=199)),
    "paired, one kernel": (
        partial(pairs, 12),
        partial(pvalue, paired_test, kernel=MEDIAN, n_permutations=199),
    ),
    "classifier": (partial(normal, 30), partial(pvalue, classifier_test, n_permutations=99)),
    "classifier, two parts": (
        partial(heavy, 20),
        partial(pvalue, classifier_test, n_parts=2, n_permutations=99),
    ),
    "a distribution": (
        lambda rng: (rng.normal(size=20), stats.norm(0, 1)),
        partial(pvalue, distribution_test, n_draws=39),
    ),
    "a family": (
        lambda rng: (rng.normal(3, 2, 30), stats.norm),
        partial(pvalue, distribution_test, n_draws=39),
    ),
    "relative, the same model": (
        lambda rng: (
            rng.normal(1, 1, (50, 3)),
            rng.normal(1, 1, (50, 3)),
            rng.normal(size=(99, 3)),
        ),
        partial(unseeded, relative_test),
    ),
    "relative, densities": (
        lambda rng: (rng.normal(size=100), lambda x: 0.5 - x, lambda x: -0.5 - x),
        partial(unseeded, relative_fit_test),
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_levels(name, record_property):
    check(*EXACT[name], record_property)


SAFE = {
    "paired, ties": (
        partial(counts, 15),
        partial(pvalue, paired_test, kernel=MEDIAN, n_permutations=199),
    ),
    "relative, equally far": (
        lambda rng: (rng.normal(0.5, 1, 60), rng.normal(-0.5, 1, 60), rng.normal(0, 1, 60)),
        partial(unseeded, relative_test),
    ),
    "relative, all the same": (
        lambda rng: tuple(rng.normal(size=(3, 50))),
        partial(unseeded, relative_test),
    ),
    "interaction": (
        lambda rng: (*(lambda x: (x, x + rng.normal(size=40)))(rng.normal(size=40)),
                     rng.normal(size=40)),
        partial(pvalue, interaction_test, n_permutations=59),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SAFE)
def test_levels_on_the_safe_side(name, record_property):
    check(*SAFE[name], record_property, conservative=True)
