r"""The structure of a kernel: functions of distances and inner products, combined by the algebra.

A kernel may state its formula on prepared samples (:meth:`~mercer.kernels.base.Kernel.formula`). It
is a tree. Its leaves, the atoms, are

.. math:: g(w\, d(x, y)), \qquad d \in \{\|x - y\|^2,\ \|x - y\|_1,\ \langle x, y \rangle\},

of coordinates that have been divided by lengthscales; its nodes are constants, sums, products,
integer powers, and products f(x) k(x, y) f(y). Code that needs more than values reads the formula
(such as :class:`~mercer.kernels.evaluator.Evaluator`), and never checks classes.

>>> import numpy as np
>>> from mercer import Gaussian, Matern
>>> kernel = 2 * Gaussian(0.5) + Matern(1.0, nu=2.5)
>>> formula = kernel.formula(kernel.prepare(np.zeros((3, 2))))
>>> [(atom.metric, atom.profile.name, atom.profile.parameters) for atom in formula.atoms()]
[('squared', 'exp', ()), ('squared', 'matern', (('nu', 2.5),))]
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator
from copy import copy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..data import column_key, take
from .vectors.base import squared_norms

SQUARED, TAXICAB, INNER = "squared", "taxicab", "inner"
_DIGITS = ".10g"  # to which directions of lengthscales have to agree

Block = Any  # an array, or a number that stands for a constant one
Dual = tuple[Block, Block]  # values, and derivatives


@dataclass(frozen=True)
class Profile:
    """A function g(w d) of one number, with a name by which others may know it.

    Parameters
    ----------
    name : str
        What g is, of t = w d: "exp" is exp(t). Equal names and parameters mean the same function.
    parameters : tuple of (str, value)
        What g depends on.
    weight : float
        The factor w of the metric.
    function : callable
        g of an array, which it may overwrite.
    slope : callable, optional
        d/dd of g(w d), from an array of d.
    kinked : bool
        Is g not a smooth function at 0, so that d has to be exact there?
    cusped : bool
        Is the slope infinite at 0?
    spread : callable, optional
        (rng, m) -> m draws of s, if g is a mixture E exp(-s^2 r^2 / 2) of Gaussians, where
        weight r^2 = w d: then s times a standard normal vector is a random frequency of g.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...]
    weight: float
    function: Callable[[np.ndarray], np.ndarray] = field(compare=False)
    slope: Callable[[np.ndarray], np.ndarray] | None = field(default=None, compare=False)
    kinked: bool = False
    cusped: bool = False
    spread: Callable[[np.random.Generator, int], np.ndarray] | None = field(
        default=None, compare=False
    )

    @classmethod
    def of(cls, kernel: Any, weight: float = 1.0, *without: str) -> Profile:
        """That of a kernel with methods ``profile`` and ``slope``, less some of its parameters.

        Its name belongs to the class that defines the method, so a subclass with its own
        ``profile`` is a different function.
        """
        kernel = copy(kernel)  # kernels can change, and formulas do not
        names = [f.name for f in fields(kernel) if f.name not in without]
        owner = next(c for c in type(kernel).__mro__ if "profile" in vars(c))
        return cls(
            vars(owner).get("profile_name", f"{owner.__module__}.{owner.__qualname__}"),
            tuple((name, _fixed(getattr(kernel, name))) for name in names),
            weight,
            kernel.profile,
            kernel.slope,
            getattr(kernel, "kinked", False),
            getattr(kernel, "cusped", False),
            kernel.spread if "spread" in vars(owner) else None,
        )

    def at(self, d: Any) -> np.ndarray:
        """g(w d), of a new array."""
        return self.function(np.multiply(d, self.weight))


class Term(NamedTuple):
    """A product: a number, atoms, and factors f(x) f(y)."""

    weight: float
    atoms: tuple[Atom, ...] = ()
    factors: tuple[np.ndarray, ...] = ()

    def times(self, other: Term) -> Term:
        """The product of two of them."""
        return Term(
            self.weight * other.weight, self.atoms + other.atoms, self.factors + other.factors
        )


