"""Kernels on series by matching some of their points in the order of time, and passing over others.

Among the kernels that Rüping (*SVM kernels for time series analysis*, 2001) proposes for series are
one on subsequences and one from a hidden Markov model of pairs. The forms here are those of Lodhi
et al. and of Watkins for strings; points match by degrees, with a Gaussian kernel, where symbols
agree or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import fraction, integer
from ..calculus import properties as prop
from .base import LocalKernel, LogKernel, of_pairs
from .ragged import Ragged


@dataclass(eq=False, repr=False)
class SoftSubsequence(LocalKernel):
    r"""The gap-weighted subsequence kernel for series: similar, rather than equal, subsequences.

    .. math:: k(x, y) = \sum_{I, J} \lambda^{l(I) + l(J)} \prod_{r=1}^{p}
              \exp\Big(-\frac{\|x_{i_r} - y_{j_r}\|^2}{2 s^2}\Big)

    over all p = ``length`` times I = (i_1 < ... < i_p) of x and J of y, where l(I) = i_p - i_1 + 1
    is the time from the first to the last of them. Shorter series have zero features. Values grow
    with the lengths of series: compare angles with ``normalize()``.

    Parameters
    ----------
    lengthscale : float or "median"
        s. "median" is the median distance of points.
    length : int
        p, the number of points of the subsequences.
    decay : float
        The factor lambda in (0, 1] for every time point that is skipped or matched.

    Examples
    --------
    >>> from mercer import SoftSubsequence
    >>> series = [[0, 3, 0, 0], [0, 0, 3, 0, 0], [3, 0, 3]]
    >>> SoftSubsequence(lengthscale=1.0, length=2).normalize()(series).round(3)
    array([[1.   , 0.972, 0.669],
           [0.972, 1.   , 0.538],
           [0.669, 0.538, 1.   ]])

    References
    ----------
    Lodhi et al., *Text classification using string kernels*, JMLR 2002; Shawe-Taylor & Cristianini,
    *Kernel methods for pattern analysis*, 2004, section 11.6 (soft matching); Rüping, *SVM kernels
    for time series analysis*, Technical Report 43, SFB 475, University of Dortmund 2001.
    """

    length: int = integer(3, low=1)
    decay: float = fraction(0.5, tuned=False)
    because = "a sum over subsequences of products of Gaussian kernels (a convolution kernel)"

    def prepare(self, X: Data) -> Ragged:
        return self.points(X)

    def pairs(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        values = self._sums(X, Y, i, j, None)
        if not np.isfinite(values).all():
            at = int(np.argmin(np.isfinite(values)))
            raise DomainError(
                f"SoftSubsequence: the sum over subsequences of series of {X.size[i[at]]} and "
                f"{Y.size[j[at]]} points exceeds 1e308; lower decay (now {self.decay:g}) or length."
            )
        return values

    def slopes(self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        slopes = np.empty(len(i))
        self._sums(X, Y, i, j, slopes)
        return slopes

    def _sums(
        self, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray, slopes: np.ndarray | None
    ) -> np.ndarray:
        from .matching_loops import subsequences

        return of_pairs(subsequences, X, Y, i, j, int(self.length), float(self.decay), slopes)

    @property
    def properties(self) -> prop.Properties:
        short = f"all series shorter than {self.length} have features zero"
        alike = "the order of points does not matter" if self.length == 1 else short
        positive = prop.yes("k(x, x) >= decay^2")
        if self.length > 1:
            positive = prop.no(f"k(x, x) = 0 for series shorter than {self.length}")
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            continuous=prop.yes("sums of products of continuous functions of the points"),
            **prop.blind(alike),
            positive_diag=positive,
        )


@dataclass(eq=False, repr=False)
class PairHMM(LogKernel):
    r"""A kernel from a hidden Markov model of pairs of series, normalised.

    .. math:: K(x, y) = \sum_{m \ge 0} \sum_{I, J} \;
              \prod_{r=1}^{m} \exp\Big(-\frac{\|x_{i_r} - y_{j_r}\|^2}{2 s^2}\Big)
              \prod_{r=0}^{m} g(i_{r+1} - i_r - 1) \, g(j_{r+1} - j_r - 1)

    over all m times I = (i_1 < ... < i_m) of x and J of y that are matched, with g(0) = 1 and
    g(n) = opening * extension^(n-1) for n points in a row that are not. The kernel is
    K(x, y) / sqrt(K(x, x) K(y, y)).

    The model generates two series at once: in the match state a point of both, with a normally
    distributed difference; in two insertion states a point of one of them, with constant density.
    Up to factors that depend on only one of the series, and cancel, K is the probability of the
    pair.

    Parameters
    ----------
    lengthscale : float or "median"
        s. "median" is the median distance of points.
    opening, extension : float
        The factors in (0, 1] for the first and for every further point of a stretch that is not
        matched, where a perfect match counts 1.

    Examples
    --------
    >>> from mercer import PairHMM
    >>> series = [[1, 2, 3], [1, 2, 9, 3], [3, 2, 1]]
    >>> PairHMM(lengthscale=0.5)(series).round(3)
    array([[1.   , 0.134, 0.022],
           [0.134, 1.   , 0.02 ],
           [0.022, 0.02 , 1.   ]])

    References
    ----------
    Watkins, *Dynamic alignment kernels*, Advances in Large Margin Classifiers, 2000; Haussler,
    *Convolution kernels on discrete structures*, UCSC 1999; Rüping, *SVM kernels for time series
    analysis*, Technical Report 43, SFB 475, University of Dortmund 2001.
    """

    opening: float = fraction(0.1, tuned=False)
    extension: float = fraction(0.9, tuned=False)
    because = (
        "given the number of matches, a sum over pairs of subsequences of products of Gaussian "
        "kernels and of a factor for each series (Watkins: insertions are independent)"
    )

    def logs(
        self, P: Ragged, Q: Ragged, i: np.ndarray, j: np.ndarray, slopes: np.ndarray | None = None
    ) -> np.ndarray:
        from .matching_loops import log_pairs

        gaps = float(self.opening), float(self.extension)
        return of_pairs(log_pairs, P, Q, i, j, *gaps, slopes)

    @property
    def properties(self) -> prop.Properties:
        # Of finitely many series let T be the greatest length. With T matches only those of length
        # T have a part, and it is x itself, under a Gaussian kernel on R^(Td): their coefficients
        # are 0 if the sum of features is. Then the same for what is left.
        return self._stated(
            bounded=prop.yes("k(x, x) = 1"),
            continuous=prop.yes("sums of products of continuous functions of the points"),
            strictly_pd=prop.yes("length by length, from the longest on, it holds a Gaussian"),
        )
