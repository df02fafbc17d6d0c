import time
import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn import svm as sk
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    SVC,
    SVR,
    Exponential,
    Gaussian,
    Linear,
    Matern,
    NuSVC,
    NuSVR,
    Nystrom,
    OneClassSVM,
    Plan,
    Polynomial,
    Spectrum,
    load,
    save,
)
from mercer.exceptions import (
    ConvergenceWarning,
    DomainError,
    MemoryPlanError,
    NumericalWarning,
)
from mercer.gram.stored import LowRankGram
from mercer.models import svm_base, svm_sums
from mercer.models.svm_pairs import count_votes

NU = "nu is infeasible with these class weights, as it is in scikit-learn"


@parametrize_with_checks(
    [SVC(gamma=0.1, tol=1e-9), SVC(kernel=Linear(), tol=1e-9), NuSVC(gamma=0.1, tol=1e-6)],
    expected_failed_checks=lambda e: (
        {
            "check_class_weight_classifiers": NU,
            "check_sample_weight_equivalence_on_dense_data": NU,
            "check_sample_weight_equivalence_on_sparse_data": NU,
        }
        if isinstance(e, NuSVC)
        else {}
    ),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def binary():
    X, y = make_classification(300, 6, random_state=0, flip_y=0.1)
    return X, np.array(["no", "yes"])[y]


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "options",
    [
        {"C": 1.0},
        {"C": 10.0, "kernel": "linear"},
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": "auto"},
        {"gamma": 0.7, "class_weight": "balanced"},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", ["binary", "iris"])
def test_drop_in_for_scikit_learn(request, data, options):
    X, y = request.getfixturevalue(data)
    ours = SVC(tol=1e-8, **options).fit(X, y)
    theirs = sk.SVC(tol=1e-8, **options).fit(X, y)  # its kernel rows are in single precision
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=2e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-2)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    if options.get("kernel") == "linear":
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


@pytest.mark.parametrize("n", [1200, 4000])  # all rows at hand, and a working set
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_vectors_of_two_values(rng, n, kind):
    """Kernel values come from bits; the solution is that of other coordinates, turned."""
    X = (rng.random((n, 40)) < 0.4).astype(float)
    y = (X[:, :3].sum(axis=1) + rng.normal(0, 0.5, n) > 1).astype(int)
    turn = np.linalg.qr(rng.normal(size=(40, 40)))[0]  # keeps all distances
    ours = SVC(C=3, gamma=0.05).fit(kind(X), y)
    turned = SVC(C=3, gamma=0.05).fit(X @ turn, y)
    assert ours.decision_path()[0].dual == pytest.approx(turned.decision_path()[0].dual, rel=1e-6)
    values = ours.decision_function(kind(X[:50]))
    np.testing.assert_allclose(values, turned.decision_function(X[:50] @ turn), atol=5e-3)
    np.testing.assert_allclose(values, ours.decision_function(X[:50] + 1e-13), atol=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("data", ["binary", "iris"])
@pytest.mark.parametrize(
    ("machine", "options"), [("SVC", {"class_weight": "balanced"}), ("NuSVC", {"nu": 0.45})]
)
def test_attributes_are_those_of_scikit_learn(request, data, machine, options, sparse):
    X, y = request.getfixturevalue(data)
    X = sp.csr_matrix(X) if sparse else X
    ours = {"SVC": SVC, "NuSVC": NuSVC}[machine](kernel="linear", tol=1e-8, **options).fit(X, y)
    theirs = getattr(sk, machine)(kernel="linear", tol=1e-8, **options).fit(X, y)
    for name in ("classes_", "class_weight_", "shape_fit_", "fit_status_", "n_features_in_"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    for name in ("intercept_", "coef_", "support_", "n_support_", "dual_coef_", "n_iter_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        assert found.dtype == expected.dtype
        if name in ("intercept_", "coef_"):  # the others differ where the optimum is not unique
            expected = expected.toarray() if sp.issparse(expected) else expected
            np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-3)
        else:
            assert found.ndim == expected.ndim
    assert ours.dual_coef_.shape == (len(ours.classes_) - 1, len(ours.support_))
    assert ours.n_support_.sum() == len(ours.support_)


def violation(K, sign, beta, C):
    """The largest violation of optimality, in double precision."""
    g = K @ beta - sign
    up = np.where(sign > 0, beta < C, beta < 0)
    down = np.where(sign > 0, beta > 0, beta > -C)
    return g[down].max() - g[up].min()


def test_where_we_differ_from_libsvm_we_are_closer_to_the_optimum(binary):
    """LIBSVM keeps kernel rows in single precision, and stops some 1e-5 short of tol=1e-8."""
    X, y = binary
    sign, reached = np.where(y == "yes", 1.0, -1.0), []
    for machine in (SVC, sk.SVC):
        model = machine(C=10.0, kernel="linear", tol=1e-8).fit(X, y)
        beta = np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        beta = np.clip(beta, np.where(sign > 0, 0, -10.0), np.where(sign > 0, 10.0, 0))
        reached.append(violation(X @ X.T, sign, beta, 10.0))
    assert reached[0] < 2e-8
    assert reached[0] < reached[1]


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_decision_function_shapes(iris, shape):
    X, y = iris
    ours = SVC(tol=1e-8, decision_function_shape=shape).fit(X, y)
    theirs = sk.SVC(tol=1e-8, decision_function_shape=shape).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


class TestScores:
    """Sums over the support vectors of each class are those over all, for every pair."""

    @pytest.fixture
    def letters(self, rng):
        y = rng.integers(6, size=240)
        return rng.standard_normal((240, 3)) + 2 * rng.standard_normal((6, 3))[y], y

    def expected(self, X, y, kernel, i, j):
        both = (y == i) | (y == j)
        pair = SVC(kernel=kernel, tol=1e-9).fit(X[both], y[both])
        beta = np.zeros(len(X))
        beta[np.flatnonzero(both)[pair.support_]] = pair.dual_coef_[0]
        return -(kernel(X) @ beta + pair.intercept_[0])  # positive for the first of a pair

    @pytest.mark.parametrize("kernel", [Gaussian(2.0), Linear(), Linear() + Gaussian()], ids=repr)
    def test_every_pair_is_a_machine_of_two_classes(self, monkeypatch, letters, kernel):
        monkeypatch.setattr(svm_sums, "_ROWS", 50)
        monkeypatch.setattr(svm_sums, "_COLS", 7)
        X, y = letters
        model = SVC(kernel=kernel, tol=1e-9, decision_function_shape="ovo").fit(X, y)
        pairs = list(combinations(range(6), 2))
        expected = np.stack([self.expected(X, y, kernel, i, j) for i, j in pairs], axis=1)
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-6)
        known = SVC(kernel="precomputed", tol=1e-9, decision_function_shape="ovo")
        found = known.fit(kernel(X), y).decision_function(kernel(X))
        np.testing.assert_allclose(found, expected, atol=1e-6)

    def test_functions_of_a_linear_kernel_are_weights_of_features(self, letters):
        X, y = letters
        model = SVC(kernel="linear", decision_function_shape="ovo").fit(X, y)
        assert isinstance(model.gram_, LowRankGram)
        expected = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)

    def test_votes(self, rng):
        f = rng.standard_normal((50, 10))
        votes = np.zeros((50, 5))
        for p, (i, j) in enumerate(combinations(range(5), 2)):
            for row in range(50):
                votes[row, j if f[row, p] > 0 else i] += 1
        np.testing.assert_array_equal(count_votes(f, 5), votes)


def test_break_ties_agrees_with_the_scores(iris):
    X, y = iris
    model = SVC(break_ties=True).fit(X, y)
    best = model.classes_[np.argmax(model.decision_function(X), axis=1)]
    np.testing.assert_array_equal(model.predict(X), best)


def test_nu_form_equals_scikit_learn(binary):
    X, y = binary
    ours = NuSVC(nu=0.3, tol=1e-8).fit(X, y)
    theirs = sk.NuSVC(nu=0.3, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-4)


def test_nu_bounds_margin_errors_and_support_vectors(binary):
    X, y = binary
    for nu in (0.2, 0.4, 0.6):
        model = NuSVC(nu=nu).fit(X, y)
        sign = np.where(y == "yes", 1, -1)
        errors = np.mean(sign * model.decision_function(X) < 1 - 1e-2)
        assert errors <= nu + 1e-9
        assert len(model.support_) / len(X) >= nu


def test_sample_weights_equal_scikit_learn(binary, rng):
    X, y = binary
    w = rng.uniform(0, 2, len(y))
    w[:20] = 0
    ours = SVC(tol=1e-8).fit(X, y, w)
    theirs = sk.SVC(tol=1e-8).fit(X, y, w)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


def test_precomputed_and_sparse(binary):
    X, y = binary
    expected = SVC(kernel=Gaussian(2.0), tol=1e-8).fit(X, y).decision_function(X[:9])
    K = Gaussian(2.0)(X)
    precomputed = SVC(kernel="precomputed", tol=1e-8).fit(K, y).decision_function(K[:9])
    np.testing.assert_allclose(precomputed, expected, atol=1e-6)
    sparse = SVC(kernel=Gaussian(2.0), tol=1e-8).fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_matrix(X[:9])), expected, atol=1e-6)


