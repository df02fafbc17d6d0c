"""``mercer test``: do two tables differ, do columns of a table depend on each other, and where."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..frames import pandas
from ..kernels.notation.parse import parse
from ..stats.result import TestResult
from ..tables.candidates import on_table, table_kernels, text_kernels
from ..tables.numbers import count
from ..tables.reading import read_table
from ..tables.roles import Column, Table, describe, numbers_rows, require, tidy
from ..tables.rows import complete_rows
from .arguments import names, whole
from .output import as_json, check_out, entry, grid, say

_TESTED = 100  # parts of the data that are tested on their own, at most
_LISTED = 8  # of which so many are listed
_SHOWN = 0.05
_TAIL = 0.002  # share of values on either side that a histogram leaves out


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer test``."""
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    two = kinds.add_parser("two-sample", help="do two tables come from the same distribution?")
    two.add_argument("first", metavar="A", help="a .csv, .tsv or .parquet file, one row per sample")
    two.add_argument("second", metavar="B", help="another file with the same columns")
    two.add_argument("--features", type=names, metavar="A,B", help="columns to compare")
    one = kinds.add_parser("independence", help="are columns of a table independent of others?")
    one.add_argument("table", metavar="TABLE", help="a .csv, .tsv or .parquet file")
    one.add_argument("--x", type=names, metavar="A,B", help="some columns (default: all but --y)")
    one.add_argument("--y", type=names, required=True, metavar="A,B", help="the others")
    for sub, run in ((two, _two_sample), (one, _independence)):
        add = sub.add_argument
        add("--labels", type=names, default=[], metavar="A,B", help="columns to read as labels")
        add("--text", type=names, default=[], metavar="A,B", help="columns to read as text")
        add("--permutations", type=whole(), default=999, metavar="N", help="(default: 999)")
        add(
            "--missing",
            choices=("drop", "error"),
            default="drop",
            help="rows with missing values: drop them (default), or stop with an error",
        )
        add(
            "--blocks",
            type=whole(),
            metavar="N",
            help="rows of a series that are permuted together",
        )
        add("--seed", type=whole(0), default=0, metavar="N", help="random seed (default: 0)")
        add("--plot", metavar="FILE", help="save a plot of the result (.png, .pdf, .svg)")
        add("--json", action="store_true", help="print the result as JSON")
        sub.set_defaults(task=run)
    two.add_argument("--kernel", metavar="EXPR", help="a kernel, instead of many at once")


def run(args: Namespace) -> None:
    """Run the command."""
    if args.plot is not None:
        check_out(args.plot, "the picture")
    args.task(args)


def _options(args: Namespace) -> dict[str, Any]:
    return {"n_permutations": args.permutations, "rng": args.seed, "blocks": args.blocks}


# ---- two samples -----------------------------------------------------------------------------
def _two_sample(args: Namespace) -> None:
    from ..stats.two_sample import two_sample_test

    tables = [read_table(args.first), read_table(args.second)]
    for table in tables:
        require(table, args.features or [])
    shared = [name for name in tables[0].columns if name in tables[1].columns]
    if not shared:
        raise ValueError(f"{args.first} and {args.second} have no column in common.")
    chosen = args.features or [
        name for name in shared if not all(numbers_rows(name, table[name]) for table in tables)
    ]
    pooled = pandas().concat([table[chosen] for table in tables], ignore_index=True)
    data = _read(pooled, args)
    first = np.arange(len(pooled))[data.rows] < len(tables[0])
    if not 1 < first.sum() < len(first) - 1:
        raise ValueError("each table needs at least two complete rows.")

    def test(roles: dict[str, str], kernel: Any = None) -> TestResult:
        X, kernels = _for_test(data.table, roles, kernel)
        left, right = (_part(X, rows) for rows in (first, ~first))
        return two_sample_test(left, right, kernels, **_options(args))

    kernel = None if args.kernel is None else on_table(parse(args.kernel), data.roles)
    result = test(data.roles, kernel)
    parts = {name: {name: role} for name, role in data.roles.items()}
    sizes = f"{int(first.sum())} and {count(int(np.sum(~first)), 'row')}"
    left_out = [c for t in tables for c in t.columns if c not in shared]
    if left_out and not args.features:
        sizes += f"; only in one table: {', '.join(dict.fromkeys(left_out))}"
    single = _each(parts, test, args.json)
    _report(result, sizes + data.dropped, data.columns, single, len(parts), "column", args)
    if args.plot is not None:
        names = [Path(args.first).stem, Path(args.second).stem]
        names = names if names[0] != names[1] else ["first", "second"]
        _draw_samples(result, data, first, names, Path(args.plot))


