"""Relative tests: statistics and errors by brute force, directions, degenerate cases."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Plan, ksd, mmd, relative_fit_test, relative_test


def test_difference_is_that_of_both_discrepancies(rng):
    X, Y, R = rng.normal(1, 1, (40, 2)), rng.normal(0, 2, (30, 2)), rng.normal(size=(50, 2))
    k = Gaussian(1.3)
    found = relative_test(X, Y, R, k)
    both = mmd(X, R, k), mmd(Y, R, k)
    np.testing.assert_allclose(found.details["discrepancies"], both, rtol=1e-10)
    assert found.details["difference"] == pytest.approx(both[0] - both[1])
    assert found.statistic == pytest.approx(found.details["difference"] / found.details["error"])
    dense = relative_test(X, Y, R, k, plan=Plan(storage="dense"))
    assert dense.statistic == pytest.approx(found.statistic)


def test_standard_errors_are_those_of_many_samples():
    """Over 300 samples, the mean variance is that of the differences."""
    k, found = Gaussian(1.0), []
    for i in range(300):
        rng = np.random.default_rng(i)
        found.append(
            relative_test(
                rng.normal(1, 1, 40), rng.normal(-0.8, 1.5, 60), rng.normal(0, 1, 50), k
            ).details
        )
    spread = np.std([f["difference"] for f in found])
    assert np.sqrt(np.mean([f["error"] ** 2 for f in found])) == pytest.approx(spread, rel=0.15)
    found = []
    for i in range(300):
        x = np.random.default_rng(i).normal(size=60)
        found.append(relative_fit_test(x, lambda x: -(x - 0.5), lambda x: -x / 2).details)
    spread = np.std([f["difference"] for f in found])
    assert np.sqrt(np.mean([f["error"] ** 2 for f in found])) == pytest.approx(spread, rel=0.15)


def test_densities_by_brute_force(rng):
    x = rng.normal(size=(50, 2))
    scores = [lambda x: -x, lambda x: -(x - 1) / 2]
    k = Gaussian(1.0)
    found = relative_fit_test(x, *scores, k)
    np.testing.assert_allclose(
        found.details["discrepancies"], [ksd(x, s, k) for s in scores], rtol=1e-9
    )
    assert found.statistic < 0


def test_alternatives(rng):
    near, far, R = rng.normal(0, 1, 80), rng.normal(1, 1, 80), rng.normal(0, 1, 80)
    p = {a: relative_test(near, far, R, alternative=a) for a in ("two-sided", "first", "second")}
    assert p["first"].pvalue == pytest.approx(p["two-sided"].pvalue / 2)
    assert p["second"].pvalue == pytest.approx(1 - p["first"].pvalue)
    assert p["two-sided"].pvalue < 0.01
    turned = relative_test(far, near, R)
    assert turned.statistic == pytest.approx(-p["two-sided"].statistic)


def test_what_is_the_same_and_what_is_constant(rng):
    X, R = rng.normal(size=(2, 40))
    assert relative_test(X, X, R).statistic == pytest.approx(0, abs=1e-6)
    ones = np.ones(20)
    assert relative_test(ones, ones, ones).pvalue == 1.0
    with pytest.raises(ValueError, match="constant"):
        relative_test(ones, 3 * ones, 2.5 * ones, Gaussian(1.0))
    found = relative_test(1e7 + X, 1e7 + X + 1, 1e7 + R, Linear())
    assert found.statistic == pytest.approx(
        relative_test(X, X + 1, R, Linear()).statistic, rel=1e-5
    )


def test_errors(rng):
    X = rng.normal(size=30)
    with pytest.raises(ValueError, match="alternative"):
        relative_test(X, X, X, alternative="less")
    with pytest.raises(ValueError, match="at least 8"):
        relative_test(X[:5], X, X)
    with pytest.raises(ValueError, match="at least 8"):
        relative_fit_test(X[:5], lambda x: -x, lambda x: -x)
    with pytest.raises(ValueError, match="finite"):
        relative_test(X * 1e200, X, X, Linear())
