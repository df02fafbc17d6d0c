"""Substrings at the same place: for signals in aligned sequences, such as splice sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...mixing import mix
from ...params import integer, one_of
from ..calculus import properties as prop
from .base import Substrings
from .codes import Part, as_code
from .sequences import Sequences


@dataclass(eq=False, repr=False)
class WeightedDegree(Substrings):
    r"""The weighted degree kernel: shared substrings at the same, or nearly the same, position.

    .. math:: k(x, y) = \sum_{j=1}^{k} \beta_j \sum_{i, i'} c(i - i')\,
        [x_i \dots x_{i+j-1} = y_{i'} \dots y_{i'+j-1}], \qquad
        \beta_j = \frac{2 (k - j + 1)}{k (k + 1)}

    with c(0) = 1 and c(d) = 0 from abs(d) > shift on: without a shift only substrings at the same
    position count. Positions are counted from the beginning of each sequence.

    Parameters
    ----------
    k : int
        The largest length of the substrings.
    shift : int
        By how many positions substrings may be shifted.
    falloff : "triangle" or "harmonic"
        How c decays: as c(d) = 1 - abs(d) / (shift + 1), or as c(d) = 1 / (2 (abs(d) + 1)) for
        d != 0, the weights of the publication with shifts.

    Notes
    -----
    The cosine series of either c is positive (for the harmonic one it is at least 1/2, by an
    inequality of Rogosinski and Szegő), so c is the correlation of some weights h_0, ..., h_shift
    with themselves (Fejér and Riesz): a substring at place i adds h_t to a column for i + t.

    Examples
    --------
    >>> from mercer import WeightedDegree
    >>> WeightedDegree(k=2)(["GATA", "GACA", "AGAT"]).round(3)  # GA at 0, A at 3
    array([[3.667, 2.333, 0.   ],
           [2.333, 3.667, 0.   ],
           [0.   , 0.   , 3.667]])
    >>> WeightedDegree(k=2, shift=1)(["GATA", "AGAT"]).round(3)
    array([[3.667, 2.   ],
           [2.   , 3.667]])
    >>> WeightedDegree(k=2, shift=1, falloff="harmonic")(["GATA", "AGAT"]).round(3)
    array([[3.667, 1.   ],
           [1.   , 3.667]])

    References
    ----------
    Rätsch & Sonnenburg, *Accurate splice site prediction for Caenorhabditis elegans*, in Kernel
    Methods in Computational Biology, 2004; Rätsch, Sonnenburg & Schölkopf, *RASE: recognition of
    alternatively spliced exons in C. elegans*, Bioinformatics 2005.
    """

    k: int = integer(5, low=1)
    shift: int = integer(0, low=0)
    falloff: str = one_of("triangle", "triangle", "harmonic")
    positional = True
    because = "an inner product of explicit features: the substrings up to length k at each place"

    @property
    def codes_per_window(self) -> int:
        return self.k * (self.shift + 1)

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        spread = _correlated(self.shift) if self.falloff == "harmonic" else np.ones(self.shift + 1)
        spread = spread / np.linalg.norm(spread)  # which is 1, but for rounding
        starts, counts = sequences.windows(1)
        places = starts - np.repeat(sequences.ends[:-1], counts)
        end = np.repeat(sequences.ends[1:], counts)
        rows = np.repeat(np.arange(len(counts)), counts)
        state = mix((places[:, None] + np.arange(self.shift + 1)).astype(np.uint64))
        for j in range(1, self.k + 1):
            inside = starts + j <= end
            if not inside.all():
                starts, end, rows, state = (a[inside] for a in (starts, end, rows, state))
            state = mix(state ^ sequences.symbols[starts + j - 1].astype(np.uint64)[:, None])
            weight = 2 * (self.k - j + 1) / (self.k * (self.k + 1))
            held = np.bincount(rows, minlength=len(counts))
            yield Part(as_code(state), held, starts, range(j), np.sqrt(weight) * spread)

    @property
    def properties(self) -> prop.Properties:
        far = (
            f"with n = {self.k + self.shift}, the strings a c^n a and b c^n b, in equal parts, "
            f"have the same mean features as a c^n b and b c^n a"
        )
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            **prop.blind(far),
            positive_diag=prop.no("k(x, x) = 0 for the empty string"),
        )


def _correlated(shift: int) -> np.ndarray:
    """Weights h with sum_t h_t h_(t+d) = 1 for d = 0, and 1 / (2 (d + 1)) for 0 < d <= shift.

    Kolmogorov's way: the half of the Fourier series of log c that is analytic in the unit disc
    is that of log h. The coefficients fall off exponentially, so a long transform is exact.
    """
    size = 64 * (shift + 1)
    c = np.zeros(size)
    c[1 : shift + 1] = 1 / (2 * np.arange(2, shift + 2))
    series = np.fft.ifft(np.log(1 + 2 * np.fft.fft(c).real)).real
    series[size // 2 :] = 0.0
    series[0] /= 2
    return np.fft.ifft(np.exp(np.fft.fft(series))).real[: shift + 1]
