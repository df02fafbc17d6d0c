"""Models for tables as they come: numbers, labels and text side by side. Here: regression."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from ..engine.threads import one_blas_thread
from ..exceptions import MercerWarning
from ..frames import pandas
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..models.common import SEEN, Regressor
from ..models.ridge import KernelRidge
from ..models.ridge_cv import KernelRidgeCV
from ..search.outcome import readable
from ..tuning.models import tune
from .candidates import linear_kernel, on_table, table_kernels, text_kernels
from .numbers import PLAIN, count
from .roles import Table, describe, incomplete, tidy

ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
SEARCH_ROWS = 1500  # kernels are compared on at most this many rows
CHECKED_ROWS = 5000  # up to this many, every row is predicted from all others after the fit
MANY_ROWS = 10_000  # from here on kernels are approximated by landmarks,
RANK = 1000  # of which there are so many, unless rank says something else
_LEARNED_ROWS = 900  # lengthscales of single columns are learned on at most this many,
_LEARNED_COLUMNS = 40  # and for no more columns than this


@dataclass(eq=False, repr=False)
class TableModel(BaseEstimator):
    """What models of tables share: they find out what columns are, and leave out what is missing.

    ``detail`` is the option of ``mercer predict`` that asks how sure a prediction is.
    """

    saved_state: ClassVar[tuple[str, ...]] = (*SEEN, "roles_", "styles_")
    detail: ClassVar[str]

    kernel: Kernel | None = None
    _: KW_ONLY
    alphas: Any = ALPHAS
    cv: int | None = 5
    roles: dict[str, str] | None = None
    styles: dict[str, str] | None = None
    plan: Any = None
    rank: Any = "auto"
    random_state: int = 0
    verbose: bool = False

    def _read(self, X: Table) -> Table:
        """The columns that can be used, of complete rows."""
        self.columns_ = describe(X, self.roles, self.styles)
        self.roles_ = {c.name: c.role for c in self.columns_ if c.role != "skipped"}
        self.styles_ = {c.name: c.style for c in self.columns_ if c.style != PLAIN}
        if not self.roles_:
            raise ValueError("no column of the table can be used; name some with features.")
        table = tidy(X, self.roles_, self.styles_)
        if incomplete(table, self.roles_).any():
            raise ValueError("the table has missing values; fill them in or drop those rows.")
        self.n_features_in_ = len(self.roles_)
        self.feature_names_in_ = np.array(list(self.roles_), dtype=object)
        return table

    def _per_row(
        self, X: Table, values: Callable[[Table], np.ndarray], result: np.ndarray
    ) -> np.ndarray:
        """Values of the complete rows, put into ``result`` at their places."""
        check_is_fitted(self)
        table = tidy(X, self.roles_, self.styles_)
        complete = ~incomplete(table, self.roles_)
        if complete.any():
            result[complete] = values(table[complete].reset_index(drop=True))
        return result

    def _plan(self, n: int) -> Any:
        """The plan for n rows: with many, kernels are approximated."""
        rank = self.rank if self.rank != "auto" else (RANK if n > MANY_ROWS else None)
        return self.plan if rank is None else replace(self.plan or Plan(), rank=rank)

    def _say(self, text: str) -> None:
        """What is being done now, if that was asked for."""
        if self.verbose:
            print(f"mercer: {text} ...", file=sys.stderr, flush=True)

    @property
    def _bars(self) -> bool:
        """Show progress bars: somebody is watching."""
        return self.verbose and sys.stderr.isatty()

    def _restore(self) -> None:
        """The model inside has restored itself; files of 0.1 know no styles."""
        self.styles_ = getattr(self, "styles_", {})


def exact(kernel: Kernel) -> Kernel:
    """The kernel that is approximated, or the kernel itself."""
    return kernel.kernel if isinstance(kernel, Nystrom) else kernel


class TableRegressor(Regressor, TableModel):
    """Kernel ridge regression on a table, its kernel chosen from what the columns are.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel, on columns by name (``Gaussian(2.0).on("age")``). By default it is chosen by
        cross-validation among some that suit the columns (:mod:`mercer.tables.candidates`).
    alphas : sequence of float
        The penalties to choose from.
    cv : int or None
        The number of folds; None is leave-one-out.
    roles : dict, optional
        Columns that are a "number", "label" or "text" whatever they look like, by name.
    styles : dict, optional
        How the numbers of columns of strings are written, by name (:mod:`mercer.tables.numbers`).
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    rank : int, None or "auto"
        The number of landmarks by which the kernel of the final model is approximated. None is
        exact, at a cost that grows with the third power of the number of rows; "auto" is exact up
        to 10,000 rows and takes 1,000 landmarks beyond.
    random_state : int
        Draws the folds, and the rows to compare kernels on if there are many.
    verbose : bool
        Say on stderr what is being done.

    Attributes
    ----------
    columns_ : list of Column
        The role of every column.
    roles_, styles_ : dict
        Those in use: "number", "label" or "text" by name; and the style of numbers in strings.
    ridge_ : KernelRidge
        The model of the target minus ``offset_``.
    linear_ : KernelRidge
        The same with a linear kernel, to compare with.
    offset_, variance_ : float
        The mean of the target, and the prior variance that fits the leave-one-out errors.
    cv_rmse_, n_settings_ : float, int
        The cross-validated root mean squared error, and how many kernels were compared.
    learned_ : bool
        Were lengthscales of single columns learned, and better than those of the candidates?

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.tables.regressor import TableRegressor
    >>> x = np.linspace(0, 6, 60)
    >>> table = pd.DataFrame({"x": x, "side": ["left", "right"] * 30})
    >>> y = np.where(table["side"] == "left", np.sin(x), -np.sin(x))
    >>> model = TableRegressor().fit(table, y)
    >>> model.roles_
    {'x': 'number', 'side': 'label'}
    >>> model.score(table, y) > 0.99
    True
    """

    saved_state: ClassVar[tuple[str, ...]] = (
        *TableModel.saved_state,
        "ridge_",
        "offset_",
        "variance_",
    )
    detail: ClassVar[str] = "--std"

    def fit(self, X: Table, y: Any) -> Self:
        """Choose a kernel and alpha, and fit them to the rows of X with the targets y."""
        table, y = self._read(X), np.asarray(y, dtype=float)
        if not np.all(np.isfinite(y)):
            raise ValueError("the target has missing values; fill them in or drop those rows.")
        self.offset_ = float(y.mean())
        self._fit(table, y - self.offset_)
        return self

    def _fit(self, table: Table, y: np.ndarray) -> None:
        self.n_settings_, self.learned_ = 0, False
        rows = np.random.default_rng(self.random_state).permutation(len(y))[:SEARCH_ROWS]
        sample, target = table.iloc[rows].reset_index(drop=True), y[rows]
        linear = linear_kernel(table, self.roles_)
        kernels = [] if self.kernel is not None else table_kernels(table, self.roles_)
        compared = count(len(kernels) + 1, "kernel")
        self._say(f"comparing {compared} on {len(rows)} of {len(y)} rows")
        baseline = search = self._search([linear, *kernels], sample, target)
        if self.kernel is not None:
            search = self._search([on_table(self.kernel, self.roles_)], sample, target)
        elif "text" in self.roles_.values():
            rest = search.best_params_["kernel"] if kernels else None
            second = self._search(text_kernels(self.roles_, rest), sample, target)
            search = max(search, second, key=lambda s: s.best_score_)
        if self.kernel is None:
            search = self._learned(search, sample, target)
        results = baseline.cv_results_
        pairs = zip(results["mean_test_score"], results["params"], strict=True)
        scores = [(score, p["alpha"]) for score, p in pairs if p["kernel"] is linear]
        self.cv_rmse_ = float(np.sqrt(-search.best_score_))
        plan = self._plan(len(y))
        self.linear_ = self._ridge(linear, max(scores)[1], plan)
        self.ridge_ = self._ridge(search.best_params_["kernel"], search.alpha_, plan)
        self._say(f"fitting to {len(y)} rows")
        with few_threads(len(y)):
            self.linear_.fit(table, y)
            self.ridge_.fit(table, y)
            self.variance_ = self._prior_variance(table, y)

    def _learned(self, search: KernelRidgeCV, table: Table, y: np.ndarray) -> KernelRidgeCV:
        """A search whose kernel has a learned lengthscale for each column, if that is better.

        They are learned from the best kernel of the search and from a Gaussian one, on fewer rows;
        whether they are kept is decided on the same folds as all else. The folds have seen the
        rows, so they are learned by the likelihood: lengthscales that make leave-one-out errors
        small make those of the folds small as well, but not those of new rows.
        """
        numbers = [name for name, role in self.roles_.items() if role == "number"]
        if not 2 <= len(numbers) <= _LEARNED_COLUMNS or len(y) < 5 * len(numbers):
            return search
        some = slice(0, _LEARNED_ROWS)
        best = search.best_params_["kernel"]
        smooth = table_kernels(table, self.roles_)[1]
        self._say(f"learning a lengthscale for each of {len(numbers)} columns")
        for start in [best, smooth] if best != smooth else [best]:
            if not any(np.ndim(h.value) for h in start.hyperparameters()):
                continue  # a linear kernel
            begin = KernelRidge(search.alpha_, kernel=start)
            with warnings.catch_warnings(), few_threads(len(y)):
                warnings.simplefilter("ignore", MercerWarning)  # a bound is no harm: it is compared
                found = tune(begin, table.iloc[some], y[some]).tuning_
            alphas = sorted({*map(float, self.alphas), float(f"{found.alpha:.3g}")})
            other = self._search([readable(found.kernel)], table, y, alphas)
            if other.best_score_ > search.best_score_:
                search, self.learned_ = other, True
        return search

    def _search(
        self, kernels: list[Kernel], table: Table, y: np.ndarray, alphas: Any = None
    ) -> KernelRidgeCV:
        self.n_settings_ += len(kernels)
        folds = self.cv and KFold(
            min(self.cv, len(y)), shuffle=True, random_state=self.random_state
        )
        search = KernelRidgeCV(
            self.alphas if alphas is None else alphas,
            kernel=kernels[0],
            param_grid={"kernel": kernels},
            cv=folds,
            plan=self.plan,
            verbose=self._bars and len(kernels) > 1,
        )
        with few_threads(len(y)):
            return search.fit(table, y)

    def _ridge(self, kernel: Kernel, alpha: float, plan: Any) -> KernelRidge:
        return KernelRidge(alpha, kernel=kernel, plan=plan, random_state=self.random_state)

    def _prior_variance(self, table: Table, y: np.ndarray) -> float:
        """The mean of error^2 / variance over leave-one-out predictions, or an estimate of it."""
        ridge, some = self.ridge_, slice(0, CHECKED_ROWS)
        if isinstance(ridge.kernel_, Nystrom):
            rows = table.iloc[some]
            kept = 1 - ridge.posterior_variance(rows) / ridge.alpha  # one minus the weight of a row
            errors = (y[some] - ridge.predict(rows)) / kept  # in its own prediction
            return float(np.mean(errors**2 / (ridge.alpha / kept + self._unseen(rows))))
        errors = y - ridge.leave_one_out(table, y) if len(y) <= CHECKED_ROWS else y
        coef = ridge.dual_coef_
        if len(coef) < len(y):  # the model keeps a few rows
            coef = (y - ridge.predict(table)) / ridge.alpha
        return float(np.mean(coef * errors))

    def predict(self, X: Table, return_std: bool = False) -> Any:
        """The target for each row of X; NaN where a number or text is missing.

        With ``return_std``, also the standard deviation of the target around it: how uncertain
        the model is there, and how noisy the target is.
        """
        check_is_fitted(self)
        with few_threads(len(self.ridge_.dual_coef_)):
            mean = self._per_row(X, self._mean, np.full(len(X), np.nan))
            if not return_std:
                return mean
            return mean, self._per_row(X, self._std, np.full(len(X), np.nan))

    def _mean(self, rows: Table) -> np.ndarray:
        return self.ridge_.predict(rows) + self.offset_

    def _std(self, rows: Table) -> np.ndarray:
        ridge = self.ridge_
        spread = ridge.posterior_variance(rows)
        if isinstance(ridge.kernel_, Nystrom):
            spread = spread + self._unseen(rows)
        return np.sqrt(self.variance_ * (spread + ridge.alpha))

    def _unseen(self, rows: Table) -> np.ndarray:
        """k(x, x) - |phi(x)|^2, the variance that landmarks do not see."""
        kernel: Any = self.ridge_.kernel_
        P = kernel.prepare(rows)
        return np.maximum(kernel.kernel.diag(P.parts[0]) - kernel.diag(P), 0)

    def _restore(self) -> None:
        """Files of 0.1 may hold all rows where landmarks will do."""
        super()._restore()
        ridge = self.ridge_
        if isinstance(ridge.kernel_, Nystrom):
            ridge._keep(ridge.gram_, ridge.X_fit_, ridge.dual_coef_)

    def tabulate(self, X: Table, detail: bool = False) -> Table:
        """A table with a prediction for each row, and its standard deviation if wanted."""
        if not detail:
            return pandas().DataFrame({"prediction": self.predict(X)})
        mean, std = self.predict(X, return_std=True)
        return pandas().DataFrame({"prediction": mean, "std": std})


def few_threads(n: int) -> Any:
    """A context with BLAS on one thread for small matrices: more mostly wait for each other."""
    return one_blas_thread() if n <= 2000 else nullcontext()
