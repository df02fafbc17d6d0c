"""What kernels on ordered labelled trees share: samples, sums over pairs of nodes, their slopes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..data import Data
from ..params import fraction
from . import properties as prop
from .base import Kernel, weigh
from .domains import TREES, Domain
from .forest import Forest, forest

_STEP = 1e-30  # of complex differences, in which nothing cancels


@dataclass(eq=False, repr=False)
class TreeKernel(Kernel):
    """A sum over the nodes of two trees of what they have in common below.

    Samples are bracket strings ``"(S (NP dogs) (VP bark))"``, nested tuples ``("S", ("NP", "dogs"),
    ("VP", "bark"))``, elements of :mod:`xml.etree` (their tags; text and attributes are not looked
    at), directed networkx graphs with one root (the attribute "label" of a node, or else the node
    itself; nodes with several parents are repeated), or trees of nltk. The order of children
    matters.
    """

    decay: float = fraction(0.4)

    @abstractmethod
    def gains(self, x: Forest, Y: Forest, coef: np.ndarray) -> np.ndarray:
        """sum_j coef[j] sum_w C(v, w) over the nodes w of y_j, for the nodes v of a single tree.

        Their sum over v is sum_j coef[j] k(x, y_j).
        """

    def prepare(self, X: Data) -> Forest:
        return forest(X, type(self).__name__)

    @property
    def domain(self) -> Domain:
        return TREES

    def _without_nodes(self) -> prop.Properties:
        """The properties of kernels in which single nodes are no fragments."""
        zero = "k(x, x) = 0 for a tree of one node"
        alike = f"{zero}, whatever its label"
        return self._stated(
            bounded=_growing,
            strictly_pd=prop.no(alike),
            universal=prop.no(alike),
            characteristic=prop.no(alike),
            positive_diag=prop.no(zero),
        )

    def _counting_nodes(self) -> prop.Properties:
        """The properties of kernels with the whole tree among its features."""
        largest = "of distinct trees, one of most nodes has itself as a fragment, and no other has"
        return self._stated(
            bounded=_growing,
            strictly_pd=prop.yes(largest),
            positive_diag=prop.yes("every node is a fragment"),
        )


_growing = prop.no("k(x, x) grows with the number of nodes of x")


@dataclass(eq=False, repr=False)
class NodePairs(TreeKernel):
    """C(v, w) by a recursion over the children of v and w, in compiled loops.

    Pairs of nodes with one label are visited or, if not ``by_label``, with one production.
    """

    by_label: ClassVar[bool] = True

    @property
    @abstractmethod
    def kind(self) -> int:
        """The number of the recursion in :func:`.tree_loops.block`."""

    def pairwise(self, X: Forest, Y: Forest) -> np.ndarray:
        return self._block(X, Y, self._numbers(), np.float64)

    def diag(self, X: Forest) -> np.ndarray:
        return self._own(X, self._numbers(), np.float64)

    def gains(self, x: Forest, Y: Forest, coef: np.ndarray) -> np.ndarray:
        from .tree_loops import gains

        out = np.zeros(x.size[0])
        gains(
            self.kind, x.nodes, x.start[0], x.size[0], Y.nodes, Y.start, Y.size, self.by_label,
            *self._numbers(), np.asarray(coef, dtype=np.float64), out,
        )  # fmt: skip
        return out

    def grad_theta(self, X: Forest, Y: Forest, W: np.ndarray) -> np.ndarray:
        """The kernel is a polynomial in its parameters: its values at complex ones have the slopes.

        With a = decay exp(ih), k(a) = k(decay) + ih dk/dlog(decay) + O(h^2).
        """
        values = (self._block(X, Y, at, np.complex128) for at in self._moved())
        return weigh(W, (K.imag / _STEP for K in values))

    def grad_theta_diag(self, X: Forest, w: np.ndarray) -> np.ndarray:
        values = (self._own(X, at, np.complex128) for at in self._moved())
        return weigh(w, (k.imag / _STEP for k in values))

    def _numbers(self) -> tuple[float, float]:
        """The parameters of the recursion: decay and span."""
        return float(self.decay), 1.0

    def _moved(self) -> Iterator[tuple[complex, complex]]:
        """The parameters, one of them moved, in the order of theta."""
        decay, span = map(complex, self._numbers())
        yield decay * (1 + 1j * _STEP), span
        if len(self.theta) > 1:
            yield decay, span * (1 + 1j * _STEP)

    def _block(self, X: Forest, Y: Forest, numbers: tuple[Any, Any], dtype: type) -> np.ndarray:
        from .tree_loops import block

        out: np.ndarray = np.empty((len(X), len(Y)), dtype)
        if out.size:
            block(
                self.kind, X.nodes, X.start, X.size, Y.nodes, Y.start, Y.size, self.by_label,
                *numbers, out,
            )  # fmt: skip
        return out

    def _own(self, X: Forest, numbers: tuple[Any, Any], dtype: type) -> np.ndarray:
        from .tree_loops import own

        out: np.ndarray = np.empty(len(X), dtype)
        if out.size:
            own(self.kind, X.nodes, X.start, X.size, self.by_label, *numbers, out)
        return out
