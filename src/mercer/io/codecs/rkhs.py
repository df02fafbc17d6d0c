"""Pairs of functions that write and read functions, operators and paths of solutions."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from ..states import is_finite
from .kinds import Node, Reader, Unreadable, Writer, decodes, encodes

_PATH = ("alphas", "coefs", "dof", "loo", "gcv")


def _named(value: Any, names: tuple[str, ...], write: Writer, place: str) -> dict[str, Node]:
    return {name: write(getattr(value, name), f"{place}.{name}") for name in names}


# ---- functions -----------------------------------------------------------------------------
@encodes("mercer.RKHSFunction")
def _function(value: Any, write: Writer, place: str) -> Node:
    named = () if value.columns is None else ("columns",)
    return {"type": "function", **_named(value, ("kernel", "points", "coef", *named), write, place)}


@decodes("function")
def _(node: dict, read: Reader) -> Any:
    from ...rkhs.function import RKHSFunction

    columns = read(node["columns"]) if "columns" in node else None
    kernel, points, coef = (read(node[name]) for name in ("kernel", "points", "coef"))
    return RKHSFunction(kernel, points, coef, columns=columns)


_MADE_OF = {  # classes by their tag: where they are, and what their constructors take
    "fourier space": ("mercer.rkhs.fourier", "FourierSpace", ("kernel",)),
    "family": ("mercer.rkhs.frames", "Family", ("functions",)),
    "features": ("mercer.rkhs.frames", "Features", ("kernel", "X", "center")),
}


def _register(tag: str, module: str, name: str, parts: tuple[str, ...]) -> None:
    @encodes(f"mercer.{name}")
    def _(value: Any, write: Writer, place: str) -> Node:
        return {"type": tag, **_named(value, parts, write, place)}

    @decodes(tag)
    def _(node: dict, read: Reader) -> Any:
        return getattr(import_module(module), name)(*(read(node[part]) for part in parts))


for _tag, _about in _MADE_OF.items():
    _register(_tag, *_about)


# ---- operators -----------------------------------------------------------------------------
@encodes("mercer.HSOperator")
def _operator(value: Any, write: Writer, place: str) -> Node:
    """Terms name their frames by number: an operator is known by them to be self-adjoint."""
    frames = {id(frame): frame for term in value.terms for frame in (term.left, term.right)}
    number = {key: i for i, key in enumerate(frames)}
    return {
        "type": "operator",
        "frames": [write(frame, place) for frame in frames.values()],
        "terms": [[number[id(t.left)], number[id(t.right)]] for t in value.terms],
        "weights": [write(t.weights, place) for t in value.terms],
    }


@decodes("operator")
def _(node: dict, read: Reader) -> Any:
    from ...rkhs.frames import Frame
    from ...rkhs.operator import HSOperator, Term

    frames, weights = read(node["frames"]), read(node["weights"])
    if not all(isinstance(frame, Frame) for frame in frames):
        raise Unreadable("contains an operator whose parts are not functions.")
    pairs = zip(node["terms"], weights, strict=True)
    terms = [Term(frames[i], w, frames[j]) for (i, j), w in pairs]
    for left, w, right in terms:
        if not is_finite(w) or not np.shape(w) == (left.size,) == (right.size,):
            raise Unreadable("contains an operator whose weights do not match its functions.")
    return HSOperator(*terms)


# ---- paths ---------------------------------------------------------------------------------
@encodes("mercer.RidgePath")
def _path(value: Any, write: Writer, place: str) -> Node:
    """The Gram operator is made again."""
    parts = _named(value, (*_PATH, "X", "plan"), write, place)
    return {"type": "path", **parts, "kernel": write(value.gram.kernel, f"{place}.gram.kernel")}


@decodes("path")
def _(node: dict, read: Reader) -> Any:
    from ...tuning.path import RidgePath

    named = {name: read(node[name]) for name in _PATH}
    kernel, X, plan = (read(node[name]) for name in ("kernel", "X", "plan"))
    gram = kernel.gram(X, plan)
    m = len(named["alphas"])
    shapes = {name: (m, len(gram)) if name == "coefs" else (m,) for name in _PATH}
    for name, shape in shapes.items():
        value = named[name]
        if not is_finite(value) or np.shape(value)[: len(shape)] != shape or np.ndim(value) > 3:
            raise Unreadable(f"holds a path whose {name} are not finite, or do not fit the rest.")
    return RidgePath(**named, gram=gram, X=X, plan=plan)
