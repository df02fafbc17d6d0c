"""``mercer fit`` on files that are read in passes, to save memory or time."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier

from ..chunks.base import Chunk, Chunks
from ..chunks.front import stream
from ..chunks.source import BYTES
from ..engine.durations import duration_words
from ..engine.memory import memory_words, parse_memory
from ..tables.reading import kind_of
from ..tables.regressor import TableRegressor
from ..tables.roles import Table
from ..tables.rows import held_share
from ..tables.streaming import fit_surveyed, survey
from .fit import budget_of, selection_options, task_of
from .output import say
from .tasks import Fit

MOST_HELD = 20_000  # rows held out
_READ, _PACKED = 1.5e8, 6e7  # bytes of a file that a pass reads per second, plain or compressed
_UNPACKED = 3  # times the size of compressed text
_FEWEST = 4  # a budget of fewer passes allows only one
_CHUNKS = 50  # chunks that would fill the memory limit: readers hold some, with copies
_LEAST, _MOST = 1000, 20_000  # rows of a chunk under a memory limit


class Reading(NamedTuple):
    """The time of passes over a file, and what is left of the budget, in seconds."""

    each: float
    passes: int
    left: float

    @classmethod
    def of(cls, args: Namespace) -> Reading:
        """Two passes, in addition to the budget if that is the default; one if it is short."""
        path, whole = Path(args.table), budget_of(args)
        compressed = path.suffix.lower() != kind_of(path)
        each = path.stat().st_size / (_PACKED if compressed else _READ)
        passes = 2 if args.kernel is None else 1  # one that is given is fitted to a sample
        if args.budget is None:
            return cls(each, passes, whole)
        passes = passes if whole >= _FEWEST * each else 1
        return cls(each, passes, max(whole - passes * each, whole / _FEWEST))

    @property
    def whole(self) -> float:
        """The total, with everything done between passes."""
        return self.passes * self.each + self.left


def chunks_of(args: Namespace) -> Chunks:
    """The file in chunks, which are smaller if the memory limit is low."""
    columns = args.features and [name for name in args.features if name != args.target]
    missing = "keep" if args.missing == "use" else args.missing
    options: dict[str, Any] = {"target": args.target, "columns": columns, "missing": missing}
    opened: Any = stream(args.table, **options)
    if args.memory is None:
        return opened
    most = parse_memory(args.memory) / (_CHUNKS * 8 * len(opened.wanted))
    return stream(args.table, rows=int(np.clip(most, _LEAST, _MOST)), **options)


def first_rows(args: Namespace) -> tuple[Table, int]:
    """The first rows of a file, and about how many rows it has."""
    chunks = chunks_of(args)
    first = next(iter(chunks))
    size = Path(args.table).stat().st_size
    rows = chunks.about() or len(first) * size * _UNPACKED / BYTES
    return first.X.assign(**{args.target: first.y}), int(rows)


def fit_large(args: Namespace, options: dict[str, Any]) -> tuple[Table, Fit]:
    """Some rows of the file, and the result."""
    start = perf_counter()
    share = held_share(args.test_size, 2)
    chosen, quiet = selection_options(args), not options["verbose"]
    reading, size = Reading.of(args), Path(args.table).stat().st_size
    say(
        f"{args.table} has {memory_words(size)}, and is read in {reading.passes} "
        f"pass{'es' * (reading.passes > 1)} of about {duration_words(reading.each)}; in all about "
        f"{duration_words(reading.whole)} on an idle machine",
        quiet,
    )
    chunks = chunks_of(args)
    bars = TableRegressor(verbose=not quiet)._bars
    memory = None if args.memory is None else float(parse_memory(args.memory))
    found = survey(
        chunks, memory, args.seed, lambda n: round(share * n), MOST_HELD if share else 0, bars
    )
    table = found.sample.X.assign(**{args.target: found.sample.y})
    task = task_of(args, table)
    model: Any = task.kind(roles=chosen["roles"] or None, random_state=args.seed, **options)
    model = fit_surveyed(model, chunks, found, again=reading.passes > 1)
    fitted = Fit(task, model, model, model.columns_, 0, found.drawn.count)
    if found.held is not None:
        spent = None if args.no_baseline else perf_counter() - start
        fitted.judge(*_known(model, found.sample), *_known(model, found.held), spent)
    return table, fitted


def _known(model: Any, chunk: Chunk) -> tuple[Table, np.ndarray]:
    """Rows whose target the model can predict."""
    known = model._scaled(chunk.y)[1]
    y = np.asarray(chunk.y)[known].astype(model.classes_.dtype if is_classifier(model) else float)
    return chunk.X[known].reset_index(drop=True), y
