"""The cross product kernel on fuzzy sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Data, Zipped
from ...params import parameter
from ..algebra.constant import is_kernel
from ..algebra.sums import Product
from ..bags.stacked import Bags
from ..base import Kernel, Tile, Tiled
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..distributions.embeddings import MeanEmbedding
from .kind import fuzzy
from .sets import read


@dataclass(eq=False, repr=False)
class CrossProduct(Tiled):
    r"""A kernel on fuzzy sets: all pairs of their points, by closeness and by similarity of
    memberships.

    .. math:: k(X, Y) = \sum_{x \in \mathrm{supp} X} \sum_{y \in \mathrm{supp} Y}
              k_1(x, y)\, k_2(X(x), Y(y))

    where X(x) is the degree to which x belongs to X. A fuzzy set is a pair (points, memberships);
    :func:`~mercer.fuzzy_set` makes one from a function and a grid. Points of membership 0 are not
    in the support, and are ignored. With ``Linear()`` for the memberships, sets are weighted bags
    of points; with :class:`~mercer.Categorical` on the points, only points in both sets count, and
    the kernel is one of their intersection: ``CrossProduct(Categorical(), Spline(1,
    polynomial=False))`` is its cardinality sum_x min(X(x), Y(x)). Large sets have large values;
    ``normalize()`` removes this effect.

    Parameters
    ----------
    points : Kernel
        k_1, on the points.
    memberships : Kernel
        k_2, on numbers in (0, 1].

    Examples
    --------
    >>> from mercer import Categorical, CrossProduct, Linear
    >>> cold, mild = ([5, 10, 15], [1.0, 0.6, 0.2]), ([10, 15, 20], [0.5, 1.0, 0.5])
    >>> CrossProduct(Categorical(), Linear())([cold, mild])
    array([[1.4, 0.5],
           [0.5, 1.5]])

    References
    ----------
    Guevara, Hirata & Canu, *Cross product kernels for fuzzy set similarity*, FUZZ-IEEE 2017.
    """

    points: Kernel = parameter(check=is_kernel)
    memberships: Kernel = parameter(check=is_kernel)
    because = "an inner product of sums of features, of points times memberships"

    def resolve(self, X: Data) -> CrossProduct:
        points, degrees, _ = read(X, type(self).__name__)
        return replace(
            self,
            points=self.points.resolve(points),
            memberships=self.memberships.resolve(degrees),
        )

    def prepare(self, X: Data) -> Bags:
        points, degrees, size = read(X, type(self).__name__)
        both = Zipped(self.points.prepare(points), self.memberships.prepare(degrees))
        return Bags(both, np.cumsum(size) - size, size)

    @property
    def _means(self) -> MeanEmbedding:
        """The same with means instead of sums."""
        return MeanEmbedding(Product(self.points, self.memberships))

    def tiles(self, X: Bags, Y: Bags) -> Tile:
        means = self._means.tiles(X, Y)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            block = means(rows, cols)
            block *= X.size[rows, None]
            block *= Y.size[None, cols]
            return block

        return tile

    def diag(self, X: Bags) -> np.ndarray:
        found = self._means.diag(X)
        return found * X.size.astype(found.dtype) ** 2

    def features(self, X: Bags) -> Any | None:
        means: Any = self._means.features(X)
        if means is None or isinstance(means, np.ndarray):
            return None if means is None else means * X.size[:, None].astype(means.dtype)
        means.data *= np.repeat(X.size, np.diff(means.indptr))
        return means

    def n_features(self, X: Bags) -> int | None:
        return self._means.n_features(X)

    def features_pay(self, X: Bags) -> bool:
        return self._means.features_pay(X)

    def grad_theta(self, X: Bags, Y: Bags, W: np.ndarray) -> np.ndarray:
        return self._means.grad_theta(X, Y, W * np.multiply.outer(X.size, Y.size))

    def grad_theta_diag(self, X: Bags, w: np.ndarray) -> np.ndarray:
        return self._means.grad_theta_diag(X, w * X.size**2)

    @property
    def domain(self) -> Domain:
        return fuzzy(self.points.domain)

    @property
    def properties(self) -> prop.Properties:
        p, q = self.points.properties, self.memberships.properties
        exchanged = "{a, b} and {c, d} together have the features of {a, d} and {c, b}"
        known = prop.Properties(
            self.domain,
            psd=prop.yes(self.because) if p.psd and q.psd else prop.psd_of(p, q),
            characteristic=prop.no(f"a sum over points: {exchanged}"),
            strictly_pd=prop.no(f"a sum over points: {exchanged}"),
        )
        if p.finite_dim and q.finite_dim:
            known = replace(known, finite_dim=prop.yes("sums of finitely many features"))
        return prop.close_hilbert(known)
