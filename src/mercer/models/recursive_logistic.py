"""Recursive logistic regression on the features of a stream (``partial_fit``)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..data import Data
from ..engine.memory import require_memory
from ..solvers.recursive import Posterior
from ..solvers.representer import MachineSolution
from .common import (
    all_or_nothing,
    check_data,
    check_stream_weights,
)
from .labels import check_stream_labels
from .recursive import StreamedFeatures, _is_given


class RecursiveLogistic(StreamedFeatures):
    """``partial_fit`` of kernel logistic regression."""

    alpha: float
    fit_intercept: bool
    class_weight: Any
    tol: float
    max_iter: int | None
    classes_: np.ndarray
    dual_coef_: np.ndarray
    _likelihood: Any
    _check_parameters: Any
    _targets: Any
    _weights: Any

    @available_if(_is_given)
    @all_or_nothing
    def partial_fit(self, X: Data, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more samples, in memory that does not grow with their number.

        The kernel is seen through features, as by :meth:`KernelRidge.partial_fit`. A normal
        distribution of their weights, with a precision matrix of order M (times the number of
        classes, if there are more than two), summarises all earlier chunks; it is exact for the
        first one, whose result is that of :meth:`fit`, and better the longer chunks are.

        Parameters
        ----------
        X, y : data, array
            Samples and labels.
        classes : array, optional
            All classes there will be, in the first call; by default those of its labels.
        sample_weight : array, optional
            Weights of the samples.
        """
        first = self._first()
        self._check_parameters()
        X = check_data(self, X, self.kernel, reset=first, keep=False)
        codes = check_stream_labels(self, X, y, classes, first)
        weights = check_stream_weights(X, sample_weight, begun=not first)
        if self.class_weight is not None:
            weights = weights * self._class_factors()[codes]
        if first:
            vars(self).pop("X_fit_", None)
            self._begin(X)
        phi = self._phi(X)
        several = len(self.classes_) > 2
        self._targets = codes
        loss, targets = self._likelihood()
        intercept = bool(self.fit_intercept)
        if first:
            outputs = len(self.classes_) if several else 1
            require_memory(
                8.0 * (outputs * (phi.shape[1] + 1)) ** 2 * 3, "precision matrices of the weights"
            )
            seen = Posterior.prior(phi.shape[1], outputs, float(self.alpha), intercept)
        else:
            seen = Posterior(*self._stream)
        full = np.column_stack([phi, np.ones(len(phi))]) if intercept else phi
        seen, solution = seen.take_in(full, targets, weights, loss, self.tol, self.max_iter or 100)
        solution.warn()
        W = seen.mean[:-1] if intercept else seen.mean
        b = seen.mean[-1] if intercept else np.zeros(W.shape[1])
        coef = self._spanned(X).combine(W)
        self._stream, self._targets, self._weights = tuple(seen), None, None
        self.dual_coef_ = coef if several else coef[:, 0]
        self.intercept_ = b if several else float(b[0])
        self.n_iter_ = max(solution.n_iter, 1)
        self.solution_ = MachineSolution(
            coef, solution.converged, solution.n_iter, solution.message, solution.stats, intercept=b
        )
        return self

    def _class_factors(self) -> np.ndarray:
        if not isinstance(self.class_weight, dict):
            raise ValueError(
                f"class_weight={self.class_weight!r} depends on all labels; for partial_fit, give "
                f"a dict of factors."
            )
        return np.array([float(self.class_weight.get(c, 1.0)) for c in self.classes_.tolist()])
