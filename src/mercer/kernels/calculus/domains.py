"""Domains of kernels: the sets on which properties are stated, and how two such sets combine.

Facts about kinds of data are in a registry (:mod:`mercer.kinds`), to which every folder of kernels
adds its own.

"Strictly positive definite" means nothing without "on which points": ``Gaussian().on("a")`` is
strictly positive definite on column a, but not on rows (a, b). Two kernels in one expression are
therefore compared on their *joint* domain, and each is related to it: does the joint domain hold
fewer points, and does it tell apart points that this kernel merges? Every domain is taken to hold
at least two points.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...kinds import Kind, Stored, kind_of, register


class Relation(NamedTuple):
    """How a joint domain J relates to the domain D of one kernel: by a map J -> D.

    merges: are two points of J one point of D (yes, no, or None for unknown)?
    shrinks: may J miss points of D?
    """

    merges: bool | None
    shrinks: bool


SAME = Relation(merges=False, shrinks=False)
RESTRICTION = Relation(merges=False, shrinks=True)
REFINEMENT = Relation(merges=True, shrinks=False)
PROJECTION = Relation(merges=None, shrinks=False)
UNCLEAR = Relation(merges=None, shrinks=True)


__all__ = ["Domain", "Kind", "Stored", "register_kind"]  # for extensions


@dataclass(frozen=True)
class Domain:
    """A set of samples: the name of its kind, what delimits it, and what it is made of.

    ``parts`` holds the columns of a table with their domains, or the one set that a "subset" lies
    in; ``extent`` holds the radius of a ball, the ends of an interval, the period of a circle.
    """

    kind: str
    detail: str = ""
    parts: tuple[tuple[Hashable, Domain], ...] = ()
    extent: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        kind_of(self.kind)  # raises where there is none

    def __str__(self) -> str:
        if self.kind == "columns":
            names = [_shown(c) for c, _ in self.parts]
            return f"column{'s' * (len(names) > 1)} {', '.join(names)}"
        if self.kind == "subset":
            known = self.whole.kind != "any" or self.whole.detail
            return f"a subset of {self.whole}" if known else "the samples that all parts accept"
        return self.detail or self.facts.words

    @property
    def facts(self) -> Kind:
        """The facts about this kind of data."""
        return kind_of(self.kind)

    @property
    def compact(self) -> bool:
        """Is the set known to be compact?"""
        return self._every(lambda d: d.facts.compact)

    @property
    def euclidean(self) -> bool:
        """Is it all of R^d (possibly named by columns)?"""
        return self._every(lambda d: d.facts.euclidean)

    @property
    def discrete(self) -> bool:
        """Is it a countable set in which no sample is near another?"""
        return self._every(lambda d: d.facts.discrete)

    @property
    def blind(self) -> bool:
        """Is it the domain of kernels that do not depend on the sample?"""
        return self._every(lambda d: d.kind == "everything")

    @property
    def infinite(self) -> bool:
        """Does it surely hold infinitely many points?"""
        if self.kind == "columns":
            return any(inner.infinite for _, inner in self.parts)
        return self.facts.infinite

    @property
    def faithful(self) -> bool:
        """Is a sample known once it is known as a point of this set?"""
        return self.facts.faithful

    @property
    def columns(self) -> frozenset[Hashable]:
        """The columns of a table that are used."""
        return frozenset(column for column, _ in self.parts if self.kind == "columns")

    @property
    def whole(self) -> Domain:
        """The set a subset lies in; the set itself for all others."""
        return self.parts[0][1] if self.kind == "subset" else self

    def _every(self, test: Any) -> bool:
        if self.kind == "columns":
            return all(inner._every(test) for _, inner in self.parts)
        return bool(test(self))

    # ---- relations -----------------------------------------------------------------------
    def relation(self, joint: Domain) -> Relation:
        """How ``joint``, a joint domain of this and another one, relates to this domain."""
        if "subset" in (self.kind, joint.kind):
            return self.whole.relation(joint.whole)._replace(shrinks=True)
        if self == joint:
            return SAME
        if self.kind == "everything":
            return REFINEMENT
        if self.kind == "columns":
            return self._relation_of_columns(joint)
        if self.kind == "any" and joint.faithful:
            return RESTRICTION
        if self.kind == "circle":
            width = _width(joint)
            if width is None:
                return UNCLEAR
            merges = width >= self.extent[0] if joint.kind == "interval" else width > self.extent[0]
            return Relation(merges, shrinks=joint.kind != "vectors")
        smaller = {"vectors": ("ball", "interval"), "ball": ("ball", "interval")}
        if joint.kind in smaller.get(self.kind, (self.kind,)) and joint.kind != "any":
            return RESTRICTION
        return UNCLEAR

    def _relation_of_columns(self, joint: Domain) -> Relation:
        if joint.kind != "columns":
            return PROJECTION if self.euclidean and joint.euclidean else UNCLEAR
        theirs = dict(joint.parts)
        if any(column not in theirs for column, _ in self.parts):
            return UNCLEAR
        each = [inner.relation(theirs[column]) for column, inner in self.parts]
        merges: bool | None = False
        if len(theirs) > len(self.parts) or any(r.merges for r in each):
            merges = True
        elif any(r.merges is None for r in each):
            merges = None
        return Relation(merges, any(r.shrinks for r in each))


def register_kind(kind: Kind) -> Domain:
    """Make a kind of data known, and return the set of all its samples: the domain of kernels.

    Parameters
    ----------
    kind : Kind
        Its name, its facts, the kernel to recommend, and how samples are written to files.

    Examples
    --------
    >>> from mercer.kernels import Kind, register_kind
    >>> SETS = register_kind(Kind("multisets", "finite multisets of letters", discrete=True))
    >>> print(SETS)
    finite multisets of letters
    """
    return Domain(register(kind).name)


_BLIND = Kind("everything", "samples of any kind")
_UNKNOWN = Kind("any", "arbitrary objects", faithful=True)
EVERYTHING = register_kind(_BLIND)  # of kernels that do not look at the sample at all
ANY = register_kind(_UNKNOWN)  # of kernels whose samples nothing is known about
for _name, _words in (("columns", "columns of a table"), ("subset", "some of the samples")):
    register_kind(Kind(_name, _words))


def ball(radius: float) -> Domain:
    """The open ball of a radius around 0."""
    return Domain("ball", f"vectors with norm < {radius:g}", extent=(float(radius),))


def interval(low: float, high: float) -> Domain:
    """A closed interval of the line."""
    return Domain("interval", f"the interval [{low:g}, {high:g}]", extent=(float(low), float(high)))


def circle(period: float) -> Domain:
    """The line modulo a period."""
    return Domain("circle", f"the circle of circumference {period:g}", extent=(float(period),))


def subset(whole: Domain) -> Domain:
    """An unknown subset."""
    return whole if whole.kind == "subset" else Domain("subset", parts=(("", whole),))


def on_columns(inner: Domain, columns: Any) -> Domain:
    """The named columns of a table (a label, a list of labels, a slice), each in ``inner``."""
    keys = columns if isinstance(columns, list) else [columns]
    return _table((_key(key), inner) for key in keys)


def joint(a: Domain, b: Domain) -> Domain:
    """The set on which both kernels are defined, with the distinctions that either makes."""
    if "subset" in (a.kind, b.kind):
        return subset(joint(a.whole, b.whole))
    if "everything" in (a.kind, b.kind):
        return b if a.kind == "everything" else a
    if "any" in (a.kind, b.kind):
        other = b if a.kind == "any" else a
        agree = a == b or (other.kind != "any" and other.faithful)
        return subset(other if agree else ANY)
    if a == b:
        return a
    if a.kind == b.kind == "columns":
        merged = dict(a.parts)
        for column, inner in b.parts:
            merged[column] = joint(merged[column], inner) if column in merged else inner
        return _table(merged.items())
    order = ("interval", "ball", "circle", "vectors", "columns")
    if not {a.kind, b.kind} <= set(order):
        return subset(ANY)
    a, b = sorted((a, b), key=lambda d: order.index(d.kind))
    if b.kind == "columns":
        return a if a.kind == "vectors" and b.euclidean else subset(ANY)
    if a.kind == "circle":  # of another circumference, or of the line
        return Domain("vectors")
    if a.kind == b.kind == "interval":
        low, high = max(a.extent[0], b.extent[0]), min(a.extent[1], b.extent[1])
        return interval(low, high) if low < high else subset(a)
    if a.kind == b.kind == "ball":
        return min(a, b, key=lambda d: d.extent)
    if b.kind == "ball" and max(map(abs, a.extent)) >= b.extent[0]:
        return subset(a)
    return a


def separates(a: Domain, b: Domain) -> bool:
    """Is a point of the joint domain known from its places in both? (Then products embed.)"""
    a, b = a.whole, b.whole
    both = joint(a, b)
    if a.relation(both).merges is False or b.relation(both).merges is False:
        return True
    if not a.kind == b.kind == both.kind == "columns":
        return False
    mine, theirs = dict(a.parts), dict(b.parts)
    return all(separates(mine[c], theirs[c]) for c in mine.keys() & theirs.keys())


def disjoint(a: Domain, b: Domain) -> bool:
    """Do two kernels see different columns, surely none in common?"""
    if not a.kind == b.kind == "columns":
        return False
    return all(map(certain, a.columns | b.columns)) and not a.columns & b.columns


def certain(column: Hashable) -> bool:
    """Is this column not the same as one of another name? (Slices and negative places may be.)"""
    return isinstance(column, str) or (isinstance(column, int) and column >= 0)


def _table(parts: Iterable[tuple[Hashable, Domain]]) -> Domain:
    return Domain("columns", parts=tuple(sorted(dict(parts).items(), key=repr)))


def _key(key: Any) -> Hashable:
    """A column by its label; slices and negative positions may name the same one twice."""
    if isinstance(key, slice):
        return ("slice", key.start, key.stop, key.step)
    return key.item() if hasattr(key, "item") else key


def _shown(key: Any) -> str:
    if isinstance(key, tuple) and key[:1] == ("slice",):
        return ":".join("" if part is None else str(part) for part in key[1:]).rstrip(":") or ":"
    return repr(key)


def _width(line: Domain) -> float | None:
    """The length of a part of the line."""
    if line.kind == "interval":
        return line.extent[1] - line.extent[0]
    if line.kind == "ball":
        return 2 * line.extent[0]
    return float("inf") if line.kind == "vectors" else None
