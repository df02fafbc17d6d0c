"""Plans in statistics: threads, memory, landmarks, and how kernel values are stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ..data import Data, length, take
from ..engine.limits import within
from ..engine.memory import memory_words, require_memory
from ..engine.threads import quiet_blas
from ..exceptions import DenseWarning, warn
from ..gram.base import HOST, Gram
from ..gram.device.tiles import computes
from ..gram.plan import Plan
from ..kernels.approximate.rules import Landmarks
from ..kernels.base import Kernel
from ..params import show
from .bank import Bank

P = ParamSpec("P")
T = TypeVar("T")
_LEAST = 1e7  # bytes, for tiles and vectors, that are needed in any case


def planned(statistic: Callable[P, T]) -> Callable[P, T]:
    """A function with an argument ``plan``, whose threads and memory apply throughout."""

    @wraps(statistic)
    def whole(*args: P.args, **kwargs: P.kwargs) -> T:
        plan: Any = kwargs.get("plan")
        if plan is None:
            with quiet_blas():
                return statistic(*args, **kwargs)
        if not isinstance(plan, Plan):
            raise TypeError(f"plan must be a mercer.Plan, got a {type(plan).__name__}.")
        with quiet_blas(), within(plan.workers, max(plan.limit, _LEAST)):
            return statistic(*args, **kwargs)

    return whole


def rank_of(plan: Plan | None) -> Any:
    """The number of landmarks that a plan requests, or the share of the trace that may be lost."""
    if plan is None or not isinstance(plan.features, Landmarks):
        return None if plan is None else plan.rank
    return plan.features.n


def through_features(
    kernels: list[Kernel], X: Data, plan: Plan | None, what: str
) -> tuple[list[Kernel], tuple[str, ...]]:
    """The kernels approximated by random or hashed features, if a plan requests these, with a note.

    Features do not depend on labels or other variables, so the level stays exact.
    """
    rule = None if plan is None else plan.features
    if rule is None or isinstance(rule, Landmarks):
        return kernels, ()
    first = take(X, slice(0, 1))
    few = [
        k if n is not None and n <= rule.n else rule.approximate(k).resolve(X)
        for k, n in ((k, k.n_features(k.prepare(first))) for k in kernels)
    ]
    note = (
        f"kernels are approximated by {rule.words()}: the level is exact, but {what} that these "
        "features do not distinguish cannot be detected."
    )
    return few, () if few == kernels else (note,)


def landmarks_of(plan: Plan | None, landmarks: Any, n: int) -> Any:
    """The number of landmarks: the rank of the plan, unless the caller sets it."""
    rank = rank_of(plan)
    if landmarks != "auto" or rank is None:
        return landmarks
    if rank < 1:
        raise ValueError(
            f"rank={rank!r} is a share of the trace, but a test needs the number of landmarks, "
            "such as rank=200."
        )
    return min(int(rank), n)


def landmark_note(count: int, what: str) -> str:
    """What a test through landmarks cannot see."""
    return (
        f"kernels are approximated from {count} landmarks: the level is exact, but {what} outside "
        "their span cannot be detected."
    )


def bank_of(
    kernels: Sequence[Kernel], X: Data, order: np.ndarray | None, plan: Plan | None
) -> Bank:
    """Tiles of kernels: of the operators a plan specifies, or computed for all kernels at once."""
    if plan is None or plan.storage in ("auto", "tiled", "lowrank"):
        bank = Bank(kernels, X, order)
        bank.device = device_of(plan, kernels, X)
        return bank
    return PlannedBank(kernels, X, order, plan)


def device_of(plan: Plan | None, kernels: Sequence[Kernel], X: Data) -> str:
    """Where sums of kernel values are computed: on the device of a plan, if all kernels can be."""
    if plan is None or plan.device == HOST or plan.storage != "auto":
        return HOST
    first = take(X, slice(0, 1))
    for kernel in kernels:
        P = kernel.prepare(first)
        formula: Any = kernel.formula(P)
        if not (computes(plan.device, kernel, P) and any(formula.atoms())):
            return HOST
    return plan.device


def require_features(kernels: Sequence[Kernel], X: Data, plan: Plan | None) -> None:
    """``storage="lowrank"`` is for kernels with features, or those that have landmarks."""
    if plan is not None and plan.storage == "lowrank":
        for kernel in kernels:
            plan.gram(kernel, X)  # says so if there are none


def require_stored(plan: Plan | None, what: str, n: int) -> None:
    """Warn or raise an error if a method stores K and a plan requests something else."""
    if plan is None:
        return
    if not isinstance(plan.storage, str):
        raise ValueError(
            f"{what} computes K itself, but storage={plan.storage.__name__} was requested; use "
            "permutations, or storage='dense'."
        )
    if plan.storage == "tiled":
        size = memory_words(8.0 * n * n)
        warn(f"{what} needs all of K: {n} x {n} entries, {size}, are computed now.", DenseWarning)


def approximated_by(plan: Plan | None, kernel: Kernel, X: Data) -> Kernel:
    """The kernel, or the approximation that a plan requests."""
    if plan is None or plan.few is None:
        return kernel
    gram: Any = Plan(rank=plan.rank, features=plan.features).gram(kernel, X)
    return gram.kernel


def stored_words(plan: Plan | None) -> str:
    """How the values of a bank of kernels are stored, in words."""
    if plan is not None and plan.device != HOST and plan.storage == "auto":
        return f"computed on {plan.device} where kernels state formulas, never stored"
    if plan is None or plan.storage in ("auto", "tiled", "lowrank"):
        return "tile by tile, never stored"
    return "stored as arrays" if plan.storage == "dense" else f"of a {show(plan.storage)}"


def threads(plan: Plan | None) -> str:
    """How many threads a plan allows, in words."""
    workers = None if plan is None else plan.workers
    return "all cores" if workers is None else f"{workers} thread{'s' if workers > 1 else ''}"


class PlannedBank(Bank):
    """Tiles of the Gram operators of a plan, one for each kernel, in their precision.

    Parameters
    ----------
    kernels, X, order
        As for :class:`~.bank.Bank`.
    plan : Plan
        Determines the operators. If these are arrays, they must fit its memory together.
    """

    def __init__(
        self, kernels: Sequence[Kernel], X: Data, order: np.ndarray | None, plan: Plan
    ) -> None:
        self.n, self.kernels, self.families = length(X), list(kernels), []
        self.scale = np.ones(len(self.kernels))
        if plan.storage == "dense":
            what = f"storing {len(self)} kernel matrices of {self.n} samples"
            require_memory(8.0 * len(self) * self.n**2, what, plan.limit)
        self.order = np.arange(self.n) if order is None else order
        self.grams: list[Gram] = [plan.gram(kernel, X) for kernel in self.kernels]

    def diag(self) -> np.ndarray:
        return np.stack([np.asarray(gram.diag(), dtype=float)[self.order] for gram in self.grams])

    def eps(self) -> np.ndarray:
        return self.exact

    @property
    def exact(self) -> np.ndarray:
        """The precision of the operators, shape (kernels,)."""
        return np.array([float(np.finfo(gram.dtype).eps) for gram in self.grams])

    def tiles(self) -> Callable[[slice, slice], Iterator[tuple[int, np.ndarray]]]:
        def all_tiles(rows: slice, cols: slice) -> Iterator[tuple[int, np.ndarray]]:
            for place, gram in enumerate(self.grams):
                block = gram.block(self.order[rows], self.order[cols])
                yield place, np.array(block)  # which may be written into

        return all_tiles
