"""Sketches: features that are too many to be kept, added up in random places with random signs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import factorial
from typing import Any

import numpy as np
import scipy.fft as fft
import scipy.sparse as sp

from ...data import Data, as_dense
from ...mixing import mix
from ...params import parameter
from ..base import Kernel
from ..formula import INNER, Atom, Term
from ..vectors.base import squared_norms
from ..vectors.dot import Linear
from .fourier import EXPONENTIAL, Waves, growth
from .rules import Approximated, DrawnRule, MapRule, Ones, Piece, phi_of, shares

_TAIL = 1e-3  # of exp(gamma |x|^2) that the degrees which are left out may add up to
_DEGREES = 30
_STRIP = 2000  # samples whose sketches are multiplied at a time


@dataclass(eq=False, repr=False)
class TensorSketch(DrawnRule):
    r"""Sketches of tensor products, multiplied by Fourier transforms (Pham & Pagh 2013).

    .. math:: \hat\varphi(x) = \mathcal F^{-1}\Bigl(\prod_{i=1}^p \mathcal F(C_i x)\Bigr), \qquad
              \mathbb E \langle \hat\varphi(x), \hat\varphi(y) \rangle = \langle x, y \rangle^p

    where C_i adds up the coordinates of x, with random signs, in n random places. Polynomial
    kernels, exponential ones (degree by degree), and products of kernels that are functions of
    <x, y> or of x - y: of the latter, random Fourier features are multiplied. Sums share the n
    features; linear kernels of few features are exact.

    Parameters
    ----------
    n : int
        The number of features.
    seed : int
        Of the random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Polynomial, TensorSketch
    >>> X = np.random.default_rng(0).standard_normal((200, 50)) / 7
    >>> k = Polynomial(degree=3).approximate(TensorSketch(4000)).resolve(X)
    >>> k.error(X) < 0.15
    True

    References
    ----------
    Pham & Pagh, *Fast and scalable polynomial kernels via explicit feature maps*, KDD 2013.
    """

    def words(self) -> str:
        return f"{self.n} features of a tensor sketch"

    def piece(self, term: Term, count: int, rng: np.random.Generator) -> Piece:
        place = next((i for i, a in enumerate(term.atoms) if a.profile.name == EXPONENTIAL), None)
        if place is not None:
            parts = [_power(term, place, j) for j in range(_degrees(term.atoms[place]) + 1)]
            counts = shares(parts, max(count, 2 * len(parts)))
            pairs = zip(parts, counts, strict=True)
            return Degrees(
                place, [self.piece(part, m, rng) if part.atoms else Ones() for part, m in pairs]
            )
        rest, matrices = _split(term)
        waves = Waves.drawn(rest, count, rng, "orthogonal") if rest.atoms else None
        if waves is not None and not matrices:
            return waves
        widths = [matrix.shape[1] for matrix in matrices]
        if waves is not None:
            widths.append(2 * waves.frequencies[0].shape[1])
        if len(widths) == 1 and widths[0] <= count:
            return Coordinates()
        places = [rng.integers(0, count, width) for width in widths]
        signs = [2.0 * rng.integers(0, 2, width) - 1 for width in widths]
        return Convolved(count, places, signs, waves)


@dataclass(eq=False, repr=False)
class Coordinates(Piece):
    """The features of an atom that is the inner product of few coordinates, as they are."""

    def features(self, term: Term, n: int) -> np.ndarray:
        (matrix,) = _split(term)[1]
        return np.array(as_dense(matrix))


@dataclass(eq=False, repr=False)
class Convolved(Piece):
    """Sketches of the factors of a term, convolved: a sketch of their tensor product.

    Parameters
    ----------
    count : int
        The number of features.
    places, signs : lists of arrays
        Where the coordinates of each factor go, and with which sign.
    waves : Waves, optional
        Features of the atoms that are functions of x - y: the last factor.
    """

    count: int = parameter()
    places: list[np.ndarray] = parameter()
    signs: list[np.ndarray] = parameter()
    waves: Any = None

    def features(self, term: Term, n: int) -> np.ndarray:
        rest, factors = _split(term)
        if self.waves is not None:
            factors = [*factors, self.waves.features(rest, n)]
        sketches = [
            sp.csr_matrix((s, (np.arange(len(p)), p)), shape=(len(p), self.count))
            for p, s in zip(self.places, self.signs, strict=True)
        ]
        phi = np.empty((n, self.count), dtype=np.result_type(*(f.dtype for f in factors)))
        for start in range(0, n, _STRIP):
            rows = slice(start, start + _STRIP)
            spectrum: Any = 1.0
            for factor, sketch in zip(factors, sketches, strict=True):
                strip = as_dense(factor[rows] @ sketch)
                spectrum = spectrum * fft.rfft(strip, axis=1)
            phi[rows] = fft.irfft(spectrum, n=self.count, axis=1)
        return phi


@dataclass(eq=False, repr=False)
class Degrees(Piece):
    """The exponential of an inner product, degree by degree.

    Parameters
    ----------
    place : int
        Which atom of the term it is.
    pieces : list of Piece
        The features for each degree, 0 first.
    """

    place: int = parameter()
    pieces: list[Any] = parameter()

    def features(self, term: Term, n: int) -> np.ndarray:
        bare = term._replace(weight=1.0, factors=())
        parts = [_power(bare, self.place, j) for j in range(len(self.pieces))]
        return np.hstack([phi_of(part, p, n) for part, p in zip(parts, self.pieces, strict=True)])


def _degrees(atom: Atom) -> int:
    """The degree after which exp(gamma |x|^2) is nearly complete, for nearly all samples."""
    t = growth(atom) * float(np.quantile(squared_norms(atom.points), 0.99))
    total, power, j = 1.0, 1.0, 0
    while total < (1 - _TAIL) * np.exp(min(t, 700.0)) and j < _DEGREES:
        j += 1
        power *= t / j
        total += power
    return j


def _power(term: Term, place: int, j: int) -> Term:
    """The part of degree j of a term, whose atom at a place is exp(gamma <x, y>)."""
    atom = term.atoms[place]
    linear = replace(atom, profile=_LINEAR)
    atoms = term.atoms[:place] + (linear,) * j + term.atoms[place + 1 :]
    return Term(term.weight * growth(atom) ** j / factorial(j), atoms, term.factors)


def _split(term: Term) -> tuple[Term, list[Any]]:
    """The atoms that are functions of x - y; coordinates of the factors <x, y> of all others."""
    rest = tuple(atom for atom in term.atoms if atom.metric != INNER)
    inner = [atom for atom in term.atoms if atom.metric == INNER]
    return Term(1.0, rest), [matrix for atom in inner for matrix in _factors(atom)]


def _factors(atom: Atom) -> list[Any]:
    """An atom as a product of inner products <x, y>."""
    X, given = atom.points, dict(atom.profile.parameters)
    if atom.profile.name == "linear":
        return [X]
    if atom.profile.name != "polynomial":
        raise ValueError(
            f"TensorSketch needs powers or exponentials of <x, y>, not {atom.profile.name}; use "
            f"Landmarks, for any kernel."
        )
    scaled = X * X.dtype.type(np.sqrt(given["scale"]))
    if given["offset"]:
        column = np.full((X.shape[0], 1), np.sqrt(given["offset"]), dtype=X.dtype)
        scaled = (
            sp.hstack([scaled, column], "csr") if sp.issparse(X) else np.hstack([scaled, column])
        )
    return [scaled] * int(given["degree"])


@dataclass(eq=False, repr=False)
class Hashing(MapRule):
    r"""Feature hashing: the features of a kernel, summed into n columns with random signs.

    .. math:: \hat\varphi_j(x) = \sum_{c : h(c) = j} s(c)\, \varphi_c(x), \qquad
              \mathbb E \langle \hat\varphi(x), \hat\varphi(y) \rangle = k(x, y)

    For kernels on strings, trees or graphs whose features are sparse, in more columns than a linear
    method can hold. The target of a feature depends only on its column, so nothing has to be
    stored, and data may be processed in any order and in parts.

    Parameters
    ----------
    n : int
        The number of features.

    Examples
    --------
    >>> from mercer import Hashing, Spectrum
    >>> words = ["kernel", "colonel", "kernels", "methods"]
    >>> k = Spectrum(3).approximate(Hashing(500))
    >>> k(words)[0]
    array([4., 1., 4., 0.])

    References
    ----------
    Weinberger, Dasgupta, Langford, Smola & Attenberg, *Feature hashing for large scale multitask
    learning*, ICML 2009.
    """

    def approximate(self, kernel: Kernel) -> Kernel:
        return Approximated(kernel, self, [])

    def words(self) -> str:
        return f"{self.n} hashed features"

    def draw(self, kernel: Kernel, P: Data) -> list[Any]:
        """Nothing: places and signs are functions of columns."""
        return []

    def features(self, kernel: Kernel, P: Data, drawn: list[Any]) -> sp.csr_matrix:
        """Those of the kernel, hashed."""
        phi: Any = kernel.features(P)
        if phi is None:
            raise ValueError(
                f"Hashing needs a kernel with features, but {kernel!r} has none; use Landmarks."
            )
        phi = phi if sp.issparse(phi) else sp.csr_matrix(phi)
        code = mix(phi.indices.astype(np.uint64))
        signs = 1.0 - 2.0 * (code & np.uint64(1)).astype(phi.dtype)
        places = ((code >> np.uint64(1)) % np.uint64(self.n)).astype(np.int64)
        hashed = sp.csr_matrix((phi.data * signs, places, phi.indptr), (phi.shape[0], self.n))
        hashed.sum_duplicates()
        return hashed


_LINEAR = Linear().formula(np.zeros((1, 1))).profile
