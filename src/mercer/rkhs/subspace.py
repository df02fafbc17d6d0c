"""Affine subspaces of an RKHS: coordinates, projections and distances of features."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..data import Data
from ..gram.plan import LEAN
from ..gram.stored import KernelGram
from ..kernels.base import Kernel
from .function import RKHSFunction


class Subspace:
    r"""The affine subspace mu + span{v_1..v_q} of H_k, with orthonormal functions v.

    .. math:: P \phi(x) = \mu + \sum_j s_j(x)\, v_j, \qquad
              s_j(x) = \langle \phi(x) - \mu, v_j \rangle = v_j(x) - \langle \mu, v_j \rangle

    All functions have the same centres.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    points : data of length m
        The centres.
    axes : array of shape (m, q)
        Coefficients of the functions v; taken to be orthonormal.
    center : array of shape (m,)
        Coefficients of mu.
    offset : array of shape (q,)
        The inner products <mu, v_j>.
    norm : float
        The squared norm of mu.
    gram : KernelGram, optional
        The operator of kernel and centres, if there is one already.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.rkhs.subspace import Subspace
    >>> line = Subspace(Linear(), np.eye(2), np.array([[1.0], [0.0]]), np.array([0.0, 3.0]),
    ...                 np.zeros(1), 9.0)  # the points (t, 3) of the plane
    >>> x = np.array([[2.0, 1.0]])
    >>> line.coordinates(x), line.squared_distances(x)
    (array([[2.]]), array([4.]))
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Data,
        axes: np.ndarray,
        center: np.ndarray,
        offset: np.ndarray,
        norm: float,
        gram: KernelGram | None = None,
    ) -> None:
        self.kernel, self.points = kernel, points
        self._axes, self._center = axes, center
        self.offset, self.norm = offset, norm
        self._given = gram

    @cached_property
    def _gram(self) -> Any:
        return self._given or LEAN.gram(self.kernel, self.points)

    @property
    def axes(self) -> RKHSFunction:
        """The functions v_1..v_q."""
        return RKHSFunction(self.kernel, self.points, self._axes)

    @property
    def center(self) -> RKHSFunction:
        """The function mu."""
        return RKHSFunction(self.kernel, self.points, self._center)

    def coordinates(self, X: Data) -> np.ndarray:
        """[s_j(x)], one row per sample."""
        return self._gram.cross(X) @ self._axes - self.offset

    def combine(self, coordinates: np.ndarray) -> RKHSFunction:
        """The functions mu + sum_j s_j v_j, one for each row of coordinates."""
        coef = self._axes @ np.asarray(coordinates, dtype=np.float64).T
        return RKHSFunction(self.kernel, self.points, coef + self._center[:, None])

    def project(self, X: Data) -> RKHSFunction:
        """The projections P phi(x), one function for each sample."""
        return self.combine(self.coordinates(X))

    def squared_distances(self, X: Data) -> np.ndarray:
        """||phi(x) - P phi(x)||^2 for each sample."""
        cross = self._gram.cross(X)
        values = cross @ np.column_stack([self._axes, self._center])
        scores = values[:, :-1] - self.offset
        own = self.kernel.diag(cross.X).astype(np.float64)
        squares = own - 2 * values[:, -1] + self.norm - np.einsum("ij,ij->i", scores, scores)
        return np.maximum(squares, 0.0)
