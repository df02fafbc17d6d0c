"""Tests of several samples by random relabellings: what is permuted, with which kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import check_count
from ..data import length, take
from ..engine.memory import parse_memory, require_memory
from ..gram.base import HOST
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..kernels.indefinite import known_indefinite
from ..kernels.vectors.dot import Linear, Polynomial
from ..params import show
from .aggregate import as_kernels, judged, kernel_grid, wider_kernels
from .nulls import MonteCarlo, sequential_pvalue
from .permutations import Units, binned, exchange_samples
from .planned import (
    device_of,
    landmark_note,
    landmarks_of,
    require_features,
    threads,
    through_features,
)
from .result import TestResult, resampled
from .samples import Relabelled, Samples, relabelled
from .variables import about_one, dense_features

SAME = "both samples come from the same distribution"
ALL_SAME = "all samples come from the same distribution"
_WORK = 4e10  # kernel values times permutations above which bins are permuted
_BINS, _FEWEST = 500, 40
_MEMORY = 2e9  # bytes for weights of samples, unless a plan sets the memory
_LARGE = 200_000  # samples above which kernels are approximated
_LANDMARKS = 500


class Way(NamedTuple):
    """How samples are permuted; parameters are those of :func:`two_sample_test`."""

    n_permutations: int
    rng: np.random.Generator
    groups: Any
    blocks: Any
    bins: int | str | None
    landmarks: int | str | None
    stop_after: int | None
    plan: Plan | None
    verbose: bool


def permutation_test(
    samples: Samples, kernel: Any, hypothesis: str, way: Way, biased: bool
) -> TestResult:
    """The test by random relabellings."""
    n_permutations, rng, stop_after, plan = way.n_permutations, way.rng, way.stop_after, way.plan
    given = _default(samples, rng) if kernel is None else as_kernels(kernel)
    kernels = [about_one(samples.kernel(k, rng), samples.data, 4) for k in given or [kernel]]
    notes = blind_spots(kernels)
    kernels, narrowed = through_features(kernels, samples.data, plan, "differences")
    landmarks = landmarks_of(plan, way.landmarks, len(samples))
    kernels, approximate = _approximated(kernels, samples, landmarks, rng)
    require_features(kernels, samples.data, plan)
    bins = way.bins
    if bins == "auto" and way.blocks is None:
        bins = _bins_in_memory(samples, n_permutations, plan)
    units = units_of(samples, len(kernels) * n_permutations, bins, way)
    observed = units.of_units(samples.labels, "blocks")[None]
    units.check_movable(observed[0])
    held = 8.0 * len(units) * n_permutations * max(1, len(samples.sizes) - 1)
    require_memory(held, f"weights of {n_permutations} permutations of {len(units)} units")
    workers = plan.workers if plan is not None else None
    sizes = samples.sizes
    scale = len(samples) ** 2 / (sizes[0] * sizes[1]) if len(sizes) == 2 else 1.0

    used, data = kernels, samples
    if given is None and not dense_features(kernels[0], samples.data):
        one, data = samples.from_mean(kernels[0])
        used = [one]

    def draw(count: int, first: bool = False) -> Relabelled:
        labels = units.shuffled(observed[0], count, rng)
        labels = np.concatenate([observed, labels]) if first else labels
        options: dict[str, Any] = {"workers": workers, "verbose": way.verbose, "plan": plan}
        drawn = relabelled(used, data, units, labels, biased=biased, **options)
        return Relabelled(*(scale * part for part in drawn))

    details: dict[str, Any] = {}
    if given is None and stop_after is not None:
        (values,), (tolerance,) = draw(0, first=True)
        value = float(values[0])
        found = sequential_pvalue(
            value, lambda c: draw(c).values[0], n_permutations, stop_after, float(tolerance)
        )
    elif stop_after is not None:
        raise ValueError(
            "stop_after needs a single kernel: several kernels are compared on all permutations."
        )
    else:
        wider = wider_kernels(len(kernels) // 2) if kernel is None else None
        compared = None if given is None else kernels
        value, found, details = judged(*draw(n_permutations, first=True), "mmd", compared, wider)
    stopped = stop_after if len(found.draws) < n_permutations else None
    return resampled(
        value,
        found,
        _words(samples, kernels, given is not None, found, units, stopped),
        hypothesis,
        kernel=kernels if given is not None else kernels[0],
        notes=notes + narrowed + approximate,
        details=details,
        computation=_computation(kernels, samples, plan),
    )


def _computation(kernels: list[Kernel], samples: Samples, plan: Plan | None) -> str:
    """What is done with kernel values, in words."""
    n, first = len(samples), kernels[0].prepare(take(samples.data, slice(0, 1)))
    count = f"{len(kernels)} kernels" if len(kernels) > 1 else "one kernel"
    if plan is not None and plan.storage not in ("auto", "tiled", "lowrank"):
        stored = "stored as an array"
        how = stored if plan.storage == "dense" else f"of a {show(plan.storage)}"
    elif isinstance(kernels[0], Nystrom) or kernels[0].n_features(first) is not None:
        how = "by features where these are fewer than samples, else tile by tile"
        seen = [k.kernel for k in kernels if isinstance(k, Nystrom)]
        if seen and (device := device_of(plan, seen, samples.data)) != HOST:
            how += f"; those with landmarks on {device} where bins are permuted"
    elif device_of(plan, kernels, samples.data) != HOST:
        how = f"on {plan.device if plan else HOST}, never stored"
    else:
        how = "tile by tile, never stored"
    return f"values of {count} on {n} x {n} pairs, {how}; {threads(plan)}"


def _default(samples: Samples, rng: np.random.Generator) -> list[Kernel]:
    try:
        return kernel_grid(take(samples.data, rng.permutation(len(samples))), rng=rng)
    except ValueError as error:
        if not isinstance(samples.data, list):
            raise
        raise type(error)(f"{error} For data that are not vectors, pass a kernel.") from None


def units_of(samples: Samples, work: int, bins: int | str | None, way: Way) -> Units:
    """What is permuted: samples, blocks of them, or bins if the computation is long."""
    if bins == "auto":
        bins = _BINS if way.blocks is None and work * float(len(samples)) ** 2 > _WORK else None
    if bins is None:
        return exchange_samples(samples.sizes, way.groups, way.blocks)
    check_count("bins", bins, 2, also=("auto", None))
    if way.blocks is not None:
        raise ValueError("bins and blocks cannot be combined: use only one of them.")
    return binned(samples.labels, int(bins), way.rng, way.groups)


def _bins_in_memory(samples: Samples, n_permutations: int, plan: Plan | None) -> int | str:
    """As many bins as the memory for weights of permutations allows, if samples are too many."""
    given = None if plan is None else plan.memory
    memory = _MEMORY if given is None else parse_memory(given)
    held = 8.0 * n_permutations * max(1, len(samples.sizes) - 1)  # bytes for each sample or bin
    if held * len(samples) <= memory:
        return "auto"
    return int(np.clip(memory // held, _FEWEST, _BINS))


def _approximated(
    kernels: list[Kernel], samples: Samples, landmarks: Any, rng: np.random.Generator
) -> tuple[list[Kernel], tuple[str, ...]]:
    n = len(samples)
    if landmarks == "auto":
        first = [k.prepare(take(samples.data, slice(0, 1))) for k in kernels]
        finite = all(k.n_features(p) is not None for k, p in zip(kernels, first, strict=True))
        landmarks = None if finite or n < _LARGE else _LANDMARKS
    if landmarks is None:
        return kernels, ()
    check_count("landmarks", landmarks, 1, n, also=("auto", None))
    Z = take(samples.data, np.sort(rng.choice(n, int(landmarks), replace=False)))
    return [Nystrom(k, Z) for k in kernels], (landmark_note(landmarks, "differences"),)


def indefinite(kernels: Sequence[Kernel]) -> tuple[str, ...]:
    """A note on kernels that are known not to be positive definite."""
    return tuple(
        f"{found}: permutations keep the level, but the statistic is not a squared distance, and "
        f"differences may cancel."
        for found in map(known_indefinite, kernels)
        if found is not None
    )


def blind_spots(
    kernels: Sequence[Kernel], what: str = "differences", only: str = "differences of {} only"
) -> tuple[str, ...]:
    """What no kernel of a test can detect; ``only`` describes kernels that detect moments only."""
    facts = [k.properties.characteristic for k in kernels]
    if (notes := indefinite(kernels)) or any(facts):
        return notes
    if len(kernels) == 1 and (seen := moments_seen(kernels[0])):
        return (f"{kernels[0]!r} sees {only.format(seen)}.",)
    if all(fact.no for fact in facts):
        which = f"{kernels[0]!r} is not" if len(kernels) == 1 else "none of the kernels is"
        return (f"{which} characteristic: some {what} cannot be seen.",)
    return (f"it is not known that the kernel is characteristic: some {what} may be missed.",)


def moments_seen(kernel: Kernel) -> str | None:
    """The moments that a mean embedding consists of, if there is nothing else."""
    if isinstance(kernel, Linear):
        return "means"
    if isinstance(kernel, Polynomial):
        return f"moments {'up to' if kernel.offset else 'of'} order {kernel.degree}"
    return None


def _words(
    samples: Samples,
    kernels: list[Kernel],
    several: bool,
    found: MonteCarlo,
    units: Units,
    stopped: int | None,
) -> str:
    k = len(samples.sizes)
    test = "two-sample test" if k == 2 else f"{k}-sample test"
    what = f"largest score of {len(kernels)} kernels" if several else "MMD^2"
    what = what if several or k == 2 else "dispersion of means in feature space"
    moved = "" if units.single else f" of {len(units)} blocks or bins"
    if stopped:
        moved += f", stopped after {stopped} above"
    if isinstance(kernels[0], Nystrom):
        moved += f", features from {length(kernels[0].reference)} landmarks"
    return f"{test}, {what} ({len(found.draws)} permutations{moved})"
