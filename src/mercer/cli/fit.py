"""``mercer fit``: choose kernels for a table, judge them on held-out rows, save the model."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ..engine.durations import duration_words, parse_duration
from ..engine.memory import free_memory, parse_memory
from ..gram.plan import Plan
from ..io.files import save
from ..kernels.notation.parse import parse
from ..tables.numbers import part_of
from ..tables.reading import kind_of, read_table
from ..tables.roles import Table, few_whole_numbers, holds_labels
from ..tables.rows import MISSING, MOST_HELD
from .arguments import budget, names, positive_numbers, rank, whole
from .output import as_json, check_out, command, entry
from .tasks import LABELS, NUMBERS, Task, fit_table

_IN_MEMORY = 5  # memory for a table and computations, relative to its size as text
_READ = 3e7  # bytes of text read per second, approximately
BUDGET = "1 min"  # the default
_NAMED = 12  # columns that an error lists
_TINY = 1e6  # bytes that every machine can read


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer fit``."""
    add = parser.add_argument
    add_table(parser)
    add("--alphas", type=positive_numbers, metavar="X,Y", help="penalties to try")
    add(
        "--test-size",
        type=float,
        metavar="SHARE",
        help=f"held out (default: 0.2, but at most {MOST_HELD} rows)",
    )
    add(
        "--rank",
        type=rank,
        default="auto",
        metavar="N",
        help='landmarks of a kernel that is given, or "all" rows (default: 1000 beyond 10000 rows)',
    )
    add("--no-baseline", action="store_true", help="do not compare with boosted trees")
    add(
        "--out", metavar="FILE", help="where to save the model (default: the table's name, .mercer)"
    )
    add("--json", action="store_true", help="print the result as JSON")
    add("--quiet", action="store_true", help="print nothing but errors")


def add_table(
    parser: ArgumentParser,
    target: dict[str, Any] | None = None,
    kernel: dict | None = None,
    timed: bool = True,
) -> None:
    """Arguments of all commands that learn from a table; some have other targets or kernels."""
    add = parser.add_argument
    add("table", metavar="TABLE", help="a .csv, .tsv or .parquet file, one row per sample")
    one = {"metavar": "COL", "help": "the column to predict"}
    add("--target", **one | (target or {}))
    add(
        "--task",
        choices=("auto", "regression", "classification"),
        default="auto",
        help="predict numbers or labels (default: inferred from the target)",
    )
    add("--features", type=names, metavar="A,B", help="columns to use (default: all usable ones)")
    add("--labels", type=names, default=[], metavar="A,B", help="columns to read as labels")
    add("--text", type=names, default=[], metavar="A,B", help="columns to read as text")
    add("--dates", type=names, default=[], metavar="A,B", help="columns to read as dates")
    chosen = "a kernel, instead of choosing some: \"Linear().on('age') + 1\""
    add("--kernel", **{"metavar": "EXPR", "help": chosen} | (kernel or {}))
    add(
        "--missing",
        choices=MISSING,
        default="use",
        help="rows with missing values: use them (default), drop them, or stop with an error",
    )
    if timed:
        add(
            "--budget",
            type=budget,
            metavar="TIME",
            help=f"the approximate total time on an idle machine (default: {BUDGET}, plus the "
            "time to read a large table twice)",
        )
    add("--memory", metavar="SIZE", help='for kernel matrices: "2 GB" (default: half the free)')
    add("--seed", type=whole(0), default=0, metavar="N", help="random seed (default: 0)")


