"""Kernels that are expressions of other kernels: their values are those of the expression."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ..base import Kernel, Tile
from ..calculus.domains import Domain
from ..calculus.properties import Properties
from ..formula import Formula


@dataclass(eq=False, repr=False)
class Composed(Kernel):
    """A kernel with the values of another one, its ``form``, whose theta is the same."""

    @property
    @abstractmethod
    def form(self) -> Kernel:
        """The kernel that this one is, in terms of others."""

    def prepare(self, X: Data) -> Data:
        return self.form.prepare(X)

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        return self.form.pairwise(X, Y)

    def tiles(self, X: Data, Y: Data) -> Tile:
        return self.form.tiles(X, Y)

    def diag(self, X: Data) -> np.ndarray:
        return self.form.diag(X)

    def formula(self, X: Data) -> Formula | None:
        return self.form.formula(X)

    def log_tiles(self, X: Data, Y: Data) -> Tile | None:
        return self.form.log_tiles(X, Y)

    def log_diag(self, X: Data) -> np.ndarray | None:
        return self.form.log_diag(X)

    def log_offsets(self, X: Data) -> np.ndarray:
        return self.form.log_offsets(X)

    def grad_log_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        return self.form.grad_log_theta(X, Y, W)

    def grad_log_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        return self.form.grad_log_theta_diag(X, w)

    def grad_log_offsets(self, X: Data, w: np.ndarray) -> np.ndarray:
        return self.form.grad_log_offsets(X, w)

    def features(self, X: Data) -> Any | None:
        return self.form.features(X)

    def n_features(self, X: Data) -> int | None:
        return self.form.n_features(X)

    def features_pay(self, X: Data) -> bool:
        return self.form.features_pay(X)

    def grad_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        return self.form.grad_theta(X, Y, W)

    def grad_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        return self.form.grad_theta_diag(X, w)

    @property
    def domain(self) -> Domain:
        return self.properties.domain

    @property
    def properties(self) -> Properties:
        return self.form.properties
