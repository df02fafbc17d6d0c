"""Fisher kernels against finite differences of log-likelihoods."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV

from mercer import (
    SVC,
    DiscreteHMM,
    Fisher,
    GaussianHMM,
    KernelPCA,
    KernelRidge,
    Linear,
    MeanEmbedding,
    MultinomialModel,
    NormalMixture,
    load,
    parse,
    save,
    two_sample_test,
)
from mercer.exceptions import DomainError, UnresolvedError
from mercer.testing import check_kernel

KINDS = ["full", "tied", "diag", "spherical"]


@pytest.fixture
def X(rng):
    return np.concatenate([rng.normal(size=(25, 2)), rng.normal(3, 0.5, size=(15, 2))])


def moved(model, name, index, step):
    """The model with one entry of a parameter moved: logits of chances, entries of covariances."""
    value = np.array(getattr(model, name), dtype=float)
    if name in ("means", "covariances"):
        value[index] += step
        symmetric = name == "covariances" and value.ndim > 1 and value.shape[-1] == value.shape[-2]
        if symmetric and getattr(model, "covariance_type", "full") in ("full", "tied"):
            *rest, i, j = index
            if i != j:
                value[(*rest, j, i)] += step
    else:
        logits = np.log(value)
        logits[index] += step
        value = softmax(logits, axis=-1)
    return model.replace(**{name: value})


def places(model, name):
    shape = np.shape(getattr(model, name))
    kind = getattr(model, "covariance_type", "full")
    lower = name == "covariances" and kind in ("full", "tied")
    return [at for at in np.ndindex(shape) if not lower or at[-1] <= at[-2]]


def check_scores(model, X):
    found = model.scores(X, "test")
    for name, scores in found.items():
        at = places(model, name)
        assert scores.shape == (len(X), len(at))
        for column, index in enumerate(at):
            h = 1e-5
            up, down = (moved(model, name, index, s).log_likelihood(X) for s in (h, -h))
            assert scores[:, column] == pytest.approx((up - down) / (2 * h), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_mixtures(kind, X):
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    ours = NormalMixture(model.weights_, model.means_, model.covariances_, kind)
    assert ours.log_likelihood(X) == pytest.approx(model.score_samples(X))
    assert ours.posterior(X) == pytest.approx(model.predict_proba(X))
    check_scores(ours, X)
    assert Fisher(model, "identity")(X) == pytest.approx(Fisher(ours, "identity")(X))


@pytest.mark.parametrize("kind", KINDS)
def test_models_in_single_precision(kind, X):
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X.astype(np.float32))
    assert np.all(np.isfinite(Fisher(model)(X.astype(np.float32))))


def test_scores_of_hidden_markov_models(rng):
    start, step = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 3)
    text = DiscreteHMM(start, step, rng.dirichlet(np.ones(4), 3), "abcd")
    check_scores(text, ["abca", "d", "", "bbbcda", "ddab"])
    A = rng.normal(size=(2, 2, 2))
    matrices = A @ A.transpose(0, 2, 1) + 0.5 * np.eye(2)
    step = rng.dirichlet(np.ones(2), 2)
    series = GaussianHMM([0.4, 0.6], step, rng.normal(size=(2, 2)), matrices)
    check_scores(series, [rng.normal(size=(t, 2)) for t in (1, 3, 7)])


def test_scores_of_counts(rng):
    model = MultinomialModel([0.2, 0.5, 0.3])
    check_scores(model, rng.poisson(3, (10, 3)))
    fitted = MultinomialModel.fit([[1, 0, 2], [0, 1, 0]])
    assert fitted.chances == pytest.approx([2 / 7, 2 / 7, 3 / 7])
    assert MultinomialModel([0.0, 1.0]).log_likelihood([[1, 0], [0, 3]]).tolist() == [-np.inf, 0]


def test_reference_value():
    """N(m, s^2) by its mean: (x - m)(y - m) / s^2."""
    model = NormalMixture([1.0], [[1.0]], [[[4.0]]])
    x = np.array([[3.0], [0.0], [2.0]])
    wanted = (x - 1) @ (x - 1).T / 4
    assert Fisher(model, [0.25], ["means"])(x) == pytest.approx(wanted)
    assert Fisher(model, [[0.25]], ["means"])(x) == pytest.approx(wanted)


def test_information(X):
    model = GaussianMixture(2, random_state=0).fit(X)
    U = Fisher(model, "identity").scores(X)
    k = Fisher(model, "empirical").resolve(X)
    assert k.information == pytest.approx(U.T @ U / len(U))
    # features with the identity as second moment, on as many directions as there are
    phi = k.features(k.prepare(X))
    values = np.linalg.eigvalsh(phi.T @ phi / len(phi))
    assert np.all((np.abs(values) < 1e-6) | (np.abs(values - 1) < 1e-6))
    assert round(values.sum()) == U.shape[1] - 1  # weights sum to one
    inverse = np.linalg.pinv(U.T @ U / len(U), hermitian=True)
    assert k(X) == pytest.approx(U @ inverse @ U.T, abs=1e-6)
    diagonal = Fisher(model, "diagonal").resolve(X)
    assert np.mean(diagonal.prepare(X) ** 2, axis=0) == pytest.approx(np.ones(U.shape[1]))


def test_empirical_information_does_not_depend_on_the_parametrisation(X, rng):
    model = GaussianMixture(2, random_state=0).fit(X)
    k = Fisher(model, "identity")
    A = rng.normal(size=(k.scores(X).shape[1],) * 2)
    other = Fisher(lambda Z: k.scores(Z) @ A, "empirical")
    assert other(X) == pytest.approx(Fisher(model, "empirical")(X), abs=1e-5)


def test_user_functions(X):
    k = Fisher(lambda Z: np.asarray(Z) - 1.0, "identity")
    assert k(X) == pytest.approx((X - 1) @ (X - 1).T)
    with pytest.raises(ValueError, match="one row of scores"):
        Fisher(lambda Z: np.zeros(3), "identity")(X)
    with pytest.raises(DomainError, match="NaN"):
        Fisher(lambda Z: np.full((len(Z), 2), np.nan), "identity")(X)


def test_promises(X, rng):
    mixture = NormalMixture([0.3, 0.7], [[0.0, 0.0], [3.0, 3.0]], [1.0, 0.5], "spherical")
    chain = DiscreteHMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.1, 0.9]], "ab")
    series = GaussianHMM([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.0], [2.0]], [[[1.0]], [[1.0]]])
    for rule in ("identity", "diagonal", "empirical"):
        check_kernel(Fisher(mixture, rule), X)
        check_kernel(Fisher(GaussianMixture(2, random_state=0).fit(X), rule), X)
        check_kernel(Fisher(chain, rule), [chain.sample(n, rng=n) for n in range(1, 12)])
        check_kernel(Fisher(series, rule), [series.sample(n, rng=n) for n in range(1, 12)])
        check_kernel(Fisher(MultinomialModel([0.2, 0.8]), rule), rng.poisson(3.0, (9, 2)) * 1.0)
    check_kernel(Fisher(mixture).normalize() + 1, X)
    check_kernel(Fisher(mixture, "identity"), X.astype(np.float32))
    bags = [X[i : i + 3] for i in range(0, 39, 3)]
    check_kernel(MeanEmbedding(Fisher(mixture)), bags)


def test_fitted_models_survive_clone_and_search(X, tmp_path):
    y = np.repeat([0, 1], [25, 15])
    fitted = GaussianMixture(2, random_state=0).fit(X)
    k = Fisher(fitted)
    assert clone(k).model is fitted
    assert clone(2 * k + Linear())(X) == pytest.approx((2 * k + Linear())(X))
    search = GridSearchCV(
        SVC(kernel=k), {"C": [1, 10], "kernel__information": ["diagonal", "identity"]}, cv=3
    )
    model = search.fit(X, y).best_estimator_
    assert model.score(X, y) > 0.9
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").predict(X).tolist() == model.predict(X).tolist()
    assert KernelPCA(2, kernel=k).fit_transform(X).shape == (40, 2)
    assert two_sample_test(X[:25], X[25:], k, rng=0).pvalue < 0.05


def test_saving(X, tmp_path):
    chain = DiscreteHMM.fit(["abab", "bb"], 2)
    y = [0.0, 1.0, 2.0]
    model = KernelRidge(kernel=Fisher(chain)).fit(["ab", "b", "a"], y)
    save(model, tmp_path / "m")
    assert load(tmp_path / "m").predict(["ba"]) == pytest.approx(model.predict(["ba"]))
    k = Fisher(NormalMixture([1.0], [[1.0]], [[[4.0]]]), "identity")
    assert parse(repr(k)) == k
    for refused in (
        Fisher(lambda Z: Z),
        Fisher(BayesianGaussianMixture(n_components=2, random_state=0).fit(X)),
    ):
        with pytest.raises(ValueError, match="cannot save"):
            save(refused, tmp_path / "k")


def test_a_column_of_a_table(X):
    chain = DiscreteHMM.fit(["abab", "bb"], 2)
    table = pd.DataFrame({"text": ["ab", "bba", "a", "aaab"], "x": [1.0, 2.0, 3.0, 4.0]})
    k = Fisher(chain, "identity").on("text") + Linear().on("x")
    wanted = Fisher(chain, "identity")(table["text"].tolist()) + np.outer(table.x, table.x)
    assert k(table) == pytest.approx(wanted)


def test_bad_input(X):
    model = GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="model must be a fitted model"):
        Fisher(GaussianMixture(2))
    with pytest.raises(ValueError, match="information must be"):
        Fisher(model, "exact")
    with pytest.raises(ValueError, match="parts has 'variances'"):
        Fisher(model, "identity", ["variances"])(X)
    with pytest.raises(ValueError, match="information has shape"):
        Fisher(model, [1.0, 2.0])(X)
    with pytest.raises(UnresolvedError, match="diagonal"):
        Fisher(model)(X[:3], X)
    with pytest.raises(DomainError, match="features"):
        Fisher(model)(X[:, :1])
    with pytest.raises(ValueError, match="5001"):
        Fisher(lambda Z: np.zeros((len(Z), 5001)), "empirical").resolve(X)
