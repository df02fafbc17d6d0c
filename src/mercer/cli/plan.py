"""``mercer plan``: what a fit would do and cost, before it is done."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import numpy as np

from ..engine.durations import duration_words
from ..engine.memory import free_memory, memory_words, parse_memory
from ..gram.plan import Plan
from ..models.ridge import KernelRidge
from ..tables.candidates import on_table
from ..tables.encoding import completed, encode, learn_parts
from ..tables.numbers import count
from ..tables.reading import read_table
from ..tables.roles import label_target, numeric_target, tidy
from ..tables.rows import check_enough, select
from ..tables.search import Effort
from .fit import (
    BUDGET,
    add_table,
    budget_of,
    check_target,
    model_options,
    selection_options,
    task_of,
)
from .output import as_json, command, entry
from .summary import _roles

_TRIED = 20_000  # rows of a table that a kernel is tried on


def add_arguments(parser: ArgumentParser) -> None:
    """What ``mercer plan`` understands."""
    add_table(parser)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace) -> None:
    """Do what the arguments say."""
    options = model_options(args)
    check_target(args)
    table = read_table(args.table)
    task = task_of(args, table)
    if task == "classification":
        y = label_target(table, args.target)
        given = np.array([x is not None for x in y])
        classes = len(set(y[given]))
        outputs = 1 if classes == 2 else classes
    else:
        y = numeric_target(table, args.target)[0]
        given, outputs = np.isfinite(y), 1
    chosen_by = selection_options(args)
    chosen_by.pop("seed")
    chosen = select(table, args.target, given, **chosen_by)
    n = len(chosen.X)
    check_enough(n)
    tidied = tidy(chosen.X, chosen.roles, chosen.styles)
    parts = learn_parts(tidied, chosen.roles)
    d = encode(parts, tidied.iloc[:5]).Z.shape[1]
    room = None if args.memory is None else float(parse_memory(args.memory))
    effort = Effort.of(n, d, outputs, budget_of(args), room)
    leaf = min(n, effort.leaf)
    pieces = 2 ** int(np.ceil(np.log2(max(n / effort.leaf, 1))))
    memory = 8.0 * (n * d * 2 + 3 * max(leaf, 2 * effort.rows) ** 2)
    told = {
        "task": task, "rows": n, "columns": len(chosen.roles), "coordinates": d,
        "outputs": outputs, "kernels": len(effort.profiles), "rows_compared": effort.rows,
        "folds": effort.folds, "search_seconds": round(effort.seconds, 1),
        "largest_piece": leaf, "pieces": pieces, "memory_bytes": memory,
    }  # fmt: skip
    said = ""
    if options["kernel"] is not None:
        kernel = on_table(options["kernel"], chosen.roles)
        own = completed(parts, tidied)
        target = np.zeros(n) if task == "classification" else np.asarray(y[chosen.rows], float)
        said = (options["plan"] or Plan()).explain(KernelRidge(0.1, kernel=kernel), own, target)
        told["kernel"] = said
    if args.json:
        print(as_json(told))
        return
    print(entry("data", f"{count(n, 'row')}, {count(d, 'coordinate')} of "
                f"{count(len(chosen.roles), 'column')}, {task}"))  # fmt: skip
    print(entry("columns", *_roles(chosen.columns)))
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
    whole = "one model of all rows" if n <= effort.leaf else (
        f"pieces of {effort.leaf} rows at most, about {pieces}, for each of up to 3 kernels"
    )  # fmt: skip
    print(entry("fit", whole))
    free = f"; {memory_words(free_memory())} are free"
    print(entry("memory", f"about {memory_words(memory)}{free}"))
    print(
        command(
            "mercer", "fit", args.table, "--target", args.target, "--budget", args.budget or BUDGET
        )
    )
