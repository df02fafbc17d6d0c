"""The evidence of a Gaussian process from all of K on a device: exact, in the form of estimates."""

from __future__ import annotations

import numpy as np

from ..gram.base import Gram
from .quadrature import Estimate
from .weight_space import device_factor

_MOST = 20_000  # samples up to which a factor and an inverse take less than many products
_MATRICES = 8  # of n x n numbers, that are there at once for each output


def pays(gram: Gram, outputs: int) -> bool:
    """Is K on a device with room for all that the evidence needs, and not too large?"""
    return len(gram) <= _MOST and gram.fits(_MATRICES * outputs)


def evidence(gram: Gram, Y: np.ndarray, noise: np.ndarray) -> Estimate:
    """The evidence of the columns of Y, as :func:`~mercer.solvers.criteria.evidence` has it.

    With the inverse G of K + D and C = G Y, the slope is that of W = (t G - C C') / 2, as the
    product of [t G / 2, -C / 2] and [I, C]'.
    """
    (n, t), to = Y.shape, gram.arrays
    factor = device_factor(gram, noise)
    coef, logdet = factor.solve(Y), factor.logdet()
    C, G = to.put(coef), factor.inverse()
    del factor
    left = to.beside(t / 2 * G, -C / 2)
    del G
    right = to.beside(to.shifted(to.zeros(n, n), 1.0), C)

    def tile(rows: slice, cols: slice) -> np.ndarray:
        return to.get(left[rows] @ right[cols].T)

    diagonal = to.get(left[:, :n].diagonal()) - (coef**2).sum(axis=1) / 2
    value = (float((Y * coef).sum()) + t * (logdet + n * np.log(2 * np.pi))) / 2
    nothing, own = to.zeros(n, 0), np.zeros(n)
    return Estimate(value, tile, diagonal, logdet, 0.0, 0.0, left, right, nothing, own)
