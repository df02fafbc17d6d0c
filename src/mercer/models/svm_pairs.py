"""Classification by pairs of classes: one two-class machine each, votes, certificates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_array, check_consistent_length, compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function, check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d

from ..data import Data, take
from ..gram.tiles import run
from ..progress import counted
from ..solvers.blocks import Blocks
from ..solvers.smo import BoxSolution
from .calibration import Calibration
from .svm_base import SupportVectorMachine

_ALONE = 5000  # samples from which a pair of classes has all cores to itself


@dataclass(frozen=True)
class DualReport:
    """The certificate of one two-class problem.

    Attributes
    ----------
    classes : tuple
        The two classes, the negative one first.
    primal, dual : float
        Values of the two problems at the solution; the optimum lies between them.
    gap : float
        primal - dual.
    margin : float
        2 / ||w||, the width of the margin.
    free, bounded : int
        Support vectors on the margin, and inside it or misclassified.
    intercept : float
        b, from complementary slackness.
    violation : float
        Largest violation of the optimality conditions; in the nu form that of its own problem, in
        which the margin is not yet scaled to 1.
    n_iter : int
        Two-variable steps taken.
    """

    classes: tuple[Any, Any]
    primal: float
    dual: float
    gap: float
    margin: float
    free: int
    bounded: int
    intercept: float
    violation: float
    n_iter: int


@dataclass(frozen=True)
class PairFit:
    """The solution of one two-class problem: its samples, dual coefficients, certificate."""

    index: np.ndarray
    beta: np.ndarray
    report: DualReport


def _has_probabilities(machine: Any) -> bool:
    if not machine.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class VectorClassifier(ClassifierMixin, SupportVectorMachine):
    """What the two classifiers share: one problem per pair of classes, and voting."""

    saved_state: ClassVar[tuple[str, ...]] = (
        *SupportVectorMachine.saved_state,
        "classes_",
        "class_weight_",
        "reports_",
        "_pair_coef",
        "_pair_intercept",
        "_calibration",
    )

    class_weight: Any
    decision_function_shape: str
    break_ties: bool
    probability: bool
    random_state: Any

    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit one two-class problem for each pair of classes."""
        X = self._check_X(X)
        codes, weights = self._encode(X, y, sample_weight)
        # one class after the other: the samples of a pair are then two slices of the data
        order = np.argsort(codes, kind="stable") if self.kernel != "precomputed" else None
        at = slice(None) if order is None else order
        fits = self._fit_pairs(self._blocks(X, order), codes[at], weights[at])
        if order is not None:
            fits = [replace(fit, index=order[fit.index]) for fit in fits]
        self._assemble(X, codes, fits)
        if self.probability:
            self._calibration = self._cross_fit(X, codes, sample_weight)
        return self

    def _encode(self, X: Data, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels as 0..k-1, and the weight of each sample, that of its class included."""
        self._check_parameters()
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None), warn=True)
        check_classification_targets(y)
        check_consistent_length(X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(self.classes_)} class"
            )
        self.class_weight_ = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        weights = np.ones(len(y))
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, y, dtype=np.float64).copy()
            if np.any(weights < 0):
                raise ValueError("sample_weight must be >= 0.")
        weights = weights * self.class_weight_[codes]
        alive = np.bincount(codes[weights > 0], minlength=len(self.classes_)) > 0
        if not alive.all():
            raise ValueError(
                "Invalid input - all samples of a class have zero or negative weights."
            )
        return codes, weights

    def _fit_pairs(
        self,
        blocks: Blocks,
        codes: np.ndarray,
        weights: np.ndarray,
        starts: list[np.ndarray] | None = None,
    ) -> list[PairFit]:
        """The problems "j against i" for all pairs of classes i < j, on all cores."""
        pairs = list(combinations(range(len(self.classes_)), 2))
        members = [np.flatnonzero((codes == i) & (weights > 0)) for i in range(len(self.classes_))]
        fits: list[Any] = [None] * len(pairs)

        def one(p: int) -> None:
            i, j = pairs[p]
            index = np.concatenate([members[i], members[j]])
            y = np.repeat([-1.0, 1.0], [len(members[i]), len(members[j])])
            start = np.zeros(len(y)) if starts is None else starts[p]
            beta, report = self._solve_pair(blocks.subset(index), y, weights[index], start)
            classes = (self.classes_[i : i + 1].tolist()[0], self.classes_[j : j + 1].tolist()[0])
            fits[p] = PairFit(index, beta, DualReport(classes, *report))

        sizes = np.array([len(members[i]) + len(members[j]) for i, j in pairs])
        each = counted(one, len(pairs), self.verbose and len(pairs) > 1, "pairs of classes")
        for p in np.flatnonzero(sizes > _ALONE).tolist():  # worth all cores each
            each(p)
        several = np.flatnonzero(sizes <= _ALONE)
        run(each, several[np.argsort(-sizes[several], kind="stable")].tolist())
        return fits

    def _cross_fit(self, X: Data, codes: np.ndarray, sample_weight: Any) -> Calibration:
        """Scores of each sample by machines that have not seen it, turned into probabilities."""
        folds = StratifiedKFold(5, shuffle=True, random_state=self.random_state)
        machine = clone(self).set_params(probability=False)
        smallest = np.bincount(codes).min()
        if smallest < 2:
            raise ValueError("probability=True needs at least two samples of every class.")
        folds.n_splits = int(min(5, smallest))
        k = len(self.classes_)
        scores = np.empty((len(codes), k if k > 2 else 1))
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        for train, test in folds.split(np.empty(len(codes)), codes):
            w = None if weights is None else weights[train]
            part = machine.fit(self._rows(X, train, train), codes[train], w)
            f = part._pair_scores(self._rows(X, test, train))
            scores[test] = f if k == 2 else _ovr_decision_function(f > 0, f, k)
        return Calibration().fit(scores, codes, weights)

    def _rows(self, X: Data, rows: np.ndarray, cols: np.ndarray) -> Data:
        return X[np.ix_(rows, cols)] if self.kernel == "precomputed" else take(X, rows)

    def _assemble(self, X: Data, codes: np.ndarray, pairs: list[PairFit]) -> None:
        """Coefficients in LIBSVM's layout: classes in turn, a row per opponent."""
        k = len(self.classes_)
        used = np.zeros(len(codes), bool)
        for fit in pairs:
            used[fit.index[fit.beta != 0]] = True
        support = np.flatnonzero(used)
        support = support[np.argsort(codes[support], kind="stable")]
        place = np.empty(len(codes), np.intp)
        place[support] = np.arange(len(support))
        self.n_support_ = np.bincount(codes[support], minlength=k).astype(np.int32)
        self._pair_coef = np.zeros((len(support), len(pairs)))
        self.dual_coef_ = np.zeros((k - 1, len(support)))
        sign = 1.0 if k == 2 else -1.0  # LIBSVM's first class is positive for k > 2
        for p, (i, j) in enumerate(combinations(range(k), 2)):
            active = np.flatnonzero(pairs[p].beta)
            index, beta = pairs[p].index[active], pairs[p].beta[active]
            at = place[index]
            self._pair_coef[at, p] = beta
            self.dual_coef_[np.where(codes[index] == i, j - 1, i), at] = sign * beta
        self._pair_intercept = np.array([fit.report.intercept for fit in pairs])
        self.intercept_ = self._pair_intercept * (1.0 if k == 2 else -1.0)
        self.reports_ = [fit.report for fit in pairs]
        self.n_iter_ = np.array([r.n_iter for r in self.reports_], dtype=np.int32)
        self.fit_status_ = int(any(r.violation >= self.tol for r in self.reports_))
        self._keep(X, support)

    def decision_path(self) -> list[DualReport]:
        """The certificate of each two-class problem: primal, dual, gap, margin, intercept."""
        check_is_fitted(self)
        return self.reports_

    def decision_function(self, X: Data) -> np.ndarray:
        """Signed scores: (m,) for two classes, else one column per class ("ovr") or pair."""
        f = self._pair_scores(X)
        if len(self.classes_) == 2:
            return f[:, 0]
        if self.decision_function_shape == "ovo":
            return -f
        return _ovr_decision_function(f > 0, f, len(self.classes_))

    def _pair_scores(self, X: Data) -> np.ndarray:
        """One column per pair (i, j), positive for class j."""
        check_is_fitted(self)
        return self._values(X, self._pair_coef) + self._pair_intercept

    def _functions(self) -> np.ndarray:
        return self._pair_coef.T * (1.0 if len(self.classes_) == 2 else -1.0)

    def predict(self, X: Data) -> np.ndarray:
        """The class with most votes; ties go to the first, or by score with ``break_ties``."""
        f = self._pair_scores(X)
        k = len(self.classes_)
        if k == 2:
            return self.classes_[(f[:, 0] > 0).astype(int)]
        if self.break_ties or self.probability:
            return self.classes_[np.argmax(_ovr_decision_function(f > 0, f, k), axis=1)]
        return self.classes_[np.argmax(count_votes(f, k), axis=1)]

    @available_if(_has_probabilities)
    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of the classes; the most probable one is what ``predict`` returns."""
        f = self._pair_scores(X)
        k = len(self.classes_)
        return self._calibration.probabilities(f if k == 2 else _ovr_decision_function(f > 0, f, k))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))

    def _check_parameters(self) -> None:
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f'decision_function_shape must be "ovr" or "ovo", got '
                f"{self.decision_function_shape!r}."
            )
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    def _solve_pair(
        self, K: Blocks, y: np.ndarray, weights: np.ndarray, start: np.ndarray
    ) -> tuple[np.ndarray, tuple]:
        raise NotImplementedError


def count_votes(f: np.ndarray, k: int) -> np.ndarray:
    """Votes for each of k classes from scores of the pairs (i, j), positive for j."""
    votes = np.zeros((len(f), k), dtype=int)
    for p, (i, j) in enumerate(combinations(range(k), 2)):
        votes[:, j] += f[:, p] > 0
        votes[:, i] += f[:, p] <= 0
    return votes


def report_of(solution: BoxSolution, y: np.ndarray, C: np.ndarray, b: float) -> tuple:
    """The numbers of a :class:`DualReport` for the soft-margin problem with bounds C."""
    beta = solution.beta
    f = solution.gradient + y  # K beta
    squared = float(beta @ f)
    slack = np.maximum(0.0, 1 - y * (f + b))
    finite = np.isfinite(C)
    primal = squared / 2 + float(np.sum(np.where(finite, C, 0.0) * slack))
    dual = float(np.abs(beta).sum()) - squared / 2
    bounded = int(np.sum(finite & (np.abs(beta) >= C)))
    free = int(np.sum(beta != 0)) - bounded
    margin = 2 / np.sqrt(squared) if squared > 0 else np.inf
    return (
        primal,
        dual,
        primal - dual,
        float(margin),
        free,
        bounded,
        b,
        solution.violation,
        solution.n_iter,
    )
