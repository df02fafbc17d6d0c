"""Kernel logistic regression: probabilities of two or more classes."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from ..checks import check_choice
from ..data import Data
from ..gram.plan import Plan
from ..losses.base import Loss
from ..losses.classification import Logistic, Multinomial
from .by_loss import best_class
from .common import Classifier, all_or_nothing
from .machine_base import RepresenterMachine
from .recursive_logistic import RecursiveLogistic
from .streamed import Watched

SOLVERS = ("auto", "newton", "coordinate")


@dataclass(eq=False, repr=False)
class KernelLogisticRegression(Classifier, RecursiveLogistic, Watched, RepresenterMachine):
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
        Whether to fit constants b, which are not penalised.
    class_weight : dict, "balanced" or None
        Factors of the weights per class.
    solver : {"auto", "newton", "coordinate"}
        ``"coordinate"`` is dual coordinate descent, for two classes and a K that is a product of
        features: a linear kernel, words and other sparse features, or ``plan=Plan(features=...)``.
    tol : float
        Largest violation of the optimality conditions, relative to the largest slope of the loss;
        for ``"coordinate"`` the largest duality gap, relative to the objective.
    max_iter : int, optional
        Maximum number of Newton steps, by default 100, or steps of one variable of
        ``"coordinate"``.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    verbose, callback, checkpoint, validation
        Progress, callbacks, checkpoints and early stopping, if features are streamed or with
        ``solver="coordinate"``; as in :class:`KernelRidge`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes.
    dual_coef_ : ndarray of shape (n,) or (n, K)
        The coefficients c of f = sum_i c_i k(x_i, .).
    intercept_ : float or ndarray of shape (K,)
        b.
    kernel_ : Kernel
        The kernel with all parameters resolved to numbers.
    X_fit_, n_samples_seen_
        The samples x_i, all or, through M features, at most M of them that span all
        (:class:`KernelRidge`); and the number of training samples.
    gram_ : Gram
        The operator of ``X_fit_``.
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
    Zhu & Hastie, *Kernel logistic regression and the import vector machine*, 2005; Yu, Huang & Lin,
    *Dual coordinate descent methods for logistic regression and maximum entropy models*, 2011.
    """

    alpha: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    fit_intercept: bool = True
    class_weight: Any = None
    solver: str = "auto"
    tol: float = 1e-6
    max_iter: int | None = None
    plan: Plan | None = None

    saved_state = (*RepresenterMachine.saved_state, "classes_", "_stream")

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X, labels y and weights.

        X may be :class:`~mercer.chunks.Chunks`, which carry their own labels and weights.
        """
        check_choice("solver", self.solver, SOLVERS)
        X = self._chunks(X, y, sample_weight)
        X, self._targets, self._weights = self._check_labels(X, y, sample_weight)
        loss, targets = self._likelihood()
        if self.solver == "coordinate" and len(self.classes_) > 2:
            raise ValueError(
                f'solver="coordinate" is for two classes, got {len(self.classes_)}; use "auto".'
            )
        self._make_gram(X, loss, self.solver)
        self._keep(self._solve_all([loss], [targets], self._weights, self.solver))
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
        return _probabilities(self._values(X))

    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Logarithms of probabilities, exact where those round to 0 or 1."""
        return _log_probabilities(self._values(X))

    # ---- what the others say of each training sample -----------------------------------------
    def leave_one_out(self) -> np.ndarray:
        """Leave-one-out scores of the training samples, as from decision_function.

        One Newton step from the fit on all samples replaces each of the n fits: F_i - c_i / G_ii +
        alpha c_i / W_i with G = (K + alpha W^-1)^-1 and W_i the curvature of the loss, and the same
        with a matrix W_i for several classes (:mod:`mercer.solvers.held_out`). The log loss is
        accurate to a few thousandths, unless predictions depend on single samples, as with a tiny
        alpha; then it is too optimistic.
        """
        self._need_each()
        loss, y = self._likelihood()
        return self._leave_one_out(loss, [y])

    def leave_one_out_proba(self) -> np.ndarray:
        """Leave-one-out probabilities of the classes for each training sample."""
        return _probabilities(self.leave_one_out())

    def leave_one_out_loss(self) -> float:
        """The leave-one-out mean of -log p(y_i | x_i), weighted as in the fit."""
        logs = _log_probabilities(self.leave_one_out())
        return -float(np.average(logs[np.arange(len(logs)), self._targets], weights=self._weights))

    def _likelihood(self) -> tuple[Loss, Any]:
        """The loss, and the labels in its form; None for those that come with the samples."""
        if len(self.classes_) > 2 or self._targets is None:
            return Multinomial() if len(self.classes_) > 2 else Logistic(), self._targets
        return Logistic(), np.where(self._targets == 1, 1.0, -1.0)


def _probabilities(f: np.ndarray) -> np.ndarray:
    return np.column_stack([expit(-f), expit(f)]) if f.ndim == 1 else softmax(f, axis=1)


def _log_probabilities(f: np.ndarray) -> np.ndarray:
    if f.ndim == 1:
        return np.column_stack([log_expit(-f), log_expit(f)])
    return log_softmax(f, axis=1)
