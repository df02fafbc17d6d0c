import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.special import log_softmax

from mercer import (
    LSSVC,
    LSSVR,
    SVC,
    SVR,
    Custom,
    Gaussian,
    GaussianProcessClassifier,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelRidge,
    KernelRidgeCV,
    Linear,
    Matern,
    MultiOutputKernelRidge,
    Plan,
    Spectrum,
    ridge_path,
)
from mercer.exceptions import BoundWarning, MemoryPlanError
from mercer.search.outcome import ends
from mercer.tuning import tune


def wave(rng, n=120):
    X = np.sort(rng.uniform(0, 6, n))[:, None]
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("by", ["marginal_likelihood", "loo", "gcv", "validation"])
def test_a_bad_start_becomes_a_good_model(rng, by):
    X, y = wave(rng)
    start = KernelRidge(alpha=10.0, kernel=Gaussian(20.0))
    restarts = 4 if by == "validation" else 0  # from here its gradient leads to a poor minimum
    model = tune(start, X, y, by=by, n_restarts=restarts, random_state=0)
    new = np.linspace(0.2, 5.8, 200)[:, None]
    error = np.sqrt(np.mean((model.predict(new) - np.sin(2 * new[:, 0])) ** 2))
    assert error < 0.06
    assert model.tuning_.converged
    assert start.alpha == 10.0
    assert start.kernel == Gaussian(20.0)


def test_leave_one_out_is_stationary_and_no_grid_point_is_better(rng):
    X, y = wave(rng)
    model = tune(KernelRidge(alpha=1.0, kernel=Gaussian()), X, y, by="loo")
    assert np.mean((model.leave_one_out() - y) ** 2) == pytest.approx(model.tuning_.value)
    for alpha in np.geomspace(1e-3, 10, 15):
        for lengthscale in np.geomspace(0.1, 5, 15):
            other = KernelRidge(alpha=alpha, kernel=Gaussian(lengthscale)).fit(X, y)
            value = np.mean((other.leave_one_out() - y) ** 2)
            assert value > model.tuning_.value * (1 - 1e-6)


def test_fixed_parameters_stay(rng):
    X, y = wave(rng)
    start = KernelRidge(alpha=0.3, kernel=Gaussian(2.0))
    held = tune(start, X, y, by="loo", fixed=("alpha",))
    assert held.alpha == pytest.approx(0.3)
    assert held.kernel.lengthscale != 2.0
    held = tune(start, X, y, by="loo", fixed=("kernel__lengthscale",))
    assert held.kernel.lengthscale == pytest.approx(2.0)
    with pytest.raises(ValueError, match="lengthscale, alpha"):
        tune(start, X, y, fixed=("gamma",))
    with pytest.raises(ValueError, match="all are fixed"):
        tune(start, X, y, fixed=("alpha", "kernel__lengthscale"))


def test_weights_of_a_sum_tell_useful_columns_from_noise(rng):
    X = rng.standard_normal((150, 3))
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.standard_normal(150)
    parts = [Gaussian().on(j) for j in range(3)]
    kernel = 1.0 * parts[0] + 1.0 * parts[1] + 1.0 * parts[2]
    model = tune(KernelRidge(alpha=0.1, kernel=kernel), X, y)
    weights = [h.value for h in model.kernel.hyperparameters() if h.name.endswith("value")]
    assert weights[0] > 50 * max(weights[1:])


def test_columns_and_strings_are_combined(rng):
    words = ["".join(rng.choice(list("ab"), 8)) for _ in range(90)]
    numbers = rng.standard_normal(90)
    pairs = [sum(w[i : i + 2] == "aa" for i in range(7)) for w in words]
    y = np.array(pairs) + 0.05 * rng.standard_normal(90)
    kernel = 1.0 * Spectrum(2).on(0) + 1.0 * Gaussian().on(1)
    model = tune(KernelRidge(alpha=0.1, kernel=kernel), list(zip(words, numbers, strict=True)), y)
    # only the word matters
    predicted = model.predict([(w, -v) for w, v in zip(words, numbers, strict=True)])
    assert np.corrcoef(predicted, y)[0, 1] > 0.99


