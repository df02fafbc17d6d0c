"""Sequential tests: gains by brute force, wealth by products, streams cut anyhow, attacks."""

import itertools

import numpy as np
import pytest

import mercer
from mercer import (
    Gaussian,
    Linear,
    Plan,
    SequentialIndependenceTest,
    SequentialTwoSampleTest,
    Spectrum,
)
from mercer.stats.betting import STAKES, bet, payoff

BOTH = (SequentialTwoSampleTest, SequentialIndependenceTest)


def test_wealth_is_the_mean_of_products(rng):
    paid = rng.uniform(-1, 1, (3, 40))
    by_hand = [np.cumprod(1 + stake * row) for row in paid for stake in STAKES]
    first = bet(paid[:, :25])
    second = bet(paid[:, 25:], first.wealth)
    path = np.concatenate([first.path, second.path])
    np.testing.assert_allclose(np.exp(path), np.mean(by_hand, axis=0))


def test_wealth_has_mean_one_over_all_signs():
    """Under the hypothesis each sign is equally likely: over all of them the mean is exactly 1."""
    sizes = np.array([0.9, 0.3, 1.0, 0.5])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 4)).reshape(4, -1)
    ends = [np.exp(bet((sizes * s)[None]).path[-1]) for s in signs.T]
    assert np.mean(ends) == pytest.approx(1.0, rel=1e-12)


def test_payoffs_by_hand():
    gains = np.array([1.0, -3.0, 2.0])
    scales = [np.sqrt(4.0), np.sqrt((8 + 1) / 3), np.sqrt((8 + 1 + 9) / 4)]
    np.testing.assert_allclose(payoff(gains, 8.0, 2), np.tanh(gains / scales))


def path_of(h, warm_up):
    """The wealth from gains, one bet after the other."""
    wealth, path = np.ones((len(h), len(STAKES))), []
    for t in range(h.shape[1]):
        for e in range(len(h)):
            scale = np.sqrt(np.mean(h[e, :t] ** 2)) if t else 0.0
            g = np.tanh(h[e, t] / scale) if t >= warm_up and scale > 0 else 0.0
            wealth[e] *= 1 + STAKES * g
        path.append(np.log(wealth.mean()))
    return np.array(path)


def test_two_samples_by_brute_force(rng):
    X, Y = rng.normal(size=(60, 2)), rng.normal(0.7, 1, (60, 2))
    kernels = [Gaussian(0.5), Gaussian(2.0)]
    h = np.zeros((2, 60))
    for e, k in enumerate(kernels):
        for t in range(1, 60):
            f = [k(X[:t], Z[t : t + 1]).mean() - k(Y[:t], Z[t : t + 1]).mean() for Z in (X, Y)]
            h[e, t] = f[0] - f[1]
    test = SequentialTwoSampleTest(kernels, warm_up=10).update(X, Y)
    np.testing.assert_allclose(test.path, path_of(h, 10), atol=1e-10)
    assert test.pvalue == pytest.approx(min(1.0, np.exp(-test.path.max())))


def test_independence_by_brute_force(rng):
    x = rng.normal(size=80)
    y = x + rng.normal(size=80)
    k, l = Gaussian(0.7), Gaussian(1.5)
    h = np.zeros((1, 40))
    for t in range(1, 40):
        past, (i, j) = np.arange(2 * t), (2 * t, 2 * t + 1)
        dk = k(x[past], x[[i]])[:, 0] - k(x[past], x[[j]])[:, 0]
        dl = l(y[past], y[[i]])[:, 0] - l(y[past], y[[j]])[:, 0]
        h[0, t] = np.mean(dk * dl) - dk.mean() * dl.mean()
    test = SequentialIndependenceTest([k, l], warm_up=5).update(x, y)
    np.testing.assert_allclose(test.path, path_of(h, 5), atol=1e-10)


@pytest.mark.parametrize("budget", [40, 2000])
@pytest.mark.parametrize("Test", BOTH)
def test_a_stream_may_be_cut_anyhow(rng, Test, budget):
    X, Y = rng.normal(size=(2, 400, 2))
    whole = Test(budget=budget).update(X, Y)
    parts = Test(budget=budget)
    ends = np.concatenate([[0], np.sort(rng.choice(399, 30, replace=False)) + 1, [400]])
    for i, j in itertools.pairwise(ends):
        parts.update(X[i:j], Y[i:j])
    np.testing.assert_allclose(parts.path, whole.path, atol=1e-12)
    assert len(parts.kept[0]) <= (budget + 256) * 2


