"""The summary printed by ``mercer fit``."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..kernels.base import Kernel
from ..tables.members import Given
from ..tables.numbers import count, part_of
from ..tables.roles import Column
from .output import ROOM, entry, grid, number
from .tasks import LABELS, NUMBERS, Fit, Task

_MOST_NAMES = 12
_MOST_CLASSES = 10  # of a confusion matrix
_MOST_TOLD = 12  # columns of which there is something to say
_OF_KERNELS = "mercer tune learns the parameters of a kernel, and + 1 adds a constant to it"
_BETTER = 0.01  # by how much a rival must be better to be mentioned


def summary(fit: Fit) -> str:
    """What was done, what was found, and how good it is."""
    trained, said = fit.trained, list(fit.notes)
    if fit.task is LABELS:
        said.insert(
            0, f"{len(trained.classes_)} classes: {_listed(list(map(str, trained.classes_)))}"
        )
    parts = [
        entry("data", _rows(fit.rows - fit.held, fit.held, fit.dropped), *said),
        entry("columns", *_roles(fit.columns)),
        *_kernels(trained, fit.rows - fit.held),
    ]
    if fit.scores:
        parts.append(entry("held out", *_scores(fit)))
        parts += _verdict(fit)
        if fit.confusion is not None and len(trained.classes_) <= _MOST_CLASSES:
            parts.append(entry("confusion", *_confusion(fit)))
    return "\n".join(parts)


def outcome(fit: Fit) -> dict[str, Any]:
    """The same for machines."""
    trained = fit.trained
    told: dict[str, Any] = {
        "task": fit.task.name,
        "rows": {"fit": fit.rows - fit.held, "held_out": fit.held, "left_out": fit.dropped},
        "rows_used": trained.rows_,
        "notes": fit.told,
        "columns": [{"name": c.name, "role": c.role, "note": c.why} for c in fit.columns],
        "kernels": trained.kernel_words(),
        "relevance": trained.relevance_,
        "scores": {
            name: dict(zip(fit.task.measures, s, strict=True)) for name, s in fit.scores.items()
        },
    }
    if fit.task is LABELS:
        told |= {"classes": trained.classes_, "confusion": fit.confusion}
        told["validation_accuracy"] = trained.validation_accuracy_
    elif fit.held_out is not None:
        told["interval_coverage"] = _coverage(fit)
    return told


def meaning(kernel: Kernel) -> str:
    """The most telling properties of a kernel, in a line."""
    p = kernel.properties
    words = ["bounded"] if p.bounded else []
    if p.smooth.at_least == inf:
        words.append("infinitely smooth")
    elif p.smooth.at_least >= 1:
        words.append(f"{p.smooth.at_least:g} times differentiable")
    elif p.continuous:
        words.append("continuous")
    reach = ""
    if p.universal:
        reach = "universal: with enough rows, every continuous target can be learned"
    elif p.universal.no:
        reach = "not universal: some targets cannot be learned, however many rows there are"
    functions = f"its functions are {' and '.join(words)}" if words else ""
    return "; ".join(filter(None, [functions, reach])) or "little is known about its functions"


def _kernels(model: Any, fit_rows: int) -> list[str]:
    """The blend, how it was chosen, and what counts in it."""
    effort, choice = model.effort_, model.choice_
    given = isinstance(model.members_[0], Given)
    lines = model.kernel_words()
    if given:
        lines.append(meaning(model.members_[0].machine_.kernel_))
        lines.append(f"alpha {model.members_[0].alpha:g}, chosen among {choice.tried}")
    else:
        how = f"{effort.folds}-fold cross-validation" if effort.folds > 1 else (
            f"predicting {count(len(choice.rows), 'row')} from {effort.rows} others"
        )  # fmt: skip
        tried = count(len(choice.searched["kernels"]), "kernel")
        what = f"{tried} and {choice.tried} settings compared by {how}"
        lines.append(what + "; not all were tried within the time limit" * choice.stopped)
        if model.rows_ < fit_rows:
            lines.append(
                f"fitted to {part_of(model.rows_, fit_rows)}, as the budget and --memory allow"
            )
    told = [entry("kernel" if len(lines) <= 2 else "kernels", *lines)]
    relevant = [f"{n} {100 * r:.0f}%" for n, r in model.relevance_.items() if r > 0.005]
    alike = len({r for r in model.relevance_.values() if r > 0.005}) == 1  # nothing was learned
    if not given and len(relevant) > 1 and not alike:
        told.append(entry("relevance", _listed(relevant)))
    return told


def _verdict(fit: Fit) -> list[str]:
    """Where something simpler, or boosted trees, would do as well or better."""
    scores, what = {name: fit.task.main(s) for name, s in fit.scores.items()}, fit.task.best
    ours = scores["kernels"]
    given = isinstance(fit.trained.members_[0], Given)
    words = []
    if scores.get("boosted trees", -inf) > ours + _BETTER:
        remedy = "another --kernel" if given else "a longer --budget"
        words.append(
            f"boosted trees are better on these rows ({what} {scores['boosted trees']:.3f}, "
            f"kernels {ours:.3f}): {remedy} may help, or use them"
        )
    line = scores.get("linear", -inf)
    if scores[fit.task.constant] > max(ours, line) - _BETTER / 2:
        words.append(_nothing_learned(fit.task, given))
        return [entry("verdict", *words)]
    if line > ours + _BETTER:
        hint = f"; {_OF_KERNELS}" if given else ""
        words.append(f"a linear model is better on these rows ({what} {line:.3f}){hint}")
    elif line > ours - _BETTER / 2:
        words.append("a linear model does as well on these rows, and is easier to explain")
    return [entry("verdict", *words)] if words else []


def _nothing_learned(task: Task, given: bool) -> str:
    """The message if a constant does as well."""
    if task is LABELS:
        return (
            "always predicting the most frequent class is as accurate: look at the balanced "
            "accuracy and the log loss"
        )
    hint = f"; {_OF_KERNELS}" if given else ""
    return f"the mean does as well: the columns carry little information about the target{hint}"


def _rows(n: int, held: int, dropped: int) -> str:
    rows = f"{count(n + held, 'row')}: {n} to fit, {held} held out"
    if dropped:
        rows += f"; {count(dropped, 'row')} left out, without a target or with missing values"
    return rows


def _confusion(fit: Fit) -> list[str]:
    """True classes in rows, predicted ones in columns; long names are cut."""
    classes = [str(label) for label in fit.trained.classes_]
    k = len(classes)
    width = max(2, (ROOM - 20) // k - 3)
    rows = [[name[:17], *map(str, row)] for name, row in zip(classes, fit.confusion, strict=True)]
    return grid(["true \\ predicted", *(name[:width] for name in classes)], rows)


def _roles(columns: list[Column]) -> list[str]:
    lines = []
    for role in ("number", "label", "date", "text"):
        names = [c.name for c in columns if c.role == role]
        if names:
            lines.append(f"{count(len(names), role)}: {_listed(names)}")
    notes: dict[tuple[bool, str], list[str]] = {}  # columns of which the same is to be said
    for c in sorted(columns, key=lambda c: c.role == "skipped"):
        if c.why or c.role == "skipped":
            notes.setdefault((c.role == "skipped", c.why), []).append(c.name)
    told = ["skipped " * skipped + f"{_listed(n)}: {why}" for (skipped, why), n in notes.items()]
    rest = [f"... and {count(len(told) - _MOST_TOLD, 'more note')}"] * (len(told) > _MOST_TOLD)
    return lines + told[:_MOST_TOLD] + rest


def _listed(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f", ... ({len(names) - _MOST_NAMES} more)" * (len(names) > _MOST_NAMES)
    return ", ".join(names[:_MOST_NAMES]) + more


def _coverage(fit: Fit) -> float:
    held = fit.held_out
    return float(np.mean((held["target"] >= held["low"]) & (held["target"] <= held["high"])))


def _scores(fit: Fit) -> list[str]:
    numeric = fit.task is NUMBERS
    cells = [
        [name, *(number(x) if numeric and i < 2 else f"{x:.3f}" for i, x in enumerate(s))]
        for name, s in fit.scores.items()
    ]
    lines = [*grid(["", *fit.task.measures], cells), *fit.told]
    covered = f"{_coverage(fit):.0%} of the targets lie in their 90% interval" if numeric else ""
    return [*lines, covered] if covered else lines
