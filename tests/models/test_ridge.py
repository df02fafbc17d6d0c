import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import Gaussian, KernelRidge, KernelRidgeCV, Linear, Plan, Spectrum
from mercer.exceptions import DomainError


@pytest.mark.filterwarnings("ignore::mercer.exceptions.NumericalWarning")  # indefinite K
@parametrize_with_checks(
    [
        KernelRidge(),
        KernelRidge(kernel="rbf"),
        KernelRidge(kernel=Gaussian() + Linear()),
        KernelRidge(kernel="precomputed"),
        KernelRidgeCV(),
        KernelRidgeCV(kernel=Gaussian(2.0), cv=3),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.standard_normal((150, 4))
    y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
    return X, y, rng.uniform(0, 2, 150)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "linear"},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.7},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": "laplacian"},
        {"kernel": "cosine"},
    ],
    ids=str,
)
def test_drop_in_for_scikit_learn(data, options, targets, weighted):
    X, y, weights = data
    Y = y if targets == 1 else np.column_stack([y, -3 * y + 1])
    w = weights if weighted else None
    ours = KernelRidge(alpha=0.4, **options).fit(X, Y, w)
    theirs = SklearnKernelRidge(alpha=0.4, **options).fit(X, Y, w)
    assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X[:7]), theirs.predict(X[:7]), atol=1e-9)


