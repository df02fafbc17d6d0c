"""Marginalised count kernels against sums over all pairs of hidden paths."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import (
    SVC,
    DiscreteHMM,
    GaussianHMM,
    GaussianProcessRegressor,
    Marginalized,
    Spectrum,
    load,
    parse,
    save,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

TEXT = ["abca", "cb", "b", "abcab", "cc", "", "ccab"]


@pytest.fixture
def model(rng):
    return DiscreteHMM(
        rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(3), 2), "abc"
    )


@pytest.fixture
def series_model(rng):
    A = rng.dirichlet(np.ones(2), 2)
    return GaussianHMM([0.3, 0.7], A, [[0.0], [1.0]], [[[1.0]], [[0.5]]])


def posterior_of_paths(model, logs):
    """(path, p(path | x))."""
    found = []
    for path in product(range(model.n_states), repeat=len(logs)):
        chance = model.start[path[0]] if path else 1.0
        for r, s in pairwise(path):
            chance *= model.transition[r, s]
        found.append((path, chance * np.exp(sum(logs[t, s] for t, s in enumerate(path)))))
    total = sum(chance for _, chance in found)
    return [(path, chance / total) for path, chance in found]


def counts(x, path, order):
    joint = list(zip(x, path, strict=True))
    return Counter(joint if order == 1 else pairwise(joint))


@pytest.mark.parametrize("order", [1, 2])
def test_by_all_paths(model, order):
    known = []
    for x in TEXT:
        logs = np.log(np.array([model.emission[:, "abc".index(c)] for c in x]).reshape(-1, 2))
        paths = posterior_of_paths(model, logs)
        known.append([(counts(x, path, order), chance) for path, chance in paths])

    def brute(one, other):
        return sum(
            p * q * sum(n * d[key] for key, n in c.items()) for c, p in one for d, q in other
        )

    wanted = np.array([[brute(one, other) for other in known] for one in known])
    assert Marginalized(model, order)(TEXT) == pytest.approx(wanted)


@pytest.mark.parametrize("order", [1, 2])
def test_series_by_all_paths(series_model, order, rng):
    X = [rng.normal(size=t) for t in (1, 3, 4)]
    features = []
    for x in X:
        logs = series_model.log_emissions(x[:, None])
        mean = 0.0
        for path, chance in posterior_of_paths(series_model, logs):
            marks = [np.kron(np.eye(2)[s], [1.0, v]) for s, v in zip(path, x, strict=True)]
            each = marks if order == 1 else [np.kron(a, b) for a, b in pairwise(marks)]
            mean = mean + chance * (np.sum(each, axis=0) if each else np.zeros(16))
        features.append(mean)
    phi = np.stack(features)
    assert Marginalized(series_model, order)(X) == pytest.approx(phi @ phi.T)


def test_one_state_is_a_spectrum():
    model = DiscreteHMM([1.0], [[1.0]], [[0.2, 0.3, 0.5]], "abc")
    for order in (1, 2):
        assert Marginalized(model, order)(TEXT) == pytest.approx(Spectrum(order)(TEXT))


def test_promises(model, series_model, rng):
    long = [model.sample(n, rng=n) for n in (5, 80, 33, 1, 2, 50)]
    for order in (1, 2):
        check_kernel(Marginalized(model, order), TEXT[:5] + TEXT[6:])
        check_kernel(Marginalized(model, order).normalize(), long)
        check_kernel(Marginalized(series_model, order), [rng.normal(size=t) for t in range(1, 9)])
    k = Marginalized(model, 2)
    phi = k.features(k.prepare(long))
    assert sp.issparse(phi)
    assert phi.shape[1] == 36
    assert parse(repr(k)) == k


def test_pieces(model, series_model, monkeypatch):
    text = [model.sample(n, rng=n) for n in (60, 3, 40, 1)]
    series = [series_model.sample(n, rng=n) for n in (60, 3, 40, 1)]
    for k, X in ((Marginalized(model, 2), text), (Marginalized(series_model, 2), series)):
        with monkeypatch.context() as patched:
            whole = k(X)
            patched.setattr("mercer.kernels.generative.hmm._TOGETHER", 100)
            assert k(X) == pytest.approx(whole)


def test_states_tell_apart_what_counts_do_not(rng, tmp_path):
    """Both classes have as many of each letter; one has them in blocks, in which states differ."""
    blocks = DiscreteHMM([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]], [[0.9, 0.1], [0.1, 0.9]], "ab")
    X = [blocks.sample(60, rng=i) for i in range(30)]
    X += ["".join(rng.permutation(list(x))) for x in X]
    y = np.repeat([0, 1], 30)
    k = Marginalized(blocks, 1).normalize()
    model = SVC(k, C=100).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.85
    assert SVC(Spectrum(1).normalize(), C=100).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) < 0.65
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").predict(X).tolist() == model.predict(X).tolist()
    assert GaussianProcessRegressor(k).fit(X, y).score(X, y) > 0.3


def test_bad_input(model):
    with pytest.raises(ValueError, match="model must be"):
        Marginalized("abc")
    with pytest.raises(ValueError, match="order must be"):
        Marginalized(model, 3)
    with pytest.raises(DomainError, match="sample 0 contains a symbol"):
        Marginalized(model)(["xyz"])
