"""Documents as histograms of their words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar
from unicodedata import category, normalize

import numpy as np
import scipy.sparse as sp

from ...data import Data, is_frame, length
from ...exceptions import DomainError
from ...features.sparse import stable_codes
from ..calculus import properties as prop
from ..vectors.explicit import Explicit
from .kind import STRINGS

_MARKS = (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0))  # where Unicode has marks
_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # inside of words of some scripts


@dataclass(eq=False, repr=False)
class Words(Explicit):
    r"""Word histograms of documents: the sum over words of their counts in x times those in y.

    .. math:: k(x, y) = \sum_{w} \#_w(x)\, \#_w(y)

    A document is a string. It is lower-cased, and a word is a run of letters and digits (of any
    script, with the marks that belong to them), with apostrophes inside it: "Don't stop, we're
    early" holds don't, stop, we're, early. Soft hyphens do not count.
    ``Words().normalize()`` gives the cosine between histograms, whatever the lengths.

    Each word has its own column, given by a 56-bit code that is the same everywhere, so there is no
    vocabulary to fit: two of a million words share a column with probability 1e-5.

    Examples
    --------
    >>> from mercer import Words
    >>> Words()(["The dog, the cat.", "A dog!"])
    array([[6., 1.],
           [1., 2.]])
    """

    because = "<counts of x, counts of y> is an inner product of word histograms"
    _word: ClassVar[re.Pattern] = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
    _bits: ClassVar[int] = 56  # room to add the columns of other features within int64
    domain = STRINGS

    @classmethod
    def words(cls, document: str) -> list[str]:
        """The words of a document, in order."""
        text = document.lower()
        if text.isascii():
            return cls._word.findall(text)
        text = normalize("NFC", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        text = text.replace("\N{SOFT HYPHEN}", "")
        return _with_marks().findall(text)

    @classmethod
    def codes(cls, words: Iterable[str]) -> np.ndarray:
        """The columns of words."""
        return stable_codes(words, bits=cls._bits)

    def prepare(self, X: Data) -> sp.csr_matrix:
        places: dict[str, int] = {}
        columns: list[int] = []
        counts: list[int] = []
        ends = [0]
        for document in _documents(X):
            histogram = Counter(self.words(document))
            columns += [places.setdefault(word, len(places)) for word in histogram]
            counts += histogram.values()
            ends.append(len(columns))
        codes = self.codes(places)
        indices = codes[np.array(columns, dtype=np.int64)]
        shape = (len(ends) - 1, 2**self._bits)
        values = np.array(counts, dtype=np.float64)
        phi = sp.csr_matrix((values, indices, np.array(ends)), shape=shape)
        phi.sum_duplicates()
        return phi

    @property
    def properties(self) -> prop.Properties:
        order = "documents with the same words in another order have the same features"
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            **prop.blind(order),
            finite_dim=prop.no("there are infinitely many words"),
            positive_diag=prop.no("a document without words has k(x, x) = 0"),
        )


@cache
def _with_marks() -> re.Pattern:
    """Words in which marks may follow letters: accents that no letter includes, vowel signs."""
    marks = "".join(c for c in map(chr, _MARKS) if category(c)[0] == "M")
    after = rf"(?=[^\x00-\x7f])[{marks}{_JOINERS}]+[^\W_]*"  # first a look, which is quick
    return re.compile(rf"[^\W_]+(?:{after})*(?:'[^\W_]+(?:{after})*)*")


def _documents(X: Data) -> Any:
    """X as an iterable of strings; refuses anything else."""
    if isinstance(X, str):
        raise DomainError("Words works on a list of documents, got one string; write [document].")
    if is_frame(X):
        raise DomainError("Words works on one column of documents; select it with .on(column).")
    if length(X) == 0:
        raise DomainError("Words: X has no samples.")
    X = X.ravel() if isinstance(X, np.ndarray) and X.shape[1:] == (1,) else X
    for i, document in enumerate(X):
        if not isinstance(document, str):
            raise DomainError(
                f"Words works on documents given as strings, but sample {i} is a "
                f"{type(document).__name__}; join its words with spaces, or replace missing "
                f'documents by "".'
            )
    return X
