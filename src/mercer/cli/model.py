"""Models for tables as they come: numbers, labels and text side by side. Here: regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from ..kernels.base import Kernel
from ..models.ridge import KernelRidge
from ..models.ridge_cv import KernelRidgeCV
from .candidates import linear_kernel, on_table, table_kernels, text_kernels
from .tables import Table, describe, incomplete, pandas, tidy

ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
SEARCH_ROWS = 1500  # kernels are compared on at most this many rows
CHECKED_ROWS = 5000  # up to this many, every row is predicted from all others after the fit


class TableModel(BaseEstimator):
    """What models of tables share: they find out what columns are, and leave out what is missing.

    ``detail`` is the option of ``mercer predict`` that asks how sure a prediction is.
    """

    saved_state: ClassVar[tuple[str, ...]] = ("roles_", "n_features_in_", "feature_names_in_")
    detail: ClassVar[str]
    roles: dict[str, str] | None
    verbose: bool

    def _read(self, X: Table) -> Table:
        """The columns that can be used, of complete rows."""
        self.columns_ = describe(X, self.roles)
        self.roles_ = {c.name: c.role for c in self.columns_ if c.role != "skipped"}
        if not self.roles_:
            raise ValueError("no column of the table can be used; name some with features.")
        table = tidy(X, self.roles_)
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
        table = tidy(X, self.roles_)
        complete = ~incomplete(table, self.roles_)
        if complete.any():
            result[complete] = values(table[complete].reset_index(drop=True))
        return result

    def _restore(self) -> None:
        """Nothing to do: the model inside has restored itself."""


class TableRegressor(RegressorMixin, TableModel):
    """Kernel ridge regression on a table, its kernel chosen from what the columns are.

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel, on columns by name (``Gaussian(2.0).on("age")``). By default it is chosen by
        cross-validation among some that suit the columns (:mod:`mercer.cli.candidates`).
    alphas : sequence of float
        The penalties to choose from.
    cv : int or None
        The number of folds; None is leave-one-out.
    roles : dict, optional
        Columns that are a "number", "label" or "text" whatever they look like, by name.
    plan : Plan, optional
        Memory and threads to use.
    random_state : int
        Draws the folds, and the rows to compare kernels on if there are many.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    columns_ : list of Column
        The role of every column.
    roles_ : dict
        Those in use: "number", "label" or "text" by name.
    ridge_ : KernelRidge
        The model of the target minus ``offset_``.
    linear_ : KernelRidge
        The same with a linear kernel, to compare with.
    offset_, variance_ : float
        The mean of the target, and the prior variance that fits the leave-one-out errors.
    cv_rmse_, n_settings_ : float, int
        The cross-validated root mean squared error, and how many kernels were compared.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.cli.model import TableRegressor
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

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        alphas: Any = ALPHAS,
        cv: int | None = 5,
        roles: dict[str, str] | None = None,
        plan: Any = None,
        random_state: int = 0,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.alphas = alphas
        self.cv = cv
        self.roles = roles
        self.plan = plan
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Table, y: Any) -> Self:
        """Choose a kernel and alpha, and fit them to the rows of X with the targets y."""
        table, y = self._read(X), np.asarray(y, dtype=float)
        if not np.all(np.isfinite(y)):
            raise ValueError("the target has missing values; fill them in or drop those rows.")
        self.offset_ = float(y.mean())
        self._fit(table, y - self.offset_)
        return self

    def _fit(self, table: Table, y: np.ndarray) -> None:
        self.n_settings_ = 0
        rows = np.random.default_rng(self.random_state).permutation(len(y))[:SEARCH_ROWS]
        sample, target = table.iloc[rows].reset_index(drop=True), y[rows]
        linear = linear_kernel(table, self.roles_)
        kernels = [] if self.kernel is not None else table_kernels(table, self.roles_)
        baseline = search = self._search([linear, *kernels], sample, target)
        if self.kernel is not None:
            search = self._search([on_table(self.kernel, self.roles_)], sample, target)
        elif "text" in self.roles_.values():
            rest = search.best_params_["kernel"] if kernels else None
            second = self._search(text_kernels(self.roles_, rest), sample, target)
            search = max(search, second, key=lambda s: s.best_score_)
        results = baseline.cv_results_
        pairs = zip(results["mean_test_score"], results["params"], strict=True)
        scores = [(score, p["alpha"]) for score, p in pairs if p["kernel"] is linear]
        self.cv_rmse_ = float(np.sqrt(-search.best_score_))
        self.linear_ = self._ridge(linear, max(scores)[1])
        self.ridge_ = self._ridge(search.best_params_["kernel"], search.alpha_)
        with few_threads(len(y)):
            self.linear_.fit(table, y)
            self.ridge_.fit(table, y)
            self.variance_ = self._prior_variance(y)

    def _search(self, kernels: list[Kernel], table: Table, y: np.ndarray) -> KernelRidgeCV:
        self.n_settings_ += len(kernels)
        folds = self.cv and KFold(
            min(self.cv, len(y)), shuffle=True, random_state=self.random_state
        )
        search = KernelRidgeCV(
            self.alphas,
            kernel=kernels[0],
            param_grid={"kernel": kernels},
            cv=folds,
            plan=self.plan,
            verbose=self.verbose and len(kernels) > 1,
        )
        with few_threads(len(y)):
            return search.fit(table, y)

    def _ridge(self, kernel: Kernel, alpha: float) -> KernelRidge:
        return KernelRidge(alpha, kernel=kernel, plan=self.plan, random_state=self.random_state)

    def _prior_variance(self, y: np.ndarray) -> float:
        """The mean of error^2 / variance over leave-one-out predictions, or an estimate of it."""
        coef = self.ridge_.dual_coef_
        errors = y - self.ridge_.leave_one_out() if len(y) <= CHECKED_ROWS else y
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
        spread = self.ridge_.posterior_variance(rows) + self.ridge_.alpha
        return np.sqrt(self.variance_ * spread)

    def tabulate(self, X: Table, detail: bool = False) -> Table:
        """A table with a prediction for each row, and its standard deviation if wanted."""
        if not detail:
            return pandas().DataFrame({"prediction": self.predict(X)})
        mean, std = self.predict(X, return_std=True)
        return pandas().DataFrame({"prediction": mean, "std": std})


@contextmanager
def few_threads(n: int) -> Iterator[None]:
    """BLAS on one thread for small matrices: more of them mostly wait for each other."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1 if n <= 2000 else None, user_api="blas"):
        yield
