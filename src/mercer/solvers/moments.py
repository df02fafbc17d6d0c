"""Mean and scatter of explicit features, added up batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..gram.tiles import slices

_STRIP = 2000  # samples whose features are centred at a time


@dataclass
class Moments:
    """The weighted mean m and scatter sum_i w_i (phi_i - m)(phi_i - m)' of features.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.moments import Moments
    >>> phi = np.array([[0.0], [2.0], [4.0]])
    >>> seen = Moments.empty(1).update(phi[:2]).update(phi[2:])
    >>> seen.mean, seen.scatter
    (array([2.]), array([[8.]]))

    References
    ----------
    Chan, Golub & LeVeque, *Algorithms for computing the sample variance*, 1983.
    """

    mass: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def empty(cls, size: int) -> Moments:
        """Of no samples, with this number of features."""
        return cls(0.0, np.zeros(size), np.zeros((size, size)))

    def update(self, phi: Any, weights: np.ndarray | None = None) -> Moments:
        """Add the features of more samples, dense or sparse, with their weights."""
        w = np.ones(phi.shape[0]) if weights is None else weights
        for rows in slices(phi.shape[0], _STRIP):
            part = phi[rows].toarray() if sp.issparse(phi) else phi[rows]
            if np.any(w[rows]):
                self._add(part.astype(np.float64), w[rows])
        return self

    def _add(self, phi: np.ndarray, w: np.ndarray) -> None:
        mass = float(w.sum())
        mean = w @ phi / mass
        phi -= mean
        phi *= np.sqrt(w)[:, None]
        shift, total = mean - self.mean, self.mass + mass
        self.scatter += phi.T @ phi
        self.scatter += (self.mass * mass / total) * np.outer(shift, shift)
        self.mean += (mass / total) * shift
        self.mass = total

    def axes(self, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The k largest eigenvalues of the scatter, and orthonormal directions, largest first."""
        r = len(self.mean)
        k = r if k is None else min(k, r)
        s, V = lapack(r, eigh, self.scatter, None if k == r else k)
        return s[::-1], V[:, ::-1]
