"""How good a model is with other hyper-parameters: errors around those that it has."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from ..checks import is_number
from ..data import take
from ..kernels.base import Kernel
from ..tables.model import FORMULAS, TableModel
from .columns import error_name, loss
from .judged import Judged, ask
from .maps import heat_map
from .markup import Html, count, join, number, paragraph
from .page import Section
from .subject import Clock, Subject
from .svg import figure, figures

_ROWS, _FOLDS = 400, 3
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)  # of lengthscales
_PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)  # times the one of the model
_MIDDLE = 2  # where both are 1
_SAME = 1.01  # errors that differ by no more than this factor


class Knobs(NamedTuple):
    """What of a model can be turned: its kernel, its penalty, and how both are set."""

    kernel: Kernel
    penalty: str
    value: float
    settings: Callable[[Kernel, float], dict[str, Any]]


def surface_section(subject: Subject, judged: Judged, clock: Clock) -> Section:
    """Validation errors over the penalty and the lengthscale, around those of the model."""
    title = "Validation surface"
    searched = _searched(subject.model) or _of_table(subject.inner)
    if searched is not None:
        return Section(title, searched)
    if subject.clock.left <= 0:
        return Section(title, left_out=subject.clock.refusal())
    knobs = _knobs(subject)
    if knobs is None and isinstance(subject.inner, TableModel):
        return Section(title, left_out="the model was fitted by an earlier version of mercer, "
                                       "which did not keep its search.")  # fmt: skip
    if knobs is None:
        name = type(_path(subject.model)[1]).__name__
        return Section(title, left_out=f"{name} has no penalty of its own to vary.")
    if subject.pairwise:
        return Section(title, left_out="the model takes kernel values, so it cannot be refitted.")
    rows = subject.some(_ROWS, seed=4)
    parts = _folds(subject, rows)
    if not parts:
        return Section(title, left_out="there are too few rows to divide.")
    scales = [
        h for h in knobs.kernel.hyperparameters() if h.name.rpartition("__")[2] == "lengthscale"
    ]
    factors = _FACTORS if scales else (1.0,)
    middle = _MIDDLE if scales else 0
    errors = np.full((len(factors), len(_PENALTIES)), np.nan)
    places = list(np.ndindex(*errors.shape))
    places.sort(key=lambda at: abs(at[0] - middle) + abs(at[1] - _MIDDLE))
    for i, j in places:  # from the middle outwards, as far as time allows
        other = deepcopy(knobs.kernel)
        other.set_params(**{h.name: np.multiply(h.value, factors[i])[()] for h in scales})
        settings = knobs.settings(other, knobs.value * _PENALTIES[j])
        errors[i, j] = _validated(subject, judged, settings, parts)
        if clock.left < 0:
            break
    here = float(errors[middle, _MIDDLE])
    if not np.isfinite(here):
        return Section(title, left_out="the model could not be refitted to parts of the rows.")
    penalties = [number(knobs.value * p, 2) for p in _PENALTIES]
    best = np.unravel_index(np.nanargmin(errors), errors.shape)
    if here <= _SAME * float(errors[best]):
        says = "The model is at the best point nearby, or within 1% of it."
    else:
        says = (
            f"A smaller error is nearby: {number(float(errors[best]), 3)} with {knobs.penalty} = "
        )
        says += penalties[best[1]]
        if scales:
            says += f" and lengthscales times {factors[best[0]]:g}"
        says += f", {number(here, 3)} for the model. tune() could find it."
    left = [f"× {f:g}" for f in factors] if scales else [""]
    down = "lengthscale" if scales else ""
    name = error_name(judged)
    place = (middle, _MIDDLE)
    picture = heat_map(errors, penalties, left, knobs.penalty, down, name, frames=[place])
    caption = f"{name} by {len(parts)}-fold cross-validation on {len(rows)} rows. "
    caption += "The model is framed."
    return Section(title, join([paragraph(says), figures(figure(picture, caption, wide=True))]))


def _knobs(subject: Subject) -> Knobs | None:
    prefix, final = _path(subject.model)
    inner = subject.inner
    kernel = getattr(inner, "kernel_", None)
    if not isinstance(kernel, Kernel):
        return None
    if inner is not final:
        return None
    if hasattr(final, "optimizer") and is_number(getattr(final, "alpha_", None)):
        return Knobs(  # a Gaussian process, which would go back to where it was
            kernel, "alpha", float(final.alpha_) or 1e-8,
            lambda k, a: {
                f"{prefix}kernel": k, f"{prefix}alpha": a, f"{prefix}optimizer": None,
            },
        )  # fmt: skip
    name = next((n for n in ("alpha", "C") if is_number(getattr(final, n, None))), None)
    if name is None or not hasattr(final, "set_params"):
        return None
    value = float(getattr(final, name)) or 1e-8
    return Knobs(kernel, name, value, lambda k, a: {f"{prefix}kernel": k, f"{prefix}{name}": a})


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


def _searched(model: Any) -> Html | None:
    """The scores of an earlier search over one or two parameters."""
    found = _path(model)[1]
    results = getattr(found, "cv_results_", None)
    if not isinstance(results, dict) or "params" not in results:
        return None
    settings, scores = list(results["params"]), np.asarray(results["mean_test_score"], float)
    names = [n for n in settings[0] if all(is_number(s.get(n)) for s in settings)]
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
                       frames=[(int(best[0]), int(best[1]))], dark_is_low=True)  # fmt: skip
    words = f"Scores of the search among {len(settings)} settings; the best one is framed."
    return figures(figure(picture, words, wide=True))


def _of_table(model: Any) -> Html | None:
    """The search of a model of tables: errors of all kernels and penalties it has compared."""
    found = getattr(model, "search_", None)
    if not isinstance(model, TableModel) or not found:
        return None
    errors, alphas = np.asarray(found["errors"], dtype=float), found["alphas"]
    chosen = [(int(i), int(j)) for i, j in found["chosen"]]
    least = float(np.nanmin(errors))
    last = len(alphas) - 1
    near = int(np.sum(errors <= _SAME * least))
    tried = f"{count(len(errors), 'kernel')} with {count(last + 1, 'penalty', 'penalties')} each"
    says = (
        f"The search compared {tried}, on rows held out. {near} of {errors.size} settings are "
        "within 1% of the best."
    )
    if len(chosen) > 1:
        says += f" The model is a blend of {len(chosen)} of them, with an error of "
        says += f"{_share(model.validation_error_)}; that of the best alone is {_share(least)}."
    for end, word in ((0, "small"), (last, "larg")) if last else ():
        if any(j == end for _, j in chosen):
            says += (
                f" A chosen penalty is the {word}est that was tried: {word}er ones may be better."
            )
    picture = heat_map(100 * errors, [number(a, 2) for a in alphas], list(found["kernels"]),
                       "alpha", "", "error in % of the variance", frames=chosen)  # fmt: skip
    what = "class scores" if is_classifier(model) else "the target"
    kinds = " ".join(found["kernels"]).replace(",", " ").split()
    legend = [f"{name}: {words}" for name, words in FORMULAS.items() if name in kinds]
    legend += ["full: with directions that were learned"] * ("full" in kinds)
    caption = (
        f"Mean squared error for {what} in per cent of the variance, after the best round of "
        "learning distances; the members of the blend are framed. They were chosen on the same "
        "rows, so the smallest errors are slightly too small. "
    ) + "; ".join(legend)
    caption += "." if legend else ""
    return join([paragraph(says), figures(figure(picture, caption, wide=True))])


def _share(error: float) -> str:
    return f"{number(100 * error, 3)}%"


def _named(setting: dict[str, Any]) -> str:
    words = ", ".join(
        f"{k.rpartition('__')[2]}={number(v, 2) if is_number(v) else v}" for k, v in setting.items()
    )
    return words if len(words) < 30 else words[:29] + "…"
