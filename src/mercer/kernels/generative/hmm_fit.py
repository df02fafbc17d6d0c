"""Hidden Markov models from sequences, by the EM algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import check_count
from ...data import Data
from ...exceptions import ConvergenceWarning, warn
from ...randomness import as_generator
from .hmm import HMM


def fit(
    cls: type[HMM],
    X: Data,
    n_states: int,
    rng: Any,
    max_iter: int,
    tol: float,
    smoothing: float,
    **options: Any,
) -> Any:
    """The model of a class; see :meth:`.HMM.fit`."""
    check_count(f"{cls.__name__}.fit: n_states", n_states)
    check_count(f"{cls.__name__}.fit: max_iter", max_iter, 0)
    if not smoothing >= 0:
        raise ValueError(f"{cls.__name__}.fit: smoothing must be >= 0, got {smoothing!r}.")
    model: Any = cls.guess(X, n_states, as_generator(rng), **options)
    x = model.read(X, f"{cls.__name__}.fit")
    if not len(x.values):
        raise ValueError(f"{cls.__name__}.fit: all sequences are empty.")
    first = x.ends[:-1][np.diff(x.ends) > 0]
    before = -np.inf
    for _ in range(max_iter):
        known = model.posterior(x, f"{cls.__name__}.fit")
        mean = float(known.log_likelihood.sum() / len(x.values))
        if mean - before < tol:
            return model
        before = mean
        start = known.states[first].sum(axis=0) + smoothing
        steps = known.steps.sum(axis=0) + smoothing
        steps += np.where(steps.sum(axis=1, keepdims=True) > 0, 0, 1)  # a state never left
        chances = (start / start.sum(), steps / steps.sum(axis=1, keepdims=True))
        model = model.refitted(x, known.states, chances, smoothing)
    warn(
        f"{cls.__name__}.fit: log p is still increasing after max_iter={max_iter} iterations; "
        "raise max_iter, or tol.",
        ConvergenceWarning,
    )
    return model
