"""Fuzzy sets as data: pairs of points and their memberships."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...data import Data, as_samples, is_frame, join, length, take
from ...exceptions import DomainError


def fuzzy_set(membership: Callable[[Data], Any] | Any, points: Data) -> tuple[Data, np.ndarray]:
    """Make a fuzzy set from its membership function at some points: a sample for fuzzy kernels.

    Parameters
    ----------
    membership : callable or array
        The degree, from 0 to 1, to which points belong to the set: a function of all the points at
        once, or one number for each of them.
    points : data
        A grid, or any other points; those of membership 0 are left out.

    Returns
    -------
    tuple of points and memberships
        The support of the set, and its degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import fuzzy_set
    >>> warm = fuzzy_set(lambda t: 1 - abs(t - 20) / 10, np.array([15.0, 20.0, 30.0]))
    >>> warm
    (array([15., 20.]), array([0.5, 1. ]))
    """
    return support(points, membership(points) if callable(membership) else membership, "fuzzy_set")


def support(points: Data, memberships: Any, owner: str) -> tuple[Data, np.ndarray]:
    """The points of positive membership, and their memberships; refuses all that is no degree."""
    try:
        degrees = np.asarray(memberships, dtype=np.float64)
    except (TypeError, ValueError):
        raise DomainError(f"{owner}: memberships must be numbers from 0 to 1.") from None
    degrees = degrees.reshape(-1) if degrees.size == length(points) else degrees
    if degrees.shape != (length(points),):
        raise DomainError(
            f"{owner}: {length(points)} points need one membership each, got an array of shape "
            f"{degrees.shape}."
        )
    if not np.all((degrees >= 0) & (degrees <= 1)):
        raise DomainError(
            f"{owner}: memberships must be numbers from 0 to 1, got "
            f"{degrees[~((degrees >= 0) & (degrees <= 1))][0]:g}; clip them with np.clip(m, 0, 1)."
        )
    inside = np.flatnonzero(degrees)
    return take(points, inside), degrees[inside]


def read(X: Data, owner: str) -> tuple[Data, np.ndarray, np.ndarray]:
    """All points one after the other, their memberships, and how many each fuzzy set has."""
    wanted = f"{owner} works on a list of fuzzy sets, each a pair (points, memberships)"
    X = as_samples(X, owner)
    if is_frame(X):
        raise DomainError(f"{wanted}; pick a column with .on(column).")
    if length(X) == 0:
        raise DomainError(f"{owner}: X has no samples.")
    supports = []
    for place, one in enumerate(X):
        if not isinstance(one, tuple | list) or len(one) != 2 or not hasattr(one[0], "__len__"):
            raise DomainError(f"{wanted}, but sample {place} is not; fuzzy_set makes one.")
        points, degrees = support(one[0], one[1], f"{owner}, sample {place}")
        if len(degrees) == 0:
            raise DomainError(
                f"{owner}: sample {place} is empty; a fuzzy set needs a point of membership > 0."
            )
        supports.append((points, degrees))
    sizes = np.array([len(degrees) for _, degrees in supports], dtype=np.int64)
    return (
        join(*(points for points, _ in supports)),
        np.concatenate([degrees for _, degrees in supports]),
        sizes,
    )
