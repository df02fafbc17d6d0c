"""Kinds of data: their facts, and how their samples are written to files.

A kind is registered where its kernels are: each folder of :mod:`mercer.kernels` registers its own
in ``kind.py``, and so does a package of yours (:func:`mercer.kernels.register_kind`). The calculus
of properties, error messages, tables and files use the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

_SHIPPED = {  # folders of kernels, and the kind that each of them is about
    "strings": "strings",
    "labels": "labels",
    "series": "series",
    "trees": "trees",
    "graphs": "graphs",
    "sets": "sets",
    "distributions": "bags",
    "vectors": "vectors",
    "rankings": "rankings",
    "fuzzy": "fuzzy_sets",
}
_KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class Stored:
    """How objects of some types are saved to files and recreated: as parts that can be stored.

    Attributes
    ----------
    tag : str
        Their name in files.
    types : tuple of str
        The types, as ``"package.Class"``, with the package as it begins: ``"nltk.Tree"``. They are
        not imported; subclasses count, too.
    parts : callable
        From an object to a dict of parts: numbers, strings, arrays, lists, and further objects that
        can be stored. Names are those of the parameters of ``build``.
    build : callable
        From these parts, given by their names, to an object. Files may be damaged or malicious: it
        must raise a ValueError if parts do not fit together, and must not execute anything that
        they name.
    """

    tag: str
    types: tuple[str, ...]
    parts: Callable[[Any], dict[str, Any]]
    build: Callable[..., Any]


@dataclass(frozen=True)
class Kind:
    """A kind of data, and its known properties.

    All facts are False unless they are known.

    Attributes
    ----------
    name : str
        Its name, one word: ``"strings"``.
    words : str
        The set of all such samples, in words: ``"series of points in R^d"``.
    hint : str
        A kernel to recommend for such data, as code.
    discrete : bool
        Whether it is a countable set in which no sample is near another.
    infinite : bool
        Whether it has infinitely many samples.
    compact : bool
        Whether it is a compact set.
    euclidean : bool
        Whether it is all of R^d.
    faithful : bool
        Whether two different samples are two points of the set. (Not so on a circle, where x and x
        + period are the same point.)
    numeric : bool
        Whether samples are the rows of an array of numbers, with the same number of columns.
    ragged : bool
        Whether samples may be arrays of different lengths, so that columns of an array are not
        features.
    hashable : bool
        Whether samples are hashable objects, equal if and only if they are the same point.
    role : {"number", "text", "label", ""}
        The role of the columns of a table with such samples.
    stored : tuple of Stored
        How samples are saved to files, if they are not numbers, strings, arrays or lists.
    """

    name: str
    words: str
    hint: str = ""
    discrete: bool = False
    infinite: bool = False
    compact: bool = False
    euclidean: bool = False
    faithful: bool = False
    numeric: bool = False
    ragged: bool = False
    hashable: bool = False
    role: str = ""
    stored: tuple[Stored, ...] = ()


def register(kind: Kind) -> Kind:
    """Make a kind known. The same one may be registered again, another one of its name may not."""
    if not (isinstance(kind.name, str) and kind.name.isidentifier()):
        raise ValueError(f"the name of a kind of data must be one word, got {kind.name!r}.")
    if not kind.words:
        raise ValueError(
            f"kind {kind.name!r} needs words that describe the set of all such samples."
        )
    known = _KINDS.get(kind.name)
    if known is not None and _facts(known) != _facts(kind):
        raise ValueError(
            f"there already is a kind of data with the name {kind.name!r}: {known.words}."
        )
    for stored in kind.stored:
        for other in _KINDS.values():
            tags = {each.tag for each in other.stored if other.name != kind.name}
            if stored.tag in tags:
                raise ValueError(f"{other.name} are stored as {stored.tag!r} already.")
    _KINDS[kind.name] = kind
    return kind


def registered() -> list[Kind]:
    """All kinds: those of the library, then those that the running program has registered."""
    for folder in _SHIPPED:
        import_module(f"{__package__}.kernels.{folder}.kind")
    order = {name: place for place, name in enumerate(_SHIPPED.values())}
    return sorted(_KINDS.values(), key=lambda kind: order.get(kind.name, len(order)))


def kind_of(name: str) -> Kind:
    """The kind of a name."""
    if name not in _KINDS:
        registered()
    if name not in _KINDS:
        raise ValueError(
            f"there is no kind of data with the name {name!r}; register it, with "
            "mercer.kernels.register_kind."
        )
    return _KINDS[name]


def needed(package: str, what: str) -> Any:
    """A package that the program which wrote a file had too."""
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(f"this file contains {what} of {package}: install it.") from None


def hints() -> str:
    """Which kernel for which kind, as a sentence."""
    known = [kind for kind in registered() if kind.hint]
    verbs = ["use "] + [""] * len(known)
    names = [kind.name.replace("_", " ") for kind in known]
    each = [
        f"for {name} {verb}{kind.hint}"
        for name, kind, verb in zip(names, known, verbs, strict=False)
    ]
    return f"F{', '.join(each)[1:]}."


def _facts(kind: Kind) -> tuple[Any, ...]:
    """The fields in which two equal kinds agree: modules may be loaded twice."""
    tags = tuple((stored.tag, stored.types) for stored in kind.stored)
    return (*(value for name, value in vars(kind).items() if name != "stored"), tags)
