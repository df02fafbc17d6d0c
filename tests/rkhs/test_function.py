"""RKHS functions against explicit features, brute-force sums and finite differences."""

from __future__ import annotations

import operator
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid
from sklearn.base import clone

import mercer
from mercer import (
    Exponential,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    RKHSFunction,
    Spectrum,
)
from mercer.exceptions import DomainError, UnresolvedError


@dataclass(eq=False, repr=False)
class Letters(Kernel):
    """Products of letter counts: a kernel on strings with nothing but ``pairwise``."""

    def pairwise(self, X, Y):
        counts = [[Counter(s) for s in Z] for Z in (X, Y)]
        return np.array(
            [[float(sum(a[c] * b[c] for c in a)) for b in counts[1]] for a in counts[0]]
        )


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def pair(rng):
    """Two functions of one space, on different centres."""
    k = Gaussian(lengthscale=0.7)
    f = RKHSFunction(k, rng.normal(size=(7, 2)), rng.normal(size=7))
    g = RKHSFunction(k, rng.normal(size=(4, 2)), rng.normal(size=4))
    return f, g


def brute_inner(k, X, a, Y, b):
    """The double sum, one pair of samples at a time."""
    return sum(
        a[i] * b[j] * k(X[i : i + 1], Y[j : j + 1])[0, 0]
        for i in range(len(a))
        for j in range(len(b))
    )


# ---- evaluation ----------------------------------------------------------------------------
def test_values_are_the_sum_of_bumps(pair, rng):
    f, _ = pair
    X = rng.normal(size=(5, 2))
    expected = [
        sum(a * np.exp(-np.sum((x - c) ** 2) / 0.98) for a, c in zip(f.coef, f.points, strict=True))
        for x in X
    ]
    assert f(X) == pytest.approx(expected)


def test_many_points_are_evaluated_in_tiles(rng):
    k = Laplacian()
    points, coef = rng.normal(size=(1300, 3)), rng.normal(size=(1300, 2))
    X = rng.normal(size=(700, 3))
    f = RKHSFunction(k, points, coef)
    distances = np.sqrt(((X[:, None] - points[None]) ** 2).sum(-1))
    assert f(X) == pytest.approx(np.exp(-distances) @ coef, rel=1e-10, abs=1e-10)
    assert f.norm() ** 2 == pytest.approx(np.diag(coef.T @ k(points) @ coef))


def test_n_by_m_is_never_formed(rng, monkeypatch):
    f = RKHSFunction(Gaussian(), rng.normal(size=(3000, 2)), rng.normal(size=3000))
    largest = []
    tiles = Gaussian.tiles

    def watched(self, X, Y):
        tile = tiles(self, X, Y)

        def call(rows, cols):
            block = tile(rows, cols)
            largest.append(block.size)
            return block

        return call

    monkeypatch.setattr(Gaussian, "tiles", watched)
    f(rng.normal(size=(2000, 2)))
    f.norm()
    assert max(largest) <= 512**2


def test_a_family_is_its_functions_side_by_side(rng):
    points, coef = rng.normal(size=(6, 2)), rng.normal(size=(6, 3))
    F = RKHSFunction(Matern(), points, coef)
    X = rng.normal(size=(4, 2))
    assert F(X).shape == (4, 3)
    parts = list(F)
    assert len(parts) == 3
    assert F(X) == pytest.approx(np.stack([f(X) for f in parts], axis=1))
    assert F.norm() == pytest.approx([f.norm() for f in parts])
    G = RKHSFunction(Matern(), points[:2], coef[:2, :2])
    products = [[f @ g for g in G] for f in parts]
    assert F.inner(G) == pytest.approx(np.array(products))
    assert F.bound(X) == pytest.approx(np.stack([f.bound(X) for f in parts], axis=1))
    assert F.gradient(X) == pytest.approx(np.stack([f.gradient(X) for f in parts], axis=1))
    assert F.gradient(X).shape == (4, 3, 2)


