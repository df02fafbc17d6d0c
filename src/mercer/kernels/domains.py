"""Where a kernel lives: the set its properties are stated on, and how two such sets combine.

"Strictly positive definite" means nothing without "on which points": ``Gaussian().on("a")`` is
strictly positive definite on column a, but not on rows (a, b). Two kernels in one expression are
therefore compared on their *joint* domain.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal[
    "vectors", "ball", "interval", "circle", "labels", "strings", "columns", "everything", "any"
]
Relation = Literal["same", "restriction", "refinement", "unclear"]

_WORDS = {
    "vectors": "vectors",
    "labels": "labels",
    "strings": "strings",
    "everything": "samples of any kind",
    "any": "arbitrary objects",
}


@dataclass(frozen=True)
class Domain:
    """A set of samples: its kind, what delimits it, and for tables the columns used."""

    kind: Kind
    detail: str = ""
    parts: tuple[tuple[Hashable, Domain], ...] = ()

    def __str__(self) -> str:
        if self.kind == "columns":
            return "columns " + ", ".join(repr(c) for c, _ in self.parts)
        return self.detail or _WORDS[self.kind]

    @property
    def compact(self) -> bool:
        """Is the set known to be compact?"""
        return self.kind in ("circle", "interval")

    @property
    def euclidean(self) -> bool:
        """Is it all of R^d (possibly named by columns)?"""
        if self.kind == "columns":
            return all(inner.euclidean for _, inner in self.parts)
        return self.kind == "vectors"

    @property
    def infinite(self) -> bool:
        """Does it surely hold infinitely many points?"""
        if self.kind == "columns":
            return any(inner.infinite for _, inner in self.parts)
        return self.kind in ("vectors", "ball", "interval", "circle", "strings")

    def relation(self, joint: Domain) -> Relation:
        """How ``joint`` relates to this domain.

        "restriction": joint is a subset; "refinement": joint tells apart points that are one
        point here (more columns, or the line instead of the circle).
        """
        if self == joint:
            return "same"
        if self.kind == "everything":
            return "refinement"
        if "any" in (self.kind, joint.kind):
            return "unclear"
        if self.kind == "vectors" and joint.kind in ("ball", "interval"):
            return "restriction"
        if self.kind == "circle" and joint.kind == "vectors":
            return "refinement"
        if self.kind == joint.kind == "columns":
            theirs = dict(joint.parts)
            if all(theirs.get(c) == inner for c, inner in self.parts):
                return "refinement"
        return "unclear"


VECTORS = Domain("vectors", "vectors in R^d")
LABELS = Domain("labels", "labels (a discrete set)")
STRINGS = Domain("strings", "strings")
EVERYTHING = Domain("everything")  # of kernels that do not look at the sample at all
ANY = Domain("any")  # of kernels whose samples nothing is known about


def ball(radius: float) -> Domain:
    """The open ball of a radius around 0."""
    return Domain("ball", f"vectors with norm < {radius:g}")


def interval(low: float, high: float) -> Domain:
    """A closed interval of the line."""
    return Domain("interval", f"the interval [{low:g}, {high:g}]")


def circle(period: float) -> Domain:
    """The line modulo a period."""
    return Domain("circle", f"the circle of circumference {period:g}")


def on_columns(inner: Domain, keys: list) -> Domain:
    """The named columns of a table, each in ``inner``."""
    return Domain("columns", parts=tuple(sorted(((k, inner) for k in keys), key=repr)))


def joint(a: Domain, b: Domain) -> Domain:
    """The set on which both kernels are defined and which keeps what either tells apart."""
    if a == b:
        return a
    kinds = {a.kind, b.kind}
    if "everything" in kinds:
        return b if a.kind == "everything" else a
    if a.kind == b.kind == "columns":
        merged = dict(a.parts)
        for column, inner in b.parts:
            merged[column] = joint(merged[column], inner) if column in merged else inner
        if any(inner.kind == "any" for inner in merged.values()):
            return ANY
        return replace(a, parts=tuple(sorted(merged.items(), key=repr)))
    if kinds == {"vectors", "circle"}:
        return VECTORS
    if kinds in ({"vectors", "ball"}, {"vectors", "interval"}):
        return a if a.kind != "vectors" else b
    return ANY
