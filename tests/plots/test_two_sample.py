"""Pictures of tests: that they draw what they say."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from mercer import Gaussian, two_sample_test, witness  # noqa: E402
from mercer.plots.two_sample import plot_null, plot_witness  # noqa: E402
from mercer.stats.result import TestResult  # noqa: E402


@pytest.fixture(autouse=True)
def _close():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.mark.parametrize("null", ["permutation", "spectrum", "pearson", "gamma", "normal"])
def test_null_is_a_density_with_the_statistic(rng, null):
    x, y = rng.standard_normal(60), rng.standard_normal(60) + 1
    r = two_sample_test(x, y, Gaussian(), null=null, rng=0)
    ax = r.plot()
    assert ax.lines[0].get_xdata()[0] == r.statistic
    if null == "permutation":
        area = sum(p.get_width() * p.get_height() for p in ax.patches)
    else:
        points = ax.collections[0].get_paths()[0].vertices
        curve = points[: len(points) // 2]
        curve = curve[np.argsort(curve[:, 0])]
        area = trapezoid(curve[:, 1], curve[:, 0])
    assert area == pytest.approx(1, abs=0.03)


def test_nothing_to_draw():
    with pytest.raises(ValueError, match="no null distribution"):
        plot_null(TestResult(1.0, 0.5, "a test", "nothing"))


def test_witness_on_the_line_has_its_signs(rng):
    x, y = rng.normal(-1, 1, 80), rng.normal(1, 1, 80)
    ax = plot_witness(x, y, Gaussian())
    t, drawn = ax.lines[-1].get_data()
    values = witness(x, y, Gaussian())(np.asarray(t)[:, None])
    assert np.corrcoef(values, drawn)[0, 1] == pytest.approx(1)


def test_witness_in_the_plane(rng):
    X, Y = rng.standard_normal((2, 50, 2))
    ax = plot_witness(X, Y + 1)
    assert ax.get_xlabel() == "$x_1$"
    with pytest.raises(ValueError, match="on the line or in the plane"):
        plot_witness(np.zeros((3, 3)), np.zeros((3, 3)))
