"""What kernel machines share: reading data, solving for each target, keeping few samples."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..checks import check_choice, check_count, check_number, check_positive
from ..chunks.base import Chunks
from ..data import Data
from ..exceptions import IndefiniteKernelWarning, warn
from ..gram.plan import Plan
from ..kernels.indefinite import PROBED, STATIONARY, has_negative
from ..losses.base import Loss
from ..losses.named import as_loss
from ..params import copy_params
from ..solvers.dual import ON_FEATURES
from ..solvers.held_out import leave_one_out
from ..solvers.representer import SOLVERS, MachineSolution, matrices_of, solve_representer
from .by_loss import ByLoss
from .common import (
    KernelEstimator,
    by_features,
    check_class_weights,
    check_data,
    check_targets,
    check_weights,
)
from .kept import KEPT, KeepsSamples
from .labels import check_labels
from .streamed import (
    as_chunks,
    beside_coordinates,
    coded,
    head,
    machine_by_passes,
    surveyed,
)


class RepresenterMachine(KeepsSamples, KernelEstimator):
    """Common base of estimators whose solution is f = sum_i c_i k(x_i, .) + b."""

    saved_state: ClassVar[tuple[str, ...]] = (
        *KEPT,
        "intercept_",
        "n_iter_",
        "_targets",
        "_weights",
    )

    # set by the constructors of subclasses
    kernel: Any
    alpha: float
    fit_intercept: bool
    tol: float
    max_iter: int | None
    plan: Plan | None

    _targets: Any  # of all samples, if these are kept
    _weights: Any

    # ---- the parts of fit ------------------------------------------------------------------
    def _check_parameters(self) -> None:
        """Check parameters before any work."""
        check_positive("alpha", self.alpha)
        check_number("tol", self.tol, "> 0", lambda tol: tol > 0)
        check_count("max_iter", self.max_iter, also=(None,))

    def _check_X(self, X: Data) -> Data:
        """Samples; of chunks the first ones tell."""
        self._check_parameters()
        checked = check_data(self, head(X), self.kernel, reset=True)
        return X if isinstance(X, Chunks) else checked

    def _chunks(self, X: Data, y: Any, sample_weight: Any) -> Data:
        """X, or, if they come in chunks, samples with targets and weights."""
        chunks = as_chunks(X, y, sample_weight, self.plan)
        return X if chunks is None else chunks

    def _check_fit(self, X: Data, y: Any) -> tuple[Data, Any]:
        """Samples and numbers; None for those that come with chunks."""
        X = self._check_X(X)
        if isinstance(X, Chunks):
            loss = getattr(self, "loss_", None)
            seen = surveyed(X, labels=False, loss=loss)
            if seen.targets is not None:
                raise ValueError("y must have one dimension.")
            if loss is not None and not seen.totals[1]:
                loss.check_targets(np.zeros(1), None, self.fit_intercept)
            return X, None
        return X, column_or_1d(check_targets(self, X, y), warn=True)

    def _check_labels(
        self, X: Data, y: Any, sample_weight: Any
    ) -> tuple[Data, Any, np.ndarray | None]:
        """Samples, codes of the classes, and weights; None for those that come with chunks."""
        X = self._check_X(X)
        if isinstance(X, Chunks):
            return coded(self, X, self._is_joint), None, None
        y, codes = check_labels(self, X, y)
        weights = check_weights(sample_weight, y, getattr(self, "class_weight", None))
        check_class_weights(self.classes_, codes, weights)
        return X, codes, weights

    def _make_gram(self, X: Data, loss: Loss | None = None, solver: str = "auto") -> Any:
        """The operator, with room for what the solver of a loss makes of it."""
        room = 0 if loss is None else matrices_of(loss, solver, self.fit_intercept)
        plan, kernel = self.plan or Plan(), self._as_kernel(head(X))
        if solver in ON_FEATURES:
            plan = by_features(plan, kernel, head(X), solver)
        gram: Any = plan.beside(room).gram(kernel, X)
        self.X_fit_, self.gram_, self.kernel_ = X, gram, gram.kernel
        return gram

    def _solve(
        self,
        loss: Loss,
        y: np.ndarray,
        weights: np.ndarray | None,
        solver: str = "auto",
        beside: dict[str, Any] | None = None,
    ) -> MachineSolution:
        solution = solve_representer(
            self.gram_, y, loss, float(self.alpha), weights, intercept=self.fit_intercept,
            solver=solver, tol=self.tol, max_iter=self.max_iter, **(beside or {}),
        )  # fmt: skip
        solution.warn()
        if solution.stats["method"] in ("dual", "admm") and self._indefinite(solution.coef):
            solution.stats.pop("gap", None)
            warn(STATIONARY, IndefiniteKernelWarning)
        return solution

    def _indefinite(self, coef: np.ndarray) -> bool:
        """Is the kernel not known to be positive definite, and K indefinite where f is made of?"""
        psd = self.kernel_.properties.psd
        support = np.flatnonzero(coef.any(axis=1))
        if psd or psd.no or not len(support):
            return False
        some = np.unique(support[np.linspace(0, len(support) - 1, PROBED).astype(int)])
        return has_negative(np.asarray(self.gram_.block(some, some), dtype=np.float64))

    def _solve_all(
        self, losses: list[Loss], columns: list[Any], weights: Any, solver: str = "auto"
    ) -> list[MachineSolution]:
        """One problem for each column of targets; together, where features are streamed."""
        if not self.gram_.streamed:
            pairs = zip(losses * (len(columns) // len(losses)), columns, strict=True)
            beside = None
            if solver in ON_FEATURES:
                beside = beside_coordinates(self, losses[0], len(columns))
            return [self._solve(loss, y, weights, solver, beside) for loss, y in pairs]
        if solver not in ("auto", "newton"):
            raise ValueError(
                f"solver={solver!r} does not support features that are never stored; use 'auto', "
                "or a plan with more memory."
            )
        joint = losses[0].targets == "classes"
        scores = len(self.classes_) if joint else len(columns)
        y = None
        if columns[0] is not None:
            same = joint or len(losses) > 1
            y = columns[0] if same or len(columns) == 1 else np.stack(columns, axis=1)
        return [machine_by_passes(self, self.gram_, losses, y, weights, scores)]

    def _is_joint(self, classes: int) -> bool:
        """Is there a joint loss of the scores of this many classes?"""
        return classes > 2

    def _keep(self, solutions: list[MachineSolution]) -> None:
        """Coefficients side by side, and the worst of the certificates; K is let go."""
        span = self._keep_samples(self.gram_, self.X_fit_)
        if span is not None:
            solutions = [
                replace(
                    s,
                    coef=span.express(s.coef) if s.weights is None else span.combine(s.weights),
                    weights=None,
                )
                for s in solutions
            ]
            self._targets = self._weights = None
        coef = np.hstack([s.coef for s in solutions])
        intercept = np.concatenate([s.intercept for s in solutions])
        one = len(intercept) == 1
        self.dual_coef_ = coef[:, 0] if one else coef
        self.intercept_ = float(intercept[0]) if one else intercept
        self.n_iter_ = max(1, *(s.n_iter for s in solutions))
        self.solution_ = max(solutions, key=lambda s: s.stats["violation"])
        self.gram_ = self.gram_.detached()  # a fitted model does not hold K

    def _leave_one_out(self, loss: Loss, columns: list[np.ndarray]) -> np.ndarray:
        """Scores at each training sample by the model of all others, one column of y at a time."""
        C, b = self.dual_coef_.reshape(len(self.dual_coef_), -1), np.atleast_1d(self.intercept_)
        each = C.shape[1] // len(columns)
        parts = [slice(j * each, (j + 1) * each) for j in range(len(columns))]
        gram = self.gram_.detached()
        F = np.hstack([
            leave_one_out(
                gram, C[:, part], b[part], y, loss, float(self.alpha), self._weights,
                intercept=self.fit_intercept,
            )
            for part, y in zip(parts, columns, strict=True)
        ])  # fmt: skip
        return F[:, 0] if self.dual_coef_.ndim == 1 else F

    def _need_each(self) -> None:
        """Leave-one-out needs all samples."""
        check_is_fitted(self)
        self._need_all(
            "use sklearn.model_selection.cross_val_predict, or plan=Plan("
            'storage="dense") without a rank',
        )


class LossMachine(ByLoss, RepresenterMachine):
    """Those whose loss is a parameter."""

    saved_state = (*RepresenterMachine.saved_state, "loss_", "classes_")
    solver: str

    def _read(self, X: Data, y: Any, sample_weight: Any) -> Data:
        """Samples; loss, targets and weights are kept."""
        check_choice("solver", self.solver, SOLVERS)
        self.loss_ = copy_params(as_loss(self.loss))
        kind = self.loss_.targets
        if self.solver == "newton" and not self.loss_.smooth:
            raise ValueError(f'solver="newton" needs a smooth loss, got {self.loss_!r}.')
        if kind in ("sign", "classes"):
            X, self._targets, weights = self._check_labels(X, y, sample_weight)
        else:
            X, self._targets = self._check_fit(X, y)
            weights = None
            if self._targets is not None:
                weights = check_weights(sample_weight, self._targets)
                self.loss_.check_targets(self._targets, weights, self.fit_intercept)
        self._weights = weights
        return X

    def leave_one_out(self) -> np.ndarray:
        """f(x_i) + b at each training sample by the model trained on all the others.

        Exact for the squared loss. For other smooth losses this is one Newton step from the fit on
        all samples (:mod:`mercer.solvers.held_out`): close where no sample matters much.
        """
        self._need_each()
        return self._two_sided(self._leave_one_out(self.loss_, self._columns()))

    def _is_joint(self, classes: int) -> bool:
        return self.loss_.targets == "classes"

    def _columns(self) -> list[Any]:
        """The targets of each problem: signs of one class against the rest, if there are many."""
        if self.loss_.targets != "sign":
            return [self._targets]
        k = len(self.classes_)
        ones = [1] if k == 2 else range(k)
        if self._targets is None:  # they come with the samples
            return [None for _ in ones]
        return [np.where(self._targets == one, 1.0, -1.0) for one in ones]
