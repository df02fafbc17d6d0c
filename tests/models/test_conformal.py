import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVR, Gaussian, KernelRidge, KernelRidgeCV, Linear, Plan, Spectrum
from mercer.exceptions import NumericalWarning
from mercer.models import conformal
from mercer.models.conformal import ConformalRegressor


@parametrize_with_checks(
    [
        ConformalRegressor(KernelRidge()),
        ConformalRegressor(LinearRegression(), cv=3),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def data(rng):
    X = rng.uniform(-3, 3, (40, 1))
    return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(40), rng.uniform(0.3, 2, 40)


def by_definition(models, residuals, X, level):
    """The interval from one model per residual, with sorted lists and 1-based ranks."""
    n, ends = len(residuals), []
    for mu in np.array([m.predict(X) for m in models]).T:
        low, high = sorted(mu - np.abs(residuals)), sorted(mu + np.abs(residuals))
        below = int(np.floor(round((1 - level) * (n + 1), 9)))
        ends.append([low[below - 1], high[int(np.ceil(round(level * (n + 1), 9))) - 1]])
    return np.array(ends)


class TestJackknife:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("kernel", [Gaussian(), Linear() + 1, "rbf"], ids=repr)
    def test_closed_form_equals_refitting(self, data, kernel, weighted):
        X, y, w = data
        w = w if weighted else None
        model = ConformalRegressor(KernelRidge(0.2, kernel=kernel)).fit(X, y, w)
        assert model.method_ == "jackknife+"
        assert model.estimators_ == []
        models = []
        for i in range(len(y)):
            keep = np.arange(len(y)) != i
            own = None if w is None else w[keep]
            models.append(KernelRidge(0.2, kernel=kernel).fit(X[keep], y[keep], own))
        residuals = np.array([y[i] - m.predict(X[[i]])[0] for i, m in enumerate(models)])
        np.testing.assert_allclose(model.residuals_, residuals, atol=1e-9)
        Z = np.linspace(-4, 4, 11)[:, None]
        for level in (0.5, 0.8, 0.95):
            expected = by_definition(models, residuals, Z, level)
            np.testing.assert_allclose(model.predict_interval(Z, level), expected, atol=1e-9)
        np.testing.assert_allclose(model.predict(Z), clone(models[0]).fit(X, y, w).predict(Z))

    def test_the_general_way_agrees(self, data):
        """Leave-one-out folds refit every model; tiled matrices are never factorised."""
        X, y, w = data
        closed = ConformalRegressor(KernelRidge(0.2, kernel=Gaussian())).fit(X, y, w)
        folds = ConformalRegressor(
            KernelRidge(0.2, kernel=Gaussian()), method="cv+", cv=LeaveOneOut()
        ).fit(X, y, w)
        tiled = KernelRidge(0.2, kernel=Gaussian(), plan=Plan(storage="tiled"), tol=1e-12)
        refitted = ConformalRegressor(tiled, method="jackknife+").fit(X, y, w)
        assert len(folds.estimators_) == len(refitted.estimators_) == 40
        for other in (folds, refitted):
            np.testing.assert_allclose(
                other.predict_interval(X), closed.predict_interval(X), atol=1e-7
            )
        assert ConformalRegressor(tiled, cv=4).fit(X, y).method_ == "cv+"

    def test_chosen_parameters_stay(self, data):
        X, y, _ = data
        chosen = KernelRidgeCV(kernel=Gaussian(), alphas=[0.1, 1.0]).fit(X, y)
        fixed = KernelRidge(chosen.alpha_, kernel=Gaussian())
        a = ConformalRegressor(KernelRidgeCV(kernel=Gaussian(), alphas=[0.1, 1.0])).fit(X, y)
        b = ConformalRegressor(fixed).fit(X, y)
        np.testing.assert_allclose(a.predict_interval(X), b.predict_interval(X), atol=1e-9)

    def test_blocks(self, data, monkeypatch):
        X, y, _ = data
        for method in ("jackknife+", "cv+"):
            model = ConformalRegressor(KernelRidge(kernel=Gaussian()), method=method).fit(X, y)
            whole = model.predict_interval(X)
            with monkeypatch.context() as patch:
                patch.setattr(conformal, "_ENTRIES", 7 * len(y))
                np.testing.assert_allclose(model.predict_interval(X), whole, atol=1e-12)

    def test_samples_of_weight_zero_are_left_out(self, data):
        X, y, w = data
        w[:10] = 0
        some = ConformalRegressor(KernelRidge(kernel=Gaussian())).fit(X, y, w)
        rest = ConformalRegressor(KernelRidge(kernel=Gaussian())).fit(X[10:], y[10:], w[10:])
        np.testing.assert_allclose(some.predict_interval(X), rest.predict_interval(X))

    def test_structured_data(self, data):
        texts = ["abab", "abba", "bbbb", "aaaa", "abcab", "cabca", "bcbc", "ccab"] * 4
        y = np.array([t.count("ab") for t in texts], dtype=float)
        for method in ("jackknife+", "cv+", "split"):
            model = ConformalRegressor(
                KernelRidge(kernel=Spectrum(2)), method=method, level=0.7, random_state=0
            )
            assert model.fit(texts, y).predict_interval(["abab", "cc"]).shape == (2, 2)


@pytest.mark.parametrize("method", ["jackknife+", "cv+", "split"])
def test_kernel_matrices(data, method):
    X, y, _ = data
    K = Gaussian()(X)
    options = {"method": method, "random_state": 0, "level": 0.8}
    known = ConformalRegressor(KernelRidge(kernel="precomputed"), **options).fit(K, y)
    model = ConformalRegressor(KernelRidge(kernel=Gaussian()), **options).fit(X, y)
    Z = X[:5] + 0.1
    rows = Gaussian()(Z, X)
    np.testing.assert_allclose(known.predict(rows), model.predict(Z), atol=1e-9)
    np.testing.assert_allclose(known.predict_interval(rows), model.predict_interval(Z), atol=1e-9)


class TestFolds:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_cv_plus_by_definition(self, data, weighted):
        X, y, w = data
        w = w if weighted else None
        model = ConformalRegressor(LinearRegression(), cv=KFold(4), level=0.8).fit(X, y, w)
        assert model.method_ == "cv+"
        residuals, models = np.empty(40), np.empty(40, dtype=object)
        for train, test in KFold(4).split(X):
            own = None if w is None else w[train]
            fold = LinearRegression().fit(X[train], y[train], own)
            residuals[test] = y[test] - fold.predict(X[test])
            models[test] = fold
        np.testing.assert_allclose(model.residuals_, residuals)
        Z = X[:6] + 0.1
        np.testing.assert_allclose(
            model.predict_interval(Z), by_definition(models, residuals, Z, 0.8)
        )

    def test_split_by_definition(self, data):
        X, y, _ = data
        model = ConformalRegressor(
            LinearRegression(), method="split", calibration_size=0.5, level=0.8, random_state=3
        ).fit(X, y)
        assert len(model.residuals_) == 20
        widths = np.ptp(model.predict_interval(X), axis=1)
        rank = int(np.ceil(0.8 * 21))
        np.testing.assert_allclose(widths, 2 * np.sort(np.abs(model.residuals_))[rank - 1])
        middle = model.predict_interval(X).mean(axis=1)
        np.testing.assert_allclose(middle, model.predict(X))

    def test_folds_are_drawn_by_random_state(self, data):
        X, y, _ = data
        ends = [
            ConformalRegressor(SVR(), cv=4, random_state=s).fit(X, y).predict_interval(X)
            for s in (0, 0, 1)
        ]
        np.testing.assert_array_equal(ends[0], ends[1])
        assert np.abs(ends[0] - ends[2]).max() > 0

    def test_any_regressor_and_container(self, data):
        X, y, _ = data
        for estimator in (KNeighborsRegressor(3), make_pipeline(StandardScaler(), KernelRidge())):
            model = ConformalRegressor(estimator, cv=4).fit(X, y)
            assert model.predict_interval(X).shape == (40, 2)
        for container in (sp.csr_matrix, sp.coo_matrix, pd.DataFrame):
            model = ConformalRegressor(KernelRidge(), method="cv+", cv=KFold(4))
            found = model.fit(container(X), y).predict_interval(container(X))
            plain = clone(model).fit(X, y).predict_interval(X)
            np.testing.assert_allclose(found, plain, atol=1e-10)

    def test_in_a_grid_search(self, data):
        X, y, _ = data
        search = GridSearchCV(
            ConformalRegressor(KernelRidge(kernel=Gaussian()), level=0.8),
            {"estimator__alpha": [0.01, 100.0]},
        ).fit(X, y)
        assert search.best_params_ == {"estimator__alpha": 0.01}


class TestCoverage:
    """The share of new samples inside, over many training sets, is the level within its error."""

    @staticmethod
    def simulate(rng, n, heteroscedastic):
        X = rng.uniform(-3, 3, (n, 1))
        spread = np.abs(X[:, 0]) / 2 + 0.05 if heteroscedastic else 0.5
        return X, np.sin(2 * X[:, 0]) + spread * rng.standard_normal(n)

    def coverage(self, rng, interval, n=60, sets=30, heteroscedastic=False):
        """The share inside, and its standard error from the shares of the training sets."""
        shares = []
        for _ in range(sets):
            X, y = self.simulate(rng, n, heteroscedastic)
            Z, z = self.simulate(rng, 200, heteroscedastic)
            low, high = interval(X, y, Z).T
            shares.append(np.mean((low <= z) & (z <= high)))
        return np.mean(shares), np.std(shares) / np.sqrt(sets)

    @pytest.mark.parametrize(("level", "heteroscedastic"), [(0.9, False), (0.8, True)])
    @pytest.mark.parametrize("method", ["jackknife+", "cv+", "split"])
    def test_is_the_level(self, rng, method, level, heteroscedastic):
        # overfits: residuals on the training samples say nothing
        model = ConformalRegressor(
            KernelRidge(0.01, kernel=Gaussian(0.5)),
            method=method,
            level=level,
            cv=4,
            calibration_size=0.5,
            random_state=0,
        )
        share, error = self.coverage(
            rng,
            lambda X, y, Z: model.fit(X, y).predict_interval(Z),
            heteroscedastic=heteroscedastic,
        )
        assert error < 0.02
        # split: between level and level + 1 / (m + 1), m = 30; the others tend to be a bit above
        assert level - 3 * error < share < level + 0.035 + 3 * error

    def test_the_check_can_fail(self, rng):
        """Residuals on the training samples give intervals that are far too short."""

        def naive(X, y, Z):
            model = KernelRidge(0.01, kernel=Gaussian(0.5)).fit(X, y)
            half = np.quantile(np.abs(y - model.predict(X)), 0.9)
            f = model.predict(Z)
            return np.column_stack([f - half, f + half])

        share, error = self.coverage(rng, naive)
        assert share < 0.9 - 10 * error


class TestIntervals:
    @pytest.mark.parametrize("method", ["jackknife+", "cv+", "split"])
    def test_order(self, data, method):
        X, y, _ = data
        model = ConformalRegressor(
            KernelRidge(1e-3, kernel=Gaussian(0.3)),
            method=method,
            calibration_size=0.5,
            random_state=0,
        ).fit(X, y)
        Z = np.linspace(-5, 5, 200)[:, None]
        for level in (0.05, 0.3, 0.5):
            last = model.predict_interval(Z, level=level)
            assert np.all(last[:, 0] <= last[:, 1])
        for level in (0.6, 0.8, 0.9, 0.95):
            ends = model.predict_interval(Z, level=level)
            assert np.all(ends[:, 0] <= last[:, 0] + 1e-12)
            assert np.all(ends[:, 1] >= last[:, 1] - 1e-12)
            last = ends
        np.testing.assert_array_equal(
            model.predict_interval(Z), model.predict_interval(Z, level=0.9)
        )

    def test_fewest_samples(self, data):
        X, y, _ = data
        model = ConformalRegressor(KernelRidge())
        ends = model.fit(X[:9], y[:9]).predict_interval(X)  # the extremes of nine values
        assert np.all(np.isfinite(ends))
        with pytest.raises(ValueError, match=r"level=0.9 needs at least 9 samples, got 8 samples"):
            model.fit(X[:8], y[:8])


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"level": 0}, "level must be between 0 and 1"),
            ({"level": 1.0}, "level must be between 0 and 1"),
            ({"level": "0.9"}, "level must be a number"),
            ({"level": 0.99}, "needs at least 99 samples, got 40"),
            ({"method": "bootstrap"}, "method must be one of"),
            ({"method": "cv+", "cv": 1}, "cv must be an integer from 2 to 40 or a splitter"),
            ({"method": "cv+", "cv": 41}, "cv must be an integer from 2 to 40 or a splitter"),
            ({"method": "cv+", "cv": TimeSeriesSplit(3)}, "exactly one test fold"),
            ({"method": "split", "calibration_size": 2}, "calibration_size must be between"),
            ({"method": "split", "calibration_size": 0.1}, r"held back .* got 4 samples"),
        ],
        ids=str,
    )
    def test_parameters(self, data, options, message):
        X, y, _ = data
        with pytest.raises(ValueError, match=message):
            ConformalRegressor(KernelRidge(), **options).fit(X, y)

    def test_data(self, data):
        X, y, w = data
        model = ConformalRegressor(KernelRidge())
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            model.fit(X, y).predict_interval(X, level=1.5)
        with pytest.raises(ValueError, match="needs at least 99 samples"):
            model.predict_interval(X, level=0.99)
        with pytest.raises(ValueError, match="features"):
            model.predict_interval(np.ones((3, 2)))
        with pytest.raises(ValueError, match="does not accept it"):
            ConformalRegressor(KNeighborsRegressor()).fit(X, y, w)
        with pytest.raises(ValueError, match="sample_weight must be >= 0"):
            model.fit(X, y, -w)
        with pytest.raises(ValueError, match="sample_weight must be > 0 with a kernel matrix"):
            ConformalRegressor(KernelRidge(kernel="precomputed")).fit(X @ X.T, y, w > 1)
        tiny = KernelRidge(1e-18, kernel=Gaussian(9.0))
        with (
            pytest.warns(NumericalWarning),
            pytest.raises(ValueError, match="raise its alpha"),
        ):
            ConformalRegressor(tiny).fit(X, y)


@pytest.mark.parametrize("method", [{}, {"cv": 4}])
def test_several_levels_are_one_after_the_other(data, method):
    X, y, _ = data
    model = ConformalRegressor(KernelRidge(0.1, kernel=Gaussian(1.0)), **method).fit(X, y)
    several = model.predict_interval(X[:7], [0.9, 0.2, 0.5])
    assert several.shape == (7, 2, 3)
    for j, level in enumerate((0.9, 0.2, 0.5)):
        np.testing.assert_array_equal(several[..., j], model.predict_interval(X[:7], level))
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        model.predict_interval(X, [0.5, 2.0])
