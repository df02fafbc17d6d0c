"""Tables that are larger than memory: rules and kernels from a sample, the final fit from passes.

What columns are, how they are scaled, which kernels suit and how their distances are stretched is
learned from a sample that fits the memory. Then the kernel that counts most is fitted to all rows,
through landmarks and by passes over the chunks (:mod:`mercer.solvers.falkon`), and both models are
blended by how well they predict rows that neither has seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone

from ..chunks.base import Change, Chunk, Chunks
from ..gram.plan import Plan
from ..models.ridge import KernelRidge
from .members import Member
from .metric import moved
from .numbers import count
from .roles import tidy

SAMPLE = 100_000  # rows that are held in memory, at most
_VALUES = 2e7  # values in them, at most
_BYTES = 300  # that a value takes, with what is computed of it
_LANDMARKS = 2000
_PER_PAIR = 100  # bytes that the fit takes for each pair of them
_HELD, _MOST_HELD = 0.05, 5000  # rows that decide how both models are blended


def fit_chunks(model: Any, chunks: Chunks) -> Any:
    """Fit a model of tables to chunks with targets."""
    first = next(iter(chunks))
    if first.y is None:
        raise ValueError("chunks need a target: stream(path, target='...').")
    if not hasattr(first.X, "columns"):
        raise ValueError("table models need chunks with named columns.")
    width, memory = max(first.X.shape[1], 1), model._memory()
    rows = int(min(SAMPLE, 1000 + _VALUES / width))
    if memory is not None:
        rows = int(np.clip(memory / (_BYTES * width), 1000, rows))
    most, held = chunks.split(_HELD, rng=model.random_state)
    sample, check = most.sample(rows, model.random_state), held.sample(_MOST_HELD)
    y: Any = sample.y
    given = _given(y)
    model.fit(sample.X[given].reset_index(drop=True), y[given])
    if len(sample) >= most.n_samples or model.kernel is not None:
        return model
    numeric = [m for m in model.members_ if isinstance(m, Member) and m.similarity is None]
    if not numeric:
        return model
    best = max(numeric, key=lambda m: m.weight)
    model._say(f"passes over {count(most.n_samples, 'row')}")
    member = _streamed(model, best, most)
    target, known = model._scaled(check.y)
    encoded = model._encoded(tidy(check.X, model.roles_, model.styles_))
    both = [model._values(encoded), member.predict(encoded)]
    F = np.column_stack([values[known].ravel() for values in both])
    old, new = nnls(F, target[known].ravel())[0]
    for m in model.members_:
        m.weight = float(m.weight * old)
    member.weight = float(new)
    model.members_ = [m for m in [*model.members_, member] if m.weight > 0] or [member]
    model.adaptive_, model.rows_ = False, most.n_samples
    values = old * both[0] + new * both[1]
    if hasattr(model, "calibration_"):
        codes = np.searchsorted(
            model.classes_, np.asarray(check.y)[known].astype(model.classes_.dtype)
        )
        model.calibration_ = model._calibrated(
            values[known] + model.mean_, codes, np.ones(len(codes))
        )
    else:
        model.scores_ = np.sort(np.abs(values - target)[known, 0])
    model.validation_error_ = float(np.mean((values - target)[known] ** 2))
    return model


def _streamed(model: Any, like: Member, chunks: Chunks) -> Member:
    """A member whose one machine saw all rows, through landmarks."""
    memory = model._memory()
    rank = _LANDMARKS if memory is None else int(min(_LANDMARKS, np.sqrt(memory / _PER_PAIR)))
    plan = replace(model.plan or Plan(), rank=rank, storage="streamed", budget=None)
    machine = KernelRidge(
        like.alpha, kernel=like.profile.kernel, plan=plan, tol=1e-4, random_state=0
    )
    machine.fit(chunks.changed(Coordinates(model, like.map_)))
    member = clone(like)
    width = len(like.map_)
    member.map_, member.machines_ = like.map_, [machine]
    member.cuts_, member.thresholds_ = np.empty((0, width)), np.empty(0)
    member.children_ = np.empty((0, 2), dtype=int)
    return member


@dataclass
class Coordinates(Change):
    """The coordinates that a member sees, and targets as it learns them."""

    model: Any
    map: np.ndarray

    def __call__(self, chunk: Chunk) -> Chunk:
        model = self.model
        target, known = model._scaled(chunk.y)
        encoded = model._encoded(tidy(chunk.X, model.roles_, model.styles_))
        # rows without a target, which chunks cannot lose, count as the mean
        target = np.where(known[:, None], target, 0.0)
        return Chunk(moved(encoded.Z, self.map), target, chunk.weight, chunk.start)


def _given(y: Any) -> np.ndarray:
    """Which targets are there."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        return np.isfinite(y)
    return np.array([x is not None and x == x for x in y.tolist()])
