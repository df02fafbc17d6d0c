"""Sparse expansions: few basis functions k(x_i, .), by a penalty of their coefficients."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..data import Data, take
from ..gram.plan import Plan
from ..solvers.lasso import solve_lasso
from .common import all_or_nothing
from .machine_base import LossMachine


@dataclass(eq=False, repr=False)
class SparseKernelMachine(LossMachine):
    r"""A sparse kernel machine: any smooth loss, with an l1 penalty on the coefficients.

    .. math:: \min_{c, b} \sum_i w_i L(y_i, f(x_i) + b) + \alpha \sum_j |c_j|, \qquad
              f = \sum_j c_j k(x_j, \cdot)

    The lasso over the functions k(x_j, .) in place of the norm of f: most coefficients are 0, and
    the model keeps and evaluates only the samples with non-zero coefficients. The kernel need not
    be positive definite.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, a name known to scikit-learn, or a function of two samples.
    loss : Loss or str
        A smooth one: ``"squared"``, ``"huber"``, ``"logistic"``, ``"squared_hinge"``,
        ``"smoothed_hinge"``, ``"poisson"``, ``"expectile"``. With several classes, each is
        separated from all others.
    alpha : float
        Strength of the penalty, > 0.
    fit_intercept : bool
        Whether to fit a constant b, which is not penalised.
    tol : float
        The duality gap, relative to the loss of the best constant, at which to stop.
    max_iter : int, optional
        The maximum number of steps; 500 by default.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: as an array, always.

    Attributes
    ----------
    support_ : ndarray of shape (n_kept,)
        The samples whose functions are used.
    X_fit_ : data
        These samples.
    dual_coef_ : ndarray of shape (n_kept,) or (n_kept, k)
        Their coefficients.
    intercept_, loss_, classes_, kernel_, gram_, rkhs_function_, n_iter_
        As for :class:`KernelMachine`.
    solution_ : MachineSolution
        The certificate: objective, duality gap, seconds.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, SparseKernelMachine
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SparseKernelMachine(Gaussian(), alpha=1.0).fit(X, np.sin(X[:, 0]))
    >>> len(model.support_) < 20, model.score(X, np.sin(X[:, 0])) > 0.98
    (True, True)

    References
    ----------
    Roth, *The generalized LASSO*, 2004.
    """

    kernel: Any = "rbf"
    loss: Any = "squared"
    alpha: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    tol: float = 1e-5
    max_iter: int | None = None
    plan: Plan | None = None

    saved_state = (*LossMachine.saved_state, "support_")
    solver = "auto"
    if_indefinite = "its columns are basis functions, which need not be positive definite"
    _has_all = True  # those that are kept are all that f is made of

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets or labels y, and weights."""
        X = self._read(X, y, sample_weight)
        if not self.loss_.smooth or self.loss_.targets == "classes":
            raise ValueError(
                "loss must be smooth, with a single score, such as 'squared', 'huber' or "
                f"'logistic'; got {self.loss_!r}."
            )
        plan = self.plan or Plan()
        if plan.few is not None:
            raise ValueError(
                "SparseKernelMachine already uses few functions; use a plan without rank and "
                "features."
            )
        gram: Any = plan.beside(2).gram(self._as_kernel(X), X)
        solutions = [
            solve_lasso(
                gram, column, self.loss_, float(self.alpha), self._weights,
                intercept=self.fit_intercept, tol=self.tol, max_iter=self.max_iter,
            )
            for column in self._columns()
        ]  # fmt: skip
        for solution in solutions:
            solution.warn()
        coef = np.hstack([s.coef for s in solutions])
        kept = np.flatnonzero(np.any(coef != 0, axis=1))
        kept = kept if len(kept) else np.zeros(1, dtype=int)  # f = 0 still needs a centre
        self.support_ = kept
        self.kernel_, self.X_fit_ = gram.kernel, take(X, kept)
        if self.kernel == "precomputed":
            self.X_fit_ = X[np.ix_(kept, kept)]
        self.n_samples_seen_ = len(coef)
        self._targets = self._weights = None
        intercepts = np.concatenate([s.intercept for s in solutions])
        one = len(intercepts) == 1
        self.dual_coef_ = coef[kept, 0] if one else coef[kept]
        self.intercept_ = float(intercepts[0]) if one else intercepts
        self.n_iter_ = max(1, *(s.n_iter for s in solutions))
        self.solution_ = max(solutions, key=lambda s: s.stats["gap"])
        self._restore()
        return self

    @property
    def leave_one_out(self) -> Any:
        """Not available for this penalty."""
        raise AttributeError(
            "leave_one_out() is only available for the squared norm; use "
            "sklearn.model_selection.cross_val_predict."
        )
