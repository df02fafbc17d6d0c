"""Novelty detection on streams: the one-class support vector machine, sample by sample."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from ..checks import check_fraction, check_positive
from ..data import Data, join, length, take
from ..losses.base import Dual, Piecewise
from ..ownership import owned
from .common import OutlierDetector, all_or_nothing, check_data, check_stream_weights
from .online_base import OnlineModel

_ROUNDING = 1e-13  # of scores, as a part of the sum of their terms in size
_RECENT = 1000  # samples over which the edge of the region is a quantile, from
_ENOUGH = 10  # of them below it on


class _Outside(Piecewise):
    """max(0, -f): samples on the wrong side of 0."""

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(np.zeros_like(y), -1.0, 0.0)


@dataclass(eq=False, repr=False)
class OnlineOneClassSVM(OutlierDetector, OnlineModel):
    r"""One-class support vector machine on a stream, in memory that does not grow.

    .. math:: \min_{f, \rho} \mathrm{E} \max(0, \rho - f(x)) - \nu \rho
              + \tfrac{\alpha}{2} \|f\|^2

    f and rho move with every sample as in :class:`OnlineKernelMachine`, with -rho as the intercept:
    rho grows by nu eta_t, and falls by up to eta_t when a sample lies outside, so that a fraction
    nu of them does in the long run. Single steps change rho too much for a stable region, so from
    10 / nu samples on ``offset_`` uses the nu-quantile of f over the last 1000 samples.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel on samples of any kind, a name known to scikit-learn, or a function of two samples.
    nu : float
        In (0, 1): the fraction of samples that lie outside.
    alpha : float
        Strength of the penalty, > 0: f is of the size nu / alpha.
    eta, schedule, update, budget, removal, average
        As in :class:`OnlineKernelMachine`, but eta is a number, so steps are single ones unless
        ``update="newton"``. By default, step sizes are 1 / (alpha t), with which f is the mean of
        the contributions of all samples; ``"constant"`` is for data that drift.

    Attributes
    ----------
    offset_ : float
        rho: ``decision_function(X) = score_samples(X) - offset_``.
    X_fit_, dual_coef_, intercept_, n_samples_seen_, kernel_, rkhs_function_
        As in :class:`OnlineKernelMachine`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OnlineOneClassSVM
    >>> rng = np.random.default_rng(0)
    >>> model = OnlineOneClassSVM(nu=0.1)
    >>> for _ in range(10):
    ...     model = model.partial_fit(rng.standard_normal((200, 2)))
    >>> model.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])

    References
    ----------
    Kivinen, Smola & Williamson, *Online learning with kernels*, 2004.
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    nu: float = 0.1
    alpha: float = 1.0
    eta: float = 1.0
    schedule: str = "inverse"
    update: str = "implicit"
    budget: int | str = 500
    removal: str = "merge"
    average: bool | float = False

    saved_state: ClassVar[tuple[str, ...]] = (*OnlineModel.saved_state, "_recent")

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """One pass over the samples, from the beginning; y is ignored."""
        self._forget()
        return self._take(X, sample_weight)

    @all_or_nothing
    def partial_fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue with more samples; y is ignored."""
        return self._take(X, sample_weight)

    @property
    def offset_(self) -> float:
        """rho."""
        return -self.intercept_

    def score_samples(self, X: Data) -> np.ndarray:
        """f(x), larger where data are dense."""
        return self._values(X) + self.offset_

    def decision_function(self, X: Data) -> np.ndarray:
        """f(x) - rho: positive inside the region."""
        return self._values(X)

    def _publish(self) -> None:
        """Implicit steps leave samples on the boundary, which rounding must not put outside."""
        super()._publish()
        size = np.abs(self.dual_coef_).sum() * self._state.diag.max(initial=0.0)
        self.intercept_ += _ROUNDING * float(size)
        self._predictor = self.X_fit_, self.dual_coef_, self.intercept_

    def _take(self, X: Data, sample_weight: Any) -> Self:
        first = not hasattr(self, "_state")
        self._check_parameters()
        check_positive("eta", self.eta)
        check_fraction("nu", self.nu)
        X = check_data(self, X, self.kernel, reset=first, keep=False)
        weights = check_stream_weights(X, sample_weight, begun=not first)
        if first:
            self._begin(X, 1, 0.0)
        y = np.zeros((length(X), 1))
        self._learn(X, _Outside(), y, weights, lean=float(self.nu))
        self._remember(X, weights, first)
        return self

    def _remember(self, X: Data, weights: np.ndarray, first: bool) -> None:
        """Keep the last samples, and put the boundary where a fraction nu of them lies outside."""
        recent: Any = None if first else self._recent
        used = np.flatnonzero(weights)[-_RECENT:]
        if len(used):
            X, weights = take(X, used), weights[used]
            if recent is not None:
                X, weights = join(recent[0], X), np.append(recent[1], weights)
            last = slice(max(length(X) - _RECENT, 0), length(X))
            recent = owned(take(X, last)), weights[last]
        self._recent: Any = recent
        if recent is None or self.nu * length(recent[0]) < _ENOUGH:
            return
        points, coef, _ = self._predictor
        scores = np.asarray(self.kernel_.gram(points).cross(recent[0]) @ coef)
        order = np.argsort(scores)
        below = np.cumsum(recent[1][order])
        edge = int(np.searchsorted(below, self.nu * below[-1], side="right"))
        size = float(np.abs(coef).sum() * self._state.diag.max(initial=0.0))
        self.intercept_ = _ROUNDING * size - float(scores[order[min(edge, len(order) - 1)]])
        self._predictor = points, coef, self.intercept_
