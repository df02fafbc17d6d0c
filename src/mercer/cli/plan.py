"""``mercer plan``: what a fit would do and cost."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import numpy as np

from ..engine.durations import duration_words
from ..engine.memory import free_memory, memory_words, parse_memory
from ..gram.plan import Plan
from ..models.ridge import KernelRidge
from ..tables.candidates import on_table
from ..tables.encoding import completed, encode, learn_parts
from ..tables.metric import Profile
from ..tables.numbers import count, part_of
from ..tables.reading import read_table
from ..tables.roles import tidy
from ..tables.rows import check_enough, select
from ..tables.search import Effort
from ..tables.streaming import sample_rows, second_pass
from .fit import (
    BUDGET,
    add_table,
    budget_of,
    check_target,
    is_large,
    model_options,
    selection_options,
    task_of,
)
from .large import Reading, first_rows
from .output import as_json, command, entry
from .summary import _roles
from .tasks import LABELS


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer plan``."""
    add_table(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    options = model_options(args)
    check_target(args)
    large = is_large(args)
    table, whole = first_rows(args) if large else (read_table(args.table), 0)
    task = task_of(args, table)
    y, given, _ = task.target(table, args.target)
    classes = len(set(y[given])) if task is LABELS else 2
    outputs = 1 if classes == 2 else classes
    chosen = select(table, args.target, given, **selection_options(args))
    n = len(chosen.X)
    check_enough(n)
    tidied = tidy(chosen.X, chosen.roles, chosen.styles)
    parts = learn_parts(tidied, chosen.roles)
    d = encode(parts, tidied.iloc[:5]).Z.shape[1]
    room = None if args.memory is None else float(parse_memory(args.memory))
    seconds, size = budget_of(args), None
    if large:
        reading = Reading.of(args)
        seconds, n = reading.left, min(sample_rows(len(chosen.roles), room), whole)
        if reading.passes > 1 and n < whole:
            size = second_pass(Profile("m52"), whole, d, seconds, room)
    effort = Effort.of(n, d, outputs, seconds, room)
    leaf = min(n, effort.leaf)
    pieces = 2 ** int(np.ceil(np.log2(max(n / effort.leaf, 1))))
    memory = 8.0 * (n * d * 2 + 3 * max(leaf, 2 * effort.rows) ** 2)
    told = {
        "task": task.name, "rows": whole or n, "columns": len(chosen.roles), "coordinates": d,
        "outputs": outputs, "kernels": len(effort.profiles), "rows_compared": effort.rows,
        "folds": effort.folds, "search_seconds": round(effort.seconds, 1),
        "largest_piece": leaf, "pieces": pieces, "memory_bytes": memory,
    }  # fmt: skip
    if large:
        told |= {"sample": n, "passes": reading.passes, "pass_seconds": round(reading.each, 1)}
        told |= {} if size is None else {"landmarks": size.landmarks, "landmark_rows": size.rows}
    said = ""
    if options["kernel"] is not None:
        kernel = on_table(options["kernel"], chosen.roles)
        own = completed(parts, tidied)
        target = np.zeros(n) if task is LABELS else np.asarray(y[chosen.rows], float)
        said = (options["plan"] or Plan()).explain(KernelRidge(0.1, kernel=kernel), own, target)
        told["kernel"] = said
    if args.json:
        print(as_json(told))
        return
    print(entry("data", f"{f'about {whole} rows' if large else count(n, 'row')}, "
                f"{count(d, 'coordinate')} of {count(len(chosen.roles), 'column')}, "
                f"{task.name}"))  # fmt: skip
    print(entry("columns", *_roles(chosen.columns)))
    if large:
        print(entry("passes", f"{reading.passes} of about {duration_words(reading.each)}; in all "
                    f"about {duration_words(reading.whole)}"))  # fmt: skip
    if said:
        print(entry("kernel", *said.splitlines()))
        return
    how = f"{effort.folds} folds" if effort.folds > 1 else "one split"
    print(
        entry(
            "search",
            f"{count(len(effort.profiles), 'kernel')} with every penalty, on {effort.rows} rows at "
            f"a time and {how}: about {duration_words(effort.seconds)}",
        )
    )
    pieces_of = "one model of all rows" if n <= effort.leaf else (
        f"pieces of {effort.leaf} rows at most, about {pieces}, for each of up to 3 kernels"
    )  # fmt: skip
    if large:
        pieces_of += f", on {part_of(n, whole)}"
    print(entry("fit", pieces_of))
    if size is not None:
        print(entry("", f"{size.landmarks} landmarks, on {part_of(size.rows, whole)}: about "
                    f"{duration_words(size.seconds)}"))  # fmt: skip
    free = f"; {memory_words(free_memory())} are free"
    print(entry("memory", f"about {memory_words(memory)}{free}"))
    told_budget = [] if large and not args.budget else ["--budget", args.budget or BUDGET]
    print(command("mercer", "fit", args.table, "--target", args.target, *told_budget))
