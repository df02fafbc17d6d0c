"""Kernels on series of points, by aligning them: all alignments at once, or the best one.

An alignment of x and y is a path through the pairs (i, j), from the first points to the last, that
moves on by one in x, in y or in both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Data, evenly, length, take
from ...params import integer, positive
from ..base import Kernel, Values
from ..calculus import properties as prop
from ..pairs.base import all_pairs, on_all_cores
from .base import LogKernel, SeriesKernel, arrays, cells, of_pairs
from .ragged import Ragged, same_channels

_DISTANT = 600.0  # log of a normalised value below which cells of the table may have been lost
_MOST = 20_000_000  # cells of the table of one pair that are filled by one compiled call
_FEW = 50  # series that a rule for a parameter looks at


def _aligned(
    X: Ragged,
    Y: Ragged,
    i: np.ndarray,
    j: np.ndarray,
    band: int | None,
    minimum: bool,
    slopes: np.ndarray | None = None,
) -> np.ndarray:
    """The logarithm of the sum over alignments, or the smallest sum of squared distances.

    ``slopes``, if given, is filled with derivatives of the logarithms along log(lengthscale).
    """
    from ...gram.tiles import check_cancelled
    from .alignment_loops import alignment_space, alignments

    same_channels(X, Y)
    left, right = arrays(X), arrays(Y)
    width, out = 0 if band is None else int(band), np.empty(len(i))
    least = True if minimum else None  # what is None is not compiled

    def job(part: slice) -> None:
        rows, cols = i[part], j[part]
        sizes = X.size[rows].max(), Y.size[cols].max()
        room = alignment_space(*sizes, X.channels, width, minimum, slopes is not None)
        into = out[part], None if slopes is None else slopes[part], room, np.zeros(4), _MOST
        while alignments(*left, *right, rows, cols, width, least, *into) < len(rows):
            check_cancelled()

    on_all_cores(job, cells(X, Y, i, j))
    return out


def _distant(X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray, band: int | None) -> np.ndarray:
    """The logarithm of the sum over alignments, however small it is."""
    from .alignment_loops import distant

    return of_pairs(distant, X, Y, i, j, 0 if band is None else int(band))


def _aligned_block(X: Ragged, Y: Ragged, band: int | None, minimum: bool) -> np.ndarray:
    return all_pairs(
        lambda i, j: _aligned(X, Y, i, j, band, minimum), len(X), len(Y), symmetric=X is Y
    )


@dataclass(eq=False, repr=False)
class GlobalAlignment(LogKernel):
    r"""The global alignment kernel: the sum over all alignments of two series, normalised.

    .. math:: K(x, y) = \sum_{\pi} \prod_{(i, j) \in \pi} \kappa(x_i, y_j), \qquad
              \kappa = \frac{e}{2 - e}, \qquad
              e = \exp\Big(-\frac{\|x_i - y_j\|^2}{2 s^2}\Big)

    over all alignments pi. The kernel is K(x, y) / sqrt(K(x, x) K(y, y)): K itself grows like 5.8^T
    with the length T of the series, and overflows beyond 400 points. :meth:`log_values` returns log
    K. Both are computed with separate exponents, for series of any length.

    With a band, e is multiplied by (1 - abs(i - j) / band) before it becomes kappa (Cuturi's
    triangular kernel): series are compared at about the same time, and the work is that of a strip.
    Series whose lengths differ by the band or more have K = 0.

    Parameters
    ----------
    lengthscale : float or "median"
        s. "median" is the median distance of points times the square root of the median length.
    band : int, optional
        The maximum distance of times that are aligned; no limit by default.

    Examples
    --------
    >>> from mercer import GlobalAlignment
    >>> series = [[1, 2, 3], [1, 2, 2, 3], [3, 2, 1]]
    >>> GlobalAlignment(lengthscale=2.0)(series).round(4)
    array([[1.    , 0.8393, 0.2053],
           [0.8393, 1.    , 0.1648],
           [0.2053, 0.1648, 1.    ]])
    >>> GlobalAlignment(lengthscale=2.0).log_values(series[:1], series[1:2]).round(4)
    array([[2.7316]])

    References
    ----------
    Cuturi, Vert, Birkenes & Matsui, *A kernel for time series based on global alignments*, ICASSP
    2007; Cuturi, *Fast global alignment kernels*, ICML 2011.
    """

    band: int | None = integer(None, low=1, also=(None,))
    because = (
        "kappa / (1 + kappa) = e / 2 is positive definite, so the sum over alignments is one over "
        "pairs of stretched series of products of kernels (Cuturi)"
    )

    def typical(self, X: Ragged) -> float:
        return float(super().typical(X) * np.sqrt(np.median(X.size)))

    def logs(
        self, P: Ragged, Q: Ragged, i: np.ndarray, j: np.ndarray, slopes: np.ndarray | None = None
    ) -> np.ndarray:
        return _aligned(P, Q, i, j, self.band, False, slopes)

    def on_device(self, device: str) -> Values | None:
        from .alignment_device import kernel_values

        return kernel_values(self.band, device)

    def log_values(self, X: Data, Y: Data | None = None) -> np.ndarray:
        """log K(x, y), not normalised; -inf only where no alignment fits the band.

        Parameters
        ----------
        X, Y : series
            Y is X by default.

        Returns
        -------
        ndarray of shape (n, m)
        """
        kernel = self.resolve(X) if Y is None else self
        P, p = kernel.prepare(X).parts
        Q, q = (P, p) if Y is None else kernel.prepare(Y).parts
        logs = _aligned_block(P, Q, self.band, False)
        i, j = np.nonzero(logs < (p[:, None] + q) / 2 - _DISTANT)
        logs[i, j] = _distant(P, Q, i, j, self.band)
        return logs

    @property
    def properties(self) -> prop.Properties:
        # K is the inner product of sums of phi(a_1) x ... x phi(a_n), phi the features of e / 2,
        # over all series a that repeat points of x. Let a measure have embedding 0, and T be the
        # smallest length it lives on. At n = T only the series of length T have a part, and it is
        # x itself: a Gaussian kernel on R^(Td). So there is no mass at T, and so on. Positions, in
        # a band, are the same for all series of one length.
        return self._stated(
            bounded=prop.yes("k(x, x) = 1"),
            continuous=prop.yes("sums of products of continuous functions of the points"),
            integrally_pd=prop.yes("length by length, from the shortest on, it holds a Gaussian"),
        )


@dataclass(eq=False, repr=False)
class DynamicTimeWarping(SeriesKernel):
    r"""A similarity from dynamic time warping; not a kernel in general.

    .. math:: k(x, y) = \exp(-\gamma \operatorname{dtw}(x, y)), \qquad
              \operatorname{dtw}(x, y) = \min_{\pi} \sum_{(i, j) \in \pi} \|x_i - y_j\|^2

    over all alignments pi. Most libraries call the square root of this dtw by that name.
    Gram matrices can have negative eigenvalues: prefer :class:`GlobalAlignment`, which is a kernel,
    or ``DynamicTimeWarping().through()``, whose features are the similarities to the training
    series. Models issue a warning (:doc:`/guide/properties`).

    Parameters
    ----------
    gamma : float or "median"
        "median" is 1 / the median of dtw between series.
    band : int, optional
        Only times less than this apart are aligned (Sakoe & Chiba); no limit by default. Series
        whose lengths differ by the band or more have k = 0.

    Examples
    --------
    >>> from mercer import DynamicTimeWarping
    >>> k = DynamicTimeWarping(gamma=0.5)
    >>> series = [[1, 2, 3], [1, 2, 2, 3], [3, 2, 1]]
    >>> k.distances(series)
    array([[0., 0., 8.],
           [0., 0., 8.],
           [8., 8., 0.]])
    >>> k.properties.psd.no
    True

    References
    ----------
    Sakoe & Chiba, *Dynamic programming algorithm optimization for spoken word recognition*, IEEE
    TASSP 1978; Lei & Sun, *A study on the dynamic time warping in kernel machines*, SITIS 2007.
    """

    gamma: Any = positive("median", choices=("median",))
    band: int | None = integer(None, low=1, also=(None,))
    because = "a similarity by the best alignment, which need not be positive definite"

    def resolve(self, X: Data) -> Kernel:
        if not isinstance(self.gamma, str):
            return self
        n = length(X)
        some = take(X, evenly(n, _FEW)) if n > _FEW else X
        far = self.distances(some)
        far = far[np.isfinite(far) & (far > 0)]
        return replace(self, gamma=1 / float(np.median(far)) if len(far) else 1.0)

    def pairs(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-self._number("gamma") * _aligned(X, Y, i, j, self.band, True)))

    def diag(self, X: Ragged) -> np.ndarray:
        return np.ones(len(X))

    def slopes(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        costs = self._number("gamma") * _aligned(X, Y, i, j, self.band, True)
        return np.asarray(-np.exp(-costs) * np.where(np.isfinite(costs), costs, 0.0))

    def on_device(self, device: str) -> Values | None:
        from .alignment_device import warping_values

        return warping_values(self._number("gamma"), self.band, device)

    def distances(self, X: Data, Y: Data | None = None) -> np.ndarray:
        """dtw(x, y) of all pairs; infinite where no alignment fits the band.

        Parameters
        ----------
        X, Y : series
            Y is X by default.

        Returns
        -------
        ndarray of shape (n, m)
        """
        P = self.prepare(X)
        Q = P if Y is None else self.prepare(Y)
        return _aligned_block(P, Q, self.band, True)

    @property
    def properties(self) -> prop.Properties:
        continuous = prop.yes("a minimum of continuous functions of the points")
        if self.band == 1:
            same = "a Gaussian kernel on series of one length, and 0 between lengths"
            return self._stated(psd=prop.yes(same), bounded=prop.yes("k(x, x) = 1"))
        # dtw((0), (0, 0)) = 0, but (1) is at 1 from the first and at 2 from the second: with
        # a = exp(-gamma), the determinant of the three is -(a - a^2)^2
        witness = "(0) and (0, 0) are at distance 0 and at different distances from (1)"
        return self._stated(psd=prop.no(witness), continuous=continuous)