# ---- independence ----------------------------------------------------------------------------
def _independence(args: Namespace) -> None:
    from ..stats.independence import independence_test

    table = read_table(args.table)
    if args.x is None:
        require(table, args.y)
        rest = [name for name in table.columns if name not in args.y]
        args.x = [name for name in rest if not numbers_rows(name, table[name])]
    if not (args.x and args.y):
        raise ValueError("--x and --y need a column each.")
    twice = set(args.x) & set(args.y)
    if twice:
        raise ValueError(f"{sorted(twice)[0]!r} is in --x and in --y.")
    require(table, args.x + args.y)
    data = _read(table[args.x + args.y], args)
    if len(data.table) < 4:
        raise ValueError(f"{count(len(data.table), 'complete row')}: at least 4 are needed.")
    for option, given in (("--x", args.x), ("--y", args.y)):
        if not any(name in data.roles for name in given):
            raise ValueError(f"no column of {option} can be used: {_why(data.columns, given)}.")

    def test(xs: list[str], ys: list[str]) -> TestResult:
        sides = [_side(data, chosen) for chosen in (xs, ys)]
        return independence_test(
            *[X for X, _ in sides], kernels=[k for _, k in sides], **_options(args)
        )

    xs, ys = ([n for n in given if n in data.roles] for given in (args.x, args.y))
    result = test(xs, ys)
    pairs = {f"{x}, {y}": ([x], [y]) for x in xs for y in ys}
    sizes = count(len(data.table), "row") + data.dropped
    single = _each(pairs, lambda pair: test(*pair), args.json)
    _report(result, sizes, data.columns, single, len(pairs), "columns", args)
    if args.plot is not None:
        _draw_pair(result, data, xs, ys, test, Path(args.plot))


def _side(data: Selected, chosen: list[str]) -> tuple[Any, Any]:
    return _for_test(data.table, {name: data.roles[name] for name in chosen}, None)


# ---- data ------------------------------------------------------------------------------------
@dataclass
class Selected:
    """Complete rows of the columns that can be used."""

    table: Table
    roles: dict[str, str]
    columns: list[Column]
    rows: np.ndarray

    @property
    def dropped(self) -> str:
        """How many rows were left out, in words."""
        missing = int(np.sum(~self.rows))
        return f"; {count(missing, 'row')} with missing values left out" if missing else ""


def _read(table: Table, args: Namespace) -> Selected:
    given = dict.fromkeys(args.labels, "label") | dict.fromkeys(args.text, "text")
    columns = describe(table, given)
    roles = {c.name: c.role for c in columns if c.role != "skipped"}
    if not roles:
        raise ValueError(f"no column can be used ({_why(columns, list(table.columns))}).")
    rows = complete_rows(table, np.ones(len(table), bool), columns, args.missing)
    styles = {c.name: c.style for c in columns}
    plain = {name: "number" if role == "date" else role for name, role in roles.items()}
    return Selected(tidy(table[rows], roles, styles), plain, columns, rows)


def _why(columns: list[Column], chosen: list[str]) -> str:
    return "; ".join(f"{c.name}: {c.why}" for c in columns if c.name in chosen and c.why)


