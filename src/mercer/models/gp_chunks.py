"""Gaussian processes of samples in chunks, through landmarks: only sums over the data are kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from ..chunks.base import Chunk, Chunks, Sums
from ..data import Data, length
from ..gram.plan import Plan
from ..gram.scatter import checked_weights
from ..gram.stored import TiledGram
from ..gram.tiles import evaluate
from ..kernels.base import Kernel
from ..search.landmarks import APPROXIMATIONS
from ..solvers.falkon import targets
from ..solvers.variational import Whitened
from .gp_given import for_landmarks
from .streamed import predicted, surveyed

_PER_LANDMARK, _LEAST = 20, 2000  # samples from which numbers and landmarks are learned


@dataclass
class ProcessSums:
    """A pass: what the evidence and the posterior at landmarks are made of, for each noise."""

    kernel: Kernel
    Z: Data
    noise: np.ndarray  # of the normalised targets: one for all, or one for each
    mean: np.ndarray
    scale: np.ndarray
    approximation: str
    workers: int | None = None

    def __call__(self, chunk: Chunk) -> Sums:
        w = checked_weights(chunk)
        if not w.all():
            chunk, w = chunk.rows(np.flatnonzero(w)), w[w > 0]
        m, Y = length(self.Z), (targets(chunk) - self.mean) / self.scale
        s, t = len(self.noise), Y.shape[1]
        if not len(chunk):
            nothing = np.zeros(s)
            return np.zeros((s, m, m)), np.zeros((m, t)), nothing, nothing, nothing, np.array(0)
        kernel, X = self.kernel, for_landmarks(self.kernel, chunk.X)
        P, Q = kernel.prepare(X), kernel.prepare(self.Z)
        inner = evaluate(kernel, Q, Q, workers=self.workers)
        cross = TiledGram(kernel, P, Q, workers=self.workers)
        whitened = Whitened(cross, inner, kernel.diag(P).astype(np.float64), keep=s > 1)
        kind, found = APPROXIMATIONS[self.approximation], []
        for j, noise in enumerate(self.noise):
            own = Y if s == 1 else Y[:, j : j + 1]
            found.append(kind.sums_of(whitened, own, noise / w))
        outer, h, *rest = zip(*found, strict=True)
        return (np.stack(outer), np.hstack(h), *map(np.array, rest), np.array(len(chunk)))


@dataclass
class Spread:
    """A pass over targets: their weighted sum and sum of squares about an origin."""

    origin: np.ndarray

    def __call__(self, chunk: Chunk) -> Sums:
        w, D = checked_weights(chunk), targets(chunk) - self.origin
        return np.array(w.sum()), w @ D, w @ D**2


def fit_chunks(model: Any, chunks: Chunks) -> None:
    """Numbers and landmarks from a sample, then the posterior given all samples in one pass."""
    if model.landmarks is None:
        raise ValueError(
            "a Gaussian process on chunks needs landmarks; give their number, such as "
            "landmarks=500."
        )
    if np.ndim(model.alpha):
        raise ValueError(
            "alpha must be a single number for chunks; use weights for samples of different noise."
        )
    flat = surveyed(chunks, labels=False).targets is None
    given = not isinstance(model.landmarks, int | np.integer)
    count = length(model.landmarks) if given else int(model.landmarks)
    some = chunks.sample(max(_LEAST, _PER_LANDMARK * count), 0)
    part = clone(model).fit(some.X, some.y, some.weight)
    mean, scale = _normalisation(model, chunks, targets(some).mean(axis=0))
    alpha = np.broadcast_to(np.asarray(part.alpha_, dtype=float), scale.shape)
    if model.alpha is None and model.optimizer is None:  # a part of the variance of all
        alpha = part.alpha_ / np.asarray(part._y_scale) ** 2 * scale**2
    noise = alpha / scale**2
    noise = noise if np.ptp(noise) > 1e-12 * noise.max() else noise[:1]
    job = ProcessSums(
        part.kernel_, part.landmarks_, noise, mean, scale, model.approximation,
        (model.plan or Plan()).workers,
    )  # fmt: skip
    outer, h, trace, squares, logs, n = chunks.reduce(job)
    kernel, Z = part.kernel_, part.landmarks_
    Q = kernel.prepare(Z)
    own = Whitened(TiledGram(kernel, Q, Q), evaluate(kernel, Q, Q), kernel.diag(Q))
    kind, parts = APPROXIMATIONS[model.approximation], []
    for j in range(len(noise)):
        at = slice(None) if len(noise) == 1 else slice(j, j + 1)
        sums = outer[j], h[:, at], float(trace[j]), float(squares[j]), float(logs[j])
        parts.append(kind.from_sums(own, int(n), sums))
    vars(model).update({k: v for k, v in vars(part).items() if k not in part.get_params(False)})
    coef = np.hstack([each.coef for each in parts])
    model.dual_coef_ = coef[:, 0] if flat else coef
    model._roots = np.stack([each.factor.root for each in parts])
    model.log_marginal_likelihood_value_ = -sum(each.value for each in parts)
    model._y_mean, model._y_scale = (v[0] if flat else v for v in (mean, scale))
    if model.optimizer is None and model.alpha is None:
        model.alpha_ = float(alpha[0]) if flat else alpha
    model._restore()


def _normalisation(model: Any, chunks: Chunks, origin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if not model.normalize_y:
        return np.zeros(len(origin)), np.ones(len(origin))
    mass, total, squares = chunks.reduce(Spread(origin))
    mean = total / mass
    variance = np.maximum(squares / mass - mean**2, 0.0)
    return origin + mean, np.where(variance > 0, np.sqrt(variance), 1.0)


def predict_chunks(model: Any, X: Chunks, std: bool, cov: bool, **options: Any) -> Any:
    """Means, and standard deviations, of samples in chunks."""
    if cov:
        raise ValueError(
            "return_cov is not available for chunks, since the covariance matrix "
            "involves all samples."
        )
    if not std:
        return predicted(partial(model.predict, **options), X)
    both = predicted(partial(_stacked, model, options), X)
    return both[..., 0], both[..., 1]


def _stacked(model: Any, options: dict[str, Any], X: Data) -> np.ndarray:
    return np.stack(model.predict(X, return_std=True, **options), axis=-1)
