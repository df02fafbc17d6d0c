"""The tree of nested level sets of a density, and clusters as its branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count, check_fraction
from ..data import Data, in_double
from ..gram.plan import Plan
from ..kernels.algebra.neighbors import Strip, graph_of, neighbor_pairs
from ..solvers.level_tree import LevelTree, labels_of, level_tree
from .common import all_or_nothing
from .density import DensityEstimate, log_strips
from .kept import KEPT

_LOWEST = float(np.finfo(float).min)
_ROUNDING = 1e-12  # of logarithms of normalised kernel values


@dataclass(eq=False, repr=False)
class LevelSetTree(ClusterMixin, DensityEstimate):
    r"""The cluster tree of a density: the connected components of all its level sets.

    .. math:: \{x : f(x) \ge \lambda\} = \bigcup_j C_j(\lambda), \qquad
              f(x) = \frac{1}{Z} \sum_i w_i\, k(x_i, x)

    As the level falls, components appear, grow and join each other. Each branch of the tree is one
    component, from the level at which it appears to the one at which it joins another; the leaves
    are the clusters, one for each sufficiently large peak of the density. Components are those of a
    nearest-neighbour graph in the metric of the normalised kernel, so samples may be of any kind.
    Copies of a sample count once as neighbours, and are connected.

    Parameters
    ----------
    kernel : Kernel, str or callable
        A kernel with values >= 0; a name known to scikit-learn; or a function of two samples.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    neighbors : int
        The number of nearest neighbours that each sample is joined to.
    min_mass : float
        In (0, 1): the minimum share of the data for a component to be a separate branch.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The leaf of each sample, 0 for the one with the largest mass: where the path uphill, from
        neighbour to neighbour, ends. -1 in components of the graph that are too small.
    n_clusters_ : int
        The number of leaves.
    tree_ : LevelTree
        The branches: parents, the log densities from which and down to which they exist, masses.
    leave_one_out_ : ndarray of shape (n,)
        Leave-one-out log densities of the training samples, from which the tree is built.
    is_density_, log_integral_, X_fit_, n_samples_seen_, kernel_, gram_
        As for :class:`KernelDensity`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, LevelSetTree
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(m, 0.5, 200) for m in (-3, 0, 3)])[:, None]
    >>> tree = LevelSetTree(Gaussian(0.3)).fit(X)
    >>> tree.n_clusters_
    3
    >>> [len(set(tree.components(mass)) - {-1}) for mass in (0.5, 0.8, 0.999)]
    [3, 3, 1]

    References
    ----------
    Hartigan, *Clustering Algorithms*, 1975; Chaudhuri, Dasgupta, Kpotufe & von Luxburg,
    *Consistent procedures for cluster tree estimation and pruning*, 2014.
    """

    kernel: Any = "rbf"
    _: KW_ONLY
    neighbors: int = 10
    min_mass: float = 0.05
    plan: Plan | None = None

    factorises: ClassVar[bool] = False
    saved_state: ClassVar[tuple[str, ...]] = (
        *KEPT, "labels_", "leave_one_out_", "is_density_", "log_integral_", "_branches", "_node",
    )  # fmt: skip

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the tree of samples X, with weights; y is ignored."""
        check_fraction("min_mass", self.min_mass)
        check_count("neighbors", self.neighbors)
        gram, weights = self._estimate(X, sample_weight)
        values: list[float] = []
        X = in_double(self.X_fit_)
        squares = self._log_squares(X)

        def strips() -> Iterator[Strip]:
            for rows, logs in log_strips(gram, self.kernel_, X):
                yield rows, squares / 2 - logs, _ROUNDING
                if len(values) < len(squares):  # they come twice if there are copies
                    values.extend(self._held_out(weights, rows, logs))

        (one, other), original = neighbor_pairs(strips, self.neighbors)
        copies = np.flatnonzero(original != np.arange(len(original)))
        one, other = np.append(one, copies), np.append(other, original[copies])
        graph = graph_of((one, other), len(original))
        self.leave_one_out_ = np.array(values)
        tree = level_tree(self.leave_one_out_, self.dual_coef_, graph, float(self.min_mass))
        numbers = np.stack([tree.parent, tree.top, tree.base, tree.mass])
        self._branches = np.maximum(numbers, _LOWEST)  # files hold finite numbers
        self._node = tree.node
        self.labels_ = labels_of(tree, self.leave_one_out_, graph)
        return self

    @property
    def tree_(self) -> LevelTree:
        """The branches."""
        check_is_fitted(self)
        parent, top, base, mass = np.where(self._branches > _LOWEST, self._branches, -np.inf)
        return LevelTree(parent.astype(int), top, base, mass, self._node)

    @property
    def n_clusters_(self) -> int:
        """The number of leaves."""
        return len(self.tree_.leaves)

    def components(self, mass: float) -> np.ndarray:
        """For each training sample, its component of the level set of a given mass; -1 outside.

        Components are numbered by their masses, the heaviest first.
        """
        level = self.level(mass)
        branch = np.append(self.tree_.at(level), -1)[self._node]
        branch[self.leave_one_out_ < level] = -1
        found, codes = np.unique(branch[branch >= 0], return_inverse=True)
        sizes = np.bincount(codes, self.dual_coef_[branch >= 0], minlength=len(found))
        place = np.empty(len(found), int)
        place[np.argsort(-sizes, kind="stable")] = np.arange(len(found))
        branch[branch >= 0] = place[codes]
        return branch

    def predict(self, X: Data) -> np.ndarray:
        """The cluster of the nearest training sample, for every sample of X.

        -1 where kernel values with all of them are 0.
        """
        X = self._checked(X)
        squares = self._log_squares(self.X_fit_)
        strips = log_strips(self.gram_, self.kernel_, self.X_fit_, X)
        found = []
        for _, logs in strips:
            near = np.argmax(logs - squares / 2, axis=1)
            seen = np.any(logs > -np.inf, axis=1)
            found.append(np.where(seen, self.labels_[near], -1))
        return np.concatenate(found)

    def plot(self, X: Data | None = None, y: Any = None, ax: Any = None, **options: Any) -> Any:
        """The tree; or, of samples X, the picture of their clusters."""
        if X is not None:
            return super().plot(X, y, ax, **options)
        from ..plots.levels import plot_levels

        return plot_levels(self, ax, **options)

    def _log_squares(self, X: Data) -> np.ndarray:
        """log k(x, x), by which values are normalised."""
        with np.errstate(divide="ignore"):
            found = np.log(self.kernel_.diag(self.kernel_.prepare(X)).astype(np.float64))
        return np.where(np.isfinite(found), found, 0.0)
