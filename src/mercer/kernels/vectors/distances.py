"""Squared distances in tiles, exact where a matrix product would cancel; lengthscales of data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ...data import as_dense, evenly, length, take
from .base import Vectors, inner_products, squared_norms

_MEDIAN_SAMPLES = 1000  # the median distance is taken over at most this many samples
_CENTRE_SAMPLES = 101  # and the centre of the coordinates over these
_MOST = 1 / 8  # of a tile that is recomputed pair by pair; beyond, the whole tile is
_NUMBERS = 2**22  # at most, that are written out at a time to take differences
# by how much rounding may change a squared distance (of weight 1: in units of the lengthscale) that
# a smooth function is applied to, and a distance whose square root is taken
_SMOOTH = {np.dtype(np.float64): 2.0**-40, np.dtype(np.float32): 2.0**-16}
_KINKED = {np.dtype(np.float64): 2.0**-30, np.dtype(np.float32): 2.0**-13}
SQUARABLE = 1e15  # numbers up to this, and from its inverse on, have squares in single precision
_ALL = slice(None)
_RELATIVE = 256  # rounding errors that a squared distance has to exceed if its root is taken


class SquaredDistances:
    r"""weight * ||x_i - y_j||^2 in tiles, by one matrix product of augmented coordinates.

    The product cancels: its error is that of the squared norms, which exceed distances wherever
    samples lie in groups far apart, or one of them far from all others. Coordinates are relative to
    a centre that is robust to outliers. An entry D is computed again from the differences where

    .. math:: \varepsilon |w| (\|x\|^2 + \|y\|^2) > \tau (\mathrm{scale} + |D|),

    in double precision for samples in single precision. None of this costs anything if no sample is
    far enough from the centre.

    Parameters
    ----------
    X, Y : arrays or CSR matrices
        The samples.
    weight : float
        The factor w.
    exact : bool
        Is a root of the distances taken, or something else with a kink at 0? Then entries near 0
        are computed from the differences, too.
    scale : float
        The weighted distance over which functions of D vary.

    Attributes
    ----------
    in_doubt : bool
        Might some entry of the plain product have to be recomputed?
    """

    unit = 1.0  # the products are the exponents already

    def __init__(
        self,
        X: Vectors,
        Y: Vectors,
        weight: float = 1.0,
        exact: bool = False,
        scale: float = 1.0,
    ) -> None:
        self.X, self.Y = X, Y
        self.weight, self.exact, self.scale = weight, exact, scale
        self.sparse = sp.issparse(X) or sp.issparse(Y)
        self.dtype = np.dtype(np.result_type(X, Y))
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is recomputed
            if self.sparse:
                self.nx = squared_norms(X)
                self.ny = self.nx if Y is X else squared_norms(Y)
            else:
                self._augment()
            self.doubt_x = self._doubt(self.nx)
            self.doubt_y = self.doubt_x if Y is X else self._doubt(self.ny)
        self.in_doubt = self.doubt_x.max(initial=-scale) + self.doubt_y.max(initial=-scale) > 0
        shifted = _without_offset(X, Y) if self.in_doubt else None
        if shifted is not None:
            other = SquaredDistances(*shifted, weight, exact, scale)
            if not other.in_doubt:  # else the shift may have rounded samples far from the centre
                self.__dict__ = other.__dict__

    def _augment(self) -> None:
        """[-2 w x, w ||x||^2, 1] and [y, 1, ||y||^2], whose inner products are the distances."""
        X, Y, weight = self.X, self.Y, self.weight
        if X.shape[1] != Y.shape[1]:
            inner_products(X[:1], Y[:1])  # raises, with the two widths
        origin, d = centre(Y), X.shape[1]
        self.left = np.empty((len(X), d + 2), self.dtype)
        self.right = np.empty((len(Y), d + 2), self.dtype)
        near_y = np.subtract(Y, origin, out=self.right[:, :d], dtype=self.dtype)
        near_x = near_y if Y is X else X - origin
        self.nx = squared_norms(near_x)
        self.ny = self.nx if Y is X else squared_norms(near_y)
        np.multiply(near_x, -2 * weight, out=self.left[:, :d])
        self.left[:, d], self.left[:, d + 1] = weight * self.nx, 1
        self.right[:, d], self.right[:, d + 1] = 1, weight * self.ny

    def _doubt(self, norms: np.ndarray) -> np.ndarray:
        """What samples with these squared norms add to the limit below which D is unreliable."""
        error = np.finfo(self.dtype).eps * abs(self.weight) * norms
        doubt = error / _SMOOTH[self.dtype] - self.scale / 2
        if self.exact:
            root = np.square(error / _KINKED[self.dtype]) / 2  # (a + b)^2 <= 2 a^2 + 2 b^2
            doubt = np.maximum(doubt, np.maximum(root, _RELATIVE * error))
        return np.where(np.isnan(doubt), np.inf, doubt)

    @property
    def error(self) -> float:
        """The largest error of an exponent by the product, before corrections."""
        largest = self.nx.max(initial=0) + self.ny.max(initial=0)
        return float(np.finfo(self.dtype).eps * abs(self.weight) * largest)

    def exp(self, rows: Any, cols: Any) -> np.ndarray:
        """exp of a tile of the plain product; exponents that rounding has made positive stay so."""
        D = self.left[rows] @ self.right[cols].T
        return np.exp(D, out=D)

    def __call__(self, rows: Any, cols: Any) -> np.ndarray:
        if self.in_doubt:
            with np.errstate(over="ignore", invalid="ignore"):
                return self._checked(self._product(rows, cols), rows, cols)
        return self._signed(self._product(rows, cols))

    def _product(self, rows: Any, cols: Any) -> np.ndarray:
        if not self.sparse:
            return self.left[rows] @ self.right[cols].T
        D = inner_products(self.X[rows], self.Y[cols])
        D *= -2 * self.weight
        D += (self.weight * self.nx[rows]).astype(D.dtype)[:, None]
        D += (self.weight * self.ny[cols]).astype(D.dtype)[None, :]
        return D

    def _signed(self, D: np.ndarray) -> np.ndarray:
        return np.maximum(D, 0, out=D) if self.weight > 0 else np.minimum(D, 0, out=D)

    def _checked(self, D: np.ndarray, rows: Any, cols: Any) -> np.ndarray:
        """A tile with the right sign, in which entries that cancel have been recomputed."""
        x, y = self.doubt_x[rows], self.doubt_y[cols]
        limit = x.max(initial=-np.inf) + y.max(initial=-np.inf)
        trusted = limit <= D if self.weight > 0 else -limit >= D
        if not trusted.all():  # also where D is not a number
            bad = np.flatnonzero(~trusted)
            size = np.sign(self.weight) * D.ravel()[bad]
            i, j = np.divmod(bad, D.shape[1])
            again = ~(size >= x[i] + y[j])
            D = self._again(D, i[again], j[again], rows, cols)
        largest = 1e-6 * np.finfo(self.dtype).max  # what is multiplied by 0 must not be infinite
        if limit > np.finfo(self.dtype).eps * largest:
            np.clip(D, -largest, largest, out=D)
        return self._signed(D)

    def _again(
        self, D: np.ndarray, i: np.ndarray, j: np.ndarray, rows: Any, cols: Any
    ) -> np.ndarray:
        """The tile with these entries computed from differences, or all, if these are many."""
        X, Y = self.X[rows], self.Y[cols]
        if len(i) > _MOST * D.size and self.dtype == np.float32:
            X, Y = X.astype(np.float64), Y.astype(np.float64)
            D[:] = SquaredDistances(X, Y, self.weight, self.exact, self.scale)(_ALL, _ALL)
            return D
        small = X.shape[1] * sum(D.shape) <= _NUMBERS
        if len(i) > _MOST * D.size and (small or not self.sparse):
            return np.multiply(cdist(as_dense(X), as_dense(Y), "sqeuclidean"), self.weight, out=D)
        for some in _some(len(i), X.shape[1]):
            a, b = X[i[some]], Y[j[some]]
            if self.dtype == np.float32:
                a, b = a.astype(np.float64), b.astype(np.float64)
            D[i[some], j[some]] = self.weight * squared_norms(a - b)
        return D

    def pull(self, V: np.ndarray) -> np.ndarray:
        """[sum_j V_ij (x_i - y_j)] for every i, by one product with V."""
        X, Y = as_dense(self.X), self.Y
        if self.in_doubt:
            Y = as_dense(Y)
            with np.errstate(over="ignore", invalid="ignore"):
                columns = (np.subtract.outer(x, y) for x, y in zip(X.T, Y.T, strict=True))
                return np.stack([np.where(V, V * by, 0).sum(axis=1) for by in columns], axis=1)
        if not sp.issparse(Y):
            origin = centre(Y)
            X, Y = X - origin, Y - origin
        return np.asarray(V.sum(axis=1)[:, None] * X - V @ Y)

    def by_column(self, V: np.ndarray, D: np.ndarray) -> np.ndarray:
        """[sum_ij V_ij (x_id - y_jd)^2] for every column d, by one product with V.

        D is the whole block of distances: it shows which pairs are so close that their differences
        are needed.
        """
        X, Y = (as_dense(Z).astype(np.float64, copy=False) for Z in (self.X, self.Y))
        near: Any = 0.0
        if self.in_doubt:
            close = ~(np.abs(D) >= self.doubt_x[:, None] + self.doubt_y)
            if close.mean() > _MOST:
                columns = zip(X.T, Y.T, strict=True)
                return np.array([np.vdot(V, np.subtract.outer(x, y) ** 2) for x, y in columns])
            i, j = np.nonzero(close)
            for some in _some(len(i), X.shape[1]):
                near = near + V[i[some], j[some]] @ np.square(X[i[some]] - Y[j[some]])
            V = np.where(close, 0, V)
        origin = centre(Y)
        X, Y = X - origin, Y - origin
        own = V.sum(axis=1) @ np.square(X) + V.sum(axis=0) @ np.square(Y)
        return np.asarray(own - 2 * np.einsum("ij,ij->j", X, V @ Y) + near)


def centre(X: np.ndarray) -> np.ndarray:
    """A point amid the samples that outliers do not move: medians over some of them."""
    n = len(X)
    some = X if n <= _CENTRE_SAMPLES else X[evenly(n, _CENTRE_SAMPLES)]
    middle = len(some) // 2
    return np.partition(some, middle, axis=0)[middle]


def _without_offset(X: Any, Y: Any) -> tuple[Any, Any] | None:
    """CSR matrices minus the common offset of columns without zeros; None if there is none.

    Distances stay the same, and so do zeros: other columns are left alone.
    """
    same, d = X is Y, X.shape[1]
    if not (sp.issparse(X) and sp.issparse(Y)) or d != Y.shape[1]:
        return None
    if not (X.has_canonical_format and Y.has_canonical_format):
        return None
    full = np.ones(d, bool)
    for Z in (X, Y):
        full &= np.bincount(Z.indices, minlength=d) == Z.shape[0]
    columns = np.flatnonzero(full)
    if not len(columns) or not Y.shape[0]:
        return None
    offset = np.zeros(d, Y.dtype)
    some = evenly(Y.shape[0], _CENTRE_SAMPLES)
    offset[columns] = centre(Y[some][:, columns].toarray())
    if not offset.any() or not np.all(np.isfinite(offset)):
        return None

    def shifted(Z: Any) -> Any:
        return type(Z)((Z.data - offset[Z.indices], Z.indices, Z.indptr), shape=Z.shape)

    left = shifted(X)
    return left, left if same else shifted(Y)


def _some(pairs: int, width: int) -> list[slice]:
    """Pairs of vectors of this width, as many at a time as may be written out."""
    step = max(1, _NUMBERS // width)
    return [slice(start, start + step) for start in range(0, pairs, step)]


def median_distance(X: Vectors) -> float:
    """The median Euclidean distance between distinct samples (of at most 1000, evenly spaced)."""
    n = length(X)
    if n > _MEDIAN_SAMPLES:
        X = take(X, evenly(n, _MEDIAN_SAMPLES))
    sizes = np.asarray(as_dense(abs(X).max(axis=1)), dtype=np.float64)
    typical = np.median(sizes[sizes > 0]) if sizes.any() else 0.0  # outliers have no say
    X, unit = _squarable(X, float(typical))
    D = SquaredDistances(X, X, exact=True)(_ALL, _ALL)
    between = D[np.triu_indices(len(D), 1)]
    between = between[between > 0]
    return unit * float(np.median(np.sqrt(between))) if len(between) else 1.0


def variance_scale(X: Vectors) -> float:
    """sqrt(d var(X) / 2): the lengthscale of scikit-learn's ``gamma="scale"``."""
    X, unit = _squarable(X, float(abs(X).max()))
    if sp.issparse(X):
        count, entries = np.prod(X.shape, dtype=float), X.data.astype(np.float64)
        mean = entries.sum() / count
        zeros = count - len(entries)
        variance = float((np.square(entries - mean).sum() + zeros * mean**2) / count)
    else:
        variance = float(np.var(X, dtype=np.float64))
    return unit * float(np.sqrt(X.shape[1] * variance / 2)) if variance > 0 else 1.0


def _squarable(X: Vectors, size: float) -> tuple[Vectors, float]:
    """X, with numbers of about this size, in a unit in which they have squares; that unit."""
    if size == 0 or 1 / SQUARABLE <= size <= SQUARABLE:
        return X, 1.0
    unit = float(np.exp2(np.floor(np.log2(size))))
    with np.errstate(over="ignore"):
        return (X.astype(np.float64, copy=False) / unit).astype(X.dtype), unit
