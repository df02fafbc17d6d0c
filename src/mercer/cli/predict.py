"""``mercer predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from ..engine.atomic import write_atomically
from ..frames import pandas
from ..io.files import load
from ..tables.model import TableModel
from ..tables.numbers import count, is_missing
from ..tables.reading import TABLES, check_file, kind_of, read_table
from ..tables.roles import Table, require, tidy
from .output import as_json, check_out, entry, grid, number, warn

_SHOWN = 10


def add_arguments(parser: ArgumentParser) -> None:
    """What ``mercer predict`` understands."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model file written by mercer fit")
    add("table", metavar="TABLE", help="a table with the columns the model was fitted to")
    add(
        "--std",
        action="store_true",
        help="for numbers: standard deviations and 90%% intervals, too",
    )
    add("--proba", action="store_true", help="for labels: probabilities of all classes, too")
    add("--out", metavar="FILE", help='a CSV file, or "-" for all rows on the screen')
    add("--json", action="store_true", help="print all rows as JSON")


def run(args: Namespace) -> None:
    """Do what the arguments say."""
    if args.out not in (None, "-"):
        check_out(args.out, "the predictions")
    pandas()  # which the model needs too
    model = load_model(args.model)
    table = read_for(model, args.table)
    asked = [option for option, on in (("--std", args.std), ("--proba", args.proba)) if on]
    if any(option != model.detail for option in asked):
        what = "labels" if model.detail == "--proba" else "numbers"
        raise ValueError(
            f"{args.model} predicts {what}: use {model.detail} in place of {asked[0]} to see its "
            "uncertainty."
        )
    for words in unread(model, table):
        warn(words)
    predictions = model.tabulate(table, bool(asked))
    missing = int(predictions["prediction"].isna().sum())
    if args.json:
        print(as_json(predictions.to_dict("records")))
    elif args.out == "-":
        predictions.to_csv(_stdout(), index=False)
    elif args.out:
        write_atomically(args.out, lambda file: predictions.to_csv(file, index=False))
        print(entry("saved", f"{args.out}: {count(len(predictions), 'row')}"))
    else:
        rows = [[str(i), *map(_cell, row)] for i, row in enumerate(predictions.to_numpy()[:_SHOWN])]
        print("\n".join(grid(["row", *predictions.columns], rows)))
        if len(predictions) > _SHOWN:
            print(f"... {len(predictions)} rows in all; write them with --out predictions.csv")
    if missing:
        print(
            f"mercer: {count(missing, 'row')} with missing values have no prediction.",
            file=sys.stderr,
        )


def read_for(model: Any, path: str) -> Table:
    """A table for a model; one of tables reads numbers only where it has seen plain ones."""
    if not isinstance(model, TableModel):
        return read_table(path)
    strings = [name for name, role in model.roles_.items() if role != "number"]
    return read_table(path, [*strings, *model.styles_])


def saved(path: str) -> Any:
    """What a file of mercer holds."""
    check_file(Path(path))
    if kind_of(Path(path)) in TABLES:
        raise ValueError(f"{path} is a table; the model comes first, and then the table.")
    return load(path)


def load_model(path: str) -> TableModel:
    """A model that mercer fit wrote."""
    model = saved(path)
    if not isinstance(model, TableModel):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, not a model of mercer fit; use it in Python "
            f"with mercer.load."
        )
    return model


def unread(model: TableModel, table: Table) -> list[str]:
    """Columns that a model reads as numbers or dates, and that hold something else here."""
    require(table, model.roles_)
    kinds = {"number": "numbers", "date": "dates"}
    found = []
    for name, role in model.roles_.items():
        values = table[name]
        if role not in kinds or getattr(values.dtype, "kind", "O") in "biufM":
            continue
        given = values.notna().to_numpy() & ~is_missing(values.astype(str)).to_numpy()
        one = tidy(table, {name: role}, model.styles_)[name]
        lost = np.flatnonzero(given & one.isna().to_numpy())
        if len(lost):
            found.append(
                f"{name!r} holds {kinds[role]}, as the model has seen it; {values.iloc[lost[0]]!r} "
                f"and the like, {len(lost)} of {count(len(table), 'row')}, count as missing."
            )
    return found


def _stdout() -> Any:
    """For a terminal its own encoding; a file or pipe gets UTF-8, as a file of --out does."""
    return sys.stdout if sys.stdout.isatty() else getattr(sys.stdout, "buffer", sys.stdout)


def _cell(x: Any) -> str:
    if isinstance(x, str):
        return x
    return "" if x is None or np.isnan(x) else number(x)
