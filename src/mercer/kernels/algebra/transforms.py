"""Closure rules written as methods: columns, pullback, restriction, limits."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Data, column_key, columns, length
from ...exceptions import DomainError
from ...params import a_function, integer, parameter, positive, show
from ..base import Kernel
from ..calculus import properties as prop
from ..calculus.domains import on_columns
from ..calculus.transformed import of_pullback, of_restricted
from ..formula import Formula, columns_step
from .composed import Composed
from .constant import is_kernel


@dataclass(eq=False, repr=False)
class Transform(Composed):
    """What all transforms share: one kernel inside, printed as a method call on it."""

    kernel: Kernel = parameter(check=is_kernel)

    @property
    def form(self) -> Kernel:
        return self.kernel

    def _call(self, method: str, argument: Any = None) -> str:
        shown = "" if argument is None else show(argument)
        return f"{self.kernel._wrapped(9)}.{method}({shown})"


@dataclass(eq=False, repr=False)
class On(Transform):
    """A kernel on some columns of a table, array, or list of tuples: written ``k.on(columns)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the columns.
    columns : label, list of labels or slice
        Columns of a table (of pandas or polars) or array, or an entry of tuples or dicts.

    Examples
    --------
    >>> from mercer import Gaussian, Spectrum
    >>> k = Gaussian().on(0) * Spectrum(2).on(1)
    >>> k([(0.5, "abab"), (0.5, "abc")]).round(3)
    array([[5., 2.],
           [2., 2.]])
    """

    columns: Hashable | list | slice = parameter()
    because = "a kernel of some coordinates is a kernel (pullback by a projection)"

    def prepare(self, X: Data) -> Data:
        return self.kernel.prepare(columns(X, self.columns))

    def formula(self, X: Data) -> Formula | None:
        inner = self.kernel.formula(X)
        return None if inner is None else inner.under(columns_step(self.columns))

    def resolve(self, X: Data) -> Kernel:
        return replace(self, kernel=self.kernel.resolve(columns(X, self.columns)))

    @property
    def properties(self) -> prop.Properties:
        inner = self.kernel.properties
        return replace(inner, domain=on_columns(inner.domain, column_key(self.columns)))

    def __repr__(self) -> str:
        return f"{self.kernel._wrapped(9)}.on({show(column_key(self.columns), whole=True)})"


@dataclass(eq=False, repr=False)
class Pullback(Transform):
    """k(A(x), A(y)) for a map A: written ``k.pullback(A)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel k on the values of A.
    map : callable
        A, from a data set to a data set of the same length.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> Gaussian().pullback(np.log)
    Gaussian().pullback(np.log)
    """

    map: Callable[[Data], Data] = a_function("a function of a data set")
    because = "k(A(x), A(y)) is a kernel for any map A (its feature map is phi(A(x)))"

    def prepare(self, X: Data) -> Data:
        return self.kernel.prepare(self._mapped(X))

    def _mapped(self, X: Data) -> Data:
        mapped = self.map(X)
        if length(mapped) != length(X):
            raise ValueError(
                f"pullback: map must return one value per sample, got {length(mapped)} values for "
                f"{length(X)} samples."
            )
        return mapped

    def formula(self, X: Data) -> Formula | None:
        inner = self.kernel.formula(X)
        return None if inner is None else inner.under(id(self.map))

    def resolve(self, X: Data) -> Kernel:
        return replace(self, kernel=self.kernel.resolve(self._mapped(X)))

    @property
    def properties(self) -> prop.Properties:
        return of_pullback(self.kernel.properties)

    def __repr__(self) -> str:
        return self._call("pullback", self.map)


@dataclass(eq=False, repr=False)
class Restricted(Transform):
    """k on the samples that satisfy a condition: written ``k.restrict(condition)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel k on the larger set.
    condition : callable
        From a data set to one truth value per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> def inside(X):
    ...     return np.abs(np.ravel(X)) <= 1
    >>> Gaussian().restrict(inside)([[2.0]])
    Traceback (most recent call last):
        ...
    mercer.exceptions.DomainError: sample 0 does not satisfy the condition inside of this kernel.
    """

    condition: Callable[[Data], np.ndarray] = a_function("a function of a data set")
    because = "a kernel restricted to a subset is a kernel there"

    def prepare(self, X: Data) -> Data:
        inside = np.asarray(self.condition(X), dtype=bool)
        if not inside.all():
            raise DomainError(
                f"sample {int(np.argmin(inside))} does not satisfy the condition "
                f"{show(self.condition)} of this kernel."
            )
        return self.kernel.prepare(X)

    def formula(self, X: Data) -> Formula | None:
        return self.kernel.formula(X)

    @property
    def properties(self) -> prop.Properties:
        return of_restricted(self.kernel.properties)

    def __repr__(self) -> str:
        return self._call("restrict", self.condition)


@dataclass(eq=False, repr=False)
class Limit(Kernel):
    """The pointwise limit of a sequence of kernels.

    Evaluated at n = 1, 2, 4, 8, ... until two values differ by less than ``tol`` everywhere.

    Parameters
    ----------
    sequence : callable
        From an integer n to the n-th kernel.
    tol : float
        The largest change allowed between the last two kernels.
    max_n : int
        The last n tried; raises an error if the sequence has not converged by then.

    Examples
    --------
    >>> from mercer import Limit, Linear
    >>> def compound(n):
    ...     return (Linear() / n + 1) ** n
    >>> Limit(compound, tol=1e-6)([[1.0]]).round(4)  # exp(<x, y>)
    array([[2.7183]])
    """

    sequence: Callable[[int], Kernel] = a_function("a function from n to a kernel")
    tol: float = positive(1e-10, tuned=False)
    max_n: int = integer(2**24, low=1)
    because = "a pointwise limit of kernels is a kernel (v'K_n v >= 0 survives the limit)"

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        last, n = None, 1
        while n <= self.max_n:
            k = self.sequence(n)
            block = k.pairwise(k.prepare(X), k.prepare(Y))
            if last is not None and np.max(np.abs(block - last), initial=0) <= self.tol:
                return block
            last, n = block, 2 * n
        raise ValueError(
            f"Limit: the sequence has not converged to tol={self.tol:g} at n={self.max_n}; raise "
            "max_n or tol, or check that it converges."
        )
