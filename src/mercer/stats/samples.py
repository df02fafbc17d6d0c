"""Several samples as one, with labels: the discrepancy between them under any relabelling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import Data, as_vectors, is_frame, join, length, take
from ..kernels.base import Kernel
from ..kernels.named import as_kernel
from .permutations import Units
from .sums import PairSums, sums_of_kernels


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
        self.sizes = tuple(_length(sample, place) for place, sample in enumerate(samples))
        for place, size in enumerate(self.sizes):
            if size < least:
                raise ValueError(
                    f"sample {place} has {size} observation{'s' * (size != 1)}, at least {least} "
                    f"are needed."
                )
        widths = {_width(sample) for sample in samples}
        if len(widths) > 1:
            listed = ", ".join(str(_width(sample)) for sample in samples)
            raise ValueError(f"all samples need the same number of features, got {listed}.")
        self.data = join(*samples)
        codes = np.arange(len(samples), dtype=np.int8 if len(samples) < 128 else np.int32)
        self.labels = np.repeat(codes, self.sizes)

    def __len__(self) -> int:
        return len(self.labels)

    def kernel(self, kernel: Any, rng: np.random.Generator | None = None) -> Kernel:
        """A kernel (or name, or function) with its parameters resolved on all samples together.

        With ``rng`` their order is random, so that what is resolved on some of them does not
        depend on the labels either.
        """
        named = isinstance(kernel, str) and kernel != "precomputed"
        k = as_kernel(kernel, as_vectors(self.data, "this kernel") if named else self.data)
        if not k.unresolved:
            return k
        shuffled = self.data if rng is None else take(self.data, rng.permutation(len(self)))
        return k.resolve(shuffled)


def relabelled(
    kernels: Sequence[Kernel],
    samples: Samples,
    units: Units,
    labels: np.ndarray,
    *,
    biased: bool = False,
    workers: int | None = None,
    verbose: bool = False,
) -> np.ndarray:
    r"""The dispersion between samples under many labellings, shape (kernels, labellings).

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
    """
    groups = range(1 if len(samples.sizes) == 2 else len(samples.sizes))
    centres = _centres(samples.sizes)
    weights = [np.equal(labels.T, g) - np.float32(centres[g]) for g in groups]
    U = np.concatenate(weights, axis=1) if len(weights) > 1 else np.ascontiguousarray(weights[0])
    sums = sums_of_kernels(kernels, samples.data, units, U, workers, verbose)
    return _dispersion(sums, U, samples.sizes, biased)


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
    return np.round(256 * np.array(sizes) / sum(sizes)) / 256


def totals(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """values @ weights in double precision, for many single precision weights."""
    out = np.zeros((len(values), weights.shape[1]))
    step = max(1, 2**22 // weights.shape[1])
    for i in range(0, len(weights), step):
        out += values[:, i : i + step] @ weights[i : i + step].astype(np.float64)
    return out


def _length(sample: Data, place: int) -> int:
    try:
        return length(sample)
    except (TypeError, IndexError):
        raise ValueError(f"sample {place} is a {type(sample).__name__}, not a data set.") from None


def _width(sample: Data) -> Any:
    """The number of columns of an array or table; None where samples are something else."""
    if is_frame(sample):
        return sample.shape[1]
    shape: Any = getattr(sample, "shape", ())
    if len(shape) == 1 and getattr(sample, "dtype", np.dtype(object)).kind in "biuf":
        return 1
    return shape[1] if len(shape) == 2 else None
