"""HSIC under all permutations of an arrangement, by Fourier transforms.

Of two symmetric matrices A and B, rows and columns of B permuted by a shift s of the rows of the
grid, the sum of products is, with i = (k, u) and j = (k + t, v),

    sum_ij A_ij B_p(i)p(j) = sum_uvt sum_k A[(k, u), (k + t, v)] B[(k + s, u), (k + s + t, v)]

a sum of circular correlations along the diagonals of m x m tiles. One transform per diagonal and
matrix gives the sums of all s, in O(n^2 log m) operations for all permutations together; tiles are
computed when they are needed, and nothing of size n x n is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.fft

from ..data import Data
from ..gram.base import HOST
from ..gram.plan import Plan
from ..gram.tiles import run, slices
from ..kernels.base import Kernel
from ..progress import progress
from .arrangement import Arrangement
from .device_cyclic import DeviceDiagonals, DeviceSums
from .permutations import Units
from .planned import bank_of
from .sums import PairSums, tile_sums

_STRIP = 200  # rows of a tile computed at a time
_OFFSETS = 64  # diagonals transformed at a time
_SINGLE = float(np.finfo(np.float32).eps)


class Shifted(NamedTuple):
    """Sums over pairs (i, j), and over i, of products of centred kernel values.

    Attributes
    ----------
    pairs : ndarray of shape (a, b, permutations)
        sum over i != j of K_ij L_p(i)p(j), for each kernel of X and each of Y.
    own : ndarray of shape (a, b, permutations)
        sum over i of K_ii L_p(i)p(i).
    traces : ndarray of shape (a, b)
        tr K tr L.
    rounding : ndarray of shape (a, b)
        How far apart rounding may move two sums over pairs that are equal.
    """

    pairs: np.ndarray
    own: np.ndarray
    traces: np.ndarray
    rounding: np.ndarray


def shifted_sums(
    kernels: tuple[Sequence[Kernel], Sequence[Kernel]],
    X: Data,
    Y: Data,
    arrangement: Arrangement,
    workers: int | None = None,
    verbose: bool = False,
    plan: Plan | None = None,
) -> Shifted:
    """The sums of every kernel of X with every kernel of Y, under all permutations."""
    q = arrangement.grid.shape[1]
    pairs_of = zip(kernels, (X, Y), strict=True)
    left, right = (_Side(k, Z, arrangement, workers, plan) for k, Z in pairs_of)
    spectrum = _Spectrum(arrangement, len(left.bank), len(right.bank), workers)
    tiles = [(u, v) for u in range(q) for v in range(u, q)]
    there = left.there(arrangement) and right.there(arrangement)
    on_device = DeviceSums(left.on_device(), right.on_device()) if there else None
    for u, v in progress(tiles, verbose, "kernel values"):
        count = spectrum.offsets(u == v)
        if on_device is not None:
            on_device.add(u, v, spectrum.weights(count, u == v))
        else:
            spectrum.add(left.diagonals(u, v, count), right.diagonals(u, v, count), u == v)
    if on_device is not None:
        spectrum.total[0] += on_device.total()
    pairs = spectrum.values()
    if len(arrangement.fixed):
        across = _Spectrum(arrangement, len(left.bank), len(right.bank))
        across.add_columns(left.against_fixed(), right.against_fixed())
        among = np.einsum("aij,bij->ab", left.among_fixed(), right.among_fixed())
        pairs += 2 * across.values() + among[:, :, None]
    own = shifted_products(left.diag, right.diag, arrangement)
    traces = np.multiply.outer(left.diag.sum(axis=1), right.diag.sum(axis=1))
    outer, unit = np.multiply.outer, np.multiply.outer(left.bank.scale, right.bank.scale)
    rounding = outer(left.noise, right.norm) + outer(left.norm, right.noise)
    each = unit[:, :, None]
    return Shifted(each * pairs, each * own, unit * traces, unit * rounding)


def shifted_products(x: np.ndarray, y: np.ndarray, arrangement: Arrangement) -> np.ndarray:
    """[sum_i x_i y_p(i)] under all permutations, for vectors in the order of the arrangement."""
    m, q = arrangement.grid.shape
    spectrum = _Spectrum(arrangement, len(x), len(y))
    A, B = (z[:, : m * q].reshape(-1, q, m).swapaxes(1, 2) for z in (x, y))
    spectrum.add_columns(A, B)
    fixed = np.einsum("ai,bi->ab", x[:, m * q :], y[:, m * q :])
    return spectrum.values() + fixed[:, :, None]


class _Side:
    """The centred kernel matrices of one variable, by the diagonals of tiles of the grid."""

    def __init__(
        self,
        kernels: Sequence[Kernel],
        X: Data,
        arrangement: Arrangement,
        workers: int | None,
        plan: Plan | None = None,
    ) -> None:
        self.m, self.q = arrangement.grid.shape
        self.workers = workers
        self.bank = bank_of(kernels, X, arrangement.order, plan)
        n = self.bank.n
        sums = tile_sums(self.bank, Units(np.arange(n)), np.empty((n, 0), np.float32), workers)
        unit = self.bank.scale[:, None]
        means = (sums.rows + sums.diag) / unit / n
        self.shift = means - means.mean(axis=1, keepdims=True) / 2  # K_ij - shift_i - shift_j
        self.diag = sums.diag / unit - 2 * self.shift
        self.tiles = self.bank.tiles()
        self.norm, self.noise = self._sizes(sums, means, unit)

    def _sizes(
        self, sums: PairSums, means: np.ndarray, unit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The norm of each centred matrix, and what rounding makes of it in a sum of products.

        Sums of products of discrete data that are equal were found to differ by up to 1.2 times
        the product of norms in single precision, over the root of n.
        """
        n, own = self.bank.n, np.sum((sums.diag / unit) ** 2, axis=1)
        squares = (sums.squares / unit**2)[:, 0] + own
        left = squares - 2 * n * np.sum(means**2, axis=1) + (n * means.mean(axis=1)) ** 2
        norm = np.sqrt(np.maximum(left, 0.0))
        uncentred = (sums.rounding / unit)[:, 0] / n**2
        return norm, 2 * _SINGLE * norm / np.sqrt(n) + uncentred

    def centred(self, rows: slice, cols: slice) -> Any:
        """Tiles of all kernels, centred, in single precision, each with its number."""
        for place, T in self.tiles(rows, cols):
            shift = self.shift[place]
            T -= shift[rows, None].astype(T.dtype)
            T -= shift[cols].astype(T.dtype)
            yield place, T

    def diagonals(self, u: int, v: int, count: int) -> np.ndarray:
        """[A[(k, u), (k + t, v)]] for all k and t < count, shape (kernels, m, count)."""
        m = self.m
        out = np.empty((len(self.bank), m, count), np.float32)

        def strip(rows: slice) -> None:
            height = rows.stop - rows.start
            wide = np.empty((len(self.bank), height, count + height - 1), np.float32)
            for cols, at in _wrapped(rows.start, wide.shape[2], m):
                there = slice(v * m + cols.start, v * m + cols.stop)
                here = slice(u * m + rows.start, u * m + rows.stop)
                for place, T in self.centred(here, there):
                    wide[place, :, at] = T
            s = wide.strides
            skewed = np.lib.stride_tricks.as_strided(
                wide, (len(wide), height, count), (s[0], s[1] + s[2], s[2]), writeable=False
            )
            out[:, rows] = skewed

        run(strip, slices(m, _STRIP), self.workers)
        if u == v:
            out[:, :, 0] = 0
        return out

    def there(self, arrangement: Arrangement) -> bool:
        """Are tiles computed on a device?"""
        return self.bank.device != HOST and len(arrangement.multipliers) == 1

    def on_device(self) -> DeviceDiagonals:
        """The same diagonals, as tensors."""
        return DeviceDiagonals(self.bank, self.shift, self.m)

    def against_fixed(self) -> np.ndarray:
        """Centred values between rows of the grid and fixed positions, a column for each."""
        block = self._fixed_rows()[:, :, : self.m * self.q]
        block = block.reshape(len(block), -1, self.q, self.m)
        return block.transpose(0, 3, 1, 2).reshape(len(block), self.m, -1)

    def _fixed_rows(self) -> np.ndarray:
        """Centred values between fixed positions and all, shape (kernels, fixed, n)."""
        n, first = self.bank.n, self.m * self.q
        out = np.empty((len(self.bank), n - first, n))
        for place, T in self.centred(slice(first, n), slice(0, n)):
            out[place] = T
        return out

    def among_fixed(self) -> np.ndarray:
        """Centred values between fixed positions, 0 on the diagonal."""
        n, first = self.bank.n, self.m * self.q
        block = self._fixed_rows()[:, :, first:]
        block[:, np.arange(n - first), np.arange(n - first)] = 0
        return block


