"""How cases are measured: contenders in turn, best of several rounds, accuracy beside the time.

A case is a function that, for given sizes, returns a :class:`Contest`: calls that all do the same
job, by name, the one of ``"mercer"`` first. They run in one process on the same data, one after the
other and in alternating order, so that whatever slows the machine slows all of them. Memory is the
growth of the peak resident size in a fresh process per contender.

Before anything is measured every contender runs once on a tiny problem: imports, compiled code
and thread pools are paid for there. One that cannot be imported is reported as not installed.
"""

from __future__ import annotations

import gc
import json
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MERCER = "mercer"
ROOT = Path(__file__).resolve().parents[1]
_PATIENCE = 60.0  # seconds of rounds after which a case starts no further one

Calls = Mapping[str, Callable[[], Any]]
Errors = Callable[[Mapping[str, Any]], dict[str, float]]


class Unavailable(Exception):
    """What a case needs, such as a file of data, is not at hand: it is left out."""


@dataclass(frozen=True)
class Target:
    """What is promised of a figure (seconds or bytes); at most one bound.

    Parameters
    ----------
    speed : float, optional
        peer / mercer is at least this.
    cost : float, optional
        mercer / peer is at most this.
    limit : float, optional
        mercer's own figure is at most this.
    """

    speed: float | None = None
    cost: float | None = None
    limit: float | None = None

    def ratio(self, mercer: float, peer: float) -> float:
        """peer / mercer, or the other way round where the promise is about the cost."""
        return mercer / peer if self.cost is not None else peer / mercer

    def met(self, mercer: float, peer: float | None) -> bool | None:
        """Is the promise kept? None where nothing was promised or there is no peer to compare."""
        if self.limit is not None:
            return mercer <= self.limit
        if self.speed is not None and peer is not None:
            return self.ratio(mercer, peer) >= self.speed
        if self.cost is not None and peer is not None:
            return self.ratio(mercer, peer) <= self.cost
        return None


@dataclass(frozen=True)
class Accuracy:
    """What ``Contest.errors`` measures, in words, and how large it may be for mercer.

    What is found from times is for benchmarks alone: no test may depend on it.
    """

    what: str
    most: float
    from_times: bool = False


@dataclass(frozen=True)
class Group:
    """Cases summed up by the geometric mean of their ratios, one for each peer.

    Parameters
    ----------
    name : str
        In words.
    speed : dict
        By peer, what the mean of peer / mercer is at least.
    within : Group, optional
        A larger group in which its cases count, too.
    """

    name: str
    speed: dict[str, float] = field(default_factory=dict)
    within: Group | None = None


@dataclass(frozen=True)
class Contest:
    """Calls that do the same job, and a function from their results to their errors, by name."""

    calls: Calls
    errors: Errors = lambda outputs: {}


@dataclass(frozen=True)
class Case:
    """One comparison.

    Parameters
    ----------
    name : str
        ``family.job``, what ``--only`` selects by.
    what : str
        The job in words; ``{n}`` stands for the size of that name.
    setup : callable
        From the sizes, as keywords, to a :class:`Contest`.
    full, quick, tiny : dict
        The sizes the targets are about; those of ``--quick``; those of the first, unmeasured call.
    time, memory : Target
        What is promised. ``memory=None`` does not measure it.
    accuracy : Accuracy, optional
        The bound on the errors.
    rounds : int
        How often each contender runs, at most.
    crashes : tuple of str
        Contenders that take the process down at full size; only started on request, on their own.
    versus : dict
        By peer, what is promised of the time in place of ``time``.
    group : Group, optional
        Where the ratio of its times counts.
    slow : bool
        Only measured on request.
    """

    name: str
    what: str
    setup: Callable[..., Contest]
    full: dict[str, Any] = field(default_factory=dict)
    quick: dict[str, Any] = field(default_factory=dict)
    tiny: dict[str, Any] = field(default_factory=dict)
    time: Target = Target()
    memory: Target | None = None
    accuracy: Accuracy | None = None
    rounds: int = 5
    crashes: tuple[str, ...] = ()
    versus: dict[str, Target] = field(default_factory=dict)
    group: Group | None = None
    slow: bool = False

    def contest(self, size: str) -> Contest:
        """The contest of size "full", "quick" or "tiny"."""
        return self.setup(**getattr(self, size))

    def title(self, size: str) -> str:
        """The job in words, with its sizes."""
        return self.what.format(**getattr(self, size))


@dataclass
class Row:
    """One line of the table: one figure of mercer beside that of one peer (or of none)."""

    case: str
    what: str
    quantity: str
    target: Target
    peer: str = ""
    mercer: float | None = None
    other: float | None = None
    error: float | None = None
    other_error: float | None = None
    accuracy: Accuracy | None = None
    note: str = ""
    group: Group | None = None

    @property
    def ratio(self) -> float | None:
        """The ratio the target is about."""
        if not self.mercer or not self.other:
            return None
        return self.target.ratio(self.mercer, self.other)

    @property
    def verdict(self) -> str:
        """One of "met", "missed", "inaccurate", "failed"; empty where nothing was promised."""
        if self.mercer is None:
            return "failed"
        if self.accuracy and self.error is not None:
            if not self.error <= self.accuracy.most:  # nan is inaccurate, too
                return "inaccurate"
            if self.target == Target():
                return "met"
        met = self.target.met(self.mercer, self.other)
        return "" if met is None else ("met" if met else "missed")


