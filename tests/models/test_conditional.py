"""Conditional mean embeddings against ridge regression, retrained models and explicit features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    Categorical,
    ConditionalEmbedding,
    Gaussian,
    KernelRidge,
    Laplacian,
    Linear,
    Plan,
    Polynomial,
    RKHSFunction,
    Spectrum,
    distance_of_means,
    load,
    save,
)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")  # indefinite K
@parametrize_with_checks(
    [
        ConditionalEmbedding(alpha=1.0),
        ConditionalEmbedding(Gaussian(), Gaussian(), alpha=1.0),
        ConditionalEmbedding("linear", "linear"),
        ConditionalEmbedding("precomputed", alpha=0.5),
    ],
    expected_failed_checks=lambda model: {
        f"check_sample_weight_equivalence_on_{kind}_data": "the median, and leave-one-out, change"
        for kind in ("dense", "sparse")
        if model.kernel_x is None or model.alpha == "auto"
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.uniform(-2, 2, (80, 2))
    y = np.sin(X[:, 0]) + rng.normal(0, 0.3, 80)
    return X, y, rng.uniform(0.1, 2, 80)


@pytest.mark.parametrize("kernel", [Gaussian(), Polynomial(2), "rbf"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", ["auto", "tiled"])
def test_expectations_are_ridge_regressions(data, kernel, weighted, storage):
    X, y, w = data
    w = w if weighted else None
    model = ConditionalEmbedding(kernel, alpha=0.3, plan=Plan(storage=storage)).fit(X, y, w)
    new = X[:9] + 0.1
    for g in (lambda y: y, np.square, np.cos):
        ridge = KernelRidge(alpha=0.3, kernel=kernel).fit(X, g(y), w)
        assert model.expect(g, new) == pytest.approx(ridge.predict(new), abs=1e-6)
    both = model.expect(lambda y: np.column_stack([y, y**2]), new)
    assert both == pytest.approx(np.column_stack([model.predict(new), model.expect(y**2, new)]))
    assert model.expect(lambda y: y, new) == pytest.approx(model.predict(new))


def test_samples_of_weight_zero_do_not_count(data):
    X, y, w = data
    w[:20] = 0
    model = ConditionalEmbedding(Gaussian(), Gaussian(), alpha=0.3).fit(X, y, w)
    without = ConditionalEmbedding(Gaussian(), Gaussian(), alpha=0.3).fit(X[20:], y[20:], w[20:])
    assert model.predict(X) == pytest.approx(without.predict(X), abs=1e-9)
    assert model.weights(X)[:20] == pytest.approx(0)


def brute_loo(model, X, Y, alpha, weights=None):
    """||l(y_i, .) - mu(x_i)||^2 with mu from all other samples, one by one."""
    K, L, n = model.kernel_x_(X), model.kernel_y_(Y), len(X)
    errors = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        noise = alpha * (np.ones(n - 1) if weights is None else 1 / weights[rest])
        beta = np.linalg.solve(K[np.ix_(rest, rest)] + np.diag(noise), K[rest, i])
        inner = L[i, i] - 2 * beta @ L[rest, i] + beta @ L[np.ix_(rest, rest)] @ beta
        errors.append(inner)
    return np.average(errors, weights=weights)


@pytest.mark.parametrize("kernel_y", [Gaussian("median"), Laplacian(), Linear()])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_that_of_retrained_models(data, kernel_y, weighted):
    X, y, w = data
    X, y, w = X[:30], y[:30], w[:30] if weighted else None
    alphas = [0.01, 0.3, 5.0]
    model = ConditionalEmbedding(Gaussian("median"), kernel_y, alpha=alphas).fit(X, y, w)
    wanted = [brute_loo(model, X, y, alpha, w) for alpha in alphas]
    assert model.loo_ == pytest.approx(wanted, rel=1e-6)
    assert model.alpha_ == alphas[int(np.argmin(wanted))]


def test_linear_outputs_choose_as_ridge_does(data):
    from mercer import ridge_path

    X, y, _ = data
    alphas = np.logspace(-4, 2, 13)
    model = ConditionalEmbedding(Gaussian(), Linear(), alpha=alphas).fit(X, y)
    path = ridge_path(Gaussian(), X, y, alphas)
    assert model.loo_ == pytest.approx(path.loo, rel=1e-8)
    assert model.alpha_ == path.best_alpha


def test_auto_alpha_is_inside_its_range(data):
    X, y, _ = data
    model = ConditionalEmbedding().fit(X, y)
    assert model.alphas_[0] < model.alpha_ < model.alphas_[-1]
    assert model.loo_.min() == model.loo_[model.alphas_ == model.alpha_]


def test_embeddings_are_functions_of_y(data):
    X, y, _ = data
    model = ConditionalEmbedding(Gaussian(), Gaussian(0.5), alpha=0.2).fit(X, y)
    new = X[:4] + 0.05
    mu = model.embedding(new)
    f = RKHSFunction(Gaussian(0.5), np.array([0.2, -0.7]), [1.0, -2.0])
    products = [mu[t] @ f for t in range(4)]
    assert products == pytest.approx(model.expect(f, new))  # <mu, f> = E[f(Y) | x]
    beta = np.linalg.solve(Gaussian()(X) + 0.2 * np.eye(80), Gaussian()(X, new))
    assert mu.coef == pytest.approx(beta)


def test_distances_are_those_of_the_functions(data):
    X, y, _ = data
    model = ConditionalEmbedding(Gaussian(), Gaussian(0.5), alpha=0.2).fit(X, y)
    a, b = X[:3] + 0.1, X[5:9] - 0.1
    mu, nu = model.embedding(a), model.embedding(b)
    wanted = [[(mu[s] - nu[t]).norm() for t in range(4)] for s in range(3)]
    assert model.distance(a, b) == pytest.approx(np.array(wanted), abs=1e-9)
    own = model.distance(a)
    assert np.array_equal(np.diagonal(own), np.zeros(3))
    assert own == pytest.approx(model.distance(a, a), abs=1e-6)


def test_distance_finds_the_conditional_mmd(rng):
    """Two values of x, many samples at each: the distance is that between the two samples."""
    x = np.repeat([0.0, 1.0], 200)
    y = rng.normal(x, 1 + x)
    model = ConditionalEmbedding(Categorical(), Gaussian(), alpha=1e-6).fit(x[:, None], y)
    wanted = distance_of_means(Gaussian(), y[:200], y[200:])
    assert model.distance([[0.0]], [[1.0]])[0, 0] == pytest.approx(wanted, rel=1e-4)


def test_probabilities_of_labels(rng):
    x = rng.uniform(-1, 1, 600)
    labels = np.where(rng.random(600) < (x + 1) / 2, "yes", "no").tolist()
    model = ConditionalEmbedding(Gaussian(), Categorical()).fit(x[:, None], labels)
    chance = model.expect(lambda Y: [y == "yes" for y in Y], [[-0.5], [0.0], [0.5]])
    assert chance == pytest.approx([0.25, 0.5, 0.75], abs=0.1)
    assert model.predict([[-0.9], [0.9]]) == ["no", "yes"]
    assert model.dual_coef_ is None
    numbers = np.array([1, 0])[np.array([label == "no" for label in labels], dtype=int)]
    model.fit(x[:, None], numbers)
    assert model.predict([[-0.9], [0.9]]).tolist() == [0, 1]  # labels, not their mean


def test_outputs_in_a_table(rng):
    table = pd.DataFrame({"v": rng.normal(size=30), "s": rng.choice(["p", "q"], 30)})
    X = np.where(table["s"] == "p", 0.0, 1.0)[:, None]
    kernel = Gaussian().on("v") * Categorical().on("s")
    model = ConditionalEmbedding(Gaussian(0.2), kernel, alpha=0.1).fit(X, table)
    assert model.predict([[0.0], [1.0]])["s"].tolist() == ["p", "q"]
    means = table["v"].groupby(table["s"]).mean()
    assert model.expect(lambda T: T["v"], [[0.0], [1.0]]) == pytest.approx(means, abs=0.02)


def test_outputs_that_are_strings():
    X = np.repeat([[0.0], [1.0]], 10, axis=0)
    Y = ["aaaa", "aaab"] * 5 + ["bbbb", "bbba"] * 5
    model = ConditionalEmbedding(Gaussian(0.3), Spectrum(2), alpha=0.1).fit(X, Y)
    first, second = model.representatives([[0.0], [1.0]], size=4)
    assert set(first) == {"aaaa", "aaab"}
    assert set(second) == {"bbbb", "bbba"}
    assert all(y[:2] == "aa" for y in model.predict([[0.0]]))


def test_the_first_representative_is_nearest(data):
    X, y, _ = data
    model = ConditionalEmbedding(Gaussian(), Polynomial(2), alpha=0.2).fit(X, y)
    mu = model.embedding(X[:1])[0]
    k = Polynomial(2)
    distances = [(mu - k.at(value)).norm() for value in y]
    assert model.representatives(X[:1])[0] == [y[int(np.argmin(distances))]]


def test_two_modes_are_represented(rng):
    x = rng.uniform(-1, 1, 400)
    y = np.sign(rng.normal(size=400)) * (1 + x) + 0.05 * rng.normal(size=400)
    model = ConditionalEmbedding().fit(x[:, None], y)
    ten = model.representatives([[0.5]], size=10)[0]
    assert 3 <= np.sum(ten > 0) <= 7
    assert np.median(np.abs(ten)) == pytest.approx(1.5, abs=0.3)


def test_any_inputs_and_callables():
    words = ["aab", "aba", "bba", "bbb", "abb", "aaa"]
    y = np.array([w.count("a") for w in words], dtype=float)
    by_name = ConditionalEmbedding(Spectrum(1), alpha=1e-6).fit(words, y)
    assert by_name.predict(["aabb", "a"]) == pytest.approx([2, 1], abs=1e-3)
    ours = ConditionalEmbedding(lambda a, b: float(a @ b), lambda a, b: a * b, alpha=1.0)
    X = np.arange(12.0).reshape(6, 2)
    assert ours.fit(X, list(y)).expect(y, X) == pytest.approx(
        KernelRidge(alpha=1.0).fit(X, y).predict(X)
    )


def test_search_clone_and_files(data, tmp_path):
    X, y, w = data
    search = GridSearchCV(
        ConditionalEmbedding(Gaussian(), alpha=0.1), {"kernel_x__lengthscale": [0.01, 1.0]}
    )
    assert search.fit(X, y).best_params_ == {"kernel_x__lengthscale": 1.0}
    model = clone(search.best_estimator_).fit(X, y, w)
    save(model, tmp_path / "model.mercer")
    back = load(tmp_path / "model.mercer")
    assert back.predict(X) == pytest.approx(model.predict(X), rel=1e-12)
    assert back.expect(np.square, X) == pytest.approx(model.expect(np.square, X))
    assert back.distance(X[:3]) == pytest.approx(model.distance(X[:3]), abs=1e-7)


def test_bad_input(data):
    X, y, _ = data
    for alpha in (0.0, -1.0, np.nan, [1.0, 0.0]):
        with pytest.raises(ValueError, match="alpha must be positive"):
            ConditionalEmbedding(alpha=alpha).fit(X, y)
    with pytest.raises(ValueError, match='"auto" or numbers'):
        ConditionalEmbedding(alpha="best").fit(X, y)
    with pytest.raises(ValueError, match="sample_weight must be >= 0"):
        ConditionalEmbedding(alpha=1.0).fit(X, y, -np.ones(80))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        ConditionalEmbedding(alpha=1.0, kernel_y=Categorical()).fit(X, list(y[:5]))
    model = ConditionalEmbedding(alpha=1.0).fit(X, y)
    with pytest.raises(ValueError, match="one number per training output"):
        model.expect(y[:7], X)
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.expect(np.full(80, np.nan), X)
    for size in (0, 81, 1.5):
        with pytest.raises(ValueError, match="size must be an integer from 1 to 80"):
            model.representatives(X, size)
