"""Splice junctions of primates: 3186 stretches of 60 letters, and where introns begin and end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer import SVC, SVCCV, Kernel, Spectrum, WeightedDegree, kmer_weights, position_weights

from .frame import Study, Trial, text_table

FILE = "strings/splice_junctions.tsv.gz"
CS = (0.3, 1.0, 3.0, 10.0)
LENGTHS = (2, 4, 6, 8)
_MANY = 1000  # sequences on which a choice is made
_SHOWN = 60  # held-out sequences of each class, over which the picture averages


def load() -> tuple[list[str], np.ndarray]:
    """Sequences and their classes: "ei" (intron begins), "ie" (intron ends), "n" (neither)."""
    table = text_table(FILE)
    return list(table["sequence"]), np.array(list(table["label"]))


def chosen(kernel: Kernel, lengths: Sequence[int], X: list[str], y: np.ndarray) -> SVC:
    """A machine with C and the length k chosen by three folds of 1000 of the sequences."""
    some = np.random.default_rng(0).permutation(len(X))[:_MANY]
    grid = {"kernel__kernel__k": list(lengths)}
    found = SVCCV(
        CS, param_grid=grid, cv=3, test_size=0, kernel=kernel.normalize(), random_state=0
    ).fit([X[i] for i in some], y[some])
    k = found.best_params_["kernel__kernel__k"]
    return SVC(C=found.C_, kernel=kernel.replace(k=k).normalize())


def accuracy(kernel: Kernel, lengths: Sequence[int]) -> tuple[float, str]:
    """In ten folds; the choice is made anew without each of them."""
    X, y = load()
    right, choices = [], []
    for train, test in StratifiedKFold(10, shuffle=True, random_state=0).split(X, y):
        known = [X[i] for i in train]
        model = chosen(kernel, lengths, known, y[train]).fit(known, y[train])
        right.append(model.score([X[i] for i in test], y[test]))
        choices.append(f"k = {model.kernel.kernel.k}, C = {model.C:g}")
    most = max(set(choices), key=choices.count)
    return float(np.mean(right)), f"{most} in {choices.count(most)} of 10 folds"


def trials() -> Iterator[Trial]:
    """The rows."""
    load()
    measure = "accuracy, 10 folds"
    yield Trial(
        "WeightedDegree(k), k = 2, 4, 6, 8",
        measure,
        lambda: accuracy(WeightedDegree(), LENGTHS),
        "same set, linear SVM on letters 0.955; KBANN 0.94",
        0.96,
    )
    yield Trial(
        "Spectrum(k), k = 2, 4, 6",
        measure,
        lambda: accuracy(Spectrum(), LENGTHS[:3]),
    )


# ---- the picture ---------------------------------------------------------------------------------
def picture(path: Path) -> None:
    """Against "neither": what each place adds on held-out sequences, and the best k-mers."""
    import matplotlib.pyplot as plt

    X, y = load()
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:2400], order[2400:]
    known = [X[i] for i in train]
    model = chosen(WeightedDegree(), LENGTHS, known, y[train]).fit(known, y[train])
    places = np.concatenate([np.arange(-30, 0), np.arange(1, 31)])
    drawn = np.arange(-30, 30) + 0.5
    titles = {"ei": "exon | intron", "ie": "intron | exon"}
    figure, axes = plt.subplots(2, 1, figsize=(8, 5.4), layout="constrained", sharex=True)
    for ax, label in zip(axes, titles, strict=True):
        output = 1 if label == "ei" else 2  # of the pairs (ei, ie), (ei, n), (ie, n)
        of = [i for i in test if y[i] == label][:_SHOWN]
        weights = np.mean(position_weights(model, [X[i] for i in of], output=output), axis=0)
        ax.bar(drawn, weights, width=0.9, color="C0")
        ax.axvline(0, color="0.5", lw=0.8, ls="--")
        best = [w for w in kmer_weights(model, None, output=output) if len(w.text) == 2][:6]
        listed = "\n".join(f"{w.text} at {places[w.position]:+d}  {w.weight:+.2f}" for w in best)
        ax.text(0.02, 0.95, listed, va="top", family="monospace", transform=ax.transAxes)
        ax.set(ylabel="mean part of the decision", title=f"{titles[label]}, against neither")
    shown = np.array([-30, -20, -10, 1, 10, 20, 30])
    axes[1].set_xticks(shown - 0.5 * np.sign(shown), [f"{place:+d}" for place in shown])
    axes[1].set_xlabel("place, from the junction")
    figure.savefig(path, dpi=110)
    plt.close(figure)


STUDY = Study("splice", "Splice junctions", trials, picture)
