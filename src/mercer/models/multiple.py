"""Multiple kernel learning: the weights of a sum of kernels, learned with the function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from ..checks import check_count, check_number
from ..data import Data
from ..gram.algebra import SumGram
from ..gram.base import Gram
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.given.precomputed import Precomputed
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.radial import Gaussian
from ..solvers.kernel_weights import Cut, best_weights
from ..solvers.representer import MachineSolution, Problem, solve_representer
from .common import all_or_nothing
from .machine_base import LossMachine

_GRID = (0.25, 0.5, 1.0, 2.0, 4.0)  # lengthscales of the default kernels, in units of the median
_SHARE = 0.3  # of the gap that is asked for may be due to problems with given weights
_FINER = 4  # times such a problem is solved more finely, if its gap is larger
_FLAT = 1e-12  # a variance below this part of k(x, x) is rounding
_NOTHING = 1e-14  # of the loss of f = 0: an objective that is rounding


@dataclass(eq=False, repr=False)
class MultipleKernelMachine(LossMachine):
    r"""Multiple kernel learning: a kernel machine with a sum of kernels whose weights are learned.

    .. math:: \min_{\eta \ge 0,\, \|\eta\|_p \le 1} \; \min_{f \in H_\eta,\, b}
              \sum_i w_i L(y_i, f(x_i) + b) + \tfrac{\alpha}{2} \|f\|^2_\eta, \qquad
              k_\eta = \sum_m \eta_m k_m

    This is one convex problem, in which f is a sum of functions f_m in H_m with the penalty
    :math:`\tfrac{\alpha}{2} (\sum_m \|f_m\|^q)^{2/q}`, q = 2p / (p + 1). For p = 1 it is the
    squared sum of their norms, the group lasso: kernels that do not help have weight 0. The larger
    p is, the more equal the weights are; with p = infinity all are 1.

    ``gap_`` bounds how far the objective is from that of the best weights. With several classes,
    all machines share the weights.

    Parameters
    ----------
    kernels : list of kernels or names, optional
        The kernels k_m, on any data: ``[Gaussian().on("age"), Spectrum(3).on("sequence")]``. By
        default Gaussian kernels of five lengthscales around the median distance.
    loss : Loss or str
        As for :class:`KernelMachine`: ``"squared"``, ``"hinge"``, ``"logistic"``, ...; it must have
        a conjugate, as all named losses do.
    alpha : float
        Strength of the penalty, > 0; C of a support vector machine is 1 / alpha.
    p : float
        Which norm of the weights is at most 1; >= 1.
    scale : bool
        Divide each kernel by the variance of its features on the training samples, so that weights
        can be compared.
    fit_intercept, solver
        As for :class:`KernelMachine`.
    tol : float
        The duality gap, relative to the objective, at which to stop.
    max_iter : int
        The maximum number of problems with given weights to solve.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. All K_m are stored where they fit. With
        a ``rank``, each kernel is approximated with this many landmarks.

    Attributes
    ----------
    weights_ : ndarray of shape (M,)
        eta.
    scales_ : ndarray of shape (M,)
        The variances that kernels were divided by.
    gap_ : float
        An upper bound on how much the objective can still be lowered, relative to it.
    kernel_ : Kernel
        The sum of the kernels that have weight, each times its weight.
    kernels_ : list of Kernel
        All kernels, with all parameters resolved to numbers, before weights and scales.
    weighing_ : KernelWeights
        The certificate: objective, lower bound, and both after each problem.
    dual_coef_, intercept_, loss_, classes_, X_fit_, n_samples_seen_, gram_, rkhs_function_
        As for :class:`KernelMachine`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, MultipleKernelMachine
    >>> X = np.random.default_rng(0).uniform(-2, 2, (100, 4))
    >>> y = np.sin(2 * X[:, 0]) + X[:, 2]
    >>> kernels = [Gaussian(1.0).on(j) for j in range(4)]
    >>> model = MultipleKernelMachine(kernels, alpha=0.1).fit(X, y)
    >>> np.flatnonzero(model.weights_)
    array([0, 2])
    >>> model.gap_ < 1e-3
    True

    References
    ----------
    Bach, Lanckriet & Jordan, *Multiple kernel learning, conic duality, and the SMO algorithm*,
    ICML 2004; Rakotomamonjy, Bach, Canu & Grandvalet, *SimpleMKL*, JMLR 2008; Kloft, Brefeld,
    Sonnenburg & Zien, *lp-norm multiple kernel learning*, JMLR 2011.
    """

    kernels: Any = None
    loss: Any = "squared"
    alpha: float = 1.0
    _: KW_ONLY
    p: float = 1.0
    scale: bool = True
    fit_intercept: bool = True
    solver: str = "auto"
    tol: float = 1e-3
    max_iter: int = 200
    plan: Plan | None = None

    saved_state = (
        *LossMachine.saved_state, "weights_", "scales_", "gap_", "kernels_",
    )  # fmt: skip

    @all_or_nothing
    def fit(self, X: Data, y: Any, sample_weight: Any = None) -> Self:
        """Fit to samples X, targets or labels y, and weights."""
        check_number("p", self.p, ">= 1", lambda p: p >= 1)
        check_count("max_iter", self.max_iter)
        given = self._given()
        X = self._read(X, y, sample_weight)
        if given is None:
            unit: Any = Gaussian("median").resolve(X)
            median = float(unit.lengthscale)
            given = [Gaussian(t * median) for t in _GRID]
        joint = self.loss_.targets == "classes"
        if not joint and self.loss_.conjugate(np.ones(1), np.zeros(1)) is None:
            raise ValueError(
                f"loss={self.loss_!r} has no conjugate, which is needed to learn the weights."
            )
        plan = self.plan or Plan()
        share = plan.replace(memory=plan.room / (len(given) + 2))
        grams = [self._stored(share.gram(as_kernel(k, X), X)) for k in given]
        self.X_fit_ = X
        self.kernels_ = [gram.kernel for gram in grams]
        scales = [_variance(gram, self._weights) if self.scale else 1.0 for gram in grams]
        self.scales_ = np.array(scales)
        problems = _Problems(self, grams, plan)
        found = best_weights(
            problems, len(grams), float(self.p), tol=self.tol, max_iter=self.max_iter
        ).warn()
        self.weights_, self.gap_, self.weighing_ = found.weights, found.gap, found
        return self._finish(X, problems.at(found.weights), plan)

    def _finish(self, X: Data, solutions: list[MachineSolution], plan: Plan) -> Self:
        kernel = reduce(add, self._terms(self.weights_))
        self.gram_ = plan.exact().gram(kernel, X)
        self.kernel_ = self.gram_.kernel
        self._keep(solutions)
        return self

    def _terms(self, weights: np.ndarray) -> list[Kernel]:
        """Kernels that have weight, each times its weight."""
        some = np.flatnonzero(weights)
        return [float(weights[m] / self.scales_[m]) * self.kernels_[m] for m in some]

    @property
    def kernel(self) -> Any:
        """The kernel by which samples are checked: the sum of all, or a name for vectors."""
        given = self._given()
        if given is None or not all(isinstance(k, Kernel) for k in given):
            return "rbf"
        return reduce(add, given)

    def _given(self) -> list[Any] | None:
        if self.kernels is None:
            return None
        if not isinstance(self.kernels, Sequence) or isinstance(self.kernels, str):
            raise ValueError(f"kernels must be a list of kernels, got {self.kernels!r}.")
        if not len(self.kernels):
            raise ValueError("kernels must hold at least one kernel.")
        return list(self.kernels)


class _Problems:
    """The problem for given weights, for each column of targets, from the solution before."""

    def __init__(self, machine: MultipleKernelMachine, grams: list[Any], plan: Plan) -> None:
        self.machine, self.grams, self.plan = machine, grams, plan
        self.columns = machine._columns()
        self.kept: dict[bytes, list[MachineSolution]] = {}  # of the best weights, and the last
        self.best: tuple[float, bytes] = (np.inf, b"")
        self.starts: list[Any] = [None] * len(self.columns)
        options = machine.loss_, machine.alpha, machine._weights, False
        sizes = [Problem(grams[0], column, *options).size for column in self.columns]
        self.rounding = _NOTHING * sum(sizes)

    def __call__(self, weights: np.ndarray) -> Cut:
        machine, solutions = self.machine, self.at(weights)
        C = np.hstack([s.coef for s in solutions])
        squares = np.array([np.sum(C * (gram @ C)) for gram in self.grams]) / machine.scales_
        slope = machine.alpha / 2 * squares
        value = sum(s.stats["objective"] for s in solutions)
        gap = sum(max(s.stats["gap"], 0.0) for s in solutions)
        self.best = min(self.best, (value, weights.tobytes()))
        if abs(value) <= self.rounding:  # targets are constant: all weights are as good
            return Cut(0.0, 0.0, np.zeros_like(slope))
        return Cut(value, value - gap + float(slope @ weights), slope)

    def at(self, weights: np.ndarray) -> list[MachineSolution]:
        """The solutions for these weights; those of the best and of the last ones are kept."""
        key = weights.tobytes()
        if key not in self.kept:
            gram = self._gram(weights)
            found = [self._solve(gram, j) for j in range(len(self.columns))]
            self.kept = {k: kept for k, kept in self.kept.items() if k == self.best[1]}
            self.kept[key] = found
            self.starts = [(s.coef, s.intercept) for s in found]
        return self.kept[key]

    def _solve(self, gram: Gram, j: int) -> MachineSolution:
        machine, tol, start = self.machine, 1e-3, self.starts[j]
        for _ in range(_FINER):
            found = solve_representer(
                gram, self.columns[j], machine.loss_, float(machine.alpha), machine._weights,
                intercept=machine.fit_intercept, solver=machine.solver, tol=tol, start=start,
            )  # fmt: skip
            goal = _SHARE * machine.tol * abs(found.stats["objective"])
            if found.stats.get("gap", np.inf) <= goal:
                return found
            start, tol = (found.coef, found.intercept), tol / 10
        found.warn()
        if "gap" not in found.stats:
            raise ValueError(
                f"loss={machine.loss_!r}: the duality gap, which is needed to learn the weights, "
                "could not be computed; raise alpha, or scale the data."
            )
        return found

    def _gram(self, weights: np.ndarray) -> Gram:
        """K of the weighted sum: from features, as an array, or neither."""
        some, machine = np.flatnonzero(weights), self.machine
        parts, factors = [self.grams[m] for m in some], weights[some] / machine.scales_[some]
        ranks = [np.inf if gram.rank is None else gram.rank for gram in parts]
        if sum(ranks) <= len(parts[0]):
            kernel = reduce(add, machine._terms(weights))
            return self.plan.exact().replace(storage="lowrank").gram(kernel, machine.X_fit_)
        if any(part.matrix_free for part in parts):
            return SumGram(parts, factors.tolist())
        K = np.zeros(parts[0].shape)
        for part, factor in zip(parts, factors, strict=True):
            K += factor * part.to_dense()
        gram: Any = Precomputed().gram(K)
        gram.limit, gram.workers = self.plan.limit, self.plan.workers
        return gram


def _variance(gram: Any, weights: np.ndarray | None) -> float:
    """Of the features of a kernel: the mean of |phi(x) - mean|^2; 1 where there is none."""
    share = np.full(len(gram), 1 / len(gram)) if weights is None else weights / weights.sum()
    mean = float(share @ gram.diag())
    found = mean - float(share @ (gram @ share))
    return found if found > _FLAT * abs(mean) else 1.0
