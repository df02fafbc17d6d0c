"""KernelRanker: scikit-learn's contract, and all pairs by brute force."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelRanker, KernelRidge, Plan, Spectrum
from mercer.solvers.ranking import Pairs


@parametrize_with_checks([KernelRanker(kernel="rbf", tol=1e-9)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def problem(rng, n=40, ties=True):
    y = rng.integers(0, 4, n).astype(float) if ties else rng.standard_normal(n)
    return y, rng.integers(0, 3, n), rng.uniform(0.5, 2, n)


def brute(F, y, groups, w):
    """Loss, slopes and second derivatives, pair by pair."""
    n = len(y)
    loss, G, H = 0.0, np.zeros(n), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 1 - F[i] + F[j]
            if groups[i] == groups[j] and y[i] > y[j] and s > 0:
                v = w[i] * w[j]
                e = np.eye(n)[i] - np.eye(n)[j]
                loss, G, H = loss + v * s * s / 2, G - v * s * e, H + v * np.outer(e, e)
    return loss, G, H


@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_sums_over_pairs(rng, ties, offset):
    y, groups, w = problem(rng, ties=ties)
    F = offset + rng.standard_normal(40)
    F[::5] = F[0]  # ties of scores
    pairs, V = Pairs(y, groups, 1.0, w), rng.standard_normal((40, 1))
    loss, G, H = brute(F, y, groups, w)
    assert pairs.loss_at(F[:, None]) == pytest.approx(loss, rel=1e-9 * (1 + offset))
    np.testing.assert_allclose(pairs.slopes(F[:, None])[:, 0], G, atol=1e-9 * (1 + offset))
    degree, product = pairs.curvature(F[:, None], np.zeros(40))
    np.testing.assert_allclose(degree, np.diag(H), atol=1e-9)
    np.testing.assert_allclose(product(V), H @ V, atol=1e-9)


def test_the_optimum_by_brute_force(rng):
    y, groups, w = problem(rng, 30)
    X = rng.standard_normal((30, 2))
    model = KernelRanker(0.5, kernel=Gaussian(1.0), tol=1e-9).fit(X, y, groups, w)
    root = np.linalg.cholesky(Gaussian(1.0)(X) + 1e-12 * np.eye(30))

    def objective(z):
        loss, G, _ = brute(root @ z, y, groups, w)
        return loss + 0.25 * z @ z, root.T @ G + 0.5 * z

    theirs = minimize(objective, np.zeros(30), jac=True, method="L-BFGS-B", options={"ftol": 1e-14})
    stats = model.solution_.stats
    assert stats["objective"] == pytest.approx(theirs.fun, rel=1e-7)
    assert abs(stats["gap"]) <= 1e-7 * stats["objective"]
    count = sum(
        w[i] * w[j] for i in range(30) for j in range(30) if groups[i] == groups[j] and y[i] > y[j]
    )
    assert stats["pairs"] == pytest.approx(count)


def test_only_the_order_within_groups_counts(rng):
    X = rng.standard_normal((60, 2))
    groups = np.repeat(["a", "b", "c"], 20)
    y = X[:, 0] + np.repeat([0.0, 50.0, -30.0], 20)
    model = KernelRanker(0.1, kernel=Gaussian(2.0)).fit(X, y, groups)
    again = KernelRanker(0.1, kernel=Gaussian(2.0)).fit(X, np.exp(y / 20), groups)
    np.testing.assert_allclose(model.predict(X), again.predict(X), atol=1e-8)
    assert model.score(X, y, groups) > 0.95
    ridge = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(X, y)
    assert (
        np.mean([kendalltau(*(v[groups == g] for v in (ridge.predict(X), y)))[0] for g in "abc"])
        < 0.9
    )


def test_scores(rng):
    X, y = rng.standard_normal((30, 2)), rng.integers(0, 4, 30)
    groups = np.repeat([0, 1, 2], 10)
    y[groups == 2] = 1  # nothing to rank
    model = KernelRanker(1.0).fit(X, y, groups)
    f = model.predict(X)
    parts = [groups == g for g in (0, 1)]
    tau = np.mean([kendalltau(f[p], y[p]).statistic for p in parts])
    gain = np.mean([ndcg_score(y[p][None], f[p][None], k=5) for p in parts])
    assert model.score(X, y, groups) == pytest.approx(tau)
    assert model.ndcg(X, y, groups, k=5) == pytest.approx(gain)


def test_strings_and_landmarks(rng):
    words = ["".join(rng.choice(list("ab"), 10)) for _ in range(40)]
    y = [word.count("ab") for word in words]
    assert KernelRanker(0.1, kernel=Spectrum(2)).fit(words, y).score(words, y) > 0.8
    X = rng.uniform(-2, 2, (3000, 2))
    few = KernelRanker(1.0, kernel=Gaussian(1.0), plan=Plan(rank=30)).fit(X, np.sin(X[:, 0]))
    assert len(few.X_fit_) == 30
    assert few.score(X, np.sin(X[:, 0])) > 0.9


def test_refusals(rng):
    X = rng.standard_normal((6, 2))
    with pytest.raises(ValueError, match="no pairs to learn from"):
        KernelRanker().fit(X, [1, 1, 2, 2, 3, 3], [0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="groups has 2 entries"):
        KernelRanker().fit(X, np.arange(6), [0, 1])
    for gap in (None, np.nan):
        with pytest.raises(ValueError, match="groups has missing values"):
            KernelRanker().fit(X, np.arange(6), [gap, *range(5)])
    with pytest.raises(ValueError, match="alpha must be > 0"):
        KernelRanker(0.0).fit(X, np.arange(6))
