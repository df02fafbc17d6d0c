"""The Kendall and Mallows kernels: pairs of items that two rankings put in the same order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Data, evenly, length, take
from ...params import one_of, positive
from ..base import Tile, Tiled, not_resolved, weigh
from ..calculus import properties as prop
from .base import RankingKernel, same_items
from .comparisons import Rankings, agreements, compared, packed, signs

_MEDIAN_OF = 500  # rankings


@dataclass(eq=False, repr=False)
class Kendall(RankingKernel, Tiled):
    r"""The Kendall kernel on rankings: pairs in the same order, minus pairs in opposite order.

    .. math:: k(x, y) = \frac{n_{\mathrm{con}}(x, y) - n_{\mathrm{dis}}(x, y)}{\binom m2}
              = \frac{1}{\binom m2} \sum_{i < j} s_{ij}(x)\, s_{ij}(y)

    with the sign :math:`s_{ij}(x)` = 1 if x ranks item i before item j, -1 if after and 0 if they
    are tied: these are its features. A ranking is a row with the rank of each of m items, as
    integers or any numbers; whether small or large ranks are good makes no difference. NaN means
    that an item is not ranked. Scores, or expression levels of genes, can be used as rankings
    directly.

    k(x, x) is the share of pairs that x puts in order, 1 without ties. ``Kendall().normalize()`` is
    Kendall's tau-b.

    Parameters
    ----------
    missing : {"neutral", "average"}
        What is assumed about an item that is not ranked: nothing, as for a tie (``"neutral"``), or
        that it has some place in a ranking of all items, with all places equally likely
        (``"average"``). Then s_ij is the mean over all rankings of all items that agree with x: the
        best of k ranked items is ahead of any other one with probability k / (k + 1). In top-k
        lists, the other items rank behind; :func:`~mercer.rankings_from_orders` makes them tied for
        the last place.

    Examples
    --------
    >>> from mercer import Kendall
    >>> Kendall()([[1, 2, 3], [1, 3, 2], [3, 2, 1]]).round(3)
    array([[ 1.   ,  0.333, -1.   ],
           [ 0.333,  1.   , -0.333],
           [-1.   , -0.333,  1.   ]])

    References
    ----------
    Jiao & Vert, *The Kendall and Mallows kernels for permutations*, ICML 2015; IEEE Transactions on
    Pattern Analysis and Machine Intelligence 40, 2018.
    """

    missing: str = one_of("neutral", "neutral", "average")
    because = "an inner product of explicit features: for each pair of items, which one is first"

    def prepare(self, X: Data) -> Rankings:
        return compared(X, type(self).__name__, self.missing)

    def tiles(self, X: Rankings, Y: Rankings) -> Tile:
        left, right = packed(X, Y)
        return lambda rows, cols: agreements(left[rows], right[cols]) / X.pairs

    def diag(self, X: Rankings) -> np.ndarray:
        return X.norms / X.pairs

    def features(self, X: Rankings) -> np.ndarray:
        phi = signs(X)
        phi /= np.sqrt(X.pairs)
        return phi

    def n_features(self, X: Rankings) -> int:
        return X.pairs

    @property
    def properties(self) -> prop.Properties:
        opposite = "a ranking and its reverse have opposite features"
        return self._stated(
            bounded=prop.yes("|k(x, y)| <= 1"),
            finite_dim=prop.yes("spanned by one function for each pair of items"),
            strictly_pd=prop.no(opposite),
            characteristic=prop.no(
                f"{opposite}: an equal mixture of both looks like a tie of all items"
            ),
            positive_diag=prop.no("k(x, x) = 0 where all items are tied"),
        )


@dataclass(eq=False, repr=False)
class Mallows(RankingKernel, Tiled):
    r"""The Mallows kernel on rankings: it decreases with each pair of items in opposite order.

    .. math:: k(x, y) = e^{-\lambda\, n_{\mathrm{dis}}(x, y)}, \qquad
              n_{\mathrm{dis}}(x, y) = \tfrac14 \sum_{i < j} (s_{ij}(x) - s_{ij}(y))^2

    n_dis is the number of pairs that x and y put in opposite order, with the signs s of
    :class:`Kendall`; a pair that only one of them puts in order counts 1/4. Rankings are given as
    for :class:`Kendall`.

    Parameters
    ----------
    decay : float or "median"
        lambda > 0. ``"median"`` is 1 / (2 median of n_dis) over pairs of (at most 500) rankings
        that differ. The largest n_dis of m items is m (m - 1) / 2, so a good lambda depends on m.
    missing : {"neutral", "average"}
        How unranked items are treated: see :class:`Kendall`.

    Examples
    --------
    >>> from mercer import Mallows
    >>> Mallows(1.0)([[1, 2, 3], [1, 3, 2], [3, 2, 1]]).round(4)
    array([[1.    , 0.3679, 0.0498],
           [0.3679, 1.    , 0.1353],
           [0.0498, 0.1353, 1.    ]])

    References
    ----------
    Jiao & Vert, *The Kendall and Mallows kernels for permutations*, ICML 2015; Mania, Ramdas,
    Wainwright, Jordan & Recht, *On kernel methods for covariates that are rankings*, Electronic
    Journal of Statistics 12, 2018.
    """

    decay: Any = positive("median", choices=("median",))
    missing: str = one_of("neutral", "neutral", "average")
    because = "the Gaussian kernel at the features of the Kendall kernel"

    def resolve(self, X: Data) -> Mallows:
        if not isinstance(self.decay, str):
            return self
        few = evenly(length(X), _MEDIAN_OF)
        P = replace(self, decay=1.0).prepare(take(X, few))
        apart = _disagreements(P, P)[np.triu_indices(len(few), 1)]
        apart = apart[apart > 0]
        return replace(self, decay=0.5 / float(np.median(apart)) if len(apart) else 1.0)

    def prepare(self, X: Data) -> Rankings:
        if isinstance(self.decay, str):
            raise not_resolved(self)
        return compared(X, type(self).__name__, self.missing)

    def tiles(self, X: Rankings, Y: Rankings) -> Tile:
        left, right = packed(X, Y)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            D = _disagreements(left[rows], right[cols])
            D *= -self.decay
            return np.exp(D, out=D)

        return tile

    def diag(self, X: Rankings) -> np.ndarray:
        return np.ones(len(X))

    def grad_theta(self, X: Rankings, Y: Rankings, W: np.ndarray) -> np.ndarray:
        same_items(X.places, Y.places)
        D = self.decay * _disagreements(X, Y)
        return weigh(W, [-D * np.exp(-D)])

    def grad_theta_diag(self, X: Rankings, w: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    @property
    def properties(self) -> prop.Properties:
        one = prop.yes("k(x, x) = 1")
        strict = prop.yes(
            "the Gaussian kernel of R^d, at the signs of pairs, which tell rankings apart"
        )
        few = prop.yes("finitely many items have finitely many rankings")
        return self._stated(bounded=one, positive_diag=one, strictly_pd=strict, finite_dim=few)


def _disagreements(X: Rankings, Y: Rankings) -> np.ndarray:
    """[n_dis]: pairs of items in opposite order."""
    D = agreements(X, Y)
    D *= -2
    D += X.norms[:, None]
    D += Y.norms[None, :]
    D /= 4
    return np.maximum(D, 0, out=D)
