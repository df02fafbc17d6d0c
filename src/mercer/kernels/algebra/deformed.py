"""Kernels that follow a sample: functions that vary along it cost more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from ...data import Data, Zipped, length
from ...engine.lapack import lapack
from ...engine.memory import require_memory
from ...engine.routines import solve_lower
from ...params import integer, parameter, show
from ..calculus import properties as prop
from ..calculus.transformed import of_conditioned
from .conditioned import Without
from .neighbors import neighbor_graph

_JITTER = 1e-11  # of the largest degree
_EPS = float(np.finfo(np.float64).eps)


def _is_strength(value: Any) -> str | None:
    fine = np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf" and 0 <= value < np.inf
    return None if fine else "a finite number >= 0"


def _is_graph(value: Any) -> str | None:
    words = "a symmetric matrix of weights >= 0, one row for each sample"
    shape = np.shape(value)
    if value is None or len(shape) != 2 or shape[0] != shape[1]:
        return None if value is None else words
    W: Any = sp.csr_array(value)
    fine = W.dtype.kind in "biuf" and bool(np.all(np.isfinite(W.data) & (W.data >= 0)))
    return None if fine and bool(abs(W - W.T).sum() <= 1e-9 * W.sum()) else words


@dataclass(eq=False, repr=False)
class Deformed(Without):
    r"""A kernel along a graph of samples z_1..z_m: written ``k.along(z, strength)``.

    .. math:: k(x, y) - k(x, z) (I + M K_{zz})^{-1} M\, k(z, y), \qquad
              \|f\|^2 + f_z' M f_z = \|f\|^2
              + \frac{\gamma}{\sum_{i < j} w_{ij}} \sum_{i < j} w_{ij} (f(z_i) - f(z_j))^2

    The functions are those of H_k with the norm on the right: the squared norm plus ``strength``
    gamma times the mean squared difference along the edges of a graph. M is the Laplacian of the
    graph times gamma divided by the sum of weights. If the z include unlabelled samples, any model
    with this kernel is semi-supervised: ridge regression becomes Laplacian regularised least
    squares, a support vector machine the Laplacian SVM (:class:`mercer.SemiSupervised` does it in
    one step).

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    reference : data, optional
        The samples z; by default the data the kernel is resolved on.
    strength : float
        gamma >= 0.
    neighbors : int
        Each sample is joined to this many of its nearest neighbours, in the metric of k, with
        weights 1. Copies count once: the i-th copy of a sample is joined to the i-th copies of its
        neighbours, so repeating the whole data set does not change the kernel.
    graph : array or sparse matrix of shape (m, m), optional
        Other weights w_ij of edges between the samples z, in place of neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> z = np.array([[0.0], [1.0], [5.0]])
    >>> k = Gaussian().along(z, strength=100.0, neighbors=1)  # 0 - 1 - 5 is the graph
    >>> k.normalize()(z).round(2).tolist()
    [[1.0, 0.98, 0.96], [0.98, 1.0, 0.98], [0.96, 0.98, 1.0]]

    References
    ----------
    Sindhwani, Niyogi & Belkin, *Beyond the point cloud: from transductive to semi-supervised
    learning*, ICML 2005; Belkin, Niyogi & Sindhwani, *Manifold regularization*, JMLR 2006.
    """

    strength: Any = parameter(1.0, check=_is_strength)
    neighbors: int = integer(10, low=1)
    graph: Any = parameter(None, check=_is_graph)
    because = "it is the kernel of H_k with another inner product, whose norm is equivalent"

    def prepare(self, X: Data) -> Zipped:
        from ...gram.tiles import evaluate

        P = self.kernel.prepare(X)
        Z, A = self._along()
        return Zipped(P, evaluate(self.kernel, P, Z).astype(np.float64) @ A)

    def _along(self) -> tuple[Data, np.ndarray]:
        """The samples z, prepared, and A with A A' = (I + M K)^-1 M."""
        return self._kept((self.reference, self.graph), (self.strength, self.neighbors))

    def _make(self) -> tuple[Data, np.ndarray]:
        Z = self._anchors()
        m = length(Z)
        require_memory(4 * 8.0 * m * m, f"a kernel along a graph of {m} samples")
        K = self._matrix()
        B = self._root(K)
        with np.errstate(over="ignore", invalid="ignore"):
            inner = B.T @ (K @ B)
        highest = float(inner.diagonal().max(initial=0.0))
        if not np.isfinite(inner).all():
            raise ValueError(
                f"strength={self.strength!r} times kernel values of up to {K.max():.0e} overflow; "
                "use a smaller strength, or scale the data."
            )
        inner.flat[:: len(inner) + 1] += 1.0 + len(inner) * _EPS * highest  # of what rounding loses
        L = lapack(len(inner), np.linalg.cholesky, inner)
        return Z, np.ascontiguousarray(lapack(len(inner), solve_lower, L, B.T).T)

    def _root(self, K: np.ndarray) -> np.ndarray:
        """B with B B' = M."""
        m = len(K)
        if self.graph is None:
            W = neighbor_graph(K, self.neighbors)
        else:
            W = sp.csr_array(self.graph).astype(np.float64)
            if W.shape[0] != m:
                raise ValueError(
                    f"graph must have one row for each of the {m} samples of the reference, got "
                    f"{W.shape[0]}."
                )
        W = W - sp.diags_array(W.diagonal())
        total, degrees = W.sum() / 2, np.asarray(W.sum(axis=1)).ravel()
        if total == 0 or self.strength == 0:
            return np.zeros((m, 1))
        # constants along a part of the graph cost nothing: of each the last sample is held, which
        # makes M invertible, and then let go again
        part = connected_components(W, directed=False)[1]
        last = m - 1 - np.unique(part[::-1], return_index=True)[1]
        M = -W.toarray()
        M.flat[:: m + 1] = degrees
        M[last, last] += degrees.max()
        try:
            B = lapack(m, np.linalg.cholesky, M)
        except np.linalg.LinAlgError:  # parts that all but fall apart
            M.flat[:: m + 1] += _JITTER * degrees.max()
            B = lapack(m, np.linalg.cholesky, M)
        B[last, last] = 0.0
        return np.sqrt(float(self.strength) / total) * B

    @property
    def properties(self) -> prop.Properties:
        return of_conditioned(self.kernel.properties, noisy=True)

    def __repr__(self) -> str:
        given = [] if self.reference is None else [show(self.reference)]
        for name, default in (("strength", 1.0), ("neighbors", 10)):
            if getattr(self, name) != default:
                given.append(f"{name}={show(getattr(self, name))}")
        if self.graph is not None:
            graph = self.graph if not sp.issparse(self.graph) else "sparse"
            given.append(f"graph={show(graph)}")
        return f"{self.kernel._wrapped(9)}.along({', '.join(given)})"
