"""Least squares on labels, with probabilities; and how rows are shared out among folds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.model_selection import StratifiedKFold

from ..data import Data, take
from ..models.calibration import Calibration
from ..models.lssvm import LSSVC


class RidgeClassifier(LSSVC):
    """:class:`~mercer.LSSVC` with probabilities, calibrated on scores of rows it has not seen.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.tables.ridge import RidgeClassifier
    >>> X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> model = RidgeClassifier().fit(X, ["low", "low", "high", "high"])
    >>> print(model.predict_proba([[3.0]]).argmax())  # of 'high', 'low'
    0
    """

    saved_state = (*LSSVC.saved_state, "calibration_")

    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, labels y and weights; each class needs at least two samples."""
        super().fit(X, y, sample_weight)
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        scores = np.empty((len(codes), self.dual_coef_.shape[1]))
        for train, test in stratified(codes, 5, 0):
            part = LSSVC(**self.get_params(deep=False))
            part.fit(take(X, train), codes[train], None if weights is None else weights[train])
            scores[test] = part._values(take(X, test))
        self.calibration_ = Calibration().fit(scores, codes, weights)
        return self

    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of the classes, calibrated; ``predict`` uses the larger score."""
        return self.calibration_.probabilities(self._values(X))


def class_ranks(codes: np.ndarray, seed: int) -> np.ndarray:
    """For each sample its place among those of its class, in an order drawn at random."""
    order = np.random.default_rng(seed).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    ranks = np.empty(len(codes), dtype=int)
    ranks[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
    return ranks


def stratified(codes: np.ndarray, folds: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds that all have samples of every class, fewer if a class has fewer samples."""
    smallest = int(np.unique(codes, return_counts=True)[1].min())
    splitter = StratifiedKFold(min(folds, smallest), shuffle=True, random_state=seed)
    return list(splitter.split(np.empty(len(codes)), codes))
