"""Pre-images by distances: feature space says how far, trilateration says where."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..kernels.base import Kernel
from ..kernels.formula import INNER, SQUARED, Atom
from ..kernels.vectors.base import squared_norms
from .attraction import formula_on

_BISECTIONS = 80
_PROBES = 257  # places at which a function of the inner product is seen to be increasing
_RANK = 1e-8  # singular values below this part of the largest are zero


def has_distances(kernel: Kernel, points: np.ndarray) -> bool:
    """Can distances, or inner products, be read off the values of a kernel?

    A multiple of a radial kernel, or of an increasing function of the inner product.
    """
    found = _unscaled(kernel, points)
    if found is None:
        return False
    _, atom = found
    slope = atom.profile.slope
    if atom.metric == INNER and slope is not None:
        reach = float(squared_norms(points).max()) or 1.0
        return bool(np.all(slope(np.linspace(-reach, reach, _PROBES)) > 0))
    return atom.metric == SQUARED


def locate(
    kernel: Kernel, points: np.ndarray, near: np.ndarray, values: np.ndarray, norms: np.ndarray
) -> np.ndarray:
    r"""Points whose features have given inner products with those of their neighbours.

    For k = c g(r^2) with g(0) = 1, a feature phi(x) = psi has
    :math:`\|\psi - \phi(x_i)\|^2 = 2c (1 - g(r_i^2))`, hence a squared distance r_i^2 to x_i. With
    neighbours centred at their mean, :math:`u = x - \bar x` solves

    .. math:: \langle u, c_i \rangle = \tfrac12 (\|c_i\|^2 - r_i^2) + \text{const},
              \qquad c_i = x_i - \bar x

    in the least-squares sense, and lies in their span. For k = c f(<x, y>) the inner products
    <x, x_i> are solved for in the same way.

    Parameters
    ----------
    kernel : Kernel
        The kernel; see :func:`has_distances`.
    points : array of shape (n, d)
        The centres.
    near : integer array of shape (m, q)
        The neighbours of each psi.
    values : array of shape (m, q)
        psi(x_i) for these neighbours.
    norms : array of shape (m,)
        ||psi||^2.
    """
    found = _unscaled(kernel, points)
    assert found is not None
    factor, atom = found
    k, profile, scaled = values / factor, atom.profile, atom.points
    if atom.metric == INNER:
        reach = float(squared_norms(points).max()) or 1.0
        T = _invert(profile.at, k, -reach, reach)
        return _solve(points[near], T)
    k += (1 - norms / factor)[:, None] / 2
    centred = scaled - scaled.mean(axis=0)
    reach = 16 * float(squared_norms(centred).max()) or 1.0
    R2 = _invert(lambda r2: -profile.at(r2), -k, 0.0, reach)
    neighbours = scaled[near]
    middle = neighbours.mean(axis=1, keepdims=True)
    C = neighbours - middle
    B = (np.einsum("ijk,ijk->ij", C, C) - R2) / 2
    U = _solve(C, B - B.mean(axis=1, keepdims=True))
    return np.asarray((middle[:, 0] + U) * atom.scale)


def _unscaled(kernel: Kernel, points: np.ndarray) -> tuple[float, Atom] | None:
    """c and the atom of a kernel that is c > 0 times a function of a distance of whole points."""
    formula = formula_on(kernel, points)
    found = None if formula is None else formula.scaled_atom()
    return found if found is not None and found[0] > 0 and not found[1].path else None


def _invert(
    increasing: Callable[[np.ndarray], np.ndarray], values: np.ndarray, low: float, high: float
) -> np.ndarray:
    """t in [low, high] with increasing(t) = value, by bisection; an end of it where none is."""
    a, b = np.full(values.shape, low), np.full(values.shape, high)
    for _ in range(_BISECTIONS):
        middle = (a + b) / 2
        below = increasing(middle) < values
        a, b = np.where(below, middle, a), np.where(below, b, middle)
    return (a + b) / 2


def _solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The least-squares solutions of smallest norm of a stack of systems."""
    inverse = np.linalg.pinv(A, rcond=_RANK)
    return np.asarray(np.einsum("mdq,mq->md", inverse, B))
