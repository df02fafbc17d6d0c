"""Kernels tied to a sample, given or taken from the training data: centring and K K."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Zipped, length, take
from ...params import parameter
from ..base import Kernel, Tile, not_resolved
from ..calculus import properties as prop
from ..calculus.transformed import of_centered, of_through
from ..overrides import by_tiles
from .transforms import Transform


@dataclass(eq=False, repr=False)
class Anchored(Transform):
    """Common base of kernels that depend on a sample, given or taken from the training data."""

    reference: Data | None = parameter(None, learned=(None,))

    def resolve(self, X: Data) -> Kernel:
        kernel = self.kernel.resolve(X)
        return replace(
            self, kernel=kernel, reference=X if self.reference is None else self.reference
        )

    def grad_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        """The sample meets every pair, so what other transforms inherit would be wrong here."""
        return Kernel.grad_theta(self, X, Y, W)

    def grad_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        return Kernel.grad_theta_diag(self, X, w)

    def log_tiles(self, X: Data, Y: Data) -> Tile | None:
        """Differences of kernel values, and sums of products of them, have no logarithms here."""
        return None

    def log_diag(self, X: Data) -> np.ndarray | None:
        return None

    def features_pay(self, X: Data) -> bool:
        """The features are not those of the kernel inside."""
        return Kernel.features_pay(self, X)

    def _anchors(self) -> Data:
        """The prepared reference sample."""
        if self.reference is None:
            raise not_resolved(self)
        return self.kernel.prepare(self.reference)


@dataclass(eq=False, repr=False)
class Centered(Anchored):
    r"""Features centred on a reference sample z_1..z_m: written ``k.center()``.

    .. math:: k(x,y) - \tfrac1m\sum_i k(x,z_i) - \tfrac1m\sum_j k(z_j,y)
              + \tfrac1{m^2}\sum_{ij} k(z_i,z_j)

    On the reference sample itself the Gram matrix is HKH with H = I - 11'/m.

    Parameters
    ----------
    kernel : Kernel
        The kernel to centre.
    reference : data, optional
        The sample z; by default the data the kernel is resolved on.

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear().center()([[1.0], [3.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    because = "centred features phi(x) - mean phi(z) are features"

    def prepare(self, X: Data) -> Zipped:
        from ...gram.tiles import row_means

        Z = self._anchors()
        P = self.kernel.prepare(X)
        grand = row_means(self.kernel, Z, Z).mean()
        return Zipped(P, row_means(self.kernel, P, Z) - grand / 2)

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return by_tiles(self, Centered, X, Y)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        inner, mx, my = self.kernel.tiles(X.parts[0], Y.parts[0]), X.parts[1], Y.parts[1]

        def tile(rows: slice, cols: slice) -> np.ndarray:
            block = inner(rows, cols)
            block -= mx[rows, None]
            block -= my[None, cols]
            return block

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        return self.kernel.diag(X.parts[0]) - 2 * X.parts[1]

    def features(self, X: Zipped) -> Any | None:
        phi = self.kernel.features(X.parts[0])
        if phi is None or sp.issparse(phi):
            return None
        reference: Any = self.kernel.features(self._anchors())
        return phi - reference.mean(axis=0)

    def n_features(self, X: Zipped) -> int | None:
        count = self.kernel.n_features(X.parts[0])
        probe = None if count is None else self.kernel.features(take(X.parts[0], slice(0, 1)))
        return None if sp.issparse(probe) else count

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        """Each call goes over all pairs of the reference sample, whatever the size of W."""
        x, y, Z = X.parts[0], Y.parts[0], self._anchors()
        grand = np.full(length(Z), W.sum() / length(Z))
        return (
            self.kernel.grad_theta(x, y, W)
            - self._grad_means(x, Z, W.sum(axis=1))
            - self._grad_means(y, Z, W.sum(axis=0))
            + self._grad_means(Z, Z, grand)
        )

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        x, Z = X.parts[0], self._anchors()
        grand = np.full(length(Z), np.sum(w) / length(Z))
        own = self.kernel.grad_theta_diag(x, w)
        return own - 2 * self._grad_means(x, Z, w) + self._grad_means(Z, Z, grand)

    def _grad_means(self, X: Data, Z: Data, w: np.ndarray) -> np.ndarray:
        """The gradient of sum_i w_i mean_j k(x_i, z_j), in tiles."""
        from ...gram.tiles import TILE, slices

        m, total = length(Z), np.zeros(len(self.theta))
        for rows in slices(length(X), TILE):
            for cols in slices(m, TILE):
                W = np.repeat(w[rows, None] / m, cols.stop - cols.start, axis=1)
                total += self.kernel.grad_theta(take(X, rows), take(Z, cols), W)
        return total

    @property
    def properties(self) -> prop.Properties:
        return of_centered(self.kernel.properties)

    def __repr__(self) -> str:
        return self._call("center", self.reference)


@dataclass(eq=False, repr=False)
class AnchoredFeatures(Anchored):
    """Features from the values of k at the points z; prepared samples come with theirs."""

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return X.parts[1] @ Y.parts[1].T

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        A, B = X.parts[1], Y.parts[1]
        return lambda rows, cols: A[rows] @ B[cols].T

    def diag(self, X: Zipped) -> np.ndarray:
        return np.einsum("ij,ij->i", X.parts[1], X.parts[1])

    def features(self, X: Zipped) -> np.ndarray:
        return X.parts[1]

    def n_features(self, X: Zipped) -> int:
        return X.parts[1].shape[1]


@dataclass(eq=False, repr=False)
class Through(AnchoredFeatures):
    r"""The pairwise kernel over points z: written ``k.through(points)``.

    .. math:: \sum_{z} k(x, z)\,k(z, y)

    On the points themselves its Gram matrix is K K; its features are [k(x, z)]_z.

    Parameters
    ----------
    kernel : Kernel
        The kernel k; it need not be positive definite.
    reference : data, optional
        The points z; by default the data the kernel is resolved on.

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear().through()([[1.0], [2.0]])
    array([[ 5., 10.],
           [10., 20.]])
    """

    because = "<[k(x, z)]_z, [k(y, z)]_z> is an inner product of explicit features"

    def prepare(self, X: Data) -> Zipped:
        P = self.kernel.prepare(X)
        return Zipped(P, self.kernel.pairwise(P, self._anchors()))

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (x, A), (y, B), Z = X.parts, Y.parts, self._anchors()
        return self.kernel.grad_theta(x, Z, W @ B) + self.kernel.grad_theta(y, Z, W.T @ A)

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        x, A = X.parts
        return 2 * self.kernel.grad_theta(x, self._anchors(), w[:, None] * A)

    @property
    def properties(self) -> prop.Properties:
        return of_through(self.kernel.properties)

    def __repr__(self) -> str:
        return self._call("through", self.reference)
