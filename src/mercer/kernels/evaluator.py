"""Evaluation of formulas tile by tile: distances shared by several atoms are computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ..data import as_dense
from .base import Tile
from .formula import INNER, SQUARED, Atom, Formula
from .vectors.base import check_widths, inner_products
from .vectors.distances import SquaredDistances, centre

if TYPE_CHECKING:
    from .vectors.bits import DifferingBits

_LARGEST = 1e-6  # of all numbers of a precision: what profiles are functions of is cut beyond


class Evaluator:
    """Tiles of one or several formulas on the CPU.

    Distances are in the precision of the samples. Atoms with the same points and the same metric
    share them: see :meth:`mercer.kernels.formula.Formula.shared`.

    Parameters
    ----------
    rows : list of Formula
        The formulas, on the samples of the rows.
    cols : list of Formula, optional
        The same formulas on the samples of the columns; by default those of the rows.
    dtypes : list, optional
        The precision in which each formula is evaluated; by default that of its samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Matern
    >>> from mercer.kernels.evaluator import Evaluator
    >>> X, known = np.array([[0.0], [1.0], [3.0]]), {}
    >>> kernels = [Gaussian(1.0) + 1, Matern(2.0)]
    >>> formulas = [k.formula(k.prepare(X)).shared(known) for k in kernels]
    >>> len(known)  # distances, for both of them
    1
    >>> for K in Evaluator(formulas)(slice(0, 1), slice(None)):
    ...     print(K.round(4))
    [[2.     1.6065 1.0111]]
    [[1.     0.7849 0.2678]]
    """

    def __init__(
        self,
        rows: Sequence[Formula],
        cols: Sequence[Formula] | None = None,
        dtypes: Sequence[Any] | None = None,
    ) -> None:
        self.rows, self.cols = list(rows), list(rows if cols is None else cols)
        metrics: dict[Any, _Metric] = {}
        self._uses: list[dict[int, _Use]] = []
        for number, (f, g) in enumerate(zip(self.rows, self.cols, strict=True)):
            dtype = np.dtype(np.result_type(f.dtype, g.dtype) if dtypes is None else dtypes[number])
            self._uses.append({})
            for atom, other in zip(f.atoms(), g.atoms(), strict=True):
                place = atom.metric, id(atom.points), id(other.points)
                if place not in metrics:
                    metrics[place] = _Metric(atom.metric, atom.points, other.points)
                # an atom that occurs twice is not the last use of its distances
                self._uses[-1].setdefault(id(atom), _Use(metrics[place], atom, dtype))
        for metric in metrics.values():
            metric.begin()

    def __call__(self, rows: Any, cols: Any) -> Iterator[np.ndarray]:
        """The tile of every formula, one after the other, each a fresh array.

        A formula that consists of constants does not know its samples: its tiles have shape (1, 1).
        """
        kept: dict[_Metric, np.ndarray] = {}
        for f, g, uses in zip(self.rows, self.cols, self._uses, strict=True):

            def see(atom: Atom, uses: dict[int, _Use] = uses) -> np.ndarray:
                use = uses[id(atom)]
                D = kept.get(use.metric)
                if D is None:
                    D = use.metric.distances(rows, cols)
                    if not use.metric.single:
                        kept[use.metric] = D
                return use(D)

            yield np.atleast_2d(f.block(g, see, rows, cols))

    def exponentials(self) -> tuple[Tile, np.ndarray] | None:
        """The distances of whose multiples all formulas are exponentials, and the factors.

        None if they are not, or not in single precision, or if multiples are too large for it.
        """
        uses = [use for some in self._uses for use in some.values()]
        metric = uses[0].metric
        alone = all(isinstance(f, Atom) for f in (*self.rows, *self.cols))
        if not alone or metric.kind == INNER or any(use.metric is not metric for use in uses):
            return None
        if not all(use.decays and use.dtype == np.float32 for use in uses):
            return None
        return metric.distances, np.array([1.0 if metric.weighted else use.weight for use in uses])


def exponents(
    rows: Formula | None, cols: Formula | None, dtype: Any = None
) -> SquaredDistances | DifferingBits | None:
    """The exponents of K, if its formula is the exponential of squared distances.

    None if it is not, or if the distances are those of sparse vectors with more than two values.
    Coordinates are in the precision of the samples, or in another one, taken from a centre first.
    """
    if not isinstance(rows, Atom) or not isinstance(cols, Atom):
        return None
    if rows.metric != SQUARED or rows.profile.name != "exp" or not rows.weight < 0:
        return None
    X, Y = rows.points, cols.points
    from .vectors.bits import DifferingBits, two_values

    values = two_values(X) if Y is X else two_values(X, Y)
    if values is not None:
        return DifferingBits(X, Y, values, rows.weight)
    if sp.issparse(X) or sp.issparse(Y):
        return None
    if dtype is not None and np.result_type(X, Y) != dtype:
        origin, same = centre(Y), Y is X
        X = np.subtract(X, origin).astype(dtype)
        Y = X if same else np.subtract(Y, origin).astype(dtype)
    return SquaredDistances(X, Y, weight=rows.weight)


class _Metric:
    """The distances, or inner products, of two samples, and the atoms that are functions of them.

    Attributes
    ----------
    single : bool
        Is there one atom only, so that distances need not be kept?
    weighted : bool
        Are distances already multiplied by the weight of that atom?
    farthest : float
        A bound of the distances, where they are not.
    """

    def __init__(self, kind: str, X: Any, Y: Any) -> None:
        self.kind, self.X, self.Y = kind, X, Y
        self.uses: list[_Use] = []
        self.weighted, self.farthest = False, 0.0

    def begin(self) -> None:
        """Prepare what all tiles share, once the atoms are known."""
        X, Y, uses = self.X, self.Y, self.uses
        self.single = len(uses) == 1
        if self.kind == INNER:
            self.distances: Tile = lambda rows, cols: inner_products(X[rows], Y[cols])
            return
        kinked = any(use.profile.kinked for use in uses)
        self.weighted = (
            self.kind == SQUARED and self.single and uses[0].dtype == np.result_type(X, Y)
        )
        if self.weighted:  # by the product itself
            self.distances = SquaredDistances(X, Y, uses[0].weight, exact=kinked)
            return
        largest = 2 * max(float(abs(Z).max()) for Z in ((X,) if Y is X else (X, Y)))
        self.farthest = X.shape[1] * largest * (largest if self.kind == SQUARED else 1)
        if self.kind == SQUARED:
            finest = max(abs(use.weight) for use in uses)
            self.distances = SquaredDistances(X, Y, exact=kinked, scale=1 / finest)
        else:
            self.distances = _taxicab(X, Y)


class _Use:
    """An atom as a function of tiles of distances, in a precision."""

    def __init__(self, metric: _Metric, atom: Atom, dtype: np.dtype) -> None:
        self.metric, self.dtype = metric, dtype
        self.profile, self.weight = atom.profile, atom.weight
        self.most = _LARGEST * float(np.finfo(dtype).max) / abs(self.weight)
        metric.uses.append(self)

    @property
    def decays(self) -> bool:
        """Is it the exponential of a negative multiple that needs no bound?"""
        return self.profile.name == "exp" and self.weight < 0 and self.metric.farthest <= self.most

    def __call__(self, D: np.ndarray) -> np.ndarray:
        if self.metric.weighted:
            return self.profile.function(D)
        own = self is self.metric.uses[-1] and D.dtype == self.dtype  # D is not read after that
        T = D if own else np.empty(D.shape, self.dtype)
        if self.metric.farthest > self.most:  # profiles multiply what is far away by 0
            D = np.minimum(D, self.most)
        np.multiply(D, self.weight, out=T, casting="same_kind")
        return self.profile.function(T)


def _taxicab(X: Any, Y: Any) -> Tile:
    check_widths(X, Y)
    dense = [as_dense(Z) for Z in (X, Y)]
    return lambda rows, cols: cdist(dense[0][rows], dense[1][cols], "cityblock")
