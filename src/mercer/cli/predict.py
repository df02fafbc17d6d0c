"""``mercer predict``: predictions of a saved model for the rows of a table."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

import numpy as np

from ..chunks.base import Chunk
from ..chunks.front import stream
from ..engine.atomic import write_atomically
from ..frames import pandas
from ..io.files import load
from ..progress import ticker
from ..tables.model import TableModel
from ..tables.numbers import count, is_missing
from ..tables.reading import TABLES, check_file, kind_of, read_table
from ..tables.roles import Table, require, tidy
from .output import as_json, check_out, entry, grid, number, warn

_SHOWN = 10
_LARGE = 1e8  # bytes of a file that is not read as a whole


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer predict``."""
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
    """Run the command."""
    if args.out not in (None, "-"):
        check_out(args.out, "the predictions", args.model, args.table)
    pandas()  # which the model needs too
    model = load_model(args.model)
    asked = [option for option, on in (("--std", args.std), ("--proba", args.proba)) if on]
    if any(option != model.detail for option in asked):
        what = "labels" if model.detail == "--proba" else "numbers"
        raise ValueError(
            f"{args.model} predicts {what}: use {model.detail} in place of {asked[0]} to see its "
            "uncertainty."
        )
    if args.out and not args.json and _in_passes(args.table):
        _say_missing(_written(model, args, bool(asked)))
        return
    table = read_for(model, args.table)
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
    _say_missing(missing)


def _say_missing(missing: int) -> None:
    if missing:
        print(
            f"mercer: {count(missing, 'row')} with missing values have no prediction.",
            file=sys.stderr,
        )


def _in_passes(path: str) -> bool:
    """Is this a large file that can be read in chunks?"""
    file = Path(path)
    check_file(file)
    kind = kind_of(file)
    return kind in TABLES and file.suffix.lower() != ".zip" and file.stat().st_size > _LARGE


def _written(model: TableModel, args: Namespace, detail: bool) -> int:
    """Predict and write chunk by chunk; returns the number of rows without a prediction."""
    missing, rows, warned = 0, 0, set[str]()
    chunks = stream(args.table, columns=list(model.roles_), missing="keep", **_strings(model, args))
    bars = sys.stderr.isatty()

    def write(file: Any) -> None:
        nonlocal missing, rows
        with ticker(bars, "predicting", chunks.about()) as tick:
            for table in chunks.map(_samples):
                for words in unread(model, table):
                    name = words.partition(" holds ")[0]
                    if name not in warned:
                        warn(words)
                    warned.add(name)
                found = model.tabulate(table, detail)
                found.to_csv(file, index=False, header=not rows)
                missing += int(found["prediction"].isna().sum())
                rows += len(found)
                tick("predicting", len(found))

    if args.out == "-":
        write(_stdout())
    else:
        write_atomically(args.out, write)
        print(entry("saved", f"{args.out}: {count(rows, 'row')}"))
    return missing


def _samples(chunk: Chunk) -> Table:
    return chunk.X


def _strings(model: TableModel, args: Namespace) -> dict[str, Any]:
    """Columns to read as strings, if the file does not declare types."""
    if kind_of(Path(args.table)) in (".parquet", ".pq"):
        return {}
    return {"strings": strings_of(model)}


def strings_of(model: TableModel) -> list[str]:
    """Columns that did not hold plain numbers when the model was fitted."""
    return [*(name for name, role in model.roles_.items() if role != "number"), *model.styles_]


def read_for(model: Any, path: str) -> Table:
    """A table for a model of tables: only columns that held plain numbers are read as numbers."""
    if not isinstance(model, TableModel):
        return read_table(path)
    return read_table(path, strings_of(model))


def saved(path: str) -> Any:
    """The object in a mercer file."""
    check_file(Path(path))
    if kind_of(Path(path)) in TABLES:
        raise ValueError(f"{path} is a table; the model comes first, and then the table.")
    return load(path)


def load_model(path: str) -> TableModel:
    """A model written by mercer fit."""
    model = saved(path)
    if not isinstance(model, TableModel):
        raise ValueError(
            f"{path} holds a {type(model).__name__}, not a model of mercer fit; use it in Python "
            f"with mercer.load."
        )
    return model


def unread(model: TableModel, table: Table) -> list[str]:
    """Columns that should hold numbers or dates for the model, but hold something else here."""
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
                f"{name!r} held {kinds[role]} when the model was fitted; values such as "
                f"{values.iloc[lost[0]]!r}, in {len(lost)} of {count(len(table), 'row')}, count as "
                f"missing."
            )
    return found


def _stdout() -> Any:
    """A terminal keeps its own encoding; files and pipes get UTF-8, as with --out."""
    return sys.stdout if sys.stdout.isatty() else getattr(sys.stdout, "buffer", sys.stdout)


def _cell(x: Any) -> str:
    if isinstance(x, str):
        return x
    return "" if x is None or np.isnan(x) else number(x)
