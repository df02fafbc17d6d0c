"""Clusters in feature space: kernel k-means."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count
from ..data import Data, length
from ..gram.plan import Plan
from ..randomness import as_generator
from ..rkhs.function import RKHSFunction
from ..solvers.clusters import Clusters, kernel_kmeans
from .common import KernelByName, all_or_nothing, check_data, check_weights, without_masks
from .kept import KEPT, KeepsSamples


@dataclass(eq=False, repr=False)
class KernelKMeans(
    ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KeepsSamples, KernelByName
):
    r"""k-means in feature space, on any kernel and any data.

    .. math:: \min_{c} \; J(c) = \sum_i w_i \|\phi(x_i) - \mu_{c(i)}\|^2

    where mu_c is the (weighted) mean of the features in cluster c, a function in H_k. With the
    linear kernel this is k-means; with others clusters need not be convex, nor samples vectors.

    Several starts run at once, and the best partition is improved by moving single samples. No
    practical algorithm is guaranteed to find the global optimum; ``lower_bound_`` bounds how far
    from it the result can be.

    Parameters
    ----------
    n_clusters : int
        The number of clusters.
    kernel : Kernel, str or callable
        A kernel; a name known to scikit-learn; or a function of two samples.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    n_init : int
        The number of starts: half of them from principal components, the others by k-means++.
    max_iter : int
        The maximum number of iterations of each start.
    random_state : int, RandomState or None
        Used to draw the starts.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. With ``Plan(rank=500)`` time and memory
        grow with the number of samples, not with its square.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each sample, 0 for the heaviest.
    inertia_ : float
        J.
    lower_bound_ : float
        J of any partition is at least this: the sum of all eigenvalues of the centred K but the
        n_clusters - 1 largest.
    cluster_centers_ : RKHSFunction
        The means mu_c, as functions.
    dual_coef_ : ndarray of shape (n_kept, n_clusters)
        Their coefficients.
    n_iter_ : int
        Iterations until no start changed.
    X_fit_, n_samples_seen_, kernel_, gram_, solution_
        As for :class:`KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelKMeans
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> X = np.vstack([0.1 * ring, 3 * ring])  # one inside the other
    >>> model = KernelKMeans(2, kernel=Gaussian(1.0), random_state=0).fit(X)
    >>> len(set(model.labels_[:60])), len(set(model.labels_[60:])), len(set(model.labels_))
    (1, 1, 2)

    References
    ----------
    Schölkopf, Smola & Müller, *Nonlinear component analysis as a kernel eigenvalue problem*, 1998;
    Dhillon, Guan & Kulis, *Kernel k-means, spectral clustering and normalized cuts*, 2004.
    """

    n_clusters: int = 8
    _: KW_ONLY
    kernel: Any = "rbf"
    n_init: int = 10
    max_iter: int = 300
    random_state: Any = None
    plan: Plan | None = None

    factorises: ClassVar[bool] = False
    saved_state: ClassVar[tuple[str, ...]] = (
        *KEPT, "labels_", "inertia_", "lower_bound_", "n_iter_", "_norms",
    )  # fmt: skip

    @all_or_nothing
    def fit(self, X: Data, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the clusters of samples X, with weights; y is ignored."""
        self._check_parameters()
        X = check_data(self, X, self.kernel, reset=True)
        weights = check_weights(sample_weight, np.empty(length(X)))
        used = length(X) if weights is None else int(np.count_nonzero(weights))
        if self.n_clusters > used:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the number of samples with positive "
                f"weight, n_samples={used}."
            )
        self._split(self._as_kernel(X).gram(X, self.plan), X, weights)
        return self

    def predict(self, X: Data) -> np.ndarray:
        """The cluster whose mean is closest, for every sample of X."""
        return self._excess(X).argmin(axis=1)

    def transform(self, X: Data) -> np.ndarray:
        """Distances in feature space to the means of all clusters, shape (n, n_clusters)."""
        return self._distances(X)

    @without_masks
    def score(self, X: Data, y: Any = None, sample_weight: Any = None) -> float:
        """-J of samples X with these clusters, so that more is better."""
        distances = self._distances(X).min(axis=1)  # transform may return a table
        weights = check_weights(sample_weight, distances)
        return -float(np.sum(distances**2 * (1.0 if weights is None else weights)))

    @property
    def cluster_centers_(self) -> RKHSFunction:
        """The means of the clusters, as functions in H_k."""
        check_is_fitted(self)
        return self._function(self.dual_coef_)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters

    # ---- parts -----------------------------------------------------------------------------
    def _check_parameters(self) -> None:
        for name in ("n_clusters", "n_init", "max_iter"):
            check_count(name, getattr(self, name))

    def _split(self, gram: Any, X: Data, weights: np.ndarray | None) -> None:
        """Find clusters, and keep them."""
        self._keep(gram, X, self._clusters(gram, weights))

    def _clusters(self, gram: Any, weights: np.ndarray | None) -> Clusters:
        rng = as_generator(self.random_state, "random_state")
        return kernel_kmeans(
            gram, self.n_clusters, weights, starts=self.n_init, max_iter=self.max_iter, rng=rng
        ).warn()  # type: ignore[return-value]

    def _keep(self, gram: Any, X: Data, found: Clusters) -> None:
        self._keep_function(gram, X, found.coef)
        self.labels_, self._norms = found.labels, found.norms
        self.inertia_, self.lower_bound_ = found.inertia, found.lower_bound
        self.n_iter_, self.solution_ = found.n_iter, found

    def _squares(self, X: Data) -> np.ndarray:
        """k(x, x)."""
        return self.kernel_.diag(self.kernel_.prepare(X)).astype(np.float64)

    def _distances(self, X: Data) -> np.ndarray:
        excess = self._excess(X)
        return np.sqrt(np.maximum(self._squares(self._checked(X))[:, None] + excess, 0.0))

    def _excess(self, X: Data) -> np.ndarray:
        """|mu_c|^2 - 2 mu_c(x): squared distances but for k(x, x), which is the same for all c."""
        X = self._checked(X)
        values = self.gram_.cross(X) @ self.dual_coef_
        return self._norms - 2 * np.asarray(values, dtype=np.float64)
