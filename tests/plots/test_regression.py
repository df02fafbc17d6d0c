"""Pictures of regressors: curves, bands, draws and points are what the models say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.linear_model import BayesianRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from mercer import (  # noqa: E402
    Categorical,
    ConformalRegressor,
    Gaussian,
    GaussianProcessRegressor,
    KernelQuantileRegressor,
    KernelRidge,
    Linear,
    MultiOutputKernelRidge,
    SmoothingSpline,
)
from mercer.plots.regression import plot_fit, plot_process  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def data(rng):
    x = np.sort(rng.uniform(0, 6, 50))
    return x[:, None], np.sin(x) + rng.normal(0, 0.2, 50)


@pytest.fixture
def process(data):
    return GaussianProcessRegressor(1 * Gaussian(), alpha=0.04, optimizer=None).fit(*data)


def bands(ax):
    """Lower and upper ends of the filled regions, by label."""
    found = {}
    for region in ax.collections:
        vertices = region.get_paths()[0].vertices
        m = (len(vertices) - 3) // 2
        found[region.get_label()] = vertices[1 : m + 1, 1], vertices[m + 2 : -1, 1][::-1]
    return found


def named(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


class TestNormalBands:
    @pytest.mark.parametrize(("noise", "words"), [(False, "$f$"), (True, "$y$")])
    def test_mean_and_band(self, data, process, noise, words):
        ax = plot_fit(process, *data, level=0.8, noise=noise)
        t, f = named(ax)["mean"].get_data()
        mean, std = process.predict(t[:, None], return_std=True, include_noise=noise)
        low, high = bands(ax)[f"80% band of {words}"]
        z = norm.ppf(0.9)
        np.testing.assert_allclose(f, mean)
        np.testing.assert_allclose(low, mean - z * std)
        np.testing.assert_allclose(high, mean + z * std)
        assert t[0] < data[0].min() < data[0].max() < t[-1]

    def test_nested_bands_widest_first(self, data, process):
        ax = plot_fit(process, *data, level=[0.5, 0.9])
        assert list(bands(ax)) == ["90% band of $y$", "50% band of $y$"]  # y is drawn
        assert list(bands(plot_fit(process, data[0]))) == ["90% band of $f$"]
        assert list(bands(plot_fit(process, *data, samples=2))) == ["90% band of $f$"]
        wide, narrow = bands(ax).values()
        assert np.all(wide[0] < narrow[0])

    def test_draws(self, data, process):
        X, y = data
        ax = plot_fit(process, X, y, samples=3, where=(0, 8), rng=5)
        assert "draws" in legend(ax)
        again = plot_fit(process, X, y, samples=3, where=(0, 8), rng=np.random.default_rng(5))
        thin = [[l.get_ydata() for l in a.lines if l.get_linewidth() == 0.9] for a in (ax, again)]
        assert len(thin[0]) == 3
        np.testing.assert_array_equal(*thin)
        t, mean = named(ax)["mean"].get_data()
        std = process.predict(t[:, None], return_std=True)[1]
        assert np.all(np.abs(np.array(thin[0]) - mean) < 6 * std)
        assert (t[0], t[-1]) == (0, 8)

    def test_points_are_the_data(self, data, process):
        X, y = data
        (dots,) = [line for line in plot_fit(process, X, y).lines if line.get_marker() == "o"]
        np.testing.assert_array_equal(dots.get_xydata(), np.column_stack([X, y]))
        assert all(line.get_marker() != "o" for line in plot_fit(process, X).lines)

    def test_parts_of_a_process(self, data):
        model = GaussianProcessRegressor(Gaussian() + 0.1 * Linear(), alpha=0.04, optimizer=None)
        part = model.fit(*data).parts()[1]
        ax = plot_fit(part, data[0])
        t, f = named(ax)["mean"].get_data()
        np.testing.assert_allclose(f, part.predict(t[:, None]))
        assert list(bands(ax)) == ["90% band"]

    @pytest.mark.parametrize(
        "model",
        [Peer(alpha=0.1), BayesianRidge(), make_pipeline(StandardScaler(), BayesianRidge())],
    )
    def test_models_of_scikit_learn(self, data, model):
        ax = plot_fit(model.fit(*data), *data)
        t = named(ax)["mean"].get_xdata()
        mean, std = model.predict(t[:, None], return_std=True)
        np.testing.assert_allclose(bands(ax)["90% band"][1], mean + norm.ppf(0.95) * std)


class TestOtherModels:
    def test_conformal_intervals(self, data):
        model = ConformalRegressor(KernelRidge(0.1, kernel=Gaussian()), level=0.8).fit(*data)
        for level, words in ((None, "80%"), (0.5, "50%")):
            ax = plot_fit(model, *data, level=level)
            t = named(ax)["prediction"].get_xdata()
            low, high = bands(ax)[f"{words} interval of $y$"]
            ends = model.predict_interval(t[:, None], level)
            np.testing.assert_allclose(np.column_stack([low, high]), ends)

    def test_quantiles_in_any_order(self, data):
        q = [0.9, 0.1, 0.5, 0.25, 0.75]
        model = KernelQuantileRegressor(q, kernel=Gaussian()).fit(*data)
        ax = plot_fit(model, *data)
        t, median = named(ax)["median"].get_data()
        values = dict(zip(q, model.predict(t[:, None]).T, strict=True))
        np.testing.assert_array_equal(median, values[0.5])
        np.testing.assert_array_equal(bands(ax)["quantiles 0.1 to 0.9"], [values[0.1], values[0.9]])
        np.testing.assert_array_equal(
            bands(ax)["quantiles 0.25 to 0.75"], [values[0.25], values[0.75]]
        )
        with pytest.raises(ValueError, match="level is given by the quantiles"):
            plot_fit(model, *data, level=0.9)

    def test_many_quantiles(self, data):
        model = KernelQuantileRegressor(np.arange(1, 20) / 20, kernel=Gaussian()).fit(*data)
        ax = plot_fit(model, *data)
        assert len(ax.collections) == 9
        words = [
            f"quantiles {low} to {high}" for low, high in ((0.05, 0.95), (0.1, 0.9), (0.15, 0.85))
        ]
        assert legend(ax) == [*words, "median"]

    def test_two_quantiles_and_one(self, data):
        two = plot_fit(KernelQuantileRegressor([0.1, 0.9], kernel=Gaussian()).fit(*data), *data)
        assert legend(two) == ["quantiles 0.1 to 0.9"]
        one = plot_fit(KernelQuantileRegressor(0.3, kernel=Gaussian()).fit(*data), *data)
        assert legend(one) == ["quantile 0.3"]

    def test_several_outputs(self, data):
        X, y = data
        Y = np.column_stack([y, -y])
        Y[10:30, 1] = np.nan
        B = [[1.0, -0.9], [-0.9, 1.0]]
        model = MultiOutputKernelRidge(0.1, kernel=Gaussian(), output=B).fit(X, Y)
        ax = plot_fit(model, X, Y)
        assert legend(ax) == ["output 1", "output 2"]
        t, second = named(ax)["output 2"].get_data()
        np.testing.assert_allclose(second, model.predict(t[:, None])[:, 1])
        dots = [line for line in ax.lines if line.get_marker() == "o"]
        np.testing.assert_array_equal(dots[1].get_ydata(), Y[:, 1])
        assert dots[1].get_color() == named(ax)["output 2"].get_color()
        with pytest.raises(ValueError, match="y has 1 columns, but the model has outputs: 2"):
            plot_fit(model, X, y)

    def test_several_outputs_with_bands(self, data):
        X, y = data
        model = GaussianProcessRegressor(1 * Gaussian(), optimizer=None)
        ax = plot_fit(model.fit(X, np.column_stack([y, 3 * y])), X, samples=2)
        assert legend(ax) == ["output 1", "output 2"]
        heights = [region.get_datalim(ax.transData).height for region in ax.collections]
        assert heights[1] == pytest.approx(3 * heights[0])

    def test_models_side_by_side(self, data):
        X, y = data
        _, ax = plt.subplots()
        assert plot_fit(SmoothingSpline().fit(X, y), X[:, 0], y, ax, label="spline") is ax
        quantiles = KernelQuantileRegressor([0.1, 0.9], kernel=Gaussian()).fit(X, y)
        plot_fit(quantiles, X, ax=ax, label="band")
        plot_fit(KernelRidge(kernel=Gaussian()).fit(X, y), X, ax=ax, label="ridge")
        lines = named(ax)
        assert set(lines) == {"spline", "ridge"}
        assert legend(ax) == ["spline", "band: quantiles 0.1 to 0.9", "ridge"]
        assert len({lines["spline"].get_color(), lines["ridge"].get_color(), "#cc6677"}) == 3

    @pytest.mark.filterwarnings("error")
    def test_tables_of_one_column(self, data):
        pd = pytest.importorskip("pandas")
        X, y = data
        table = pd.DataFrame(X, columns=["hour"])
        model = KernelRidge(kernel=Gaussian().on("hour")).fit(table, y)
        ax = plot_fit(model, table, y)
        t, f = named(ax)["prediction"].get_data()
        np.testing.assert_allclose(f, KernelRidge(kernel=Gaussian()).fit(X, y).predict(t[:, None]))
        assert ax.get_xlabel() == "hour"


class TestSections:
    def test_other_columns_are_at_their_medians(self, rng):
        X = rng.uniform(0, 6, (60, 3))
        y = np.sin(X[:, 1]) + X[:, 0]
        model = KernelRidge(0.1, kernel=Gaussian(2.0)).fit(X, y)
        ax = plot_fit(model, X, y, column=1)
        t, f = named(ax)["prediction"].get_data()
        rest = np.median(X, axis=0)
        section = np.column_stack([np.full(500, rest[0]), t, np.full(500, rest[2])])
        np.testing.assert_allclose(f, model.predict(section))
        (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
        np.testing.assert_array_equal(dots.get_xydata(), np.column_stack([X[:, 1], y]))
        assert ax.get_xlabel() == "$x_{2}$"

    @pytest.mark.filterwarnings("error")
    def test_tables_of_mixed_columns(self, rng):
        pd = pytest.importorskip("pandas")
        table = pd.DataFrame({"age": rng.uniform(0, 6, 60), "ward": ["A"] * 40 + ["B"] * 20})
        y = np.sin(table["age"]) + (table["ward"] == "B")
        kernel = Gaussian().on("age") + Categorical().on("ward")
        process = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None).fit(table, y)
        ax = plot_fit(process, table, y, column="age")
        t, f = named(ax)["mean"].get_data()
        np.testing.assert_allclose(f, process.predict(pd.DataFrame({"age": t, "ward": "A"})))
        part = process.parts()[0]
        f = named(plot_fit(part, table, column="age", where=t))["mean"].get_ydata()
        np.testing.assert_allclose(f, part.predict(pd.DataFrame({"age": t, "ward": "B"})))
        with pytest.raises(ValueError, match="works on"):
            plot_fit(process, table, y, column="ward")

    def test_bad_columns(self, data, process):
        with pytest.raises(ValueError, match="2 columns; choose one with column=0"):
            plot_fit(process, np.zeros((50, 2)))
        with pytest.raises(ValueError, match="column must be one of 0; got 3"):
            plot_fit(process, data[0], column=3)


class TestBadInput:
    def test_data(self, data, process):
        X, y = data
        with pytest.raises(ValueError, match="inconsistent numbers"):
            plot_fit(process, X, y[:5])
        with pytest.raises(ValueError, match="works on vectors"):
            plot_fit(process, ["ab", "ba"])

    def test_models_and_options(self, data, process):
        X, y = data
        with pytest.raises(TypeError, match="Gaussian has no predict; for kernels there is"):
            plot_fit(Gaussian(), X, y)
        with pytest.raises(ValueError, match="not fitted"):
            plot_fit(KernelRidge(), X, y)
        with pytest.raises(ValueError, match="KernelRidge has no sample_y"):
            plot_fit(KernelRidge().fit(X, y), X, y, samples=3)
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            plot_fit(process, X, y, level=90)


class TestProcess:
    def test_draws_have_the_covariance(self):
        grid = np.array([0.0, 0.5, 2.0])
        kernel = 2 * Gaussian(0.8)
        ax = plot_process(kernel, grid, samples=600, level=None)
        F = np.array([line.get_ydata() for line in ax.lines])
        np.testing.assert_allclose(F.T @ F / 600, kernel(grid), atol=0.3)
        assert not ax.collections
        assert ax.get_title() == "2 * Gaussian(lengthscale=0.8)"

    def test_band_and_conditioning(self):
        kernel = Gaussian().given(np.array([[0.0], [1.0]]))
        ax = plot_process(kernel, np.linspace(-1, 3, 9), samples=2, level=0.6)
        ((low, high),) = bands(ax).values()
        t = np.linspace(-1, 3, 9)
        np.testing.assert_allclose(high, norm.ppf(0.8) * np.sqrt(np.diag(kernel(t))), atol=1e-6)
        np.testing.assert_allclose(low, -high)
        for line in ax.lines:
            np.testing.assert_allclose(np.interp([0, 1], *line.get_data()), 0, atol=1e-6)

    def test_bad_level(self):
        with pytest.raises(ValueError, match="level must be between 0 and 1, got 90"):
            plot_process(Gaussian(), level=90)

    def test_the_seed_decides(self):
        one, same, other = (plot_process(Gaussian(), samples=1, rng=r) for r in (1, 1, 2))
        curves = [ax.lines[-1].get_ydata() for ax in (one, same, other)]
        np.testing.assert_array_equal(curves[0], curves[1])
        assert np.abs(curves[0] - curves[2]).max() > 0.1


def test_the_picture_can_be_written(data, process, tmp_path):
    plot_fit(process, *data, samples=2).figure.savefig(tmp_path / "fit.png")
    assert (tmp_path / "fit.png").stat().st_size > 10_000
