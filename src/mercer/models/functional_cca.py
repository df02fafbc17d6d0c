"""Canonical correlation analysis of curves, with weights that are smooth functions."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.linalg as sla
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from ..checks import check_count
from ..data import Data
from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..gram.polyharmonic import PolyharmonicGram
from ..solvers.canonical import CanonicalProblem, CanonicalSolution, fix_signs
from ..solvers.views import SemiparametricView
from .cca_cv import held_out
from .common import all_or_nothing
from .multiview import (
    MultiViewModel,
    as_views,
    check_variance,
    in_view,
    warn_if_trivial,
)
from .smoothing import SmoothingSpline

_GRID = 10.0 ** np.arange(-9, 3)  # of the roughness at which half of a smooth direction is left


@dataclass(eq=False, repr=False)
class FunctionalCCA(MultiViewModel):
    r"""Canonical correlation analysis of curves: smooth weight functions whose scores are
    correlated.

    Each sample is a curve x(t) and a curve y(t), each observed at its own points. The weight
    functions a and b maximise

    .. math:: \frac{\operatorname{cov}\left(\int a x, \int b y\right)}
              {\sqrt{\operatorname{var} \int a x + \lambda \int a^{(m)}(t)^2 dt}
               \sqrt{\operatorname{var} \int b y + \lambda \int b^{(m)}(t)^2 dt}}

    and further pairs follow that are uncorrelated with the pairs before, in the inner product of
    the denominator. Curves have more points than there are samples: without the penalty the
    correlation is 1 and means nothing. With a large one, weights are polynomials of degree < m,
    for m = 2 straight lines.

    Parameters
    ----------
    n_components : int
        The number of weight functions of each view.
    points : array of shape (n_points,), list of such arrays, or None
        Where the curves are observed, in ascending order: for all views, or for each. None takes
        equal steps from 0 to 1.
    regularization : "cv", float or list of float
        lambda >= 0, for all views or for each, in the units of the formula. ``"cv"`` takes the
        one with the largest correlation of held-out samples.
    order : int
        m >= 1, the derivative that is penalised.
    cv : int, splitter or iterable
        Folds for ``"cv"``, as in scikit-learn; with a number of folds, samples are not shuffled.

    Attributes
    ----------
    correlations_ : ndarray of shape (n_components,)
        The penalised correlations in training, largest first; for M > 2 views, the eigenvalue
        divided by M - 1. :meth:`correlations` gives plain ones, of any samples.
    curves_ : list of SmoothingSpline
        The weight functions of each view: ``curves_[0].predict(t)`` has a column per component,
        and ``predict(t, derivative=1)`` their slopes. They are natural splines.
    weights_ : list of ndarray of shape (n_points, n_components)
        Their values at the points.
    knots_ : list of ndarray of shape (n_points,)
        The points of each view, which are the knots of its splines.
    means_ : list of ndarray of shape (n_points,)
        The mean curves: scores are integrals of the weights times the difference of a curve from
        its mean.
    regularization_ : ndarray of shape (M,)
        lambda of each view.
    regularizations_, cv_scores_ : ndarray of shape (n_settings, M), (n_settings, n_folds)
        With ``"cv"``: what was tried, and the correlations of held-out samples.
    solution_ : CanonicalSolution
        The solver's certificate.

    Notes
    -----
    Integrals of curves are computed by the trapezoidal rule. They only depend on the values of a at
    the points, and of all functions with these values the natural spline has the smallest penalty.
    So a is that spline, exactly, and the problem is regularised CCA with the matrix of the penalty
    in place of the identity. In coordinates in which that matrix is the identity, but for the
    polynomials, which carry no penalty, it is the problem that :class:`KernelCCA` solves; one
    decomposition of each view serves all lambda.

    lambda is compared with variances of integrals: curves in a unit s times smaller have the same
    weight functions with s^2 times the lambda. The values that ``"cv"`` tries are multiples of the
    largest ratio of variance and penalty in each view, so units do not matter.

    A view with a single point is a number for each sample, and its weight is free.

    Examples
    --------
    Two sets of noisy curves, whose bumps at 0.3 and at 0.6 have the same heights:

    >>> import numpy as np
    >>> from mercer import FunctionalCCA
    >>> rng = np.random.default_rng(0)
    >>> t = np.linspace(0, 1, 80)
    >>> heights = rng.normal(size=(200, 1))
    >>> X = heights * np.exp(-100 * (t - 0.3) ** 2) + rng.normal(size=(200, 80))
    >>> Y = heights * np.exp(-100 * (t - 0.6) ** 2) + rng.normal(size=(200, 80))
    >>> model = FunctionalCCA(points=t).fit(X[:100], Y[:100])
    >>> model.correlations(X[100:], Y[100:]).round(1)  # of samples the model has not seen
    array([0.9])
    >>> fine = np.linspace(0, 1, 1001)
    >>> [round(float(fine[np.argmax(a.predict(fine)[:, 0])]), 1) for a in model.curves_]
    [0.3, 0.6]

    References
    ----------
    Leurgans, Moyeed & Silverman, *Canonical correlation analysis when the data are curves*, JRSS B
    1993; Ramsay & Silverman, *Functional Data Analysis*, 2005, chapter 11.
    """

    n_components: int = 1
    _: KW_ONLY
    points: Any = None
    regularization: Any = "cv"
    order: int = 2
    cv: Any = 5

    saved_state: ClassVar[tuple[str, ...]] = (
        "weights_",
        "means_",
        "knots_",
        "correlations_",
        "regularization_",
        "_columns",
    )

    @all_or_nothing
    def fit(self, X: Any, y: Data = None, sample_weight: Any = None) -> Self:
        """Find the canonical weight functions.

        Parameters
        ----------
        X : list of arrays of shape (n, n_points)
            Two or more sets of curves, a row for each; or the first of two.
        y : array of shape (n, n_points), optional
            The second set.
        sample_weight : array of shape (n,), optional
            Weights >= 0; a sample of weight two counts as two samples. Correlations of held-out
            samples are not weighted.
        """
        found = as_views(X, y)
        chosen = isinstance(self.regularization, str)
        if chosen and self.regularization != "cv":
            raise ValueError(
                f'regularization must be "cv" or >= 0, for all views or for each; got '
                f"{self.regularization!r}."
            )
        given = 0.0 if chosen else self.regularization
        regularization = self._check_parameters(found, given, "ridge")
        m = check_count("order", self.order)
        arrays, weights, p = self._arrays(found, sample_weight)
        self.means_: list[np.ndarray] = [p @ X for X in arrays]
        self.knots_: list[np.ndarray] = _check_points(self.points, [X.shape[1] for X in arrays])
        bases: list[np.ndarray] = []
        views: list[SemiparametricView] = []
        for X, mean, t in zip(arrays, self.means_, self.knots_, strict=True):
            with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
                constant = np.ptp(X[p > 0], axis=0) == 0
                X = np.where(constant, 0.0, X - mean)  # without the rounding of their means
                check_variance(len(views), float(p @ np.einsum("ij,ij->i", X, X)), 0.0)
            with in_view(len(views)):
                bases.append(spline_basis(t, m))
            G = X @ (quadrature(t)[:, None] * bases[-1])
            views.append(SemiparametricView(G, weights, free=min(m, len(t))))
        if chosen:
            regularization = self._choose(views)
        self.regularization_ = np.array(regularization)
        problem = CanonicalProblem(views)
        solution = problem.solve(regularization.tolist(), self.n_components, "ridge")
        warn_if_trivial([len(s) for s in problem.reduced.s], regularization, views[0].p)
        self.solution_: CanonicalSolution = solution
        self.correlations_ = solution.eigenvalues / (len(views) - 1)
        pairs = zip(bases, solution.coefs, strict=True)
        self.weights_: list[np.ndarray] = [B @ coef for B, coef in pairs]
        fix_signs(self.weights_)
        return self

    def project(self, X: Data, view: int = 0) -> np.ndarray:
        self._check_number(view)
        X = self._dense(X, view, reset=False) - self.means_[view]
        return X @ (quadrature(self.knots_[view])[:, None] * self.weights_[view])

    @property
    def curves_(self) -> list[SmoothingSpline]:
        """The weight functions of each view."""
        check_is_fitted(self)
        pairs = zip(self.knots_, self.weights_, strict=True)
        return [SmoothingSpline(min(self.order, len(t)), alpha=0.0).fit(t, a) for t, a in pairs]

    def _shares(self, X: Data, view: int, Q: np.ndarray) -> np.ndarray:
        X = self._dense(X, view, reset=False) * np.sqrt(quadrature(self.knots_[view]))
        return np.sum((Q.T @ X) ** 2, axis=1) / np.sum((X - X.mean(axis=0)) ** 2)

    def _choose(self, views: list[SemiparametricView]) -> np.ndarray:
        """The regularization of every view whose held-out correlation is largest."""
        spectra = [view.spectrum.s for view in views]
        units = np.array([s[np.isfinite(s)].max(initial=0.0) or 1.0 for s in spectra])
        self.regularizations_ = _GRID[::-1, None] * units  # of equal scores the smoothest
        folds = list(check_cv(self.cv).split(np.empty((views[0].n, 1))))
        self.cv_scores_ = held_out(
            views, list(self.regularizations_), folds, self.n_components, "ridge"
        )
        best: np.ndarray = self.regularizations_[np.argmax(self.cv_scores_.mean(axis=1))]
        return best


def quadrature(t: np.ndarray) -> np.ndarray:
    """The weights of the trapezoidal rule at these points; 1 for a single one."""
    if len(t) == 1:
        return np.ones(1)
    steps = np.diff(t)
    return np.concatenate([steps[:1], steps[:-1] + steps[1:], steps[-1:]]) / 2


def spline_basis(t: np.ndarray, order: int) -> np.ndarray:
    """Values at t of natural splines, one in each column: a basis in which the penalty is simple.

    The first ``order`` columns are polynomials. The penalty of the spline with coefficients c, the
    integral of its derivative of this order squared, is the sum of the squares of the others.

    On coefficients orthogonal to polynomials the matrix E of the spline is positive definite. With
    an orthonormal basis Z of these, the penalty of values a is a' Z (Z' E Z)^-1 Z' a, so that
    a = Z (Z' E Z)^(1/2) c has the penalty c' c: nothing is inverted.
    """
    T, m = len(t), min(order, len(t))
    scale = float(t[-1] - t[0]) / 2 or 1.0
    z = ((t - t[0]) / scale - 1)[:, None]
    P = np.hstack([z**j for j in range(m)])
    with np.errstate(over="ignore", under="ignore"):
        unit = float(np.float64(scale) ** (2 * order - 1))
    if not 0 < unit < np.inf:
        raise ValueError(
            f"points span {2 * scale:.1g}, whose power of {2 * order - 1} in the penalty "
            "overflows or underflows; divide them by a constant."
        )
    Z = lapack(T, sla.qr, P)[0][:, m:]
    E = Z.T @ (PolyharmonicGram(z, order).dense("the penalty of a spline") @ Z)
    e, V = lapack(T - m, eigh, unit * (E + E.T) / 2) if m < T else (np.zeros(0), np.eye(0))
    return np.hstack([P, Z @ (V * np.sqrt(np.maximum(e, 0)))])


def _check_points(points: Any, sizes: list[int]) -> list[np.ndarray]:
    """The points of every view: as many as it has columns, in ascending order."""
    if points is None:
        return [np.linspace(0, 1, T) if T > 1 else np.zeros(1) for T in sizes]
    several = isinstance(points, list | tuple) and all(np.ndim(t) > 0 for t in points)
    if several and len(points) != len(sizes):
        raise ValueError(
            f"points must be one array or one per view ({len(sizes)}), got {len(points)}."
        )
    found = []
    for m, (t, T) in enumerate(
        zip(points if several else [points] * len(sizes), sizes, strict=True)
    ):
        try:
            t = np.array(t, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"points of view {m} must be numbers, got {t!r}.") from None
        if t.shape != (T,):
            raise ValueError(
                f"points of view {m} must have one entry for each of its {T} columns, got an "
                f"array of shape {t.shape}."
            )
        if not np.all(np.isfinite(t)) or not np.all(np.diff(t) > 0):
            raise ValueError(
                f"points of view {m} must be finite and strictly increasing; sort the columns by "
                "them, and average columns with the same point."
            )
        found.append(t)
    return found
