"""Cross product kernels on fuzzy sets against sums over all pairs of points."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    Categorical,
    CrossProduct,
    Custom,
    Gaussian,
    GaussianProcessRegressor,
    KernelPCA,
    Laplacian,
    Linear,
    Plan,
    Polynomial,
    Spectrum,
    Spline,
    fuzzy_set,
    load,
    parse,
    save,
    two_sample_test,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel, check_kind

KERNELS = [
    CrossProduct(Gaussian(0.7), Linear()),
    CrossProduct(Laplacian(), Gaussian(0.3)),
    CrossProduct(Linear(), Linear()),
    CrossProduct(Polynomial(2), Polynomial(2)),
    CrossProduct(Gaussian("median"), Spline(1)),
]


@pytest.fixture
def X(rng):
    """Fuzzy sets of 1 to 9 points of the plane, some with points that do not belong to them."""
    sets = []
    for _ in range(25):
        n = rng.integers(1, 10)
        degrees = rng.uniform(0.01, 1, n) * (rng.random(n) < 0.8)
        degrees[0] = 1
        sets.append((rng.normal(size=(n, 2)), degrees))
    return sets


def brute(kernel, X, Y):
    k = kernel
    K = np.zeros((len(X), len(Y)))
    for a, (P, m) in enumerate(X):
        for b, (Q, n) in enumerate(Y):
            for x, s in zip(P, m, strict=True):
                for y, t in zip(Q, n, strict=True):
                    if s > 0 and t > 0:
                        K[a, b] += k.points([x], [y])[0, 0] * k.memberships([s], [t])[0, 0]
    return K


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_against_pairs_of_points(k, X):
    k = k.resolve(X)
    few = X[:6]
    assert k(few) == pytest.approx(brute(k, few, few), rel=1e-10)
    assert k(few[:2], few[2:]) == pytest.approx(brute(k, few[:2], few[2:]), rel=1e-10)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_promises(k, X):
    check_kernel(k, X)
    check_kernel(k.normalize(), X)


def test_intersection():
    """With equality on the points: cardinalities of intersections, for two kinds of "and"."""
    a, b = (["x", "y", "z"], [1.0, 0.6, 0.2]), (["y", "z", "w"], [0.5, 1.0, 0.5])
    minimum = CrossProduct(Categorical(), Spline(1, polynomial=False))
    assert minimum([a, b]) == pytest.approx(np.array([[1.8, 0.7], [0.7, 2.0]]))
    product = CrossProduct(Categorical(), Linear())
    assert product([a, b]) == pytest.approx(np.array([[1.4, 0.5], [0.5, 1.5]]))
    crisp = [(["x", "y"], [1, 1]), (["y", "z", "w"], [1, 1, 1])]
    assert product(crisp)[0] == pytest.approx([2, 1])


def test_sparse_features(rng):
    words = [("".join(rng.choice(list("ab"), 5)), rng.uniform(0.1, 1)) for _ in range(60)]
    X = [tuple(map(list, zip(*words[i : i + 3], strict=True))) for i in range(0, 60, 3)]
    k = CrossProduct(Spectrum(2), Linear())
    assert sp.issparse(k.features(k.prepare(X)))
    check_kernel(k, X)
    dense = k.gram(X, Plan(storage="dense")).to_dense()
    assert k.gram(X, Plan(storage="lowrank")).to_dense() == pytest.approx(dense)


def test_fuzzy_set():
    grid = np.linspace(-1, 1, 5)
    points, degrees = fuzzy_set(lambda t: np.maximum(0, 1 - abs(t)), grid)
    assert points.tolist() == [-0.5, 0, 0.5]
    assert degrees.tolist() == [0.5, 1, 0.5]
    plane = np.zeros((3, 2))
    points, degrees = fuzzy_set(lambda p: np.ones((len(p), 1)), plane)
    assert points.shape == (3, 2)
    assert degrees.shape == (3,)
    assert fuzzy_set([0.0, 0.25], ["a", "b"])[0] == ["b"]
    with pytest.raises(DomainError, match=r"from 0 to 1, got -0\.5; clip"):
        fuzzy_set(lambda t: t + 0.5, grid)
    with pytest.raises(DomainError, match="5 points need one membership each"):
        fuzzy_set([0.5, 0.5], grid)
    with pytest.raises(DomainError, match="must be numbers"):
        fuzzy_set(["a"], [1.0])


def test_points_of_membership_zero_do_not_count(X):
    k = CrossProduct(Gaussian(), Gaussian())
    inside = [(P[m > 0], m[m > 0]) for P, m in X]
    assert np.array_equal(k(X), k(inside))


def test_kinds(X):
    check_kind("fuzzy_sets", X, KERNELS[0])
    assert str(KERNELS[0].domain) == "fuzzy sets of vectors in R^d"
    assert KERNELS[0].properties.characteristic.no
    assert KERNELS[2].properties.finite_dim
    assert CrossProduct(Custom(lambda a, b: 1.0), Linear()).properties.psd.unknown


def test_use(rng, tmp_path):
    """Temperatures called warm by two groups of people, who differ in how sure they are."""
    grid, y = np.linspace(0, 40, 21), np.repeat([0, 1], 30)
    X = [
        fuzzy_set(lambda t, c=c, w=w: np.exp(-0.5 * ((t - c) / w) ** 2), grid)
        for c, w in zip(rng.normal(22, 3, 60), rng.normal(4 + 2 * y, 0.5), strict=True)
    ]
    k = CrossProduct(Gaussian(5.0), Gaussian(0.3)).normalize()
    assert parse(repr(k)) == k == clone(k)
    model = SVC(k, C=10).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.8
    save(model, tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").predict(X), model.predict(X))
    search = GridSearchCV(model, {"kernel__kernel__points__lengthscale": [1.0, 5.0]}, cv=2)
    assert search.fit(X, y).best_score_ > 0.8
    process = GaussianProcessRegressor(1 * k, alpha=0.1).fit(X[:30], y[:30] + 0.0)
    assert np.isfinite(process.log_marginal_likelihood())
    assert KernelPCA(2, kernel=k).fit_transform(X).shape == (60, 2)
    assert two_sample_test(X[:30], X[30:], kernel=k, rng=0).pvalue < 0.05
    table = pd.DataFrame({"set": X, "age": rng.normal(size=60)})
    assert (k.on("set") + Gaussian().on("age"))(table) == pytest.approx(
        k(X) + Gaussian()(table[["age"]])
    )


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "no samples"),
        ([([1.0], [0.5]), ([1.0], [0.0])], "sample 1 is empty"),
        ([([1.0, 2.0], [0.5])], "sample 0: 2 points need one membership each"),
        ([([1.0], [2.0])], "from 0 to 1, got 2"),
        ([([1.0], [np.nan])], "from 0 to 1, got nan"),
        ([[1.0, 2.0]], r"pair \(points, memberships\), but sample 0 is not"),
        ([np.zeros((3, 2))], "fuzzy_set makes one"),
        (pd.DataFrame({"a": [1.0]}), r"\.on\(column\)"),
        ([([np.nan], [0.5])], "NaN"),
    ],
)
def test_bad_input(X, message):
    with pytest.raises(DomainError, match=message):
        CrossProduct(Gaussian(), Linear())(X)


def test_bad_kernels():
    with pytest.raises(ValueError, match="points must be"):
        CrossProduct("rbf", Linear())
    with pytest.raises(ValueError, match="memberships must be"):
        CrossProduct(Linear(), 3)