@pytest.mark.parametrize("k", [Linear(), Polynomial(degree=2, scale=0.5), Linear() + 2])
@pytest.mark.parametrize("n", [3, 40])  # with 40 centres features are used, with 3 they are not
def test_finite_features(k, n, rng):
    points, coef = rng.normal(size=(n, 2)), rng.normal(size=n)
    f, X = RKHSFunction(k, points, coef), rng.normal(size=(6, 2))
    phi = k.features(k.prepare(X))
    w = f.weights()
    assert w.shape == (phi.shape[1],)
    assert f(X) == pytest.approx(k(X, points) @ coef)
    assert f(X) == pytest.approx(phi @ w)
    assert f.norm() == pytest.approx(np.linalg.norm(w))
    g = RKHSFunction(k, X, np.ones(6))
    assert f @ g == pytest.approx(w @ g.weights())


def test_no_weights_without_finite_features(pair):
    assert pair[0].weights() is None


# ---- the Hilbert space ---------------------------------------------------------------------
def test_inner_product_is_the_double_sum(pair):
    f, g = pair
    assert f @ g == pytest.approx(brute_inner(f.kernel, f.points, f.coef, g.points, g.coef))
    assert f @ g == pytest.approx(g @ f)
    assert isinstance(f @ g, float)
    assert f.norm() ** 2 == pytest.approx(brute_inner(f.kernel, f.points, f.coef, f.points, f.coef))


def test_norm_is_an_integral():
    """H of exp(-|x - y|) on the line is the Sobolev space: ||f||^2 = (∫ f^2 + f'^2) / 2."""
    f = RKHSFunction(Laplacian(), [-0.5, 0.2, 1.1], [1.0, -2.0, 0.7])
    t = np.linspace(-25, 25, 2_000_001)
    values = f(t)
    slopes = np.diff(values) / np.diff(t)
    integral = trapezoid(values**2, t) + np.sum(slopes**2 * np.diff(t))
    assert f.norm() ** 2 == pytest.approx(integral / 2, rel=1e-4)


def test_reproducing_property(pair, rng):
    f, _ = pair
    for x in rng.normal(size=(3, 2)):
        assert f @ f.kernel.at(x) == pytest.approx(f(x[None])[0])
    x, y = rng.normal(size=(2, 2))
    k = f.kernel
    assert k.at(x) @ k.at(y) == pytest.approx(k([x], [y])[0, 0])


def test_bounds_hold_and_are_attained(pair, rng):
    f, _ = pair
    X = rng.normal(size=(50, 2))
    assert np.all(np.abs(f(X)) <= f.bound(X) + 1e-12)
    bump = 3 * Polynomial(degree=2).at(X[0])  # k(x, x) is not 1
    assert bump(X[:1]) == pytest.approx(bump.bound(X[:1]))
    assert np.all(np.abs(bump(X)) <= bump.bound(X) + 1e-12)


def test_norm_bounds_the_lipschitz_constant_in_the_kernel_metric(pair, rng):
    f, _ = pair
    X = rng.normal(size=(30, 2))
    steps = np.abs(np.subtract.outer(f(X), f(X)))
    assert np.all(steps <= f.norm() * f.kernel.distance(X) + 1e-9)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.floats(-3, 3), min_size=1, max_size=4),
    st.lists(st.floats(-3, 3), min_size=1, max_size=4),
    st.floats(-4, 4),
)
def test_vector_space_laws(x, y, c):
    k = Gaussian()
    f, g = RKHSFunction(k, x, np.cos(x)), RKHSFunction(k, y, np.sin(y))
    X = np.linspace(-2, 2, 5)
    assert (f + g)(X) == pytest.approx(f(X) + g(X))
    assert (f - c * g)(X) == pytest.approx(f(X) - c * g(X))
    assert (-f)(X) == pytest.approx(-f(X))
    assert (f + g) @ g == pytest.approx(f @ g + g @ g)
    assert abs(f @ g) <= f.norm() * g.norm() + 1e-9
    assert f.distance(g) ** 2 == pytest.approx(f @ f + g @ g - 2 * (f @ g), abs=1e-9)


