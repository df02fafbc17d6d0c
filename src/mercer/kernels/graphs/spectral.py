"""The Laplacian of one graph, and functions of it: f(L) = sum_i f(lambda_i) u_i u_i'.

Of small graphs all eigenvectors are computed, once. Of large ones, columns of f(L) are: by a
Chebyshev expansion of f, which takes nothing but products with the sparse matrix L.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp
from numpy.polynomial.chebyshev import chebval
from scipy.fft import dct

from ...engine.lapack import lapack
from ...exceptions import DomainError

_SMALL = 2000  # nodes up to which all eigenvectors are computed
_BLOCK = 2**22  # numbers of a block of columns that is in the works
_FINEST = 2**17  # the most terms of an expansion
_KEPT = 4  # Laplacians that are remembered, with their eigenvectors

Function = Callable[[np.ndarray, float], np.ndarray]
"""f, from eigenvalues, and a number that no eigenvalue exceeds."""


class Laplacian:
    """L = D - A, or D^-1/2 (D - A) D^-1/2 if normalised, for a symmetric A >= 0.

    Nodes without edges have zeros in L, in either case. Loops do not matter to D - A; in the
    normalised form they count relative to the degree.

    Parameters
    ----------
    adjacency : csr_array
        A.
    normalized : bool
        Which of the two.
    """

    def __init__(self, adjacency: sp.csr_array, normalized: bool) -> None:
        A = adjacency.tocoo()
        degree = np.asarray(adjacency.sum(axis=1), dtype=np.float64).ravel()
        scale = np.ones_like(degree)
        if normalized:
            scale = np.divide(1, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        every = np.arange(len(degree))
        rows, cols = np.concatenate([every, A.row]), np.concatenate([every, A.col])
        values = np.concatenate([degree * scale**2, -A.data * scale[A.row] * scale[A.col]])
        self.matrix = sp.csr_array((values, (rows, cols)), shape=A.shape)
        self.upper = (
            2.0 if normalized else float(np.max((degree[A.row] + degree[A.col]), initial=0))
        )

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def small(self) -> bool:
        """Are eigenvectors within reach?"""
        return len(self) <= _SMALL

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, which lie in [0, upper], and eigenvectors."""
        values, vectors = lapack(len(self), np.linalg.eigh, self.matrix.toarray())
        return np.clip(values, 0, self.upper), vectors

    def block(self, function: Function, rows: np.ndarray, cols: np.ndarray) -> np.ndarray:
        """The entries of f(L) at some rows and columns."""
        if self.small:
            values, vectors = self.spectrum
            return (vectors[rows] * function(values, self.upper)) @ vectors[cols].T
        if len(rows) < len(cols):
            return np.ascontiguousarray(self.block(function, cols, rows).T)
        nodes, places = np.unique(cols, return_inverse=True)
        return self._columns(function, nodes, lambda F, part: F[rows])[:, places]

    def entries(self, function: Function, nodes: np.ndarray) -> np.ndarray:
        """The diagonal of f(L) at some nodes."""
        if self.small:
            values, vectors = self.spectrum
            return vectors[nodes] ** 2 @ function(values, self.upper)
        nodes, places = np.unique(nodes, return_inverse=True)

        def diagonal(F: np.ndarray, part: slice) -> np.ndarray:
            return F[nodes[part], np.arange(F.shape[1])][None, :]

        return self._columns(function, nodes, diagonal)[0, places]

    def _columns(self, function: Function, nodes: np.ndarray, pick: Callable) -> np.ndarray:
        """The requested parts of the columns of f(L) at these nodes, side by side."""
        from ...gram.tiles import check_cancelled, run

        coefficients = expansion(function, self.upper)
        width = max(1, _BLOCK // len(self))
        parts = [slice(a, min(a + width, len(nodes))) for a in range(0, len(nodes), width)]
        found: list = [None] * len(parts)
        half = self.upper / 2 or 1.0
        shifted = sp.csr_array(self.matrix / half - sp.eye_array(len(self), format="csr"))

        def job(i: int) -> None:
            """Clenshaw's recursion; for a polynomial of degree 0, nothing is left to do in it."""
            part = parts[i]
            one = np.zeros((len(self), part.stop - part.start))
            one[nodes[part], np.arange(one.shape[1])] = 1.0
            now, before = np.zeros_like(one), np.zeros_like(one)
            for c in coefficients[:0:-1]:
                check_cancelled()
                now, before = 2 * (shifted @ now) - before + c * one, now
            found[i] = pick(shifted @ now - before + coefficients[0] * one, part)

        run(job, range(len(parts)))
        return np.concatenate(found, axis=1)


def expansion(function: Function, upper: float) -> np.ndarray:
    """Chebyshev coefficients of f on [0, upper], up to rounding.

    Our functions are steep near 0, if anywhere: there the expansion is compared with f, as the
    points of a coarse one may miss all that happens.
    """
    near = upper * np.append(0.5 ** np.arange(50), 0)
    wanted, terms = function(near, upper), 16
    while terms <= _FINEST:
        points = np.cos(np.pi * (np.arange(terms) + 0.5) / terms)
        coefficients = dct(function(upper / 2 * (1 + points), upper), type=2) / terms
        coefficients[0] /= 2
        largest = max(np.abs(coefficients).max(), np.abs(wanted).max())
        if np.abs(coefficients[-terms // 4 :]).max() <= 4e-16 * largest:
            got = chebval(2 * near / (upper or 1.0) - 1, coefficients)
            if np.abs(got - wanted).max() <= 1e-12 * largest:
                needed = np.flatnonzero(np.abs(coefficients) > 2e-17 * largest)
                return coefficients[: needed[-1] + 1] if len(needed) else coefficients[:1]
        terms *= 2
    raise DomainError(
        f"this function of a Laplacian with eigenvalues up to {upper:.3g} is not a polynomial of "
        f"degree {_FINEST} or less, up to rounding; give it a smaller parameter (beta, sigma)."
    )


_known: OrderedDict[bytes, Laplacian] = OrderedDict()
_lock = threading.Lock()


def laplacian(adjacency: sp.csr_array, normalized: bool) -> Laplacian:
    """The Laplacian of a graph; the same object for the same matrix, while it is remembered."""
    parts = (adjacency.indptr, adjacency.indices, adjacency.data, [normalized])
    key = blake2b(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).digest()
    with _lock:
        if key in _known:
            _known.move_to_end(key)
        else:
            _known[key] = Laplacian(adjacency, normalized)
            if len(_known) > _KEPT:
                _known.popitem(last=False)
        return _known[key]
