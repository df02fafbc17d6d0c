"""Kernels from negative definite functions: exp(-t psi), and the one that psi is a distance of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from ...data import Data, Zipped, evenly, is_frame, length, take
from ...params import parameter, positive
from ..base import Kernel, Tile, Tiled
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..vectors.distance_induced import induced
from .metric import Exponential
from .negative import Negative, as_negative, is_negative

_MEDIAN_SAMPLES = 500


@dataclass(eq=False, repr=False)
class OfNegative(Kernel):
    """What both kernels share: the function psi, and how it is resolved."""

    psi: Any = parameter(check=is_negative)

    @property
    def _psi(self) -> Negative:
        return as_negative(self.psi)

    def resolve(self, X: Data) -> Kernel:
        known = isinstance(self.psi, Negative)
        return replace(self, psi=self.psi.resolve(X)) if known else self

    @property
    def domain(self) -> Domain:
        return self._psi.domain

    def _derived(self, **facts: Any) -> prop.Properties:
        """These facts, if psi is known to be negative definite."""
        psd = self._psi.negative
        psd = prop.yes(self.because) if psd else psd
        return prop.close(replace(prop.Properties(self.domain, psd=psd), **facts))


@dataclass(eq=False, repr=False)
class Schoenberg(OfNegative, Exponential):
    r"""The exponential of a negative definite function.

    .. math:: k(x, y) = \exp(-t\, \psi(x, y))

    positive definite for every t > 0 if and only if psi is negative definite. With a squared
    distance psi this is the Gaussian kernel of the Hilbert space in which psi is measured.

    Parameters
    ----------
    psi : negative definite function, or callable
        :class:`mercer.HilbertianMetric`, :class:`mercer.SquaredMetric`,
        :class:`mercer.EuclideanPower`, :class:`mercer.NegativeDefinite`, or your own function of
        two samples.
    t : float or "median"
        The factor t; ``"median"`` is the inverse of the median of psi between (at most 500)
        different samples.

    Examples
    --------
    >>> from mercer import HilbertianMetric, Schoenberg
    >>> k = Schoenberg(HilbertianMetric.from_name("chi2"), t=0.5)
    >>> k([[1.0, 0.0], [0.5, 0.5]]).round(4)  # psi = 0.25 / 1.5 + 0.25 / 0.5 = 2/3
    array([[1.    , 0.7165],
           [0.7165, 1.    ]])
    >>> Schoenberg(lambda x, y: abs(len(x) - len(y)))(["a", "abc"]).round(4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])

    References
    ----------
    Schoenberg, *Metric spaces and positive definite functions*, 1938; Berg, Christensen & Ressel,
    *Harmonic analysis on semigroups*, 1984, chapter 3.
    """

    t: Any = positive(1.0, choices=("median",))
    scale, power = "t", 1.0
    because = "exp(-t psi) of a negative definite psi is positive definite (Schoenberg)"

    def resolve(self, X: Data) -> Kernel:
        found: Any = super().resolve(X)
        if not isinstance(self.t, str):
            return found
        few = evenly(length(X), _MEDIAN_SAMPLES)
        between = found._psi(take(X, few))[np.triu_indices(len(few), 1)]
        between = between[between > 0]
        return replace(found, t=float(1 / np.median(between)) if len(between) else 1.0)

    @property
    def _rate(self) -> float:
        return self.t

    @property
    def properties(self) -> prop.Properties:
        """Of a distance that is continuous and tells samples apart, all that Gaussians have.

        Any finite set of features spans a Euclidean space, so the kernel is strictly positive
        definite; that it is so for measures is shown for ``EmbeddingGaussian``.
        """
        psi = self._psi
        facts: dict[str, Any] = {"positive_diag": prop.yes("exp is positive")}
        if psi.stationary:
            facts["stationary"] = prop.yes("psi depends on x - y only")
        if psi.continuous:
            facts["continuous"] = prop.yes("psi is continuous")
        if psi.metric:
            facts["bounded"] = prop.yes("0 <= k <= 1, since psi >= 0")
        if psi.separates:
            why = "the Gaussian kernel of a Hilbert space, at distinct features"
            facts["strictly_pd"] = prop.yes(why)
            if psi.continuous:
                facts["integrally_pd"] = prop.yes(f"{why}, which are continuous")
        return self._derived(**facts)


@dataclass(eq=False, repr=False)
class Induced(OfNegative, Tiled):
    r"""The kernel of which a negative definite function is the squared distance.

    .. math:: k(x, y) = \tfrac12 \left( \psi(x, z) + \psi(y, z) - \psi(x, y) - \psi(z, z) \right)

    positive definite for every base point z if and only if psi is negative definite. If
    psi(x, x) = 0, its metric is psi: ``kernel.distance(X) ** 2``. MMD and HSIC do not depend on z.

    Parameters
    ----------
    psi : negative definite function, or callable
        As in :class:`mercer.Schoenberg`.
    origin : sample, optional
        The base point z. By default 0 where there is one: the zero vector, or the histogram without
        mass; elsewhere it has to be given.

    Examples
    --------
    >>> from mercer import HilbertianMetric, Induced
    >>> shared = Induced(HilbertianMetric.from_name("total variation"))
    >>> shared([[3.0, 1.0], [1.0, 2.0]])  # sums of minima: histogram intersection
    array([[4., 2.],
           [2., 3.]])
    >>> def differ(x, y):
    ...     return len(set(x) ^ set(y))
    >>> Induced(differ, origin="")(["abc", "bcd"])  # letters in common
    array([[3., 2.],
           [2., 3.]])

    References
    ----------
    Berg, Christensen & Ressel, *Harmonic analysis on semigroups*, 1984, lemma 3.2.1; Sejdinovic,
    Sriperumbudur, Gretton & Fukumizu, *Equivalence of distance-based and RKHS-based statistics in
    hypothesis testing*, Annals of Statistics 2013.
    """

    origin: Any = parameter(None)
    because = "psi(x, z) + psi(y, z) - psi(x, y) - psi(z, z) of a negative definite psi is one"

    def prepare(self, X: Data) -> Zipped:
        psi = self._psi
        P = psi.prepare(X)
        Z = psi.origin(P) if self.origin is None else psi.prepare(_alone(self.origin))
        if Z is None:
            raise ValueError(
                "Induced: this psi has no natural base point; pass a sample as origin, for "
                "example one from the training data."
            )
        n = length(P)
        away = np.array(psi.tiles(P, Z)(slice(0, n), slice(0, 1))[:, 0])
        return Zipped(P, away - psi.diag(Z)[0] / 2)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (P, a), (Q, b) = X.parts, Y.parts
        inner = self._psi.tiles(P, Q)
        return lambda rows, cols: induced(inner(rows, cols), a[rows], b[cols])

    def diag(self, X: Zipped) -> np.ndarray:
        P, a = X.parts
        return a - (self._psi.diag(P) / 2).astype(a.dtype)

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        if not self.hyperparameters():
            return np.zeros(0)
        psi, (P, _), (Q, _) = self._psi, X.parts, Y.parts
        Z = psi.prepare(_alone(self.origin))
        total = psi.grad_theta(P, Z, W.sum(axis=1)[:, None])
        total = total + psi.grad_theta(Q, Z, W.sum(axis=0)[:, None])
        own = psi.grad_theta(Z, Z, np.full((1, 1), W.sum()))
        return (total - psi.grad_theta(P, Q, W) - own) / 2

    @property
    def properties(self) -> prop.Properties:
        facts: dict[str, Any] = {"positive_diag": prop.no("k(z, z) = 0")}
        if self._psi.continuous:
            facts["continuous"] = prop.yes("psi is continuous")
        return self._derived(**facts)


def _alone(x: Any) -> Data:
    """A data set of one sample."""
    if hasattr(x, "tocsr") or is_frame(x):
        return x
    return np.asarray(x)[None] if isinstance(x, np.ndarray | Real) else [x]
