"""What ``mercer fit`` says when it is done."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ..kernels.base import Kernel
from ..models.svm import SVC
from ..tables.numbers import count
from ..tables.regressor import SEARCH_ROWS, exact
from ..tables.roles import Column
from .classify import Classification
from .fit import Fit
from .output import ROOM, entry, grid, number

_MOST_NAMES = 12
_MOST_CLASSES = 10  # of a confusion matrix


def summary(fit: Fit) -> str:
    """What was done, what was found, and how good it is."""
    trained, kernel = fit.trained, exact(fit.trained.ridge_.kernel_)
    n, held = trained.ridge_.n_samples_seen_, 0 if fit.held_out is None else len(fit.held_out)
    how = "leave-one-out" if trained.cv is None else f"{trained.cv}-fold cross-validation"
    tried = count(len(trained.alphas), "alpha")
    if trained.kernel is None:
        tried = f"{count(trained.n_settings_, 'kernel')} and {tried}"
    if n > SEARCH_ROWS:
        tried += f", on {SEARCH_ROWS} of the rows"
    chosen = (
        f"{trained.ridge_.alpha:g}; chosen by {how} among {tried}, RMSE {number(trained.cv_rmse_)}"
    )
    if trained.learned_:
        chosen += "; lengthscales were learned, one for each column"
    target = [f"the target: {fit.target}"] if fit.target else []
    parts = [
        entry("data", _rows(n, held, fit.dropped), *target, *_roles(fit.columns)),
        entry("plan", fit.plan),
        entry("kernel", repr(kernel), meaning(kernel)),
        entry("alpha", chosen),
    ]
    if fit.scores:
        parts.append(entry("held out", *_scores(fit)))
    return "\n".join(parts)


def classification_summary(fit: Classification) -> str:
    """The same for labels."""
    trained, machine = fit.trained, fit.trained.machine_
    n, kernel = fit.rows - fit.held, exact(fit.trained.machine_.kernel_)
    labels = ", ".join(map(str, trained.classes_[:_MOST_NAMES]))
    labels += ", ..." * (len(trained.classes_) > _MOST_NAMES)
    tried = f"{len(trained.alphas)} penalties"
    if trained.kernel is None:
        tried = f"{count(trained.n_settings_, 'kernel')} and {tried}"
    where = f", on {SEARCH_ROWS} of the rows" * (n > SEARCH_ROWS)
    chosen = f"chosen by {trained.n_folds_}-fold cross-validation among {tried} of least squares"
    if trained.n_finalists_:
        best = f"on the best {trained.n_finalists_}" if trained.n_finalists_ > 1 else "beside them"
        chosen += f", and {len(trained.Cs)} values of C of support vector machines {best}"
    chosen += f"{where}: accuracy {trained.cv_accuracy_:.3f}"
    parts = [
        entry(
            "data",
            _rows(n, fit.held, fit.dropped),
            f"{len(trained.classes_)} classes: {labels}",
            *_roles(fit.columns),
        ),
        entry("kernel", repr(kernel), meaning(kernel)),
    ]
    if isinstance(machine, SVC):
        parts.append(entry("machine", f"SVC with C = {machine.C:g}; {chosen}", *_margins(machine)))
    else:
        parts.append(entry("machine", f"least squares with C = {machine.C:g}; {chosen}"))
        parts.append(entry("plan", fit.plan))
    if fit.scores:
        cells = [[name, *(f"{x:.3f}" for x in s)] for name, s in fit.scores.items()]
        parts.append(entry("held out", *grid(["", "accuracy", "balanced", "log loss"], cells)))
        if len(trained.classes_) <= _MOST_CLASSES:
            parts.append(entry("confusion", *_confusion(fit)))
    return "\n".join(parts)


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
        reach = "not universal: some targets stay out of reach, however many rows there are"
    functions = f"its functions are {' and '.join(words)}" if words else ""
    return "; ".join(filter(None, [functions, reach])) or "of its functions little is known"


def _rows(n: int, held: int, dropped: int) -> str:
    rows = f"{count(n + held, 'row')}: {n} to fit, {held} held out"
    if dropped:
        rows += f"; {count(dropped, 'row')} with missing values left out"
    return rows


def _margins(machine: SVC) -> list[str]:
    """How many support vectors there are, and how near the optimum the machine is."""
    reports: list[Any] = machine.decision_path()
    gap = max(r.gap / abs(r.primal) if r.primal else 0.0 for r in reports)
    several = len(reports) > 1
    bounded = f"{sum(r.bounded for r in reports)} {'times' if several else 'of them'}"
    return [
        f"{count(int(machine.n_support_.sum()), 'support vector')}, {bounded} inside the margin; "
        f"{f'{len(reports)} {machine._problems}, smallest ' if several else ''}margin "
        f"{number(min(r.margin for r in reports))}; the duality gap proves that the objective is "
        f"within {100 * max(gap, 0.0):.2g}% of the optimum"
    ]


def _confusion(fit: Classification) -> list[str]:
    """True classes in rows, predicted ones in columns; long names are cut."""
    classes = [str(label) for label in fit.trained.classes_]
    k = len(classes)
    width = max(2, (ROOM - 20) // k - 3)
    rows = [[name[:17], *map(str, row)] for name, row in zip(classes, fit.confusion, strict=True)]
    return grid(["true \\ predicted", *(name[:width] for name in classes)], rows)


def _roles(columns: list[Column]) -> list[str]:
    lines = []
    for role, what in (("number", "number"), ("label", "label"), ("text", "text")):
        names = [c.name for c in columns if c.role == role]
        if names:
            more = f", ... ({len(names) - _MOST_NAMES} more)" * (len(names) > _MOST_NAMES)
            lines.append(f"{count(len(names), what)}: {', '.join(names[:_MOST_NAMES])}{more}")
    lines += [f"{c.name}: {c.why}" for c in columns if c.role != "skipped" and c.why]
    return lines + [f"skipped {c.name}: {c.why}" for c in columns if c.role == "skipped"]


def _scores(fit: Fit) -> list[str]:
    cells = [[name, *map(number, s[:2]), f"{s[2]:.3f}"] for name, s in fit.scores.items()]
    lines = grid(["", "RMSE", "MAE", "R2"], cells)
    errors = np.abs(fit.held_out["target"] - fit.held_out["prediction"])
    if fit.held_out["std"].notna().all():
        share = float(np.mean(errors <= 1.96 * fit.held_out["std"]))
        lines.append(f"{share:.0%} of the targets lie within 1.96 standard deviations (95% would)")
    return lines
