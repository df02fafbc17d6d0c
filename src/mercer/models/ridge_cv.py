"""Kernel ridge regression with alpha and kernel parameters chosen by exact cross-validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_consistent_length, indexable

from ..checks import check_folds, check_number, check_positives
from ..chunks.base import Chunks
from ..data import Data, take
from ..kernels.base import Kernel
from ..kernels.given.precomputed import Precomputed
from ..solvers.eigen import RidgeSpectrum
from ..solvers.resampled import RidgeSystems, left_out
from .common import Regressor, all_or_nothing, check_data, check_squares
from .grid import CHOSEN, DrawnGrid, Setting, fold_numbers
from .ridge import KernelRidge
from .ridge_cv_chunks import choose_by_passes
from .streamed import as_chunks, head

_DECOMPOSED = 20_000  # samples up to which it is on a device
_FEW = 2000  # samples up to which an eigendecomposition is cheap, however K is stored
_FACTORS = tuple(2.0**p for p in range(-3, 4))  # of lengthscales, to be tried


@dataclass(eq=False, repr=False)
class KernelRidgeCV(DrawnGrid, KernelRidge):
    """Kernel ridge regression with alpha and kernel parameters chosen by cross-validation.

    The grid is searched by M-fold cross-validation on a training set, the best setting is scored on
    a test set (``test_score_``, if ``test_size`` > 0), and the model is then refitted on all the
    data. For each setting of the kernel one eigendecomposition gives the held-out predictions of
    every alpha and every fold (or of leave-one-out) in closed form; no model is refitted.
    Lengthscales such as "median" are resolved once, on all samples of the training part.

    Where K is not stored (see ``plan``), all alphas, folds and targets are systems that conjugate
    gradients solve together: each product with K serves all of them. Leave-one-out then becomes
    generalised cross-validation, with a trace estimated from random signs.

    For samples in :class:`~mercer.chunks.Chunks`, products of M features are added up for each fold
    in one pass, from which the errors of all alphas follow; leave-one-out is exact, and takes
    another pass (:mod:`mercer.solvers.ridge_sums`).

    Parameters
    ----------
    alphas : array of float
        The values of alpha to try.
    kernel : Kernel, str or callable
        As in :class:`KernelRidge`.
    param_grid : dict, list of dict or "auto", optional
        Other parameters to try, by their nested names: ``{"kernel__lengthscale": [0.1, 1]}``,
        ``{"gamma": [0.1, 1]}``, or whole kernels, ``{"kernel": [Gaussian(), Laplacian()]}``.
        ``"auto"`` tries the lengthscale of the kernel times 1/8, 1/4, ..., 8; several at once.
    cv : None, int, splitter or iterable
        None is leave-one-out (for more than 2000 samples whose K is not stored, generalised
        cross-validation); otherwise as in scikit-learn, folds of the training part.
    test_size : float
        Fraction held out for the final test; 0 for none.
    scoring : str or callable
        A scikit-learn regression score, a scorer, or a function (model, X, y), larger is better.
        Computed on the held-out predictions (for leave-one-out over all of them at once), which
        is what ``model.predict`` returns; X is not passed on. For samples in chunks, one of
        ``"neg_mean_squared_error"``, ``"neg_root_mean_squared_error"`` and ``"r2"``.
    gamma, degree, coef0, kernel_params, plan
        As in :class:`KernelRidge`.
    verbose : bool
        Show a progress bar over kernel settings.
    callback, checkpoint
        As in :class:`KernelRidge`, for the final fit.
    random_state : int, RandomState or None
        Used to choose the test set.

    Attributes
    ----------
    alpha_ : float
        The best alpha.
    best_params_ : dict
        The best setting, alpha included.
    best_score_ : float
        Its cross-validated score.
    test_score_ : float
        The score, on the held-out part, of the best setting fitted to the rest (NaN for
        ``test_size=0``).
    cv_results_ : dict
        ``"params"`` (one dict per setting and alpha), ``"mean_test_score"`` and
        ``"split_test_scores"`` of shape (settings, folds).
    dual_coef_, X_fit_, n_samples_seen_, kernel_, gram_, rkhs_function_, solution_
        As in :class:`KernelRidge`, of the model refitted on all data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidgeCV
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.cos(40 * X[:, 0])
    >>> grid = {"kernel__lengthscale": [0.1, 1.0, 10.0]}
    >>> KernelRidgeCV(kernel=Gaussian(), param_grid=grid).fit(X, y).kernel_
    Gaussian()

    References
    ----------
    Rifkin & Lippert, *Notes on regularized least squares*, MIT-CSAIL-TR-2007-025.
    """

    alphas: Any = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    _: KW_ONLY
    param_grid: Any = None
    cv: Any = None
    test_size: float = 0.0
    scoring: Any = "neg_mean_squared_error"
    verbose: bool = False
    alpha: ClassVar[Any] = property(attrgetter("alpha_"), doc="The alpha of the final fit.")  # type: ignore[misc]
    solver: ClassVar[str] = "auto"  # type: ignore[misc]  # of the final fit
    tol: ClassVar[float] = 1e-8  # type: ignore[misc]
    callback: ClassVar[Any] = None  # type: ignore[misc]
    checkpoint: ClassVar[Any] = None  # type: ignore[misc]
    validation: ClassVar[Any] = None  # type: ignore[misc]

    _strength = "alpha"
    saved_state = (*KernelRidge.saved_state, *CHOSEN, "alpha_", "test_score_")

    @all_or_nothing
    def fit(
        self, X: Data, y: Any = None, sample_weight: Any = None, groups: Any = None
    ) -> KernelRidgeCV:
        """Choose by cross-validation, test on the held-out part, then fit on everything.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`KernelRidge.fit`; scores are weighted too.
        groups : array of shape (n,), optional
            The group of each sample, for splitters such as GroupKFold. The held-out part for the
            final test then has separate groups.
        """
        alphas = check_positives("alphas", self.alphas)
        check_number("test_size", self.test_size, ">= 0 and < 1", lambda size: 0 <= size < 1)
        if self.cv is not None:
            check_folds(self.cv)
        chunks = as_chunks(X, y, sample_weight, self.plan)
        if chunks is not None:
            return self._fit_chunks(chunks, alphas, groups)
        X, y, weights = self._check_fit(X, y, sample_weight)
        check_squares(y)
        Y = y[:, None] if y.ndim == 1 else y
        if groups is not None:
            check_consistent_length(Y, groups)
        if self.test_size and not (
            self.cv is None or isinstance(self.cv, Integral) or hasattr(self.cv, "split")
        ):
            raise ValueError(
                "cv as a list of splits refers to all samples, but test_size > 0 removes some of "
                "them; use test_size=0 or a splitter."
            )
        inside, outside = self._parts(len(Y), groups)
        data = self._take(X, inside) if len(outside) else X
        w = None if weights is None else weights[inside]
        of = None if groups is None else np.asarray(groups)[inside]
        folds = None if self.cv is None else _folds(self.cv, data, y[inside], of)
        metric = _metric(self.scoring, y.ndim == 1)

        def score(setting: Setting) -> list[np.ndarray]:
            candidate = clone(self).set_params(**clone(setting, safe=False))
            held_out = _held_out(candidate._make_gram(data), Y[inside], alphas.tolist(), folds, w)
            return _all_scores(held_out, Y[inside], folds, metric, w)

        self._search(self._settings(data), [{"alpha": alpha} for alpha in alphas.tolist()], score)
        self.alpha_: float = self.best_params_["alpha"]
        self.test_score_ = np.nan
        if len(outside):
            tested = self._chosen().fit(data, y[inside], w)
            predicted = tested.predict(self._take(X, outside, inside)).reshape(len(outside), -1)
            held = None if weights is None else weights[outside]
            self.test_score_ = float(metric(Y[outside], predicted, held))
        final = self._chosen()
        final._keeps_all = self._keeps_all
        final.fit(X, y, sample_weight)
        self._take_over(final)
        return self

    def _fit_chunks(self, chunks: Chunks, alphas: np.ndarray, groups: Any) -> KernelRidgeCV:
        """From sums over the samples: M x M numbers for each fold."""
        if groups is not None:
            raise ValueError("groups are not supported for chunks; pass a splitter as cv.")
        check_data(self, head(chunks), self.kernel, reset=True, keep=False)

        def folds_of(n: int) -> np.ndarray:
            return fold_numbers(_folds(self.cv, np.empty((n, 0)), np.zeros(n), None), n)

        choose_by_passes(self, chunks, alphas, folds_of)
        self._take_over(self._chosen().fit(chunks))
        return self

    # ---- the parts of fit ------------------------------------------------------------------
    def _take(self, X: Data, rows: np.ndarray, columns: np.ndarray | None = None) -> Data:
        """Some samples; for a given kernel matrix, their values with the training part."""
        if self.kernel == "precomputed" or isinstance(self.kernel, Precomputed):
            return np.asarray(X)[np.ix_(rows, rows if columns is None else columns)]
        return take(X, rows)

    def _settings(self, X: Data) -> list[Setting]:
        """The settings to try with each alpha."""
        if not isinstance(self.param_grid, str):
            return self._grid()
        if self.param_grid != "auto":
            raise ValueError(f'param_grid must be a dict or "auto", got {self.param_grid!r}.')
        some = X.sample(_FEW, 0).X if isinstance(X, Chunks) else X
        scales = [
            (f"kernel__{h.name}", h.value)
            for h in self._as_kernel(some).resolve(some).hyperparameters()
            if h.name.rpartition("__")[2] == "lengthscale"
        ]
        if not scales:
            raise ValueError(
                f'param_grid="auto" needs a kernel with a lengthscale, not {self.kernel!r}; pass '
                "the parameters to try."
            )
        if isinstance(self.kernel, Kernel):
            return [{name: value * f for name, value in scales} for f in _FACTORS]
        power = 2 if self.kernel == "rbf" else 1  # gamma is 1 / (2 l^2), or 1 / l
        return [{"gamma": 1 / (power * (scales[0][1] * f) ** power)} for f in _FACTORS]

    def _chosen(self) -> KernelRidge:
        """A model with the best setting, not fitted."""
        return self._plain(KernelRidge(), self.best_params_, "alpha", "random_state")


class _HeldOut(Regressor, BaseEstimator):
    """Takes the place of the models that predicted these values, for a scorer."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def predict(self, X: Any) -> np.ndarray:
        return self.values


