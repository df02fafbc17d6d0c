"""Tree fragments that may be stretched, and whose labels may change (Kashima & Koyanagi)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ...params import parameter, probability, square_matrix
from ..calculus import properties as prop
from ..pairs.logarithms import moved
from .base import NodePairs, Numbers
from .forest import Forest


def _labels(value: Any) -> str | None:
    wanted = "None, or a list of distinct labels"
    if value is None:
        return None
    listed = isinstance(value, Sequence | np.ndarray) and not isinstance(value, str)
    fine = listed and len(value) > 0 and all(isinstance(label, str) for label in value)
    return None if fine and len(set(value)) == len(value) else wanted


def _similarity(value: Any) -> str | None:
    wanted = "None, or a symmetric matrix of numbers >= 0, with positive ones on its diagonal"
    if value is None:
        return None
    array = square_matrix(value)
    if array is None or not np.all(array >= 0) or not np.array_equal(array, array.T):
        return wanted
    return None if np.all(np.diag(array) > 0) else wanted


@dataclass(eq=False, repr=False)
class ElasticTree(NodePairs):
    r"""Fragments that two trees have in common, where children may be matched with descendants
    (Kashima & Koyanagi).

    .. math:: k(x, y) = \sum_{v \in x} \sum_{w \in y} C(v, w), \qquad
              C(v, w) = \lambda\, s(v, w) \sum_{I, J} \prod_k A(v_{I_k}, w_{J_k})

    over subsequences I and J of the children of v and w, of one length, the empty one included.
    Elastic matching lets a node of the fragment be found anywhere below its parent: A(v, w) adds up
    C over v, w and all their descendants. Rigid matching has A = C: children are only matched with
    children. s(v, w) is 1 if v and w have the same label, and 0 otherwise, unless labels may
    change: then it is

    .. math:: s(v, w) = (1 - \text{mutation})\, S(v, w) + \text{mutation}

    with S the ``similarity`` of labels, or 1 for the same and 0 for different ones.

    Parameters
    ----------
    decay : float
        lambda, in (0, 1]: the factor for each node of a fragment.
    elastic : bool
        Elastic or rigid matching.
    mutation : float
        The similarity of different labels, in [0, 1]; at 1 labels do not matter.
    labels : list of str, optional
        The labels of the matrix. All other labels are similar only to themselves, with value 1.
    similarity : matrix, optional
        The similarities of these labels: a symmetric matrix of numbers >= 0. From the probabilities
        F[a, l] that a label l was originally a, it is ``F.T @ F``.

    Notes
    -----
    Without mutation only nodes with the same label are compared, otherwise all nodes. k is positive
    definite for every ``mutation`` in [0, 1] and every positive semi-definite matrix S, such as
    ``F.T @ F``; see ``properties.psd``.

    Examples
    --------
    >>> from mercer import ElasticTree
    >>> near, far = "(S (N x))", "(S (P (N x)))"
    >>> ElasticTree(decay=1.0, elastic=False)([near, far])  # common: S, N, x, N-x
    array([[ 6.,  4.],
           [ 4., 10.]])
    >>> ElasticTree(decay=1.0)([near, far])  # and S-N, S-x, S-N-x
    array([[ 7.,  7.],
           [ 7., 15.]])
    >>> ElasticTree(decay=1.0, mutation=0.5)(["(S (N x))", "(S (N y))"])  # x and y by half
    array([[12.5, 10. ],
           [10. , 12.5]])
    >>> nouns = ElasticTree(labels=["cat", "dog"], similarity=[[1.0, 0.8], [0.8, 1.0]])
    >>> nouns.normalize()(["(N cat)", "(N dog)", "(N idea)"]).round(3)
    array([[1.   , 0.883, 0.417],
           [0.883, 1.   , 0.417],
           [0.417, 0.417, 1.   ]])

    References
    ----------
    Kashima & Koyanagi, *Kernels for semi-structured data*, ICML 2002.
    """

    elastic: bool = parameter(
        True, check=lambda value: None if isinstance(value, bool) else "True or False"
    )
    mutation: float = probability(0.0)
    labels: Sequence[str] | np.ndarray | None = parameter(None, check=_labels)
    similarity: Any = parameter(None, check=_similarity)
    because = "an inner product of features: the weighted counts of all embedded fragments"

    @property
    def kind(self) -> int:
        return 2 if self.elastic else 1

    def prepare(self, X: Data) -> Forest:
        trees = super().prepare(X)
        self._table()  # checked before anything long begins
        return trees if self.labels is None else trees.numbered(list(self.labels))

    def _table(self) -> np.ndarray:
        """The matrix S of the labels that are named."""
        named = 0 if self.labels is None else len(self.labels)
        given = 0 if self.similarity is None else len(self.similarity)
        if named != given:
            raise ValueError(
                f"ElasticTree: similarity must have a row for each of the labels, got {given} rows "
                f"for {named} labels."
            )
        return np.asarray(self.similarity, dtype=float) if given else np.ones((1, 1))

    def _numbers(self) -> Numbers:
        return self._mutated(float(self.decay), float(self.mutation))

    def _mutated(self, decay: Any, mutation: Any) -> Numbers:
        """The parameters of the recursion, of the type of those that are given."""
        one = 0 * mutation + 1
        if self.mutation == 0 and self.labels is None:
            return Numbers(decay, one)
        return Numbers(decay, one, ((1 - mutation) * self._table() + mutation, one, mutation))

    def _moved(self) -> Iterator[Numbers]:
        decay, mutation = float(self.decay), float(self.mutation)
        yield self._mutated(moved(decay), complex(mutation))
        if self.mutation > 0:
            yield self._mutated(complex(decay), moved(mutation))

    @property
    def properties(self) -> prop.Properties:
        if self.labels is None and self.mutation < 1:
            return self._counting_nodes()
        least, largest = np.linalg.eigvalsh(self._table())[[0, -1]]
        rounding = 1e-12 * largest * len(self._table())
        known: dict[str, Any] = {"bounded": prop.no("k(x, x) grows with the number of nodes of x")}
        known["positive_diag"] = prop.yes("every node is a fragment, and similar to itself")
        if self.mutation == 1:
            known["strictly_pd"] = prop.no("trees with other labels have the same features")
        elif least < -rounding:
            known["psd"] = prop.no("it is a multiple of S for trees of one node")
        elif least > rounding:
            return self._counting_nodes()
        return self._stated(**known)
