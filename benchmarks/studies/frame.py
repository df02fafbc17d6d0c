"""What a study is: trials that become the rows of a table, and a picture.

The data sets lie in ../shared/data, or where MERCER_DATA says (:func:`folder`); a study whose data
are not at hand raises :class:`Unavailable` when its trials begin. Tables and pictures are the pages
of docs/studies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..harness import ROOT, Unavailable
from ..svm_data import folder

TABLES = ROOT / "benchmarks" / "results" / "studies"
PICTURES = ROOT / "docs" / "studies"

__all__ = ["PICTURES", "TABLES", "Row", "Study", "Trial", "Unavailable", "data_file", "draw"]
__all__ += ["folder", "run", "table", "text_table", "write"]


@dataclass(frozen=True)
class Trial:
    """A model on a data set: a row of the table.

    Parameters
    ----------
    model : str
        The model in words.
    measure : str
        What the score is.
    score : callable
        Computes it; or it and what was chosen on the training data, in words.
    reference : str
        What others, or an independent computation, have found.
    least : float, optional
        What is promised.
    data : str
        The set, or the part of it, where a study has several.
    """

    model: str
    measure: str
    score: Callable[[], float | tuple[float, str]]
    reference: str = ""
    least: float | None = None
    data: str = ""


@dataclass(frozen=True)
class Row:
    """A trial that has been run."""

    trial: Trial
    score: float
    chosen: str
    seconds: float

    @property
    def kept(self) -> bool:
        """Is the score what was promised?"""
        return self.trial.least is None or self.score >= self.trial.least


@dataclass(frozen=True)
class Study:
    """Trials on a data set, and a picture of what was learned.

    Parameters
    ----------
    name : str
        The name of its files.
    title : str
        What it is about.
    trials : callable
        The rows; reads the data when iteration begins.
    picture : callable, optional
        Draws into the file that it is given.
    """

    name: str
    title: str
    trials: Callable[[], Iterator[Trial]]
    picture: Callable[[Path], None] | None = None


# ---- data ----------------------------------------------------------------------------------------
def data_file(name: str) -> Path:
    """The path of a data set, which must exist."""
    path = folder() / name
    if not path.exists():
        raise Unavailable(f"{name} is not at hand (MERCER_DATA names the folder of the data)")
    return path


def text_table(name: str) -> Any:
    """A table of strings: a DataFrame, in which "Nan" is a name and "3.50" a task."""
    import pandas as pd

    path = data_file(name)
    return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, dtype=str)


# ---- tables and pictures -------------------------------------------------------------------------
def run(trials: Iterable[Trial], report: Callable[[Row], None] = lambda row: None) -> list[Row]:
    """Run trials one after the other; each row is reported as soon as it is known."""
    rows = []
    for trial in trials:
        start = time.process_time()
        found = trial.score()
        score, chosen = found if isinstance(found, tuple) else (found, "")
        rows.append(Row(trial, float(score), chosen, time.process_time() - start))
        report(rows[-1])
    return rows


def table(rows: Iterable[Row]) -> str:
    """The rows in Markdown; columns in which nothing stands are left out."""
    columns: dict[str, list[str]] = {}
    for row in rows:
        least = row.trial.least
        cells = {
            "data": row.trial.data,
            "model": row.trial.model,
            "measure": row.trial.measure,
            "mercer": f"{row.score:.4f}",
            "chosen": row.chosen,
            "reference": row.trial.reference,
            "promised": "" if least is None else f"≥ {least:g} {'✓' if row.kept else '✗'}",
            "CPU s": f"{row.seconds:.1f}",
        }
        for head, cell in cells.items():
            columns.setdefault(head, []).append(cell.replace("|", "\\|"))
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    lines = [list(columns), ["---"] * len(columns), *zip(*columns.values(), strict=True)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def write(study: Study, rows: Iterable[Row], into: Path = TABLES) -> Path:
    """Write the table of a study to its file."""
    into.mkdir(parents=True, exist_ok=True)
    path = into / f"{study.name}.md"
    path.write_text(table(rows), encoding="utf-8")
    return path


def draw(study: Study, into: Path = PICTURES) -> Path | None:
    """Draw the picture of a study, if it has one."""
    if study.picture is None:
        return None
    into.mkdir(parents=True, exist_ok=True)
    path = into / f"{study.name}.png"
    study.picture(path)
    return path
