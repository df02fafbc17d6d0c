"""``mercer fit``: choose a kernel for a table, fit it, judge it on rows held out, save it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from ..frames import pandas
from ..gram.plan import Plan
from ..io.files import save
from ..kernels.notation.parse import parse
from ..tables.reading import read_table
from ..tables.regressor import ALPHAS, CHECKED_ROWS, TableRegressor, exact
from ..tables.roles import (
    Column,
    Table,
    few_whole_numbers,
    holds_labels,
    numeric_target,
    tidy,
)
from ..tables.rows import check_enough, check_share, select
from .output import entry


def add_arguments(parser: ArgumentParser) -> None:
    """What ``mercer fit`` understands."""
    add = parser.add_argument
    add("table", metavar="TABLE", help="a .csv, .tsv or .parquet file, one row per sample")
    add("--target", required=True, metavar="COL", help="the column to predict")
    add(
        "--task",
        choices=("auto", "regression", "classification"),
        default="auto",
        help="predict numbers or labels (default: by what the target holds)",
    )
    add("--features", type=names, metavar="A,B", help="columns to use (default: all that can be)")
    add("--labels", type=names, default=[], metavar="A,B", help="columns to read as labels")
    add("--text", type=names, default=[], metavar="A,B", help="columns to read as text")
    add(
        "--kernel", metavar="EXPR", help="a kernel, instead of choosing one: \"Linear().on('age')\""
    )
    add("--alphas", type=_numbers, default=ALPHAS, metavar="X,Y", help="penalties to try")
    add("--test-size", type=float, default=0.2, metavar="SHARE", help="held out (default: 0.2)")
    add("--cv", type=_folds, default=5, metavar="N", help='folds, or "loo" (default: 5)')
    add("--missing", choices=("error", "drop"), default="error", help="rows with missing values")
    add("--memory", metavar="SIZE", help='for the kernel matrix: "2 GB" (default: half the free)')
    add(
        "--rank",
        type=_rank,
        default="auto",
        metavar="N",
        help='landmarks of the kernel, or "all" \
rows (default: all up to 10000 rows, 1000 landmarks beyond)',
    )
    add("--out", metavar="FILE", help="the model (default: the table's name, .mercer)")
    add("--seed", type=int, default=0, metavar="N", help="draws split and folds (default: 0)")
    add("--quiet", action="store_true", help="print nothing but errors")


def run(args: Namespace) -> None:
    """Do what the arguments say."""
    from .classify import classify_table
    from .summary import classification_summary, summary

    kernel = None if args.kernel is None else parse(args.kernel)
    plan = None if args.memory is None else Plan(memory=args.memory)
    name = Path(args.table).name.partition(".")[0] or "model"
    out = Path(args.out or f"{name}.mercer")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(out.parent)!r} for the model.")
    table = read_table(args.table)
    task = args.task
    if task == "auto":
        task = "classification" if holds_labels(table, args.target) else "regression"
    fit: Any = fit_table if task == "regression" else classify_table
    report: Any = summary if task == "regression" else classification_summary
    found = fit(
        table,
        args.target,
        features=args.features,
        roles=dict.fromkeys(args.labels, "label") | dict.fromkeys(args.text, "text"),
        test_size=args.test_size,
        missing=args.missing,
        seed=args.seed,
        kernel=kernel,
        alphas=args.alphas,
        cv=args.cv,
        plan=plan,
        rank=args.rank,
        verbose=not args.quiet,
    )
    save(found.model, out)
    if not args.quiet:
        print(report(found))
        again = f", fitted again to all {found.rows} rows" * bool(found.scores)
        print(entry("saved", f"{out}{again}"))
        if args.task == "auto":
            for words in hints(table, args.target, task):
                print(entry("hint", words))
        print(entry("next", f"mercer predict {out} NEW_TABLE.csv --out predictions.csv"))


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
    ``model`` is the same fitted again to all rows.
    """

    model: TableRegressor
    trained: TableRegressor
    columns: list[Column]
    dropped: int
    plan: str
    scores: dict[str, tuple[float, ...]]  # RMSE, MAE and R2 on the rows held out, by model
    held_out: Table  # their target, prediction and its standard deviation
    target: str = ""  # how its strings were read, if it has any

    @property
    def rows(self) -> int:
        """How many rows the model was fitted to."""
        return self.model.ridge_.n_samples_seen_


def fit_table(
    table: Table,
    target: str,
    *,
    features: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    test_size: float = 0.2,
    missing: str = "error",
    seed: int = 0,
    **options: Any,
) -> Fit:
    """Fit a :class:`TableRegressor`, which takes all other options, and judge it."""
    check_share(test_size)
    y, how = numeric_target(table, target)
    chosen = select(table, target, np.isfinite(y), features=features, roles=roles, missing=missing)
    X, y = chosen.X, y[chosen.rows]
    order = np.random.default_rng(seed).permutation(len(y))
    held = round(test_size * len(y))
    held = held if held > 1 else 0  # there is no R2 of one row
    train, test = np.sort(order[held:]), np.sort(order[:held])
    check_enough(len(train))
    model = TableRegressor(roles=chosen.roles, styles=chosen.styles, random_state=seed, **options)
    trained = clone(model).fit(X.iloc[train], y[train])
    ridge = trained.ridge_
    rows = tidy(X.iloc[train], trained.roles_, trained.styles_)
    plan = (ridge.plan or Plan()).explain(exact(ridge.kernel_), rows)
    scores, held_out = _judge(trained, X.iloc[test], y[test]) if held else ({}, None)
    final = {"kernel": exact(ridge.kernel_), "alphas": (ridge.alpha,)}
    model = clone(model).set_params(**final).fit(X, y) if held else trained
    return Fit(model, trained, chosen.columns, chosen.dropped, plan, scores, held_out, how)


def _judge(model: TableRegressor, X: Table, y: np.ndarray) -> tuple[dict, Table]:
    affordable = len(model.ridge_.dual_coef_) <= CHECKED_ROWS  # one more factor
    prediction, std = (
        model.predict(X, return_std=True) if affordable else (model.predict(X), np.nan)
    )
    linear = model.linear_.predict(tidy(X, model.roles_, model.styles_)) + model.offset_
    rivals = {"the mean": np.full(len(y), model.offset_), "linear": linear, "kernel": prediction}
    metrics = (root_mean_squared_error, mean_absolute_error, r2_score)
    scores = {name: tuple(float(m(y, f)) for m in metrics) for name, f in rivals.items()}
    columns = {"target": y, "prediction": prediction, "std": std}
    return scores, pandas().DataFrame(columns, index=X.index)


# ---- arguments -----------------------------------------------------------------------------
def names(text: str) -> list[str]:
    """Names of columns with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> tuple[float, ...]:
    with suppress(ValueError):
        numbers = tuple(float(x) for x in text.split(","))
        if all(0 < x < inf for x in numbers):
            return numbers
    raise ArgumentTypeError(f"positive numbers with commas between, got {text!r}")


def _rank(text: str) -> int | str | None:
    if text in ("all", "auto"):
        return None if text == "all" else text
    with suppress(ValueError):
        if int(text) >= 1:
            return int(text)
    raise ArgumentTypeError(f'at least 1 landmark, or "all", got {text!r}')


def _folds(text: str) -> int | None:
    if text == "loo":
        return None
    with suppress(ValueError):
        if int(text) >= 2:
            return int(text)
    raise ArgumentTypeError(f'at least 2 folds, or "loo", got {text!r}')
