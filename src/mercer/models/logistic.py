"""Kernel logistic regression: probabilities of two or more classes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin

from ..data import Data
from ..gram.plan import Plan
from ..losses import Logistic, Multinomial
from .machine import RepresenterMachine, best_class, check_weights


class KernelLogisticRegression(ClassifierMixin, RepresenterMachine):
    r"""Kernel logistic regression.

    .. math:: \min_{f_k \in H,\, b_k} -\sum_i w_i \log p(y_i \mid x_i)
              + \tfrac{\alpha}{2} \sum_k \|f_k\|^2

    Two classes have one function, with p(1 | x) = 1 / (1 + exp(-f(x) - b)); K > 2 classes have one
    each, with p(k | x) proportional to exp(f_k(x) + b_k), and these functions add up to zero.
    In the convention of :class:`sklearn.linear_model.LogisticRegression`, C is 1 / alpha.

    Parameters
    ----------
    alpha : float
        Strength of the penalty, > 0.
    kernel : Kernel, str or callable
        A kernel, a name known to scikit-learn, or a function of two samples.
    fit_intercept : bool
        Are there constants b, which are not penalised?
    class_weight : dict, "balanced" or None
        Factors of the weights per class.
    tol : float
        Largest violation of the optimality conditions, as a part of the largest slope of the loss.
    max_iter : int, optional
        Most Newton steps, by default 100.
    plan : Plan, optional
        Memory and threads to use.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    dual_coef_ : ndarray of shape (n,) or (n, K)
        The coefficients c of f = sum_i c_i k(x_i, .).
    intercept_ : float or ndarray of shape (K,)
        b.
    kernel_ : Kernel
        The kernel with every parameter a number.
    gram_ : Gram
        The operator the model was trained with.
    rkhs_function_ : RKHSFunction
        The functions as elements of H_k.
    solution_ : MachineSolution
        The certificate: violation, duality gap, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelLogisticRegression
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = KernelLogisticRegression(alpha=0.1, kernel=Gaussian())
    >>> model.fit(X, ["same", "same", "differ", "differ"]).predict([[0.1, 0.9]])
    array(['differ'], dtype='<U6')
    >>> model.predict_proba([[0.5, 0.5]]).round(2)
    array([[0.5, 0.5]])

    References
    ----------
    Zhu & Hastie, *Kernel logistic regression and the import vector machine*, 2005.
    """

    saved_state: ClassVar[tuple[str, ...]] = (*RepresenterMachine.saved_state, "classes_")

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Any = "rbf",
        fit_intercept: bool = True,
        class_weight: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        plan: Plan | None = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.plan = plan

    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, labels y and weights."""
        X, y = self._check_fit(X, y, "classes")
        weights = check_weights(sample_weight, y, self.class_weight)
        codes = self._check_classes(y, weights)
        self._make_gram(X)
        if len(self.classes_) == 2:
            solution = self._solve(Logistic(), np.where(codes == 1, 1.0, -1.0), weights)
        else:
            solution = self._solve(Multinomial(), codes, weights)
        self._keep([solution])
        return self

    def decision_function(self, X: Data) -> np.ndarray:
        """Scores f + b: shape (m,) for two classes, else one column per class."""
        return self._values(X)

    def predict(self, X: Data) -> np.ndarray:
        """The most probable class."""
        f = self._values(X)
        return self.classes_[best_class(f)]

    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities, one column per class."""
        f = self._values(X)
        return np.column_stack([expit(-f), expit(f)]) if f.ndim == 1 else softmax(f, axis=1)

    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Logarithms of probabilities, exact where those round to 0 or 1."""
        f = self._values(X)
        if f.ndim == 1:
            return np.column_stack([log_expit(-f), log_expit(f)])
        return log_softmax(f, axis=1)
