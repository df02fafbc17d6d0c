"""Splines against scipy and quadrature; kernels with a basis against refitting."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.integrate import quad
from scipy.interpolate import CubicSpline, RBFInterpolator, make_smoothing_spline
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import (
    LSSVR,
    Gaussian,
    KernelRidge,
    SemiparametricRidge,
    SmoothingSpline,
    Spectrum,
    Spline,
    ThinPlateSpline,
)
from mercer.exceptions import ConvergenceWarning

WEIGHTS = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a sample left out is left out with all its "
    "weight, one of its repetitions is not: another alpha is chosen"
    for kind in ("dense", "sparse")
}

COLUMNS = dict.fromkeys(
    [
        "check_all_zero_sample_weights_error",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_fit2d_1sample",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_regressor_data_not_an_array",
        "check_regressor_multioutput",
        "check_regressors_int",
        "check_regressors_no_decision_function",
        "check_regressors_train",
        "check_sample_weight_equivalence_on_dense_data",
    ],
    "X has four columns or more, for which order 2 is too low",
)


@parametrize_with_checks(
    [
        SemiparametricRidge(),
        SemiparametricRidge(Gaussian(), alpha=0.5),
        SemiparametricRidge(alpha="loo"),
    ],
    expected_failed_checks=lambda estimator: WEIGHTS if estimator.alpha == "loo" else {},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [ThinPlateSpline(), ThinPlateSpline(alpha=1.0)], expected_failed_checks=lambda _: COLUMNS
)
def test_scikit_learn_contract_of_plates(estimator, check):
    check(estimator)


@pytest.fixture
def line(rng):
    x = np.linspace(-3, 7, 40) + rng.uniform(-0.1, 0.1, 40)
    y = np.sin(x) + 0.2 * rng.standard_normal(40)
    return x, y, rng.uniform(0.3, 2, 40), np.linspace(x[0], x[-1], 201)


@pytest.fixture
def plane(rng):
    X = rng.uniform(-2, 3, (60, 2))
    Y = np.column_stack([np.sin(X[:, 0]) * X[:, 1], X[:, 0] ** 2])
    return X, Y + 0.1 * rng.standard_normal(Y.shape), rng.uniform(-2, 3, (30, 2))


class TestSmoothingSpline:
    def test_without_penalty_is_the_natural_spline(self, line):
        x, y, w, new = line
        model = SmoothingSpline(alpha=0).fit(x, y, w)
        expected = CubicSpline(x, y, bc_type="natural")
        np.testing.assert_allclose(model.predict(new), expected(new), atol=1e-7)
        for r in (1, 2):
            np.testing.assert_allclose(model.predict(new, r), expected(new, r), atol=1e-4)
        assert model.degrees_of_freedom_ == 40
        near = SmoothingSpline(alpha=1e-8).fit(x, y, w).predict(new)
        np.testing.assert_allclose(near, expected(new), atol=1e-4)

    @pytest.mark.parametrize("alpha", [1e-3, 1.0, 50.0])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_equals_scipy(self, line, alpha, weighted):
        x, y, w, new = line
        w = w if weighted else None
        model = SmoothingSpline(alpha=alpha).fit(x, y, w)
        theirs = make_smoothing_spline(x, y, w, lam=alpha)
        np.testing.assert_allclose(model.predict(new), theirs(new), atol=1e-9)
        inside = new[1:-1]  # the third derivative jumps at the ends
        for r in (1, 2, 3):
            got, expected = model.predict(inside, derivative=r), theirs.derivative(r)(inside)
            np.testing.assert_allclose(got, expected, atol=1e-7)
        assert model.alpha_ == pytest.approx(alpha)
        assert model.solution_.stats["residual"] < 1e-10

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_large_penalty_leaves_the_polynomial(self, line, order):
        x, y, w, new = line
        model = SmoothingSpline(order, alpha=1e12).fit(x, y, w)
        expected = np.polynomial.Polynomial.fit(x, y, order - 1, w=np.sqrt(w))(new)
        np.testing.assert_allclose(model.predict(new), expected, atol=1e-6)
        assert model.degrees_of_freedom_ == pytest.approx(order, abs=1e-5)
        assert model.null_coef_.shape == (order,)

    def test_order_one_joins_points_by_lines(self, line):
        x, y, _, new = line
        got = SmoothingSpline(1, alpha=0).fit(x, y).predict(new)
        np.testing.assert_allclose(got, np.interp(new, x, y), atol=1e-10)

    def test_order_one_is_a_tridiagonal_system(self, line):
        """Values at the points minimise sum w (y - f)^2 + alpha sum (df)^2 / dx."""
        x, y, w, _ = line
        D = np.diff(np.eye(40), axis=0)
        penalty = D.T @ np.diag(1 / np.diff(x)) @ D
        expected = np.linalg.solve(np.diag(w) + 0.7 * penalty, w * y)
        model = SmoothingSpline(1, alpha=0.7).fit(x, y, w)
        np.testing.assert_allclose(model.predict(x), expected, atol=1e-10)

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_equals_the_reproducing_kernel_of_the_penalty(self, line, order):
        """On [0, 1], where no scaling is involved, and beyond the choice of kernel."""
        x, y, w, new = line
        low, high = x.min(), x.max()
        unit, new = (x - low) / (high - low), (new - low) / (high - low)
        ours = SmoothingSpline(order, alpha=1e-4).fit(unit, y, w)
        theirs = SemiparametricRidge(
            Spline(order, polynomial=False), lambda X: X ** np.arange(order), 1e-4
        ).fit(unit[:, None], y, w)
        np.testing.assert_allclose(ours.predict(new), theirs.predict(new[:, None]), atol=1e-8)
        assert ours.degrees_of_freedom_ == pytest.approx(theirs.degrees_of_freedom_)
        assert ours.penalty_ == pytest.approx(theirs.penalty_, rel=1e-6)

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_penalty_is_the_integral(self, line, order):
        x, y, w, _ = line
        model = SmoothingSpline(order, alpha=0.3).fit(x, y, w)
        squared = lambda t: model.predict([t], derivative=order)[0] ** 2  # noqa: E731
        pieces = [quad(squared, a, b)[0] for a, b in pairwise(x)]
        assert model.penalty_ == pytest.approx(sum(pieces), rel=1e-8)

    @pytest.mark.parametrize("order", [1, 2, 3])
    def test_minimises_the_objective(self, line, rng, order):
        """No small change of the coefficients within the spline space does better."""
        x, y, w, _ = line
        model = SmoothingSpline(order, alpha=0.3).fit(x, y, w)
        E, c, d = model.gram_.to_dense(), model.coef_, model.null_coef_
        z = model.gram_.Z
        P, unit = z ** np.arange(order), model.scale_ ** (2 * order - 1)

        def objective(c, d):
            return w @ (y - E @ c - P @ d) ** 2 + 0.3 * c @ E @ c / unit

        best = objective(c, d)
        assert best == pytest.approx(w @ (y - model.predict(x)) ** 2 + 0.3 * model.penalty_)
        Z = np.linalg.qr(P, mode="complete")[0][:, order:]
        for _ in range(20):
            step = Z @ rng.standard_normal(40 - order) * np.abs(c).mean() * 1e-3
            assert objective(c + step, d + 1e-4 * rng.standard_normal(order)) > best

    def test_derivatives_by_differences(self, line):
        x, y, _, new = line
        for order in (2, 3):
            model = SmoothingSpline(order, alpha=0.1).fit(x, y)
            for r in range(1, 2 * order - 1):
                h = 1e-4
                slope = model.predict(new + h, r - 1) - model.predict(new - h, r - 1)
                got = model.predict(new, derivative=r)
                np.testing.assert_allclose(got, slope / (2 * h), atol=2e-3 * np.abs(got).max())

    def test_polynomial_beyond_the_data(self, line):
        x, y, _, _ = line
        model = SmoothingSpline(alpha=0.1).fit(x, y)
        beyond = model.predict([8.0, 9.0, 10.0, -5.0, -6.0, -7.0])
        np.testing.assert_allclose(np.diff(beyond[:3], 2), 0, atol=1e-9)
        np.testing.assert_allclose(np.diff(beyond[3:], 2), 0, atol=1e-9)

    @pytest.mark.parametrize("alpha", [0.0, 0.2])
    def test_leave_one_out_equals_refitting(self, line, alpha):
        x, y, w, _ = line
        x = np.append(x, x[[5, 5, 20]])  # ties
        y, w = np.append(y, [0.0, 1.0, -1.0]), np.append(w, [1.0, 2.0, 0.5])
        model = SmoothingSpline(alpha=alpha).fit(x, y, w)
        held_out = model.leave_one_out()
        for i in (0, 5, 12, 39, 40, 41, 42):
            rest = np.delete(np.arange(43), i)
            refit = clone(model).fit(x[rest], y[rest], w[rest])
            assert held_out[i] == pytest.approx(refit.predict([x[i]])[0], abs=1e-5)
        assert model.loo_[0] == pytest.approx(np.average((y - held_out) ** 2, weights=w))

    def test_weights_are_repetitions(self, line):
        x, y, _, new = line
        counts = np.arange(40) % 4
        weighted = SmoothingSpline(alpha=0.5).fit(x, y, counts)
        x, y = np.repeat(x, counts), np.repeat(y, counts)
        repeated = SmoothingSpline(alpha=0.5).fit(x, y)
        np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-9)
        assert len(repeated.points_) == 30

    def test_ties_without_penalty_meet_their_mean(self):
        x = [3.0, 0.0, 1.0, 1.0, 2.0, -0.0]
        model = SmoothingSpline(alpha=0).fit(x, [5.0, 0.0, 1.0, 3.0, 4.0, 1.0])
        np.testing.assert_allclose(model.predict([0.0, 1.0, 2.0, 3.0]), [0.5, 2, 4, 5], atol=1e-10)

    def test_alpha_keeps_its_meaning_in_other_units(self, line):
        x, y, _, new = line
        model = SmoothingSpline(alpha=0.2).fit(x, y)
        scaled = SmoothingSpline(alpha=0.2 * 1000**3).fit(1000 * x + 1e5, y)
        np.testing.assert_allclose(scaled.predict(1000 * new + 1e5), model.predict(new), atol=1e-8)
        automatic = SmoothingSpline().fit(x, y)
        scaled = SmoothingSpline().fit(1000 * x + 1e5, y)
        assert scaled.alpha_ == pytest.approx(automatic.alpha_ * 1000**3, rel=1e-2)
        assert scaled.penalty_ == pytest.approx(automatic.penalty_ / 1000**3, rel=1e-2)

    @pytest.mark.parametrize("criterion", ["gcv", "loo"])
    def test_chooses_alpha(self, line, criterion):
        x, y, w, _ = line
        model = SmoothingSpline(alpha=criterion).fit(x, y, w)
        scores = model.gcv_ if criterion == "gcv" else model.loo_
        assert model.alphas_[np.argmin(scores)] == pytest.approx(model.alpha_)
        for factor in (0.7, 1.4):  # by the other way to the same numbers
            other = SmoothingSpline(alpha=factor * model.alpha_).fit(x, y, w)
            assert (other.gcv_ if criterion == "gcv" else other.loo_)[0] > scores.min()
        at = SmoothingSpline(alpha=model.alpha_).fit(x, y, w)
        assert (at.gcv_ if criterion == "gcv" else at.loo_)[0] == pytest.approx(scores.min())
        theirs = SmoothingSpline(alpha=_lam(x, y, w)).fit(x, y, w)
        assert (theirs.gcv_ if criterion == "gcv" else theirs.loo_)[0] >= scores.min() - 1e-9

    @pytest.mark.parametrize("criterion", ["gcv", "loo"])
    def test_the_largest_alpha_wins_where_all_are_equal(self, line, criterion):
        x, _, _, _ = line
        for y in (3 - 2 * x, np.zeros(40)):
            model = SmoothingSpline(alpha=criterion).fit(x, y)
            assert model.degrees_of_freedom_ == pytest.approx(2, abs=1e-3)
            np.testing.assert_allclose(model.predict(x), y, atol=1e-10)

    def test_targets_share_alpha(self, line):
        x, y, _, new = line
        both = SmoothingSpline().fit(x, np.column_stack([y, np.cos(x)]))
        one = SmoothingSpline(alpha=both.alpha_).fit(x, y)
        np.testing.assert_allclose(both.predict(new)[:, 0], one.predict(new), atol=1e-9)
        assert both.coef_.shape == (40, 2)
        assert both.penalty_.shape == (2,)
        assert both.leave_one_out().shape == (40, 2)

    def test_scikit_learn_tools(self, line):
        x, y, _, new = line
        frame = pd.DataFrame({"time": x})
        model = SmoothingSpline(alpha=0.1).fit(frame, y)
        assert list(model.feature_names_in_) == ["time"]
        assert model.n_features_in_ == 1
        by_array = SmoothingSpline(alpha=0.1).fit(x[::-1], y[::-1])
        np.testing.assert_allclose(by_array.predict(x), model.predict(frame), atol=1e-9)
        search = GridSearchCV(SmoothingSpline(), {"alpha": [1e-4, 0.05, 1e4], "order": [1, 2]})
        order = np.argsort(np.sin(1e3 * x))
        assert search.fit(x[order, None], y[order]).best_params_["alpha"] == 0.05
        pipeline = make_pipeline(StandardScaler(), SmoothingSpline()).fit(x[:, None], y)
        expected = SmoothingSpline().fit(x, y).predict(new)
        np.testing.assert_allclose(pipeline.predict(new[:, None]), expected, atol=1e-3)
        with pytest.raises(NotFittedError):
            SmoothingSpline().predict(x)

    def test_says_when_digits_are_lost(self, rng):
        x = np.sort(rng.uniform(size=150))
        with pytest.warns(ConvergenceWarning, match="raise alpha"):
            SmoothingSpline(alpha=0).fit(x, rng.standard_normal(150))


def _lam(x, y, w):
    """The penalty scipy chooses, read off its spline: sum w (y - f) f = lam int f''^2."""
    f = make_smoothing_spline(x, y, w)
    bend = f.derivative(2)
    squared = sum(quad(lambda t: bend(t) ** 2, a, b)[0] for a, b in pairwise(x))
    return float(w @ ((y - f(x)) * f(x))) / squared


class TestThinPlateSpline:
    @pytest.mark.parametrize("alpha", [0.0, 0.01, 5.0])
    def test_equals_scipy_in_the_plane(self, plane, alpha):
        X, Y, new = plane
        theirs = RBFInterpolator(X, Y, kernel="thin_plate_spline", smoothing=8 * np.pi * alpha)
        got = ThinPlateSpline(alpha=alpha).fit(X, Y).predict(new)
        np.testing.assert_allclose(got, theirs(new), atol=1e-8)

    @pytest.mark.parametrize(
        ("d", "order", "kernel", "theta"),
        [
            (1, 1, "linear", 1 / 2),
            (1, 2, "cubic", 1 / 12),
            (1, 3, "quintic", 1 / 240),
            (3, 2, "linear", 1 / (8 * np.pi)),
            (3, 3, "cubic", 1 / (96 * np.pi)),
        ],
    )
    def test_equals_scipy_in_odd_dimensions(self, rng, d, order, kernel, theta):
        X, new = rng.uniform(-1, 2, (50, d)), rng.uniform(-1, 2, (20, d))
        y, w = rng.standard_normal(50), rng.uniform(0.5, 2, 50)
        theirs = RBFInterpolator(X, y, kernel=kernel, smoothing=0.03 / theta / w, degree=order - 1)
        model = ThinPlateSpline(order, alpha=0.03).fit(X, y, w)
        np.testing.assert_allclose(model.predict(new), theirs(new), atol=1e-7)

    def test_in_one_variable_is_the_smoothing_spline(self, line):
        x, y, w, new = line
        for order in (1, 2, 3):
            plate = ThinPlateSpline(order, alpha="loo").fit(x[:, None], y, w)
            spline = SmoothingSpline(order, alpha="loo").fit(x, y, w)
            np.testing.assert_allclose(plate.predict(new[:, None]), spline.predict(new))
            assert plate.degrees_of_freedom_ == spline.degrees_of_freedom_

    @pytest.mark.parametrize(("d", "order"), [(2, 2), (2, 3), (3, 2), (4, 3), (5, 3)])
    def test_kernel_is_positive_definite_beside_polynomials(self, rng, d, order):
        X, y = rng.standard_normal((60, d)), rng.standard_normal(60)
        model = ThinPlateSpline(order, alpha=1e-3).fit(X, y)
        assert model.penalty_ > 0
        far = ThinPlateSpline(order, alpha=1e9).fit(X, y)
        assert far.degrees_of_freedom_ == pytest.approx(len(far.null_coef_), abs=1e-3)

    def test_penalty_is_the_bending_energy(self):
        """The integral of f_xx^2 + 2 f_xy^2 + f_yy^2, for a function that decays fast."""
        axis = np.array([-1.5, -0.5, 0.5, 1.5])
        nodes = np.array([(a, b) for a in axis for b in axis])
        c = np.multiply.outer([1, -3, 3, -1], [1, -3, 3, -1]).ravel()
        X = np.vstack([nodes, [[9.0, 9.0], [-9.0, 9.0], [9.0, -9.0]]])
        R = np.linalg.norm(X[:, None] - nodes, axis=-1)
        values = np.where(R > 0, R**2 * np.log(np.where(R > 0, R, 1)), 0) @ c
        model = ThinPlateSpline(alpha=0).fit(X, values)
        h = 0.05
        grid = np.arange(-8, 8, h) + h / 2 + 0.003
        gx, gy = (g.ravel() for g in np.meshgrid(grid, grid))
        fxx, fxy, fyy = np.zeros_like(gx), np.zeros_like(gx), np.zeros_like(gx)
        for (a, b), weight in zip(nodes, c, strict=True):
            u, v = gx - a, gy - b
            q = u * u + v * v
            fxx += weight * (np.log(q) + 1 + 2 * u * u / q)
            fyy += weight * (np.log(q) + 1 + 2 * v * v / q)
            fxy += weight * 2 * u * v / q
        energy = np.sum(fxx**2 + 2 * fxy**2 + fyy**2) * h * h
        assert model.penalty_ == pytest.approx(energy, rel=1e-2)

    def test_turning_and_moving_changes_nothing(self, plane):
        X, Y, new = plane
        turn = np.array([[0.6, -0.8], [0.8, 0.6]])
        one = ThinPlateSpline(alpha=0.1).fit(X, Y)
        other = ThinPlateSpline(alpha=0.1).fit(X @ turn + 100, Y)
        np.testing.assert_allclose(other.predict(new @ turn + 100), one.predict(new), atol=1e-8)
        scaled = ThinPlateSpline(alpha=0.1 * 50**2).fit(50 * X, Y)
        np.testing.assert_allclose(scaled.predict(50 * new), one.predict(new), atol=1e-8)
        np.testing.assert_allclose(scaled.penalty_, one.penalty_ / 50**2, rtol=1e-6)

    def test_chooses_alpha(self, plane):
        X, Y, new = plane
        for criterion in ("gcv", "loo"):
            model = ThinPlateSpline(alpha=criterion).fit(X, Y)
            assert 3 < model.degrees_of_freedom_ < 60
            truth = np.column_stack([np.sin(new[:, 0]) * new[:, 1], new[:, 0] ** 2])
            assert np.sqrt(np.mean((model.predict(new) - truth) ** 2)) < 0.3

    def test_leave_one_out_equals_refitting(self, plane, rng):
        X, Y, _ = plane
        X, Y = np.vstack([X, X[:2]]), np.vstack([Y, Y[:2] + 1])
        w = rng.uniform(0.5, 2, 62)
        model = ThinPlateSpline(alpha=0.05).fit(X, Y, w)
        for i in (0, 30, 61):
            rest = np.delete(np.arange(62), i)
            refit = clone(model).fit(X[rest], Y[rest], w[rest])
            np.testing.assert_allclose(
                model.leave_one_out()[i], refit.predict(X[[i]])[0], atol=1e-8
            )


class TestSemiparametricRidge:
    @pytest.fixture
    def data(self, rng):
        X = rng.uniform(0, 10, (70, 1))
        y = 3 * X[:, 0] + np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(70)
        return X, y, rng.uniform(0.3, 2, 70)

    @pytest.mark.parametrize("basis", ["constant", "linear", lambda X: np.exp(-X)])
    def test_optimality(self, data, basis):
        """The gradient of sum w (y - Kc - Pd)^2 + alpha c'Kc vanishes in c and in d."""
        X, y, w = data
        model = SemiparametricRidge(Gaussian(), basis, 0.2).fit(X, y, w)
        K, P = Gaussian()(X), model._basis(X, 70)
        rest = w * (y - model.predict(X))
        assert np.abs(K @ (rest - 0.2 * model.coef_)).max() < 1e-9
        assert np.abs(P.T @ rest).max() < 1e-9
        assert model.penalty_ == pytest.approx(model.coef_ @ K @ model.coef_)

    def test_with_a_constant_is_the_least_squares_machine(self, data):
        X, y, w = data
        ours = SemiparametricRidge(Gaussian(), alpha=0.1).fit(X, y, w)
        theirs = LSSVR(C=10, kernel=Gaussian()).fit(X, y, w)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-8)
        assert ours.null_coef_[0] == pytest.approx(theirs.intercept_)

    def test_the_trend_remains_far_away(self, data):
        X, y, _ = data
        model = SemiparametricRidge(Gaussian(), "linear", "gcv").fit(X, y)
        assert model.predict([[40.0]])[0] == pytest.approx(120, abs=4)
        plain = KernelRidge(alpha=0.1, kernel=Gaussian()).fit(X, y)
        assert abs(plain.predict([[40.0]])[0]) < 1e-6

    def test_leave_one_out_equals_refitting(self, data):
        X, y, _ = data
        model = SemiparametricRidge(Gaussian(), "linear", 0.3).fit(X, y)
        held_out = cross_val_predict(model, X, y, cv=70)
        np.testing.assert_allclose(model.leave_one_out(), held_out, atol=1e-8)

    def test_any_data(self, data):
        texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 3
        y = np.array([t.count("ab") + 2 * len(t) for t in texts], dtype=float)
        model = SemiparametricRidge(
            Spectrum(2), lambda T: np.array([[1, len(t)] for t in T]), alpha=1e-3
        ).fit(texts, y)
        np.testing.assert_allclose(model.predict(texts), y, atol=0.01)
        with pytest.raises(ValueError, match='basis="linear"'):
            SemiparametricRidge(Spectrum(2), "linear").fit(texts, y)
        X, y, _ = data
        sparse = SemiparametricRidge(Gaussian(), "linear").fit(sp.csr_matrix(X), y)
        dense = SemiparametricRidge(Gaussian(), "linear").fit(X, y)
        np.testing.assert_allclose(sparse.predict(sp.csr_matrix(X)), dense.predict(X), atol=1e-9)
        search = GridSearchCV(dense, {"kernel__lengthscale": [0.01, 1.0], "basis": ["linear"]})
        assert search.fit(X, y).best_params_["kernel__lengthscale"] == 1.0

    def test_precomputed(self, data):
        X, y, _ = data
        K = Gaussian()(X)
        ours = SemiparametricRidge("precomputed", alpha=0.2).fit(K, y)
        expected = SemiparametricRidge(Gaussian(), alpha=0.2).fit(X, y).predict(X[:5])
        np.testing.assert_allclose(ours.predict(K[:5]), expected, atol=1e-9)