class _Spectrum:
    """Transforms of sums over all shifts, for every pair of kernels and every multiplier."""

    def __init__(
        self,
        arrangement: Arrangement,
        a: int,
        b: int,
        workers: int | None = None,
    ) -> None:
        self.m, self.workers = len(arrangement.grid), workers
        self.multipliers = arrangement.multipliers
        self.frequencies = self.m // 2 + 1
        self.total = np.zeros((len(self.multipliers), self.frequencies, a, b), np.complex128)

    def offsets(self, symmetric: bool) -> int:
        """How many diagonals of a tile are needed: half of them where the other half mirrors it."""
        return self.m // 2 + 1 if symmetric and len(self.multipliers) == 1 else self.m

    def weights(self, count: int, symmetric: bool) -> np.ndarray:
        """How often each diagonal of a tile counts."""
        weights = np.full(count, 2.0, np.float32)
        if symmetric and self.m % 2 == 0:
            weights[self.m // 2] = 1.0
        return weights

    def add(self, A: np.ndarray, B: np.ndarray, symmetric: bool) -> None:
        """Add a tile, given by its diagonals; one off the diagonal of tiles counts twice."""
        count = A.shape[2]
        if len(self.multipliers) > 1:
            self._add_multiplied(A, B, 1.0 if symmetric else 2.0)
            return
        weights = self.weights(count, symmetric)
        parts = slices(count, _OFFSETS)
        sums = np.empty((len(parts), *self.total.shape[1:]), np.complex64)

        def part(i: int) -> None:
            sums[i] = _products(A[:, :, parts[i]] * weights[parts[i]], B[:, :, parts[i]])

        run(part, range(len(parts)), self.workers)
        self.total[0] += sums.sum(axis=0, dtype=np.complex128)

    def add_columns(self, A: np.ndarray, B: np.ndarray) -> None:
        """Add correlations of columns that all multipliers leave in place."""
        F, G = (scipy.fft.rfft(M, axis=1) for M in (A, B))
        for i, a in enumerate(self.multipliers):
            self.total[i] += _contract(F, multiplied(G, int(a), self.m))

    def _add_multiplied(self, A: np.ndarray, B: np.ndarray, weight: float) -> None:
        F, G = (scipy.fft.rfft(M, axis=1, workers=1) for M in (A, B))
        offsets = np.arange(self.m)

        def one(i: int) -> None:
            a = int(self.multipliers[i])
            moved = multiplied(G, a, self.m)[:, :, a * offsets % self.m]
            self.total[i] += weight * _contract(F, moved)

        run(one, range(len(self.multipliers)), self.workers)

    def values(self) -> np.ndarray:
        """The sums, shape (a, b, permutations), in the order of the arrangement."""
        sums = scipy.fft.irfft(self.total, self.m, axis=1)
        for i, a in enumerate(self.multipliers):
            sums[i] = in_order(sums[i], int(a))
        return np.asarray(sums.reshape(-1, *sums.shape[2:]).transpose(1, 2, 0))


def in_order(sums: np.ndarray, a: int) -> np.ndarray:
    """Sums of rows k with a (k + s), by shifts a s instead of s."""
    out = np.empty_like(sums)
    out[a * np.arange(len(sums)) % len(sums)] = sums
    return out


def multiplied(G: np.ndarray, a: int, m: int) -> np.ndarray:
    """Transforms (frequencies along axis 1) of values at rows a k, from those at rows k."""
    if a == 1:
        return G
    places = pow(a, -1, m) * np.arange(G.shape[1]) % m
    mirrored = places > m // 2
    moved = G[:, np.where(mirrored, m - places, places)]
    moved[:, mirrored] = moved[:, mirrored].conj()
    return moved


def _products(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """sum over t of conj(F_A) F_B, shape (frequencies, a, b), for columns t of A and B."""
    return _contract(*(scipy.fft.rfft(M, axis=1, workers=1) for M in (A, B)))


def _contract(F: np.ndarray, G: np.ndarray) -> np.ndarray:
    return np.matmul(F.conj().transpose(1, 0, 2), G.transpose(1, 2, 0))


def _wrapped(start: int, width: int, m: int) -> list[tuple[slice, slice]]:
    """start, start + 1, ... modulo m as slices, each with where it goes."""
    parts, done = [], 0
    while done < width:
        first = (start + done) % m
        size = min(m - first, width - done)
        parts.append((slice(first, first + size), slice(done, done + size)))
        done += size
    return parts
