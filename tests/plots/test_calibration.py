"""Pictures of calibration: fractions are counted right, and honest models are on the diagonal."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.base import BaseEstimator
from sklearn.calibration import calibration_curve
from sklearn.naive_bayes import GaussianNB

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from mercer import (  # noqa: E402
    SVC,
    ConformalRegressor,
    Gaussian,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelQuantileRegressor,
    KernelRidge,
    MultiOutputKernelRidge,
)
from mercer.plots.calibration import plot_coverage, plot_reliability  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def data(rng):
    X = rng.uniform(0, 6, (400, 1))
    return X, np.sin(X[:, 0]) + rng.normal(0, 0.2, 400)


def curves(ax):
    return [line.get_data() for line in ax.lines if line.get_linestyle() == "-"]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


class Honest(BaseEstimator):
    """The distribution the data come from; its spread may be too small by a factor."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X=None, y=None):
        self.fitted_ = True
        return self

    def predict(self, X, return_std=False):
        mean = np.sin(X[:, 0])
        return (mean, np.full(len(X), 0.2 * self.factor)) if return_std else mean


class TestCoverage:
    def test_the_true_distribution_is_on_the_diagonal(self, data):
        X, y = data
        ax = plot_coverage(Honest().fit(), X, y)
        ((levels, inside),) = curves(ax)
        np.testing.assert_allclose(levels, np.arange(1, 20) / 20)
        np.testing.assert_allclose(inside, levels, atol=0.06)
        u = np.abs(y - np.sin(X[:, 0])) / 0.2
        np.testing.assert_allclose(inside, [np.mean(u <= norm.ppf((1 + p) / 2)) for p in levels])

    def test_a_spread_that_is_too_small(self, data):
        ((levels, inside),) = curves(plot_coverage(Honest(0.5).fit(), *data))
        expected = 2 * norm.cdf(norm.ppf((1 + levels) / 2) / 2) - 1
        np.testing.assert_allclose(inside, expected, atol=0.06)

    def test_the_grey_region_holds_chance(self, data):
        X, y = data
        (region,) = plot_coverage(Honest().fit(), X, y).collections
        at_half = region.get_paths()[0].vertices
        at_half = at_half[np.isclose(at_half[:, 0], 0.5), 1]
        sd = np.sqrt(0.25 / 400)
        np.testing.assert_allclose(
            [at_half.min(), at_half.max()],
            0.5 + norm.ppf(0.95) * sd * np.array([-1, 1]),
            atol=0.003,
        )

    def test_noise_is_included(self, data):
        X, y = data
        model = GaussianProcessRegressor(1 * Gaussian(), alpha=0.04, optimizer=None)
        ax = plot_coverage(model.fit(X[:200], y[:200]), X[200:], y[200:])
        ((levels, inside),) = curves(ax)
        np.testing.assert_allclose(inside, levels, atol=0.1)

    def test_three_kinds_in_one_picture(self, data):
        X, y = data
        _, ax = plt.subplots()
        ridge = ConformalRegressor(KernelRidge(0.1, kernel=Gaussian())).fit(X[:200], y[:200])
        assert plot_coverage(ridge, X[200:], y[200:], ax, levels=[0.5, 0.8]) is ax
        quantiles = KernelQuantileRegressor([0.05, 0.2, 0.5, 0.8, 0.95], kernel=Gaussian())
        plot_coverage(quantiles.fit(X[:200], y[:200]), X[200:], y[200:], ax, label="quantiles")
        (levels, inside), (own, _) = curves(ax)
        assert levels.tolist() == [0.5, 0.8]
        low, high = ridge.predict_interval(X[200:], 0.8).T
        assert inside[1] == np.mean((low <= y[200:]) & (y[200:] <= high))
        np.testing.assert_allclose(own, [0.6, 0.9])
        assert legend(ax) == ["ConformalRegressor", "quantiles"]
        assert len(ax.collections) == 1
        colours = [line.get_color() for line in ax.lines if line.get_linestyle() == "-"]
        assert len(set(colours)) == 2

    def test_bad_input(self, data):
        X, y = data
        with pytest.raises(ValueError, match="wrap it in ConformalRegressor"):
            plot_coverage(KernelRidge().fit(X, y), X, y)
        with pytest.raises(ValueError, match="inconsistent numbers"):
            plot_coverage(Honest().fit(), X, y[:7])
        with pytest.raises(ValueError, match="level must be between 0 and 1"):
            plot_coverage(Honest().fit(), X, y, levels=[0.5, 1.0])
        model = GaussianProcessRegressor(alpha=0.1, optimizer=None)
        with pytest.raises(ValueError, match="one output"):
            plot_coverage(model.fit(X, np.column_stack([y, y])), X, y)
        with pytest.raises(ValueError, match="has no prediction intervals"):
            plot_coverage(MultiOutputKernelRidge().fit(X, np.column_stack([y, y])), X, y)