def test_xor_by_hand():
    """All four points are support vectors with the same coefficient, by symmetry."""
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    y = [1, 1, 0, 0]
    model = SVC(C=100, kernel=Polynomial(degree=2), tol=1e-10).fit(X, y)
    # K = 8 I + 1 (for unlike pairs on a diagonal) ...: beta_i = y_i a with a = 1 / (9 + 1 - 1 - 1)
    np.testing.assert_allclose(np.abs(model.dual_coef_), 1 / 8, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), [1, 1, -1, -1], atol=1e-8)
    report = model.decision_path()[0]
    assert report.margin == pytest.approx(2 / np.sqrt(0.5))
    assert (report.free, report.bounded) == (4, 0)


class TestCertificate:
    def test_gap_closes_and_brackets_the_optimum(self, binary):
        X, y = binary
        best = SVC(C=3, tol=1e-10).fit(X, y).decision_path()[0]
        loose = SVC(C=3, tol=1e-1).fit(X, y).decision_path()[0]
        assert best.gap == pytest.approx(0, abs=1e-7)
        assert loose.dual <= best.dual + 1e-9
        assert loose.primal >= best.primal - 1e-9
        assert best.classes == ("no", "yes")

    @pytest.mark.parametrize("C", [1.0, 10.0, 100.0, 1e4])
    def test_certificate_of_large_problems_is_that_of_the_exact_kernel(self, C):
        X, y = make_classification(2500, 5, random_state=1, flip_y=0.1)
        model = SVC(C=C, kernel=Gaussian(1.0)).fit(X, y)
        sign, beta = 2.0 * y - 1, np.zeros(len(y))
        beta[model.support_] = model.dual_coef_[0]
        true = violation(Gaussian(1.0)(X), sign, beta, C)
        assert true < 1.05e-3  # asked for: 1e-3
        assert true == pytest.approx(model.decision_path()[0].violation, rel=0.1)

    def test_values_by_brute_force(self, binary):
        X, y = binary
        model = SVC(C=3, kernel=Gaussian(2.0), tol=1e-8).fit(X, y)
        report = model.decision_path()[0]
        sign = np.where(y == "yes", 1, -1)
        f, K = model.decision_function(X), Gaussian(2.0)(model.support_vectors_)
        squared = (model.dual_coef_ @ K @ model.dual_coef_.T).item()
        primal = squared / 2 + 3 * np.maximum(0, 1 - sign * f).sum()
        assert report.primal == pytest.approx(primal, rel=1e-6)
        assert report.dual == pytest.approx(np.abs(model.dual_coef_).sum() - squared / 2, rel=1e-6)
        assert report.margin == pytest.approx(2 / np.sqrt(squared), rel=1e-6)
        at_bound = np.isclose(np.abs(model.dual_coef_), 3)
        assert report.bounded == at_bound.sum()
        # free support vectors lie on the margin
        free = model.support_[~at_bound[0]]
        np.testing.assert_allclose(sign[free] * f[free], 1, atol=1e-5)


