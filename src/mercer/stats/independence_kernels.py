"""The kernels of a test of independence: which, from how many landmarks, and what they miss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import check_count
from ..data import take
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from . import permutation_test
from .aggregate import as_kernels
from .independence_grid import dependence_grid
from .planned import landmark_note
from .variables import Variables, about_one, dense_features

_LARGE = 4e9  # kernel values, of all kernels, from which on they are approximated
_WORK = 1e11  # products of features, of all pairs of kernels, that landmarks are chosen for
_LANDMARKS = (10, 200)  # at least, at most


def candidates_of(joint: Variables, place: int, kernel: Any) -> list[Kernel]:
    """The kernels to be used for a variable, with all parameters from its own data."""
    if kernel is None:
        return dependence_grid(joint.data[place])
    X = joint.data[place]
    return [about_one(joint.kernel(place, k), X, 4) for k in as_kernels(kernel) or [kernel]]


def rank_of(
    candidates: list[list[Kernel]],
    joint: Variables,
    landmarks: int | str | None,
    n_permutations: int,
    memory: float,
) -> int | None:
    """The number of landmarks; None for an exact computation."""
    n = joint.n
    pairs = zip(candidates, joint.data, strict=True)
    infinite = sum(not dense_features(k, X) for kernels, X in pairs for k in kernels)
    if landmarks == "auto":
        if len(joint) > 2 or infinite * float(n) ** 2 <= _LARGE:
            return None
        work = len(candidates[0]) * len(candidates[1]) * n
        held = 8.0 * n_permutations * len(candidates[1])  # products of features, and features
        return int(np.clip(min(np.sqrt(_WORK / work), np.sqrt(memory / held)), *_LANDMARKS))
    if landmarks is None or not infinite:
        return None
    check_count("landmarks", landmarks, 1, n, also=("auto", None))
    if len(joint) > 2:
        raise ValueError("landmarks are for two variables; give kernels of type Nystrom instead.")
    return int(landmarks)


def approximated(
    candidates: list[list[Kernel]], joint: Variables, rank: int | None, rng: np.random.Generator
) -> tuple[list[list[Kernel]], tuple[str, ...]]:
    """The kernels approximated by landmarks, with a note."""
    if rank is None:
        return candidates, ()
    out = []
    for kernels, X in zip(candidates, joint.data, strict=True):
        Z = take(X, np.sort(rng.choice(joint.n, rank, replace=False)))
        out.append([k if dense_features(k, X) else Nystrom(k, Z) for k in kernels])
    return out, (landmark_note(rank, "dependence"),)


def blind_spots(candidates: Sequence[Sequence[Kernel]]) -> tuple[str, ...]:
    """What no kernel of a test can detect, in words."""
    words = "forms of dependence", "only how its {} depend on the other"
    return tuple(
        f"variable {place}: {note}"
        for place, kernels in enumerate(candidates)
        for note in permutation_test.blind_spots(kernels, *words)
    )
