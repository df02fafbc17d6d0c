"""Subsets of a grid, or of a sample of points: masks, as bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, Prepared, Rows
from ...exceptions import DomainError
from ..base import Tile
from ..vectors.bits import look_up, pack


@dataclass(eq=False, repr=False)
class Masks(Prepared):
    """Masks of one shape, prepared: bits, and what each place counts.

    Parameters
    ----------
    bits : array of uint32, of shape (n, words)
        The masks.
    places : int
        How many places a mask has.
    weight : float or array of shape (places,)
        The measure of each.
    """

    bits: np.ndarray
    places: int
    weight: Any

    each = ("bits",)

    def sizes(self) -> np.ndarray:
        """The measure of each mask."""
        if np.ndim(self.weight):
            return self._open(slice(None)) @ self.weight
        return self._counts() * self.weight

    def overlaps(self, other: Masks) -> Tile:
        """Tiles of the measures of intersections."""
        if self.places != other.places:
            raise DomainError(
                f"masks must have the same shape, got {self.places} and {other.places} points."
            )
        if np.ndim(self.weight):
            return lambda rows, cols: (self._open(rows) * self.weight) @ other._open(cols).T
        left, right, table = self._counts(), other._counts(), np.arange(self.places + 1.0)

        def tile(rows: Rows, cols: Rows) -> np.ndarray:
            apart = np.asarray(look_up(table, self.bits[rows], other.bits[cols]))
            return (np.add.outer(left[rows], right[cols]) - apart) * (self.weight / 2)

        return tile

    def features(self) -> np.ndarray:
        """The masks themselves, times the root of the measure."""
        return self._open(slice(None)) * np.sqrt(self.weight)

    @property
    def n_features(self) -> int:
        """One for each place."""
        return self.places

    def _open(self, at: Rows) -> np.ndarray:
        """Masks as rows of 0 and 1."""
        words = np.ascontiguousarray(self.bits[at]).view(np.uint8)
        return np.unpackbits(words, axis=1, count=self.places).astype(np.float64)

    def _counts(self) -> np.ndarray:
        """The number of places in each mask."""
        table, nothing = np.arange(self.places + 1.0), np.zeros_like(self.bits[:1])
        return np.asarray(look_up(table, self.bits, nothing))[:, 0]


def masks(X: Data, measure: Any, owner: str) -> Masks:
    """Boolean arrays of one shape, as a list or as one array."""
    shapes = {np.shape(x) for x in X}
    if len(shapes) > 1:
        a, b = sorted(shapes)[:2]
        raise DomainError(f"{owner}: masks must have the same shape, got {a} and {b}.")
    flat = np.asarray(X, dtype=bool).reshape(len(X), -1)
    places = flat.shape[1]
    if places == 0:
        raise DomainError(f"{owner}: masks are empty.")
    if isinstance(measure, str):
        weight: Any = 1.0 if measure == "counting" else 1 / places
    else:
        weight = np.asarray(measure, dtype=np.float64).reshape(-1)
        if len(weight) != places:
            raise DomainError(
                f"{owner}: measure must have a weight for each of the {places} points of a mask, "
                f"got {len(weight)}."
            )
    return Masks(pack(flat, True), places, weight)
