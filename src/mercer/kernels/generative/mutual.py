"""Mutual information kernels: how likely two samples are under one and the same model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln, logsumexp

from ...data import Data, Zipped, as_dense, length
from ...exceptions import DomainError
from ...params import Params, parameter, positive
from ..base import Tile, Tiled
from ..calculus import properties as prop
from ..calculus.domains import ANY, Domain
from ..distributions.histograms import histograms
from ..distributions.kind import HISTOGRAMS
from ..distributions.normal import probabilities
from ..vectors.base import check_widths, inner_products
from .models import as_model

_NUMBERS = 2**13  # of an array that stays in cache


@dataclass(eq=False, repr=False)
class DirichletPrior(Params):
    """All multinomial models of counts, with a Dirichlet distribution over their chances.

    Parameters
    ----------
    concentration : float or array of shape (d,)
        Its parameters: what is added to counts; 1 is the uniform distribution.

    Examples
    --------
    >>> from mercer import DirichletPrior
    >>> DirichletPrior(0.5)
    DirichletPrior(concentration=0.5)
    """

    concentration: Any = positive(1.0, arrays=True, tuned=False)


def _models(value: Any) -> str | None:
    fine = isinstance(value, DirichletPrior) or (
        isinstance(value, list | tuple)
        and len(value) > 0
        and all(as_model(m) is not None or callable(m) for m in value)
    )
    return (
        None
        if fine
        else ("a DirichletPrior, or a list of models, or of functions from a data set to log p(x)")
    )


def _shares(value: Any) -> str | None:
    return None if value is None else probabilities(value)


@dataclass(eq=False, repr=False)
class MutualInformation(Tiled):
    r"""The mutual information kernel: both samples from one model, averaged over models.

    .. math:: Q(x, y) = \int p(x|\theta)^\lambda\, p(y|\theta)^\lambda\, P(d\theta), \qquad
              k(x, y) = \frac{Q(x, y)}{\sqrt{Q(x, x)\, Q(y, y)}}

    With I(x, y) = log Q(x, y) / (Q(x) Q(y)), what one sample tells about the other, this is
    exp(I(x, y) - (I(x, x) + I(y, y)) / 2). P is a prior, a posterior, or anything in between: a
    weighted ensemble of fitted or sampled models, or a conjugate prior, for which the integral has
    a closed form,

    .. math:: Q(x, y) = \frac{B(a + \lambda (x + y))}{B(a)}, \qquad
              B(a) = \frac{\prod_j \Gamma(a_j)}{\Gamma(\sum_j a_j)}

    for rows of counts under multinomial models with ``DirichletPrior(a)``. All of it is computed
    with logarithms, and 0 <= k <= 1 always.

    Parameters
    ----------
    models : list of models, or DirichletPrior
        Models as :class:`mercer.Fisher` takes them, functions from a data set to log p(x), or a
        conjugate prior.
    weights : array, optional
        P of the models of a list; by default all are equal.
    exponent : float
        lambda. Likelihoods of long samples differ by many orders of magnitude, so that a single
        model dominates; a small exponent tempers them.

    Examples
    --------
    >>> from mercer import DirichletPrior, MultinomialModel, MutualInformation
    >>> k = MutualInformation([MultinomialModel([0.9, 0.1]), MultinomialModel([0.2, 0.8])])
    >>> k([[3, 0], [2, 1], [0, 3]]).round(3)
    array([[1.   , 0.934, 0.013],
           [0.934, 1.   , 0.369],
           [0.013, 0.369, 1.   ]])
    >>> MutualInformation(DirichletPrior())([[3, 0], [2, 1], [0, 3]]).round(3)
    array([[1.   , 0.645, 0.05 ],
           [0.645, 1.   , 0.258],
           [0.05 , 0.258, 1.   ]])

    References
    ----------
    Seeger, *Covariance kernels from Bayesian generative models*, NIPS 2001.
    """

    models: Any = parameter(check=_models)
    weights: Any = parameter(None, check=_shares)
    exponent: float = positive(1.0, tuned=False)
    because = "an inner product of the functions p(x | .)^lambda, normalised"

    def __sklearn_clone__(self) -> MutualInformation:
        """Models are fitted ones, of which scikit-learn's own clone would leave nothing."""
        return self.replace()

    def prepare(self, X: Data) -> Any:
        if isinstance(self.models, DirichletPrior):
            return self._counts(X)
        logs = np.stack([self._logs(m, i, X) for i, m in enumerate(self.models)], axis=1)
        weights = (
            np.full(logs.shape[1], 1 / logs.shape[1]) if self.weights is None else self.weights
        )
        if np.shape(weights) != (logs.shape[1],):
            raise ValueError(
                f"MutualInformation: weights must hold one number per model, got "
                f"{np.size(weights)} for {logs.shape[1]} models."
            )
        with np.errstate(divide="ignore"):
            logs = self.exponent * logs + np.log(np.asarray(weights, dtype=float)) / 2
        size = logsumexp(2 * logs, axis=1, keepdims=True) / 2
        if not np.all(np.isfinite(size)):
            place = int(np.argmin(np.isfinite(size[:, 0])))
            raise DomainError(
                f"MutualInformation: sample {place} has probability 0 under all models."
            )
        return np.exp(logs - size)

    def _logs(self, model: Any, place: int, X: Data) -> np.ndarray:
        known = as_model(model)
        found = known.log_likelihood(X) if known is not None else model(X)
        found = np.asarray(found, dtype=np.float64)
        if found.shape != (length(X),) or np.any(np.isnan(found)) or np.any(found == np.inf):
            raise ValueError(
                f"MutualInformation: model {place} must give one log p(x) < inf per sample."
            )
        return found

    def _counts(self, X: Data) -> Zipped:
        V = np.asarray(as_dense(histograms(X, "MutualInformation")), dtype=np.float64)
        V = V * self.exponent
        return Zipped(V, self._log_beta(2 * V) / 2)

    def _log_beta(self, V: np.ndarray) -> np.ndarray:
        """log B(a + v) of rows v."""
        a = np.asarray(self.models.concentration, dtype=np.float64)
        if a.ndim == 1 and len(a) != V.shape[1]:
            raise ValueError(
                f"MutualInformation: concentration holds {len(a)} numbers, but X has {V.shape[1]} "
                f"columns."
            )
        V = V + a
        return gammaln(V).sum(axis=1) - gammaln(V.sum(axis=1))

    def tiles(self, X: Any, Y: Any) -> Tile:
        if isinstance(X, np.ndarray):
            return lambda rows, cols: inner_products(X[rows], Y[cols])
        (V, a), (W, b) = X.parts, Y.parts
        check_widths(V, W)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            from ...gram.tiles import check_cancelled

            left, right = V[rows], W[cols]
            out = np.empty((len(left), len(right)))
            step = max(1, _NUMBERS // W.shape[1])
            for i, v in enumerate(left):
                check_cancelled()
                for start in range(0, len(right), step):
                    part = slice(start, start + step)
                    out[i, part] = self._log_beta(right[part] + v)
            out -= a[rows, None]
            out -= b[None, cols]
            return np.exp(out, out=out)

        return tile

    def diag(self, X: Any) -> np.ndarray:
        return np.ones(len(X))

    def features(self, X: Any) -> Any | None:
        return X if isinstance(X, np.ndarray) else None

    def n_features(self, X: Any) -> int | None:
        return int(X.shape[1]) if isinstance(X, np.ndarray) else None

    @property
    def domain(self) -> Domain:
        if isinstance(self.models, DirichletPrior):
            return HISTOGRAMS
        return getattr(as_model(self.models[0]), "domain", ANY)

    @property
    def properties(self) -> prop.Properties:
        one = prop.yes("k(x, x) = 1")
        facts: dict[str, Any] = {"bounded": one, "positive_diag": one}
        if not isinstance(self.models, DirichletPrior):
            facts["finite_dim"] = prop.yes("spanned by one function per model")
        return self._stated(**facts)
