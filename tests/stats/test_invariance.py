"""What p-values must not depend on: units, the order of samples, the number of threads, luck."""

from functools import partial

import numpy as np
import pytest

from mercer import (
    Distance,
    Gaussian,
    Linear,
    Plan,
    conditional_independence_test,
    goodness_of_fit_test,
    hsic,
    independence_test,
    k_sample_test,
    two_sample_test,
)

MEDIAN = Gaussian("median")
CURVES = ("pearson", "gamma", "spectrum")  # null distributions without randomness
UNITS = [1e3, 1e-3, np.array([1e3, 1.0, 1e-3])]


def together(*samples, **options):
    return k_sample_test(samples, **options)


SAMPLES = {
    "default": partial(two_sample_test, n_permutations=99),
    "one kernel": partial(two_sample_test, kernel=MEDIAN, n_permutations=99),
    "early stop": partial(two_sample_test, kernel=MEDIAN, n_permutations=99, stop_after=5),
    "optimized": partial(two_sample_test, kernel="optimize", n_permutations=99),
    "wild": partial(two_sample_test, kernel=MEDIAN, null="wild", n_permutations=99),
    "k samples": partial(together, n_permutations=99),
    **{null: partial(two_sample_test, kernel=MEDIAN, null=null) for null in CURVES},
}
VARIABLES = {
    "default": partial(independence_test, n_permutations=99),
    "one pair": partial(independence_test, kernels=MEDIAN, n_permutations=99),
    "at random": partial(independence_test, permutations="random", n_permutations=99),
    "early stop": partial(independence_test, kernels=MEDIAN, n_permutations=99, stop_after=5),
    "wild": partial(independence_test, kernels=MEDIAN, null="wild", n_permutations=99),
    **{null: partial(independence_test, kernels=MEDIAN, null=null) for null in CURVES},
}
COMMON_UNIT = ("one kernel", "early stop", "wild", *CURVES)  # one lengthscale for all columns


@pytest.fixture
def samples(rng):
    return rng.standard_normal((30, 3)), rng.standard_normal((40, 3)) + [0.3, 0, 0]


@pytest.fixture
def variables(rng):
    x = rng.standard_normal((40, 1))
    return x, np.hstack([0.3 * x + rng.standard_normal((40, 1)), rng.standard_normal((40, 2))])


# ---- units ---------------------------------------------------------------------------------
@pytest.mark.parametrize("units", UNITS, ids=["large", "small", "mixed"])
@pytest.mark.parametrize("name", SAMPLES)
def test_units_of_samples(samples, name, units):
    if np.ndim(units) and name in COMMON_UNIT:
        pytest.skip("one lengthscale for all columns")
    rounding = 0.05 if name == "optimized" else 1e-6  # decides where a search ends
    wanted = SAMPLES[name](*samples, rng=0).pvalue
    found = SAMPLES[name](*(X * units for X in samples), rng=0).pvalue
    assert found == pytest.approx(wanted, abs=rounding)


@pytest.mark.parametrize("units", UNITS, ids=["large", "small", "mixed"])
@pytest.mark.parametrize("name", VARIABLES)
def test_units_of_each_variable(variables, name, units):
    if np.ndim(units) and name not in ("default", "at random"):
        pytest.skip("one lengthscale for all columns")
    x, y = variables
    wanted = VARIABLES[name](x, y, rng=0).pvalue
    assert VARIABLES[name](x, y * units, rng=0).pvalue == pytest.approx(wanted)


def test_units_of_three_variables(rng):
    x, y, z = rng.standard_normal((3, 40))
    z += x * y
    for kernels in (None, MEDIAN):
        test = partial(independence_test, kernels=kernels, n_permutations=99, rng=0)
        assert test(x, 1e3 * y, 1e-3 * z).pvalue == test(x, y, z).pvalue
    for null in ("gamma", "spectrum"):
        conditional = partial(conditional_independence_test, null=null)
        wanted = conditional(x, y, z).pvalue
        assert conditional(1e3 * x, y, 1e-3 * z).pvalue == pytest.approx(wanted, rel=1e-4)


