"""``mercer tune``: the numbers in a kernel, learned from a table by the marginal likelihood."""

from __future__ import annotations

import shlex
import time
import warnings
from argparse import ArgumentParser, Namespace

import numpy as np

from ..engine.durations import duration_words
from ..exceptions import MercerWarning
from ..kernels.notation.parse import parse
from ..models.ridge import KernelRidge
from ..search.outcome import readable
from ..tables.candidates import on_table
from ..tables.encoding import completed, learn_parts
from ..tables.numbers import count
from ..tables.reading import read_table
from ..tables.roles import tidy
from ..tables.rows import check_enough, select
from ..tuning.models import tune
from .arguments import whole
from .fit import add_table, check_target, selection_options, task_of
from .output import as_json, command, entry, say
from .tasks import LABELS

_ROWS = 1000  # of the table that are used


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer tune``."""
    add_table(parser, kernel={"required": True, "help": "the kernel, with starting values"},
              timed=False)  # fmt: skip
    parser.add_argument("--rows", type=whole(5), default=_ROWS, metavar="N", help="(default: 1000)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: Namespace) -> None:
    """Run the command."""
    check_target(args)
    start, kernel = time.perf_counter(), parse(args.kernel)
    table = read_table(args.table)
    task = task_of(args, table)
    y, given, _ = task.target(table, args.target)
    chosen = select(table, args.target, given, **selection_options(args))
    X, y = chosen.X, y[chosen.rows]
    if task is LABELS:  # the most frequent one against all others
        labels, sizes = np.unique(y.astype(str), return_counts=True)
        y = np.where(y == labels[np.argmax(sizes)], 1.0, -1.0)
    check_enough(len(y))
    rows = np.sort(np.random.default_rng(args.seed).permutation(len(y))[: args.rows])
    tidied = tidy(X.iloc[rows], chosen.roles, chosen.styles)
    own = completed(learn_parts(tidied, chosen.roles), tidied)
    target = (y[rows] - y[rows].mean()) / (y[rows].std() or 1.0)
    say(f"learning the parameters of the kernel from {count(len(rows), 'row')}", args.json)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MercerWarning)  # they are told below
        found = tune(KernelRidge(0.1, kernel=on_table(kernel, chosen.roles)), own, target).tuning_
    told = {
        "kernel": repr(readable(found.kernel)),
        "alpha": float(f"{found.alpha:.4g}"),
        "rows": len(rows),
        "evaluations": found.n_evaluations,
        "converged": found.converged,
        "at_bounds": list(found.at_bounds),
        "unneeded": list(found.unneeded),
        "seconds": round(time.perf_counter() - start, 2),
    }
    if args.json:
        print(as_json(told))
        return
    print(entry("kernel", told["kernel"]))
    print(entry("alpha", f"{told['alpha']:g}, for a target of unit variance"))
    ended = "converged" if found.converged else f"stopped: {found.message}"
    took = duration_words(time.perf_counter() - start)
    steps = count(found.n_evaluations, "evaluation")
    print(entry("search", f"{ended} after {steps} on {count(len(rows), 'row')}, {took}"))
    for name, notes in (("at bounds", found.at_bounds), ("unneeded", found.unneeded)):
        if notes:
            print(entry(name, *map(str, notes)))
    fit = ("mercer", "fit", args.table, "--target", args.target, "--kernel")
    plain = not set('"$`\\!') & set(told["kernel"])  # then double quotes are enough
    quoted = f'"{told["kernel"]}"' if plain else shlex.quote(told["kernel"])
    print(command(*fit, rest=f" {quoted}"))
