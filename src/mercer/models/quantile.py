"""Kernel quantile regression: one or several quantiles that never cross, and expectiles."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from ..checks import as_numbers
from ..chunks.base import Chunk, Sums
from ..data import Data
from ..gram.phi import Shifted
from ..gram.plan import Plan
from ..losses.base import Loss
from ..losses.regression import Expectile, Quantile
from ..solvers.representer import spread_of
from .common import Regressor, all_or_nothing, check_weights, of_chunks
from .machine_base import RepresenterMachine
from .streamed import Watched

_FEW = 10_000  # samples that tell how spread y is


@dataclass(eq=False, repr=False)
class LevelRegressor(Regressor, Watched, RepresenterMachine):
    """Common base of both: a function for each level, with its own loss, and sorted values."""

    _: KW_ONLY
    alpha: float = 1.0
    kernel: Any = "rbf"
    fit_intercept: bool = True
    max_iter: int | None = None
    plan: Plan | None = None

    _parameter: ClassVar[str]
    saved_state = (*RepresenterMachine.saved_state, "crossings_")

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets y and weights.

        X may be :class:`~mercer.chunks.Chunks`, which carry their own targets and weights.
        """
        levels = self._levels()
        X = self._chunks(X, y, sample_weight)
        X, y = self._check_fit(X, y)
        weights = None if y is None else check_weights(sample_weight, y)
        losses: list[Loss] = [self._loss(q) for q in levels.tolist()]
        self._make_gram(X, losses[0])
        gram, solutions = self.gram_, self._solve_all(losses, [y] * len(losses), weights)
        order = self._order
        if gram.streamed:
            self.crossings_ = _crossings_by_passes(gram.stream(y), solutions[0], order, self.tol)
        else:
            fitted = np.hstack([gram @ s.coef + s.intercept for s in solutions])
            crossed = Crossings(order, self.tol * spread_of(y))
            self.crossings_ = float(crossed.count(fitted) / len(fitted))
        self._keep(solutions)
        return self

    def predict(self, X: Data) -> np.ndarray:
        """One value per level at every sample: shape (m,) for one level, else (m, q), in order."""
        fitted = self._raw(self._values(X))
        fitted[:, self._order] = np.sort(fitted, axis=1)
        return fitted[:, 0] if np.ndim(self._given) == 0 else fitted

    def _raw(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(len(values), -1)

    @property
    def _given(self) -> Any:
        """The parameter that names the levels."""
        return getattr(self, self._parameter)

    @property
    def _order(self) -> np.ndarray:
        """The indices of the levels in ascending order."""
        return np.argsort(self._levels())

    def _levels(self) -> np.ndarray:
        q = np.atleast_1d(as_numbers(self._parameter, self._given))
        if q.ndim != 1 or not len(q) or not np.all((q > 0) & (q < 1)):
            raise ValueError(f"{self._parameter} must lie between 0 and 1, got {self._given!r}.")
        if len(np.unique(q)) < len(q):
            raise ValueError(f"{self._parameter} must all be different, got {self._given!r}.")
        return q

    def _loss(self, q: float) -> Loss:
        raise NotImplementedError

    @of_chunks
    def score(self, X: Data, y: Any, sample_weight: Any = None) -> float:
        """The part of the loss explained, 1 - loss / loss of the best constants; mean over q."""
        y, levels = column_or_1d(y), self._levels()
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        scores = []
        for q, f in zip(levels.tolist(), self._raw(self.predict(X)).T, strict=True):
            loss = self._loss(q)
            constant = np.full(len(y), float(loss.constant(y, w)[0]))
            best = float(w @ loss.value(y, constant))
            left = float(w @ loss.value(y, f))
            scores.append(1 - left / best if best > 0 else float(left <= 0))
        return float(np.mean(scores))


@dataclass(eq=False, repr=False)
class KernelQuantileRegressor(LevelRegressor):
    r"""Quantiles of y given x, by the pinball loss.

    .. math:: \min_{f \in H_k,\, b} \sum_i w_i\, \rho_q(y_i - f(x_i) - b)
              + \tfrac{\alpha}{2} \|f\|^2, \qquad
              \rho_q(r) = \max(q r, (q - 1) r)

    Each quantile is fitted on its own. Functions fitted to few samples may cross; predictions do
    not, because the values at each x are sorted (rearranged; see the notes). ``crossings_`` is the
    share of training samples at which sorting changed anything.

    Parameters
    ----------
    quantiles : float or list of float
        In (0, 1), all different. A single number gives predictions of shape (m,).
    alpha : float
        Strength of the penalty, > 0.
    kernel : Kernel, str or callable
        A kernel, a name known to scikit-learn, or a function of two samples.
    fit_intercept : bool
        Whether to fit a constant b, which is not penalised. With it, at most a fraction q of the
        samples lies below the q-quantile, and at most 1 - q above.
    tol : float
        Largest violation of the optimality conditions; values within tol standard deviations of y
        count as being at a kink of the loss.
    max_iter : int, optional
        Maximum number of steps of the dual solver; no limit by default.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.
    verbose, callback, checkpoint, validation
        Progress, callbacks, checkpoints and early stopping, if features are streamed; as in
        :class:`KernelRidge`.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n,) or (n, q)
        The coefficients c of f = sum_i c_i k(x_i, .), before rearrangement.
    intercept_ : float or ndarray of shape (q,)
        b.
    crossings_ : float
        The share of the training samples at which fitted quantiles cross.
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
        The certificate of the least accurate quantile.

    Notes
    -----
    Sorting never makes predictions worse, whatever y is: :math:`\rho_q(y - f) = q (y - f) + \max(f
    - y, 0)`, the second terms do not depend on which value belongs to which q, and the sum over q
    of the first ones is smallest when the values rise with q (the rearrangement inequality). So the
    sum of the pinball losses does not increase at any sample, and sorted values are at least as
    close to the true quantiles (Chernozhukov et al.).

    Quantiles can also be fitted jointly, with the constraint that they do not cross at the training
    samples. That couples all of them in one problem, they may still cross anywhere else, and the
    loss on new data was the same as that of sorting to half a per cent, better or worse (nine
    quantiles, 50 and 100 samples, one and three dimensions, four kinds of noise).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelQuantileRegressor
    >>> X = np.repeat(np.linspace(0, 1, 5), 21)[:, None]
    >>> y = np.tile(np.arange(21.0), 5)
    >>> model = KernelQuantileRegressor([0.25, 0.5, 0.75], alpha=10, kernel=Gaussian()).fit(X, y)
    >>> model.predict([[0.5]]).round(1)
    array([[ 5., 10., 15.]])

    References
    ----------
    Takeuchi, Le, Sears & Smola, *Nonparametric quantile estimation*, JMLR 2006; Chernozhukov,
    Fernández-Val & Galichon, *Quantile and probability curves without crossing*, 2010.
    """

    quantiles: Any = 0.5
    _: KW_ONLY
    tol: float = 1e-4

    _parameter = "quantiles"

    def _loss(self, q: float) -> Loss:
        return Quantile(q)


@dataclass(eq=False, repr=False)
class KernelExpectileRegressor(LevelRegressor):
    r"""Expectiles of y given x, by an asymmetric squared loss.

    .. math:: \min_{f \in H_k,\, b} \sum_i w_i\, |q - 1(y_i < f(x_i) + b)|\, (y_i - f(x_i) - b)^2
              + \tfrac{\alpha}{2} \|f\|^2

    At the q-expectile, the mean excess above it and the mean shortfall below it are in the ratio of
    1 - q to q: q = 1/2 is the mean. Expectiles depend on how far samples are away, quantiles on how
    many there are; expectiles are smooth functions of the sample, and faster to fit. Wrapped in
    :class:`ConformalRegressor`, their band has the requested coverage.

    Parameters
    ----------
    expectiles : float or list of float
        In (0, 1), all different. A single number gives predictions of shape (m,).
    alpha, kernel, fit_intercept, max_iter, plan, verbose, callback, checkpoint, validation
        As for :class:`KernelQuantileRegressor`.
    tol : float
        Largest violation of the optimality conditions.

    Attributes
    ----------
    dual_coef_, intercept_, crossings_, kernel_, X_fit_, n_samples_seen_, gram_, rkhs_function_
        As for :class:`KernelQuantileRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelExpectileRegressor
    >>> X = np.repeat(np.linspace(0, 1, 5), 21)[:, None]
    >>> y = np.tile(np.arange(21.0), 5)
    >>> KernelExpectileRegressor([0.5, 0.9], alpha=10, kernel=Gaussian()).fit(X, y).predict(
    ...     [[0.5]]
    ... ).round(1)
    array([[10. , 15.2]])

    References
    ----------
    Newey & Powell, *Asymmetric least squares estimation and testing*, 1987.
    """

    expectiles: Any = 0.5
    _: KW_ONLY
    tol: float = 1e-6

    _parameter = "expectiles"

    def _loss(self, q: float) -> Loss:
        return Expectile(q)


@dataclass
class Crossings:
    """Counts samples at which quantiles decrease by more than ``slack``."""

    order: np.ndarray
    slack: float

    def count(self, fitted: np.ndarray) -> int:
        """Of these samples, with one column for each quantile."""
        rising = np.diff(fitted[:, self.order], axis=1)
        return int(np.sum(np.any(rising < -self.slack, axis=1)))

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        """In a pass over the samples."""
        return F[:, :0], (np.array(self.count(F)),)


def _crossings_by_passes(phi: Any, solution: Any, order: np.ndarray, tol: float) -> float:
    """The share of all samples; the spread of y is estimated from a few."""
    y = phi.chunks.sample(_FEW, np.random.default_rng(0)).y
    between = Shifted(Crossings(order, tol * spread_of(y)), solution.intercept)
    _, count = phi.through(solution.weights, between, 0)[1]
    return float(count / phi.n)
