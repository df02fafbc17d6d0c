"""K on a device: computed in every product; all of it there only for a factor or eigenvectors."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from ...data import Data, Rows, in_double
from ...engine.threads import check_cancelled
from ...exceptions import DeviceError, DeviceWarning, warn
from ..arrays import Arrays
from ..base import Gram
from ..stored import TiledGram
from ..tiles import diagonal, slices
from .arrays import DeviceArrays
from .dense import DeviceCholesky
from .dense import fits as there_is_room
from .fused import why_not
from .parted import Parted
from .precision import products_in
from .slopes import Slopes
from .slopes import why_not as why_no_slopes
from .tiles import DeviceTiles
from .torch_ import devices, entries, get, import_torch, put, torch_device, within_memory
from .triton_ import TritonError, warn_of_plain

_SIDE = 16384  # columns of a tile, at most


class DeviceGram(TiledGram):
    """A kernel matrix whose tiles and products are computed on a device of PyTorch.

    Vectors go there and come back as arrays, so that solvers need not know. Tiles are in the
    precision of a plan, or else in that of the samples, or in the one a solver requests
    (:meth:`products`); their products are added up in double precision.

    Parameters
    ----------
    kernel : Kernel
        One that states its formula; resolved.
    X, Y : prepared samples
        Of the rows, and of the columns.
    device : str
        The name of the device: "cuda", "cuda:1", or "torch-cpu" for PyTorch on the processor. With
        several, "cuda:0,cuda:1", rows of fused products are divided among them.
    precision : {None, "fp64", "fp32", "tf32"}
        That of a plan.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Plan
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> K = Plan(device="torch-cpu").gram(Gaussian(0.1), X)  # doctest: +SKIP
    >>> np.allclose(K @ np.ones(1000), Gaussian(0.1)(X).sum(axis=1))  # doctest: +SKIP
    True
    """

    def __init__(
        self,
        kernel: Any,
        X: Data,
        Y: Data | None = None,
        *,
        workers: int | None = None,
        device: str = "cuda",
        precision: str | None = None,
    ) -> None:
        super().__init__(kernel, X, Y, workers=workers)
        self.device, self.precision = device, precision
        self._asked: np.dtype | None = None
        self._failed = ""  # why Triton cannot compile fused products, where these were tried

    @property
    def storage(self) -> str:  # type: ignore[override]
        """Where K is, in words."""
        formula = self.kernel.formula(self.X)
        why = self._failed or why_not(formula, devices(self.device)[0], self.dtype)
        how = "in fused products" if why is None else f"tile by tile ({why})"
        return f"computed on {self.device} {how}, never stored"

    @cached_property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        samples = super().dtype
        if self.precision is not None:
            return np.dtype(np.float64 if self.precision == "fp64" else np.float32)
        return np.dtype(self._asked or samples)

    @cached_property
    def _tiles(self) -> DeviceTiles:
        rows: Any = self.kernel.formula(self.X)
        cols: Any = rows if self.symmetric else self.kernel.formula(self.Y)
        return DeviceTiles(rows, cols, self.device, self.dtype)

    @cached_property
    def _fused(self) -> Parted | None:
        """Products in one kernel each, where there is one for the formula and the device."""
        rows: Any = self.kernel.formula(self.X)
        if self._failed or why_not(rows, devices(self.device)[0], self.dtype) is not None:
            return None
        cols: Any = rows if self.symmetric else self.kernel.formula(self.Y)
        return Parted(rows, cols, devices(self.device), products_in(self.precision))

    def _by_fused(self, product: Callable[[Parted], Any]) -> Any:
        """A product in fused form; None where there is none."""
        if self._fused is None:
            return None
        try:
            return product(self._fused)
        except TritonError as error:
            warn_of_plain(self.device, error)
            self._failed, self._fused = error.why, None
            return None
        except import_torch(self.device).OutOfMemoryError:
            raise DeviceError(
                f"the memory of device={self.device!r} does not suffice for products with K of "
                f"{self.shape[0]} x {self.shape[1]} samples; free some of it, take fewer samples, "
                f"or approximate the kernel with a rank."
            ) from None

    @cached_property
    def _exact(self) -> np.ndarray:
        return diagonal(self.kernel, self.X)

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=np.float64)
        product = self._by_fused(lambda fused: fused(V))
        if product is not None:
            return product
        unit = _units(V)
        scaled = put(V / unit, self.device, self.dtype)

        def work(size: int) -> np.ndarray:
            return get(self._symmetric(scaled, size) if self.symmetric else self._of(scaled, size))

        return within_memory(work, self.device, self.dtype.itemsize) * unit

    def _of(self, V: Any, size: int) -> Any:
        """K V of two samples."""
        out = self._zeros(self.shape[0], V)
        cols = slices(self.shape[1], min(_SIDE, max(self.shape[1], 1)))
        for r in slices(self.shape[0], max(size // _SIDE, 1)):
            for c in cols:
                check_cancelled()
                out[r] += self._tiles(r, c) @ V[c]
        return out

    def _symmetric(self, V: Any, size: int) -> Any:
        """K V of one sample: tiles of the upper triangle, each used twice."""
        out = self._zeros(self.shape[0], V)
        exact = put(self._exact, self.device, self.dtype)
        parts = slices(self.shape[0], max(int(np.sqrt(size)), 1))
        for i, r in enumerate(parts):
            for c in parts[i:]:
                check_cancelled()
                tile = self._tiles(r, c)
                if r == c:
                    tile.diagonal().copy_(exact[r])
                else:
                    out[c] += tile.T @ V[r]
                out[r] += tile @ V[c]
        return out

    def _zeros(self, n: int, V: Any) -> Any:
        torch = import_torch(self.device)
        return torch.zeros((n, V.shape[1]), dtype=torch.float64, device=V.device)

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        i, j = np.arange(self.shape[0])[rows], np.arange(self.shape[1])[cols]
        out = np.empty((len(i), len(j)), self.dtype)
        columns = put(j, self.device)

        def work(size: int) -> None:
            for some in slices(len(i), max(size // max(len(j), 1), 1)):
                check_cancelled()
                out[some] = get(self._tiles(put(i[some], self.device), columns))
                if self.symmetric:
                    r, c = np.nonzero(i[some, None] == j)
                    out[some][r, c] = self._exact[j[c]]

        within_memory(work, self.device, self.dtype.itemsize)
        return out

    def normal(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=np.float64)
        columns = V[:, None] if V.ndim == 1 else V
        product = self._by_fused(lambda fused: fused.normal(columns))
        if product is None:
            product = self._plain_normal(columns)
        return product[:, 0] if V.ndim == 1 else product

    def _plain_normal(self, V: np.ndarray) -> np.ndarray:
        unit = _units(V)
        W = put(V / unit, self.device, self.dtype)

        def work(size: int) -> np.ndarray:
            total = self._zeros(self.shape[1], W)
            for rows in slices(self.shape[0], max(size // max(self.shape[1], 1), 1)):
                check_cancelled()
                strip = self._tiles(rows, slice(0, self.shape[1]))
                total += strip.T @ (strip @ W)
            return get(total)

        return within_memory(work, self.device, self.dtype.itemsize) * unit

    def products(self, dtype: Any, room: float = 0.0) -> Gram:
        same = self._as(DeviceGram)
        same._asked = np.dtype(dtype)
        return same

    def cross(self, X_new: Data) -> Gram:
        P = self.kernel.prepare(in_double(X_new) if self.precision == "fp64" else X_new)
        where: Any = {"device": self.device, "precision": self.precision}
        return DeviceGram(self.kernel, P, self.X, workers=self.workers, **where)

    def _as(self, form: Any, X: Data | None = None) -> Any:
        same = super()._as(form, X)
        same.device, same.precision, same._asked = self.device, self.precision, None
        same._failed = self._failed
        return same

    def to_dense(self) -> np.ndarray:
        return self.block(slice(None), slice(None))

    # ---- what stays on the device ------------------------------------------------------------
    @cached_property
    def arrays(self) -> Arrays:
        return DeviceArrays(self.device)

    def apply(self, V: Any) -> Any:
        """K V of a tensor in double precision, as a tensor."""
        product = self._by_fused(lambda fused: fused.there(V))
        if product is not None:
            return product
        largest = V.abs().amax(0)
        torch = import_torch(self.device)
        unit = torch.exp2(torch.floor(torch.log2(torch.where(largest > 0, largest, 1.0))))
        scaled = (V / unit).to(getattr(torch, self.dtype.name))

        def work(size: int) -> Any:
            return self._symmetric(scaled, size) if self.symmetric else self._of(scaled, size)

        return within_memory(work, self.device, self.dtype.itemsize) * unit

    def there(self, rows: np.ndarray, cols: np.ndarray) -> Any:
        """K[rows, cols] as a tensor."""
        place = put(cols, self.device)
        parts = slices(len(rows), max(entries(self.device, self.dtype.itemsize) // len(cols), 1))
        tile = import_torch(self.device).cat(
            [self._tiles(put(rows[some], self.device), place) for some in parts]
        )
        if self.symmetric:
            exact = put(self._exact[cols], self.device, self.dtype)
            among = np.flatnonzero(np.isin(rows, cols))
            r, c = np.nonzero(rows[among, None] == cols)
            tile[among[r], c] = exact[c]
        return tile

    # ---- all of K, where there is room for it ------------------------------------------------
    def fits(self, doubles: int) -> bool:
        n = len(self)
        return (
            self.symmetric and 8.0 * n * n <= self.limit and there_is_room(n, doubles, self.device)
        )

    def whole(self, what: str, nbytes: float | None = None) -> Any:
        doubles = 2 if nbytes is None else int(np.ceil(nbytes / (8.0 * len(self) ** 2)))
        if not self.fits(doubles):
            raise DeviceError(
                f"{what} does not fit the memory of device={self.device!r}, or that of the plan; "
                f"use fewer samples, or approximate the kernel with a rank."
            )
        n, torch = len(self), import_torch(self.device)
        K = torch.empty((n, n), dtype=torch.float64, device=torch_device(self.device))
        parts = slices(n, _SIDE)
        for i, r in enumerate(parts):
            for c in parts[i:]:
                check_cancelled()
                K[r, c] = self._tiles(r, c).double()
                if r != c:
                    K[c, r] = K[r, c].T
        for r in parts:  # symmetric to the last bit
            K[r, r] = (K[r, r] + K[r, r].T) / 2
        K.diagonal().copy_(put(self._exact, self.device, np.float64))
        return K

    def factored(self, noise: float | np.ndarray) -> DeviceCholesky:
        K = self.whole(f"the factor of {len(self)} samples")
        K.diagonal().add_(put(np.broadcast_to(noise, len(self)), self.device, np.float64))
        return DeviceCholesky(K, self.device)

    def slopes(self, left: Any, right: Any, own: np.ndarray) -> np.ndarray | None:
        why = why_no_slopes(self.kernel, self.X)
        if why is not None:
            warn(
                f"device={self.device!r}, but the derivatives of {self.kernel!r} are computed on "
                f"the processor: {why}.",
                DeviceWarning,
            )
            return None
        there = Slopes(self.kernel, self.X, self.device, self.dtype)(left, right)
        return np.asarray(there + self.kernel.grad_theta_diag(self.X, own))


def _units(V: np.ndarray) -> np.ndarray:
    """Powers of two by which columns are divided for single precision, which rounds nothing."""
    largest = np.abs(V).max(axis=0, initial=0.0)
    return np.asarray(np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0)))))
