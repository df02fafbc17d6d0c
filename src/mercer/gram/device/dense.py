"""All of K on a device, where it fits: its factor, what is left out of it, its eigenvectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine.threads import check_cancelled
from ..tiles import slices
from .torch_ import free_on, get, import_torch, put, torch_device

_PART = {"cuda": 0.8, "cpu": 0.4}  # of the free memory of a device, for matrices
_BLOCK = 2048  # columns of the inverse at a time


def fits(n: int, doubles: int, device: str) -> bool:
    """Is there room for this many n x n matrices in double precision?"""
    return 8.0 * doubles * n**2 <= _PART[torch_device(device).type] * free_on(device)


class DeviceCholesky:
    """What :class:`~mercer.solvers.cholesky.CholeskyFactor` does, on a device.

    Vectors go there and come back as arrays. What it keeps of A is the factor, in double precision.

    Parameters
    ----------
    A : tensor of shape (n, n)
        Positive definite.
    device : str
        Where it is.
    """

    def __init__(self, A: Any, device: str) -> None:
        torch = import_torch(device)
        self.device = device
        self._L, failed = torch.linalg.cholesky_ex(A)
        if int(failed):
            raise np.linalg.LinAlgError(
                f"the leading minor of order {int(failed)} is not positive definite."
            )

    def solve(self, B: np.ndarray) -> np.ndarray:
        """A^-1 B."""
        torch, flat = import_torch(self.device), B.ndim == 1
        found = torch.cholesky_solve(put(B[:, None] if flat else B, self.device, float), self._L)
        return get(found)[:, 0] if flat else get(found)

    def half_solve(self, B: np.ndarray) -> np.ndarray:
        """L^-1 B: its squared column norms are b' A^-1 b."""
        return get(self._half(B))

    def explained(self, B: np.ndarray) -> np.ndarray:
        """b' A^-1 b of every column b."""
        return get(self._half(B).square().sum(0))

    def logdet(self) -> float:
        """log det A."""
        return 2 * float(self._L.diagonal().log().sum())

    def inverse(self) -> Any:
        """A^-1, a tensor."""
        return import_torch(self.device).cholesky_inverse(self._L)

    def inverse_diag(self) -> np.ndarray:
        """The diagonal of A^-1."""
        torch, n = import_torch(self.device), len(self._L)
        out = torch.empty(n, dtype=torch.float64, device=self._L.device)
        for some in slices(n, _BLOCK):
            check_cancelled()
            unit = torch.zeros((n - some.start, some.stop - some.start), **self._kind)
            unit.diagonal().fill_(1.0)
            L = self._L[some.start :, some.start :]
            out[some] = torch.linalg.solve_triangular(L, unit, upper=False).square().sum(0)
        return get(out)

    def _half(self, B: np.ndarray) -> Any:
        torch = import_torch(self.device)
        return torch.linalg.solve_triangular(self._L, put(B, self.device, np.float64), upper=False)

    @property
    def _kind(self) -> dict[str, Any]:
        return {"dtype": self._L.dtype, "device": self._L.device}
