"""Ridge regression with additional functions that are not penalised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.base import BaseEstimator, MultiOutputMixin
from sklearn.utils.validation import check_is_fitted

from ..checks import check_number
from ..data import Data, as_vectors
from ..gram.base import Gram
from ..gram.plan import Plan
from ..rkhs.function import RKHSFunction
from ..solvers.semiparametric import SemiparametricProblem
from ..solvers.semiparametric_features import problem_of
from .common import (
    SEEN,
    KernelByName,
    Regressor,
    all_or_nothing,
    check_data,
    check_squares,
    check_targets,
    check_weights,
    seen_columns,
)


class SemiparametricModel(MultiOutputMixin, Regressor, BaseEstimator):
    """Common base of the three models: targets, choice of alpha, solution, scores."""

    saved_state: ClassVar[tuple[str, ...]] = (
        *("coef_", "null_coef_", "alpha_", "alphas_", "gcv_", "loo_", "degrees_of_freedom_"),
        *("penalty_", "_held_out", *SEEN),
    )
    alpha: Any

    def leave_one_out(self) -> np.ndarray:
        """Predictions for each sample by the model trained on all others, in closed form.

        The alpha is that of all data. They are nan where the other samples do not determine the
        free functions.
        """
        check_is_fitted(self)
        return self._held_out

    def _check_targets(self, X: Data, y: Any, sample_weight: Any) -> tuple[np.ndarray, Any]:
        if isinstance(self.alpha, str):
            if self.alpha not in ("gcv", "loo"):
                raise ValueError(f'alpha must be a number, "gcv" or "loo", got {self.alpha!r}.')
        else:
            check_number("alpha", self.alpha, ">= 0 and finite", lambda alpha: 0 <= alpha < np.inf)
        Y = check_targets(self, X, y)
        check_squares(Y)
        return Y, check_weights(sample_weight, Y)

    def _solve(
        self,
        gram: Gram,
        basis: np.ndarray,
        Y: np.ndarray,
        weights: np.ndarray | None,
        rows: np.ndarray | None = None,
        unit: float = 1.0,
    ) -> None:
        """Choose alpha and solve; alpha is ``unit`` times the penalty of the problem itself."""
        problem = problem_of(gram, basis, Y.reshape(len(Y), -1), weights, rows)
        if isinstance(self.alpha, str):
            if not problem.freedom:
                raise ValueError(
                    f"alpha={self.alpha!r} needs more than {basis.shape[1]} distinct points, the "
                    f"number of unpenalised functions, but n_samples = {len(problem.used)}; add "
                    "samples or give alpha as a number."
                )
            alpha, alphas = _best(problem, self.alpha)
            path = [problem.at(a) for a in alphas]
            smoother = problem.factor(alpha)
        else:
            alpha = self.alpha / unit
            smoother = problem.factor(alpha)
            alphas, path = np.array([alpha]), [smoother]
        self.solution_ = smoother.solve()
        self.solution_.warn()
        self.alpha_, self.alphas_ = float(alpha * unit), alphas * unit
        self.gcv_ = np.array([s.gcv() for s in path])
        self.loo_ = np.array([s.loo() for s in path])
        self.degrees_of_freedom_ = smoother.dof()
        c = self.solution_.coef
        flat = (lambda a: a[..., 0]) if Y.ndim == 1 else (lambda a: a)
        self.penalty_ = flat(np.einsum("it,it->t", c, problem.K @ c) / unit)
        self.coef_, self.null_coef_ = flat(c), flat(self.solution_.null_coef)
        self._held_out = flat(smoother.leave_one_out())


@dataclass(eq=False, repr=False)
class SemiparametricRidge(KernelByName, SemiparametricModel):
    r"""Kernel ridge regression with additional functions that are not penalised.

    .. math:: \min_{h \in H_k,\, d} \sum_i w_i \Big(y_i - h(x_i) - \sum_j d_j p_j(x_i)\Big)^2
              + \alpha \|h\|^2

    Parameters
    ----------
    kernel : Kernel, str or callable
        As in :class:`KernelRidge`.
    basis : "constant", "linear" or callable
        The functions p_j: 1; 1 and the columns of X; or a function of X (as it is given to
        ``fit`` and ``predict``, after checks) that returns their values, of shape (n, m).
    alpha : float, "gcv" or "loo"
        Strength of the penalty, >= 0, or the criterion that chooses it.
    gamma, degree, coef0, kernel_params, plan
        As in :class:`KernelRidge`. K is stored, unless it is a product of few features.

    Attributes
    ----------
    coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        Coefficients of k(x_i, .), orthogonal to the basis.
    null_coef_ : ndarray of shape (m,) or (m, n_targets)
        Coefficients d of the basis.
    kernel_, gram_, X_fit_
        The kernel with numbers for data-dependent parameters, its operator, the samples.
    penalty_ : float or ndarray of shape (n_targets,)
        The squared norm of h.
    alpha_, degrees_of_freedom_, alphas_, gcv_, loo_, solution_
        As in :class:`SmoothingSpline`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, SemiparametricRidge
    >>> X = np.linspace(0, 10, 80)[:, None]
    >>> y = 3 * X[:, 0] + np.sin(2 * X[:, 0])
    >>> model = SemiparametricRidge(Gaussian(), basis="linear", alpha=0.1).fit(X, y)
    >>> model.predict([[30.0]]).round(-1)  # far from the data the trend is left
    array([90.])

    References
    ----------
    Schölkopf, Herbrich & Smola, *A generalized representer theorem*, COLT 2001.
    """

    kernel: Any = "rbf"
    basis: str | Callable[[Any], Any] = "constant"
    alpha: Any = 1.0
    _: KW_ONLY
    plan: Plan | None = None

    saved_state = (*SemiparametricModel.saved_state, "kernel_", "X_fit_")

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets y of shape (n,) or (n, t), and weights."""
        X = check_data(self, X, self.kernel, reset=True)
        Y, weights = self._check_targets(X, y, sample_weight)
        P = self._basis(X, len(Y))
        gram: Any = self._as_kernel(X).gram(X, self.plan)
        self.gram_, self.kernel_, self.X_fit_ = gram, gram.kernel, X
        self._solve(gram, P, Y, weights)
        return self

    def predict(self, X: Data) -> np.ndarray:
        """f(x) for every sample of X."""
        X = self._checked(X)
        cross = self.gram_.cross(X)
        return cross @ self.coef_ + self._basis(X, len(cross)) @ self.null_coef_

    @property
    def rkhs_function_(self) -> RKHSFunction:
        """The penalised part h, as an element of H_k."""
        check_is_fitted(self)
        return RKHSFunction(self.kernel_, self.X_fit_, self.coef_, columns=seen_columns(self))

    def _basis(self, X: Data, n: int) -> np.ndarray:
        if self.basis == "constant":
            return np.ones((n, 1))
        if self.basis == "linear":
            V: Any = as_vectors(X, 'basis="linear"')
            return np.hstack([np.ones((n, 1)), V if isinstance(V, np.ndarray) else V.toarray()])
        if not callable(self.basis):
            raise ValueError(
                f'basis must be "constant", "linear" or a function of X, got {self.basis!r}.'
            )
        P = np.asarray(self.basis(X), dtype=float)
        P = P[:, None] if P.ndim == 1 else P
        if P.ndim != 2 or len(P) != n:
            raise ValueError(f"basis must return an array of shape ({n}, m), got {P.shape}.")
        return P

    def _restore(self) -> None:
        """Called by :func:`mercer.load`: the operator is rebuilt, not stored."""
        self.gram_ = self.kernel_.gram(self.X_fit_, self.plan)


def _best(problem: SemiparametricProblem, criterion: str) -> tuple[float, np.ndarray]:
    """The alpha with the smallest score, and the path: a grid, refined around the best.

    Scores that differ only by rounding are equal; of their alphas, the largest is chosen.
    """
    alphas = problem.penalties()
    rounding = 1e-24 * float(np.sum(np.average(problem.means**2, axis=0)))

    def score(log_alpha: float) -> float:
        value = getattr(problem.at(float(np.exp(log_alpha))), criterion)()
        return float(np.maximum(value, rounding))

    logs = np.log(alphas)
    values = np.array([score(t) for t in logs])
    if not np.isfinite(values).any():
        raise ValueError(
            f"alpha={criterion!r}: without some sample the unpenalised functions are not "
            "determined; give alpha as a number, or add samples."
        )
    i = len(values) - 1 - int(np.nanargmin(values[::-1]))
    around = logs[max(i - 1, 0)], logs[min(i + 1, len(logs) - 1)]
    refined = minimize_scalar(score, bounds=around, method="bounded", options={"xatol": 1e-4})
    if refined.fun < values[i]:
        best = float(np.exp(refined.x))
        return best, np.sort(np.append(alphas, best))
    return float(alphas[i]), alphas
