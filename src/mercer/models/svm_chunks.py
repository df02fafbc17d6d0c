r"""Support vector machines of samples in chunks, through features that are never stored.

A machine is a kernel machine with alpha = 1 / C, so it is found by the passes of
:mod:`mercer.solvers.streamed_newton`: the corners of the loss are rounded by less and less until
the duality gap is a part ``tol`` of the objective. All pairs of classes share each pass: a sample
of another class has the target 0, and no loss.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import column_or_1d

from ..chunks.arrays import ArrayChunks
from ..chunks.base import Change, Chunk, Chunks, Sums
from ..data import Data, as_vectors
from ..gram.device.torch_ import HOST
from ..gram.phi import whitened
from ..gram.plan import Plan
from ..gram.streamed import Scores
from ..gram.tiles import slices
from ..losses.base import Dual
from ..losses.classification import Hinge
from ..solvers.dual import ON_FEATURES, HeldOut
from ..solvers.streamed_newton import solve_streamed
from ..solvers.task import Slope, Task, weight_of
from ..solvers.watch import State
from .common import (
    check_class_weights,
    check_data,
    check_factors,
    check_targets,
    check_weights,
    nothing_beside_chunks,
)
from .labels import check_classes
from .streamed import Watched, _beside, head, surveyed
from .svm_report import REST, DualReport

_BESIDE = ("callback", "checkpoint", "validation")
_STRIP = 4096  # samples of a chunk that are predicted at a time, of one function
_LEAST = 64  # and of many
_ON_MARGIN = 1e-3  # how far from the margin a support vector counts as one on it


@dataclass(eq=False, repr=False)
class PairHinge(Hinge):
    """The hinge loss of samples with y = 1 or -1; those with y = 0 have none."""

    def felt(self, y: np.ndarray) -> np.ndarray:
        return y != 0

    def dual(self, y: np.ndarray) -> Dual:
        target = np.where(y == 0, 2.0, y)  # off the scores of a start
        return Dual(target, np.where(y > 0, -1.0, 0.0), np.where(y < 0, 1.0, 0.0))


@dataclass
class PairSigns(Change):
    """Labels as -1 and 1, one column for each contest of two classes, and 0 for other classes.

    Weights are multiplied by those of classes. Contests are pairs (i, j) of numbers of classes, of
    which i = -1 stands for all but j.
    """

    classes: np.ndarray
    factors: np.ndarray
    contests: list[tuple[int, int]]

    def __call__(self, chunk: Chunk) -> Chunk:
        codes = np.searchsorted(self.classes, np.asarray(chunk.y))
        weight = self.factors[codes]
        weight = weight if chunk.weight is None else weight * chunk.weight
        return replace(chunk, y=self.signs(codes), weight=weight)

    def signs(self, codes: np.ndarray) -> np.ndarray:
        """Of each contest (i, j): -1 for class i, 1 for class j."""
        i, j = np.array(self.contests).T
        won = codes[:, None] == j
        lost = np.where(i < 0, ~won, codes[:, None] == i)
        return won.astype(np.int8) - lost


@dataclass(eq=False, repr=False)
class StreamedMachine(Watched):
    """Support vector machines on samples in chunks."""

    _: KW_ONLY

    def _as_chunks(self, X: Any, y: Any, sample_weight: Any) -> Chunks | None:
        """X if it comes in chunks, or where features are not to be stored."""
        model: Any = self
        plan: Plan = model.plan or Plan()
        if isinstance(X, Chunks):
            nothing_beside_chunks(y, sample_weight)
        elif (
            plan.few is None
            or model.solver != "auto"
            or not plan.streams(model.kernel if plan.device == HOST else model._as_kernel(X), X)
        ):
            return None
        if model.solver != "auto":
            raise ValueError(f'solver={model.solver!r} stores features; use "auto" for chunks.')
        if isinstance(X, Chunks):
            return X
        X = check_data(model, X, model.kernel, reset=True, keep=False)
        y = column_or_1d(check_targets(model, X, y, None), warn=True)
        return ArrayChunks(X, y, check_weights(sample_weight, y))

    def _by_passes(
        self, chunks: Chunks, loss: Any, scores: int, held_out: Any, classes: list[tuple]
    ) -> np.ndarray:
        """Fit; samples that span all functions are kept. Returns their coefficients."""
        model: Any = self
        some = head(chunks)
        check_data(model, some, model.kernel, reset=True, keep=False)
        known = {}
        if isinstance(model.kernel, str) and model.gamma == "scale":
            known["gamma"] = scale_of_entries(chunks, some)
        gram: Any = (model.plan or Plan()).gram(model._as_kernel(some, **known), chunks)
        task = Task([loss])

        def error(state: State) -> float:
            phi = _beside(gram, held_out[0], held_out[1], intercept=True)
            return float(phi.through(state["coef"], Slope(task), scores)[1][0].sum())

        found = solve_streamed(
            gram.stream(None, None, True), [loss], 1 / float(model.C), scores=scores,
            tol=model.tol, max_iter=None if model.max_iter == -1 else model.max_iter,
            limit=gram.limit, watch=model._watch(None if held_out is None else error),
        )  # fmt: skip
        span = gram.span()
        weights: Any = found.weights
        coef, b, points = span.combine(weights), found.intercept, span.points(None)
        squares = np.einsum("ij,ij->j", weights, weights)
        free, bounded, losses = _looked_at(gram, weights, b, task)
        primal, gap = model.C * losses + squares / 2, model.C * found.stats["gaps"]
        reports = [
            DualReport(
                names, float(primal[p]), float(primal[p] - gap[p]), float(gap[p]),
                float(2 / np.sqrt(squares[p])) if squares[p] > 0 else np.inf,
                int(free[p]), int(bounded[p]), float(b[p]), found.stats["violation"], found.n_iter,
            )
            for p, names in enumerate(classes)
        ]  # fmt: skip
        self.shape_fit_ = (len(chunks), *np.shape(some)[1:])
        self.kernel_, self.support_vectors_ = gram.kernel, points
        for name in ("support_", "n_support_", "_few_coef"):  # of an earlier fit
            self.__dict__.pop(name, None)
        self._passes = True
        self._how = f"trained on {len(chunks)} samples in chunks, through {gram.rank} features"
        model._restore()
        model._certify(reports, ["" if found.converged else found.message] * len(reports))
        return coef

    def _check_X(self, X: Data) -> Data:
        """Of samples in memory, only solvers on features tell how they get on."""
        model: Any = self
        asked = [name for name in _BESIDE if getattr(self, name) is not None]
        if asked and model.solver not in ON_FEATURES:
            raise ValueError(
                f'{asked[0]} is for solver="coordinate" or "snacks", and for chunks; got '
                f"solver={model.solver!r}."
            )
        return super()._check_X(X)  # type: ignore[misc]

    def _beside(self, form: Any, loss: Any) -> dict[str, Any]:
        """Monitoring of a solver on features, and held-out samples with their loss."""
        model: Any = self
        asked = [name for name in _BESIDE if getattr(self, name) is not None]
        if not asked:
            return {}
        if len(getattr(model, "classes_", ())) > 2 and asked != ["callback"]:
            raise ValueError(
                f"{asked[-1]} is for two classes, since each pair of classes has its own solver, "
                "or for chunks."
            )
        held_out = self._held_out(form)
        if held_out is not None:
            X, y = held_out
            phi = model.kernel_.features(model.kernel_.prepare(X))
            y = np.asarray(y, dtype=np.float64).ravel()
            held_out = HeldOut(phi, lambda F: float(loss.value(y, F).sum()))
        return {"watch": self._watch(), "held_out": held_out}

    def _held_out(self, form: Any) -> Any:
        """Samples for early stopping, with targets in the form of the loss."""
        held_out = self._checked_validation()
        return None if held_out is None else (held_out[0], form(*held_out))


def pair_signs(model: Any, chunks: Chunks) -> tuple[PairSigns, list[tuple]]:
    """Labels of chunks in the form of the loss, and the classes of each contest."""
    seen = surveyed(chunks, labels=True)
    check_classes(model, seen.labels)
    if isinstance(model.class_weight, str) and model.class_weight == "balanced":
        factors = seen.counts.sum() / (len(seen.labels) * seen.counts)
    else:
        factors = compute_class_weight(model.class_weight, classes=seen.labels, y=seen.labels)
    model.class_weight_ = check_factors(factors, model.class_weight)
    check_class_weights(seen.labels, np.arange(len(seen.labels)), factors * seen.totals)
    names, contests = [*seen.labels.tolist(), REST], model._contests()
    return PairSigns(seen.labels, factors, contests), [(names[i], names[j]) for i, j in contests]


@dataclass
class Margins:
    """A pass: for each function the samples on the margin and beyond it, and the sum of losses."""

    scores: Scores
    intercept: np.ndarray
    task: Task

    def __call__(self, chunk: Chunk) -> Sums:
        size = max(_LEAST, _STRIP // len(self.intercept))
        strips = slices(len(chunk), size) or [slice(0, 0)]
        parts = zip(*(self.strip(chunk.rows(rows)) for rows in strips), strict=True)
        return tuple(np.sum(part, axis=0) for part in parts)

    def strip(self, chunk: Chunk) -> Sums:
        """The same of a few samples."""
        F = self.scores(chunk) + self.intercept
        y, w, loss = self.task.targets(chunk), weight_of(chunk), self.task.losses[0]
        near = np.stack([np.abs(loss.slope(y, F + step)) for step in (-_ON_MARGIN, _ON_MARGIN)])
        felt = (near.max(axis=0) > 0) & (w > 0)[:, None]
        bounded = felt & (near.min(axis=0) == near.max(axis=0))
        return (felt & ~bounded).sum(axis=0), bounded.sum(axis=0), self.task.values(y, F, w)


def _looked_at(gram: Any, weights: np.ndarray, b: np.ndarray, task: Task) -> Sums:
    coef = whitened(gram.factor, weights, transposed=True)
    return gram.chunks.reduce(Margins(Scores(gram.columns, coef, gram.workers), b, task))


# ---- the default width of a kernel given by its name ---------------------------------------------
@dataclass
class Entries:
    """A pass: the number of entries of vectors, their sum and sum of squares about an origin."""

    origin: float

    def __call__(self, chunk: Chunk) -> Sums:
        X: Any = as_vectors(chunk.X, "gamma")
        size, X = float(np.prod(X.shape)), X.data if hasattr(X, "indptr") else np.asarray(X)
        apart = X.astype(np.float64) - self.origin
        zeros = size - X.size  # entries of a sparse matrix that it does not hold
        return (
            np.array(size), np.array(apart.sum() - zeros * self.origin),
            np.array(np.square(apart).sum() + zeros * self.origin**2),
        )  # fmt: skip


def scale_of_entries(chunks: Chunks, some: Data) -> float:
    """gamma="scale": 1 / (n_features times the variance of all entries)."""
    X: Any = as_vectors(some, "gamma")
    origin = float(X.mean())
    size, total, squares = chunks.reduce(Entries(origin))
    variance = float(squares / size - (total / size) ** 2)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
