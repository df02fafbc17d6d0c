r"""Mean and scatter of features of samples in chunks: sums over one pass.

With features phi about a point c near to their mean, sums of 1, phi and phi phi' over all samples
give

.. math:: m = c + \frac{s}{n}, \qquad
          \sum_i (\phi_i - m)(\phi_i - m)' = \sum_i \phi_i \phi_i' - \frac{s s'}{n}

without cancellation, and in any order: chunk by chunk, or on many machines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..chunks.base import Chunk, Sums
from .phi import Rows, add_product
from .tiles import slices

_STRIP = 4096  # samples whose features are there at a time


class Scatter(NamedTuple):
    """What is kept of samples with weights w.

    The sum of w, the mean and scatter of features, and the sum of w k(x, x) of k itself.
    """

    mass: float
    mean: np.ndarray
    scatter: np.ndarray
    power: float


@dataclass
class ScatterSums(Rows):
    """A pass: sums of weights, of features about a point, of their products, and of k(x, x)."""

    origin: Any = 0.0

    def __call__(self, chunk: Chunk) -> Sums:  # type: ignore[override]
        m, kernel = self.columns.size, self.columns.kernel
        mass, power, total, products = 0.0, 0.0, np.zeros(m), np.zeros((m, m))
        for rows in slices(len(chunk), _STRIP):
            part = chunk.rows(rows)
            w = checked_weights(part)
            phi = super().__call__(part)
            if not np.all(np.isfinite(phi)):
                raise ValueError("the features of some samples are not finite; scale the data.")
            phi -= self.origin
            total += w @ phi
            phi *= np.sqrt(w)[:, None].astype(phi.dtype)
            add_product(products, phi, self.workers)
            mass += float(w.sum())
            power += float(w @ kernel.diag(kernel.prepare(part.X)).astype(np.float64))
        return np.array(mass), total, products, np.array(power)


def checked_weights(chunk: Chunk) -> np.ndarray:
    """The weights of a chunk, 1 where there are none; rejected where they are no weights."""
    if chunk.weight is None:
        return np.ones(len(chunk))
    w = np.asarray(chunk.weight, dtype=np.float64)
    if w.shape != (len(chunk),) or not np.all(np.isfinite(w)) or np.any(w < 0):
        raise ValueError("sample_weight must be finite and >= 0, one for each sample.")
    return w


def scatter_of(gram: Any) -> Scatter:
    """Mean and scatter of the features of an :class:`~mercer.gram.implicit.ImplicitGram`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.chunks import ArrayChunks
    >>> from mercer.gram.implicit import ImplicitGram
    >>> X = np.array([[0.0], [2.0], [4.0]])
    >>> found = scatter_of(ImplicitGram(Linear(), ArrayChunks(X, rows=2), X))
    >>> found.mean, found.scatter, found.power
    (array([2.]), array([[8.]]), 20.0)
    """
    origin = gram.features_of(Chunk(gram.few)).mean(axis=0, dtype=np.float64)
    job = ScatterSums(gram.columns, gram.factor, gram.workers, origin)
    mass, total, products, power = gram.chunks.reduce(job)
    if not mass > 0:
        raise ValueError("sample_weight must be >= 0, and not all zero.")
    scatter = products - np.outer(total, total) / mass
    return Scatter(float(mass), origin + total / mass, scatter, float(power))