def _for_test(table: Table, roles: dict[str, str], kernel: Any) -> tuple[Any, Any]:
    """The data as a test takes them, and its kernels: those of all bandwidths for numbers."""
    if kernel is not None:
        return table, kernel
    if set(roles.values()) == {"number"}:
        values = table[list(roles)].to_numpy(dtype=float)
        spread = values.std(axis=0)
        return (values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0), None
    kernels = table_kernels(table, roles)
    if "text" in roles.values():
        kernels = text_kernels(roles, kernels[len(kernels) // 2] if kernels else None)
    return table, kernels


def _part(X: Any, rows: np.ndarray) -> Any:
    return X[rows].reset_index(drop=True) if hasattr(X, "reset_index") else X[rows]


def _each(
    parts: dict[str, Any], test: Callable[[Any], TestResult], quiet: bool
) -> dict[str, TestResult]:
    """The test of each part of the data, if there are several and not too many."""
    if not 1 < len(parts) <= _TESTED:
        return {}
    say(f"testing {len(parts)} parts of the data one by one", quiet)
    return {name: test(part) for name, part in parts.items()}


# ---- report ----------------------------------------------------------------------------------
def _report(
    result: TestResult,
    sizes: str,
    columns: list[Column],
    parts: dict[str, TestResult],
    total: int,
    what: str,
    args: Any,
) -> None:
    ordered = sorted(parts.items(), key=lambda item: (item[1].pvalue, -_excess(item[1])))
    corrected = np.maximum.accumulate(
        [min(1.0, (len(parts) - i) * r.pvalue) for i, (_, r) in enumerate(ordered)]
    )
    found = list(zip(ordered, corrected, strict=True))
    if args.json:
        print(as_json(_told(result, sizes, columns, found)))
        return
    print(entry("data", sizes))
    for column in columns:
        if column.role == "skipped":
            print(entry("", f"skipped {column.name}: {column.why}"))
    print(entry("test", result.method))
    low, high = result.pvalue_interval or (result.pvalue, result.pvalue)
    print(entry("p-value", f"{result.pvalue:.4g} (95 % interval {low:.2g} to {high:.2g})"))
    sure = "evidence against" if result.pvalue <= _SHOWN else "no evidence against"
    print(entry("verdict", f'at the 5 % level there is {sure} "{result.hypothesis}"'))
    for note in result.notes:
        print(entry("note", note))
    if parts:
        lines = grid(
            (what, "p-value", "corrected"),
            [(name, f"{r.pvalue:.4g}", f"{p:.4g}") for (name, r), p in found[:_LISTED]],
        )
        if total > _LISTED:
            lines.append(f"... {total - _LISTED} more, with larger p-values")
        print("\n".join(f"{'where' if i == 0 else '':10}{line}" for i, line in enumerate(lines)))
        print(entry("", "(each on its own; corrected for their number by Holm's method)"))
    elif total > 1:
        words = "columns" if what == "column" else "pairs of columns"
        advice = "--features names some" if what == "column" else "give fewer --x and --y"
        print(entry("where", f"{total} {words} are too many to test one by one; {advice}"))
    if args.plot is not None:
        print(entry("picture", str(args.plot)))


def _told(result: TestResult, sizes: str, columns: list[Column], found: list) -> dict[str, Any]:
    """The same for machines."""
    return {
        "data": sizes,
        "skipped": {c.name: c.why for c in columns if c.role == "skipped"},
        "test": result.method,
        "hypothesis": result.hypothesis,
        "statistic": result.statistic,
        "pvalue": result.pvalue,
        "pvalue_interval": result.pvalue_interval,
        "notes": list(result.notes),
        "where": [{"name": name, "pvalue": r.pvalue, "corrected": p} for (name, r), p in found],
    }


def _excess(result: TestResult) -> float:
    """How far the statistic is above what the hypothesis gives, in standard deviations."""
    if result.null is None:
        return 0.0
    return float((result.statistic - result.null.mean()) / (result.null.std() or 1.0))


# ---- pictures --------------------------------------------------------------------------------
def _figure() -> Any:
    from ..plots.figure import axes

    axes()  # says what to install if matplotlib is missing
    import matplotlib.pyplot as plt

    plt.close()
    fig, (left, right) = plt.subplots(1, 2, figsize=(9.6, 3.8), layout="constrained")
    right.spines[["top", "right"]].set_visible(False)
    return fig, (left, right)


def _draw_samples(
    result: TestResult, data: Selected, first: np.ndarray, names: list[str], path: Path
) -> None:
    """The null distribution, and both samples in the column where they differ most."""
    fig, (left, right) = _figure()
    result.plot(left)
    numbers = [name for name, role in data.roles.items() if role == "number"]
    if numbers:
        name = max(numbers, key=lambda n: _ks(data.table[n].to_numpy(), first))
        values = data.table[name].to_numpy()
        most = np.quantile(values, [_TAIL, 1 - _TAIL])  # a few outliers would flatten all else
        edges = np.histogram_bin_edges(
            values, min(40, 5 + round(np.sqrt(len(values)))), tuple(most)
        )
        for rows, color, label in ((first, "#4477aa", names[0]), (~first, "#cc6677", names[1])):
            right.hist(values[rows], edges, density=True, alpha=0.5, color=color, label=label)
        right.set(xlabel=name, ylabel="density")
    else:
        name = next(iter(data.roles))
        table = pandas().crosstab(data.table[name], np.where(first, *names))[names]
        (table / table.sum()).nlargest(12, names[0]).plot.barh(
            ax=right, color=["#4477aa", "#cc6677"]
        )
        right.set(xlabel="share", ylabel=name)
    right.legend(frameon=False)
    _save(fig, path)


def _ks(values: np.ndarray, first: np.ndarray) -> float:
    from scipy.stats import ks_2samp

    return float(ks_2samp(values[first], values[~first]).statistic)


def _draw_pair(
    result: TestResult,
    data: Selected,
    xs: list[str],
    ys: list[str],
    test: Callable[[list[str], list[str]], TestResult],
    path: Path,
) -> None:
    """The null distribution, and the pair of columns that depend most clearly on each other."""
    fig, (left, right) = _figure()
    result.plot(left)
    pairs = [(x, y) for x in xs for y in ys][:_LISTED]
    x, y = max(pairs, key=lambda pair: _excess(test([pair[0]], [pair[1]])))
    right.plot(data.table[x], data.table[y], "o", ms=3.5, alpha=0.4, color="#4477aa", mew=0)
    right.set(xlabel=x, ylabel=y)
    _save(fig, path)


def _save(fig: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    fig.savefig(path, dpi=150)
    plt.close(fig)