def test_weights_of_samples_are_like_repetitions(rng):
    X, y = wave(rng, 40)
    repeat = rng.integers(1, 3, 40)
    start = KernelRidge(alpha=0.5, kernel=Gaussian(0.7))
    one = tune(start, X, y, by="gcv", fixed=("kernel__lengthscale",), sample_weight=np.ones(40))
    two = tune(start, X, y, by="gcv", fixed=("kernel__lengthscale",))
    assert one.alpha == pytest.approx(two.alpha)
    weighted = tune(start, X, y, by="loo", sample_weight=repeat.astype(float))
    assert weighted.tuning_.converged


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("by", ["loo", "gcv"])
def test_errors_are_weighted_whatever_their_unit(rng, by, unit):
    X, y = wave(rng, 60)
    w = np.where(X[:, 0] < np.median(X[:, 0]), 20.0, 0.05)
    y = unit * (y + np.where(w > 1, 0.02, 1.0) * rng.standard_normal(60))
    start = KernelRidge(alpha=0.5, kernel=Gaussian(0.7))
    found = tune(start, X, y, by=by, fixed=("kernel__lengthscale",), sample_weight=w)
    alphas = np.geomspace(0.2, 5, 401) * found.alpha
    path = ridge_path(Gaussian(0.7), X, y, alphas, sample_weight=w)
    assert alphas[np.argmin(getattr(path, by))] == pytest.approx(found.alpha, rel=0.02)
    assert found.tuning_.value == pytest.approx(getattr(path, by).min(), rel=1e-3)
    unweighted = ridge_path(Gaussian(0.7), X, y, alphas)  # has its minimum elsewhere
    assert not 0.5 < alphas[np.argmin(getattr(unweighted, by))] / found.alpha < 2


def test_errors_held_out_are_weighted(rng):
    X, y = wave(rng, 60)
    w = rng.uniform(0.1, 10, 60)
    start = KernelRidge(alpha=0.5, kernel=Gaussian(0.7))
    options = {"fixed": ("kernel__lengthscale",), "sample_weight": w, "random_state": 3}
    found = tune(start, X, y, by="validation", **options)
    order = np.random.RandomState(3).permutation(60)
    train, test = order[:42], order[42:]
    model = KernelRidge(found.alpha, kernel=Gaussian(0.7)).fit(X[train], y[train], w[train])
    error = np.average((y[test] - model.predict(X[test])) ** 2, weights=w[test])
    assert found.tuning_.value == pytest.approx(error, rel=1e-8)


@pytest.mark.parametrize("by", ["marginal_likelihood", "loo", "gcv", "validation"])
def test_samples_of_weight_zero_are_absent(rng, by):
    X, y = wave(rng, 60)
    w = rng.uniform(0.5, 2, 60)
    w[rng.permutation(60)[:15]] = 0
    on = w > 0
    models = [KernelRidge(0.1, kernel=Gaussian("median"))]
    models += [] if by == "validation" else [LSSVR(kernel=Gaussian("median"))]
    for start in models:
        zero = tune(start, X, y, by=by, sample_weight=w, random_state=0)
        none = tune(start, X[on], y[on], by=by, sample_weight=w[on], random_state=0)
        assert repr(zero.tuning_) == repr(none.tuning_)
        assert np.array_equal(zero.predict(X), none.predict(X))


@pytest.mark.parametrize("by", ["marginal_likelihood", "loo", "validation"])
def test_labels_of_weight_zero_are_absent(rng, by):
    X, y = classes(rng, 90, 3)
    w = rng.uniform(0.5, 2, 90)
    w[y == 2] = 0  # a class that is not there
    w[rng.permutation(90)[:10]] = 0
    on = w > 0
    models = [KernelLogisticRegression(0.1, kernel=Gaussian("median"))]
    models += [] if by == "validation" else [LSSVC(kernel=Gaussian("median"))]
    for start in models:
        zero = tune(start, X, y, by=by, sample_weight=list(w), random_state=0)
        none = tune(start, X[on], y[on], by=by, sample_weight=w[on], random_state=0)
        assert repr(zero.tuning_) == repr(none.tuning_)
        assert np.array_equal(zero.predict(X), none.predict(X))
        assert list(zero.classes_) == [0, 1]
    with pytest.raises(ValueError, match="class_weight must be > 0"):
        tune(LSSVC(class_weight={0: 1.0, 1: 1.0, 2: 0.0}), X, y)


def test_a_matrix_with_samples_of_weight_zero_still_meets_all_of_them(rng):
    X, y = wave(rng, 50)
    w = np.where(np.arange(50) % 4, 1.0, 0.0)
    on = w > 0
    K = Gaussian(0.5)(X)
    start = KernelRidge(0.1, kernel="precomputed")
    zero = tune(start, K, y, by="loo", sample_weight=w)
    none = tune(start, K[np.ix_(on, on)], y[on], by="loo")
    assert zero.alpha == none.alpha
    np.testing.assert_allclose(zero.predict(K), none.predict(K[:, on]), rtol=1e-7, atol=1e-9)


