"""Kernels on ordered labelled trees: parse trees, XML, syntax trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...features.sparse import sparse_block
from ...params import fraction
from ..base import weigh
from ..calculus import properties as prop
from .base import NodePairs, Numbers, TreeKernel
from .forest import Forest

_COLUMNS = 2**57


@dataclass(eq=False, repr=False)
class Subtree(TreeKernel):
    r"""Complete subtrees that two trees have in common, each with everything below its root.

    .. math:: k(x, y) = \sum_{t} \lambda^{|t|}\, \#_t(x)\, \#_t(y)

    over all trees t of more than one node, where #_t(x) counts the nodes of x below which x looks
    like t, and abs(t) is the number of nodes of t that have children. There are finitely many
    features, so a linear SVM on many trees never forms K.

    Parameters
    ----------
    decay : float
        lambda, in (0, 1]: the factor that reduces the weight of larger subtrees.

    Examples
    --------
    >>> from mercer import Subtree
    >>> cat = "(VP (V brought) (NP (D a) (N cat)))"
    >>> dog = "(VP (V brought) (NP (D a) (N dog)))"
    >>> Subtree(decay=1.0)([cat, dog])
    array([[5., 2.],
           [2., 5.]])

    References
    ----------
    Vishwanathan & Smola, *Fast kernels for string and tree matching*, NIPS 2002.
    """

    decay: float = fraction(1.0)
    because = "an inner product of explicit features: the counts of all complete subtrees"

    def features(self, X: Forest) -> sp.csr_matrix:
        return self._features(X, X.nodes.internal > 0)

    def _features(self, X: Forest, squares: np.ndarray) -> sp.csr_matrix:
        """The features, times the square roots of numbers for each node of the forest."""
        nodes = X.nodes
        places = np.concatenate([np.arange(s, s + n) for s, n in zip(X.start, X.size, strict=True)])
        tree = np.repeat(np.arange(len(X)), X.size)
        inner = nodes.arity[places] > 0
        places, tree = places[inner], tree[inner]
        weights = np.sqrt(float(self.decay) ** nodes.internal[places] * squares[places])
        order = np.lexsort((nodes.complete[places], tree))
        indptr = np.searchsorted(tree[order], np.arange(len(X) + 1))
        phi = sp.csr_matrix(
            (weights[order], nodes.complete[places][order], indptr), shape=(len(X), _COLUMNS)
        )
        phi.sum_duplicates()
        return phi

    def n_features(self, X: Forest) -> int:
        return _COLUMNS

    def pairwise(self, X: Forest, Y: Forest) -> np.ndarray:
        phi = self.features(X)
        return sparse_block(phi, phi if Y is X else self.features(Y))

    def diag(self, X: Forest) -> np.ndarray:
        return _squared_norms(self.features(X))

    def gains(self, x: Forest, Y: Forest, coef: np.ndarray, scale: Any = 0.0) -> np.ndarray:
        phi, coef = self.features(Y), coef * np.exp(np.broadcast_to(scale, len(Y)))
        columns, place = np.unique(phi.indices, return_inverse=True)
        sums = np.bincount(place, phi.data * np.repeat(coef, np.diff(phi.indptr)), len(columns))
        own = slice(x.start[0], x.start[0] + x.size[0])
        at = np.searchsorted(columns, x.nodes.complete[own])
        known = np.append(columns, -1)[at] == x.nodes.complete[own]
        weights = float(self.decay) ** (x.nodes.internal[own] / 2)
        return np.where(known, weights * np.append(sums, 0.0)[at], 0.0)

    def grad_theta(self, X: Forest, Y: Forest, W: np.ndarray) -> np.ndarray:
        """dk/dlog(lambda) counts each t abs(t) times."""
        phi, psi = (self._features(Z, Z.nodes.internal) for Z in (X, Y))
        return weigh(W, [sparse_block(phi, psi)])

    def grad_theta_diag(self, X: Forest, w: np.ndarray) -> np.ndarray:
        return weigh(w, [_squared_norms(self._features(X, X.nodes.internal))])

    @property
    def properties(self) -> prop.Properties:
        return self._without_nodes()


@dataclass(eq=False, repr=False)
class SubsetTree(NodePairs):
    r"""Fragments that two trees have in common, made of whole productions (Collins & Duffy).

    .. math:: k(x, y) = \sum_{v \in x} \sum_{w \in y} C(v, w), \qquad
              C(v, w) = \lambda \prod_j (1 + C(v_j, w_j))

    where C(v, w) is 0 unless v and w have children with the same labels in the same order: a
    fragment contains all children of a node or none. Leaves count only as part of the production
    above them. A fragment with abs(t) productions contributes lambda^abs(t).

    Parameters
    ----------
    decay : float
        lambda, in (0, 1]: the factor that reduces the weight of larger fragments. With 1, the
        largest common fragments dominate.

    Examples
    --------
    >>> from mercer import SubsetTree
    >>> cat = "(VP (V brought) (NP (D a) (N cat)))"
    >>> dog = "(VP (V brought) (NP (D a) (N dog)))"
    >>> SubsetTree(decay=1.0)([cat, dog])
    array([[17., 10.],
           [10., 17.]])

    References
    ----------
    Collins & Duffy, *Convolution kernels for natural language*, NIPS 2001; Moschitti, *Making tree
    kernels practical for natural language learning*, EACL 2006 (visiting equal productions only).
    """

    because = "an inner product of features: the weighted counts of all fragments of productions"
    kind = 0
    by_label = False

    @property
    def properties(self) -> prop.Properties:
        return self._without_nodes()


@dataclass(eq=False, repr=False)
class PartialTree(NodePairs):
    r"""Fragments that two trees have in common, with any children of a node left out (Moschitti).

    .. math:: k(x, y) = \sum_{v \in x} \sum_{w \in y} C(v, w), \qquad
              C(v, w) = \mu \Big(\lambda^2 + \sum_{I, J} \lambda^{d(I) + d(J)}
              \prod_k C(v_{I_k}, w_{J_k})\Big)

    over subsequences I and J, of one length, of the children of v and w, which span d(I) and d(J)
    children; C(v, w) is 0 unless v and w have the same label. Single nodes, leaves included, are
    fragments.

    Parameters
    ----------
    decay : float
        mu, in (0, 1]: the factor that reduces the weight of deeper fragments.
    span : float
        lambda, in (0, 1]: the factor that reduces the weight of children far apart.

    Examples
    --------
    >>> from mercer import PartialTree
    >>> cat = "(VP (V brought) (NP (D a) (N cat)))"
    >>> dog = "(VP (V brought) (NP (D a) (N dog)))"
    >>> PartialTree(decay=1.0, span=1.0)([cat, dog])
    array([[48., 34.],
           [34., 48.]])

    References
    ----------
    Moschitti, *Efficient convolution kernels for dependency and constituent syntactic trees*, ECML
    2006.
    """

    span: float = fraction(0.4)
    kind = 1
    because = "an inner product of features: the weighted counts of all fragments"

    def _numbers(self) -> Numbers:
        return Numbers(float(self.decay), float(self.span))

    @property
    def properties(self) -> prop.Properties:
        return self._counting_nodes()


def _squared_norms(phi: sp.csr_matrix) -> np.ndarray:
    return np.asarray(phi.power(2).sum(axis=1), dtype=np.float64).ravel()
