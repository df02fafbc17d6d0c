"""What no test of many kernels can avoid to lose against the best of them.

``python -m benchmarks.power_bound`` writes benchmarks/results/power_bound.md. There are K
independent standard normal scores, and under the k-th of K alternatives the k-th score has mean mu.
Whoever knows k has power Phi(mu - 1.645) at the 5 % level.

The worst power of a test over the K alternatives is at most its mean over them, which is its power
against their mixture, and that is largest for the likelihood ratio test of the mixture,

    sum_k exp(mu z_k) > c.

This test treats all scores alike, so it has the same power against each alternative, and no test of
the same level has a larger worst power: the uniform prior is least favourable.

References
----------
Lehmann & Romano, *Testing Statistical Hypotheses*, chapter 8 (least favourable distributions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr, ndtri

from mercer.stats.aggregate import combine, wider_kernels
from mercer.stats.samples import Samples

from .power import LEVEL, RESULTS
from .power_problems import PROBLEMS, Problem
from .power_rules import labellings

POWERS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # of the best score alone
COUNTS = (2, 3, 5, 10)
_DRAWS = 1_000_000
_MIDDLE = ("blobs", "mean +", "variance", "mixture, std 1.6", "a=.3, n=500", "a=.6")  # of problems
_SAMPLES, _PERMUTATIONS = 20, 999
_ROOM, _ROUNDING = 0.1, 1e-12  # for errors of simulation around log c, and of its root


class Power(NamedTuple):
    """A share found by simulation, and its standard error."""

    share: float
    error: float


def best_power(count: int, mu: float, n_draws: int = _DRAWS, seed: int = 0) -> Power:
    """The largest worst-case power of any test at the 5 % level of ``count`` scores.

    All scores but one are drawn. Given these, the last one has to exceed a known number, which
    makes level and power means of normal probabilities; c is found from the level.

    Parameters
    ----------
    count : int
        K, the number of independent scores.
    mu : float
        The mean of the one that sees the difference.
    n_draws : int
        How often the others are drawn.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> from benchmarks.power_bound import best_power
    >>> round(best_power(1, 1.645, n_draws=1).share, 3), round(best_power(2, 1.645).share, 3)
    (0.5, 0.396)
    """
    rng = np.random.default_rng(seed)
    others = np.zeros(n_draws)
    for _ in range(count - 1):
        others += np.exp(mu * rng.standard_normal(n_draws))

    def bound(log_c: float) -> np.ndarray:
        """What the last score has to exceed."""
        rest = np.exp(log_c) - others
        inside = rest > 0
        return np.where(inside, np.log(np.where(inside, rest, 1.0)) / mu, -np.inf)

    def excess(log_c: float) -> float:
        return float(ndtr(-bound(log_c)).mean()) - LEVEL

    lowest = mu * float(ndtri(1 - LEVEL))  # one score above 1.645 would be enough
    highest = np.log(count) + mu * float(ndtri(1 - LEVEL / count))  # one has to be above that
    log_c = brentq(excess, lowest - _ROOM, highest + _ROOM, xtol=_ROUNDING)
    least = bound(log_c)
    false, true = ndtr(-least), ndtr(mu - least)
    price = np.exp(log_c - mu**2 / 2) / count  # of level in power: the likelihood ratio at c
    return Power(float(true.mean()), float(np.std(true - price * false) / np.sqrt(n_draws)))


def power_of_maximum(count: int, mu: float) -> float:
    """The power of the test that looks at the largest of independent scores."""
    largest = ndtri((1 - LEVEL) ** (1 / count))
    return float(1 - ndtr(largest - mu) * ndtr(largest) ** (count - 1))


def eigenvalue_number(statistics: np.ndarray) -> float:
    r"""How many independent scores statistics amount to, by the eigenvalues of their correlations.

    .. math:: \Big(\sum_k \lambda_k\Big)^2 \Big/ \sum_k \lambda_k^2

    Parameters
    ----------
    statistics : array of shape (kernels, labellings)
        Of random labellings.
    """
    values = np.linalg.eigvalsh(np.corrcoef(statistics))
    return float(values.sum() ** 2 / np.sum(values**2))


def critical_number(values: np.ndarray) -> float:
    r"""The number of independent scores whose maximum has the same critical value t.

    .. math:: K = \frac{\log 0.95}{\log \Phi(t)}

    Parameters
    ----------
    values : array of shape (labellings,)
        The largest score in each of random labellings.
    """
    return float(np.log1p(-LEVEL) / log_ndtr(np.quantile(values, 1 - LEVEL)))


def effective_numbers(problem: Problem, n_samples: int = _SAMPLES) -> np.ndarray:
    """Of the 20 kernels by eigenvalues, by their largest score, and by that of the default test."""
    found = []
    for i in range(n_samples):
        samples = Samples(*problem.draw(np.random.default_rng([0, i])))
        statistics = labellings(samples, _PERMUTATIONS, [0, i])[1][:, 1:]
        with_second = combine(statistics, wider_kernels(len(statistics) // 2))
        largest = [combine(statistics).values, with_second.values]
        found.append([eigenvalue_number(statistics), *map(critical_number, largest)])
    return np.mean(found, axis=0)


def points_lost(n_draws: int) -> tuple[list[list[str]], float]:
    """Rows of the table, and the largest standard error."""
    rows, error = [], 0.0
    for power in POWERS:
        mu = float(ndtri(power) - ndtri(LEVEL))
        rows.append([f"{power:.2f}"])
        for count in COUNTS:
            best = best_power(count, mu, n_draws)
            error = max(error, best.error)
            largest = power - power_of_maximum(count, mu)
            rows[-1].append(f"{100 * (power - best.share):.1f} ({100 * largest:.1f})")
    return rows, error


def markdown(
    lost: Sequence[Sequence[str]], error: float, n_draws: int, numbers: dict[str, np.ndarray]
) -> str:
    """Points lost, effective numbers of scores, and what they are."""
    head = ["power of the best score", *(f"K = {count}" for count in COUNTS)]
    kinds = ["problem", "kernels, by eigenvalues", "kernels, by the largest score", "default test"]
    counted = [[name, *(f"{number:.1f}" for number in row)] for name, row in numbers.items()]
    return (
        "Percentage points of power that any test at the 5 % level loses, under at least one of K "
        "alternatives, relative to the test of the one score that detects it. Scores are "
        "independent and normal. In brackets, the loss of the test of the largest score, under "
        f"each of them. From {n_draws:,} draws; standard errors are at most {100 * error:.2f} "
        "points.\n\n"
        f"{_table(head, lost)}\n"
        "The effective number of independent scores of the 20 correlated kernels in the default "
        "test: from the eigenvalues λ of their correlations over permutations, (Σλ)² / Σλ²; from "
        "the critical value of their largest score, which equals that of this many independent "
        "scores; and by the latter rule for the default test with its second scores. Means over "
        f"{_SAMPLES} samples.\n\n"
        f"{_table(kinds, counted)}"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main() -> None:
    lost, error = points_lost(_DRAWS)
    chosen = [p for p in PROBLEMS if any(part in p.name for part in _MIDDLE)]
    numbers = {problem.name: effective_numbers(problem) for problem in chosen}
    text = markdown(lost, error, _DRAWS, numbers)
    (RESULTS / "power_bound.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
