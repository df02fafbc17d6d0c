"""``mercer compare``: several targets, kernels and baselines, in one table."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from typing import Any

from ..gram.plan import Plan
from ..kernels.notation.parse import parse
from ..tables.numbers import count
from ..tables.reading import read_table
from ..tables.roles import Table, require
from ..tables.rows import check_enough, check_share, select
from .arguments import names
from .baselines import Constant, Linear, boosted
from .fit import BUDGET, add_table, check_target, selection_options, task_of
from .output import as_json, entry, grid, number, say
from .tasks import LABELS, Task


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer compare``."""
    several = {"type": names, "metavar": "A,B", "help": "one or more columns to predict"}
    kernels = {"nargs": "+", "help": "kernels to compare with those that are chosen"}
    add_table(parser, target=several, kernel=kernels)
    parser.add_argument("--test-size", type=float, default=0.25, metavar="SHARE", help="held out")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    check_share(args.test_size)
    if not args.test_size:
        raise ValueError("--test-size must be above 0: models are compared on held-out rows.")
    kernels = {text: parse(text) for text in args.kernel or []}
    check_target(args)
    table = read_table(args.table)
    told: dict[str, Any] = {}
    targets = args.target
    require(table, targets)
    for target in targets:
        if len(targets) > 1:
            say(f"target {target}", args.json)
        one = Namespace(**vars(args) | {"target": target})
        task = task_of(one, table)
        others = [name for name in args.features or table.columns if name not in targets]
        rows = compare(table, target, task, kernels, Namespace(**vars(one) | {"features": others}))
        told[target] = {"task": task.name, "models": rows}
        if not args.json:
            print(_shown(target, task.name, rows))
    if args.json:
        print(as_json(told))


def compare(
    table: Table, target: str, task: Task, kernels: dict[str, Any], args: Namespace
) -> list[dict[str, Any]]:
    """Scores and seconds of every model on the same held-out rows."""
    y, given, _ = task.target(table, target)
    chosen = select(table, target, given, **selection_options(args))
    X, y = chosen.X, y[chosen.rows]
    y = y.astype(str) if task is LABELS else y
    check_enough(round(len(y) * (1 - args.test_size)))
    inside = task.inside(y, args.test_size, args.seed)
    if inside.all():
        raise ValueError(
            "no row is held out for comparing models; give more rows, or a larger --test-size."
        )
    train, new = (X[inside], y[inside]), X[~inside]
    settings = {
        "roles": chosen.roles, "styles": chosen.styles, "random_state": args.seed,
        "plan": None if args.memory is None else Plan(memory=args.memory),
        "budget": args.budget or BUDGET, "verbose": not args.json,
    }  # fmt: skip
    found: list[dict[str, Any]] = []

    def add(name: str, model: Any, seconds: float) -> None:
        scores = task.scores(y[~inside], getattr(model, task.answer)(new), first)
        found.append({"model": name, **dict(zip(task.measures, scores, strict=True)),
                      "seconds": round(seconds, 2)})  # fmt: skip

    start = time.perf_counter()
    first: Any = task.kind(**settings).fit(*train)
    spent = time.perf_counter() - start
    add("kernels, chosen", first, spent)
    for text, kernel in kernels.items():
        say(f"fitting {text}", args.json)
        start = time.perf_counter()
        model = task.kind(kernel, **settings).fit(*train)
        add(text, model, time.perf_counter() - start)
    if hasattr(first.linear_, "machines_"):
        add("linear", Linear(first, *train), 0.0)
    add("constant", Constant(first), 0.0)
    trees = boosted(first, *train, classes=task is LABELS, spent=spent)
    add("boosted trees" + ", cut short" * bool(trees.told), trees, trees.seconds)
    return sorted(found, key=lambda row: -row[task.best])


def _shown(target: str, task: str, rows: list[dict[str, Any]]) -> str:
    header = [key for key in rows[0] if key != "model"]
    cells = [[row["model"][:50], *(_cell(key, row[key]) for key in header)] for row in rows]
    return entry("target", f"{target}: {task}, {count(len(rows), 'model')}, the best first",
                 *grid(["", *header], cells))  # fmt: skip


def _cell(key: str, value: float) -> str:
    if key == "seconds":
        return f"{value:.1f}"
    return number(value) if key in ("RMSE", "MAE") else f"{value:.3f}"
