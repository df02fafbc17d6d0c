"""The arithmetic of a vector space: from sums, and products with numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, Self


class Vector(ABC):
    """What can be added and scaled; the other operators follow."""

    @abstractmethod
    def __add__(self, other: Any) -> Self:
        """The sum with another vector of the space."""

    @abstractmethod
    def _times(self, factor: float) -> Self:
        """The multiple."""

    def __mul__(self, scalar: Any) -> Self:
        return self._times(float(scalar)) if isinstance(scalar, Real) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, scalar: Any) -> Self:
        return self * (1 / scalar) if isinstance(scalar, Real) else NotImplemented

    def __neg__(self) -> Self:
        return self * -1

    def __sub__(self, other: Any) -> Self:
        return self + -other if isinstance(other, Vector | Real) else NotImplemented

    def __rsub__(self, other: Any) -> Self:
        return -self + other if isinstance(other, Real | Vector) else NotImplemented
