"""Sixteen numbers at once, in compiled loops: a vector type for dynamic programmes over pairs.

A recursion over the cells of a table cannot be vectorised, but sixteen tables can be filled side
by side, one in each lane of a vector. Left to itself the compiler keeps what is carried from cell
to cell in memory; as a value of this type it stays in registers, and loops are three times faster.

``Lanes`` is a type of numba, and the functions below work on it inside ``@njit`` functions
only. Arrays are flat: cell t of the sixteen tables is at ``16 t``, ..., ``16 t + 15``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

WIDTH = 16
_FLOATS = ir.VectorType(ir.DoubleType(), WIDTH)
_INTEGERS = ir.VectorType(ir.IntType(64), WIDTH)
_SPREAD = ir.VectorType(ir.IntType(32), WIDTH)
_FLAGS = ("nnan", "nsz", "contract")


class LanesType(types.Type):
    """The type of sixteen floating point numbers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


LANES = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FLOATS)


def _at(context: Any, builder: Any, kind: Any, array: Any, index: Any, vector: Any) -> Any:
    """The address of an element of a contiguous array, as that of a vector."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())


def _symbols(context: Any, builder: Any, kinds: tuple[Any, Any], args: Any) -> Any:
    """The lanes of two flat arrays of int64 at their indices: args = (first, i, second, j)."""
    first, i, second, j = args
    left = builder.load(_at(context, builder, kinds[0], first, i, _INTEGERS), align=8)
    right = builder.load(_at(context, builder, kinds[1], second, j, _INTEGERS), align=8)
    return left, right


def _equal(builder: Any, number: Any) -> Any:
    """A vector of equal numbers."""
    empty = ir.Constant(_FLOATS, ir.Undefined)
    one = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, empty, ir.Constant(_SPREAD, [0] * WIDTH))


@intrinsic
def load(typing, array, index):
    """The lanes at an index of a flat array of float64."""

    def generate(context, builder, signature, args):
        return builder.load(_at(context, builder, array, args[0], args[1], _FLOATS), align=8)

    return LANES(array, types.intp), generate


@intrinsic
def store(typing, array, index, lanes):
    """Put lanes into a flat array of float64, from an index on."""

    def generate(context, builder, signature, args):
        builder.store(args[2], _at(context, builder, array, args[0], args[1], _FLOATS), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, LANES), generate


@intrinsic
def equal(typing, number):
    """Lanes that all hold the same number."""

    def generate(context, builder, signature, args):
        return _equal(builder, args[0])

    return LANES(types.float64), generate


def operation(doc: str, emit: Any) -> Any:
    """A function of two vectors of lanes, by an instruction: ``emit(builder, a, b)``."""

    def define(typing, a, b):
        def generate(context, builder, signature, args):
            return emit(builder, *args)

        return LANES(LANES, LANES), generate

    define.__doc__ = doc
    return intrinsic(define)


plus = operation("a + b.", lambda builder, a, b: builder.fadd(a, b, flags=_FLAGS))
times = operation("a * b.", lambda builder, a, b: builder.fmul(a, b, flags=_FLAGS))


@intrinsic
def times_plus(typing, a, b, c):
    """a * b + c, in one instruction."""

    def generate(context, builder, signature, args):
        product = builder.fmul(args[0], args[1], flags=_FLAGS)
        return builder.fadd(product, args[2], flags=_FLAGS)

    return LANES(LANES, LANES, LANES), generate


@intrinsic
def where_same(typing, first, i, second, j, lanes):
    """The lanes where two flat arrays of int64 agree at indices i and j, 0 elsewhere."""

    def generate(context, builder, signature, args):
        left, right = _symbols(context, builder, (first, second), args[:4])
        zero = ir.Constant(_FLOATS, [0.0] * WIDTH)
        return builder.select(builder.icmp_signed("==", left, right), args[4], zero)

    return LANES(first, types.intp, second, types.intp, LANES), generate


@intrinsic
def by_sameness(typing, first, i, second, j, same, other):
    """Lanes ``same`` or ``other`` as two flat arrays of int64 agree or not; 0 where one is < 0."""

    def generate(context, builder, signature, args):
        left, right = _symbols(context, builder, (first, second), args[:4])
        agree = builder.icmp_signed("==", left, right)
        none = ir.Constant(_INTEGERS, [0] * WIDTH)
        missing = builder.icmp_signed("<", builder.or_(left, right), none)  # the sign of either
        zero = ir.Constant(_FLOATS, [0.0] * WIDTH)
        return builder.select(missing, zero, builder.select(agree, args[4], args[5]))

    return LANES(first, types.intp, second, types.intp, LANES, LANES), generate


@intrinsic
def look_up(typing, table, first, i, second, j):
    """table[a, b] for the lanes a and b of two flat arrays of int64 at indices i and j."""

    def generate(context, builder, signature, args):
        array = context.make_array(table)(context, builder, args[0])
        left, right = _symbols(context, builder, (first, second), args[1:])
        columns = builder.extract_value(array.shape, 1)
        found = ir.Constant(_FLOATS, ir.Undefined)
        for lane in range(WIDTH):
            place = ir.Constant(ir.IntType(32), lane)
            row = builder.mul(builder.extract_element(left, place), columns)
            at = builder.add(row, builder.extract_element(right, place))
            number = builder.load(builder.gep(array.data, [at]))
            found = builder.insert_element(found, number, place)
        return found

    return LANES(table, first, types.intp, second, types.intp), generate
