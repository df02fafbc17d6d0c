"""Coordinates for formulas, computed on a device from raw samples."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import numpy as np

from ...data import Data
from ...kernels.base import Kernel
from ...kernels.formula import INNER, Atom, Formula
from ...kernels.formula_nodes import Rescale

Tensor = Any

_LOOKED_AT = 100  # centres at which coordinates made here are compared with those of the kernel
_CLOSE = 1e-5  # single precision, divided in another order
_EVERYWHERE = ("linear", "polynomial", "exponential")  # profiles of all inner products


class Points:
    """Coordinates on a device, in place of an array in a formula.

    Parameters
    ----------
    tensor : Tensor
    host : array, optional
        The same on the host, for code that needs a few of them.
    """

    def __init__(self, tensor: Tensor, host: np.ndarray | None = None) -> None:
        self.tensor, self.host = tensor, host
        self.shape = tuple(tensor.shape)
        self.dtype = np.dtype(str(tensor.dtype).rpartition(".")[2])

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        host = self.tensor.cpu().numpy() if self.host is None else self.host
        return np.asarray(host, dtype)


class Recipe:
    """How the coordinates of a formula follow from the columns of samples.

    Those of an atom are columns of the samples, divided by lengthscales, unless a kernel prepares
    samples in its own way: then there is no recipe.

    Parameters
    ----------
    formula : Formula
        Of any samples.
    """

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def __call__(self, raw: Tensor, keep: bool = False) -> Formula:
        """The formula of samples on a device, in their precision; ``keep`` a copy on the host."""
        known: dict[Hashable, Points] = {}

        def of(atom: Atom) -> Atom:
            scale = np.ones(1) if atom.metric == INNER else np.ravel(np.asarray(atom.scale, float))
            place = atom.path, scale.tobytes()
            if place not in known:
                points = raw
                for step in atom.path:
                    points = points[:, _columns(step)]
                if np.any(scale != 1):
                    points = points / points.new_tensor(scale)
                points = points.contiguous()  # columns that are picked come by columns
                known[place] = Points(points, points.cpu().numpy() if keep else None)
            return replace(atom, points=known[place])

        return self.formula.map(of)


def recipe(kernel: Kernel, Z: Data) -> Recipe | None:
    """How to make coordinates for a kernel on a device; None if only the kernel can compute them.

    The recipe is checked against the prepared samples Z.
    """
    raw = matrix(Z)
    if raw is None or not len(raw):
        return None
    some = raw[:: -(-len(raw) // _LOOKED_AT)]
    formula = kernel.formula(kernel.prepare(some))
    if formula is None or any(isinstance(node, Rescale) for node in formula.nodes()):
        return None
    if not all(_is_plain(atom, raw.shape[1]) for atom in formula.atoms()):
        return None
    import torch

    found = Recipe(formula)
    try:
        made = found(torch.tensor(some))
    except (IndexError, RuntimeError):  # columns that are not there, or of another number
        return None
    pairs = zip(formula.atoms(), made.atoms(), strict=True)
    return found if all(_agree(a.points, np.asarray(b.points)) for a, b in pairs) else None


def _agree(X: np.ndarray, Y: np.ndarray) -> bool:
    size = float(np.abs(X).max(initial=0.0))
    return X.shape == Y.shape and np.allclose(X, Y, rtol=_CLOSE, atol=_CLOSE * size)


def matrix(X: Data) -> np.ndarray | None:
    """Samples that are an array of floating point numbers already; None if they are not."""
    plain = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.float32, np.float64)
    return X if plain else None


def _is_plain(atom: Atom, width: int) -> bool:
    """Are the coordinates columns of samples, of which none is outside the domain?"""
    if atom.unit is not None or (atom.metric == INNER and atom.profile.name not in _EVERYWHERE):
        return False
    return all(_columns(step) is not None for step in atom.path)


def _columns(step: Any) -> Any:
    """The index given by a step of a path (``columns_step``); None if it is something else.

    One column stays a column.
    """
    if not isinstance(step, tuple) or not step or step[0] not in (list, slice, int):
        return None
    labels = [label for _, label in step[1:]]
    if not all(label is None or isinstance(label, int) for label in labels):
        return None
    return slice(*labels) if step[0] is slice else labels
