"""Classification by pairs of classes: a two-class machine for each, votes, certificates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from ..chunks.base import Chunks
from ..data import Data, take
from ..gram.rows import RowGram
from ..gram.tiles import cores, on_pool, run
from ..progress import counted
from ..randomness import as_random_state
from ..solvers.box import BoxProblem, BoxSolution
from ..solvers.dual import ON_FEATURES
from .calibration import Calibration
from .common import (
    Classifier,
    all_or_nothing,
    check_class_weights,
    check_data,
    check_factors,
    check_weights,
    no_chunks,
)
from .labels import check_labels
from .streamed import predicted
from .svm_base import SupportVectorMachine
from .svm_report import REST, DualReport

_ALONE = 5000  # samples from which a pair of classes has all cores to itself

Solved = tuple[BoxSolution, DualReport]  # of the margin 1, and its certificate


@dataclass(frozen=True)
class PairFit:
    """The solution of one two-class problem: its samples, dual coefficients, certificate.

    ``trouble`` says why the solver stopped early, if it did.
    """

    index: np.ndarray
    beta: np.ndarray
    report: DualReport
    trouble: str


def _has_probabilities(machine: Any) -> bool:
    fitted = hasattr(machine, "classes_")
    if not (hasattr(machine, "_calibration") if fitted else machine.probability):
        again = ": fit again with probability=True" if fitted and machine.probability else ""
        raise AttributeError(f"predict_proba is not available when probability=False{again}")
    return True


@dataclass(eq=False, repr=False)
class VectorClassifier(Classifier, SupportVectorMachine):
    """Common base of both classifiers: one problem per pair of classes and votes, or per class."""

    _: KW_ONLY
    probability: bool = False
    class_weight: Any = None
    multiclass: str = "ovo"
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    random_state: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (
        *SupportVectorMachine.saved_state,
        "classes_",
        "class_weight_",
        "_calibration",
    )

    _pairs = True

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit one two-class problem for each pair of classes, or for each class."""
        chunks = self._as_chunks(X, y, sample_weight)
        if chunks is not None:
            return self._fit_chunks(chunks)
        X = self._check_X(X)
        codes, weights = self._encode(X, y, sample_weight)
        # one class after the other: the samples of a pair are then two slices of the data, of which
        # rows of K are computed; of features, of which rows are visited, all orders are alike
        sorts = self.kernel != "precomputed" and not self._by_features
        order = np.argsort(codes, kind="stable") if sorts else None
        at = slice(None) if order is None else order
        K = self._blocks(X, order)
        fits = self._fit_pairs(K, codes[at], weights[at])
        if order is not None:
            fits = [replace(fit, index=order[fit.index]) for fit in fits]
        self._keep(X, self._assemble(codes, fits), K if order is None else None)
        self._certify([fit.report for fit in fits], [fit.trouble for fit in fits])
        self.__dict__.pop("_calibration", None)
        if self.probability:
            self._calibration = self._cross_fit(X, codes, sample_weight)
        return self

    def _fit_chunks(self, chunks: Chunks) -> Self:
        """All pairs of classes in common passes."""
        raise no_chunks(self)

    def _encode(self, X: Data, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels as 0..k-1, and the weight of each sample, that of its class included."""
        self._check_parameters()
        y, codes = check_labels(self, X, y)
        factors = np.ones(len(self.classes_))
        if self.class_weight is not None:
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=y)
        self.class_weight_ = check_factors(factors, self.class_weight)
        weights = self.class_weight_[codes]
        if (own := check_weights(sample_weight, y)) is not None:
            weights = weights * own
        check_class_weights(self.classes_, codes, weights)
        return codes, weights

    def _fit_pairs(
        self,
        blocks: RowGram,
        codes: np.ndarray,
        weights: np.ndarray,
        starts: list[np.ndarray] | None = None,
        kept: dict[int, RowGram] | None = None,
    ) -> list[PairFit]:
        """The problems "j against i" for all pairs of classes i < j, on all cores.

        Or "j against the rest", i = -1, for all classes j. Samples of weight zero are left out.
        ``kept`` holds the kernel matrices of the problems between calls.
        """
        pairs, k = self._contests(), len(self.classes_)
        members = [np.flatnonzero((codes == i) & (weights > 0)) for i in range(k)]
        fits: list[Any] = [None] * len(pairs)
        errors: dict[int, ValueError] = {}

        def sides(p: int) -> list[np.ndarray]:
            i, j = pairs[p]
            return members if i < 0 else [members[i], members[j]]

        def task(p: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            index = np.sort(np.concatenate(sides(p)))
            y = np.where(codes[index] == pairs[p][1], 1.0, -1.0)
            return index, y, np.zeros(len(y)) if starts is None else starts[p]

        def one(p: int) -> None:
            if errors and p > min(list(errors)):  # the first pair that fails is named, on any cores
                return
            i, j = pairs[p]
            index, y, start = task(p)
            K = kept[p] if kept and p in kept else blocks.subset(index)
            if kept is not None:
                kept[p] = K
            K.limit = blocks.limit / share
            labels = self.classes_.tolist()
            classes = (REST if i < 0 else labels[i], labels[j])
            try:
                solution, report = self._solve_pair(K, y, weights[index], start, **ahead[p])
            except ValueError as error:
                if len(pairs) == 1:
                    raise
                which = f"classes {classes[0]!r} and {classes[1]!r}"
                which = f"class {classes[1]!r} against the rest" if i < 0 else which
                errors[p] = ValueError(f"{which}: {error}")
                errors[p].__cause__ = error
                return
            report = replace(report, classes=classes)
            fits[p] = PairFit(index, solution.beta, report, solution.trouble)

        ahead: list[dict[str, BoxSolution]] = [{} for _ in pairs]
        if blocks.card is not None:
            tasks = [task(p) for p in range(len(pairs))]
            ahead = self._ahead(blocks, tasks, weights)
        sizes = np.array([sum(map(len, sides(p))) for p in range(len(pairs))])
        each = counted(one, len(pairs), self.verbose and len(pairs) > 1, self._problems)
        share = 1  # of the memory: so many are solved at the same time
        alone = sizes > (np.inf if self.solver in ON_FEATURES else _ALONE)
        for p in np.flatnonzero(alone).tolist():  # worth all cores each
            each(p)
        several = np.flatnonzero(~alone)
        share = 1 if on_pool() else min(blocks.workers or cores(), max(1, len(several)))
        run(each, several[np.argsort(-sizes[several], kind="stable")].tolist(), blocks.workers)
        if errors:
            raise errors[min(errors)]
        return fits

    def _ahead(
        self, blocks: RowGram, tasks: Sequence[tuple[np.ndarray, ...]], weights: np.ndarray
    ) -> list[dict[str, BoxSolution]]:
        """Solutions found on a device, all at once, for :meth:`_solve_pair`."""
        problems = [self._problem(y, weights[index], start) for index, y, start in tasks]
        if any(problem is None for problem in problems):
            return [{} for _ in tasks]
        known: Any = problems
        found = self._solve_together(blocks, known, [index for index, _, _ in tasks])
        return [{"found": solution} for solution in found]

    def _problem(self, y: np.ndarray, weights: np.ndarray, start: np.ndarray) -> BoxProblem | None:
        """The programme of a pair, if it is a single one."""
        return None

    def _cross_fit(self, X: Data, codes: np.ndarray, sample_weight: Any) -> Calibration:
        """Probabilities, calibrated on scores of each sample by machines not trained on it."""
        w = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        alive = np.flatnonzero(w > 0)
        smallest = int(np.bincount(codes[alive]).min())
        if smallest < 2:
            raise ValueError("probability=True needs at least two samples of every class.")
        from sklearn.model_selection import StratifiedKFold  # takes long to import

        folds = StratifiedKFold(
            min(5, smallest), shuffle=True, random_state=as_random_state(self.random_state)
        )
        machine = clone(self).set_params(probability=False)
        for name in ("callback", "checkpoint", "validation"):
            setattr(machine, name, None)  # those of the fit to all samples
        k = len(self.classes_)
        scores = np.empty((len(codes), k if k > 2 else 1))
        for parts in folds.split(alive, codes[alive]):
            train, test = (alive[part] for part in parts)
            machine.fit(self._rows(X, train, train), self.classes_[codes[train]], w[train])
            scores[test] = machine._class_scores(machine._pair_scores(self._rows(X, test, train)))
        return Calibration().fit(scores[alive], codes[alive], w[alive])

    def _rows(self, X: Data, rows: np.ndarray, cols: np.ndarray) -> Data:
        return X[np.ix_(rows, cols)] if self.kernel == "precomputed" else take(X, rows)

    def _assemble(self, codes: np.ndarray, fits: list[PairFit]) -> np.ndarray:
        """Coefficients in LIBSVM's layout, class by class, a row per opponent; support vectors.

        For machines against the rest, one row each.
        """
        k = len(self.classes_)
        used = np.zeros(len(codes), bool)
        for fit in fits:
            used[fit.index[fit.beta != 0]] = True
        support = np.flatnonzero(used)
        support = support[np.argsort(codes[support], kind="stable")]
        place = np.empty(len(codes), np.intp)
        place[support] = np.arange(len(support))
        self.n_support_ = np.bincount(codes[support], minlength=k).astype(np.int32)
        self.dual_coef_ = np.zeros((k if self._each else k - 1, len(support)))
        for (i, j), fit in zip(self._contests(), fits, strict=True):
            active = np.flatnonzero(fit.beta)
            index = fit.index[active]
            opponent = j if i < 0 else np.where(codes[index] == i, j - 1, i)
            self.dual_coef_[opponent, place[index]] = self._sign * fit.beta[active]
        self.intercept_ = self._sign * np.array([fit.report.intercept for fit in fits])
        return support

    @property
    def _each(self) -> bool:
        """Is there one machine for each class? For two classes, both ways are the same."""
        return self.multiclass == "ovr" and len(self.classes_) > 2

    @property
    def _problems(self) -> str:
        """The kind of problems, in words."""
        each = self.multiclass == "ovr"
        return "classes against the rest" if each else "pairs of classes"

    def _contests(self) -> list[tuple[int, int]]:
        """The classes of each problem, the negative one first: -1 stands for all the others."""
        k = len(self.classes_)
        return [(-1, j) for j in range(k)] if self._each else list(combinations(range(k), 2))

    @property
    def _sign(self) -> float:
        """LIBSVM's first class is the negative one of two, and positive among more."""
        return 1.0 if len(self.classes_) == 2 or self._each else -1.0

    def decision_function(self, X: Data) -> np.ndarray:
        """Signed scores: (m,) for two classes, else one column per class ("ovr") or pair."""
        f = self._pair_scores(X)
        if len(self.classes_) == 2:
            return f[:, 0]
        return -f if self.decision_function_shape == "ovo" else self._class_scores(f)

    def _class_scores(self, f: np.ndarray) -> np.ndarray:
        """One column per class from the scores of all problems; a single one for two classes."""
        k = len(self.classes_)
        return f if k == 2 or self._each else _ovr_decision_function(f > 0, f, k)

    def _pair_scores(self, X: Data) -> np.ndarray:
        """One column per pair (i, j), or per class j, positive for class j."""
        if isinstance(X, Chunks):
            check_is_fitted(self)
            return predicted(self._pair_scores, X)
        if hasattr(self, "_passes"):
            X = check_data(self, X, self.kernel, reset=False)
            f: np.ndarray = self.gram_.cross(X) @ self.dual_coef_.T + self.intercept_
            return self._sign * f
        return self._combine(self._values(X))

    def _combine(self, sums: np.ndarray) -> np.ndarray:
        """Scores of the problems from sums over the support vectors of each class."""
        return self._sign * (self._joined(sums) + self.intercept_)

    def _joined(self, sums: np.ndarray) -> np.ndarray:
        if self._each:
            return sums.sum(axis=1)
        i, j = np.triu_indices(len(self.classes_), 1)
        return sums[:, i, j - 1] + sums[:, j, i]

    def _functions(self) -> np.ndarray:
        k, coef = len(self.classes_), self.dual_coef_
        if self._each or hasattr(self, "_passes"):
            return coef
        of = np.repeat(np.arange(k), self.n_support_)
        rows = [
            np.where(of == i, coef[j - 1], np.where(of == j, coef[i], 0.0))
            for i, j in combinations(range(k), 2)
        ]
        return np.stack(rows)

    def predict(self, X: Data) -> np.ndarray:
        """The class with most votes, or, of machines against the rest, with the largest score.

        Ties of votes go to the first, or by score with ``break_ties``.
        """
        f = self._pair_scores(X)
        return self.classes_[self._winners(f)]

    def _winners(self, f: np.ndarray) -> np.ndarray:
        k = len(self.classes_)
        if k == 2:
            return (f[:, 0] > 0).astype(int)
        scores = self._each or self.break_ties
        return np.argmax(self._class_scores(f) if scores else count_votes(f, k), axis=1)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of the classes, calibrated on held-out scores.

        ``predict`` uses the sign of the scores, which depends on class weights and costs of errors;
        near the boundary the most probable class may be another one.
        """
        return self._calibration.probabilities(self._class_scores(self._pair_scores(X)))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Logarithms of :meth:`predict_proba`."""
        return np.log(self.predict_proba(X))

    def _check_parameters(self) -> None:
        if self.multiclass not in ("ovo", "ovr"):
            raise ValueError(f'multiclass must be "ovo" or "ovr", got {self.multiclass!r}.')
        if self.multiclass == "ovr" and self.decision_function_shape == "ovo":
            raise ValueError(
                'decision_function_shape="ovo" needs machines for pairs of classes; use '
                'multiclass="ovo", or decision_function_shape="ovr".'
            )
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ValueError(
                f'decision_function_shape must be "ovr" or "ovo", got '
                f"{self.decision_function_shape!r}."
            )
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")

    def _solve_pair(
        self, K: RowGram, y: np.ndarray, weights: np.ndarray, start: np.ndarray
    ) -> Solved:
        """The problem "+1 against -1", from a feasible start."""
        raise NotImplementedError


def count_votes(f: np.ndarray, k: int) -> np.ndarray:
    """Votes for each of k classes from scores of the pairs (i, j), positive for j."""
    i, j = np.triu_indices(k, 1)
    pair = np.arange(len(i))
    moved = np.zeros((len(pair), k), np.float32)  # what a positive score changes
    moved[pair, j], moved[pair, i] = 1, -1
    return (f > 0).astype(np.float32) @ moved + np.arange(k - 1, -1, -1, dtype=np.float32)