class TestHardMargin:
    def test_margin_of_two_points(self):
        model = SVC(C=np.inf, kernel="linear").fit([[0.0], [4.0]], [0, 1])
        np.testing.assert_allclose(model.coef_, [[0.5]], atol=1e-6)
        np.testing.assert_allclose(model.intercept_, [-1.0], atol=1e-6)
        assert model.decision_path()[0].margin == pytest.approx(4.0)

    def test_equals_a_huge_C(self):
        X, y = make_moons(120, noise=0.05, random_state=0)
        hard = SVC(C=np.inf, gamma=2.0, tol=1e-4).fit(X, y)
        soft = sk.SVC(C=1e9, gamma=2.0, tol=1e-6).fit(X, y)
        np.testing.assert_allclose(
            hard.decision_function(X), soft.decision_function(X), rtol=1e-2, atol=1e-2
        )
        sign = 2 * y - 1
        assert np.min(sign * hard.decision_function(X)) > 1 - 1e-3

    def test_infeasible_is_reported(self):
        with pytest.raises(ValueError, match="cannot be separated"):
            SVC(C=np.inf, kernel="linear").fit([[0.0], [1.0], [2.0]], [0, 1, 0])

    def test_the_classes_that_overlap_are_named(self, iris):
        X, y = iris
        with pytest.raises(ValueError, match=r"classes 1 and 2: .*cannot be separated"):
            SVC(C=np.inf, kernel="linear").fit(X, y)

    def test_max_iter_limits_all_steps_together(self, iris):
        X, y = iris
        with pytest.warns(ConvergenceWarning) as caught:
            model = SVC(C=np.inf, max_iter=5).fit(X[:100], y[:100])
        assert (len(caught), model.fit_status_, model.n_iter_[0]) == (1, 1, 5)


