"""Two samples that come in chunks: bins are permuted, and their features are sums over chunks.

Kernels are approximated with landmarks. One pass over each sample adds up kernel values over bins
of equal size; all that follows, for any number of permutations, is about these sums alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from ..chunks.base import Chunk, Chunks, Sums
from ..data import Data, join, length, take
from ..gram.base import HOST
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from .aggregate import as_kernels, judged, kernel_grid, wider_kernels
from .device_sums import landmark_values
from .landmarks import features_of_sums, value_sums
from .permutation_test import Way, blind_spots
from .permutations import Units
from .planned import device_of, landmark_note, landmarks_of, threads
from .result import TestResult, resampled
from .samples import Relabelled, dispersions
from .sums import PairSums, of_unit_sums

_BINS, _PER_SAMPLE = 500, 20  # bins in all, and of one sample at least
_LANDMARKS = 500
_PROBE = 2000  # samples that parameters of kernels are found from


@dataclass
class Bins:
    """Bins of equal size of the samples 0..n-1, spread by i -> a i + b modulo n.

    The remainder is a smaller bin, the last one.
    """

    n: int
    width: int
    a: int
    b: int

    def __len__(self) -> int:
        return -(-self.n // self.width)

    def __call__(self, start: int, stop: int) -> np.ndarray:
        """The bins of samples in a row."""
        i = np.arange(start, stop, dtype=np.uint64)
        spread = (i * np.uint64(self.a) + np.uint64(self.b)) % np.uint64(self.n)
        return (spread // np.uint64(self.width)).astype(np.intp)

    @property
    def sizes(self) -> np.ndarray:
        """The number of samples in each."""
        left = self.n - self.width * (len(self) - 1)
        return np.append(np.full(len(self) - 1, self.width), left)


def spread(n: int, width: int, rng: np.random.Generator) -> Bins:
    """Random bins; a has no factor in common with n, so that the map is a permutation."""
    if n > 2**32:
        raise ValueError(f"samples of up to {2**32} observations can be tested, got {n}.")
    a = int(rng.integers(1, min(n, 2**31)))
    while gcd(a, n) > 1:
        a += 1
    return Bins(n, width, a, int(rng.integers(n)))


@dataclass
class BinSums:
    """A pass: sums over bins of kernel values with landmarks."""

    kernels: list[Kernel]
    Z: Data
    bins: Bins
    device: str = HOST

    def __call__(self, chunk: Chunk) -> Sums:
        which = self.bins(chunk.start, chunk.start + len(chunk))
        order = np.argsort(which, kind="stable")
        size = np.bincount(which, minlength=len(self.bins))
        given = self.kernels, self.Z, chunk.X, size, order
        there = self.device != HOST
        return (landmark_values(*given, self.device) if there else value_sums(*given),)


def chunked_test(
    samples: list[Chunks], kernel: Any, hypothesis: str, way: Way, biased: bool
) -> TestResult:
    """The test of :func:`~mercer.two_sample_test` by permutations of bins."""
    rng, sizes = way.rng, tuple(sample.n_samples for sample in samples)
    n, fewest = sum(sizes), min(sizes)
    if fewest < 2 * _PER_SAMPLE:
        raise ValueError(f"a sample in chunks needs {2 * _PER_SAMPLE} observations, got {fewest}.")
    landmarks = landmarks_of(way.plan, way.landmarks, n)
    landmarks = min(_LANDMARKS, n) if landmarks in ("auto", None) else landmarks
    some = _drawn(samples, max(_PROBE, int(landmarks)), rng)
    given = kernel_grid(some, rng=rng) if kernel is None else as_kernels(kernel)
    resolved = [as_kernel(k, some).resolve(some) for k in given or [kernel]]
    Z = take(some, slice(0, int(landmarks)))
    kernels = [Nystrom(k, Z) for k in resolved]
    count = _BINS if way.bins in ("auto", None) else int(way.bins)
    width = max(1, min(n // max(count, 2), fewest // _PER_SAMPLE))
    bins = [spread(size, width, rng) for size in sizes]
    device = device_of(way.plan, resolved, some)
    found = [
        sample.reduce(BinSums(resolved, Z, own, device))[0]
        for sample, own in zip(samples, bins, strict=True)
    ]
    size = np.concatenate([own.sizes for own in bins])
    parts = features_of_sums(kernels, np.concatenate(found, axis=1), size, some)
    units = Units(np.arange(len(size)), size)  # bins of one size are exchanged
    observed = np.repeat(np.arange(len(samples), dtype=np.int8), [len(own) for own in bins])
    units.check_movable(observed)
    scale = n**2 / (sizes[0] * sizes[1]) if len(sizes) == 2 else 1.0

    def pair_sums(U: np.ndarray) -> PairSums:
        each = [of_unit_sums(E, own, U, noise) for E, own, noise in parts]
        columns = zip(*(vars(sums).values() for sums in each), strict=True)
        return PairSums(*map(np.concatenate, columns))

    labels = np.concatenate([observed[None], units.shuffled(observed, way.n_permutations, rng)])
    drawn = dispersions(kernels, sizes, labels, pair_sums, biased)
    drawn = Relabelled(*(scale * part for part in drawn))
    wider = wider_kernels(len(kernels) // 2) if kernel is None else None
    value, outcome, details = judged(*drawn, "mmd", None if given is None else kernels, wider)
    what = f"largest score of {len(kernels)} kernels" if given is not None else "MMD^2"
    return resampled(
        value,
        outcome,
        f"two-sample test, {what} ({len(outcome.draws)} permutations of {len(units)} blocks or "
        f"bins, features from {length(Z)} landmarks)",
        hypothesis,
        kernel=kernels if given is not None else kernels[0],
        notes=(*blind_spots(resolved), landmark_note(length(Z), "differences")),
        details=details,
        computation=f"sums over chunks of {n} samples, one pass for each of them"
        f"{'' if device == HOST else f', kernel values on {device}'}; {threads(way.plan)}",
    )


def _drawn(samples: list[Chunks], count: int, rng: np.random.Generator) -> Data:
    """Samples of all together, in random order: whatever depends on them does not on labels."""
    n = sum(sample.n_samples for sample in samples)
    places = np.sort(rng.choice(n, min(count, n), replace=False))
    found, start = [], 0
    for sample in samples:
        stop = start + sample.n_samples
        own = places[(places >= start) & (places < stop)] - start
        if len(own):
            found.append(sample.take(own).X)
        start = stop
    whole = join(*found)
    return take(whole, rng.permutation(length(whole)))
