"""Kernels of the page: expressions, sliders, typeset formulas."""

import re
import xml.etree.ElementTree as ET

import pytest

from mercer import Gaussian, Laplacian, Linear, Polynomial, Spectrum
from mercer.kernels.notation.parse import parse
from mercer.lab.kernels import SHOWN, classes, describe, read_kernel, written

NUMBERS = re.compile(r"<mn>([^<]*)</mn>")


@pytest.mark.parametrize("text", sorted({k for group in SHOWN.values() for k in group}))
def test_what_is_shown_is_read_and_typeset(text):
    strings = text in SHOWN["strings"]
    kernel = read_kernel(text, {}, strings)
    assert parse(written(kernel)) == kernel
    tree = ET.fromstring(f"<p>{describe(kernel)['formula']}</p>")
    assert {e.tag for e in tree} == {"math"}
    for name in ("mfrac", "msup", "msub"):
        assert all(len(element) == 2 for element in tree.iter(name))
    assert not [e.text for e in tree.iter("mtext") if e.text != "word"]  # an unknown command
    assert describe(kernel)["words"].startswith("k = ")


def test_expressions_are_short():
    assert written(Gaussian(0.5) + 0.1 * Linear()) == "Gaussian(0.5) + 0.1 * Linear()"
    assert written(Gaussian()) == "Gaussian(1.0)"
    assert written(Polynomial(2, offset=0.5)) == "Polynomial(2, offset=0.5)"
    assert written(Polynomial(offset=0.5)) == "Polynomial(offset=0.5)"
    assert written(Spectrum().normalize()) == "Spectrum(3).normalize()"
    assert written(Gaussian("median")) == "Gaussian('median')"
    assert classes(Gaussian() * Linear() + Gaussian(2)) == ["Gaussian", "Linear"]


def test_formulas_hold_the_numbers():
    assert NUMBERS.findall(describe(Gaussian(0.5))["formula"]) == ["2", "2", "0.5", "2"]
    assert NUMBERS.findall(describe(Laplacian(3.0))["formula"]) == ["3"]
    found = describe(0.25 * Polynomial(4, offset=7))["formula"]
    assert NUMBERS.findall(found) == ["0.25", "7", "4"]
    assert "10" in NUMBERS.findall(describe(Gaussian(1e-7))["formula"])


def test_names_cannot_break_out_of_a_formula():
    for name in ("<script>alert(1)</script>", "}<b>", r"\x{y"):
        found = describe(Gaussian().on(name))["formula"]
        assert "<script>" not in found
        assert "<b>" not in found
        ET.fromstring(found)


def test_sliders_move_numbers_by_their_nested_names():
    text = "Gaussian(0.5) + 0.1 * Linear()"
    found = {p["name"]: p for p in describe(parse(text))["parameters"]}
    assert set(found) == {"left__lengthscale", "right__left__value"}
    moved = read_kernel(text, {"left__lengthscale": 0.71234, "right__left__value": 2.0})
    assert moved == Gaussian(0.712) + 2.0 * Linear()
    assert read_kernel("Polynomial(3)", {"degree": 5.0}) == Polynomial(5)
    assert read_kernel("Linear()", {"degree": 5.0}) == Linear()  # a slider of the kernel before


def test_sliders_start_inside_their_range():
    for text in [
        *SHOWN["plane"],
        *SHOWN["line"],
        *SHOWN["strings"],
        "Gaussian(100.0)",
        "0 * Linear()",
    ]:
        for p in describe(parse(text))["parameters"]:
            assert p["low"] <= p["value"] <= p["high"], text
            assert p["low"] > 0 or not p["log"], text


def test_a_kernel_on_other_data_is_refused():
    with pytest.raises(ValueError, match="strings"):
        read_kernel("Gaussian()", {}, strings=True)
    with pytest.raises(ValueError, match="points of the plane"):
        read_kernel("Spectrum(3)", {})
    with pytest.raises(ValueError, match="Write a kernel"):
        read_kernel(" ", {})