def test_strings_in_grid_search():
    texts = ["abab", "abba", "aabb", "baba", "xyxy", "yxyx", "xxyy", "yyxx"] * 4
    labels = ["ab" if "a" in t else "xy" for t in texts]
    search = GridSearchCV(SVC(kernel=Spectrum(1)), {"kernel__k": [1, 2], "C": [0.1, 1]}, cv=2)
    assert search.fit(texts, labels).best_score_ == 1.0


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"C": 0}, "C must be > 0"),
            ({"C": -1.0}, "C must be > 0"),
            ({"C": np.nan}, "C must be > 0"),
            ({"C": "1"}, "C must be a number, got '1'"),
            ({"C": [1, 10]}, "C must be a number"),
            ({"tol": 0}, "tol must be > 0"),
            ({"tol": np.nan}, "tol must be > 0"),
            ({"max_iter": -5}, "max_iter must be an integer >= -1"),
            ({"max_iter": 2.5}, "max_iter must be an integer"),
            ({"cache_size": 0}, "cache_size must be a number of MB > 0"),
            ({"cache_size": "lots"}, "cache_size must be a number of MB > 0"),
            ({"gamma": "wide"}, "gamma must be"),
            ({"gamma": -1.0}, "gamma must be"),
            ({"kernel": "gauss"}, "kernel must be"),
            ({"decision_function_shape": "all"}, "decision_function_shape"),
            ({"decision_function_shape": "ovo", "break_ties": True}, "break_ties must be False"),
        ],
    )
    def test_parameters(self, binary, options, message):
        X, y = binary
        with pytest.raises(ValueError, match=message):
            SVC(**options).fit(X, y)

    def test_data(self, binary):
        X, y = binary
        with pytest.raises(ValueError, match="number of classes"):
            SVC().fit(X, ["one"] * len(X))
        with pytest.raises(ValueError, match="all samples of class 'no' have weight 0"):
            SVC().fit(X, y, (y == "yes").astype(float))
        with pytest.raises(ValueError, match="NaN"):
            SVC().fit(np.full_like(X, np.nan), y)

    def test_infeasible_nu(self, binary):
        X, _ = binary
        y = np.arange(len(X)) < 3
        with pytest.raises(ValueError, match=r"nu is infeasible.*at most 0\.02"):
            NuSVC(nu=0.5).fit(X, y)

    def test_infeasible_nu_names_the_classes(self, iris):
        X, y = iris
        with pytest.raises(ValueError, match=r"classes 0 and 2: .*nu is infeasible"):
            NuSVC(nu=0.9).fit(X[:120], y[:120])

    def test_the_first_pair_that_fails_is_named(self, iris, monkeypatch):
        X, y = iris
        solve = NuSVC._solve_pair

        def late(self, K, own, weights, start):
            if len(own) == 70 and late.first:  # classes 0 and 2, which 1 and 2 then overtake
                late.first = False
                time.sleep(0.05)
            return solve(self, K, own, weights, start)

        late.first = True
        monkeypatch.setattr(NuSVC, "_solve_pair", late)
        with pytest.raises(ValueError, match="classes 0 and 2: "):
            NuSVC(nu=0.9, plan=Plan(workers=2)).fit(X[:120], y[:120])

    def test_pairs_that_stop_early_are_one_warning(self, iris):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            SVC(max_iter=1).fit(*iris)
        assert len(caught) == 1
        assert "3 of 3 pairs of classes did not converge" in str(caught[0].message)
        assert caught[0].filename == __file__

    def test_early_stop_is_said(self, binary):
        X, y = binary
        with pytest.warns(ConvergenceWarning, match="raise tol or max_iter"):
            model = SVC(C=1e4, max_iter=5).fit(X, y)
        assert model.fit_status_ == 1

    def test_indefinite_matrices_are_said_and_solved(self, rng):
        K = rng.standard_normal((60, 60))
        K = K + K.T
        y = rng.integers(0, 2, 60)
        with pytest.warns(NumericalWarning, match="not positive semi-definite"):
            model = SVC(kernel="precomputed").fit(K, y)
        assert np.isfinite(model.decision_function(K)).all()


