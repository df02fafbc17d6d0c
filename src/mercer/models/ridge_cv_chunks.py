"""Choosing alpha and kernel of a ridge regression of samples in chunks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from ..chunks.base import Chunk, Chunks, Sums
from ..solvers.falkon import targets
from ..solvers.ridge_sums import RidgeSums
from .grid import Setting
from .streamed import surveyed

Scores = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _squared(errors: np.ndarray, spread: np.ndarray, mass: np.ndarray) -> np.ndarray:
    return -(errors / mass[..., None]).mean(axis=-1)


def _root(errors: np.ndarray, spread: np.ndarray, mass: np.ndarray) -> np.ndarray:
    return -np.sqrt(errors / mass[..., None]).mean(axis=-1)


def _explained(errors: np.ndarray, spread: np.ndarray, mass: np.ndarray) -> np.ndarray:
    known = spread > 0
    shares = np.divide(errors, spread, where=known, out=np.where(errors > 0, 1.0, 0.0))
    return (1 - shares).mean(axis=-1)


# of sums of squared errors, shape (..., t), the spread of targets and the weight of samples
SCORES: dict[str, Scores] = {
    "neg_mean_squared_error": _squared,
    "neg_root_mean_squared_error": _root,
    "r2": _explained,
}


def choose_by_passes(model: Any, chunks: Chunks, alphas: np.ndarray, folds_of: Any) -> None:
    """Score all settings: a pass for each kernel, one more where samples are left out one by one.

    ``folds_of(n)`` gives the number of the fold of each sample that is not held out.
    """
    if model.scoring not in SCORES:
        raise ValueError(
            f"scoring={model.scoring!r} needs a prediction for each sample; for chunks use one of "
            f"{tuple(SCORES)}, which are computed from sums."
        )
    surveyed(chunks, labels=False)
    n, measure = chunks.n_samples, SCORES[model.scoring]
    inside, outside = model._parts(n, None)
    folds, tested = None, 0
    if model.cv is not None or len(outside):
        own = np.zeros(len(inside), np.intp) if model.cv is None else folds_of(len(inside))
        tested = int(own.max()) + 1
        folds = np.full(n, tested, dtype=np.int16)
        folds[inside] = own
    if model.cv is None and len(outside):
        raise ValueError("leave-one-out on chunks needs all samples; use test_size=0, or cv=5.")
    center = chunks.reduce(_sum_of_targets)
    middle = center[0] / center[1]
    listed = alphas.tolist()

    def sums_of(setting: Setting) -> RidgeSums:
        candidate = clone(model).set_params(**clone(setting, safe=False))
        return RidgeSums(candidate._make_gram(chunks), folds, middle)

    def score(setting: Setting) -> list[np.ndarray]:
        sums = sums_of(setting)
        if model.cv is None:
            errors = sums.left_out(listed).errors[:, None]
        else:
            sums = _inside(sums, tested)
            errors = sums.errors(listed)
        return list(measure(errors, sums.spread, sums.mass))

    model._search(model._settings(chunks), [{"alpha": alpha} for alpha in listed], score)
    model.alpha_ = model.best_params_["alpha"]
    model.test_score_ = np.nan
    if len(outside):
        best = {name: v for name, v in model.best_params_.items() if name != "alpha"}
        sums = sums_of(best)
        V = _inside(sums, tested).solve([model.alpha_])
        errors = sums.on(tested, V)[0]
        model.test_score_ = float(measure(errors, sums.spread[tested], sums.mass[tested]))


def _inside(sums: RidgeSums, tested: int) -> RidgeSums:
    """Without the held-out samples for the final test, which are the last fold."""
    some = object.__new__(RidgeSums)
    some.gram = sums.gram
    for name in ("moments", "sums", "squares", "spread", "mass"):
        setattr(some, name, getattr(sums, name)[:tested])
    return some


def _sum_of_targets(chunk: Chunk) -> Sums:
    return targets(chunk).sum(axis=0), np.array(float(len(chunk)))
