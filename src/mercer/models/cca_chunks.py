"""Views of paired samples in chunks, for canonical correlations, replaced by a few samples.

Canonical correlations need nothing of the samples but the mean m and the covariance C of the
features of all views together. With C = R R' of rank q, the 2 q points m + sqrt(q) R_j and
m - sqrt(q) R_j have the same, and take the place of samples that were read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..chunks.base import Chunk, Chunks, Sums
from ..chunks.together import together
from ..data import Data
from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..gram.phi import Rows
from ..gram.plan import Plan
from ..gram.scatter import checked_weights
from ..gram.tiles import slices
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..solvers.views import FactorView

_STRIP = 4096  # samples whose features are there at a time
_ROUNDING = 1e-14  # of the largest eigenvalue of a covariance: directions that are none


@dataclass
class JointSums:
    """A pass over paired samples: sums of weights, features of all views, and their products."""

    views: list[Rows]
    origin: np.ndarray

    def __call__(self, chunk: Chunk) -> Sums:
        r, M = len(self.origin), len(self.views)
        mass, total, products, power = 0.0, np.zeros(r), np.zeros((r, r)), np.zeros(M)
        for rows in slices(len(chunk), _STRIP):
            part = chunk.rows(rows)
            w = checked_weights(part)
            samples = [Chunk(X) for X in part.X.parts]
            phi = np.hstack([view(X) for view, X in zip(self.views, samples, strict=True)])
            phi = phi.astype(np.float64) - self.origin
            total += w @ phi
            products += (w[:, None] * phi).T @ phi
            mass += float(w.sum())
            for m, (view, X) in enumerate(zip(self.views, samples, strict=True)):
                kernel = view.columns.kernel
                power[m] += w @ kernel.diag(kernel.prepare(X.X)).astype(np.float64)
        return np.array(mass), total, products, power


class ChunkedView(NamedTuple):
    """A view of samples in chunks, in the form the solver takes, and how its functions are written.

    See :class:`~mercer.models.cca.KernelView`.
    """

    view: FactorView
    kernel: Kernel
    points: Data
    span: Any
    left_out: float

    def written(self, coef: np.ndarray) -> tuple[Data, np.ndarray]:
        """The centres and dual coefficients of functions given as the solver gives them."""
        return self.points, self.span.combine(coef)


def chunked_views(
    sources: Sequence[Chunks], kernels: list[Kernel], plan: Plan
) -> list[ChunkedView]:
    """The views of samples in chunks, each with the features that a plan requests."""
    grams: list[Any] = [plan.gram(k, X) for k, X in zip(kernels, sources, strict=True)]
    views = [Rows(gram.columns, gram.factor, gram.workers) for gram in grams]
    origin = np.concatenate([gram.features_of(Chunk(gram.few)).mean(axis=0) for gram in grams])
    whole = together(*sources)
    mass, total, products, power = whole.reduce(JointSums(views, origin.astype(np.float64)))
    if not mass > 0:
        raise ValueError("sample_weight must be >= 0, and not all zero.")
    mean = origin + total / mass
    s, U = lapack(len(mean), eigh, products / mass - np.outer(total, total) / mass**2)
    kept = s > _ROUNDING * max(float(s[-1]), 0.0)
    R = (U[:, kept] * np.sqrt(s[kept] * max(np.sum(kept), 1))).T
    G = mean + np.concatenate([R, -R]) if len(R) else mean + np.zeros((2, len(mean)))
    ends = np.cumsum([gram.rank for gram in grams])
    found = []
    for gram, own, stop in zip(grams, power, ends, strict=True):
        phi = G[:, stop - gram.rank : stop]
        seen = float(np.mean(np.einsum("ij,ij->i", phi, phi)))
        kernel, span = gram.kernel, gram.span()
        lost = max(0.0, 1 - seen / float(own / mass)) if own > 0 else 0.0
        base = kernel.kernel if isinstance(kernel, Nystrom) else kernel
        found.append(ChunkedView(FactorView(phi), base, span.points(None), span, lost))
    return found
