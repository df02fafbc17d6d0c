"""How values become descriptions in a file, and back: by pairs of functions, one per type.

An encoder turns a value into a node: JSON that is the value itself, a list of nodes, or a dict
whose "type" names the decoder. Arrays are put aside by the writer and fetched by the reader.
Nothing that a node says is imported or called, except constructors in the lists of
``_codecs_objects.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

import numpy as np

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
        package = base.__module__.partition(".")[0]
        encoder = ENCODERS.get(f"{package}.{base.__qualname__}")
        if encoder is not None:
            return encoder(value, write, place)
    name = type(value).__name__
    if type(value).__module__.partition(".")[0] == "mercer":
        raise ValueError(f"cannot save {place}: this version does not store a {name}.")
    what = "a function" if callable(value) else f"a {name}"
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
    if decoder is None:
        raise Unreadable(f"holds a {node.get('type')!r}, which this version does not know.")
    return decoder(node, read)


def needed(package: str, what: str) -> Any:
    """A package that the program which wrote the file had too."""
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(f"this file holds {what} of {package}: install it.") from None