def test_units_of_a_density(rng):
    x = rng.standard_t(4, 60)
    wanted = goodness_of_fit_test(x, lambda x: -x, rng=0).pvalue
    for unit in (1e3, 1e-3):
        found = goodness_of_fit_test(unit * x, lambda x, u=unit: -x / u**2, rng=0)
        assert found.pvalue == wanted


# ---- order ---------------------------------------------------------------------------------
@pytest.mark.parametrize("name", CURVES)
def test_order_of_samples_and_variables(rng, samples, variables, name):
    X, Y = samples
    wanted = SAMPLES[name](X, Y).pvalue
    assert SAMPLES[name](Y, X).pvalue == pytest.approx(wanted)
    assert SAMPLES[name](rng.permutation(X), Y).pvalue == pytest.approx(wanted)
    x, y = variables
    wanted, order = VARIABLES[name](x, y).pvalue, rng.permutation(len(x))
    assert VARIABLES[name](y, x).pvalue == pytest.approx(wanted)
    assert VARIABLES[name](x[order], y[order]).pvalue == pytest.approx(wanted)


# ---- luck ----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SAMPLES)
def test_same_seed_same_answer_for_samples(samples, name):
    one, same = (SAMPLES[name](*samples, rng=5) for _ in range(2))
    assert (one.statistic, one.pvalue) == (same.statistic, same.pvalue)
    if one.null is not None:
        assert np.array_equal(one.null, same.null)
        assert not np.array_equal(one.null[:5], SAMPLES[name](*samples, rng=6).null[:5])


@pytest.mark.parametrize("name", VARIABLES)
def test_same_seed_same_answer_for_variables(variables, name):
    one, same = (VARIABLES[name](*variables, rng=5) for _ in range(2))
    assert (one.statistic, one.pvalue) == (same.statistic, same.pvalue)
    if one.null is not None:
        assert np.array_equal(one.null, same.null)
        assert not np.array_equal(one.null[:5], VARIABLES[name](*variables, rng=6).null[:5])


def test_threads(samples):
    one, two = (together(*samples, plan=Plan(workers=w), rng=1) for w in (1, 2))
    assert np.array_equal(one.null, two.null)


def test_same_seed_same_answer_for_a_density(rng):
    x = rng.standard_normal(50)
    one, same, other = (goodness_of_fit_test(x, lambda x: -x, rng=i) for i in (1, 1, 2))
    assert np.array_equal(one.null, same.null)
    assert not np.array_equal(one.null, other.null)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("unit", [1e34, 1e40, 1e80, 1e100, 1e-34, 1e-80, 1e-150])
@pytest.mark.parametrize("kernel", [Linear(), Distance(2.0)], ids=repr)
@pytest.mark.parametrize("null", ["permutation", "gamma", "spectrum"])
def test_units_whose_kernel_values_have_no_products(samples, variables, null, kernel, unit):
    """Some p-values were 1, some raised an OverflowError."""
    options = {"null": null, "rng": 0} | ({"n_permutations": 99} if null == "permutation" else {})
    wanted = two_sample_test(*samples, kernel, **options).pvalue
    found = two_sample_test(*(unit * X for X in samples), kernel, **options).pvalue
    assert found == pytest.approx(wanted, rel=1e-6)
    wanted = independence_test(*variables, kernels=kernel, **options).pvalue
    found = independence_test(*(unit * X for X in variables), kernels=kernel, **options).pvalue
    assert found == pytest.approx(wanted, rel=1e-6)


def test_a_covariance_that_is_no_number_is_refused(variables):
    x, y = variables
    with pytest.raises(ValueError, match="not finite numbers"):
        hsic(1e100 * x, 1e100 * y, Linear(), Linear())
    assert hsic(1e30 * x, 1e30 * y, Linear(), Linear()) == pytest.approx(
        1e120 * hsic(x, y, Linear(), Linear())
    )
