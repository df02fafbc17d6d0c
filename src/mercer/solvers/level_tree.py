"""Connected components of the level sets of a density, as a tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass
class LevelTree:
    """Branches of a density: each is a connected set {f > level} from one level to another.

    Attributes
    ----------
    parent : ndarray of shape (m,)
        The branch that each one joins as the level falls, -1 for a root.
    top, base : ndarray of shape (m,)
        The largest log density in it, and the level at which it joins its parent; -inf for a root.
    mass : ndarray of shape (m,)
        The share of the samples in it just before that.
    node : ndarray of shape (n,)
        The smallest branch that holds each sample; -1 in parts too small for one.
    """

    parent: np.ndarray
    top: np.ndarray
    base: np.ndarray
    mass: np.ndarray
    node: np.ndarray

    @property
    def leaves(self) -> np.ndarray:
        """Branches that do not split, the heaviest first."""
        ends = np.setdiff1d(np.arange(len(self.parent)), self.parent)
        return ends[np.argsort(-self.mass[ends], kind="stable")]

    def at(self, level: float) -> np.ndarray:
        """For each branch, the one that it is a part of at this level."""
        found = np.arange(len(self.parent))
        for v in range(len(found) - 1, -1, -1):  # parents have larger numbers
            up = self.parent[v]
            found[v] = found[up] if up >= 0 and self.base[v] >= level else v
        return found


def level_tree(
    values: np.ndarray, weights: np.ndarray, graph: sp.csr_array, least: float
) -> LevelTree:
    """The tree of a density known at samples, whose neighbours are given by a graph.

    The level falls from sample to sample. One that is a neighbour of none before it begins a
    part; one that is a neighbour of several joins them. Where at least two of these have the mass
    ``least``, they become branches; lighter parts are taken into the heaviest.

    Parameters
    ----------
    values : array of shape (n,)
        log f at the samples.
    weights : array of shape (n,)
        Their shares; those of weight 0 are left out.
    graph : sparse matrix of shape (n, n)
        Symmetric; what is not 0 is an edge.
    least : float
        The mass below which a part is no branch.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> path = sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(5, 5)).tocsr()
    >>> tree = level_tree(np.array([1.0, 3.0, 0.0, 2.0, 1.0]), np.full(5, 0.2), path, 0.3)
    >>> tree.parent, tree.node
    (array([ 2,  2, -1]), array([0, 0, 2, 1, 1]))
    """
    n = len(values)
    order = np.argsort(-values, kind="stable")
    order = order[weights[order] > 0]
    over, part = np.full(n, -1), _Parts(n)
    parents: list[int] = []
    tops: list[float] = []
    bases: list[float] = []
    masses: list[float] = []
    branch = np.full(n, -1)  # of each part, by its root: the branch it continues
    held: dict[int, list[int]] = {}  # samples of each part that are in no branch yet
    for i in order.tolist():
        near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
        around = sorted({part.find(j) for j in near.tolist() if part.seen[j]})
        heavy = [r for r in around if branch[r] >= 0 or part.mass[r] >= least]
        if len(heavy) >= 2:
            for r in heavy:
                if branch[r] < 0:
                    branch[r] = _begin(parents, tops, bases, masses)
                v = branch[r]
                tops[v], bases[v] = float(part.top[r]), float(values[i])
                masses[v] = float(part.mass[r])
                over[held.pop(r)] = v
        split = [int(branch[r]) for r in heavy] if len(heavy) >= 2 else []
        lists = sorted((held.pop(r) for r in around if r in held), key=len)
        samples = lists.pop() if lists else []
        for more in lists:
            samples.extend(more)
        samples.append(i)
        own = -1 if split else next((int(branch[r]) for r in heavy if branch[r] >= 0), -1)
        root = part.join(i, around, float(weights[i]), float(values[i]))
        if split:
            own = _begin(parents, tops, bases, masses)
            for v in split:
                parents[v] = own
        branch[root], held[root] = own, samples
    for root, samples in held.items():
        if branch[root] < 0:
            if part.mass[root] < least:
                continue
            branch[root] = _begin(parents, tops, bases, masses)
        v = branch[root]
        tops[v], masses[v] = float(part.top[root]), float(part.mass[root])
        over[samples] = v
    return LevelTree(
        np.array(parents, int), np.array(tops), np.array(bases), np.array(masses), over
    )


def _begin(parents: list[int], tops: list[float], bases: list[float], masses: list[float]) -> int:
    parents.append(-1)
    tops.append(-np.inf)
    bases.append(-np.inf)
    masses.append(0.0)
    return len(parents) - 1


class _Parts:
    """Connected parts that grow together."""

    def __init__(self, n: int) -> None:
        self.above, self.seen = list(range(n)), [False] * n
        self.mass, self.top = np.zeros(n), np.full(n, -np.inf)

    def find(self, i: int) -> int:
        while self.above[i] != i:
            self.above[i] = self.above[self.above[i]]
            i = self.above[i]
        return i

    def join(self, i: int, roots: list[int], weight: float, value: float) -> int:
        """A new sample and the parts around it become one; the heaviest of these is its root."""
        self.seen[i], self.mass[i], self.top[i] = True, weight, value
        root = max(roots, key=lambda r: self.mass[r], default=i)
        for r in [*roots, i]:
            if r != root:
                self.above[r] = root
                self.mass[root] += self.mass[r]
                self.top[root] = max(self.top[root], self.top[r])
        return root


def labels_of(tree: LevelTree, values: np.ndarray, graph: sp.csr_array) -> np.ndarray:
    """A leaf for each sample: where the way up from neighbour to neighbour ends; -1 if nowhere."""
    leaves = tree.leaves
    number = np.full(len(tree.parent) + 1, -1)
    number[leaves] = np.arange(len(leaves))
    labels = number[tree.node]
    order = np.argsort(-values, kind="stable")
    while True:
        before = labels.copy()
        for i in order[labels[order] < 0].tolist():
            near = graph.indices[graph.indptr[i] : graph.indptr[i + 1]]
            near = near[labels[near] >= 0]
            if len(near):
                labels[i] = labels[near[np.argmax(values[near])]]
        if np.array_equal(labels, before):
            return labels