def test_scalars_of_every_kind(pair):
    f, _ = pair
    X = f.points
    for scaled in (f * 2, 2 * f, np.float64(2) * f, f * np.float32(2), f / 0.5, np.int64(2) * f):
        assert isinstance(scaled, RKHSFunction)
        assert scaled(X) == pytest.approx(2 * f(X))
    assert sum([f, f, f])(X) == pytest.approx(3 * f(X))


def test_a_function_is_at_distance_zero_from_itself(pair):
    f, g = pair
    copy = RKHSFunction(f.kernel, f.points.copy(), f.coef)
    assert f.distance(copy) == 0
    assert (f + g - g).distance(f) == pytest.approx(0, abs=1e-14)


def test_simplify_merges_and_drops(rng):
    points = np.array([[1.0], [2.0], [1.0], [3.0], [2.0]])
    f = RKHSFunction(Gaussian(), points, [1.0, 2.0, 3.0, 1e-9, -2.0])
    X = rng.normal(size=(5, 1))
    short = f.simplify()
    assert short.points.tolist() == [[1.0], [3.0]]
    assert short(X) == pytest.approx(f(X), abs=1e-14)
    shorter = f.simplify(tol=1e-6)
    assert shorter.points.tolist() == [[1.0]]
    assert f.distance(shorter) <= 1e-6
    zero = (f - f).simplify()
    assert len(zero.coef) == 1
    assert zero.norm() == 0


@pytest.mark.parametrize(
    "points",
    [
        ["ab", "ba", "ab"],
        [("ab", 1.0), ("ba", 1.0), ("ab", 1.0)],
        [[1.0, 2.0], [2.0, 2.0], [1.0, 2.0]],
        np.array([1.0, 2.0, 1.0]),
        np.array([["a", 1], ["b", 1], ["a", 1]], dtype=object),
        sp.csr_matrix([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0]]),
        pd.DataFrame({"a": ["x", "y", "x"], "b": [[1], [2], [1]]}),
    ],
)
def test_simplify_on_every_kind_of_data(points):
    @dataclass(eq=False, repr=False)
    class One(Kernel):
        def pairwise(self, X, Y):
            return np.ones((2, 2))

    short = RKHSFunction(One(), points, [1.0, 2.0, 4.0]).simplify()
    assert short.coef.tolist() == [5.0, 2.0]


def test_objects_that_cannot_be_compared_are_not_merged():
    @dataclass(eq=False, repr=False)
    class Overlap(Kernel):
        def pairwise(self, X, Y):
            return np.array([[float(len(x & y)) for y in Y] for x in X])

    f = RKHSFunction(Overlap(), [{1, 2}, {2, 3}, {1, 2}], [1.0, 2.0, 4.0])
    assert len(f.simplify().coef) == 3
    assert f([{1}, {2}, {4}]).tolist() == [5.0, 7.0, 0.0]


# ---- gradients -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "k",
    [
        Gaussian(lengthscale=[0.5, 2.0]),
        Matern(nu=2.5, lengthscale=1.5),
        RationalQuadratic(alpha=0.7),
        Polynomial(degree=3),
        Exponential(scale=0.3) * Gaussian() + 2,
        (Linear() + 1) ** 2,
    ],
    ids=repr,
)
def test_gradient_against_differences(k, rng):
    f = RKHSFunction(k, rng.normal(size=(9, 2)), rng.normal(size=9))
    X, h = rng.normal(size=(5, 2)), 1e-6
    numerical = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(2)]
    assert f.gradient(X) == pytest.approx(np.stack(numerical, axis=1), rel=1e-5, abs=1e-7)


def test_gradient_in_blocks(rng, monkeypatch):
    f = RKHSFunction(Gaussian(), rng.normal(size=(9, 2)), rng.normal(size=9))
    X = rng.normal(size=(8, 2))
    whole = f.gradient(X)
    monkeypatch.setattr("mercer.rkhs.function._BLOCK", 27)
    assert f.gradient(X) == pytest.approx(whole)


