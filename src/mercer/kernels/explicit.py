"""Kernels given by their features: k(x, y) = <phi(x), phi(y)> for a phi one can write down.

=====================  ============================================================  ============
kernel                 phi(x)                                                        samples
=====================  ============================================================  ============
:class:`XOR`           x1, x2, x1 x2                                                 (x1, x2)
:class:`Conic`         x1^2, x2^2, sqrt2 x1 x2, sqrt2 x1, sqrt2 x2, 1                (x1, x2)
:class:`Monomials`     x, x^2, ..., x^l                                              numbers
:class:`Sinusoids`     sin x, cos x, ..., sin l x, cos l x                           numbers
:class:`Words`         how often each word occurs                                    documents
:class:`FeatureMap`    a function of yours                                           anything
=====================  ============================================================  ============
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from unicodedata import normalize

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_vectors, is_frame, length
from ..exceptions import DomainError
from ..features.inverted import products
from ..features.sparse import stable_codes
from ..params import integer, parameter
from . import properties as prop
from .base import Kernel, Tile
from .domains import STRINGS, VECTORS, Domain, circle
from .line import one_column
from .vectors import inner_products

_ROOT2 = float(np.sqrt(2))


@dataclass(eq=False, repr=False)
class Explicit(Kernel):
    """<phi(x), phi(y)>; prepared samples are the features, an (n, D) array or CSR matrix."""

    because = "<phi(x), phi(y)> is an inner product of explicit features"

    @abstractmethod
    def prepare(self, X: Data) -> Any:
        """The features phi(x), one row per sample."""

    def pairwise(self, X: Any, Y: Any) -> np.ndarray:
        everything = slice(None)
        return self.tiles(X, Y)(everything, everything)

    def tiles(self, X: Any, Y: Any) -> Tile:
        if not sp.issparse(X):
            return lambda rows, cols: inner_products(X[rows], Y[cols])
        return products(X, Y)

    def diag(self, X: Any) -> np.ndarray:
        if not sp.issparse(X):
            return np.einsum("ij,ij->i", X, X)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(row, weights=X.data**2, minlength=X.shape[0]).astype(X.dtype)

    def features(self, X: Any) -> Any:
        return X

    def n_features(self, X: Any) -> int | None:
        return int(X.shape[1])


@dataclass(eq=False, repr=False)
class FeatureMap(Explicit):
    """A kernel from a feature map of your own: k(x, y) = <phi(x), phi(y)>.

    Parameters
    ----------
    map : callable
        phi, from a data set of n samples to an (n, D) array or CSR matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FeatureMap
    >>> def letters_and_digits(words):
    ...     return np.array([[len(w), sum(c.isdigit() for c in w)] for w in words])
    >>> FeatureMap(letters_and_digits)(["a1", "abc"])
    array([[5., 6.],
           [6., 9.]])
    """

    map: Callable[[Data], Any] = parameter(
        check=lambda f: None if callable(f) else "a function of a data set"
    )

    def prepare(self, X: Data) -> Any:
        n = length(X)
        if n == 0:
            raise DomainError("FeatureMap: X has no samples.")
        phi: Any = as_vectors(self.map(X), "FeatureMap (what map returns)")
        if phi.shape[0] != n:
            raise ValueError(
                f"FeatureMap: map must return one row of features per sample, got "
                f"{phi.shape[0]} rows for {n} samples."
            )
        if sp.issparse(phi) and not phi.has_canonical_format:
            phi = phi.copy()  # the map may hold on to its matrix
            phi.sum_duplicates()
        return phi

    @property
    def properties(self) -> prop.Properties:
        return self._stated(finite_dim=prop.yes("spanned by finitely many features"))


@dataclass(eq=False, repr=False)
class Differentiable(Explicit):
    """Features of numbers whose derivatives are known from the features themselves."""

    @abstractmethod
    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        """The (n, d, D) array of derivatives of the D features with respect to the d inputs."""

    def grad_input(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        return np.einsum("ikj,ij->ik", self.jacobian(X), W @ Y)


@dataclass(eq=False, repr=False)
class Planar(Differentiable):
    """Features of points of the plane; subclasses list them."""

    @abstractmethod
    def columns(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """The features of the points (a, b)."""

    def prepare(self, X: Data) -> np.ndarray:
        owner = type(self).__name__
        X = as_vectors(X, owner)
        if X.shape[1] != 2:
            raise DomainError(
                f"{owner} works on points of the plane, but X has {X.shape[1]} columns; pick two "
                f"with .on([first, second])."
            )
        X = X.toarray() if sp.issparse(X) else X
        return np.stack(self.columns(X[:, 0], X[:, 1]), axis=1)

    @property
    def domain(self) -> Domain:
        return VECTORS

    def _polynomials(self, positive_diag: prop.Fact) -> prop.Properties:
        return self._stated(
            bounded=prop.no("k(x, x) grows with ||x||"),
            analytic=prop.yes("a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            finite_dim=prop.yes("spanned by the features"),
            positive_diag=positive_diag,
        )


@dataclass(eq=False, repr=False)
class XOR(Planar):
    """Features (x1, x2, x1 x2): a plane in them separates the XOR pattern.

    Examples
    --------
    >>> from mercer import XOR
    >>> XOR()([[1.0, 1.0], [1.0, -1.0]])
    array([[ 3., -1.],
           [-1.,  3.]])
    """

    def columns(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        return [a, b, a * b]

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        a, b, zero = phi[:, 0], phi[:, 1], np.zeros_like(phi[:, 0])
        one = zero + 1
        return _stack([[one, zero, b], [zero, one, a]])

    @property
    def properties(self) -> prop.Properties:
        return self._polynomials(prop.no("k(0, 0) = 0"))


@dataclass(eq=False, repr=False)
class Conic(Planar):
    """Features (x1^2, x2^2, sqrt2 x1 x2, sqrt2 x1, sqrt2 x2, 1): conic sections are linear in them.

    The kernel is (<x, y> + 1)^2 in the plane. Every ellipse, parabola or hyperbola is the set where
    one linear function of the features vanishes.

    Examples
    --------
    >>> from mercer import Conic
    >>> Conic()([[1.0, 0.0], [1.0, 1.0]])
    array([[4., 4.],
           [4., 9.]])
    """

    def columns(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        return [a * a, b * b, _ROOT2 * a * b, _ROOT2 * a, _ROOT2 * b, np.ones_like(a)]

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        a, b, zero = phi[:, 3], phi[:, 4], np.zeros_like(phi[:, 0])
        root = zero + _ROOT2
        return _stack(
            [[_ROOT2 * a, zero, b, root, zero, zero], [zero, _ROOT2 * b, a, zero, root, zero]]
        )

    @property
    def properties(self) -> prop.Properties:
        return self._polynomials(prop.yes("k(x, x) >= 1"))


@dataclass(eq=False, repr=False)
class Monomials(Differentiable):
    """Features (x, x^2, ..., x^l) of one variable: polynomial regression through the origin.

    Parameters
    ----------
    degree : int
        l >= 1. Add 1 to the kernel for the constant function.

    Examples
    --------
    >>> from mercer import Monomials
    >>> Monomials(degree=2)([1.0, 2.0])
    array([[ 2.,  6.],
           [ 6., 20.]])
    """

    degree: int = integer(3, low=1)

    def prepare(self, X: Data) -> np.ndarray:
        x = one_column(X, "Monomials")
        with np.errstate(over="ignore"):
            phi = (x[:, None] ** np.arange(1, self.degree + 1)).astype(x.dtype, copy=False)
        finite = np.isfinite(phi[:, -1])
        if not finite.all():
            raise DomainError(
                f"Monomials: x^{self.degree} overflows for sample {int(np.argmin(finite))}; "
                f"rescale X or lower the degree."
            )
        return phi

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        lower = np.hstack([np.ones_like(phi[:, :1]), phi[:, :-1]])
        return (lower * np.arange(1, self.degree + 1))[:, None, :]

    @property
    def domain(self) -> Domain:
        return VECTORS

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no("k(x, x) grows with |x|"),
            analytic=prop.yes("a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            finite_dim=prop.yes(f"dimension {self.degree}"),
            positive_diag=prop.no("k(0, 0) = 0"),
        )


@dataclass(eq=False, repr=False)
class Sinusoids(Differentiable):
    """Features (sin x, cos x, ..., sin l x, cos l x) of one variable, in radians.

    The kernel is cos(x - y) + ... + cos(l (x - y)), that is ``Fourier([0, 1/2, ..., 1/2])``.

    Parameters
    ----------
    degree : int
        l >= 1. Add 1 to the kernel for the constant function.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Sinusoids
    >>> Sinusoids(degree=2)(np.array([0.0, np.pi])).round(4)
    array([[2., 0.],
           [0., 2.]])
    """

    degree: int = integer(3, low=1)

    def prepare(self, X: Data) -> np.ndarray:
        x = one_column(X, "Sinusoids")
        phase = x.astype(np.float64)[:, None] * np.arange(1, self.degree + 1)
        pairs = np.stack([np.sin(phase), np.cos(phase)], axis=2)
        return pairs.reshape(len(x), -1).astype(x.dtype, copy=False)

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        l = np.arange(1, self.degree + 1)
        turned = np.stack([phi[:, 1::2] * l, -phi[:, ::2] * l], axis=2)
        return turned.reshape(len(phi), 1, -1)

    @property
    def domain(self) -> Domain:
        return circle(2 * np.pi)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("k(x, x) = l"),
            analytic=prop.yes("a trigonometric polynomial"),
            stationary=prop.yes("a sum of cos(j (x - y))"),
            finite_dim=prop.yes(f"dimension {2 * self.degree}"),
            positive_diag=prop.yes("k(x, x) = l"),
        )


@dataclass(eq=False, repr=False)
class Words(Explicit):
    """Word histograms of documents: the sum over words of their counts in x times those in y.

    A document is a string. It is lower-cased, and a word is a run of letters and digits (of any
    script), with apostrophes inside it: "Don't stop, we're early" holds don't, stop, we're, early.
    ``Words().normalize()`` gives the cosine between histograms, whatever the lengths.

    Each word has a column of its own, by a 56-bit code that is the same everywhere, so there is no
    vocabulary to fit: two of a million words share a column with probability 1e-5.

    Examples
    --------
    >>> from mercer import Words
    >>> Words()(["The dog, the cat.", "A dog!"])
    array([[6., 1.],
           [1., 2.]])
    """

    because = "<counts of x, counts of y> is an inner product of word histograms"
    _word: ClassVar[re.Pattern] = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
    _bits: ClassVar[int] = 56  # room to add the columns of other features within int64

    @classmethod
    def words(cls, document: str) -> list[str]:
        """The words of a document, in order."""
        text = normalize("NFC", document).lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
        return cls._word.findall(text)

    def prepare(self, X: Data) -> sp.csr_matrix:
        places: dict[str, int] = {}
        columns: list[int] = []
        counts: list[int] = []
        ends = [0]
        for document in _documents(X):
            histogram = Counter(self.words(document))
            columns += [places.setdefault(word, len(places)) for word in histogram]
            counts += histogram.values()
            ends.append(len(columns))
        codes = stable_codes(places, bits=self._bits)
        indices = codes[np.array(columns, dtype=np.int64)]
        shape = (len(ends) - 1, 2**self._bits)
        values = np.array(counts, dtype=np.float64)
        phi = sp.csr_matrix((values, indices, np.array(ends)), shape=shape)
        phi.sum_duplicates()
        return phi

    @property
    def domain(self) -> Domain:
        return STRINGS

    @property
    def properties(self) -> prop.Properties:
        order = "documents with the same words in another order have the same features"
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            strictly_pd=prop.no(order),
            universal=prop.no(order),
            characteristic=prop.no(order),
            finite_dim=prop.no("there is no end of words"),
            positive_diag=prop.no("a document without words has k(x, x) = 0"),
        )


def _documents(X: Data) -> Any:
    """X as an iterable of strings; refuses anything else."""
    if isinstance(X, str):
        raise DomainError("Words works on a list of documents, got one string; write [document].")
    if is_frame(X):
        raise DomainError("Words works on one column of documents; pick it with .on(column).")
    if length(X) == 0:
        raise DomainError("Words: X has no samples.")
    X = X.ravel() if isinstance(X, np.ndarray) and X.shape[1:] == (1,) else X
    for i, document in enumerate(X):
        if not isinstance(document, str):
            raise DomainError(
                f"Words works on documents given as strings, but sample {i} is a "
                f"{type(document).__name__}; join its words with spaces, or replace missing "
                f'documents by "".'
            )
    return X


def _stack(rows: list[list[np.ndarray]]) -> np.ndarray:
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)
