"""Kernels as formulas in TeX, with their numbers in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..algebra.constant import Constant
from ..algebra.power import Power
from ..algebra.rescaled import Normalized
from ..algebra.sums import Product, Sum
from ..algebra.transforms import On
from ..base import Kernel

_LONG = 60  # characters of a name


def tex(kernel: Kernel) -> list[str]:
    r"""The formula k(x, y) = ... of an expression; a second line where that says what k_0 is.

    Kernels without a short formula appear by name, with their parameters.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> from mercer import Gaussian, Linear
    >>> from mercer.kernels.notation.tex import tex
    >>> print(*tex(Linear() ** 2 + 0.5))
    k(x, y) = \langle x, y \rangle^{2} + 0.5
    >>> print(*tex(Gaussian(3.0)))
    k(x, y) = \exp\left(-\frac{\|x - y\|^2}{2 \cdot 3^2}\right)
    """
    if not isinstance(kernel, Normalized):
        return [f"{_call('k')} = {_term(kernel)}"]
    root = rf"\sqrt{{{_call('k_0', 'x', 'x')} \, {_call('k_0', 'y', 'y')}}}"
    return [
        rf"{_call('k')} = \frac{{{_call('k_0')}}}{{{root}}}",
        f"{_call('k_0')} = {_term(kernel.kernel)}",
    ]


def number(value: Any) -> str:
    """Four digits, and a power of ten where there are many zeros."""
    mantissa, _, power = f"{float(value):.4g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def words(text: str) -> str:
    r"""Upright letters; braces would end them."""
    return rf"\mathrm{{{text[:_LONG].translate({123: '(', 125: ')'})}}}"


def brackets(inside: str) -> str:
    """Brackets as high as what is in them."""
    return rf"\left({inside}\right)"


def _term(kernel: Kernel, binding: int = 0) -> str:
    """A sub-expression, in brackets where it binds less than what is around it."""
    if isinstance(kernel, Sum):
        own, text = 1, f"{_term(kernel.left, 1)} + {_term(kernel.right, 1)}"
    elif isinstance(kernel, Product):
        dot = r"\," if isinstance(kernel.left, Constant) else r"\cdot"
        own, text = 2, f"{_term(kernel.left, 2)} {dot} {_term(kernel.right, 2)}"
    elif isinstance(kernel, Power):
        own, text = 3, f"{_term(kernel.base, 4)}^{{{number(kernel.exponent)}}}"
    elif isinstance(kernel, Constant):
        own, text = 4, number(kernel.value)
    elif isinstance(kernel, Normalized):
        own, text = 4, rf"\bar k(x, y)_{{{_named(kernel.kernel)}}}"
    elif isinstance(kernel, On):
        own, text = 4, f"{brackets(_term(kernel.kernel))}_{{{words(str(kernel.columns))}}}"
    else:
        own, text = 4, _leaf(kernel)
    return brackets(text) if own < binding else text


def _leaf(kernel: Kernel) -> str:
    written = _LEAVES.get(type(kernel).__name__)
    try:
        return written(kernel) if written else _call(_named(kernel))
    except (TypeError, ValueError):  # a lengthscale that is a word, or one for each column
        return _call(_named(kernel))


def _named(kernel: Kernel) -> str:
    """The name, with its numbers below."""
    numbers = [v for _, v in kernel._items() if isinstance(v, int | float)]
    listed = [number(v) for v in numbers if not isinstance(v, bool)]
    name = words(type(kernel).__name__)
    return f"{name}_{{{', '.join(listed)}}}" if listed else name


# ---- kernels with a short formula ----------------------------------------------------------
_PRODUCT = r"\langle x, y \rangle"


def _laplacian(k: Any) -> str:
    return _exp("-" + _over(_distance(k.p if k.p != 2 else None), k.lengthscale))


def _matern(k: Any) -> str:
    r = _over(_distance(), k.lengthscale)
    if k.nu == 0.5:
        return _exp(f"-{r}")
    if k.nu == 1.5:
        return brackets(rf"1 + \sqrt{{3}} \, {r}") + _exp(rf"-\sqrt{{3}} \, {r}")
    if k.nu == 2.5:
        third = rf"\frac{{5}}{{3}} {brackets(r)}^2"
        return brackets(rf"1 + \sqrt{{5}} \, {r} + {third}") + _exp(rf"-\sqrt{{5}} \, {r}")
    return _call(_named(k))


def _quadratic(k: Any) -> str:
    ratio = rf"\frac{{{_distance()}^2}}{{{number(2 * k.alpha)} {_square(k.lengthscale)}}}"
    return f"{brackets(f'1 + {ratio}')}^{{-{number(k.alpha)}}}"


def _polynomial(k: Any) -> str:
    offset = f" + {number(k.offset)}" if k.offset else ""
    return f"{brackets(_weighted(k.scale, _PRODUCT) + offset)}^{{{number(k.degree)}}}"


def _periodic(k: Any) -> str:
    turn = rf"\frac{{\pi (x - y)}}{{{number(k.period)}}}"
    scale = "2" if k.lengthscale == 1 else rf"\frac{{2}}{{{number(k.lengthscale)}^2}}"
    return _exp(rf"-{scale} \sin^2 {turn}")


_LEAVES: dict[str, Callable[[Any], str]] = {
    "Gaussian": lambda k: _exp(
        rf"-\frac{{{_distance()}^2}}{{2 {_square(k.lengthscale)}}}".replace(" }", "}")
    ),
    "Laplacian": _laplacian,
    "Matern": _matern,
    "RationalQuadratic": _quadratic,
    "Linear": lambda k: _PRODUCT,
    "Polynomial": _polynomial,
    "Exponential": lambda k: _exp(_weighted(k.scale, _PRODUCT)),
    "Binomial": lambda k: f"{brackets(f'1 - {_PRODUCT}')}^{{-{number(k.alpha)}}}",
    "Periodic": _periodic,
    "Spectrum": lambda k: rf"\sum_{{u : |u| = {number(k.k)}}} c_u(x) \, c_u(y)",
    "Words": lambda k: r"\sum_{\mathrm{word}\, w} c_w(x) \, c_w(y)",
    "XOR": lambda k: "x_1 y_1 + x_2 y_2 + x_1 y_1 x_2 y_2",
    "Conic": lambda k: f"{brackets(f'{_PRODUCT} + 1')}^2",
}


# ---- pieces --------------------------------------------------------------------------------
def _call(name: str, first: str = "x", second: str = "y") -> str:
    return f"{name}({first}, {second})"


def _distance(p: int | None = None) -> str:
    return r"\|x - y\|" + ("" if p is None else f"_{{{number(p)}}}")


def _over(text: str, by: float) -> str:
    return text if float(by) == 1 else rf"\frac{{{text}}}{{{number(by)}}}"


def _square(value: float) -> str:
    shown = number(value)
    return "" if float(value) == 1 else rf"\cdot {brackets(shown) if '^' in shown else shown}^2"


def _weighted(weight: float, text: str) -> str:
    return text if float(weight) == 1 else rf"{number(weight)} \, {text}"


def _exp(inside: str) -> str:
    return rf"\exp{brackets(inside)}"
