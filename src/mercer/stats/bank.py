"""Several kernels on one sample, tile by tile: those of the same distance share its computation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ..data import Data, length, take
from ..kernels.base import Kernel
from ..kernels.vectors.distances import SquaredDistances
from ..kernels.vectors.radial import Laplacian, Radial

_PROBE = 200  # samples on which the precision that a kernel needs is judged
_SINGLE = float(np.finfo(np.float32).eps)
_ORDINARY = 1e6  # kernel values between this and its inverse are left in their own unit
_FEW = 20  # samples whose kernel values are looked at, of kernels that are not positive definite
_RESOLVED = 1e-2  # centred kernel values this large, relative to the largest: float32 is enough

_LARGEST = 1e-6  # of all numbers of a precision: exponents beyond are cut

Distance = Callable[[slice, slice], np.ndarray]


class Bank:
    """Tiles of several kernels of one sample, in the precision that statistics of them need.

    Kernels of the same distance (one direction of lengthscales) form a family: the distance of a
    tile is computed once. Distances are in the precision of the data; kernel values are in single
    precision where those that remain after centring are not small, in double otherwise. They are in
    units of ``scale``, so that single precision can hold them.

    Parameters
    ----------
    kernels : list of Kernel
        Resolved kernels.
    X : data
        The sample, raw.
    order : array, optional
        The order in which its samples are used.

    Attributes
    ----------
    scale : ndarray of shape (kernels,)
        The unit of each kernel: 1, or the power of two next to its largest value if that is far
        from 1.
    """

    def __init__(self, kernels: Sequence[Kernel], X: Data, order: np.ndarray | None = None) -> None:
        self.n = length(X)
        self.kernels = list(kernels)
        self.families: list[_Family] = []
        found: dict[Any, _Family] = {}
        for place, kernel in enumerate(self.kernels):
            key = _key(kernel)
            if key is None or key not in found:
                P = kernel.prepare(X)
                family = _Family(kernel, P if order is None else take(P, order), key)
                self.families.append(family)
                found[key] = family
            found[key].add(place, kernel)
        self.scale = np.ones(len(self))
        for family in self.families:
            if family.key is None:  # radial kernels are at most 1
                family.scale = self.scale[family.members[0][0]] = scale_of(family.first, family.X)
        self._judged: dict[int, set[int]] = {}

    def __len__(self) -> int:
        return len(self.kernels)

    def diag(self) -> np.ndarray:
        """[k(x_i, x_i)] of every kernel, shape (kernels, n)."""
        out = np.empty((len(self), self.n))
        for family in self.families:
            for place, kernel, _ in family.members:
                out[place] = kernel.diag(family.X)
                out[place] /= family.scale
        return out

    def eps(self) -> np.ndarray:
        """The precision of the tiles of each kernel, shape (kernels,)."""
        out = np.full(len(self), _SINGLE)
        for family in self.families:
            precise = list(self._precise(family))
            out[precise] = self.exact[precise]
        return out

    @property
    def exact(self) -> np.ndarray:
        """The precision of the data, in which kernels are evaluated, shape (kernels,)."""
        out = np.full(len(self), np.finfo(np.float64).eps)
        for family in self.families:
            if getattr(family.X, "dtype", None) == np.float32:
                out[list(family.places)] = _SINGLE
        return out

    def tiles(self) -> Callable[[slice, slice], Iterator[tuple[int, np.ndarray]]]:
        """A function from rows and columns to the tiles of all kernels, each with its number."""
        parts = [family.tiles(self._precise(family)) for family in self.families]

        def all_tiles(rows: slice, cols: slice) -> Iterator[tuple[int, np.ndarray]]:
            for part in parts:
                yield from part(rows, cols)

        return all_tiles

    def _precise(self, family: _Family) -> set[int]:
        """The kernels of a family that need double precision."""
        if id(family) not in self._judged:
            self._judged[id(family)] = self._judge(family)
        return self._judged[id(family)]

    def _judge(self, family: _Family) -> set[int]:
        some = take(family.X, np.unique(np.linspace(0, self.n - 1, _PROBE).astype(int)))
        precise = set()
        for place, K in family.on(some).tiles(family.places)(slice(None), slice(None)):
            np.fill_diagonal(K, 0)
            largest = float(np.abs(K).max())
            np.fill_diagonal(K, K.sum(axis=0) / max(1, len(K) - 1))
            K -= K.mean(axis=0)
            K -= K.mean(axis=1)[:, None]
            if np.sqrt(np.mean(np.square(K, dtype=np.float64))) < _RESOLVED * largest:
                precise.add(place)
        return precise


class _Family:
    """Kernels that are functions of one distance; or one kernel alone."""

    def __init__(self, first: Kernel, X: Data, key: Any) -> None:
        self.first, self.X, self.key = first, X, key
        self.scale = 1.0
        self.members: list[tuple[int, Any, float]] = []

    def add(self, place: int, kernel: Kernel) -> None:
        """Add a kernel; its distances are those of the first one times a factor."""
        factor = 1.0
        if isinstance(kernel, Radial) and isinstance(self.first, Radial):
            factor = float(np.ravel(self.first.lengthscale)[0] / np.ravel(kernel.lengthscale)[0])
        self.members.append((place, kernel, factor))

    @property
    def places(self) -> set[int]:
        return {place for place, _, _ in self.members}

    def on(self, X: Data) -> _Family:
        """The same kernels on other samples, prepared in the same way."""
        other = _Family(self.first, X, self.key)
        other.members, other.scale = self.members, self.scale
        return other

    def tiles(
        self, precise: set[int]
    ) -> Callable[[slice, slice], Iterator[tuple[int, np.ndarray]]]:
        dtypes = {place: np.float64 if place in precise else np.float32 for place in self.places}
        if self.key is None:
            place, block = self.members[0][0], self.first.tiles(self.X, self.X)
            dtype = dtypes[place]

            def alone(rows: slice, cols: slice) -> Iterator[tuple[int, np.ndarray]]:
                T = block(rows, cols)
                if self.scale != 1:
                    T = T / self.scale
                yield place, T.astype(dtype, copy=False)

            return alone
        taxicab = self.key[0] == 1
        distance = _taxicab(self.X) if taxicab else self._squared()
        farthest = _farthest(self.X, taxicab)

        def shared(rows: slice, cols: slice) -> Iterator[tuple[int, np.ndarray]]:
            D = distance(rows, cols)
            for place, kernel, factor in self.members:
                by = -factor if taxicab else kernel.stretch * factor**2
                T, near = np.empty(D.shape, dtypes[place]), D
                most = _LARGEST * float(np.finfo(T.dtype).max) / abs(by)
                if farthest > most:  # profiles multiply what is far away by 0
                    near = np.minimum(D, most)
                np.multiply(near, by, out=T, casting="same_kind")
                yield place, np.exp(T, out=T) if taxicab else kernel.profile(T)

        return shared

    def _squared(self) -> Distance:
        kinked = any(kernel.kinked for _, kernel, _ in self.members)
        finest = max(abs(kernel.stretch) * factor**2 for _, kernel, factor in self.members)
        return SquaredDistances(self.X, self.X, exact=kinked, scale=1 / finest)


def scale_of(kernel: Kernel, X: Data) -> float:
    """The unit of the values of a kernel on some samples, from those on the diagonal.

    No other value of a positive definite kernel is larger. Of others, some are looked at.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.max(np.abs(kernel.diag(X)), initial=0.0))
        if not kernel.properties.psd:
            some = take(X, np.unique(np.linspace(0, length(X) - 1, _FEW).astype(int)))
            largest = max(largest, float(np.abs(kernel.pairwise(some, some)).max()))
    return unit_of(largest, kernel)


