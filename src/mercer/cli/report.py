"""``mercer report``: a saved model and a table as one HTML page."""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..frames import pandas
from ..reports.front import report
from ..tables.model import TableModel
from ..tables.numbers import count
from ..tables.roles import Table, label_target, numeric_target, require
from .arguments import seconds, whole
from .output import check_out, entry
from .predict import read_for, saved


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer report``."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file written by mercer fit or mercer.save")
    add("table", metavar="TABLE", help="the table it was fitted to, with the target")
    add("--target", metavar="COL", help="the target (default: that of mercer fit)")
    add("--test", metavar="TABLE", help="unseen rows to score the model on")
    add("--out", metavar="FILE", help="the output file (default: the model's name, .html)")
    add("--title", help="the heading")
    add("--budget", type=seconds, default=60.0, metavar="TIME", help='default: "1 min"')
    add(
        "--max-rows",
        type=whole(10),
        default=2000,
        metavar="N",
        help="the maximum number of rows for refits (default: 2000)",
    )
    add("--seed", type=whole(0), default=0, metavar="N", help="random seed (default: 0)")
    add("--quiet", action="store_true", help="print nothing but errors")


def run(args: Namespace) -> None:
    """Run the command."""
    pandas()
    out = Path(args.out or Path(args.model).with_suffix(".html").name)
    check_out(out, "the page", args.model, args.table)
    model = saved(args.model)
    if not hasattr(model, "predict"):
        raise ValueError(f"{args.model} holds a {type(model).__name__}, which predicts nothing.")
    target, X, y = _read(model, args.table, args.target)
    test = None
    if args.test:
        _, X_test, y_test = _read(model, args.test, target)
        test = (X_test, y_test)
    page = report(
        model,
        X,
        y,
        test=test,
        title=args.title or f"{target}, predicted from {count(X.shape[1], 'column')}",
        budget=args.budget,
        max_rows=args.max_rows,
        random_state=args.seed,
        verbose=not args.quiet and sys.stderr.isatty(),
        command=_command(args, target),
    )
    page.save(out)
    if not args.quiet:
        left = [section.title.lower() for section in page.sections if section.left_out]
        print(entry("saved", f"{out}: {count(len(page.sections), 'section')}"))
        if left:
            print(entry("left out", f"{', '.join(left)}; the page says why"))


def _read(model: Any, path: str, target: str | None) -> tuple[str, Any, np.ndarray]:
    """The target, its features and its values, where it is not missing."""
    table = read_for(model, path)
    target = target or _target_of(model, table, path)
    require(table, [target])
    if target in getattr(model, "roles_", ()):
        raise ValueError(f"the model predicts from {target!r}; the target is another column.")
    if is_classifier(model):
        labels = label_target(table, target)
        given = np.array([label is not None for label in labels])
        y: Any = np.array([str(label) for label in labels[given]])
    else:
        values, _ = numeric_target(table, target)
        given = np.isfinite(values)
        y = values[given]
    X = table.loc[given].drop(columns=target).reset_index(drop=True)
    if isinstance(model, TableModel):
        require(X, list(model.roles_))
        return target, X[[name for name in X.columns if name in model.roles_]], y
    known = getattr(model, "feature_names_in_", None)
    if known is not None:
        require(X, list(known))
        return target, X[list(known)], y
    return target, X.to_numpy(), y


def _target_of(model: Any, table: Table, path: str) -> str:
    """The column that the model has learned to predict, or the one that it does not use."""
    if getattr(model, "target_", None) in list(table.columns):
        return str(model.target_)
    used = getattr(model, "roles_", None)
    used = list(getattr(model, "feature_names_in_", ())) if used is None else list(used)
    others = [name for name in table.columns if name not in used]
    if used and len(others) == 1:
        return str(others[0])
    listed = ", ".join(map(repr, others[:8])) or "none"
    raise ValueError(
        f"use --target to say which column of {path} is to be predicted; columns that the model "
        f"does not use: {listed}."
    )


def _command(args: Namespace, target: str) -> str:
    words = ["mercer", "report", args.model, args.table, "--target", target]
    words += ["--test", args.test] * bool(args.test)
    words += [
        "--budget",
        f"{args.budget:g}",
        "--max-rows",
        str(args.max_rows),
        "--seed",
        str(args.seed),
    ]
    return shlex.join(words)
