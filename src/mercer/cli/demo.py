"""``mercer demo``: the commands on a real table that comes with scikit-learn."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

import numpy as np

from ..engine.atomic import write_atomically
from .output import entry


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of ``mercer demo``."""
    add = parser.add_argument
    add("--folder", default="mercer-demo", metavar="DIR", help="(default: mercer-demo)")
    add("--budget", default="20 s", metavar="TIME", help="for the fit (default: 20 s)")


def run(args: Namespace) -> None:
    """Write a table, fit it, predict, explain a row, report; commands are shown as they run."""
    from .main import main

    folder = Path(args.folder)
    folder.mkdir(parents=True, exist_ok=True)
    names = ("patients.csv", "new.csv", "patients.mercer", "patients.html")
    table, new, model, page = (str(folder / name) for name in names)
    write_tables(Path(table), Path(new))
    for command in (
        ["fit", table, "--target", "progression", "--out", model, "--budget", args.budget],
        ["predict", model, new, "--std"],
        ["explain", model, new, "--row", "0"],
        ["report", model, table, "--target", "progression", "--out", page, "--budget", args.budget],
    ):
        print(f"\n$ mercer {' '.join(map(_quoted, command))}", flush=True)
        code = main(command)
        if code:
            raise ValueError(f"mercer {command[0]} exited with code {code}.")
    print(entry("files", f"{table}, {new} and {model}"))
    print(entry("open", f"{Path(page).resolve().as_uri()} in a browser"))


def write_tables(path: Path, new: Path) -> None:
    """442 diabetes patients as a hospital might keep them: names, labels, gaps; ten are new.

    The source does not say which sex is coded 1 and which 2, so they are called A and B.
    """
    from sklearn.datasets import load_diabetes

    data = load_diabetes(as_frame=True, scaled=False)
    table = data.data.assign(sex=data.data["sex"].map({1.0: "A", 2.0: "B"}))
    table.insert(0, "patient", [f"P{i:03d}" for i in range(len(table))])
    table.loc[np.random.default_rng(0).random(len(table)) < 0.1, "s6"] = np.nan
    table = table.assign(progression=data.target)
    held = table.index % 45 == 7
    seen, unseen = table[~held], table[held].drop(columns="progression")
    write_atomically(path, lambda file: seen.to_csv(file, index=False))
    write_atomically(new, lambda file: unseen.to_csv(file, index=False))


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word
