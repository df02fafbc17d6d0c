"""Kernels for tests of independence: from local to nearly linear, in the units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from ..data import Data, as_vectors, length, take
from ..exceptions import DomainError
from ..kernels.base import Kernel
from ..kernels.distances import median_distance
from ..kernels.radial import Gaussian, Laplacian
from .aggregate import column_units

_SAMPLE = 1000  # samples whose distances set the bandwidths, evenly spaced
_GAUSSIAN = (0.2, 4.0)  # bandwidths as multiples of the median distance
_LAPLACIAN = (1.5,)


def dependence_grid(X: Data) -> list[Kernel]:
    """The kernels that :func:`independence_test` uses for a variable by default.

    Gaussian kernels with 0.2 and 4 times the median distance as lengthscale, of which the first
    sees functions that oscillate, and the second is nearly linear; and a Laplacian kernel with 1.5
    times the median (city block) distance, which is in between. Distances are between columns
    divided by their spread (the interquartile range, or the standard deviation where that is 0),
    so units do not matter.

    Parameters
    ----------
    X : array, sparse matrix or table of numbers
        The variable.

    Returns
    -------
    list of Kernel
        Three kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import dependence_grid
    >>> x = np.random.default_rng(0).normal(size=200)
    >>> [round(float(k.lengthscale), 2) for k in dependence_grid(x)]
    [0.19, 3.78, 1.42]
    """
    try:
        V: Any = as_vectors(X, "the default kernel")
    except DomainError as error:
        raise DomainError(f"{error} For other data, kernels have to be given.") from None
    n = length(V)
    if n > _SAMPLE:
        V = take(V, np.linspace(0, n - 1, _SAMPLE).astype(int))
    if sp.issparse(V):  # as it is: units and taxicab distances would need dense vectors
        scale: Any = median_distance(V)
        return _kernels(scale, scale, 2)
    units = column_units(V)
    medians = []
    for metric in ("euclidean", "cityblock"):
        distances = pdist(V / units, metric)
        distances = distances[distances > 0]
        medians.append(float(np.median(distances)) if len(distances) else 1.0)
    return _kernels(medians[0] * units, medians[1] * units, 1)


def _kernels(euclidean: Any, cityblock: Any, p: int) -> list[Kernel]:
    return [
        *(Gaussian(factor * euclidean) for factor in _GAUSSIAN),
        *(Laplacian(factor * cityblock, p=p) for factor in _LAPLACIAN),
    ]
