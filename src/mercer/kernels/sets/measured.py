"""Kernels on sets by the measure of what two sets share, and of what they do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Rows, Zipped, as_samples, is_frame, length
from ...exceptions import DomainError, not_finite
from ...params import parameter, positive
from ..algebra.metric import MetricGaussian
from ..base import Kernel, Tile, Tiled
from ..calculus import properties as prop
from ..calculus.facts import UNKNOWN
from .boxes import Boxes, boxes
from .kind import SETS
from .masks import Masks, masks
from .members import Members, members, sparse_members

MEASURES = ("natural", "counting", "lebesgue")
Collected = Members | Masks | Boxes


def _is_measure(value: Any) -> str | None:
    wanted = (
        f"one of {', '.join(map(repr, MEASURES))}, or weights >= 0: a dict of elements, or an array"
    )
    if isinstance(value, str):
        return None if value in MEASURES else wanted
    try:
        weights = list(value.values()) if isinstance(value, Mapping) else value
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        return wanted
    fine = weights.ndim > 0 and bool(np.all(np.isfinite(weights)) and np.all(weights >= 0))
    return None if fine else wanted


@dataclass(eq=False, repr=False)
class OnSets(Kernel):
    """What kernels on sets share: a measure, and how sets are read."""

    measure: Any = parameter("natural", check=_is_measure)
    domain = SETS


@dataclass(eq=False, repr=False)
class Intersection(OnSets, Tiled):
    r"""The measure of the intersection of two sets.

    .. math:: k(A, B) = \mu(A \cap B) = \int 1_A\, 1_B\, d\mu

    A sample is one of these, all of a data set in the same form:

    * a ``set`` or ``frozenset`` of strings, numbers, dates, tuples of them, ...;
    * a weighted set: a ``dict`` from elements to weights >= 0, or a row of a sparse matrix, whose
      columns are the elements. It stands for the set of all points (x, u) with 0 <= u < the weight
      of x, so :math:`\mu(A \cap B) = \sum_x \mu(x) \min(a_x, b_x)`;
    * an interval ``(low, high)``, or a box ``(low, high)`` with two corners in R^d; a *list* of
      such pairs is their union, ``[]`` the empty set. An array (n, 2, d) holds n boxes;
    * a boolean mask of points, of a grid or drawn at random: an array of any shape, the same for
      all.

    Parameters
    ----------
    measure : {"natural", "counting", "lebesgue"}, dict or array
        ``"counting"`` is the number of elements (or the sum of weights, or the number of True
        entries); ``"lebesgue"`` the volume of boxes, and for masks the share of True entries, the
        volume if their points fill the unit cube evenly. ``"natural"`` is ``"counting"`` for
        sets with elements, ``"lebesgue"`` for boxes and masks. Or weights: a dict from elements to
        numbers, or for masks an array with a number for each entry.

    Examples
    --------
    >>> from mercer import Intersection
    >>> Intersection()([{"a", "b", "c"}, {"b", "c"}, set()])
    array([[3., 2., 0.],
           [2., 2., 0.],
           [0., 0., 0.]])
    >>> Intersection()([{"a": 0.5, "b": 2.0}, {"b": 1.0}])
    array([[2.5, 1. ],
           [1. , 1. ]])
    >>> Intersection()([(0.0, 2.0), [(1.0, 3.0), (4.0, 5.0)]])
    array([[2., 1.],
           [1., 3.]])
    """

    because = "the inner product of indicator functions in L2(mu)"

    def prepare(self, X: Data) -> Collected:
        return collect(X, self.measure, type(self).__name__)

    def tiles(self, X: Collected, Y: Collected) -> Tile:
        if type(X) is not type(Y):
            kinds = " and ".join(type(side).__name__.lower() for side in (X, Y))
            raise DomainError(f"all sets must be given in the same form, got {kinds}.")
        return X.overlaps(Y)  # type: ignore[arg-type]

    def diag(self, X: Collected) -> np.ndarray:
        return X.sizes().copy()

    def features(self, X: Collected) -> Any | None:
        return X.features()

    def n_features(self, X: Collected) -> int | None:
        return X.n_features

    @property
    def properties(self) -> prop.Properties:
        bounded = UNKNOWN
        if isinstance(self.measure, str) and self.measure == "counting":
            bounded = prop.no("sets may be arbitrarily large")
        return self._stated(
            bounded=bounded,
            continuous=prop.yes("|mu(A n B) - mu(C n B)| is at most mu(A delta C)"),
            positive_diag=prop.no("k of the empty set is 0"),
        )


@dataclass(eq=False, repr=False)
class SymmetricDifference(MetricGaussian, OnSets):
    r"""The Gaussian kernel of the distance of sets: by the measure of their symmetric difference.

    .. math:: k(A, B) = \exp\left(-\frac{\mu(A \mathbin\Delta B)}{2 \ell^2}\right)

    The measure of the symmetric difference is the squared distance of indicator functions,
    :math:`\mu(A \mathbin\Delta B) = \|1_A - 1_B\|^2_{L_2(\mu)}`, hence negative definite, and
    :math:`\exp(-t \mu(A \mathbin\Delta B))` is a kernel for every t > 0. For weighted sets it is
    :math:`\sum_x \mu(x) |a_x - b_x|`.

    Parameters
    ----------
    measure : {"natural", "counting", "lebesgue"}, dict or array
        mu, as for :class:`Intersection`, which also says what samples may be.
    lengthscale : float or "median"
        l; ``"median"`` is the median of the root of mu(A delta B) over (at most 200) sets. See
        :meth:`from_rate` for t.

    Examples
    --------
    >>> from mercer import SymmetricDifference
    >>> SymmetricDifference(lengthscale=1.0)([{"a", "b"}, {"b", "c"}, {"b"}]).round(4)
    array([[1.    , 0.3679, 0.6065],
           [0.3679, 1.    , 0.6065],
           [0.6065, 0.6065, 1.    ]])
    >>> SymmetricDifference.from_rate(1.0)([(0.0, 1.0), (0.5, 1.0)]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])

    References
    ----------
    Fellmann, Blanchet-Scalliet, Helbert, Spagnol & Sinoquet, *Kernel-based sensitivity analysis
    for (excursion) sets*, Technometrics 2024.
    """

    lengthscale: Any = positive("median", choices=("median",))
    because = "the Gaussian kernel of L2(mu), at indicator functions"

    @classmethod
    def from_rate(cls, rate: float, measure: Any = "natural") -> SymmetricDifference:
        """exp(-t mu(A delta B)), given t."""
        if not rate > 0:
            raise ValueError(f"SymmetricDifference: rate must be positive, got {rate!r}.")
        return cls(measure, float(np.sqrt(0.5 / rate)))

    @property
    def space(self) -> Intersection:
        return Intersection(self.measure)

    def resolve(self, X: Data) -> SymmetricDifference:
        if not isinstance(self.lengthscale, str):
            return self
        return replace(self, lengthscale=self.median_distance(self.space, X))

    @property
    def properties(self) -> prop.Properties:
        """As those of the Gaussian kernel on a Hilbert space: see :class:`EmbeddingGaussian`."""
        one = prop.yes("k(A, A) = 1")
        why = "a Gaussian kernel at indicators, which are continuous in A and distinct"
        return self._stated(
            bounded=one,
            continuous=prop.yes("a function of mu(A delta B), the metric of sets"),
            positive_diag=one,
            universal=prop.yes(f"{why} (Christmann & Steinwart)"),
            integrally_pd=prop.yes(f"{why}: moments determine measures there"),
        )


@dataclass(eq=False, repr=False)
class Jaccard(OnSets, Tiled):
    r"""The share that two sets have in common: the Jaccard or Tanimoto index.

    .. math:: k(A, B) = \frac{\mu(A \cap B)}{\mu(A \cup B)}, \qquad k(\emptyset, \emptyset) = 1

    For weighted sets it is the MinMax kernel :math:`\sum_x \mu(x) \min(a_x, b_x) / \sum_x \mu(x)
    \max(a_x, b_x)`. Null sets are empty sets.

    Parameters
    ----------
    measure : {"natural", "counting", "lebesgue"}, dict or array
        mu, as for :class:`Intersection`, which also says what samples may be.

    Examples
    --------
    >>> from mercer import Jaccard
    >>> Jaccard()([{"a", "b", "c"}, {"b", "c"}, {"x"}]).round(4)
    array([[1.    , 0.6667, 0.    ],
           [0.6667, 1.    , 0.    ],
           [0.    , 0.    , 1.    ]])
    >>> Jaccard()([{"a": 1.0, "b": 2.0}, {"b": 1.0}]).round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])

    References
    ----------
    Ralaivola, Swamidass, Saigo & Baldi, *Graph kernels for chemical informatics*, Neural Networks
    2005 (Tanimoto and MinMax kernels); Bouchard, Jousselme & Doré, *A proof for the positive
    definiteness of the Jaccard index matrix*, 2013.
    """

    because = "the probability that the smallest of random numbers, one per point, is the same"

    def prepare(self, X: Data) -> Zipped:
        P = collect(X, self.measure, type(self).__name__)
        with np.errstate(over="ignore"):
            sizes = P.sizes()
        if not np.all(sizes < np.finfo(np.float64).max / 2):  # so that a union is a finite number
            raise not_finite(self)
        return Zipped(P, sizes)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (P, left), (Q, right) = X.parts, Y.parts
        shared = Intersection(self.measure).tiles(P, Q)

        def tile(rows: Rows, cols: Rows) -> np.ndarray:
            inner = shared(rows, cols)
            union = np.add.outer(left[rows], right[cols]) - inner
            empty = union <= 0
            union[empty], inner[empty] = 1, 1
            return np.minimum(inner / union, 1)

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        return np.ones(len(X))

    @property
    def properties(self) -> prop.Properties:
        """Strictly positive definite: the finitely many sets at hand have finitely many atoms.

        With mu of the union U of all, 1 / mu(A u B) is a power series in mu(A^c n B^c) / mu(U) with
        positive coefficients, so the space holds all products of "x in A" with "y_1, ..., y_m not
        in A". Those for an x in a set S and all y outside S are 1 exactly at the sets between
        {x} and S, and by induction over the size of S the space holds the indicator of every S.
        """
        one = prop.yes("k(A, A) = 1")
        return self._stated(
            bounded=one,
            positive_diag=one,
            strictly_pd=prop.yes("its functions tell every set from all others (Bouchard et al.)"),
        )


def collect(X: Data, measure: Any, owner: str) -> Collected:
    """Sets in one of the forms that there are, prepared."""
    X = as_samples(X, owner)
    if is_frame(X):
        raise DomainError(f"{owner} works on a list of sets; pick a column with .on(column).")
    if length(X) == 0:
        raise DomainError(f"{owner}: X has no samples.")
    if sp.issparse(X):
        _require(measure, ("natural", "counting"), Mapping, "sparse rows", owner)
        return sparse_members(X, measure, owner)
    first = X[0] if isinstance(X, np.ndarray | list | tuple) else next(iter(X))
    if isinstance(first, set | frozenset | Mapping):
        _all(X, set | frozenset | Mapping, "sets or dicts", owner)
        _require(measure, ("natural", "counting"), Mapping, "sets of elements", owner)
        return members(X, measure, owner)
    if isinstance(first, np.ndarray) and first.dtype == bool:
        _all(X, np.ndarray, "boolean masks", owner)
        if any(x.dtype != bool for x in X):
            raise DomainError(f"{owner}: all masks must be boolean arrays.")
        _require(measure, MEASURES, np.ndarray | list | tuple, "masks", owner)
        return masks(X, measure, owner)
    if isinstance(X, np.ndarray) and X.dtype != object and X.ndim != 3:
        raise DomainError(
            f"{owner} works on sets, got an array of {X.dtype} with {X.ndim} dimensions: masks are "
            f"boolean (X > 0), n intervals an array (n, 2, 1), weighted sets the rows of a sparse "
            f"matrix."
        )
    _all(X, tuple | list | np.ndarray, "intervals or boxes", owner)
    _require(measure, ("natural", "lebesgue"), (), "boxes", owner)
    return boxes(X, owner)


def _all(X: Data, kinds: Any, what: str, owner: str) -> None:
    for place, x in enumerate(X):
        if not isinstance(x, kinds):
            raise DomainError(
                f"{owner} works on sets, dicts, intervals (low, high), boxes or boolean masks, all "
                f"in one form; these are {what}, but sample {place} is a {type(x).__name__}."
            )


def _require(measure: Any, names: tuple[str, ...], weights: Any, what: str, owner: str) -> None:
    """Refuse a measure that sets of this form do not have."""
    if isinstance(measure, str) and measure in names:
        return
    if isinstance(measure, str) or not isinstance(measure, weights):
        shown = repr(measure) if isinstance(measure, str) else f"a {type(measure).__name__}"
        raise DomainError(
            f"{owner}: measure={shown} is none of {what}; use {' or '.join(map(repr, names))}."
        )
