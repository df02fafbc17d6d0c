"""What string kernels with explicit features share: counts of windows, as sparse features."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ..calculus import properties as prop
from ..vectors.explicit import Explicit
from .codes import Part, stacked, tally
from .kind import STRINGS
from .sequences import Sequences, read

_MANY = 1_000_000  # codes from which on compiled code pays
_TOGETHER = 2_000_000  # codes that one thread looks at together
_LEAST, _MOST = 2_000, 50_000  # symbols, so that arrays stay in cache
Parts = Callable[[Sequences], Iterable[Part]]


@dataclass(eq=False, repr=False)
class Substrings(Explicit):
    """Counts of what the windows of a sequence show; prepared samples are their features."""

    positional: ClassVar[bool] = False  # does it matter where in the sequence a window is?
    domain = STRINGS

    @abstractmethod
    def parts(self, sequences: Sequences) -> Iterable[Part]:
        """The windows of all sequences, with their codes and weights."""

    @property
    def codes_per_window(self) -> int:
        """To how many columns a window adds, about."""
        return 1

    def read(self, X: Data) -> Sequences:
        """The samples as integers."""
        return read(X, type(self).__name__)

    def prepare(self, X: Data) -> Any:
        return self.counts(self.read(X))

    def counts(self, sequences: Sequences, parts: Parts | None = None) -> sp.csr_matrix:
        """The features of sequences, or those of other parts of them."""
        parts = parts or self.parts
        compiled = self.codes_per_window * len(sequences.symbols) > _MANY
        found = self._in_chunks(
            sequences, lambda chunk: tally(parts(chunk), len(chunk), compiled=compiled)
        )
        return stacked(found)

    def _in_chunks(self, sequences: Sequences, job: Callable[[Sequences], Any]) -> list:
        """The job done on pieces of the data, on all cores."""
        from ...gram.tiles import run

        size = max(_LEAST, min(_MOST, _TOGETHER // self.codes_per_window))
        marks = np.arange(size, sequences.ends[-1], size)
        cuts = np.unique([0, *np.searchsorted(sequences.ends, marks), len(sequences)])
        found: list = [None] * (len(cuts) - 1)

        def piece(i: int) -> None:
            found[i] = job(sequences[cuts[i] : cuts[i + 1]])

        run(piece, range(len(found)))
        return found

    def _without_short(self, span: int, **facts: prop.Fact) -> prop.Properties:
        """The properties of counts of windows of a length, which shorter strings do not hold."""
        short = f"all strings shorter than {span} have features zero"
        alike = "'ab' and 'ba' have the same features" if span == 1 else short
        stated = {
            "bounded": prop.no("k(x, x) grows with the length of x"),
            **prop.blind(alike),
            "positive_diag": prop.no(f"k(x, x) = 0 for strings shorter than {span}"),
        }
        return self._stated(**(stated | facts))
