"""How good a model is with fewer rows, and with other hyper-parameters."""

from __future__ import annotations

import time
from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from ..data import take
from ..kernels.base import Kernel
from ..tables.regressor import exact
from .columns import error_name, loss
from .judged import Judged, ask
from .maps import heat_map
from .markup import Html, join, number, paragraph, percent
from .page import Section
from .subject import Clock, Subject
from .svg import Chart, figure, figures

_SIZES, _REPEATS = 6, 3
_HELD, _MOST_HELD = 0.25, 500
_ROWS, _FOLDS = 400, 3  # of the validation surface
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of lengthscales
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)  # times the one of the model
_FLAT = 0.02  # share by which an error falls that counts as nothing


def learning_section(subject: Subject, judged: Judged, clock: Clock) -> Section:
    """Errors against the number of rows, on rows that are held out."""
    title = "Learning curve"
    if subject.pairwise:
        return Section(title, left_out="the model takes kernel values, which are not refitted.")
    rows = subject.some(subject.max_rows, seed=2)
    held = max(1, min(_MOST_HELD, round(_HELD * len(rows))))
    most = len(rows) - held
    if most < 12:
        return Section(title, left_out=f"there are {len(rows)} rows, too few to divide.")
    sizes = np.unique(np.geomspace(max(8, most // 32), most, _SIZES).round().astype(int))
    inside = np.full((_REPEATS, len(sizes)), np.nan)
    outside = inside.copy()
    for turn in range(_REPEATS):
        order = np.random.default_rng([subject.seed, 3, turn]).permutation(rows)
        test, train = np.sort(order[:held]), order[held:]
        for i, size in enumerate(sizes):
            start = time.perf_counter()
            part = train[:size]
            if subject.classifier and len(np.unique(subject.y[part])) < 2:
                continue
            model = subject.fitted(part)
            inside[turn, i] = _loss(subject, judged, model, part)
            outside[turn, i] = _loss(subject, judged, model, test)
            took = time.perf_counter() - start
            following = sizes[i + 1] / size if i + 1 < len(sizes) else 0.1
            if clock.left < took * following**2 * (turn > 0 or i > 0):
                break
        if clock.left < 0:
            break
    if np.isfinite(outside).sum() < 2:
        return Section(title, left_out=subject.clock.refusal())
    return Section(title, _drawn(sizes, inside, outside, error_name(judged), held))


def _loss(subject: Subject, judged: Judged, model: Any, rows: np.ndarray) -> float:
    rows = rows[:_MOST_HELD]
    answers = ask(subject, model, take(subject.X, rows), judged.classes)
    return loss(answers, subject.y[rows], judged.classes)


def _drawn(
    sizes: np.ndarray, inside: np.ndarray, outside: np.ndarray, name: str, held: int
) -> Html:
    kept = np.isfinite(outside).any(axis=0)
    sizes, inside, outside = sizes[kept], inside[:, kept], outside[:, kept]
    error, own = np.nanmean(outside, axis=0), np.nanmean(inside, axis=0)
    finite = np.concatenate([outside[np.isfinite(outside)], own[np.isfinite(own)]])
    top = float(np.nanquantile(finite, 1.0)) * 1.05
    words = f"{name} against the number of training rows: " + ", ".join(
        f"{number(e, 3)} with {n}" for n, e in zip(sizes, error, strict=True)
    )
    ticks = [(float(n), number(int(n))) for n in sizes]
    chart = Chart(
        words, (sizes[0], sizes[-1]), (0, top), "training rows", name, xlog=True, xticks=ticks
    )
    if np.isfinite(outside).sum(axis=0).min() > 1:
        chart.band(sizes, np.nanmin(outside, axis=0), np.nanmax(outside, axis=0), 1)
    chart.line(sizes, error, 1, label=f"{held} rows held out").points(sizes, error, 1, size=7)
    chart.line(sizes, own, 2, dashed=True, label="rows it was fitted to")
    fell = 1 - error[-1] / error[-2] if len(error) > 1 and error[-2] > 0 else 0.0
    says = f"From {number(int(sizes[-2]))} to {number(int(sizes[-1]))} rows the {name} "
    if fell > _FLAT:
        says += f"fell by {percent(fell)}: more rows are likely to help."
    else:
        says += "hardly fell: more rows alone will not help much."
    caption = "The band is the range over splits. A wide gap between the curves is noise learned."
    return join([paragraph(says), figures(figure(chart, caption))])


# ---- the validation surface -----------------------------------------------------------------
def surface_section(subject: Subject, judged: Judged, clock: Clock) -> Section:
    """Validation errors over the penalty and the lengthscale, around those of the model."""
    title = "Validation surface"
    searched = _searched(subject.model)
    if searched is not None:
        return Section(title, searched)
    prefix, final = _path(subject.model)
    penalty = next((n for n in ("alpha", "C") if _is_number(getattr(final, n, None))), None)
    kernel, several = getattr(final, "kernel_", None), False
    if hasattr(final, "alphas") and _is_number(getattr(subject.inner, "alpha", None)):
        penalty, kernel, several = "alpha", exact(subject.inner.kernel_), True  # of a table
    if penalty is None or not isinstance(kernel, Kernel) or not hasattr(final, "set_params"):
        return Section(
            title,
            left_out=f"{type(final).__name__} has no penalty of its own to vary.",
        )
    if subject.pairwise:
        return Section(title, left_out="the model takes kernel values, which are not refitted.")
    base = float(getattr(subject.inner if several else final, penalty)) or 1e-8
    scales = [h for h in kernel.hyperparameters() if h.name.rpartition("__")[2] == "lengthscale"]
    factors = _FACTORS if scales else (1.0,)
    rows = subject.some(_ROWS, seed=4)
    parts = _folds(subject, rows)
    if not parts:
        return Section(title, left_out="there are too few rows to divide.")
    errors = np.full((len(factors), len(_PENALTIES)), np.nan)
    cells = sorted(
        np.ndindex(*errors.shape),
        key=lambda c: abs(c[0] - len(factors) // 2) + abs(c[1] - len(_PENALTIES) // 2),
    )
    for i, j in cells:  # from the middle outwards, as far as time allows
        other = deepcopy(kernel)
        other.set_params(**{h.name: np.asarray(h.value) * factors[i] if np.ndim(h.value) else
                            h.value * factors[i] for h in scales})  # fmt: skip
        value: Any = base * _PENALTIES[j]
        name, value = ("alphas", (value,)) if several else (penalty, value)
        changes = {f"{prefix}kernel": other, f"{prefix}{name}": value}
        errors[i, j] = _validated(subject, judged, changes, parts)
        if clock.left < 0:
            break
    penalties = [number(base * p, 2) for p in _PENALTIES]
    name = error_name(judged)
    words = f"{name} by {len(parts)}-fold cross-validation on {len(rows)} rows."
    best = np.unravel_index(np.nanargmin(errors), errors.shape)
    here = errors[len(factors) // 2, len(_PENALTIES) // 2]
    if here <= np.nanmin(errors) * 1.01:
        says = "The model is at the best place of its surroundings, or within 1% of it."
    else:
        says = (
            f"A smaller error is nearby: {number(float(errors[best]), 3)} with {penalty} = "
            f"{penalties[best[1]]}" + f" and lengthscales times {factors[best[0]]:g}" * bool(scales)
            + f", {number(float(here), 3)} for the model. tune() would find out."
        )  # fmt: skip
    left = [f"× {f:g}" for f in factors] if scales else [""]
    picture = heat_map(errors, penalties, left, penalty, "lengthscale" if scales else "", name,
                       frame=(len(factors) // 2, len(_PENALTIES) // 2))  # fmt: skip
    caption = f"{words} The model is framed."
    return Section(title, join([paragraph(says), figures(figure(picture, caption, wide=True))]))


def _validated(subject: Subject, judged: Judged, changes: dict[str, Any], parts: list) -> float:
    found = []
    for train, test in parts:
        try:
            model = clone(subject.model).set_params(**changes)
            model = subject.fitted(train, model)
            answers = ask(subject, model, take(subject.X, test), judged.classes)
            found.append(loss(answers, subject.y[test], judged.classes))
        except (ValueError, FloatingPointError, np.linalg.LinAlgError):
            return float("nan")
    return float(np.mean(found))


def _folds(subject: Subject, rows: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    order = np.random.default_rng([subject.seed, 5]).permutation(rows)
    found = []
    for i in range(min(_FOLDS, len(rows))):
        test = order[i::_FOLDS]
        train = np.setdiff1d(order, test)
        if len(train) > 2 and (not subject.classifier or len(np.unique(subject.y[train])) > 1):
            found.append((train, test))
    return found


def _path(model: Any) -> tuple[str, Any]:
    """The last step of a pipeline, and what its parameters begin with."""
    prefix = ""
    while isinstance(model, Pipeline):
        name, model = model.steps[-1]
        prefix += f"{name}__"
    return prefix, model


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _searched(model: Any) -> Html | None:
    """What a search has found already, where it has one or two numbers to choose."""
    found = _path(model)[1]
    results = getattr(found, "cv_results_", None)
    if not isinstance(results, dict) or "params" not in results:
        return None
    settings, scores = list(results["params"]), np.asarray(results["mean_test_score"], float)
    names = [n for n in settings[0] if all(_is_number(s.get(n)) for s in settings)]
    names = [n for n in names if len({s[n] for s in settings}) > 1]
    if not names or not np.isfinite(scores).any():
        return None
    across = names[-1] if len(names) > 1 else names[0]
    others = [{k: v for k, v in s.items() if k != across} for s in settings]
    lines = list(dict.fromkeys(map(repr, others)))[:12]
    values = sorted({s[across] for s in settings})
    grid = np.full((len(lines), len(values)), np.nan)
    for s, o, score in zip(settings, others, scores, strict=True):
        if repr(o) in lines:
            grid[lines.index(repr(o)), values.index(s[across])] = score
    left = [_named(o) for o in (others[[repr(x) for x in others].index(line)] for line in lines)]
    best = np.unravel_index(np.nanargmax(grid), grid.shape)
    picture = heat_map(grid, [number(v, 2) for v in values], left, across, "", "score",
                       frame=(int(best[0]), int(best[1])), dark_is_low=True)  # fmt: skip
    words = f"Scores of the search among {len(settings)} settings; the best one is framed."
    return figures(figure(picture, words, wide=True))


def _named(setting: dict[str, Any]) -> str:
    words = ", ".join(
        f"{k.rpartition('__')[2]}={number(v, 2) if _is_number(v) else v}"
        for k, v in setting.items()
    )
    return words if len(words) < 30 else words[:29] + "…"
