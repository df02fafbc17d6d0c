"""Models of other packages as ours, and models of counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, as_dense
from ...exceptions import DomainError
from ...params import Params, parameter
from ..calculus.domains import Domain
from ..distributions.histograms import histograms
from ..distributions.kind import HISTOGRAMS
from ..distributions.normal import as_mixture, probabilities
from .discrete import DiscreteHMM
from .gaussian import GaussianHMM
from .hmm import HMM


@dataclass(eq=False, repr=False)
class MultinomialModel(Params):
    r"""A multinomial model of counts: independent draws from several categories.

    .. math:: p(x) = \prod_j \theta_j^{x_j}

    for rows x of counts (the probability of the draws in one order; the number of orders does not
    depend on theta).

    Parameters
    ----------
    chances : array of shape (d,)
        The probabilities theta.

    Examples
    --------
    >>> from mercer import MultinomialModel
    >>> MultinomialModel([0.5, 0.25, 0.25]).log_likelihood([[1, 2, 0]]).round(4)  # 1/2 (1/4)^2
    array([-3.4657])
    """

    chances: Any = parameter(check=probabilities)

    @classmethod
    def fit(cls, X: Data, smoothing: float = 1.0) -> MultinomialModel:
        """The shares of all counts in X, after ``smoothing`` has been added to each of them."""
        counts = np.asarray(histograms(X, "MultinomialModel.fit").sum(axis=0), dtype=float).ravel()
        counts += smoothing
        if not counts.sum() > 0:
            raise ValueError("MultinomialModel.fit: all counts are 0, and so is smoothing.")
        return cls(counts / counts.sum())

    @property
    def domain(self) -> Domain:
        """The set of samples of which it is a model."""
        return HISTOGRAMS

    def read(self, X: Data, owner: str) -> Any:
        """Rows of counts, as many as this has chances."""
        V = histograms(X, owner)
        if V.shape[1] != len(self.chances):
            raise DomainError(
                f"{owner}: X has {V.shape[1]} columns, but the model has {len(self.chances)}."
            )
        return V

    def log_likelihood(self, X: Data) -> np.ndarray:
        """log p(x) of every sample; -inf if the model cannot generate it."""
        V, theta = self.read(X, "MultinomialModel"), np.asarray(self.chances, dtype=float)
        found = V @ np.log(np.where(theta > 0, theta, 1))
        found[V @ (theta == 0).astype(float) > 0] = -np.inf
        return np.asarray(found, dtype=float)

    def scores(self, X: Data, owner: str) -> dict[str, np.ndarray]:
        """Derivatives of log p(x) with respect to the logits of the probabilities: x - N theta."""
        V = self.read(X, owner)
        total = np.asarray(V.sum(axis=1), dtype=float).reshape(-1, 1)
        V = np.asarray(as_dense(V), dtype=float)
        return {"chances": V - total * np.asarray(self.chances, dtype=float)}


def as_hmm(model: Any) -> HMM | None:
    """One of ours, from a fitted model of hmmlearn; None for anything else."""
    if isinstance(model, HMM):
        return model
    if not all(hasattr(model, name) for name in ("startprob_", "transmat_")):
        return None
    chain = (np.asarray(model.startprob_), np.asarray(model.transmat_))
    if hasattr(model, "emissionprob_"):
        E = np.asarray(model.emissionprob_)
        return DiscreteHMM(*chain, E, list(range(E.shape[1])))
    if hasattr(model, "means_") and hasattr(model, "covars_"):
        return GaussianHMM(*chain, np.asarray(model.means_), _matrices(model))
    return None


def _matrices(model: Any) -> np.ndarray:
    """Covariances of a model of hmmlearn, whose ``covars_`` repeats spherical ones too often."""
    d = np.shape(model.means_)[1]
    if getattr(model, "covariance_type", "full") != "spherical":
        return np.asarray(model.covars_)
    return np.asarray(model._covars_).reshape(-1, d)[:, :1, None] * np.eye(d)


def as_model(model: Any) -> Any:
    """A model of ours: one as it is, or from scikit-learn, scipy or hmmlearn; None for others."""
    if hasattr(model, "scores") and hasattr(model, "log_likelihood"):
        return model
    try:
        found = as_hmm(model)
        return as_mixture(model) if found is None else found
    except (TypeError, ValueError, AttributeError):
        return None
