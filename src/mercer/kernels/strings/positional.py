"""Substrings at the same place: for signals in aligned sequences, such as splice sites."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...params import integer
from ..calculus import properties as prop
from .base import Substrings
from .codes import Part, as_code, mix
from .sequences import Sequences


@dataclass(eq=False, repr=False)
class WeightedDegree(Substrings):
    r"""The weighted degree kernel: shared substrings at the same, or nearly the same, place.

    .. math:: k(x, y) = \sum_{j=1}^{k} \beta_j \sum_{i, i'} c(i - i')\,
        [x_i \dots x_{i+j-1} = y_{i'} \dots y_{i'+j-1}], \qquad
        \beta_j = \frac{2 (k - j + 1)}{k (k + 1)}

    with c(0) = 1 and c(d) = max(0, 1 - abs(d) / (shift + 1)): without a shift only substrings at
    the same place count. Places are counted from the beginning of each sequence. With 0 < shift
    the weights c are those of a triangle, which has features; in the publication with shifts they
    fall off as 1 / (2 (d + 1)).

    Parameters
    ----------
    k : int
        The largest length of the substrings.
    shift : int
        By how many places substrings may be apart.

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

    References
    ----------
    Rätsch & Sonnenburg, *Accurate splice site prediction for Caenorhabditis elegans*, in Kernel
    Methods in Computational Biology, 2004; Rätsch, Sonnenburg & Schölkopf, *RASE: recognition of
    alternatively spliced exons in C. elegans*, Bioinformatics 2005.
    """

    k: int = integer(5, low=1)
    shift: int = integer(0, low=0)
    positional = True
    because = "an inner product of explicit features: the substrings up to length k at each place"

    @property
    def codes_per_window(self) -> int:
        return self.k * (self.shift + 1)

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        """Where c is a triangle, it is the overlap of two intervals of places."""
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
            weight = 2 * (self.k - j + 1) / (self.k * (self.k + 1) * (self.shift + 1))
            held = np.bincount(rows, minlength=len(counts))
            yield Part(as_code(state), held, starts, range(j), float(np.sqrt(weight)))

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
