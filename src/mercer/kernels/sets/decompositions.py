"""Ways to take a sequence apart, by name: each gives all decompositions of one sample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import Any

Decomposition = Callable[[Any], Sequence[Any]]


def items(x: Any) -> list[Any]:
    """Its items: x_1, x_2, ..."""
    return list(x)


def pieces(x: Any) -> list[Any]:
    """All x[i:j] with i < j: a sequence of n items has n (n + 1) / 2 of them."""
    ends = range(len(x) + 1)
    return [x[i:j] for i, j in combinations(ends, 2)]


def neighbours(x: Any) -> list[tuple[Any, Any]]:
    """Each item with the next one: (x_1, x_2), (x_2, x_3), ..."""
    return list(pairwise(x))


def pairs(x: Any) -> list[tuple[Any, Any]]:
    """Each item with each later one."""
    return list(combinations(x, 2))


def splits(x: Any) -> list[tuple[Any, Any]]:
    """A beginning and the rest: (x[:i], x[i:]) for i = 0, ..., n."""
    return [(x[:i], x[i:]) for i in range(len(x) + 1)]


def contexts(x: Any) -> list[tuple[Any, Any, Any]]:
    """What comes before an item, the item, and what comes after it."""
    return [(x[:i], x[i], x[i + 1 :]) for i in range(len(x))]


NAMED: dict[str, Decomposition] = {
    f.__name__: f for f in (items, pieces, neighbours, pairs, splits, contexts)
}
