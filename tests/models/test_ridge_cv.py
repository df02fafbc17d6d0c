import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.metrics import make_scorer, max_error, mean_pinball_loss, mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    train_test_split,
)

from mercer import Gaussian, KernelRidge, KernelRidgeCV, Laplacian, Linear, Spectrum


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


SCORERS = [
    make_scorer(max_error, greater_is_better=False),
    "neg_mean_absolute_percentage_error",
    "d2_absolute_error_score",
    make_scorer(lambda y, f: -np.abs(y - f).max()),
    make_scorer(mean_pinball_loss, alpha=0.9, greater_is_better=False),
    lambda model, X, y: -np.mean((model.predict(X) - y) ** 4),
]


@pytest.mark.parametrize("scoring", SCORERS)
def test_any_scorer(data, scoring):
    X, y = data
    ours = KernelRidgeCV(ALPHAS, kernel=Gaussian(), cv=4, scoring=scoring).fit(X, y)
    grid = GridSearchCV(KernelRidge(kernel=Gaussian()), {"alpha": ALPHAS}, cv=4, scoring=scoring)
    theirs = grid.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], theirs, rtol=1e-6)


@pytest.mark.parametrize("cv", [GroupKFold(5), LeaveOneGroupOut(), "list", "iterator"])
def test_groups_and_lists_of_splits(data, cv):
    X, y = data
    groups = np.repeat(np.arange(9), 10)
    if isinstance(cv, str):
        splits = list(GroupKFold(5).split(X, y, groups))
        ours = KernelRidgeCV(ALPHAS, kernel=Gaussian(), cv=splits if cv == "list" else iter(splits))
        ours.fit(X, y)
        cv = splits
    else:
        ours = KernelRidgeCV(ALPHAS, kernel=Gaussian(), cv=cv).fit(X, y, groups=groups)
    grid = GridSearchCV(KernelRidge(kernel=Gaussian()), {"alpha": ALPHAS}, cv=cv,
                        scoring="neg_mean_squared_error").fit(X, y, groups=groups)  # fmt: skip
    expected = grid.cv_results_["mean_test_score"]
    np.testing.assert_allclose(ours.cv_results_["mean_test_score"], expected, rtol=1e-6)


def test_a_group_is_never_in_the_training_and_the_test_part(data):
    X, y = data
    groups = np.repeat(np.arange(9), 10)
    model = KernelRidgeCV(kernel=Gaussian(), cv=GroupKFold(3), test_size=0.3, random_state=0)
    inside, outside = model._parts(90, groups)
    assert not set(groups[inside]) & set(groups[outside])
    assert np.isfinite(model.fit(X, y, groups=groups).test_score_)
    with pytest.raises(ValueError, match="groups"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, groups=groups[:-1])


