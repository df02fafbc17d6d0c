"""Spectrum kernels: which substrings two strings share, one length or several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...params import integer, parameter
from ..calculus import properties as prop
from .base import Substrings
from .codes import Part, pattern_codes
from .sequences import Sequences


def weights_of_lengths(value: Any) -> str | None:
    """What weights must be, for a field of a kernel; None if these are fine."""
    if value is None:
        return None
    wanted = "None or numbers >= 0, not all zero"
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return wanted
    fine = array.ndim == 1 and bool(np.all(np.isfinite(array) & (array >= 0)))
    return None if fine and array.any() else wanted


@dataclass(eq=False, repr=False)
class Spectrum(Substrings):
    r"""The k-spectrum kernel on strings: how many substrings of length k they share.

    .. math:: k(x, y) = \sum_{u} \#_u(x)\, \#_u(y)

    over all strings u of length k, where #_u(x) counts the places at which u occurs in x. Strings
    shorter than k hold no such substring: their features are zero.

    Samples are ``str``, ``bytes`` or sequences of integers, in a list; a string is the sequence
    of its code points. Long or non-Latin substrings are distinguished by a 56-bit hash.

    Parameters
    ----------
    k : int
        The length of the substrings.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> Spectrum(k=2)(["abab", "abc", "cba"])  # abab: 2 ab, 1 ba
    array([[5., 2., 1.],
           [2., 2., 0.],
           [1., 0., 2.]])

    References
    ----------
    Leslie, Eskin & Noble, *The spectrum kernel: a string kernel for SVM protein classification*,
    PSB 2002.
    """

    k: int = integer(3, low=1)
    because = "an inner product of explicit features: the counts of all substrings of length k"

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        kept = range(self.k)
        starts, counts = sequences.windows(self.k)
        yield Part(pattern_codes(sequences.symbols, starts, kept), counts, starts, kept)

    @property
    def properties(self) -> prop.Properties:
        example = "'ab' and 'ba'" if self.k == 1 else f"all strings shorter than {self.k}"
        alike = f"strings with the same k-mer counts ({example}) have the same features"
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            **prop.blind(alike),
            positive_diag=prop.no(f"k(x, x) = 0 for strings shorter than {self.k}"),
        )


@dataclass(eq=False, repr=False)
class BlendedSpectrum(Substrings):
    r"""The blended spectrum kernel: shared substrings of all lengths up to k.

    .. math:: k(x, y) = \sum_{j=1}^{k} a_j \sum_{|u| = j} \#_u(x)\, \#_u(y)

    the sum of a_j ``Spectrum(j)`` for j = 1, ..., k.

    Parameters
    ----------
    k : int
        The largest length.
    weights : sequence of k numbers >= 0, optional
        The weights a_1, ..., a_k; by default all are 1.

    Examples
    --------
    >>> from mercer import BlendedSpectrum
    >>> BlendedSpectrum(k=2)(["abab", "abc"])  # letters: 2*1 + 2*1; pairs: 2*1
    array([[13.,  6.],
           [ 6.,  5.]])
    >>> BlendedSpectrum(k=2, weights=[0.5, 1])(["abab", "abc"])
    array([[9. , 4. ],
           [4. , 3.5]])

    References
    ----------
    Shawe-Taylor & Cristianini, *Kernel methods for pattern analysis*, 2004, section 11.2.
    """

    k: int = integer(3, low=1)
    weights: Sequence[float] | np.ndarray | None = parameter(None, check=weights_of_lengths)
    because = "an inner product of explicit features: the counts of all substrings up to length k"

    @property
    def codes_per_window(self) -> int:
        return self.k

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        weights = [1.0] * self.k if self.weights is None else list(self.weights)
        if len(weights) != self.k:
            raise ValueError(
                f"BlendedSpectrum: weights must hold one number for each length up to k={self.k}, "
                f"got {len(weights)}."
            )
        for index, weight in enumerate(weights):
            kept = range(index + 1)
            starts, counts = sequences.windows(len(kept))
            codes = pattern_codes(
                sequences.symbols, starts, kept, index=index, patterns=self.k, width=self.k
            )
            yield Part(codes, counts, starts, kept, float(np.sqrt(weight)))

    @property
    def properties(self) -> prop.Properties:
        alike = (
            f"b's between runs of {self.k}, {self.k} and {self.k + 1} a's, and between runs of "
            f"{self.k}, {self.k + 1} and {self.k}, hold the same substrings up to length {self.k}"
        )
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            **prop.blind(alike),
            positive_diag=prop.no("k(x, x) = 0 for the empty string"),
        )
