"""A report: sections on one page, which is one file without scripts and without a network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, BinaryIO

from ..engine.atomic import write_atomically
from .markup import Html, join, tag

_PAGE, _CARD = "/* a page of its own */", "/* inside a notebook */"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@dataclass(frozen=True)
class Section:
    """A part of a report; ``left_out`` says why there is nothing to see, where that is so."""

    title: str
    body: Html = field(default=Html(""), repr=False)
    left_out: str = ""
    seconds: float = 0.0

    @property
    def anchor(self) -> str:
        """Where links lead."""
        return "-".join("".join(c if c.isalnum() else " " for c in self.title.lower()).split())

    def html(self) -> Html:
        """The section as part of the page."""
        body = self.body
        if self.left_out:
            body = body + tag("p", "Left out: ", self.left_out, class_="left-out")
        heading = tag("h2", self.title, id=self.anchor)
        return tag("section", heading, body, aria_labelledby=self.anchor)


@dataclass(frozen=True)
class Tile:
    """A number at the head of a report."""

    name: str
    value: str
    words: str = ""


@dataclass(frozen=True, repr=False)
class Report:
    """A report on a model, or on the result of a test, as one HTML page.

    Attributes
    ----------
    title, lead : str
        The heading, and the main result.
    sections : tuple of Section
        The parts, each with ``title``, ``left_out`` (why it is empty, or "") and ``seconds``.
    tiles : tuple of Tile
        The numbers at its head.
    html : str
        The whole page.

    Examples
    --------
    >>> from mercer.reports.page import Report, Section
    >>> page = Report("Hello", (Section("Words"),))
    >>> page
    Report('Hello', 1 section, ... kB)
    """

    title: str
    sections: tuple[Section, ...]
    lead: Any = ""
    kicker: str = ""
    tiles: tuple[Tile, ...] = ()
    footer: str = ""

    @property
    def html(self) -> str:
        """The page, all of it in one string."""
        links = (tag("li", tag("a", s.title, href=f"#{s.anchor}")) for s in self.sections)
        nav = tag("nav", tag("ol", *links), aria_label="Sections")
        page = tag(
            "div",
            tag("header", *self._head()),
            nav,
            tag("main", *(s.html() for s in self.sections), id="content"),
            tag("footer", self.footer),
            class_="page",
        )
        head = [
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            tag("meta", name="referrer", content="no-referrer"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", self.title),
            tag("style", style()),
        ]
        skip = tag("a", "Skip to the content", href="#content", class_="skip")
        body = tag("body", skip, page, class_="mercer")
        return "<!doctype html>\n" + tag("html", tag("head", *head), body, lang="en") + "\n"

    def save(self, path: str | os.PathLike[str]) -> Report:
        """Write the page to a file, completely or not at all; returns the report."""
        page = self.html.encode()

        def write(file: BinaryIO) -> None:
            file.write(page)

        write_atomically(path, write)
        return self

    def _head(self) -> list[Html]:
        parts = [tag("p", self.kicker, class_="kicker")] if self.kicker else []
        parts.append(tag("h1", self.title))
        if self.lead:
            parts.append(tag("p", self.lead, class_="lead"))
        if self.tiles:
            parts.append(tag("dl", *map(_tile, self.tiles), class_="tiles"))
        return parts

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        options = {"style": "width:100%;height:640px;border:1px solid #ccc;border-radius:6px"}
        return tag("iframe", srcdoc=self.html, title=self.title, sandbox="", **options)

    def __repr__(self) -> str:
        n = len(self.sections)
        size = f"{len(self.html.encode()) / 1e3:.0f} kB"
        return f"Report({self.title!r}, {n} section{'s' * (n != 1)}, {size})"


def _tile(tile: Tile) -> Html:
    words = [tag("dd", tile.words)] if tile.words else []
    return tag("div", tag("dt", tile.name), tag("dd", tile.value), *words)


@cache
def style(page: bool = True) -> Html:
    """The style sheet of reports and cards, or the part of it that cards need."""
    sheet = files(__package__).joinpath("style.css").read_text(encoding="utf-8")
    if not page:
        start, end = sheet.index(_PAGE), sheet.index(_CARD)
        sheet = sheet[:start] + sheet[end:]
    return Html(sheet)


def card(*parts: Any) -> str:
    """Something as a card in a notebook, which brings its style with it."""
    sheet: Sequence[Html] = [tag("style", style(False))]
    return str(tag("div", *sheet, join(parts), class_="mercer card"))
