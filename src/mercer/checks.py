"""Arguments that are names or single numbers: counts, shares, ...; rejected in words if not.

Errors state the name of an argument, what it must be, and what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from math import isfinite
from numbers import Integral, Real
from typing import Any

import numpy as np


def is_count(value: Any, least: float = 1, most: int | None = None) -> bool:
    """Is it a whole number in this range? Neither True nor 3.0 is one; numbers of NumPy are."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    return whole and least <= int(value) and (most is None or int(value) <= most)


def is_number(value: Any) -> bool:
    """Is it a finite number? True and False are none."""
    try:
        return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
    except OverflowError:  # an integer beyond the range of floats
        return False


def is_one_of(value: Any, names: tuple[str | None, ...]) -> bool:
    """Is it one of these names, or the None among them? Arrays and the like are not compared."""
    return (value is None or isinstance(value, str)) and value in names


def count_words(least: int, most: int | None = None, also: tuple[str | None, ...] = ()) -> str:
    """What a count must be."""
    among = f"an integer >= {least}" if most is None else f"an integer from {least} to {most}"
    return " or ".join([*(f'"{a}"' if isinstance(a, str) else repr(a) for a in also), among])


def check_count(
    name: str,
    value: Any,
    least: int = 1,
    most: int | None = None,
    also: tuple[str | None, ...] = (),
) -> Any:
    """A whole number in this range, or one of the names ``also``; anything else is rejected.

    >>> from mercer.checks import check_count
    >>> check_count("n_permutations", 2.5)
    Traceback (most recent call last):
        ...
    ValueError: n_permutations must be an integer >= 1, got 2.5.
    """
    if is_one_of(value, also):
        return value
    if not is_count(value, least, most):
        raise ValueError(f"{name} must be {count_words(least, most, also)}, got {value!r}.")
    return int(value)


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> Any:
    """One of these names; anything else is rejected."""
    if not is_one_of(value, tuple(allowed)):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")
    return value


def check_number(
    name: str, value: Any, words: str, allowed: Callable[[Any], bool | np.bool_]
) -> float:
    """A number that is allowed; anything else is rejected, in these words."""
    if isinstance(value, bool) or not (isinstance(value, Real) and allowed(value)):
        raise ValueError(f"{name} must be {words}, got {value!r}.")
    return float(value)


def check_positive(name: str, value: Any) -> float:
    """A number > 0."""
    return check_number(name, value, "> 0 and finite", lambda v: is_number(v) and v > 0)


def check_positives(name: str, value: Any) -> np.ndarray:
    """Numbers > 0, one or several, as an array of one dimension."""
    with suppress(ValueError):
        found = np.atleast_1d(as_numbers(name, value))
        if found.ndim == 1 and len(found) and np.all((found > 0) & np.isfinite(found)):
            return found
    raise ValueError(f"{name} must be positive and finite numbers, got {value!r}.")


def check_fraction(name: str, value: Any, *, one: bool = False) -> float:
    """A number strictly between 0 and 1; 1 itself if ``one`` is allowed."""
    if one:
        return check_number(name, value, "in (0, 1]", lambda v: 0 < v <= 1)
    return check_number(name, value, "between 0 and 1", lambda v: 0 < v < 1)


def check_folds(cv: Any, most: int | None = None) -> Any:
    """A number of folds, a splitter, or splits; anything else is rejected.

    ``most``: the number of samples, each of which may be a fold.
    """
    if hasattr(cv, "split") and not isinstance(cv, str):
        return cv
    if isinstance(cv, Iterable) and not isinstance(cv, str):
        return cv
    if most is not None and most < 2:
        raise ValueError(f"cv={cv!r} needs at least 2 samples, got n_samples = {most}.")
    if not is_count(cv, 2, most):
        raise ValueError(f"cv must be {count_words(2, most)} or a splitter, got {cv!r}.")
    return int(cv)


def as_numbers(name: str, value: Any) -> np.ndarray:
    """An array of numbers, of a parameter that may be one number or several."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.asarray(None)
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be a number or an array of numbers, got {value!r}.")
    return array.astype(float)
