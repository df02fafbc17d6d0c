"""Formulas of expressions, with their numbers in place."""

from xml.etree import ElementTree

import pytest

from mercer import (
    Binomial,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spectrum,
)
from mercer.kernels.notation.mathml import mathml
from mercer.kernels.notation.tex import tex


@pytest.mark.parametrize(
    ("kernel", "written"),
    [
        (Gaussian(), r"\exp\left(-\frac{\|x - y\|^2}{2}\right)"),
        (Laplacian(1e-7), r"\exp\left(-\frac{\|x - y\|}{1 \cdot 10^{-7}}\right)"),
        (Laplacian(3.0, p=1), r"\exp\left(-\frac{\|x - y\|_{1}}{3}\right)"),
        (Gaussian("median"), r"\mathrm{Gaussian}(x, y)"),
        (0.25 * Linear() ** 3, r"0.25 \, \langle x, y \rangle^{3}"),
        (Polynomial(4, offset=7), r"\left(\langle x, y \rangle + 7\right)^{4}"),
        (Spectrum(3), r"\sum_{u : |u| = 3} c_u(x) \, c_u(y)"),
        ((Linear() + 1) * Linear(),
         r"\left(\langle x, y \rangle + 1\right) \cdot \langle x, y \rangle"),
        (Linear().on("age"), r"\left(\langle x, y \rangle\right)_{\mathrm{age}}"),
    ],
    ids=str,
)  # fmt: skip
def test_written(kernel, written):
    assert tex(kernel) == [f"k(x, y) = {written}"]


def test_the_square_of_a_tiny_number_is_in_brackets():
    assert r"\left(1 \cdot 10^{-7}\right)^2" in tex(Gaussian(1e-7))[0]


def test_a_normalised_kernel_takes_two_lines():
    first, second = tex((Linear() + 2).normalize())
    assert first.startswith(r"k(x, y) = \frac{k_0(x, y)}{\sqrt{k_0(x, x)")
    assert second == r"k_0(x, y) = \langle x, y \rangle + 2"


@pytest.mark.parametrize(
    "kernel",
    [
        Matern(2.0, nu=0.5), Matern(2.0, nu=1.5), Matern(nu=2.5), Matern(nu=3.3), Exponential(2.0),
        RationalQuadratic(2.0, alpha=3.0), Binomial(2.0), Periodic(2.0), Periodic(2.0, 3.0),
        Gaussian().normalize() * Linear() + 1, (Gaussian() + 2) ** 3,
    ],
    ids=str,
)  # fmt: skip
def test_every_command_is_understood(kernel):
    for line in tex(kernel):
        found = ElementTree.fromstring(mathml(line, block=True))
        assert not list(found.iter("mtext"))
