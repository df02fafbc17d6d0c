"""k-mers that may have become each other: letters change into others, each with a probability."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ...params import integer, parameter, positive, square_matrix
from ..calculus import properties as prop
from .base import Substrings
from .codes import Part
from .profile import likely
from .sequences import Alphabet, Sequences, alphabet_symbols, check_alphabet, places
from .substitution import AMINO_ACIDS, blosum62_joint


def _probabilities(value: Any) -> str | None:
    wanted = "'blosum62', or a square matrix whose rows are probabilities, >= 0 and with sum 1"
    if isinstance(value, str):
        return None if value == "blosum62" else wanted
    array = square_matrix(value)
    fine = array is not None and np.all(array >= 0) and np.allclose(array.sum(axis=1), 1, atol=1e-6)
    return None if fine else wanted


@dataclass(eq=False, repr=False)
class Substitution(Substrings):
    r"""The substitution kernel: k-mers that are likely to be mutations of the same k-mers.

    .. math:: k(x, y) = \sum_{u \in A^k} \phi_u(x) \phi_u(y), \qquad
        \phi_u(x) = \#\Big\{i : - \sum_{j=1}^{k} \log P(x_{i+j-1} \mid u_j) < \text{threshold}\Big\}

    where P(a | b) is the probability that a letter b has become the letter a. :class:`.Mismatch`
    counts mismatches; this kernel weights them by how unlikely they are, which suits proteins,
    whose letters are more or less similar. Substrings with a letter outside the alphabet are left
    out, and strings shorter than k have zero features.

    Parameters
    ----------
    probabilities : "blosum62" or matrix
        A row for each letter of the alphabet, with the probabilities of what it becomes; or those
        that the table BLOSUM62 of amino acids stands for, where lower-case letters (soft-masked
        regions) are the same as upper-case ones.
    alphabet : str or sequence of int, optional
        The letters of a matrix.
    k : int
        The length of the substrings.
    threshold : float
        How unlikely a change may be, as -log of its probability. The larger, the more substrings
        a window counts for.

    Examples
    --------
    >>> from mercer import Substitution
    >>> k = Substitution(k=3, threshold=6.5).normalize()
    >>> k(["LIV", "VIL", "WDP"]).round(2)  # L, I and V are alike
    array([[1.  , 0.39, 0.  ],
           [0.39, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])

    References
    ----------
    Leslie & Kuang, *Fast string kernels using inexact matching for protein sequences*, JMLR 2004;
    Henikoff & Henikoff, *Amino acid substitution matrices from protein blocks*, PNAS 1992.
    """

    probabilities: Any = parameter("blosum62", check=_probabilities)
    alphabet: Alphabet | None = parameter(None, check=check_alphabet)
    k: int = integer(4, low=1)
    threshold: float = positive(6.0, tuned=False)
    because = "an inner product of explicit features: the counts of the k-mers that are likely"
    codes_per_window = 30

    def read(self, X: Data) -> Sequences:
        """Letters as places in the alphabet, -1 for others."""
        sequences, (_, letters) = super().read(X), self._table()
        found = places(sequences.symbols, letters)
        if isinstance(self.probabilities, str):
            masked = places(sequences.symbols, alphabet_symbols(AMINO_ACIDS.lower()))
            found = np.maximum(found, masked)
        return Sequences(found, sequences.ends)

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        matrix, _ = self._table()
        with np.errstate(divide="ignore"):
            costs = -np.log(matrix.T)[sequences.symbols]
        windows = sequences.known_windows(self.k)
        yield likely(costs, *windows, self.k, self.threshold, "Substitution")

    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """The probabilities, and the letters as integers."""
        if isinstance(self.probabilities, str):
            joint = blosum62_joint()
            return joint / joint.sum(axis=1)[:, None], alphabet_symbols(AMINO_ACIDS)
        matrix = np.asarray(self.probabilities, dtype=float)
        if self.alphabet is None or len(self.alphabet) != len(matrix):
            raise ValueError(
                f"Substitution: alphabet must name the {len(matrix)} letters of the matrix of "
                f"probabilities, got {self.alphabet!r}."
            )
        return matrix, alphabet_symbols(self.alphabet)

    @property
    def properties(self) -> prop.Properties:
        matrix, _ = self._table()
        finite = prop.yes(f"there are {len(matrix)}^{self.k} substrings")
        if -self.k * np.log(matrix.max()) < self.threshold:
            return self._without_short(self.k, finite_dim=finite)
        none = prop.yes("no substring is likely enough to count: k = 0")
        return self._without_short(self.k, finite_dim=finite, bounded=none)
