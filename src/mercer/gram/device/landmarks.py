"""Landmarks on a device: their choice, and the factor of their Gram matrix.

The factor is that of K + jitter: landmarks that depend on others are kept, but have almost no
effect. It is in double precision for up to 60,000 landmarks, if that fits the device and is quick
there, and in single precision beyond; the jitter is what errors of that precision may take from the
smallest eigenvalue. Features B L'^-1 are those of one factor in either case, so a solver's accuracy
does not depend on it: what differs is the penalty, by jitter |c|^2 for coefficients c at landmarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ...chunks.base import Chunks
from ...data import Data, length, take
from ...engine.memory import memory_words
from ...exceptions import DeviceError, NumericalWarning, warn
from ...kernels.algebra.nystrom import Nystrom
from ...kernels.base import Kernel
from ..factors import Factor
from ..streamed import Centres, in_double
from ..tiles import diagonal
from .gram import DeviceGram
from .products import Products, products_for
from .tiles import DeviceTiles
from .torch_ import free_on, get, import_torch, put, quick_in_double, torch_device
from .triangles import SIDE, Square, Triangle

PIVOTED = 1000  # landmarks up to which pivots are looked for, n M^2 work on the processor
_DOUBLE = 60_000  # landmarks up to which the factor is in double precision
_SLOW = 10_000  # the same where that is slow
_ROOM = 0.5, 0.9  # of free memory, that a matrix in double, and in single precision may take
_JITTER = 4.0  # of sqrt(M) roundings of the largest entry
_HOPELESS = 0.1  # of the largest entry: a jitter that no rounding explains


class Chosen(NamedTuple):
    """A kernel through landmarks, and the places of these among all samples, if they have any."""

    kernel: Any
    places: np.ndarray | None


def choose(kernel: Any, chunks: Chunks, most: int, device: str) -> Chosen:
    """Landmarks for a kernel without any yet, from ``most`` samples drawn at random.

    They are pivots, if these were requested, for up to 1,000 landmarks or a share of the trace;
    more are drawn at random, since pivots would take far longer than everything else.
    """
    n, rank = chunks.n_samples, kernel.rank
    places = np.sort(np.random.default_rng(0).choice(n, min(most, n), replace=False))
    if kernel.choose not in ("pivoted", "uniform"):
        return Chosen(kernel.resolve(chunks.take(places).X), None)
    if not by_chance(kernel.choose, rank):
        from ...solvers.pivoted import pivoted_cholesky

        few: dict[str, Any] = {"rank": int(rank)} if rank >= 1 else {"tol": float(rank)}
        X = chunks.take(places).X
        gram = DeviceGram(kernel.kernel, kernel.kernel.prepare(X), device=device)
        found = np.sort(pivoted_cholesky(gram, rng=0, **few).pivots)
        return Chosen(kernel.replace(reference=take(X, found)), places[found])
    if rank < n:
        places = np.sort(np.random.default_rng(0).choice(n, int(rank), replace=False))
    return Chosen(kernel.replace(reference=chunks.take(places).X, choose="uniform"), places)


def by_chance(how: str, rank: float) -> bool:
    """Are landmarks drawn at random, by request or because there are too many?"""
    return rank >= 1 and (how == "uniform" or rank > PIVOTED)


class LandmarkFactor(Factor):
    """L on a device, with k(Z, Z) + jitter = L L'; computed when first used.

    Parameters
    ----------
    kernel : Kernel
        k, computed by the device.
    Z : data
        The landmarks, as they were given.
    device : str
        Where.
    """

    def __init__(self, kernel: Kernel, Z: Data, device: str) -> None:
        self.kernel, self.Z, self.device = kernel, Z, device
        self.jitter = 0.0
        self._places: list[Triangle] = []
        self.owners: WeakValueDictionary[int, Any] = WeakValueDictionary()  # they know this one

    def __reduce__(self) -> Any:
        """What is sent to workers: each computes L on its own device."""
        return LandmarkFactor, (self.kernel, self.Z, self.device)

    def __len__(self) -> int:
        return length(self.Z)

    @cached_property
    def products(self) -> Products:
        """In the precision for which there is room."""
        return products_for(self.device, precision(len(self), self.device))

    @cached_property
    def square(self) -> Square:
        """The memory of L and of another triangle."""
        with room(self.device, len(self)):
            return Square(len(self), self.device, self.products)

    def make(self) -> None:
        """Make it now."""
        assert len(self.triangle)

    @cached_property
    def triangle(self) -> Triangle:
        """L."""
        P = self.kernel.prepare(in_double(self.Z))
        exact = diagonal(self.kernel, P)
        largest = float(exact.max(initial=0.0))
        if largest <= 0:
            raise ValueError(
                f"Nystrom: {self.kernel!r} is zero at all {len(self)} landmarks; give others."
            )
        formula: Any = self.kernel.formula(P)
        tiles = DeviceTiles(formula, formula, self.device, np.float64)
        there = put(exact, self.device)

        def tile(rows: slice, cols: slice) -> Any:
            block = tiles(rows, cols)
            if rows == cols:
                block.diagonal().copy_(there[rows])
            return block

        own = getattr(self.Z, "dtype", None)
        coarse = float(np.finfo(np.float32).eps) if own == np.float32 else 0.0
        self.jitter = _JITTER * np.sqrt(len(self)) * max(self.products.rounding, coarse) * largest
        found = self.square.below
        while True:
            with room(self.device, len(self)):
                found.fill(tile)
                found.shift(self.jitter)
                if not found.factorise():
                    return found
            if self.jitter > _HOPELESS * largest:
                raise np.linalg.LinAlgError(
                    f"{self.kernel!r} at {len(self)} landmarks has no Cholesky factor; give a "
                    f"kernel that is positive definite, or samples in double precision."
                )
            self.jitter *= 10
            warn(
                f"k(Z, Z) at {len(self)} landmarks has no Cholesky factor in "
                f"{self.products.dtype} arithmetic; {self.jitter:.1e} was added to its diagonal.",
                NumericalWarning,
            )

    def solve(self, B: np.ndarray, transposed: bool = False) -> np.ndarray:
        columns = put(B.reshape(len(B), -1), self.device, np.float64)
        with room(self.device, len(self)):
            return get(self.triangle.solve(columns, transposed)).reshape(B.shape)

    def place(self, number: int) -> Triangle:
        """Room for another triangle: beside L, and then in further matrices."""
        while len(self._places) <= number:
            if not self._places:
                self._places.append(self.square.above)
                continue
            with room(self.device, len(self)):
                more = Square(len(self), self.device, self.products)
            self._places += [more.below, more.above]
        return self._places[number]

    def words(self) -> str:
        """A description, with the precision."""
        if "triangle" not in vars(self):
            return f"a factor on {self.device}, made when it is needed"
        kind = "double" if self.products.dtype == np.float64 else "single"
        return f"a factor in {kind} precision on {self.device}, jitter {self.jitter:.1e}"


def landmark_columns(
    kernel: Nystrom, device: str, precision: str | None
) -> tuple[Centres, LandmarkFactor]:
    """The samples to compare with, and the factor that turns kernel values into features."""
    Z = kernel.reference
    return Centres(kernel.kernel, Z, device, precision), LandmarkFactor(kernel.kernel, Z, device)


def precision(size: int, device: str) -> Any:
    """The precision for a matrix of this size: double if there is room for it and it is fast."""
    if torch_device(device).type == "cuda":
        import_torch(device).cuda.empty_cache()  # large matrices do not fit what is left in pieces
    free = free_on(device)
    most = _DOUBLE if quick_in_double(device) else _SLOW
    if size <= most and _bytes(size, 8) <= _ROOM[0] * free:
        return np.float64
    if _bytes(size, 4) > _ROOM[1] * free:
        raise DeviceError(
            f"the factor of {size} landmarks takes {memory_words(_bytes(size, 4))}, and "
            f"device={device!r} has {memory_words(free)} left; take at most "
            f"{int(np.sqrt(_ROOM[1] * free / 4.5))} landmarks."
        )
    return np.float32


def _bytes(size: int, itemsize: int) -> float:
    """Of a matrix, of blocks on two diagonals with their inverses, and of products."""
    return float(itemsize * size * size + 50.0 * size * min(SIDE, size))


@contextmanager
def room(device: str, size: int) -> Iterator[None]:
    """Raise an error with the remedy if memory is too small."""
    torch = import_torch(device)
    try:
        yield
    except torch.OutOfMemoryError:
        torch.cuda.empty_cache()
        raise DeviceError(
            f"the memory of device={device!r} does not suffice for matrices of {size} landmarks; "
            f"take fewer, or free some of it."
        ) from None
