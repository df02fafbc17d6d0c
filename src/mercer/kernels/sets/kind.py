"""Sets, as a kind of data: of elements, with weights, of points of R^d, of places in a grid."""

from __future__ import annotations

from typing import Any

from ...kinds import Stored
from ..calculus.domains import Kind, register_kind


def _of_set(members: Any) -> dict[str, Any]:
    """In an order that does not depend on the process."""
    return {"members": sorted(members, key=lambda x: (type(x).__name__, repr(x)))}


def _hashable(members: list, kind: Any) -> Any:
    try:
        return kind(members)
    except TypeError:
        raise ValueError("a set of unhashable elements") from None


SETS = register_kind(
    Kind(
        "sets",
        "sets (those that differ by a null set are the same)",
        hint="Jaccard()",
        infinite=True,
        stored=(
            Stored("set", ("builtins.set",), _of_set, lambda members: _hashable(members, set)),
            Stored(
                "frozenset",
                ("builtins.frozenset",),
                _of_set,
                lambda members: _hashable(members, frozenset),
            ),
        ),
    )
)
