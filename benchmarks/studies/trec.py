"""TREC: what kind of answer a question asks for, from its words and its dependency trees."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, partial, reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer import (
    SVC,
    BlendedSpectrum,
    ElasticTree,
    Kernel,
    PartialTree,
    SubsetTree,
    Subtree,
    Words,
    fragment_weights,
    node_weights,
    parse,
)

from .frame import Study, Trial, text_table

FILE = "trees/trec_questions.tsv.gz"
CS = (5.0, 20.0)
WORDS = [Words().normalize().on("question")]
PAIRS = [BlendedSpectrum(2).normalize().on("words")]
SUBTREE = [Subtree(0.4).normalize().on("grct")]
SUBSET = [SubsetTree(decay).normalize().on("grct") for decay in (0.2, 0.4)]
PARTIAL = [PartialTree(0.4, 0.4).normalize().on("lct")]
ELASTIC = [ElasticTree(0.1).normalize().on("lct")]
SINGLE = {
    "Words, bag of words": [WORDS],
    "BlendedSpectrum(2), words and pairs": [PAIRS],
    "Subtree, GRCT": [SUBTREE],
    "SubsetTree, GRCT": [SUBSET],
    "PartialTree, LCT": [PARTIAL],
    "ElasticTree, LCT": [ELASTIC],
}
SUMS = {
    "pairs + SubsetTree": [PAIRS, SUBSET],
    "pairs + PartialTree": [PAIRS, PARTIAL],
    "pairs + SubsetTree + PartialTree": [PAIRS, SUBSET, PARTIAL],
}
REFERENCE = "about 0.91 (Croce et al. 2011, as cited)"


@cache
def load() -> Any:
    """The questions: a table with the columns split, label, question, words, grct and lct."""
    table = text_table(FILE)
    table["words"] = [question.lower().split() for question in table["question"]]
    return table


# ---- choices by cross-validation -----------------------------------------------------------------
class Choice:
    """A sum of kernels, with its matrix of all questions; only training rows are used to choose."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.parts = [repr(kernel) for kernel in kernels]

    def _blocks(self) -> tuple[np.ndarray, np.ndarray]:
        K = reduce(np.add, (_matrix(part).astype(np.float64) for part in self.parts))
        train = load()["split"].to_numpy() == "train"
        return K[np.ix_(train, train)], K[np.ix_(~train, train)]

    def validate(self) -> dict[float, float]:
        """The accuracy of each C in five folds of the training questions."""
        K, y = self._blocks()[0], _labels("train")
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(K, y))
        return {C: float(np.mean([_accuracy(K, y, C, *fold) for fold in folds])) for C in CS}

    def test(self, C: float) -> float:
        """The accuracy on the test questions of a machine trained on all the others."""
        K, new = self._blocks()
        model = SVC(C=C, kernel="precomputed").fit(K, _labels("train"))
        return float(np.mean(model.predict(new) == _labels("test")))


@cache
def _matrix(kernel: str) -> np.ndarray:
    return np.asarray(parse(kernel)(load()), dtype=np.float32)


def _labels(split: str) -> np.ndarray:
    table = load()
    return np.array(list(table["label"][table["split"] == split]))


def _accuracy(K: np.ndarray, y: np.ndarray, C: float, a: np.ndarray, b: np.ndarray) -> float:
    model = SVC(C=C, kernel="precomputed").fit(K[np.ix_(a, a)], y[a])
    return float(np.mean(model.predict(K[np.ix_(b, a)]) == y[b]))


@cache
def validated(model: str) -> list[tuple[float, float, Choice]]:
    """Accuracy in cross-validation, C and kernel of all settings of a model."""
    choices = map(Choice, product(*{**SINGLE, **SUMS}[model]))
    return [(score, C, choice) for choice in choices for C, score in choice.validate().items()]


def score(models: Sequence[str]) -> tuple[float, str]:
    """The test accuracy of the setting that is best in cross-validation, and what it was."""
    settings = [setting for model in models for setting in validated(model)]
    best, C, choice = max(settings, key=lambda setting: setting[0])
    kernel = " + ".join(choice.parts).replace(".normalize()", "")
    return choice.test(C), f"{kernel}, C = {C:g}; cross-validation {best:.4f}"


def trials() -> Iterator[Trial]:
    """The rows: single kernels, sums, and what cross-validation chooses of them all."""
    load()
    measure = "accuracy, 500 questions"
    for model in (*SINGLE, *SUMS):
        reference = REFERENCE if model.startswith("PartialTree") else ""
        yield Trial(model, measure, partial(score, [model]), reference)
    everything = [*SINGLE, *SUMS]
    yield Trial("the best in cross-validation", measure, partial(score, everything), least=0.9)


# ---- the picture ---------------------------------------------------------------------------------
def picture(path: Path) -> None:
    """Does a question ask for a place? The nodes of one of the test, and the best fragments."""
    import matplotlib.pyplot as plt

    from mercer.plots.trees import plot_nodes

    table = load()
    train, test = (table[table["split"] == part] for part in ("train", "test"))
    asks = (train["label"] == "LOC").to_numpy()
    model = SVC(C=5, kernel=SubsetTree(0.2).normalize()).fit(list(train["grct"]), asks)
    question = test[test["question"].str.startswith("What river in the US")].iloc[0]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 4.6), layout="constrained", width_ratios=(1, 2.1)
    )
    best = fragment_weights(model, 14)[::-1]
    hues = ["#2166ac" if weight > 0 else "#b2182b" for _, weight in best]
    left.barh([_plain(text) for text, _ in best], [weight for _, weight in best], color=hues)
    left.axvline(0, color="0.3", lw=0.8)
    left.set(title="fragments for and against a place", xlabel="what one occurrence adds")
    left.tick_params(axis="y", labelsize=8)
    plot_nodes(node_weights(model, question["grct"]), right, label=_plain)
    right.set_title(question["question"])
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _plain(text: str) -> str:
    """Without the kinds of labels: "POS##NN" and "LEX##river::n" become "NN" and "river"."""
    return re.sub(r"\w+##|::\w", "", text)


STUDY = Study("trec", "Questions (TREC)", trials, picture)
