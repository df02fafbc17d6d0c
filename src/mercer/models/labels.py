"""Labels of classifiers, whole or a part of a stream at a time."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ..data import Data
from ..frames import is_gap, opened
from .common import check_targets


def check_labels(estimator: Any, X: Data, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and as codes 0..k-1 of the classes, which the estimator remembers."""
    y = column_or_1d(check_targets(estimator, X, check_comparable(y), None), warn=True)
    check_classification_targets(y)
    estimator.classes_, codes = np.unique(y, return_inverse=True)
    k = len(estimator.classes_)
    if k < 2:
        raise ValueError(f"The number of classes has to be greater than one; got {k} class")
    return y, codes


def check_classes(estimator: Any, classes: np.ndarray) -> None:
    """All classes of samples that come in chunks, which the estimator remembers."""
    twice = np.repeat(classes, 2)  # labels that occur once look like targets of a regression
    check_labels(estimator, twice, twice)


def check_comparable(y: Any) -> Any:
    """Refuse labels of which some are missing, or that have no order."""
    labels = opened(y)
    if isinstance(labels, (list, tuple)):
        labels = np.array([*labels, None], dtype=object)[:-1]  # as they are, whatever they are
    elif not isinstance(labels, np.ndarray) and hasattr(labels, "__array__"):
        labels = np.asarray(labels, dtype=object)
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "Of":
        return y
    gap = next((i for i, label in enumerate(labels.ravel().tolist()) if is_gap(label)), None)
    if gap is not None:
        raise ValueError(
            f"Input y contains NaN or None: sample {gap} has no label; drop such samples, or use "
            f"SemiSupervised, which learns from them, too."
        )
    kinds = {type(label) for label in labels.flat}
    names = {"numbers" if issubclass(kind, Real) else kind.__name__ for kind in kinds}
    if len(names) > 1:
        raise ValueError(
            f"y has labels of several types, {' and '.join(sorted(names))}, which cannot be "
            "sorted; convert all of them to strings."
        )
    return y


def check_stream_labels(estimator: Any, X: Data, y: Any, classes: Any, first: bool) -> np.ndarray:
    """Labels of a part of a stream as codes of ``classes_``, which the first call sets."""
    y = column_or_1d(check_targets(estimator, X, check_comparable(y), None), warn=True)
    check_classification_targets(y)
    given = None if classes is None else np.unique(classes)
    if first:
        estimator.classes_ = np.unique(y) if given is None else given
        if len(estimator.classes_) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; name all of them in the first "
                f"call of partial_fit, classes=[...]; got {len(estimator.classes_)} class"
            )
    known: np.ndarray = estimator.classes_
    if given is not None and not np.array_equal(given, known):
        raise ValueError(f"classes must be those of the first call, {known.tolist()}.")
    strange = ~np.isin(y, known)
    if strange.any():
        raise ValueError(
            f"y has the label {y[strange].tolist()[0]!r}, which is not among {known.tolist()}; "
            "name all classes in the first call of partial_fit, classes=[...]."
        )
    return np.searchsorted(known, y)