class TestBadInput:
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (SmoothingSpline(alpha=-1), "alpha must be >= 0 and finite"),
            (SmoothingSpline(alpha=np.nan), "alpha must be >= 0 and finite"),
            (SmoothingSpline(alpha="aic"), 'alpha must be a number, "gcv" or "loo"'),
            (SmoothingSpline(alpha=[1, 2]), "alpha must be >= 0 and finite"),
            (SmoothingSpline(0), "order must be an integer > d / 2, so at least 1"),
            (SmoothingSpline(1.5), "order must be an integer"),
            (SmoothingSpline(9), "at least 9 distinct points"),
            (SmoothingSpline(6), "alpha='gcv' needs more than 6 distinct points"),
            (SemiparametricRidge(basis="cubic"), "basis must be"),
            (SemiparametricRidge(basis=lambda X: np.ones(3)), r"shape \(6, m\)"),
            (SemiparametricRidge(kernel="gauss"), "kernel must be"),
        ],
    )
    def test_parameters(self, model, message):
        x = np.arange(6.0)[:, None]
        with pytest.raises(ValueError, match=message):
            model.fit(x, np.arange(6.0) ** 2)

    def test_order_of_plates(self, rng):
        X = rng.standard_normal((30, 4))
        with pytest.raises(ValueError, match="at least 3 for X with d = 4 columns"):
            ThinPlateSpline().fit(X, X[:, 0])
        t = np.linspace(0, 1, 30)
        with pytest.raises(ValueError, match="linearly independent"):
            ThinPlateSpline().fit(np.column_stack([t, 2 * t]), t)

    def test_data(self, line):
        x, y, w, _ = line
        model = SmoothingSpline(alpha=1.0)
        with pytest.raises(ValueError, match="works on one variable"):
            model.fit(np.column_stack([x, x]), y)
        with pytest.raises(ValueError, match=r"inconsistent numbers of samples|Found input"):
            model.fit(x, y[:-1])
        with pytest.raises(ValueError, match="NaN"):
            model.fit(np.full_like(x, np.nan), y)
        with pytest.raises(ValueError, match="y is None"):
            model.fit(x, None)
        with pytest.raises(ValueError, match="sample_weight must be >= 0"):
            model.fit(x, y, -w)
        with pytest.raises(ValueError, match="at least 2 distinct points"):
            model.fit(np.zeros(5), np.arange(5.0))
        with pytest.raises(ValueError, match="derivative must be an integer from 0 to 3"):
            model.fit(x, y).predict(x, derivative=4)


@pytest.mark.parametrize("size", [1e150, 1e-150])
def test_numbers_without_powers(size):
    x = size * np.arange(9.0)
    with pytest.raises(ValueError, match=r"X spans 8e.*, whose power of 3 .*divide X by"):
        SmoothingSpline().fit(x, np.arange(9.0))