@pytest.mark.filterwarnings("ignore:R")
def test_splits_and_scores_that_cannot_be(data):
    X, y = data
    splits = list(KFold(3).split(X))
    with pytest.raises(ValueError, match="test_size=0 or a splitter"):
        KernelRidgeCV(kernel=Gaussian(), cv=splits, test_size=0.2).fit(X, y)
    with pytest.raises(ValueError, match="does not accept sample_weight"):
        KernelRidgeCV(kernel=Gaussian(), scoring=SCORERS[0]).fit(X, y, np.linspace(1, 2, 90))
    with pytest.raises(ValueError, match="all scores are NaN"):
        KernelRidgeCV(kernel=Gaussian(), scoring="r2", cv=LeaveOneOut()).fit(X, y)
    overlapping = [(np.arange(80), np.arange(5, 15))]
    with pytest.raises(ValueError, match="must train on all samples outside"):
        KernelRidgeCV(kernel=Gaussian(), cv=overlapping).fit(X, y)


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
    with pytest.raises(ValueError, match="test_size must be >= 0 and < 1"):
        KernelRidgeCV(test_size=1.0).fit(X, y)
    with pytest.raises(ValueError, match="param_grid must be a dict"):
        KernelRidgeCV(param_grid="all").fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_algorithm_1(data, rng, weighted):
    """Cross-validation on one part, a test on the other, a fit on everything."""
    X, y = data
    w = rng.uniform(0.5, 2, len(y)) if weighted else None
    grid = {"kernel__lengthscale": [0.3, 1.0, 3.0]}
    cv = KFold(5, shuffle=True, random_state=0)
    model = KernelRidgeCV(
        ALPHAS, kernel=Gaussian(), param_grid=grid, cv=cv, test_size=0.3, random_state=1
    ).fit(X, y, w)
    inside, outside = train_test_split(np.arange(len(y)), test_size=0.3, random_state=1)
    inside, outside = np.sort(inside), np.sort(outside)
    if not weighted:
        by_hand = GridSearchCV(
            KernelRidge(kernel=Gaussian()), grid | {"alpha": ALPHAS}, cv=cv,
            scoring="neg_mean_squared_error",
        ).fit(X[inside], y[inside])  # fmt: skip
        assert model.best_params_ == by_hand.best_params_
        assert model.best_score_ == pytest.approx(by_hand.best_score_)
    kernel = Gaussian(model.best_params_["kernel__lengthscale"])
    best = KernelRidge(model.alpha_, kernel=kernel)
    part = best.fit(X[inside], y[inside], None if w is None else w[inside])
    error = mean_squared_error(
        y[outside], part.predict(X[outside]), sample_weight=None if w is None else w[outside]
    )
    assert model.test_score_ == pytest.approx(-error)
    np.testing.assert_allclose(model.predict(X), best.fit(X, y, w).predict(X))
    assert np.isnan(KernelRidgeCV(ALPHAS, kernel=kernel).fit(X, y).test_score_)


def test_a_test_part_of_strings_and_of_matrices(data):
    texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 3
    y = [float(t.count("ab")) for t in texts]
    grid = {"kernel__k": [1, 2, 3]}
    model = KernelRidgeCV(kernel=Spectrum(1), param_grid=grid, test_size=0.25, random_state=0)
    assert model.fit(texts, y).test_score_ > -0.1
    X, y = data
    options = {"alphas": ALPHAS, "cv": 3, "test_size": 0.2, "random_state": 0}
    known = KernelRidgeCV(kernel=Gaussian(), **options).fit(X, y)
    given = KernelRidgeCV(kernel="precomputed", **options).fit(Gaussian()(X), y)
    assert given.test_score_ == pytest.approx(known.test_score_)
    assert given.best_score_ == pytest.approx(known.best_score_)


def test_lengthscales_are_tried_around_the_one_given(data):
    X, y = data
    model = KernelRidgeCV(ALPHAS, kernel=Gaussian(1.6), param_grid="auto").fit(X, y)
    tried = sorted({p["kernel__lengthscale"] for p in model.cv_results_["params"]})
    np.testing.assert_allclose(tried, 1.6 * 2.0 ** np.arange(-3, 4))
    both = KernelRidgeCV(ALPHAS, kernel=Gaussian("median") + Laplacian(), param_grid="auto")
    both.fit(X, y)
    assert len(both.cv_results_["params"]) == 7 * len(ALPHAS)
    first = both.cv_results_["params"][0]
    assert first["kernel__right__lengthscale"] == pytest.approx(1 / 8)
    for name, kernel in (("rbf", Gaussian), ("laplacian", Laplacian)):
        named = KernelRidgeCV(ALPHAS, kernel=name, gamma=0.7, param_grid="auto").fit(X, y)
        scales = sorted(
            kernel.from_gamma(p["gamma"]).lengthscale for p in named.cv_results_["params"]
        )
        assert scales[0] == pytest.approx(kernel.from_gamma(0.7).lengthscale / 8)
        assert scales[-1] == pytest.approx(kernel.from_gamma(0.7).lengthscale * 8)
    with pytest.raises(ValueError, match="needs a kernel with a lengthscale"):
        KernelRidgeCV(kernel=Linear(), param_grid="auto").fit(X, y)
