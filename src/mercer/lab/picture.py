"""The result of a view: panels of marks, facts, and the Python that does the same.

A panel is a window with axes; a mark is what lies in it: a field of values with contours, a line, a
band, points, bars, a matrix. The page draws marks, and knows nothing of models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .state import WINDOW

COLUMNS, ROWS = 65, 49  # of a field over the whole window
CURVE = 241  # points of a curve
BLUE, RED, GREEN, GOLD, PURPLE, INK = 1, 0, 2, 3, 5, -1  # places in the palette of the page


@dataclass
class Panel:
    """A window with axes and marks.

    Attributes
    ----------
    title : str
    x, y : (low, high)
        The window.
    xlabel, ylabel : str
    marks : list of dict
    editable : bool
        Whether points can be placed in it.
    wide : bool
        Whether it is the large one.
    log : bool
        Whether values on the y axis are logarithms to base 10.
    axes : bool
        Whether they are drawn.
    key : str
        On which side the legend is, "left" or "right".
    """

    title: str
    x: tuple[float, float] = WINDOW[0]
    y: tuple[float, float] = WINDOW[1]
    xlabel: str = "x₁"
    ylabel: str = "x₂"
    marks: list[dict[str, Any]] = field(default_factory=list)
    editable: bool = False
    wide: bool = False
    log: bool = False
    axes: bool = True
    key: str = "left"

    def add(self, kind: str, **values: Any) -> Panel:
        """One more mark, over those before it."""
        self.marks.append({"kind": kind, **values})
        return self

    def line(self, x: Any, y: Any, colour: int = INK, **more: Any) -> Panel:
        """A curve through the given points; it breaks where a value is not finite."""
        return self.add("line", x=_numbers(x), y=_numbers(y), colour=colour, **more)

    def band(self, x: Any, low: Any, high: Any, colour: int = BLUE, **more: Any) -> Panel:
        """What lies between two curves."""
        return self.add(
            "band", x=_numbers(x), low=_numbers(low), high=_numbers(high), colour=colour, **more
        )

    def dots(self, x: Any, y: Any, labels: Any = None, **more: Any) -> Panel:
        """Points, in the colours and shapes of their classes."""
        labels = None if labels is None else [int(v) for v in labels]
        return self.add("dots", x=_numbers(x), y=_numbers(y), labels=labels, **more)

    def stems(self, x: Any, y: Any, colour: int = BLUE, **more: Any) -> Panel:
        """Bars as thin as lines, from 0."""
        return self.add("stems", x=_numbers(x), y=_numbers(y), colour=colour, **more)

    def field(self, values: np.ndarray, **more: Any) -> Panel:
        """Values over the window, rows upwards; ``levels`` are where lines are drawn."""
        rows, columns = values.shape
        return self.add("field", values=_numbers(values), rows=rows, columns=columns, **more)


@dataclass
class Picture:
    """Panels, facts (a name, a value and what it means), and the lines of Python."""

    panels: list[Panel]
    facts: list[tuple[str, str, str]] = field(default_factory=list)
    python: tuple[str, ...] = ()
    note: str = ""

    def as_json(self) -> dict[str, Any]:
        """What is sent to the page."""
        return {
            "panels": [vars(panel) for panel in self.panels],
            "facts": [list(fact) for fact in self.facts],
            "note": self.note,
        }


def plane() -> np.ndarray:
    """The nodes of the field over the window, row by row."""
    a, b = (np.linspace(*ends, count) for ends, count in zip(WINDOW, (COLUMNS, ROWS), strict=True))
    return np.stack([u.ravel() for u in np.meshgrid(a, b)], axis=1)


def over_plane(function: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Values of a function of points at these nodes, in rows."""
    return np.asarray(function(plane()), dtype=float).reshape(ROWS, COLUMNS)


def along(low: float = WINDOW[0][0], high: float = WINDOW[0][1]) -> np.ndarray:
    """Points of a curve."""
    return np.linspace(low, high, CURVE)


def span(*values: Any, least: float = 1e-9) -> tuple[float, float]:
    """A window around some numbers, with a little room."""
    every = np.concatenate([np.ravel(np.asarray(v, dtype=float)) for v in values])
    every = every[np.isfinite(every)]
    if not len(every):
        return -1.0, 1.0
    low, high = float(every.min()), float(every.max())
    room = 0.06 * (high - low) if high - low > least else max(0.5 * abs(high), 0.5)
    return low - room, high + room


def spectrum(values: np.ndarray, title: str = "spectrum", most: int = 40) -> Panel:
    """Eigenvalues from the largest down, on a logarithmic axis."""
    values = np.sort(np.asarray(values, dtype=float))[::-1][:most]
    top = float(values[0]) if len(values) and values[0] > 0 else 1.0
    floor = np.log10(top) - 16
    shown = np.where(values > 10**floor, np.log10(np.maximum(values, 1e-300)), np.nan)
    low, high = span(shown) if np.isfinite(shown).any() else (-1.0, 1.0)
    panel = Panel(title, (0, len(values) + 1.0), (min(low, high - 1), high), "j", "λⱼ", log=True)
    return panel.stems(np.arange(1, len(values) + 1), shown, base=min(low, high - 1))


def centred(K: np.ndarray) -> np.ndarray:
    """HKH: the Gram matrix of features from which their mean was taken."""
    return np.asarray(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())


def in_words(value: Any) -> str:
    """A number as a person would write it."""
    if isinstance(value, int | np.integer):
        return str(value)
    return f"{float(value):.3g}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")


def code(
    imports: Iterable[str], lines: Sequence[str], plots: str = "", module: str = ""
) -> tuple[str, ...]:
    """Lines of a program: what they import, then what they do."""
    first = ["import numpy as np", f"from mercer import {', '.join(sorted(set(imports)))}"]
    if plots:
        first.append(f"from mercer.plots import {plots}")
    if module:
        first.append(module)
    return (*first, "", *lines)


def array(values: Any) -> str:
    """An array as it is written in a program."""
    return f"np.array({np.round(np.asarray(values), 3).tolist()})"


def _numbers(values: Any) -> list[float | None]:
    """Numbers for JSON: five digits, and null for what is not finite."""
    flat = np.ravel(np.asarray(values, dtype=float))
    if not len(flat):
        return []
    return [None if v != v or v in (np.inf, -np.inf) else float(f"{v:.5g}") for v in flat.tolist()]
