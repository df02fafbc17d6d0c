"""What ``mercer fit`` says when it is done."""

from __future__ import annotations

from math import inf

import numpy as np

from ..kernels.base import Kernel
from .fit import Fit
from .model import SEARCH_ROWS
from .output import count, entry, grid, number
from .tables import Column

_MOST_NAMES = 12


def summary(fit: Fit) -> str:
    """What was done, what was found, and how good it is."""
    trained, kernel = fit.trained, fit.trained.ridge_.kernel_
    n, held = len(trained.ridge_.dual_coef_), 0 if fit.held_out is None else len(fit.held_out)
    rows = f"{count(n + held, 'row')}: {n} to fit, {held} held out"
    if fit.dropped:
        rows += f"; {count(fit.dropped, 'row')} with missing values left out"
    how = "leave-one-out" if trained.cv is None else f"{trained.cv}-fold cross-validation"
    tried = count(len(trained.alphas), "alpha")
    if trained.kernel is None:
        tried = f"{count(trained.n_settings_, 'kernel')} and {tried}"
    if n > SEARCH_ROWS:
        tried += f", on {SEARCH_ROWS} of the rows"
    chosen = (
        f"{trained.ridge_.alpha:g}; chosen by {how} among {tried}, RMSE {number(trained.cv_rmse_)}"
    )
    parts = [
        entry("data", rows, *_roles(fit.columns)),
        entry("plan", fit.plan),
        entry("kernel", repr(kernel), meaning(kernel)),
        entry("alpha", chosen),
    ]
    if fit.scores:
        parts.append(entry("held out", *_scores(fit)))
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