def run(args: Namespace) -> None:
    """Run the command."""
    from .summary import outcome, summary

    start = time.perf_counter()
    options = model_options(args)
    check_target(args)
    name = Path(args.table).name.partition(".")[0] or "model"
    out = Path(args.out or f"{name}.mercer")
    check_out(out, "the model", args.table)
    if args.alphas is not None:
        options["alphas"] = args.alphas
    options |= {"rank": args.rank, "verbose": not (args.quiet or args.json)}
    if is_large(args):
        from .large import fit_large

        table, found = fit_large(args, options)
    else:
        table = read_table(args.table)
        found = fit_table(
            table,
            args.target,
            task_of(args, table),
            **selection_options(args),
            test_size=args.test_size,
            seed=args.seed,
            baseline=not args.no_baseline,
            **options,
        )
    found.model.target_ = args.target
    save(found.model.set_params(verbose=False), out)
    if args.json:
        told = outcome(found) | {"target": args.target, "model": str(out)}
        print(as_json(told | {"seconds": round(time.perf_counter() - start, 2)}))
    elif not args.quiet:
        print(summary(found))
        whole = bool(found.scores) and found.model is not found.trained
        every = "all " * (found.model.rows_ == found.rows)
        again = f", fitted again to {every}{part_of(found.model.rows_, found.rows)}" * whole
        print(entry("saved", f"{out}{again}"))
        print(entry("took", duration_words(time.perf_counter() - start)))
        if args.task == "auto":
            for words in hints(table, args.target, found.task):
                print(entry("hint", words))
        print(command("mercer", "predict", str(out), "NEW_TABLE.csv", "--out", "predictions.csv"))


def check_target(args: Namespace) -> None:
    """An error that lists the columns if there is no target."""
    if args.target:
        return
    if is_large(args):
        raise ValueError("use --target to say which column is to be predicted.")
    columns = list(read_table(args.table).columns)
    listed = ", ".join(map(repr, columns[:_NAMED])) + ", ..." * (len(columns) > _NAMED)
    raise ValueError(
        f"use --target to say which column is to be predicted; {args.table} has: {listed}."
    )


def is_large(args: Namespace) -> bool:
    """Would reading the whole table take more memory than there is, or most of the time?"""
    path = Path(args.table)
    if not path.is_file() or path.suffix.lower() == ".zip":
        return False
    size = path.stat().st_size
    unpacked = size * (5 if _is_packed(path) else 1)
    room = free_memory() / 2 if args.memory is None else parse_memory(args.memory)
    if unpacked <= _TINY:
        return False
    return _IN_MEMORY * unpacked > room or size / _READ > budget_of(args) / 2


def _is_packed(path: Path) -> bool:
    """Is a file larger in memory than its size suggests, because of its format or compression?"""
    return kind_of(path) not in (".csv", ".tsv", ".txt") or path.suffix.lower() != kind_of(path)


def budget_of(args: Namespace) -> float:
    """Seconds for everything."""
    return parse_duration(args.budget or BUDGET)


def model_options(args: Namespace) -> dict[str, Any]:
    """Parameters of a model from arguments, checked before a table is read."""
    return {
        "kernel": None if args.kernel is None else parse(args.kernel),
        "plan": None if args.memory is None else Plan(memory=args.memory),
        "budget": _less_reading(args),
    }


def _less_reading(args: Namespace) -> str | float:
    """What is left of a budget after reading the table, by its size alone."""
    if is_large(args):
        from .large import Reading

        return Reading.of(args).left
    table, whole = Path(args.table), budget_of(args)
    reading = table.stat().st_size / _READ if table.is_file() else 0.0
    return args.budget or BUDGET if reading < 1 else max(whole - reading, whole / 2)


def selection_options(args: Namespace) -> dict[str, Any]:
    """Which columns and rows are used, from arguments."""
    roles = dict.fromkeys(args.labels, "label") | dict.fromkeys(args.text, "text")
    roles |= dict.fromkeys(args.dates, "date")
    return {"features": args.features, "roles": roles, "missing": args.missing}


def task_of(args: Namespace, table: Table) -> Task:
    """Numbers or labels?"""
    labels = args.task == "classification"
    if args.task == "auto":
        labels = holds_labels(table, args.target)
    return LABELS if labels else NUMBERS


def hints(table: Table, target: str, task: Task) -> list[str]:
    """Which option to use if the task was inferred wrongly."""
    few = few_whole_numbers(table, target)
    if task is NUMBERS and few:
        return [
            f"the target holds {few} different whole numbers; if they stand for classes, use "
            f"--task classification"
        ]
    if task is LABELS and few == 2:
        return ["the target holds two numbers; to predict it as a number, use --task regression"]
    return []
