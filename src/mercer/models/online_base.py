"""Common base of online models: blocks of a stream, samples within a budget, predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..checks import check_choice, check_number, check_positive, is_count
from ..data import Data, length
from ..engine.memory import memory_words, parse_memory, require_memory
from ..exceptions import IndefiniteKernelWarning, MemoryPlanError, NumericalWarning, warn
from ..kernels.base import Kernel
from ..losses.base import Loss
from ..rkhs.function import RKHSFunction
from ..solvers.online import REMOVALS, SCHEDULES, UPDATES, Expansion, schedule
from ..solvers.online_curvature import ARRAYS, Curvature, IndefiniteError
from ..solvers.online_loops import Rule
from .common import SEEN, KernelEstimator, seen_columns
from .online_blocks import BLOCK, Second, first_order, second_order
from .online_samples import KeptSamples

_ETAS = 15.0, 60.0, 3.75, 240.0  # steps that are tried side by side; the first if all are equal
_NEWTON = (0.25, 1.0, 0.0625)
_SECOND = "update='newton' with this budget"
_LARGEST = 2000  # budget for which update="auto" means Newton steps
_EXPLICIT = 15.0  # the one of explicit steps, which longer ones may let diverge


class OnlineModel(KernelEstimator):
    """An estimator whose function is learned sample by sample, within a budget."""

    saved_state: ClassVar[tuple[str, ...]] = (
        *SEEN, "kernel_", "X_fit_", "dual_coef_", "intercept_", "n_samples_seen_", "_iterate",
        "_second", "update_", "_plain",
    )  # fmt: skip

    # set by the constructors of subclasses
    kernel: Any
    alpha: float
    eta: Any
    schedule: str
    update: str
    budget: Any
    removal: str
    average: Any

    X_fit_: Data
    dual_coef_: np.ndarray
    intercept_: Any
    kernel_: Kernel
    n_samples_seen_: int
    update_: str
    _kept: KeptSamples
    _state: Expansion
    _plain = False  # whether steps of second order turned out to be impossible

    @property
    def rkhs_function_(self) -> RKHSFunction:
        """The function learned so far, without the intercept, as an element of H_k."""
        check_is_fitted(self)
        points, coef, _ = self._predictor
        return RKHSFunction(self.kernel_, points, coef, columns=seen_columns(self))

    # ---- predictions -----------------------------------------------------------------------
    def _values(self, X: Data) -> np.ndarray:
        """f(x) + b for every sample of X."""
        X = self._checked(X)
        points, coef, intercept = self._predictor  # at once: another thread may be learning
        return self.kernel_.gram(points).cross(X) @ coef + intercept

    # ---- learning --------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        """Check parameters before any work."""
        check_positive("alpha", self.alpha)
        if not (isinstance(self.eta, str) and self.eta == "auto"):
            check_number("eta", self.eta, '"auto", or > 0 and finite', lambda v: 0 < v < np.inf)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("update", self.update, UPDATES)
        check_choice("removal", self.removal, REMOVALS)
        most = max(self._lengths("explicit")) * self.alpha
        if self.update == "explicit" and self.schedule != "inverse" and most >= 1:
            raise ValueError(
                f"eta * alpha must be < 1 for update='explicit', got {most:.3g}: "
                f"each step multiplies f by 1 - eta alpha."
            )
        if not self._averages_all_or_nothing:
            check_number("average", self.average, "a bool or a number >= 1", lambda v: v >= 1)
        if self.update == "newton" and self.schedule == "inverse":
            raise ValueError(
                "schedule='inverse' divides by alpha, which update='newton' does already; use "
                "'sqrt' or 'constant'."
            )
        if isinstance(self.kernel, str) and self.kernel == "precomputed":
            raise ValueError(
                "an online model needs the kernel itself: the kernel values of later samples "
                "with the kept ones cannot be computed from a precomputed matrix."
            )

    def _lengths(self, update: str) -> tuple[float, ...]:
        """The step sizes to try."""
        if self.eta != "auto":
            return (float(self.eta),)
        if update == "newton":
            return _NEWTON
        return _ETAS if update == "implicit" and self.schedule != "inverse" else (_EXPLICIT,)

    @property
    def _averages_all_or_nothing(self) -> bool:
        return isinstance(self.average, bool | np.bool_)

    def _forget(self) -> None:
        """Discard the state of an earlier stream."""
        for name in (*self.saved_state, "_state", "_kept", "_predictor", "_curvature"):
            self.__dict__.pop(name, None)

    def _begin(self, X: Data, outputs: int, tube: float) -> None:
        """Start with f = 0, and a kernel whose parameters are numbers."""
        self.kernel_ = self._as_kernel(X).resolve(X)
        self._kept = KeptSamples(self.kernel_)
        self._state = Expansion.empty(outputs, tube)
        self.n_samples_seen_ = 0

    def _learn(
        self, X: Data, loss: Loss, y: np.ndarray, weights: np.ndarray,
        intercept: bool = True, lean: float = 0.0, outside: float = -1.0,
    ) -> None:  # fmt: skip
        """Learn from a part of the stream, block by block."""
        outputs = len(self._state.intercept) // len(self._state.losses)
        self.update_ = self._steps(X, outputs)
        stream = loss, X, y, weights
        try:
            self._go_through(self._rule(X, outputs, intercept, lean, outside), *stream)
        except (IndefiniteError, FloatingPointError) as reason:
            if self.update != "auto" or self.update_ != "newton":
                raise
            self._settle_for_less(reason)
            self.update_ = "implicit"
            self._go_through(self._rule(X, outputs, intercept, lean, outside), *stream)
        self.n_samples_seen_ += length(X)
        self._publish()

    def _go_through(
        self, rule: Rule, loss: Loss, X: Data, y: np.ndarray, weights: np.ndarray
    ) -> None:
        """Learn from samples of a stream, and update the state."""
        kept, state = self._kept, replace(self._state.of_lengths(len(rule.scale)))
        if len(kept) > rule.budget:
            raise ValueError(
                f"budget must be at least {len(kept)}, the number of samples already kept, got "
                f"{rule.budget}; fit again with a smaller one."
            )
        if rule.window == 0:
            state.mean = state.mean[:, :0]
        elif not state.mean.shape[1]:  # the average begins now
            state.mean, state.mean_intercept = state.coef, state.intercept
            state.mean_tube, state.span = state.tube.copy(), state.time
        stream = rule, loss, X, y, weights
        if self.update_ == "newton":
            known = getattr(self, "_curvature", None)
            if known is None:
                require_memory(8.0 * ARRAYS * rule.budget**2, _SECOND)
                known = self._known(kept, state, rule)
            if not known.fits(rule):
                known = Second.of(known.curves, state, rule, np.zeros(len(rule.scale)))
            kept, state, known = second_order(self.kernel_, kept, state, known, *stream)
            self.__dict__.pop("_second", None)
            self._kept, self._state, self._curvature = kept, state, known
            return
        for name in ("_curvature", "_second"):
            self.__dict__.pop(name, None)
        if self.removal == "merge" and len(state.gram) != rule.budget:
            require_memory(8.0 * rule.budget**2, "removal='merge' with this budget")
            state = state.known(kept.gram(), rule.budget)
        # the loops write into this matrix: if anything fails, the state as it was has none
        self._state.gram = np.zeros((0, 0))
        self._kept, self._state = first_order(self.kernel_, kept, state, *stream)

    def _steps(self, X: Data, outputs: int) -> str:
        """The kind of steps; chosen here for ``update="auto"``."""
        if self.update != "auto":
            return self.update
        if (
            self._plain
            or self.eta != "auto"
            or self.removal != "merge"
            or self.schedule not in ("auto", "sqrt")
            or not (self._averages_all_or_nothing and self.average)
        ):
            return "implicit"
        budget = self._count(X, outputs * len(_NEWTON), "newton")
        if budget > _LARGEST:
            return "implicit"
        if not hasattr(self, "_curvature"):
            try:
                require_memory(8.0 * ARRAYS * budget**2, _SECOND)
            except MemoryPlanError as reason:
                self._settle_for_less(reason)
                return "implicit"
        return "newton"

    def _settle_for_less(self, reason: Exception) -> None:
        """Take no second-order steps from here on."""
        kind = IndefiniteKernelWarning if isinstance(reason, IndefiniteError) else NumericalWarning
        warn(f"continuing with single steps, as with update='implicit': {reason}", kind)
        self._plain = True

    def _known(self, kept: KeptSamples, state: Expansion, rule: Rule) -> Second:
        """The second moments so far: from a file, or at first from the kept samples."""
        second: Any = getattr(self, "_second", ())
        gram, owed, curves = kept.gram(), np.zeros(len(rule.scale)), Curvature.empty()
        if len(second):
            table, numbers, owed = second
            curves = Curvature.restored(table, numbers, gram)
        elif len(kept):
            each = np.full(len(kept), state.time / len(kept))
            curves = curves.grown(gram, 1.0).later(gram, each, gram.diagonal(), known=True)
            curves = replace(curves, count=self.n_samples_seen_).remade(rule.alpha)
        return Second.of(curves, state, rule, owed)

    def _rule(self, X: Data, outputs: int, intercept: bool, lean: float, outside: float) -> Rule:
        lengths = self._lengths(self.update_)
        every = [schedule(self.schedule, eta, float(self.alpha)) for eta in lengths]
        scale, power = np.array([scale for scale, _ in every]), every[0][1]
        window = float(self.average)
        if self._averages_all_or_nothing:
            window = np.inf if self.average else 0.0
        return Rule(
            scale, power, float(self.alpha), self.update_ != "explicit", bool(intercept),
            float(lean), float(outside), window, self.schedule == "auto" and window > 0,
            self._count(X, outputs * len(lengths), self.update_), REMOVALS[self.removal],
        )  # fmt: skip

    def _count(self, X: Data, rows: int, update: str) -> int:
        """The budget as a number of samples."""
        if is_count(self.budget):
            return int(self.budget)
        try:
            memory = parse_memory(self.budget if isinstance(self.budget, str) else "")
        except ValueError:
            raise ValueError(
                f"budget must be a number of samples, an integer >= 1, or memory like "
                f'"10 MB", got {self.budget!r}.'
            ) from None
        if not isinstance(X, np.ndarray) or X.dtype == object:
            raise ValueError(
                f"budget={self.budget!r}: a budget in bytes needs vectors, whose size is known in "
                "advance; give a number of samples."
            )
        # twice the sample, coefficients and averages, a column of kernel values of a block; K
        each = 2 * X[:1].nbytes + 8 * (4 * rows + BLOCK + 4)
        most = memory / each
        if self.removal == "merge" or update == "newton":
            arrays = ARRAYS if update == "newton" else 1
            most = 2 * memory / (each + np.sqrt(each**2 + 32 * arrays * memory))
        if most < 1:
            raise ValueError(
                f"budget={self.budget!r} does not hold a single sample; at least "
                f"{memory_words(each + 8)} are needed."
            )
        return int(most)

    def _publish(self) -> None:
        """Set the fitted attributes, and the state that is saved to files."""
        state = self._state
        averaged = bool(self.average)
        coef = (state.mean if averaged else state.coef)[state.own].T
        intercept: Any = (state.mean_intercept if averaged else state.intercept)[state.own]
        if coef.shape[1] == 1:
            coef, intercept = coef[:, 0], float(intercept[0])
        self.X_fit_, self.dual_coef_, self.intercept_ = self._kept.X, coef.copy(), intercept
        self._predictor = self.X_fit_, self.dual_coef_, self.intercept_
        self._iterate = (
            state.coef, state.mean, state.intercept, state.mean_intercept,
            state.time, state.tube, state.mean_tube, state.losses, state.span, state.doubt,
        )  # fmt: skip

    def _before_saving(self) -> None:
        """The second moments, as saved to files."""
        known = getattr(self, "_curvature", None)
        self._second = () if known is None else (*known.curves.told(), known.owed)

    def _restore(self) -> None:
        """Called by :func:`mercer.load`: kernel values are recomputed, not stored."""
        if len(self._iterate) == 7:  # a file of version 0.1, of a single length of steps
            *others, tube, mean_tube = self._iterate
            self._iterate = (*others, np.array([tube]), np.array([mean_tube]), np.zeros(1))
        if len(self._iterate) == 8:  # one whose clock never was put back
            self._iterate += (self._iterate[4], np.zeros((np.size(self._iterate[7]), 3)))
        time, span = float(self._iterate[4]), float(self._iterate[8])
        coef, mean, intercept, mean_intercept, _, tube, mean_tube, losses, _, doubt = (
            np.array(part, dtype=np.float64) for part in self._iterate
        )
        m, rows, lengths = length(self.X_fit_), len(intercept), len(np.atleast_1d(losses))
        whole, none, second = (rows, m), (rows, 0), getattr(self, "_second", ())
        if not (
            coef.shape == whole
            and mean.shape in (whole, none)
            and intercept.shape == mean_intercept.shape == (rows,)
            and tube.shape == mean_tube.shape == losses.shape == (lengths,)
            and doubt.shape == (lengths, 3)
            and np.size(self.dual_coef_) * lengths == coef.size
            and all(np.all(np.isfinite(part)) for part in self._iterate)
            and [np.shape(part) for part in second] in ([], [(m, m + 1), (10,), (lengths,)])
            and all(np.all(np.isfinite(part)) for part in second)
        ):
            raise ValueError("the state of an online model does not fit together.")
        self.__dict__.setdefault("update_", self.update)  # of version 0.1
        self._kept = KeptSamples(self.kernel_, self.X_fit_)
        self._predictor = self.X_fit_, self.dual_coef_, self.intercept_
        diag = self.kernel_.diag(self.kernel_.prepare(self.X_fit_)).astype(np.float64)
        self._state = Expansion(
            coef, mean, intercept, mean_intercept, time, tube, mean_tube, losses, span, doubt,
            diag, np.zeros((0, 0)), np.zeros(0, dtype=np.int64),
        )  # fmt: skip
