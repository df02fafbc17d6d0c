"""Learning from few labels and many samples, with any model."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..data import Data, as_samples, length, take
from ..frames import is_gap, opened
from ..kernels.algebra.deformed import Deformed
from ..ownership import owned
from .common import (
    SEEN,
    Drawn,
    KernelEstimator,
    all_or_nothing,
    check_data,
    check_weights,
    covariance,
    without_masks,
)


def _inner_has(name: str) -> Any:
    def has(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), name)
        return True

    return has


@dataclass(eq=False, repr=False)
class SemiSupervised(MetaEstimatorMixin, Drawn, BaseEstimator):
    r"""Semi-supervised learning with any kernel classifier or regressor, when few samples have
    labels.

    The penalty of a function has a second part: its variation between neighbours, among labelled
    and unlabelled samples,

    .. math:: \|f\|^2 + \frac{\gamma}{\sum_{i < j} w_{ij}} \sum_{i < j} w_{ij} (f(x_i) - f(x_j))^2

    This is the norm of another kernel, ``kernel.along(X, strength, neighbors)``
    (:class:`Deformed`), with which the model is fitted to the samples that have labels. So
    :class:`KernelRidge` becomes Laplacian regularised least squares, :class:`SVC` the Laplacian
    support vector machine, and a Gaussian process one whose samples vary along the data.

    Samples without a label have the label -1, as in :mod:`sklearn.semi_supervised`, None or NaN;
    those without a target have NaN.

    Parameters
    ----------
    estimator : classifier or regressor
        With a parameter ``kernel``; not ``"precomputed"``.
    strength : float
        gamma >= 0.
    neighbors : int
        Samples are neighbours if one is among this many nearest neighbours of the other, in the
        metric of the kernel; copies of a sample count once.
    graph : array or sparse matrix of shape (n, n), optional
        Weights w_ij in place of neighbours.

    Attributes
    ----------
    estimator_ : classifier or regressor
        The estimator fitted to the labelled samples, with the kernel that uses all samples.
    transduction_ : ndarray of shape (n,)
        Predictions for all training samples.
    labelled_ : ndarray of shape (n,)
        Which of them had labels.
    classes_ : ndarray
        Of a classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, Gaussian, SemiSupervised
    >>> angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.vstack([ring, 2 * ring])  # two rings, one label on each
    >>> y = np.full(200, -1)
    >>> y[0], y[150] = 0, 1
    >>> model = SemiSupervised(SVC(C=100.0, kernel=Gaussian(0.3)), strength=1e4, neighbors=4)
    >>> model.fit(X, y).score(X, np.repeat([0, 1], 100))
    1.0

    References
    ----------
    Belkin, Niyogi & Sindhwani, *Manifold regularization*, JMLR 2006; Sindhwani, Niyogi & Belkin,
    *Beyond the point cloud*, ICML 2005.
    """

    estimator: Any
    _: KW_ONLY
    strength: float = 1.0
    neighbors: int = 10
    graph: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (*SEEN, "estimator_", "transduction_", "labelled_")

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.input_tags = inner.estimator_type, inner.input_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.target_tags.multi_output = tags.target_tags.two_d_labels = False
        return tags

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X; y is -1, None or NaN where there is no label."""
        inner = self._checked_estimator()
        X = check_data(self, X, inner.kernel, reset=True)
        y, known = self._labels(X, y)
        rows = np.flatnonzero(known)
        given = {}
        if sample_weight is not None:
            weights = check_weights(sample_weight, y)
            given["sample_weight"] = (np.ones(len(y)) if weights is None else weights)[rows]
        own = covariance(None) if inner.kernel is None else inner._as_kernel(X)
        graph = None if self.graph is None else owned(self.graph)
        kernel = Deformed(own, X, self.strength, self.neighbors, graph)
        inner = inner.set_params(kernel=kernel.resolve(X))
        self.estimator_ = inner.fit(take(X, rows), y[rows], **given)
        self.labelled_ = known
        self.transduction_ = self.estimator_.predict(X)
        return self

    def predict(self, X: Data) -> np.ndarray:
        """What the estimator predicts."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of the classes."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Data) -> np.ndarray:
        """Scores, as of the estimator."""
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

    @without_masks
    def score(self, X: Data, y: Any, sample_weight: Any = None) -> float:
        """The score of the estimator, accuracy or R^2, on those samples that have labels."""
        check_is_fitted(self)
        y, known = self._read(X, y)
        rows, given = np.flatnonzero(known), {}
        if sample_weight is not None:
            given["sample_weight"] = column_or_1d(sample_weight)[rows]
        return self.estimator_.score(take(as_samples(X), rows), y[rows], **given)

    @property
    def classes_(self) -> np.ndarray:
        """The classes of a classifier."""
        return self.estimator_.classes_

    def _restore(self) -> None:
        """What :func:`mercer.load` calls: the model inside has been made already."""

    # ---- checks ----------------------------------------------------------------------------
    def _checked_estimator(self) -> Any:
        inner = self.estimator
        suits = isinstance(inner, KernelEstimator) and (is_classifier(inner) or is_regressor(inner))
        if not suits or inner.kernel == "precomputed":
            raise ValueError(
                f"estimator must be a classifier or regressor of mercer with a kernel that can be "
                f"evaluated, such as SVC(kernel=Gaussian()), got {inner!r}."
            )
        if getattr(inner, "optimizer", None) is not None:
            raise ValueError(
                f"estimator={inner!r} would learn parameters of its kernel, but their gradients "
                "are not available for a graph; set optimizer=None, and search over parameters."
            )
        return clone(inner)

    def _labels(self, X: Data, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Targets, and for which samples there are any."""
        y, known = self._read(X, y)
        kept = y[known]
        if is_classifier(self.estimator) and len(np.unique(kept)) < 2:
            raise ValueError(
                f"apart from unlabelled samples, y has only one class, {kept[0]!r}; -1, None and "
                "NaN mean that there is no label, so use other names for classes. The number of "
                "classes has to be greater than one; got 1 class"
            )
        return y, known

    def _read(self, X: Data, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Targets, with placeholders for missing ones, and which samples have them."""
        if y is None:
            raise ValueError("SemiSupervised requires y to be passed, but the target y is None.")
        y = opened(y)
        if getattr(getattr(y, "dtype", None), "kind", "") not in tuple("biufU"):
            y = np.array(y, dtype=object)  # NumPy would make words of gaps among words
        y = column_or_1d(y, warn=True)
        check_consistent_length(range(length(X)), y)
        if is_regressor(self.estimator):
            y = np.array([np.nan if is_gap(v) else v for v in y.tolist()], float)
            known = ~np.isnan(y)
        else:
            if y.dtype.kind == "U" and np.isin(y, ["-1", "nan"]).any():
                raise ValueError(
                    "y is an array of strings in which missing labels have become strings, '-1' "
                    "or 'nan'; pass it with dtype=object, and None for missing labels."
                )
            known = np.array([not is_gap(v) and v != -1 for v in y.tolist()], bool)
        if not known.any():
            raise ValueError("y has no labels at all: -1, None and NaN mean that there is none.")
        kept = y[known]
        if kept.dtype == object:
            kept = np.array(kept.tolist())
        full = np.full(len(y), kept[0], dtype=kept.dtype)
        full[known] = kept
        return full, known
