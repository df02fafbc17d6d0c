"""A regressor for tables as they come: numbers, labels, dates and text side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..chunks.base import Chunks
from ..engine.threads import few_threads
from ..frames import opened, pandas
from ..models.common import Regressor, all_or_nothing, check_weights
from .model import TableModel, given_targets
from .roles import Table, tidy
from .streaming import fit_chunks


@dataclass(eq=False, repr=False)
class TableRegressor(Regressor, TableModel):
    """A blend of kernel ridge regressions for tables with columns of any kind.

    Columns are numbers, labels, text, dates or skipped (:mod:`mercer.tables.roles`), and become
    coordinates by stated rules (:mod:`mercer.tables.encoding`), with missing values as separate
    values. The kernels are chosen, and their distances learned, by how well they predict rows that
    they have not seen (:mod:`mercer.tables.search`).

    Parameters
    ----------
    kernel : Kernel, optional
        The kernel, on columns by name (``Gaussian(2.0).on("age")``), in place of a search; only
        the penalty is chosen then.
    budget : float or str
        The time that a fit may take: seconds, or ``"10 min"``. It decides how many rows are used to
        compare kernels, and the size of the pieces of models on many rows.
    alphas : sequence of float
        The penalties to choose from, for targets of unit variance.
    roles : dict, optional
        Overrides of the role of columns, by name: "number", "label", "text" or "date".
    styles : dict, optional
        How numbers are written in columns of strings, by name (:mod:`mercer.tables.numbers`).
    plan : Plan, optional
        Memory and threads to use.
    rank : int, None or "auto"
        The number of landmarks by which a ``kernel`` that is given is approximated; None is exact,
        "auto" takes 1,000 beyond 10,000 rows.
    random_state : int
        Used to draw the folds and the rows that kernels are compared on.
    verbose : bool
        Report progress on stderr.

    Attributes
    ----------
    columns_ : list of Column
        The role of every column, and what was done to it.
    roles_, styles_ : dict
        Those in use.
    members_ : list
        The models of the blend (:class:`~mercer.tables.members.Member`).
    linear_ : Member
        A linear model, to compare with.
    relevance_ : dict
        The weight of each column in the learned distances.
    validation_error_ : float
        The mean squared error on held-out rows, relative to the variance of the target.
    search_ : dict
        The same error for all ``"kernels"`` (rows of ``"errors"``) and ``"alphas"`` (columns) that
        were compared; ``"chosen"`` has the row and the column of each model of the blend.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.tables import TableRegressor
    >>> x = np.linspace(0, 6, 60)
    >>> table = pd.DataFrame({"x": x, "side": ["left", "right"] * 30})
    >>> y = np.where(table["side"] == "left", np.sin(x), -np.sin(x))
    >>> model = TableRegressor(budget="5 s").fit(table, y)
    >>> model.roles_
    {'x': 'number', 'side': 'label'}
    >>> model.score(table, y) > 0.95
    True
    """

    saved_state: ClassVar[tuple[str, ...]] = (
        *TableModel.saved_state,
        "ridge_",
        "offset_",
        "variance_",
    )
    detail: ClassVar[str] = "--std"

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose kernels, and fit them to the rows of X with the targets y.

        X may be :class:`~mercer.chunks.Chunks` with their targets: rules and kernels are chosen on
        a sample then, and the final model sees all rows (:mod:`mercer.tables.streaming`).
        """
        if isinstance(X, Chunks):
            return fit_chunks(self, X)
        X, y = opened(X), self._targets(y)
        check_consistent_length(X, y)
        encoded, kept = self._read(X)
        encoded, y, w = weighted(encoded, y, sample_weight, kept)
        Y = self._standardised(y, w)
        with few_threads(len(y)):
            choice = self._fit(encoded, Y, w, groups=y)
        rows = choice.rows
        spread = choice.spreads if self.adaptive_ else np.ones(len(rows))
        errors = np.abs(choice.values[:, 0] - Y[rows, 0]) / np.maximum(spread, 1e-12)
        self.scores_ = np.sort(errors)
        return self

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> TableRegressor:
        """The same kernels and penalties, fitted to other rows."""
        y = self._targets(y)
        other, encoded, kept = self._again(X)
        encoded, y, w = weighted(encoded, y, sample_weight, kept)
        Y = other._standardised(y, w)
        with few_threads(len(y)):
            other._fit_members(self.members_, encoded, Y, w)
        other.scores_, other.validation_error_ = self.scores_, self.validation_error_
        other.adaptive_ = self.adaptive_  # as the errors were measured
        return other

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The target for each row of X.

        With ``return_std``, also the standard deviation of the target around it, from errors on
        held-out rows; it is larger where rows are rare.
        """
        check_is_fitted(self)
        if hasattr(self, "ridge_"):
            return self._former(X, return_std)
        encoded = self._new(X)
        mean = self.mean_ + self.std_ * self._values(encoded)[:, 0]
        if not return_std:
            return mean
        scale = np.sqrt(np.mean(self.scores_**2))
        return mean, self.std_ * scale * self._spread(encoded)

    def predict_interval(self, X: Any, level: Any = 0.9) -> np.ndarray:
        """Intervals that hold the target with a probability of about ``level``, (rows, 2).

        Of several levels, they come along a last axis. They are as wide as errors on held-out rows
        were, relative to how uncertain the model was there: split conformal prediction, with the
        folds of the search for calibration.
        """
        levels = np.asarray(level, dtype=float)
        if not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        check_is_fitted(self)
        if hasattr(self, "ridge_"):
            raise ValueError("a model saved by an earlier version has no intervals; fit it again.")
        encoded = self._new(X)
        mean = self.mean_ + self.std_ * self._values(encoded)[:, 0]
        n = len(self.scores_)
        ranks = np.minimum(np.ceil(levels * (n + 1)).astype(int), n)
        half = self.std_ * np.multiply.outer(self._spread(encoded), self.scores_[ranks - 1])
        mean = mean.reshape(-1, *[1] * levels.ndim)
        return np.stack([mean - half, mean + half], axis=1)

    def tabulate(self, X: Any, detail: bool = False) -> Table:
        """A table of predictions, optionally with standard deviations and 90 % intervals."""
        if not detail:
            return pandas().DataFrame({"prediction": self.predict(X)})
        mean, std = self.predict(X, return_std=True)
        columns = {"prediction": mean, "std": std}
        if not hasattr(self, "ridge_"):
            low, high = self.predict_interval(X).T
            columns |= {"low": low, "high": high}
        return pandas().DataFrame(columns)

    # ---- the parts -------------------------------------------------------------------------------
    def _targets(self, y: Any) -> np.ndarray:
        y = given_targets(self, y)
        if y.dtype.kind == "c":
            raise ValueError("Complex data not supported: the target holds complex numbers.")
        try:
            y = y.astype(float)
        except (TypeError, ValueError):
            raise ValueError("the target is not numeric; for labels use TableClassifier.") from None
        if not np.all(np.isfinite(y)):
            raise ValueError(
                "the target has missing or infinite values (NaN or inf); fill them in or drop "
                "those rows."
            )
        return y

    def _standardised(self, y: np.ndarray, w: np.ndarray) -> np.ndarray:
        if len(y) < 2:
            raise ValueError(
                f"1 sample is too few: at least 2 rows are needed, n_samples={len(y)}."
            )
        top = float(np.abs(y).max())
        if top > 1e150:
            raise ValueError(f"the target has values as large as {top:.0e}; use another unit.")
        self.mean_ = float(np.average(y, weights=w))
        std = float(np.sqrt(np.average((y - self.mean_) ** 2, weights=w)))
        self.std_ = std if std > 1e-12 * top else 1.0
        return ((y - self.mean_) / self.std_)[:, None]

    def _knows(self, values: np.ndarray) -> bool:
        """Can predictions be made of these standardised values?"""
        scaled = all(np.shape(x) == () and np.isfinite(x) for x in (self.mean_, self.std_))
        errors = np.ndim(self.scores_) == 1 and len(self.scores_) and np.isfinite(self.scores_)
        return scaled and values.shape[1] == 1 and bool(np.all(errors))

    def _scaled(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Standardised targets, and which of them are there."""
        y = np.asarray(y, dtype=float)
        known = np.isfinite(y)
        return ((np.where(known, y, self.mean_) - self.mean_) / self.std_)[:, None], known

    def _explained_output(self, X: Any, output: Any) -> tuple[int, float, float]:
        """Which output is explained, its scale and what is added to it."""
        return 0, self.std_, self.mean_

    def _former(self, X: Table, return_std: bool) -> Any:
        """Predictions of a model from a file of an earlier version; NaN where there are gaps."""
        from .former import predict_former

        return predict_former(self, tidy(X, self.roles_, self.styles_), return_std)


def weighted(
    encoded: Any, y: np.ndarray, sample_weight: Any, kept: np.ndarray | None = None
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows of positive weight, and weights with mean 1; of targets and weights, those kept."""
    w = check_weights(sample_weight, y)
    if kept is not None:
        y, w = y[kept], None if w is None else w[kept]
    if w is None:
        return encoded, y, np.ones(len(y))
    used = w > 0
    w = w[used] / w[used].mean()
    return (encoded if used.all() else encoded.take(used)), y[used], w
