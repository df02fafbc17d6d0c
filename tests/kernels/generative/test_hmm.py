"""Hidden Markov models against sums over all paths, and EM against what it has to find."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer import DiscreteHMM, GaussianHMM, load, save
from mercer.exceptions import ConvergenceWarning, DomainError
from mercer.kernels.generative.models import as_hmm

STRINGS = ["abca", "c", "bb", "", "cabac"]


@pytest.fixture
def discrete(rng):
    return DiscreteHMM(
        rng.dirichlet(np.ones(3)),
        rng.dirichlet(np.ones(3), 3),
        rng.dirichlet(np.ones(3), 3),
        "abc",
    )


@pytest.fixture
def normal(rng):
    factors = rng.normal(size=(2, 2, 2))
    matrices = factors @ factors.transpose(0, 2, 1) + 0.3 * np.eye(2)
    return GaussianHMM([0.4, 0.6], rng.dirichlet(np.ones(2), 2), rng.normal(size=(2, 2)), matrices)


def paths(model, emissions):
    """(path, its probability together with the observations) for all paths."""
    T, S = emissions.shape
    for path in product(range(S), repeat=T):
        chance = np.asarray(model.start)[path[0]] if T else 1.0
        for r, s in pairwise(path):
            chance *= np.asarray(model.transition)[r, s]
        yield path, chance * np.prod([emissions[t, s] for t, s in enumerate(path)])


def emissions_of(model, x):
    if isinstance(model, DiscreteHMM):
        return np.array([model.emission[:, "abc".index(c)] for c in x]).reshape(len(x), 3)
    pairs = zip(model.means, model.covariances, strict=True)
    each = [np.atleast_1d(multivariate_normal(m, C).pdf(x)) for m, C in pairs]
    return np.stack(each, axis=1)


def check_against_paths(model, X):
    x = model.read(X, "test")
    known = model.posterior(x, "test", pairs=True)
    for n, sample in enumerate(X):
        lo, hi = x.ends[n : n + 2]
        all_paths = list(paths(model, emissions_of(model, sample)))
        total = sum(chance for _, chance in all_paths)
        assert known.log_likelihood[n] == pytest.approx(np.log(total))
        S = model.n_states
        states, pairs = np.zeros((hi - lo, S)), np.zeros((hi - lo, S, S))
        for path, chance in all_paths:
            for t, s in enumerate(path):
                states[t, s] += chance / total
            for t, (r, s) in enumerate(pairwise(path)):
                pairs[t, r, s] += chance / total
        assert known.states[lo:hi] == pytest.approx(states)
        assert known.pairs[lo:hi] == pytest.approx(pairs)
        assert known.steps[n] == pytest.approx(pairs.sum(axis=0))


def test_discrete_by_all_paths(discrete):
    check_against_paths(discrete, STRINGS)


def test_normal_by_all_paths(normal, rng):
    check_against_paths(normal, [rng.normal(size=(t, 2)) for t in (1, 4, 6)])


def test_long_sequences_do_not_underflow(discrete, normal):
    text = discrete.sample(20_000, rng=1)
    found = discrete.log_likelihood([text, text[:10_000]])
    assert np.all(np.isfinite(found))
    assert found[0] < -10_000
    far = [normal.sample(3000, rng=0) + 1e3]
    assert np.isfinite(normal.log_likelihood(far)[0])


def test_pieces_of_data(discrete, normal, monkeypatch):
    """Data are looked at in pieces; what comes out is the same."""
    text = [discrete.sample(n, rng=n) for n in (200, 3, 90, 1, 150, 7)]
    series = [normal.sample(n, rng=n) for n in (20, 3, 90, 1, 15, 7)]
    whole = [m.scores(X, "") for m, X in ((discrete, text), (normal, series))]
    known = discrete.log_likelihood(text)
    monkeypatch.setattr("mercer.kernels.generative.hmm._TOGETHER", 300)
    assert discrete.log_likelihood(text) == pytest.approx(known)
    parts = [m.scores(X, "") for m, X in ((discrete, text), (normal, series))]
    for one, other in zip(whole, parts, strict=True):
        for name in one:
            assert one[name] == pytest.approx(other[name])


def test_samples_come_from_the_model(discrete, normal):
    text = discrete.sample(10_000, rng=0)
    stationary = np.linalg.matrix_power(np.asarray(discrete.transition), 200)[0]
    shares = np.array([text.count(c) for c in "abc"]) / len(text)
    assert shares == pytest.approx(stationary @ np.asarray(discrete.emission), abs=0.05)
    points = normal.sample(10_000, rng=0)
    stationary = np.linalg.matrix_power(np.asarray(normal.transition), 200)[0]
    assert points.mean(axis=0) == pytest.approx(stationary @ normal.means, abs=0.2)


def test_em_finds_a_discrete_model():
    true = DiscreteHMM([1, 0], [[0.95, 0.05], [0.1, 0.9]], [[0.9, 0.05, 0.05], [0.1, 0.2, 0.7]],
                       "xyz")  # fmt: skip
    X = [true.sample(200, rng=i) for i in range(30)]
    fits = [DiscreteHMM.fit(X, 2, rng=i, tol=1e-6) for i in range(3)]
    best = max(fits, key=lambda m: m.log_likelihood(X).sum())
    assert best.log_likelihood(X).sum() > true.log_likelihood(X).sum() - 5
    errors = [np.abs(best.emission[list(p)] - true.emission).max() for p in permutations(range(2))]
    assert min(errors) < 0.05


def test_em_finds_a_normal_model():
    true = GaussianHMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.0], [4.0]], [[[1.0]], [[0.25]]])
    X = [true.sample(100, rng=i) for i in range(20)]
    model = GaussianHMM.fit(X, 2, rng=0, tol=1e-6, smoothing=0)
    order = np.argsort(model.means[:, 0])
    assert model.means[order, 0] == pytest.approx([0, 4], abs=0.1)
    assert model.covariances[order, 0, 0] == pytest.approx([1, 0.25], abs=0.1)
    wanted = np.array(true.transition)
    assert model.transition[np.ix_(order, order)] == pytest.approx(wanted, abs=0.05)


def test_em_never_lowers_the_likelihood(rng):
    X = ["".join(rng.choice(list("ab"), 30)) for _ in range(10)]
    with pytest.warns(ConvergenceWarning):
        values = [
            DiscreteHMM.fit(X, 3, max_iter=n, tol=-np.inf, smoothing=0).log_likelihood(X).sum()
            for n in (1, 2, 5, 20)
        ]
    assert np.all(np.diff(values) > -1e-9)


def test_models_of_hmmlearn():
    categorical = SimpleNamespace(
        startprob_=np.array([0.5, 0.5]),
        transmat_=np.full((2, 2), 0.5),
        emissionprob_=np.array([[0.2, 0.8], [0.6, 0.4]]),
    )
    ours = as_hmm(categorical)
    assert ours.log_likelihood([[0, 1]])[0] == pytest.approx(np.log(0.4 * 0.6))
    normal = SimpleNamespace(
        startprob_=np.array([1.0]),
        transmat_=np.ones((1, 1)),
        means_=np.zeros((1, 2)),
        covars_=np.eye(2)[None],
    )
    value = as_hmm(normal).log_likelihood([np.ones((3, 2))])[0]
    assert value == pytest.approx(3 * multivariate_normal(np.zeros(2)).logpdf([1, 1]))
    normal.covariance_type = "spherical"
    normal.covars_, normal._covars_ = np.array([np.eye(2)] * 2), np.full((1, 2), 1.0)
    assert as_hmm(normal).log_likelihood([np.ones((3, 2))])[0] == pytest.approx(value)


def test_files(discrete, normal, tmp_path):
    for model in (discrete, normal):
        save(model, tmp_path / "m")
        assert load(tmp_path / "m") == model


def test_impossible_sequences(rng):
    model = DiscreteHMM([1.0, 0.0], [[0.0, 1.0], [0.0, 1.0]], np.eye(2), "ab")
    assert model.log_likelihood(["abb", "ba", "aa"]).tolist() == [0, -np.inf, -np.inf]
    with pytest.raises(DomainError, match="sample 1 has probability 0"):
        model.scores(["ab", "ba"], "Fisher")


def test_bad_input(normal, discrete):
    with pytest.raises(ValueError, match="start must be"):
        DiscreteHMM([0.5, 0.6], np.eye(2), np.eye(2), "ab")
    with pytest.raises(ValueError, match="transition must be"):
        DiscreteHMM([0.5, 0.5], [[1, 1], [0, 1]], np.eye(2), "ab")
    with pytest.raises(ValueError, match="2 states and 3 symbols"):
        DiscreteHMM([0.5, 0.5], np.eye(2), np.eye(2), "abc")
    with pytest.raises(ValueError, match="alphabet must be"):
        DiscreteHMM([0.5, 0.5], np.eye(2), np.eye(2), "aa")
    with pytest.raises(ValueError, match="positive definite"):
        GaussianHMM([1.0], [[1.0]], [[0.0]], [[[-1.0]]])
    with pytest.raises(ValueError, match="means of shape"):
        GaussianHMM([1.0], [[1.0]], [0.0], [[[1.0]]])
    with pytest.raises(DomainError, match="sample 1 contains a symbol"):
        discrete.log_likelihood(["ab", "xa"])
    with pytest.raises(DomainError, match="channels"):
        normal.log_likelihood([np.zeros((4, 3))])
    with pytest.raises(ValueError, match="n_states must be"):
        DiscreteHMM.fit(["ab"], 0)
    with pytest.raises(ValueError, match="empty"):
        DiscreteHMM.fit(["", ""], 2)
    with pytest.raises(TypeError, match="no option"):
        GaussianHMM.fit([np.zeros(3)], 2, alphabet="ab")


def test_degenerate_data():
    assert DiscreteHMM.fit(["aaa", "a"], 2).log_likelihood(["aa"])[0] == pytest.approx(0)
    flat = GaussianHMM.fit([np.ones(5), np.ones(3)], 2)
    assert np.isfinite(flat.log_likelihood([np.ones(4)])[0])
