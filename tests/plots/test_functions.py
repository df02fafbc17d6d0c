"""Pictures: the curves drawn are the functions, and everything is labelled."""

from __future__ import annotations

import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402

from mercer import Gaussian, Laplacian, RKHSFunction  # noqa: E402
from mercer.plots.functions import plot_function, plot_kernel  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


@pytest.fixture
def f():
    return RKHSFunction(Gaussian(), [-1.0, 0.5, 2.0], [1.0, -2.0, 0.0])


def labelled(ax):
    """The lines of the legend by their labels."""
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_sum_and_its_bumps(f):
    ax = plot_function(f, (-3, 4))
    lines = labelled(ax)
    t, values = lines["their sum $f$"].get_data()
    assert (t[0], t[-1]) == (-3, 4)
    assert values == pytest.approx(np.exp(-((t + 1) ** 2) / 2) - 2 * np.exp(-((t - 0.5) ** 2) / 2))
    up = next(line for label, line in lines.items() if label.endswith("$a_i > 0$"))
    bump = up.get_ydata()
    shown = ~np.isnan(bump)
    assert bump[shown] == pytest.approx(np.exp(-((t + 1) ** 2) / 2)[shown])
    assert np.exp(-((t[~shown] + 1) ** 2) / 2).max() < 0.01
    assert lines["centres $x_i$"].get_xdata().tolist() == [-1.0, 0.5, 2.0]
    assert set(legend(ax)) == set(lines)
    assert len(ax.lines) == 5  # the axis, two bumps (the third is zero), centres, sum
    assert ax.get_xlabel()
    assert ax.get_ylabel()


def test_without_bumps_on_a_grid_and_in_given_axes(f):
    _, ax = plt.subplots()
    grid = np.linspace(0, 1, 7)
    assert plot_function(f, grid, ax=ax, bumps=False) is ax
    assert len(ax.lines) == 2
    assert ax.lines[1].get_xdata().tolist() == grid.tolist()
    assert ax.get_legend() is None


def test_many_bumps_are_not_drawn():
    ax = plot_function(RKHSFunction(Gaussian(), np.linspace(0, 1, 300), np.ones(300)))
    assert len(ax.lines) == 2


def test_the_interval_covers_the_centres(f):
    low, high = plot_function(f).get_xlim()
    assert low < -1
    assert high > 2
    low, high = plot_function(Gaussian().at(5.0)).get_xlim()
    assert low < 5 < high


def test_families_are_drawn_together():
    F = RKHSFunction(Gaussian(), np.array([[0.0], [1.0]]), np.eye(2))
    ax = plot_function(F, (-1, 1))
    assert legend(ax) == ["$f_{1}$", "$f_{2}$"]
    assert ax.lines[2].get_ydata() == pytest.approx(F[1](ax.lines[2].get_xdata()))


def test_sections_of_a_kernel():
    ax = plot_kernel(Laplacian(), (-2, 2), at=[-1.0, 0.0])
    assert legend(ax) == ["$x_0 = -1$", "$x_0 = 0$"]
    t, values = labelled(ax)["$x_0 = -1$"].get_data()
    assert values == pytest.approx(np.exp(-np.abs(t + 1)))
    assert "Laplacian()" in ax.get_title()
    assert len(legend(plot_kernel(Laplacian()))) == 1


def test_the_picture_can_be_written(f, tmp_path):
    plot_function(f).figure.savefig(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 5000


def test_only_functions_of_one_variable(f):
    with pytest.raises(ValueError, match="one variable"):
        plot_function(Gaussian().at(np.zeros(2)))


def test_matplotlib_is_optional(f, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "mercer\[plot\]"'):
        plot_function(f)
