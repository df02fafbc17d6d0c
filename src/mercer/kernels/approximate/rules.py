"""Rules by which any kernel gets finitely many features, and the kernel that has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Rows, Zipped, as_dense, evenly, length, take
from ...params import Params, integer, one_of, parameter
from ..algebra.nystrom import CHOICES, Nystrom
from ..algebra.transforms import Transform
from ..base import Kernel, Tile, not_resolved
from ..calculus import properties as prop
from ..calculus.transformed import of_features
from ..formula import Term

_PROBE = 500  # samples on which sizes of terms, and errors, are judged


@dataclass(eq=False, repr=False)
class FeatureRule(Params, ABC):
    """How a kernel is replaced by one with ``n`` features at most.

    ``kernel.approximate(rule)`` is that kernel, and ``Plan(features=rule)`` uses it in any model or
    test.
    """

    n: int = integer(1000, low=2)

    @abstractmethod
    def approximate(self, kernel: Kernel) -> Kernel:
        """The kernel with these features; ``resolve`` sets what depends on data."""

    @abstractmethod
    def words(self) -> str:
        """What the features are, in words that end a sentence."""


@dataclass(eq=False, repr=False)
class Landmarks(FeatureRule):
    """Features from landmarks: the :class:`~mercer.Nystrom` approximation, on any kind of data.

    Parameters
    ----------
    n : int
        The number of landmarks.
    choose : {"pivoted", "uniform", "leverage", "kmeans"}
        How they are chosen, see :class:`~mercer.Nystrom`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge, Landmarks, Plan
    >>> X = np.linspace(0, 6, 2000)[:, None]
    >>> plan = Plan(features=Landmarks(20, choose="kmeans"))
    >>> model = KernelRidge(1e-3, kernel=Gaussian(1.0), plan=plan).fit(X, np.sin(X[:, 0]))
    >>> len(model.X_fit_), round(model.score(X, np.sin(X[:, 0])), 4)
    (20, 1.0)
    """

    choose: str = one_of("pivoted", *CHOICES)

    def approximate(self, kernel: Kernel) -> Kernel:
        return Nystrom(kernel, rank=self.n, choose=self.choose)

    def words(self) -> str:
        return f"{self.n} landmarks ({self.choose})"


@dataclass(eq=False, repr=False)
class Piece(Params, ABC):
    """Features of one term of a formula, with the random numbers that were drawn for them."""

    @abstractmethod
    def features(self, term: Term, n: int) -> np.ndarray:
        """Phi of the n samples of the term, but for its weight and factors."""


@dataclass(eq=False, repr=False)
class Ones(Piece):
    """The feature of a constant."""

    def features(self, term: Term, n: int) -> np.ndarray:
        return np.ones((n, 1))


@dataclass(eq=False, repr=False)
class MapRule(FeatureRule):
    """Rules that give a feature map, part of which may be drawn at random, once."""

    def approximate(self, kernel: Kernel) -> Kernel:
        return Approximated(kernel, self)

    @abstractmethod
    def draw(self, kernel: Kernel, P: Data) -> list[Any]:
        """What is drawn for a resolved kernel, and some samples that are prepared for it."""

    @abstractmethod
    def features(self, kernel: Kernel, P: Data, drawn: list[Any]) -> Any:
        """Phi of samples that are prepared for the kernel, an array or a CSR matrix."""


@dataclass(eq=False, repr=False)
class DrawnRule(MapRule):
    """Rules that read the formula of a kernel, and draw features term by term."""

    seed: int = integer(0)

    @abstractmethod
    def piece(self, term: Term, count: int, rng: np.random.Generator) -> Piece:
        """Draw at most ``count`` features for a term with atoms."""

    def draw(self, kernel: Kernel, P: Data) -> list[Any]:
        rng, terms = np.random.default_rng(self.seed), _terms(kernel, P, self)
        counts = shares(terms, self.n)
        pairs = zip(terms, counts, strict=True)
        return [self.piece(term, m, rng) if term.atoms else Ones() for term, m in pairs]

    def features(self, kernel: Kernel, P: Data, drawn: list[Any]) -> Any:
        terms, n = _terms(kernel, P, self), length(P)
        return np.hstack([phi_of(term, piece, n) for term, piece in zip(terms, drawn, strict=True)])


@dataclass(eq=False, repr=False)
class Approximated(Transform):
    r"""A kernel replaced by the inner product of random features: ``k.approximate(rule)``.

    .. math:: \hat k(x, y) = \langle \hat\varphi(x), \hat\varphi(y) \rangle, \qquad
              \mathbb E\, \hat k(x, y) = k(x, y)

    Every model that can use features takes O(n m^2) operations with m of them, and predicts with
    the kernel it was trained with. Random numbers are drawn when the kernel is resolved, and are
    then part of it: they are saved with it.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    by : RandomFourier, TensorSketch or Hashing
        Which features.
    drawn : list, optional
        What was drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, RandomFourier
    >>> X = np.random.default_rng(0).standard_normal((300, 3))
    >>> k = Gaussian(2.0).approximate(RandomFourier(2000)).resolve(X)
    >>> bool(abs(k(X) - Gaussian(2.0)(X)).max() < 0.1), k.error(X) < 0.03
    (True, True)
    """

    by: Any = parameter(check=lambda r: None if isinstance(r, MapRule) else "a rule for features")
    drawn: list[Any] | None = parameter(None, learned=(None,))
    because = "an inner product of explicit features"

    def resolve(self, X: Data) -> Kernel:
        kernel = self.kernel.resolve(X)
        if self.drawn is not None:
            return replace(self, kernel=kernel)
        few = kernel.prepare(take(X, evenly(length(X), _PROBE)))
        return replace(self, kernel=kernel, drawn=self.by.draw(kernel, few))

    def prepare(self, X: Data) -> Zipped:
        return self.extend(self.kernel.prepare(X))

    def extend(self, P: Data) -> Zipped:
        """What :meth:`prepare` returns, from data that are prepared for k."""
        if self.drawn is None:
            raise not_resolved(self)
        return Zipped(P, self.by.features(self.kernel, P, self.drawn))

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return _product(X.parts[1], Y.parts[1])

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        A, B = X.parts[1], Y.parts[1]

        def tile(rows: Rows, cols: Rows) -> np.ndarray:
            return _product(A[rows], B[cols])

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        phi = X.parts[1]
        if sp.issparse(phi):
            return np.asarray(phi.multiply(phi).sum(axis=1)).ravel()
        return np.einsum("ij,ij->i", phi, phi)

    def features(self, X: Zipped) -> Any:
        return X.parts[1]

    def n_features(self, X: Zipped) -> int:
        return X.parts[1].shape[1]

    def features_pay(self, X: Zipped) -> bool:
        return True

    def error(self, X: Data) -> float:
        """The error of the Gram matrix, on at most 500 samples of X.

        The Frobenius norm of the difference relative to that of K: an estimate for X, exact for the
        samples used.
        """
        few = take(X, evenly(length(X), _PROBE))
        K = self.kernel(few)
        return float(np.linalg.norm(self(few) - K) / np.linalg.norm(K))

    @property
    def properties(self) -> prop.Properties:
        return of_features(self.kernel.properties)

    def __repr__(self) -> str:
        return self._call("approximate", self.by)


def phi_of(term: Term, piece: Piece, n: int) -> np.ndarray:
    """The features of a term, with its weight and its factors."""
    phi = piece.features(term, n)
    phi *= phi.dtype.type(np.sqrt(term.weight))
    for factor in term.factors:
        phi *= factor[:, None].astype(phi.dtype)
    return phi


def shares(terms: list[Term], total: int) -> list[int]:
    """How many of ``total`` features each term gets: in proportion to its median k(x, x).

    The variance of the sum is smallest then. A constant gets one, other terms two at least.
    """
    sizes = np.array([_size(term) if term.atoms else 0.0 for term in terms])
    count = np.count_nonzero(sizes)
    left = total - (len(terms) - count)
    if left < 2 * count:
        raise ValueError(
            f"n={total} features are too few for a formula with {len(terms)} terms; raise n."
        )
    wanted = 2 + (left - 2 * count) * sizes / max(sizes.sum(), np.finfo(float).tiny)
    return [int(m) if size else 1 for m, size in zip(wanted, sizes, strict=True)]


def _size(term: Term) -> float:
    """The median of k(x, x) over the samples."""
    diagonal: Any = np.float64(term.weight)
    for atom in term.atoms:
        diagonal = diagonal * atom.diag()
    for factor in term.factors:
        diagonal = diagonal * factor**2
    return max(float(np.median(diagonal)), np.finfo(float).tiny)


def _terms(kernel: Kernel, P: Data, rule: FeatureRule) -> list[Term]:
    """The formula of a kernel as a sum of products."""
    formula = kernel.formula(P)
    if formula is None:
        raise ValueError(
            f"{type(rule).__name__} needs the formula of a kernel, but {kernel!r} has none; use "
            "Landmarks, or Hashing if the kernel has features."
        )
    return formula.terms()


def _product(A: Any, B: Any) -> np.ndarray:
    return as_dense(A @ B.T)
