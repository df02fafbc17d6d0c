"""Vectors of iterations on the device of their operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Arrays
from .torch_ import get, import_torch, put, torch_device


class DeviceArrays(Arrays):
    """Tensors of PyTorch, in double precision, for an operator that computes on their device.

    Parameters
    ----------
    device : str
        Where.
    """

    def __init__(self, device: str) -> None:
        self.device, self._torch = device, import_torch(device)

    def put(self, array: Any) -> Any:
        if self._torch.is_tensor(array):
            return array
        return put(np.asarray(array), self.device, np.float64)

    def get(self, array: Any) -> np.ndarray:
        return get(array) if self._torch.is_tensor(array) else np.asarray(array)

    def zeros(self, *shape: int) -> Any:
        return self._torch.zeros(shape, dtype=self._torch.float64, device=torch_device(self.device))

    def dots(self, A: Any, B: Any) -> np.ndarray:
        return get((A * B).sum(0))

    def sums(self, A: Any, B: Any) -> np.ndarray:
        return get((A * B).sum(1))

    def largest(self, A: Any, count: int) -> np.ndarray:
        return get(self._torch.topk(A, count, dim=0, sorted=False).indices)

    def beside(self, *parts: Any) -> Any:
        return self._torch.cat(parts, 1)

    def shifted(self, A: Any, value: float) -> Any:
        A.diagonal().add_(value)
        return A

    def cholesky(self, A: Any) -> Any:
        L, failed = self._torch.linalg.cholesky_ex(A)
        if int(failed):
            raise np.linalg.LinAlgError("the matrix is not positive definite.")
        return L

    def eigh(self, A: Any, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        s, U = self._torch.linalg.eigh(self.put(A))
        kept = slice(0 if k is None else len(s) - k, None)
        return get(s[kept]), get(U[:, kept])

    def solve_lower(self, L: Any, B: Any) -> Any:
        return self._torch.linalg.solve_triangular(L, B, upper=False)

    def product(self, gram: Any, V: Any) -> Any:
        return gram.apply(V)

    def columns(self, gram: Any, index: np.ndarray) -> Any:
        return gram.there(np.arange(len(gram)), index).double()
