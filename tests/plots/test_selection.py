"""Maps and curves of scores."""

from __future__ import annotations

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from mercer import Gaussian, KernelRidgeCV, Laplacian  # noqa: E402
from mercer.plots.selection import plot_grid  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def results(alphas, scales, score):
    params = [{"kernel__lengthscale": s, "alpha": a} for s in scales for a in alphas]
    scores = [score(p["alpha"], p["kernel__lengthscale"]) for p in params]
    return {"params": params, "mean_test_score": np.array(scores)}


def bowl(alpha, scale):
    return -(np.log10(alpha) ** 2) - np.log10(scale) ** 2


def framed(ax):
    """Where the best setting is marked."""
    (mark,) = (line for line in ax.lines if line.get_marker() == "s")
    return int(mark.get_xdata()[0]), int(mark.get_ydata()[0])


def test_a_small_map_shows_its_numbers():
    ax = plot_grid(results([0.1, 1.0, 10.0], [0.5, 1.0], bowl), "alpha")
    assert framed(ax) == (1, 1)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["0.1", "1", "10"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["0.5", "1"]
    assert len(ax.texts) == 6
    assert ax.texts[4].get_text() == "-0"


def test_a_large_map_shows_few_ticks_and_no_numbers():
    alphas = np.logspace(-4, 4, 17)
    ax = plot_grid(results(alphas, np.logspace(-1, 1, 9), bowl), "alpha")
    assert framed(ax) == (8, 4)
    assert len(ax.texts) == 0
    assert len(ax.get_xticks()) <= 9
    (image,) = ax.images
    assert image.get_array().shape == (9, 17)
    first = ax.get_xticklabels()[0].get_text()
    assert first == "0.0001"


def test_terrible_settings_do_not_hide_the_others():
    def score(alpha, scale):
        return -1e6 if alpha < 1e-3 else bowl(alpha, scale)

    grid = results(np.logspace(-4, 1, 6), [0.1, 1.0], score)
    (image,) = plot_grid(grid, "alpha").images
    low, high = image.get_clim()
    assert high == 0
    assert low > -20


def test_curves_and_kernels(rng):
    X = rng.standard_normal((30, 1))
    y = np.sin(X[:, 0])
    curve = KernelRidgeCV([0.1, 1.0], kernel=Gaussian()).fit(X, y).plot()
    assert curve.get_ylabel() == "cross-validated score"
    assert len(curve.lines) == 1
    grid = {"kernel": [Gaussian(), Laplacian()]}
    named = KernelRidgeCV([0.1, 1.0], kernel=Gaussian(), param_grid=grid).fit(X, y).plot()
    assert [t.get_text() for t in named.get_yticklabels()] == ["Gaussian()", "Laplacian()"]
