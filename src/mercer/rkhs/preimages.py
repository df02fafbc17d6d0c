"""Pre-images: the sample whose feature is nearest to a function in H_k."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import check_choice, check_count, check_number
from ..data import Data, as_dense, as_vectors, is_frame, length, take
from ..exceptions import ConvergenceWarning, DomainError, warn
from ..gram.tiles import run, slices
from ..kernels.base import Kernel
from ..randomness import as_generator
from .attraction import is_radial
from .function import RKHSFunction
from .preimage_search import Found, Goal, Limits, fixed_point, from_starts, gradient_descent
from .trilateration import has_distances, locate

METHODS = ("auto", "fixed_point", "gradient", "distances", "nearest")
_STRIP = 2**20  # kernel values that one thread holds at a time
_VALUES = 2**24  # values of functions at centres that are held at a time


@dataclass
class PreImages:
    """Samples whose features are near to given functions, and how near they are.

    Attributes
    ----------
    x : data
        One sample for each function; a single sample for a single function.
    converged : bool or array of bool
        Whether the iteration reached a stationary point; True for methods that do not iterate.
    n_iter : int or array of int
        Iterations, 0 for methods that do not iterate.
    method : str
        The method used.
    message : str
        What happened, in words; what to try if it did not converge.
    index : int, array of int or None
        With ``method="nearest"``, the places of the samples among the centres.

    Examples
    --------
    >>> from mercer import Linear, RKHSFunction, preimage
    >>> found = preimage(RKHSFunction(Linear(), [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]]))
    >>> found.x.round(6)  # a sum of linear functions is one
    array([[2., 0.],
           [0., 3.]])
    >>> found.distance.round(6), found.message
    (array([0., 0.]), 'all 2 pre-images converged')
    """

    x: Data
    converged: Any
    n_iter: Any
    method: str
    message: str
    index: Any = None
    functions: RKHSFunction | None = field(default=None, repr=False)

    @cached_property
    def distance(self) -> Any:
        """The certificate ||phi(x) - psi||^2 = k(x, x) - 2 psi(x) + ||psi||^2, one per function.

        Computed when first asked for: ||psi||^2 takes a pass over all pairs of centres.
        """
        assert self.functions is not None
        family, single = _family(self.functions), self.functions.coef.ndim == 1
        X = _as_data(self.x) if single else self.x
        own = family.kernel.diag(family.kernel.prepare(X)).astype(np.float64)
        distance = np.maximum(own - 2 * _at_own(family, X) + family.norm() ** 2, 0)
        return float(distance[0]) if single else distance

    def warn(self) -> PreImages:
        """Warn if not all iterations converged."""
        if not np.all(self.converged):
            warn(self.message, ConvergenceWarning)
        return self


def preimage(
    functions: RKHSFunction,
    method: str = "auto",
    *,
    start: Any = None,
    n_neighbors: int = 10,
    n_restarts: int = 5,
    tol: float = 1e-5,
    max_iter: int = 300,
    rng: Any = None,
) -> PreImages:
    r"""The samples whose features are nearest to functions psi in H_k.

    .. math:: x^* = \arg\min_x \|\phi(x) - \psi\|^2
              = \arg\min_x\, k(x, x) - 2 \psi(x), \qquad \psi = \sum_i \gamma_i k(x_i, \cdot)

    In general no sample has exactly the feature psi, and the problem has local minima: the
    ``distance`` of the result shows how good it is.

    Parameters
    ----------
    functions : RKHSFunction
        One function, or a family of them (as :meth:`KernelPCA.project` returns).
    method : {"auto", "fixed_point", "gradient", "distances", "nearest"}
        * ``"fixed_point"``: the iteration of Mika et al., for radial kernels and their sums,
          products and powers;
        * ``"gradient"``: L-BFGS, for any kernel on vectors that has gradients;
        * ``"distances"``: distances to the nearest centres are read off the kernel values, and x is
          found by trilateration (Kwok & Tsang): not iterative, in the span of the neighbours; for
          multiples of radial kernels and of increasing functions of the inner product;
        * ``"nearest"``: the best of the centres themselves, for any kernel and any data: strings,
          graphs, tables;
        * ``"auto"``: the first of fixed point, gradient and nearest that the kernel allows; a
          fixed point that takes long is finished by gradients.
    start : array of shape (m, d), optional
        Where the iterative methods start. By default at the best of the centres, or of a thousand
        evenly spaced ones.
    n_neighbors : int
        The neighbours of ``"distances"``. To recover a sample that is not a centre, it needs more
        neighbours than dimensions.
    n_restarts : int
        How often an iteration that broke down (a vanishing denominator, or a start too far from all
        centres) is restarted: first at the best centre, then at random ones, drawn in proportion to
        psi.
    tol : float
        Iterations end when a step is shorter than ``tol`` times the spread of the centres, or
        ("gradient") when the gradient is as small.
    max_iter : int
        The maximum number of iterations.
    rng : None, int or Generator
        Used to draw restarts.

    Returns
    -------
    PreImages
        ``x``, ``distance``, ``converged``, ``n_iter``, ``message``; a warning is issued if some
        iterations did not converge.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, RKHSFunction, Spectrum, preimage
    >>> psi = RKHSFunction(Gaussian(), [[0.0, 0.0], [1.0, 0.0]], [0.5, 0.5])
    >>> found = preimage(psi)
    >>> found.x.round(4), round(found.distance, 4)  # between the two, and not quite there
    (array([0.5, 0. ]), 0.0383)
    >>> words = RKHSFunction(Spectrum(2), ["abab", "baba", "cccc"], [0.6, 0.4, 0.0])
    >>> preimage(words).x
    'abab'

    References
    ----------
    Mika, Schölkopf, Smola, Müller, Scholz & Rätsch, *Kernel PCA and de-noising in feature spaces*,
    NIPS 1998. Kwok & Tsang, *The pre-image problem in kernel methods*, IEEE Transactions on Neural
    Networks 2004.
    """
    if not isinstance(functions, RKHSFunction):
        raise TypeError(
            f"functions must be an RKHSFunction, such as KernelPCA.project(X) returns, got "
            f"{type(functions).__name__}."
        )
    check_choice("method", method, METHODS)
    check_count("n_neighbors", n_neighbors)
    check_count("max_iter", max_iter)
    check_number("tol", tol, "> 0", lambda tol: tol > 0)
    limits = Limits(tol, max_iter, check_count("n_restarts", n_restarts, 0))
    family = _family(functions)
    points = _vectors(functions.points)
    chosen = _choose(family.kernel, points) if method == "auto" else method
    if chosen == "nearest":
        found = _nearest(family)
        if method == "auto" and points is not None:
            found.message += f"; {family.kernel!r} has no gradients, so nothing between was tried"
    else:
        points = _require(chosen, family.kernel, points)
        if chosen == "distances":
            found = _by_distances(family, points, n_neighbors)
        else:
            goal = Goal(family.kernel, points, np.ascontiguousarray(family.coef.T))
            ways = [fixed_point if chosen == "fixed_point" else gradient_descent]
            if method == "auto" and chosen == "fixed_point" and _has_gradient(goal.kernel, points):
                ways.append(gradient_descent)
            ended = from_starts(goal, ways, start, limits, as_generator(rng))
            found = _report(ended, chosen, max_iter)
    found.functions = functions
    if functions.coef.ndim == 1:
        found.x = found.x if is_frame(found.x) or sp.issparse(found.x) else found.x[0]
        found.converged, found.n_iter = bool(found.converged[0]), int(found.n_iter[0])
        found.index = None if found.index is None else int(found.index[0])
    return found.warn()


# ---- which method --------------------------------------------------------------------------
def _choose(kernel: Kernel, points: np.ndarray | None) -> str:
    if points is not None and is_radial(kernel, points):
        return "fixed_point"
    return "gradient" if points is not None and _has_gradient(kernel, points) else "nearest"


def _require(method: str, kernel: Kernel, points: np.ndarray | None) -> np.ndarray:
    """The centres as vectors, if the method can work with this kernel at all."""
    if points is None:
        raise ValueError(
            f'method="{method}" works on vectors, but the centres of these functions are not '
            'vectors; method="nearest" works on any data.'
        )
    if method == "fixed_point" and not is_radial(kernel, points):
        raise ValueError(
            'method="fixed_point" needs a function of the Euclidean distance (Gaussian, Matern, '
            f'..., their sums and products), but {kernel!r} is not one; try method="gradient".'
        )
    if method == "gradient" and not _has_gradient(kernel, points):
        raise ValueError(
            f'method="gradient" needs a kernel with gradients, but {kernel!r} has none; '
            'method="nearest" works with any kernel.'
        )
    if method == "distances" and not has_distances(kernel, points):
        raise ValueError(
            'method="distances" needs a kernel whose values determine distances or inner '
            f"products (a radial kernel, or an increasing function of <x, y>), but {kernel!r} is "
            'not one; try method="auto".'
        )
    return points


def _has_gradient(kernel: Kernel, points: np.ndarray) -> bool:
    try:
        one = kernel.prepare(points[:1])
        kernel.grad_input(one, one, np.zeros((1, 1)))
    except (NotImplementedError, DomainError):  # no gradients, or columns that have names
        return False
    return True


def _vectors(points: Data) -> np.ndarray | None:
    """The centres as a dense float64 array, or None if they are not vectors."""
    try:
        X: Any = as_vectors(points, "preimage")
    except DomainError:
        return None
    return np.asarray(as_dense(X), dtype=np.float64)


# ---- methods that do not iterate -------------------------------------------------------------
def _nearest(family: RKHSFunction) -> PreImages:
    """The centre x_i with the smallest k(x_i, x_i) - 2 psi(x_i), of all centres."""
    own = family.kernel.diag(family.kernel.prepare(family.points)).astype(np.float64)
    best = np.concatenate(
        [np.argmin(own[:, None] - 2 * values, axis=0) for _, values in _at_centres(family)]
    )
    direct = np.ones(len(best), dtype=bool), np.zeros(len(best), dtype=int)
    return PreImages(take(family.points, best), *direct, "nearest", "the best of the centres", best)


def _by_distances(family: RKHSFunction, points: np.ndarray, n_neighbors: int) -> PreImages:
    own = family.kernel.diag(family.kernel.prepare(points)).astype(np.float64)
    q, parts = min(n_neighbors, len(points)), []
    for columns, values in _at_centres(family):
        far = own[:, None] - 2 * values
        near = np.argpartition(far, q - 1, axis=0)[:q].T
        norms = np.einsum("ij,ij->j", family.coef[:, columns], values)
        beside = np.take_along_axis(values.T, near, axis=1)
        parts.append(locate(family.kernel, points, near, beside, norms))
    x = np.concatenate(parts)
    direct = np.ones(len(x), dtype=bool), np.zeros(len(x), dtype=int)
    return PreImages(x, *direct, "distances", f"trilateration from {q} neighbours")


def _at_centres(family: RKHSFunction) -> Iterator[tuple[slice, np.ndarray]]:
    """The values of the functions at their own centres, some functions at a time."""
    n, m = family.coef.shape
    for columns in slices(m, max(1, _VALUES // n)):
        part = family.with_coef(family.coef[:, columns])
        yield columns, part(family.points)


# ---- what came out -----------------------------------------------------------------------------
def _report(found: Found, method: str, max_iter: int) -> PreImages:
    m, lost = len(found.x), int(np.sum(found.lost))
    late = m - lost - int(np.sum(found.converged))
    parts = []
    if lost:
        parts.append(
            f"{lost} of {m} pre-images broke down from every start (no centre is near, or the "
            f"weights of the centres cancel); they are the best points seen. Try other starts, a "
            f'larger lengthscale, or method="nearest"'
        )
    if late:
        parts.append(f"{late} of {m} pre-images did not converge in max_iter={max_iter}; raise it")
    message = "; ".join(parts) + "." if parts else f"all {m} pre-images converged"
    return PreImages(found.x, found.converged, found.n_iter, method, message)


# ---- functions and samples -------------------------------------------------------------------
def _family(functions: RKHSFunction) -> RKHSFunction:
    """One function as a family of one."""
    return functions.with_coef(functions.coef.reshape(len(functions.coef), -1))


def _as_data(x: Any) -> Data:
    """One sample as a data set."""
    if is_frame(x) or sp.issparse(x):
        return x
    return np.asarray(x)[None] if isinstance(x, np.ndarray | Real) else [x]


def _at_own(family: RKHSFunction, X: Data) -> np.ndarray:
    """[psi_i(x_i)], without the values at other samples than the own one."""
    kernel = family.kernel
    P, Q = kernel.prepare(X), kernel.prepare(family.points)
    values = np.empty(length(P))

    def strip(rows: slice) -> None:
        K = kernel.pairwise(take(P, rows), Q)
        values[rows] = np.einsum("ij,ji->i", K, family.coef[:, rows])

    run(strip, slices(length(P), max(1, _STRIP // len(family.coef))))
    return values
