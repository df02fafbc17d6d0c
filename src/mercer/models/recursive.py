"""Streams for models on features: recursive ridge and logistic regression (``partial_fit``)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.metaestimators import available_if

from ..data import Data, join, length
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..gram.span import LandmarkSpan, SampleSpan, Span
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.approximate.rules import Approximated
from ..kernels.base import Kernel
from ..ownership import owned
from ..solvers.recursive import Posterior, RidgeMoments
from ..solvers.representer import MachineSolution
from .common import (
    all_or_nothing,
    check_data,
    check_stream_labels,
    check_stream_weights,
    check_targets,
)
from .kept import few_gram

_MOST = 20_000  # features of which a matrix is kept


class StreamedFeatures:
    """What models share that see a stream through the features of a kernel, and keep few samples.

    Landmarks, and parameters of the kernel that depend on data, come from the first chunk, unless
    they are given.
    """

    kernel: Any
    plan: Plan | None
    kernel_: Kernel
    X_fit_: Data
    gram_: Any
    n_samples_seen_: int
    _as_kernel: Any
    _stream: tuple

    def _first(self) -> bool:
        return not hasattr(self, "_stream")

    def _begin(self, X: Data) -> None:
        """The kernel with its features."""
        kernel, plan = self._as_kernel(X), self.plan or Plan()
        if plan.few is not None and not isinstance(kernel, Nystrom | Approximated):
            kernel = plan.through(kernel)
        self.kernel_ = kernel.resolve(X)
        count = self.kernel_.n_features(self.kernel_.prepare(X))
        if count is None or count > _MOST:
            raise ValueError(
                f"partial_fit needs a kernel with few features, and {kernel!r} has "
                f"{'infinitely many' if count is None else count}; give the model "
                f"plan=Plan(rank=500), whose landmarks come from the first chunk, "
                f"plan=Plan(features=RandomFourier(500)), or kernel=Nystrom(kernel, landmarks)."
            )
        self.n_samples_seen_ = 0
        if isinstance(self.kernel_, Nystrom):
            self.X_fit_ = owned(self.kernel_.reference)

    def _phi(self, X: Data) -> np.ndarray:
        """Features, in double precision."""
        phi: Any = self.kernel_.features(self.kernel_.prepare(X))
        phi = phi.toarray() if sp.issparse(phi) else phi
        require_memory(8 * phi.shape[1] ** 2, "a matrix of the features")
        return phi.astype(np.float64, copy=False)

    def _spanned(self, X: Data) -> Span:
        """Keep samples that span the features of all so far, once X has been seen, too."""
        self.n_samples_seen_ += length(X)
        if isinstance(self.kernel_, Nystrom):
            self.gram_ = few_gram(self.kernel_, self.X_fit_, self.plan)
            return LandmarkSpan(self.gram_)
        kept = getattr(self, "X_fit_", None)
        full = kept is not None and length(kept) == self.gram_.phi.shape[1]
        points = kept if full else owned(X) if kept is None else join(kept, X)
        span = SampleSpan(few_gram(self.kernel_, points, self.plan))
        self.X_fit_ = span.points(points)
        self.gram_ = few_gram(self.kernel_, self.X_fit_, self.plan)
        return span


class StreamedRidge(StreamedFeatures):
    """``partial_fit`` of kernel ridge regression."""

    alpha: Any
    dual_coef_: np.ndarray
    _check_alpha: Any
    _axes: Any
    _spectrum: Any

    @available_if(lambda self: "alpha" in self.get_params(deep=False))  # not where it is chosen
    @all_or_nothing
    def partial_fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Go on with more samples, in memory that does not grow with their number.

        The kernel needs finitely many features: landmarks, of a :class:`~mercer.Nystrom` kernel or
        of ``Plan(rank=M)``, which the first chunk supplies; random ones,
        ``Plan(features=RandomFourier(M))``; or its own. Phi' W Phi and Phi' W y are added up, so
        the result is that of :meth:`fit` on all samples with the same features, to rounding. What
        :meth:`fit` has found before is not a part of the stream.
        """
        first = self._first()
        X = check_data(self, X, self.kernel, reset=first, keep=False)
        Y = check_targets(self, X, y, np.float64)
        weights = check_stream_weights(X, sample_weight, begun=not first)
        flat, Y = Y.ndim == 1, Y.reshape(len(Y), -1)
        alphas = self._check_alpha(Y.shape[1])
        if np.any(alphas <= 0):
            raise ValueError(f"partial_fit needs alpha > 0, got {self.alpha!r}.")
        if first:
            vars(self).pop("X_fit_", None)
            self._begin(X)
        phi = self._phi(X)
        seen = RidgeMoments.empty(phi.shape[1], Y.shape[1])
        seen = seen if first else RidgeMoments(*self._stream)
        if seen.products.shape[1] != Y.shape[1]:
            raise ValueError(
                f"y has {Y.shape[1]} targets, but the chunks before had {seen.products.shape[1]}."
            )
        seen = seen.take_in(phi, Y, weights)
        solution = seen.solve(alphas)
        coef = self._spanned(X).combine(solution.coef)
        self._stream, self._noise = tuple(seen), alphas
        self._axes = self._spectrum = None
        self.dual_coef_ = coef[:, 0] if flat else coef
        solution.coef = coef
        self.solution_ = solution
        return self

    def _find_axes(self) -> None:
        """What variances need of Phi' W Phi, when they are first asked for."""
        if self._axes is None:
            landmarks = isinstance(self.kernel_, Nystrom)
            span = LandmarkSpan(self.gram_) if landmarks else SampleSpan(self.gram_)
            self._spectrum, self._axes = span.axes(self._stream[0])


class StreamedLogistic(StreamedFeatures):
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

    @all_or_nothing
    def partial_fit(self, X: Data, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go on with more samples, in memory that does not grow with their number.

        The kernel needs finitely many features, as for :meth:`KernelRidge.partial_fit`. A normal
        distribution of their weights, with a precision matrix of order M (times the number of
        classes, if there are more than two), stands for all chunks before; it is exact for the
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
