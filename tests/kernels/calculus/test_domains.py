"""Joint domains, and how each kernel's domain relates to them."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.kernels.calculus.domains import (
    ANY,
    EVERYTHING,
    PROJECTION,
    REFINEMENT,
    RESTRICTION,
    SAME,
    UNCLEAR,
    Relation,
    ball,
    certain,
    circle,
    disjoint,
    interval,
    joint,
    on_columns,
    separates,
    subset,
)
from mercer.kernels.labels.kind import LABELS
from mercer.kernels.strings.kind import STRINGS
from mercer.kernels.vectors.kind import VECTORS

A, B, AB = (on_columns(VECTORS, c) for c in ("a", "b", ["a", "b"]))
BC, C = on_columns(VECTORS, ["b", "c"]), on_columns(VECTORS, "c")
PAIRS = [
    # left, right, joint, relation of left to it, relation of right to it
    (VECTORS, VECTORS, VECTORS, SAME, SAME),
    (VECTORS, ball(1), ball(1), RESTRICTION, SAME),
    (ball(2), ball(1), ball(1), RESTRICTION, SAME),
    (VECTORS, interval(0, 1), interval(0, 1), RESTRICTION, SAME),
    (interval(0, 2), interval(1, 3), interval(1, 2), RESTRICTION, RESTRICTION),
    (interval(0, 1), interval(2, 3), subset(interval(0, 1)), RESTRICTION, RESTRICTION),
    (ball(2), interval(0, 1), interval(0, 1), RESTRICTION, SAME),
    (ball(1), interval(0, 1), subset(interval(0, 1)), RESTRICTION, RESTRICTION),
    (circle(1), circle(1), circle(1), SAME, SAME),
    (circle(1), VECTORS, VECTORS, REFINEMENT, SAME),
    (circle(1), circle(7), VECTORS, REFINEMENT, REFINEMENT),
    (circle(2), interval(0, 1), interval(0, 1), RESTRICTION, SAME),
    (circle(1), interval(0, 1), interval(0, 1), Relation(merges=True, shrinks=True), SAME),
    (circle(2), ball(1), ball(1), RESTRICTION, SAME),
    (circle(1), ball(1), ball(1), Relation(merges=True, shrinks=True), SAME),
    (EVERYTHING, VECTORS, VECTORS, REFINEMENT, SAME),
    (EVERYTHING, ANY, ANY, REFINEMENT, SAME),
    (EVERYTHING, EVERYTHING, EVERYTHING, SAME, SAME),
    (ANY, ANY, subset(ANY), RESTRICTION, RESTRICTION),
    (ANY, VECTORS, subset(VECTORS), RESTRICTION, RESTRICTION),
    (ANY, STRINGS, subset(STRINGS), RESTRICTION, RESTRICTION),
    (ANY, A, subset(ANY), RESTRICTION, UNCLEAR),
    (ANY, circle(1), subset(ANY), RESTRICTION, UNCLEAR),
    (VECTORS, STRINGS, subset(ANY), UNCLEAR, UNCLEAR),
    (LABELS, VECTORS, subset(ANY), UNCLEAR, UNCLEAR),
    (subset(VECTORS), VECTORS, subset(VECTORS), RESTRICTION, RESTRICTION),
    (subset(VECTORS), ball(1), subset(ball(1)), RESTRICTION, RESTRICTION),
    (A, A, A, SAME, SAME),
    (A, B, AB, REFINEMENT, REFINEMENT),
    (A, AB, AB, REFINEMENT, SAME),
    (A, VECTORS, VECTORS, PROJECTION, SAME),
    (on_columns(STRINGS, "a"), VECTORS, subset(ANY), UNCLEAR, UNCLEAR),
    (A, on_columns(ball(1), "a"), on_columns(ball(1), "a"), RESTRICTION, SAME),
    (
        A,
        on_columns(ball(1), ["a", "b"]),
        on_columns(ball(1), ["a", "b"]),
        Relation(merges=True, shrinks=True),
        SAME,
    ),
    (on_columns(circle(1), "a"), A, A, REFINEMENT, SAME),
    (on_columns(EVERYTHING, "a"), A, A, REFINEMENT, SAME),
]


@pytest.mark.parametrize(("left", "right", "wanted", "of_left", "of_right"), PAIRS, ids=str)
def test_joint_and_relations(left, right, wanted, of_left, of_right):
    assert joint(left, right) == wanted
    assert joint(right, left) == joint(left, right) or wanted.kind == "subset"
    assert left.relation(wanted) == of_left
    assert right.relation(wanted) == of_right


def test_traits():
    assert VECTORS.euclidean
    assert AB.euclidean
    assert not ball(1).euclidean
    assert circle(1).compact
    assert interval(0, 1).compact
    assert not ball(1).compact
    assert on_columns(circle(1), ["a", "b"]).compact
    assert not joint(on_columns(circle(1), "a"), B).compact
    assert LABELS.discrete
    assert STRINGS.discrete
    assert not VECTORS.discrete
    assert VECTORS.infinite
    assert STRINGS.infinite
    assert joint(A, on_columns(LABELS, "s")).infinite
    assert not LABELS.infinite
    assert not ANY.infinite
    for trait in ("euclidean", "compact", "infinite", "discrete"):
        assert not getattr(subset(VECTORS), trait)  # it may be one point, or a sequence
    assert subset(subset(VECTORS)) == subset(VECTORS)


def test_columns_are_named_once():
    assert on_columns(VECTORS, "a") == on_columns(VECTORS, ["a"])
    assert on_columns(VECTORS, ["a", "b"]) == on_columns(VECTORS, ["b", "a"])
    assert on_columns(VECTORS, np.int64(1)) == on_columns(VECTORS, 1)
    assert on_columns(VECTORS, 1) != on_columns(VECTORS, "1")
    assert on_columns(VECTORS, slice(0, 2)) == on_columns(VECTORS, slice(0, 2))


def test_separates():
    assert separates(A, B)
    assert separates(AB, BC)
    assert separates(VECTORS, VECTORS)
    assert separates(circle(1), VECTORS)
    assert separates(on_columns(circle(1), "a"), B)
    assert not separates(circle(1), circle(2))
    assert not separates(on_columns(circle(1), ["a", "b"]), on_columns(circle(2), ["a", "c"]))
    assert not separates(VECTORS, STRINGS)
    assert separates(A, VECTORS)


def test_disjoint():
    assert disjoint(A, BC)
    assert not disjoint(AB, BC)
    assert not disjoint(A, VECTORS)
    assert not disjoint(on_columns(VECTORS, 0), on_columns(VECTORS, -1))
    assert not disjoint(on_columns(VECTORS, slice(0, 2)), on_columns(VECTORS, 3))
    assert certain("a")
    assert certain(3)
    assert not certain(-1)
    assert not certain(("slice", 0, 2, None))


def test_words():
    assert str(AB) == "columns 'a', 'b'"
    assert str(C) == "column 'c'"
    assert str(on_columns(VECTORS, slice(None, 3))) == "column :3"
    assert str(on_columns(VECTORS, slice(None))) == "column :"
    assert str(on_columns(VECTORS, slice(0, 6, 2))) == "column 0:6:2"
    assert str(interval(-1, 0.5)) == "the interval [-1, 0.5]"
    assert str(circle(24)) == "the circle of circumference 24"
    assert str(ball(1)) == "vectors with norm < 1"
    assert str(subset(interval(0, 1))) == "a subset of the interval [0, 1]"
    assert str(subset(ANY)) == "the samples that all parts accept"
    assert str(ANY) == "arbitrary objects"
