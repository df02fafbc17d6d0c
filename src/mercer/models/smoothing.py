"""Smoothing splines and thin-plate splines."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from itertools import product
from math import perm
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..checks import check_count, is_count
from ..gram.plan import Plan
from ..gram.polyharmonic import PolyharmonicGram
from ..kernels.vectors.spline import Spline
from ..rkhs.function import RKHSFunction
from .common import all_or_nothing
from .semiparametric import SemiparametricModel


@dataclass(eq=False, repr=False)
class SplineModel(SemiparametricModel):
    """Splines in d variables, with the polynomials of degree < m unpenalised."""

    order: int = 2
    _: KW_ONLY
    alpha: Any = "gcv"
    plan: Plan | None = None

    saved_state = (*SemiparametricModel.saved_state, "points_", "center_", "scale_")

    def _fit(self, X: np.ndarray, y: Any, sample_weight: Any) -> Self:
        m, d, plan = self.order, X.shape[1], self.plan
        if plan is not None and (plan.few is not None or plan.storage not in ("auto", "dense")):
            raise ValueError(
                "the matrix of a spline, which is only conditionally positive definite, must be "
                'stored and has no features; use a plan without a rank, and storage="auto".'
            )
        if not is_count(m, d // 2 + 1):
            raise ValueError(
                f"order must be an integer > d / 2, so at least {d // 2 + 1} for X with d = {d} "
                f"columns; got {m!r}."
            )
        Y, weights = self._check_targets(X, y, sample_weight)
        points, rows = np.unique(X + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
        low, high = points.min(axis=0), points.max(axis=0)
        self.points_: np.ndarray = points
        self.center_: np.ndarray = low + (high - low) / 2
        self.scale_: float = float(np.max(high - low) / 2) or 1.0
        with np.errstate(over="ignore", under="ignore"):
            unit = float(np.float64(self.scale_) ** (2 * m - d))
        if not 0 < unit < np.inf:
            raise ValueError(
                f"X spans {2 * self.scale_:.1g}, whose power of {2 * m - d} in the penalty "
                "overflows or underflows; divide X by a constant."
            )
        self._restore()
        P = _monomials(self.gram_.Z, m)
        self._solve(self.gram_, P, Y, weights, rows.reshape(-1), unit)
        return self

    def _restore(self) -> None:
        """Called by :func:`mercer.load`: the operator is rebuilt, not stored."""
        self.gram_ = PolyharmonicGram((self.points_ - self.center_) / self.scale_, self.order)
        if self.plan is not None:
            self.gram_.limit, self.gram_.workers = self.plan.limit, self.plan.workers


class SmoothingSpline(SplineModel):
    r"""The natural smoothing spline of order m, on the line.

    .. math:: \min_f \sum_i w_i (y_i - f(x_i))^2 + \alpha \int f^{(m)}(x)^2 \, dx

    The solution is a piecewise polynomial of degree 2m - 1 with 2m - 2 continuous derivatives, a
    polynomial of degree < m beyond the data: m = 1 connects points by straight lines, m = 2 is the
    natural cubic spline. alpha = 0 interpolates (the mean of targets at the same x), a large alpha
    gives the least-squares polynomial of degree < m.

    Parameters
    ----------
    order : int
        m >= 1.
    alpha : "gcv", "loo" or float
        Strength of the penalty, >= 0, or the criterion that chooses it: generalised
        cross-validation or leave-one-out error, added up over targets.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: as an array, always.

    Attributes
    ----------
    alpha_ : float
        The penalty used.
    degrees_of_freedom_ : float
        Trace of the smoother matrix, from m to the number of distinct points.
    alphas_, gcv_, loo_ : ndarray of shape (n_alphas,)
        Penalties tried, their generalised cross-validation scores and mean squared leave-one-out
        errors.
    penalty_ : float or ndarray of shape (n_targets,)
        The integral of f^(m) squared.
    points_ : ndarray of shape (n_points, 1)
        The distinct x, in order.
    coef_ : ndarray of shape (n_points,) or (n_points, n_targets)
        Coefficients c of the kernel.
    null_coef_ : ndarray of shape (m,) or (m, n_targets)
        Coefficients d of the polynomials 1, z, ..., z^(m-1).
    center_, scale_ : ndarray of shape (1,), float
        Inputs are shifted and scaled to z = (x - ``center_``) / ``scale_`` in [-1, 1].
    solution_ : Solution
        The solver's certificate.

    Notes
    -----
    f = sum_i c_i e(z - z_i) + sum_j d_j z^j with e(t) = (-1)^m |t|^(2m-1) / (2 (2m-1)!). On
    coefficients orthogonal to the polynomials this equals the reproducing kernel of the penalty,
    ``Spline(m, polynomial=False)`` on [0, 1]; elsewhere it is not positive definite. It is used
    instead of that one because its matrix is several times smaller in norm, so that less is lost
    by rounding when polynomials are projected out; and it extends beyond the data.

    alpha is in the units of x and y. In z the penalty is ``alpha / scale_^(2m-1)``: if x is
    measured in a unit s times smaller, the alpha of the same fit is s^(2m-1) times larger.

    Time grows with the cube of the number of distinct points. Accuracy is lost when many points, or
    points very close to each other, are interpolated; a warning says so.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SmoothingSpline
    >>> x = np.linspace(0, 6, 40)
    >>> y = np.sin(x) + 0.1 * np.cos(40 * x)
    >>> model = SmoothingSpline().fit(x, y)
    >>> model.predict([1.5, 3.0]).round(1)
    array([1. , 0.1])
    >>> model.predict([1.0, 3.0], derivative=1).round(1)
    array([ 0.5, -1. ])

    References
    ----------
    Wahba, *Spline Models for Observational Data*, 1990, chapters 1 and 4.
    Green & Silverman, *Nonparametric Regression and Generalized Linear Models*, 1994.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to x of shape (n,) or (n, 1), targets y of shape (n,) or (n, t), and weights."""
        return self._fit(self._column(X, reset=True), y, sample_weight)

    def predict(self, X: Any, derivative: int = 0) -> np.ndarray:
        """f(x), or its derivative of an order up to 2m - 1.

        That of order 2m - 1 is a step function; at the data it is the mean of both sides.
        """
        check_is_fitted(self)
        order = self.gram_.order
        r = check_count("derivative", derivative, 0, 2 * order - 1)
        Z = (self._column(X, reset=False) - self.center_) / self.scale_
        cross = PolyharmonicGram(Z, order, self.gram_.Z, derivative=r)
        P = np.hstack([perm(j, r) * Z ** max(j - r, 0) for j in range(order)])
        return (cross @ self.coef_ + P @ self.null_coef_) / self.scale_**r

    @property
    def rkhs_function_(self) -> RKHSFunction:
        """f minus a polynomial of degree < m, as a function between the first and the last point.

        It is an element of the space of ``Spline(m, polynomial=False)``, moved and scaled from
        [0, 1] to the data, whose squared norm is the penalty, the integral of f^(m) squared.
        """
        check_is_fitted(self)
        power, width = 2 * self.order - 1, 2 * self.scale_
        low, unit = self.points_[0], Spline(self.order, polynomial=False)
        kernel = unit.pullback(lambda X: (np.asarray(X, dtype=float).reshape(-1) - low) / width)
        coef = self.coef_ / self.scale_**power
        return RKHSFunction(width**power * kernel, self.points_, coef)

    def _column(self, X: Any, *, reset: bool) -> np.ndarray:
        if np.ndim(X) == 1:
            X = np.asarray(X).reshape(-1, 1)
        X = validate_data(self, X, dtype=np.float64, reset=reset)
        if X.shape[1] != 1:
            raise ValueError(
                f"SmoothingSpline works on one variable, but X has {X.shape[1]} columns; use "
                f"ThinPlateSpline or select a column."
            )
        return X


class ThinPlateSpline(SplineModel):
    r"""The thin-plate spline of order m in d variables, 2m > d.

    .. math:: \min_f \sum_i w_i (y_i - f(x_i))^2 + \alpha \sum_{|\nu| = m} \frac{m!}{\nu!}
              \int_{R^d} (D^\nu f(x))^2 \, dx

    For d = 2, m = 2 the penalty is the integral of f_xx^2 + 2 f_xy^2 + f_yy^2, the energy of a bent
    plate. It is invariant to translations and rotations. The (m + d - 1 choose d) polynomials of
    degree < m are not penalised. alpha = 0 interpolates.

    Parameters
    ----------
    order : int
        m > d / 2.
    alpha : "gcv", "loo" or float
        As in :class:`SmoothingSpline`, which is the case d = 1.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: as an array, always.

    Attributes
    ----------
    points_ : ndarray of shape (n_points, d)
        The distinct samples.
    null_coef_ : ndarray of shape (n_polynomials,) or (n_polynomials, n_targets)
        Coefficients of the monomials 1, z_1, ..., z_d, z_1^2, z_1 z_2, ... of degree < m.
    center_, scale_ : ndarray of shape (d,), float
        z = (x - ``center_``) / ``scale_``; one scale for all columns.
    alpha_, degrees_of_freedom_, alphas_, gcv_, loo_, penalty_, coef_, solution_
        As in :class:`SmoothingSpline`.

    Notes
    -----
    f = sum_i c_i e(|z - z_i|) + polynomials, with e(r) = theta r^(2m-d) log r for even d and
    theta r^(2m-d) for odd d, the fundamental solution of the penalty:

    * theta = (-1)^(m+1+d/2) / (2^(2m-1) pi^(d/2) (m-1)! (m-d/2)!) for even d,
    * theta = Gamma(d/2 - m) / (2^(2m) pi^(d/2) (m-1)!) for odd d.

    So for d = m = 2 alpha is 1 / (8 pi) of the ``smoothing`` of
    :class:`scipy.interpolate.RBFInterpolator`. alpha is in the units of x and y: in z the penalty
    is ``alpha / scale_^(2m-d)``. All columns should be in the same unit.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ThinPlateSpline
    >>> X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    >>> y = X[:, 0] ** 2 - X[:, 1]
    >>> ThinPlateSpline(alpha=0).fit(X, y).predict([[0.5, 0.5]]).round(1)
    array([-0.2])

    References
    ----------
    Duchon, *Splines minimizing rotation-invariant semi-norms in Sobolev spaces*, 1977.
    Wahba, *Spline Models for Observational Data*, 1990, section 2.4.
    """

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to X of shape (n, d), targets y of shape (n,) or (n, t), and weights."""
        return self._fit(validate_data(self, X, dtype=np.float64), y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """f(x) for every row of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        Z = (X - self.center_) / self.scale_
        return self.gram_.cross(Z) @ self.coef_ + _monomials(Z, self.gram_.order) @ self.null_coef_


def _monomials(Z: np.ndarray, order: int) -> np.ndarray:
    """All monomials of degree < order at the rows of Z: 1, z_1, ..., z_d, z_1^2, z_1 z_2, ..."""
    exponents = [e for e in product(range(order), repeat=Z.shape[1]) if sum(e) < order]
    exponents.sort(key=lambda e: (sum(e), [-power for power in e]))
    return np.column_stack([np.prod(Z**e, axis=1) for e in exponents])
