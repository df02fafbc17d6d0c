"""Radial expressions: kernels under which every centre pulls along the line that leads to it."""

from __future__ import annotations

import numpy as np

from ..data import Data
from ..exceptions import DomainError
from ..kernels.base import Kernel
from ..kernels.formula import SQUARED, Atom, Dual, Formula
from ..kernels.formula_nodes import Rescale
from ..kernels.vectors.distances import SquaredDistances

_CUSP = 1e-12  # r^2 below which an infinite slope is taken to be that at this r^2


def formula_on(kernel: Kernel, points: np.ndarray) -> Formula | None:
    """The formula of a kernel on points; None if it has none, or if points are not its samples."""
    try:
        return kernel.formula(kernel.prepare(points))
    except DomainError:  # columns that have names
        return None


def is_radial(kernel: Kernel, points: np.ndarray) -> bool:
    """Is k(x, y) a function of Euclidean distances ||x - y|| of one common metric?

    Sums, products and powers of such kernels, and of constants, are.
    """
    formula = formula_on(kernel, points)
    if formula is None or any(isinstance(node, Rescale) for node in formula.nodes()):
        return False
    atoms = list(formula.atoms())
    return (
        len({atom.key for atom in atoms}) == 1
        and atoms[0].metric == SQUARED
        and not atoms[0].path
        and all(atom.profile.slope is not None for atom in atoms)
    )


def attraction(kernel: Kernel, X: Data, Y: Data) -> tuple[np.ndarray, np.ndarray]:
    """[k(x_i, y_j)] and weights A with dk(x_i, y_j)/dx_i = A_ij M (y_j - x_i), of prepared X, Y.

    M is the common metric: diag(l_1^2 / l^2) for lengthscales l, so the identity for one of them.
    """
    formula, centres = kernel.formula(X), kernel.formula(Y)
    assert formula is not None
    assert centres is not None
    others = dict(zip(map(id, formula.atoms()), centres.atoms(), strict=True))

    def see(atom: Atom) -> Dual:
        profile, whole = atom.profile, slice(None)
        assert profile.slope is not None
        R2 = SquaredDistances(atom.points, others[id(atom)].points, exact=profile.kinked)(
            whole, whole
        )
        if profile.cusped:
            np.maximum(R2, _CUSP, out=R2)
        return profile.at(R2), profile.slope(R2) * (-2 / atom.length**2)

    K, A = formula.dual(see)
    return np.asarray(K), np.asarray(A)
