"""What models of several views share: views as they are given, scores, correlations of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import combinations
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._set_output import _wrap_data_with_container
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from ..checks import check_choice, check_count
from ..data import Data, as_dense, length
from ..exceptions import DomainError, NumericalWarning, warn
from ..frames import all_numbers
from ..kernels.vectors.dot import Linear
from ..solvers.views import FORMS
from ..tensors import TakesTensors
from .common import check_data, without_masks


@cache
def one_view(model: str) -> type[BaseEstimator]:
    """What remembers number and names of the columns of one view, for scikit-learn's checks."""
    return type(model, (BaseEstimator,), {})


class ViewMethods(ABC):
    """What can be done with several views; apart from the mixins, which would wrap its outputs."""

    n_components: int
    correlations_: np.ndarray
    _columns: list[dict[str, Any]]

    @abstractmethod
    def fit(self, X: Any, y: Data = None, sample_weight: Any = None) -> Self:
        """Fit to a list of views, or to two of them."""

    @abstractmethod
    def project(self, X: Data, view: int = 0) -> np.ndarray:
        """Scores of new samples in one view, shape (m, n_components)."""

    @abstractmethod
    def _shares(self, X: Data, view: int, Q: np.ndarray) -> np.ndarray:
        """The share of the variance of a view along each column of an orthonormal Q."""

    def transform(self, X: Any, y: Data = None) -> Any:
        """Scores of new samples, centred as in training.

        Parameters
        ----------
        X : list of data
            One data set per view; or the first of two.
        y : data, optional
            The second view.

        Returns
        -------
        tuple of ndarray of shape (m, n_components)
            One array per view. An array or table on its own is taken for the first view, and its
            scores are returned as one array.
        """
        check_is_fitted(self)
        if y is None and not isinstance(X, list | tuple):
            return self._table(self.project(X), X)
        found = self._new_views(X, y)
        return tuple(self._table(self.project(view, m), view) for m, view in enumerate(found))

    def fit_transform(self, X: Any, y: Data = None, sample_weight: Any = None) -> Any:
        """Fit, and return the scores of the training samples."""
        return self.fit(X, y, sample_weight).transform(X, y)

    def correlations(self, X: Any, y: Data = None, *, pairwise: bool = False) -> np.ndarray:
        """Correlations between the scores of the views, on any samples.

        Parameters
        ----------
        X, y
            As in :meth:`transform`.
        pairwise : bool
            Return the correlations of all pairs of views instead of their mean.

        Returns
        -------
        ndarray of shape (n_components,), or (n_components, M, M) if ``pairwise``
        """
        check_is_fitted(self)
        found = self._new_views(X, y)
        R = correlate([self.project(view, m) for m, view in enumerate(found)])
        return R if pairwise else mean_correlation(R)

    @without_masks
    def score(self, X: Any, y: Data = None) -> float:
        """The mean of :meth:`correlations` over pairs of views and components."""
        return float(self.correlations(X, y).mean())

    def explained_variance(self, X: Any, y: Data = None) -> list[np.ndarray]:
        """The share of the variance of each view that its scores explain, on any samples.

        Each component gets what it adds to those before it, in a least-squares regression of the
        (features of the) view on the scores.

        Returns
        -------
        list of ndarray of shape (n_components,)
        """
        check_is_fitted(self)
        shares = []
        for m, view in enumerate(self._new_views(X, y)):
            scores = self.project(view, m)
            Q, _ = np.linalg.qr(scores - scores.mean(axis=0))
            shares.append(self._shares(view, m, Q))
        return shares

    # ---- checks ----------------------------------------------------------------------------
    def _table(self, scores: np.ndarray, X: Data) -> Any:
        """Scores as the kind of table that ``set_output`` requests."""
        return _wrap_data_with_container("transform", scores, X, self)

    def _new_views(self, X: Any, y: Data) -> list[Data]:
        found = as_views(X, y)
        if len(found) != len(self._columns):
            raise ValueError(
                f"the model was fitted to {len(self._columns)} views, got {len(found)}; "
                f"project(X, view) gives the scores of one."
            )
        return found

    def _check_number(self, view: int) -> None:
        check_is_fitted(self)
        check_count("view", view, 0, len(self._columns) - 1)

    def _check_view(self, X: Data, m: int, kernel: Any, *, reset: bool) -> Data:
        """One view in the form its kernel needs; errors say which view it is."""
        one = one_view(type(self).__name__)()
        if not reset:
            one.__dict__.update(self._columns[m])
            if getattr(X, "ndim", 0) == 1 and self._columns[m].get("n_features_in_", 1) > 1:
                raise ValueError(
                    f"view {m}: expected a 2D array, got a 1D array, which is one column. Reshape "
                    f"your data with X.reshape(1, -1) if it is one sample."
                )
        with in_view(m):
            X = check_data(one, as_column(X), kernel, reset=reset)
        if reset:
            self._columns[m] = dict(one.__dict__)
        return X

    def _dense(self, X: Data, m: int, *, reset: bool) -> np.ndarray:
        """One view as an array of numbers."""
        return as_dense(Linear().prepare(self._check_view(X, m, Linear(), reset=reset)))

    def _arrays(
        self, views: list[Data], sample_weight: Any
    ) -> tuple[list[np.ndarray], np.ndarray | None, np.ndarray]:
        """Views as arrays, weights, and the share of every sample; their columns are remembered."""
        self._columns = [{} for _ in views]
        arrays = [self._dense(X, m, reset=True) for m, X in enumerate(views)]
        n = len(arrays[0])
        weights = check_weights(sample_weight, n)
        return arrays, weights, np.full(n, 1 / n) if weights is None else weights / weights.sum()

    def _check_parameters(self, views: list[Data], regularization: Any, form: str) -> np.ndarray:
        """The regularization of every view."""
        k, M, n = self.n_components, len(views), length(views[0])
        if n < 2:
            raise ValueError(f"a correlation needs at least 2 samples, got n_samples={n}.")
        if check_count("n_components", k) >= n:
            raise ValueError(f"n_components must be at most {n - 1} with {n} samples, got {k}.")
        check_choice("form", form, FORMS)
        try:
            r = np.atleast_1d(np.asarray(regularization, dtype=float))
        except (TypeError, ValueError):
            r = np.array([np.nan])
        if not np.all(np.isfinite(r)) or np.any(r < 0):
            raise ValueError(f"regularization must be >= 0 and finite, got {regularization!r}.")
        if r.shape not in ((1,), (M,)):
            raise ValueError(
                f"regularization must be one number or one per view ({M}), got shape {r.shape}."
            )
        return np.broadcast_to(r, (M,))