def test_clone_and_parameters():
    model = SVC(C=2, kernel=Gaussian() + Linear())
    assert clone(model).get_params()["kernel__left__lengthscale"] == 1.0


def test_progress_is_shown_on_request(capsys):
    X, y = make_moons(200, noise=0.2, random_state=0)
    SVC(verbose=True).fit(X, y)
    assert "rounds" in capsys.readouterr().err
    SVC(verbose=True).fit(*load_iris(return_X_y=True))
    assert "pairs of classes: 100%" in capsys.readouterr().err
    SVC().fit(X, y)
    assert capsys.readouterr().err == ""


def test_random_state_chooses_the_folds_of_the_calibration():
    X, y = make_moons(120, noise=0.4, random_state=0)
    first, again, other = (
        SVC(probability=True, random_state=seed).fit(X, y).predict_proba(X) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)


def test_calibration_knows_class_weights_by_label(iris):
    X, y = iris
    names = np.array(["b", "a", "c"])[y]
    model = SVC(probability=True, class_weight={"a": 2, "b": 1, "c": 1}, random_state=0)
    again = SVC(probability=True, class_weight={1: 2}, random_state=0).fit(X, y)
    order = np.searchsorted(model.fit(X, names).classes_, ["b", "a", "c"])
    np.testing.assert_allclose(model.predict_proba(X)[:, order], again.predict_proba(X), atol=0.05)


def test_calibration_leaves_samples_of_weight_zero_out(binary):
    X, y = binary
    w = np.zeros(len(y))
    w[:40] = 1
    given = SVC(gamma=0.2, probability=True, random_state=0).fit(X, y, w)
    dropped = SVC(gamma=0.2, probability=True, random_state=0).fit(X[:40], y[:40])
    np.testing.assert_allclose(given.predict_proba(X), dropped.predict_proba(X), atol=1e-6)


def test_violation_of_a_solution_with_slack_is_zero(iris):
    reports = NuSVC(kernel="linear", nu=0.3).fit(*iris).decision_path()
    assert min(report.violation for report in reports) == 0


@pytest.mark.parametrize("words", [["ab", "ba", "cd"], [b"ab", b"ba", b"cd"], ["1", "2", "3"]])
def test_strings_need_a_kernel_of_their_own(words):
    with pytest.raises(DomainError, match=r"kernel='rbf' works on vectors.*Spectrum"):
        SVC().fit(words, [0, 1, 1])