def test_what_has_no_partner_waits(rng):
    X, Y = rng.normal(size=(2, 100))
    test = SequentialTwoSampleTest(Gaussian()).update(X, Y[:30])
    assert test.n_bets == 30
    test.update(X[:1], Y[30:])  # one more of X, which is not used
    whole = SequentialTwoSampleTest(Gaussian()).update(X, Y)
    np.testing.assert_allclose(test.path, whole.path, atol=1e-12)
    assert test.n_bets == 100


@pytest.mark.parametrize("Test", BOTH)
def test_finds_what_there_is_and_goes_on_from_a_file(rng, Test, tmp_path):
    X = rng.normal(size=(400, 1))
    Y = X + 1 if Test is SequentialIndependenceTest else rng.normal(1, 1, (400, 1))
    test = Test().update(X[:100], Y[:100])
    mercer.save(test, tmp_path / "test.mercer")
    again = mercer.load(tmp_path / "test.mercer")
    for one in (test, again):
        one.update(X[100:], Y[100:])
    np.testing.assert_allclose(again.path, test.path, atol=1e-12)
    assert test.rejected
    assert 20 < test.rejected_at < 200
    result = test.result()
    assert result.pvalue == test.pvalue < 1e-3
    assert result.details["rejected_at"] == test.rejected_at
    assert "by betting" in str(result)
    test.plot()


def test_of_strings_and_blind_kernels(rng):
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(60)]
    test = SequentialTwoSampleTest(Spectrum(2)).update(words, ["ab" * 4] * 60)
    assert test.rejected
    assert any("cannot be seen" in note for note in test.result().notes)


@pytest.mark.parametrize("Test", BOTH)
def test_nothing_to_see(rng, Test):
    """Constants, equal samples and large offsets: rounding is not bet on."""
    ones = np.ones((300, 2))
    assert Test().update(ones, ones).pvalue == 1.0
    assert Test().update(1e7 * ones, 1e7 * ones).pvalue == 1.0
    X = 1e9 + rng.normal(size=(300, 1))
    Y = 1e9 + rng.normal(size=(300, 1))
    assert Test(Linear()).update(X, Y).pvalue > 0.01


@pytest.mark.parametrize("far", [1e8, -99999.0])
def test_outliers_do_not_decide(rng, far):
    X, Y = rng.normal(size=(2, 300))
    X[::50] = far
    test = SequentialTwoSampleTest([Gaussian(1.0), Linear()]).update(X, Y)
    assert np.all(np.isfinite(test.path))
    assert SequentialTwoSampleTest().update(X, Y).n_bets == 300


def test_plans_limit_memory_and_threads(rng):
    X, Y = rng.normal(size=(2, 100))
    limited = SequentialTwoSampleTest(plan=Plan(workers=1)).update(X, Y)
    np.testing.assert_allclose(limited.path, SequentialTwoSampleTest().update(X, Y).path)


def test_errors(rng):
    X = rng.normal(size=(50, 1))
    with pytest.raises(ValueError, match="alpha"):
        SequentialTwoSampleTest(alpha=1.0)
    with pytest.raises(ValueError, match="warm_up"):
        SequentialTwoSampleTest(warm_up=1)
    with pytest.raises(ValueError, match="budget"):
        SequentialTwoSampleTest(budget=0)
    with pytest.raises(TypeError, match="plan"):
        SequentialTwoSampleTest(plan=3)
    with pytest.raises(ValueError, match="same number of observations"):
        SequentialIndependenceTest().update(X, X[:-1])
    with pytest.raises(ValueError, match="no bets"):
        SequentialTwoSampleTest().plot()
    test = SequentialTwoSampleTest(Linear()).update(X, X)
    before = test.path
    with pytest.raises(ValueError, match="finite"):
        test.update(np.full((200, 1), 1e200), -np.full((200, 1), 1e200))
    np.testing.assert_array_equal(test.path, before)
    assert test.update(X, X).n_bets == 100
    few = SequentialTwoSampleTest().update(X[:5], X[:5])
    assert few.pvalue == 1.0
    assert few.wealth == 1.0
    assert "no bets" in few.result().notes[0]


@pytest.mark.parametrize("test", [SequentialTwoSampleTest, SequentialIndependenceTest])
def test_what_cannot_be_bet_on_does_not_wait(rng, test):
    stream = test(warm_up=4)
    bad = rng.normal(size=(3, 2))
    bad[1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        stream.update(bad, rng.normal(size=(3, 2)))
    stream.update(*rng.normal(size=(2, 3, 2)))
    with pytest.raises(ValueError, match=r"3 feature\(s\), but other samples have 2"):
        stream.update(*rng.normal(size=(2, 3, 3)))
    assert stream.update(*rng.normal(size=(2, 40, 2))).n_bets == 43 // test.per_bet
