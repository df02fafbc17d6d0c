import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, ShuffleSplit

from mercer import Gaussian, KernelRidge, KernelRidgeCV, Laplacian, Spectrum


@pytest.fixture
def data(rng):
    X = rng.standard_normal((90, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(90)


ALPHAS = np.logspace(-4, 2, 7)


@pytest.mark.parametrize("cv", [KFold(5), RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)])
@pytest.mark.parametrize("scoring", ["neg_mean_squared_error", "r2", "neg_median_absolute_error"])
def test_scores_equal_grid_search(data, cv, scoring):
    X, y = data
    if scoring == "neg_median_absolute_error":
        pytest.importorskip("sklearn", minversion="1.6")
    grid = {"gamma": [0.1, 1.0]}
    ours = KernelRidgeCV(ALPHAS, kernel="rbf", param_grid=grid, cv=cv, scoring=scoring).fit(X, y)
    theirs = GridSearchCV(
        SklearnKernelRidge(kernel="rbf"), {**grid, "alpha": ALPHAS}, cv=cv, scoring=scoring
    ).fit(X, y)
    expected = {
        (p["gamma"], p["alpha"]): s
        for p, s in zip(
            theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True
        )
    }
    for p, s in zip(ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True):
        assert s == pytest.approx(expected[p["gamma"], p["alpha"]], abs=1e-8)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-7)


def test_leave_one_out_by_default(data):
    X, y = data
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian()).fit(X, y)
    single = KernelRidge(model.alpha_, kernel=Gaussian()).fit(X, y)
    assert model.best_score_ == pytest.approx(-np.mean((y - single.leave_one_out()) ** 2))


def test_multi_output_and_weights(data, rng):
    X, y = data
    Y, w = np.column_stack([y, y**2]), rng.uniform(0.1, 2, len(y))
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian(), cv=4).fit(X, Y, w)
    assert model.predict(X).shape == Y.shape
    F = np.empty_like(Y)
    for train, test in KFold(4).split(X):
        part = KernelRidge(model.alpha_, kernel=Gaussian()).fit(X[train], Y[train], w[train])
        F[test] = part.predict(X[test])
    folds = [
        -np.average((Y[t] - F[t]) ** 2, axis=0, weights=w[t]).mean() for _, t in KFold(4).split(X)
    ]
    assert model.best_score_ == pytest.approx(np.mean(folds), abs=1e-9)


def test_chooses_between_kernels_and_their_parameters(data):
    X, y = data
    grid = [
        {"kernel": [Gaussian()], "kernel__lengthscale": [0.01, 1.0]},
        {"kernel": [Laplacian(0.001)]},
    ]
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian(), param_grid=grid).fit(X, y)
    assert model.kernel_ == Gaussian(1.0)
    assert len(model.cv_results_["params"]) == 3 * len(ALPHAS)


def test_strings():
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 3
    y = [float(t.count("ab")) for t in texts]
    model = KernelRidgeCV(kernel=Spectrum(1), param_grid={"kernel__k": [1, 2, 3]}).fit(texts, y)
    assert model.kernel_ == Spectrum(2)


def test_refuses_what_the_closed_form_cannot_do(data):
    X, y = data
    with pytest.raises(ValueError, match="use GridSearchCV"):
        KernelRidgeCV(cv=ShuffleSplit(3, test_size=0.2, train_size=0.3)).fit(X, y)
    with pytest.raises(ValueError, match="alphas must be positive"):
        KernelRidgeCV(alphas=[0.0, 1.0]).fit(X, y)