def test_single_precision_is_tuned_in_double(rng):
    X, y = wave(rng, 60)
    X = np.hstack([1e3 * X, X]).astype(np.float32)
    kernel = Gaussian("median")
    tables = (X, pd.DataFrame(X, columns=["a", "b"]), sp.csr_matrix(X))
    values = [tune(KernelRidge(0.1, kernel=kernel), Z, y, by="loo").tuning_.value for Z in tables]
    exact = tune(KernelRidge(0.1, kernel=kernel), X.astype(float), y, by="loo").tuning_.value
    assert values == pytest.approx([exact] * 3, rel=1e-6)


def test_many_samples_begin_with_some_of_them(rng):
    X, y = wave(rng, 1200)
    model = tune(KernelRidge(alpha=1.0, kernel=Gaussian(5.0)), X, y, random_state=0)
    assert model.tuning_.n_evaluations < 15
    assert model.score(X, np.sin(2 * X[:, 0])) > 0.995


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "luck"}, "by must be one of"),
        ({"by": "validation", "test_size": 1.0}, "test_size must be"),
    ],
)
def test_bad_options(rng, options, message):
    X, y = wave(rng, 20)
    with pytest.raises(ValueError, match=message):
        tune(KernelRidge(kernel=Gaussian()), X, y, **options)


def test_alpha_must_be_positive_to_begin_with(rng):
    X, y = wave(rng, 20)
    with pytest.raises(ValueError, match="alpha must be one number > 0"):
        tune(KernelRidge(alpha=0.0, kernel=Gaussian()), X, y)


def true_scores(X, k):
    return np.stack([2 * np.sin(2 * X[:, 0] + c) for c in range(k)], axis=1)


def classes(rng, n=150, k=2):
    X = rng.uniform(-2, 2, (n, 3))
    scores = true_scores(X, k)
    return X, np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("by", ["marginal_likelihood", "loo", "validation"])
def test_logistic_regression_from_a_bad_start(rng, by, k):
    X, y = classes(rng, k=k)
    start = KernelLogisticRegression(30.0, kernel=Gaussian(3.0))
    model = tune(start, X[:, :1], y, by=by, random_state=0)
    assert model.tuning_.converged
    new, labels = classes(rng, n=500, k=k)

    def loss(logs):
        return -np.mean(logs[np.arange(500), labels])

    best = loss(log_softmax(true_scores(new, k), axis=1))
    before = loss(start.fit(X[:, :1], y).predict_log_proba(new[:, :1]))
    assert best < loss(model.predict_log_proba(new[:, :1])) < best + 0.07 < before - 0.05
    assert model.alpha == model.tuning_.alpha
    assert model.kernel == model.tuning_.kernel == model.kernel_


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_of_labels_is_stationary_and_no_grid_point_is_better(rng, weighted):
    X, y = classes(rng, 60)
    w = rng.uniform(0.5, 2, 60) if weighted else None
    start = KernelLogisticRegression(1.0, kernel=Gaussian(), tol=1e-9)
    model = tune(start, X[:, :1], y, by="loo", sample_weight=w)
    best = model.tuning_.value
    assert model.leave_one_out_loss() == pytest.approx(best, rel=1e-5)
    for alpha in np.geomspace(1e-2, 10, 7):
        for lengthscale in np.geomspace(0.2, 3, 7):
            other = KernelLogisticRegression(alpha, kernel=Gaussian(lengthscale))
            assert other.fit(X[:, :1], y, w).leave_one_out_loss() > best * (1 - 1e-6)


def test_fixed_parameters_of_logistic_regression_stay(rng):
    X, y = classes(rng, 60)
    start = KernelLogisticRegression(0.7, kernel=Gaussian(2.0))
    held = tune(start, X, y, fixed=("alpha",))
    assert held.alpha == pytest.approx(0.7)
    assert held.kernel.lengthscale != 2.0
    held = tune(start, X, y, fixed=("kernel__lengthscale",))
    assert held.kernel.lengthscale == pytest.approx(2.0)
    assert held.alpha != 0.7
    with pytest.raises(ValueError, match="hyper-parameters are lengthscale, alpha"):
        tune(start, X, y, fixed=("gamma",))


