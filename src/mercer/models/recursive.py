"""Streams for models on features, and recursive ridge regression (``partial_fit``)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from ..data import Data, as_dense, join, length
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..gram.span import LandmarkSpan, SampleSpan, Span
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.approximate.rules import Approximated
from ..kernels.base import Kernel
from ..ownership import owned
from ..solvers.recursive import RidgeMoments
from .common import all_or_nothing, check_data, check_stream_weights, check_targets
from .kept import few_gram

_LANDMARKS = 500  # of kernels that have too many features, unless a plan says something else
_MOST = 5_000  # features of its own with which a kernel is taken as it is


def _is_given(model: Any) -> bool:
    """Is the kernel itself given, and not a matrix of its values?"""
    return not (isinstance(model.kernel, str) and model.kernel == "precomputed")


class StreamedFeatures:
    """What models share that see a stream through the features of a kernel, and keep few samples.

    Landmarks, and parameters of the kernel that depend on data, come from the first chunk, unless
    they are given. A kernel without few features is seen through 500 landmarks.
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
        if not isinstance(kernel, Nystrom | Approximated):
            known = kernel.resolve(X)
            count = known.n_features(known.prepare(X))
            if count is None or count > (_MOST if plan.few is None else plan.few):
                plan = plan.replace(rank=_LANDMARKS) if plan.few is None else plan
                kernel = plan.through(kernel)
        self.kernel_ = kernel.resolve(X)
        self.n_samples_seen_ = 0
        if isinstance(self.kernel_, Nystrom):
            self.X_fit_ = owned(self.kernel_.reference)

    def _phi(self, X: Data) -> np.ndarray:
        """Features, in double precision."""
        phi = as_dense(self.kernel_.features(self.kernel_.prepare(X)))
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


class RecursiveRidge(StreamedFeatures):
    """``partial_fit`` of kernel ridge regression."""

    alpha: Any
    dual_coef_: np.ndarray
    _check_alpha: Any
    _axes: Any
    _spectrum: Any
    _moments: np.ndarray | None = None

    @available_if(lambda self: _is_given(self) and "alpha" in self.get_params(deep=False))
    @all_or_nothing
    def partial_fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Continue with more samples, in memory that does not grow with their number.

        The kernel is seen through finitely many features: those of a :class:`~mercer.Nystrom`
        kernel; of the plan, ``Plan(rank=M)`` or ``Plan(features=RandomFourier(M))``; its own, if
        these are few; or of 500 landmarks. Landmarks come from the first chunk. Phi' W Phi and
        Phi' W y are added up, so the result is that of :meth:`fit` on all samples with the same
        features, to rounding. Earlier results of :meth:`fit` are not part of the stream.
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
                f"y has {Y.shape[1]} targets, but earlier chunks had {seen.products.shape[1]}."
            )
        seen = seen.take_in(phi, Y, weights)
        solution = seen.solve(alphas)
        coef = self._spanned(X).combine(solution.coef)
        self._stream, self._noise = tuple(seen), alphas
        self._axes = self._spectrum = self._moments = None
        self.dual_coef_ = coef[:, 0] if flat else coef
        solution.coef = coef
        self.solution_ = solution
        return self

    def _remember(self, span: Any, moments: np.ndarray | None) -> None:
        """Phi' W Phi for variances: its eigenvectors take longer than a fit through landmarks."""
        self._axes = self._spectrum = self._moments = None
        if moments is not None and isinstance(self.kernel_, Nystrom):
            self._moments = moments
        elif moments is not None:
            self._spectrum, self._axes = span.axes(moments)

    def _find_axes(self) -> None:
        """The parts of Phi' W Phi that variances need, computed on first use."""
        stream = getattr(self, "_stream", None)
        moments = self._moments if stream is None else stream[0]  # before others, who let it go
        if self._axes is not None:
            return
        if moments is None:
            raise ValueError(
                'variances need the matrix Phi\' W Phi, which solver="falkon" does not form; fit '
                'with solver="primal".'
            )
        landmarks = isinstance(self.kernel_, Nystrom)
        span = LandmarkSpan(self.gram_) if landmarks else SampleSpan(self.gram_)
        if stream is None and self.gram_.streamed:  # with features of its own
            span = self.gram_.span()
        self._spectrum, self._axes = span.axes(moments)
        self._moments = None

    def _before_saving(self) -> None:
        """Files have no coordinates that another machine might choose otherwise."""
        if getattr(self, "_moments", None) is not None:
            self._find_axes()
