"""Sensitivity indices against sums over groups of inputs, integrals, and the level of tests."""

from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, uniform

from mercer import (
    Categorical,
    Gaussian,
    Linear,
    Plan,
    SymmetricDifference,
    load,
    save,
    sensitivity_indices,
)
from mercer.exceptions import DomainError, MemoryPlanError
from mercer.stats.sensitivity_inputs import parts_of, sobolev, without_each


def ishigami(X, a=7.0, b=0.1):
    return np.sin(X[:, 0]) + a * np.sin(X[:, 1]) ** 2 + b * X[:, 2] ** 4 * np.sin(X[:, 0])


@pytest.fixture
def X(rng):
    return rng.uniform(-np.pi, np.pi, (150, 3))


def quick(*args, **options):
    return sensitivity_indices(*args, **{"n_permutations": 0, "n_bootstrap": 0, **options})


def centred(x):
    n = len(x)
    u = (np.argsort(np.argsort(x)) + 0.5) / n
    H = np.eye(n) - 1 / n
    return H @ sobolev(u) @ H


@pytest.mark.parametrize("biased", [False, True])
def test_shares_of_all_groups_add_up(X, biased):
    """The indices of all seven groups of three inputs, each from its own product kernel."""
    y = ishigami(X)
    k = [centred(x) for x in X.T]
    L = Gaussian("median").resolve(y[:, None])(y[:, None])

    def index(group):
        K = np.prod([k[l] for l in group], axis=0)
        return _hsic(K, L, biased)

    groups = [g for size in (1, 2, 3) for g in combinations(range(3), size)]
    parts = {g: index(g) for g in groups}
    whole = sum(parts.values())
    found = quick(X, y, order=2, biased=biased)
    assert found.hsic == pytest.approx(whole)
    assert found.first == pytest.approx([parts[l,] / whole for l in range(3)])
    total = [sum(v for g, v in parts.items() if l in g) / whole for l in range(3)]
    assert found.total == pytest.approx(total)
    assert found.interactions[0, 2] == pytest.approx(parts[0, 2] / whole)
    assert found.interactions[1, 1] == 0
    r2 = [_hsic(K, L, biased) / np.sqrt(_hsic(K, K, biased) * _hsic(L, L, biased)) for K in k]
    assert found.r2 == pytest.approx(r2)


def _hsic(K, L, biased):
    """By its definition, of matrices: tr(K H L H) / n^2, or from sums without diagonals."""
    n = len(K)
    if biased:
        H = np.eye(n) - 1 / n
        return np.trace(K @ H @ L @ H) / n**2
    K, L = K - np.diag(np.diagonal(K)), L - np.diag(np.diagonal(L))
    rows = K.sum(axis=0) @ L.sum(axis=0)
    both = K.sum() * L.sum() / ((n - 1) * (n - 2))
    return (np.sum(K * L) + both - 2 / (n - 2) * rows) / (n * (n - 3))


def test_the_population_of_the_ishigami_function(rng):
    """With a linear kernel of the output, HSIC_A is an integral of Sobol's component f_A."""
    t, w = np.polynomial.legendre.leggauss(200)
    K, x, w = sobolev((t + 1) / 2), np.pi * t, w / 2

    def form(f):
        return (w * f) @ K @ (w * f)

    one = form((1 + 0.1 * np.pi**4 / 5) * np.sin(x))
    two = form(7 * (np.sin(x) ** 2 - 0.5))
    both = form(np.sin(x)) * form(0.1 * (x**4 - np.pi**4 / 5))
    first = np.array([one, two, 0]) / (one + two + both)
    total = np.array([one + both, two, both]) / (one + two + both)
    X = rng.uniform(-np.pi, np.pi, (1500, 3))
    for laws in (None, [uniform(-np.pi, 2 * np.pi)] * 3):
        found = quick(X, ishigami(X), Linear(), laws=laws)
        assert found.first == pytest.approx(first, abs=0.03)
        assert found.total == pytest.approx(total, abs=0.03)


def test_products_without_each(rng):
    parts = [partial(np.array, M) for M in rng.normal(size=(5, 4, 4))]
    for place, (k, others) in enumerate(without_each(parts)):
        assert np.array_equal(k, parts[place]())
        wanted = np.prod([1 + part() for i, part in enumerate(parts) if i != place], axis=0)
        assert others == pytest.approx(wanted)