def test_no_gradient_where_there_is_none():
    with pytest.raises(NotImplementedError, match="not differentiable"):
        Laplacian().at(0.0).gradient([1.0])


# ---- any data ------------------------------------------------------------------------------
def test_strings():
    k = Letters()
    f = 2 * k.at("abba") - k.at("b")
    assert f.points == ["abba", "b"]
    assert f(["a", "bb", "c"]).tolist() == [4.0, 6.0, 0.0]
    assert f @ f == 4 * 8 - 4 * 2 + 1
    assert f @ k.at("ab") == f(["ab"])[0]


def test_spectrum_kernel_with_its_enormous_feature_space():
    k = Spectrum(2)
    f = RKHSFunction(k, ["abab", "abc", "abab"], [1.0, -1.0, 2.0])
    counts = {"ab": 6 - 1, "ba": 3, "bc": -1}  # the function as weights of pairs of letters
    assert f(["bab", "cab", "zz", ""]) == pytest.approx([8.0, 5.0, 0.0, 0.0])
    assert f @ f == pytest.approx(sum(c**2 for c in counts.values()))
    assert f.weights() is None
    assert len(f.simplify().coef) == 2


def test_tuples():
    k = Gaussian().on(0) * Letters().on(1)
    f = k.at((0.0, "ab")) + k.at((1.0, "b"))
    expected = np.exp(-0.5) * 1 + np.exp(-2.0) * 0
    assert f([(1.0, "a"), (-1.0, "a")])[0] == pytest.approx(expected)
    assert f @ k.at((1.0, "a")) == pytest.approx(expected)


def test_tables():
    table = pd.DataFrame({"age": [1.0, 2.0, 4.0], "word": ["ab", "b", "a"]})
    k = Gaussian().on("age") + Letters().on("word")
    f = RKHSFunction(k, table, [1.0, 2.0, 3.0])
    single = k.at(table.iloc[[1]])
    assert single(table) == pytest.approx(k(table)[1])
    assert f @ single == pytest.approx(f(table)[1])
    assert (f + single)(table) == pytest.approx(k(table) @ [1.0, 3.0, 3.0])
    assert len((f + single).simplify().coef) == 3


def test_sparse():
    X = sp.random(20, 50, density=0.1, format="csr", random_state=0)
    k = Gaussian()
    f = RKHSFunction(k, X, np.arange(20.0))
    dense = RKHSFunction(k, X.toarray(), np.arange(20.0))
    assert f(X[:3]) == pytest.approx(dense(X[:3].toarray()))
    assert f @ k.at(X[2]) == pytest.approx(dense(X.toarray())[2])
    assert f.gradient(X[:3]) == pytest.approx(dense.gradient(X[:3].toarray()))
    assert f @ f + f @ k.at(X[0]) == pytest.approx(f @ (f + k.at(X[0])))


def test_points_on_the_line_in_every_form():
    k = Gaussian()
    arrays = [np.array([0.5]), np.array([[0.5]]), k.at(0.5).points, k.at(np.array([0.5])).points]
    X = np.array([[0.0], [1.0]])
    for a in arrays:
        for b in [*arrays, [0.5], [[0.5]]]:
            f = RKHSFunction(k, a, [1.0]) + RKHSFunction(k, b, [2.0])
            assert f(X) == pytest.approx(3 * np.exp([-0.125, -0.125]))
            assert (f - RKHSFunction(k, b, [1.0]))(X) == pytest.approx(2 * k.at(0.5)(X))


def test_float32_points():
    points = np.linspace(0, 1, 5, dtype=np.float32)
    f = RKHSFunction(Gaussian(), points, np.ones(5))
    assert f(points).dtype == np.float64
    assert f(points) == pytest.approx(Gaussian()(points.astype(float)).sum(axis=1), rel=1e-6)


# ---- refusals ------------------------------------------------------------------------------
def test_kernels_must_be_resolved():
    with pytest.raises(UnresolvedError, match="resolve"):
        RKHSFunction(Gaussian("median"), [0.0], [1.0])
    with pytest.raises(UnresolvedError):
        Gaussian().center().at(0.0)


