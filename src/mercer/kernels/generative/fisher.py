"""The Fisher kernel: samples by how they would change a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, length
from ...exceptions import DomainError
from ...params import parameter
from ..base import not_resolved
from ..calculus import properties as prop
from ..calculus.domains import ANY, Domain
from ..vectors.explicit import Explicit
from .models import as_model

_MOST = 5000  # parameters with a full information matrix
_RULES = ("diagonal", "empirical", "identity")


def _is_model(value: Any) -> str | None:
    fine = as_model(value) is not None or callable(value)
    return (
        None
        if fine
        else (
            "a fitted model (GaussianMixture, NormalMixture, DiscreteHMM, GaussianHMM, "
            "MultinomialModel, or one of hmmlearn), or a function from a data set to its scores"
        )
    )


def _information(value: Any) -> str | None:
    wanted = f"one of {', '.join(map(repr, _RULES))}, or an array of shape (p,) or (p, p)"
    if isinstance(value, str):
        return None if value in _RULES else wanted
    array = np.asarray(value)
    fine = array.dtype.kind in "iuf" and array.ndim in (1, 2) and bool(np.all(np.isfinite(array)))
    return None if fine else wanted


def _parts(value: Any) -> str | None:
    fine = value is None or (
        isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value)
    )
    return None if fine else "None, or a list of names of parameters"


@dataclass(eq=False, repr=False)
class Fisher(Explicit):
    r"""The Fisher kernel of a generative model.

    .. math:: k(x, y) = U_x' I^{-1} U_y, \qquad U_x = \nabla_\theta \log p(x | \theta)

    The score U_x says in which direction the parameters would have to change to fit x better. With
    the information matrix I = E U U', k does not depend on the parametrisation.

    =======================================  ====================  ================================
    model                                    samples               parameters
    =======================================  ====================  ================================
    ``GaussianMixture`` of scikit-learn,     vectors               weights, means, covariances
    ``NormalMixture``
    ``DiscreteHMM``, of hmmlearn             strings, lists        start, transition, emission
    ``GaussianHMM``, of hmmlearn             series                start, transition, means,
                                                                   covariances
    ``MultinomialModel``                     rows of counts        chances
    a function                               anything              the columns that it returns
    =======================================  ====================  ================================

    Derivatives are with respect to the logits of probabilities, and to the entries of covariances,
    in the shape used by scikit-learn. ``MeanEmbedding(Fisher(model))`` compares bags of points, as
    the Fisher vectors of images do.

    Parameters
    ----------
    model : model or callable
        A fitted model as listed, or a function from a data set to an (n, p) array of scores.
    information : {"diagonal", "empirical", "identity"} or array
        The matrix I: the mean of U U' over the training data ("empirical"), its diagonal, or the
        identity. Directions in which the training data do not vary are left out. An array of shape
        (p, p) or (p,) is used as it is; that is what the first two become when the kernel is
        resolved.
    parts : list of str, optional
        The parameters to differentiate with respect to; by default all.

    Examples
    --------
    >>> from mercer import Fisher, NormalMixture
    >>> normal = NormalMixture([1.0], [[1.0]], [[[4.0]]])
    >>> k = Fisher(normal, information=[0.25], parts=["means"])  # (x - 1)(y - 1) / 4
    >>> k([[3.0], [5.0]])
    array([[1., 2.],
           [2., 4.]])

    References
    ----------
    Jaakkola & Haussler, *Exploiting generative models in discriminative classifiers*, NIPS 1999.
    """

    model: Any = parameter(check=_is_model)
    information: Any = parameter("diagonal", check=_information, learned=("diagonal", "empirical"))
    parts: Any = parameter(None, check=_parts)
    because = "an inner product of explicit features: the scores"

    def __sklearn_clone__(self) -> Fisher:
        """The model is a fitted one, of which scikit-learn's own clone would leave nothing."""
        return self.replace()

    def resolve(self, X: Data) -> Fisher:
        if not isinstance(self.information, str) or self.information == "identity":
            return self
        U = self.scores(X)
        if self.information == "diagonal":
            return self.replace(information=np.mean(U**2, axis=0))
        if U.shape[1] > _MOST:
            raise ValueError(
                f'Fisher: information="empirical" of {U.shape[1]} parameters would be a matrix of '
                f'{U.shape[1] ** 2:.1g} numbers; use "diagonal", or fewer parts.'
            )
        return self.replace(information=U.T @ U / len(U))

    def scores(self, X: Data) -> np.ndarray:
        """The scores U of samples, one row each, as the model has them."""
        model = as_model(self.model)
        if model is None:
            return self._given(X)
        found = model.scores(X, "Fisher")
        names = list(found) if self.parts is None else list(self.parts)
        unknown = [name for name in names if name not in found]
        if unknown:
            raise ValueError(
                f"Fisher: parts has {unknown[0]!r}, but the parameters of the model are "
                f"{', '.join(found)}."
            )
        return np.hstack([found[name] for name in names])

    def _given(self, X: Data) -> np.ndarray:
        U = np.asarray(self.model(X), dtype=np.float64)
        if U.ndim != 2 or len(U) != length(X):
            raise ValueError(
                f"Fisher: model must return one row of scores per sample, got shape {U.shape} for "
                f"{length(X)} samples."
            )
        if not np.all(np.isfinite(U)):
            raise DomainError("Fisher: model returned scores that are NaN or infinite.")
        return U

    def prepare(self, X: Data) -> np.ndarray:
        if self.unresolved:
            raise not_resolved(self)
        U = self.scores(X)
        if isinstance(self.information, str):
            return U
        matrix = np.asarray(self.information, dtype=np.float64)
        if matrix.shape not in ((U.shape[1],), (U.shape[1],) * 2):
            raise ValueError(
                f"Fisher: information has shape {matrix.shape}, but there are {U.shape[1]} "
                f"parameters."
            )
        return U @ _root(matrix) if matrix.ndim == 2 else U * _inverse_roots(matrix)

    @property
    def domain(self) -> Domain:
        return getattr(as_model(self.model), "domain", ANY)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(finite_dim=prop.yes("spanned by the derivatives of log p"))


def _inverse_roots(values: np.ndarray) -> np.ndarray:
    """1 / sqrt(v), and 0 for what rounding may have left of 0."""
    seen = values > len(values) * np.finfo(float).eps * values.max(initial=0)
    return np.where(seen, 1 / np.sqrt(np.where(seen, values, 1)), 0)


def _root(matrix: np.ndarray) -> np.ndarray:
    """R with R R' the pseudo-inverse of a positive semi-definite matrix.

    Rows and columns are brought to one scale first: parameters have units of their own.
    """
    scale = _inverse_roots(np.diagonal(matrix).copy())
    values, vectors = np.linalg.eigh(scale[:, None] * matrix * scale)
    return scale[:, None] * vectors * _inverse_roots(values)
