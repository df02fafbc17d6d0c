"""Support vector classification with C and the kernel chosen by cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from numbers import Integral
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from ..checks import check_folds, check_positives
from ..data import Data, take
from ..engine.memory import free_memory
from ..exceptions import ConvergenceWarning, warn
from ..gram.rows import RowGram
from ..gram.tiles import cores, run
from ..randomness import as_random_state
from .common import all_or_nothing
from .grid import CHOSEN, DrawnGrid, Setting
from .svm import SVC
from .svm_pairs import PairFit
from .svm_sums import products_of_groups, sum_groups

_SHARED = 0.8  # of the free memory may hold the kernel matrix and what folds copy of it
_SETTINGS = ("kernel", "gamma", "degree", "coef0")
_BOUNDED = 0.9  # part of a solution at its bounds from which on it grows with C as a whole

Starts = list[np.ndarray]  # of the pairs of classes


@dataclass(eq=False, repr=False)
class SVCCV(DrawnGrid, SVC):
    """Support vector classifier with C and kernel parameters chosen by cross-validation.

    The grid is searched by M-fold cross-validation on a training set, the best setting is scored on
    a test set (``test_score_``), and the model is then refitted on all the data. For each setting
    of the kernel its matrix is computed once for all folds and all C. Each C starts from the
    solution of the previous C, and the first one from that of the previous kernel.

    Parameters
    ----------
    Cs : array of float
        The values of C to try.
    param_grid : dict or list of dict, optional
        Kernels and their parameters to try, by nested names: ``{"gamma": [0.1, 1]}``,
        ``{"kernel__lengthscale": [0.5, 2]}``.
    cv : int, splitter or iterable
        Folds; an iterable of (train, test) refers to all samples, and those of the test set are
        removed.
    test_size : float
        Fraction held out for the final test; 0 for none.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, max_iter
        As in :class:`SVC`.
    multiclass, decision_function_shape, break_ties, plan
        As in :class:`SVC`.
    verbose : bool
        Show a progress bar.
    random_state : int, RandomState or None
        Used to choose the test set and the folds.

    Attributes
    ----------
    C_ : float
        The best C.
    best_params_ : dict
        The best setting, C included.
    best_score_ : float
        Its mean accuracy over the folds.
    test_score_ : float
        Accuracy of the best setting on the held-out part (NaN for ``test_size=0``).
    cv_results_ : dict
        ``"params"``, ``"mean_test_score"`` and ``"split_test_scores"`` (settings, folds).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVCCV
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVCCV([0.1, 1, 10], param_grid={"gamma": [0.01, 0.1, 1]}, random_state=0).fit(X, y)
    >>> model.test_score_ > 0.9
    True

    References
    ----------
    Chapelle & Vapnik, *Model selection for support vector machines*, 1999.
    """

    Cs: Any = (0.1, 1.0, 10.0, 100.0)
    _: KW_ONLY
    kernel: Any = "rbf"
    param_grid: Any = None
    cv: Any = 5
    test_size: float = 0.2
    C: ClassVar[Any] = property(attrgetter("C_"), doc="The C of the fitted machine.")  # type: ignore[misc]
    callback: ClassVar[Any] = None  # type: ignore[misc]
    checkpoint: ClassVar[Any] = None  # type: ignore[misc]
    validation: ClassVar[Any] = None  # type: ignore[misc]

    _strength = "C"
    saved_state = (*SVC.saved_state, *CHOSEN, "C_", "test_score_")

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose by cross-validation, test on the held-out part, then fit on everything.

        Samples of the same group in ``groups`` are never divided between folds, or between training
        and test set. With ``sample_weight`` scores are weighted, too.
        """
        Cs = np.sort(check_positives("Cs", self.Cs))
        if self.kernel == "precomputed":
            raise ValueError('SVCCV selects a kernel; with kernel="precomputed" use GridSearchCV.')
        settings = self._settings()
        self.C_ = float(Cs[0])
        X = self._check_X(X)
        codes, weights = self._encode(X, y, sample_weight)
        y = self.classes_[codes]
        raw = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        counts = np.ones(len(codes)) if raw is None else raw
        if groups is not None:
            groups = column_or_1d(groups)
            check_consistent_length(X, groups)
        inside, outside = self._parts(len(codes), groups, codes)
        folds = self._folds(codes, groups, inside, weights > 0)
        data = take(X, inside)
        firsts: list[Starts | None] = [None] * len(folds)
        late: list[int] = []

        def score(setting: Setting) -> np.ndarray:
            found, unfinished = _grid_scores(
                self._machine(setting), Cs, data, codes[inside], weights[inside], counts[inside],
                folds, firsts,
            )  # fmt: skip
            late.append(unfinished)
            return found

        self._search(settings, [{"C": C} for C in Cs.tolist()], score, np.nanmean)
        if any(late):
            fits = len(settings) * len(Cs) * len(folds)
            warn(
                f"{sum(late)} of the {fits} fits of the grid did not converge, so their scores "
                "are approximate; raise tol or max_iter, lower C, or scale the data.",
                ConvergenceWarning,
            )
        self.test_score_ = np.nan
        chosen = self._machine(self.best_params_)
        if len(outside):
            w = None if raw is None else raw[inside]
            tested = clone(chosen).fit(data, y[inside], w)
            right = tested.predict(take(X, outside)) == y[outside]
            self.test_score_ = _mean(right, counts[outside])
        chosen.set_params(probability=self.probability).fit(X, y, raw)
        self._take_over(chosen)
        self.C_ = chosen.C
        return self

    def _settings(self) -> list[Setting]:
        settings = self._grid()
        for name in {name for setting in settings for name in setting}:
            if name not in _SETTINGS and not name.startswith("kernel__"):
                raise ValueError(
                    f"param_grid is for the kernel: {', '.join(_SETTINGS)} or kernel__..., got "
                    f"{name!r}. Values of C belong to Cs; for other parameters use GridSearchCV."
                )
        return settings

    def _machine(self, setting: dict[str, Any]) -> SVC:
        machine = self._plain(SVC(), setting, "C", "probability", "verbose")
        machine.classes_ = self.classes_
        return machine

    def _folds(
        self, codes: np.ndarray, groups: Any, inside: np.ndarray, alive: np.ndarray
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Places among the samples ``inside``, for training and validation."""
        own = codes[inside]
        check_folds(self.cv)
        some = None if groups is None else groups[inside]
        if hasattr(self.cv, "split") or isinstance(self.cv, Integral):
            splitter = self.cv
            if isinstance(self.cv, Integral):
                kind = StratifiedKFold if groups is None else StratifiedGroupKFold
                splitter = kind(
                    int(self.cv), shuffle=True, random_state=as_random_state(self.random_state)
                )
            folds = list(splitter.split(np.empty((len(own), 1)), own, some))
        else:  # splits of all samples, of which some were held out
            place = np.full(len(codes), -1)
            place[inside] = np.arange(len(inside))
            splits = check_cv(self.cv).split()
            folds = [tuple(_known(place[np.asarray(part)]) for part in fold) for fold in splits]
        for number, (train, test) in enumerate(folds):
            known = len(np.unique(own[train][alive[inside][train]]))
            if known < 2 or not len(test):
                raise ValueError(
                    f"fold {number} of cv has samples of {known} classes to train on, and "
                    f"{len(test)} samples to score; use folds that mix the classes."
                )
        return folds


def _grid_scores(
    machine: SVC,
    Cs: np.ndarray,
    X: Data,
    codes: np.ndarray,
    weights: np.ndarray,
    counts: np.ndarray,
    folds: list[tuple[np.ndarray, np.ndarray]],
    firsts: list[Starts | None],
) -> tuple[np.ndarray, int]:
    """Accuracies of shape (len(Cs), folds), and how many fits did not converge.

    Folds are fitted in parallel, C ascending, each from the solution before. Samples are fitted
    with ``weights``, which include those of their classes, and scored with ``counts``. Classes that
    a fold does not know are never predicted.

    ``firsts`` has, for each fold, where to start with the first C, and later its solution.
    """
    blocks = _shared(machine._blocks(X), len(codes), len(folds))
    scores, late = np.empty((len(Cs), len(folds))), np.zeros((len(Cs), len(folds)), bool)

    def fold(m: int) -> None:
        train, test = folds[m]
        own = clone(machine)
        own.kernel_, own._psd = machine.kernel_, machine._psd
        inside = weights * np.bincount(train, minlength=len(codes))
        present = np.unique(codes[inside > 0])
        own.classes_ = machine.classes_[present]
        own_codes = np.searchsorted(present, codes)  # of no account where the class is missing
        starts = firsts[m]
        kept: dict[int, RowGram] = {}
        for c, C in enumerate(Cs):
            own.C = float(C)
            fits = own._fit_pairs(blocks, own_codes, inside, starts, kept)
            found = present[_predict(own, blocks, own_codes, test, fits)]
            scores[c, m] = _mean(found == codes[test], counts[test])
            late[c, m] = any(fit.trouble for fit in fits)
            if c == 0:
                firsts[m] = [fit.beta for fit in fits]
            if c + 1 < len(Cs):
                bound, growth = C * inside, Cs[c + 1] / C
                starts = [_continued(fit.beta, bound[fit.index], growth) for fit in fits]

    workers = blocks.workers
    blocks.limit /= min(workers or cores(), len(folds))
    run(fold, range(len(folds)), workers)
    return scores, int(late.sum())


def _mean(right: np.ndarray, weights: np.ndarray) -> float:
    """The weighted share; NaN if all weights are zero."""
    return float(np.average(right, weights=weights)) if weights.any() else np.nan


def _known(place: np.ndarray) -> np.ndarray:
    return place[place >= 0]


def _continued(beta: np.ndarray, bound: np.ndarray, growth: float) -> np.ndarray:
    """Where to start when the bounds grow by a factor, from the solution before.

    Coefficients at their bounds would grow with them and free ones stay, but together they must
    add up to zero: all grow if most are at their bounds, else none.
    """
    size = np.abs(beta)
    return beta * growth if size[size >= bound].sum() > _BOUNDED * size.sum() else beta


def _predict(
    machine: SVC, blocks: RowGram, codes: np.ndarray, test: np.ndarray, fits: list[PairFit]
) -> np.ndarray:
    support = machine._assemble(codes, fits)

    def block(rows: slice, cols: slice) -> np.ndarray:
        return blocks.block(test[rows], support[cols])

    coef = machine.dual_coef_.T
    if blocks.card is not None:
        there = partial(blocks.rough_product, test, support)
        sums = products_of_groups(there, coef, machine.n_support_)
    else:
        sums = sum_groups(block, len(test), coef, machine.n_support_, blocks.workers)
    return machine._winners(machine._combine(sums))


def _shared(blocks: RowGram, n: int, folds: int) -> RowGram:
    """The whole matrix in memory if there is room: every fold and every C uses it."""
    everything = np.arange(n)
    room = float(blocks.dtype.itemsize) * n * n
    # pairs of classes take up to two in each fold
    copies = 1 + 2 * min(folds, blocks.workers or cores())
    known = blocks.features is not None or blocks.matrix is not None
    if known or room * copies > min(_SHARED * free_memory(), blocks.limit):
        return blocks
    K = np.empty((n, n), blocks.dtype)

    def part(start: int) -> None:
        rows = everything[start : start + 500]
        K[rows] = blocks.block(rows, everything)

    run(part, range(0, n, 500), blocks.workers)

    def block(rows: Any, cols: Any) -> np.ndarray:
        return K[np.ix_(everything[rows], everything[cols])]

    shared = RowGram(
        block,
        blocks.diagonal,
        product=blocks.product,
        matrix=K,
        dtype=blocks.dtype,
        error=blocks.error,
        workers=blocks.workers,
    )
    shared.limit = blocks.limit
    return shared
