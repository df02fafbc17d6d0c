"""Novelty detection: the region where most of the data lie."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from ..checks import check_fraction
from ..data import Data, length
from ..gram.rows import RowGram
from ..rkhs.function import RKHSFunction
from ..solvers.box import BoxProblem, BoxSolution, multiplier
from .common import OutlierDetector, all_or_nothing, check_data, check_weights
from .svm_base import SupportVectorMachine, fill_up
from .svm_report import report_of

_ROUNDING = 1e-13  # of scores, as a part of the sum of their terms in size


@dataclass(eq=False, repr=False)
class OneClassSVM(OutlierDetector, SupportVectorMachine):
    r"""One-class support vector machine: a level set that contains a fraction 1 - nu of the data.

    .. math:: \min_{f, \rho} \tfrac12 \|f\|^2 - \rho
              + \tfrac{1}{\nu n} \sum_i \max(0, \rho - f(x_i))

    A drop-in replacement for :class:`sklearn.svm.OneClassSVM`, on any kernel and any data.

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
        rho: ``decision_function(X) = score_samples(X) - offset_``. The smallest value consistent
        with ``tol``, so that samples on the boundary count as inside.
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
        check_fraction("nu", self.nu, one=True)
        X = self._check_X(X)
        weights = check_weights(sample_weight, np.zeros(length(X)))
        upper = np.ones(length(X)) if weights is None else weights
        index = np.flatnonzero(upper > 0)
        upper = upper[index]
        K, total = self._blocks(X).subset(index), self.nu * float(upper.sum())
        problem = BoxProblem(
            self._target(K, total), np.zeros(len(index)), upper, fill_up(upper, total)
        )
        solution = self._solve(K, problem)
        exact = K.dtype == np.float64 and getattr(X, "dtype", None) != np.float32
        rho = self._edge(K, problem, solution, exact)
        report = replace(report_of(problem, solution, [rho], -rho), rho=rho)
        self._certify([report], [solution.trouble])
        support = np.flatnonzero(solution.beta)
        self.dual_coef_ = solution.beta[None, support]
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self._locate(rho, solution, problem, total)
        self._keep(X, index[support])
        return self

    def _target(self, K: RowGram, total: float) -> np.ndarray:
        """The linear part of the programme, for coefficients with this sum."""
        return np.zeros(len(K))

    def _locate(self, rho: float, solution: BoxSolution, problem: BoxProblem, total: float) -> None:
        """The edge of the region, from the multiplier of the sum."""
        self.offset_ = np.array([rho])
        self.intercept_ = -self.offset_

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


@dataclass(eq=False, repr=False)
class SVDD(OneClassSVM):
    r"""Support vector data description: the smallest ball that holds most of the data.

    .. math:: \min_{a \in H_k, R} R^2
              + \tfrac{1}{\nu W} \sum_i w_i \max(0, \|\phi(x_i) - a\|^2 - R^2)

    with W = sum_i w_i.

    For kernels with constant k(x, x) this is the region of :class:`OneClassSVM`. For others, such
    as polynomials, it is not: the ball uses distances from a centre, the half-space projections
    onto a direction.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, plan
        As in :class:`SVC`; not ``"precomputed"``, which does not provide k(x, x) for new samples.
    nu : float
        In (0, 1]: upper bound of the fraction of training samples outside the ball (weighted, with
        ``sample_weight``), lower bound of the fraction of support vectors.

    Attributes
    ----------
    center_ : RKHSFunction
        The centre a, as an element of H_k.
    radius_ : float
        R.
    offset_ : ndarray of shape (1,)
        -R^2: ``decision_function(X) = score_samples(X) - offset_``.
    reports_ : list of DualReport
        The certificate; its primal and dual are (nu W)^2 / 2 times those of the problem above.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVDD, Linear
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]])
    >>> model = SVDD(Linear(), nu=0.1).fit(X)  # the smallest circle around all points
    >>> round(model.radius_, 3), model.center_.weights().round(3)
    (1.0, array([1., 0.]))

    References
    ----------
    Tax & Duin, *Support vector data description*, Machine Learning 2004.
    """

    saved_state = (*OneClassSVM.saved_state, "_total", "_square")

    def _target(self, K: RowGram, total: float) -> np.ndarray:
        if self.kernel == "precomputed":
            raise ValueError(
                'kernel="precomputed" does not provide k(x, x) for new samples, which SVDD '
                "needs; pass a kernel, or use OneClassSVM."
            )
        return total / 2 * np.asarray(K.diagonal, dtype=np.float64)

    def _locate(self, rho: float, solution: BoxSolution, problem: BoxProblem, total: float) -> None:
        """|phi(x_i) - a|^2 = |a|^2 - 2 g_i / s, for coefficients with the sum s and slopes g."""
        squared = float(solution.beta @ (solution.gradient + problem.target)) / total**2
        self._total, self._square = total, squared
        self.radius_ = float(np.sqrt(max(squared - 2 * rho / total, 0.0)))
        self.offset_ = np.array([-(self.radius_**2)])
        self.intercept_ = -self.offset_

    @property
    def center_(self) -> RKHSFunction:
        """The centre of the ball."""
        return self.rkhs_function_ / self._total

    def score_samples(self, X: Data) -> np.ndarray:
        """-|phi(x) - a|^2, larger near the centre."""
        f = super().score_samples(X)
        X = check_data(self, X, self.kernel, reset=False)
        own = self.kernel_.diag(self.kernel_.prepare(X)).astype(np.float64)
        return 2 * f / self._total - own - self._square

    def _restore(self) -> None:
        super()._restore()
        self.radius_ = float(np.sqrt(-self.offset_[0]))
