"""``mercer fit``: choose a kernel for a table, fit it, judge it on rows held out, save it."""

from __future__ import annotations

import sys
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

from ..gram.plan import Plan
from ..io import save
from ..kernels.parse import parse
from .model import ALPHAS, CHECKED_ROWS, TableRegressor
from .output import count, entry
from .tables import (
    Column,
    Table,
    describe,
    incomplete,
    numeric_target,
    pandas,
    read_table,
    require,
    tidy,
)


def add_arguments(parser: ArgumentParser) -> None:
    """What ``mercer fit`` understands."""
    add = parser.add_argument
    add("table", metavar="TABLE", help="a .csv, .tsv or .parquet file, one row per sample")
    add("--target", required=True, metavar="COL", help="the column to predict: numbers")
    add("--features", type=_names, metavar="A,B", help="columns to use (default: all that can be)")
    add("--labels", type=_names, default=[], metavar="A,B", help="columns to read as labels")
    add("--text", type=_names, default=[], metavar="A,B", help="columns to read as text")
    add(
        "--kernel", metavar="EXPR", help="a kernel, instead of choosing one: \"Linear().on('age')\""
    )
    add("--alphas", type=_numbers, default=ALPHAS, metavar="X,Y", help="penalties to try")
    add("--test-size", type=float, default=0.2, metavar="SHARE", help="held out (default: 0.2)")
    add("--cv", type=_folds, default=5, metavar="N", help='folds, or "loo" (default: 5)')
    add("--missing", choices=("error", "drop"), default="error", help="rows with missing values")
    add("--memory", metavar="SIZE", help='for the kernel matrix: "2 GB" (default: half the free)')
    add("--out", metavar="FILE", help="the model (default: the table's name, .mercer)")
    add("--seed", type=int, default=0, metavar="N", help="draws split and folds (default: 0)")
    add("--quiet", action="store_true", help="print nothing but errors")


def run(args: Namespace) -> None:
    """Do what the arguments say."""
    from .summary import summary

    kernel = None if args.kernel is None else parse(args.kernel)
    plan = None if args.memory is None else Plan(memory=args.memory)
    name = Path(args.table).name.partition(".")[0] or "model"
    out = Path(args.out or f"{name}.mercer")
    if not out.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(out.parent)!r} for the model.")
    table = read_table(args.table)
    found = fit_table(
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
        verbose=not args.quiet and sys.stderr.isatty(),
    )
    save(found.model, out)
    if not args.quiet:
        print(summary(found))
        again = f", fitted again to all {len(found.model.ridge_.dual_coef_)} rows" * bool(
            found.scores
        )
        print(entry("saved", f"{out}{again}"))
        print(entry("next", f"mercer predict {out} NEW_TABLE.csv --out predictions.csv"))


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
    if not 0 <= test_size <= 0.9:
        raise ValueError(f"--test-size is a share of the rows, from 0 to 0.9, got {test_size}.")
    y = numeric_target(table, target)
    require(table, features or [])
    chosen = [name for name in features or table.columns if name != target]
    columns = describe(table[chosen], roles)
    settled = {c.name: c.role for c in columns if c.role != "skipped"}
    if not settled:
        reasons = "; ".join(f"{c.name!r}: {c.why}" for c in columns)
        raise ValueError(f"no column can be used to predict {target!r} ({reasons or 'no other'}).")
    rows = _complete(table, y, settled, missing)
    X, y = table.loc[rows, list(settled)], y[rows]
    order = np.random.default_rng(seed).permutation(len(y))
    held = round(test_size * len(y))
    held = held if held > 1 else 0  # there is no R2 of one row
    train, test = np.sort(order[held:]), np.sort(order[:held])
    if len(train) < 5:
        raise ValueError(f"{count(len(train), 'row')} to fit a model to: at least 5 are needed.")
    model = TableRegressor(roles=settled, random_state=seed, **options)
    trained = clone(model).fit(X.iloc[train], y[train])
    ridge = trained.ridge_
    plan = (model.plan or Plan()).explain(ridge.kernel_, ridge.X_fit_)
    scores, held_out = _judge(trained, X.iloc[test], y[test]) if held else ({}, None)
    final = {"kernel": ridge.kernel_, "alphas": (ridge.alpha,), "verbose": False}
    model = clone(model).set_params(**final).fit(X, y) if held else trained
    return Fit(model, trained, columns, int(np.sum(~rows)), plan, scores, held_out)


def _complete(table: Table, y: np.ndarray, roles: dict[str, str], missing: str) -> np.ndarray:
    """The rows without missing values; refuses others unless they are to be dropped."""
    tidied = tidy(table, roles)
    usable = np.isfinite(y) & ~incomplete(tidied, roles)
    if missing == "error" and not usable.all():
        holes = {n: int(tidied[n].isna().sum()) for n, role in roles.items() if role != "label"}
        holes["the target"] = int(np.sum(~np.isfinite(y)))
        listed = ", ".join(f"{name} ({n} times)" for name, n in holes.items() if n)
        raise ValueError(
            f"values are missing in {listed}; leave out those {count(int(np.sum(~usable)), 'row')} "
            f"of {len(y)} with --missing drop, or fill them in."
        )
    return usable


def _judge(model: TableRegressor, X: Table, y: np.ndarray) -> tuple[dict, Table]:
    affordable = len(model.ridge_.dual_coef_) <= CHECKED_ROWS  # one more factorisation
    prediction, std = (
        model.predict(X, return_std=True) if affordable else (model.predict(X), np.nan)
    )
    linear = model.linear_.predict(tidy(X, model.roles_)) + model.offset_
    rivals = {"the mean": np.full(len(y), model.offset_), "linear": linear, "kernel": prediction}
    metrics = (root_mean_squared_error, mean_absolute_error, r2_score)
    scores = {name: tuple(float(m(y, f)) for m in metrics) for name, f in rivals.items()}
    columns = {"target": y, "prediction": prediction, "std": std}
    return scores, pandas().DataFrame(columns, index=X.index)


# ---- arguments -----------------------------------------------------------------------------
def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> tuple[float, ...]:
    with suppress(ValueError):
        numbers = tuple(float(x) for x in text.split(","))
        if all(0 < x < inf for x in numbers):
            return numbers
    raise ArgumentTypeError(f"positive numbers with commas between, got {text!r}")


def _folds(text: str) -> int | None:
    if text == "loo":
        return None
    with suppress(ValueError):
        if int(text) >= 2:
            return int(text)
    raise ArgumentTypeError(f'at least 2 folds, or "loo", got {text!r}')
