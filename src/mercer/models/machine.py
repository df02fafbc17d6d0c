"""Kernel machines: any convex loss with the norm of an RKHS."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from ..data import Data
from ..gram.plan import Plan
from ..losses.base import Loss
from ..losses.penalties import Penalty
from ..solvers.penalised import solve_penalised
from ..solvers.representer import MachineSolution
from .common import (
    all_or_nothing,
)
from .machine_base import LossMachine
from .streamed import (
    Watched,
)


@dataclass(eq=False, repr=False)
class KernelMachine(Watched, LossMachine):
    r"""Learning with any loss and the norm of an RKHS.

    .. math:: \min_{f \in H_k,\, b} \sum_i w_i L(y_i, f(x_i) + b)
              + \tfrac{\alpha}{2} \|f\|^2

    By the representer theorem f = sum_i c_i k(x_i, .). The squared loss is (y - f)^2 / 2, so that
    without an intercept f is that of :class:`KernelRidge` with the same alpha. In the convention
    of support vector machines, ||f||^2 / 2 + C sum_i L(...), C is 1 / alpha.

    What the model predicts depends on the loss: numbers, classes (``"hinge"``, ``"logistic"``, ...:
    two, or one machine against the rest for each of several; ``"multinomial"``: jointly), or the
    mean exp(f) of counts (``"poisson"``).

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel, a name known to scikit-learn, or a function of two samples.
    loss : Loss or str
        One of :mod:`mercer.losses`, your own, or a name: ``"squared"``, ``"absolute"``,
        ``"huber"``, ``"quantile"``, ``"expectile"``, ``"epsilon_insensitive"``,
        ``"squared_epsilon_insensitive"``, ``"hinge"``, ``"squared_hinge"``, ``"smoothed_hinge"``,
        ``"logistic"``, ``"poisson"``, ``"multinomial"``.
    alpha : float
        Strength of the penalty, > 0.
    fit_intercept : bool
        Whether to fit a constant b, which is not penalised.
    solver : {"auto", "newton", "dual", "admm", "coordinate"}
        ``"newton"`` needs a smooth loss, ``"dual"`` a piecewise linear or quadratic one.
        ``"coordinate"`` needs such a loss, or the logistic one, and K as a product of features;
        ``"admm"`` works with any loss, but is slow.
    tol : float
        Largest violation of the optimality conditions, relative to the largest slope of the loss;
        for ``"coordinate"`` the largest duality gap, relative to the objective.
    max_iter : int, optional
        Maximum number of steps of the solver.
    penalty : Penalty, optional
        alpha r(||f||) in place of alpha ||f||^2 / 2, for a convex and strictly increasing r:
        :class:`~mercer.losses.NormPower`, your own, or the constraint ||f|| <= R, ``NormBall(R)``.
        With several classes it applies to each machine. About ten problems with the squared norm
        are solved (:mod:`mercer.solvers.penalised`).
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    verbose, callback, checkpoint, validation
        Progress, a function of each :class:`~mercer.solvers.watch.Step`, a file that keeps the
        state, and samples (X, y) held out for early stopping, as in :class:`KernelRidge`: where
        features are streamed, and with ``solver="coordinate"``.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, k)
        The coefficients c.
    intercept_ : float or ndarray of shape (k,)
        b.
    loss_, kernel_ : Loss, Kernel
        The loss and the kernel with all parameters resolved to numbers.
    classes_ : ndarray
        The classes, if the loss is for classification.
    X_fit_, n_samples_seen_
        The samples x_i, all or, through M features, at most M of them that span all
        (:class:`KernelRidge`); and the number of training samples.
    gram_ : Gram
        The operator of ``X_fit_``.
    rkhs_function_ : RKHSFunction
        f as an element of H_k.
    solution_ : MachineSolution
        The certificate: violation, duality gap, method, seconds; with a ``penalty`` also the norm
        of f and the multiplier lambda for which f solves the problem with lambda ||f||^2 / 2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelMachine
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> y[::8] += 5  # outliers
    >>> model = KernelMachine(Gaussian(), "absolute", alpha=0.01).fit(X, y)
    >>> model.predict([[1.5]]).round(2)
    array([1.])

    References
    ----------
    Schölkopf, Herbrich & Smola, *A generalized representer theorem*, COLT 2001.
    """

    kernel: Any = "rbf"
    loss: Any = "squared"
    alpha: float = 1.0
    _: KW_ONLY
    fit_intercept: bool = True
    solver: str = "auto"
    tol: float = 1e-5
    max_iter: int | None = None
    penalty: Any = None
    plan: Plan | None = None

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets or labels y, and weights.

        X may be :class:`~mercer.chunks.Chunks`, which carry their own targets and weights.
        """
        if not (self.penalty is None or isinstance(self.penalty, Penalty)):
            raise ValueError(
                f"penalty must be None, for the squared norm, or a mercer.losses.Penalty such as "
                f"NormBall(2.0), got {self.penalty!r}."
            )
        X = self._read(self._chunks(X, y, sample_weight), y, sample_weight)
        self._make_gram(X, self.loss_, self.solver)
        if self.penalty is not None and self.gram_.streamed:
            raise ValueError(
                "penalty must be None for streamed features; give the plan more memory."
            )
        self._keep(self._solve_all([self.loss_], self._columns(), self._weights, self.solver))
        return self

    def _solve(
        self,
        loss: Loss,
        y: np.ndarray,
        weights: np.ndarray | None,
        solver: str = "auto",
        beside: dict[str, Any] | None = None,
    ) -> MachineSolution:
        if self.penalty is None:
            return super()._solve(loss, y, weights, solver, beside)
        if any((self.callback, self.checkpoint, self.validation)):
            raise ValueError(
                "callback, checkpoint and validation are only available for penalty=None."
            )
        solution = solve_penalised(
            self.gram_, y, loss, float(self.alpha), self.penalty, weights,
            intercept=self.fit_intercept, solver=solver, tol=self.tol, max_iter=self.max_iter,
        )  # fmt: skip
        solution.warn()
        return solution

    def leave_one_out(self) -> np.ndarray:
        """As for all kernel machines; only if the penalty is the squared norm."""
        if self.penalty is not None:
            raise ValueError(
                "leave_one_out() is only available for the squared norm, penalty=None; otherwise "
                "use sklearn.model_selection.cross_val_predict."
            )
        return super().leave_one_out()
