"""Common base of support vector machines: parameters, the dual on a subset, predictions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..checks import check_choice, check_count, check_number, check_positive
from ..chunks.base import Chunks
from ..data import Data, as_dense, evenly, length, take
from ..engine.memory import memory_words, parse_memory, require_memory
from ..exceptions import ConvergenceWarning, IndefiniteKernelWarning, not_finite, warn
from ..gram.device.torch_ import HOST
from ..gram.given import GivenColumns
from ..gram.plan import Plan
from ..gram.rows import RowGram
from ..gram.tiles import compiled, on_pool
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.evaluator import exponents
from ..kernels.indefinite import PROBED, STATIONARY, has_negative
from ..ownership import owned
from ..progress import ticker
from ..rkhs.function import RKHSFunction
from ..solvers.box import BoxProblem, BoxSolution
from ..solvers.device_smo import solve_boxes
from ..solvers.dual import ON_FEATURES, SOLVERS, solve_dual
from ..solvers.working_set import SMALLEST
from .common import (
    SEEN,
    KernelEstimator,
    by_features,
    check_data,
    no_chunks,
    on_vectors,
    seen_columns,
)
from .kept import few_gram
from .svm_report import DualReport
from .svm_rows import for_features, training_rows
from .svm_sums import compiled_sums, groups, products_of_groups, sum_groups

_TILED = Plan(storage="tiled")  # the default: rows are computed on request
_BESIDE = 1.5  # the memory of a solver, relative to the rows it keeps
_LEAST = 1e7  # bytes needed in any case
_FEW = 8  # coefficients of a support vector, up to which sums are compiled with the kernel


@dataclass(eq=False, repr=False)
class SupportVectorMachine(KernelEstimator):
    """Parameters, data and dual solver of all support vector machines."""

    kernel: Any = "rbf"
    _: KW_ONLY
    degree: float = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    tol: float = 1e-3
    shrinking: bool = True
    cache_size: Any = 200
    verbose: bool = False
    max_iter: int = -1
    plan: Plan | None = None

    factorises: ClassVar[bool] = False
    saved_state: ClassVar[tuple[str, ...]] = (
        *SEEN,
        "kernel_",
        "support_",
        "support_vectors_",
        "n_support_",
        "dual_coef_",
        "intercept_",
        "n_iter_",
        "fit_status_",
        "reports_",
        "shape_fit_",
        "_how",
        "_few_coef",
        "_passes",
    )

    if_indefinite: ClassVar[str] = (
        "the solution is a stationary point of the dual, without a duality gap"
    )
    _pairs: ClassVar[bool] = False  # one problem for each pair of classes?
    solver = "auto"  # a parameter of those that have a choice

    @property
    def _problems(self) -> str:
        """The kind of problems, in words."""
        return "problems"

    def _as_chunks(self, X: Any, y: Any, sample_weight: Any) -> Chunks | None:
        """X if it comes in chunks, which a machine may reject."""
        if isinstance(X, Chunks):
            raise no_chunks(self)
        return None

    def _check_X(self, X: Data) -> Data:
        self._check_solver()
        X = check_data(self, X, self.kernel, reset=True, keep=False)
        self.shape_fit_ = X.shape if hasattr(X, "shape") else (length(X),)
        return X

    def _check_solver(self) -> None:
        check_choice("solver", self.solver, SOLVERS)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter, -1)
        if self.kernel == "poly":
            check_number(
                "degree", self.degree, "an integer >= 0", lambda d: d >= 0 and float(d).is_integer()
            )
        self._cache_bytes()

    def _blocks(self, X: Data, order: np.ndarray | None = None) -> RowGram:
        """Fix the kernel, and prepare its matrix for the samples in this order."""
        kernel = self._as_kernel(X)
        plan = self.plan or _TILED
        if self.solver in ON_FEATURES:
            plan = by_features(self.plan or Plan(), kernel, X, self.solver)
            X = for_features(kernel, X, self._precision(), plan)
        gram: Any = plan.gram(kernel, X)
        self.kernel_ = getattr(gram, "kernel", kernel)
        self._psd = self.kernel_.properties.psd  # once, for all pairs of classes
        storage = "auto" if plan is _TILED else plan.storage
        storage = storage if plan.few is None else "lowrank"
        K = training_rows(gram, X, self._precision(), order, storage)
        K.limit = plan.limit
        # what was done with K in training, in words
        self._how = f"trained on {len(K)} samples: K of {K.dtype}, {K.how}"
        if K.matrix is None:
            smallest = 2.0 * SMALLEST * K.dtype.itemsize * len(K)
            require_memory(smallest, f"a few rows of {len(K)} samples", max(plan.limit, _LEAST))
            self._how += f"; at most {memory_words(self._cache_bytes(K))} of rows are kept"
        return K

    @property
    def _by_features(self) -> bool:
        """Is K a product of features for certain?"""
        return self.solver in ON_FEATURES or (self.plan is not None and self.plan.few is not None)

    def _precision(self) -> float:
        """The violation that must be reachable with these kernel values; 0 for double precision."""
        return self.tol

    def _solve(
        self,
        K: RowGram,
        problem: BoxProblem,
        tol: float | None = None,
        taken: int = 0,
        **beside: Any,
    ) -> BoxSolution:
        """Solve to ``tol``, if ``max_iter`` allows it after the steps that were taken already."""
        solution = solve_dual(
            K,
            problem,
            solver=self.solver,
            tol=self.tol if tol is None else tol,
            cache=self._cache_bytes(K),
            workers=K.workers,
            max_iter=None if self.max_iter == -1 else max(0, self.max_iter - taken),
            shrinking=self.shrinking,
            verbose=self.verbose and not on_pool(),
            **beside,
        )
        if "watch" in beside and beside["watch"].stopped:  # as requested
            solution = replace(solution, converged=True)
        solution.stats["indefinite"] = self._indefinite(K, solution.beta)
        return solution

    def _solve_together(
        self, K: RowGram, problems: list[BoxProblem], parts: list[np.ndarray]
    ) -> list[BoxSolution]:
        """Solve problems for parts of a K that is on a device, all at once there."""
        most = None if self.max_iter == -1 else self.max_iter
        with ticker(self.verbose and not on_pool(), "rounds") as tick:
            found = solve_boxes(
                K, problems, parts, tol=self.tol, max_iter=most,
                watch=lambda v: tick(f"violation {v:.1e}, goal {self.tol:.0e}"),
            )  # fmt: skip
        for part, solution in zip(parts, found, strict=True):
            solution.stats["indefinite"] = self._indefinite(K.subset(part), solution.beta)
        return found

    def _indefinite(self, K: RowGram, beta: np.ndarray) -> bool:
        """Is the kernel not known to be positive definite, and K indefinite on support vectors?

        Some of them are checked: a negative eigenvalue of a part of K is proof.
        """
        if self._psd or self._psd.no:
            return self._psd.no
        support = np.flatnonzero(beta)
        if not len(support):  # f is a constant, and no value of k plays a part
            return False
        some = support[evenly(len(support), PROBED)]
        return has_negative(np.asarray(K.block(some, some), dtype=np.float64))

    def _certify(self, reports: list[DualReport], troubles: list[str]) -> None:
        """Record how the solver ended for each problem, and warn once of each kind of failure."""
        self.reports_ = reports
        steps = [report.n_iter for report in reports]
        self.n_iter_: Any = np.array(steps, dtype=np.int32) if self._pairs else steps[0]
        late = [(r.violation, why) for r, why in zip(reports, troubles, strict=True) if why]
        self.fit_status_ = int(bool(late))
        if late:
            many = f"{len(late)} of {len(reports)} {self._problems} did not converge; the worst "
            message = many * (len(reports) > 1) + max(late)[1]
            warn(message, ConvergenceWarning)
        if any(np.isnan(r.gap) for r in reports) and not self.kernel_.properties.psd.no:
            warn(STATIONARY, IndefiniteKernelWarning)

    def decision_path(self) -> list[DualReport]:
        """The certificate of each problem that was solved: primal, dual, gap, intercept, ..."""
        check_is_fitted(self)
        return self.reports_

    def _cache_bytes(self, K: RowGram | None = None) -> float:
        """cache_size: a number of MB, as in scikit-learn, or a string such as "2 GB".

        At most what is allowed for K, less what a solver needs besides rows of K.
        """
        size = self.cache_size
        try:
            room = parse_memory(size if isinstance(size, str) else 1e6 * size)
        except (TypeError, ValueError):
            room = 0
        if not room > 0:
            raise ValueError(
                f'cache_size must be a number of MB > 0, or a string such as "2 GB", got {size!r}.'
            )
        return room if K is None else min(room, K.limit / _BESIDE)

    def _keep(self, X: Data, support: np.ndarray, K: RowGram | None = None) -> None:
        """Keep the support vectors, and the operator for new data.

        If K, of the samples in their order, comes from landmarks, sums over support vectors become
        sums over landmarks, whose number does not grow with that of the samples.
        """
        self.__dict__.pop("_passes", None)
        self.support_ = support.astype(np.int32)
        known = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if known else owned(take(X, support), X)
        self.__dict__.pop("_few_coef", None)
        span = K.span() if K is not None and isinstance(self.kernel_, Nystrom) else None
        if span is not None and len(support):
            parts = groups(self.n_support_)
            coef = np.zeros((len(K or ()), len(parts), len(self.dual_coef_)))
            for g, of in enumerate(parts):
                coef[support[of], g] = self.dual_coef_.T[of]
            self._few_coef = span.express(coef.reshape(len(coef), -1))
        self._restore()

    def _restore(self) -> None:
        """Also called by :func:`mercer.load`: the operator is rebuilt, not stored."""
        how = getattr(self, "_how", "")
        if hasattr(self, "_passes"):
            self.gram_: Any = few_gram(self.kernel_, self.support_vectors_, self.plan)
            self.gram_.notes = (how,) if how else ()
            return
        if self.kernel == "precomputed" or not len(self.support_):
            self.gram_ = GivenColumns(self.support_, how)
            return
        if hasattr(self, "_few_coef"):  # k(z, .) of a landmark z is the same without the others
            few: Any = self.kernel_
            plan = (self.plan or Plan()).exact().replace(storage="auto")
            self.gram_ = few.kernel.gram(few.reference, plan)
            self.gram_ = self.gram_.unstored()
            self.gram_.notes = (how,) if how else ()
            return
        vectors = self.support_vectors_
        self._double = self._single_is_rough(vectors)
        vectors = vectors.astype(np.float64) if self._double else vectors
        self.gram_ = self.kernel_.gram(vectors, self.plan)
        self.gram_.notes = (how,) if how else ()

    def _single_is_rough(self, vectors: Any) -> bool:
        """Are samples in single precision, and coefficients so large that scores would be wrong?"""
        if getattr(vectors, "dtype", None) != np.float32 or not on_vectors(self.kernel_):
            return False
        largest = float(np.max(self.kernel_.diag(self.kernel_.prepare(vectors))))
        norm = float(np.linalg.norm(self.dual_coef_, axis=1).max())
        return not 4 * np.finfo(np.float32).eps * largest * norm <= self.tol / 10

    def _values(self, X: Data) -> np.ndarray:
        """[sum_j c_tj k(x, s_j)] over each group of support vectors: shape (m, groups, t)."""
        sums = self._sums(self._checked(X))
        if not np.all(np.isfinite(sums)):
            raise not_finite(self.kernel_)
        return sums

    def _sums(self, X: Data) -> np.ndarray:
        m, coef = length(X), self.dual_coef_.T
        if len(coef) == 0:
            return np.zeros((m, len(self.n_support_), coef.shape[1]))
        if hasattr(self, "_few_coef"):
            return (self.gram_.cross(X) @ self._few_coef).reshape(m, len(self.n_support_), -1)
        double = self.kernel != "precomputed" and self._double
        K: Any = self.gram_.cross(X.astype(np.float64, copy=False) if double else X)
        workers = None if self.plan is None else self.plan.workers
        if K.device != HOST:
            return products_of_groups(K.__matmul__, coef, self.n_support_)
        if not K.of_kernel:
            return sum_groups(K.block, m, coef, self.n_support_, workers)
        if K.features is not None:
            phi = self.gram_.features
            weights = [phi[of].T @ coef[of] for of in groups(self.n_support_)]
            return np.asarray(K.features @ np.hstack(weights)).reshape(m, len(weights), -1)
        distances = exponents(self.kernel_.formula(K.X), self.kernel_.formula(K.Y))
        if (found := compiled(distances)) is not None and coef.shape[1] <= _FEW:
            return compiled_sums(found, m, coef, self.n_support_, workers)
        if distances is None or distances.in_doubt:
            block: Any = self.kernel_.tiles(K.X, K.Y)
        else:
            block = found or distances.exp
        return sum_groups(block, m, coef, self.n_support_, workers)

    def _functions(self) -> np.ndarray:
        """Coefficients of the support vectors, one row per function."""
        return self.dual_coef_

    def _joined(self, sums: np.ndarray) -> np.ndarray:
        """Functions from sums over each group of support vectors, shape (m, groups, t)."""
        return sums[:, 0]

    @property
    def rkhs_function_(self) -> RKHSFunction:
        """f without the intercept, as an element of H_k; one function for each of ``intercept_``.

        A sum over the support vectors, or, through landmarks, over these.
        """
        check_is_fitted(self)
        if self.kernel == "precomputed":
            raise AttributeError(
                'rkhs_function_ needs samples, which are not available with kernel="precomputed"'
            )
        if not len(self.support_):
            raise AttributeError("rkhs_function_ is 0: there are no support vectors")
        kernel: Any = self.kernel_
        if hasattr(self, "_few_coef"):
            sums = self._few_coef.reshape(len(self._few_coef), len(self.n_support_), -1)
            kernel, points, coef = kernel.kernel, kernel.reference, self._joined(sums)
        else:
            points, coef = self.support_vectors_, self._functions().T
            points = points.astype(np.float64) if self._double else points
        return RKHSFunction(
            kernel, points, coef[:, 0] if coef.shape[1] == 1 else coef, columns=seen_columns(self)
        )

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features, of a linear kernel only."""
        from ..kernels.vectors.dot import Linear

        if self.kernel != "linear" and self.kernel != Linear():
            raise AttributeError("coef_ is only available when using a linear kernel")
        return np.asarray(as_dense(self._functions() @ self.support_vectors_))


def fill_up(limits: np.ndarray, total: float) -> np.ndarray:
    """Numbers up to the limits, filled from the first on, that add up to ``total``."""
    before = np.concatenate([[0.0], np.cumsum(limits)[:-1]])
    return np.clip(total - before, 0.0, limits)
