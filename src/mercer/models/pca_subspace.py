"""Uses of a fitted kernel PCA: coordinates, projections, errors, and pre-images."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from ..chunks.base import Chunks
from ..data import Data, as_vectors
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import Nystrom
from ..rkhs.function import RKHSFunction
from ..rkhs.preimages import preimage
from ..rkhs.subspace import Subspace
from ..solvers.auto import solve_ridge
from .common import KernelByName
from .preimage import lengthened
from .streamed import predicted


class PrincipalSubspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelByName):
    """The span of principal components; a subclass finds them."""

    kernel: Any
    alpha: float
    fit_inverse_transform: bool
    kernel_: Any
    X_fit_: Data
    subspace_: Subspace
    eigenvalues_: np.ndarray
    gram_: Any
    solution_: Any
    _totals: tuple[float, float]
    _stream: tuple[Any, ...]
    _affine: tuple[Any, ...]

    @abstractmethod
    def _plan(self) -> Plan:
        """Where matrices live."""

    def transform(self, X: Data) -> np.ndarray:
        """The coordinates <phi(x) - mu, v_j> of every sample, shape (m, n_components).

        X may come in :class:`~mercer.chunks.Chunks`.
        """
        if isinstance(X, Chunks):
            check_is_fitted(self)
            return predicted(self.transform, X)
        X = self._checked(X)
        return in_precision_of(X, self.subspace_.coordinates(X))

    def project(self, X: Data) -> RKHSFunction:
        """The projections P phi(x) = mu + sum_j <phi(x) - mu, v_j> v_j as functions in H_k.

        One function for each sample, all with the same centres: the training samples, or the
        landmarks. ``project(X).coef`` has one column per sample.
        """
        return self.subspace_.project(self._checked(X))

    def reconstruction_error(self, X: Data) -> np.ndarray:
        """||phi(x) - P phi(x)||^2 for every sample: large if components do not explain it.

        The (weighted) mean over the training samples is the variance that is not explained.
        """
        if isinstance(X, Chunks):
            check_is_fitted(self)
            return predicted(self.reconstruction_error, X)
        X = self._checked(X)
        if self.kernel == "precomputed":
            raise ValueError(
                "reconstruction_error needs k(x, x) of new samples, which a precomputed matrix "
                "does not contain; pass the kernel itself."
            )
        return self.subspace_.squared_distances(X)

    def score_samples(self, X: Data) -> np.ndarray:
        """Minus the reconstruction error: small for novelties."""
        return -self.reconstruction_error(X)

    def inverse_transform(self, X: Any, **options: Any) -> Any:
        """Samples whose coordinates are close to X, shape (m, n_components).

        By :func:`mercer.preimage` of the functions with these coordinates, which takes the
        options; with ``fit_inverse_transform`` by the regression learned in ``fit``, as in
        scikit-learn. A better regression is :class:`~mercer.LearnedPreImage`.
        """
        check_is_fitted(self)
        X = check_array(X, dtype=(np.float64, np.float32))
        if self.fit_inverse_transform:
            return in_precision_of(X, self._inverse.cross(X) @ self.dual_coef_)
        if X.shape[1] != self._n_features_out:
            raise ValueError(
                f"X has {X.shape[1]} coordinates, but there are {self._n_features_out} components."
            )
        return self._preimages(X, **options)

    def denoise(self, X: Data, *, lengthen: bool | None = None, **options: Any) -> Any:
        """What is left of samples when everything outside the components is removed.

        The pre-image of the projection P phi(x), by :func:`mercer.preimage`: iterative methods
        start at x itself. Samples that are not vectors become the nearest training samples.

        Parameters
        ----------
        X : data
            Noisy samples.
        lengthen : bool, optional
            Noise draws P phi(x) towards the mean; undo that by giving P phi(x) the mean norm it
            has on the training samples, where it is shorter. By default for stationary kernels,
            whose features all have one norm. For clean samples set it to False.
        **options
            ``method``, ``tol``, ``max_iter``, ... of :func:`mercer.preimage`.
        """
        X = self._checked(X)
        scores = self.subspace_.coordinates(X)
        if lengthen is None:
            lengthen = self.subspace_.kernel.properties.stationary.value is True
        if lengthen:
            variance = float(np.sum(self.explained_variance_))
            scores = lengthened(scores, self.subspace_.offset, variance)
        found = self._preimages(scores, **{"start": X, **options})
        return in_precision_of(X, found) if isinstance(found, np.ndarray) else found

    def _preimages(self, scores: np.ndarray, **options: Any) -> Any:
        if self.kernel == "precomputed":
            raise ValueError(
                "with a precomputed matrix there are no samples to return; pass the kernel "
                "itself, or call mercer.preimage(model.project(K_new)).index for the index of "
                "the nearest."
            )
        return preimage(self.subspace_.combine(scores), **options).x

    @property
    def components_(self) -> RKHSFunction:
        """The functions v_1, v_2, ..., of norm one and orthogonal to each other."""
        check_is_fitted(self)
        return self.subspace_.axes

    @property
    def mean_(self) -> RKHSFunction:
        """The mean mu of the features."""
        check_is_fitted(self)
        return self.subspace_.center

    @property
    def explained_variance_(self) -> np.ndarray:
        """The variance of each coordinate."""
        check_is_fitted(self)
        return self.eigenvalues_ / self._totals[0]

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """The share of each component in the variance of the features."""
        check_is_fitted(self)
        total = self._totals[1]
        return self.eigenvalues_ / total if total > 0 else np.zeros_like(self.eigenvalues_)

    @property
    def _n_features_out(self) -> int:
        return len(self.eigenvalues_)

    # ---- parts ---------------------------------------------------------------------------
    def _learn_inverse(self, scores: np.ndarray, weights: np.ndarray | None) -> None:
        X = as_vectors(self.X_fit_, "fit_inverse_transform")
        if sp.issparse(X):
            raise ValueError("fit_inverse_transform: sparse input is not supported.")
        self.X_transformed_fit_ = scores
        self._inverse = self._inverse_gram()
        solution = solve_ridge(self._inverse, X, float(self.alpha), weights)
        self.dual_coef_ = solution.warn().coef

    def _inverse_gram(self) -> Any:
        kernel = self.kernel_.kernel if isinstance(self.kernel_, Nystrom) else self.kernel_
        return kernel.gram(self.X_transformed_fit_, self._plan().exact())


def in_precision_of(X: Data, values: np.ndarray) -> np.ndarray:
    """The values in single precision, if X is."""
    single = getattr(X, "dtype", None) == np.float32
    return values.astype(np.float32) if single else values
