"""Support vector classifiers: soft margin, hard margin, and the nu form."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np

from ..checks import check_fraction, check_number
from ..chunks.base import Chunks
from ..data import Data
from ..gram.rows import RowGram
from ..losses.classification import Hinge
from ..solvers.box import BoxProblem, BoxSolution, bounds_of_optimum, multiplier
from ..solvers.dual import ON_FEATURES
from .common import check_targets
from .streamed import known_codes
from .svm_base import fill_up
from .svm_chunks import PairHinge, PairSigns, StreamedMachine, pair_signs
from .svm_pairs import Solved, VectorClassifier
from .svm_report import report_of

_ROUNDING = 1e-15  # of squared distances of two convex hulls, in units of k(x, x)


@dataclass(eq=False, repr=False)
class SVC(StreamedMachine, VectorClassifier):
    r"""Support vector classifier.

    .. math:: \min_{f \in H_k, b} \tfrac12 \|f\|^2 + C \sum_i w_i \max(0, 1 - y_i (f(x_i) + b))

    A drop-in replacement for :class:`sklearn.svm.SVC`: same parameters and attributes, any kernel
    on any data, all cores, and a certificate of optimality (:meth:`decision_path`).

    Parameters
    ----------
    C : float
        Weight of the loss, > 0. ``numpy.inf`` is the hard margin, which raises an error if the
        classes cannot be separated.
    kernel : Kernel, str or callable
        A kernel, a name known to scikit-learn, or a function of two samples or data sets.
    degree, gamma, coef0
        Parameters of kernels given by name.
    solver : {"auto", "decomposition", "coordinate", "snacks"}
        ``"decomposition"`` works on rows of K. ``"coordinate"`` is dual coordinate descent, for a K
        that is a product of features: a linear kernel, words and other sparse features, or
        ``plan=Plan(features=...)``. ``"auto"`` is decomposition, or coordinate descent with
        features and at least 10,000 samples in a pair of classes, unless 200 sweeps are not enough.
        ``"snacks"`` uses stochastic subgradients on features, and needs many more passes over them.
    shrinking : bool
        Whether to set aside samples whose coefficients have settled.
    probability : bool
        Whether to calibrate scores by cross-fitting, for :meth:`predict_proba`; this takes five
        more fits, and does not change :meth:`predict`.
    tol : float
        Largest violation of the optimality conditions; for coordinate descent the largest duality
        gap, relative to the primal value.
    cache_size : float or str
        Memory for kernel rows: MB, or a string such as "2 GB".
    class_weight : dict, "balanced" or None
        Factors of C per class.
    verbose : bool
        Show progress: rounds of the solver, or pairs of classes.
    callback, checkpoint, validation
        As in :class:`KernelRidge`; for solvers on features, and if features are streamed.
    max_iter : int
        Maximum number of steps, of two variables or of one; -1 stands for 20 million, or 1000 per
        sample if that is more.
    multiclass : {"ovo", "ovr"}
        One machine for each pair of classes, with votes, as in scikit-learn; or one for each class
        against the rest, where the largest score wins. For two classes both are the same.
    decision_function_shape : {"ovr", "ovo"}
        One score per class or per pair of classes; the former from votes and scores of pairs, or
        those of the machines for each class.
    break_ties : bool
        Whether scores decide between classes with the same number of votes.
    random_state : int, RandomState or None
        Used to choose the folds of the calibration.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. Rows of K are computed when they are needed,
        and kept as far as ``cache_size`` and ``memory`` allow; with ``storage="dense"`` all of K is
        stored, and with a ``rank`` it is approximated by features. If these are not stored, as for
        :class:`~mercer.chunks.Chunks`, all pairs of classes share the passes over the samples
        (:mod:`mercer.models.svm_chunks`).

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, n_iter_
        As in scikit-learn. If fitted by passes, ``support_vectors_`` are the samples that are kept,
        ``dual_coef_`` has one row for each pair of classes, and ``support_`` and ``n_support_`` are
        missing: ``reports_`` count support vectors.
    gram_ : Gram
        The operator of the support vectors; predictions use ``gram_.cross``, and
        ``gram_.explain()`` says what was done with K in training.
    kernel_ : Kernel
        The kernel with all parameters resolved to numbers.
    rkhs_function_ : RKHSFunction
        The function of each machine without its intercept, as an element of H_k.
    reports_ : list of DualReport
        The certificates, one for each pair of classes, or for each class.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC, Gaussian
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> model = SVC(C=10, kernel=Gaussian()).fit(X, ["same", "same", "differ", "differ"])
    >>> model.predict([[0.1, 0.9]])
    array(['differ'], dtype='<U6')
    >>> model.decision_path()[0].gap < 1e-2
    True

    References
    ----------
    Cortes & Vapnik, *Support-vector networks*, 1995; Fan, Chen & Lin, *Working set selection using
    second order information*, JMLR 2005; Joachims, *Making large-scale SVM learning practical*,
    1999; Hsieh, Chang, Lin, Keerthi & Sundararajan, *A dual coordinate descent method for
    large-scale linear SVM*, ICML 2008.
    """

    _: KW_ONLY
    C: float = 1.0
    solver: str = "auto"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("C", self.C, "> 0", lambda C: C > 0)
        if np.isinf(self.C) and self.solver in ON_FEATURES:
            raise ValueError(
                f'C=inf is a hard margin, which solver="{self.solver}" does not support; use '
                '"auto".'
            )

    def _fit_chunks(self, chunks: Chunks) -> Self:
        self._check_parameters()
        self._check_solver()
        for name, refused in (("C=inf", np.isinf(self.C)), ("probability", self.probability)):
            if refused:
                raise ValueError(
                    f"{name} is not supported for chunks; KernelLogisticRegression gives "
                    "probabilities for them."
                )
        signs, pairs = pair_signs(self, chunks)
        held_out = self._held_out(self._in_pairs)
        coef = self._by_passes(chunks.changed(signs), PairHinge(), len(pairs), held_out, pairs)
        self.dual_coef_ = self._sign * coef.T
        self.intercept_ = self._sign * np.array([report.intercept for report in self.reports_])
        self.__dict__.pop("_calibration", None)
        return self

    def _problem(self, y: np.ndarray, weights: np.ndarray, start: np.ndarray) -> BoxProblem | None:
        if np.isinf(self.C):
            return None
        C = self.C * weights
        return BoxProblem(y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0), start)

    def _solve_pair(
        self,
        K: RowGram,
        y: np.ndarray,
        weights: np.ndarray,
        start: np.ndarray,
        found: BoxSolution | None = None,
    ) -> Solved:
        problem = self._problem(y, weights, start)
        if problem is None:
            return self._hard_margin(K, y)
        beside = self._beside(self._in_pairs, Hinge())
        solution = found or self._solve(K, problem, **beside)
        b = -multiplier(problem, solution)
        return solution, report_of(problem, solution, [-b], b)

    def _hard_margin(self, K: RowGram, y: np.ndarray) -> Solved:
        """The nearest points of the two convex hulls; the classes overlap if they meet."""
        problem = BoxProblem(
            np.zeros(len(y)),
            np.minimum(2 * y, 0.0),  # no limits: each class adds up to 1
            np.maximum(2 * y, 0.0),
            np.where(y > 0, 1 / np.sum(y > 0), -1 / np.sum(y < 0)),
            groups=(y > 0).astype(int),
        )
        scale = float(np.abs(K.diagonal).mean()) or 1.0
        found, (below, above), meet = nearest_points(self, K, problem, self.tol * scale, self.tol)
        if meet:
            raise ValueError(
                "C=inf asks for a hard margin, but the classes cannot be separated with this "
                "kernel: up to the precision of its values, their convex hulls in feature space "
                "meet. Use a finite C."
            )
        # ||p - q||^2 = squared, and f = 2 (p - q) / squared has margin exactly 1
        factor = 2 / float(found.beta @ found.gradient)
        scaled = replace(
            found,
            beta=found.beta * factor,
            gradient=found.gradient * factor - y,
            violation=found.violation * factor,
        )
        free = np.full(len(y), np.inf)
        margin = BoxProblem(y, np.where(y > 0, 0.0, -free), np.where(y > 0, free, 0.0), scaled.beta)
        b = -(above + below) / 2 * factor
        return scaled, report_of(margin, scaled, [-b], b)

    def _in_pairs(self, X: Data, y: Any) -> np.ndarray:
        """Labels held out, in the form of the loss."""
        codes = known_codes(self.classes_, check_targets(self, X, y, None))
        return PairSigns(self.classes_, self.class_weight_, self._contests()).signs(codes)

    def _precision(self) -> float:
        return 0.0 if np.isinf(self.C) else super()._precision()


@dataclass(eq=False, repr=False)
class NuSVC(VectorClassifier):
    r"""Support vector classifier in the nu form.

    .. math:: \min_{f \in H_k, b, \rho} \tfrac12 \|f\|^2 - \nu W \rho
              + \sum_i w_i \max(0, \rho - y_i (f(x_i) + b)), \qquad W = \sum_i w_i

    Scores are divided by rho, so that the margin is at ±1 as for :class:`SVC`. nu is an upper
    bound of the fraction of margin errors and a lower bound of the fraction of support vectors.

    Parameters
    ----------
    nu : float
        In (0, 1], and feasible only up to 2 min(n+, n-) / n for each pair of classes.
    kernel, degree, gamma, coef0, shrinking, probability, tol, cache_size, class_weight, verbose
        As in :class:`SVC`.
    max_iter, multiclass, decision_function_shape, break_ties, random_state, plan
        As in :class:`SVC`.

    Attributes
    ----------
    reports_ : list of DualReport
        The certificates: primal and dual values of the problem above, and its rho.
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, n_iter_
        As in :class:`SVC`; for scores that are divided by rho.
    gram_, kernel_, rkhs_function_
        As in :class:`SVC`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import NuSVC
    >>> X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> NuSVC(nu=0.5).fit(X, [0, 0, 1, 1]).predict([[-0.8], [0.9]])
    array([0, 1])

    References
    ----------
    Schölkopf, Smola, Williamson & Bartlett, *New support vector algorithms*, 2000; Crisp & Burges,
    *A geometric interpretation of nu-SVM classifiers*, 2000.
    """

    _: KW_ONLY
    nu: float = 0.5

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_fraction("nu", self.nu, one=True)

    def _solve_pair(
        self, K: RowGram, y: np.ndarray, weights: np.ndarray, start: np.ndarray
    ) -> Solved:
        mass = self.nu * weights.sum() / 2
        start = np.zeros(len(y))
        for sign in (1.0, -1.0):
            of = y == sign
            if mass > weights[of].sum() * (1 + 1e-12):
                most = 2 * min(weights[y > 0].sum(), weights[y < 0].sum()) / weights.sum()
                raise ValueError(
                    f"specified nu is infeasible: nu={self.nu:g}, but with these class sizes it "
                    f"can be at most {most:.4g}."
                )
            start[of] = sign * fill_up(weights[of], mass)
        problem = BoxProblem(
            np.zeros(len(y)),
            np.where(y > 0, 0.0, -weights),
            np.where(y > 0, weights, 0.0),
            start,
            groups=(y > 0).astype(int),
        )
        found, (below, above), meet = nearest_points(self, K, problem, self.tol, 1.0)
        width = (above - below) / 2
        if meet or width <= 0:
            raise ValueError(
                f"nu={self.nu:g} leaves no margin: up to the precision of kernel values, the "
                "reduced convex hulls of the classes meet in feature space; raise nu."
            )
        b = -(above + below) / (2 * width)
        report = report_of(problem, found, (below, above), b)
        report = replace(report, margin=report.margin * width, rho=width)
        return replace(found, beta=found.beta / width, gradient=found.gradient / width - y), report


def nearest_points(
    machine: VectorClassifier, K: RowGram, problem: BoxProblem, tol: float, share: float
) -> tuple[BoxSolution, tuple[float, float], bool]:
    r"""The nearest points of two (reduced) convex hulls: where the difference of groups is least.

    The squared distance of any two points, d² = beta'K beta, is an upper bound of the least one,
    and the duality gap gives a lower bound. The problem is solved more and more finely until these
    differ by no more than ``share``, or d² is rounding: then the hulls meet. If the solver stops
    before either is proved, the solution counts as not converged.

    Returns
    -------
    The solution; the multipliers of both groups; whether the hulls meet.
    """
    total, mass = 0, float(np.abs(problem.start).sum()) / 2
    # of values that are not centred: those that new samples have
    rounding = _ROUNDING * (2 * mass) ** 2 * float(np.abs(K.diagonal).max())
    K = K.centred()
    while True:
        found = machine._solve(K, problem, tol, total)
        total += found.n_iter
        ends = multiplier(problem, found, 0), multiplier(problem, found, 1)
        squared = float(found.beta @ found.gradient)
        primal, dual = bounds_of_optimum(problem, found, ends)
        proved = primal - dual < share * squared / 2
        meet = squared <= rounding
        if proved or meet or not found.converged:
            return replace(found, converged=proved, n_iter=total), ends, meet
        problem.start, tol = found.beta, min(tol / 10, share * squared / (5 * mass))
