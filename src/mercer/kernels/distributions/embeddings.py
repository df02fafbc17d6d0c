"""Kernels between distributions, each known by a sample (a bag) of points of any kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Data
from ...params import positive
from ..algebra.metric import MetricGaussian
from ..bags.stacked import Bags
from ..bags.sums import BagSums, OnBags
from ..calculus import properties as prop
from ..calculus.facts import UNKNOWN


@dataclass(eq=False, repr=False)
class MeanEmbedding(BagSums):
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

    def shares(self, X: Bags) -> np.ndarray:
        return 1 / X.size

    @property
    def properties(self) -> prop.Properties:
        p = self.kernel.properties
        mixture = prop.no("the mean of two embeddings is that of the mixture, a third distribution")
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
class EmbeddingGaussian(MetricGaussian, OnBags):
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

    @property
    def space(self) -> MeanEmbedding:
        return MeanEmbedding(self.kernel)

    def resolve(self, X: Data) -> EmbeddingGaussian:
        means, lengthscale = self.space.resolve(X), self.lengthscale
        if isinstance(lengthscale, str):
            lengthscale = self.median_distance(means, X)
        return replace(self, kernel=means.kernel, lengthscale=lengthscale)

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