def test_different_spaces_do_not_mix():
    f, g = Gaussian().at(0.0), Gaussian(lengthscale=2).at(0.0)
    for mix in (lambda: f + g, lambda: f @ g, lambda: f - g, lambda: f.distance(g)):
        with pytest.raises(TypeError, match="different spaces"):
            mix()
    assert Gaussian(lengthscale=2.0).at(1.0) + g


def test_bad_input():
    k = Gaussian()
    with pytest.raises(ValueError, match="one row per point"):
        RKHSFunction(k, [0.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="NaN"):
        RKHSFunction(k, [0.0], [np.nan])
    with pytest.raises(ValueError, match="no samples"):
        RKHSFunction(k, [], [])
    with pytest.raises(ValueError, match=r"f\[t\]"):
        k.at(0.0) + RKHSFunction(k, [0.0], [[1.0, 2.0]])
    with pytest.raises(TypeError, match="single"):
        k.at(0.0)[0]
    with pytest.raises(TypeError):
        k.at(0.0) + 1
    with pytest.raises(TypeError):
        k.at(0.0) * k.at(0.0)


def test_repr():
    k = 2 * Gaussian()
    assert repr(k.at(0.0)) == "RKHSFunction(1 point, k = 2 * Gaussian())"
    family = RKHSFunction(k, [0.0, 1.0], np.eye(2))
    assert repr(family) == "RKHSFunction(2 functions, 2 points, k = 2 * Gaussian())"


def test_negligible_terms_are_those_of_small_norm():
    """a k(x, .) has the norm |a| sqrt(k(x, x)): a small coefficient of a large sample counts."""
    f = RKHSFunction(Linear(), np.array([[0.001], [100.0]]), np.array([1.0, 0.01]))
    assert f.simplify(tol=0.1).points.tolist() == [[100.0]]


TABLE = pd.DataFrame(np.random.default_rng(5).normal(size=(30, 3)), columns=list("abc"))


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge(kernel="rbf"),
        mercer.SVR(),
        mercer.GaussianProcessRegressor(Gaussian(), optimizer=None),
        mercer.GaussianProcessClassifier(Gaussian(), optimizer=None),
        mercer.SemiparametricRidge(kernel=Gaussian()),
        mercer.OnlineKernelMachine(kernel=Gaussian()),
        mercer.MultiOutputKernelRidge(kernel=Gaussian()),
    ],
    ids=lambda m: type(m).__name__,
)
def test_functions_of_models_match_columns_by_their_names(model, tmp_path):
    """Models keep samples as arrays, but their functions know the names as well."""
    model = clone(model).fit(TABLE, (TABLE["a"] > 0) * 1.0)
    f = model.rkhs_function_
    other = TABLE[["c", "a", "b"]]
    mercer.save(f, tmp_path / "f")
    moved = RKHSFunction(f.kernel, np.zeros((1, 3)), np.ones((1, *f.coef.shape[1:])))
    for g in (f, 2 * f, f + moved, moved + f, f.simplify(), mercer.load(tmp_path / "f")):
        assert np.allclose(g(other), g(TABLE.to_numpy()))
        with pytest.raises(DomainError, match="'a' is not in both"):
            g(TABLE.rename(columns={"a": "z"}))
    h = clone(model).fit(other, (TABLE["a"] > 0) * 1.0).rkhs_function_
    for combine in (operator.add, operator.matmul) if f.columns else ():  # else a table is kept
        with pytest.raises(DomainError, match="different columns"):
            combine(f, RKHSFunction(f.kernel, h.points, h.coef, columns=h.columns))


def test_canonical_functions_match_columns_by_their_names():
    view = TABLE.add_prefix("y")
    f, g = mercer.KernelCCA(1, regularization=0.1).fit(TABLE, view).functions_
    assert np.allclose(f(TABLE[["c", "a", "b"]]), f(TABLE.to_numpy()))
    assert np.allclose(g(view[["yc", "ya", "yb"]]), g(view.to_numpy()))
