"""Kernels as formulas: how parts are combined, and what each part is, set in MathML.

The definition of a kernel is the first formula in its docstring; the algebra is set as it is
written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from inspect import getdoc
from typing import Any, NamedTuple

from ..kernels.algebra.constant import Constant
from ..kernels.algebra.power import Power
from ..kernels.algebra.rescaled import Normalized
from ..kernels.algebra.sums import Product, Sum
from ..kernels.algebra.transforms import On
from ..kernels.base import Kernel
from ..kernels.notation.mathml import mathml as written
from ..kernels.notation.tex import brackets, number, words
from .markup import Html, code, join, short, tag
from .markup import number as plain_number

BAR = r"\bar k"
_MOST_PARTS = 24  # with more, a formula is no help
_MATH = re.compile(r"\.\. math::(.*?)(?:\n\s*\n(?=\S)|\Z)", re.DOTALL)
_LONG = 160  # characters of a parameter


class Part(NamedTuple):
    """A kernel that is not made of others by the algebra, and the columns it reads."""

    kernel: Kernel
    columns: tuple[str, ...]


@dataclass
class _Writer:
    parts: list[Part] = field(default_factory=list)
    barred: bool = False

    def write(self, kernel: Kernel, columns: tuple[str, ...] = ()) -> str:
        """The formula in TeX."""
        if isinstance(kernel, Constant):
            return number(kernel.value)
        if isinstance(kernel, Sum):
            left, right = (self.write(k, columns) for k in (kernel.left, kernel.right))
            return f"{left} + {right}"
        if isinstance(kernel, Product):
            left, right = (self.factor(k, columns) for k in (kernel.left, kernel.right))
            dot = r"\cdot" if isinstance(kernel.right, Constant) else r"\,"
            return f"{left} {dot} {right}"
        if isinstance(kernel, Power):
            inner = self.write(kernel.base, columns)
            if isinstance(kernel.base, Sum | Product | Power):
                inner = brackets(inner)
            return f"{{{inner}}}^{{{kernel.exponent}}}"
        if isinstance(kernel, Normalized):
            return self.normalized(kernel.kernel, columns)
        if isinstance(kernel, On):
            return self.write(kernel.kernel, (*columns, *_names(kernel.columns)))
        return self.part(Part(kernel, columns))

    def normalized(self, kernel: Kernel, columns: tuple[str, ...]) -> str:
        """A part with a bar; what is made of several, as the norm of it."""
        while isinstance(kernel, On):
            columns = (*columns, *_names(kernel.columns))
            kernel = kernel.kernel
        self.barred = True
        if isinstance(kernel, Sum | Product | Power | Normalized | Constant):
            return words("norm") + brackets(self.write(kernel, columns))
        return self.part(Part(kernel, columns), barred=True)

    def factor(self, kernel: Kernel, columns: tuple[str, ...]) -> str:
        inner = self.write(kernel, columns)
        return brackets(inner) if isinstance(kernel, Sum) else inner

    def part(self, part: Part, barred: bool = False) -> str:
        place = next((i for i, p in enumerate(self.parts) if p == part), len(self.parts))
        if place == len(self.parts):
            self.parts.append(part)
        return _called(place + 1, barred)


def mathml(tex: str, *, block: bool = False) -> Html:
    """A formula in TeX as an element ``math`` (:func:`mercer.kernels.notation.mathml.mathml`)."""
    return Html(written(tex, block=block))


def formula(kernel: Kernel) -> Html:
    """What k(x, y) is, as a displayed formula, with a list of its parts if there are several."""
    writer = _Writer()
    whole = writer.write(kernel)
    parts = writer.parts
    if len(parts) > _MOST_PARTS:
        return tag("p", code(short(repr(kernel), 2000)))
    alone = len(parts) == 1 and whole == _called(1)
    lines = [] if alone else [mathml(f"k(x, y) = {whole}", block=True)]
    described = [_described(p, None if alone else i + 1) for i, p in enumerate(parts)]
    if alone:
        return join([*described, _explained(writer.barred)])
    lines += [tag("ol", *(tag("li", d) for d in described), class_="parts")] if parts else []
    return join([*lines, _explained(writer.barred)])


def parameters(kernel: Kernel) -> list[tuple[str, str]]:
    """The names and values of all hyper-parameters, those of parts included."""
    rows = []
    for name, value in sorted(kernel.get_params().items()):
        if isinstance(value, Kernel) or value is None:
            continue
        shown = (
            plain_number(value) if isinstance(value, int | float) else short(_plain(value), _LONG)
        )
        rows.append((name, shown))
    return rows


def _described(part: Part, place: int | None) -> Html:
    """The formula of a part, its name and its columns."""
    tex = definition(part.kernel)
    lines = []
    if tex is not None:
        sign = "k" if place is None else f"k_{{{place}}}"
        lines.append(mathml(re.sub(r"^k\(", rf"{sign}(", tex), block=True))
    elif place is not None:
        name = words(type(part.kernel).__name__)
        lines.append(mathml(f"{_called(place)} = {name}(x, y)", block=True))
    said: list[Any] = [code(short(repr(part.kernel), 300))]
    if part.columns:
        said += [" on ", short(", ".join(part.columns), 300)]
    return join([*lines, tag("p", *said, class_="aside")])


def definition(kernel: Kernel) -> str | None:
    """The first formula in the docstring of a kernel, in TeX; None if there is none."""
    cls = type(kernel)
    found = _MATH.search((getdoc(cls) if cls.__doc__ else "") or "")
    tex = " ".join(found[1].split()) if found else ""
    return tex or None


def _plain(value: Any) -> str:
    return str(value.tolist()) if hasattr(value, "tolist") else str(value)


def _names(columns: Any) -> tuple[str, ...]:
    if isinstance(columns, slice):
        return (f"columns {columns.start or 0} to {columns.stop or 'the last'}",)
    several = isinstance(columns, list | tuple)
    return tuple(map(str, columns)) if several else (str(columns),)


def _called(place: int, barred: bool = False) -> str:
    return rf"{BAR if barred else 'k'}_{{{place}}}(x, y)"


def _explained(barred: bool) -> Html | None:
    if not barred:
        return None
    meaning = mathml(rf"{BAR}(x, y) = k(x, y) / \sqrt{{k(x, x)\, k(y, y)}}")
    start = "A bar, or norm, stands for the normalised kernel, "
    return tag("p", start, meaning, ".", class_="aside")
