"""How formulas are combined: constants, sums, products, powers, and f(x) k(x, y) f(y)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from .formula import Atom, Block, Dual, Formula, Term

_MOST_TERMS = 256  # of a sum of products


@dataclass(frozen=True, eq=False)
class Number(Formula):
    """A constant."""

    value: float

    def map(self, change: Callable[[Atom], Atom], rows: Any = None) -> Formula:
        return self

    def diag(self) -> Block:
        return np.float64(self.value)

    def block(self, other: Formula, see: Callable[[Atom], Block], rows: Any, cols: Any) -> Block:
        return self.value

    def dual(self, see: Callable[[Atom], Dual]) -> Dual:
        return self.value, 0.0

    def terms(self) -> list[Term]:
        return [Term(self.value)]


@dataclass(frozen=True, eq=False)
class _Two(Formula):
    """What sums and products share."""

    left: Formula
    right: Formula

    def parts(self) -> tuple[Formula, ...]:
        return self.left, self.right

    def map(self, change: Callable[[Atom], Atom], rows: Any = None) -> Formula:
        return type(self)(self.left.map(change, rows), self.right.map(change, rows))

    def _blocks(self, other: Any, *where: Any) -> tuple[Block, Block]:
        return self.left.block(other.left, *where), self.right.block(other.right, *where)


class Plus(_Two):
    """A sum."""

    def diag(self) -> Block:
        return self.left.diag() + self.right.diag()

    def block(self, other: Formula, see: Callable[[Atom], Block], rows: Any, cols: Any) -> Block:
        return into(np.add, *self._blocks(other, see, rows, cols))

    def dual(self, see: Callable[[Atom], Dual]) -> Dual:
        (k, dk), (h, dh) = self.left.dual(see), self.right.dual(see)
        return k + h, dk + dh

    def terms(self) -> list[Term]:
        return self.left.terms() + self.right.terms()


class Times(_Two):
    """A product."""

    def diag(self) -> Block:
        return self.left.diag() * self.right.diag()

    def block(self, other: Formula, see: Callable[[Atom], Block], rows: Any, cols: Any) -> Block:
        return into(np.multiply, *self._blocks(other, see, rows, cols))

    def dual(self, see: Callable[[Atom], Dual]) -> Dual:
        (k, dk), (h, dh) = self.left.dual(see), self.right.dual(see)
        return k * h, k * dh + h * dk

    def terms(self) -> list[Term]:
        return _multiplied(self.left.terms(), self.right.terms())

    def scaled_atom(self) -> tuple[float, Atom] | None:
        for number, other in ((self.left, self.right), (self.right, self.left)):
            inner = other.scaled_atom()
            if isinstance(number, Number) and inner is not None:
                return number.value * inner[0], inner[1]
        return None


@dataclass(frozen=True, eq=False)
class Raised(Formula):
    """An integer power."""

    base: Formula
    exponent: int

    def parts(self) -> tuple[Formula, ...]:
        return (self.base,)

    def map(self, change: Callable[[Atom], Atom], rows: Any = None) -> Formula:
        return Raised(self.base.map(change, rows), self.exponent)

    def diag(self) -> Block:
        return self.base.diag() ** self.exponent

    def block(self, other: Any, see: Callable[[Atom], Block], rows: Any, cols: Any) -> Block:
        base = self.base.block(other.base, see, rows, cols)
        if np.ndim(base):
            return power(base, self.exponent)
        return float(np.float64(base) ** self.exponent)

    def dual(self, see: Callable[[Atom], Dual]) -> Dual:
        k, dk = self.base.dual(see)
        lower = k ** (self.exponent - 1)
        return lower * k, self.exponent * lower * dk

    def terms(self) -> list[Term]:
        return reduce(_multiplied, [self.base.terms()] * self.exponent)


@dataclass(frozen=True, eq=False)
class Rescale(Formula):
    """f(x) k(x, y) f(y)."""

    base: Formula
    factor: np.ndarray

    def parts(self) -> tuple[Formula, ...]:
        return (self.base,)

    def map(self, change: Callable[[Atom], Atom], rows: Any = None) -> Formula:
        factor = self.factor if rows is None else self.factor[rows]
        return Rescale(self.base.map(change, rows), factor)

    def diag(self) -> Block:
        return self.base.diag() * self.factor**2

    def block(self, other: Any, see: Callable[[Atom], Block], rows: Any, cols: Any) -> Block:
        base = self.base.block(other.base, see, rows, cols)
        block = base if np.ndim(base) else np.full((1, 1), base)
        return block * self.factor[rows, None] * other.factor[cols]

    def dual(self, see: Callable[[Atom], Dual]) -> Dual:
        raise NotImplementedError("The factors f(x) have derivatives that a formula does not know.")

    def terms(self) -> list[Term]:
        return _multiplied(self.base.terms(), [Term(1.0, (), (self.factor,))])

    @property
    def dtype(self) -> np.dtype:
        return np.result_type(self.base.dtype, self.factor)


def combined(node: Callable[..., Formula], *parts: Formula | None) -> Formula | None:
    """A node of formulas; None where one of them is not known."""
    return None if any(part is None for part in parts) else node(*parts)


def into(combine: np.ufunc, block: Block, other: Block) -> Block:
    """combine(block, other), reusing the memory of a block where the type allows."""
    if not np.ndim(block):
        block, other = other, block
    keeps = not np.ndim(other) or np.result_type(block, other) == block.dtype
    return combine(block, other, out=block if np.ndim(block) and keeps else None)


def power(block: np.ndarray, exponent: int) -> np.ndarray:
    """Integer power by repeated squaring."""
    result = None
    while True:
        if exponent & 1:
            result = block if result is None else np.multiply(result, block, out=result)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        block = np.multiply(block, block, out=None if result is block else block)


def _multiplied(left: list[Term], right: list[Term]) -> list[Term]:
    """The product of two sums, as a sum."""
    if len(left) * len(right) > _MOST_TERMS:
        raise ValueError(
            f"a formula of more than {_MOST_TERMS} terms is not multiplied out; approximate the "
            f"kernel by landmarks."
        )
    return [a.times(b) for a in left for b in right]
