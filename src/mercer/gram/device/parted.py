"""Fused products whose rows are divided among several devices."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ...kernels.formula import Formula
from .cards import turn
from .fused import Fused
from .lanes import Lane
from .shares import shared
from .torch_ import get, put


class Parted:
    """K between two samples, some rows of it on each device.

    Parameters
    ----------
    rows, cols : Formula
        As for :class:`~mercer.gram.device.fused.Fused`.
    names : list of str
        The devices.
    precision : {"fp32", "tf32"}
    """

    def __init__(self, rows: Formula, cols: Formula, names: list[str], precision: str) -> None:
        self.names = names
        if len(names) == 1:
            self.parts = [Fused(rows, cols, names[0], precision)]
            self.rows = [slice(0, self.parts[0].shape[0])]
            return
        n = next(len(atom.points) for atom in rows.atoms())
        edges = np.linspace(0, n, len(names) + 1).astype(int).tolist()
        self.rows = [slice(a, b) for a, b in pairwise(edges)]
        self.parts = [
            Fused(rows.take(part), cols, name, precision)
            for part, name in zip(self.rows, names, strict=True)
        ]

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """K V."""
        return np.concatenate(self._each("__call__", V))

    def there(self, V: Any) -> Any:
        """K V of a tensor on the first device, as a tensor."""
        if len(self.parts) > 1:
            return put(self(get(V)), self.names[0])
        with turn():
            return self.parts[0](V)

    def normal(self, V: np.ndarray) -> np.ndarray:
        """K' K V."""
        return np.asarray(np.sum(self._each("normal", V), axis=0))

    def _each(self, method: str, V: np.ndarray) -> list[np.ndarray]:
        def work(own: Iterator[int]) -> np.ndarray:
            number = next(own)
            product: Any = getattr(self.parts[number], method)
            with Lane(self.names[number]).here(), turn():
                return get(product(put(V, self.names[number])))

        return shared(range(len(self.parts)), [work] * len(self.parts))
