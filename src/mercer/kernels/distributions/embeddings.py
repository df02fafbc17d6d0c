"""Kernels between distributions, each known by a sample (a bag) of points of any kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ...data import Data, Rows, Zipped, join, length, take
from ...exceptions import UnresolvedError
from ...features.sparse import compress
from ...params import parameter, positive
from ..algebra.constant import is_kernel
from ..algebra.negative import SquaredMetric
from ..base import Kernel, Tile
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..calculus.facts import UNKNOWN
from ..overrides import by_tiles
from .bags import Bags, bounds_of, pieces, read
from .kind import bags

_MEDIAN_BAGS = 200


@dataclass(eq=False, repr=False)
class OnBags(Kernel):
    """What kernels on bags share: a kernel on the points, and how bags are read."""

    kernel: Kernel = parameter(check=is_kernel)

    def resolve(self, X: Data) -> Self:
        return replace(self, kernel=self.kernel.resolve(join(*read(X, type(self).__name__))))

    def _prepared(self, X: Data) -> Bags:
        parts = read(X, type(self).__name__)
        size = np.array([length(part) for part in parts], dtype=np.int64)
        return Bags(self.kernel.prepare(join(*parts)), np.cumsum(size) - size, size)

    @property
    def domain(self) -> Domain:
        return bags(self.kernel.domain)

    def _derived(self, **facts: Any) -> prop.Properties:
        """These facts, if the kernel on points is one at all."""
        psd = self.kernel.properties.psd
        psd = prop.yes(self.because) if psd else psd
        return prop.close(replace(prop.Properties(self.domain, psd=psd), **facts))


@dataclass(eq=False, repr=False)
class MeanEmbedding(OnBags):
    r"""The inner product of the mean embeddings of two samples.

    .. math:: k(P, Q) = \langle \mu_P, \mu_Q \rangle
              = \frac1{nm} \sum_{i=1}^n \sum_{j=1}^m k(p_i, q_j)

    A sample of data is itself a sample of points: a bag. Sizes may differ. Without the division,
    and with ``normalize()``, this is the multi-instance (or set) kernel.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the points; parameters such as "median" are resolved on all points.

    Examples
    --------
    >>> from mercer import Linear, MeanEmbedding
    >>> k = MeanEmbedding(Linear())
    >>> k([[[1.0], [3.0]], [[4.0]]])  # products of the means, 2 and 4
    array([[ 4.,  8.],
           [ 8., 16.]])

    References
    ----------
    Smola, Gretton, Song & Schölkopf, *A Hilbert space embedding for distributions*, ALT 2007;
    Gärtner, Flach, Kowalczyk & Smola, *Multi-instance kernels*, ICML 2002.
    """

    because = "an inner product of mean features"

    def prepare(self, X: Data) -> Bags:
        return self._prepared(X)

    def pairwise(self, X: Bags, Y: Bags) -> np.ndarray:
        return by_tiles(self, MeanEmbedding, X, Y)

    def tiles(self, X: Bags, Y: Bags) -> Tile:
        (P, p), (Q, q) = X.stacked(), Y.stacked()
        inner = self.kernel.tiles(P, Q)

        def tile(rows: Rows, cols: Rows) -> np.ndarray:
            if not (isinstance(rows, slice) and isinstance(cols, slice)):
                return self.pairwise(X[rows], Y[cols])
            r, c = bounds_of(p, rows), bounds_of(q, cols)
            sums, dtype = np.zeros((len(r) - 1, len(c) - 1)), np.dtype(np.float64)
            for a in pieces(r):
                for b in pieces(c):
                    block = inner(a.points, b.points)
                    dtype = block.dtype
                    columns = np.add.reduceat(block, b.starts, axis=1, dtype=np.float64)
                    sums[a.bags, b.bags] += np.add.reduceat(columns, a.starts, axis=0)
            sums /= np.multiply.outer(np.diff(r), np.diff(c))
            return sums.astype(dtype, copy=False)

        return tile

    def diag(self, X: Bags) -> np.ndarray:
        from ...gram.tiles import run

        found = np.empty(len(X))

        def one(i: int) -> None:
            found[i] = self.pairwise(X[i : i + 1], X[i : i + 1])[0, 0]

        run(one, range(len(X)))
        point = take(X.points, slice(0, 1))
        return found.astype(self.kernel.pairwise(point, point).dtype, copy=False)

    def features(self, X: Bags) -> Any | None:
        points, ends = X.stacked()
        phi: Any = self.kernel.features(points)
        if phi is None:
            return None
        shares = np.repeat(1 / X.size, X.size).astype(phi.dtype)
        means = sp.csr_matrix((shares, np.arange(len(shares)), ends))
        if not sp.issparse(phi):
            return means @ phi
        columns = np.unique(phi.indices)  # of enormously many
        M = means @ compress(phi, columns)
        return sp.csr_matrix((M.data, columns[M.indices], M.indptr), (len(X), phi.shape[1]))

    def n_features(self, X: Bags) -> int | None:
        return self.kernel.n_features(X.points)

    def features_pay(self, X: Bags) -> bool:
        return self.kernel.features_pay(X.points)

    def grad_theta(self, X: Bags, Y: Bags, W: np.ndarray) -> np.ndarray:
        (P, p), (Q, q) = X.stacked(), Y.stacked()
        V = W / np.multiply.outer(X.size, Y.size)
        total = np.zeros(len(self.theta))
        for a in pieces(p):
            for b in pieces(q):
                spread = np.repeat(V[a.bags, b.bags], a.counts, axis=0)
                spread = np.repeat(spread, b.counts, axis=1)
                total += self.kernel.grad_theta(take(P, a.points), take(Q, b.points), spread)
        return total

    def grad_theta_diag(self, X: Bags, w: np.ndarray) -> np.ndarray:
        total = np.zeros(len(self.theta))
        for i, weight in enumerate(w):
            total += self.grad_theta(X[i : i + 1], X[i : i + 1], np.full((1, 1), weight))
        return total

    @property
    def properties(self) -> prop.Properties:
        p = self.kernel.properties
        mixture = prop.no("half of two embeddings is that of the mixture, a third distribution")
        positive = prop.no("k(x, x) = 0 for a bag of one point") if p.positive_diag.no else UNKNOWN
        if p.strictly_pd:
            positive = prop.yes("features of distinct points are independent, so no mean is 0")
        return self._derived(
            bounded=_same(p.bounded, "a mean is no longer than the longest feature"),
            continuous=_weakly_continuous(p),
            strictly_pd=mixture,
            characteristic=mixture,
            finite_dim=_same(p.finite_dim, "its functions are expectations of those of k"),
            positive_diag=positive,
        )


@dataclass(eq=False, repr=False)
class EmbeddingGaussian(OnBags):
    r"""The Gaussian kernel of the distance between mean embeddings.

    .. math:: k(P, Q) = \exp\left(-\frac{\|\mu_P - \mu_Q\|^2}{2 \ell^2}\right)

    With a bounded, continuous and characteristic kernel on the points it is universal: any
    continuous function of distributions can be learned from samples.

    Parameters
    ----------
    kernel : Kernel
        The kernel on the points; parameters such as "median" are resolved on all points.
    lengthscale : float or "median"
        l; ``"median"`` is the median distance between (at most 200) bags.

    Examples
    --------
    >>> from mercer import EmbeddingGaussian, Linear
    >>> k = EmbeddingGaussian(Linear(), lengthscale=2.0)
    >>> k([[[1.0], [3.0]], [[4.0]]]).round(4)  # the means are 2 and 4
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])

    References
    ----------
    Christmann & Steinwart, *Universal kernels on non-standard input spaces*, NIPS 2010.
    """

    lengthscale: Any = positive("median", choices=("median",))
    because = "the Gaussian kernel of a Hilbert space, at the mean embeddings"

    def resolve(self, X: Data) -> EmbeddingGaussian:
        means = MeanEmbedding(self.kernel).resolve(X)
        lengthscale = self.lengthscale
        if isinstance(lengthscale, str):
            few = np.unique(np.linspace(0, length(X) - 1, _MEDIAN_BAGS).astype(int))
            between = means.distance(take(X, few))[np.triu_indices(len(few), 1)]
            between = between[between > 0]
            lengthscale = float(np.median(between)) if len(between) else 1.0
        return replace(self, kernel=means.kernel, lengthscale=lengthscale)

    @property
    def unresolved(self) -> str | None:
        return super().unresolved or (
            f'lengthscale="{self.lengthscale}"' if isinstance(self.lengthscale, str) else None
        )

    def prepare(self, X: Data) -> Zipped:
        if isinstance(self.lengthscale, str):
            raise UnresolvedError(
                f'EmbeddingGaussian: lengthscale="{self.lengthscale}" depends on data; call '
                f"kernel.resolve(X_train) first."
            )
        P = self._prepared(X)
        return Zipped(P, self._means.diag(P))

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return by_tiles(self, EmbeddingGaussian, X, Y)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        distances = self._squares(X, Y)

        def tile(rows: slice, cols: slice) -> np.ndarray:
            D = distances(rows, cols)
            D *= -0.5 / self.lengthscale**2
            return np.exp(D, out=D)

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        return np.ones_like(X.parts[1])

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (P, _), (Q, _) = X.parts, Y.parts
        D = self._squares(X, Y)(slice(0, len(X)), slice(0, len(Y)))
        V = W * np.exp(-0.5 / self.lengthscale**2 * D) / self.lengthscale**2
        own = self._means.grad_theta_diag(P, V.sum(axis=1))
        own += self._means.grad_theta_diag(Q, V.sum(axis=0))
        inner = self._means.grad_theta(P, Q, V) - own / 2
        return np.append(inner, np.vdot(V, D))

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))

    @property
    def _means(self) -> MeanEmbedding:
        return MeanEmbedding(self.kernel)

    def _squares(self, X: Zipped, Y: Zipped) -> Tile:
        """Squared distances of mean embeddings."""
        return SquaredMetric(self._means).tiles(X, Y)

    @property
    def properties(self) -> prop.Properties:
        """Integrally positive definite if the embedding is injective and continuous.

        With nu(dh) = exp(-|h|^2 / 2) mu(dh) on the Hilbert space, the double integral of the
        kernel over mu is sum_n |int h^(tensor n) dnu|^2 / n!. If it is 0, all moments of all
        projections of nu vanish, and as nu has Gaussian tails, nu = 0.
        """
        p = self.kernel.properties
        one = prop.yes("k(P, P) = 1")
        facts = {"bounded": one, "continuous": _weakly_continuous(p), "positive_diag": one}
        if facts["continuous"] and p.characteristic:
            why = "a Gaussian kernel at embeddings that are continuous and distinct"
            facts["universal"] = prop.yes(f"{why} (Christmann & Steinwart)")
            facts["integrally_pd"] = prop.yes(f"{why}: moments determine measures there")
        return self._derived(**facts)


def _same(fact: prop.Fact, because: str) -> prop.Fact:
    return fact if fact.unknown else replace(fact, because=because)


def _weakly_continuous(p: prop.Properties) -> prop.Fact:
    """Are embeddings near each other if distributions are, in the sense of weak convergence?"""
    if p.bounded and p.continuous:
        return prop.yes("means of bounded continuous functions follow weak convergence")
    return UNKNOWN
