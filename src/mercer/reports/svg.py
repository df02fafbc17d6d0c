"""Charts as SVG: drawn with a few elements, coloured by style sheets, described in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .markup import Html, join, number, short, tag

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 12, 10, 40  # margins
_LETTER = 6.2  # width of a character of a label, about
_MOST_POINTS = 1200


@dataclass
class Chart:
    """Axes with a range, and what is drawn into them.

    Hues are numbers: 1 blue, 2 rose, 3 green, 4 yellow, 5 cyan, 6 purple; 0 is ink.
    """

    words: str  # what is to be seen, for who cannot see it
    x: tuple[float, float]
    y: tuple[float, float]
    xlabel: str = ""
    ylabel: str = ""
    width: int = 440
    height: int = 290
    xlog: bool = False
    ylog: bool = False
    xticks: Sequence[tuple[float, str]] | None = None
    yticks: Sequence[tuple[float, str]] | None = None
    left: int = _LEFT
    drawn: list[Html] = field(default_factory=list)
    legend: list[tuple[str, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.x, self.y = _range(self.x, self.xlog), _range(self.y, self.ylog)

    # ---- places ------------------------------------------------------------------------------
    def across(self, values: Any) -> np.ndarray:
        """Where values of x are."""
        share = _share(values, self.x, self.xlog)
        return np.round(self.left + share * (self.width - self.left - _RIGHT), 1)

    def up(self, values: Any) -> np.ndarray:
        """Where values of y are."""
        share = _share(values, self.y, self.ylog)
        return np.round(self.height - _BOTTOM - share * (self.height - _BOTTOM - _TOP), 1)

    # ---- what can be drawn -------------------------------------------------------------------
    def line(self, x: Any, y: Any, hue: int = 1, *, dashed: bool = False, label: str = "") -> Chart:
        """A line through points; NaN interrupts it."""
        path, pen = "", "M"
        for a, b in zip(self.across(x), self.up(y), strict=True):
            if np.isfinite(a) and np.isfinite(b):
                path += f"{pen}{a:g} {b:g}"
                pen = "L"
            else:
                pen = "M"
        style = f"line h{hue}" + " dashed" * dashed
        self._add(tag("path", d=path, class_=style), label, hue, "dashed" if dashed else "line")
        return self

    def band(self, x: Any, low: Any, high: Any, hue: int = 1, *, label: str = "") -> Chart:
        """The region between two curves."""
        there = zip(self.across(x), self.up(high), strict=True)
        back = zip(self.across(x)[::-1], self.up(low)[::-1], strict=True)
        path = "M" + "L".join(f"{a:g} {b:g}" for a, b in [*there, *back]) + "Z"
        self._add(tag("path", d=path, class_=f"band h{hue}"), label, hue, "band")
        return self

    def points(self, x: Any, y: Any, hue: int = 1, *, size: float = 5, label: str = "") -> Chart:
        """Dots; of very many, some."""
        a, b = self.across(x), self.up(y)
        shown = np.flatnonzero(np.isfinite(a) & np.isfinite(b))
        if len(shown) > _MOST_POINTS:
            shown = np.random.default_rng(0).choice(shown, _MOST_POINTS, replace=False)
        faint = " faint" if len(shown) > 150 else ""
        path = "".join(f"M{a[i]:g} {b[i]:g}h0" for i in shown)
        style = f"dots h{hue}{faint}"
        self._add(tag("path", d=path, class_=style, stroke_width=f"{size:g}"), label, hue, "dots")
        return self

    def bars(self, edges: Any, heights: Any, hue: int = 1, *, label: str = "") -> Chart:
        """A histogram."""
        a, floor = self.across(edges), float(self.up([max(self.y[0], 0.0)])[0])
        path = ""
        for i, top in enumerate(self.up(heights)):
            wide = max(a[i + 1] - a[i] - 1, 0.5)
            path += f"M{a[i] + 0.5:g} {floor:g}V{top:g}h{wide:g}V{floor:g}Z"
        self._add(tag("path", d=path, class_=f"bar h{hue}"), label, hue, "bar")
        return self

    def rows(self, low: Any, high: Any, hue: int = 1, thick: float = 0.6) -> Chart:
        """Horizontal bars, the first one on top, at y = 0, -1, -2, ..."""
        path = ""
        for i, (a, b) in enumerate(zip(self.across(low), self.across(high), strict=True)):
            top, bottom = self.up([-i + thick / 2, -i - thick / 2])
            path += f"M{min(a, b):g} {top:g}H{max(a, b):g}V{bottom:g}H{min(a, b):g}Z"
        self._add(tag("path", d=path, class_=f"bar h{hue}"))
        return self

    def whiskers(self, x: Any, low: Any, high: Any, hue: int = 0) -> Chart:
        """Vertical intervals at x."""
        ends = zip(self.across(x), self.up(low), self.up(high), strict=True)
        self._add(tag("path", d="".join(f"M{a:g} {b:g}V{c:g}" for a, b, c in ends),
                      class_=f"line thin h{hue}"))  # fmt: skip
        return self

    def spans(self, y: Any, low: Any, high: Any, hue: int = 0) -> Chart:
        """Horizontal intervals at y."""
        ends = zip(self.up(y), self.across(low), self.across(high), strict=True)
        self._add(tag("path", d="".join(f"M{b:g} {a:g}H{c:g}" for a, b, c in ends),
                      class_=f"line thin h{hue}"))  # fmt: skip
        return self

    def rule(self, *, x: float | None = None, y: float | None = None, hue: int = 0) -> Chart:
        """A line across the axes."""
        if x is not None:
            path = f"M{self.across([x])[0]:g} {_TOP}V{self.height - _BOTTOM}"
        else:
            path = f"M{self.left} {self.up([y])[0]:g}H{self.width - _RIGHT}"
        self._add(tag("path", d=path, class_=f"line thin dashed h{hue}"))
        return self

    def note(self, x: float, y: float, words: str, anchor: str = "start") -> Chart:
        """Words in the picture."""
        a, b = self.across([x])[0], self.up([y])[0]
        self._add(tag("text", words, x=f"{a:g}", y=f"{b:g}", text_anchor=anchor, class_="note"))
        return self

    def _add(self, element: Html, label: str = "", hue: int = 0, mark: str = "") -> None:
        self.drawn.append(element)
        if label:
            self.legend.append((label, hue, mark))

    # ---- the picture -------------------------------------------------------------------------
    def svg(self) -> Html:
        """The chart as a figure, its legend below."""
        bottom, right = self.height - _BOTTOM, self.width - _RIGHT
        frame, labels = "", []
        for value, words in self._ticks(self.x, self.xticks, self.xlog, self.width - self.left):
            a = self.across([value])[0]
            frame += f"M{a:g} {bottom}v4"
            labels.append(tag("text", words, x=f"{a:g}", y=bottom + 17, text_anchor="middle"))
        grid = ""
        for value, words in self._ticks(self.y, self.yticks, self.ylog, 1.4 * self.height):
            b = self.up([value])[0]
            grid += f"M{self.left} {b:g}H{right}"
            labels.append(tag("text", words, x=self.left - 7, y=f"{b + 4:g}", text_anchor="end"))
        middle = (self.left + right) / 2
        if self.xlabel:
            words = short(self.xlabel, 48)
            labels.append(
                tag("text", words, x=f"{middle:g}", y=self.height - 6, text_anchor="middle",
                    class_="axis")
            )  # fmt: skip
        if self.ylabel:
            at = f"translate(11 {(bottom + _TOP) / 2:g}) rotate(-90)"
            words = short(self.ylabel, 40)
            labels.append(tag("text", words, transform=at, text_anchor="middle", class_="axis"))
        frame += f"M{self.left} {bottom}H{right}"
        inside = [
            tag("title", self.words),
            tag("path", d=grid, class_="grid"),
            *self.drawn,
            tag("path", d=frame, class_="frame"),
            *labels,
        ]
        box = f"0 0 {self.width} {self.height}"
        picture = tag("svg", *inside, viewBox=box, role="img", aria_label=self.words)
        return join([picture, self._legend()])

    def _legend(self) -> Html | None:
        if not self.legend:
            return None
        entries = [
            tag("span", tag("i", class_=f"key {mark} h{hue}", aria_hidden="true"), words)
            for words, hue, mark in self.legend
        ]
        return tag("p", *entries, class_="legend")

    def _ticks(
        self, ends: tuple[float, float], given: Any, log: bool, room: float
    ) -> list[tuple[float, str]]:
        if given is not None:
            return list(given)
        most = max(2, int(room / 70))
        values = _powers(ends, most) if log else nice(ends, most)
        return [(value, number(value, 3)) for value in values]


def figure(chart: Chart | Html, caption: Any, *, wide: bool = False) -> Html:
    """A chart with its caption."""
    drawn = chart.svg() if isinstance(chart, Chart) else chart
    words = None if caption is None else tag("figcaption", caption)
    return tag("figure", drawn, words, class_="wide" if wide else None)


def figures(*charts: Html | None) -> Html:
    """Charts side by side, or stacked if there is no room."""
    return tag("div", *(c for c in charts if c is not None), class_="figures")


def margin(names: Sequence[str], most: int = 170) -> int:
    """Room to the left for names of rows."""
    longest = max((len(name) for name in names), default=0)
    return int(min(most, max(_LETTER * longest + 14, 30)))


def nice(ends: tuple[float, float], most: int) -> list[float]:
    """Round numbers in a range, at most so many, and two at least."""
    low, high = ends
    raw = (high - low) / max(most, 1)
    power = 10.0 ** np.floor(np.log10(raw)) if raw > 0 else 1.0
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * 0.999)
    first = np.ceil(low / step - 1e-9)
    found = step * np.arange(first, np.floor(high / step + 1e-9) + 1)
    return [0.0 if abs(v) < step * 1e-9 else float(f"{v:.12g}") for v in found]


def _powers(ends: tuple[float, float], most: int) -> list[float]:
    low, high = np.floor(np.log10(ends[0])), np.ceil(np.log10(ends[1]))
    every = max(1, int(np.ceil((high - low + 1) / most)))
    for steps in ((1,), (1, 3), (1, 2, 5)):  # as fine as there is room for
        found = [m * 10.0**p for p in np.arange(low, high + 1, every) for m in steps]
        inside = [v for v in found if ends[0] * 0.999 <= v <= ends[1] * 1.001]
        if len(inside) > 2:
            return inside
    return inside if len(inside) > 1 else nice(ends, most)


def _range(ends: tuple[float, float], log: bool) -> tuple[float, float]:
    low, high = (float(end) for end in ends)
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = (1.0, 10.0) if log else (0.0, 1.0)
    if log:
        low = max(low, 1e-300)
        return (low / 2, low * 2) if high <= low else (low, high)
    if high > low and np.isfinite(high - low):
        return low, high
    space = abs(low) / 2 or 0.5
    return low - space, low + space


def _share(values: Any, ends: tuple[float, float], log: bool) -> np.ndarray:
    v = np.asarray(values, dtype=float)
    with np.errstate(all="ignore"):
        if log:
            v, ends = np.log(v), (float(np.log(ends[0])), float(np.log(ends[1])))
        share = (v - ends[0]) / (ends[1] - ends[0])
    return np.where(np.isfinite(share), np.clip(share, -0.02, 1.02), np.nan)
