"""Families of distributions whose products have integrals in closed form: prepared samples.

Each is a sequence of distributions; ``logs`` gives log of the integral of p^rho q^rho for all
pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Prepared, Rows, as_dense, as_samples, holds_numbers, is_frame
from ...exceptions import DomainError
from ..generative.hmm import HMM
from ..generative.models import as_hmm
from ..vectors.base import check_widths, inner_products
from .histograms import histograms
from .loops import normal_products
from .normal import NormalMixture, as_mixture, fitted, power_constants

_NAME = "ProbabilityProduct"


class Histograms:
    """Rows of shares; features are their powers."""

    def __init__(self, powers: Any) -> None:
        self.powers = powers

    def __len__(self) -> int:
        return int(self.powers.shape[0])

    def __getitem__(self, rows: Rows) -> Histograms:
        return Histograms(self.powers[rows])

    def values(self, other: Histograms, rho: float) -> np.ndarray:
        """sum_i (p_i q_i)^rho."""
        return inner_products(self.powers, other.powers)


@dataclass(eq=False, repr=False)
class Bernoullis(Prepared):
    """Rows of independent probabilities."""

    shares: np.ndarray  # p^rho
    rest: np.ndarray  # (1 - p)^rho

    each = ("shares", "rest")

    def logs(self, other: Bernoullis, rho: float) -> np.ndarray:
        """sum_i log(p_i^rho q_i^rho + (1 - p_i)^rho (1 - q_i)^rho)."""
        check_widths(self.shares, other.shares)
        out = np.empty((len(self), len(other)))
        with np.errstate(divide="ignore"):
            for i, (p, r) in enumerate(zip(self.shares, self.rest, strict=True)):
                both = other.shares * p
                both += other.rest * r
                out[i] = np.log(both, out=both).sum(axis=1)
        return out


@dataclass(eq=False, repr=False)
class Normals(Prepared):
    """Mixtures of normal distributions, the components of all one after the other."""

    parts: tuple[np.ndarray, ...]
    start: np.ndarray
    size: np.ndarray

    each = ("start", "size")

    def stacked(self) -> tuple[np.ndarray, ...]:
        """Means, covariances and constants of the components of these samples alone."""
        within = np.arange(self.size.sum()) - np.repeat(np.cumsum(self.size) - self.size, self.size)
        places = np.repeat(self.start, self.size) + within
        return tuple(part[places] for part in self.parts)

    def logs(self, other: Normals, rho: float) -> np.ndarray:
        """Logarithms of sums over pairs of components."""
        left, right = self.stacked(), other.stacked()
        check_widths(left[0], right[0])
        out = np.empty((len(left[0]), len(right[0])))
        normal_products(*left, *right, float(rho), out)
        return _grouped(_grouped(out, self.size, 0), other.size, 1)


class Chains:
    """Hidden Markov models, as distributions of sequences of one length."""

    def __init__(self, models: list[HMM], length: int) -> None:
        self.models, self.length = models, length

    def __len__(self) -> int:
        return len(self.models)

    def __getitem__(self, rows: Rows) -> Chains:
        chosen = np.arange(len(self))[rows]
        return Chains([self.models[i] for i in chosen], self.length)

    def logs(self, other: Chains, rho: float) -> np.ndarray:
        """By the recursion over pairs of states, pair by pair."""
        from ...gram.tiles import check_cancelled

        out = np.empty((len(self), len(other)))
        for i, p in enumerate(self.models):
            check_cancelled()
            for j, q in enumerate(other.models):
                out[i, j] = _chain(p, q, rho, self.length)
        return out


def _chain(p: HMM, q: HMM, rho: float, length: int) -> float:
    """F_t(s, u) = psi(s, u) sum_s'u' A(s', s) B(u', u) F_(t-1)(s', u'), scaled at every step."""
    psi = p.log_products(q, rho)
    top = psi.max()
    if top == -np.inf:
        return -np.inf
    psi = np.exp(psi - top)
    A, B = np.asarray(p.transition, dtype=float), np.asarray(q.transition, dtype=float)
    F = np.outer(p.start, q.start) * psi
    total = length * top
    for t in range(length):
        if t:
            F = psi * (A.T @ F @ B)
        size = F.sum()
        if not size > 0:
            return -np.inf
        F, total = F / size, total + np.log(size)
    return float(total)


def _grouped(logs: np.ndarray, size: np.ndarray, axis: int) -> np.ndarray:
    """log of sums of exp over consecutive rows or columns; nothing to do for groups of one."""
    if np.all(size == 1):
        return logs
    starts = np.cumsum(size) - size
    top = np.maximum.reduceat(logs, starts, axis=axis)
    top = np.where(top > -np.inf, top, 0)
    spread = np.repeat(top, size, axis=axis)
    with np.errstate(divide="ignore"):
        return np.log(np.add.reduceat(np.exp(logs - spread), starts, axis=axis)) + top


# ---- from samples to families ----------------------------------------------------------------
def read(X: Data, rho: float, family: str, ridge: float, length: int) -> Any:
    """X as one of the families above, sample by sample."""
    X = as_samples(X, _NAME)
    rows = is_frame(X) or sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "biuf")
    if family == "bernoulli" or (rows and np.ndim(X) < 3) or _all_rows(X):
        return _of_rows(X, rho, family)
    samples = list(X)
    if not samples:
        raise DomainError(f"{_NAME}: X has no samples.")
    chains = [as_hmm(x) for x in samples]
    if all(model is not None for model in chains):
        return Chains([model for model in chains if model is not None], length)
    return _normals([_normal(x, i, ridge) for i, x in enumerate(samples)], rho)


def _all_rows(X: Data) -> bool:
    """Is every sample a row of numbers?"""
    flat = (isinstance(x, list | np.ndarray) and np.ndim(x) == 1 for x in X)
    return len(X) > 0 and all(flat) and holds_numbers(X)


def _of_rows(X: Data, rho: float, family: str) -> Histograms | Bernoullis:
    V = histograms(X, _NAME)
    if family != "bernoulli":
        return Histograms(V.power(rho) if sp.issparse(V) else V**rho)
    V = np.asarray(as_dense(V), dtype=np.float64)
    if V.max() > 1:
        raise DomainError(f"{_NAME}: probabilities must be in [0, 1], but X contains {V.max():g}.")
    return Bernoullis(V**rho, (1 - V) ** rho)


def _normal(x: Any, place: int, ridge: float) -> NormalMixture:
    try:
        found = as_mixture(x)
        if found is None and (np.ndim(x) == 2 or sp.issparse(x) or is_frame(x)):
            found = fitted(x, ridge)
    except ValueError as error:
        raise DomainError(f"{_NAME}: sample {place}: {error}") from None
    if found is None:
        raise DomainError(
            f"{_NAME}: sample {place} is a {type(x).__name__}, but samples must be rows of numbers "
            f">= 0, bags of points (2-d arrays), normal distributions of scipy.stats, pairs (mean, "
            f"covariance), mixtures of them, or hidden Markov models."
        )
    return found


def _normals(mixtures: list[NormalMixture], rho: float) -> Normals:
    size = np.array([len(p.weights) for p in mixtures], dtype=np.int64)
    if rho != 1 and np.any(size > 1):
        raise DomainError(
            f"{_NAME}: the integral of mixtures has a closed form for rho=1 only, but rho is "
            f"{rho:g} and sample {int(np.argmax(size > 1))} has {size.max()} components."
        )
    widths = {p.dimension for p in mixtures}
    if len(widths) > 1:
        raise DomainError(f"{_NAME}: distributions are on spaces of {sorted(widths)} features.")
    means = np.concatenate([np.asarray(p.means, dtype=np.float64) for p in mixtures])
    matrices = np.concatenate([p.matrices for p in mixtures])
    with np.errstate(divide="ignore"):
        shares = np.log(np.concatenate([np.asarray(p.weights, float) for p in mixtures]))
    constants = shares + power_constants(matrices, rho)
    return Normals((means, matrices, constants), np.cumsum(size) - size, size)
