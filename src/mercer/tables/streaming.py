"""Tables that are larger than memory: two passes over the rows.

The first pass counts the rows, and draws a sample that fits in memory, from which the roles and
scales of columns, the kernels and their distances are learned. The second pass fits the kernel with
the largest weight to all rows, or to as many as time allows, through landmarks
(:mod:`mercer.tables.landmarks`). Both models are blended by how well they predict rows that neither
was fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone

from ..chunks.base import Change, Changed, Chunk, Chunks
from ..chunks.drawn import Drawn, draw
from ..engine.durations import duration_words
from ..progress import ticker
from .landmarks import Size, affordable, in_one_pass
from .members import Member
from .metric import Profile, moved
from .numbers import part_of
from .roles import tidy
from .search import GAIN

SAMPLE = 100_000  # maximum number of rows in memory
_VALUES = 2e7  # maximum number of values in them
_BYTES = 300  # for a value, with everything computed from it
_CHECK, _MOST_CHECKED = 0.05, 5000  # rows that decide how both models are blended
_SHARE = 0.3  # of the budget, for the second pass


@dataclass
class Survey:
    """The result of the first pass: three disjoint random parts of all rows.

    Attributes
    ----------
    drawn : Drawn
        All rows of the parts, and how many there are in the table.
    held : Chunk or None
        Held-out rows, for scores.
    check : Chunk
        Rows that decide how models are blended.
    sample : Chunk
        Rows to learn from.
    """

    drawn: Drawn
    held: Chunk | None
    check: Chunk
    sample: Chunk

    @property
    def rows(self) -> int:
        """Those that models may be fitted to."""
        return self.drawn.count - self._apart

    @property
    def _apart(self) -> int:
        return len(self.check) + (0 if self.held is None else len(self.held))

    def others(self, chunks: Chunks, count: int) -> Chunks:
        """Rows of the table for a fit, about this many."""
        return chunks.changed(self.drawn.band(self._apart, count))


def survey(
    chunks: Chunks,
    memory: float | None = None,
    seed: int = 0,
    held: Callable[[int], int] = lambda n: 0,
    most_held: int = 0,
    bars: bool = False,
) -> Survey:
    """Count and draw rows, in one pass.

    ``held(n)`` is the number of n rows to hold out, at most ``most_held``.
    """
    first = next(iter(chunks))
    if first.y is None:
        raise ValueError("chunks need a target: stream(path, target='...').")
    if not hasattr(first.X, "columns"):
        raise ValueError("table models need chunks with named columns.")
    rows = sample_rows(first.X.shape[1], memory)
    most_held = most_held if memory is None else min(most_held, rows)
    with ticker(bars, "reading", chunks.about()) as tick:
        drawn = draw(_watched(chunks, bars, tick), rows + _MOST_CHECKED + most_held, seed)
    a = min(held(drawn.count), most_held)
    b = a + min(_MOST_CHECKED, round(_CHECK * (drawn.count - a)))
    parts = drawn.part(a, b), drawn.part(b, b + rows)
    return Survey(drawn, drawn.part(0, a) if a else None, *parts)


def sample_rows(width: int, memory: float | None) -> int:
    """The maximum number of rows of this many columns to hold in memory."""
    width = max(width, 1)
    rows = int(min(SAMPLE, 1000 + _VALUES / width))
    return rows if memory is None else int(np.clip(memory / (_BYTES * width), 1000, rows))


def second_pass(
    profile: Profile, n: int, d: int, budget: float, memory: float | None
) -> Size | None:
    """The size of the fit in the second pass to n rows of d coordinates; None if there is none."""
    return affordable(profile, n, d, _SHARE * budget, memory)


def fit_chunks(model: Any, chunks: Chunks) -> Any:
    """Fit a model of tables to chunks with targets."""
    found = survey(chunks, model._memory(), model.random_state, bars=model._bars)
    return fit_surveyed(model, chunks, found)


def fit_surveyed(model: Any, chunks: Chunks, found: Survey, again: bool = True) -> Any:
    """Fit a model of tables to surveyed chunks; ``again`` says if there is a second pass."""
    sample, y = found.sample, found.sample.y
    given = _given(y)
    weight = None if sample.weight is None else sample.weight[given]
    model.fit(sample.X[given].reset_index(drop=True), np.asarray(y)[given], weight)
    if len(sample) >= found.rows:
        model.rows_ += len(found.check) * (model.rows_ == len(sample))
        return model
    if model.kernel is not None or not again:
        return model
    numeric = [m for m in model.members_ if isinstance(m, Member) and m.similarity is None]
    if not numeric:
        return model
    best = max(numeric, key=lambda m: m.weight)
    room = model._seconds(), model._memory()
    size = second_pass(best.profile, found.rows, len(best.map_), *room)
    if size is None:
        return model
    member = _through_landmarks(model, best, chunks, found, size)
    _blend(model, member, found.check)
    every = found.rows + len(found.check)
    model.rows_ = every if size.rows == found.rows else max(size.rows, model.rows_)
    return model


def _through_landmarks(
    model: Any, like: Member, chunks: Chunks, found: Survey, size: Size
) -> Member:
    """A member with a single machine, fitted in one pass."""
    model._say(
        f"fitting {size.landmarks} landmarks to {part_of(size.rows, found.rows)}, "
        f"about {duration_words(size.seconds)} beside reading"
    )
    coordinates = Coordinates(model, like.map_)
    some = coordinates(found.sample).X
    check = coordinates(found.check).rows(np.flatnonzero(model._scaled(found.check.y)[1]))
    with ticker(model._bars, "fitting", found.drawn.count) as tick:
        watched = _watched(chunks, model._bars, tick)
        machine = in_one_pass(
            found.others(watched, size.rows).changed(coordinates), like.profile, size.landmarks,
            like.alpha, some, check, model.plan,
        )  # fmt: skip
    member = clone(like)
    width = len(like.map_)
    member.alpha, member.map_, member.machines_ = machine.alpha, like.map_, [machine]
    member.cuts_, member.thresholds_ = np.empty((0, width)), np.empty(0)
    member.children_ = np.empty((0, 2), dtype=int)
    return member


def _blend(model: Any, member: Member, check: Chunk) -> None:
    """Weight the model and one more member by their predictions of held-out rows.

    The new one is used alone if the blend is not better by half a per cent.
    """
    target, known = model._scaled(check.y)
    encoded = model._encoded(tidy(check.X, model.roles_, model.styles_))
    both = [model._values(encoded), member.predict(encoded)]
    w = np.ones(len(check)) if check.weight is None else check.weight
    roots = np.sqrt(w[known])[:, None]
    F = np.column_stack([(roots * values[known]).ravel() for values in both])
    y = (roots * target[known]).ravel()
    (old, new), error = nnls(F, y)
    if nnls(F[:, 1:], y)[1] ** 2 * GAIN <= error**2:  # which predicts in a fraction of the time
        old, new = 0.0, nnls(F[:, 1:], y)[0][0]
    for m in model.members_:
        m.weight = float(m.weight * old)
    member.weight = float(new)
    model.members_ = [m for m in [*model.members_, member] if m.weight > 0] or [member]
    model.adaptive_ = False
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


@dataclass
class Coordinates(Change):
    """The coordinates that a member uses, in single precision, and targets in its units."""

    model: Any
    map: np.ndarray

    def __call__(self, chunk: Chunk) -> Chunk:
        model = self.model
        target, known = model._scaled(chunk.y)
        encoded = model._encoded(tidy(chunk.X, model.roles_, model.styles_))
        # rows without a target, which chunks cannot lose, count as the mean
        target = np.where(known[:, None], target, 0.0)
        Z = moved(encoded.Z, self.map).astype(np.float32)
        return Chunk(Z, target, chunk.weight, chunk.start)


class _Watched(Changed):
    """The same chunks, with a callback for each that is read."""

    def __init__(self, source: Chunks, tick: Callable[..., None], what: str) -> None:
        super().__init__(source, _Same())
        self.tick, self.what = tick, what

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self.source:
            yield chunk
            self.tick(self.what, len(chunk))


class _Same(Change):
    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk


def _watched(chunks: Chunks, bars: bool, tick: Callable[..., None]) -> Chunks:
    """The chunks with a progress bar, if one is visible and chunks are read locally."""
    here = type(chunks).map is Chunks.map
    return _Watched(chunks, tick, "reading") if bars and here else chunks


def _given(y: Any) -> np.ndarray:
    """Which targets are not missing."""
    y = np.asarray(y)
    if y.dtype.kind == "f":
        return np.isfinite(y)
    return np.array([x is not None and x == x for x in y.tolist()])
