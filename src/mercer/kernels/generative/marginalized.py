"""Marginalised count kernels: symbols counted with the hidden states that they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ...params import one_of, parameter
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..vectors.explicit import Explicit
from .discrete import DiscreteHMM
from .hmm import HMM, Observed
from .models import as_hmm


def _is_hmm(value: Any) -> str | None:
    return None if as_hmm(value) is not None else "a hidden Markov model, ours or of hmmlearn"


@dataclass(eq=False, repr=False)
class Marginalized(Explicit):
    r"""The marginalised count kernel of a hidden Markov model.

    .. math:: k(x, y) = \sum_{h, g} p(h | x)\, p(g | y)\, \langle c(x, h), c(y, g) \rangle

    the expectation of an inner product of counts, over the hidden paths h and g of both sequences.
    Of order 1, c counts how often a symbol comes from a state; of order 2, how often a pair of
    symbols comes from a pair of successive states. If symbols have different meanings in different
    states (exon and intron, speech and silence), counts without states mix these up.

    In a series, a point x counts as (1, x): its features are posterior masses and first moments of
    every state; of order 2, products of the features of neighbours.

    Counts grow with the length: add ``.normalize()``. (The authors divide by the length, which
    makes no difference after normalisation.)

    Parameters
    ----------
    model : DiscreteHMM, GaussianHMM, or one of hmmlearn
        The model.
    order : {1, 2}
        Single observations, or pairs of neighbours.

    Examples
    --------
    >>> from mercer import DiscreteHMM, Marginalized
    >>> switch = [[0.5, 0.5], [0.5, 0.5]]
    >>> model = DiscreteHMM([0.5, 0.5], switch, [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]], "abc")
    >>> Marginalized(model)(["aab", "abc"])  # here states are known: plain counts
    array([[5., 3.],
           [3., 3.]])

    References
    ----------
    Tsuda, Kin & Asai, *Marginalized kernels for biological sequences*, Bioinformatics 2002.
    """

    model: Any = parameter(check=_is_hmm)
    order: int = one_of(1, 1, 2)
    because = "an inner product of explicit features: expected counts"

    def prepare(self, X: Data) -> Any:
        model = as_hmm(self.model)
        assert model is not None
        x, found = model.read(X, "Marginalized"), []
        width = len(model.marks(x.values[:1])[0]) * model.n_states if len(x.values) else 0
        discrete = isinstance(model, DiscreteHMM)
        for _, part in x.chunks(width if self.order == 1 or discrete else width**2):
            known = model.posterior(part, "Marginalized", pairs=self.order == 2)
            if self.order == 1:
                found.append(_first(model, part, known.states))
            elif discrete:
                found.append(_second_of_symbols(part, known.pairs, width // model.n_states))
            else:
                found.append(_second(model, part, known.pairs))
        return sp.vstack(found, format="csr") if sp.issparse(found[0]) else np.concatenate(found)

    @property
    def domain(self) -> Domain:
        model = as_hmm(self.model)
        assert model is not None
        return model.domain

    @property
    def properties(self) -> prop.Properties:
        return self._stated(finite_dim=prop.yes("spanned by finitely many expected counts"))


def _first(model: HMM, x: Observed, states: np.ndarray) -> np.ndarray:
    """Sums over time of the products of state and observation."""
    marks = model.marks(x.values)
    each = x.sums(states[:, :, None] * marks[:, None, :])
    return each.reshape(len(each), -1)


def _second(model: HMM, x: Observed, pairs: np.ndarray) -> np.ndarray:
    """The same for neighbours; the last of a sequence has none after it, and its pairs are 0."""
    marks = model.marks(x.values)
    after = np.roll(marks, -1, axis=0)
    each = x.sums(np.einsum("trs,ta,tb->trsab", pairs, marks, after))
    return each.reshape(len(each), -1)


def _second_of_symbols(x: Observed, pairs: np.ndarray, symbols: int) -> sp.csr_matrix:
    """Column (a b r s) for symbols a, b from states r, s: few of many."""
    S, n = pairs.shape[1], len(x.ends) - 1
    kept = np.ones(len(x.values), dtype=bool)
    kept[x.ends[1:][np.diff(x.ends) > 0] - 1] = False
    at = np.flatnonzero(kept)
    codes = x.values[at] * symbols + x.values[at + 1]
    columns = codes[:, None] * S**2 + np.arange(S**2)
    row = np.repeat(np.arange(n), np.diff(x.ends))[at]
    rows = np.repeat(row, S**2)
    shape = (n, (symbols * S) ** 2)
    found = sp.csr_matrix((pairs[at].ravel(), (rows, columns.ravel())), shape)
    found.sum_duplicates()
    return found
