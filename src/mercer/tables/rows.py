"""Which columns and which rows of a table a model is fitted to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .numbers import PLAIN, count
from .roles import Column, Table, describe, incomplete, require, tidy

MISSING = ("use", "drop", "error")
MOST_HELD = 50_000  # rows that judge a model, unless more are asked for
_HELD = 0.2


@dataclass
class Selection:
    """The columns and rows in use; ``rows`` is a mask of those of the whole table."""

    X: Table
    rows: np.ndarray
    roles: dict[str, str]
    columns: list[Column]

    @property
    def styles(self) -> dict[str, str]:
        """How numbers are written in columns of strings, where there is something to say of it."""
        told = {c.name for c in self.columns if c.role == "number" and c.why}
        return {c.name: c.style for c in self.columns if c.style != PLAIN or c.name in told}

    @property
    def dropped(self) -> int:
        """How many rows were left out."""
        return int(np.sum(~self.rows))

    def described(self, fitted: list[Column]) -> list[Column]:
        """All columns, with what a model adds about those it uses."""
        said = {c.name: c.why for c in fitted}
        return [
            Column(c.name, c.role, "; ".join(filter(None, [c.why, said.get(c.name, "")])), c.style)
            for c in self.columns
        ]


def select(
    table: Table,
    target: str,
    given: np.ndarray,
    *,
    features: list[str] | None = None,
    roles: Mapping[str, str] | None = None,
    missing: str = "use",
) -> Selection:
    """The columns that predict the target, and the rows where it is given."""
    require(table, features or [])
    if target in (features or []):
        raise ValueError(f"{target!r} is the target; it cannot be among the features.")
    chosen = [name for name in features or table.columns if name != target]
    known = {name: role for name, role in (roles or {}).items() if name != target}
    columns = describe(table[chosen], known)
    settled = {c.name: c.role for c in columns if c.role != "skipped"}
    if not settled:
        reasons = "; ".join(f"{c.name!r}: {c.why}" for c in columns[:8])
        raise ValueError(f"no column can be used to predict {target!r} ({reasons or 'no other'}).")
    rows = given if missing == "use" else complete_rows(table, given, columns, missing)
    return Selection(table.loc[rows, list(settled)], rows, settled, columns)


def held_share(test_size: float | None, n: int) -> float:
    """The share of n rows that is held out: as asked, or a fifth, of many rows less."""
    if test_size is None:
        return min(_HELD, MOST_HELD / n) if n else _HELD
    check_share(test_size)
    return test_size


def check_share(test_size: float) -> None:
    """Refuse to hold out nearly everything, or less than nothing."""
    if not 0 <= test_size <= 0.9:
        raise ValueError(f"--test-size is a share of the rows, from 0 to 0.9, got {test_size}.")


def check_enough(n: int) -> None:
    """Refuse to fit a model to a handful of rows."""
    if n < 5:
        raise ValueError(f"{count(n, 'row')} to fit a model to: at least 5 are needed.")


def complete_rows(
    table: Table, given: np.ndarray, columns: list[Column], missing: str
) -> np.ndarray:
    """The rows without missing values; refuses others unless they are to be dropped."""
    roles = {c.name: c.role for c in columns if c.role != "skipped"}
    tidied = tidy(table, roles, {c.name: c.style for c in columns})
    usable = given & ~incomplete(tidied, roles)
    if missing == "error" and not usable.all():
        holes = {n: int(tidied[n].isna().sum()) for n, role in roles.items() if role != "label"}
        holes["the target"] = int(np.sum(~given))
        listed = ", ".join(f"{name} ({n} times)" for name, n in holes.items() if n)
        raise ValueError(
            f"values are missing in {listed}; drop those {count(int(np.sum(~usable)), 'row')} of "
            f"{len(given)} with --missing drop."
        )
    return usable
