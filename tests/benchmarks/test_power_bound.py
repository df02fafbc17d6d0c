"""The least loss of any test of many scores, against closed forms and plain simulation."""

from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


@pytest.mark.parametrize("mu", [0.5, 1.645, 3.0])
def test_one_score_has_a_closed_form(mu):
    from benchmarks.power_bound import best_power, power_of_maximum

    alone = ndtr(mu - ndtri(0.95))
    assert best_power(1, mu, 10) == pytest.approx((alone, 0.0), abs=1e-9)
    assert power_of_maximum(1, mu) == pytest.approx(alone, abs=1e-12)


@pytest.mark.parametrize("count", [2, 5])
def test_against_plain_simulation(rng, count):
    from benchmarks.power_bound import best_power, power_of_maximum

    mu, n = 2.0, 400_000
    Z = rng.standard_normal((n, count))
    shifted = Z + mu * np.eye(count)[0]
    ratio = [np.exp(mu * part).sum(axis=1) for part in (Z, shifted)]
    power = np.mean(ratio[1] > np.quantile(ratio[0], 0.95))
    found = best_power(count, mu, 100_000)
    assert found.error < 0.002
    assert found.share == pytest.approx(power, abs=3 * found.error + 0.004)
    largest = [part.max(axis=1) for part in (Z, shifted)]
    power = np.mean(largest[1] > np.quantile(largest[0], 0.95))
    assert power_of_maximum(count, mu) == pytest.approx(power, abs=0.004)


def test_no_other_test_does_better():
    """Neither the maximum nor the sum of squares; more scores cost more."""
    from benchmarks.power_bound import best_power, power_of_maximum
    from scipy.stats import chi2, ncx2

    for mu in (1.0, 2.0, 3.0):
        best = [best_power(count, mu, 100_000) for count in (1, 2, 5)]
        shares = [power.share for power in best]
        assert shares == sorted(shares, reverse=True)
        for count, power in zip((2, 5), best[1:], strict=True):
            others = [power_of_maximum(count, mu), ncx2.sf(chi2.isf(0.05, count), count, mu**2)]
            assert power.share > max(others) - 2 * power.error


def test_standard_error_is_that_of_repeated_draws():
    from benchmarks.power_bound import best_power

    found = [best_power(3, 2.0, 2000, seed) for seed in range(100)]
    spread = np.std([power.share for power in found])
    assert np.mean([power.error for power in found]) == pytest.approx(spread, rel=0.2)


def test_effective_numbers(rng):
    from benchmarks.power_bound import critical_number, effective_numbers, eigenvalue_number
    from benchmarks.power_problems import PROBLEMS

    Z = rng.standard_normal((5, 50_000))
    assert eigenvalue_number(Z) == pytest.approx(5, rel=0.01)
    assert eigenvalue_number(np.repeat(Z[:2], 3, axis=0)) == pytest.approx(2, rel=0.01)
    assert critical_number(Z.max(axis=0)) == pytest.approx(5, rel=0.05)
    problem = next(p for p in PROBLEMS if p.name.startswith("mean"))
    assert np.all((effective_numbers(problem, 1) > 1) & (effective_numbers(problem, 1) < 20))


def test_table():
    from benchmarks.power_bound import markdown, points_lost

    rows, error = points_lost(1000)
    text = markdown(rows, error, 1000, {"p": np.array([1.0, 2.0, 3.0])})
    lines = text.splitlines()
    assert sum(line.startswith("| 0.") for line in lines) == 7
    assert lines[-1] == "| p | 1.0 | 2.0 | 3.0 |"
