"""Weighted Kendall kernels against sums over all ordered pairs of items."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from mercer import SVC, AverageKendall, Kendall, WeightedKendall, load, parse, save
from mercer.exceptions import DomainError
from mercer.kernels.rankings import weighted
from mercer.testing import check_kernel

NAMED = {"hyperbolic": lambda a: 1 / a, "logarithmic": lambda a: 1 / np.log2(1 + a)}


@pytest.fixture(params=[(2, 0, 0), (5, 0, 0), (6, 0.5, 0), (7, 0, 0.3), (40, 0.3, 0.3)], ids=str)
def X(request, rng):
    m, tied, missing = request.param
    ranks = np.argsort(rng.random((20, m)), axis=1).astype(float)
    ranks[rng.random(ranks.shape) < tied] = 1
    ranks[rng.random(ranks.shape) < missing] = np.nan
    return ranks


def place_weights(x, u):
    """For each item, the mean of the weights of the places that it may take."""
    seen = ~np.isnan(x)
    out = np.zeros(len(x))
    low, high = (rankdata(x[seen], method=method) for method in ("min", "max"))
    out[seen] = [np.mean(u[int(a) - 1 : int(b)]) for a, b in zip(low, high, strict=True)]
    return out


def brute(X, u, combine):
    m = X.shape[1]
    W = [place_weights(x, u) for x in X]
    K = np.zeros((len(X), len(X)))
    for i in range(m):
        for j in range(m):
            if i != j:
                f = [combine(w[i], w[j]) * (x[i] < x[j]) for w, x in zip(W, X, strict=True)]
                K += np.outer(f, f)
    c = sum(combine(u[a], u[b]) ** 2 for a in range(m) for b in range(a + 1, m))
    return K / c


@pytest.mark.parametrize("weights", ["hyperbolic", "logarithmic", "own"])
@pytest.mark.parametrize("combine", ["product", "sum"])
def test_against_pairs_of_items(X, weights, combine, rng):
    m = X.shape[1]
    own = rng.uniform(0.1, 2, m)
    u = own if weights == "own" else NAMED[weights](np.arange(1.0, m + 1))
    k = WeightedKendall(own if weights == "own" else weights, combine)
    wanted = brute(X, u, np.multiply if combine == "product" else np.add)
    assert k(X) == pytest.approx(wanted, rel=1e-10, abs=1e-13)
    phi = k.features(k.prepare(X))
    assert phi @ phi.T == pytest.approx(wanted, rel=1e-10, abs=1e-13)
    check_kernel(k, X)


def test_mean_of_the_best_l(X):
    """By its definition: pairs counted among the best l of both, for each l."""
    X, m = X[:9], X.shape[1]
    seen = ~np.isnan(X)
    last = np.where(seen, [rankdata(x, "max") for x in np.where(seen, X, np.inf)], np.inf)
    K = np.zeros((len(X), len(X)))
    for x in range(len(X)):
        for y in range(len(X)):
            for l in range(2, m + 1):
                for i in range(m):
                    both = (X[x, i] < X[x]) & (X[y, i] < X[y]) & (last[x] <= l) & (last[y] <= l)
                    K[x, y] += both.sum()
    K /= sum((b - 1) * (m + 1 - b) for b in range(2, m + 1))
    assert AverageKendall()(X) == pytest.approx(K, abs=1e-13)
    check_kernel(AverageKendall(), X)


def test_whole_rankings_have_norm_one(rng):
    X = np.argsort(rng.random((10, 33)), axis=1)
    for k in (WeightedKendall(), WeightedKendall(combine="sum"), AverageKendall()):
        assert np.diagonal(k(X)) == pytest.approx(np.ones(10))
    equal = WeightedKendall(np.ones(33))(X)
    assert equal == pytest.approx((1 + Kendall()(X)) / 2)
    top = [WeightedKendall([1] * l + [0] * (33 - l)) for l in range(2, 34)]
    counts = [l * (l - 1) / 2 for l in range(2, 34)]
    mean = sum(c * k(X) for c, k in zip(counts, top, strict=True)) / sum(counts)
    assert AverageKendall()(X) == pytest.approx(mean)


def test_many_items_in_pieces(monkeypatch, rng):
    X = np.argsort(rng.random((8, 90)), axis=1)
    K = WeightedKendall()(X)
    monkeypatch.setattr(weighted, "_PRODUCTS", 200)
    assert WeightedKendall()(X) == pytest.approx(K, rel=1e-12)


def test_use(rng, tmp_path):
    scores = rng.normal(size=(60, 6)) + np.outer(np.repeat([0, 1], 30), np.arange(6))
    X, y = np.argsort(np.argsort(-scores, axis=1), axis=1) + 1, np.repeat([0, 1], 30)
    for k in (WeightedKendall("logarithmic", "sum"), WeightedKendall([3, 2, 1, 0, 0, 0.0]),
              AverageKendall()):  # fmt: skip
        assert parse(repr(k)) == k
        model = SVC(k).fit(X[::2], y[::2])
        assert model.score(X[1::2], y[1::2]) > 0.8
        save(model, tmp_path / "model")
        assert np.array_equal(load(tmp_path / "model").predict(X), model.predict(X))
        assert k.properties.finite_dim
        assert k.properties.strictly_pd.no


@pytest.mark.parametrize("weights", ["linear", [1, -1], [[1.0]], [0, 0], [1, 0], [np.nan, 1], 3])
def test_bad_weights(weights):
    with pytest.raises(ValueError, match="weights must be one of"):
        WeightedKendall(weights)


def test_bad_input():
    with pytest.raises(DomainError, match="weights has 3 numbers, but rankings have 2 items"):
        WeightedKendall([1, 2, 3])([[1, 2]])
    for k in (WeightedKendall(), AverageKendall()):
        with pytest.raises(ValueError, match="3 items, but the other sample has rankings of 2"):
            k([[1, 2, 3]], [[1, 2]])
        with pytest.raises(DomainError, match="rankings_from_orders"):
            k([["a", "b"]])
