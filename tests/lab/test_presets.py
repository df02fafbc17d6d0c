"""Every preset: a picture, and Python that runs and says the same."""

import json
import re

import numpy as np
import pytest

from mercer.kernels.notation.parse import parse
from mercer.lab.answers import answer
from mercer.lab.presets import PRESETS, variants
from mercer.lab.state import MOST_POINTS, WINDOW

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def test_names_are_unique_and_fit_into_links():
    names = [p.name for p in PRESETS]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z-]+", name) for name in names)


@pytest.mark.parametrize("given", PRESETS, ids=lambda p: p.name)
def test_a_preset_is_a_picture_with_python(given):
    payload = given.payload()
    assert len(payload["points"]) <= MOST_POINTS
    for x, y, _ in payload["points"]:
        assert WINDOW[0][0] < x < WINDOW[0][1]
        assert WINDOW[1][0] < y < WINDOW[1][1]
    found = answer(payload)
    assert "error" not in found
    assert not found["warnings"]
    assert parse(found["kernel"]["text"]) == parse(given.kernel)
    panels = found["picture"]["panels"]
    assert panels[0]["wide"]
    assert len(json.dumps(found)) < 100_000
    run(found["python"])


def run(text):
    """Run a program that a picture shows; returns its names."""
    import matplotlib.pyplot as plt

    names = {}
    exec(compile(text, "<python>", "exec"), names)  # our own text, from our own preset
    plt.close("all")
    return names


def test_the_python_gives_the_same_numbers(preset):
    found = answer(preset("margins"))
    facts = {name: value for name, value, _ in found["picture"]["facts"]}
    report = run(found["python"])["model"].reports_[0]
    assert float(facts["margin"]) == pytest.approx(report.margin, rel=0.01)
    assert (int(facts["free"]), int(facts["bounded"])) == (report.free, report.bounded)
    found = answer(preset("sum-of-bumps"))
    facts = {name: value for name, value, _ in found["picture"]["facts"]}
    assert float(facts["‖f‖"]) == pytest.approx(run(found["python"])["f"].norm(), rel=0.01)
    found = answer(preset("gram"))
    K = run(found["python"])["K"]
    shown = next(m for p in found["picture"]["panels"] for m in p["marks"] if m["kind"] == "matrix")
    np.testing.assert_allclose(K, shown["values"], atol=1e-4)


def test_no_more_lines_than_promised():
    """Imports aside, three lines reproduce a picture, or four."""
    for given in PRESETS:
        lines = answer(given.payload())["python"].split("\n\n", 1)[1].splitlines()
        assert 3 <= len(lines) <= 4


REFUSED = {  # of the first data of the view, which no hard margin separates
    ("classify", "hard"): "cannot be separated",
}


@pytest.mark.parametrize("payload", variants(), ids=lambda p: p["view"])
def test_every_choice_of_every_view_is_a_picture(payload):
    found = answer(payload)
    words = [
        w
        for (v, o), w in REFUSED.items()
        if v == payload["view"] and o in payload["options"].values()
    ]
    if words:
        assert words[0] in found["error"]
    else:
        assert "error" not in found
        assert found["picture"]["panels"]


def test_the_norm_of_least_squares_is_that_of_its_function(preset):
    payload = preset("margins")
    payload["options"] = {"model": "ls"}
    found = answer(payload)
    shown = {name: value for name, value, _ in found["picture"]["facts"]}["‖f‖"]
    model = run(found["python"])["model"]
    assert float(shown) == pytest.approx(float(np.ravel(model.rkhs_function_.norm())[0]), rel=0.01)
