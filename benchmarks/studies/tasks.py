"""Tasks with a given test part, scored by the area under the curve: DNA and proteins.

What is chosen, a kernel of several and C, is what has the largest mean area in five folds of the
training part, three times over; of equal ones the first. With many training sequences the choice is
made on 2000 of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score

from mercer import SVC, Kernel

from .frame import text_table

CS = (0.1, 1.0, 10.0)
_MANY = 2000  # training sequences on which a choice is made


class Task(NamedTuple):
    """Sequences with labels, True or False, for training and for the test."""

    X: list[str]
    y: np.ndarray
    new: list[str]
    truth: np.ndarray


def tasks(file: str) -> dict[str, Task]:
    """The tasks in a file, by name."""
    found = {}
    for name, of in text_table(file).groupby("task"):
        train, test = (of[of["split"] == part] for part in ("train", "test"))
        sides = [(list(s["sequence"]), s["label"].to_numpy() == "1") for s in (train, test)]
        found[str(name)] = Task(*sides[0], *sides[1])
    return found


class Contender:
    """A kernel on a task; its matrices are computed once, for every C."""

    def __init__(self, task: Task, kernel: Kernel) -> None:
        self.task, self.kernel = task, kernel.resolve(task.X)

    @cached_property
    def K(self) -> np.ndarray:
        """Of the training sequences."""
        return self.kernel(self.task.X)

    def area(self, C: float = 1.0) -> float:
        """The area under the curve on the test part."""
        model = SVC(C=C, kernel="precomputed").fit(self.K, self.task.y)
        scores = model.decision_function(self.kernel(self.task.new, self.task.X))
        return float(roc_auc_score(self.task.truth, scores))

    def validate(self, Cs: Sequence[float] = CS) -> list[float]:
        """The mean area over the folds, for every C."""
        n = len(self.task.y)
        some = np.sort(np.random.default_rng(0).permutation(n)[:_MANY])
        K, y = self.K[np.ix_(some, some)], self.task.y[some]
        folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
        models = (SVC(C=C, kernel="precomputed") for C in Cs)
        return [cross_val_score(m, K, y, cv=folds, scoring="roc_auc").mean() for m in models]


def choose(contenders: Mapping[str, Contender], Cs: Sequence[float] = CS) -> tuple[str, float]:
    """The name of the kernel and the C with the largest area in cross-validation."""
    found = np.array([one.validate(Cs) for one in contenders.values()])
    best, at = np.unravel_index(np.argmax(found), found.shape)
    return list(contenders)[best], Cs[at]


def chosen_area(task: Task, kernels: Mapping[str, Kernel]) -> tuple[float, str]:
    """The area on the test part for what was chosen on the training part, and what that was."""
    contenders = {name: Contender(task, kernel) for name, kernel in kernels.items()}
    name, C = choose(contenders)
    return contenders[name].area(C), f"{name}, C = {C:g}"
