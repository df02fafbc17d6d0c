"""The source of a fused product, from a formula: metrics, profiles, and a sum over columns.

A program computes a tile of K in registers, multiplies it with a block of right-hand sides, and
goes on to the next columns; no entry of K is ever written to memory. Exponentials are powers of two
whose factor log2(e) is part of the coordinates already where that is possible; some of them are
polynomials, since the unit for functions is what limits the others. Tiles in which a distance may
have cancelled are marked, and a second function adds what is missing.

Numbers such as amplitudes are read from an array, so other hyper-parameters need no new function.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...kernels.formula import INNER, SQUARED
from . import halves
from .functions import Powers, functions

_LARGE = "1e30"  # a distance that every profile still takes, times itself or not
_NEVER = "-1e30"  # a limit below which no distance is
TILES = 256  # of a program, at most


class Seen(NamedTuple):
    """How a metric is computed in a tile: everything its source depends on.

    Parameters
    ----------
    kind : "squared", "taxicab" or "inner"
        The metric.
    pieces : tuple of ints
        The widths of the products that make up its operands; none if differences are taken.
    dot : str
        The precision of products of numbers in single precision.
    coordinates : int
        The number of coordinates of which differences are taken; 0 if they never are.
    double : bool
        Are these in double precision?
    sign : int
        The sign of the metric times its weight.
    shared : bool
        Are operands pairs of halves, h and l, of which products h h' + h l' + l h' are summed?
    """

    kind: str
    pieces: tuple[int, ...]
    dot: str
    coordinates: int
    double: bool
    sign: int
    shared: bool = False

    @property
    def operands(self) -> tuple[str, ...]:
        """What a program reads for rows, and likewise for columns."""
        return (
            (("p",) if self.pieces else ())
            + (("c",) if self.coordinates else ())
            + (("l",) if self.checked else ())
        )

    @property
    def width(self) -> int:
        """How many numbers the operand of a sample has."""
        return sum(self.pieces) * (1 + self.shared)

    @property
    def work(self) -> int:
        """How many of them are multiplied on tensor cores."""
        return sum(self.pieces) * (3 if self.shared else 1)

    @property
    def held(self) -> bool:
        """Do operands of rows stay in registers or shared memory?"""
        return self.width <= halves.HELD

    @property
    def checked(self) -> bool:
        """Is the product compared with the limit below which it may have cancelled?"""
        return bool(self.pieces and self.coordinates)

    @property
    def bounded(self) -> bool:
        """Is it at most zero?"""
        return self.kind != INNER and self.sign < 0


# weight as an expression or None for 1, (metric, profile of it), bits of factors
Tile = tuple[str | None, tuple[tuple[int, str], ...], int]


def written(
    metrics: tuple[Seen, ...],
    terms: tuple[Tile, ...],
    factors: int,
    numbers: int,
    powers: Powers | None,
    sides: int,
    ahead: bool,
) -> str:
    """The source of the functions ``fused``, ``mended`` if distances may cancel, and ``power``.

    Programs of ``mended`` begin with the last rows and columns, so that the first ones may be left
    out.

    Parameters
    ----------
    metrics, terms
        The parts of a tile.
    factors, numbers : int
        How many functions f(x) there are, and how many numbers.
    powers : Powers or None
        How powers are computed; None where there is no assembler.
    sides : int
        How many right-hand sides are summed without tensor cores; 0 if all are summed on these.
    ahead : bool
        Are right-hand sides read a tile ahead? This pays if threads have to exchange them.
    """
    names = [f"{o}{q}" for q, m in enumerate(metrics) for o in m.operands]
    names += [f"f{q}" for q in range(factors)]
    arguments = "".join(f"{name}x, {name}y, " for name in names)
    arguments = f"{arguments}N, V, flags, doubts, out, n, m, span,"
    options = "R: tl.constexpr, SPLIT: tl.constexpr, DOT: tl.constexpr, BM: tl.constexpr, "
    options += "BN: tl.constexpr"
    start = _start(metrics, factors, numbers, sides)
    tile = _columns(factors) + [line for q, m in enumerate(metrics) for line in _metric(q, m)]
    total = [f"k = {_values(terms)}", *_summed(sides)]
    ahead = ahead and sides > 0
    marks = [line for q, m in enumerate(metrics) if m.checked for line in _mark(q, m)]
    lines = [*functions(powers), "", f"def fused({arguments}", f"          {options}):"]
    lines += _indented([*_place("{}"), *start])
    begin, end = "0", "size"
    if sortable(metrics):
        begin, end = "low", "high"
        around = "tl.where({0} < low, {0}, {0} + high - low)"
        lines += _indented(_tiles("0", "size - high + low", around, tile + total, sides, ahead))
    lines += _indented(_tiles(begin, end, "{0}", tile + marks + total, sides, ahead))
    lines += _indented(_stored(sides))
    if marks:
        again = [*tile, *_read("v", "j", sides)]
        exact = [line for q, m in enumerate(metrics) if m.checked for line in _differences(q, m)]
        change = [f"before = {_values(terms)}", *exact, f"k = {_values(terms)} - before"]
        marked = "tl.load(flags + (first // BN + {}) * tl.cdiv(n, BM) + block{})"
        every = marked.format("every", ", mask=every * BN < size, other=0")
        here = marked.format("start // BN", "")
        lines += ["", f"def mended({arguments}", f"           {options}):"]
        lines += _indented(
            [
                *_place("tl.cdiv({1}) - 1 - {0}"),
                f"every = tl.arange(0, {TILES})",
                f"if tl.max({every}.to(tl.int32), axis=0) > 0:",
                *_indented(start),
                "    for start in range(0, size, BN):",
                f"        if {here} > 0:",
                *_indented(_indented(_indented([*again, *change, *_summed(sides)]))),
                *_indented(_stored(sides, add=True)),
            ]
        )
    return "\n".join(lines) + "\n"


def sortable(metrics: tuple[Seen, ...]) -> bool:
    """Can columns be sorted so that those in doubt are adjacent?"""
    return sum(metric.checked for metric in metrics) == 1


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _place(at: str) -> list[str]:
    """The rows and columns of a program, which counts blocks from the first or from the last."""
    return [
        f"block = {at.format('tl.program_id(0)', 'n, BM')}",
        f"strip = ({at.format('tl.program_id(1)', 'm, span')}).to(tl.int64)",
        "first = strip * span",
        "size = tl.minimum(m - first, span).to(tl.int32)",
    ]


def _start(metrics: tuple[Seen, ...], factors: int, numbers: int, sides: int) -> list[str]:
    """What a program reads once for its rows."""
    lines = [
        "i = block * BM + tl.arange(0, BM)",
        *(["V += first"] if sides else ["r = tl.arange(0, R)", "V += first * R"]),
    ]
    lines += [f"n{q} = tl.load(N + {q})" for q in range(numbers)]
    for q, metric in enumerate(metrics):
        start = 0
        if metric.coordinates:
            lines += [f"w{q} = tl.load(N + {numbers + 1 + q})"]
        if metric.pieces:
            lines += [f"p{q}y += first * {metric.width}"]
        if metric.coordinates:
            lines += [f"c{q}y += first * {metric.coordinates}"]
        if metric.held:
            for piece, width in enumerate(metric.pieces):
                lines += _parts(f"a{q}_{piece}", f"p{q}x", "i", start, width, metric)
                start += width
        if metric.checked:
            lines += [f"l{q}i = tl.load(l{q}x + i, mask=i < n, other={_NEVER})"]
    if sortable(metrics):
        for at, name in enumerate(("low", "high")):
            lines += [
                f"{name} = tl.load(doubts + 2 * block + {at}) * BN - first",
                f"{name} = tl.minimum(tl.maximum({name}, 0), size).to(tl.int32)",
            ]
    for q in range(factors):
        lines += [f"f{q}i = tl.load(f{q}x + i, mask=i < n, other=0.0)", f"f{q}y += first"]
    return [
        *lines,
        f"unit = tl.load(N + {numbers})",
        *(f"acc{side} = tl.zeros((BM, 1), tl.float32)" for side in range(sides)),
        *([] if sides else ["acc = tl.zeros((BM, R), tl.float32)"]),
    ]


def _tiles(begin: str, end: str, place: str, body: list[str], sides: int, ahead: bool) -> list[str]:
    """A loop over steps, one for each tile."""
    if not ahead:
        inner = [f"start = {place.format('step')}", *body[:1], *_read("v", "j", sides), *body[1:]]
        return [f"for step in range({begin}, {end}, BN):", *_indented(inner)]

    def read(to: str, step: str) -> list[str]:
        where = f"tl.minimum({place.format(step)}, size - BN) + tl.arange(0, BN)"
        return _read(to, where, sides)

    return [
        *read("v", f"({begin})"),
        f"for step in range({begin}, {end}, BN):",
        f"    start = {place.format('step')}",
        *_indented(read("u", "(step + BN)")),
        *_indented(body),
        *(f"    v{side} = u{side}" for side in range(sides)),
    ]


def _read(to: str, where: str, sides: int) -> list[str]:
    return [f"{to}{side} = tl.load(V + {side} * m.to(tl.int64) + {where})" for side in range(sides)]


def _columns(factors: int) -> list[str]:
    """What is read for the columns of a tile, except for metrics."""
    lines = ["j = start + tl.arange(0, BN)"]
    return lines + [f"f{q}j = tl.load(f{q}y + j)" for q in range(factors)]


def _summed(sides: int) -> list[str]:
    """acc += k V.

    In half precision, k = h + l, in units given by the last number, is multiplied with both halves
    of V, side by side. Sums on tensor cores are rounded toward zero, so they are kept short.
    """
    if sides:
        return [
            f"acc{side} += tl.sum(k * v{side}[None, :], axis=1, keep_dims=True)"
            for side in range(sides)
        ]
    return [
        "v = tl.load(V + j[:, None] * R + r[None, :])",
        "if SPLIT:",
        "    k = k * unit",
        "    h = (k.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)",
        "    part = tl.dot((k - h).to(tl.float16), v)",
        "    acc += tl.dot(h.to(tl.float16), v, part)",
        "else:",
        "    acc += tl.dot(k, v, input_precision=DOT)",
    ]


def _stored(sides: int, add: bool = False) -> list[str]:
    lines = ["row = strip * n + i", "inside = i[:, None] < n"]
    names = [f"acc{side}" for side in range(sides)] or ["acc"]
    for side, name in enumerate(names):
        lines += [f"to = out + row[:, None] * R + {side if sides else 'r[None, :]'}"]
        if add:
            lines += [f"{name} += tl.load(to, mask=inside, other=0.0)"]
        lines += [f"tl.store(to, {name}, mask=inside)"]
    return lines


def _values(terms: tuple[Tile, ...]) -> str:
    """The tile as a sum of products; the bits of ``factors`` say which f(x) f(y) are part of it."""
    found = []
    for weight, atoms, factors in terms:
        each = [] if weight is None else [weight]
        each += [profile for _, profile in atoms]
        several = [q for q in range(factors.bit_length()) if factors >> q & 1]
        each += [f"f{q}i[:, None] * f{q}j[None, :]" for q in several]
        found.append(" * ".join(each or ["1.0"]))
    some = any(atoms or factors for _, atoms, factors in terms)
    return " + ".join(found) if some else f"tl.zeros((BM, BN), tl.float32) + {' + '.join(found)}"


def _parts(to: str, of: str, index: str, start: Any, width: int, metric: Seen) -> list[str]:
    """Operands of rows, which may be fewer than a tile has, or of columns, in whole tiles."""
    mask = ", mask=i[:, None] < n, other=0.0" if index == "i" else ""
    at = f"{index}[:, None] * {metric.width} + ({start} + tl.arange(0, {width}))[None, :]"
    lines = [f"{to} = tl.load({of} + {at}{mask})"]
    if metric.shared:
        lines += [f"{to}l = tl.load({of} + {sum(metric.pieces)} + {at}{mask})"]
    return lines


def _dots(t: str, a: str, first: bool, metric: Seen) -> list[str]:
    """t += a b', the smallest parts first."""
    pairs = [(a, "bl"), (f"{a}l", "b"), (a, "b")] if metric.shared else [(a, "b")]
    lines: list[str] = []
    for left, right in pairs:
        more = "" if first else f", {t}"
        dot = f"tl.dot({left}, tl.trans({right}){more}, input_precision='{metric.dot}')"
        lines, first = [*lines, f"{t} = {dot}"], False
    return lines


