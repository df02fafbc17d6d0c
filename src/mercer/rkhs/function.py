"""Functions in a reproducing kernel Hilbert space, as objects to compute with."""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_samples, is_frame, join, length, take
from ..exceptions import DomainError, UnresolvedError
from ..frames import in_order
from ..frames import rows as rows_of
from ..gram.base import Gram
from ..gram.plan import LEAN
from ..kernels.base import Kernel
from ..ownership import owned
from ..params import same
from ..shown import Shown
from ..tensors import takes_tensors
from .vector import Vector

_BLOCK = 2**22  # entries of k(X, points) held at once by a gradient
_MOST_WEIGHTS = 10**7  # longest weight vector written out


class RKHSFunction(Vector, Shown):
    r"""A function in the space H_k spanned by a kernel.

    .. math:: f(\cdot) = \sum_{i=1}^n a_i\, k(x_i, \cdot), \qquad
              \langle f, g \rangle = \sum_{ij} a_i b_j\, k(x_i, y_j)

    It is called like a function, added, scaled and multiplied (``f @ g`` is the inner product).
    The reproducing property <f, k(x, .)> = f(x) is ``f @ k.at(x)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, with all parameters resolved to numbers (see :meth:`Kernel.resolve`).
    points : data
        The centres x_1..x_n: an array, a table, a list of strings, ...; a copy is kept.
    coef : array of shape (n,) or (n, T)
        The coefficients a; two dimensions stand for T functions with the same centres, and then
        ``f[t]`` is one of them.
    columns : sequence of str, optional
        The names of the columns, where the centres are an array that was a table: columns of new
        tables are matched by them.

    Examples
    --------
    >>> from mercer import Gaussian, RKHSFunction
    >>> k = Gaussian()
    >>> f = RKHSFunction(k, [0.0, 1.0], [1.0, -1.0])
    >>> f
    RKHSFunction(2 points, k = Gaussian())
    >>> f([0.0, 0.5]).round(4)
    array([0.3935, 0.    ])
    >>> round(f @ k.at(0.0), 4)  # the reproducing property
    0.3935
    >>> f - f / 2 + k.at(3.0)
    RKHSFunction(3 points, k = Gaussian())

    References
    ----------
    Berlinet & Thomas-Agnan, *Reproducing Kernel Hilbert Spaces in Probability and Statistics*,
    2004, chapter 1.
    """

    __array_ufunc__ = None  # a NumPy scalar times f is f scaled, not an array

    def __init__(self, kernel: Kernel, points: Data, coef: Any, *, columns: Any = None) -> None:
        require_resolved(kernel, "RKHSFunction")
        if length(points) == 0:
            raise ValueError("RKHSFunction: points has no samples; zero is 0 * kernel.at(x).")
        coef = np.asarray(coef, dtype=np.float64)
        if coef.ndim not in (1, 2) or len(coef) != length(points):
            raise ValueError(
                f"RKHSFunction: coef must have one row per point, shape ({length(points)},) or "
                f"({length(points)}, T), got shape {coef.shape}."
            )
        if not np.all(np.isfinite(coef)):
            raise ValueError("RKHSFunction: coef contains NaN or infinity.")
        self.kernel = kernel
        self.points = owned(points)
        self.coef = owned(coef)
        self.columns = None if columns is None or is_frame(points) else list(columns)

    @staticmethod
    def from_weights(kernel: Kernel, weights: Any) -> Any:
        """The function <w, Phi(x)> of a kernel with a finite feature map Phi.

        A :class:`FeatureFunction`; ``f.weights()`` is the way back.
        """
        from .weighted import FeatureFunction

        return FeatureFunction(kernel, weights)

    def with_coef(self, coef: np.ndarray) -> RKHSFunction:
        """The function, or the functions, with other coefficients of the same points."""
        new = copy(self)
        new.coef = coef
        return new

    @cached_property
    def _gram(self) -> Gram:
        return self.kernel.gram(self.points, LEAN)

    # ---- a function ----------------------------------------------------------------------
    @takes_tensors
    def __call__(self, X: Data) -> np.ndarray:
        """f at each sample of X: shape (m,), or (m, T) for T functions.

        Columns of a table are matched with those of the centres by their names.
        """
        return self._gram.cross(self._matched(X)) @ self.coef

    def _matched(self, X: Data) -> Data:
        """X with its columns in the order of those of the centres, if it is a table."""
        X = as_samples(X)
        if self.columns is not None and is_frame(X):
            return in_order(X, self.columns, whole=True)
        return self.kernel.match(X, self.points)

    def _shared(self, other: RKHSFunction) -> list | None:
        """The names of the columns of two functions that are combined."""
        if self.columns is None or other.columns is None or self.columns == other.columns:
            return other.columns if self.columns is None else self.columns
        raise DomainError(
            f"functions on tables with different columns cannot be combined: one has "
            f"{self.columns}, the other {other.columns}; fit both to columns of the same order."
        )

    def gradient(self, X: Data) -> np.ndarray:
        """The gradient of f at each sample of X: shape (m, d), or (m, T, d) for T functions."""
        kernel, X = self.kernel, self._matched(X)
        P, Q = kernel.prepare(X), kernel.prepare(self.points)
        m, n = length(P), length(Q)
        step = max(1, _BLOCK // n)
        columns = []
        for a in self.coef.reshape(n, -1).T:
            parts = [take(P, slice(i, min(i + step, m))) for i in range(0, m, step)]
            weights = [np.tile(a, (length(part), 1)) for part in parts]
            pairs = zip(parts, weights, strict=True)
            columns.append(np.concatenate([kernel.grad_input(p, Q, W) for p, W in pairs]))
        return columns[0] if self.coef.ndim == 1 else np.stack(columns, axis=1)

    def bound(self, X: Data) -> np.ndarray:
        """The bound ||f|| sqrt(k(x, x)) of the size of f(x) (Cauchy-Schwarz), at each sample."""
        P = self.kernel.prepare(self._matched(X))
        roots = np.sqrt(np.maximum(self.kernel.diag(P), 0))
        return np.multiply.outer(roots.astype(np.float64), self.norm())

    def weights(self) -> np.ndarray | None:
        """The vector w with f(x) = <w, Phi(x)>, for a kernel with a finite feature map Phi.

        Shape (D,) or (D, T); None if the kernel has no such map, or one too long to write out.
        """
        P = self.kernel.prepare(self.points)
        count = self.kernel.n_features(P)
        phi = self.kernel.features(P) if count is not None and count <= _MOST_WEIGHTS else None
        return None if phi is None else np.asarray(phi.T @ self.coef)

    # ---- a vector ------------------------------------------------------------------------
    def inner(self, other: RKHSFunction) -> Any:
        """The inner product <f, g>: a number, or a matrix of them for families of functions."""
        require_same_space(self.kernel, other.kernel)
        self._shared(other)
        alike = same(self.points, other.points)
        values = self._gram @ self.coef if alike else self(other.points)
        products = values.T @ other.coef
        return float(products) if products.ndim == 0 else products

    def __matmul__(self, other: Any) -> Any:
        return self.inner(other) if isinstance(other, RKHSFunction) else NotImplemented

    def norm(self) -> Any:
        """The norm ||f||, one per function.

        It measures roughness: f(x) - f(y) <= ||f|| d(x, y) in the kernel metric d
        (:meth:`Kernel.distance`), so ||f|| is an upper bound of the Lipschitz constant of f.
        """
        squares = np.sum(self.coef * (self._gram @ self.coef), axis=0)
        norms = np.sqrt(np.maximum(squares, 0))
        return float(norms) if norms.ndim == 0 else norms

    def distance(self, other: RKHSFunction) -> Any:
        """The distance ||f - g||."""
        return (self - other).simplify().norm()

    def __add__(self, other: Any) -> RKHSFunction:
        if isinstance(other, Real) and other == 0:  # sum([...]) starts at 0
            return self
        if not isinstance(other, RKHSFunction):
            return NotImplemented
        require_same_space(self.kernel, other.kernel)
        if self.coef.shape[1:] != other.coef.shape[1:]:
            raise ValueError(
                f"cannot add {self!r} and {other!r}: the numbers of functions differ; select one "
                "of them with f[t]."
            )
        columns = self._shared(other)
        if same(self.points, other.points):
            return self.with_coef(self.coef + other.coef)
        coef, points = np.concatenate([self.coef, other.coef]), self._matched(other.points)
        return RKHSFunction(self.kernel, join(self.points, points), coef, columns=columns)

    __radd__ = __add__

    def _times(self, factor: float) -> RKHSFunction:
        return self.with_coef(self.coef * factor)

    def __getitem__(self, t: int) -> RKHSFunction:
        """Function t of a family."""
        if self.coef.ndim == 1:
            raise TypeError("f[t] selects one of several functions, but this is a single one.")
        return self.with_coef(self.coef[:, t])

    def simplify(self, tol: float = 0.0) -> RKHSFunction:
        """The same function with equal centres merged and negligible terms dropped.

        Terms a_i k(x_i, .) of norm <= ``tol`` are dropped: with the default only zeros, and
        otherwise f moves by at most ``tol`` times their number.
        """
        seen: dict[Hashable, int] = {}
        place = np.array([seen.setdefault(key, len(seen)) for key in _keys(self.points)])
        coef = np.zeros((len(seen), *self.coef.shape[1:]))
        np.add.at(coef, place, self.coef)
        first = np.unique(place, return_index=True)[1]
        sizes = np.abs(coef).reshape(len(coef), -1).max(axis=1)
        if tol > 0:
            merged = self.kernel.prepare(take(self.points, first))
            sizes = sizes * np.sqrt(np.maximum(self.kernel.diag(merged), 0))
        kept = np.flatnonzero(sizes > tol)
        kept = kept if len(kept) else np.zeros(1, dtype=int)  # f = 0 still needs a centre
        points = take(self.points, first[kept])
        return RKHSFunction(self.kernel, points, coef[kept], columns=self.columns)

    def plot(self, where: Any = None, ax: Any = None, **options: Any) -> Any:
        """The function on the line, with its bumps: see :func:`mercer.plots.plot_function`."""
        from ..plots.functions import plot_function

        return plot_function(self, where, ax, **options)

    def __repr__(self) -> str:
        n = len(self.coef)
        family = f"{self.coef.shape[1]} functions, " if self.coef.ndim == 2 else ""
        return f"RKHSFunction({family}{n} point{'s' * (n != 1)}, k = {self.kernel!r})"


def require_resolved(kernel: Kernel, owner: str) -> None:
    """Refuse a kernel whose space is not defined yet."""
    if kernel.unresolved:
        raise UnresolvedError(
            f"{owner}: {kernel.unresolved} of {kernel!r} depends on the data, so its space is not "
            "defined yet; call kernel.resolve(X) first."
        )


def require_same_space(k: Kernel, other: Kernel) -> None:
    """Refuse to combine functions of different kernels."""
    if k != other:
        raise TypeError(
            f"functions of different kernels live in different spaces: one has k = {k!r}, the "
            f"other k = {other!r}."
        )


def _keys(points: Data) -> list[Hashable]:
    """One key per sample, the same for equal samples."""
    if sp.issparse(points):
        rows = points.tocsr().sorted_indices()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        return [(rows.indices[i:j].tobytes(), rows.data[i:j].tobytes()) for i, j in ends]
    return [_key(x) for x in (rows_of(points) if is_frame(points) else points)]


def _key(x: Any) -> Hashable:
    if isinstance(x, np.ndarray) and x.dtype != object:
        return (x.shape, x.tobytes())
    if isinstance(x, np.ndarray | list | tuple):
        return tuple(map(_key, x))
    # sets, dicts and the like are equal here only if they are the same object
    return x if isinstance(x, Hashable) else ("the object", id(x))
