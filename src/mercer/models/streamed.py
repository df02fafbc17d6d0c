"""Models of samples that come in chunks, or whose features are computed in each pass.

Targets and weights come with the chunks, and are checked in one pass, through a small summary of
each chunk. A model keeps what is described in :mod:`mercer.models.kept`: M samples and M
coefficients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import compute_class_weight

from ..chunks.arrays import ArrayChunks
from ..chunks.base import Change, Chunk, Chunks, no_samples
from ..data import Data
from ..gram.plan import Plan
from ..gram.scatter import checked_weights
from ..gram.streamed import StreamedGram
from ..gram.tiles import slices
from ..losses.base import Loss
from ..solvers.dual import HeldOut
from ..solvers.watch import State, Step, Watch
from .common import (
    check_class_weights,
    check_data,
    check_factors,
    check_targets,
    nothing_beside_chunks,
)
from .labels import check_classes, check_comparable

if TYPE_CHECKING:
    from ..gram.phi import StreamedPhi
    from ..solvers.task import Task

SOLVERS = ("auto", "falkon", "primal")  # of ridge regression by passes
_STRIP = 4096  # samples of a chunk that are predicted at a time


@dataclass(eq=False, repr=False)
class Watched:
    """Estimators whose solvers may take long: progress, callbacks, checkpoints, validation."""

    _: KW_ONLY
    verbose: bool = False
    callback: Callable[[Step], Any] | None = None
    checkpoint: Any = None
    validation: tuple[Any, Any] | None = None

    def _watch(self, error: Callable[[State], float] | None = None) -> Watch:
        return Watch(self.callback, self.checkpoint, bool(self.verbose), error)

    def _checked_validation(self) -> tuple[Data, Any] | None:
        if self.validation is None:
            return None
        if not (isinstance(self.validation, tuple | list) and len(self.validation) == 2):
            raise ValueError("validation must be a pair (X, y) of samples and targets.")
        X, y = self.validation
        model: Any = self
        return check_data(model, X, model.kernel, reset=False, keep=False), y


def as_chunks(
    X: Any, y: Any, sample_weight: Any, plan: Plan | None, targets: bool = True
) -> Chunks | None:
    """X if it comes in chunks, as a memory map does if a plan requests few features.

    ``targets`` says whether the model needs targets.
    """
    if isinstance(X, Chunks):
        nothing_beside_chunks(y, sample_weight)
        return X
    if plan is None or plan.few is None or plan.storage not in ("auto", "streamed"):
        return None
    if not (isinstance(X, np.memmap) and X.ndim == 2):
        return None
    if y is None and targets:
        raise ValueError("y has to be given, with one target for each row of X.")
    y = None if y is None else np.asarray(y)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is not None and values.shape[:1] != X.shape[:1]:
            raise ValueError(f"{name} has {len(values)} entries, but X has {len(X)} rows.")
    return ArrayChunks(X, y, weight)


# ---- one pass over targets -----------------------------------------------------------------------
class Seen(NamedTuple):
    """A summary of one or all chunks: classes and their weights, the number of targets."""

    labels: np.ndarray
    totals: np.ndarray
    targets: int | None
    weighted: bool
    counts: np.ndarray  # samples of each class


@dataclass
class Survey:
    """A pass over targets and weights that rejects invalid ones."""

    labels: bool
    loss: Loss | None = None

    def __call__(self, chunk: Chunk) -> Seen:
        if chunk.y is None:
            raise ValueError("these chunks have no targets y, which a model needs.")
        y = np.asarray(chunk.y)
        if y.shape[:1] != (len(chunk),):
            raise ValueError(f"a chunk of {len(chunk)} samples has targets of shape {y.shape}.")
        w = checked_weights(chunk)
        weighted = chunk.weight is not None
        if self.labels:
            if y.ndim != 1:
                raise ValueError(f"labels must have one dimension, got shape {y.shape}.")
            found, codes = np.unique(check_comparable(y), return_inverse=True)
            counts = np.bincount(codes, minlength=len(found))
            return Seen(found, np.bincount(codes, w, len(found)), None, weighted, counts)
        if y.dtype.kind not in "biuf" or not np.all(np.isfinite(y)):
            raise ValueError("y must hold finite numbers; drop the other samples.")
        if self.loss is not None:
            self.loss.check_targets(y, w, intercept=False)
        columns = None if y.ndim == 1 else y.shape[1]
        nothing, totals = np.empty(0), np.array([w.sum(), np.sum(np.abs(y).T * w)])
        return Seen(nothing, totals, columns, weighted, nothing)


def surveyed(chunks: Chunks, labels: bool, loss: Loss | None = None) -> Seen:
    """A summary of all chunks; an error if the loss is not for such targets."""
    parts = list(chunks.map(Survey(labels, loss)))
    if not parts:
        raise ValueError("there are no samples: the source has no chunks.")
    if len({part.targets for part in parts}) > 1:
        raise ValueError("chunks have different numbers of targets.")
    weighted = any(part.weighted for part in parts)
    if not labels:
        total = np.sum([part.totals for part in parts], axis=0)
        if not total[0] > 0:
            raise ValueError("sample_weight must be >= 0, and not all zero.")
        return Seen(np.empty(0), total, parts[0].targets, weighted, np.empty(0))
    classes = np.unique(np.concatenate([part.labels for part in parts]))
    totals, counts = np.zeros(len(classes)), np.zeros(len(classes), dtype=int)
    for part in parts:
        at = np.searchsorted(classes, part.labels)
        totals[at] += part.totals
        counts[at] += part.counts
    return Seen(classes, totals, None, weighted, counts)


@dataclass
class Coded(Change):
    """Labels as codes, or as signs, one column for each class if there are more than two.

    Weights are multiplied by those of classes.
    """

    classes: np.ndarray
    factors: np.ndarray | None
    joint: bool

    def __call__(self, chunk: Chunk) -> Chunk:
        codes = np.searchsorted(self.classes, np.asarray(chunk.y))
        weight = chunk.weight
        if self.factors is not None:
            own = self.factors[codes]
            weight = own if weight is None else own * weight
        y = codes if self.joint else signs(codes, len(self.classes))
        return replace(chunk, y=y, weight=weight)


def signs(codes: np.ndarray, classes: int) -> np.ndarray:
    """+1 and -1, one column for each class against the rest, or one for two classes."""
    ones = np.arange(classes) if classes > 2 else np.array([1])
    return np.where(codes[:, None] == ones, 1, -1).astype(np.int8)


def head(X: Any) -> Data:
    """The first samples of chunks, which show the kind of data; all, if X is in memory."""
    if not isinstance(X, Chunks):
        return X
    first = next((chunk for chunk in X if len(chunk)), None)
    if first is None:
        raise no_samples()
    return first.rows(slice(0, 100)).X


def coded(model: Any, chunks: Chunks, joint: Callable[[int], bool]) -> Chunks:
    """Chunks with labels in the form of a loss; ``joint`` says of a number of classes which."""
    seen = surveyed(chunks, labels=True)
    classes, totals = seen.labels, seen.totals
    check_classes(model, classes)
    check_class_weights(classes, np.arange(len(classes)), totals)
    factors, given = None, getattr(model, "class_weight", None)
    if isinstance(given, str) and given == "balanced":
        factors = totals.sum() / (len(classes) * totals)
    elif given is not None:
        factors = check_factors(compute_class_weight(given, classes=classes, y=classes), given)
    return chunks.changed(Coded(classes, factors, joint(len(classes))))


# ---- predictions ---------------------------------------------------------------------------------
@dataclass
class Predicted:
    """A pass that applies a method of a fitted model to each chunk, strip by strip."""

    method: Callable[[Data], np.ndarray]

    def __call__(self, chunk: Chunk) -> np.ndarray:
        parts = (chunk.rows(rows).X for rows in slices(len(chunk), _STRIP))
        return np.concatenate([self.method(X) for X in parts])


def predicted(method: Callable[[Data], np.ndarray], chunks: Chunks) -> np.ndarray:
    """A method of a fitted model, applied to samples in chunks."""
    return np.concatenate(list(chunks.map(Predicted(method))))


# ---- solvers -------------------------------------------------------------------------------------
def ridge_by_passes(
    model: Any, gram: Any, Y: np.ndarray | None, alphas: np.ndarray, weights: Any, rng: Any
) -> Any:
    """The solution of :func:`~mercer.solvers.falkon.solve_falkon` for ridge regression."""
    from ..solvers.falkon import Errors, solve_falkon

    if model.solver not in SOLVERS:
        raise ValueError(
            f"solver={model.solver!r} does not support features that are never stored; use one of "
            f"{SOLVERS}, or a plan with more memory."
        )
    held_out = model._checked_validation()

    def error(state: State) -> float:
        phi = _beside(gram, *held_out, intercept=False)  # type: ignore[misc]
        return float(phi.through(state["coef"], Errors(), 2 * len(alphas))[1][0].sum())

    if held_out is not None:
        y = check_targets(model, *held_out)
        held_out = held_out[0], y.reshape(len(y), -1)
    return solve_falkon(
        gram.stream(Y, weights), alphas, method=model.solver, tol=model.tol, rng=rng,
        limit=gram.limit, watch=model._watch(None if held_out is None else error),
    ).warn()  # fmt: skip


def machine_by_passes(
    model: Any, gram: Any, losses: list[Any], y: np.ndarray | None, weights: Any, scores: int
) -> Any:
    """The solution of :func:`~mercer.solvers.streamed_newton.solve_streamed` for a machine."""
    from ..solvers.streamed_newton import solve_streamed
    from ..solvers.task import Slope, Task

    task = Task(losses, losses[0].targets == "classes")
    held_out = model._checked_validation()
    if held_out is not None:
        held_out = held_out[0], _in_form(model, task, *held_out)

    def error(state: State) -> float:
        phi = _beside(gram, *held_out, intercept=model.fit_intercept)  # type: ignore[misc]
        return float(phi.through(state["coef"], Slope(task), scores)[1][0].sum())

    solution = solve_streamed(
        gram.stream(y, weights, model.fit_intercept), losses, float(model.alpha), scores=scores,
        tol=model.tol, max_iter=model.max_iter, limit=gram.limit,
        watch=model._watch(None if held_out is None else error),
    )  # fmt: skip
    return solution.warn()


def beside_coordinates(model: Any, loss: Loss, problems: int) -> dict[str, Any]:
    """Monitoring of coordinate descent on stored features, with held-out samples."""
    if problems > 1:
        for name in ("checkpoint", "validation"):
            if getattr(model, name) is not None:
                raise ValueError(
                    f'{name} is for a single problem, but solver="coordinate" solves one for each '
                    "class; use solver='auto', with a plan that streams features."
                )
    from ..solvers.task import Task

    held_out = model._checked_validation()
    if held_out is not None:
        X, kernel = held_out[0], model.kernel_
        y = np.asarray(_in_form(model, Task([loss]), *held_out), dtype=np.float64).ravel()
        phi = kernel.features(kernel.prepare(X))
        held_out = HeldOut(phi, lambda F: float(loss.value(y, F).sum()))
    return {"watch": model._watch(), "held_out": held_out}


def _in_form(model: Any, task: Task, X: Data, y: Any) -> np.ndarray:
    """Held-out targets in the form of a task."""
    if task.losses[0].targets not in ("sign", "classes"):
        return check_targets(model, X, y)
    codes = known_codes(model.classes_, check_targets(model, X, y, None))
    return codes if task.joint else signs(codes, len(model.classes_))


def known_codes(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Held-out labels as codes; an error if they are not among the classes."""
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(f"validation has labels that are not in y: {unknown.tolist()}.")
    return np.searchsorted(classes, y)


def _beside(gram: Any, X: Data, y: np.ndarray, intercept: bool) -> StreamedPhi:
    """The same features of other samples."""
    from ..gram.phi import StreamedPhi

    other = StreamedGram(gram.columns, ArrayChunks(X, y), gram.workers)
    return StreamedPhi(other, gram.factor, intercept)