class MultiViewModel(
    TakesTensors, ViewMethods, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """A model with the same number of scores in every view of paired samples."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True  # the second view
        tags.input_tags.sparse = True
        return tags

    @property
    def n_features_in_(self) -> int:
        """The number of columns of the first view, if it has any."""
        return self._of_first_view("n_features_in_")

    @property
    def feature_names_in_(self) -> np.ndarray:
        """The names of the columns of the first view, if they have any."""
        return self._of_first_view("feature_names_in_")

    def _of_first_view(self, name: str) -> Any:
        columns = self.__dict__.get("_columns") or [{}]
        if name not in columns[0]:
            raise AttributeError(f"{type(self).__name__} has no {name}.")
        return columns[0][name]

    def _restore(self) -> None:
        """What :func:`mercer.load` calls: nothing but the saved state is needed."""

    @property
    def _n_features_out(self) -> int:
        return len(self.correlations_)


@contextmanager
def in_view(m: int) -> Iterator[None]:
    """Errors of what is done with a view say which one it is."""
    try:
        yield
    except ValueError as error:
        raise type(error)(f"view {m}: {error}") from None


def as_views(X: Any, y: Data = None) -> list[Data]:
    """The list of views, from such a list or from two data sets; at least two, of one length."""
    if y is None and not isinstance(X, list | tuple):
        raise ValueError(
            "two views are needed: X alone requires y to be passed, but the target y is None; else "
            "X must be a list of two or more data sets with one row per sample."
        )
    found = list(X) if y is None else [X, y]
    found = [np.asarray(view) if _is_array_like(view) else view for view in found]
    if len(found) < 2 or not all(map(_is_sample, found)):
        raise ValueError(
            "views must be a list of two or more data sets with one row per sample; two of them "
            "can also be given as X, y."
        )
    lengths = [length(X) for X in found]
    if len(set(lengths)) > 1:
        raise ValueError(
            f"views must have the same number of samples, since they are paired; got {lengths}."
        )
    return found


def _is_array_like(X: Any) -> bool:
    return hasattr(X, "__array__") and not hasattr(X, "__len__")


def _is_sample(X: Data) -> bool:
    return sp.issparse(X) or (hasattr(X, "__len__") and not isinstance(X, str | bytes | dict))


def as_column(X: Data) -> Data:
    """Numbers in one dimension as a column; everything else as it is."""
    line = getattr(X, "ndim", 0) == 1 and not sp.issparse(X)
    if line and (getattr(X.dtype, "kind", "O") in "biuf" or all_numbers(list(X))):
        return np.asarray(X)[:, None]
    return X


def check_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    """Weights of the samples, of which at least two must not vanish; None if all are equal."""
    if sample_weight is None:
        return None
    weights = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64)
    if np.any(weights < 0) or np.count_nonzero(weights) < 2:
        raise ValueError("sample_weight must be >= 0, and > 0 for at least two samples.")
    return None if np.all(weights == weights[0]) else weights


def check_variance(m: int, variance: float, raw: float) -> None:
    """Refuse a view whose features are the same for all samples, or have no squares."""
    if not np.isfinite(variance):
        raise DomainError(
            f"the values of view {m} are so large that their squares overflow (the variance is "
            f"{variance}); divide it by a constant."
        )
    if not variance > 1e-13 * raw:
        raise ValueError(
            f"view {m} does not vary: all its samples have the same features, so nothing can be "
            f"correlated with it. Leave it out."
        )


def warn_if_trivial(ranks: Sequence[int], regularization: np.ndarray, p: np.ndarray) -> None:
    """Without regularization, two views that span more than all samples are correlated by 1."""
    samples = int(np.count_nonzero(p))
    for (r, a), (s, b) in combinations(zip(ranks, regularization, strict=True), 2):
        if a == 0 and b == 0 and r + s >= samples:
            warn(
                f"with regularization=0 and ranks {r} and {s}, two views of {samples} samples have "
                f"correlation 1 whatever the data are; set regularization > 0.",
                NumericalWarning,
            )
            return


def correlate(scores: Sequence[np.ndarray]) -> np.ndarray:
    """Correlations of every pair of views by component, (k, M, M); 0 with constant scores."""
    T = np.stack(scores).transpose(2, 0, 1)  # (k, M, m)
    T = T - T.mean(axis=2, keepdims=True)
    norms = np.linalg.norm(T, axis=2, keepdims=True)
    T = np.divide(T, norms, out=np.zeros_like(T), where=norms > 0)
    return T @ T.transpose(0, 2, 1)


def mean_correlation(R: np.ndarray) -> np.ndarray:
    """The mean over pairs of different views, by component."""
    M = R.shape[1]
    return (R.sum(axis=(1, 2)) - np.trace(R, axis1=1, axis2=2)) / (M * (M - 1))
