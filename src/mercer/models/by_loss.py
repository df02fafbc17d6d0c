"""Models whose loss says what they predict: numbers, classes or counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, d2_tweedie_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if

from ..data import Data
from ..losses.base import Loss
from ..losses.named import as_loss
from .common import of_chunks


def _on_labels(machine: Any) -> bool:
    return as_loss(machine.loss).targets in ("sign", "classes")


class ByLoss:
    """What a model with a parameter ``loss`` predicts from its scores f(x) + b (``_values``)."""

    loss: Any
    loss_: Loss
    classes_: np.ndarray
    _values: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        try:
            kind = as_loss(self.loss).targets
        except ValueError:  # fit will say so
            kind = "real"
        if kind in ("sign", "classes"):
            tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        else:
            tags.estimator_type, tags.regressor_tags = "regressor", RegressorTags()
            tags.target_tags.positive_only = kind == "count"
        return tags

    def _two_sided(self, f: np.ndarray) -> np.ndarray:
        """One score for two classes."""
        return f[:, 1] - f[:, 0] if f.ndim == 2 and f.shape[1] == 2 else f

    @available_if(_on_labels)
    def decision_function(self, X: Data) -> np.ndarray:
        """f(x) + b, of losses for classes: shape (m,), or one column per class if there are more.

        The joint loss has two functions for two classes, which differ by their sign.
        """
        return self._two_sided(self._values(X))

    def predict(self, X: Data) -> np.ndarray:
        """Numbers, classes, or the mean of counts, depending on the loss (``loss.prediction``)."""
        f = self._values(X)
        labels = self.loss_.targets in ("sign", "classes")
        return self.classes_[best_class(f)] if labels else self.loss_.prediction(f)

    @of_chunks
    def score(self, X: Data, y: Any, sample_weight: Any = None) -> float:
        """R^2 of numbers, accuracy of classes, the part of the deviance explained of counts."""
        predicted = self.predict(X)
        kind = self.loss_.targets
        if kind == "count":
            return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))
        metric = r2_score if kind == "real" else accuracy_score
        return float(metric(y, predicted, sample_weight=sample_weight))


def best_class(f: np.ndarray) -> np.ndarray:
    """The place of the class with the largest score."""
    return (f > 0).astype(int) if f.ndim == 1 else np.argmax(f, axis=1)