def test_a_search_begins_with_a_part_that_has_all_classes(rng, monkeypatch):
    monkeypatch.setattr("mercer.search.descent.SAMPLE", 50)
    monkeypatch.setattr("mercer.tuning.models.SAMPLE", 50)
    X, y = classes(rng, 150)
    start = KernelLogisticRegression(1.0, kernel=Gaussian())
    common = tune(start, X[:, :1], y, by="loo", random_state=0).tuning_.n_evaluations
    y[np.argsort(X[:, 0])[:4]] = 2
    rare = tune(start, X[:, :1], y, by="loo", random_state=0)
    assert common < 15 < rare.tuning_.n_evaluations
    assert rare.predict_proba(X[:, :1]).shape == (150, 3)


def test_a_lengthscale_for_each_feature_finds_the_one_that_matters(rng):
    X, y = classes(rng)
    for model in (KernelRidge, KernelLogisticRegression):
        model = model(0.1, kernel=Gaussian("median"))
        tuned = tune(model, X * [1.0, 100.0, 0.01], y, ard=True, random_state=0)
        scales = tuned.kernel.lengthscale / [1.0, 100.0, 0.01]
        assert scales[0] < 0.2 * scales[1:].min()


def test_lengthscales_need_features(rng):
    with pytest.raises(ValueError, match="ard=True gives each feature a lengthscale"):
        tune(KernelRidge(kernel=Linear()), rng.standard_normal((9, 2)), np.arange(9.0), ard=True)
    with pytest.raises(ValueError, match="has none for several features"):
        tune(KernelRidge(kernel=Gaussian()), rng.standard_normal((9, 1)), np.arange(9.0), ard=True)
    X = rng.standard_normal((30, 2))
    tuned = tune(KernelRidge(), X, X[:, 0], kernels=[Linear(), Gaussian()], ard=True)
    assert np.shape(tuned.candidates_[1].kernel.lengthscale) == (2,)


def test_gaussian_processes_tune_themselves(rng):
    X, y = classes(rng, 60)
    process = tune(GaussianProcessRegressor(optimizer=None), X, X[:, 0], ard=True, random_state=0)
    assert process.kernel_.right.lengthscale[0] < 0.1 * process.kernel_.right.lengthscale[1:].min()
    assert process.tuning_.converged
    labels = tune(GaussianProcessClassifier(), X, y, ard=True, fixed=("left__value",))
    assert labels.kernels_[0].left.value == pytest.approx(1)
    assert np.size(labels.kernels_[0].right.lengthscale) == 3
    with pytest.raises(ValueError, match="by must be one of marginal_likelihood for Gaussian"):
        tune(GaussianProcessClassifier(), X, y, by="loo")
    with pytest.raises(ValueError, match="does not support sample weights"):
        tune(GaussianProcessClassifier(), X, y, sample_weight=np.ones(60))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVC(), "not SVC: use SVCCV"),
        (KernelRidgeCV(), "chooses by itself"),
        (SVR(), "not SVR: use GridSearchCV"),
        (MultiOutputKernelRidge(), "tune KernelRidge on the same targets"),
        (KernelLogisticRegression(), "by must be one of marginal_likelihood, loo, validation for"),
    ],
)
def test_other_models_and_criteria_are_refused(rng, model, message):
    with pytest.raises(ValueError, match=message):
        tune(model, *classes(rng, 20), by="gcv")


def test_what_does_not_change_is_computed_once(rng):
    calls = []

    def overlap(words, others):
        calls.append(len(words))
        return np.array([[len(set(w) & set(o)) for o in others] for w in words], dtype=float)

    words = np.array(["".join(rng.choice(list("abcd"), 6)) for _ in range(40)])
    numbers = rng.standard_normal(40)
    y = np.array([float(w.count("a")) for w in words]) + numbers
    data = list(zip(words, numbers, strict=True))
    kernel = 1.0 * Custom(overlap, batch=True).on(0) + 1.0 * Gaussian().on(1)
    model = tune(KernelRidge(alpha=0.1, kernel=kernel), data, y)
    searched = len(calls)
    model.fit(data, y)
    assert searched < 3 * (len(calls) - searched)  # two fits, and once for the whole search
    assert model.tuning_.n_evaluations > 5
    plain = tune(KernelRidge(alpha=0.1, kernel=kernel.left), data, y)
    assert plain.kernel.right == kernel.left.right  # as it was given, no matrix


