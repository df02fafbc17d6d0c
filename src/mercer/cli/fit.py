"""``mercer fit``: choose kernels for a table, judge them on held-out rows, save the model."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from ..engine.durations import duration_words, parse_duration
from ..engine.memory import free_memory, parse_memory
from ..frames import pandas
from ..gram.plan import Plan
from ..io.files import save
from ..kernels.notation.parse import parse
from ..tables.numbers import part_of
from ..tables.reading import kind_of, read_table
from ..tables.regressor import TableRegressor
from ..tables.roles import Column, Table, few_whole_numbers, holds_labels, numeric_target
from ..tables.rows import MISSING, MOST_HELD, check_enough, held_share, select
from .arguments import budget, names, positive_numbers, rank, whole
from .baselines import Constant, Linear, boosted
from .output import as_json, check_out, command, entry

_IN_MEMORY = 5  # how much larger a table is in memory, with what is computed, than as text
_READ = 3e7  # bytes of text that are read into memory in a second, about
BUDGET = "1 min"  # unless another one is asked for
_NAMED = 12  # columns that an error lists
_TINY = 1e6  # bytes that every machine can read


def add_arguments(parser: ArgumentParser) -> None:
    """What ``mercer fit`` understands."""
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
    """What all commands understand that learn from a table; some take other targets or kernels."""
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
            help=f"the approximate total time on an idle machine (default: {BUDGET}, beside the "
            "time of reading a large table twice)",
        )
    add("--memory", metavar="SIZE", help='for kernel matrices: "2 GB" (default: half the free)')
    add("--seed", type=whole(0), default=0, metavar="N", help="random seed (default: 0)")


def run(args: Namespace) -> None:
    """Do what the arguments say."""
    from .summary import classification_summary, outcome, summary

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

        table, task, found = fit_large(args, options)
    else:
        table = read_table(args.table)
        task = task_of(args, table)
        found = fitter(task)(
            table,
            args.target,
            **selection_options(args),
            test_size=args.test_size,
            baseline=not args.no_baseline,
            **options,
        )
    found.model.target_ = args.target
    save(found.model.set_params(verbose=False), out)
    if args.json:
        told = outcome(found, task) | {"target": args.target, "model": str(out)}
        print(as_json(told | {"seconds": round(time.perf_counter() - start, 2)}))
    elif not args.quiet:
        print((summary if task == "regression" else classification_summary)(found))
        whole = bool(found.scores) and found.model is not found.trained
        every = "all " * (found.model.rows_ == found.rows)
        again = f", fitted again to {every}{part_of(found.model.rows_, found.rows)}" * whole
        print(entry("saved", f"{out}{again}"))
        print(entry("took", duration_words(time.perf_counter() - start)))
        if args.task == "auto":
            for words in hints(table, args.target, task):
                print(entry("hint", words))
        print(command("mercer", "predict", str(out), "NEW_TABLE.csv", "--out", "predictions.csv"))


def check_target(args: Namespace) -> None:
    """Without a target, say which columns there are."""
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
    """Would the table, read as a whole, take more memory than there is, or most of the time?"""
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
    """Does a file hold more than its size tells, in columns or compressed?"""
    return kind_of(path) not in (".csv", ".tsv", ".txt") or path.suffix.lower() != kind_of(path)


def budget_of(args: Namespace) -> float:
    """Seconds for everything."""
    return parse_duration(args.budget or BUDGET)


def model_options(args: Namespace) -> dict[str, Any]:
    """What a model takes, from arguments; rejected before a table is read."""
    return {
        "kernel": None if args.kernel is None else parse(args.kernel),
        "plan": None if args.memory is None else Plan(memory=args.memory),
        "budget": _less_reading(args),
    }


def _less_reading(args: Namespace) -> str | float:
    """What is left of a budget when the table has been read, which depends on its size alone."""
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
    return {
        "features": args.features, "roles": roles, "missing": args.missing, "seed": args.seed
    }  # fmt: skip


def task_of(args: Namespace, table: Table) -> str:
    """Numbers or labels?"""
    if args.task != "auto":
        return args.task
    return "classification" if holds_labels(table, args.target) else "regression"


def fitter(task: str) -> Any:
    """The function that fits and judges a model for a task."""
    from .classify import classify_table

    return fit_table if task == "regression" else classify_table


def hints(table: Table, target: str, task: str) -> list[str]:
    """What to ask for if the target was taken for the wrong thing."""
    few = few_whole_numbers(table, target)
    if task == "regression" and few:
        return [
            f"the target holds {few} different whole numbers; if they stand for classes, use "
            f"--task classification"
        ]
    if task == "classification" and few == 2:
        return ["the target holds two numbers; to predict it as a number, use --task regression"]
    return []


@dataclass
class Fit:
    """What ``mercer fit`` found out.

    ``trained`` was fitted to the rows that were not held out, and the scores are its own;
    ``model`` is the same fitted again to all ``rows``.
    """

    model: TableRegressor
    trained: TableRegressor
    columns: list[Column]
    dropped: int
    rows: int
    scores: dict[str, tuple[float, ...]]  # RMSE, MAE and R2 on the rows held out, by model
    held_out: Table  # their target, prediction, its standard deviation and a 90 % interval
    target: str = ""  # how its strings were read, if it has any
    told: list[str] = field(default_factory=list)  # of the boosted trees

    measures = ("RMSE", "MAE", "R2")

    @property
    def held(self) -> int:
        """How many rows were held out."""
        return 0 if self.held_out is None else len(self.held_out)


def fit_table(
    table: Table,
    target: str,
    *,
    features: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    test_size: float | None = None,
    missing: str = "use",
    seed: int = 0,
    baseline: bool = True,
    **options: Any,
) -> Fit:
    """Fit a :class:`TableRegressor`, which takes all other options, and judge it."""
    held_share(test_size, 2)  # refused before a long column is read
    y, how = numeric_target(table, target)
    chosen = select(table, target, np.isfinite(y), features=features, roles=roles, missing=missing)
    X, y = chosen.X, y[chosen.rows]
    order = np.random.default_rng(seed).permutation(len(y))
    held = round(held_share(test_size, len(y)) * len(y))
    held = held if held > 1 else 0  # there is no R2 of one row
    train, test = np.sort(order[held:]), np.sort(order[:held])
    check_enough(len(train))
    model = TableRegressor(roles=chosen.roles, styles=chosen.styles, random_state=seed, **options)
    start = time.perf_counter()
    trained = clone(model).fit(X.iloc[train], y[train])
    spent = time.perf_counter() - start
    scores: dict[str, tuple[float, ...]] = {}
    held_out, told = None, list[str]()
    if held:
        scores, held_out, told = _judge(trained, X, y, train, test, spent if baseline else None)
    model = trained.refit(X, y) if held else trained
    columns = chosen.described(trained.columns_)
    return Fit(model, trained, columns, chosen.dropped, len(y), scores, held_out, how, told)


def _judge(
    model: TableRegressor, X: Table, y: np.ndarray, train: np.ndarray, test: np.ndarray,
    spent: float | None,
) -> tuple[dict, Table, list[str]]:  # fmt: skip
    new = X.iloc[test]
    found = model.tabulate(new, detail=True).set_index(new.index)
    rivals = {"the mean": Constant(model).predict(new)}
    if hasattr(model.linear_, "machines_"):
        rivals["linear"] = Linear(model, X.iloc[train], y[train]).predict(new)
    told: list[str] = []
    if spent is not None:
        trees = boosted(model, X.iloc[train], y[train], classes=False, spent=spent)
        rivals["boosted trees"], told = trees.predict(new), trees.told
    rivals["kernels"] = found["prediction"].to_numpy()
    scores = {name: number_scores(y[test], f) for name, f in rivals.items()}
    truth = pandas().Series(y[test], new.index, name="target")
    return scores, pandas().concat([truth, found], axis=1), told


def number_scores(y: np.ndarray, f: np.ndarray) -> tuple[float, float, float]:
    """RMSE, MAE and R2 of predictions."""
    metrics = (root_mean_squared_error, mean_absolute_error, r2_score)
    rmse, mae, r2 = (float(m(y, f)) for m in metrics)
    return rmse, mae, r2
