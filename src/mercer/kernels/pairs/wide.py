"""Numbers of any size in compiled loops: a recursion that is written once, for three kinds of them.

A dynamic programme over strings or trees adds and multiplies numbers >= 0 that may leave the range
of floating point numbers on either side, each cell of a table in its own way. As long as they do
not, plain numbers are fastest. Where they do, the same loops run on *wide* numbers: pairs (m, e)
that stand for m 2^(256 e), with m between 2^-128 and 2^128, a mantissa that has all of its digits.

Tables are tuples of arrays: (values,) for plain numbers, (m, e) for wide ones. ``get``, ``put``,
``plus`` and ``times`` work on both, inside ``@njit`` functions only; the compiler knows which
is meant. A complex m carries a derivative along, as its imaginary part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ..._compiled import njit

BITS = 256
_UP, _DOWN = 2.0**BITS, 2.0**-BITS
_HIGH, _LOW = 2.0 ** (BITS // 2), 2.0 ** (-BITS // 2)
LARGEST = 1e290  # plain numbers beyond this are computed again as wide ones


def zeros(shape: Any, dtype: Any, wide: bool) -> tuple[np.ndarray, ...]:
    """A table of zeros."""
    values: np.ndarray = np.zeros(shape, dtype)
    return (values, np.zeros(shape, np.int64)) if wide else (values,)


def logarithms(m: np.ndarray, e: np.ndarray) -> np.ndarray:
    """log of wide numbers >= 0."""
    with np.errstate(divide="ignore"):
        return np.log(m.real) + e * (BITS * np.log(2.0))


def plain(m: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Wide numbers as plain ones, infinite if they are too large."""
    if not e.any():
        return m
    with np.errstate(over="ignore"):
        return np.ldexp(m, BITS * np.clip(e, -10, 10))


@njit(cache=True, nogil=True)
def normal(m, e):
    """The same number with m in the range of mantissas."""
    size = abs(m.real)
    if size >= _HIGH:
        return m * _DOWN, e + 1
    if size < _LOW and size > 0.0:
        return m * _UP, e - 1
    return m, e


def plus(a: Any, b: Any) -> Any:
    """a + b."""


def times(a: Any, b: Any) -> Any:
    """a * b."""


def get(table: Any, at: Any) -> Any:
    """The number at a place of a table."""


def put(table: Any, at: Any, number: Any) -> None:
    """Write a number into a table."""


def like(table: Any, number: Any) -> Any:
    """A plain number as one of the kind that a table holds."""


def _is_wide(kind: Any) -> bool:
    return isinstance(kind, types.BaseTuple) and len(kind) == 2


@overload(plus)
def _plus(a, b):
    if not _is_wide(a):
        return lambda a, b: a + b

    def wide(a, b):
        m, e = a
        n, f = b
        if n.real == 0.0:
            return m, e
        if m.real == 0.0 or f > e + 1:
            return n, f
        if e == f:
            return normal(m + n, e)
        if e == f + 1:
            return normal(m + n * _DOWN, e)
        if f == e + 1:
            return normal(n + m * _DOWN, f)
        return m, e

    return wide


@overload(times)
def _times(a, b):
    if not _is_wide(a):
        return lambda a, b: a * b

    def wide(a, b):
        m, e = a
        n, f = b
        if m.real == 0.0 or n.real == 0.0:
            return 0.0 * m, e * 0
        return normal(m * n, e + f)

    return wide


@overload(get)
def _get(table, at):
    if len(table) == 1:
        return lambda table, at: table[0][at]
    return lambda table, at: (table[0][at], table[1][at])


@overload(put)
def _put(table, at, number):
    if len(table) == 1:

        def plain(table, at, number):
            table[0][at] = number

        return plain

    def wide(table, at, number):
        table[0][at] = number[0]
        table[1][at] = number[1]

    return wide


@overload(like)
def _like(table, number):
    if len(table) == 1:
        return lambda table, number: number

    def wide(table, number):
        m, e = number, 0
        while abs(m.real) >= _HIGH:
            m, e = m * _DOWN, e + 1
        while abs(m.real) < _LOW and m.real != 0.0:
            m, e = m * _UP, e - 1
        return m, e

    return wide
