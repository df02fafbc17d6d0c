"""Hidden Markov models of series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import parameter
from ..distributions.loops import normal_products
from ..distributions.normal import (
    finite,
    lower_entries,
    normal_logs,
    normal_scores,
    power_constants,
)
from ..series.kind import SERIES
from ..series.ragged import Ragged, ragged, segments
from .hmm import HMM, Observed, random_chain


@dataclass(eq=False, repr=False)
class GaussianHMM(HMM):
    r"""A hidden Markov model of series of numbers or vectors, normal in every state.

    .. math:: p(x) = \sum_s \pi_{s_1} \prod_{t > 1} A_{s_{t-1} s_t}
              \prod_t \mathcal{N}(x_t;\ \mu_{s_t}, \Sigma_{s_t})

    Parameters
    ----------
    start : array of shape (S,)
        The probabilities of the first state.
    transition : array of shape (S, S)
        Row r holds the probabilities of the state after r.
    means : array of shape (S, d)
        The means of the observations in each state.
    covariances : array of shape (S, d, d)
        Their covariance matrices.

    Examples
    --------
    >>> from mercer import GaussianHMM
    >>> A = [[0.9, 0.1], [0.1, 0.9]]
    >>> model = GaussianHMM([0.5, 0.5], A, [[0.0], [5.0]], [[[1.0]], [[1.0]]])
    >>> model.log_likelihood([[0.0, 5.0]]).round(4)
    array([-4.8335])
    """

    means: Any = parameter(check=finite)
    covariances: Any = parameter(check=finite)
    domain = SERIES

    def __post_init__(self) -> None:
        S, d = len(self.start), np.shape(self.means)[-1] if np.ndim(self.means) == 2 else 0
        shapes = (np.shape(self.transition), np.shape(self.means), np.shape(self.covariances))
        if shapes != ((S, S), (S, d), (S, d, d)):
            raise ValueError(
                f"GaussianHMM: {S} states need a transition of shape ({S}, {S}), means of shape "
                f"({S}, d) and covariances of shape ({S}, d, d), got {shapes}."
            )
        self._factors  # noqa: B018  # raises where one is not positive definite

    @property
    def _factors(self) -> np.ndarray:
        try:
            return np.linalg.cholesky(np.asarray(self.covariances, dtype=float))
        except np.linalg.LinAlgError:
            raise ValueError("GaussianHMM: covariances must be positive definite.") from None

    def read(self, X: Data, owner: str) -> Observed:
        found = ragged(X, owner)
        if found.channels != np.shape(self.means)[1]:
            raise DomainError(
                f"{owner}: series have {found.channels} channels, but the number of channels of "
                f"the model is {np.shape(self.means)[1]}."
            )
        return _flat(found)

    def log_emissions(self, values: np.ndarray) -> np.ndarray:
        means = np.asarray(self.means, dtype=float)
        each = [normal_logs(values - m, L) for m, L in zip(means, self._factors, strict=True)]
        return np.stack(each, axis=1)

    def log_products(self, other: Any, rho: float) -> np.ndarray:
        if (
            not isinstance(other, GaussianHMM)
            or np.shape(self.means)[1:] != np.shape(other.means)[1:]
        ):
            raise DomainError(
                "hidden Markov models can only be compared if they have the same "
                "number of channels."
            )
        sides = []
        for model in (self, other):
            S = np.ascontiguousarray(model.covariances, dtype=float)
            means = np.ascontiguousarray(model.means, dtype=float)
            sides += [means, S, power_constants(S, rho)]
        out = np.empty((self.n_states, other.n_states))
        normal_products(*sides, float(rho), out)
        return out

    def marks(self, values: np.ndarray) -> np.ndarray:
        return np.column_stack([np.ones(len(values)), values])

    def _numbers(self) -> int:
        return 2 * self.n_states * np.shape(self.means)[1] ** 2

    def emission_scores(self, x: Observed, states: np.ndarray) -> dict[str, np.ndarray]:
        means, n = np.asarray(self.means, dtype=float), len(x.ends) - 1
        by_mean, by_matrix = normal_scores(x.values, states, means, self._factors)
        spread = lower_entries(x.sums(by_matrix))
        return {"means": x.sums(by_mean).reshape(n, -1), "covariances": spread.reshape(n, -1)}

    def refitted(self, x: Observed, states: np.ndarray, chain: Any, extra: float) -> Self:
        mass = states.sum(axis=0) + np.finfo(float).tiny
        means = states.T @ x.values / mass[:, None]
        least = np.diag(x.values.var(axis=0)) * extra
        least += np.eye(len(least)) * (1e-12 * (1 + np.abs(x.values).max()) ** 2)
        matrices = []
        for k, m in enumerate(means):
            apart = x.values - m
            matrices.append((states[:, k, None] * apart).T @ apart / mass[k] + least)
        start, transition = chain
        return type(self)(start, transition, means, np.array(matrices))

    @classmethod
    def guess(cls, X: Data, n_states: int, rng: np.random.Generator, **options: Any) -> Self:
        if options:
            raise TypeError(f"{cls.__name__}.fit has no option {next(iter(options))!r}.")
        values = _flat(ragged(X, cls.__name__)).values
        chosen = [values[rng.integers(len(values))]]
        for _ in range(n_states - 1):  # far from those chosen before, as k-means++ does
            away = np.min([np.sum((values - c) ** 2, axis=1) for c in chosen], axis=0) + 1e-300
            chosen.append(values[rng.choice(len(values), p=away / away.sum())])
        spread = np.diag(values.var(axis=0) + 1e-12 * (1 + np.abs(values).max()) ** 2)
        return cls(*random_chain(n_states, rng), np.array(chosen), np.array([spread] * n_states))

    def emit(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        z = rng.standard_normal((len(states), np.shape(self.means)[1]))
        return np.asarray(self.means)[states] + np.einsum("tij,tj->ti", self._factors[states], z)


def _flat(series: Ragged) -> Observed:
    places = segments(series.start, series.size)
    ends = np.concatenate([[0], np.cumsum(series.size)])
    return Observed(np.asarray(series.values)[places], ends)
