"""Spectral clustering: normalised cuts of the graph whose edges are kernel values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..data import Data, evenly, take
from ..gram.algebra import ScaledGram
from .clustering import KernelKMeans

_PROBE = 500  # samples on which signs of kernel values are looked at


@dataclass(eq=False, repr=False)
class SpectralClustering(KernelKMeans):
    r"""Spectral clustering by normalised cuts: clusters with high similarity within and low
    similarity between them.

    .. math:: \min_c \sum_{j=1}^k
              \frac{\sum_{i \in c_j,\, l \notin c_j} w_i w_l\, k(x_i, x_l)}
              {\sum_{i \in c_j} w_i d_i},
              \qquad d_i = \sum_l w_l\, k(x_i, x_l)

    This is kernel k-means with the weights w_i d_i and the kernel k(x, y) / (d(x) d(y)). The
    eigenvectors of D^-1/2 K D^-1/2, where spectral clustering usually ends, are the starting point
    here: partitions are improved until moving a single sample no longer helps, new samples can be
    assigned, and a lower bound limits how much better the optimal cut can be.

    Parameters
    ----------
    n_clusters, kernel, gamma, degree, coef0, kernel_params, n_init, max_iter, random_state, plan
        As for :class:`KernelKMeans`. Kernel values must be non-negative similarities: a narrow
        Gaussian kernel, or the 0/1 and weighted adjacency matrices of graphs as ``"precomputed"``.
        With ``Plan(rank=500)`` similarities are approximated with landmarks, and time and memory
        grow linearly with the number of samples.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The cluster of each sample.
    cut_ : float
        The normalised cut, between 0 (no similarity across clusters) and n_clusters.
    cut_bound_ : float
        A lower bound on the cut of any partition: n_clusters minus the largest eigenvalues.
    X_fit_, n_samples_seen_, kernel_, gram_, solution_, n_iter_
        As for :class:`KernelKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, SpectralClustering
    >>> angle = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = SpectralClustering(2, kernel=Gaussian(0.15), random_state=0)
    >>> labels = model.fit_predict(np.vstack([ring, 2 * ring]))
    >>> len(set(labels[:80])), len(set(labels[80:])), bool(model.cut_ < 1e-6)
    (1, 1, True)

    References
    ----------
    Shi & Malik, *Normalized cuts and image segmentation*, 2000; Ng, Jordan & Weiss, *On spectral
    clustering*, 2001; Dhillon, Guan & Kulis, *Kernel k-means, spectral clustering and normalized
    cuts*, 2004.
    """

    saved_state: ClassVar[tuple[str, ...]] = (
        *KernelKMeans.saved_state, "cut_", "cut_bound_", "_degree",
    )  # fmt: skip

    def _split(self, gram: Any, X: Data, weights: np.ndarray | None) -> None:
        w = np.ones(len(gram)) if weights is None else weights
        degree = np.asarray(gram @ w, dtype=np.float64)
        self._check_similarities(gram, X, degree)
        scaled = ScaledGram(gram, 1 / degree)
        found = self._clusters(scaled, w * degree)
        own = self.n_clusters - float(np.sum(w / degree * gram.diag()))
        self.cut_ = max(found.inertia + own, 0.0)
        self.cut_bound_ = max(found.lower_bound + own, 0.0)
        coef = np.column_stack([found.coef / degree[:, None], w])  # means, and degrees of samples
        self._keep(gram, X, replace(found, coef=coef))
        parts = self.dual_coef_[:, :-1], self.dual_coef_[:, -1]
        self.dual_coef_, self._degree = map(np.ascontiguousarray, parts)

    def _check_similarities(self, gram: Any, X: Data, degree: np.ndarray) -> None:
        """Values must not be negative: those of the kernel itself, where a plan approximates it."""
        some = evenly(len(gram), _PROBE)
        approximated = self.plan is not None and self.plan.few is not None
        kernel = self._as_kernel(X).resolve(X) if approximated else gram.kernel
        values = kernel(take(X, some)) if approximated else gram.block(some, some)
        if values.min() < -1e-12 * float(np.abs(gram.diag()).max()):
            raise ValueError(
                f"{kernel!r} has negative values on these data, so it is not a similarity for "
                "spectral clustering; use a Gaussian kernel, or KernelKMeans."
            )
        lonely = np.flatnonzero(~(degree > 0))
        if len(lonely):
            remedy = "raise the rank of the plan, or " if approximated else ""
            raise ValueError(
                f"{len(lonely)} samples, such as sample {lonely[0]}, have no similarity to any "
                f"sample, not even to themselves; {remedy}use a wider kernel."
            )

    def _excess(self, X: Data) -> np.ndarray:
        """|mu_c|^2 - 2 mu_c(x) / d(x)."""
        X = self._checked(X)
        coef = np.column_stack([self.dual_coef_, self._degree])
        values = np.asarray(self.gram_.cross(X) @ coef, dtype=np.float64)
        degree = np.where(values[:, -1:] > 0, values[:, -1:], 1.0)  # similar to none: to any
        return self._norms - 2 * values[:, :-1] / degree

    def _squares(self, X: Data) -> np.ndarray:
        degree = np.asarray(self.gram_.cross(X) @ self._degree, dtype=np.float64)
        return super()._squares(X) / np.where(degree > 0, degree, 1.0) ** 2