def test_precomputed_functions_and_chi2(data):
    X, y, _ = data
    K = Gaussian()(X)
    expected = KernelRidge(kernel=Gaussian()).fit(X, y).predict(X[:5])
    precomputed = KernelRidge(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(precomputed.predict(K[:5]), expected, atol=1e-10)

    def gaussian(a, b, width):
        return np.exp(-((a - b) ** 2).sum() / width)

    by_hand = KernelRidge(kernel=gaussian, kernel_params={"width": 2.0}).fit(X, y)
    np.testing.assert_allclose(by_hand.predict(X[:5]), expected, atol=1e-10)
    P = np.abs(X)
    ours = KernelRidge(kernel="chi2", gamma=0.5).fit(P, y).predict(P)
    theirs = SklearnKernelRidge(kernel="chi2", gamma=0.5).fit(P, y).predict(P)
    np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_one_alpha_per_target(data):
    X, y, _ = data
    Y = np.column_stack([y, y])
    both = KernelRidge(alpha=[0.1, 10], kernel=Gaussian()).fit(X, Y)
    one = KernelRidge(alpha=10, kernel=Gaussian()).fit(X, y)
    np.testing.assert_allclose(both.dual_coef_[:, 1], one.dual_coef_)


@pytest.mark.parametrize("storage", ["dense", "tiled"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plans_and_precisions_agree(data, storage, dtype):
    X, y, _ = data
    exact = KernelRidge(alpha=0.5, kernel=Gaussian()).fit(X, y).predict(X)
    model = KernelRidge(alpha=0.5, kernel=Gaussian(), plan=Plan(storage=storage))
    model.fit(X.astype(dtype), y)
    tol = 1e-5 if dtype == np.float32 else 1e-7
    np.testing.assert_allclose(model.predict(X.astype(dtype)), exact, atol=tol)


def test_sparse_equals_dense(data):
    X, y, _ = data
    X = np.where(np.abs(X) > 1, X, 0)
    for kernel in (Gaussian(), Linear(), "rbf"):
        dense = KernelRidge(kernel=kernel).fit(X, y).predict(X)
        sparse = KernelRidge(kernel=kernel).fit(sp.csr_matrix(X), y).predict(sp.csc_matrix(X))
        np.testing.assert_allclose(sparse, dense, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_equals_refitting(data, weighted):
    X, y, weights = data
    weights = weights + 0.1 if weighted else None
    model = KernelRidge(alpha=0.2, kernel=Gaussian()).fit(X, y, weights)
    loo = model.leave_one_out()
    for i in (0, 50, 149):
        keep = np.arange(len(X)) != i
        w = None if weights is None else weights[keep]
        refit = clone(model).fit(X[keep], y[keep], w)
        assert loo[i] == pytest.approx(refit.predict(X[[i]])[0], abs=1e-8)


def test_posterior_variance_is_that_of_a_gaussian_process(data):
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF

    X, y, _ = data
    ours = KernelRidge(alpha=0.2, kernel=Gaussian(1.5)).fit(X, y)
    gp = GaussianProcessRegressor(RBF(1.5), alpha=0.2, optimizer=None).fit(X, y)
    mean, std = gp.predict(X[:9] + 0.3, return_std=True)
    np.testing.assert_allclose(ours.predict(X[:9] + 0.3), mean, atol=1e-9)
    np.testing.assert_allclose(ours.posterior_variance(X[:9] + 0.3), std**2, atol=1e-9)


def test_fitted_function(data):
    X, y, _ = data
    model = KernelRidge(alpha=0.3, kernel=Gaussian()).fit(X, y)
    f = model.rkhs_function_
    np.testing.assert_allclose(f(X[:4]), model.predict(X[:4]))
    assert f.norm() ** 2 == pytest.approx(model.dual_coef_ @ Gaussian()(X) @ model.dual_coef_)


def test_strings_tables_and_grid_search():
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 4
    y = np.array([t.count("ab") for t in texts], dtype=float)
    search = GridSearchCV(KernelRidge(kernel=Spectrum(1)), {"kernel__k": [1, 2, 3]}, cv=4)
    search.fit(texts, y)
    assert search.best_params_ == {"kernel__k": 2}
    assert len(set(search.cv_results_["mean_test_score"].round(6))) == 3
    frame = pd.DataFrame({"text": texts, "size": np.arange(len(texts)) / 10.0})
    kernel = Gaussian().on("size") * Spectrum(2).normalize().on("text") + Spectrum(2).on("text")
    model = KernelRidge(alpha=1e-3, kernel=kernel).fit(frame, y)
    assert model.score(frame, y) > 0.99
    assert model.predict(frame.iloc[[3]]).shape == (1,)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["size", "text"]].rename(columns={"size": "length"}))


def test_grid_search_over_parts_of_a_sum_changes_scores(data):
    X, y, _ = data
    search = GridSearchCV(
        KernelRidge(alpha=0.1, kernel=Gaussian() + Linear()),
        {"kernel__left__lengthscale": [0.1, 1.0, 10.0]},
    ).fit(X, y)
    assert len(np.unique(search.cv_results_["mean_test_score"])) == 3


def test_in_a_pipeline(data):
    X, y, _ = data
    model = make_pipeline(StandardScaler(), KernelRidge(0.01, kernel=Gaussian("median")))
    assert model.fit(X, y).score(X, y) > 0.9


def test_our_kernels_in_scikit_learns_svc(data):
    X, y, _ = data
    labels = y > 0
    ours = SVC(kernel=Gaussian.from_gamma(0.3)).fit(X, labels)
    theirs = SVC(kernel="rbf", gamma=0.3).fit(X, labels)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"alpha": -1}, "alpha must be >= 0"),
            ({"alpha": [1, 2, 3]}, "one per target"),
            ({"alpha": np.nan}, "alpha must be >= 0 and finite"),
            ({"kernel": "gauss"}, "kernel must be a mercer kernel"),
            ({"solver": "magic"}, "solver must be one of"),
            ({"kernel": "poly", "coef0": -1}, "offset must be a finite number >= 0"),
        ],
    )
    def test_parameters(self, data, options, message):
        X, y, _ = data
        with pytest.raises(ValueError, match=message):
            KernelRidge(**options).fit(X, y)

    def test_data(self, data):
        X, y, _ = data
        model = KernelRidge(kernel=Gaussian())
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples|Found input"):
            model.fit(X, y[:-1])
        with pytest.raises(ValueError, match="sample_weight must be >= 0"):
            model.fit(X, y, -np.ones(len(X)))
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full_like(X, np.nan), y)
        with pytest.raises(ValueError, match="NaN"):
            model.fit(X, np.full_like(y, np.nan))
        with pytest.raises(ValueError, match="0 sample"):
            model.fit(X[:0], y[:0])
        with pytest.raises(DomainError, match="works on vectors"):
            model.fit(["a", "b"], [1.0, 2.0])
        with pytest.raises(ValueError, match="features"):
            model.fit(X, y).predict(X[:, :2])
        with pytest.raises(ValueError, match="no samples"):
            KernelRidge(kernel=Spectrum(2)).fit([], [])
