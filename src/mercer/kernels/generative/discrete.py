"""Hidden Markov models of strings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import parameter
from ..strings.kind import STRINGS
from ..strings.sequences import alphabet_symbols, check_alphabet, discover, places, read
from .hmm import HMM, Observed, chances, random_chain


@dataclass(eq=False, repr=False)
class DiscreteHMM(HMM):
    r"""A hidden Markov model of strings, or of sequences of integers.

    .. math:: p(x) = \sum_s \pi_{s_1} \prod_{t > 1} A_{s_{t-1} s_t} \prod_t E_{s_t x_t}

    Parameters
    ----------
    start : array of shape (S,)
        The probabilities of the first state.
    transition : array of shape (S, S)
        Row r holds the probabilities of the state after r.
    emission : array of shape (S, symbols)
        Row s holds the probabilities of the symbols in state s.
    alphabet : str or list of int
        The symbols, in the order of the columns.

    Examples
    --------
    >>> from mercer import DiscreteHMM
    >>> model = DiscreteHMM([1.0, 0.0], [[0.9, 0.1], [0.0, 1.0]], [[0.8, 0.2], [0.1, 0.9]], "ab")
    >>> model.log_likelihood(["a", "ab"]).round(4)  # log 0.8, log (0.8 (0.9 0.2 + 0.1 0.9))
    array([-0.2231, -1.5325])
    >>> strings = [model.sample(30, rng=i) for i in range(20)]
    >>> DiscreteHMM.fit(strings, n_states=2, rng=0).n_states
    2

    References
    ----------
    Rabiner, *A tutorial on hidden Markov models and selected applications in speech recognition*,
    Proceedings of the IEEE 1989.
    """

    emission: Any = parameter(check=chances)
    alphabet: Any = parameter(
        check=lambda v: "distinct symbols" if v is None else check_alphabet(v)
    )
    domain = STRINGS

    def __post_init__(self) -> None:
        shape = (len(self.start), len(self.alphabet))
        if np.shape(self.emission) != shape or np.shape(self.transition) != (shape[0],) * 2:
            raise ValueError(
                f"DiscreteHMM: {shape[0]} states and {shape[1]} symbols need an emission of shape "
                f"{shape} and a transition of shape {(shape[0],) * 2}."
            )

    def read(self, X: Data, owner: str) -> Observed:
        found = read(X, owner)
        codes = places(found.symbols, alphabet_symbols(self.alphabet))
        if np.any(codes < 0):
            at = int(np.argmax(codes < 0))
            sample = int(np.searchsorted(found.ends, at, side="right")) - 1
            raise DomainError(
                f"{owner}: sample {sample} contains a symbol that is not in the alphabet of the "
                f"model, {self.alphabet!r}."
            )
        return Observed(codes, found.ends)

    def log_emissions(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.asarray(self.emission, dtype=float)).T[values]

    def log_products(self, other: Any, rho: float) -> np.ndarray:
        mine, theirs = (alphabet_symbols(m.alphabet) for m in (self, other))
        if not isinstance(other, DiscreteHMM) or not np.array_equal(mine, theirs):
            raise DomainError(
                "hidden Markov models can only be compared if they have the same alphabet."
            )
        E, F = (np.asarray(m.emission, dtype=float) ** rho for m in (self, other))
        with np.errstate(divide="ignore"):
            return np.log(E @ F.T)

    def marks(self, values: np.ndarray) -> np.ndarray:
        return np.eye(len(self.alphabet))[values]

    def emission_scores(self, x: Observed, states: np.ndarray) -> dict[str, np.ndarray]:
        n, (S, D) = len(x.ends) - 1, np.shape(self.emission)
        counts = np.zeros((n, D, S))
        row = np.repeat(np.arange(n), np.diff(x.ends))
        np.add.at(counts, (row, x.values), states)
        counts = counts.transpose(0, 2, 1)
        expected = np.asarray(self.emission) * x.sums(states)[:, :, None]
        return {"emission": (counts - expected).reshape(n, S * D)}

    def refitted(self, x: Observed, states: np.ndarray, chain: Any, extra: float) -> Self:
        counts = np.full((len(self.alphabet), self.n_states), extra)
        np.add.at(counts, x.values, states)
        counts += np.where(counts.sum(axis=0) > 0, 0, 1)  # a state that nothing comes from
        emission = counts.T / counts.sum(axis=0)[:, None]
        start, transition = chain
        return type(self)(start, transition, emission, self.alphabet)

    @classmethod
    def guess(cls, X: Data, n_states: int, rng: np.random.Generator, **options: Any) -> Self:
        alphabet = options.pop("alphabet", None) or discover(X, cls.__name__)
        if options:
            raise TypeError(f"{cls.__name__}.fit has no option {next(iter(options))!r}.")
        emission = rng.dirichlet(np.full(len(alphabet), 2.0), n_states)
        return cls(*random_chain(n_states, rng), emission, alphabet)

    def emit(self, states: np.ndarray, rng: np.random.Generator) -> Any:
        cumulated = np.cumsum(self.emission, axis=1)
        last = len(self.alphabet) - 1
        draws = (cumulated[states] < rng.random(len(states))[:, None]).sum(axis=1)
        symbols = [self.alphabet[min(int(i), last)] for i in draws]
        return "".join(symbols) if isinstance(self.alphabet, str) else symbols
