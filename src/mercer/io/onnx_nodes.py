"""Kernels as ONNX nodes, from their formula: sums and products need no rules of their own.

Distances and inner products to the centres are computed once for all kernels that share them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import sqrt
from typing import Any

import numpy as np

from ..data import as_dense, as_vectors, is_frame
from ..exceptions import DomainError
from ..frames import names as names_of
from ..kernels.base import Kernel
from ..kernels.formula import INNER, SQUARED, Atom, Formula, Profile
from ..kernels.formula_nodes import Number, Plus, Raised, Rescale, Times

_LOST = 1e-11  # of kernel values, by rounding
_FAR = 1e300  # beyond which the roots of distances no longer matter


class Nodes:
    """A graph under construction: nodes and constants, each of which occurs once.

    Parameters
    ----------
    onnx : module
        The package.
    columns : int
        The number of centres, and of the columns of kernel matrices.
    """

    def __init__(self, onnx: Any, columns: int) -> None:
        self.onnx, self.columns = onnx, columns
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._known: dict[Hashable, str] = {}

    def op(
        self, kind: str, *inputs: str, out: str = "", more: tuple[str, ...] = (), **attributes: Any
    ) -> str:
        """The name of the first output of a node; ``more`` are the names of its other outputs."""
        key = (kind, inputs, out, repr(sorted(attributes.items())))
        if key not in self._known:
            name = out or f"{kind.lower()}{len(self.nodes)}"
            made = self.onnx.helper.make_node(kind, inputs, [name, *more], **attributes)
            self.nodes.append(made)
            self._known[key] = name
        return self._known[key]

    def constant(self, value: Any, dtype: Any = np.float64) -> str:
        """The name of a number or an array, of strings as well."""
        array = np.asarray(value, dtype=dtype)
        key = ("constant", array.shape, array.dtype.str, repr(array.tolist()))
        if key not in self._known:
            name = f"c{len(self.constants)}"
            self.constants.append(self.onnx.numpy_helper.from_array(array, name))
            self._known[key] = name
        return self._known[key]

    def scaled(self, x: str, factor: float) -> str:
        """A product of a kernel matrix with a number."""
        return x if factor == 1 else self.op("Mul", x, self.number(factor))

    def number(self, value: float) -> str:
        """The name of a number, once for each column.

        Runtimes fold single numbers into matrix products, in single precision.
        """
        return self.constant(np.full((1, self.columns), value))


class KernelNodes:
    """Writes the matrix [k(x_i, z_j)], for new samples x in the rows of an input.

    Parameters
    ----------
    graph : Nodes
        Where to write.
    points : data
        The centres z.
    """

    def __init__(self, graph: Nodes, points: Any) -> None:
        self.graph = graph
        self.columns = list(points.columns) if is_frame(points) else None
        self.points = points
        self.width = np.shape(points)[1] if np.ndim(points) != 1 else 1

    def matrix(self, kernel: Kernel) -> str:
        """The values of a kernel; rejected where they cannot be written as ONNX."""
        formula = kernel.formula(kernel.prepare(self.points))
        if formula is None:
            raise DomainError(
                f"to_onnx: {kernel!r} is not a function of distances or inner products of vectors; "
                f"use mercer.save for this model."
            )
        if not any(formula.atoms()):
            raise DomainError(f"to_onnx: {kernel!r} is constant for all samples.")
        return self.written(formula)

    def written(self, formula: Any) -> str:
        """A node of a formula."""
        return _WRITERS[type(formula)](self, formula)

    def atom(self, atom: Atom) -> str:
        """g(w d(x, z))."""
        made = PROFILES.get(atom.profile.name)
        X, Z = self.sides(atom)
        exact = atom.metric == SQUARED and _cancels(atom.profile, Z)
        metric = KernelNodes.differences if exact else _METRICS[atom.metric]
        t = self.graph.scaled(metric(self, X, Z), atom.profile.weight)
        found = None if made is None else made(self.graph, t, **dict(atom.profile.parameters))
        if found is None:
            raise DomainError(
                f"to_onnx: {_shown(atom.profile)} cannot be expressed in ONNX operators."
            )
        return found

    def sides(self, atom: Atom) -> tuple[str, np.ndarray]:
        """The coordinates that an atom sees: those of new samples, by name, and of the centres."""
        places = np.arange(self.width)
        for step in atom.path:
            places = places[self.chosen(step)]
        X = "X"
        if atom.path:
            X = self.graph.op("Gather", X, self.graph.constant(places, np.int64), axis=1)
        Z = self.points if self.columns is None else self.points[[self.columns[p] for p in places]]
        Z = np.asarray(as_dense(as_vectors(Z, "to_onnx")), dtype=float)
        Z = Z if self.columns is not None or not atom.path else Z[:, places]
        scale = np.ravel(np.asarray(atom.scale, dtype=float))
        if atom.metric == INNER:
            return X, Z / scale**2
        if np.any(scale != 1):
            X = self.graph.op("Div", X, self.graph.constant(scale))
        return X, Z / scale

    def chosen(self, step: Any) -> Any:
        """Places of the columns that a step of a path means."""
        if not isinstance(step, tuple) or not isinstance(step[0], type):
            raise DomainError(
                "to_onnx: a kernel of this model applies a function to the samples, which cannot "
                "be written as ONNX."
            )
        labels = [label for _, label in step[1:]]
        key = slice(*labels) if step[0] is slice else labels
        if self.columns is None:
            return key
        wanted = names_of(self.points, key) if isinstance(key, slice) else key
        return [self.columns.index(label) for label in wanted]

    # ---- metrics ---------------------------------------------------------------------------
    def squared(self, X: str, Z: np.ndarray) -> str:
        """|x|^2 + |z|^2 - 2 x'z, of coordinates around the mean of the centres."""
        g, middle = self.graph, Z.mean(axis=0)
        X, Z = g.op("Sub", X, g.constant(middle)), Z - middle
        norms = g.op("ReduceSum", g.op("Mul", X, X), g.constant([1], np.int64), keepdims=1)
        both = g.op("Add", norms, g.constant(np.sum(Z**2, axis=1)))
        D = g.op("Add", both, g.op("MatMul", X, g.constant(-2 * Z.T)))
        return g.op("Max", D, g.constant(0.0))

    def differences(self, X: str, Z: np.ndarray) -> str:
        """Sums of squared differences, which take more memory, but do not cancel."""
        D = self.apart(X, Z)
        return self.added(self.graph.op("Mul", D, D))

    def taxicab(self, X: str, Z: np.ndarray) -> str:
        """Sums of absolute differences."""
        return self.added(self.graph.op("Abs", self.apart(X, Z)))

    def apart(self, X: str, Z: np.ndarray) -> str:
        """Differences of all coordinates of all pairs."""
        g = self.graph
        X = g.op("Unsqueeze", X, g.constant([1], np.int64))
        return g.op("Sub", X, g.constant(Z[None]))

    def added(self, D: str) -> str:
        """Sums over coordinates."""
        return self.graph.op("ReduceSum", D, self.graph.constant([2], np.int64), keepdims=0)

    def inner(self, X: str, Z: np.ndarray) -> str:
        """Inner products."""
        return self.graph.op("MatMul", X, self.graph.constant(Z.T))

    def refused(self, formula: Formula) -> str:
        """f(x) k(x, z) f(z) with a function that is known on the centres only."""
        raise DomainError(
            "to_onnx: a normalised or modulated kernel needs factors f(x) for new samples, which "
            "cannot be written as ONNX; use mercer.save, or the kernel without them."
        )


