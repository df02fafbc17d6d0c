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

_FIRST, _LAST = 2000, 8000  # samples of the first trial, and of the largest
_ENOUGH = 0.1  # seconds of a trial from which much can be told
_RANKS = (300, 1000, 3000, 10_000)  # landmarks that are considered, and
_TRIED = 500  # the number of them in a trial
_BREAK = 2000  # landmarks from which on products of features take longer than all else, as seen
_COLUMNS = 10_000  # samples up to which a preconditioner takes longer than products, as seen


@dataclass(frozen=True)
class Way:
    """One way to fit a model.

    Attributes
    ----------
    name : str
        How K is kept.
    plan : Plan
        The plan that asks for it.
    seconds, nbytes : float
        What it takes, roughly; infinite if it cannot be done.
    exact : bool
        Is K itself used, not an approximation?
    why_not : str
        What the model said when it was tried, if it refused.
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
    """What it takes to fit a model: with K stored, in tiles, and through landmarks.

    The model is fitted to some thousand of the samples in each way. What that takes is continued
    to all samples: kernel values grow with n^2, a factor of K with n^3, landmarks with n m and
    n m^2. How many iterations a solver takes is that of the trial. Figures are right to a factor
    of two, mostly, on a machine that does nothing else meanwhile; landmarks may take a third of
    what is said.

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
        it has a ``storage``, ``rank`` or ``features``, only that is looked at.

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
        raise ValueError("give y as well: how long a fit takes depends on the targets.")
    trial = _Trial(model, pool.rows(rng.permutation(len(pool))))
    ways = [_look(trial, candidate, n) for candidate in _candidates(model, plan, n)]
    return Forecast(ways, n, seconds, min(plan.limit, free_memory()))


# ---- what is tried -------------------------------------------------------------------------------
class _Growth(NamedTuple):
    """How work and memory grow with n samples, m landmarks, and p products per kernel value."""

    work: Callable[[float, float, float], float]
    room: Callable[[float, float], float]


_FACTORED = _Growth(lambda n, m, p: n**2 / 2 + n**3 / (3 * p), lambda n, m: n**2)
_STORED = _Growth(lambda n, m, p: n**2, lambda n, m: n**2)
_PASSES = _Growth(lambda n, m, p: n**2, lambda n, m: n**1.5)
_TILED = _Growth(lambda n, m, p: n**2 + _COLUMNS * n, lambda n, m: n**1.5)
_NARROW = _Growth(lambda n, m, p: n * m + (n * m**2 + m**3 / 3) / _BREAK, lambda n, m: n * m + m**2)


class _Candidate(NamedTuple):
    name: str
    plan: Plan
    growth: _Growth
    landmarks: int = 0
    tried: Plan | None = None  # in a trial, where it is smaller


def _candidates(model: Any, plan: Plan, n: int) -> list[_Candidate]:
    """All ways, or the one that the plan asks for."""
    stored, tiled = (_FACTORED, _TILED) if model.factorises else (_STORED, _PASSES)
    if plan.features is not None:
        m = plan.features.n
        tried = plan.replace(features=plan.features.replace(n=min(m, _TRIED)))
        return [_Candidate(f"{m} features", plan, _NARROW, m, tried)]
    if plan.rank is not None:
        return [_landmarks(plan, int(plan.rank) if plan.rank >= 1 else _RANKS[1])]
    if plan.storage != "auto":
        return [_Candidate(show(plan.storage), plan, tiled if plan.storage == "tiled" else stored)]
    return [
        _Candidate("stored", plan.replace(storage="dense"), stored),
        _Candidate("in tiles", plan.replace(storage="tiled"), tiled),
        *(_landmarks(plan, m) for m in _RANKS if m <= n / 2),
    ]


def _landmarks(plan: Plan, m: int) -> _Candidate:
    tried = plan.replace(rank=min(m, _TRIED))
    return _Candidate(f"{m} landmarks", plan.replace(rank=m), _NARROW, m, tried)


def _look(trial: _Trial, candidate: _Candidate, n: int) -> Way:
    """What a trial of one way says of all samples."""
    name, plan, growth, m, smaller = candidate
    few = min(m, _TRIED)
    try:
        size, seconds, nbytes = trial(smaller or plan)
        p = trial.products_per_value()
    except (ValueError, TypeError, MemoryError) as error:
        return Way(name, plan, np.inf, np.inf, not m, str(error).split("; ")[0].rstrip("."))
    seconds *= max(growth.work(n, m, p) / growth.work(size, few, p), 1.0)
    nbytes *= max(growth.room(n, m) / growth.room(size, few), 1.0)
    return Way(name, plan, seconds, nbytes, not m)


class _Trial:
    """Fits to a few of the samples, each way once, with the time and the memory that they took."""

    def __init__(self, model: Any, pool: Chunk) -> None:
        self.model, self.pool = model, pool
        self._done: dict[str, tuple[int, float, float]] = {}

    def __call__(self, plan: Plan) -> tuple[int, float, float]:
        """Samples, seconds and bytes of a fit that takes long enough to tell."""
        if repr(plan) not in self._done:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                size = min(_FIRST, len(self.pool))
                self._fit(plan, size)  # imports and compiles what is needed
                peak = self._peak(plan, size)
                room = peak / size**2 if plan.storage == "dense" else peak / size
                seconds = self._best(plan, size)
                while seconds < _ENOUGH and 2 * size <= len(self.pool):
                    size *= 2
                    seconds = self._best(plan, size)
            grown = size**2 if plan.storage == "dense" else size
            self._done[repr(plan)] = size, seconds, room * grown
        return self._done[repr(plan)]

    def _best(self, plan: Plan, size: int) -> float:
        """The time of a fit: the best of two, where others use the machine as well."""
        return min(self._fit(plan, size) for _ in range(2))

    def _fit(self, plan: Plan, size: int) -> float:
        some = self.pool.rows(slice(0, size))
        model = clone(self.model).set_params(plan=plan)
        start = time.perf_counter()
        model.fit(some.X, *(() if some.y is None else (some.y,)))
        return time.perf_counter() - start

    def _peak(self, plan: Plan, size: int) -> float:
        """The most memory that a fit takes at once."""
        tracing = tracemalloc.is_tracing()
        if not tracing:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            self._fit(plan, size)
            return float(tracemalloc.get_traced_memory()[1] - before)
        finally:
            if not tracing:
                tracemalloc.stop()

    def products_per_value(self) -> float:
        """Multiplications and additions in the time that it takes to compute one kernel value."""
        if "_ratio" not in vars(self):
            X = self.pool.rows(slice(0, 2 * _TRIED)).X
            kernel = self.model._as_kernel(X).resolve(X)
            gram, V = kernel.gram(X, Plan(storage="tiled")), np.ones((len(X), 1))
            gram @ V
            start = time.perf_counter()
            gram @ V
            value = (time.perf_counter() - start) / (len(X) ** 2 / 2)
            self._ratio = value / _product()
        return self._ratio


@cache
def _product() -> float:
    """Seconds of one multiplication and addition within a product of matrices."""
    A = np.ones((1000, 1000))
    A @ A
    start = time.perf_counter()
    A @ A
    return (time.perf_counter() - start) / A.size**1.5
