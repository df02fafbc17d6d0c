"""Negative definite functions: squared distances between features, and what follows from them.

psi is negative definite if it is symmetric and sum_ij c_i c_j psi(x_i, x_j) <= 0 for all numbers c
that sum to 0. With psi(x, x) = 0 that is so if and only if psi is the square of a distance in some
Hilbert space (Schoenberg). ``schoenberg.py`` has the kernels that are made of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...data import Data, Zipped, as_samples, as_vectors, length
from ...exceptions import UnresolvedError
from ...params import Params, a_function, one_of, parameter
from ..base import Kernel, Tile
from ..calculus.domains import ANY, Domain
from ..calculus.facts import UNKNOWN, Fact, yes
from ..given.custom import Custom
from ..vectors.distance_induced import Distance, power_of_distance
from ..vectors.distances import SquaredDistances
from ..vectors.kind import VECTORS
from .constant import is_kernel


@dataclass(eq=False, repr=False)
class Negative(Params, ABC):
    """A function psi(x, y) with sum_ij c_i c_j psi(x_i, x_j) <= 0 whenever sum_i c_i = 0.

    Subclasses provide blocks, as kernels do (:class:`mercer.Kernel`), and facts.
    """

    because: ClassVar[str] = "negative definite by assumption"
    metric: ClassVar[bool] = True  # is psi(x, x) = 0, so that psi is a squared distance?

    @abstractmethod
    def prepare(self, X: Data) -> Data:
        """What is computed once per sample; checks the domain."""

    @abstractmethod
    def tiles(self, X: Data, Y: Data) -> Tile:
        """A function (rows, cols) -> block of *prepared* X and Y, a fresh array."""

    def diag(self, X: Data) -> np.ndarray:
        """[psi(x_i, x_i)] of *prepared* X."""
        return np.zeros(length(X))

    def origin(self, X: Data) -> Data | None:
        """The point that induced kernels are taken from unless another is given, as data like X."""
        return None

    # parameters inside that depend on data become numbers as they do in kernels
    resolve: ClassVar[Any] = Kernel.resolve
    unresolved: ClassVar[Any] = Kernel.unresolved

    def grad_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        """sum_ij W[i, j] dpsi(x_i, y_j)/dtheta of *prepared* X and Y."""
        return np.zeros(0)

    @property
    def domain(self) -> Domain:
        """The set of samples on which psi is defined."""
        return ANY

    @property
    def negative(self) -> Fact:
        """Is it negative definite?"""
        return yes(self.because)

    @property
    def continuous(self) -> Fact:
        """Is it continuous?"""
        return UNKNOWN

    @property
    def separates(self) -> Fact:
        """Is psi(x, y) > 0 for all x != y, and psi(x, x) = 0?"""
        return UNKNOWN

    @property
    def stationary(self) -> Fact:
        """Does psi(x, y) depend on x - y only?"""
        return UNKNOWN

    def __call__(self, X: Data, Y: Data | None = None) -> np.ndarray:
        """[psi(x_i, y_j)] as an array; of X with itself if Y is not given."""
        X = as_samples(X)
        psi = self
        if self.unresolved:
            if Y is not None and Y is not X:
                raise UnresolvedError(
                    f"{self!r}: {self.unresolved} depends on the data; call resolve(X) first."
                )
            psi = self.resolve(X)
        P = psi.prepare(X)
        Q = P if Y is None or Y is X else psi.prepare(Y)
        block = psi.tiles(P, Q)(slice(0, length(P)), slice(0, length(Q)))
        if Q is P:
            np.fill_diagonal(block, psi.diag(P))
        return block


@dataclass(eq=False, repr=False)
class NegativeDefinite(Negative):
    """psi(x, y) given by a Python function.

    Nothing is assumed about the function: :func:`mercer.is_negative_definite` tests it on a sample.
    ``Schoenberg(f)`` and ``Induced(f)`` take functions as they are, with the same meaning.

    Parameters
    ----------
    function : callable
        From two samples to a number; with ``batch=True`` from two data sets to the block of all
        values, as in :class:`mercer.Custom`.
    batch : bool
        Whether the function is called once per block (fast) instead of once per pair (simple).

    Examples
    --------
    >>> from mercer import NegativeDefinite
    >>> def differ(x, y):
    ...     return len(set(x) ^ set(y))
    >>> NegativeDefinite(differ)(["abc", "bcd"])
    array([[0., 2.],
           [2., 0.]])
    """

    function: Callable[[Any, Any], Any] = a_function("a function of two samples")
    batch: bool = one_of(False, False, True)
    because = "a user-defined function, assumed to be negative definite"
    metric = False  # who knows
    negative = Fact(None, "not checked; see mercer.is_negative_definite")

    @property
    def _blocks(self) -> Custom:
        return Custom(self.function, self.batch)

    def prepare(self, X: Data) -> Data:
        return self._blocks.prepare(X)

    def tiles(self, X: Data, Y: Data) -> Tile:
        return self._blocks.tiles(X, Y)

    def diag(self, X: Data) -> np.ndarray:
        return self._blocks.diag(X)


@dataclass(eq=False, repr=False)
class SquaredMetric(Negative):
    r"""The squared distance of features, of any kernel on any data.

    .. math:: \psi(x, y) = k(x, x) + k(y, y) - 2 k(x, y) = \|\phi(x) - \phi(y)\|^2

    ``Schoenberg(SquaredMetric(k), t)`` is the Gaussian kernel in the space of k: a radial kernel on
    strings, trees or graphs.

    Parameters
    ----------
    kernel : Kernel
        The kernel k; of a normalised one, psi is at most 4.

    Examples
    --------
    >>> from mercer import Schoenberg, Spectrum, SquaredMetric
    >>> psi = SquaredMetric(Spectrum(2))
    >>> psi(["abab", "abc"])  # 2 ab and 1 ba, against 1 ab and 1 bc
    array([[0., 3.],
           [3., 0.]])
    >>> Schoenberg(psi, t=0.1)(["abab", "abc"]).round(4)
    array([[1.    , 0.7408],
           [0.7408, 1.    ]])
    """

    kernel: Kernel = parameter(check=is_kernel)
    because = "a squared distance in the Hilbert space of k"

    def prepare(self, X: Data) -> Zipped:
        P = self.kernel.prepare(X)
        return Zipped(P, self.kernel.diag(P))

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (P, a), (Q, b) = X.parts, Y.parts
        inner = self.kernel.tiles(P, Q)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            D = inner(rows, cols)
            D *= -2
            D += a[rows, None]
            D += b[None, cols]
            return np.maximum(D, 0, out=D)

        return tile

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (P, _), (Q, _) = X.parts, Y.parts
        own = self.kernel.grad_theta_diag(P, W.sum(axis=1))
        own += self.kernel.grad_theta_diag(Q, W.sum(axis=0))
        return own - 2 * self.kernel.grad_theta(P, Q, W)

    @property
    def domain(self) -> Domain:
        return self.kernel.domain

    @property
    def negative(self) -> Fact:
        psd = self.kernel.properties.psd
        return yes(self.because) if psd else psd

    @property
    def continuous(self) -> Fact:
        known = self.kernel.properties.continuous
        return yes("so is k") if known else UNKNOWN

    @property
    def separates(self) -> Fact:
        known = self.kernel.properties.strictly_pd
        return yes("k is strictly positive definite") if known else UNKNOWN

    @property
    def stationary(self) -> Fact:
        known = self.kernel.properties.stationary
        return yes("k is stationary") if known else UNKNOWN


@dataclass(eq=False, repr=False)
class EuclideanPower(Negative):
    r"""A power of the Euclidean distance.

    .. math:: \psi(x, y) = \|x - y\|^\beta, \qquad 0 < \beta \le 2

    With it, ``Schoenberg`` is the powered exponential kernel (Laplacian for beta = 1, Gaussian for
    beta = 2), and ``Induced`` is :class:`mercer.Distance`.

    Parameters
    ----------
    exponent : float
        beta in (0, 2].

    Examples
    --------
    >>> from mercer import EuclideanPower
    >>> EuclideanPower(0.5)([[0.0], [4.0]])
    array([[0., 2.],
           [2., 0.]])
    """

    exponent: float = power_of_distance()
    because = "a power of at most 2 of the Euclidean distance is of negative type (Schoenberg)"
    domain = VECTORS
    continuous = yes("a continuous function of the distance")
    separates = yes("a positive power of a distance")
    stationary = yes("a function of x - y")

    def prepare(self, X: Data) -> Any:
        return as_vectors(X, type(self).__name__)

    def tiles(self, X: Any, Y: Any) -> Tile:
        distances = SquaredDistances(X, Y, exact=True)
        power = Distance(self.exponent)._power
        return lambda rows, cols: power(distances(rows, cols))

    def origin(self, X: Any) -> Any:
        zero = np.zeros((1, X.shape[1]), dtype=X.dtype)
        return sp.csr_matrix(zero) if sp.issparse(X) else zero


def as_negative(psi: Any) -> Negative:
    """psi as it is, or a function of the user as one."""
    return psi if isinstance(psi, Negative) else NegativeDefinite(psi)


def is_negative(value: Any) -> str | None:
    """What psi must be, for a field of a kernel; None if this is one."""
    fine = isinstance(value, Negative) or (callable(value) and not isinstance(value, Kernel | type))
    return (
        None
        if fine
        else (
            "a negative definite function, such as HilbertianMetric() or SquaredMetric(kernel), or "
            "a function of two samples"
        )
    )