def unit_of(largest: float, kernel: Kernel) -> float:
    """1, or a power of two where the largest number is far from 1; refuses what is not finite."""
    if not np.isfinite(largest):
        raise not_finite(repr(kernel))
    ordinary = largest == 0 or 1 / _ORDINARY < largest < _ORDINARY
    return 1.0 if ordinary else float(2.0 ** np.round(np.log2(largest)))


def not_finite(what: str) -> ValueError:
    """The error of a test whose kernel values are too large for numbers."""
    return ValueError(
        f"{what} has values on these samples that are not finite numbers, so there is nothing to "
        f"compare; use its .normalize(), or bring the data to a smaller scale."
    )


def _key(kernel: Kernel) -> Any:
    """What kernels of one family share: the norm and the direction of the lengthscales."""
    if not isinstance(kernel, Radial):
        return None
    scales = np.ravel(np.asarray(kernel.lengthscale, dtype=float))
    norm = kernel.p if isinstance(kernel, Laplacian) else 2
    return norm, *(f"{ratio:.10g}" for ratio in scales / scales[0])


def _farthest(X: Any, taxicab: bool) -> float:
    """A bound of the distances between samples; squared, unless they are those of a taxicab."""
    largest = 2 * float(abs(X).max())
    return X.shape[1] * largest * (1 if taxicab else largest)


def _taxicab(X: Any) -> Distance:
    X = X.toarray() if sp.issparse(X) else X
    return lambda rows, cols: cdist(X[rows], X[cols], "cityblock")
