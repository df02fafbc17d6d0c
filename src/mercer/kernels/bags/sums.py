"""Kernels on bags that are sums of a kernel over all pairs of their points."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ...data import Data, Rows, join, take
from ...features.labels import COLUMNS
from ...features.sparse import compress
from ...params import parameter
from ..algebra.constant import is_kernel
from ..base import Kernel, Tile, Tiled
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..calculus.facts import UNKNOWN
from ..distributions.kind import bags, bags_of
from .stacked import Bags, Piece, bounds_of, groups, pieces, read, stack


@dataclass(eq=False, repr=False)
class OnBags(Kernel):
    """What kernels on bags share: a kernel on the points, and how bags are read."""

    kernel: Kernel = parameter(check=is_kernel)

    def resolve(self, X: Data) -> Self:
        return replace(self, kernel=self.kernel.resolve(join(*read(X, type(self).__name__))))

    def _prepared(self, X: Data) -> Bags:
        return stack(read(X, type(self).__name__), self.kernel.prepare)

    @property
    def domain(self) -> Domain:
        return bags(self.kernel.domain)

    def _derived(self, **facts: Any) -> prop.Properties:
        """These facts, if the kernel on points is one at all."""
        psd = self.kernel.properties.psd
        psd = prop.yes(self.because) if psd else psd
        return prop.close(replace(prop.Properties(self.domain, psd=psd), **facts))


@dataclass(eq=False, repr=False)
class BagSums(OnBags, Tiled):
    """s(P) s(Q) times the sum of k(p, q) over all pairs of points; 0 where there are none."""

    @abstractmethod
    def shares(self, X: Bags) -> np.ndarray:
        """[s(P)] of *prepared* bags."""

    def prepare(self, X: Data) -> Bags:
        return self._prepared(X)

    def tiles(self, X: Bags, Y: Bags) -> Tile:
        sums = pair_sums(self.kernel, X, Y)
        left, right = self.shares(X), self.shares(Y)

        def tile(rows: Rows, cols: Rows) -> np.ndarray:
            if not (isinstance(rows, slice) and isinstance(cols, slice)):
                return self.pairwise(X[rows], Y[cols])
            block = sums(rows, cols)
            block *= left[rows, None].astype(block.dtype)
            block *= right[cols].astype(block.dtype)
            return block

        return tile

    def diag(self, X: Bags) -> np.ndarray:
        from ...gram.tiles import run

        parts = groups(X.size)
        found: list[Any] = [None] * len(parts)

        def job(i: int) -> None:
            some = X[parts[i]]
            found[i] = np.diagonal(self.pairwise(some, some))

        run(job, range(len(parts)))
        return np.concatenate(found)

    def features(self, X: Bags) -> Any | None:
        points, ends = X.stacked()
        if points is None:  # of whatever has points, too, only columns that occur there are read
            return sp.csr_matrix((len(X), COLUMNS))
        phi = self.point_features(points)
        if phi is None:
            return None
        shares = np.repeat(self.shares(X), X.size).astype(phi.dtype)
        sums = sp.csr_matrix((shares, np.arange(len(shares)), ends), (len(X), len(shares)))
        if not sp.issparse(phi):
            return sums @ phi
        columns = np.unique(phi.indices)  # of enormously many
        M = sums @ compress(phi, columns)
        return sp.csr_matrix((M.data, columns[M.indices], M.indptr), (len(X), phi.shape[1]))

    def point_features(self, points: Data) -> Any | None:
        """Those of the kernel on points."""
        return self.kernel.features(points)

    def n_features(self, X: Bags) -> int | None:
        return COLUMNS if X.points is None else self.kernel.n_features(X.points)

    def features_pay(self, X: Bags) -> bool:
        return X.points is None or self.kernel.features_pay(X.points)

    def grad_theta(self, X: Bags, Y: Bags, W: np.ndarray) -> np.ndarray:
        (P, p), (Q, q) = X.stacked(), Y.stacked()
        V = W * np.multiply.outer(self.shares(X), self.shares(Y))
        total = np.zeros(len(self.theta))
        for a in pieces(p):
            for b in pieces(q):
                spread = np.repeat(V[a.bags, b.bags], np.diff(a.edges), axis=0)
                spread = np.repeat(spread, np.diff(b.edges), axis=1)
                total += self.kernel.grad_theta(take(P, a.points), take(Q, b.points), spread)
        return total

    def grad_theta_diag(self, X: Bags, w: np.ndarray) -> np.ndarray:
        total = np.zeros(len(self.theta))
        for part in groups(X.size) if len(total) else []:
            total += self.grad_theta(X[part], X[part], np.diag(w[part]))
        return total


@dataclass(eq=False, repr=False)
class SetSum(BagSums):
    """The sum of k(p, q) over all pairs of points: an inner product of sums of features."""

    because = "an inner product of sums of features"

    def shares(self, X: Bags) -> np.ndarray:
        return np.ones(len(X))

    @property
    def domain(self) -> Domain:
        return bags_of(self.kernel.domain)

    @property
    def properties(self) -> prop.Properties:
        p = self.kernel.properties
        bounded, positive = UNKNOWN, UNKNOWN
        if p.positive_diag or p.bounded.no:
            bounded = prop.no("n copies of a point have n times its features")
        if p.strictly_pd:
            positive = prop.yes("features of distinct points are independent, so no sum is 0")
        return self._derived(
            bounded=bounded,
            strictly_pd=prop.no("two bags put together have the sum of their features"),
            finite_dim=prop.kept(p.finite_dim, "its functions are sums of those of k"),
            positive_diag=positive,
        )


def pair_sums(kernel: Kernel, X: Bags, Y: Bags) -> Tile:
    """Tiles, by slices, of the sums of a kernel over all pairs of points of two bags.

    Strips of points are added up by all threads; two strips of the same bags, once for both orders.
    """
    from ...gram.tiles import check_cancelled, run
    from .loops import add_segments

    P, p = X.stacked()
    Q, q = (P, p) if Y is X else Y.stacked()
    if not (p[-1] and q[-1]):
        return lambda rows, cols: np.zeros(
            (len(bounds_of(p, rows)) - 1, len(bounds_of(q, cols)) - 1)
        )
    inner = kernel.tiles(P, Q)
    dtype = inner(slice(0, 1), slice(0, 1)).dtype

    def tile(rows: slice, cols: slice) -> np.ndarray:
        r, c = bounds_of(p, rows), bounds_of(q, cols)
        strips, others = pieces(r), pieces(c)
        mirrored = Y is X and np.array_equal(r, c)
        once, twice = np.zeros((2, len(r) - 1, len(c) - 1))
        found: dict[int, Any] = {}

        def added(a: Piece, some: list[Piece]) -> np.ndarray:
            sums = np.zeros((len(a.edges) - 1, len(c) - 1))
            for b in some:
                check_cancelled()
                block = np.ascontiguousarray(inner(a.points, b.points))
                add_segments(block, a.edges, b.edges, sums[:, b.bags])
            return sums

        def job(i: int) -> None:
            own, rest = (others[i : i + 1], others[i + 1 :]) if mirrored else (others, [])
            found[i] = added(strips[i], own), added(strips[i], rest)

        run(job, range(len(strips)))
        for i, a in enumerate(strips):  # in one order, whatever the number of threads
            once[a.bags] += found[i][0]
            twice[a.bags] += found[i][1]
        if mirrored:
            once += twice + twice.T
        return once.astype(dtype, copy=False)

    return tile
