"""Entries of K from differences of coordinates, for weighted sums over all pairs.

Sums in which every entry has its own weight, so that products with K do not help, are computed tile
by tile: derivatives with respect to hyper-parameters, quadratic forms. The common parts of their
kernels are here: the parts of a formula, profiles with their derivatives, and the code that
computes distances from differences, without cancellation.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ...kernels.formula import INNER, SQUARED, Atom, Formula, Profile
from ...kernels.vectors.distances import centre
from .functions import LOG2E
from .torch_ import put

_LARGE = "1e30"  # a distance that every profile still takes
_TINY = "1e-18"  # beside a root that may be 0, which is then multiplied by 0
_LN2 = log(2)


class Taken(NamedTuple):
    """A formula as a sum of products of atoms; equal atoms occur once.

    Attributes
    ----------
    atoms : list of Atom
    terms : list of (float, tuple of int)
        The weight of each product, and its atoms by number.
    """

    atoms: list[Atom]
    terms: list[tuple[float, tuple[int, ...]]]

    @classmethod
    def of(cls, formula: Formula) -> Taken:
        """That of a formula whose terms have no factors f(x)."""
        atoms: dict[int, tuple[int, Atom]] = {}
        terms = []
        for term in formula.terms():
            for atom in term.atoms:
                atoms.setdefault(id(atom), (len(atoms), atom))
            terms.append((term.weight, tuple(atoms[id(atom)][0] for atom in term.atoms)))
        return cls([atom for _, atom in atoms.values()], terms)


class Numbers:
    """Numbers of a formula, as arguments of a kernel: it is compiled once for all of them.

    Attributes
    ----------
    values : list of float
        p0, p1, ...
    """

    def __init__(self) -> None:
        self.values: list[float] = []

    def __call__(self, value: float) -> str:
        """The name of one more number."""
        self.values.append(float(value))
        return f"p{len(self.values) - 1}"

    @property
    def names(self) -> str:
        """All names, each with a comma after it."""
        return "".join(f"p{k}, " for k in range(len(self.values)))


class Change(NamedTuple):
    """A profile g as an expression of t, its derivative, and those by its parameters."""

    value: str
    slope: str
    parameters: dict[str, str]


Number = Callable[[float], str]


def change(profile: Profile, t: str, number: Number = repr) -> Change | None:
    """What is known of a profile of ``t``, the name of a variable; None where that is nothing.

    Expressions use ``tl.exp2``, ``tl.log2`` and ``tl.sqrt``, so that PyTorch can evaluate them as
    well as Triton. ``number`` makes numbers that may change parts of expressions.
    """
    made = _CHANGES.get(profile.name)
    try:
        return None if made is None else made(t, number, **dict(profile.parameters))
    except (TypeError, KeyError):  # other parameters than those that are known here
        return None


def _exp(exponent: str) -> str:
    return f"tl.exp2({LOG2E} * ({exponent}))"


def _rough(t: str, number: Number, **_: Any) -> Change:
    decay = _exp(f"-tl.sqrt({t})")
    return Change(decay, f"(-0.5 * {decay} / (tl.sqrt({t}) + {_TINY}))", {})


def _matern(t: str, number: Number, nu: float) -> Change:
    if nu == 0.5:
        return _rough(t, number)
    root = {1.5: f"tl.sqrt({t})", 2.5: f"{sqrt(3)} * tl.sqrt({t})"}[float(nu)]
    decay, linear = _exp(f"-{root}"), f"(1.0 + {root})"
    if nu == 1.5:
        return Change(f"{linear} * {decay}", f"(-0.5 * {decay})", {})
    return Change(f"(1.0 + {root} + {t}) * {decay}", f"(-0.5 * {linear} * {decay})", {})


def _powers(t: str, number: Number, alpha: float, sign: str) -> Change:
    """(1 + t)^-alpha, or (1 - t)^-alpha."""
    power, base = number(alpha), f"tl.log2(1.0 {sign} {t})"
    whole = f"tl.exp2(-{power} * {base})"
    slope = f"({'-' if sign == '+' else ''}{power} * tl.exp2((-{power} - 1.0) * {base}))"
    return Change(whole, slope, {"alpha": f"({-_LN2} * {base} * {whole})"})


def _polynomial(t: str, number: Number, degree: float, offset: float, scale: float) -> Change:
    factor = number(scale)
    base = f"({t} * {factor} + {number(offset)})"
    lower = " * ".join([f"{float(degree)}", *[base] * (int(degree) - 1)])
    whole = " * ".join([base] * int(degree)) or "1.0"
    by = {"offset": f"({lower})", "scale": f"({t} * {lower})"}
    return Change(f"({whole})", f"({factor} * {lower})", by)


def _exponential(t: str, number: Number, scale: float) -> Change:
    factor = number(scale)
    whole = _exp(f"{factor} * {t}")
    return Change(whole, f"({factor} * {whole})", {"scale": f"({t} * {whole})"})


# Profiles with their derivatives by t and by parameters; of those that ``source.PROFILES`` has.
_CHANGES: dict[str, Callable[..., Change]] = {
    "exp": lambda t, number: Change(_exp(t), _exp(t), {}),
    "laplacian": _rough,
    "matern": _matern,
    "rational quadratic": lambda t, number, alpha: _powers(t, number, alpha, "+"),
    "linear": lambda t, number: Change(t, "1.0", {}),
    "polynomial": _polynomial,
    "exponential": _exponential,
    "binomial": lambda t, number, alpha: _powers(t, number, alpha, "-"),
}


def constants(profile: Profile) -> dict[str, float]:
    """The parameters of a profile that are numbers."""
    return {name: float(v) for name, v in profile.parameters if isinstance(v, Real)}


class Coordinates:
    """Coordinates of atoms on a device, in a precision, a row for each; those they share once."""

    def __init__(self, device: str, dtype: Any) -> None:
        self.device, self.dtype = device, dtype
        self._known: dict[Any, tuple[Any, Any]] = {}

    def of(self, atom: Atom) -> Any:
        """Those of an atom; distances are of points that were moved to their centre."""
        key = id(atom.points), atom.metric == INNER
        if key not in self._known:
            points = np.asarray(atom.points, np.float64)
            if atom.metric != INNER and len(points):
                points = points - centre(points)
            self._known[key] = put(points.T, self.device, self.dtype), atom.points
        return self._known[key][0]


def distance_lines(number: int, atom: Atom, weight: str) -> list[str]:
    """The lines that compute t of an atom for a tile with rows i and columns j of n samples."""
    metric, width = atom.metric, atom.points.shape[1]
    step = {SQUARED: "u * u", INNER: "x[:, None] * y[None, :]"}.get(metric, "tl.abs(u)")
    cut = "s" if metric == INNER else f"tl.minimum(s, {_LARGE})"
    return [
        "s = tl.zeros((BM, BN), tl.float32)",
        f"for at in range({width}):",
        *("    " + line for line in difference_lines(number)),
        f"    s += {step}",
        f"t{number} = {cut} * {weight}",
    ]


def difference_lines(number: int) -> list[str]:
    """The lines that read a coordinate of both samples of all pairs, and u, their difference."""
    return [
        f"x = tl.load(c{number} + at * n + i, mask=i < n, other=0.0)",
        f"y = tl.load(c{number} + at * n + j, mask=j < n, other=0.0)",
        "u = x[:, None] - y[None, :]",
    ]
