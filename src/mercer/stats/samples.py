"""Several samples as one, with labels: the discrepancy between them under any relabelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_samples, as_vectors, is_frame, join, length, take
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.dot import Linear
from ..kernels.vectors.radial import Gaussian
from .bank import not_finite
from .permutations import Units
from .sums import PairSums, sums_of_kernels

_FEATURES = 2**24  # entries of features up to which they are moved to their mean
_STEPS = 2.0**14  # of the shares of samples: few enough bits for single precision


class Samples:
    """Samples joined one after the other.

    Attributes
    ----------
    data : data
        All samples.
    sizes : tuple of int
        How many there are of each.
    labels : ndarray of shape (n,)
        Which one each comes from: 0, 1, ...

    Examples
    --------
    >>> from mercer.stats.samples import Samples
    >>> Samples(["ab", "ba"], ["aa", "bb", "b"]).labels.tolist()
    [0, 0, 1, 1, 1]
    """

    def __init__(self, *samples: Data, least: int = 2) -> None:
        if len(samples) < 2:
            raise ValueError(f"at least two samples are needed, got {len(samples)}.")
        samples = tuple(plain(sample, f"sample {place}") for place, sample in enumerate(samples))
        self.sizes = tuple(length(sample) for sample in samples)
        for place, size in enumerate(self.sizes):
            if size < least:
                raise ValueError(
                    f"sample {place} has {size} observation{'s' * (size != 1)}, at least {least} "
                    f"are needed."
                )
        widths = [width(sample) for sample in samples]
        if len(set(widths) - {None}) > 1:
            listed = ", ".join(map(str, widths))
            raise ValueError(f"all samples need the same number of features, got {listed}.")
        self.data = join(*samples)
        codes = np.arange(len(samples), dtype=np.int8 if len(samples) < 128 else np.int32)
        self.labels = np.repeat(codes, self.sizes)

    def __len__(self) -> int:
        return len(self.labels)

    def shuffled(self, rng: np.random.Generator) -> Samples:
        """The same samples, each in random order."""
        ends = np.cumsum((0, *self.sizes))
        parts = [rng.permutation(np.arange(*pair)) for pair in pairwise(ends)]
        return Samples(*(take(self.data, part) for part in parts), least=1)

    def kernel(self, kernel: Any = None, rng: np.random.Generator | None = None) -> Kernel:
        """A kernel (or name, or function) with its parameters resolved on all samples together.

        With ``rng`` their order is random, so that what is resolved on some of them does not
        depend on the labels either.
        """
        kernel = Gaussian("median") if kernel is None else kernel
        named = isinstance(kernel, str) and kernel != "precomputed"
        k = as_kernel(kernel, as_vectors(self.data, "this kernel") if named else self.data)
        if not k.unresolved:
            return k
        shuffled = self.data if rng is None else take(self.data, rng.permutation(len(self)))
        return k.resolve(shuffled)

    def from_mean(self, kernel: Kernel) -> tuple[Kernel, Samples]:
        """A kernel and samples of the same discrepancies (:func:`from_mean`)."""
        moved = copy(self)
        kernel, moved.data = from_mean(kernel, self.data)
        return kernel, moved


class Relabelled(NamedTuple):
    """Statistics under many labellings.

    Attributes
    ----------
    values : ndarray of shape (kernels, labellings)
        The statistics.
    tolerance : ndarray of shape (kernels,)
        How far apart rounding may move two of them that are equal.
    """

    values: np.ndarray
    tolerance: np.ndarray


def relabelled(
    kernels: Sequence[Kernel],
    samples: Samples,
    units: Units,
    labels: np.ndarray,
    *,
    biased: bool = False,
    workers: int | None = None,
    verbose: bool = False,
    plan: Plan | None = None,
) -> Relabelled:
    r"""The dispersion between samples under many labellings.

    .. math:: \sum_{g<h} \frac{n_g n_h}{N^2}\, \mathrm{MMD}^2(g, h)

    which, with the biased estimate, is the mean squared distance of an observation's group mean
    from the mean of all, in feature space.

    Parameters
    ----------
    kernels : list of Kernel
        Resolved kernels.
    samples : Samples
        The data.
    units : Units
        Which positions are relabelled together.
    labels : array of shape (labellings, units)
        The sample each unit belongs to, in each labelling.
    biased : bool
        V-statistics (with pairs (i, i)) instead of U-statistics.
    workers : int, optional
        The number of threads.
    verbose : bool
        Show a progress bar.
    plan : Plan, optional
        Where kernel values live.
    """

    def pair_sums(U: np.ndarray) -> PairSums:
        return sums_of_kernels(kernels, samples.data, units, U, workers, verbose, plan)

    return dispersions(kernels, samples.sizes, labels, pair_sums, biased)


def dispersions(
    kernels: Sequence[Kernel],
    sizes: tuple[int, ...],
    labels: np.ndarray,
    pair_sums: Callable[[np.ndarray], PairSums],
    biased: bool,
) -> Relabelled:
    """What :func:`relabelled` returns, from pair sums for any weights of the units."""
    groups = range(1 if len(sizes) == 2 else len(sizes))
    centres = _centres(sizes)
    weights = [np.equal(labels.T, g) - np.float32(centres[g]) for g in groups]
    U = np.concatenate(weights, axis=1) if len(weights) > 1 else np.ascontiguousarray(weights[0])
    sums = pair_sums(U)
    values = _dispersion(sums, U, sizes, biased)
    for kernel, row in zip(kernels, values, strict=True):
        if not np.all(np.isfinite(row)):
            raise not_finite(repr(kernel))
    smallest, n = min(sizes), sum(sizes)
    share = (len(sizes) - 1) * smallest / max(1, smallest - 1) / n**2
    return Relabelled(values, share * sums.rounding[:, 0])


def _dispersion(
    sums: PairSums, weights: np.ndarray, sizes: tuple[int, ...], biased: bool
) -> np.ndarray:
    """From indicators of groups, nearly centred: sums within groups, and what is left between."""
    n, share = sum(sizes), _centres(sizes)
    k, groups = len(sums.quadratic), 1 if len(sizes) == 2 else len(sizes)
    quadratic = sums.quadratic.reshape(k, groups, -1)
    rows, own = (totals(part, weights).reshape(quadratic.shape) for part in (sums.rows, sums.diag))
    total, trace = sums.rows.sum(axis=1)[:, None], sums.diag.sum(axis=1)[:, None]
    within, diagonal = [], []
    for g in range(groups):
        within.append(quadratic[:, g] + 2 * share[g] * rows[:, g] + share[g] ** 2 * total)
        diagonal.append(own[:, g] + share[g] * trace)
    if groups == 1:
        first = rows[:, 0] + share[0] * total
        within.append(total - 2 * first + within[0])
        diagonal.append(trace - diagonal[0])
    if biased:
        parts = zip(within, diagonal, sizes, strict=True)
        between = sum((w + d) / size for w, d, size in parts) - (total + trace) / n
    else:
        between = sum(w / (size - 1) for w, size in zip(within, sizes, strict=True))
        between = between * (n - 1) / n - total / n
    return np.asarray(between / n)


def _centres(sizes: tuple[int, ...]) -> np.ndarray:
    """The share of each sample, so rounded that single precision holds it exactly."""
    return np.round(_STEPS * np.array(sizes) / sum(sizes)) / _STEPS


def totals(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """values @ weights in double precision, for many single precision weights."""
    out = np.zeros((len(values), weights.shape[1]))
    step = max(1, 2**22 // weights.shape[1])
    for i in range(0, len(weights), step):
        out += values[:, i : i + step] @ weights[i : i + step].astype(np.float64)
    return out


def from_mean(kernel: Kernel, X: Data) -> tuple[Kernel, Data]:
    """A kernel and data with the same centred kernel matrix, in which large numbers do not cancel.

    Where a kernel has not too many features, these, in double precision, from their mean as origin:
    products of time stamps leave nothing of the differences of these.
    """
    if not explicit(kernel, X):
        return kernel, X
    phi = np.array(kernel.features(kernel.prepare(X)), dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        phi -= phi[0]
        phi -= phi.mean(axis=0)
        if not np.isfinite(np.vdot(phi, phi)):
            raise not_finite(repr(kernel))
    return Linear(), phi


def explicit(kernel: Kernel, X: Data) -> bool:
    """Has the kernel a finite feature map, dense and of no more entries than can be held?"""
    first = kernel.prepare(take(X, slice(0, 1)))
    count = kernel.n_features(first)
    if count is None or count * length(X) > _FEATURES:
        return False
    return not sp.issparse(kernel.features(first))


def plain(sample: Data, what: str) -> Data:
    """A sample as the rest of this room takes it: data with a length, without a mask."""
    if isinstance(sample, str | bytes | dict):
        raise ValueError(
            f"{what} is a {type(sample).__name__}, not a data set; pass a list or an array, with "
            "one entry for each observation."
        )
    sample = as_samples(sample)
    try:
        length(sample)
    except (TypeError, IndexError):
        raise ValueError(f"{what} is a {type(sample).__name__}, not a data set.") from None
    return sample


def width(sample: Data) -> Any:
    """The number of columns of an array or table; None where samples are something else."""
    if is_frame(sample):
        return sample.shape[1]
    shape: Any = getattr(sample, "shape", ())
    if len(shape) == 1 and getattr(sample, "dtype", np.dtype(object)).kind in "biuf":
        return 1
    return shape[1] if len(shape) == 2 else None
