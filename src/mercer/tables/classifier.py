"""A classifier for tables as they come: numbers, labels, dates and text side by side."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..chunks.base import Chunks
from ..engine.threads import few_threads
from ..frames import opened, pandas
from ..models.calibration import Calibration
from ..models.common import Classifier, all_or_nothing
from .model import TableModel, given_targets
from .regressor import weighted
from .ridge import class_ranks
from .roles import Table, tidy
from .streaming import fit_chunks


@dataclass(eq=False, repr=False)
class TableClassifier(Classifier, TableModel):
    """A blend of kernel classifiers for tables with columns of any kind, with probabilities.

    Each class has a least-squares score (1 for its rows, -1 for others). The kernels are chosen,
    and their distances learned, as in :class:`~mercer.tables.regressor.TableRegressor`; scores of
    held-out rows give the map to probabilities (:class:`~mercer.models.calibration.Calibration`).

    Parameters
    ----------
    kernel, budget, alphas, roles, styles, plan, rank, random_state, verbose
        As in :class:`~mercer.tables.regressor.TableRegressor`.
    class_weight : None, "balanced" or dict
        Weights of the classes; "balanced" gives all of them the same total weight, which finds more
        rows of rare classes, at the price of more false alarms.

    Attributes
    ----------
    columns_, roles_, members_, linear_, relevance_, validation_error_, search_
        As in :class:`~mercer.tables.regressor.TableRegressor`.
    classes_ : ndarray
        The labels.
    validation_accuracy_ : float
        The share of correct labels among held-out rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.tables import TableClassifier
    >>> x = np.linspace(0, 6, 60)
    >>> table = pd.DataFrame({"x": x, "side": ["left", "right"] * 30})
    >>> y = np.where((table["side"] == "left") == (np.sin(x) > 0), "up", "down")
    >>> model = TableClassifier(budget="5 s").fit(table, y)
    >>> model.score(table, y) > 0.9
    True
    """

    _: KW_ONLY
    class_weight: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (
        *TableModel.saved_state, "classes_", "calibration_", "machine_"
    )  # fmt: skip
    detail: ClassVar[str] = "--proba"

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose kernels, and fit them to the rows of X, or of chunks, with the labels y."""
        if isinstance(X, Chunks):
            return fit_chunks(self, X)
        X, y = opened(X), self._labels(y)
        check_consistent_length(X, y)
        encoded, kept = self._read(X, _of_each(y))
        encoded, Y, codes, w = self._prepared(encoded, y, sample_weight, kept)
        with few_threads(len(codes)):
            choice = self._fit(encoded, Y - self.mean_, w, groups=codes)
        rows = choice.rows
        scores = choice.values + self.mean_
        self.calibration_ = self._calibrated(scores, codes[rows], w[rows])
        found = np.argmax(self.calibration_.probabilities(scores), axis=1)
        self.validation_accuracy_ = float(np.average(found == codes[rows], weights=w[rows]))
        return self

    def refit(self, X: Any, y: Any, sample_weight: Any = None) -> TableClassifier:
        """The same kernels and penalties, fitted to other rows with labels of the same classes."""
        y = self._labels(y)
        other, encoded, kept = self._again(X, _of_each(y))
        encoded, Y, _, w = other._prepared(encoded, y, sample_weight, kept)
        if len(other.classes_) != len(self.classes_) or np.any(other.classes_ != self.classes_):
            raise ValueError("refit needs rows of the same classes; fit a new model instead.")
        with few_threads(len(w)):
            other._fit_members(self.members_, encoded, Y - other.mean_, w)
        other.calibration_ = self.calibration_
        other.validation_error_ = self.validation_error_
        return other

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row of X."""
        check_is_fitted(self)
        if hasattr(self, "machine_"):
            return self._former(X)[0]
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, a column each."""
        check_is_fitted(self)
        if hasattr(self, "machine_"):
            return self._former(X)[1]
        return self.calibration_.probabilities(self.mean_ + self._values(self._new(X)))

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, larger for more probable classes; with two classes one column, of the second."""
        P = np.clip(self.predict_proba(X), 1e-300, None)
        logs = np.log(P)
        return logs[:, 1] - logs[:, 0] if len(self.classes_) == 2 else logs

    def tabulate(self, X: Any, detail: bool = False) -> Table:
        """A table with a label for each row and, optionally, the probabilities of all classes."""
        if not detail:
            return pandas().DataFrame({"prediction": self.predict(X)})
        P = self.predict_proba(X)
        labels = (
            self.predict(X) if hasattr(self, "machine_") else self.classes_[np.argmax(P, axis=1)]
        )
        names = [f"p({label})" for label in self.classes_]
        return pandas().DataFrame({"prediction": labels} | dict(zip(names, P.T, strict=True)))

    # ---- the parts -------------------------------------------------------------------------------
    def _labels(self, y: Any) -> np.ndarray:
        y = given_targets(self, y)
        if y.dtype.kind == "O" and all(isinstance(x, str) for x in y):
            y = y.astype(str)
        check_classification_targets(y)
        return y

    def _prepared(
        self, X: Any, y: np.ndarray, sample_weight: Any, kept: np.ndarray | None
    ) -> tuple[Any, Any, Any, Any]:
        """Coordinates, scores of -1 and 1, codes of labels and weights, of rows with a weight."""
        X, y, w = weighted(X, y, sample_weight, kept)
        self.classes_, codes = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k < 2:
            raise ValueError(
                f"all rows have the same label {self.classes_[0]!r}: a classifier needs at least "
                f"two classes, got one class."
            )
        if k > max(2, len(y) / 2):
            raise ValueError(
                f"Unknown label type: {k} different labels in {len(y)} rows are too many for a "
                "classifier; for continuous targets use TableRegressor."
            )
        if self.class_weight is not None:
            w = w * compute_sample_weight(self.class_weight, y)
            w = w / w.mean()
        Y = self._signs(codes)
        self.mean_ = np.average(Y, axis=0, weights=w)
        return X, Y, codes, w

    def _knows(self, values: np.ndarray) -> bool:
        """Can predictions be made of these standardised values?"""
        k, scores = len(self.classes_), self.mean_ + values
        if np.shape(self.classes_) != (k,) or k < 2 or scores.shape != values.shape:
            return False
        fits = values.shape[1] == (1 if k == 2 else k)
        return fits and self.calibration_.probabilities(scores).shape == (len(values), k)

    def _signs(self, codes: np.ndarray) -> np.ndarray:
        """1 for the rows of a class and -1 for others; of two classes, only the second."""
        k = len(self.classes_)
        return np.where(codes[:, None] == (np.arange(1, 2) if k == 2 else np.arange(k)), 1.0, -1.0)

    def _scaled(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Centred scores of labels, and which of these are labels that are known."""
        labels = np.asarray(y).astype(self.classes_.dtype)
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        return self._signs(codes) - self.mean_, self.classes_[codes] == labels

    def _calibrated(self, scores: np.ndarray, codes: np.ndarray, w: np.ndarray) -> Calibration:
        k = len(self.classes_)
        if len(np.unique(codes)) == k and scores.std() > 0:
            return Calibration().fit(scores, codes, w)
        plain = Calibration()  # a class that was never held out: scores as they are
        plain.slopes, plain.offsets = np.full(2 if k == 2 else 1, 2.0), np.zeros(1 if k == 2 else k)
        return plain

    def _explained_output(self, X: Any, output: Any) -> tuple[int, float, Any]:
        """Which score is explained; for two classes, the one of the second with its sign."""
        scores = self.mean_ + self._values(X)
        if output is None:
            place = int(np.argmax(self.calibration_.probabilities(scores)[0]))
        else:
            where = np.flatnonzero(self.classes_ == output)
            if not len(where):
                raise ValueError(f"{output!r} is not one of the classes {self.classes_.tolist()}.")
            place = int(where[0])
        if len(self.classes_) == 2:
            sign = 1.0 if place == 1 else -1.0
            return 0, sign, sign * float(self.mean_[0])
        return place, 1.0, float(self.mean_[place])

    def _former(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        """Labels and probabilities of a model from a file of an earlier version."""
        from .former import classify_former

        return classify_former(self, tidy(X, self.roles_, self.styles_))


def _of_each(y: np.ndarray) -> np.ndarray:
    """Two rows of every class, which must not be lost where only some rows are used."""
    return np.flatnonzero(class_ranks(np.unique(y, return_inverse=True)[1], 0) < 2)
