import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.svm import SVC as SklearnSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVCCV, Gaussian, Spectrum
from mercer.exceptions import ConvergenceWarning
from mercer.models import svm_cv

FOLDS = "the folds differ when samples are repeated"


@parametrize_with_checks(
    [SVCCV([1.0, 10.0], gamma=0.1, cv=2, test_size=0, tol=1e-6, random_state=0)],
    expected_failed_checks=lambda e: {
        "check_sample_weight_equivalence_on_dense_data": FOLDS,
        "check_sample_weight_equivalence_on_sparse_data": FOLDS,
    },
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("load", ["moons", "iris"])
def test_scores_equal_grid_search(load):
    X, y = (
        make_moons(200, noise=0.25, random_state=0)
        if load == "moons"
        else load_iris(return_X_y=True)
    )
    cv = StratifiedKFold(4)
    grid = {"gamma": [0.1, 1.0], "C": [0.1, 1.0, 100.0]}
    theirs = GridSearchCV(SklearnSVC(tol=1e-6), grid, cv=cv).fit(X, y)
    ours = SVCCV(grid["C"], param_grid={"gamma": grid["gamma"]}, cv=cv, test_size=0, tol=1e-6)
    ours.fit(X, y)
    expected = {
        (p["gamma"], p["C"]): s
        for p, s in zip(
            theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True
        )
    }
    for p, s in zip(ours.cv_results_["params"], ours.cv_results_["mean_test_score"], strict=True):
        assert s == pytest.approx(expected[p["gamma"], p["C"]], abs=1e-12)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    again = SVC(tol=1e-6, **ours.best_params_).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), again.predict(X))


def test_solutions_start_from_each_other(monkeypatch):
    def steps(Cs, gammas):
        counts = []
        fit_pairs = SVC._fit_pairs

        def counted(self, *args):
            fits = fit_pairs(self, *args)
            counts.append(sum(fit.report.n_iter for fit in fits))
            return fits

        with monkeypatch.context() as patch:
            patch.setattr(SVC, "_fit_pairs", counted)
            patch.setattr(svm_cv, "run", lambda job, items, _: [job(item) for item in items])
            model = SVCCV(Cs, param_grid={"gamma": gammas}, cv=2, test_size=0, random_state=0)
            model.fit(X, y)
        # the last fit is that of the chosen model
        return np.array(counts[:-1]).reshape(len(gammas), 2, len(Cs))

    X, y = make_moons(400, noise=0.25, random_state=0)
    alone = steps([0.1], [1.0])[0, :, 0]
    along_gamma = steps([0.1], [0.8, 1.0])[1, :, 0]
    assert np.all(along_gamma < alone / 2)
    # without coefficients at their bounds a larger C changes nothing
    assert np.all(steps([1e4, 1e5], [100.0])[0, :, 1] == 0)
    # with nearly all of them there they grow with C
    few = steps([0.001, 0.002], [0.1])[0, :, 1]
    assert np.all(few < steps([0.002], [0.1])[0, :, 0] / 2)


def test_scores_are_the_same_without_room_for_the_matrix(monkeypatch):
    X, y = load_iris(return_X_y=True)
    model = SVCCV([0.1, 10.0], param_grid={"gamma": [0.1, 1.0]}, random_state=0)
    expected = model.fit(X, y).cv_results_["split_test_scores"]
    monkeypatch.setattr(svm_cv, "free_memory", lambda: 0.0)
    np.testing.assert_array_equal(model.fit(X, y).cv_results_["split_test_scores"], expected)


def test_samples_that_a_fold_repeats_count_more_than_once(rng):
    X, y = make_moons(120, noise=0.3, random_state=0)
    train, test = rng.integers(0, 80, 80), np.arange(80, 120)
    model = SVCCV([0.1, 5.0], gamma=1.0, cv=[(train, test)], test_size=0, tol=1e-6).fit(X, y)
    for C, score in zip([0.1, 5.0], model.cv_results_["mean_test_score"], strict=True):
        expected = SVC(C=C, gamma=1.0, tol=1e-6).fit(X[train], y[train]).score(X[test], y[test])
        assert score == pytest.approx(expected)


def test_class_weights_by_label():
    X, y = load_iris(return_X_y=True)
    names = np.array(["b", "a", "c"])[y]
    model = SVCCV([1.0], class_weight={"a": 2, "b": 1, "c": 1}, random_state=0).fit(X, names)
    assert model.test_score_ > 0.9


def test_fits_that_stop_early_are_one_warning():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(ConvergenceWarning) as caught:
        SVCCV([1.0, 10.0], cv=3, test_size=0, max_iter=2, random_state=0).fit(X, y)
    assert "6 of the 6 fits of the grid did not converge" in str(caught[0].message)
    assert len(caught) == 2  # and one about the machine that was chosen


def test_held_out_part_is_not_seen():
    X, y = make_moons(300, noise=0.25, random_state=0)
    model = SVCCV([1.0], gamma=1.0, test_size=0.3, random_state=0).fit(X, y)
    assert 0.8 < model.test_score_ < 1
    assert np.isnan(SVCCV([1.0], gamma=1.0, test_size=0).fit(X, y).test_score_)


def test_kernels_on_strings_and_weights(rng):
    texts = ["abab", "abba", "aabb", "baba", "xyxy", "yxyx", "xxyy", "yyxx"] * 6
    labels = ["ab" if "a" in t else "xy" for t in texts]
    model = SVCCV(
        [0.1, 1.0], kernel=Spectrum(1), param_grid={"kernel__k": [1, 2]}, cv=3, random_state=0
    )
    model.fit(texts, labels, rng.uniform(0.5, 1, len(texts)))
    assert model.test_score_ == 1.0
    assert model.predict(["abba"])[0] == "ab"


