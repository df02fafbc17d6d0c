"""Mutual information kernels against sums, quadrature and sampling."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.stats import beta
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from mercer import (
    SVC,
    DirichletPrior,
    DiscreteHMM,
    MultinomialModel,
    MutualInformation,
    NormalMixture,
    load,
    parse,
    save,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel


@pytest.fixture
def X(rng):
    return np.concatenate([rng.normal(size=(20, 2)), rng.normal(3, 1, size=(20, 2))])


@pytest.fixture
def ensemble(X):
    return [GaussianMixture(k, random_state=k).fit(X[k:]) for k in (1, 2, 3)]


@pytest.mark.parametrize("exponent", [0.3, 1.0])
def test_sums_over_models(X, ensemble, exponent):
    w = np.array([0.2, 0.5, 0.3])
    L = np.exp([exponent * m.score_samples(X) for m in ensemble])
    Q = (L.T * w) @ L
    size = np.sqrt(np.diagonal(Q))
    k = MutualInformation(ensemble, w, exponent)
    assert k(X) == pytest.approx(Q / size / size[:, None])
    # as Seeger defines it: what each sample tells about the other
    marginal = w @ L
    told = np.log(Q / np.outer(marginal, marginal))
    own = np.diagonal(told)
    assert k(X) == pytest.approx(np.exp(told - (own + own[:, None]) / 2))


def test_likelihoods_that_underflow(rng):
    models = [DiscreteHMM.fit(["abab" * 5], 2, rng=i) for i in range(3)]
    X = ["ab" * n for n in (5, 2000, 3000)] + ["b" * 2000]
    K = MutualInformation(models, exponent=0.01)(X)
    assert np.all(np.isfinite(K))
    assert np.diagonal(K) == pytest.approx(np.ones(4))


def test_conjugate_prior_by_quadrature():
    """Two things, a Beta prior on the chance of the first."""
    a, X = np.array([0.7, 2.0]), np.array([[3.0, 1.0], [0.0, 2.0], [1.0, 0.0], [0.0, 0.0]])

    def Q(x, y):
        both = x + y
        return quad(
            lambda u: u ** both[0] * (1 - u) ** both[1] * beta.pdf(u, *a), 0, 1, epsabs=1e-12
        )[0]

    wanted = np.array([[Q(x, y) / np.sqrt(Q(x, x) * Q(y, y)) for y in X] for x in X])
    assert MutualInformation(DirichletPrior(a))(X) == pytest.approx(wanted, rel=1e-6)


def test_conjugate_prior_by_sampling(rng):
    X = rng.poisson(2, (6, 3))
    models = [MultinomialModel(p) for p in rng.dirichlet([1.5, 1, 0.5], 20_000)]
    sampled = MutualInformation(models[:4000], exponent=0.5)(X)
    exact = MutualInformation(DirichletPrior([1.5, 1, 0.5]), exponent=0.5)(X)
    assert sampled == pytest.approx(exact, abs=0.05)


def test_promises(X, ensemble, rng):
    check_kernel(MutualInformation(ensemble), X)
    check_kernel(MutualInformation([lambda Z: -np.sum(np.square(Z), axis=1)] * 2), X)
    counts = rng.poisson(2.0, (20, 5)) * 1.0
    check_kernel(MutualInformation(DirichletPrior(0.5), exponent=0.3), counts)
    assert MutualInformation(DirichletPrior())(sp.csr_matrix(counts)) == pytest.approx(
        MutualInformation(DirichletPrior())(counts)
    )
    ours = MutualInformation([NormalMixture([1.0], [[m]], [[[1.0]]]) for m in (0.0, 1.0)])
    check_kernel(ours, rng.normal(size=(12, 1)))
    assert parse(repr(ours)) == ours


def test_in_models(X, ensemble, tmp_path):
    y = np.repeat([0, 1], 20)
    k = MutualInformation(ensemble, exponent=0.5)
    assert clone(k)(X) == pytest.approx(k(X))
    model = SVC(k, C=100).fit(X, y)
    assert model.score(X, y) > 0.6
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").predict(X).tolist() == model.predict(X).tolist()


def test_bad_input(X, ensemble):
    with pytest.raises(ValueError, match="models must be"):
        MutualInformation([])
    with pytest.raises(ValueError, match="models must be"):
        MutualInformation([3.0])
    with pytest.raises(ValueError, match="weights must be"):
        MutualInformation(ensemble, [1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="one number per model"):
        MutualInformation(ensemble, [0.5, 0.5])(X)
    with pytest.raises(ValueError, match="model 0 must give one log p"):
        MutualInformation([lambda Z: np.zeros(3)])(X)
    with pytest.raises(DomainError, match="probability 0 under all"):
        MutualInformation([MultinomialModel([0.0, 1.0])])([[1, 1]])
    with pytest.raises(ValueError, match="concentration"):
        DirichletPrior(-1.0)
    with pytest.raises(ValueError, match="concentration holds 2"):
        MutualInformation(DirichletPrior([1.0, 2.0]))([[1, 1, 1]])
