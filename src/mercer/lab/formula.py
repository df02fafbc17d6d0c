"""Formulas of kernels as MathML, which browsers typeset without any help."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ..kernels.algebra.constant import Constant
from ..kernels.algebra.power import Power
from ..kernels.algebra.rescaled import Normalized
from ..kernels.algebra.sums import Product, Sum
from ..kernels.algebra.transforms import On
from ..kernels.base import Kernel


def mathml(kernel: Kernel) -> str:
    """The formula k(x, y) = ... of an expression.

    Kernels without a short formula appear by name, with their parameters.

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    str
        One ``math`` element.

    Examples
    --------
    >>> from mercer import Linear
    >>> from mercer.lab.formula import mathml
    >>> mathml(Linear() + 1)[-58:]
    '<mo>⟩</mo></mrow><mo>+</mo><mn>1</mn></mrow></mrow></math>'
    """
    if isinstance(kernel, Normalized):
        body = _normalized(kernel.kernel)
    else:
        body = _row(_call(_i("k")), _o("="), _term(kernel))
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{body}</math>'


def _term(kernel: Kernel, binding: int = 0) -> str:
    """A sub-expression, in brackets where it binds less than what is around it."""
    if isinstance(kernel, Sum):
        own, text = 1, _row(_term(kernel.left, 1), _o("+"), _term(kernel.right, 1))
    elif isinstance(kernel, Product):
        own = 2
        dot = "\u2062" if isinstance(kernel.left, Constant) else "·"
        text = _row(_term(kernel.left, 2), _o(dot), _term(kernel.right, 2))
    elif isinstance(kernel, Power):
        own, text = 3, _sup(_term(kernel.base, 4), _n(kernel.exponent))
    elif isinstance(kernel, Constant):
        own, text = 4, _n(kernel.value)
    elif isinstance(kernel, Normalized):
        bar = f'<mover accent="true">{_i("k")}{_o("¯")}</mover>'
        own, text = 4, _row(_call(bar), _sub("<mrow/>", _named(kernel.kernel)))
    elif isinstance(kernel, On):
        own, text = 4, _sub(_row(_brackets(_term(kernel.kernel))), _t(str(kernel.columns)))
    else:
        own, text = 4, _leaf(kernel)
    return _brackets(text) if own < binding else text


def _leaf(kernel: Kernel) -> str:
    written = _LEAVES.get(type(kernel).__name__)
    try:
        return written(kernel) if written else _call(_named(kernel))
    except (TypeError, ValueError):  # a lengthscale that is a word, or one for each column
        return _call(_named(kernel))


def _named(kernel: Kernel) -> str:
    """The name, with its numbers below."""
    numbers = [v for _, v in kernel._items() if isinstance(v, int | float)]
    name = _t(type(kernel).__name__)
    listed = [_n(v) for v in numbers if not isinstance(v, bool)]
    return _sub(name, _row(*_joined(listed))) if listed else name


def _normalized(kernel: Kernel) -> str:
    """A kernel divided by the roots of its diagonal, and below that what it is."""
    name = _sub(_i("k"), _n(0))
    root = _sqrt(_row(_call(name, "x", "x"), _call(name, "y", "y")))
    rows = [
        _row(_call(_i("k")), _o("="), _over(_call(name), root)),
        _row(_call(name), _o("="), _term(kernel)),
    ]
    cells = "".join(f"<mtr><mtd>{row}</mtd></mtr>" for row in rows)
    return f"<mtable>{cells}</mtable>"


# ---- kernels with a short formula ----------------------------------------------------------
def _gaussian(k: Any) -> str:
    return _exp(_over(_sup(_distance(), _n(2)), _row(_n(2), _square(k.lengthscale))))


def _laplacian(k: Any) -> str:
    return _exp(_scaled(_distance(k.p if k.p != 2 else None), k.lengthscale))


def _matern(k: Any) -> str:
    r = _scaled(_distance(), k.lengthscale)
    if k.nu == 0.5:
        return _exp(r)
    if k.nu == 1.5:
        root = _row(_sqrt(_n(3)), _o("\u2062"), r)
        return _row(_brackets(_row(_n(1), _o("+"), root)), _exp(root))
    if k.nu == 2.5:
        root = _row(_sqrt(_n(5)), _o("\u2062"), r)
        third = _row(_over(_n(5), _n(3)), _sup(_brackets(r), _n(2)))
        return _row(_brackets(_row(_n(1), _o("+"), root, _o("+"), third)), _exp(root))
    return _call(_named(k))


def _quadratic(k: Any) -> str:
    below = _row(_n(2 * k.alpha), _square(k.lengthscale))
    base = _brackets(_row(_n(1), _o("+"), _over(_sup(_distance(), _n(2)), below)))
    return _sup(base, _row(_o("−"), _n(k.alpha)))


def _polynomial(k: Any) -> str:
    inside = _weighted(k.scale, _product())
    if k.offset:
        inside = _row(inside, _o("+"), _n(k.offset))
    return _sup(_brackets(inside), _n(k.degree))


def _periodic(k: Any) -> str:
    turn = _over(_row(_i("π"), _o("("), _i("x"), _o("−"), _i("y"), _o(")")), _n(k.period))
    factor = _n(2) if k.lengthscale == 1 else _over(_n(2), _sup(_n(k.lengthscale), _n(2)))
    return _exp(_row(factor, _sup(_t("sin"), _n(2)), turn))


def _spectrum(k: Any) -> str:
    u = _i("u")
    words = f"<munder>{_o('∑')}{_row(u, _o(':'), _o('|'), u, _o('|'), _o('='), _n(k.k))}</munder>"
    count = [_row(_sub(_i("c"), u), _o("("), _i(s), _o(")")) for s in "xy"]
    return _row(words, *count)


def _words(k: Any) -> str:
    w = _i("w")
    count = [_row(_sub(_i("c"), w), _o("("), _i(s), _o(")")) for s in "xy"]
    below = _row(_t("word"), '<mspace width="0.2em"/>', w)
    return _row(f"<munder>{_o('∑')}{below}</munder>", *count)


def _xor(k: Any) -> str:
    first = _row(_product(_sub(_i("x"), _n(1)), _sub(_i("y"), _n(1)), bare=True))
    second = _row(_product(_sub(_i("x"), _n(2)), _sub(_i("y"), _n(2)), bare=True))
    return _row(first, _o("+"), second, _o("+"), first, second)


_LEAVES: dict[str, Callable[[Any], str]] = {
    "Gaussian": _gaussian,
    "Laplacian": _laplacian,
    "Matern": _matern,
    "RationalQuadratic": _quadratic,
    "Linear": lambda k: _product(),
    "Polynomial": _polynomial,
    "Exponential": lambda k: _exp(_weighted(k.scale, _product()), negative=False),
    "Binomial": lambda k: _sup(
        _brackets(_row(_n(1), _o("−"), _product())), _row(_o("−"), _n(k.alpha))
    ),
    "Periodic": _periodic,
    "Spectrum": _spectrum,
    "Words": _words,
    "XOR": _xor,
    "Conic": lambda k: _sup(_brackets(_row(_product(), _o("+"), _n(1))), _n(2)),
}


# ---- pieces --------------------------------------------------------------------------------
def _i(name: str) -> str:
    return f"<mi>{escape(name)}</mi>"


def _t(text: str) -> str:
    return f'<mi mathvariant="normal">{escape(text[:60])}</mi>'


def _o(symbol: str) -> str:
    return f"<mo>{escape(symbol)}</mo>"


def _n(value: Any) -> str:
    text = f"{float(value):.4g}"
    mantissa, _, power = text.partition("e")
    if power:
        scale = _sup("<mn>10</mn>", f"<mn>{int(power)}</mn>")
        return _row(f"<mn>{mantissa}</mn>", _o("·"), scale)
    return f"<mn>{text}</mn>"


def _row(*parts: str) -> str:
    return f"<mrow>{''.join(parts)}</mrow>"


def _sup(base: str, power: str) -> str:
    return f"<msup>{base}{power}</msup>"


def _sub(base: str, index: str) -> str:
    return f"<msub>{base}{index}</msub>"


def _over(above: str, below: str) -> str:
    return f"<mfrac>{above}{below}</mfrac>"


def _sqrt(inside: str) -> str:
    return f"<msqrt>{inside}</msqrt>"


def _brackets(inside: str) -> str:
    return _row(_o("("), inside, _o(")"))


def _joined(parts: list[str]) -> list[str]:
    return [piece for part in parts for piece in (part, _o(","))][:-1]


def _call(name: str, first: str = "x", second: str = "y") -> str:
    return _row(name, _o("("), _i(first), _o(","), _i(second), _o(")"))


def _product(x: str = "", y: str = "", bare: bool = False) -> str:
    if bare:
        return x + y
    return _row(_o("⟨"), _i("x"), _o(","), _i("y"), _o("⟩"))


def _distance(p: int | None = None) -> str:
    bars = _row(_o("‖"), _i("x"), _o("−"), _i("y"), _o("‖"))
    return bars if p is None else _sub(bars, _n(p))


def _scaled(text: str, by: float) -> str:
    return text if float(by) == 1 else _over(text, _n(by))


def _square(value: float) -> str:
    return "" if float(value) == 1 else _row(_o("·"), _sup(_n(value), _n(2)))


def _weighted(weight: float, text: str) -> str:
    return text if float(weight) == 1 else _row(_n(weight), text)


def _exp(inside: str, negative: bool = True) -> str:
    return _row(_t("exp"), _brackets(_row(_o("−") if negative else "", inside)))
