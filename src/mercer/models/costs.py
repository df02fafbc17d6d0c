"""How long a fit will take and how much memory: trials on few samples, continued to all of them."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.utils import get_tags

from ..chunks.arrays import ArrayChunks
from ..chunks.base import Chunk, Chunks
from ..data import Data
from ..engine.durations import duration_words, parse_duration
from ..engine.memory import free_memory, memory_words
from ..gram.plan import Plan
from ..params import show
from ..shown import Shown
from ..solvers.preconditioner import most_columns

_SIZES = (1000, 2000, 4000, 8000)  # samples of trials with K itself, as far as they are needed
_ENOUGH = 0.4  # seconds of a trial from which much can be told
_AGAIN = 1.5  # seconds up to which a trial is made twice
_RANKS = (300, 1000, 3000, 10_000)  # landmarks that are considered
_SAMPLES, _FEW = (2000, 8000), (100, 400)  # samples and landmarks of trials with landmarks
_LAST = _SAMPLES[-1]


@dataclass(frozen=True)
class Way:
    """One way to fit a model.

    Attributes
    ----------
    name : str
        How K is kept.
    plan : Plan
        The plan that requests it.
    seconds, nbytes : float
        What it takes, roughly; infinite if it cannot be done.
    exact : bool
        Is K itself used, not an approximation?
    why_not : str
        What the model said when it was tried, if it rejected.
    """

    name: str
    plan: Plan
    seconds: float
    nbytes: float
    exact: bool
    why_not: str = ""


@dataclass(frozen=True)
class Forecast(Shown):
    """The ways to fit a model to some data, with what each takes, and the one to go.

    Attributes
    ----------
    ways : list of Way
    n_samples : int
    seconds, nbytes : float
        What may be used.
    """

    ways: list[Way]
    n_samples: int
    seconds: float
    nbytes: float

    def fits(self, way: Way) -> bool:
        """Does it keep to the time and the memory that may be used?"""
        return way.seconds <= self.seconds and way.nbytes <= self.nbytes

    @property
    def best(self) -> Way | None:
        """The fastest exact way that fits, else the approximation with most landmarks that does."""
        fitting = [way for way in self.ways if self.fits(way)]
        exact = [way for way in fitting if way.exact]
        if exact:
            return min(exact, key=lambda way: way.seconds)
        return max(fitting, key=lambda way: way.seconds, default=None)

    def __str__(self) -> str:
        lines = [f"{f'{self.n_samples:,} samples':18}{'time':>10}{'memory':>10}"]
        for way in self.ways:
            if way.why_not:
                lines.append(f"{way.name:18}{'-':>10}{'-':>10}  refused: {way.why_not}")
                continue
            mark = "  chosen" if way is self.best else "" if self.fits(way) else "  does not fit"
            took = f"{duration_words(way.seconds):>10}{memory_words(way.nbytes):>10}"
            lines.append(f"{way.name:18}{took}{mark}")
        if self.best is None:
            lines.append("Nothing fits: allow more time (budget) or memory, or use fewer samples.")
        return "\n".join(lines)


def forecast(model: Any, X: Data, y: Any = None, *, plan: Plan | None = None) -> Forecast:
    """Estimate the cost of fitting a model: with K stored, in tiles, and with landmarks.

    The model is fitted to some thousand of the samples in each way, at several sizes. The cost is a
    sum of terms, of which kernel values grow with n^2, a factor of K with n^3, landmarks with n m,
    n m^2 and m^3, and continued to all samples (:func:`continued`). A preconditioner of rank m
    grows like m^2 and n m^2; its rank is that of the trials, which grows up to a limit. How many
    iterations a solver takes is that of the trials. Where K is stored, the first trial of a size
    tells how long the system takes to give memory. ``python -m benchmarks.forecast`` compares
    figures with what fits took; they are for a machine that does nothing else meanwhile.

    Parameters
    ----------
    model : estimator
        Any with a ``plan``.
    X : data or Chunks
        The samples.
    y : array, optional
        Targets, where the model has some: how long a fit takes depends on them.
    plan : Plan, optional
        Memory, threads and the time that may be used (``budget``); by default that of the model. If
        it has a ``storage``, ``rank`` or ``features``, only that is considered.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge
    >>> from mercer.models import forecast
    >>> X = np.random.default_rng(0).standard_normal((3000, 2))
    >>> found = forecast(KernelRidge(kernel=Gaussian(), alpha=0.1), X, X[:, 0])
    >>> [way.name for way in found.ways], found.best.exact
    (['stored', 'in tiles', '300 landmarks', '1000 landmarks'], True)
    """
    plan = plan or model.plan or Plan()
    seconds = np.inf if plan.budget is None else parse_duration(plan.budget)
    plan = plan.replace(budget=None)
    source = X if isinstance(X, Chunks) else ArrayChunks(X, None if y is None else np.asarray(y))
    n, rng = source.n_samples, np.random.default_rng(0)
    pool = source.sample(min(n, _LAST), rng)
    if pool.y is None and get_tags(model).target_tags.required:
        raise ValueError("pass y as well: the time of a fit depends on the targets.")
    trial = _Trial(model, pool.rows(rng.permutation(len(pool))))
    ways = [_look(trial, candidate, n) for candidate in _candidates(model, plan, n)]
    return Forecast(ways, n, seconds, min(plan.limit, free_memory()))


# ---- what is tried -------------------------------------------------------------------------------
Terms = Callable[[float, float], tuple[float, ...]]


class _Growth(NamedTuple):
    """How time and memory grow with n samples and m landmarks: sums of terms, each with a factor.

    ``least`` are factors of the terms of the time that no machine is faster than, in units of a
    multiplication within a product of matrices. Is the memory ``filled``, as that of K is?
    """

    work: Terms
    least: tuple[float, ...]
    room: Terms
    filled: bool = False


def _landmark_work(n: float, m: float) -> tuple[float, ...]:
    return 1.0, n, n * m, n * m**2, m**3


_FACTORED = _Growth(
    lambda n, m: (1.0, n**2, n**3), (0, 0, 1 / 6), lambda n, m: (1.0, n, n**2), filled=True
)
_STORED = _Growth(lambda n, m: (n, n**2), (0, 0), lambda n, m: (1.0, n, n**2), filled=True)
_TILED = _Growth(lambda n, m: (1.0, n, n**2), (0, 0, 0), lambda n, m: (1.0, n, n**1.5))
_PRECONDITIONED = _Growth(  # by a factor of rank m, with half of its products with itself
    lambda n, m: (1.0, m**2, n * m**2, n**2), (0, 0, 0.75, 0), _TILED.room
)
_NARROW = _Growth(_landmark_work, (0, 0, 0, 0.5, 1 / 6), lambda n, m: (1.0, n, n * m, m**2))


class _Candidate(NamedTuple):
    name: str
    plan: Plan
    growth: _Growth
    landmarks: int = 0
    fewer: Callable[[int], Plan] | None = None  # the plan of a trial, with fewer of them


def _candidates(model: Any, plan: Plan, n: int) -> list[_Candidate]:
    """All methods, or the one that the plan requests."""
    stored = _FACTORED if model.factorises else _STORED
    if plan.features is not None:
        rule, m = plan.features, int(plan.features.n)
        return [
            _Candidate(
                f"{m} features", plan, _NARROW, m,
                lambda few: plan.replace(features=rule.replace(n=few)),
            )
        ]  # fmt: skip
    if plan.rank is not None:
        return [_landmarks(plan, int(plan.rank) if plan.rank >= 1 else _RANKS[1])]
    if plan.storage != "auto":
        growth = _TILED if plan.storage == "tiled" else stored
        return [_Candidate(show(plan.storage), plan, growth)]
    return [
        _Candidate("stored", plan.replace(storage="dense"), stored),
        _Candidate("in tiles", plan.replace(storage="tiled"), _TILED),
        *(_landmarks(plan, m) for m in _RANKS if m <= n / 2),
    ]


def _landmarks(plan: Plan, m: int) -> _Candidate:
    return _Candidate(
        f"{m} landmarks", plan.replace(rank=m), _NARROW, m, lambda few: plan.replace(rank=few)
    )


def _look(trial: _Trial, candidate: _Candidate, n: int) -> Way:
    """The forecast for all samples from trials of one method."""
    name, plan, growth, m, fewer = candidate
    try:
        if m:
            seen = trial.with_landmarks(fewer)  # type: ignore[arg-type]
        else:
            seen = trial.without(plan)
    except (ValueError, TypeError, MemoryError) as error:
        return Way(name, plan, np.inf, np.inf, not m, str(error).split("; ")[0].rstrip("."))
    sizes = [size for size, _ in seen.seconds]
    at = (float(n), float(m))
    if not m and sizes[-1][1]:
        growth, at = _PRECONDITIONED, (float(n), _rank(sizes, n))
    seconds = continued(growth.work, seen.seconds, _product() * np.array(growth.least), at)

    def room(at: tuple[float, float]) -> float:
        found = continued(growth.room, seen.nbytes, np.zeros(len(growth.room(1, 1))), at)
        # features that do not fit are not stored
        return min(found, plan.room) if m and 16.0 * at[0] * at[1] > plan.room else found

    nbytes = room(at)
    if growth.filled:
        seconds += seen.fresh * nbytes / max(room(sizes[-1]), 1.0)
    return Way(name, plan, seconds, nbytes, not m)


def _rank(seen: list[tuple[float, float]], n: int) -> float:
    """The rank of a preconditioner for n samples: it grows as in trials, up to the limit."""
    (few, below), (more, rank) = seen[-2:] if len(seen) > 1 else (seen[0], seen[0])
    most = float(most_columns(n, np.inf))
    if rank >= most_columns(int(more), np.inf):  # it was at the limit
        return most
    power = np.log(rank / below) / np.log(more / few) if more > few and rank > below > 0 else 0.0
    return float(min(rank * (n / more) ** min(power, 1.0), most))


def continued(
    terms: Terms, measured: list[_Measured], least: np.ndarray, at: tuple[float, float]
) -> float:
    """What is measured at some sizes, as a sum of terms with factors >= least, at another size.

    Factors are those with the least squares of relative errors; no less than the largest that was
    measured at a smaller size.

    Examples
    --------
    >>> continued(lambda n, m: (n, n**2), [((1.0, 0.0), 3.0), ((2.0, 0.0), 10.0)], np.zeros(2),
    ...           (10.0, 0.0)).__round__(6)
    210.0
    """
    table = np.array([terms(*size) for size, _ in measured])
    values = np.array([value for _, value in measured])
    unit = np.maximum(table.max(axis=0), 1e-300)
    least = np.minimum(least * unit, values.max())
    shares = table / unit / values[:, None]
    found = least + nnls(shares, 1 - shares @ least)[0]
    said = float(np.array(terms(*at)) / unit @ found)
    below = [value for size, value in measured if size[0] <= at[0] and size[1] <= at[1]]
    return max(said, max(below, default=0.0))


_Measured = tuple[tuple[float, float], float]  # a size, and what was found there


class _Seen(NamedTuple):
    seconds: list[_Measured]
    nbytes: list[_Measured]
    fresh: float = 0.0  # seconds by which the first of the largest trials took longer


class _Trial:
    """Fits to a few of the samples, each way at several sizes, with time and memory they took."""

    def __init__(self, model: Any, pool: Chunk) -> None:
        self.model, self.pool = model, pool
        self._done: dict[tuple[str, int], float] = {}
        self._fresh: dict[tuple[str, int], float] = {}
        self.rank = 0.0  # of the preconditioner of the last fit, if it had one

    def without(self, plan: Plan) -> _Seen:
        """With K itself: sizes are doubled until a fit takes long enough to tell."""
        sizes = self._sizes(_SIZES)
        room = [self._peak(plan, size) for size in sizes[:2]]
        seconds: list[_Measured] = []
        for size in sizes:
            took = self._best(plan, size)
            seconds.append(((size, self.rank), took))
            still = self.rank == size or (  # the preconditioner is not what it will be yet
                len(seconds) > 1 and self.rank > seconds[-2][0][1]
            )
            if len(seconds) > 1 and took > (_AGAIN if still else _ENOUGH):
                break
        return _Seen(
            seconds,
            [((size, 0), b) for size, b in zip(sizes, room, strict=False)],
            self._fresh[repr(plan), int(seconds[-1][0][0])],
        )

    def with_landmarks(self, plan: Callable[[int], Plan]) -> _Seen:
        """At all combinations of few and more samples and landmarks."""
        sizes = self._sizes(_SAMPLES)
        places = [(n, m) for n in sizes for m in _FEW if m <= n] or [(sizes[0], sizes[0])]
        room = [(n, m) for n, m in places if (n, m) != places[-1]] or places
        return _Seen(
            [((n, m), self._best(plan(m), n)) for n, m in places],
            [((n, m), self._peak(plan(m), n)) for n, m in room],
        )

    def _sizes(self, wanted: tuple[int, ...]) -> list[int]:
        return sorted({min(size, len(self.pool)) for size in wanted})

    def _best(self, plan: Plan, size: int) -> float:
        """The time of a fit: the best of two short ones, as others may use the machine as well."""
        key = repr(plan), size
        if key not in self._done:
            if not any(known == key[0] for known, _ in self._done):
                self._fit(plan, min(size, _SIZES[0]))  # imports and compiles what is needed
            took = self._fit(plan, size)
            again = took if took > _AGAIN else self._fit(plan, size)
            self._done[key], self._fresh[key] = min(took, again), max(took - again, 0.0)
        return self._done[key]

    def _fit(self, plan: Plan, size: int) -> float:
        some = self.pool.rows(slice(0, size))
        model = clone(self.model).set_params(plan=plan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            model.fit(some.X, *(() if some.y is None else (some.y,)))
            took = time.perf_counter() - start
        found = getattr(model, "solution_", None)
        self.rank = float(found.stats.get("preconditioner_rank", 0.0)) if found else 0.0
        return took

    def _peak(self, plan: Plan, size: int) -> float:
        """The most memory that a fit takes at once."""
        key = f"bytes of {plan!r}", size
        if key in self._done:
            return self._done[key]
        self._fit(plan, min(size, _SIZES[0]))
        tracing = tracemalloc.is_tracing()
        if not tracing:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            self._fit(plan, size)
            self._done[key] = float(tracemalloc.get_traced_memory()[1] - before)
        finally:
            if not tracing:
                tracemalloc.stop()
        return self._done[key]


@cache
def _product() -> float:
    """Seconds of one multiplication and addition within a product of matrices, on this machine."""
    A = np.ones((1000, 1000))
    A @ A
    took = []
    for _ in range(3):
        start = time.perf_counter()
        A @ A
        took.append(time.perf_counter() - start)
    return min(took) / A.size**1.5
