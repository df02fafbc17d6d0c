"""Requests of the page: a view, a kernel, points or strings, and options, all checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import is_number

MOST_POINTS = 300
MOST_STRINGS = 24
LONGEST_STRING = 300
LONGEST_KERNEL = 500
CLASSES = 6
WINDOW = ((-4.0, 4.0), (-3.0, 3.0))  # the part of the plane that is shown
_FARTHEST = 10.0


@dataclass(frozen=True)
class Option:
    """One control of a view: a slider, a choice or a switch.

    Attributes
    ----------
    name, label : str
        Its name in a state, and on the page.
    default : float, int, str or bool
        Also says what kind of value it takes.
    low, high : float
        The ends of a slider.
    log : bool
        Whether the slider is logarithmic.
    choices : tuple of (value, words)
        What can be chosen.
    when : tuple of (name, values)
        Shown only while another option has one of these values.
    """

    name: str
    label: str
    default: Any
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    choices: tuple[tuple[str, str], ...] = ()
    when: tuple[str, tuple[str, ...]] | None = None

    def read(self, value: Any) -> Any:
        """The value if it is one of this option's; else an error that says what is."""
        if isinstance(self.default, bool):
            if isinstance(value, bool):
                return value
            raise ValueError(f"{self.name} must be true or false, got {_short(value)}.")
        if self.choices:
            if any(value == each for each, _ in self.choices) and isinstance(value, str):
                return value
            listed = ", ".join(each for each, _ in self.choices)
            raise ValueError(f"{self.name} must be one of {listed}, got {_short(value)}.")
        if not is_number(value) or not self.low <= value <= self.high:
            ends = f"{self.low:g} to {self.high:g}"
            raise ValueError(f"{self.name} must be a number from {ends}, got {_short(value)}.")
        return round(value) if self.whole else float(value)

    @property
    def whole(self) -> bool:
        """Whether values are integers."""
        return isinstance(self.default, int) and not isinstance(self.default, bool)


@dataclass(frozen=True)
class State:
    """All that a picture depends on.

    Attributes
    ----------
    view : str
        Which picture.
    kernel : str
        An expression such as ``"Gaussian(0.5) + 0.1 * Linear()"``.
    points : array of shape (n, 3)
        x, y and the number of a class, or of a sample.
    strings : list of str
        What was typed.
    options : dict
        Values of the view's options.
    changes : dict
        Parameters of the kernel that sliders have moved, by their nested names.
    """

    view: str
    kernel: str
    points: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    strings: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def X(self) -> np.ndarray:
        """The points of the plane."""
        return self.points[:, :2]

    @property
    def labels(self) -> np.ndarray:
        """The class, or sample, of each."""
        return self.points[:, 2].astype(int)

    def need(self, count: int) -> None:
        """Refuse a state with too few points."""
        if len(self.points) < count:
            missing = count - len(self.points)
            raise ValueError(f"Add {missing} more point{'s' * (missing > 1)}.")

    def need_classes(self) -> None:
        """Refuse a state with points of one class."""
        if len(np.unique(self.labels)) < 2:
            raise ValueError("Place points of 2 classes.")


def read_state(payload: Any, options: Mapping[str, tuple[Option, ...]]) -> State:
    """A checked state from an untrusted request.

    Parameters
    ----------
    payload : object
        As it came out of JSON.
    options : mapping
        The options of each view.

    Raises
    ------
    ValueError
        With one sentence for the page, if anything is not what it should be.
    """
    if not isinstance(payload, dict):
        raise ValueError("A request must be an object with a view, a kernel and data.")
    view, kernel = payload.get("view"), payload.get("kernel", "")
    if not isinstance(view, str) or view not in options:
        raise ValueError(f"There is no view called {_short(view)}.")
    if not isinstance(kernel, str) or len(kernel) > LONGEST_KERNEL:
        raise ValueError(f"A kernel must be written in at most {LONGEST_KERNEL} characters.")
    given = _named(payload, "options")
    known = {option.name: option for option in options[view]}
    if unknown := sorted(set(given) - set(known)):
        raise ValueError(f"The view {view} has no option called {_short(unknown[0])}.")
    changes = _named(payload, "changes")
    if len(changes) > 50 or not all(is_number(value) for value in changes.values()):
        raise ValueError("Parameters of a kernel must be numbers, at most 50 of them.")
    return State(
        view=view,
        kernel=kernel,
        points=_points(payload.get("points", [])),
        strings=_strings(payload.get("strings", [])),
        options={n: o.read(given[n]) if n in given else o.default for n, o in known.items()},
        changes=changes,
    )


def _named(payload: dict, key: str) -> dict[str, Any]:
    found = payload.get(key, {})
    if not isinstance(found, dict):
        raise ValueError(f"{key} must be an object of names and values.")
    return found


def _points(given: Any) -> np.ndarray:
    if not isinstance(given, list) or len(given) > MOST_POINTS:
        raise ValueError(f"Points must be a list of at most {MOST_POINTS}.")
    for point in given:
        fine = isinstance(point, list) and len(point) == 3 and all(map(is_number, point))
        if not (fine and max(abs(point[0]), abs(point[1])) <= _FARTHEST):
            raise ValueError(f"A point must be [x, y, class] with |x|, |y| <= {_FARTHEST:g}.")
        if point[2] not in range(CLASSES):
            raise ValueError(f"The class of a point must be 0 to {CLASSES - 1}.")
    return np.array(given, dtype=float).reshape(-1, 3)


def _strings(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) > MOST_STRINGS:
        raise ValueError(f"Strings must be a list of at most {MOST_STRINGS}.")
    for text in given:
        if not isinstance(text, str) or len(text) > LONGEST_STRING:
            raise ValueError(f"A string must have at most {LONGEST_STRING} characters.")
    return tuple(text for text in given if text.strip())


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