def test_the_kernel_has_mean_zero():
    u = (np.arange(2000) + 0.5) / 2000
    assert np.abs(sobolev(u).mean(axis=0)).max() < 1e-6
    assert np.linalg.eigvalsh(sobolev(u[::40]))[0] > -1e-12


def test_the_level_of_pvalues():
    """Of the third input, on which nothing depends, for a model with an interaction."""
    found = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        X = rng.uniform(size=(25, 3))
        y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=25)
        r = sensitivity_indices(X, y, n_permutations=19, n_bootstrap=0, rng=seed)
        found.append([r.first_pvalues[2], r.total_pvalues[2]])
    rejected = np.mean(np.array(found) <= 0.2, axis=0)
    assert np.all(np.abs(rejected - 0.2) < 4 * np.sqrt(0.2 * 0.8 / 120))


def test_pvalues_find_what_matters(X):
    found = sensitivity_indices(X, ishigami(X), n_permutations=99, n_bootstrap=0, rng=0)
    assert found.first_pvalues[0] == 0.01
    assert found.first_pvalues[1] < 0.1
    only_together = np.sign(X[:, 0] * X[:, 1])
    found = sensitivity_indices(X, only_together, n_permutations=99, n_bootstrap=0, rng=0)
    assert np.all(found.total_pvalues[:2] == 0.01)
    assert found.total_pvalues[2] > 0.05
    assert np.all(found.total[:2] > found.first[:2] + 0.3)


def test_intervals(X):
    found = sensitivity_indices(X, ishigami(X), n_permutations=0, rng=0)
    assert found.first_interval.shape == (3, 2)
    assert np.all(found.first_interval[:, 0] <= np.maximum(found.first, 0))
    assert np.all(found.first_interval[:, 1] >= found.first)
    assert np.all((found.total_interval >= 0) & (found.total_interval <= 1))
    narrow = sensitivity_indices(X, ishigami(X), n_permutations=0, confidence=0.5, rng=0)
    assert np.ptp(narrow.first_interval[0]) < np.ptp(found.first_interval[0])
    again = sensitivity_indices(X, ishigami(X), n_permutations=0, rng=0)
    assert np.array_equal(again.first_interval, found.first_interval)


def test_excursion_sets(rng):
    """Where x1 + x2 t exceeds 1/2: a set of times that does not depend on the third input."""
    X, t = rng.uniform(size=(120, 3)), np.linspace(0, 1, 200)
    sets = X[:, [0]] + X[:, [1]] * t > 0.7
    found = sensitivity_indices(X, sets, n_permutations=99, n_bootstrap=0, rng=0)
    assert isinstance(found.kernel, SymmetricDifference)
    assert found.first[0] > found.first[1] > 0.03
    assert found.first_pvalues[0] == 0.01
    assert found.total_pvalues[2] > 0.05
    same = quick(X, [(float(t[row].min(initial=1.0)), 1.0) for row in sets], SymmetricDifference())
    assert same.first == pytest.approx(found.first, abs=0.02)
    assert quick(X, [set(np.flatnonzero(row)) for row in sets]).first == pytest.approx(found.first)


def test_inputs_of_any_kind(rng):
    table = pd.DataFrame({"x": rng.normal(size=80), "colour": rng.choice(["red", "blue"], 80)})
    y = (table["colour"] == "red") * 1.0 + 0.1 * rng.normal(size=80)
    found = sensitivity_indices(table, y.to_numpy(), n_permutations=99, n_bootstrap=0, rng=0)
    assert found.names == ["x", "colour"]
    assert found.first[1] > 0.9
    assert quick(table, y.to_numpy(), kernels={"colour": Categorical()}).first == pytest.approx(
        found.first
    )
    with_law = quick(table, y.to_numpy(), laws={"x": norm()})
    assert with_law.first == pytest.approx(found.first, abs=0.05)
    by_kernel = quick(table[["x"]], y.to_numpy(), kernels=Gaussian("median"))
    assert by_kernel.first == pytest.approx([1.0])


