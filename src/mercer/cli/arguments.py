"""Arguments of the command line: from their text to numbers and names, or an error in words."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from contextlib import suppress
from math import inf

from ..checks import count_words, is_count
from ..engine.durations import parse_duration


def whole(least: int = 1, most: int | None = None) -> Callable[[str], int]:
    """What reads a whole number in this range."""

    def read(text: str) -> int:
        with suppress(ValueError):
            if is_count(int(text), least, most):
                return int(text)
        raise ArgumentTypeError(f"must be {count_words(least, most)}, got {text!r}")

    return read


def names(text: str) -> list[str]:
    """Names of columns with commas between."""
    return [name.strip() for name in text.split(",") if name.strip()]


def positive_numbers(text: str) -> tuple[float, ...]:
    """Numbers with commas between."""
    with suppress(ValueError):
        found = tuple(float(x) for x in text.split(","))
        if all(0 < x < inf for x in found):
            return found
    raise ArgumentTypeError(f"positive numbers with commas between, got {text!r}")


def rank(text: str) -> int | str | None:
    """A number of landmarks; None for all rows."""
    if text in ("all", "auto"):
        return None if text == "all" else text
    with suppress(ValueError):
        if int(text) >= 1:
            return int(text)
    raise ArgumentTypeError(f'at least 1 landmark, or "all", got {text!r}')


def seconds(text: str) -> float:
    """Seconds, from a number of them or from words."""
    try:
        return parse_duration(float(text) if _is_plain(text) else text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def budget(text: str) -> str:
    """A time of a second or more, in words; a plain number is seconds."""
    with suppress(ValueError):
        if parse_duration(float(text) if _is_plain(text) else text) >= 1:
            return f"{text} s" if _is_plain(text) else text
    raise ArgumentTypeError(f'a time of a second or more, such as "30 s" or "2 min", got {text!r}')


def _is_plain(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
