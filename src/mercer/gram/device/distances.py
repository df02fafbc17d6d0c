"""Distances and inner products of two samples on a device, tile by tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.formula import INNER, SQUARED, TAXICAB
from ...kernels.vectors.distances import _KINKED, _RELATIVE, _SMOOTH, centre
from ..tiles import slices
from .torch_ import import_torch, put

Tensor = Any

_SOME = 101  # samples that the centre is found from
_FEW = 32  # columns up to which differences are added up column by column
_MOST = 1 / 8  # of a tile that is computed again pair by pair; beyond, the whole tile is
_NUMBERS = 2**26  # that are written out at a time to take differences


class Distances:
    """What :class:`~mercer.kernels.vectors.distances.SquaredDistances` is, and its relatives.

    Parameters
    ----------
    metric : "squared", "taxicab" or "inner"
    X, Y : arrays, or Points
        Coordinates of the rows and of the columns.
    device : str
        Where.
    dtype : dtype
        The precision of tiles. Squared distances that a matrix product would cancel are computed
        from differences, in double precision.
    weight : float
        The factor of all distances.
    kinked : bool
        Is a root of the squared distances taken, or something else with a kink at 0?
    """

    def __init__(
        self,
        metric: str,
        X: Any,
        Y: Any,
        device: str,
        dtype: Any,
        weight: float = 1.0,
        kinked: bool = False,
    ) -> None:
        self.metric, self.weight, self.torch = metric, weight, import_torch(device)
        self.dtype, self.in_doubt = np.dtype(dtype), False
        kind = getattr(self.torch, self.dtype.name)
        if metric == INNER:
            self.left = put(X, device, dtype)
            self.right = self.left if Y is X else put(Y, device, dtype)
            return
        raw_x = put(X, device)
        raw_y = raw_x if Y is X else put(Y, device)
        origin = put(_centre(raw_y), device, np.float64)
        near_x = (raw_x.double() - origin).to(kind)
        near_y = near_x if Y is X else (raw_y.double() - origin).to(kind)
        if metric == TAXICAB:
            self.left, self.right = near_x, near_y
            return
        nx = near_x.double().square().sum(1)
        ny = nx if Y is X else near_y.double().square().sum(1)
        self.left = self._beside(-2 * weight * near_x, weight * nx, self.torch.ones_like(nx))
        self.right = self._beside(near_y, self.torch.ones_like(ny), weight * ny)
        self.doubt = self._doubt(nx, kinked), self._doubt(ny, kinked)
        if len(nx) and len(ny):
            self.in_doubt = float(self.doubt[0].max() + self.doubt[1].max()) > 0
        if self.in_doubt:
            self.raw = raw_x, raw_y

    def _beside(self, coordinates: Tensor, *columns: Tensor) -> Tensor:
        """[-2 w x, w |x|^2, 1] and [y, 1, w |y|^2], whose inner products are the distances."""
        more = self.torch.stack(columns, 1).to(coordinates.dtype)
        return self.torch.cat([coordinates, more], 1)

    def _doubt(self, norms: Tensor, kinked: bool) -> Tensor:
        """What samples with these norms add to the limit below which a distance is not trusted."""
        error = float(np.finfo(self.dtype).eps) * abs(self.weight) * norms
        doubt = error / _SMOOTH[self.dtype] - 0.5
        if kinked:
            root = (error / _KINKED[self.dtype]).square() / 2
            doubt = self.torch.maximum(doubt, self.torch.maximum(root, _RELATIVE * error))
        return self.torch.nan_to_num(doubt, nan=self.torch.inf, posinf=self.torch.inf)

    def __call__(self, rows: Any, cols: Any) -> Tensor:
        """A fresh tile; ``rows`` and ``cols`` are slices within the samples, or index arrays."""
        if self.metric == TAXICAB:
            found = from_differences(TAXICAB, self.left[rows], self.right[cols])
            return found.mul_(self.weight)
        D = self.left[rows] @ self.right[cols].T
        if self.metric == INNER:
            return D if self.weight == 1 else D.mul_(self.weight)
        if self.in_doubt:
            D = self._mended(D, rows, cols)
        return D.clamp_(min=0) if self.weight > 0 else D.clamp_(max=0)

    def _mended(self, D: Tensor, rows: Any, cols: Any) -> Tensor:
        """Differences taken where the product has cancelled."""
        x, y = self.doubt[0][rows], self.doubt[1][cols]
        if not D.numel() or float(x.max() + y.max()) <= 0:
            return D
        i, j = (~(D.abs() >= x[:, None] + y)).nonzero(as_tuple=True)  # also what is not a number
        left, right = self.raw[0][rows], self.raw[1][cols]
        if len(i) > _MOST * D.numel():
            D = from_differences(SQUARED, left.double(), right.double()).mul_(self.weight).to(D)
        else:
            for some in slices(len(i), max(1, _NUMBERS // max(left.shape[1], 1))):
                apart = left[i[some]].double() - right[j[some]].double()
                D[i[some], j[some]] = apart.square_().sum(1).mul_(self.weight).to(D.dtype)
        largest = 1e-6 * float(np.finfo(self.dtype).max)  # what is multiplied by 0 is not infinite
        return D.clamp_(-largest, largest)


def from_differences(metric: str, X: Tensor, Y: Tensor) -> Tensor:
    """Unweighted distances of all pairs, which nothing cancels in.

    Where columns are few they are added up one after the other: on a GPU, ``cdist`` takes a block
    of threads for each pair.
    """
    import torch

    if X.shape[1] > _FEW:
        if metric == TAXICAB:
            return torch.cdist(X, Y, p=1)
        return torch.cdist(X, Y, compute_mode="donot_use_mm_for_euclid_dist").square_()
    D = X.new_zeros((len(X), len(Y)))
    for x, y in zip(X.T, Y.T, strict=True):
        u = x[:, None] - y
        if metric == TAXICAB:
            D += u.abs_()
        else:
            D.addcmul_(u, u)
    return D


def _centre(Y: Tensor) -> np.ndarray:
    """A point amid the samples that outliers do not move."""
    if not len(Y):
        return np.zeros(Y.shape[1])
    some = np.linspace(0, len(Y) - 1, min(len(Y), _SOME)).astype(int)
    return centre(Y[some.tolist()].double().cpu().numpy())
