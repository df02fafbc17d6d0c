r"""Two variables in chunks: are they independent, by sums over one pass.

Kernels are approximated with landmarks. One pass adds up the covariances C_x, C_y and C_xy of the
features of both variables, from which HSIC of all pairs of kernels follows as :math:`\|C_{xy}\|^2`.
Samples far apart in a file cannot be exchanged, so the null distribution is the limit: if the
variables are independent, C_xy is normal with the covariance :math:`C_x \otimes C_y`, once there
are many more samples than features. Its draws are common to all pairs of kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..chunks.base import Chunk, Chunks, Sums
from ..chunks.front import stream
from ..chunks.together import together
from ..data import Data, as_dense, length, take
from ..gram.plan import Plan
from ..gram.tiles import slices
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from .aggregate import as_kernels, judged
from .bank import not_finite
from .dependence import from_centred
from .independence_grid import wider_combinations
from .independence_kernels import blind_spots, candidates_of
from .mixtures import ChiSquareMixture
from .planned import landmarks_of, threads, through_features
from .result import TestResult, resampled
from .variables import Variables

_LEAST = 1000  # observations from which on the limit holds
_LANDMARKS = 100
_PROBE = 2000  # samples that parameters of kernels are found from
_STRIP = 4096  # samples whose features are there at a time
_NOTHING = 1e-10  # of the largest eigenvalue of a covariance: directions that do not count
_WEIGHTS = 5000  # products of eigenvalues that are told apart; the others are normal together
_ROUNDING = 1e-12  # of statistics, in units of their size if variables are the same
_SAME = 1000  # roundings of features: what differs by no more of them is the same
_INDEPENDENT = "the variables are independent"
_AT_ONCE = 2**24  # normal numbers drawn at a time


class Side(NamedTuple):
    """One variable: its kernels, each with finitely many features, and a point near their mean."""

    kernels: list[Kernel]
    origin: np.ndarray
    parts: list[slice]  # the features of each kernel

    def features(self, X: Data) -> np.ndarray:
        """Those of all kernels side by side, about the origin."""
        phi = np.hstack([_dense(k.features(k.prepare(X))) for k in self.kernels])
        if not np.all(np.isfinite(phi)):
            raise not_finite(" with ".join(map(repr, self.kernels)))
        return phi - self.origin

    def squares(self, phi: np.ndarray) -> np.ndarray:
        """Squared norms of the features of each kernel, shape (n, kernels)."""
        return np.stack([np.einsum("ij,ij->i", p, p) for p in (phi[:, s] for s in self.parts)], 1)


@dataclass
class CrossSums:
    """A pass over pairs of samples: sums of features, of their products, and of norms of both."""

    left: Side
    right: Side

    def __call__(self, chunk: Chunk) -> Sums:
        total: list[Any] = []
        for rows in slices(len(chunk), _STRIP):
            X, Y = chunk.rows(rows).X.parts
            phi, psi = self.left.features(X), self.right.features(Y)
            a, b = self.left.squares(phi), self.right.squares(psi)
            found = (
                phi.sum(axis=0), psi.sum(axis=0), phi.T @ phi, psi.T @ psi, phi.T @ psi,
                a.T @ b, a.T @ psi, phi.T @ b,
            )  # fmt: skip
            total = [t + f for t, f in zip(total, found, strict=True)] if total else list(found)
        return tuple(total)


class Covariances(NamedTuple):
    """Sums of products of centred features: of each variable, of both, and of squared norms."""

    left: np.ndarray
    right: np.ndarray
    cross: np.ndarray
    own: np.ndarray


def centred(sums: Sums, left: Side, right: Side, n: int) -> Covariances:
    """About the means in place of the origins."""
    s, t, xx, yy, xy, ab, ay, xb = sums
    d, e = s / n, t / n
    own = np.empty((len(left.parts), len(right.parts)))
    a = np.array([np.trace(xx[p, p]) for p in left.parts])
    b = np.array([np.trace(yy[p, p]) for p in right.parts])
    for (i, p), (j, q) in product(enumerate(left.parts), enumerate(right.parts)):
        dd, ee = float(d[p] @ d[p]), float(e[q] @ e[q])
        own[i, j] = (
            ab[i, j] - 2 * ay[i, q] @ e[q] - 2 * d[p] @ xb[p, j] + 4 * d[p] @ xy[p, q] @ e[q]
            + a[i] * ee + b[j] * dd - 3 * n * dd * ee
        )  # fmt: skip
    return Covariances(
        xx - n * np.outer(d, d), yy - n * np.outer(e, e), xy - n * np.outer(d, e), own
    )


def chunked_independence(
    variables: Sequence[Any],
    kernels: Any,
    n_draws: int,
    landmarks: Any,
    biased: bool,
    rng: np.random.Generator,
    plan: Plan | None,
) -> TestResult:
    """The test of :func:`~mercer.independence_test` of variables in chunks."""
    if len(variables) != 2:
        raise ValueError(f"variables in chunks are tested in pairs, got {len(variables)}.")
    whole = together(*(v if isinstance(v, Chunks) else stream(v) for v in variables))
    n = whole.n_samples
    if n < _LEAST:
        raise ValueError(
            f"variables in chunks are compared with the limit distribution, which needs {_LEAST} "
            f"observations, got {n}; give them as arrays."
        )
    count = landmarks_of(plan, landmarks, n)
    count = _LANDMARKS if count in ("auto", None) else count
    some = Variables(*whole.sample(max(_PROBE, int(count)), rng).X.parts)
    given = some.each(kernels)
    several = any(k is None or as_kernels(k) is not None for k in given)
    sides, originals = [], []
    notes: tuple[str, ...] = ()
    for place, (kernel, X) in enumerate(zip(given, some.data, strict=True)):
        originals.append(candidates_of(some, place, kernel))
        candidates, narrowed = through_features(originals[-1], X, plan, "forms of dependence")
        Z = take(X, np.sort(rng.choice(length(X), min(int(count), length(X)), replace=False)))
        sides.append(_side([_finite(k, X, Z) for k in candidates], X))
        notes = max(notes, narrowed)
    left, right = sides
    found = centred(whole.reduce(CrossSums(left, right)), left, right, n)
    pairs = list(product(range(len(left.parts)), range(len(right.parts))))
    at = [(left.parts[i], right.parts[j]) for i, j in pairs]
    total = np.array([np.sum(found.cross[p, q] ** 2) for p, q in at])
    traces = np.array([np.trace(found.left[p, p]) * np.trace(found.right[q, q]) for p, q in at])
    own = np.array([found.own[i, j] for i, j in pairs])
    values = from_centred(total, own, traces, n, biased)
    few = any(isinstance(k, Nystrom) for side in sides for k in side.kernels)
    how = "limit distribution" + (f", features from {count} landmarks" if few else "")
    notes = (*blind_spots(originals), *notes)
    if few:
        notes += (
            f"kernels are approximated from {count} landmarks: dependence outside their span "
            "cannot be detected.",
        )
    constant = [_is_constant(C, side, n) for C, side in zip(found[:2], sides, strict=True)]
    if any(constant):
        notes += (
            f"variable {constant.index(True)} is constant, so no dependence can be detected.",
        )
    rest: dict[str, Any] = {
        "notes": notes,
        "computation": f"sums over chunks of {n} samples, one pass; {threads(plan)}",
    }
    if not several:
        value, limit = float(values[0]), None
        if not any(constant):
            limit = _limit(found, float(traces[0]), n, biased)
        return TestResult(
            value,
            1.0 if limit is None else float(limit.sf(value)),
            f"independence test, HSIC ({'v' if biased else 'u'}, {how})",
            _INDEPENDENT,
            distribution=limit,
            kernel=[left.kernels[0], right.kernels[0]],
            **rest,
        )
    drawn = _draws(found, at, n, n_draws, rng)
    null = from_centred(drawn, traces[:, None] / n, traces[:, None], n, biased)
    statistics = np.column_stack([values, null]) * (not any(constant))
    combinations = [(left.kernels[i], right.kernels[j]) for i, j in pairs]
    graded = [k is None for k in given]
    wider = wider_combinations(combinations, [left.kernels, right.kernels], graded)
    rounding = _ROUNDING * traces / n**2
    score, outcome, details = judged(statistics, rounding, "hsic", combinations, wider)
    return resampled(
        score,
        outcome,
        f"independence test, largest score of {len(pairs)} pairs of kernels ({n_draws} draws of "
        f"the {how})",
        _INDEPENDENT,
        kernel=[left.kernels, right.kernels],
        details=details,
        **rest,
    )


def _is_constant(C: np.ndarray, side: Side, n: int) -> bool:
    """Is all that features vary by rounding?"""
    size = float(side.origin @ side.origin)
    return bool(np.trace(C) <= n * (_SAME * np.finfo(float).eps) ** 2 * size)


def _finite(kernel: Kernel, X: Data, Z: Data) -> Kernel:
    """The kernel if it has few features, else as landmarks see it."""
    count = kernel.n_features(kernel.prepare(take(X, slice(0, 1))))
    return kernel if count is not None and count <= 4 * length(Z) else Nystrom(kernel, Z)


def _side(kernels: list[Kernel], X: Data) -> Side:
    phi = [_dense(k.features(k.prepare(X))) for k in kernels]
    ends = np.cumsum([part.shape[1] for part in phi]).tolist()
    parts = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    return Side(kernels, np.hstack(phi).mean(axis=0, dtype=np.float64), parts)


def _dense(phi: Any) -> np.ndarray:
    return np.asarray(as_dense(phi), dtype=np.float64)


def _limit(found: Covariances, traces: float, n: int, biased: bool) -> ChiSquareMixture | None:
    """sum_ij lambda_i mu_j z_ij^2, with the mean and variance over permutations."""
    spectra = [np.maximum(np.linalg.eigvalsh(C), 0.0) for C in (found.left, found.right)]
    weights = np.multiply.outer(*spectra).ravel() / (n - 1)
    weights = weights[np.argsort(-weights)]
    if not weights[0] > 0:
        return None
    scale = float(n**2 if biased else n * (n - 3))
    kept, rest = weights[:_WEIGHTS] / scale, weights[_WEIGHTS:] / scale
    mean = traces / (n - 1) / scale if biased else 0.0
    return ChiSquareMixture(kept, mean - float(kept.sum()), 2 * float(np.sum(rest**2)))


def _draws(
    found: Covariances,
    at: list[tuple[slice, slice]],
    n: int,
    count: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draws of ||C_xy||^2 of all pairs of kernels, shape (pairs, count)."""
    A, B = (_root(C) for C in (found.left, found.right))
    out = np.empty((len(at), count))
    for part in slices(count, max(1, _AT_ONCE // max(A.shape[1] * B.shape[1], 1))):
        G = rng.standard_normal((part.stop - part.start, A.shape[1], B.shape[1]))
        C = A @ G @ B.T
        for row, (p, q) in enumerate(at):
            out[row, part] = np.einsum("dij,dij->d", C[:, p, q], C[:, p, q]) / (n - 1)
    return out


def _root(C: np.ndarray) -> np.ndarray:
    """R with R R' = C, with the columns that matter."""
    s, V = np.linalg.eigh(C)
    real = s > _NOTHING * max(float(s[-1]), 0.0)
    return V[:, real] * np.sqrt(s[real])
