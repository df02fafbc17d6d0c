"""How well models on structured data do on real data sets, beside published figures.

``python -m benchmarks.structured_accuracy`` prints a table; ``--only promoters`` selects rows by
name. The data sets lie in ../shared/data, or where MERCER_DATA says; what is missing is left out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .harness import ROOT


@dataclass(frozen=True)
class Trial:
    """One model on one data set.

    Parameters
    ----------
    data : str
        The name of the data set.
    kernel : str
        The model in words.
    measure : str
        What the score is.
    score : callable
        Computes it.
    reference : str
        What others, or an independent computation, have found.
    least : float, optional
        What is promised.
    """

    data: str
    kernel: str
    measure: str
    score: Callable[[], float]
    reference: str = ""
    least: float | None = None


def folder() -> Path:
    """Where the real data sets are."""
    return Path(os.environ.get("MERCER_DATA") or ROOT.parent / "shared" / "data")


# ---- strings -------------------------------------------------------------------------------------
def _table(name: str) -> Any:
    """A table of strings, or None where it is not at hand."""
    import pandas as pd

    path = folder() / "strings" / name
    if not path.exists():
        return None
    return pd.read_csv(path, sep="\t", quoting=3, keep_default_na=False, dtype=str)


def _cross_validated(table: Any, kernel: Any, C: float, repeats: int = 1) -> float:
    """The accuracy of a support vector machine in ten folds, averaged over shuffles."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    from mercer import SVC

    X, y = list(table["sequence"]), np.array(list(table["label"]))
    folds = (StratifiedKFold(10, shuffle=True, random_state=r) for r in range(repeats))
    model = SVC(C=C, kernel=kernel)
    return float(np.mean([cross_val_score(model, X, y, cv=fold).mean() for fold in folds]))


def _area(table: Any, task: str, kernel: Any, C: float = 1.0) -> float:
    """The area under the curve on the test part of a task."""
    from sklearn.metrics import roc_auc_score

    from mercer import SVC

    of = table[table["task"] == task]
    train, test = of[of["split"] == "train"], of[of["split"] == "test"]
    model = SVC(C=C, kernel=kernel).fit(list(train["sequence"]), list(train["label"]))
    scores = model.decision_function(list(test["sequence"]))
    return float(roc_auc_score(np.array(list(test["label"])) == model.classes_[1], scores))


def strings() -> Iterator[Trial]:
    """Kernels on DNA and proteins; areas at C = 1, as those they are compared with."""
    from mercer import GappyKmer, LocalAlignment, Mismatch, Spectrum, WeightedDegree

    if (table := _table("promoters.tsv.gz")) is not None:
        wd = WeightedDegree(4).normalize()
        yield Trial(
            "promoters",
            "WeightedDegree(4)",
            "accuracy, 5 x 10 folds",
            lambda t=table: _cross_validated(t, wd, 10.0, repeats=5),
            "position one-hot 0.934",
            0.92,
        )
    if (table := _table("splice_junctions.tsv.gz")) is not None:
        yield Trial(
            "splice junctions",
            "WeightedDegree(6)",
            "accuracy, 10 folds",
            lambda t=table: _cross_validated(t, WeightedDegree(6), 1.0),
            "position one-hot 0.955",
            0.96,
        )
    dna = (
        (Spectrum(5), "0.9771", None),
        (Spectrum(6), "0.9802", None),
        (Mismatch(5, 1), "0.9694", None),
        (GappyKmer(8, 6), "0.9874", None),
        (GappyKmer(10, 6), "0.9896; FastSK 0.9907", 0.989),
    )
    if (table := _table("tfbs_dna_a.tsv.gz")) is not None:
        for kernel, reference, least in dna:
            yield _task(table, "EP300", kernel, reference, least)
    proteins = {
        "1.1": ("0.6957", "0.7445", ""),
        "1.34": ("0.9973", "1.0000", "1.0000"),
        "2.1": ("", "", ""),
        "2.31": ("", "", ""),
        "2.41": ("", "", ""),
        "3.33": ("0.9046", "0.9933", ""),
    }
    if (table := _table("scop_remote_homology_a.tsv.gz")) is not None:
        for task, references in proteins.items():
            kernels = (Spectrum(3), Mismatch(5, 1), GappyKmer(6, 4))
            for kernel, reference in zip(kernels, references, strict=True):
                yield _task(table, task, kernel, reference)
        yield _task(table, "1.1", GappyKmer(8, 4), "0.7667")
        yield _task(table, "3.33", GappyKmer(5, 4), "0.9968")
        alignment = LocalAlignment("blosum62", beta=0.5, log=True)
        yield _task(table, "1.1", alignment.through())


def _task(
    table: Any, task: str, kernel: Any, reference: str = "", least: float | None = None
) -> Trial:
    return Trial(
        task if not task[0].isdigit() else f"SCOP {task}",
        repr(kernel),
        "AUC, given split",
        lambda: _area(table, task, kernel.normalize()),
        reference,
        least,
    )


PARTS: dict[str, Callable[[], Iterator[Trial]]] = {"strings": strings}


# ---- the table -----------------------------------------------------------------------------------
def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--part", choices=sorted(PARTS), action="append", help="kinds of data")
    parser.add_argument("--only", default="", help="rows whose data set or kernel holds this text")
    options = parser.parse_args()
    print("| data | kernel | measure | mercer | reference | promised | CPU s |")
    print("|---|---|---|---|---|---|---|")
    kept = True
    means: dict[str, list[float]] = {}
    for part in options.part or sorted(PARTS):
        for trial in PARTS[part]():
            if options.only.lower() not in f"{trial.data} {trial.kernel}".lower():
                continue
            start = time.process_time()
            score = trial.score()
            seconds = time.process_time() - start
            promised = "" if trial.least is None else f">= {trial.least:g}"
            kept &= trial.least is None or score >= trial.least
            if trial.data.startswith("SCOP"):
                means.setdefault(trial.kernel, []).append(score)
            print(
                f"| {trial.data} | {trial.kernel} | {trial.measure} | {score:.4f} | "
                f"{trial.reference} | {promised} | {seconds:.1f} |",
                flush=True,
            )
    for kernel, scores in means.items():
        if len(scores) > 1:
            print(f"| SCOP, mean of {len(scores)} | {kernel} | AUC | {np.mean(scores):.4f} | | | |")
    raise SystemExit(0 if kept else 1)


if __name__ == "__main__":
    main()
