"""Promoters of E. coli: 106 stretches of DNA, half of which start the reading of a gene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_score

from mercer import SVC, SVCCV, GappyKmer, Kernel, Spectrum, WeightedDegree, position_weights

from .frame import Study, Trial, text_table

FILE = "strings/promoters.tsv.gz"
CS = (0.1, 1.0, 10.0, 100.0)
FIRST = -50  # the place of the first letter; that of the start of transcription is 1, there is no 0


def load() -> tuple[list[str], np.ndarray]:
    """Sequences, and whether they are promoters."""
    table = text_table(FILE)
    return list(table["sequence"]), table["label"].to_numpy() == "+"


def machine(kernel: Kernel, lengths: Sequence[int]) -> SVCCV:
    """A machine that chooses C and the length k by five folds of what it is given."""
    grid = {"kernel__kernel__k": list(lengths)}
    return SVCCV(CS, param_grid=grid, test_size=0, kernel=kernel.normalize(), random_state=0)


def accuracy(kernel: Kernel, lengths: Sequence[int], repeats: int = 5) -> float:
    """In ten folds, averaged over shuffles; the choice is made anew without each fold."""
    X, y = load()
    folds = (StratifiedKFold(10, shuffle=True, random_state=r) for r in range(repeats))
    model = machine(kernel, lengths)
    return float(np.mean([cross_val_score(model, X, y, cv=fold).mean() for fold in folds]))


def leave_one_out() -> float:
    """The accuracy on each sequence of the model made from all others."""
    X, y = load()
    right = cross_val_score(machine(WeightedDegree(), range(1, 9)), X, y, cv=LeaveOneOut())
    return float(right.mean())


def trials() -> Iterator[Trial]:
    """The rows."""
    load()
    tenfold = "accuracy, 5 x 10 folds"
    onehot = "same set, linear SVM on letters 0.934"
    yield Trial(
        "WeightedDegree(k), k = 1..8",
        tenfold,
        lambda: accuracy(WeightedDegree(), range(1, 9)),
        onehot,
        0.92,
    )
    others: dict[str, tuple[Kernel, range]] = {
        "Spectrum(k), k = 1..6": (Spectrum(), range(1, 7)),
        "GappyKmer(6, k), k = 2..6": (GappyKmer(6, 4), range(2, 7)),
    }
    for name, (kernel, lengths) in others.items():
        score = partial(accuracy, kernel, lengths, repeats=2)
        yield Trial(name, "accuracy, 2 x 10 folds", score)
    yield Trial(
        "WeightedDegree(k), k = 1..8",
        "accuracy, leave one out",
        leave_one_out,
        "KBANN 0.962 (4 errors), nearest neighbour 0.877 (13)",
    )


# ---- the picture ---------------------------------------------------------------------------------
def held_out_weights(X: list[str], y: np.ndarray, model: Any) -> np.ndarray:
    """What each place of each sequence adds to a decision that was made without it."""
    out = np.zeros((len(X), len(X[0])))
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(out, y):
        model.fit([X[i] for i in train], y[train])
        out[test] = position_weights(model, [X[i] for i in test])
    return out


def picture(path: Path) -> None:
    """The weights of places, for promoters and for other stretches, on average."""
    import matplotlib.pyplot as plt

    X, y = load()
    chosen = machine(WeightedDegree(), range(1, 9)).fit(X, y).best_params_
    k, C = chosen["kernel__kernel__k"], chosen["C"]
    weights = held_out_weights(X, y, SVC(C=C, kernel=WeightedDegree(k).normalize()))
    places = np.arange(FIRST, FIRST + len(X[0]))
    places = np.where(places < 0, places, places + 1)  # there is no place 0
    figure, ax = plt.subplots(figsize=(8, 3.2), layout="constrained")
    for box, (low, high) in {"-35 box": (-37, -30), "-10 box": (-14, -7)}.items():
        ax.axvspan(low - 0.5, high + 0.5, color="0.9", zorder=0)
        top = ax.get_xaxis_transform()
        ax.text((low + high) / 2, 0.98, box, ha="center", va="top", transform=top)
    ax.axhline(0, color="0.5", lw=0.8)
    for label, color, of in (("promoters", "C0", y), ("other stretches", "C1", ~y)):
        ax.plot(places, weights[of].mean(axis=0), color=color, label=label, marker=".", ms=4)
    ax.set(xlabel="place, from the start of transcription", ylabel="mean part of the decision")
    ax.set_xticks([-50, -40, -30, -20, -10, 1])
    ax.set_ylim(top=1.2 * weights[y].mean(axis=0).max())
    ax.set_title(f"WeightedDegree({k}), C = {C:g}: decisions on held-out sequences, place by place")
    ax.legend(loc="upper left", frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


STUDY = Study("promoters", "Promoters of E. coli", trials, picture)
