"""Monitoring of the iterations of a solver: progress, callbacks, checkpoints, stopping."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..engine.atomic import write_atomically
from ..exceptions import FileFormatError
from ..progress import ticker

State = dict[str, np.ndarray]

_BEST = "_best_"  # before the names of arrays of the best state, in a checkpoint


class Step(NamedTuple):
    """The state of a solver after an iteration.

    Attributes
    ----------
    n_iter : int
        Iterations so far.
    error : float
        What the certificate would say now: a relative residual, or a violation.
    goal : float
        Where it stops.
    seconds : float
        Since it began, or went on.
    left : float
        Estimated seconds left, from how fast the error decreases; infinite if it does not.
    state : dict
        Arrays from which the solver could continue, among them the coefficients; not copies.
    held_out : float
        The error on held-out samples; not a number without such.
    """

    n_iter: int
    error: float
    goal: float
    seconds: float
    left: float
    state: State
    held_out: float = float("nan")


@dataclass
class Watch:
    """Watches the iterations of a solver: ``watch(n_iter, error, goal, state)`` after each.

    Parameters
    ----------
    callback : callable, optional
        Called with a :class:`Step`; the solver stops if it returns True.
    checkpoint : path, optional
        A file in which the state is kept, written once a minute at most and when the solver is
        interrupted. A solver that finds a state of the same problem there resumes from it. It is
        removed when the solver ends.
    verbose : bool
        A progress bar, with the time left.
    validation : callable, optional
        A function of the state: an error on held-out data. If it has not become smaller in
        ``patience`` iterations, the solver stops, and the best state is the result.
    patience : int
    every : float
        Seconds between two checkpoints.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.watch import Watch
    >>> seen = []
    >>> with Watch(callback=lambda step: seen.append(step.error)) as watch:
    ...     for i in range(3):
    ...         stop = watch(i, 10.0**-i, 1e-8, {"coef": np.zeros(2)})
    >>> seen, stop
    ([1.0, 0.1, 0.01], False)
    """

    callback: Callable[[Step], Any] | None = None
    checkpoint: str | Path | None = None
    verbose: bool = False
    validation: Callable[[State], float] | None = None
    patience: int = 5
    every: float = 60.0
    best: State | None = field(default=None, init=False)
    stopped: str = field(default="", init=False)  # why, in words, if not by the solver itself

    def __enter__(self) -> Watch:
        self._began = self._written = time.monotonic()
        self._first: tuple[float, float] | None = None
        self._problem = ""
        self._last: tuple[int, State | None] = 0, None
        self._score, self._waited = np.inf, 0
        self._bar = ticker(self.verbose, "solver")
        self._tick = self._bar.__enter__()
        self.best, self.stopped = None, ""
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self._bar.__exit__(kind, error, trace)
        if self.checkpoint is None:
            return
        if kind is None:
            Path(self.checkpoint).unlink(missing_ok=True)
        elif self._last[1] is not None:
            self._write(self._last[0], self._last[1])

    def resume(self, *problem: Any) -> tuple[int, State] | None:
        """Iterations and state of an earlier run on the same problem, if there is a checkpoint.

        ``problem`` identifies it: arrays, numbers and strings. A file of another problem is
        rejected, not overwritten: it may hold hours of work.
        """
        if self.checkpoint is None:
            return None
        self._problem = _fingerprint(problem)
        if not Path(self.checkpoint).exists():
            return None
        try:
            with np.load(self.checkpoint, allow_pickle=False) as stored:
                state = {name: stored[name] for name in stored.files}
            of, n_iter = str(state.pop("_problem")), int(state.pop("_n_iter"))
        except (OSError, ValueError, KeyError, EOFError) as error:
            raise FileFormatError(f"{self.checkpoint!s} is not a mercer checkpoint.") from error
        best = {name: state.pop(_BEST + name) for name in [*state] if _BEST + name in state}
        score, waited = float(state.pop("_score", np.inf)), int(state.pop("_waited", 0))
        if of != self._problem:
            raise ValueError(
                f"checkpoint={str(self.checkpoint)!r} belongs to another problem (other data, "
                "parameters or kernel); remove it, or use another file."
            )
        if self.validation is not None and best:
            self.best, self._score, self._waited = best, score, waited
        return n_iter, state

    def __call__(self, n_iter: int, error: float, goal: float, state: State) -> bool:
        """Process an iteration; True if the solver is to stop."""
        now = time.monotonic()
        self._last = n_iter, state
        score = float("nan") if self.validation is None else float(self.validation(state))
        left, seconds = self._left(now, error, goal), now - self._began
        step = Step(n_iter, error, goal, seconds, left, state, score)
        self._tick(_words(step))
        if self.checkpoint is not None and now - self._written >= self.every:
            self._write(n_iter, state)
            self._written = now
        worse = self.validation is not None and self._no_longer_better(score, state)
        if self.callback is not None and self.callback(step) is True:
            self.stopped = f"stopped by the callback after {n_iter} iterations"
        elif worse:
            self.stopped = f"the validation error has not decreased for {self.patience} iterations"
        return bool(self.stopped)

    def _no_longer_better(self, score: float, state: State) -> bool:
        if score < self._score:
            self._score, self._waited = score, 0
            self.best = {name: np.array(value) for name, value in state.items()}
        else:
            self._waited += 1
        return self._waited >= self.patience

    def _left(self, now: float, error: float, goal: float) -> float:
        """Errors of such solvers fall by about the same factor in each second."""
        if not (error > 0 and goal > 0):
            return np.inf
        if self._first is None:
            self._first = now, float(np.log(error))
        elapsed, fallen = now - self._first[0], self._first[1] - float(np.log(error))
        if error <= goal:
            return 0.0
        return elapsed * (np.log(error / goal) / fallen) if fallen > 0 < elapsed else np.inf

    def _write(self, n_iter: int, state: State) -> None:
        path = self.checkpoint
        assert path is not None
        arrays: Any = {**state, "_n_iter": np.array(n_iter), "_problem": np.array(self._problem)}
        if self.best is not None:
            arrays |= {_BEST + name: value for name, value in self.best.items()}
            arrays |= {"_score": np.array(self._score), "_waited": np.array(self._waited)}
        write_atomically(path, lambda stream: np.savez(stream, **arrays))


def _words(step: Step) -> str:
    left = f", {step.left:.0f} s left" if np.isfinite(step.left) else ""
    return f"error {step.error:.1e} of {step.goal:.0e}{left}"


def _fingerprint(parts: tuple[Any, ...]) -> str:
    """A short text that differs between problems: hashed arrays, and what others print."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()