def run(case: Case, size: str, *, crash: bool = False) -> list[Row]:
    """Measure a case; an exception in mercer becomes a row that says so."""
    try:
        return [*_time_rows(case, size, crash), *_memory_rows(case, size, crash)]
    except Unavailable as reason:
        print(f"{case.name} is left out: {reason}", file=sys.stderr, flush=True)
        return []
    except Exception:
        traceback.print_exc()
        note = traceback.format_exc().strip().splitlines()[-1]
        return [Row(case.name, case.title(size), "time", case.time, note=note)]


def each(error: Callable[[Any], float]) -> Errors:
    """The error of every contender's result, on its own."""
    return lambda outputs: {name: error(output) for name, output in outputs.items()}


def against(peer: str, difference: Callable[[Any, Any], float]) -> Errors:
    """The difference between mercer's result and a peer's, if that peer ran."""

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        if peer not in outputs:
            return {}
        return {MERCER: difference(outputs[MERCER], outputs[peer])}

    return errors


# ---- time ------------------------------------------------------------------------------------
@dataclass
class Timing:
    """The best seconds and the errors of those that ran, and why the others did not."""

    seconds: dict[str, float] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def _time_rows(case: Case, size: str, crash: bool) -> list[Row]:
    notes = warm_up(case)
    contest = case.contest(size)
    risky = [name for name in case.crashes if size == "full" and name not in notes]
    calls = {k: call for k, call in contest.calls.items() if k not in notes and k not in risky}
    timing = measure(calls, contest.errors, case.rounds)
    for name in risky:
        found: dict[str, Any] = {"note": "not run: it crashes"}
        if crash:
            found = in_child(case.name, name, size)
        timing.seconds |= {name: found["seconds"]} if "seconds" in found else {}
        notes |= {name: found["note"]} if "note" in found else {}
    notes |= timing.notes
    peers = [name for name in contest.calls if name != MERCER] or [""]
    return [
        Row(
            case.name,
            case.title(size),
            "time",
            case.versus.get(peer, case.time),
            peer,
            timing.seconds[MERCER],
            timing.seconds.get(peer),
            timing.errors.get(MERCER),
            timing.errors.get(peer),
            case.accuracy,
            notes.get(peer, ""),
            case.group,
        )
        for peer in peers
    ]


def warm_up(case: Case) -> dict[str, str]:
    """Run every contender once on a tiny problem; why each of those that cannot, cannot."""
    notes = {}
    for name, call in case.contest("tiny").calls.items():
        try:
            call()
        except Exception as error:
            notes[name] = _reason(name, error)
    return notes


def measure(calls: Calls, errors: Errors, rounds: int, patience: float = _PATIENCE) -> Timing:
    """The shortest time of each call over rounds of them all, and the errors of their results."""
    timing = Timing()
    spent = 0.0
    for turn in range(rounds):
        outputs: dict[str, Any] = {}
        for name in list(calls)[:: -1 if turn % 2 else 1]:
            if name in timing.notes:
                continue
            gc.collect()
            start = time.perf_counter()
            try:
                output = calls[name]()
            except Exception as error:
                timing.notes[name] = _reason(name, error)
                continue
            seconds = time.perf_counter() - start
            timing.seconds[name] = min(timing.seconds.get(name, seconds), seconds)
            spent += seconds
            if turn == 0:
                outputs[name] = output
            del output  # its memory goes back before the next contender asks for some
        if turn == 0:
            timing.errors = errors(outputs)
        if spent > patience:
            break
    return timing


def _reason(name: str, error: Exception) -> str:
    """Why a peer did not run, in words; mercer's own exceptions go on."""
    if name == MERCER:
        raise error
    return "not installed" if isinstance(error, ImportError) else f"failed: {type(error).__name__}"


# ---- memory ----------------------------------------------------------------------------------
def _memory_rows(case: Case, size: str, crash: bool) -> list[Row]:
    if case.memory is None:
        return []
    skipped = set(case.crashes) if size == "full" and not crash else set()
    names = [name for name in case.contest(size).calls if name not in skipped]
    if case.memory.cost is None and case.memory.speed is None:
        names = [MERCER]
    found = {name: in_child(case.name, name, size) for name in names}
    ours = found.pop(MERCER)
    return [
        Row(
            case.name,
            case.title(size),
            "memory",
            case.memory,
            peer,
            ours.get("bytes"),
            other.get("bytes"),
            note=ours.get("note") or other.get("note", ""),
        )
        for peer, other in (found or {"": {}}).items()
    ]


def in_child(case: str, contender: str, size: str) -> dict[str, Any]:
    """Seconds and growth in memory of one call in a fresh process, or a note on why not."""
    command = [sys.executable, "-m", "benchmarks.child", case, contender, size]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode < 0:
        return {"note": f"crashed ({signal.Signals(-done.returncode).name})"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        missing = "ModuleNotFoundError" in last
        return {"note": "not installed" if missing else f"failed: {last}"}
    return json.loads(done.stdout.splitlines()[-1])
