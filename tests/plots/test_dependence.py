"""Pictures of dependence."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

from mercer import Categorical, Gaussian, coco  # noqa: E402
from mercer.plots.dependence import plot_coco  # noqa: E402


@pytest.fixture
def pair(rng):
    x = rng.uniform(-2, 2, 60)
    return x, x**2 + 0.2 * rng.standard_normal(60)


def test_curves_pass_through_the_values(pair):
    x, y = pair
    found = coco(x, y, n_functions=2)
    panels = plot_coco(found, x, y)
    for ax, f, z in zip(panels, (found.f[0], found.g[0]), pair, strict=False):
        t, drawn = ax.lines[0].get_data()
        assert np.abs(drawn) == pytest.approx(np.abs(f(t[:, None])))
        dots = np.asarray(ax.collections[0].get_offsets())
        assert dots[:, 0] == pytest.approx(z)
    u, v = np.asarray(panels[2].collections[0].get_offsets()).T
    assert np.cov(u, v, ddof=0)[0, 1] == pytest.approx(found.value)
    assert f"{found.value:.3g}" in panels[2].get_title()


def test_other_data_are_drawn_as_values(pair):
    import matplotlib.pyplot as plt

    x, y = pair
    labels = np.where(y > 1, "high", "low").tolist()
    found = coco(np.c_[x, y], labels, Gaussian(), Categorical())
    panels = plot_coco(found, np.c_[x, y], labels, axes=plt.subplots(1, 3)[1])
    assert len(panels[0].patches) == len(panels[1].patches) == 10
    with pytest.raises(ValueError, match="three panels"):
        plot_coco(found, x, y, axes=[plt.subplots()[1]])
    plt.close("all")
