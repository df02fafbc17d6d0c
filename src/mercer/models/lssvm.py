"""Least-squares support vector machines: ridge regression with a free intercept."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin

from ..checks import check_positive
from ..data import Data
from ..gram.plan import Plan
from ..solvers.auto import solve_ridge
from .by_loss import best_class
from .common import (
    Classifier,
    KernelEstimator,
    Regressor,
    all_or_nothing,
    check_data,
    check_targets,
    check_weights,
)
from .kept import KEPT, KeepsSamples
from .labels import check_labels

_Problem = tuple[Data, np.ndarray, np.ndarray | None]  # samples, targets as columns, weights


@dataclass(eq=False, repr=False)
class LeastSquaresMachine(KeepsSamples, KernelEstimator):
    """The linear system both machines solve: (K + W^-1 / C) a + b = y, sum a = 0."""

    kernel: Any = "rbf"
    _: KW_ONLY
    C: float = 1.0
    degree: float = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    plan: Plan | None = None

    saved_state: ClassVar[tuple[str, ...]] = (*KEPT, "intercept_")

    def _make_gram(self, X: Data) -> Any:
        check_positive("C", self.C)
        return self._as_kernel(X).gram(X, self.plan)

    def _fit(self, X: Data, Y: np.ndarray, weights: np.ndarray | None) -> None:
        """One system for all columns of Y: the intercept comes from one more right-hand side."""
        gram = self._make_gram(X)
        rhs = np.column_stack([Y, np.ones(len(Y))])
        solved = solve_ridge(gram, rhs, 1 / self.C, weights).warn()
        A, one = solved.coef[:, :-1].astype(float), solved.coef[:, -1:].astype(float)
        self.intercept_ = A.sum(axis=0) / one.sum()
        self._keep_function(gram, X, A - one * self.intercept_)


class LSSVR(MultiOutputMixin, Regressor, LeastSquaresMachine):
    r"""Least-squares support vector regression.

    .. math:: \min_{f \in H_k, b} \|f\|^2 + C \sum_i w_i (y_i - f(x_i) - b)^2

    Kernel ridge regression with alpha = 1 / C and an intercept that is not penalised.

    Parameters
    ----------
    C : float
        Weight of the loss, > 0.
    kernel, degree, gamma, coef0
        As in :class:`SVC`.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, t)
        Coefficients of the samples that are kept (:class:`KernelRidge`). They sum to zero where
        these are all.
    intercept_ : float or ndarray of shape (t,)
        b.
    rkhs_function_ : RKHSFunction
        f without b, as an element of H_k.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVR, Gaussian
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> LSSVR(C=100, kernel=Gaussian()).fit(X, 5 + X[:, 0]).predict([[1.5]]).round(2)
    array([6.5])

    References
    ----------
    Suykens & Vandewalle, *Least squares support vector machine classifiers*, 1999.
    """

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets y of shape (n,) or (n, t), and weights."""
        self._fit(*self._check_fit(X, y, sample_weight))
        if np.asarray(y).ndim == 1:
            self.dual_coef_, self.intercept_ = self.dual_coef_[:, 0], float(self.intercept_[0])
        return self

    def _check_fit(self, X: Data, y: Any, sample_weight: Any) -> _Problem:
        X = check_data(self, X, self.kernel, reset=True)
        y = check_targets(self, X, y)
        return X, y.reshape(len(y), -1), check_weights(sample_weight, y)

    def predict(self, X: Data) -> np.ndarray:
        """f(x) + b for every sample."""
        return self._values(X)


@dataclass(eq=False, repr=False)
class LSSVC(Classifier, LeastSquaresMachine):
    r"""Least-squares support vector classifier: :class:`LSSVR` on labels ±1, one per class.

    Parameters
    ----------
    C, kernel, degree, gamma, coef0, plan
        As in :class:`LSSVR`.
    class_weight : dict, "balanced" or None
        Factors of C per class.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n, k)
        Coefficients of the samples that are kept (:class:`KernelRidge`), one column per class
        (one in all for two classes).
    intercept_ : ndarray of shape (k,)
        b, likewise.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import LSSVC
    >>> X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> LSSVC().fit(X, ["low", "low", "high", "high"]).predict([[-0.8], [0.9]])
    array(['low', 'high'], dtype='<U4')

    References
    ----------
    Suykens & Vandewalle, *Least squares support vector machine classifiers*, 1999.
    """

    _: KW_ONLY
    class_weight: Any = None

    saved_state: ClassVar[tuple[str, ...]] = (*LeastSquaresMachine.saved_state, "classes_")

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, labels y and weights."""
        self._fit(*self._check_fit(X, y, sample_weight))
        return self

    def _check_fit(self, X: Data, y: Any, sample_weight: Any) -> _Problem:
        """Labels as ±1: one column for two classes, else one for each class against the rest."""
        X = check_data(self, X, self.kernel, reset=True)
        y, codes = check_labels(self, X, y)
        k = len(self.classes_)
        weights = check_weights(sample_weight, y, self.class_weight)
        positive = np.arange(1, 2) if k == 2 else np.arange(k)
        return X, np.where(codes[:, None] == positive, 1.0, -1.0), weights

    def decision_function(self, X: Data) -> np.ndarray:
        """Scores: (m,) for two classes, else one column per class."""
        f = self._values(X)
        return f[:, 0] if f.shape[1] == 1 else f

    def predict(self, X: Data) -> np.ndarray:
        """The class with the largest score."""
        best = best_class(self.decision_function(X))
        return self.classes_[best]
