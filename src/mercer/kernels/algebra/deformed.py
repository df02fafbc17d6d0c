"""Kernels that follow a sample: functions that vary along it cost more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Zipped
from ...engine.lapack import lapack
from ...engine.routines import solve_lower
from ...params import integer, parameter, show
from ..calculus import properties as prop
from ..calculus.transformed import of_conditioned
from .conditioned import Without
from .neighbors import neighbor_graph

_JITTER = 1e-11  # of the largest degree: constants along a part of the graph cost nothing


def _is_strength(value: Any) -> str | None:
    fine = np.ndim(value) == 0 and np.asarray(value).dtype.kind in "iuf" and 0 <= value < np.inf
    return None if fine else "a finite number >= 0"


def _is_graph(value: Any) -> str | None:
    if value is None:
        return None
    fine = (np.ndim(value) == 2 or sp.issparse(value)) and value.shape[0] == value.shape[1]
    if fine:
        W: Any = sp.csr_array(value)
        fine = W.dtype.kind in "biuf" and bool(np.all(np.isfinite(W.data) & (W.data >= 0)))
        fine = fine and bool(abs(W - W.T).sum() <= 1e-9 * W.sum())
    return None if fine else "a symmetric matrix of weights >= 0, one row for each sample"


@dataclass(eq=False, repr=False)
class Deformed(Without):
    r"""A kernel along a graph of samples z_1..z_m: written ``k.along(z, strength)``.

    .. math:: k(x, y) - k(x, z) (I + M K_{zz})^{-1} M\, k(z, y), \qquad
              \|f\|^2 + f_z' M f_z = \|f\|^2
              + \frac{\gamma}{\sum_{i < j} w_{ij}} \sum_{i < j} w_{ij} (f(z_i) - f(z_j))^2

    The functions are those of H_k, with another norm, on the right: ``strength`` gamma times the
    mean square of the differences along the edges of a graph is added, with M the Laplacian of the
    graph times gamma over the sum of weights. Where z are samples without labels as well, any
    model with this kernel is the semi-supervised version of itself: ridge regression becomes
    Laplacian regularised least squares, a support vector machine the Laplacian SVM
    (:class:`mercer.SemiSupervised` does it in one step).

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    reference : data, optional
        The samples z; by default the data the kernel is resolved on.
    strength : float
        gamma >= 0.
    neighbors : int
        Samples are joined with so many of the nearest, in the metric of k, with weights 1.
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
        Z = self._anchors()
        K = self.kernel.pairwise(Z, Z).astype(np.float64)
        squares = self.kernel.diag(Z).astype(np.float64)
        B = self._root(K, squares)
        P = self.kernel.prepare(X)
        inner = B.T @ (K @ B)
        inner.flat[:: len(inner) + 1] += 1.0
        L = lapack(len(inner), np.linalg.cholesky, inner)
        cross = B.T @ self.kernel.pairwise(Z, P).astype(np.float64)
        half = lapack(len(inner), solve_lower, L, cross)
        return Zipped(P, half.T)

    def _root(self, K: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """B with B B' = M."""
        m = len(K)
        if self.graph is None:
            W = neighbor_graph(lambda rows: K[rows], squares, self.neighbors)
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
        M = -W.toarray()
        M.flat[:: m + 1] = degrees + _JITTER * degrees.max()
        return np.sqrt(float(self.strength) / total) * lapack(m, np.linalg.cholesky, M)

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
