"""Formulas evaluated on a device: multiplied out into products of atoms, each distance once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ...exceptions import DeviceWarning, warn
from ...kernels.base import Kernel
from ...kernels.formula import Atom, Formula, Profile, Term
from .distances import Distances
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
        warn(f"device={device!r}, but {kernel!r} is computed on the CPU: {why}.", DeviceWarning)
    return why is None


class ManyTiles:
    """Tiles of several kernels k(x, y) on a device: distances that they share are computed once.

    Parameters
    ----------
    rows, cols : sequences of Formula
        The same formulas on the samples of rows and of columns.
    device : str
        Where.
    dtype : dtype
        The precision of tiles.
    """

    def __init__(
        self, rows: Sequence[Formula], cols: Sequence[Formula], device: str, dtype: Any
    ) -> None:
        self.dtype, self.place = np.dtype(dtype), torch_device(device)
        self._torch = import_torch(device)
        terms = [
            list(zip(left.terms(), right.terms(), strict=True))
            for left, right in zip(rows, cols, strict=True)
        ]
        self._distances = self._shared([pair for of in terms for pair in of], device)
        self._uses: Counter[Any] = Counter()
        self._kernels = [[self._term(*pair, device) for pair in of] for of in terms]

    def _shared(self, terms: list[tuple[Term, Term]], device: str) -> dict[Any, Distances]:
        """Those of all atoms that differ by a factor at most, weighted as the finest one asks."""
        users: dict[Any, list[tuple[Atom, Atom]]] = {}
        for left, right in terms:
            for pair in zip(left.atoms, right.atoms, strict=True):
                users.setdefault(_place(*pair), []).append(pair)
        found = {}
        for place, pairs in users.items():
            atom, other = max(pairs, key=lambda pair: abs(pair[0].weight))
            kinked = any(user.profile.kinked for user, _ in pairs)
            found[place] = Distances(
                atom.metric, atom.points, other.points, device, self.dtype, atom.weight, kinked
            )
        return found

    def _term(self, left: Term, right: Term, device: str) -> _Product:
        atoms = []
        for atom, other in zip(left.atoms, right.atoms, strict=True):
            place, profile = _place(atom, other), function_of(atom.profile)
            assert profile is not None  # see unsupported
            weight = self._distances[place].weight
            ratio = 1.0 if atom.weight == weight else atom.weight / weight
            atoms.append((place, ratio, profile))
            self._uses[place] += 1
        pairs = zip(left.factors, right.factors, strict=True)
        factors = [tuple(put(f, device, self.dtype) for f in pair) for pair in pairs]
        return _Product(left.weight, atoms, factors)

    def each(self, rows: Any, cols: Any) -> Iterator[Tensor]:
        """A fresh tile of each kernel; ``rows`` and ``cols`` are slices, or index arrays."""
        seen: dict[Any, Tensor] = {}
        left = dict(self._uses)

        def fresh(place: Any, ratio: float) -> Tensor:
            D = seen.pop(place, None)
            D = self._distances[place](rows, cols) if D is None else D
            left[place] -= 1
            if not left[place]:
                return D if ratio == 1 else D.mul_(ratio)
            seen[place] = D
            return D.clone() if ratio == 1 else D * ratio

        for terms in self._kernels:
            constant, total = 0.0, None
            for weight, atoms, factors in terms:
                product = None
                for place, ratio, profile in atoms:
                    value = profile(fresh(place, ratio))
                    product = value if product is None else product.mul_(value)
                for f, g in factors:
                    x, y = f[rows, None], g[cols]
                    product = x * y if product is None else product.mul_(x).mul_(y)
                if product is None:
                    constant += weight
                    continue
                product = product if weight == 1 else product.mul_(weight)
                total = product if total is None else total.add_(product)
            if total is None:
                kind = getattr(self._torch, self.dtype.name)
                shape = _size(rows), _size(cols)
                total = self._torch.zeros(shape, dtype=kind, device=self.place)
            yield total if constant == 0 else total.add_(constant)


class DeviceTiles(ManyTiles):
    """Tiles of k(x, y) on a device.

    Parameters
    ----------
    rows, cols : Formula
        The same formula on the samples of rows and of columns.
    device : str
        Where.
    dtype : dtype
        The precision of tiles.
    """

    def __init__(self, rows: Formula, cols: Formula, device: str, dtype: Any) -> None:
        super().__init__([rows], [cols], device, dtype)

    def __call__(self, rows: Any, cols: Any) -> Tensor:
        """A fresh tile; ``rows`` and ``cols`` are slices within the samples, or index arrays."""
        (found,) = self.each(rows, cols)
        return found


class _Product(NamedTuple):
    """A term: its weight, which functions of which distances, and functions f(x) g(y)."""

    weight: float
    atoms: list[tuple[Any, float, Function]]
    factors: list[tuple[Tensor, ...]]


def _place(atom: Atom, other: Atom) -> Any:
    return atom.metric, id(atom.points), id(other.points)


def _size(index: Any) -> int:
    return index.stop - index.start if isinstance(index, slice) else len(index)
