"""The source of a fused product, written from a formula: metrics, profiles, and a sum over columns.

A program computes a tile of K in registers, multiplies it with a block of right-hand sides, and
goes on to the next columns; no entry of K is ever written to memory. Exponentials are powers of two
whose factor log2(e) is part of the coordinates already where that is possible.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from math import log2, sqrt
from typing import Any, NamedTuple

from ...kernels.formula import SQUARED, Profile

LOG2E = log2(2.718281828459045)
_LARGE = "1e30"  # a distance that every profile still takes, times itself or not
_HELD = 256  # columns of the left operand that stay in registers and shared memory


class Seen(NamedTuple):
    """How a metric is computed in a tile: all that its source depends on.

    Parameters
    ----------
    kind : "squared", "taxicab" or "inner"
        The metric.
    pieces : tuple of ints
        The widths of the products that make up its operands; none if differences are taken.
    dot : str
        The precision of products of numbers in single precision.
    coordinates : int
        The number of coordinates of which differences are taken; 0 if none ever are.
    double : bool
        Are these in double precision?
    sign : int
        That of the metric times its weight.
    """

    kind: str
    pieces: tuple[int, ...]
    dot: str
    coordinates: int
    double: bool
    sign: int

    @property
    def operands(self) -> tuple[str, ...]:
        """What a program reads of the rows; the same again of the columns."""
        return (
            (("p",) if self.pieces else ())
            + (("c",) if self.coordinates else ())
            + (("l",) if self.checked else ())
        )

    @property
    def checked(self) -> bool:
        """Is the product compared with the limit below which it may have cancelled?"""
        return bool(self.pieces and self.coordinates)


def value(profile: Profile, t: str, folded: bool) -> str | None:
    """The profile of a weighted metric, as an expression; None if it is not known here.

    ``folded``: log2(e) is part of the weight.
    """
    parameters = dict(profile.parameters)
    made = PROFILES.get(profile.name)
    try:
        return None if made is None else made(t if folded else f"({t} * {LOG2E})", t, **parameters)
    except TypeError:  # other parameters than those that are known here
        return None


def _matern(_: str, t: str, nu: float) -> str | None:
    if nu == 0.5:
        return _power(f"-{LOG2E} * tl.sqrt({t})")
    if nu == 1.5:
        return f"(1.0 + tl.sqrt({t})) * {_power(f'-{LOG2E} * tl.sqrt({t})')}"
    if nu == 2.5:
        r = f"{sqrt(3)} * tl.sqrt({t})"
        return f"(1.0 + {r} + {t}) * {_power(f'-{LOG2E * sqrt(3)} * tl.sqrt({t})')}"
    return None


def _power(exponent: str) -> str:
    return f"tl.exp2({exponent})"


def _raised(base: str, degree: float) -> str:
    """An integer power, by multiplications."""
    return "(" + " * ".join([base] * int(degree)) + ")" if degree >= 1 else "1.0"


# Of the metric times log2(e), of the metric, and of parameters.
PROFILES: dict[str, Callable[..., str | None]] = {
    "exp": lambda e, t: _power(e),
    "laplacian": lambda e, t, **_: _power(f"-{LOG2E} * tl.sqrt({t})"),
    "matern": _matern,
    "rational quadratic": lambda e, t, alpha: _power(f"{-float(alpha)} * tl.log2(1.0 + {t})"),
    "linear": lambda e, t: t,
    "polynomial": lambda e, t, degree, offset, scale: _raised(
        f"({t} * {float(scale)} + {float(offset)})", degree
    ),
    "exponential": lambda e, t, scale: _power(f"{float(scale) * LOG2E} * {t}"),
    "binomial": lambda e, t, alpha: _power(f"{-float(alpha)} * tl.log2(1.0 - {t})"),
}

Tile = tuple[float, tuple[tuple[int, str], ...], int]  # weight, (metric, profile of it), factors


def written(metrics: tuple[Seen, ...], terms: tuple[Tile, ...], factors: int) -> str:
    """The source of the function ``fused``."""
    names = [f"{o}{q}" for q, m in enumerate(metrics) for o in m.operands]
    names += [f"f{q}" for q in range(factors)]
    arguments = "".join(f"{name}x, {name}y, " for name in names)
    lines = [
        f"def fused({arguments}V, out, n, m, width, span,",
        "          R: tl.constexpr, DOT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):",
        "    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)",
        "    first = tl.program_id(1).to(tl.int64) * span",
        "    last = tl.minimum(first + span, m)",
        "    r = tl.arange(0, R)",
        "    acc = tl.zeros((BM, R), tl.float64)",
    ]
    for q, metric in enumerate(metrics):
        lines += ["    " + line for line in _before(q, metric)]
    for q in range(factors):
        lines += [f"    f{q}i = tl.load(f{q}x + i, mask=i < n, other=0.0)"]
    lines += [
        "    for start in range(first, last, BN):",
        "        j = start + tl.arange(0, BN)",
        "        v = tl.load(V + j[:, None] * width + r[None, :],",
        "                    mask=(j[:, None] < last) & (r[None, :] < width), other=0.0)",
    ]
    for q, metric in enumerate(metrics):
        lines += ["        " + line for line in _during(q, metric)]
    for q in range(factors):
        lines += [f"        f{q}j = tl.load(f{q}y + j, mask=j < last, other=0.0)"]
    lines += ["        k = tl.zeros((BM, BN), tl.float32)"]
    lines += [f"        k += {_term(*term)}" for term in terms]
    lines += [
        "        if R == 1:",
        "            acc += tl.sum(k * tl.trans(v), axis=1, keep_dims=True).to(tl.float64)",
        "        else:",
        "            acc += tl.dot(k, v, input_precision=DOT).to(tl.float64)",
        "    row = tl.program_id(1).to(tl.int64) * n + i",
        "    to = out + row[:, None] * width + r[None, :]",
        "    tl.store(to, acc, mask=(i[:, None] < n) & (r[None, :] < width))",
    ]
    return "\n".join(lines) + "\n"


def _term(weight: float, atoms: tuple[tuple[int, str], ...], factors: int) -> str:
    """A product; the bits of ``factors`` say which functions f(x) f(y) are part of it."""
    each = [repr(float(weight))] + [profile for _, profile in atoms]
    several = [q for q in range(factors.bit_length()) if factors >> q & 1]
    each += [f"f{q}i[:, None] * f{q}j[None, :]" for q in several]
    return " * ".join(each)


def _before(q: int, metric: Seen) -> list[str]:
    """What is read of the rows once."""
    lines, start = [], 0
    if sum(metric.pieces) <= _HELD:
        for piece, width in enumerate(metric.pieces):
            lines += [_load(f"a{q}_{piece}", f"p{q}x", "i", "n", start, width, metric)]
            start += width
    if metric.checked:
        lines += [f"l{q}i = tl.load(l{q}x + i, mask=i < n, other=-1.0)"]
    return lines


def _load(to: str, of: str, index: str, end: str, start: Any, width: int, metric: Seen) -> str:
    where = f"{index}[:, None] * {sum(metric.pieces)} + ({start} + tl.arange(0, {width}))[None, :]"
    return f"{to} = tl.load({of} + {where}, mask={index}[:, None] < {end}, other=0.0)"


def _during(q: int, metric: Seen) -> list[str]:
    """The metric of a tile, ``t``."""
    lines, start, t = [], 0, f"t{q}"
    if not metric.pieces:
        return _differences(q, metric)
    if sum(metric.pieces) <= _HELD:
        for piece, width in enumerate(metric.pieces):
            lines += [_load("b", f"p{q}y", "j", "last", start, width, metric)]
            more = f", {t}" if piece else ""
            product = f"tl.dot(a{q}_{piece}, tl.trans(b){more}, input_precision='{metric.dot}')"
            lines += [f"{t} = {product}"]
            start += width
    else:
        width = metric.pieces[0]
        lines += [
            f"{t} = tl.zeros((BM, BN), tl.float32)",
            f"for at in range(0, {sum(metric.pieces)}, {width}):",
            "    " + _load("a", f"p{q}x", "i", "n", "at", width, metric),
            "    " + _load("b", f"p{q}y", "j", "last", "at", width, metric),
            f"    {t} = tl.dot(a, tl.trans(b), {t}, input_precision='{metric.dot}')",
        ]
    if metric.checked:
        sure = f"{'-' if metric.sign < 0 else ''}{t} >= l{q}i[:, None] + l{q}j[None, :]"
        lines += [
            f"l{q}j = tl.load(l{q}y + j, mask=j < last, other=-1.0)",
            "inside = (i[:, None] < n) & (j[None, :] < last)",
            f"doubtful = tl.where(inside & ~({sure}), 1, 0)",
            "if tl.max(tl.max(doubtful, axis=1), axis=0) > 0:",
            *("    " + line for line in _differences(q, metric)),
        ]
    if metric.kind == SQUARED:  # by rounding, distances may be below zero
        lines += [f"{t} = tl.{'maximum' if metric.sign > 0 else 'minimum'}({t}, 0.0)"]
    return lines


def _differences(q: int, metric: Seen) -> list[str]:
    kind = "tl.float64" if metric.double else "tl.float32"
    change = "tl.abs(u)" if metric.kind != SQUARED else "u * u"
    return [
        f"s = tl.zeros((BM, BN), {kind})",
        f"for at in range({metric.coordinates}):",
        f"    x = tl.load(c{q}x + i * {metric.coordinates} + at, mask=i < n, other=0.0)",
        f"    y = tl.load(c{q}y + j * {metric.coordinates} + at, mask=j < last, other=0.0)",
        "    u = x[:, None] - y[None, :]",
        f"    s += {change}",
        f"t{q} = (tl.minimum(s, {_LARGE}) * {metric.sign}.0).to(tl.float32)",
    ]


@cache
def compiled(source: str) -> Any:
    """The function with this source, for Triton to compile or to interpret."""
    import triton
    import triton.language as tl

    name = f"<mercer {sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    scope: dict[str, Any] = {"tl": tl, "__name__": __name__}
    exec(compile(source, name, "exec"), scope)  # written above, of numbers and names
    return triton.jit(scope["fused"])
