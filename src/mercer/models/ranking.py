"""Learning to rank with kernels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from ..checks import check_count, check_number, check_positive
from ..data import Data
from ..gram.plan import Plan
from ..solvers.ranking import solve_ranking
from .common import (
    KernelByName,
    all_or_nothing,
    check_data,
    check_groups,
    check_targets,
    check_weights,
    without_masks,
)
from .kept import KEPT, KeepsSamples


@dataclass(eq=False, repr=False)
class KernelRanker(KeepsSamples, KernelByName):
    r"""Learning to rank: scores that order the samples within each group.

    .. math:: \min_{f \in H_k} \tfrac12 \sum_{g(i) = g(j),\, y_i > y_j}
              w_i w_j \max(0, 1 - f(x_i) + f(x_j))^2 + \tfrac{\alpha}{2} \|f\|^2

    A ranking support vector machine with the squared hinge loss, for any kernel and any data.
    Groups are queries with their documents, races with their runners, ...; only comparisons within
    a group count, so y may have a different scale in each group. The pairs, of which there may be
    n^2 / 2, are never formed: sums over them take n log n steps.

    Parameters
    ----------
    alpha : float
        Strength of the penalty, > 0.
    kernel : Kernel, str or callable
        A kernel; a name known to scikit-learn; or a function of two samples.
    gamma, degree, coef0, kernel_params
        Parameters of kernels given by name, as in scikit-learn.
    tol : float
        The largest violation of optimality, relative to the largest slope at f = 0.
    max_iter : int, optional
        The maximum number of Newton steps; 100 by default.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. With ``Plan(rank=500)`` time and memory
        grow with the number of samples, not with its square.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (n_kept,)
        The coefficients c of f = sum_i c_i k(x_i, .).
    rkhs_function_ : RKHSFunction
        f as an element of H_k.
    solution_ : Solution
        The certificate: violation, objective, duality gap, total weight of the pairs.
    n_iter_ : int
        Newton steps.
    X_fit_, n_samples_seen_, kernel_, gram_
        As for :class:`KernelRidge`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRanker
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.uniform(-2, 2, (120, 2)), np.repeat(np.arange(12), 10)
    >>> y = 100 * groups + X[:, 0] + X[:, 1] ** 2  # comparable within groups only
    >>> model = KernelRanker(0.1, kernel=Gaussian(2.0)).fit(X, y, groups)
    >>> model.score(X, y, groups) > 0.9  # Kendall's tau, the mean over groups
    True

    References
    ----------
    Herbrich, Graepel & Obermayer, *Large margin rank boundaries for ordinal regression*, 2000;
    Joachims, *Optimizing search engines using clickthrough data*, KDD 2002.
    """

    alpha: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    tol: float = 1e-5
    max_iter: int | None = None
    plan: Plan | None = None

    saved_state = (*KEPT, "n_iter_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @all_or_nothing
    def fit(self, X: Data, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X, relevances y, groups, and weights.

        Parameters
        ----------
        X, y : data
            Samples; y is larger where samples should rank higher.
        groups : array of shape (n,), optional
            The group of each sample; by default all are in one.
        sample_weight : array of shape (n,), optional
            Weights; those of pairs are products.
        """
        check_positive("alpha", self.alpha)
        check_number("tol", self.tol, "> 0", lambda tol: tol > 0)
        check_count("max_iter", self.max_iter, also=(None,))
        X = check_data(self, X, self.kernel, reset=True)
        y = column_or_1d(check_targets(self, X, y), warn=True)
        codes = check_groups(X, groups)
        weights = check_weights(sample_weight, y)
        used = np.ones(len(y), bool) if weights is None else weights > 0
        order = np.lexsort((y[used], codes[used]))
        within = np.diff(codes[used][order]) == 0
        if not np.any(np.diff(y[used][order])[within] > 0):
            raise ValueError(
                f"there are no pairs to learn from, with n_samples = {int(used.sum())}: within "
                "each group all y are equal; pass other groups, or samples with different y."
            )
        gram = self._stored((self.plan or Plan()).beside(2).gram(self._as_kernel(X), X))
        found = solve_ranking(
            gram, y, codes, float(self.alpha), weights, tol=self.tol, max_iter=self.max_iter
        ).warn()
        span = self._keep_samples(gram, X)
        coef = found.coef
        if span is not None:
            coef = span.express(coef) if found.weights is None else span.combine(found.weights)
        self.dual_coef_, self.n_iter_, self.solution_ = coef[:, 0], max(1, found.n_iter), found
        self.gram_ = self.gram_.detached()
        return self

    def predict(self, X: Data) -> np.ndarray:
        """Scores f(x), larger for samples that rank higher."""
        return self._evaluate(X)

    @without_masks
    def score(self, X: Data, y: Any, groups: Any = None) -> float:
        """Kendall's tau-b of scores and y: the mean over groups in which y differs.

        1 if all pairs are in order, 0 if half of them are.
        """
        taus = [float(kendalltau(f, own).statistic) for f, own in self._by_group(X, y, groups)]
        return float(np.mean(np.nan_to_num(taus)))

    def ndcg(self, X: Data, y: Any, groups: Any = None, k: int | None = None) -> float:
        """Normalised discounted cumulative gain of the first k of each group: the mean.

        y >= 0 are gains.
        """
        pairs = self._by_group(X, y, groups)
        return float(np.mean([ndcg_score(own[None], f[None], k=k) for f, own in pairs]))

    def _by_group(self, X: Data, y: Any, groups: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        """Scores and y of each group in which y differs."""
        f, y, codes = self.predict(X), column_or_1d(y), check_groups(X, groups)
        check_consistent_length(f, y)
        parts = [codes == g for g in np.unique(codes)]
        found = [(f[part], y[part]) for part in parts if np.ptp(y[part]) > 0]
        if not found:
            raise ValueError("within each group all y are equal, so there is nothing to rank.")
        return found
