"""HSIC under all permutations of an arrangement, from features: O(n r^2) for all of them.

With centred features F and G of two variables, the sum over pairs of products of kernel values is
|F'G|^2, the squared norm of an r x r matrix. Under shifts of the rows of the grid, each entry of
that matrix is a circular correlation; at each of m/2 frequencies they are all one product of an
r x q and a q x r matrix. These products are added up over strips of columns of the grid, so that
features of few observations are held at a time, however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.fft

from ..data import Data, evenly, take
from ..gram.tiles import run, slices
from ..kernels.base import Kernel
from ..progress import progress
from .arrangement import Arrangement
from .bank import unit_of
from .cyclic import Shifted, in_order, multiplied, shifted_products

_HELD = 2**22  # entries of (permutations x features of X x features of Y) held by one thread
_BYTES = 2.5e8  # of products, and of features, held at a time
_NARROWEST = 16  # columns of a strip, for products worth the name
_PROBE = 20_000  # observations whose mean is the origin of feature space
_SINGLE = float(np.finfo(np.float32).eps)
_FREQUENCIES = 32  # whose products are one job


def shifted_feature_sums(
    kernels: tuple[Sequence[Kernel], Sequence[Kernel]],
    X: Data,
    Y: Data,
    arrangement: Arrangement,
    workers: int | None = None,
    *,
    verbose: bool = False,
    memory: float = _BYTES,
) -> Shifted:
    """What :func:`~.cyclic.shifted_sums` returns, for kernels with dense features.

    ``memory`` is what products of features may take, in bytes: kernels of X are taken in groups,
    and those of Y again for each group.
    """
    left, right = (
        [_Features(k, Z, arrangement) for k in side]
        for side, Z in zip(kernels, (X, Y), strict=True)
    )
    m, q = arrangement.grid.shape
    width = sum(f.count for f in right)
    one = 8.0 * (m // 2 + 1) * len(arrangement.multipliers) * max(f.count for f in left) * width
    groups = slices(len(left), max(1, int(memory // one)))
    most = sum(f.count for f in left[groups[0]]) + width
    strips = slices(q, max(min(q, _NARROWEST), int(memory / (16.0 * m * most))))
    pairs: list[list[np.ndarray]] = []
    steps = [(group, strip) for group in groups for strip in strips]
    for group, strip in progress(steps, verbose, "observations"):
        if strip.start == 0:
            products = [[_Products(f, g, arrangement, workers) for g in right] for f in left[group]]
        F = [f.transforms(strip, workers) for f in left[group]]
        G = [g.transforms(strip, workers) for g in right]
        for row, A in zip(products, F, strict=True):
            for product, B in zip(row, G, strict=True):
                product.add(A, B)
        del F, G
        if strip is strips[-1]:
            pairs += [[product.squared_norms() for product in row] for row in products]
    x, y = (np.array([f.diag for f in side]) for side in (left, right))
    own = shifted_products(x, y, arrangement)
    traces = np.multiply.outer(x.sum(axis=1), y.sum(axis=1))
    norms = np.array(pairs)
    rounding = 8 * _SINGLE * np.sqrt(traces * norms.max(axis=2))  # of entries, times the norm
    unit = np.multiply.outer(*(np.array([f.unit**2 for f in side]) for side in (left, right)))
    each = unit[:, :, None]
    return Shifted(each * (norms - own), each * own, unit * traces, unit * rounding)


class _Features:
    """Features of one variable in the order of the grid, from an origin near their mean.

    They are in units in which single precision holds their products.

    Up to 20,000 observations the origin is the mean itself; beyond, the squared norms that
    statistics subtract are off by what the mean of so many differs from that of all.
    """

    def __init__(self, kernel: Kernel, X: Data, arrangement: Arrangement) -> None:
        self.kernel, self.X = kernel, X
        self.order, self.shape = arrangement.order, arrangement.grid.shape
        some = evenly(len(self.order), _PROBE)
        parts = slices(len(some), max(1, len(some) // 8))
        self.unit = 1.0
        probe = [self._raw(self.order[some[part]]) for part in parts]
        self.unit = unit_of(max(float(np.abs(phi).max(initial=0.0)) for phi in probe), kernel)
        probe = [phi / self.unit for phi in probe] if self.unit != 1 else probe
        self.count = probe[0].shape[1]
        self.origin = sum(phi.sum(axis=0, dtype=np.float64) for phi in probe) / len(some)
        self.diag = np.empty(len(self.order))
        self.sums: dict[int, np.ndarray] = {}
        m, q = self.shape
        self.fixed = self._centred(slice(m * q, len(self.order))).astype(np.float64)

    @property
    def total(self) -> np.ndarray:
        """The sum over all observations."""
        return np.asarray(sum(self.sums.values()))

    def transforms(self, strip: slice, workers: int | None) -> np.ndarray:
        """Fourier transforms along the rows of some columns, shape (frequencies, columns, r)."""
        m, _ = self.shape
        columns = list(range(strip.start, strip.stop))
        out = np.empty((m // 2 + 1, len(columns), self.count), np.complex64)

        def some(part: slice) -> None:
            at = slice((strip.start + part.start) * m, (strip.start + part.stop) * m)
            phi = self._centred(at).reshape(-1, m, self.count)
            out[:, part] = scipy.fft.rfft(phi, axis=1, workers=1).swapaxes(0, 1)

        run(some, slices(len(columns), max(1, len(columns) // 8)), workers)
        return out

    def _centred(self, at: slice) -> np.ndarray:
        """Features of a range of positions, in single precision; their norms are kept."""
        if at.start == at.stop:
            return np.empty((0, self.count), np.float32)
        phi = self._raw(self.order[at]) - self.origin
        self.diag[at] = np.einsum("ij,ij->i", phi, phi)
        self.sums[at.start] = phi.sum(axis=0)
        return phi.astype(np.float32)

    def _raw(self, places: np.ndarray) -> np.ndarray:
        phi = np.asarray(self.kernel.features(self.kernel.prepare(take(self.X, places))))
        return phi if self.unit == 1 else phi / self.unit


class _Products:
    """F'G under all permutations, as transforms that strips of columns are added to."""

    def __init__(
        self, left: _Features, right: _Features, arrangement: Arrangement, workers: int | None
    ) -> None:
        self.left, self.right, self.workers = left, right, workers
        self.m, self.multipliers = len(arrangement.grid), arrangement.multipliers
        shape = len(self.multipliers), self.m // 2 + 1, left.count, right.count
        self.sums = np.zeros(shape, np.complex64)

    def add(self, F: np.ndarray, G: np.ndarray) -> None:
        """Add the products of some columns."""
        for place, a in enumerate(self.multipliers):
            moved = multiplied(G[None], int(a), self.m)[0]

            def part(at: slice, place: int = place, moved: np.ndarray = moved) -> None:
                self.sums[place, at] += np.matmul(F[at].conj().swapaxes(1, 2), moved[at])

            run(part, slices(len(F), _FREQUENCIES), self.workers)

    def squared_norms(self) -> np.ndarray:
        """|F'G[p]|^2, of exactly centred features, for all permutations p."""
        n, m, r = len(self.left.order), self.m, self.right.count
        parts = slices(self.left.count, max(1, _HELD // (m * r)))
        shift = np.multiply.outer(self.left.total, self.right.total) / n
        constant = self.left.fixed.T @ self.right.fixed - shift
        norms = np.zeros((len(parts), len(self.multipliers), m))

        def part(i: int) -> None:
            for place in range(len(self.multipliers)):
                C = scipy.fft.irfft(self.sums[place, :, parts[i]], m, axis=0, workers=1)
                C += constant[parts[i]].astype(C.dtype)
                norms[i, place] = np.einsum("sij,sij->s", C, C, dtype=np.float64)

        run(part, range(len(parts)), self.workers)
        rows = zip(norms.sum(axis=0), self.multipliers, strict=True)
        return np.concatenate([in_order(row, int(a)) for row, a in rows])
