"""Which samples a fitted model keeps: all of them, or a few that span all functions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..chunks.arrays import ArrayChunks
from ..chunks.base import Chunks
from ..data import Data, length
from ..gram.base import Gram
from ..gram.device.torch_ import HOST
from ..gram.plan import Plan
from ..gram.span import Span
from ..gram.streamed import Centres, StreamedGram
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..rkhs.function import RKHSFunction
from .common import SEEN, check_data, seen_columns
from .streamed import predicted

KEPT = ("kernel_", "X_fit_", "dual_coef_", "n_samples_seen_", *SEEN)  # what they save, at least

_AT_ONCE = 10_000_000  # features of new samples that are there at a time
_ROUNDING = 1e-7  # of k(x, x), to which functions of few samples are known


def few_gram(kernel: Any, X: Data, plan: Plan | None) -> Any:
    """The operator of few samples that span all, as features, like that of all samples."""
    return kernel.gram(X, (plan or Plan()).exact().replace(storage="lowrank"))


def unseen(kernel: Kernel, X: Data, seen: np.ndarray) -> np.ndarray:
    """k(x, x) less the part of it that features of the training samples have; rounding is 0."""
    prior = kernel.diag(kernel.prepare(X)).astype(np.float64)
    return np.where(prior - seen > _ROUNDING * prior, prior - seen, 0.0)


def _crossed(gram: Any, coef: np.ndarray, X: Data) -> np.ndarray:
    """K(X, samples) @ coef."""
    return gram.cross(X) @ coef


class KeepsSamples:
    """Common base of models with f = sum_i c_i k(x_i, .) and one kernel.

    Where the operator of the training samples is a product of M features, f is a sum over M samples
    as well (:meth:`~mercer.gram.base.Gram.span`), and no more are kept.
    """

    _keeps_all = False  # set on a model that is later asked for results that need all samples

    kernel: Any
    plan: Plan | None
    dual_coef_: np.ndarray
    intercept_: Any
    kernel_: Kernel
    X_fit_: Data
    gram_: Any
    n_samples_seen_: int

    def _keep_samples(self, gram: Any, X: Data) -> Span | None:
        """Keep X, or a few samples that span the same functions, and those are returned."""
        vars(self).pop("_stream", None)  # of an earlier partial_fit
        span: Span | None = None if self._keeps_all and not gram.streamed else gram.span()
        self._keep_span(span, gram, X)
        return span

    def _keep_span(self, span: Span | None, gram: Any, X: Data) -> None:
        self.kernel_, self.n_samples_seen_ = gram.kernel, len(gram)
        self.X_fit_ = X if span is None else span.points(X)
        self.gram_ = gram if span is None else self._few()

    def _keep_function(self, gram: Any, X: Data, coef: np.ndarray) -> None:
        """Keep sum_i c_i k(x_i, .), by all samples or by a few; K is let go."""
        span = self._keep_samples(gram, X)
        self.dual_coef_ = coef if span is None else span.express(coef)
        self.gram_ = self.gram_.detached()

    @property
    def _has_all(self) -> bool:
        streamed = getattr(self, "_stream", None) is not None
        return not streamed and length(self.X_fit_) >= self.n_samples_seen_

    def _need_all(self, remedy: str) -> None:
        """Refuse what needs samples that were not kept."""
        if not self._has_all:
            raise ValueError(
                f"leave_one_out() needs all {self.n_samples_seen_} training samples, but this "
                f"model keeps only the {length(self.X_fit_)} that its features need; {remedy}."
            )

    def _few(self) -> Gram:
        plan = (self.plan or Plan()).exact()
        if isinstance(self.kernel_, Nystrom) and plan.device_for(self.kernel_, self.X_fit_) != HOST:
            plan = plan.replace(storage="streamed")  # whose factor is made if it is needed
            return plan.gram(self.kernel_, self.X_fit_)
        return few_gram(self.kernel_, self.X_fit_, self.plan)

    def _restore(self) -> None:
        """Called by :func:`mercer.load`: the operator is rebuilt, not stored."""
        if not hasattr(self, "n_samples_seen_"):  # a file that had all samples, always
            self.n_samples_seen_ = length(self.X_fit_)
        self.gram_ = self.kernel_.gram(self.X_fit_, self.plan) if self._has_all else self._few()

    def _values(self, X: Data) -> np.ndarray:
        """f(x) + b for every sample of X."""
        return self._evaluate(X) + self.intercept_

    def _evaluate(self, X: Data) -> np.ndarray:
        """f(x), of any number of samples, or of samples in chunks; one row for each."""
        check_is_fitted(self)
        chunks = X if isinstance(X, Chunks) else None
        if chunks is None:
            X = check_data(self, X, self.kernel, reset=False)
            there = isinstance(self.kernel_, Nystrom) and self.gram_.device != HOST
            few = length(X) * length(self.X_fit_) <= _AT_ONCE and not there
            if self._has_all or few:
                return self.gram_.cross(X) @ self.dual_coef_
            chunks = ArrayChunks(X)
        f = self._function(self.dual_coef_)
        if isinstance(self.kernel_, Nystrom) and not self._has_all:
            plan = self.plan or Plan()
            device = plan.device_for(f.kernel, f.points)
            centres = Centres(f.kernel, f.points, device, plan.precision)
            return StreamedGram(centres, chunks, self.gram_.workers) @ f.coef
        return predicted(partial(_crossed, self.gram_, self.dual_coef_), chunks)

    @property
    def rkhs_function_(self) -> RKHSFunction:
        """The fitted function, without the intercept if there is one, as an element of H_k."""
        check_is_fitted(self)
        return self._function(self.dual_coef_)

    def _function(self, coef: np.ndarray) -> RKHSFunction:
        """sum_i c_i k(x_i, .): of k itself where the samples are its landmarks."""
        kernel = self.kernel_
        if isinstance(kernel, Nystrom) and not self._has_all:
            kernel = kernel.kernel
        return RKHSFunction(kernel, self.X_fit_, coef, columns=seen_columns(self))
