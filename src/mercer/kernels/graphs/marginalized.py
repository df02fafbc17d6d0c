"""The marginalised graph kernel: how similar two graphs look to who walks at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import fraction, parameter
from ..base import Kernel
from ..calculus import properties as prop
from .container import Graphs
from .walked import Rule, Steps, Walks, checked, sources
from .walks import ALIKE, WalkKernel, matched


@dataclass(eq=False, repr=False)
class MarginalizedGraph(WalkKernel):
    r"""The marginalised kernel on graphs: the similarity of two random walks, on average.

    .. math:: k(G, G') = \sum_{h, h'} p(h \mid G)\, p(h' \mid G')\, \kappa(h, h')

    A walk h begins at a node chosen uniformly. At each node it ends with probability ``stop``, and
    otherwise continues along an edge, chosen in proportion to the weights; at a node without
    outgoing edges it always ends. Two walks of the same length are compared node by node, edge by
    edge,

    .. math:: \kappa(h, h') = \kappa(v_0, v'_0)
              \prod_{t=1}^{l} \kappa_e(e_t, e'_t)\, \kappa(v_t, v'_t)

    and walks of different lengths have nothing in common.

    Parameters
    ----------
    stop : float
        The probability of stopping at a node, in (0, 1].
    node, edge : None, "labels" or Kernel
        How nodes and edges are compared: not at all; by equality of labels; or by a kernel (see
        :class:`RandomWalk`) with values of at most 1 / (1 - stop) for a step.

    Notes
    -----
    k is the solution of a linear system in which each pair of nodes has one unknown. For undirected
    graphs it is symmetric once nodes are weighted by the square roots of their degrees, and solved
    by conjugate gradients; otherwise walks are summed step by step. Either stops at a bound on the
    error of 1e-13 of k. A graph without nodes has k = 0.

    Examples
    --------
    >>> from mercer import MarginalizedGraph
    >>> water, acid = ([(0, 1), (1, 2)], ["H", "O", "H"]), ([(0, 1)], ["H", "Cl"])
    >>> MarginalizedGraph(stop=0.5)([water, acid]).round(4)
    array([[0.1852, 0.0833],
           [0.0833, 0.1667]])

    References
    ----------
    Kashima, Tsuda & Inokuchi, *Marginalized kernels between labeled graphs*, ICML 2003.
    """

    stop: float = fraction(0.1)
    node: Any = parameter("labels", check=matched)
    edge: Any = parameter("labels", check=matched)
    because = "the mean of a kernel on walks over random walks"

    def rule(self) -> Rule:
        check_cancelled = 1.0 - self.stop
        turn = -2.0 * self.stop / check_cancelled if check_cancelled > 0 else 0.0
        return Rule(check_cancelled**2, False, False, -1, turn, False)

    def prepare(self, X: Data) -> Walks:
        found, packed = checked(X, "MarginalizedGraph")
        return self._walks(found, packed, self._steps(packed))

    def _steps(self, packed: Graphs) -> Steps:
        """Transition probabilities; symmetric where edges have no direction."""
        flat, count = packed.flat, len(packed.flat.labels)
        source = sources(packed)
        degree = np.bincount(source, weights=flat.weights, minlength=count)
        ends = degree == 0
        degree[ends] = 1.0
        directed = np.repeat(packed.directed, packed.size)
        scale = np.where(directed, 1.0, np.sqrt(degree))
        weights = flat.weights / degree[source] * scale[source] / scale[flat.indices]
        uniform = np.repeat(1.0 / np.maximum(packed.size, 1), packed.size)
        stops = np.where(ends, 1.0, self.stop)
        return Steps(weights, uniform / scale, stops * scale, np.where(ends, 0.0, 1.0), scale)

    def _endless(self, place: int, walks: Walks) -> DomainError:
        return DomainError(
            f"MarginalizedGraph: with stop={self.stop:g} the sum over walks on graph {place} is "
            f"not finite, since its nodes and edges have values of their kernels above 1; "
            f"normalise these kernels (node.normalize()), or raise stop."
        )

    @property
    def properties(self) -> prop.Properties:
        facts = {}
        if not any(isinstance(part, Kernel) for part in (self.node, self.edge)):
            facts["bounded"] = prop.yes("a mean of numbers that are 0 or 1")
        return self._stated(
            strictly_pd=prop.no(ALIKE),
            universal=prop.no(ALIKE),
            characteristic=prop.no(ALIKE),
            positive_diag=prop.no("k(x, x) = 0 for the graph without nodes"),
            **facts,
        )
