"""The algebra: operators and methods that build new kernels from old.

Closed under it are the kernels: sums, products, multiples that are not negative, powers, and what
the methods below make of one.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Data, column_key
from ..exceptions import NotAKernelError

if TYPE_CHECKING:
    from .approximate.rules import FeatureRule
    from .base import Kernel

_DIFFERENCE = (
    "A difference of kernels is not a kernel: (k1 - k2)(x, x) can be negative, and then no feature "
    "map phi gives it as <phi(x), phi(x)>. Only sums, products and non-negative multiples are "
    "kernels."
)
NEGATIVE = (
    "A negative multiple of a kernel is not a kernel: {0} * k(x, x) would be negative, but it has "
    "to be the squared norm of phi(x). Weights must be >= 0."
)


class Operators:
    """What kernels are combined by; all of them return other kernels."""

    def __add__(self: Any, other: Any) -> Kernel:
        return _joined("Sum", self, other)

    def __radd__(self: Any, other: Any) -> Kernel:  # sum([...]) starts at 0
        return _joined("Sum", other, self)

    def __mul__(self: Any, other: Any) -> Kernel:
        return _joined("Product", self, other)

    def __rmul__(self: Any, other: Any) -> Kernel:
        return _joined("Product", other, self)

    def __truediv__(self: Any, other: Any) -> Kernel:
        return NotImplemented if not isinstance(other, Real) else (1 / other) * self

    def __pow__(self: Any, exponent: Any) -> Kernel:
        from .algebra.constant import Constant
        from .algebra.power import Power

        if not isinstance(exponent, Integral) or exponent < 0:
            raise NotAKernelError(
                f"k ** {exponent!r}: only non-negative integer powers of a kernel are kernels in "
                f"general (they are repeated products)."
            )
        if exponent == 0:
            return Constant(1)
        return self if exponent == 1 else Power(self, int(exponent))

    def __sub__(self: Any, other: Any) -> Kernel:
        raise NotAKernelError(_DIFFERENCE)

    __rsub__ = __sub__

    def __neg__(self: Any) -> Kernel:
        raise NotAKernelError(NEGATIVE.format(-1))

    def on(self: Any, columns: Any) -> Kernel:
        """This kernel on some columns of a table, or one entry of tuples.

        One label, or several: as a list, a slice, an array, or a part of ``df.columns``.
        """
        from .algebra.transforms import On

        return On(self, column_key(columns))

    def normalize(self: Any) -> Kernel:
        """k(x, y) / sqrt(k(x, x) k(y, y)): the cosine of the angle between the features."""
        from .algebra.rescaled import Normalized

        return Normalized(self)

    def center(self: Any, reference: Data | None = None) -> Kernel:
        """k with features centred on a reference sample (by default the training data)."""
        from .algebra.anchored import Centered

        return Centered(self, reference)

    def given(self: Any, reference: Data | None = None, noise: Any = 0.0) -> Kernel:
        """The covariance of a Gaussian process given noisy observations at a sample."""
        from .algebra.conditioned import Conditioned

        return Conditioned(self, reference, noise)

    def along(
        self: Any,
        reference: Data | None = None,
        strength: float = 1.0,
        neighbors: int = 10,
        graph: Any = None,
    ) -> Kernel:
        """k for functions that should vary little between neighbours in a sample."""
        from .algebra.deformed import Deformed

        return Deformed(self, reference, strength, neighbors, graph)

    def pullback(self: Any, map: Callable[[Data], Data]) -> Kernel:
        """k(A(x), A(y)) for a map A, given as a function of a whole data set."""
        from .algebra.transforms import Pullback

        return Pullback(self, map)

    def modulate(self: Any, factor: Callable[[Data], np.ndarray]) -> Kernel:
        """f(x) k(x, y) f(y) for a function f, given as a function of a whole data set."""
        from .algebra.rescaled import Modulated

        return Modulated(self, factor)

    def through(self: Any, points: Data | None = None) -> Kernel:
        """sum_z k(x, z) k(z, y) over points z (by default the training data): Gram matrix K K."""
        from .algebra.anchored import Through

        return Through(self, points)

    def approximate(self: Any, features: FeatureRule) -> Kernel:
        """This kernel approximated by few features: random, sketched, hashed, or from landmarks."""
        return features.approximate(self)

    def restrict(self: Any, condition: Callable[[Data], np.ndarray]) -> Kernel:
        """This kernel on the samples that satisfy a condition; others are rejected."""
        from .algebra.transforms import Restricted

        return Restricted(self, condition)


def _joined(how: str, left: Any, right: Any) -> Kernel:
    """A sum or product of kernels or numbers; a sum with 0 is what it was."""
    from .algebra import constant, sums

    terms = [term for term in (left, right) if not (isinstance(term, Real) and term == 0)]
    if how == "Sum" and len(terms) == 1:
        return terms[0]
    operands = [constant.as_operand(operand) for operand in (left, right)]
    if any(operand is None for operand in operands):
        return NotImplemented
    return getattr(sums, how)(*operands)
