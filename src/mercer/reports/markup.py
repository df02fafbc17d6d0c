"""HTML from Python: whatever comes from data is escaped, unless it is markup already."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from html import escape as _escape
from typing import Any
from unicodedata import category

import numpy as np

_VOID = {"meta", "img", "br", "hr"}
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")  # control characters, changes of direction, ...
_LONG = 60  # characters of a name, or of a value in a table


class Html(str):
    """Text that is markup: it is not escaped again."""

    __slots__ = ()

    def __add__(self, other: str) -> Html:
        return Html(str(self) + text(other))


def text(value: Any) -> Html:
    """A value as text in a page; markup as it is. Control characters are spelled out."""
    if isinstance(value, Html):
        return value
    return Html(_escape(visible(str(value)), quote=True))


def visible(words: str) -> str:
    """Control characters, invisible ones and broken ones spelled out."""
    if words.isascii() and words.isprintable():
        return words
    return "".join(
        c if c in "\n\t" or category(c) not in _HIDDEN else c.encode("unicode_escape").decode()
        for c in words
    )


def short(value: Any, most: int = _LONG) -> str:
    """The name of a column, or a value of data, on one line and not too long."""
    words = " ".join(str(value)[: 4 * most].split())
    return words if len(words) <= most else words[: most - 1] + "…"


def tag(element: str, /, *children: Any, **attributes: Any) -> Html:
    """An element; ``class_`` and ``aria_label`` stand for ``class`` and ``aria-label``."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if element in _VOID:
        return Html(f"<{element}{words}>")
    return Html(f"<{element}{words}>{join(children)}</{element}>")


def join(parts: Iterable[Any]) -> Html:
    """Elements one after the other; None is left out."""
    return Html("".join(text(part) for part in parts if part is not None))


def paragraph(*words: Any, class_: str | None = None) -> Html:
    """A paragraph."""
    return tag("p", *words, class_=class_)


def listed(items: Iterable[Any], class_: str | None = None) -> Html:
    """A list with bullets."""
    return tag("ul", *(tag("li", item) for item in items), class_=class_)


def code(words: Any) -> Html:
    """Code in a line."""
    return tag("code", words)


def listing(words: Any) -> Html:
    """Lines of code or of a terminal; scrolled with the keyboard where they are long."""
    return tag("pre", tag("code", words), tabindex=0)


def folded(summary: Any, *children: Any) -> Html:
    """Content that is shown on request; all of it is printed."""
    return tag("details", tag("summary", summary), *children)


def definitions(pairs: Iterable[tuple[Any, Any]]) -> Html:
    """Names with their definitions."""
    rows = (tag("div", tag("dt", name), tag("dd", value)) for name, value in pairs)
    return tag("dl", *rows, class_="facts")


def table(
    caption: str,
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    words: Collection[int] = (0,),
    marked: int | None = None,
) -> Html:
    """A table; the columns ``words`` are to the left, numbers to the right."""
    places = ["word" if i in words else None for i in range(len(head))]
    header = (tag("th", h, scope="col", class_=p) for h, p in zip(head, places, strict=True))
    body = []
    for place, row in enumerate(rows):
        cells = [
            tag("th", cell, scope="row", class_="word") if i == 0 else tag("td", cell, class_=p)
            for i, (cell, p) in enumerate(zip(row, places, strict=True))
        ]
        body.append(tag("tr", *cells, class_="marked" if place == marked else None))
    parts = (
        tag("caption", tag("span", caption)),
        tag("thead", tag("tr", *header)),
        tag("tbody", *body),
    )
    return tag(
        "div", tag("table", *parts), class_="scroll", tabindex=0, role="region", aria_label=caption
    )


def number(value: Any, digits: int = 4) -> str:
    """A number as people write it; integers as they are, an empty string for none."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, int | np.integer):
        return f"{int(value):,}" if abs(int(value)) >= 10_000 else str(int(value))
    x = float(value)
    if not np.isfinite(x):
        return "–" if np.isnan(x) else ("∞" if x > 0 else "−∞")
    if x != 0 and not 1e-4 <= abs(x) < 1e7:
        mantissa, _, power = f"{x:.{max(digits - 2, 1)}e}".partition("e")
        return f"{mantissa}·10{_raised(int(power))}".replace("-", "−")
    if abs(x) >= 10 ** (digits - 1):
        return f"{x:,.0f}".replace("-", "−")
    return f"{x:.{digits}g}".replace("-", "−")


def between(low: float, high: float, digits: int = 3) -> str:
    """An interval."""
    return f"{number(low, digits)} to {number(high, digits)}"


def count(n: int, noun: str, plural: str | None = None) -> str:
    """``3 rows``, ``1 row``."""
    return f"{number(int(n))} {noun if n == 1 else plural or noun + 's'}"


def percent(share: float) -> str:
    """A share in percent."""
    return f"{100 * share:.3g}%"


def _raised(power: int) -> str:
    return str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