def _metric(q: int, metric: Seen) -> list[str]:
    """The metric of a tile, ``t``."""
    lines, start, t = [], 0, f"t{q}"
    if not metric.pieces:
        return _differences(q, metric)
    if metric.held:
        for piece, width in enumerate(metric.pieces):
            lines += _parts("b", f"p{q}y", "j", start, width, metric)
            lines += _dots(t, f"a{q}_{piece}", not piece, metric)
            start += width
    else:
        width = metric.pieces[0]
        lines += [
            f"{t} = tl.zeros((BM, BN), tl.float32)",
            f"for at in range(0, {sum(metric.pieces)}, {width}):",
            *_indented(_parts("a", f"p{q}x", "i", "at", width, metric)),
            *_indented(_parts("b", f"p{q}y", "j", "at", width, metric)),
            *_indented(_dots(t, "a", False, metric)),
        ]
    return lines


def _mark(q: int, metric: Seen) -> list[str]:
    """Mark the tile if a distance in it may have cancelled; all columns share one ``l``.

    Distances, enlarged by their errors, are compared as integers, which is faster.
    """
    bits = f"tl.min(t{q}.to(tl.int32, bitcast=True), axis=1).to(tl.float32, bitcast=True)"
    return [
        "here = (first + start) // BN",
        f"least = {bits if metric.sign > 0 else f'-tl.max(t{q}, axis=1)'}",
        "mark = flags + here * tl.cdiv(n, BM) + block + tl.zeros((BM,), tl.int64)",
        f"doubt = least < l{q}i + tl.load(l{q}y + here)",
        "tl.store(mark, tl.full((BM,), 1, tl.int8), mask=doubt)",
    ]


def _differences(q: int, metric: Seen) -> list[str]:
    kind = "tl.float64" if metric.double else "tl.float32"
    change = "tl.abs(u)" if metric.kind != SQUARED else "u * u"
    return [
        f"s = tl.zeros((BM, BN), {kind})",
        f"for at in range({metric.coordinates}):",
        f"    x = tl.load(c{q}x + i * {metric.coordinates} + at, mask=i < n, other=0.0)",
        f"    y = tl.load(c{q}y + j * {metric.coordinates} + at)",
        "    u = x[:, None] - y[None, :]",
        f"    s += {change}",
        f"t{q} = tl.minimum(s * w{q}, {_LARGE}).to(tl.float32) * {metric.sign}.0",
    ]
