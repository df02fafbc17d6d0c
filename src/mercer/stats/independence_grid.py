"""Kernels for tests of independence: from local to nearly linear, in the units of the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from ..data import Data, as_vectors, evenly, length, take
from ..exceptions import DomainError
from ..kernels.base import Kernel
from ..kernels.vectors.distances import median_distance
from ..kernels.vectors.radial import Gaussian
from .aggregate import column_units

_SAMPLE = 1000  # samples whose distances set the bandwidths, evenly spaced
_WIDTHS = (0.2, 0.7, 4.0)  # bandwidths as multiples of the median distance


def dependence_grid(X: Data) -> list[Kernel]:
    """The kernels that :func:`independence_test` uses for a variable by default.

    Gaussian kernels with 0.2, 0.7 and 4 times the median distance as lengthscale, of which the
    first sees functions that oscillate, and the last is nearly linear. Distances are between
    columns divided by their spread (the interquartile range, or the standard deviation where that
    is 0), so units do not matter.

    Parameters
    ----------
    X : array, sparse matrix or table of numbers
        The variable.

    Returns
    -------
    list of Kernel
        Three kernels, from narrow to wide.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import dependence_grid
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> [round(float(k.lengthscale), 2) for k in dependence_grid(x)]
    [0.19, 0.66, 3.78]
    """
    V: Any = default_vectors(X)
    n = length(V)
    if n > _SAMPLE:
        V = take(V, evenly(n, _SAMPLE))
    if sp.issparse(V):  # as it is: units would need dense vectors
        scale: Any = median_distance(V)
    else:
        units = column_units(V)
        distances = pdist(V / units)
        distances = distances[distances > 0]
        scale = units * (float(np.median(distances)) if len(distances) else 1.0)
    return [Gaussian(width * scale) for width in _WIDTHS]


def default_vectors(X: Data) -> Any:
    """Data without their own kernel as vectors, dense or sparse."""
    try:
        return as_vectors(X, "the default kernel")
    except DomainError as error:
        raise DomainError(f"{error} For other data, pass kernels.") from None


def wider_combinations(
    combinations: Sequence[tuple[Kernel, ...]],
    candidates: Sequence[Sequence[Kernel]],
    graded: Sequence[bool],
) -> list[list[int]]:
    """For each combination of kernels, the numbers of those with the next wider kernels.

    Parameters
    ----------
    combinations : list of tuple of Kernel
        One kernel for each variable.
    candidates : list of list of Kernel
        The kernels of each variable.
    graded : list of bool
        Are those of a variable in order, from narrow to wide?

    Examples
    --------
    >>> from mercer import Gaussian
    >>> from mercer.stats.independence_grid import wider_combinations
    >>> a, b, c, d = map(Gaussian, (1.0, 2.0, 3.0, 4.0))
    >>> pairs = [(a, c), (a, d), (b, c), (b, d)]
    >>> wider_combinations(pairs, [[a, b], [c, d]], [True, True])
    [[1, 2, 3], [3], [3], []]
    """
    place = [{id(k): i for i, k in enumerate(kernels)} for kernels in candidates]
    keys = [tuple(at[id(k)] for at, k in zip(place, ks, strict=True)) for ks in combinations]
    numbers = {key: number for number, key in enumerate(keys)}
    last = [len(kernels) - 1 if up else 0 for kernels, up in zip(candidates, graded, strict=True)]
    out = []
    for key in keys:
        steps = [(i, i + 1) if i < end else (i,) for i, end in zip(key, last, strict=True)]
        out.append([numbers[to] for to in product(*steps) if to != key and to in numbers])
    return out
