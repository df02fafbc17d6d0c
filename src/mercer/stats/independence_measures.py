"""COCO, the largest canonical correlation and NOCCO under permutations, from factors.

Each of them is a norm of A'B, where A and B hold one row per observation and depend on one variable
each: the principal components of its features, with weights that depend on the measure. They are
computed once. A permutation of one variable rearranges the rows of B, so it costs one product of an
r x n and an n x r matrix, and its norm.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import scipy.linalg as sla
import scipy.sparse as sp

from ..checks import check_positive
from ..data import Data, in_double, length
from ..engine.memory import require_memory
from ..gram.plan import LEAN, Plan
from ..gram.tiles import run, slices
from ..kernels.base import Kernel
from ..params import show
from ..progress import progress
from ..solvers.pivoted import pivoted_cholesky
from ..solvers.views import FactorView, shrinkage
from .permutations import Units
from .variables import Variables, is_constant

MEASURES = {
    "coco": "constrained covariance",
    "kcca": "largest canonical correlation",
    "nocco": "sum of squared canonical correlations",
}
REGULARIZATION = {"coco": 0.0, "kcca": 0.02, "nocco": 1e-3}
_LEFT_OUT = 1e-8  # share of the trace of a kernel matrix that a factor may leave out
_SEEN = 1e-3  # ... beyond which the result says so
_WORK = 2e11  # products of numbers, of all permutations, for which ranks are chosen
_FEWEST = 20  # columns of a factor
_HELD = 2**23  # positions, of all permutations that are held at a time
_ROUNDING = 1e-9  # of the norms of factors, of which the last columns are known to few digits
_NOTHING = 1e-8  # weights of components, relative to the largest, that are left out


class PermutedMeasure:
    """The statistics of all pairs of kernels, one per variable, under permutations.

    Parameters
    ----------
    joint : Variables
        Two variables.
    candidates : list of list of Kernel
        The kernels of each variable, resolved; all pairs of them are combined.
    units : Units
        What is permuted.
    measure : {"coco", "kcca", "nocco"}
        The statistic.
    regularization : float
        lambda of the canonical correlations, epsilon of NOCCO.
    n_permutations : int
        How many there will be: the ranks of factors are chosen for these.
    rng : Generator
        The source of randomness.
    plan : Plan, optional
        Threads.
    verbose : bool
        Show a progress bar.

    Attributes
    ----------
    combinations, tolerance, words, notes
        As for :class:`~mercer.stats.independence_permutations.PermutedHSIC`.
    """

    def __init__(
        self,
        joint: Variables,
        candidates: list[list[Kernel]],
        units: Units,
        *,
        measure: str,
        regularization: float,
        n_permutations: int,
        rng: np.random.Generator,
        plan: Plan | None = None,
        verbose: bool = False,
    ) -> None:
        self.n, self.units, self.rng, self.verbose = joint.n, units, rng, verbose
        self.workers = (plan or Plan()).workers
        if plan is not None and plan.storage not in ("auto", "lowrank", "tiled"):
            raise ValueError(
                f'statistic="{measure}" is computed from factors of K, which '
                f'storage={show(plan.storage)} excludes; use storage="auto".'
            )
        self.largest = measure != "nocco"
        self.words = ""
        units.check_movable()
        self.combinations = list(product(*candidates))
        work = float(joint.n) * (1 + n_permutations) * len(self.combinations)
        most = int(np.clip(np.sqrt(_WORK / work), _FEWEST, joint.n))
        count = sum(len(kernels) for kernels in candidates)
        require_memory(8.0 * joint.n * most * count, f"a factor of {most} columns for each kernel")
        self.computation = f"{count} kernel matrices of {joint.n} samples, by factors"
        self.factors: list[list[np.ndarray]] = []
        lost = 0.0
        for kernels, X in zip(candidates, joint.data, strict=True):
            found = [_factor(k, X, most) for k in kernels]
            lost = max([lost, *(left_out for _, left_out in found)])
            self.factors.append([_weighted(G, measure, regularization) for G, _ in found])
        norms = [np.array([np.linalg.norm(F) for F in found]) for found in self.factors]
        largest = np.multiply.outer(*norms).ravel()
        self.tolerance = _ROUNDING * (largest if self.largest else largest**2)
        self.notes = _notes(self.factors, lost, most)

    def values(self, n_permutations: int) -> np.ndarray:
        """Statistics, shape (combinations, 1 + permutations), the observed one first."""
        return np.concatenate([self.observed()[:, None], self.draw(n_permutations)], axis=1)

    def observed(self) -> np.ndarray:
        """Statistics of the data as they are."""
        return self._under(np.arange(self.n)[None])[:, 0]

    def draw(self, count: int) -> np.ndarray:
        """Statistics under random permutations, shape (combinations, count)."""
        parts = slices(count, max(1, _HELD // self.n))
        found = [
            self._under(self.units.positions(part.stop - part.start, self.rng))
            for part in progress(parts, self.verbose, "permutations")
        ]
        return np.concatenate(found, axis=1)

    def _under(self, permutations: np.ndarray) -> np.ndarray:
        left, right = self.factors
        A = np.concatenate(left, axis=1)
        ends = np.cumsum([F.shape[1] for F in left])[:-1]
        out = np.empty((len(left), len(right), len(permutations)))

        def job(b: int) -> None:
            for j, B in enumerate(right):
                parts = np.split(A.T @ B[permutations[b]], ends)
                out[:, j, b] = [self._norm(C) for C in parts]

        run(job, range(len(permutations)), self.workers)
        return out.reshape(len(self.combinations), -1)

    def _norm(self, C: np.ndarray) -> float:
        """The largest singular value, or the sum of all squared ones."""
        if not C.size:
            return 0.0
        if not self.largest:
            return float(np.vdot(C, C))
        S = C @ C.T if C.shape[0] <= C.shape[1] else C.T @ C
        top = (len(S) - 1, len(S) - 1)
        values = sla.eigvalsh(S, subset_by_index=top, overwrite_a=True, check_finite=False)
        return float(np.sqrt(max(values[0], 0.0)))


def check_regularization(measure: str, regularization: Any) -> float:
    """The regularisation of a measure: its own default, or a positive number."""
    if regularization is None:
        return REGULARIZATION.get(measure, 0.0)
    if measure not in ("kcca", "nocco"):
        raise ValueError(f'regularization is for statistic="kcca" and "nocco", not "{measure}".')
    return check_positive("regularization", regularization)


def _factor(kernel: Kernel, X: Data, most: int) -> tuple[np.ndarray, float]:
    """G with at most this many columns and K close to G G'; the share of the trace it misses."""
    if is_constant(kernel, X):
        return np.empty((length(X), 0)), 0.0
    gram = kernel.gram(in_double(X), LEAN)
    phi = gram.features
    if phi is not None and not sp.issparse(phi) and phi.shape[1] <= most:
        return np.asarray(phi, dtype=np.float64), 0.0
    found = pivoted_cholesky(gram, most, _LEFT_OUT, random=False)
    return found.factor, found.relative


def _weighted(G: np.ndarray, measure: str, regularization: float) -> np.ndarray:
    """Principal components of centred features, each with the weight that the measure gives it."""
    if not G.size:
        return G
    s, U = FactorView(G).spectrum
    if measure == "coco":
        weights = np.sqrt(s)
    elif measure == "kcca":
        weights = shrinkage(s, regularization, "squared")
    else:
        weights = shrinkage(s, regularization, "ridge")
    kept = weights > _NOTHING * weights.max(initial=0.0)
    return np.ascontiguousarray(U[:, kept] * weights[kept])


def _notes(factors: list[list[np.ndarray]], lost: float, most: int) -> tuple[str, ...]:
    notes: tuple[str, ...] = ()
    for v, found in enumerate(factors):
        if not any(F.shape[1] for F in found):
            notes += (f"variable {v} is constant, so no dependence can be detected.",)
    if lost > _SEEN:
        notes += (
            f"kernels are approximated by factors of {most} columns, which lose up to "
            f"{100 * lost:.2g} % of their trace: the level is exact, the statistic is smaller.",
        )
    return notes
