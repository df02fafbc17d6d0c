"""What a fitted model has learned about strings and series: which parts count, and where.

With a kernel of explicit features, f(x) is a sum over the windows of x. The contribution of each
window is divided among the places it uses, so that the weights of the places add up to f(x).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_count
from ..data import Data, is_frame, length
from ..kernels.base import Kernel
from ..kernels.series.convolution import DilatedConvolution
from ..kernels.series.windows import LagEmbedding
from ..kernels.strings.base import Substrings
from ..kernels.strings.words import Words
from ..rkhs.function import RKHSFunction
from .terms import Term, by_column, function_of, look_up

_KNOWN = (
    "kernels that count substrings or words (Spectrum, BlendedSpectrum, Mismatch, GappyKmer, "
    "RestrictedGappy, Wildcard, Substitution, WeightedDegree, Profile, Words), "
    "or parts of series (DilatedConvolution, LagEmbedding),"
)


class KmerWeight(NamedTuple):
    """What one occurrence of a substring adds to the function of a model.

    Attributes
    ----------
    text : str, bytes or list
        The substring.
    weight : float
        What it adds, before normalisation.
    position : int or None
        Where it begins, for kernels that use the position.
    """

    text: Any
    weight: float
    position: int | None = None


def kmer_weights(
    model: Any, n: int | None = 20, *, output: int = 0, column: Hashable = None
) -> list[KmerWeight]:
    """The substrings, or words, of the training sequences with the largest weights in a fitted
    model.

    Parameters
    ----------
    model : estimator or RKHSFunction
        A model whose kernel has substrings as features: :class:`~mercer.Spectrum`,
        :class:`~mercer.Mismatch`, :class:`~mercer.WeightedDegree`, ..., or of
        :class:`~mercer.Words`: normalised, multiplied by numbers, added, on a column of a table, or
        in :class:`~mercer.TfIdf`. Gaussian processes are explained by their mean.
    n : int, optional
        How many to return; None for all.
    output : int
        Which function of a model with several: of more than two classes, the pair of classes in
        the order of ``decision_function_shape="ovo"``.
    column : label, optional
        The column of the strings, if kernels use several columns of strings.

    Returns
    -------
    list of KmerWeight
        Sorted by size. The weight is what one more occurrence adds to the decision, for a
        normalised kernel before it is divided by the norm of the features. With mismatches or
        gaps a k-mer has the weights of all features that it matches.

    Examples
    --------
    >>> from mercer import SVC, Spectrum, kmer_weights
    >>> X = ["ccgatacc", "gatacccc", "cccccccc", "acctccag", "ccccgata", "tccccagg"]
    >>> model = SVC(kernel=Spectrum(4)).fit(X, [1, 1, 0, 0, 1, 0])
    >>> [(text, round(weight, 2)) for text, weight, _ in kmer_weights(model, 2)]
    [('gata', 0.45), ('ccag', -0.35)]
    """
    check_count("n", n, 0, also=(None,))
    found: dict[tuple, float] = {}
    for term in _terms(function_of(model, output), column):
        for text, position, weight in term.windows():
            key = (text if isinstance(text, str | bytes) else tuple(text), position)
            found[key] = found.get(key, 0.0) + weight
    best = sorted(found, key=lambda key: -abs(found[key]))[:n]
    return [KmerWeight(text, found[text, position], position) for text, position in best]


def position_weights(model: Any, x: Any, *, output: int = 0, column: Hashable = None) -> Any:
    """How much each position of a sequence, or each time of a series, adds to the decision of a
    model.

    The weights of all features come from one pass over the training sequences, whether one
    sequence is explained or many.

    Parameters
    ----------
    model : estimator or RKHSFunction
        As for :func:`kmer_weights`; or with a kernel on series that is a sum over times:
        :class:`~mercer.DilatedConvolution` or :class:`~mercer.LagEmbedding`.
    x : str, bytes, sequence of int, series, or table; or a list of sequences
        One sequence, of the kind of the training sequences, or several; in a table, the rows that
        hold them.
    output, column
        As for :func:`kmer_weights`.

    Returns
    -------
    ndarray of shape (len(x),), or a list of such arrays
        The sum of each is the decision value minus the intercept, and minus the contributions of
        constants and of kernels on other columns, which belong to no position. A list for several
        sequences. With :class:`~mercer.Words`, positions are words, those of ``Words.words(x)``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, Spectrum, position_weights
    >>> X = ["ccgatacc", "gatacccc", "cccccccc", "acctccag", "ccccgata", "tccccagg"]
    >>> model = SVC(kernel=Spectrum(3)).fit(X, [1, 1, 0, 0, 1, 0])
    >>> weights = position_weights(model, "tccgatacc")
    >>> weights.round(2)
    array([-0.09, -0.04,  0.02,  0.25,  0.34,  0.38,  0.25,  0.1 ,  0.01])
    >>> sum_ = weights.sum() + model.intercept_
    >>> np.allclose(sum_, model.decision_function(["tccgatacc"]))
    True
    >>> [len(each) for each in position_weights(model, ["gata", "cc"])]
    [4, 2]
    """
    f = function_of(model, output)
    table = is_frame(x)
    one = length(x) == 1 if table else _depth(x) == _depth(f.points) - 1
    X = [x] if one and not table else x
    parts = [term.places(X) for term in _terms(f, column)]
    sums = [_added_up(of_terms) for of_terms in zip(*parts, strict=True)]
    return sums[0] if one else sums


def _added_up(parts: Sequence[np.ndarray]) -> np.ndarray:
    """The sum of what several kernels add at the places of one sequence."""
    if len({len(part) for part in parts}) != 1:
        raise ValueError(
            "position_weights: kernels on letters and on words have different positions; explain "
            "a model with one of them."
        )
    return np.sum(parts, axis=0)


def _depth(x: Any) -> int:
    """How many indices lead to a number or a text: 0 for a string, 1 for a list of them."""
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x.ndim
    if is_frame(x):
        return 1
    if isinstance(x, str | bytes | Mapping) or not hasattr(x, "__len__"):
        return 0
    return 1 + (_depth(next(iter(x))) if len(x) else 0)


class _Counted(Term):
    """What parts of sequences add, for one kernel that counts them."""

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns of the features in use, sorted, and the weight of each."""
        return self.column_weights(self.counts())

    @abstractmethod
    def counts(self) -> Any:
        """The features of the points, before they are weighted."""

    @abstractmethod
    def places(self, X: Data) -> list[np.ndarray]:
        """What the places of each sample of X add."""

    @abstractmethod
    def windows(self) -> Iterator[tuple[Any, int | None, float]]:
        """What the training sequences show, each once: text, position, weight."""


