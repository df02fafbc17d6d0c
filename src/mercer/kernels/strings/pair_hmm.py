"""The probability that a hidden Markov model writes two strings at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import number, parameter, probability, square_matrix
from ..base import not_resolved
from ..calculus import properties as prop
from .alignment import Weights, log_sums, strips
from .sequences import Alphabet, Sequences, alphabet_symbols, check_alphabet, discover, places, read
from .substitution import AMINO_ACIDS, blosum62_joint
from .tables import Tabled

_RANGE = 700.0  # of a logarithm: e to this power, either way, can be represented


def _joint(value: Any) -> str | None:
    wanted = "'equal', 'blosum62', or a symmetric matrix of probabilities, >= 0 and with sum 1"
    if isinstance(value, str):
        return None if value in ("equal", "blosum62") else wanted
    array = square_matrix(value)
    if array is None or not np.allclose(array, array.T, atol=1e-12) or not np.all(array >= 0):
        return wanted
    alone = array.sum(axis=1)
    return None if np.isclose(alone.sum(), 1, atol=1e-6) and np.all(alone > 1e-140) else wanted


def _inside(default: float, low: float = 1e-9) -> Any:
    """A probability other than 0 and 1."""
    words = f"a number between {low:g} and 1 - 1e-9"
    return number(default, words, lambda v: low <= v <= 1 - 1e-9, bounds=(1e-3, 0.999), log=True)


@dataclass(eq=False, repr=False)
class StringPairHMM(Tabled):
    r"""The probability of two strings under a hidden Markov model that generates both at once.

    .. math:: k(x, y) = \sum_{m \ge 0} \tau (1 - \tau)^m \sum_{I, J}
              \prod_{r=1}^{m} p(x_{i_r}, y_{j_r})
              \prod_{r=0}^{m} g(i_{r+1} - i_r - 1)\, g(j_{r+1} - j_r - 1)
              \prod_{i \notin I} q(x_i) \prod_{j \notin J} q(y_j)

    over all m positions I = (i_1 < ... < i_m) of x and J of y that are matched. With probability 1
    - tau, the model continues with a pair of letters, one for each string, drawn from their joint
    probability p; before, between and after such pairs it inserts n letters into either string,
    independently, with probability g(0) = 1 - opening and g(n) = opening (1 - extension)
    extension^(n-1), by their own probabilities q. All k(x, y) add up to 1.

    Probabilities of long strings are tiny, so use ``k.normalize()`` in models; it works with
    logarithms, at any length. The counterpart for series is :class:`.PairHMM`. The more certain the
    model is that letters are copied, the smaller the normalised value: with a small ``mutation``
    and ``opening``, most strings have nothing in common.

    Parameters
    ----------
    letters : "equal", "blosum62" or matrix
        The joint probabilities of the letters of a pair: equal letters, all with the same
        frequency; those of the amino acid table BLOSUM62, where lower-case letters are the same as
        upper-case ones; or a symmetric matrix.
    alphabet : str or sequence of int, optional
        The letters, in the order of a matrix. By default, for equal letters, those of the training
        data. Other symbols count as unreadable: the value is the probability of the remaining
        letters.
    mutation : float
        The probability that the letters of a pair are independent.
    opening, extension : float
        The probability that letters are inserted at a position, and that another one follows.
    stop : float
        tau, the probability that no further pair of letters follows.

    Notes
    -----
    Given how many pairs there are, the model writes two strings in the same way and independently
    but for the pairs of letters, whose matrix of probabilities is positive definite (Watkins: it is
    conditionally symmetrically independent). For your own matrix, see ``properties.psd``.

    Examples
    --------
    >>> from mercer import StringPairHMM
    >>> k = StringPairHMM(alphabet="ab")
    >>> k(["", "a"]).round(6)  # 0.01 * 0.7^2; 0.01 * 0.7 times 0.3 * 0.5 for an insertion, of a
    array([[0.0049  , 0.000525],
           [0.000525, 0.000948]])
    >>> StringPairHMM().normalize()(["GATTACA", "GATACA", "CCCC"]).round(3)
    array([[1.   , 0.487, 0.006],
           [0.487, 1.   , 0.011],
           [0.006, 0.011, 1.   ]])

    References
    ----------
    Watkins, *Dynamic alignment kernels*, Technical Report CSD-TR-98-11, Royal Holloway 1999;
    Haussler, *Convolution kernels on discrete structures*, UCSC 1999; Durbin, Eddy, Krogh &
    Mitchison, *Biological sequence analysis*, 1998, chapter 4.
    """

    letters: Any = parameter("equal", check=_joint)
    alphabet: Alphabet | None = parameter(None, check=check_alphabet)
    mutation: float = probability(0.5)
    opening: float = _inside(0.3)
    extension: float = _inside(0.5)
    stop: float = _inside(0.01)
    because = (
        "given the number of pairs, a sum over pairs of subsequences of products of kernels on "
        "letters and of a factor for each string (Watkins: insertions are independent)"
    )

    @property
    def unresolved(self) -> str | None:
        return "alphabet=None" if self._alphabet() is None else None

    def resolve(self, X: Data) -> StringPairHMM:
        if self.unresolved is None:
            return self
        return self.replace(alphabet=discover(X, "StringPairHMM"))

    def prepare(self, X: Data) -> Sequences:
        """Letters as their places in the alphabet, those that are not in it as one more."""
        sequences, letters = read(X, "StringPairHMM"), self._letters()
        found = places(sequences.symbols, letters)
        if isinstance(self.letters, str) and self.letters == "blosum62":
            masked = places(sequences.symbols, alphabet_symbols(AMINO_ACIDS.lower()))
            found = np.maximum(found, masked)
        return Sequences(np.where(found < 0, len(letters), found), sequences.ends)

    # ---- values -----------------------------------------------------------------------------
    def pairs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        logs = self.logs(X, Y, i, j)
        if logs.min(initial=0) < -_RANGE:
            at = int(np.argmin(logs))
            raise DomainError(
                f"StringPairHMM: the probability is e^{logs[at]:.0f} for strings of "
                f"{X.lengths[i[at]]} and {Y.lengths[j[at]]} symbols, which underflows; use "
                ".normalize(), which works with logarithms."
            )
        return np.exp(logs)

    def slopes(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.log_slopes(X, Y, i, j) * self.pairs(X, Y, i, j)[:, None]

    def logs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        out = self._odds(X, Y, i, j, None)[0]
        out += self._alone(X)[i] + self._alone(Y)[j]
        out += np.log(self.stop) + 2 * np.log1p(-float(self.opening))
        return out

    def log_slopes(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        out = np.zeros((len(i), len(self.theta)))
        for column, (outside, moved) in enumerate(self._moved()):
            out[:, column] = outside + self._odds(X, Y, i, j, moved)[1]
        return out

    def _odds(
        self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray, moved: Weights | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """log of the sum over matches, each as against independent letters; with a slope."""
        weights = self._weights()
        table, _, _, opening, extension = weights
        assert table is not None
        costs = max(-np.log(opening), 0.0), -np.log(extension)
        shape = strips(Y, max(float(np.log(table.max())), 0.0), *costs)
        if min(shape) < 1:
            raise ValueError(
                "StringPairHMM: the probabilities of some letters or gaps are too small; merge "
                "rare letters, or raise opening or extension."
            )
        return log_sums(X, Y, i, j, shape, weights, moved, whole=True)

    def _alone(self, X: Sequences) -> np.ndarray:
        """log of the probabilities of strings of independent letters."""
        _, frequency = self._model()
        sums = np.concatenate([[0.0], np.cumsum(np.log(np.append(frequency, 1.0))[X.symbols])])
        return np.diff(sums[X.ends])

    # ---- the model --------------------------------------------------------------------------
    def _alphabet(self) -> Alphabet | None:
        named = isinstance(self.letters, str) and self.letters == "blosum62"
        return AMINO_ACIDS if named else self.alphabet

    def _letters(self) -> np.ndarray:
        alphabet = self._alphabet()
        if alphabet is None and isinstance(self.letters, str):
            raise not_resolved(self)
        if not isinstance(self.letters, str):
            size = len(np.asarray(self.letters))
            if alphabet is None or len(alphabet) != size:
                raise ValueError(
                    f"StringPairHMM: alphabet must name the {size} letters of the matrix of "
                    f"probabilities, got {self.alphabet!r}."
                )
        assert alphabet is not None
        return alphabet_symbols(alphabet)

    def _model(self) -> tuple[np.ndarray, np.ndarray]:
        """The joint probabilities of letters, before mutation, and those of single ones."""
        if not isinstance(self.letters, str):
            joint = np.asarray(self.letters, dtype=float)
        elif self.letters == "blosum62":
            joint = blosum62_joint()
        else:
            size = len(self._letters())
            joint = np.eye(size) / size
        joint = (joint + joint.T) / (2 * joint.sum())
        return joint, joint.sum(axis=1)

    def _ratios(self) -> tuple[np.ndarray, np.ndarray]:
        """How much more likely pairs of letters are than by chance, and dlog(mutation) of it.

        With rows for letters that could not be read, 1, and for the end of strings, 0.
        """
        joint, frequency = self._model()
        surprise = np.pad(joint / np.outer(frequency, frequency), (0, 1), constant_values=1.0)
        mixed = surprise + float(self.mutation) * (1 - surprise)
        return np.pad(mixed, (0, 1)), np.pad(float(self.mutation) * (1 - surprise), (0, 1))

    def _weights(self) -> Weights:
        """Those of pairs of letters, and of gaps, without what all alignments share."""
        ratios, _ = self._ratios()
        d, e = float(self.opening), float(self.extension)
        pair = (1 - float(self.stop)) * (1 - d) ** 2
        return pair * ratios, 0.0, 0.0, d * (1 - e) / (1 - d), e

    def _moved(self) -> Iterator[tuple[float, Weights]]:
        """The slopes along theta, of what all alignments share, and of the weights."""
        table, _, _, opening, extension = self._weights()
        assert table is not None
        d, e, t = float(self.opening), float(self.extension), float(self.stop)
        if self.mutation > 0:
            yield 0.0, ((1 - t) * (1 - d) ** 2 * self._ratios()[1], 0.0, 0.0, 0.0, 0.0)
        rate = -2 * d / (1 - d)
        yield rate, (rate * table, 0.0, 0.0, opening / (1 - d), 0.0)
        yield 0.0, (0.0 * table, 0.0, 0.0, -opening * e / (1 - e), extension)
        yield 1.0, (-t / (1 - t) * table, 0.0, 0.0, 0.0, 0.0)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            psd=self._psd(),
            bounded=prop.yes("k(x, y) is a probability"),
            positive_diag=prop.yes("all strings can be written by insertions"),
        )

    def _psd(self) -> prop.Fact:
        if self.unresolved or isinstance(self.letters, str):
            return prop.yes(self.because)
        ratios = self._ratios()[0][:-1, :-1]
        if np.linalg.eigvalsh(ratios)[0] >= -1e-12 * len(ratios) * ratios.max():
            return prop.yes(self.because)
        return prop.Fact(
            None, "the matrix of letters has a negative eigenvalue, and so the proof does not hold"
        )
