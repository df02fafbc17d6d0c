"""Functions given by coefficients of features, or of eigenfunctions, instead of points."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from ..data import Data
from ..kernels.base import Kernel
from ..kernels.vectors.explicit import FeatureMap
from .function import RKHSFunction, require_resolved, require_same_space
from .vector import Vector


class FeatureFunction(Vector):
    r"""A function given by its weights in a finite feature map.

    .. math:: f(x) = \langle w, \Phi(x) \rangle, \qquad \langle f, g \rangle = \langle w, v \rangle

    for a kernel k(x, y) = <Phi(x), Phi(y)> whose features are linearly independent functions. It
    has the algebra of :class:`RKHSFunction`, and inner products and sums with such functions of
    the same kernel.

    Parameters
    ----------
    kernel : Kernel
        A kernel with a finite feature map (:meth:`Kernel.features`).
    weights : array of shape (D,)
        w.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Monomials, RKHSFunction
    >>> k = Monomials(2)
    >>> f = RKHSFunction.from_weights(k, [3.0, 2.0])  # 3 x + 2 x^2
    >>> f([0.0, 1.0, 2.0])
    array([ 0.,  5., 14.])
    >>> round(f @ k.at(2.0), 10)  # the reproducing property
    14.0
    >>> round(f.norm() ** 2, 10)
    13.0

    References
    ----------
    Steinwart & Christmann, *Support Vector Machines*, 2008, theorem 4.21.
    """

    __array_ufunc__ = None

    def __init__(self, kernel: Kernel, weights: Any) -> None:
        require_resolved(kernel, "FeatureFunction")
        w = np.array(weights, dtype=np.float64)
        if w.ndim != 1 or not w.size or not np.all(np.isfinite(w)):
            raise ValueError("FeatureFunction: weights must be a list of finite numbers.")
        self.kernel, self.weights = kernel, w

    def __call__(self, X: Data) -> np.ndarray:
        """f at each sample of X."""
        return np.asarray(self._features(X) @ self.weights).ravel()

    def _features(self, X: Data) -> Any:
        phi: Any = self.kernel.features(self.kernel.prepare(X))
        if phi is None:
            raise ValueError(
                f"FeatureFunction: {self.kernel!r} has no finite feature map; define the function "
                "by points, RKHSFunction(kernel, points, coef)."
            )
        if phi.shape[1] != len(self.weights):
            raise ValueError(
                f"FeatureFunction: {self.kernel!r} has {phi.shape[1]} features, but there are "
                f"{len(self.weights)} weights."
            )
        return phi

    def inner(self, other: Any) -> float:
        """The inner product with another function of the same kernel, given either way."""
        require_same_space(self.kernel, other.kernel)
        if isinstance(other, RKHSFunction):
            products = other.coef.T @ self(other.points)
            return float(products) if np.ndim(products) == 0 else products
        return float(self.weights @ self._same(other))

    def __matmul__(self, other: Any) -> Any:
        known = isinstance(other, FeatureFunction | RKHSFunction)
        return self.inner(other) if known else NotImplemented

    __rmatmul__ = __matmul__

    def norm(self) -> float:
        """The norm of f in H_k."""
        return float(np.linalg.norm(self.weights))

    def distance(self, other: Any) -> float:
        """The distance ||f - g||."""
        return (self - other).norm()

    def _same(self, other: FeatureFunction) -> np.ndarray:
        if len(other.weights) != len(self.weights):
            raise ValueError(
                f"functions with {len(self.weights)} and {len(other.weights)} weights cannot be "
                "combined."
            )
        return other.weights

    def __add__(self, other: Any) -> FeatureFunction:
        if isinstance(other, Real) and other == 0:
            return self
        if isinstance(other, RKHSFunction):
            require_same_space(self.kernel, other.kernel)
            other = FeatureFunction(self.kernel, other.weights())
        if not isinstance(other, FeatureFunction):
            return NotImplemented
        require_same_space(self.kernel, other.kernel)
        return FeatureFunction(self.kernel, self.weights + self._same(other))

    __radd__ = __add__

    def _times(self, factor: float) -> FeatureFunction:
        return FeatureFunction(self.kernel, factor * self.weights)

    def __repr__(self) -> str:
        return f"FeatureFunction({len(self.weights)} weights, k = {self.kernel!r})"


class EigenSpace:
    r"""The space of a kernel that is given by eigenvalues and eigenfunctions.

    .. math:: k(x, y) = \sum_k \lambda_k e_k(x) e_k(y), \qquad f = \sum_k c_k e_k, \qquad
              \|f\|^2 = \sum_k \frac{c_k^2}{\lambda_k}

    The smaller an eigenvalue, the more its function costs; where it is 0, the function is not in
    the space.

    Parameters
    ----------
    eigenvalues : array of shape (m,)
        lambda_k >= 0.
    eigenfunctions : callable
        From n samples to the (n, m) array of e_k at each, such as
        :meth:`MercerExpansion.eigenfunctions`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import EigenSpace
    >>> space = EigenSpace([1.0, 0.25], lambda x: np.column_stack([np.cos(x), np.cos(2 * x)]))
    >>> f = space.function([1.0, 1.0])  # cos x + cos 2x
    >>> round(f.norm() ** 2, 10)
    5.0
    >>> space.coefficients(f).round(10)
    array([1., 1.])

    References
    ----------
    Steinwart & Christmann, *Support Vector Machines*, 2008, section 4.5.
    """

    def __init__(self, eigenvalues: Any, eigenfunctions: Callable[[Any], Any]) -> None:
        values = np.array(eigenvalues, dtype=np.float64)
        if values.ndim != 1 or not values.size or not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError("EigenSpace: eigenvalues must be a list of finite numbers >= 0.")
        if not callable(eigenfunctions):
            raise ValueError("EigenSpace: eigenfunctions must be a function of samples.")
        self.eigenvalues, self.eigenfunctions = values, eigenfunctions
        self.kernel = FeatureMap(self._scaled)

    def _scaled(self, X: Any) -> np.ndarray:
        E = np.asarray(self.eigenfunctions(X), dtype=np.float64)
        if E.ndim != 2 or E.shape[1] != len(self.eigenvalues):
            raise ValueError(
                f"EigenSpace: eigenfunctions must give {len(self.eigenvalues)} values for each "
                f"sample, got shape {E.shape}."
            )
        return E * np.sqrt(self.eigenvalues)

    def function(self, coefficients: Any) -> FeatureFunction:
        """The function sum_k c_k e_k; an error if it is not in the space."""
        c = np.array(coefficients, dtype=np.float64)
        if c.shape != self.eigenvalues.shape:
            raise ValueError(
                f"EigenSpace: there are {len(self.eigenvalues)} eigenfunctions, got coefficients "
                f"of shape {c.shape}."
            )
        if not np.isfinite(self.norm(c)):
            place = int(np.argmax((c != 0) & (self.eigenvalues == 0)))
            raise ValueError(
                f"EigenSpace: the function is not in the space: eigenvalue {place} is 0, and its "
                f"coefficient is not."
            )
        return FeatureFunction(self.kernel, self._whitened(c))

    def _whitened(self, c: np.ndarray) -> np.ndarray:
        root = np.sqrt(self.eigenvalues)
        return np.divide(c, root, out=np.zeros(len(c)), where=root > 0)

    def norm(self, coefficients: Any) -> float:
        """The norm of sum_k c_k e_k, infinite outside the space."""
        c = np.asarray(coefficients, dtype=np.float64)
        if np.any((c != 0) & (self.eigenvalues == 0)):
            return float("inf")
        return float(np.linalg.norm(self._whitened(c)))

    def coefficients(self, f: Any) -> np.ndarray:
        """c_k of a function of this space, given by weights or by points."""
        require_same_space(self.kernel, f.kernel)
        weights = f.weights() if isinstance(f, RKHSFunction) else f.weights
        return np.asarray(weights * np.sqrt(self.eigenvalues))

    def __repr__(self) -> str:
        return f"EigenSpace({len(self.eigenvalues)} eigenfunctions)"
