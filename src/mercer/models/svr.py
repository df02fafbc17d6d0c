"""Support vector regression: the epsilon-insensitive loss, and its nu form."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..checks import check_fraction, check_number, check_positive
from ..chunks.base import Chunks
from ..data import Data
from ..gram.rows import RowGram
from ..losses.regression import Absolute, EpsilonInsensitive
from ..solvers.box import BoxProblem, multiplier
from .common import (
    Regressor,
    all_or_nothing,
    check_data,
    check_targets,
    check_weights,
    no_chunks,
)
from .streamed import predicted, surveyed
from .svm_base import SupportVectorMachine, fill_up
from .svm_chunks import StreamedMachine
from .svm_report import DualReport, report_of

Solved = tuple[np.ndarray, DualReport, str]  # beta, certificate, why the solver stopped early


@dataclass(eq=False, repr=False)
class VectorRegressor(Regressor, SupportVectorMachine):
    """What the two regressors share: f(x) = sum_i beta_i k(x_i, x) + b."""

    _: KW_ONLY
    C: float = 1.0

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets y and weights."""
        check_positive("C", self.C)
        self._check_parameters()
        chunks = self._as_chunks(X, y, sample_weight)
        if chunks is not None:
            return self._fit_chunks(chunks)
        X = self._check_X(X)
        y = column_or_1d(check_targets(self, X, y), warn=True)
        C = np.full(len(y), float(self.C))
        if (weights := check_weights(sample_weight, y)) is not None:
            C *= weights
        index = np.flatnonzero(C > 0)
        K = self._blocks(X)
        beta, report, trouble = self._fit_dual(K, index, y[index], C[index])
        support = np.flatnonzero(beta)
        self.dual_coef_ = beta[None, support]
        self.intercept_ = np.array([report.intercept])
        self.n_support_ = np.array([len(support)], dtype=np.int32)
        self._keep(X, index[support], K)
        self._certify([report], [trouble])
        return self

    def predict(self, X: Data) -> np.ndarray:
        """f(x) for every sample of X, which may come in chunks."""
        if isinstance(X, Chunks):
            check_is_fitted(self)
            return predicted(self.predict, X)
        if hasattr(self, "_passes"):
            X = check_data(self, X, self.kernel, reset=False)
            return self.gram_.cross(X) @ self.dual_coef_[0] + self.intercept_[0]
        return self._values(X)[:, 0, 0] + self.intercept_[0]

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _fit_chunks(self, chunks: Chunks) -> Self:
        raise no_chunks(self)

    def _fit_dual(self, blocks: RowGram, index: np.ndarray, y: np.ndarray, C: np.ndarray) -> Solved:
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class SVR(StreamedMachine, VectorRegressor):
    r"""Support vector regression.

    .. math:: \min_{f \in H_k, b} \tfrac12 \|f\|^2
              + C \sum_i w_i \max(0, |y_i - f(x_i) - b| - \epsilon)

    A drop-in replacement for :class:`sklearn.svm.SVR`, on any kernel and any data.

    Parameters
    ----------
    kernel, degree, gamma, coef0, solver, tol, shrinking, cache_size, verbose, max_iter, plan
        As in :class:`SVC`.
    C : float
        Weight of the loss, > 0.
    epsilon : float
        Half width of the tube in which errors cost nothing, >= 0.

    Attributes
    ----------
    reports_ : list of DualReport
        The certificate (also :meth:`decision_path`).
    rkhs_function_ : RKHSFunction
        f without the intercept, as an element of H_k.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR, Gaussian
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> SVR(kernel=Gaussian(), C=10, epsilon=0.01).fit(X, np.sin(X[:, 0])).predict([[1.5]]).round(1)
    array([1.])

    References
    ----------
    Drucker, Burges, Kaufman, Smola & Vapnik, *Support vector regression machines*, 1996.
    """

    _: KW_ONLY
    epsilon: float = 0.1
    solver: str = "auto"

    def _check_parameters(self) -> None:
        check_number("epsilon", self.epsilon, ">= 0 and finite", lambda e: 0 <= e < np.inf)

    def _fit_chunks(self, chunks: Chunks) -> Self:
        self._check_solver()
        if surveyed(chunks, labels=False).targets is not None:
            raise ValueError("SVR needs a single target; y of the chunks must have one dimension.")
        held_out = self._held_out(partial(check_targets, self))
        coef = self._by_passes(chunks, self._loss(), 1, held_out, [()])
        self.dual_coef_ = coef.T
        self.intercept_ = np.array([self.reports_[0].intercept])
        return self

    def _loss(self) -> Any:
        return EpsilonInsensitive(float(self.epsilon)) if self.epsilon else Absolute()

    def _fit_dual(self, blocks: RowGram, index: np.ndarray, y: np.ndarray, C: np.ndarray) -> Solved:
        problem = BoxProblem(y, -C, C, np.zeros(len(y)), epsilon=self.epsilon)
        beside = self._beside(partial(check_targets, self), self._loss())
        solution = self._solve(blocks.subset(index), problem, **beside)
        b = -multiplier(problem, solution)
        return solution.beta, report_of(problem, solution, [-b], b), solution.trouble


@dataclass(eq=False, repr=False)
class NuSVR(VectorRegressor):
    r"""Support vector regression that chooses the width of its tube.

    nu is an upper bound of the fraction of samples outside the tube and a lower bound of the
    fraction of support vectors.

    Parameters
    ----------
    nu : float
        In (0, 1].
    C : float
        Weight of the loss, > 0.
    kernel, degree, gamma, coef0, shrinking, tol, cache_size, verbose, max_iter, plan
        As in :class:`SVC`.

    Attributes
    ----------
    epsilon_ : float
        The half width found.
    reports_ : list of DualReport
        The certificate (also :meth:`decision_path`).
    rkhs_function_ : RKHSFunction
        f without the intercept, as an element of H_k.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVR, Gaussian
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> model = NuSVR(nu=0.3, C=10, kernel=Gaussian()).fit(X, np.sin(X[:, 0]))
    >>> bool(model.epsilon_ < 0.05)
    True

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, *New support vector algorithms*, 2000.
    """

    _: KW_ONLY
    nu: float = 0.5

    saved_state = (*VectorRegressor.saved_state, "epsilon_")

    def _check_parameters(self) -> None:
        check_fraction("nu", self.nu, one=True)

    def _fit_dual(self, blocks: RowGram, index: np.ndarray, y: np.ndarray, C: np.ndarray) -> Solved:
        """Two variables per sample, for residuals above and below the tube."""
        n = len(y)
        twice = np.concatenate([index, index])
        mass = fill_up(C, self.nu * C.sum() / 2)
        zero = np.zeros(n)
        problem = BoxProblem(
            np.concatenate([y, y]),
            np.concatenate([zero, -C]),
            np.concatenate([C, zero]),
            np.concatenate([mass, -mass]),
            groups=np.repeat([0, 1], n),
        )
        solution = self._solve(blocks.subset(twice), problem)
        above, below = multiplier(problem, solution, 0), multiplier(problem, solution, 1)
        self.epsilon_, b = (below - above) / 2, -(above + below) / 2
        beta = solution.beta[:n] + solution.beta[n:]
        bounded = int(np.sum(np.abs(beta) >= C))
        report = replace(
            report_of(problem, solution, [above, below], b),
            bounded=bounded,
            free=int(np.sum(beta != 0)) - bounded,
        )
        return beta, report, solution.trouble
