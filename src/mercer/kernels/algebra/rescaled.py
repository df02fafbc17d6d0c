"""Kernels multiplied by a function of each sample: normalisation and modulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Zipped, length
from ...params import a_function
from ..base import Tile, Values
from ..calculus import properties as prop
from ..calculus.transformed import of_modulated, of_normalized
from ..formula import Formula
from ..formula_nodes import Rescale, combined
from ..overrides import by_tiles
from .transforms import Transform


@dataclass(eq=False, repr=False)
class Rescaled(Transform):
    """What normalisation and modulation share: f(x) k(x, y) f(y), prepared as (x, f(x))."""

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return _scale_block(self.kernel.pairwise(X.parts[0], Y.parts[0]), X.parts[1], Y.parts[1])

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        inner, fx, fy = self.kernel.tiles(X.parts[0], Y.parts[0]), X.parts[1], Y.parts[1]
        return lambda rows, cols: _scale_block(inner(rows, cols), fx[rows], fy[cols])

    def on_device(self, device: str) -> Values | None:
        inner = self.kernel.on_device(device)
        if inner is None:
            return None

        def values(X: Zipped, Y: Zipped) -> np.ndarray:
            (P, f), (Q, g) = X.parts, Y.parts
            if self.kernel.log_tiles(P, P) is not None:  # f is a logarithm
                f, g = np.exp(f), np.exp(g)
            return _scale_block(inner(P, Q), f, g)

        return values

    def formula(self, X: Zipped) -> Formula | None:
        P, f = X.parts
        return combined(lambda inner: Rescale(inner, f), self.kernel.formula(P))

    def features(self, X: Zipped) -> Any | None:
        return _scale_rows(self.kernel.features(X.parts[0]), X.parts[1])

    def n_features(self, X: Zipped) -> int | None:
        return self.kernel.n_features(X.parts[0])

    def features_pay(self, X: Zipped) -> bool:
        return self.kernel.features_pay(X.parts[0])

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        """The gradient as far as f does not depend on theta."""
        (P, f), (Q, g) = X.parts, Y.parts
        return self.kernel.grad_theta(P, Q, f[:, None] * W * g)


@dataclass(eq=False, repr=False)
class Normalized(Rescaled):
    """k(x, y) / sqrt(k(x, x) k(y, y)), and 0 where k(x, x) = 0: written ``k.normalize()``.

    Parameters
    ----------
    kernel : Kernel
        The kernel to normalise.

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear().normalize()([[1.0, 0.0], [1.0, 1.0]]).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """

    because = "f(x) k(x, y) f(y) with f(x) = 1/sqrt(k(x, x)) is a kernel"
    on_device = Rescaled.on_device

    def prepare(self, X: Data) -> Zipped:
        """Samples with f, or with log f where the kernel has logarithms: see :meth:`log_tiles`."""
        P = self.kernel.prepare(X)
        logs = self.kernel.log_diag(P)
        if logs is not None:
            return Zipped(P, np.where(logs > -np.inf, -logs / 2, -np.inf))
        d = self.kernel.diag(P)
        with np.errstate(divide="ignore"):
            scale = np.where(d > 0, 1 / np.sqrt(d, dtype=d.dtype), 0).astype(d.dtype)
        return Zipped(P, scale)

    def log_factors(self, X: Data) -> np.ndarray:
        """log f of samples, which are not prepared; -inf where f = 0."""
        P, f = self.prepare(X).parts
        if self.kernel.log_tiles(P, P) is not None:
            return f - self.kernel.log_offsets(P)
        with np.errstate(divide="ignore"):
            return np.log(f)

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return by_tiles(self, Normalized, X, Y)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        logs = self.log_tiles(X, Y)
        if logs is None:
            return super().tiles(X, Y)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            block = logs(rows, cols)
            return np.asarray(np.exp(block, out=block))

        return tile

    def formula(self, X: Zipped) -> Formula | None:
        """None where values come from logarithms: those of the kernel may be too large."""
        P, _ = X.parts
        return None if self.kernel.log_tiles(P, P) is not None else super().formula(X)

    def diag(self, X: Zipped) -> np.ndarray:
        P, f = X.parts
        lost = 0 if self.kernel.log_tiles(P, P) is None else -np.inf
        return (f > lost).astype(f.dtype)

    def log_tiles(self, X: Zipped, Y: Zipped) -> Tile | None:
        (P, f), (Q, g) = X.parts, Y.parts
        logs = self.kernel.log_tiles(P, Q)
        if logs is None:
            return None

        def tile(rows: Any, cols: Any) -> np.ndarray:
            block = logs(rows, cols)
            block += f[rows, None]
            block += g[cols]
            return block

        return tile

    def log_diag(self, X: Zipped) -> np.ndarray | None:
        P, f = X.parts
        known = self.kernel.log_tiles(P, P) is not None
        return np.where(f > -np.inf, 0, f).astype(f.dtype) if known else None

    def log_offsets(self, X: Zipped) -> np.ndarray:
        return np.zeros(length(X))

    def features(self, X: Zipped) -> Any | None:
        P, f = X.parts
        phi = self.kernel.features(P)
        if phi is not None and self.kernel.log_tiles(P, P) is not None:
            f = np.exp(f - self.kernel.log_offsets(P))
        return _scale_rows(phi, f)

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        """With f(x) = k(x, x)^(-1/2): d log f(x) = -f(x)^2 dk(x, x) / 2."""
        if not self.hyperparameters():
            return np.zeros(0)
        (P, f), (Q, g) = X.parts, Y.parts
        V = W * self.pairwise(X, Y)
        if self.kernel.log_tiles(P, Q) is not None:
            return self.grad_log_theta(X, Y, V)
        rows = self.kernel.grad_theta_diag(P, V.sum(axis=1) * f**2)
        cols = self.kernel.grad_theta_diag(Q, V.sum(axis=0) * g**2)
        return super().grad_theta(X, Y, W) - (rows + cols) / 2

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))

    def grad_log_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (P, _), (Q, _) = X.parts, Y.parts
        rows = self.kernel.grad_log_theta_diag(P, W.sum(axis=1))
        cols = self.kernel.grad_log_theta_diag(Q, W.sum(axis=0))
        return self.kernel.grad_log_theta(P, Q, W) - (rows + cols) / 2

    grad_log_theta_diag = grad_log_offsets = grad_theta_diag

    @property
    def properties(self) -> prop.Properties:
        return of_normalized(self.kernel.properties)

    def __repr__(self) -> str:
        return self._call("normalize")


@dataclass(eq=False, repr=False)
class Modulated(Rescaled):
    """f(x) k(x, y) f(y): pre- and post-multiplication, written ``k.modulate(f)``.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    factor : callable
        f, from a data set to one number per sample.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Constant
    >>> Constant(1).modulate(np.ravel)(np.array([[1.0], [3.0]]))
    array([[1., 3.],
           [3., 9.]])
    """

    factor: Callable[[Data], np.ndarray] = a_function("a function of a data set")
    because = "f(x) k(x, y) f(y) is a kernel for any function f (multiply the features by f)"

    def prepare(self, X: Data) -> Zipped:
        f = np.asarray(self.factor(X))
        f = f.astype(np.result_type(f, np.float32), copy=False)
        if f.shape != (length(X),):
            raise ValueError(
                f"modulate: factor must return one number per sample, shape ({length(X)},), "
                f"got shape {f.shape}."
            )
        return Zipped(self.kernel.prepare(X), f)

    def diag(self, X: Zipped) -> np.ndarray:
        return self.kernel.diag(X.parts[0]) * X.parts[1] ** 2

    def formula(self, X: Zipped) -> Formula | None:
        return super().formula(X)

    def log_tiles(self, X: Zipped, Y: Zipped) -> Tile | None:
        return None

    def log_diag(self, X: Zipped) -> np.ndarray | None:
        return None

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        return self.kernel.grad_theta_diag(X.parts[0], w * X.parts[1] ** 2)

    @property
    def properties(self) -> prop.Properties:
        return of_modulated(self.kernel.properties)

    def __repr__(self) -> str:
        return self._call("modulate", self.factor)


def _scale_block(block: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    if np.result_type(block, left) != block.dtype:
        block = block.astype(np.result_type(block, left))
    block *= left[:, None]
    block *= right[None, :]
    return block


def _scale_rows(phi: Any | None, scale: np.ndarray) -> Any | None:
    if phi is None:
        return None
    if not sp.issparse(phi):
        return phi * scale[:, None]
    phi = phi.copy()
    phi.data = phi.data * np.repeat(scale, np.diff(phi.indptr))
    return phi