class _Words(_Counted):
    """What the words of documents add."""

    kernel: Words

    def counts(self) -> Any:
        return self.kernel.prepare(self.points)

    def places(self, X: Data) -> list[np.ndarray]:
        X, scale = self.seen(X)
        words = [self.kernel.words(x) for x in X]
        codes = self.kernel.codes([word for of_one in words for word in of_one])
        gains = look_up(*self.weights(), codes)
        sizes = [len(of_one) for of_one in words]
        gains = gains * np.repeat(np.broadcast_to(np.exp(scale), len(words)), sizes)
        return np.split(gains, np.cumsum(sizes)[:-1])

    def windows(self) -> Iterator[tuple[str, None, float]]:
        known = sorted({word for x in self.points for word in self.kernel.words(x)})
        gains = look_up(*self.weights(), self.kernel.codes(known))
        for word, gain in zip(known, gains.tolist(), strict=True):
            yield word, None, gain


class _Windows(_Counted):
    """What the windows of sequences add, for one kernel of substrings."""

    kernel: Substrings

    def counts(self) -> Any:
        return self.kernel.counts(self.kernel.read(self.points))

    def added(self, X: Data) -> Iterator[tuple[np.ndarray, np.ndarray, Any]]:
        """For each part of the features of X: where windows begin, what they add, places seen."""
        weights = self.weights()
        for part in self.kernel.parts(self.kernel.read(X)):
            gains = part.weight * look_up(*weights, part.codes)
            yield part.starts, gains.sum(axis=1) if gains.ndim == 2 else gains, part.seen

    def places(self, X: Data) -> list[np.ndarray]:
        X, scale = self.seen(X)
        sequences = self.kernel.read(X)
        out = np.zeros(len(sequences.symbols))
        for starts, gains, places in self.added(X):
            for place in places:
                out += np.bincount(starts + place, gains / len(places), minlength=len(out))
        out *= np.repeat(np.broadcast_to(np.exp(scale), len(sequences)), sequences.lengths)
        return np.split(out, sequences.ends[1:-1])

    def windows(self) -> Iterator[tuple[Any, int | None, float]]:
        if self.kernel.domain.kind != "strings":
            raise _no_kmers(self.kernel)
        sequences, texts = self.kernel.read(self.points), list(self.points)
        rows = np.repeat(np.arange(len(sequences)), sequences.lengths)
        together: dict[int, list] = {}
        for starts, gains, places in self.added(self.points):
            span = getattr(self.kernel, "span", max(places) + 1)
            if span in together:
                together[span][1] = together[span][1] + gains
            else:
                together[span] = [starts, gains]
        for span, (starts, gains) in together.items():
            known = set()
            for start, gain in zip(starts.tolist(), gains.tolist(), strict=True):
                row = rows[start]
                place = start - int(sequences.ends[row])
                text = texts[row][place : place + span]
                key = text if isinstance(text, str | bytes) else tuple(text)
                position = place if self.kernel.positional else None
                if (key, position) not in known:
                    known.add((key, position))
                    yield text, position, gain


class _Times(_Counted):
    """What the times of series add."""

    kernel: DilatedConvolution | LagEmbedding

    def counts(self) -> Any:
        raise _no_kmers(self.kernel)

    def places(self, X: Data) -> list[np.ndarray]:
        X, scale = self.seen(X)
        gains = self.kernel.gains(X, self.points, self.scaled)
        factors = np.broadcast_to(np.exp(scale), len(gains))
        return [factor * gain for factor, gain in zip(factors, gains, strict=True)]

    def windows(self) -> Iterator[Any]:
        raise _no_kmers(self.kernel)


_ADDED: dict[type, Callable[..., _Counted]] = {
    Substrings: _Windows,
    Words: _Words,
    DilatedConvolution: _Times,
    LagEmbedding: _Times,
}


def _terms(f: RKHSFunction, column: Hashable) -> list[_Counted]:
    """What f adds up over sequences of a column: functions of kernels that count their parts."""
    terms = by_column(f, column, tuple(_ADDED), "strings or series", _KNOWN)
    return [
        next(added for kind, added in _ADDED.items() if isinstance(term.kernel, kind))(**vars(term))
        for term in terms
    ]


def _no_kmers(kernel: Kernel) -> TypeError:
    return TypeError(
        f"{type(kernel).__name__} does not work on strings, so there are no k-mers to list; "
        "position_weights shows which positions matter."
    )
