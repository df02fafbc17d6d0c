"""``mercer explain``: why an expression is a kernel, or why a model predicts what it does."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from ..kernels.notation.parse import parse
from ..tables.reading import check_file
from .arguments import whole
from .output import as_json, command, entry, grid, number

_LISTED = 12
_ORDERS, _LEAST_ORDERS = 32, 3  # random orders of the columns,
_STEPS = 6000  # fewer of many columns, each of which is a step
_WIDE = 40  # characters of a value


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer explain``."""
    add = parser.add_argument
    add(
        "kernel",
        metavar="EXPR|MODEL",
        help='a kernel: "2 * Gaussian() + Linear() ** 2"; or a model file written by mercer fit',
    )
    add("table", metavar="TABLE", nargs="?", help="for a model: a table with the row to explain")
    add(
        "--row",
        type=whole(0),
        default=0,
        metavar="N",
        help="which row, counted from 0 (default: 0)",
    )
    add("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    path = Path(args.kernel)
    if path.suffix == ".mercer":
        check_file(path)
    if args.table is not None or os.path.isfile(path):  # long expressions are no names of files
        _explain_row(args)
        return
    text = parse(args.kernel).explain()
    print(as_json({"explanation": text}) if args.json else text)


def _explain_row(args: Namespace) -> None:
    from ..frames import pandas
    from .predict import load_model, read_for

    pandas()
    model = load_model(args.kernel)
    if hasattr(model, "ridge_") or hasattr(model, "machine_"):
        raise ValueError(
            f"{args.kernel} was saved by an earlier version; fit it again to explain rows."
        )
    if args.table is None:
        _describe(model, args)
        return
    table = read_for(model, args.table)
    if not 0 <= args.row < len(table):
        raise ValueError(f"--row must be from 0 to {len(table) - 1}, got {args.row}.")
    row = table.iloc[[args.row]]
    orders = max(_LEAST_ORDERS, min(_ORDERS, _STEPS // max(len(model.roles_), 1)))
    found = model.explain(row, n_orders=orders)
    prediction: Any = model.predict(row)[0]
    told = {
        "row": args.row, "prediction": prediction, "base": found.attrs["base"],
        "columns": found.to_dict("records"),
    }  # fmt: skip
    if args.json:
        print(as_json(told | {"orders": 2 * orders}))
        return
    shown = prediction if isinstance(prediction, str) else number(float(prediction))
    of = (
        "" if not isinstance(prediction, str) else f", by its score {found.attrs['prediction']:.3f}"
    )
    print(entry("predicted", f"{shown}{of}"))
    base = f"{number(found.attrs['base'])} for rows of the training table on average"
    print(entry("base", base))
    cells = [[str(c), _cell(v), f"{a:+.4g}"] for c, v, a in found.head(_LISTED).to_numpy()]
    print(entry("adds", *grid(["column", "value", "adds"], cells)))
    if len(found) > _LISTED:
        rest = found["adds"].iloc[_LISTED:].sum()
        print(entry("", f"... {len(found) - _LISTED} other columns together {rest:+.4g}"))
    if orders < _ORDERS:
        few = f"roughly, from {2 * orders} random orders of the columns; more of them in Python: "
        print(entry("", f"{few}model.explain(row, n_orders={_ORDERS})"))


def _cell(value: Any) -> str:
    """A value of a row, of which a long text is cut."""
    text = str(value)
    return text if len(text) <= _WIDE else text[: _WIDE - 3] + "..."


def _describe(model: Any, args: Namespace) -> None:
    relevance = {n: r for n, r in model.relevance_.items() if r > 0.005}
    if args.json:
        print(as_json({"kernels": model.kernel_words(), "relevance": relevance}))
        return
    print(entry("kernels", *model.kernel_words()))
    if relevance:
        listed = ", ".join(f"{n} {100 * r:.0f}%" for n, r in list(relevance.items())[:_LISTED])
        print(entry("relevance", listed))
    print(command("mercer", "explain", args.kernel, "TABLE.csv", "--row", "0"))
