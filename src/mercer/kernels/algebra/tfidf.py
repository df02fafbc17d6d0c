"""Features weighted by how rare they are: tf-idf, for words, k-mers, or any sparse features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ...params import parameter
from ..base import Kernel, not_resolved
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..vectors.explicit import Explicit
from .constant import is_kernel


@dataclass(eq=False, repr=False)
class TfIdf(Explicit):
    r"""A kernel with sparse features, each weighted by its inverse document frequency.

    .. math:: k(x, y) = \sum_u w_u^2\, \phi_u(x) \phi_u(y), \qquad
        w_u = 1 + \log \frac{1 + n}{1 + n_u}

    where n_u of the n training samples contain feature u. Features that occur in none of them are
    left out. ``TfIdf(Words()).normalize()`` is the cosine of scikit-learn's ``TfidfVectorizer``;
    ``TfIdf(Spectrum(5))`` does the same for k-mers.

    Parameters
    ----------
    kernel : Kernel
        A kernel with a sparse feature map: ``Words()``, ``Spectrum(k)``, ...
    columns, weights : arrays, optional
        The features and their weights; by default learned from the training data.

    Examples
    --------
    >>> from mercer import TfIdf, Words
    >>> documents = ["the dog and the cat", "the dog barks", "the cat sleeps", "the end"]
    >>> TfIdf(Words()).normalize()(documents).round(2)
    array([[1.  , 0.46, 0.46, 0.26],
           [0.46, 1.  , 0.14, 0.18],
           [0.46, 0.14, 1.  , 0.18],
           [0.26, 0.18, 0.18, 1.  ]])

    References
    ----------
    Spärck Jones, *A statistical interpretation of term specificity and its application in
    retrieval*, 1972.
    """

    kernel: Kernel = parameter(check=is_kernel)
    columns: Any = parameter(None)
    weights: Any = parameter(None, learned=(None,))
    because = "an inner product of explicit features, each multiplied by a weight"

    def resolve(self, X: Data) -> TfIdf:
        if self.weights is not None:
            return self
        kernel = self.kernel.resolve(X)
        phi = self._counts(kernel, X)
        columns, held = np.unique(phi.indices[phi.data != 0], return_counts=True)
        weights = 1 + np.log((1 + phi.shape[0]) / (1 + held))
        return self.replace(kernel=kernel, columns=columns.astype(np.int64), weights=weights)

    def prepare(self, X: Data) -> sp.csr_matrix:
        if self.weights is None:
            raise not_resolved(self)
        phi = self._counts(self.kernel, X).copy()
        phi.data = phi.data * self.weigh(phi.indices)
        phi.eliminate_zeros()
        return phi

    def weigh(self, columns: np.ndarray) -> np.ndarray:
        """The weights of some features; 0 for those that the training data do not hold."""
        known, weights = np.asarray(self.columns), np.asarray(self.weights, dtype=float)
        if not len(known):
            return np.zeros(len(columns))
        at = np.minimum(np.searchsorted(known, columns), len(known) - 1)
        return np.where(known[at] == columns, weights[at], 0.0)

    @staticmethod
    def _counts(kernel: Kernel, X: Data) -> Any:
        phi = kernel.features(kernel.prepare(X))
        if not sp.issparse(phi):
            raise ValueError(
                "TfIdf: kernel must have sparse features, as Words() and Spectrum(3) do; "
                f"{kernel!r} has none."
            )
        return phi

    @property
    def domain(self) -> Domain:
        return self.kernel.domain

    @property
    def properties(self) -> prop.Properties:
        inner = self.kernel.properties
        merged = {
            name: prop.no(f"what has the same features: {fact.because}")
            for name in ("strictly_pd", "universal", "characteristic", "positive_diag")
            if (fact := getattr(inner, name)).no
        }
        return self._stated(**merged)