class TestReliability:
    @pytest.fixture
    def labels(self, rng):
        X = rng.standard_normal((500, 2))
        return X, np.where(X[:, 0] + rng.normal(0, 0.8, 500) > 0.2, "yes", "no")

    def test_two_classes(self, labels):
        X, y = labels
        model = GaussianNB().fit(X[:100], y[:100])
        ax = plot_reliability(model, X[100:], y[100:], bins=8)
        ((p, frequency),) = curves(ax)
        expected, mean = calibration_curve(
            y[100:] == "yes", model.predict_proba(X[100:])[:, 1], n_bins=8, strategy="quantile"
        )
        np.testing.assert_allclose(p, mean)
        np.testing.assert_allclose(frequency, expected)
        error = np.mean(np.abs(mean - expected))  # 400 samples: all bins hold 50
        assert legend(ax) == [f"GaussianNB (error {error:.3f})"]
        assert ax.get_xlabel() == "the probability of yes"

    def test_bars_are_wilson_intervals(self, labels):
        X, y = labels
        ax = plot_reliability(GaussianNB().fit(X, y), X, y, bins=5)
        ((_, frequency),) = curves(ax)
        n, z = 100, norm.ppf(0.95)
        centre = (frequency + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(frequency * (1 - frequency) / n + (z / (2 * n)) ** 2)
        bars = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
        np.testing.assert_allclose(bars, np.column_stack([centre - half, centre + half]))

    def test_more_classes(self, rng):
        X = rng.standard_normal((300, 2))
        y = rng.permutation(np.digitize(X[:, 0], [-0.5, 0.5]))
        model = KernelLogisticRegression(1.0, kernel=Gaussian()).fit(X, y)
        ax = plot_reliability(model, X, y, bins=1)
        ((p, frequency),) = curves(ax)
        assert p[0] == pytest.approx(model.predict_proba(X).max(axis=1).mean())
        assert frequency[0] == pytest.approx(model.score(X, y))
        assert ax.get_xlabel() == "the largest probability"

    def test_two_models_in_one_picture(self, labels):
        X, y = labels
        _, ax = plt.subplots()
        for number, model in enumerate((GaussianNB(), SVC(probability=True))):
            fitted = model.fit(X[:200], y[:200])
            assert plot_reliability(fitted, X[200:], y[200:], ax, label=f"model {number}") is ax
        assert [words.split(" (")[0] for words in legend(ax)] == ["model 0", "model 1"]
        assert len(curves(ax)) == 2

    def test_bad_input(self, labels):
        X, y = labels
        with pytest.raises(TypeError, match="SVC has it with probability=True"):
            plot_reliability(SVC().fit(X, y), X, y)
        model = GaussianNB().fit(X, y)
        for bins in (0, 501, 2.5):
            with pytest.raises(ValueError, match="bins must be an integer from 1 to 500"):
                plot_reliability(model, X, y, bins=bins)
        with pytest.raises(ValueError, match="inconsistent numbers"):
            plot_reliability(model, X, y[:7])
