import io

import numpy as np
import pytest
from matplotlib.image import imread

import mercer
from mercer.reports.images import colours, png, thumbnail
from mercer.reports.maps import heat_map
from mercer.reports.svg import Chart, nice


@pytest.mark.parametrize(
    ("ends", "found"),
    [((0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1]), ((-3, 17), [0, 5, 10, 15]), ((990, 1010), None)],
)
def test_ticks_are_round(ends, found):
    ticks = nice(ends, 5)
    assert 2 <= len(ticks) <= 7
    assert all(ends[0] <= t <= ends[1] for t in ticks)
    if found is not None:
        np.testing.assert_allclose(ticks, found)


def test_places_are_inside_the_frame():
    chart = Chart("x", (0, 10), (0, 1))
    assert chart.across([0, 10]).tolist() == [52, 428]
    assert chart.up([0, 1]).tolist() == [250, 10]
    logs = Chart("x", (1, 100), (0, 1), xlog=True)
    assert logs.across([10])[0] == pytest.approx((52 + 428) / 2)


@pytest.mark.parametrize("ends", [(0.0, 0.0), (np.nan, 1.0), (-1e308, 1e308), (5.0, 5.0)])
@pytest.mark.parametrize("log", [False, True])
def test_any_range_can_be_drawn(read, ends, log):
    chart = Chart("strange", ends, ends, "x", "y", xlog=log, ylog=log)
    values = np.array([0.0, 1.0, np.nan, np.inf, -1e300])
    chart.line(values, values).points(values, values).band(values, values, values)
    svg = str(chart.svg())
    read(svg)
    assert "inf" not in svg.replace("infinity", "")


def test_many_points_are_thinned():
    rng = np.random.default_rng(0)
    svg = Chart("dots", (0, 1), (0, 1)).points(rng.random(10**5), rng.random(10**5)).svg()
    assert len(svg) < 40_000


def test_an_image_is_a_png_file(rng):
    pixels = rng.integers(0, 256, (7, 5, 3)).astype(np.uint8)
    found = imread(io.BytesIO(png(pixels)))
    np.testing.assert_array_equal((found[..., :3] * 255).round().astype(np.uint8), pixels)


def test_colours_have_white_at_zero():
    assert colours(np.array(0.0), -2, 1).min() > 240
    low, high = colours(np.array([0.0, 1.0]), 0, 1)
    assert low.sum() < high.sum()


def test_a_thumbnail_computes_a_few_entries(read):
    X = np.linspace(0, 5, 3000)[:, None]
    page = read(str(thumbnail(mercer.Gaussian(1.0).gram(X))))
    assert "3000 × 3000" in page.of("img")[0]["alt"]


def test_heat_maps_skip_what_is_missing(read):
    values = np.array([[1.0, np.nan], [2.0, 3.0]])
    page = read(str(heat_map(values, ["a", "b"], ["c", "d"], "x", "<y>", "RMSE", frames=[(0, 0)])))
    assert "1d23" in page.text
    assert len(page.of("rect")) == 5
