"""How good a model is with fewer rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..data import take
from .columns import error_name, loss
from .judged import Judged, ask
from .markup import Html, join, number, paragraph, percent
from .page import Section
from .subject import Clock, Subject
from .svg import Chart, figure, figures

_SIZES, _REPEATS = 6, 3
_HELD, _MOST_HELD = 0.25, 500
_FLAT = 0.02  # share by which an error falls that counts as nothing


def learning_section(subject: Subject, judged: Judged, clock: Clock) -> Section:
    """Errors against the number of rows, on rows that are held out."""
    title = "Learning curve"
    if subject.pairwise:
        return Section(title, left_out="the model takes kernel values, so it cannot be refitted.")
    rows = subject.some(subject.max_rows, seed=2)
    held = max(1, min(_MOST_HELD, round(_HELD * len(rows))))
    most = len(rows) - held
    if most < 12:
        return Section(title, left_out=f"there are {len(rows)} rows, too few to divide.")
    classes = 1 if judged.classes is None else len(judged.classes)
    least = min(max(8, most // 32, 4 * classes), most)
    sizes = np.unique(np.geomspace(least, most, _SIZES).round().astype(int))
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
    caption = "The band is the range over splits. A wide gap between the curves means overfitting."
    return join([paragraph(says), figures(figure(chart, caption))])