def test_probabilities_and_plot():
    pytest.importorskip("matplotlib").use("agg")
    X, y = make_moons(150, noise=0.25, random_state=0)
    model = SVCCV(
        [0.1, 1.0, 10.0],
        kernel=Gaussian(),
        param_grid={"kernel__lengthscale": [0.3, 1.0]},
        probability=True,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    assert model.plot().get_ylabel() == "kernel__lengthscale"
    curve = SVCCV([0.1, 1.0], random_state=0).fit(X, y).plot()
    assert curve.get_ylabel() == "cross-validated score"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"Cs": [0.0]}, "Cs must be positive"),
        ({"Cs": []}, "Cs must be positive"),
        ({"Cs": None}, "Cs must be positive"),
        ({"Cs": "one"}, "Cs must be positive"),
        ({"Cs": [1.0, np.inf]}, "Cs must be positive and finite"),
        ({"kernel": "precomputed"}, "use GridSearchCV"),
        ({"param_grid": {"class_weight": [None, "balanced"]}}, "class_weight.*use GridSearchCV"),
        ({"param_grid": {"C": [1.0]}}, "belong to Cs"),
    ],
)
def test_bad_input(options, message):
    X, y = make_moons(40, random_state=0)
    with pytest.raises(ValueError, match=message):
        SVCCV(**options).fit(X, y)


def test_scores_are_weighted(rng):
    """A sample of weight three counts as three samples, in the scores as in the fit."""
    X, y = make_moons(60, noise=0.4, random_state=0)
    w = rng.integers(0, 4, 60)
    w[:2] = 0
    twice = np.repeat(np.arange(60), w)
    splits = [
        (np.arange(0, 60, 2), np.arange(1, 60, 2)),
        (np.arange(1, 60, 2), np.arange(0, 60, 2)),
    ]
    repeated = [tuple(np.flatnonzero(np.isin(twice, part)) for part in fold) for fold in splits]
    grid = {"Cs": [0.1, 10.0], "gamma": 1.0, "test_size": 0, "tol": 1e-8}
    weighted = SVCCV(cv=splits, **grid).fit(X, y, w)
    counted = SVCCV(cv=repeated, **grid).fit(X[twice], y[twice])
    np.testing.assert_allclose(
        weighted.cv_results_["split_test_scores"], counted.cv_results_["split_test_scores"]
    )
    plain = SVCCV(cv=splits, **grid).fit(X, y)
    assert not np.allclose(
        weighted.cv_results_["split_test_scores"], plain.cv_results_["split_test_scores"]
    )


def test_splits_in_a_list_are_about_all_samples():
    X, y = load_iris(return_X_y=True)
    splits = list(KFold(5, shuffle=True, random_state=0).split(X))
    plain = SVCCV([1.0], cv=splits, gamma=0.5, test_size=0).fit(X, y)
    theirs = cross_val_score(SVC(C=1.0, gamma=0.5), X, y, cv=splits)
    np.testing.assert_allclose(plain.cv_results_["split_test_scores"][0], theirs)
    held = SVCCV([1.0], cv=splits, gamma=0.5, random_state=0).fit(X, y)
    _, outside = train_test_split(np.arange(150), test_size=0.2, stratify=y, random_state=0)
    own = [tuple(np.setdiff1d(part, outside) for part in fold) for fold in splits]
    theirs = cross_val_score(SVC(C=1.0, gamma=0.5), X, y, cv=own)
    np.testing.assert_allclose(held.cv_results_["split_test_scores"][0], theirs)


def test_groups_are_not_divided():
    """Every sample has a twin with the same label: knowing it is knowing the answer."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((40, 3)), 2, axis=0)
    y = np.repeat(rng.integers(0, 2, 40), 2)
    groups = np.repeat(np.arange(40), 2)
    options = {"Cs": [100.0], "gamma": 50.0, "random_state": 0}
    apart = SVCCV(**options).fit(X, y, groups=groups)
    assert SVCCV(**options).fit(X, y).best_score_ > apart.best_score_ + 0.1
    same = SVCCV(cv=GroupKFold(4), test_size=0, **options).fit(X, y, groups=groups)
    theirs = cross_val_score(SVC(C=100.0, gamma=50.0), X, y, cv=GroupKFold(4), groups=groups)
    np.testing.assert_allclose(same.cv_results_["split_test_scores"][0], theirs)


def test_folds_that_lack_a_class():
    X, y = load_iris(return_X_y=True)
    order = np.r_[0:150:3, 1:150:3, 2:150:3]
    order = np.r_[order, np.flatnonzero(y == 2)[:10]]  # the last fold has most of class 2
    X, y = X[order], np.where(np.arange(160) < 140, y[order] % 2, 2)
    folds = KFold(8)
    ours = SVCCV([1.0], cv=folds, test_size=0, gamma=0.5).fit(X, y)
    theirs = cross_val_score(SVC(C=1.0, gamma=0.5), X, y, cv=folds)
    np.testing.assert_allclose(ours.cv_results_["split_test_scores"][0], theirs)
    with pytest.raises(ValueError, match="fold 0 of cv has samples of 1 classes"):
        SVCCV([1.0], cv=KFold(2), test_size=0).fit(X[:100], np.repeat([0, 1], 50))
