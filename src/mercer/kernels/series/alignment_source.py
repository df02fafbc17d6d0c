"""The source of sums and minima over alignments on a device, written for a number of channels.

A program compares one series with a lane of others, in strips of columns of the table of all pairs
of points. It goes down a strip row by row; the last row is in registers. The right edge of a strip
is written to memory, with its power of two, and read by the next strip.

Between rows, the numbers of a lane are multiplied by a power of two (``unit`` holds it), so that
the largest is between 1 and 2.
"""

from __future__ import annotations

from functools import cache
from math import log
from typing import NamedTuple

FAR = 1e18  # what is so far away has no part in any alignment; its square is representable
_LOW = -(2**24)  # the power of two of zero
_STRIPS = {1: 8, 2: 8, 3: 8}  # columns of a strip, by the channels of points kept in registers


class _Real(NamedTuple):
    """A type of numbers, and where their exponents are."""

    name: str
    bits: str
    mantissa: int
    bias: int


_REALS = {False: _Real("float32", "int32", 23, 127), True: _Real("float64", "int64", 52, 1023)}


class Aligned(NamedTuple):
    """What the source depends on.

    Parameters
    ----------
    channels : int
        Of the points.
    double : bool
        In double precision?
    band : bool
        Is there a band?
    minimum : bool
        The smallest sum of squared distances, or the log of the sum over all alignments?
    """

    channels: int
    double: bool
    band: bool
    minimum: bool

    @property
    def real(self) -> _Real:
        return _REALS[self.double]

    @property
    def strip(self) -> int:
        """The columns of a strip."""
        return _STRIPS.get(self.channels, 4)

    @property
    def held(self) -> bool:
        """Are the points of a strip kept in registers?"""
        return self.channels in _STRIPS

    @property
    def nothing(self) -> str:
        """The value of no alignment."""
        return "float('inf')" if self.minimum else "0.0"


@cache
def written(task: Aligned) -> str:
    """The source: values of series ``start + program_id(0)`` of x with lanes of y."""
    skip = "if (symmetric == 0) | ((tl.program_id(1) + 1) * L > row):"
    return "\n".join(
        [
            "def fused(x, y, x_size, y_size, edge, power, out, start, ny, Tx, band, symmetric,",
            "          L: tl.constexpr):",
            "    row = start + tl.program_id(0)",
            f"    {skip}",
            *_indented(_program(task), 2),
            "",
        ]
    )


def _indented(lines: list[str], levels: int = 1) -> list[str]:
    return ["    " * levels + line for line in lines]


def _program(task: Aligned) -> list[str]:
    kind = f"tl.{task.real.name}"
    ends = ["value = value.to(tl.float64)"]
    if not task.minimum:
        ends += [
            "some = value > 0",
            f"value = tl.log(tl.where(some, value, 1.0)) + exponent.to(tl.float64) * {log(2)!r}",
            "value = tl.where(some, value, float('-inf'))",
        ]
    if task.band:
        nothing = "float('inf')" if task.minimum else "float('-inf')"
        ends += [f"value = tl.where(tl.abs(m - n) < band, value, {nothing})"]
    return [
        "k = tl.program_id(1) * L + tl.arange(0, L)",
        "m = tl.load(x_size + row).to(tl.int32)",
        "n = tl.load(y_size + k, mask=k < ny, other=1).to(tl.int32)",
        "own = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)",
        "own = own.to(tl.int64) * Tx * L + tl.arange(0, L)",
        f"value = tl.full((L,), {task.nothing}, {kind})",
        "exponent = tl.zeros((L,), tl.int32)",
        f"for j in range(0, tl.max(n, axis=0), {task.strip}):",
        *_indented(_strip(task)),
        *ends,
        "tl.store(out + row.to(tl.int64) * ny + k, value, mask=k < ny)",
    ]


def _strip(task: Aligned) -> list[str]:
    """The columns from j on, from above."""
    kind, cells = f"tl.{task.real.name}", range(task.strip)
    empty = "0.0" if task.minimum else "1.0"  # the empty alignment
    lines = [f"a{b} = tl.full((L,), {task.nothing}, {kind})" for b in cells]
    lines += [line for b in cells if task.held for line in _point(task, b)]
    lines += [
        "unit = tl.zeros((L,), tl.int32)",
        f"corner = tl.full((L,), {task.nothing}, {kind})",
        f"corner = tl.where(j == 0, {empty}, corner)",
    ]
    if task.band:
        lines += [
            "first = tl.maximum(0, j - band + 1)",
            f"last = tl.minimum(m, j + {task.strip - 1} + band)",
            "known = tl.where(j == 0, 0, tl.minimum(m, j - 1 + band))",
            "known = tl.where(k >= 0, known, 0)",  # the rows that the strip before has left
            "if first > 0:",
            *_indented(_read("first - 1", "corner", "unit", task)),
        ]
    else:
        lines += ["first = 0", "last = m", "known = tl.where(j == 0, 0, m)"]
        lines += ["known = tl.where(k >= 0, known, 0)"]
    lines += ["for i in range(first, last):", *_indented(_row(task))]
    for b in cells:
        lines += [f"value = tl.where(j + {b} == n - 1, a{b}, value)"]
        lines += [f"exponent = tl.where(j + {b} == n - 1, unit, exponent)"]
    return lines


