"""The posterior of a Gaussian process at new samples, from K or from its features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Data
from ..exceptions import not_finite
from ..gram.base import HOST, Gram
from ..gram.plan import Plan
from ..gram.tiles import evaluate
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.approximate.rules import Approximated
from ..kernels.base import Kernel
from ..search.descent import SAMPLE
from ..solvers.weight_space import Factor, FeatureFactor

_SUBSET = 2000  # samples, at most, on which a search begins that goes on with all by other means


@dataclass
class NewSamples:
    """A process, or one of its parts, at new samples.

    Attributes
    ----------
    cross : Gram
        Its covariance with the training samples.
    kernel : Kernel
        Its covariance before any data.
    X : data
        The samples, prepared for that kernel.
    own : bool
        Are the features of ``cross``, if there are any, those of the factors, too?
    lost : bool
        Is ``cross`` an approximation? The part of a sample outside its features keeps its prior
        variance (Quiñonero-Candela & Rasmussen, *A unifying view of sparse approximate Gaussian
        process regression*, 2005: the deterministic training conditional).
    std_tol : float, optional
        By how much of itself a standard deviation may be too large, where K is not stored.
    """

    cross: Gram
    kernel: Kernel
    X: Data
    own: bool = True
    lost: bool = False
    std_tol: float | None = None

    def posterior(
        self, coef: np.ndarray, factors: list[Factor], std: bool, cov: bool
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Means, and variances or covariances if requested, of each column and each factor.

        Strip by strip, so that few covariances with training samples are held at once.
        """
        m, features = len(self.cross), self.cross.features is not None
        products = features or (self.cross.device != HOST and not (std or cov))
        mean = self.cross @ coef if products else np.empty((m, coef.shape[1]))
        variance, block = np.empty((m, len(factors))), None
        prior = self.kernel.diag(self.X).astype(np.float64) if std else np.zeros(0)
        blocks = not products or ((std or cov) and self.by_blocks(factors))
        for rows in self.strips(whole=cov):
            if blocks:
                block = self.block(rows)
            if block is not None and not features:
                mean[rows] = block @ coef
            if std:
                parts = [self.variances(rows, prior, factor, block) for factor in factors]
                variance[rows] = np.stack(parts, axis=1)
        if not (np.all(np.isfinite(mean)) and np.all(np.isfinite(prior))):
            raise not_finite(self.kernel)
        if not cov:
            return mean, variance if std else None
        before = evaluate(self.kernel, self.X, self.X, workers=self.cross.workers)
        return mean, np.stack([self.covariances(before, f, block) for f in factors], axis=2)

    def block(self, rows: slice) -> np.ndarray:
        """Covariances of some of the samples with the training samples."""
        return self.cross.rows(rows).astype(np.float64, copy=False)

    def strips(self, whole: bool) -> list[slice]:
        """All samples, in strips unless they are needed as a ``whole``."""
        return [slice(0, len(self.cross))] if whole else self.cross.by_rows()

    def variances(self, rows: slice, prior: np.ndarray, factor: Factor, block: Any) -> np.ndarray:
        """Those of some samples given the data; ``prior`` is k(x, x) of all."""
        if isinstance(factor, FeatureFactor):
            if not self.own:
                return prior[rows] - np.einsum("ij,ji->i", block, factor.solve(block.T))
            phi = self.cross.features[rows]
            left = _squares(factor.root(phi).T)
            return left + np.maximum(prior[rows] - _squares(phi), 0.0) if self.lost else left
        if self.std_tol is not None and hasattr(factor, "refined"):
            return prior[rows] - factor.refined(block.T, prior[rows], self.std_tol)
        return prior[rows] - factor.explained(block.T)

    def covariances(self, prior: np.ndarray, factor: Factor, block: Any) -> np.ndarray:
        """That of all samples given the data; ``prior`` is K of them."""
        if isinstance(factor, FeatureFactor):
            if not self.own:
                return prior - block @ factor.solve(block.T)
            phi = self.cross.features
            root = factor.root(phi)
            if not self.lost:
                return root.T @ root
            inner = phi @ phi.T
            return (
                prior
                - (inner if isinstance(inner, np.ndarray) else inner.toarray())
                + (root.T @ root)
            )
        half = factor.half_solve(block.T)
        return prior - half.T @ half

    def by_blocks(self, factors: list[Factor]) -> bool:
        """Are covariances with training samples needed one by one?"""
        return not (self.own and all(isinstance(factor, FeatureFactor) for factor in factors))


def make_gram(kernel: Kernel, X: Data, plan: Plan | None, searched: bool) -> Gram:
    """The operator of the covariance, with a note if the search used a part of the data."""
    gram: Any = kernel.gram(X, plan)
    sample = search_size(len(gram), plan)
    if searched and sample < len(gram):
        gram.notes = (f"hyper-parameters were chosen on {sample} samples",)
    return gram


def with_room(plan: Plan | None, searched: bool) -> Plan:
    """The plan by which K is stored if there is room for its factor, or for a gradient."""
    return (plan or Plan()).beside(3 if searched else 1)


def exact(kernel: Kernel, given: Any) -> Kernel:
    """The kernel that was approximated by a plan, or the kernel itself."""
    return kernel.kernel if is_approximate(kernel, given) else kernel  # type: ignore[attr-defined]


def is_approximate(kernel: Kernel, given: Any) -> bool:
    """Is this the approximation, by a plan, of the kernel that was given?"""
    through = Nystrom | Approximated
    return isinstance(kernel, through) and not isinstance(given, through)


def search_size(n: int, plan: Plan | None, few: bool = False) -> int:
    """The number of samples on which hyper-parameters are chosen from K.

    A search computes all of K of its samples in each step. With few features that would be too
    expensive: as many samples as features, or 500, are enough for few hyper-parameters; and fewer
    if this is only the first part of a search.
    """
    if few:
        room = np.inf if plan is None else np.sqrt(plan.limit / 32)  # for four matrices
        return max(1, int(min(n, max(SAMPLE, min(n // 10, _SUBSET)), room)))
    if plan is None or plan.few is None:
        return n
    return min(n, max(SAMPLE, int(plan.few)))


def search_rows(
    n: int, plan: Plan | None, rng: np.random.RandomState, few: bool = False
) -> np.ndarray | None:
    """These samples, in order; None if they are all."""
    size = search_size(n, plan, few)
    return np.sort(rng.choice(n, size, replace=False)) if size < n else None


def _squares(rows: Any) -> np.ndarray:
    """The squared length of each row."""
    if isinstance(rows, np.ndarray):
        return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
