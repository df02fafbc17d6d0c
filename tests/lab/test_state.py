"""What the page may ask for, and what is refused."""

import json
import math

import numpy as np
import pytest

from mercer.lab.answers import answer, catalogue
from mercer.lab.state import LONGEST_STRING, MOST_POINTS, MOST_STRINGS, Option, read_state
from mercer.lab.views import VIEWS

OPTIONS = {view.name: view.options for view in VIEWS.values()}
GOOD = {"view": "classify", "kernel": "Linear()", "points": [[0, 1, 0], [1, 0, 1]]}


def test_a_state_has_defaults_for_what_is_not_said():
    state = read_state(GOOD, OPTIONS)
    assert state.options == {o.name: o.default for o in OPTIONS["classify"]}
    assert state.X.tolist() == [[0, 1], [1, 0]]
    assert state.labels.tolist() == [0, 1]


def test_integers_stay_integers():
    count = Option("count", "", 3, 1, 6)
    assert count.whole
    assert count.read(2.0) == 2
    assert isinstance(count.read(2.0), int)
    assert not Option("C", "", 1.0).whole
    assert not Option("flag", "", True).whole


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"view": "nothing"}, "no view"),
        ({"view": 3}, "no view"),
        ({"kernel": 3}, "characters"),
        ({"kernel": "x" * 501}, "characters"),
        ({"points": "abc"}, "list"),
        ({"points": [[0, 0, 0]] * (MOST_POINTS + 1)}, "at most"),
        ({"points": [[0, 0]]}, "x, y, class"),
        ({"points": [[0, math.inf, 0]]}, "x, y, class"),
        ({"points": [[0, 1e9, 0]]}, "x, y, class"),
        ({"points": [[0, 10**400, 0]]}, "x, y, class"),
        ({"points": [[0, "1", 0]]}, "x, y, class"),
        ({"points": [[0, True, 0]]}, "x, y, class"),
        ({"points": [[0, 0, 6]]}, "class of a point"),
        ({"points": [[0, 0, 0.5]]}, "class of a point"),
        ({"strings": ["a"] * (MOST_STRINGS + 1)}, "at most"),
        ({"strings": ["a" * (LONGEST_STRING + 1)]}, "at most"),
        ({"strings": [3]}, "at most"),
        ({"options": {"C": -1}}, "C must be"),
        ({"options": {"C": "1"}}, "C must be"),
        ({"options": {"C": None}}, "C must be"),
        ({"options": {"model": "eval"}}, "one of"),
        ({"options": {"lines": 1}}, "true or false"),
        ({"options": {"other": 1}}, "no option"),
        ({"options": []}, "names and values"),
        ({"changes": {"lengthscale": "x"}}, "numbers"),
        ({"changes": {str(i): 1 for i in range(60)}}, "numbers"),
    ],
)
def test_what_is_not_a_state_is_refused_in_one_sentence(change, words):
    with pytest.raises(ValueError, match=words):
        read_state(GOOD | change, OPTIONS)
    found = answer(GOOD | change)
    assert words in found["error"]
    assert "\n" not in found["error"]


@pytest.mark.parametrize("payload", [None, 3, "x", [], {}, {"view": None}])
def test_other_things_are_refused_too(payload):
    assert "error" in answer(payload)


@pytest.mark.parametrize(
    "kernel",
    [
        "", "   ", "Gausian()", "__import__('os').system('true')", "Gaussian(__class__)",
        "(lambda: 1)()", "Gaussian() - Linear()", "-1 * Gaussian()", "Gaussian(-1)",
        "1e400 * Linear()", "Gaussian('median')", "Gaussian([1, 2, 3])", "Spectrum(3)",
        "Gaussian().on('age')", "Linear()" + " + Linear()" * 40, "\x00",
        "(" * 200 + "1" + ")" * 200,
        "Gaussian(1e-300)", "Gaussian(1e300)", "Polynomial(200)", "Binomial()", "Spline()",
    ],
)  # fmt: skip
@pytest.mark.parametrize("view", ["classify", "regress", "gram", "two_samples"])
def test_every_kernel_is_drawn_or_refused(kernel, view, preset):
    name = {
        "classify": "radial",
        "regress": "good-fit",
        "gram": "gram",
        "two_samples": "witness-plane",
    }
    found = answer(preset(name[view], kernel=kernel))
    assert ("error" in found) != ("picture" in found)
    json.dumps(found, allow_nan=False)


def test_hostile_payloads_never_raise(rng):
    values = [None, True, -1, 0.5, 1e308, -0.0, 10**30, "", "x" * 50, [], [[]], {}, {"a": 1}, "NaN"]
    keys = ["view", "kernel", "points", "strings", "options", "changes", "page", "number", "?"]
    names = [*VIEWS, "nothing"]
    for _ in range(400):
        payload = {
            k: values[rng.integers(len(values))] for k in rng.permutation(keys)[: rng.integers(9)]
        }
        if rng.random() < 0.7:
            payload["view"] = names[rng.integers(len(names))]
        if rng.random() < 0.7:
            payload["kernel"] = ["Linear()", "Gaussian(1)", "Spectrum(2)"][rng.integers(3)]
        if rng.random() < 0.5:
            n = rng.integers(0, 8)
            payload["points"] = np.round(rng.uniform(-12, 12, (n, 3)), 1).tolist()
        found = answer(payload)
        assert ("error" in found) != ("picture" in found)
        json.dumps(found, allow_nan=False)


def test_the_catalogue_says_all_that_the_page_needs():
    found = catalogue()
    json.dumps(found, allow_nan=False)
    assert [v["name"] for v in found["views"]] == list(VIEWS)
    for view in found["views"]:
        assert any(p["view"] == view["name"] for p in found["presets"])
        assert view["data"] in found["kernels"]
        names = {o["name"] for o in view["options"]}
        for option in view["options"]:
            assert option["when"] is None or option["when"][0] in names
            if not option["choices"] and not isinstance(option["default"], bool):
                assert option["low"] <= option["default"] <= option["high"]