def _read(row: str, value: str, unit: str, task: Aligned) -> list[str]:
    """What the strip before has left in a row; nothing where it was not."""
    at = f"own + ({row}) * L, mask={row} < known"
    lines = [f"{value} = tl.load(edge + {at}, other={task.nothing})"]
    return lines + ([] if task.minimum else [f"{unit} = tl.load(power + {at}, other={_LOW})"])


def _row(task: Aligned) -> list[str]:
    """Row i of the strip; a0, a1, ... are the row before, corner what is on its left."""
    cells = range(task.strip)
    lines = _read("i", "left", "there", task)
    lines += [
        f"x{c} = tl.load(x + (row.to(tl.int64) * Tx + i) * {task.channels} + {c})"
        for c in range(task.channels)
    ]
    if not task.minimum:
        lines += [
            "most = tl.maximum(unit, there)",
            _power("scale", "unit - most", task),
            _power("factor", "there - most", task),
            "left = left * factor",
            "corner = corner * scale",
            "top = left",
        ]
    lines += ["before = corner", "corner = left"]
    for b in cells:
        lines += _cell(b, task)
    if task.minimum:
        return [*lines, "tl.store(edge + own + i * L, left)"]
    return [
        *lines,
        *_taken_out("top", "unit", task),
        "corner = corner * scale",
        *(f"a{b} = a{b} * scale" for b in cells),
        *_taken_out("left", "there", task),
        "tl.store(edge + own + i * L, left * scale)",
        "tl.store(power + own + i * L, there)",
    ]


def _cell(b: int, task: Aligned) -> list[str]:
    """Column j + b of row i, from its neighbours on the left, above, and before both."""
    lines = [] if task.held else _point(task, b)
    for c in range(task.channels):
        more = "q + " if c else ""
        lines += [f"d = x{c} - y{c}_{b}", f"q = {more}d * d"]
    outside = f"tl.abs(i - j - {b})"
    if task.minimum:
        lines += [f"above = a{b}", "left = tl.minimum(tl.minimum(left, above), before) + q"]
        if task.band:
            lines += [f"left = tl.where({outside} < band, left, {task.nothing})"]
    else:
        lines += [f"above = a{b} * scale", "e = tl.exp2(-q)"]
        if task.band:
            lines += [f"e = e * tl.maximum(1.0 - {outside}.to(tl.{task.real.name}) / band, 0.0)"]
        lines += [
            "left = (left + above + before) * (e / (2.0 - e))",
            "top = tl.maximum(top, left)",
        ]
    return [*lines, "before = above", f"a{b} = left"]


def _point(task: Aligned, b: int) -> list[str]:
    """The points of all lanes at column j + b; behind the longest series, there are some more."""
    return [
        f"y{c}_{b} = tl.load(y + ((j + {b}) * {task.channels} + {c}) * ny + k, mask=k < ny, "
        f"other={FAR})"
        for c in range(task.channels)
    ]


def _taken_out(number: str, unit: str, task: Aligned) -> list[str]:
    """``scale``, 2 to a power that brings numbers between 1 and 2, and ``most`` plus that power."""
    real = task.real
    exponent = f"(({number}.to(tl.{real.bits}, bitcast=True) >> {real.mantissa}) - {real.bias})"
    return [
        f"shift = {exponent}.to(tl.int32)",
        f"{unit} = tl.where(shift > {-real.bias}, most + shift, {_LOW})",
        f"shift = tl.where(shift > {-real.bias}, shift, 0)",
        _power("scale", "-shift", task),
    ]


def _power(name: str, exponent: str, task: Aligned) -> str:
    """2 to the power of an integer; 0 where that is too small."""
    real = task.real
    inside = f"tl.minimum(tl.maximum({exponent}, {-real.bias}), {real.bias})"
    bits = f"(({inside} + {real.bias}).to(tl.{real.bits}) << {real.mantissa})"
    return f"{name} = {bits}.to(tl.{real.name}, bitcast=True)"