def test_a_matrix_of_the_user_has_only_its_penalty(rng, monkeypatch):
    monkeypatch.setattr("mercer.search.descent.SAMPLE", 50)
    X, y = wave(rng, 120)
    K = Gaussian(0.5)(X)
    for by in ("loo", "validation"):
        start = KernelRidge(alpha=1.0, kernel="precomputed")
        model = tune(start, K, y, by=by, random_state=0)
        known = KernelRidge(alpha=1.0, kernel=Gaussian(0.5))
        other = tune(known, X, y, by=by, fixed=("kernel__lengthscale",), random_state=0)
        assert model.alpha == pytest.approx(other.alpha, rel=1e-3)
    start = KernelLogisticRegression(1.0, kernel="precomputed")
    model = tune(start, K, y > 0, by="loo", random_state=0)
    known = KernelLogisticRegression(1.0, kernel=Gaussian(0.5))
    other = tune(known, X, y > 0, by="loo", fixed=("kernel__lengthscale",), random_state=0)
    assert model.alpha == pytest.approx(other.alpha, rel=1e-3)


# ---- least-squares machines ------------------------------------------------------------------
@pytest.mark.parametrize("by", ["marginal_likelihood", "loo", "gcv"])
def test_machines_with_an_intercept(rng, by):
    X, y = wave(rng)
    start = LSSVR(C=0.1, kernel=Gaussian(5.0))
    model = tune(start, X, y + 1000, by=by)
    assert model.tuning_.converged
    assert pytest.approx(1 / model.tuning_.alpha) == model.C
    assert np.mean((model.predict(X) - 1000 - np.sin(2 * X[:, 0])) ** 2) < 0.003
    held = tune(start, X, y, by=by, fixed=("C",))
    assert pytest.approx(0.1) == held.C


def test_leave_one_out_of_machines_equals_refitting(rng):
    X, y = wave(rng, 30)
    model = tune(LSSVR(C=1.0, kernel=Gaussian()), X, y + 5, by="loo")
    errors = []
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        errors.append(model.__class__(C=model.C, kernel=model.kernel).fit(X[rest], y[rest] + 5)
                      .predict(X[i : i + 1])[0] - y[i] - 5)  # fmt: skip
    assert model.tuning_.value == pytest.approx(np.mean(np.square(errors)), rel=1e-6)


def test_machines_for_labels(rng):
    X, y = classes(rng, k=3)
    model = tune(LSSVC(C=0.01, kernel=Gaussian(30.0)), X[:, :1], y, by="loo")
    new, labels = classes(rng, n=500, k=3)
    best = np.mean(np.argmax(true_scores(new, 3), axis=1) == labels)
    assert model.score(new[:, :1], labels) > best - 0.05


# ---- several kernels -------------------------------------------------------------------------
def test_the_best_of_several_kernels(rng):
    X, y = wave(rng)
    kernels = [Linear(), Gaussian("median"), Matern("median", nu=0.5)]
    model = tune(KernelRidge(alpha=0.1), X, y, kernels=kernels)
    alone = [tune(KernelRidge(alpha=0.1, kernel=k), X, y).tuning_.value for k in kernels]
    np.testing.assert_allclose([c.value for c in model.candidates_], alone, rtol=1e-6)
    assert model.kernel_ == model.candidates_[int(np.argmin(alone))].kernel
    assert model.tuning_.value == min(alone)
    assert isinstance(model.kernel_, Gaussian)


@pytest.mark.parametrize(
    ("model", "by"),
    [
        (GaussianProcessRegressor(), "marginal_likelihood"),
        (GaussianProcessClassifier(), "marginal_likelihood"),
        (KernelLogisticRegression(), "validation"),
        (LSSVC(), "loo"),
    ],
)
def test_several_kernels_of_other_models(rng, model, by):
    X, y = classes(rng, 60)
    kernels = [Gaussian(1.0), 1.0 * Gaussian(2.0)]
    first = tune(model, X[:, :1], y, kernels=kernels, by=by, random_state=0)
    second = tune(model, X[:, :1], y, kernels=kernels, by=by, random_state=0)
    assert [c.value for c in first.candidates_] == [c.value for c in second.candidates_]
    assert len(first.candidates_) == 2


@pytest.mark.parametrize("kernels", [[], Gaussian(), "rbf"])
def test_several_kernels_are_a_list(rng, kernels):
    with pytest.raises(ValueError, match="kernels must be a list"):
        tune(KernelRidge(), *wave(rng, 20), kernels=kernels)


