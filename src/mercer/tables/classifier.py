"""A classifier for tables as they come: numbers, labels and text side by side."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ..data import take
from ..engine.memory import parse_memory
from ..frames import pandas
from ..kernels.base import Kernel
from ..models.common import Classifier
from ..models.svm import SVC
from ..models.svm_cv import SVCCV
from ..progress import progress
from ..solvers.eigen import RidgeSpectrum
from .candidates import linear_kernel, on_table, table_kernels, text_kernels
from .regressor import SEARCH_ROWS, TableModel, exact, few_threads
from .ridge import RidgeClassifier, class_ranks, stratified
from .roles import Table

CS = (0.1, 1.0, 10.0, 100.0)
_FINALISTS = 2  # kernels that a support vector machine is tried with
_INTERCEPT = 1e4  # a constant so large that it is hardly penalised
_MOST_CLASSES = 20  # with more, pairs of classes are too many to try support vector machines
_MOST_STEPS = 5_000_000  # of the solver, on columns that are badly scaled


class Trial(NamedTuple):
    """A setting that was validated; the larger, the better."""

    accuracy: float
    minus_error: float  # minus the mean squared error, which decides between equal accuracies
    kernel: Kernel
    penalty: float

    @property
    def rank(self) -> tuple[float, float]:
        """What trials are compared by."""
        return self.accuracy, self.minus_error


@dataclass(eq=False, repr=False)
class TableClassifier(Classifier, TableModel):
    """A classifier on a table: the kernel, and the machine on it, are chosen by validation.

    Least-squares machines are compared over all kernels first, since their validation has a closed
    form; then support vector machines have a try with the two best kernels, on the same folds.
    With more than 10,000 rows, they are left out, and least squares is of rank 1,000.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel, on columns by name. By default it is chosen among some that suit the columns
        (:mod:`mercer.tables.candidates`).
    alphas, Cs : sequence of float
        The penalties of least squares, and the C of support vector machines, to choose from.
    cv : int
        The number of folds; they are stratified.
    roles, styles, plan, rank, random_state, verbose
        As in :class:`~mercer.tables.regressor.TableRegressor`.

    Attributes
    ----------
    columns_, roles_
        As in :class:`~mercer.tables.regressor.TableRegressor`.
    classes_ : ndarray
        The labels.
    machine_ : SVC or RidgeClassifier
        The model of the complete rows.
    linear_ : RidgeClassifier
        One with a linear kernel, to compare with.
    cv_accuracy_ : float
        The cross-validated share of right labels.
    n_settings_, n_finalists_, n_folds_ : int
        How many kernels were compared, how many of them support vector machines were tried with,
        and the number of folds: fewer than ``cv`` if a class has fewer rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.tables.classifier import TableClassifier
    >>> x = np.linspace(0, 6, 60)
    >>> table = pd.DataFrame({"x": x, "side": ["left", "right"] * 30})
    >>> y = np.where((table["side"] == "left") == (np.sin(x) > 0), "up", "down")
    >>> model = TableClassifier().fit(table, y)
    >>> model.score(table, y) > 0.9
    True
    """

    _: KW_ONLY
    Cs: Any = CS

    saved_state: ClassVar[tuple[str, ...]] = (*TableModel.saved_state, "classes_", "machine_")
    detail: ClassVar[str] = "--proba"

    def fit(self, X: Table, y: Any) -> Self:
        """Choose a kernel and a machine, and fit them to the rows of X with the labels y."""
        if self.cv is None:
            raise ValueError("labels are validated on folds: give a number of them, not loo.")
        table, y = self._read(X), self._labels(y)
        codes = np.searchsorted(self.classes_, y)
        self.n_settings_ = 0
        ranks, sizes = class_ranks(codes, self.random_state), np.bincount(codes)
        order = np.where(ranks < 2, 0.0, (ranks + 0.5) / sizes[codes])  # shares, but all classes
        rows = np.argsort(order, kind="stable")[:SEARCH_ROWS]
        self._say(f"comparing kernels on {len(rows)} of {len(y)} rows")
        with few_threads(len(rows)):
            machine, linear = self._choose(table, take(table, rows), codes[rows])
        self._say(f"fitting to {len(y)} rows")
        with few_threads(len(y)):
            self.machine_, self.linear_ = machine.fit(table, y), linear.fit(table, y)
        return self

    def refit(self, X: Table, y: Any) -> TableClassifier:
        """The same kernel and machine, fitted to other rows."""
        check_is_fitted(self)
        other = clone(self).set_params(roles=self.roles_, styles=self.styles_)
        table, y = other._read(X[list(self.roles_)]), other._labels(y)
        other.machine_ = clone(self.machine_).set_params(kernel=exact(self.machine_.kernel_))
        self._say(f"fitting to {len(y)} rows")
        with few_threads(len(y)):
            other.machine_.fit(table, y)
        return other

    def predict(self, X: Table) -> np.ndarray:
        """The label of each row of X; None where a number or text is missing."""
        return self._per_row(X, lambda rows: self.machine_.predict(rows), np.full(len(X), None))

    def predict_proba(self, X: Table) -> np.ndarray:
        """The probability of each class, a column each; NaN where something is missing."""
        empty = np.full((len(X), len(self.classes_)), np.nan)
        return self._per_row(X, lambda rows: self.machine_.predict_proba(rows), empty)

    def tabulate(self, X: Table, detail: bool = False) -> Table:
        """A table with a label for each row, and the probabilities of all classes if wanted."""
        columns = {"prediction": self.predict(X)}
        if detail:
            names = [f"p({label})" for label in self.classes_]
            columns |= dict(zip(names, self.predict_proba(X).T, strict=True))
        return pandas().DataFrame(columns)

    # ---- the parts of fit ------------------------------------------------------------------
    def _labels(self, y: Any) -> np.ndarray:
        y = np.asarray(y)
        self.classes_, sizes = np.unique(y, return_counts=True)
        if len(sizes) < 2:
            raise ValueError(f"all rows have the same label {self.classes_[0]!r}.")
        if sizes.min() < 2:
            rare = self.classes_[np.argmin(sizes)]
            raise ValueError(
                f"the label {str(rare)!r} occurs once, and each must occur twice at least; leave "
                f"out such rows, or join rare labels."
            )
        return y

    def _choose(self, table: Table, sample: Table, codes: np.ndarray) -> tuple[Any, Any]:
        """The best machine, and the best linear one, not yet fitted."""
        folds = stratified(codes, self.cv or 0, self.random_state)
        self.n_folds_, self.n_finalists_ = len(folds), 0
        linear = linear_kernel(table, self.roles_)
        given = self.kernel is not None
        kernels = [] if given else table_kernels(table, self.roles_)
        trials = self._compare([linear, *kernels], sample, codes, folds)
        baseline = max((t for t in trials if t.kernel is linear), key=lambda t: t.rank)
        best = max(trials, key=lambda t: t.rank)
        if self.kernel is not None:
            trials = self._compare([on_table(self.kernel, self.roles_)], sample, codes, folds)
        elif "text" in self.roles_.values():
            rest = best.kernel if kernels else None
            trials += self._compare(text_kernels(self.roles_, rest), sample, codes, folds)
        trials.sort(key=lambda t: t.rank, reverse=True)
        # the linear kernel holds a large constant, with which the dual converges slowly
        others = {id(t.kernel): t.kernel for t in trials if t.kernel is not linear}
        finalists = list(others.values())[:_FINALISTS]
        plan = self._plan(len(table))
        chosen, self.cv_accuracy_ = self._ridge(trials[0], plan), trials[0].accuracy
        approximate = plan is not None and plan.few is not None
        if len(self.classes_) <= _MOST_CLASSES and not approximate:
            self.n_finalists_ = len(finalists)
            search = SVCCV(
                self.Cs,
                kernel=finalists[0],
                param_grid={"kernel": finalists},
                cv=folds,
                test_size=0,
                cache_size=self._cache(),
                max_iter=_MOST_STEPS,
            ).fit(sample, codes)
            if search.best_score_ > self.cv_accuracy_:
                self.cv_accuracy_ = search.best_score_
                chosen = SVC(
                    **search.best_params_,
                    probability=True,
                    cache_size=self._cache(),
                    max_iter=_MOST_STEPS,
                    random_state=self.random_state,
                )
        return chosen, self._ridge(baseline, plan)

    def _compare(
        self, kernels: list[Kernel], sample: Table, codes: np.ndarray, folds: list
    ) -> list[Trial]:
        """Least squares on labels -1 and 1, for all kernels and penalties, in closed form."""
        self.n_settings_ += len(kernels)
        k = len(self.classes_)
        Y = np.where(codes[:, None] == (np.arange(1, 2) if k == 2 else np.arange(k)), 1.0, -1.0)
        mean = Y.mean(axis=0)
        parts = [test for _, test in folds]
        trials = []
        for kernel in progress(kernels, self._bars, "kernels"):
            spectrum = RidgeSpectrum((kernel + _INTERCEPT).gram(sample, self.plan))
            held_out = spectrum.held_out(Y - mean, list(map(float, self.alphas)), parts)
            for alpha, values in zip(self.alphas, held_out, strict=True):
                right, error = [], []
                for V, f in zip(parts, values, strict=True):
                    f = f + mean
                    found = f[:, 0] > 0 if k == 2 else np.argmax(f, axis=1)
                    right.append(np.mean(found == codes[V]))
                    error.append(np.mean((f - Y[V]) ** 2))
                trials.append(Trial(float(np.mean(right)), -float(np.mean(error)), kernel, alpha))
        return trials

    def _ridge(self, trial: Trial, plan: Any) -> RidgeClassifier:
        return RidgeClassifier(C=1 / trial.penalty, kernel=trial.kernel, plan=plan)

    def _cache(self) -> float:
        """Megabytes for the rows of a kernel matrix."""
        memory = None if self.plan is None else self.plan.memory
        return 200 if memory is None else parse_memory(memory) / 1e6