def test_ties_are_centred(rng):
    (part,) = parts_of([rng.integers(0, 3, (40, 1)).astype(float)], None, None, ["a"])
    assert np.abs(part().mean(axis=0)).max() < 1e-12


def test_printing_files_and_pictures(X, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    found = sensitivity_indices(
        X, ishigami(X), n_permutations=19, n_bootstrap=20, rng=0, plan=Plan(workers=1)
    )
    head, columns, *rows = str(found).splitlines()
    assert head == "HSIC-ANOVA indices of 3 inputs, 95 % intervals, 19 permutations"
    assert columns.split() == ["input", "first", "p", "total", "p", "R2"]
    assert [row.split()[0] for row in rows] == ["x0", "x1", "x2"]
    assert "1 thread" in found.computation
    save(found, tmp_path / "found")
    assert str(load(tmp_path / "found")) == str(found)
    ax = found.plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == found.names
    assert len(quick(X, ishigami(X)).plot().patches) == 6


def test_nothing_explained(rng):
    X = rng.uniform(size=(30, 2))
    found = quick(X, np.ones(30), Linear())
    assert np.all(np.isnan(found.first))
    assert "do not explain" in str(found)


@pytest.mark.parametrize("size", [1e-60, 1e-12, 1e12, 1e60])
def test_units_of_the_output_and_of_inputs_do_not_matter(X, size):
    """Squares of products of kernel values are beyond single precision."""
    y = ishigami(X)
    kernels = [None, Linear(), None]

    def found(scale, other):
        inputs = X * [1, other, 1]
        return sensitivity_indices(inputs, scale * y, kernel=Linear(), n_bootstrap=9, rng=0)

    def with_kernel(other):
        inputs = (X - X.mean(axis=0)) * [1, other, 1]
        return sensitivity_indices(inputs, y, kernels=kernels, n_bootstrap=0, rng=0)

    one, same = found(1.0, 1.0), found(size, size)
    for name in ("first", "total", "r2", "first_interval", "total_interval"):
        assert np.allclose(getattr(same, name), getattr(one, name), atol=1e-9)
    assert np.array_equal(same.first_pvalues, one.first_pvalues)
    assert np.array_equal(same.total_pvalues, one.total_pvalues)
    assert same.hsic == pytest.approx(size**2 * one.hsic)
    assert with_kernel(size).first_pvalues == pytest.approx(with_kernel(1.0).first_pvalues)


@pytest.mark.filterwarnings("error")
def test_constants_have_no_correlation(X):
    y = ishigami(X)
    found = sensitivity_indices(np.column_stack([X, np.ones(150)]), y, n_bootstrap=9, rng=0)
    assert np.isnan(found.r2[3])
    assert np.all(np.isfinite(found.r2[:3]))
    found = sensitivity_indices(X, np.ones(150), n_bootstrap=9, rng=0)
    assert np.all(np.isnan(found.r2))
    assert np.all(found.first_pvalues == 1)


def test_bad_input(X):
    y = ishigami(X)
    with pytest.raises(ValueError, match="order must be an integer from 1 to 2"):
        quick(X, y, order=3)
    with pytest.raises(ValueError, match="confidence must be between"):
        quick(X, y, confidence=95)
    with pytest.raises(ValueError, match="same number of observations"):
        quick(X, y[:-1])
    with pytest.raises(ValueError, match="at least 6 observations"):
        quick(X[:5], y[:5])
    with pytest.raises(ValueError, match="kernels must have an entry for each of 3"):
        quick(X, y, kernels=[None])
    with pytest.raises(ValueError, match="laws names 'a', which is not one of x0"):
        quick(X, y, laws={"a": norm()})
    with pytest.raises(ValueError, match="input 'x1': a law is only for numbers"):
        quick(X, y, kernels={"x1": Gaussian()}, laws={"x1": norm()})
    with pytest.raises(DomainError, match="NaN"):
        quick(np.where(X > 3, np.nan, X), y)
    with pytest.raises(DomainError, match="vectors"):
        quick(X, ["a"] * 150)
    with pytest.raises(MemoryPlanError, match="matrices of 3000 samples"):
        quick(np.zeros((3000, 2)), np.zeros(3000), plan=Plan(memory=1e8))
