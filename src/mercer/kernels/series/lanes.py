"""More operations on lanes: differences, quotients, extremes, and the exponential function."""

from __future__ import annotations

from math import factorial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ..pairs.lanes import _FLAGS, _FLOATS, _INTEGERS, LANES, WIDTH, operation

_SMALLEST = 708.0  # exp(-708) is the last that is not denormal


def _all(number: float) -> Any:
    return ir.Constant(_FLOATS, [float(number)] * WIDTH)


def _called(name: str, builder: Any, result: Any, *args: Any) -> Any:
    kind = ir.FunctionType(result, [arg.type for arg in args])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64")
    return builder.call(function, args, fastmath=_FLAGS)


minus = operation("a - b.", lambda builder, a, b: builder.fsub(a, b, flags=_FLAGS))
over = operation("a / b.", lambda builder, a, b: builder.fdiv(a, b, flags=_FLAGS))
larger = operation(
    "The larger of a and b, lane by lane.",
    lambda builder, a, b: _called("maxnum", builder, _FLOATS, a, b),
)
smaller = operation(
    "The smaller of a and b, lane by lane.",
    lambda builder, a, b: _called("minnum", builder, _FLOATS, a, b),
)


@intrinsic
def largest(typing, a):
    """The largest of the sixteen numbers."""

    def generate(context, builder, signature, args):
        return _called("vector.reduce.fmax", builder, ir.DoubleType(), *args)

    return types.float64(LANES), generate


@intrinsic
def decay(typing, a):
    """exp(-a) for a >= 0, to 2 units in the last place; 0 where a > 708.

    With n the integer next to -a / log 2, exp(-a) is 2^n exp(r), abs(r) <= log(2) / 2. Adding
    1.5 * 2^52 leaves n in the low bits of the sum, from where it is added to the exponent of the
    Taylor polynomial of exp(r).
    """

    def generate(context, builder, signature, args):
        def times_plus(x: Any, factor: float, y: Any) -> Any:
            return builder.fadd(builder.fmul(x, _all(factor), flags=_FLAGS), y, flags=_FLAGS)

        (a,) = args
        shifter = _all(1.5 * 2**52)
        shifted = times_plus(a, -1.4426950408889634, shifter)
        n = builder.fsub(shifted, shifter)
        r = times_plus(n, -6.93147180369123816490e-01, builder.fneg(a))
        r = times_plus(n, -1.90821492927058770002e-10, r)
        value = _all(1 / factorial(12))
        for k in reversed(range(12)):
            product = builder.fmul(value, r, flags=_FLAGS)
            value = builder.fadd(product, _all(1 / factorial(k)), flags=_FLAGS)
        power = builder.shl(
            builder.bitcast(shifted, _INTEGERS), ir.Constant(_INTEGERS, [52] * WIDTH)
        )
        bits = builder.add(builder.bitcast(value, _INTEGERS), power)
        inside = builder.fcmp_ordered("<=", a, _all(_SMALLEST))
        return builder.select(inside, builder.bitcast(bits, _FLOATS), _all(0.0))

    return LANES(LANES), generate
