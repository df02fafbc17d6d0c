"""Classical canonical correlation analysis, from covariance matrices."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data import Data
from ..engine.lapack import lapack
from ..gram.tiles import slices
from ..solvers.canonical import CanonicalProblem, ReducedProblem, fix_signs
from ..solvers.views import FactorView, shrinkage
from .common import all_or_nothing
from .multiview import (
    MultiViewModel,
    as_views,
    check_variance,
    warn_if_trivial,
)

_STRIP = 4096  # rows at a time
_CLOSE = 1e-6  # covariances with eigenvalues closer to zero than this lose too many digits


@dataclass(eq=False, repr=False)
class CCA(MultiViewModel):
    r"""Canonical correlation analysis: projections of each view that are correlated with each
    other.

    .. math:: \max_{a, b} \frac{a' C_{xy} b}{\sqrt{a' (C_{xx} + \lambda I) a}
              \sqrt{b' (C_{yy} + \lambda I) b}}

    and further pairs that are uncorrelated with the pairs before. For M > 2 views, the largest
    eigenvalues of the matrix of all (regularised) correlations take the place of the
    correlation. Only covariance matrices are needed: time grows as n d^2, and no copy of the data
    is made.

    ``fit(X, Y)``, ``transform(X, Y)`` and ``transform(X)`` work as in
    :class:`sklearn.cross_decomposition.CCA`, but without its iterations; there is no ``predict``.

    Parameters
    ----------
    n_components : int
        The number of projections of each view.
    regularization : float or list of float
        lambda >= 0, for all views or for each.
    form : {"ridge", "squared"}
        ``"ridge"`` is the formula above; ``"squared"`` replaces C + lambda I by
        (C + lambda I / 2)^2 C^-1. See :class:`KernelCCA`.
    scale : bool
        Divide every column by its standard deviation. This only matters for the regularization.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        Canonical correlations, largest first; for M > 2 views, (eigenvalue - 1) / (M - 1).
    weights_ : list of ndarray of shape (n_columns, n_components)
        Scores of view m are ``(X - means_[m]) @ weights_[m]``. Without regularization, those of
        two views have variance 1.
    x_rotations_, y_rotations_ : ndarray
        The weights of the first two views, by scikit-learn's names.
    means_ : list of ndarray
        Column means.
    loadings_ : list of ndarray of shape (n_columns, n_components)
        The correlation of each column of a view with the scores of that view.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import CCA
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=(500, 1))
    >>> X = np.hstack([shared + rng.normal(size=(500, 1)), rng.normal(size=(500, 2))])
    >>> Y = np.hstack([rng.normal(size=(500, 1)), shared + rng.normal(size=(500, 1))])
    >>> model = CCA(n_components=2).fit(X, Y)
    >>> model.correlations_.round(2)
    array([0.46, 0.06])
    >>> model.loadings_[0][:, 0].round(1)  # only the first column of X has something to say
    array([ 1. ,  0. , -0.1])

    References
    ----------
    Hotelling, *Relations between two sets of variates*, Biometrika 1936; Kettenring, *Canonical
    analysis of several sets of variables*, Biometrika 1971.
    """

    n_components: int = 2
    _: KW_ONLY
    regularization: Any = 0.0
    form: str = "ridge"
    scale: bool = True

    saved_state: ClassVar[tuple[str, ...]] = (
        "weights_",
        "means_",
        "loadings_",
        "correlations_",
        "_scales",
        "_columns",
    )

    @all_or_nothing
    def fit(self, X: Any, y: Data = None, sample_weight: Any = None) -> Self:
        """Find the canonical projections.

        Parameters
        ----------
        X : list of arrays of shape (n, d_m)
            Two or more; or the first of two.
        y : array of shape (n, d_2) or (n,), optional
            The second view.
        sample_weight : array of shape (n,), optional
            Weights >= 0; a sample of weight two counts as two samples.
        """
        found = as_views(X, y)
        regularization = self._check_parameters(found, self.regularization, self.form)
        arrays, _, p = self._arrays(found, sample_weight)
        self.means_ = [p @ X for X in arrays]
        C = _covariance(arrays, self.means_, p)
        at = np.cumsum([0, *(X.shape[1] for X in arrays)])
        parts = [slice(i, j) for i, j in pairwise(at)]
        constant = np.concatenate([np.ptp(X[p > 0], axis=0) == 0 for X in arrays])
        C[constant] = C[:, constant] = 0.0  # rounding of their means
        variances = np.diagonal(C).copy()
        for m, part in enumerate(parts):
            check_variance(m, float(variances[part].sum()), 0.0)
        scales = np.sqrt(np.where(variances > 0, variances, 1)) if self.scale else np.ones(at[-1])
        self._scales = [scales[part] for part in parts]
        C /= np.outer(scales, scales)
        self._solve(C, parts, arrays, p, regularization)
        return self

    def project(self, X: Data, view: int = 0) -> np.ndarray:
        self._check_number(view)
        X = self._dense(X, view, reset=False)
        return (X - self.means_[view]) @ self.weights_[view]

    @property
    def x_rotations_(self) -> np.ndarray:
        """The weights of the first view."""
        check_is_fitted(self)
        return self.weights_[0]

    @property
    def y_rotations_(self) -> np.ndarray:
        """The weights of the second view."""
        check_is_fitted(self)
        return self.weights_[1]

    def _shares(self, X: Data, view: int, Q: np.ndarray) -> np.ndarray:
        X = self._dense(X, view, reset=False) / self._scales[view]
        return np.sum((Q.T @ X) ** 2, axis=1) / np.sum((X - X.mean(axis=0)) ** 2)

    # ---- the parts of fit ------------------------------------------------------------------
    def _solve(
        self,
        C: np.ndarray,
        parts: list[slice],
        arrays: list[np.ndarray],
        p: np.ndarray,
        regularization: np.ndarray,
    ) -> None:
        """From covariances, or from the data where these would lose too many digits."""
        M, r = len(parts), regularization.tolist()
        blocks = [C[part, part] for part in parts]
        pairs = [lapack(len(B), np.linalg.eigh, B) for B in blocks]
        if all(s[0] > _CLOSE * s[-1] for s, _ in pairs):
            white = [V / np.sqrt(s) for s, V in pairs]
            cross = {
                (i, j): white[i].T @ C[parts[i], parts[j]] @ white[j]
                for i in range(M)
                for j in range(i + 1, M)
            }
            problem = ReducedProblem([s for s, _ in pairs], cross)
            values, E = problem.largest(r, self.n_components, self.form)
            coefs = [
                W @ (shrinkage(s, x, self.form)[:, None] * e)
                for W, (s, _), x, e in zip(white, pairs, r, E, strict=True)
            ]
            fix_signs(coefs)
        else:
            scaled = [X / scale for X, scale in zip(arrays, self._scales, strict=True)]
            whole = CanonicalProblem([FactorView(X, p) for X in scaled])
            found = whole.solve(r, self.n_components, self.form)
            problem, values, coefs = whole.reduced, found.eigenvalues, found.coefs
        warn_if_trivial([len(s) for s in problem.s], regularization, p)
        self.correlations_ = values / (M - 1)
        self.weights_ = [a / scale[:, None] for a, scale in zip(coefs, self._scales, strict=True)]
        self.loadings_ = [
            _loadings(C[part, part], coef) for part, coef in zip(parts, coefs, strict=True)
        ]


def _covariance(arrays: list[np.ndarray], means: list[np.ndarray], p: np.ndarray) -> np.ndarray:
    """The weighted covariance matrix of all columns of all views, a strip of rows at a time."""
    mean = np.concatenate(means)
    C = np.zeros((len(mean), len(mean)))
    for rows in slices(len(p), _STRIP):
        Z = np.concatenate([X[rows] for X in arrays], axis=1, dtype=np.float64) - mean
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
            C += Z.T @ (p[rows, None] * Z)
    return (C + C.T) / 2


def _loadings(C: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Correlations of columns with covariance C with the scores of these coefficients."""
    covariances = C @ coef
    variances = np.outer(np.diagonal(C), np.sum(coef * covariances, axis=0))
    roots = np.sqrt(np.maximum(variances, 0))
    return np.divide(covariances, roots, out=np.zeros_like(covariances), where=roots > 0)
