"""Hidden Markov models: likelihoods, posteriors, scores, whatever the states emit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import Params, parameter
from ...randomness import as_generator
from ..calculus.domains import Domain
from ..distributions.normal import probabilities
from .hmm_loops import forward_backward

_TOGETHER = 2**20  # numbers of the posteriors that are held at once


def chances(value: Any) -> str | None:
    """What a matrix of probabilities must be, for a field; None if this is one."""
    try:
        array = np.atleast_2d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        array = np.zeros((0, 0))
    fine = array.ndim == 2 and array.size and all(probabilities(row) is None for row in array)
    return None if fine else "rows of numbers >= 0 that sum to 1"


class Observed(NamedTuple):
    """Sequences one after the other: codes of symbols (total,), or points (total, d)."""

    values: np.ndarray
    ends: np.ndarray

    def chunks(self, numbers: int) -> Iterator[tuple[slice, Observed]]:
        """Runs of sequences, of about so many numbers per observation that memory stays small."""
        most = max(1, _TOGETHER // numbers)
        marks = np.arange(most, self.ends[-1], most)
        cuts = np.unique([0, *np.searchsorted(self.ends, marks), len(self.ends) - 1])
        for a, b in pairwise(cuts):
            lo, hi = self.ends[a], self.ends[b]
            yield slice(a, b), Observed(self.values[lo:hi], self.ends[a : b + 1] - lo)

    def sums(self, each: np.ndarray) -> np.ndarray:
        """Sums over the observations of every sequence; 0 for one that has none."""
        total = np.zeros((len(self.ends) - 1, *each.shape[1:]))
        filled = np.diff(self.ends) > 0
        if filled.any():
            total[filled] = np.add.reduceat(each, self.ends[:-1][filled], axis=0)
        return total


class Posterior(NamedTuple):
    """Posteriors of hidden states: p(s_t), sums of p(s_t, s_t+1), these themselves, log p."""

    states: np.ndarray
    steps: np.ndarray
    pairs: np.ndarray
    log_likelihood: np.ndarray


@dataclass(eq=False, repr=False)
class HMM(Params, ABC):
    """What hidden Markov models share: a chain of states, and what they emit."""

    start: Any = parameter(check=probabilities)
    transition: Any = parameter(check=chances)

    @property
    def n_states(self) -> int:
        """The number of hidden states."""
        return len(self.start)

    @property
    @abstractmethod
    def domain(self) -> Domain:
        """The set of samples of which it is a model."""

    @abstractmethod
    def read(self, X: Data, owner: str) -> Observed:
        """The samples of a data set."""

    @abstractmethod
    def log_emissions(self, values: np.ndarray) -> np.ndarray:
        """log p(x | s) of every observation and state."""

    @abstractmethod
    def log_products(self, other: Any, rho: float) -> np.ndarray:
        """log of the integral of p(x | s)^rho q(x | u)^rho, for all pairs of states."""

    @abstractmethod
    def marks(self, values: np.ndarray) -> np.ndarray:
        """Features of single observations: 1 in the column of a symbol, or 1 and the point."""

    @abstractmethod
    def emission_scores(self, x: Observed, states: np.ndarray) -> dict[str, np.ndarray]:
        """Derivatives of log p by the parameters of emissions, a row per sequence."""

    @abstractmethod
    def refitted(self, x: Observed, states: np.ndarray, chain: Any, extra: float) -> Self:
        """The model of a chain (start, transition), with emissions from posteriors of states."""

    def posterior(self, x: Observed, owner: str, pairs: bool = False) -> Posterior:
        """By scaled forward and backward recursions; sequences must be possible under the model."""
        start, A = (np.ascontiguousarray(v, dtype=float) for v in (self.start, self.transition))
        S, n, T = len(start), len(x.ends) - 1, len(x.values)
        if A.shape != (S, S):
            raise ValueError(f"{type(self).__name__}: transition must have shape ({S}, {S}).")
        states, steps, total = np.zeros((T, S)), np.zeros((n, S, S)), np.zeros(n)
        each = np.zeros((T if pairs else 0, S, S))
        logs = np.ascontiguousarray(self.log_emissions(x.values))
        forward_backward(start, A, logs, x.ends, states, steps, each, total)
        if owner and not np.all(np.isfinite(total)):
            place = int(np.argmin(np.isfinite(total)))
            raise DomainError(
                f"{owner}: sample {place} has probability 0 under the model, so its hidden states "
                f"are unknown; fit the model with smoothing, or on data like these."
            )
        return Posterior(states, steps, each, total)

    def log_likelihood(self, X: Data) -> np.ndarray:
        """log p(x) of every sample; -inf if the model cannot generate it."""
        x = self.read(X, type(self).__name__)
        found = np.empty(len(x.ends) - 1)
        for rows, part in x.chunks(2 * self.n_states):
            found[rows] = self.posterior(part, "").log_likelihood
        return found

    def scores(self, X: Data, owner: str) -> dict[str, np.ndarray]:
        """Derivatives of log p(x) at every sample, by name of the parameter, a row per sample.

        Probabilities are moved by their logits, so that the derivatives are differences of counts:
        those expected given x, less those expected of the state.
        """
        x, found = self.read(X, owner), []
        for _, part in x.chunks(self._numbers()):
            known = self.posterior(part, owner)
            steps, S = known.steps, self.n_states
            begun = np.zeros((len(part.ends) - 1, S))
            filled = np.diff(part.ends) > 0
            begun[filled] = known.states[part.ends[:-1][filled]] - np.asarray(self.start)
            moves = steps - np.asarray(self.transition) * steps.sum(axis=2, keepdims=True)
            chain = {"start": begun, "transition": moves.reshape(-1, S * S)}
            found.append(chain | self.emission_scores(part, known.states))
        return {name: np.concatenate([each[name] for each in found]) for name in found[0]}

    def _numbers(self) -> int:
        """Of the derivatives by emissions at one observation."""
        return 2 * self.n_states

    @classmethod
    def fit(
        cls,
        X: Data,
        n_states: int,
        *,
        rng: Any = 0,
        max_iter: int = 200,
        tol: float = 1e-4,
        smoothing: float = 0.01,
        **options: Any,
    ) -> Self:
        """A model estimated from sequences, by the EM algorithm from a random start.

        Parameters
        ----------
        X : data
            The sequences, of any lengths.
        n_states : int
            The number of hidden states.
        rng : int or Generator
            The seed of the random start.
        max_iter, tol : int, float
            Rounds at most; it ends where log p per observation grows by less than ``tol``.
        smoothing : float
            Added to all expected counts of states and symbols, and, relative to the variances of
            all points, to covariances: what did not occur is not impossible.
        **options
            ``alphabet`` for :class:`mercer.DiscreteHMM`: the symbols, by default those in X.
        """
        from .hmm_fit import fit

        return fit(cls, X, n_states, rng, max_iter, tol, smoothing, **options)

    @classmethod
    @abstractmethod
    def guess(cls, X: Data, n_states: int, rng: np.random.Generator, **options: Any) -> Self:
        """A random model to start from."""

    def sample(self, length: int, rng: Any = 0) -> Any:
        """A random sequence of a length: a string or list of symbols, or an array of points."""
        rng = as_generator(rng)
        cumulated = np.cumsum([self.start, *np.asarray(self.transition)], axis=1)
        states, row = np.empty(length, dtype=int), 0
        for t, u in enumerate(rng.random(length)):
            states[t] = min(int(np.searchsorted(cumulated[row], u)), self.n_states - 1)
            row = 1 + states[t]
        return self.emit(states, rng)

    @abstractmethod
    def emit(self, states: np.ndarray, rng: np.random.Generator) -> Any:
        """Random observations for hidden states."""


def random_chain(n_states: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Chances of states: nearly equal, but none as another."""
    start = rng.dirichlet(np.full(n_states, 10.0))
    return start, rng.dirichlet(np.full(n_states, 10.0), n_states)