def _metric(scoring: Any, flat: bool) -> Callable[..., float]:
    """A function of (true, predicted, weights), larger is better, from any scorer."""
    scorer = check_scoring(KernelRidge(), scoring=scoring)

    def metric(y: np.ndarray, f: np.ndarray, weights: np.ndarray | None) -> float:
        y, f = (y[:, 0], f[:, 0]) if flat else (y, f)
        model, samples = _HeldOut(f), np.empty((len(f), 1))
        if weights is None:
            return float(scorer(model, samples, y))
        try:
            return float(scorer(model, samples, y, sample_weight=weights))
        except TypeError as error:
            raise ValueError(
                f"scoring={scoring!r} does not accept sample_weight; use another score, or fit "
                "without weights."
            ) from error

    return metric


def _held_out(
    gram: Any,
    Y: np.ndarray,
    alphas: list[float],
    folds: list[np.ndarray] | None,
    weights: np.ndarray | None,
) -> list[list[np.ndarray]]:
    """For every alpha and fold, predictions for its samples by the model of all others."""
    if folds is None and gram.fits(2):
        return [[F] for F in left_out(gram, Y, alphas, weights)]
    if gram.matrix_free and len(gram) > _FEW and not (gram.fits(4) and len(gram) <= _DECOMPOSED):
        systems = RidgeSystems(gram, weights)
        if folds is None:
            return [[F] for F in systems.left_out(Y, alphas)]
        return systems.held_out(Y, alphas, folds)
    spectrum = RidgeSpectrum(gram, weights)
    if folds is None:
        return [[spectrum.leave_one_out(Y, alpha)] for alpha in alphas]
    return spectrum.held_out(Y, alphas, folds)


def _all_scores(
    held_out: list[list[np.ndarray]],
    Y: np.ndarray,
    folds: list[np.ndarray] | None,
    metric: Callable[..., float],
    weights: np.ndarray | None,
) -> list[np.ndarray]:
    """Scores of every fold, for every alpha."""
    parts: list[Any] = [slice(None)] if folds is None else list(folds)
    w = [None if weights is None else weights[V] for V in parts]
    return [
        np.array([metric(Y[V], F, wV) for V, F, wV in zip(parts, of_alpha, w, strict=True)])
        for of_alpha in held_out
    ]


def _folds(cv: Any, X: Data, y: Any, groups: np.ndarray | None) -> list[np.ndarray]:
    """The test sets of a splitter whose training sets are all other samples."""
    X, y = indexable(X, y)
    splits = list(check_cv(cv).split(X, y, groups))
    everything = np.arange(len(y))
    if any(not np.array_equal(np.sort(np.concatenate(split)), everything) for split in splits):
        raise ValueError(
            "cv must train on all samples outside each test fold (KFold, RepeatedKFold, "
            "GroupKFold, ...); for other splitters use GridSearchCV(KernelRidge(...))."
        )
    return [np.asarray(test) for _, test in splits]
