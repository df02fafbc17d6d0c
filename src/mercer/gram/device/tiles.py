"""Formulas evaluated on a device: multiplied out into products of atoms, each distance once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ...exceptions import DeviceWarning, warn
from ...kernels.base import Kernel
from ...kernels.formula import INNER, TAXICAB, Atom, Formula, Profile
from ...kernels.vectors.distances import SquaredDistances, centre
from .torch_ import import_torch, put, torch_device

Tensor = Any
Function = Callable[[Tensor], Tensor]


def _matern(nu: float) -> Function | None:
    if nu == 0.5:
        return lambda D: D.sqrt_().neg_().exp_()
    if nu == 1.5:

        def rough(D: Tensor) -> Tensor:
            R = D.sqrt_()
            return (1 + R).mul_(R.neg_().exp_())

        return rough
    if nu == 2.5:  # (1 + sqrt(3) R + R^2) exp(-sqrt(3) R) with R^2 = D

        def smooth(D: Tensor) -> Tensor:
            R = D.sqrt().mul_(np.sqrt(3))
            return D.add_(R).add_(1).mul_(R.neg_().exp_())

        return smooth
    return None


# What a profile with a name is on a device; of its parameters, in place where that is possible.
PROFILES: dict[str, Callable[..., Function | None]] = {
    "exp": lambda: lambda D: D.exp_(),
    "laplacian": lambda **_: lambda D: D.sqrt_().neg_().exp_(),
    "matern": lambda nu: _matern(float(nu)),
    "rational quadratic": lambda alpha: lambda D: D.log1p_().mul_(-alpha).exp_(),
    "linear": lambda: lambda T: T,
    "polynomial": lambda degree, offset, scale: (
        lambda T: T.mul_(scale).add_(offset).pow_(int(degree))
    ),
    "exponential": lambda scale: lambda T: T.mul_(scale).exp_(),
    "binomial": lambda alpha: lambda T: T.neg_().add_(1).pow_(-alpha),
}


def function_of(profile: Profile) -> Function | None:
    """The profile as a function of tensors; None if it is not known on devices."""
    made = PROFILES.get(profile.name)
    try:
        return None if made is None else made(**dict(profile.parameters))
    except TypeError:  # other parameters than those that are known here
        return None


def unsupported(formula: Formula | None) -> str | None:
    """Why a kernel with this formula cannot be computed on a device; None if it can."""
    if formula is None:
        return "it states no formula of distances or inner products"
    for atom in formula.atoms():
        if function_of(atom.profile) is None:
            shown = ", ".join(f"{name}={value!r}" for name, value in atom.profile.parameters)
            return f"{atom.profile.name} ({shown}) has no form there"
        if sp.issparse(atom.points):
            return "samples are sparse"
    try:
        formula.terms()
    except ValueError:
        return "its formula has very many terms"
    return None


def computes(device: str, kernel: Kernel, P: Data, why: str | None = None) -> bool:
    """Does a device, which has to be there, compute values at prepared samples like these?

    A warning where it does not, with a reason that is known already, or found.
    """
    torch_device(device)
    why = why or unsupported(kernel.formula(P))
    if why is not None:
        warn(
            f"device={device!r}, but {kernel!r} is computed on the processor: {why}.", DeviceWarning
        )
    return why is None


class DeviceTiles:
    """Tiles of k(x, y) on a device.

    Parameters
    ----------
    rows, cols : Formula
        The same formula on the samples of rows and of columns.
    device : str
        Where.
    dtype : dtype
        The precision of tiles. Distances that a matrix product would cancel are computed from
        differences, in double precision.
    """

    def __init__(self, rows: Formula, cols: Formula, device: str, dtype: Any) -> None:
        self.dtype, self.place, self._torch = (
            np.dtype(dtype),
            torch_device(device),
            import_torch(device),
        )
        self._terms: list[tuple[float, list[tuple[_Metric, Function]], list[Tensor]]] = []
        known: dict[Any, _Metric] = {}
        for left, right in zip(rows.terms(), cols.terms(), strict=True):
            atoms = []
            for atom, other in zip(left.atoms, right.atoms, strict=True):
                place = atom.metric, id(atom.points), id(other.points), atom.weight
                if place not in known:
                    known[place] = _Metric(atom, other, device, self.dtype)
                profile = function_of(atom.profile)
                assert profile is not None  # see unsupported
                atoms.append((known[place], profile))
            pairs = zip(left.factors, right.factors, strict=True)
            factors = [tuple(put(f, device, self.dtype) for f in pair) for pair in pairs]
            self._terms.append((left.weight, atoms, factors))

    def __call__(self, rows: Any, cols: Any) -> Tensor:
        """A fresh tile; ``rows`` and ``cols`` are slices within the samples, or index arrays."""
        total: Any = 0.0
        for weight, atoms, factors in self._terms:
            product: Any = weight
            for metric, profile in atoms:
                product = profile(metric(rows, cols)).mul_(product)
            for f, g in factors:
                product = product * f[rows, None] * g[cols]
            total = product + total
        if self._torch.is_tensor(total):
            return total
        kind = getattr(self._torch, self.dtype.name)
        return self._torch.full((_size(rows), _size(cols)), total, dtype=kind, device=self.place)


def _size(index: Any) -> int:
    return index.stop - index.start if isinstance(index, slice) else len(index)


class _Metric:
    """Weighted distances, or inner products, of two samples on a device, tile by tile."""

    def __init__(self, atom: Atom, other: Atom, device: str, dtype: np.dtype) -> None:
        self.kind, self.weight, self.torch = atom.metric, atom.weight, import_torch(device)
        X, Y = atom.points, other.points
        self.in_doubt = False
        if self.kind == INNER:
            self.left, self.right = put(X, device, dtype), put(Y, device, dtype)
            return
        near_x, near_y = _rounded(X, Y, dtype)
        if self.kind == TAXICAB:
            self.X, self.Y = put(near_x, device), put(near_y, device)
            return
        made = SquaredDistances(near_x, near_y, self.weight, exact=atom.profile.kinked)
        self.left, self.right = put(made.left, device), put(made.right, device)
        self.in_doubt = bool(made.in_doubt)
        if self.in_doubt:
            self.doubt = put(made.doubt_x, device), put(made.doubt_y, device)
            self.X, self.Y = put(X, device, np.float64), put(Y, device, np.float64)

    def __call__(self, rows: Any, cols: Any) -> Tensor:
        if self.kind == TAXICAB:
            return self.torch.cdist(self.X[rows], self.Y[cols], p=1).mul_(self.weight)
        D = self.left[rows] @ self.right[cols].T
        if self.kind == INNER:
            return D if self.weight == 1 else D.mul_(self.weight)
        if self.in_doubt:
            D = self._mended(D, rows, cols)
        return D.clamp_(min=0) if self.weight > 0 else D.clamp_(max=0)

    def _mended(self, D: Tensor, rows: Any, cols: Any) -> Tensor:
        """Differences taken where the product has cancelled."""
        limit = self.doubt[0][rows, None] + self.doubt[1][cols]
        doubtful = ~(D.abs() >= limit)  # also where it is not a number
        if not doubtful.any():
            return D
        exact = self.torch.cdist(
            self.X[rows], self.Y[cols], compute_mode="donot_use_mm_for_euclid_dist"
        )
        return self.torch.where(doubtful, exact.square_().mul_(self.weight).to(D.dtype), D)


def _rounded(X: np.ndarray, Y: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates in a precision, taken from a centre before they lose digits."""
    if X.dtype == Y.dtype == dtype:
        return X, Y
    origin = centre(np.asarray(Y, np.float64))
    with np.errstate(over="ignore"):  # what single precision does not hold is in doubt
        near = (X - origin).astype(dtype)
        return near, near if Y is X else (Y - origin).astype(dtype)
