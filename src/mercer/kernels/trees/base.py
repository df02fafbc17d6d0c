"""What kernels on ordered labelled trees share: samples, sums over pairs of nodes, their slopes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...data import Data
from ...exceptions import MemoryPlanError
from ...params import fraction
from ..base import Kernel
from ..calculus import properties as prop
from ..pairs.logarithms import Found, WidePaired, moved, slope
from ..pairs.wide import LARGEST, logarithms, zeros
from .forest import Forest, Visited, forest
from .kind import TREES

_CELLS = 5e6  # steps of one compiled call: a fraction of a second, also where memory is new
_UNCHECKED = 1e8  # bytes that a table may take in any case
_SLOWER = 10  # so much longer take wide numbers
_FLAGS = ((True, None), (None, None), (None, True))  # of :func:`.loops.pairs`, by kind


class Numbers(NamedTuple):
    """The parameters of a recursion over pairs of nodes; all of them are complex, or none.

    ``alike`` is None where labels have to be equal, or how much they are alike: a table for those
    labels that are numbered -1, -2, ..., and a number each for equal and for different ones.
    """

    decay: Any
    span: Any = 1.0
    alike: tuple[np.ndarray, Any, Any] | None = None

    @property
    def least(self) -> float:
        """What a pair of nodes adds at least."""
        node = float(abs(self.decay) * abs(self.span) ** 2)
        if self.alike is None:
            return node
        table, *others = self.alike
        return node * min(float(abs(s)) for s in [*table.ravel(), *others] if s != 0)


@dataclass(eq=False, repr=False)
class TreeKernel(Kernel):
    """A sum over pairs of nodes of two trees of the fragments below that they share.

    Samples are bracket strings ``"(S (NP dogs) (VP bark))"``, nested tuples ``("S", ("NP", "dogs"),
    ("VP", "bark"))``, elements of :mod:`xml.etree` (their tags; text and attributes are ignored),
    directed networkx graphs with one root (the attribute "label" of a node, or else the node
    itself; nodes with several parents are repeated), or trees of nltk. The order of children
    matters.
    """

    decay: float = fraction(0.4)
    domain = TREES

    @abstractmethod
    def gains(self, x: Forest, Y: Forest, coef: np.ndarray, scale: Any = 0.0) -> np.ndarray:
        """sum_j coef[j] e^scale[j] sum_w C(v, w) over the nodes w of y_j, for those v of one tree.

        Their sum over v is sum_j coef[j] e^scale[j] k(x, y_j).
        """

    def prepare(self, X: Data) -> Forest:
        return forest(X, type(self).__name__)

    def _without_nodes(self) -> prop.Properties:
        """The properties of kernels in which single nodes are no fragments."""
        zero = "k(x, x) = 0 for a tree of one node"
        alike = f"{zero}, whatever its label"
        return self._stated(
            bounded=_growing,
            **prop.blind(alike),
            positive_diag=prop.no(zero),
        )

    def _counting_nodes(self) -> prop.Properties:
        """The properties of kernels with the whole tree among its features."""
        largest = "among distinct trees, one with the most nodes is a fragment of itself only"
        return self._stated(
            bounded=_growing,
            strictly_pd=prop.yes(largest),
            positive_diag=prop.yes("every node is a fragment"),
        )


_growing = prop.no("k(x, x) grows with the number of nodes of x")


@dataclass(eq=False, repr=False)
class NodePairs(TreeKernel, WidePaired):
    """C(v, w) by a recursion over the children of v and w, in compiled loops.

    Pairs of nodes with one label are visited or, if not ``by_label``, with one production.
    """

    by_label: ClassVar[bool] = True

    @property
    @abstractmethod
    def kind(self) -> int:
        """The recursion: 0 for subset trees, 1 for rigid matching, 2 for elastic matching."""

    def found(
        self, X: Forest, Y: Forest, i: np.ndarray, j: np.ndarray, sloped: bool = False
    ) -> Found:
        """The kernel is a polynomial in its parameters: its values at complex ones have the slopes.

        With a = decay (1 + ih), k(a) = k(decay) + ih dk/dlog(decay) + O(h^2).
        """
        if not sloped:
            return Found(*self._values(X, Y, i, j, self._numbers()), np.zeros((len(i), 0)))
        slopes = np.zeros((len(i), len(self.theta)))
        for column, numbers in enumerate(self._moved()):
            m, e = self._values(X, Y, i, j, numbers)
            slopes[:, column] = slope(m)
        return Found(m.real, e, slopes)

    def too_large(self, x: Forest, y: Forest) -> str:
        return f"trees of {x.size[0]} and {y.size[0]} nodes"

    def gains(self, x: Forest, Y: Forest, coef: np.ndarray, scale: Any = 0.0) -> np.ndarray:
        out, scale = np.zeros(x.size[0]), np.broadcast_to(scale, len(Y))
        for j in np.flatnonzero(coef):
            nodes = zeros(int(x.size[0]), float, True)
            self._alone(x, Y, 0, int(j), self._numbers(), nodes, wide=True)
            out += coef[j] * np.exp(logarithms(*nodes) + scale[j])
        return out

    def _numbers(self) -> Numbers:
        """The parameters of the recursion."""
        return Numbers(float(self.decay))

    def _moved(self) -> Iterator[Numbers]:
        """The parameters as complex numbers, one of them moved, in the order of theta."""
        decay, span, _ = self._numbers()
        yield Numbers(moved(decay), complex(span))
        if len(self.theta) > 1:
            yield Numbers(complex(decay), moved(span))

    def _values(
        self, X: Forest, Y: Forest, i: np.ndarray, j: np.ndarray, numbers: Numbers
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mantissas and exponents for pairs, in calls of a fraction of a second each."""
        from ...gram.tiles import run

        e = np.zeros(len(i), np.int64)
        cells = X.size[i].astype(float) * Y.size[j]
        if 0 < cells.sum() <= _CELLS:
            m = self._plain(X, Y, i, j, numbers)
        else:
            m = np.zeros(len(i), type(numbers.decay))
            large = cells > _CELLS
            small, piece = np.flatnonzero(~large), np.cumsum(cells[~large]) // _CELLS
            parts = np.split(small, np.flatnonzero(np.diff(piece)) + 1) if len(small) else []

            def some(part: np.ndarray) -> None:
                m[part] = self._plain(X, Y, i[part], j[part], numbers)

            run(some, parts)
            for at in np.flatnonzero(large):
                m[at] = self._alone(X, Y, i[at], j[at], numbers)[0][0]
        tiny = numbers.least < 1 / LARGEST
        for at in np.flatnonzero(tiny | ~(m.real <= LARGEST)):
            m[at], e[at] = (part[0] for part in self._alone(X, Y, i[at], j[at], numbers, wide=True))
        return m, e

    def _visited(self, X: Forest) -> Visited:
        return X.by_label if self.by_label else X.by_production

    def _room(self, X: Forest, Y: Forest, i: Any, j: Any, kind: type, wide: bool) -> tuple:
        """Tables for some trees of one forest and some of another."""
        from ...engine.memory import free_memory, memory_words

        p, q = int(np.max(X.size[i])), int(np.max(Y.size[j]))
        kept = int(np.max(X.height[i])) if self.kind == 2 else p
        nbytes = kept * q * (np.dtype(kind).itemsize + 8 * wide)
        if nbytes > _UNCHECKED and nbytes > (free := free_memory()):
            raise MemoryPlanError(
                f"{type(self).__name__}: the table of two trees of {p} and {q} nodes needs "
                f"{memory_words(nbytes)}, but {memory_words(free)} are available; prune the "
                "trees, or use Subtree(), which needs no table."
            )
        table, row = zeros((kept, q), kind, wide), zeros(q, kind, wide)
        children, partial = zeros(1 + int(Y.nodes.arity.max()), kind, wide), zeros(2, kind, wide)
        low, high, state = np.empty(p, np.int64), np.empty(p, np.int64), np.empty(4, np.int64)
        return table, row, children, partial, low, high, state

    def _plain(
        self, X: Forest, Y: Forest, i: np.ndarray, j: np.ndarray, numbers: Numbers
    ) -> np.ndarray:
        from .loops import pairs

        out: np.ndarray = np.zeros(len(i), type(numbers.decay))
        room = self._room(X, Y, i, j, type(numbers.decay), wide=False)
        pairs(
            *_FLAGS[self.kind], self._visited(X), X.start, X.size, self._visited(Y), Y.start,
            Y.size, i, j, *numbers, room, out,
        )  # fmt: skip
        return out

    def _alone(
        self, X: Forest, Y: Forest, i: int, j: int, numbers: Numbers, nodes: Any = None,
        wide: bool = False,
    ) -> tuple[np.ndarray, ...]:  # fmt: skip
        """The sum over two trees, some steps at a time; those of nodes of one into ``nodes``."""
        from ...gram.tiles import check_cancelled
        from .loops import add, begin

        kind = type(numbers.decay)
        at = int(X.start[i]), int(X.size[i]), int(Y.start[j]), int(Y.size[j])
        room, total = self._room(X, Y, i, j, kind, wide), zeros(1, kind, wide)
        nodes = zeros(0, kind, wide) if nodes is None else nodes
        left, right = self._visited(X), self._visited(Y)
        begin(left, right, at, numbers.alike, room)
        most = int(_CELLS / _SLOWER if wide else _CELLS)
        flags = _FLAGS[self.kind]
        while not add(*flags, left, right, at, *numbers, room, total, nodes, most):
            check_cancelled()
        return total