@pytest.mark.parametrize("value", [1e4, 1e9, 1e12, 1e30, 1e300])
def test_one_entry_out_of_range_changes_nothing_else(value):
    """The sample that it belongs to is similar to none: the machine is that of the others."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(1200, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=1200) > 0, 1, -1)
    moved = X.copy()
    moved[700, 3] = value
    far = X.copy()
    far[700, 3] = 1e3  # no kernel value is left of it
    got = SVC(gamma=0.2, C=10, tol=1e-5).fit(moved, y).decision_function(X)
    wanted = sk.SVC(gamma=0.2, C=10, tol=1e-5).fit(far, y).decision_function(X)
    assert np.allclose(got, wanted, atol=1e-4)


def test_samples_in_bursts_are_told_apart():
    """Single precision cannot: the machine notices, and does without."""
    rng = np.random.default_rng(6)
    starts = np.repeat(rng.uniform(0, 1e8, 120), 10)
    X = np.c_[starts + rng.normal(size=1200), rng.normal(size=1200)]
    y = np.where(X[:, 0] - starts + X[:, 1] > 0, 1, -1)
    for kernel in ("rbf", Matern(1.0)):
        machine = SVC(kernel, gamma=0.5, C=10, tol=1e-4).fit(X, y)
        K = np.exp(-0.5 * cdist(X, X, "sqeuclidean")) if kernel == "rbf" else Matern(1.0)(X)
        wanted = sk.SVC(kernel="precomputed", C=10, tol=1e-4).fit(K, y)
        assert np.allclose(machine.decision_function(X), wanted.decision_function(K), atol=1e-3)


class TestHulls:
    """Whether there is a margin is decided by bounds of the distance of two convex hulls."""

    @pytest.mark.parametrize(
        ("offset", "width"),
        [(0.0, 0.1), (1e3, 0.1), (1e5, 0.1), (0.0, 1e-3), (1e3, 1e-3), (1e5, 1e-2)],
    )
    def test_hard_margin_far_from_the_origin(self, rng, offset, width):
        X = rng.uniform(-1, 1, (60, 2))
        X[:, 0] += np.sign(X[:, 0]) * width / 2
        X[:4, 0] = np.array([1, 1, -1, -1]) * width / 2  # on the edge
        X[:4, 1] = [-1, 1, -1, 1]
        y = X[:, 0] > 0
        model = SVC("linear", C=np.inf).fit(X + offset, y)
        (report,) = model.decision_path()
        assert report.margin == pytest.approx(width, rel=1e-3)
        assert report.gap <= 1e-2 * report.primal
        signed = np.where(y, 1, -1) * model.decision_function(X + offset)
        np.testing.assert_allclose(signed.min(), 1, atol=0.3)

    def test_the_primal_of_a_hard_margin_is_attained(self, iris):
        """Scaled to a margin of 1 on every sample, f has the norm that is reported."""
        X, y = iris
        model = SVC("linear", C=np.inf, tol=0.1).fit(X[:100], y[:100])
        (report,) = model.decision_path()
        w, sign = model.coef_[0], 2 * y[:100] - 1
        least = np.min(sign * model.decision_function(X[:100]))
        assert report.primal == pytest.approx(w @ w / 2 / least**2, rel=1e-9)
        best = SVC("linear", C=np.inf, tol=1e-6).fit(X[:100], y[:100]).decision_path()[0]
        assert report.dual <= best.primal * (1 + 1e-9)
        assert report.primal >= best.dual * (1 - 1e-9)

    @pytest.mark.parametrize("n", [60, 1200])
    @pytest.mark.parametrize("tol", [1e-1, 1e-3])
    def test_nu_of_labels_without_any_rule(self, n, tol):
        """Every point in both classes: the reduced hulls are the same set, for any nu."""
        rng = np.random.default_rng(0)
        X = np.repeat(rng.standard_normal((n // 2, 2)), 2, axis=0)
        for nu in (0.1, 0.5, 1.0):
            with pytest.raises(ValueError, match="leaves no margin"):
                NuSVC("linear", nu=nu, tol=tol).fit(X, np.arange(n) % 2)

    def test_nu_of_a_small_margin_is_found_at_any_tol(self, rng):
        """The coarse solution proves nothing, a finer one does."""
        X = rng.uniform(-1, 1, (40, 2))
        y = X[:, 0] > 0
        for tol in (1.0, 1e-3):
            model = NuSVC("linear", nu=0.1, tol=tol).fit(1e-2 * X, y)
            assert model.fit_status_ == 0
            assert model.score(1e-2 * X, y) > 0.9


class TestWords:
    @pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
    def test_class_weights_are_weights(self, iris, weight):
        with pytest.raises(ValueError, match="class_weight must be >= 0"):
            SVC(class_weight={0: weight}).fit(*iris)

    @pytest.mark.parametrize("model", [SVC, NuSVC, SVR, OneClassSVM])
    def test_degrees_are_whole(self, iris, model):
        with pytest.raises(ValueError, match="degree must be an integer"):
            model("poly", degree=2.5).fit(*iris)
        assert model("poly", degree=2.0).fit(*iris).kernel_.degree == 2

    def test_bad_samples_are_named_by_their_place(self):
        words = ["acgt", "acca", "gtgt", "ttgg", 3, "acac"]
        with pytest.raises(ValueError, match="sample 4 is a int"):
            SVC(Spectrum(2)).fit(words, [1, 0, 1, 0, 1, 0])

    @pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.1), SVR(), NuSVR(), OneClassSVM()])
    def test_kernels_that_overflow(self, rng, model):
        """exp(x'y) of large x: one class was predicted for all."""
        X = rng.standard_normal((60, 3))
        with pytest.raises(ValueError, match="not finite"):
            model.set_params(kernel=Exponential()).fit(100 * X, X[:, 0] > 0)


class TestPlans:
    """Memory, threads, storage and rank, as a plan asks for them."""

    def test_rows_are_kept_as_far_as_memory_allows(self, rng):
        X = rng.standard_normal((1500, 4))
        y = X[:, 0] * X[:, 1] > 0
        usual = SVC(C=10.0, tol=1e-4).fit(X, y)
        small = SVC(C=10.0, tol=1e-4, plan=Plan(memory="2 MB")).fit(X, y)
        assert "at most 200 MB of rows are kept" in usual.gram_.explain()
        assert "at most 1.33 MB of rows are kept" in small.gram_.explain()
        np.testing.assert_allclose(
            small.decision_function(X), usual.decision_function(X), atol=5e-3
        )

    def test_too_little_for_a_few_rows_is_refused(self, monkeypatch):
        monkeypatch.setattr(svm_base, "_LEAST", 1.0)
        X = np.arange(300.0)[:, None]
        with pytest.raises(MemoryPlanError, match="a few rows of 300 samples"):
            SVC(plan=Plan(memory="100 kB")).fit(X, X[:, 0] > 150)
        with pytest.raises(MemoryPlanError, match="the plan allows 100 kB"):
            SVC(plan=Plan(memory="100 kB", storage="dense")).fit(X, X[:, 0] > 150)

    @pytest.mark.parametrize("storage", ["dense", "tiled"])
    def test_storage(self, rng, storage):
        X = rng.standard_normal((200, 3))
        y = rng.integers(0, 3, 200)
        for kernel in ("rbf", "linear"):
            found = SVC(kernel, tol=1e-5, plan=Plan(storage=storage)).fit(X, y)
            usual = SVC(kernel, tol=1e-5).fit(X, y)
            np.testing.assert_allclose(found._pair_scores(X), usual._pair_scores(X), atol=1e-3)
            how = {"dense": "stored as an array", "tiled": "computed when they are needed"}
            assert how[storage] in found.gram_.explain()

    def test_a_rank_trains_on_features(self, rng):
        X = rng.standard_normal((300, 2))
        y = X[:, 0] * X[:, 1] > 0
        low = SVC(gamma=0.5, tol=1e-5, plan=Plan(rank=120)).fit(X, y)
        assert isinstance(low.kernel_, Nystrom)
        assert f"its rows computed from {low.kernel_.rank} features" in low.gram_.explain()
        usual = SVC(gamma=0.5, tol=1e-5).fit(X, y)
        np.testing.assert_allclose(low.decision_function(X), usual.decision_function(X), atol=2e-2)

    def test_a_given_matrix_and_no_support_vectors_are_explained(self, rng):
        X = rng.standard_normal((60, 2))
        model = SVC("precomputed").fit(X @ X.T, X[:, 0] > 0)
        assert "trained on 60 samples: K of float64, as it was given" in model.gram_.explain()
        flat = SVR(epsilon=10.0).fit(X, X[:, 0])
        assert flat.gram_.explain().startswith("GivenColumns: 0 columns")

    def test_files_keep_what_was_done(self, rng, tmp_path):
        X = rng.standard_normal((60, 2))
        model = SVC(plan=Plan(rank=20)).fit(X, X[:, 0] > 0)
        save(model, tmp_path / "model.zip")
        again = load(tmp_path / "model.zip")
        assert again.gram_.explain() == model.gram_.explain()
        np.testing.assert_allclose(again.decision_function(X), model.decision_function(X))
