"""How values become descriptions in a file, and back: by pairs of functions, one per type.

An encoder turns a value into a node: JSON that is the value itself, a list of nodes, or a dict
whose "type" names the decoder. Arrays are put aside by the writer and fetched by the reader.
Nothing that a node says is imported or called, except constructors in the lists of
``objects.py``. Samples of other kinds are stored as their kind says (:mod:`mercer.kinds`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from ...kinds import Stored, registered

Node = Any


class Unreadable(ValueError):
    """What is wrong with a file, without its name."""


class Writer(Protocol):
    """From values to nodes; ``place`` says where we are, for errors."""

    def __call__(self, value: Any, place: str) -> Node:
        """The node of a value inside another one."""

    def array(self, value: np.ndarray) -> int:
        """Puts an array aside, and returns its number."""


class Reader(Protocol):
    """From nodes to values."""

    def __call__(self, node: Node) -> Any:
        """The value of a node inside another one."""

    def array(self, number: Any) -> np.ndarray:
        """The array of a number."""

    def check_shape(self, shape: Any) -> None:
        """Refuse the shape of an array that is longer than the file is large."""


ENCODERS: dict[str, Callable[[Any, Writer, str], Node]] = {}
DECODERS: dict[str, Callable[[dict[str, Node], Reader], Any]] = {}
ESTIMATOR = "mercer.BaseEstimator"  # what has a ``saved_state``


def encodes(*types: str) -> Callable[[Any], Any]:
    """Registers a function (value, write, place) -> node for types named "package.Class"."""

    def register(function: Any) -> Any:
        ENCODERS.update(dict.fromkeys(types, function))
        return function

    return register


def decodes(tag: str) -> Callable[[Any], Any]:
    """Registers a function (node, read) -> value for nodes of a type."""
    return lambda function: DECODERS.setdefault(tag, function)


def encode(value: Any, write: Writer, place: str) -> Node:
    """The node of a value, by the first of its classes that has an encoder."""
    if hasattr(type(value), "saved_state"):
        return ENCODERS[ESTIMATOR](value, write, place)
    for base in type(value).__mro__[:-1]:
        known = f"{base.__module__.partition('.')[0]}.{base.__qualname__}"
        encoder = ENCODERS.get(known)
        if encoder is not None:
            return encoder(value, write, place)
        for stored in _all_stored():
            if known in stored.types:
                return _encode_parts(value, stored, write, place)
    name = type(value).__name__
    if type(value).__module__.partition(".")[0] == "mercer":
        raise ValueError(f"cannot save {place}: this version does not store a {name}.")
    what = f"a {name}"
    if callable(value):
        what = "a class" if isinstance(value, type) else "a function"
    raise ValueError(
        f"cannot save {place}: it is {what}, and only numbers, strings, arrays, tables and "
        f"mercer's own objects are stored, never code."
    )


def decode(node: Node, read: Reader) -> Any:
    """The value of a node."""
    if isinstance(node, list):
        for i, item in enumerate(node):  # in place: a second list would double the memory
            node[i] = read(item)
        return node
    if not isinstance(node, dict):
        return node
    decoder = DECODERS.get(str(node.get("type")))
    if decoder is not None:
        return decoder(node, read)
    for stored in _all_stored():
        if stored.tag == node.get("type"):
            return _decode_parts(node, stored, read)
    raise Unreadable(
        f"holds a {node.get('type')!r}, which this version does not know; if it is a kind of data "
        f"of your own, import the module that registers it first."
    )


def _encode_parts(value: Any, stored: Stored, write: Writer, place: str) -> Node:
    parts = stored.parts(value)
    if stored.tag in DECODERS or "type" in parts:
        raise ValueError(
            f"cannot save {place}: the tag {stored.tag!r} of its kind, or a part called 'type', "
            f"means something else in files; choose another name."
        )
    return {"type": stored.tag, **{name: write(part, place) for name, part in parts.items()}}


def _decode_parts(node: dict[str, Node], stored: Stored, read: Reader) -> Any:
    parts = {name: read(part) for name, part in node.items() if name != "type"}
    try:
        return stored.build(**parts)
    except ValueError as error:
        raise Unreadable(f"holds {str(error).rstrip('.')}.") from None


def _all_stored() -> list[Stored]:
    return [each for kind in registered() for each in kind.stored]
