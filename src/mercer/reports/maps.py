"""Heat maps with numbers in their cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .images import colours, hexadecimal
from .markup import Html, number, short, tag
from .svg import margin

_WIDTH = 460
_HIGH, _TOP, _BOTTOM, _RIGHT = 30, 6, 44, 8
_LETTER = 6.2  # width of a character
_LABEL = 34.0  # least distance of labels
_RANGE = 3.0  # colours end this many times as far from the best as the median is


def heat_map(
    values: np.ndarray,
    across: list[str],
    down: list[str],
    xlabel: str,
    ylabel: str,
    name: str,
    *,
    frames: Sequence[tuple[int, int]] = (),
    dark_is_low: bool = False,
) -> Html:
    """A table of numbers as tinted cells; errors are light where they are small.

    Values far worse than the median get the last colour, so that differences near the best are
    visible.
    """
    rows, cols = values.shape
    sign = -1.0 if dark_is_low else 1.0
    good = sign * values
    finite = good[np.isfinite(good)]
    best = float(finite.min()) if finite.size else 0.0
    worst = float(finite.max()) if finite.size else 1.0
    worst = (
        min(worst, best + _RANGE * max(float(np.median(finite)) - best, 1e-12))
        if finite.size
        else worst
    )
    left = margin([short(d, 30) for d in down], 150) + (18 if ylabel else 0)
    wide = (_WIDTH - left - _RIGHT) / cols
    height = _TOP + rows * _HIGH + _BOTTOM
    parts: list[Html] = []
    for i in range(rows):
        y = _TOP + i * _HIGH
        parts.append(tag("text", short(down[i], 30), x=left - 8, y=y + 19, text_anchor="end"))
        for j in range(cols):
            x = left + j * wide
            place = {
                "x": f"{x:.1f}",
                "y": y,
                "width": f"{wide - 2:.1f}",
                "height": _HIGH - 2,
                "rx": 2,
            }
            if not np.isfinite(values[i, j]):
                parts.append(tag("rect", **place, fill="none", class_="grid"))
                continue
            rgb = colours(np.array(worst - good[i, j]), 0.0, max(worst - best, 1e-300))
            dark = 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] < 135
            parts.append(tag("rect", **place, fill=hexadecimal(rgb)))
            words = number(float(values[i, j]), 3 if wide > _LABEL else 2)
            if _LETTER * len(words) < wide - 2:
                ink = "fill:#fff" if dark else "fill:#111"
                at = {"x": f"{x + wide / 2 - 1:.1f}", "y": y + 19}
                parts.append(tag("text", words, **at, text_anchor="middle", style=ink))
    for row, col in frames:
        x, y = left + col * wide, _TOP + row * _HIGH
        parts.append(tag("rect", x=f"{x - 1:.1f}", y=y - 1, width=f"{wide:.1f}", height=_HIGH,
                         rx=3, class_="line h2", style="stroke-width:2.5"))  # fmt: skip
    every = int(np.ceil(_LABEL / wide))
    for j in range(0, cols, every):
        x = left + (j + 0.5) * wide
        parts.append(
            tag("text", across[j], x=f"{x:.1f}", y=height - _BOTTOM + 16, text_anchor="middle")
        )
    middle = left + cols * wide / 2
    parts.append(
        tag("text", xlabel, x=f"{middle:.1f}", y=height - 8, text_anchor="middle", class_="axis")
    )
    if ylabel:
        turned = f"translate(11 {_TOP + rows * _HIGH / 2:g}) rotate(-90)"
        parts.append(tag("text", ylabel, transform=turned, text_anchor="middle", class_="axis"))
    shown = sign * best
    words = f"{name} over {xlabel}{' and ' + ylabel if ylabel else ''}, best {number(shown, 3)}"
    box = f"0 0 {_WIDTH} {height}"
    return tag("svg", tag("title", words), *parts, viewBox=box, role="img", aria_label=words)
