"""Kernels on bags of instances: sums over all pairs of them, or by the extremes of each feature."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...data import Data, as_dense, as_vectors, join, length
from ...params import integer, one_of, parameter
from ..algebra.composed import Composed
from ..algebra.constant import is_kernel
from ..algebra.transforms import Transform
from ..bags.stacked import read
from ..bags.sums import OnBags, SetSum
from ..base import Kernel
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..calculus.transformed import of_pullback
from ..distributions.embeddings import MeanEmbedding
from ..distributions.kind import bags_of
from ..formula import Formula


@dataclass(eq=False, repr=False)
class MultiInstance(Composed, OnBags):
    r"""The multi-instance (or set) kernel: a sum over all pairs of instances of two bags.

    .. math:: k(X, Y) = \sum_{x \in X} \sum_{y \in Y} k(x, y)^p

    A sample is a bag: a list or array of instances, at least one. If k separates instances, k^p
    with p large enough separates bags that are positive because one of their instances is
    (Gärtner et al.).

    Parameters
    ----------
    kernel : Kernel
        The kernel on the instances; parameters such as "median" are resolved on all instances.
    power : int
        p. For a Gaussian kernel it divides the squared lengthscale by p.
    normalization : {None, "size", "diagonal"}
        Large bags have large values. ``"size"`` divides by the number of pairs, which gives
        :class:`MeanEmbedding` of k^p; ``"diagonal"`` divides by the square root of k(X, X) k(Y, Y),
        as ``normalize()`` does.

    Examples
    --------
    >>> from mercer import Linear, MultiInstance
    >>> bags = [[[1.0], [3.0]], [[2.0]]]
    >>> MultiInstance(Linear())(bags)  # the sums are 4 and 2
    array([[16.,  8.],
           [ 8.,  4.]])
    >>> MultiInstance(Linear(), power=2, normalization="size")(bags)
    array([[25., 20.],
           [20., 16.]])

    References
    ----------
    Gärtner, Flach, Kowalczyk & Smola, *Multi-instance kernels*, ICML 2002.
    """

    kernel: Kernel = parameter(check=is_kernel)
    power: int = integer(1, low=1)
    normalization: str | None = one_of(None, None, "size", "diagonal")
    because = "an inner product of sums of features"

    def prepare(self, X: Data) -> Data:
        read(X, type(self).__name__)  # errors in its own name
        return self.form.prepare(X)

    @property
    def form(self) -> Kernel:
        points = self.kernel**self.power
        if self.normalization == "size":
            return MeanEmbedding(points)
        total = SetSum(points)
        return total.normalize() if self.normalization else total


@dataclass(eq=False, repr=False)
class Minimax(Transform):
    r"""A kernel on the smallest and the largest value of each feature of a bag.

    .. math:: k(X, Y) = k\bigl((\min X, \max X), (\min Y, \max Y)\bigr)

    with the minima and maxima of all d features, 2 d numbers, in place of a bag: the statistic
    kernel of Gärtner et al., who use ``Polynomial``. It takes time in proportion to the instances,
    where sums over pairs take its square.

    Parameters
    ----------
    kernel : Kernel
        The kernel on vectors of 2 d numbers, of which it is resolved.

    Examples
    --------
    >>> from mercer import Linear, Minimax
    >>> Minimax(Linear())([[[1.0], [3.0], [2.0]], [[2.0]]])  # of (1, 3) and (2, 2)
    array([[10.,  8.],
           [ 8.,  8.]])

    References
    ----------
    Gärtner, Flach, Kowalczyk & Smola, *Multi-instance kernels*, ICML 2002.
    """

    because = "k(A(x), A(y)) is a kernel for any map A, here the extremes of a bag"

    def prepare(self, X: Data) -> Data:
        return self.kernel.prepare(extremes(X, type(self).__name__))

    def formula(self, X: Data) -> Formula | None:
        inner = self.kernel.formula(X)
        return None if inner is None else inner.under("extremes of a bag")

    def resolve(self, X: Data) -> Kernel:
        return replace(self, kernel=self.kernel.resolve(extremes(X, type(self).__name__)))

    @property
    def domain(self) -> Domain:
        return bags_of(self.kernel.domain)

    @property
    def properties(self) -> prop.Properties:
        p = of_pullback(self.kernel.properties)
        blind = prop.no("bags with the same extremes are the same to it")
        return prop.close_hilbert(
            replace(p, domain=self.domain, strictly_pd=blind, characteristic=blind)
        )


def extremes(X: Data, owner: str) -> np.ndarray:
    """The minima, then the maxima, of all features of each bag."""
    parts = read(X, owner)
    points = as_dense(as_vectors(join(*parts), owner))
    sizes = np.array([length(part) for part in parts])
    starts = np.cumsum(sizes) - sizes
    return np.hstack([f.reduceat(points, starts, axis=0) for f in (np.minimum, np.maximum)])
