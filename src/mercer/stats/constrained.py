"""Constrained covariance: the two functions of two variables that vary together most."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..checks import check_count
from ..data import Data
from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import Nystrom
from ..rkhs.function import RKHSFunction
from ..rkhs.operator import cross_covariance
from .planned import planned, rank_of, require_stored
from .variables import Variables

_MATRICES = 4  # of size n x n at the same time


class COCO(NamedTuple):
    """What :func:`coco` returns.

    Attributes
    ----------
    value : float
        The largest covariance of f(X) and g(Y) over f and g of norm 1.
    f, g : RKHSFunction
        Where it is attained: functions of X and of Y. With ``n_functions`` > 1 families of them,
        ``f[0]`` and ``g[0]`` the first.
    spectrum : ndarray
        All singular values of the cross-covariance operator that were computed, in descending
        order; the squares of all of them add up to the biased HSIC.
    """

    value: float
    f: RKHSFunction
    g: RKHSFunction
    spectrum: np.ndarray

    def plot(self, X: Data, Y: Data, axes: Any = None) -> Any:
        """Both functions, and how they vary together: see :func:`mercer.plots.plot_coco`."""
        from ..plots.dependence import plot_coco

        return plot_coco(self, X, Y, axes)


@planned
def coco(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    n_functions: int = 1,
    rank: int | float | None = None,
    plan: Plan | None = None,
) -> COCO:
    r"""The constrained covariance of two variables, and the functions that attain it.

    .. math:: \mathrm{COCO} = \max_{\|f\| \le 1, \|g\| \le 1} \operatorname{cov}(f(X), g(Y))
              = \frac1n \sqrt{\lambda_{\max}(K_c L_c)}

    the operator norm of the empirical cross-covariance. The functions show *how* the variables
    depend: g(Y) plotted against f(X) is close to a line. :func:`independence_test` tests with it
    (``statistic="coco"``).

    Parameters
    ----------
    X, Y : data
        The variables: y_i was observed with x_i.
    kernel_x, kernel_y : Kernel, str or callable, optional
        The kernels, each resolved on the data of its own variable; by default
        ``Gaussian("median")``.
    n_functions : int
        How many pairs of functions: orthonormal in their spaces, with cov(f_i(X), g_j(Y)) = 0 for
        i != j.
    rank : int or float, optional
        Use the Nyström approximation of both kernels of this rank (or, below 1, of this relative
        error): O(n rank^2) operations instead of O(n^3).
    plan : Plan, optional
        Memory and threads to use, and how K is stored. Its ``rank`` is used where none is given.

    Returns
    -------
    COCO
        ``value``, ``f``, ``g`` and ``spectrum``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import coco
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 100)
    >>> y = x**2 + 0.1 * rng.normal(size=100)
    >>> found = coco(x, y)
    >>> round(float(np.corrcoef(x, y)[0, 1]), 2)
    0.11
    >>> round(float(np.corrcoef(found.f(x), found.g(y))[0, 1]), 2)
    0.95

    References
    ----------
    Gretton, Smola, Bousquet, Herbrich, Belitski, Augath, Murayama, Pauls, Schölkopf & Logothetis,
    *Kernel constrained covariance for dependence measurement*, AISTATS 2005.
    """
    pair = Variables(X, Y)
    check_count("n_functions", n_functions)
    kernels = pair.kernels([kernel_x, kernel_y])
    if rank is None and plan is not None:
        rank = rank_of(plan)
        if rank is None and plan.features is not None:
            raise ValueError(
                f"the constrained covariance uses landmarks, not {plan.features.words()}; use "
                "Plan(features=Landmarks(500))."
            )
    if rank is None:
        require_stored(plan, "the constrained covariance", pair.n)
        require_memory(_MATRICES * 8.0 * pair.n**2, "the constrained covariance")
        u, s, v = cross_covariance(kernels[0], X, kernels[1], Y).singular_functions()
    else:
        u, s, v = _low_rank(pair, [Nystrom(k, rank=rank) for k in kernels])
    if not len(s):
        raise ValueError("a variable is constant for its kernel: nothing covaries.")
    count = min(n_functions, len(s))
    f, g = (_first(functions, count) for functions in (u, v))
    if count == 1:
        f, g = f[0], g[0]
    return COCO(float(s[0]), f, g, s)


def _first(functions: RKHSFunction, count: int) -> RKHSFunction:
    return functions.with_coef(functions.coef[:, :count])


def _low_rank(pair: Variables, kernels: list[Nystrom]) -> tuple[Any, np.ndarray, Any]:
    """Singular functions of the cross-covariance of features from landmarks."""
    resolved: list[Any] = [k.resolve(X) for k, X in zip(kernels, pair.data, strict=True)]
    phi = []
    for k, X in zip(resolved, pair.data, strict=True):
        features = np.asarray(k.features(k.prepare(X)), dtype=np.float64)
        phi.append(features - features.mean(axis=0))
    covariance = phi[0].T @ phi[1] / pair.n
    U, s, Vt = lapack(len(covariance), np.linalg.svd, covariance, full_matrices=False)
    kept = s > len(s) * np.finfo(float).eps * s[0]
    return resolved[0].combine(U[:, kept]), s[kept], resolved[1].combine(Vt[kept].T)