class Formula(ABC):
    """k(x, y) on prepared samples x; the same tree, on other samples, gives the samples y."""

    def parts(self) -> tuple[Formula, ...]:
        """What this node combines."""
        return ()

    @abstractmethod
    def map(self, change: Callable[[Atom], Atom], rows: Any = None) -> Formula:
        """The same tree with other atoms, and with some of the factors f(x) only."""

    @abstractmethod
    def diag(self) -> Block:
        """[k(x_i, x_i)], or a number if all are the same."""

    @abstractmethod
    def block(self, other: Formula, see: Callable[[Atom], Block], rows: Any, cols: Any) -> Block:
        """A tile of k(x, y) from fresh tiles of its atoms; ``other`` is the formula of the y."""

    @abstractmethod
    def dual(self, see: Callable[[Atom], Dual]) -> Dual:
        """Values and derivatives, from those of atoms, by the rules of calculus."""

    @abstractmethod
    def terms(self) -> list[Term]:
        """The same function as a sum of products, multiplied out."""

    def nodes(self) -> Iterator[Formula]:
        """The whole tree, from left to right."""
        yield self
        for part in self.parts():
            yield from part.nodes()

    def atoms(self) -> Iterator[Atom]:
        """The leaves that are functions of a metric, from left to right."""
        return (node for node in self.nodes() if isinstance(node, Atom))

    def take(self, rows: Any, taken: dict[int, Any] | None = None) -> Formula:
        """The formula of some of the samples.

        Formulas that share points still do if ``taken``, to begin with empty, is given to all.
        """
        known = {} if taken is None else taken

        def some(atom: Atom) -> Atom:
            place = id(atom.points)
            if place not in known:
                known[place] = take(atom.points, rows)
            return replace(atom, points=known[place])

        return self.map(some, rows)

    def under(self, step: Hashable) -> Formula:
        """The formula of samples of which this one sees an image: columns, or values of a map."""
        return self.map(lambda atom: replace(atom, path=(step, *atom.path)))

    def shared(self, known: dict[Hashable, Atom]) -> Formula:
        """The same formula, of the points of atoms that are known by their keys; others are added.

        All formulas have to be on the same samples.
        """

        def known_by(atom: Atom) -> Atom:
            first = known.setdefault(atom.key, atom)
            unit = first.length if first.unit is None else first.unit
            return replace(atom, points=first.points, unit=unit)

        return self.map(known_by)

    def scaled_atom(self) -> tuple[float, Atom] | None:
        """c and the atom, if this is c times an atom."""
        return None

    @property
    def dtype(self) -> np.dtype:
        """The precision of the samples."""
        parts = [atom.points.dtype for atom in self.atoms()]
        return np.result_type(*parts) if parts else np.dtype(np.float64)


@dataclass(frozen=True, eq=False)
class Atom(Formula):
    """g(w d(x, y)), a function of one distance, or of the inner product.

    Parameters
    ----------
    metric : "squared", "taxicab" or "inner"
        d: the squared Euclidean distance, the sum of absolute differences, the inner product.
    points : array or CSR matrix
        The coordinates, divided by ``unit`` times the direction of the lengthscales.
    profile : Profile
        The function g.
    scale : float or array
        The lengthscales of this atom.
    path : tuple
        What was done to samples to get coordinates, outermost first: columns, maps.
    unit : float, optional
        The first lengthscale that ``points`` were divided by; that of this atom, by default.
    """

    metric: str
    points: Any
    profile: Profile
    scale: Any = 1.0
    path: tuple[Hashable, ...] = ()
    unit: float | None = None

    @cached_property
    def key(self) -> Hashable:
        """Equal for atoms, on the same samples, of distances that differ by a factor at most."""
        scales = np.ravel(np.asarray(self.scale, dtype=float))
        ratios = [format(ratio, _DIGITS) for ratio in scales / scales[0]]
        return self.metric, self.path, tuple(ratios) if len({*ratios}) > 1 else ()

    @property
    def length(self) -> float:
        """The first of the lengthscales."""
        return float(np.ravel(self.scale)[0])

    @property
    def weight(self) -> float:
        """What d of ``points`` is multiplied by, the weight of the profile included."""
        if self.metric == INNER or self.unit is None:
            return self.profile.weight
        factor = self.unit / self.length
        return self.profile.weight * (factor**2 if self.metric == SQUARED else factor)

    def map(self, change: Callable[[Atom], Atom], rows: Any = None) -> Formula:
        return change(self)

    def diag(self) -> Block:
        if self.metric != INNER:
            return np.float64(self.profile.at(np.zeros(1))[0])
        return self.profile.at(squared_norms(self.points).astype(self.points.dtype))

    def block(self, other: Formula, see: Callable[[Atom], Block], rows: Any, cols: Any) -> Block:
        return see(self)

    def dual(self, see: Callable[[Atom], Dual]) -> Dual:
        return see(self)

    def terms(self) -> list[Term]:
        return [Term(1.0, (self,))]

    def scaled_atom(self) -> tuple[float, Atom] | None:
        return 1.0, self


def prepared_by(kernel: Any, owner: type) -> tuple[Hashable, ...]:
    """The path of coordinates that a kernel prepares as a class does; one of its own otherwise."""
    return () if type(kernel).prepare is owner.prepare else (object(),)  # type: ignore[attr-defined]


def columns_step(columns: Any) -> Hashable:
    """Columns as a step of a path: equal only where the same columns are meant."""
    key = column_key(columns)
    several = [key.start, key.stop, key.step] if isinstance(key, slice) else key
    several = several if isinstance(several, list) else [several]
    return type(key), *((type(label), label) for label in several)


def _fixed(value: Any) -> Any:
    """A parameter that does not change, and can be compared."""
    return tuple(np.asarray(value).tolist()) if isinstance(value, list | np.ndarray) else value