# ---- bounds ----------------------------------------------------------------------------------
def test_a_parameter_on_its_bound_is_named(rng):
    X = rng.standard_normal((40, 1)) * 1e4
    start = KernelRidge(alpha=0.1, kernel=1.0 * Gaussian(1e4))
    with pytest.warns(BoundWarning, match=r"left__value = 100000. Standardise X and y"):
        model = tune(start, X, X[:, 0], fixed=("alpha",))  # K / alpha is all that counts
    assert "on a bound: left__value = 100000" in str(model.tuning_)


@pytest.mark.parametrize(
    ("kernel", "bounds", "unneeded"),
    [
        (Gaussian(1e5), ("lengthscale = 100000",), ()),
        (Gaussian([1e5, 1e5]), ("lengthscale[0] = 100000", "lengthscale[1] = 100000"), ()),
        (Gaussian([1e5, 2.0]), (), ("lengthscale[0]",)),
        (1.0 * Gaussian(3.0) + 1e-5 * Matern(1e5), (), ("1e-05 * Matern(lengthscale=100000.0)",)),
        (1.0 * Gaussian(3.0) + 1e5 * Matern(1e5), ("right__left__value = 100000",),
         ("right__right__lengthscale",)),
        (Gaussian(1e-5) + 1e-5, ("left__lengthscale = 1e-05",), ("Constant(value=1e-05)",)),
        (5e-5 * Gaussian() + 4e-5, (), ()),
        (2.0 * Gaussian() + 1e-5, (), ("Constant(value=1e-05)",)),
    ],
)  # fmt: skip
def test_what_ended_on_a_bound(kernel, bounds, unneeded):
    X = np.ones((3, 2))
    assert ends(kernel, (), X, 1e-10) == (bounds, unneeded)
    fixed = tuple(h.name for h in kernel.hyperparameters())
    assert ends(kernel, fixed, X, 1e-10) == ((), ())


def test_a_weight_on_its_bound_that_carries_the_fit_is_no_part_that_is_not_needed():
    X = np.full((3, 1), 1e4)
    on_bound = ("left__value = 1e-05",)
    assert ends(1e-5 * Gaussian(), (), X, 1e-4) == (on_bound, ())  # a tenth of the variance
    assert ends(1e-5 * Linear() + Gaussian(), (), X, 1.0)[0] == ("left__left__value = 1e-05",)
    assert ends(1e-5 * Gaussian(), (), X, 1.0) == ((), ("1e-05 * Gaussian()",))
    assert ends(1e-5 * Gaussian(), (), X, 1e-10, unit=1e-6) == ((), ())


def test_what_is_not_needed_is_no_warning(rng):
    X = rng.standard_normal((100, 2))
    y = np.sin(2 * X[:, 0]) + 0.05 * rng.standard_normal(100)
    both = np.linalg.qr(np.column_stack([np.sin(2 * X[:, 0]), y]))[0]
    X[:, 1] -= both @ (both.T @ X[:, 1])
    kernel = 1.0 * Gaussian().on(0) + 1.0 * Linear().on(1)
    found = tune(KernelRidge(alpha=0.1, kernel=kernel), X, y).tuning_
    assert found.at_bounds == ()
    assert len(found.unneeded) == 1
    assert found.unneeded[0].endswith("e-05 * Linear().on(1)")
    assert f"not needed: {found.unneeded[0]}" in str(found)


def test_an_alpha_near_zero_is_a_warning_where_features_hide_each_other(rng):
    X = rng.uniform(-1, 1, (80, 2))
    y = np.sin(2 * X[:, 0]) * np.cos(2 * X[:, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = tune(KernelRidge(0.1, kernel=Gaussian()), X, y).tuning_
    assert exact.unneeded == ("alpha = 1e-10",)
    start = KernelRidge(0.1, kernel=Gaussian(200.0))
    with pytest.warns(BoundWarning, match="no feature is negligible next to larger ones"):
        hidden = tune(start, X * [200.0, 1.0], np.sin(2 * X[:, 0])).tuning_
    assert hidden.at_bounds == ("alpha = 1e-10",)


@pytest.mark.parametrize("make", [KernelRidge, LSSVR, KernelLogisticRegression])
def test_a_search_obeys_the_memory_of_the_plan(rng, make):
    X, y = wave(rng, 60)
    target = y > 0 if make is KernelLogisticRegression else y
    with pytest.raises(MemoryPlanError, match="the plan allows 10 kB"):
        tune(make(kernel=Gaussian(), plan=Plan(memory="10 kB")), X, target)
