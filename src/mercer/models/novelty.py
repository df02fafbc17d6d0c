"""Novelty detection: the region where most of the data lie."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import OutlierMixin

from ..data import Data, length
from ..gram.rows import RowGram
from ..solvers.box import BoxProblem, BoxSolution, multiplier
from .common import all_or_nothing, check_number, check_weights
from .svm_base import SupportVectorMachine, fill_up
from .svm_report import report_of

_ROUNDING = 1e-13  # of scores, as a part of the sum of their terms in size


@dataclass(eq=False, repr=False)
class OneClassSVM(OutlierMixin, SupportVectorMachine):
    r"""One-class support vector machine: a level set that holds a fraction 1 - nu of the data.

    .. math:: \min_{f, \rho} \tfrac12 \|f\|^2 - \rho
              + \tfrac{1}{\nu n} \sum_i \max(0, \rho - f(x_i))

    A drop-in for :class:`sklearn.svm.OneClassSVM`, on any kernel and any data.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, plan
        As in :class:`SVC`.
    nu : float
        In (0, 1]: upper bound of the fraction of training samples called outliers, lower bound of
        the fraction of support vectors (weighted fractions, with ``sample_weight``).

    Attributes
    ----------
    offset_ : float
        rho: ``decision_function(X) = score_samples(X) - offset_``. The lower end of what ``tol``
        leaves open, so that samples on the edge count as inside.
    reports_ : list of DualReport
        The certificate, of the problem with upper bounds 1 and the sum nu n: its primal is
        ||f||² / 2 - nu n rho + sum_i max(0, rho - f(x_i)).

    rkhs_function_ : RKHSFunction
        f as an element of H_k.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import OneClassSVM
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> OneClassSVM(nu=0.1).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])

    References
    ----------
    Schölkopf, Platt, Shawe-Taylor, Smola & Williamson, *Estimating the support of a
    high-dimensional distribution*, 2001.
    """

    _: KW_ONLY
    nu: float = 0.5

    saved_state = (*SupportVectorMachine.saved_state, "offset_")

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the region; y is ignored."""
        check_number("nu", self.nu, "in (0, 1]", lambda nu: 0 < nu <= 1)
        X = self._check_X(X)
        weights = check_weights(sample_weight, np.zeros(length(X)))
        upper = np.ones(length(X)) if weights is None else weights
        index = np.flatnonzero(upper > 0)
        upper = upper[index]
        problem = BoxProblem(
            np.zeros(len(index)),
            np.zeros(len(index)),
            upper,
            fill_up(upper, self.nu * upper.sum()),
        )
        K = self._blocks(X).subset(index)
        solution = self._solve(K, problem)
        exact = K.dtype == np.float64 and getattr(X, "dtype", None) != np.float32
        rho = self._edge(K, problem, solution, exact)
        report = replace(report_of(problem, solution, [rho], -rho), rho=rho)
        self._certify([report], [solution.trouble])
        support = np.flatnonzero(solution.beta)
        self.dual_coef_ = solution.beta[None, support]
        self.offset_ = np.array([rho])
        self.intercept_ = -self.offset_
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self._keep(X, index[support])
        return self

    def _edge(self, K: RowGram, problem: BoxProblem, solution: BoxSolution, exact: bool) -> float:
        """The lowest f of samples whose coefficient is below its bound: all these are inside.

        So the fraction outside is at most nu, whatever tol is: the coefficients of samples at their
        bounds add up to no more than nu n. Scores of new data agree with those of the solver to a
        tenth of tol, or to rounding if all values are ``exact``, in double precision.
        """
        inside = solution.beta < problem.upper
        if not inside.any():
            return multiplier(problem, solution)
        size = float(np.abs(solution.beta).sum() * np.abs(K.diagonal).max())
        slack = _ROUNDING * size if exact else min(self.tol / 5, 1e-5 * size)
        return float(solution.gradient[inside].min()) - slack

    def score_samples(self, X: Data) -> np.ndarray:
        """f(x), larger where data are dense."""
        return self._values(X)[:, 0, 0]

    def decision_function(self, X: Data) -> np.ndarray:
        """f(x) - rho: positive inside the region."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Data) -> np.ndarray:
        """1 inside the region, -1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