_METRICS: dict[str, Callable[..., str]] = {
    "squared": KernelNodes.squared, "taxicab": KernelNodes.taxicab, "inner": KernelNodes.inner
}  # fmt: skip
_WRITERS: dict[type, Callable[..., str]] = {
    Atom: KernelNodes.atom,
    Number: lambda w, f: w.graph.number(f.value),
    Plus: lambda w, f: w.graph.op("Add", w.written(f.left), w.written(f.right)),
    Times: lambda w, f: w.graph.op("Mul", w.written(f.left), w.written(f.right)),
    Raised: lambda w, f: _power(w.graph, w.written(f.base), f.exponent),
    Rescale: KernelNodes.refused,
}


def _cancels(profile: Profile, Z: np.ndarray) -> bool:
    """Are |x|^2 + |z|^2 - 2 x'z too inexact for a profile near these centres?

    Roots of distances multiply small errors: near 0 that of 1e-16 is 1e-8.
    """
    rooted = profile.name == "laplacian" or dict(profile.parameters).get("nu") == 0.5
    with np.errstate(over="ignore"):
        squares = np.sum((Z - Z.mean(axis=0)) ** 2, axis=1)
        error = float(4 * np.finfo(float).eps * abs(profile.weight) * squares.max(initial=0.0))
    return not (sqrt(error) if rooted else error) <= _LOST


# ---- profiles, of t = w d ------------------------------------------------------------------
def _power(g: Nodes, base: str, exponent: float) -> str:
    return base if exponent == 1 else g.op("Pow", base, g.constant(float(exponent)))


def _falling(g: Nodes, t: str, factor: float = 1.0) -> str:
    """exp(-factor sqrt(t))."""
    return g.op("Exp", g.scaled(g.op("Sqrt", t), -factor))


def _matern(g: Nodes, t: str, nu: float) -> str | None:
    if nu == 0.5:
        return _falling(g, t)
    t = g.op("Min", t, g.constant(_FAR))  # infinity times 0 is no number
    if nu == 1.5:
        return g.op("Mul", g.op("Add", g.op("Sqrt", t), g.constant(1.0)), _falling(g, t))
    if nu == 2.5:
        r = g.op("Add", g.scaled(g.op("Sqrt", t), sqrt(3)), t)
        return g.op("Mul", g.op("Add", r, g.constant(1.0)), _falling(g, t, sqrt(3)))
    return None


def _polynomial(g: Nodes, t: str, degree: float, offset: float, scale: float) -> str:
    inside = g.scaled(t, float(scale))
    inside = inside if offset == 0 else g.op("Add", inside, g.constant(float(offset)))
    return _power(g, inside, degree)


PROFILES: dict[str, Callable[..., str | None]] = {
    "exp": lambda g, t: g.op("Exp", t),
    "laplacian": lambda g, t, **_: _falling(g, t),
    "matern": _matern,
    "rational quadratic": lambda g, t, alpha: _power(
        g, g.op("Add", t, g.constant(1.0)), -float(alpha)
    ),
    "linear": lambda g, t: t,
    "polynomial": _polynomial,
    "exponential": lambda g, t, scale: g.op("Exp", g.scaled(t, float(scale))),
    "binomial": lambda g, t, alpha: _power(g, g.op("Sub", g.constant(1.0), t), -float(alpha)),
}


def _shown(profile: Profile) -> str:
    values = ", ".join(f"{name}={value}" for name, value in profile.parameters)
    return f"the function {profile.name}({values})"
