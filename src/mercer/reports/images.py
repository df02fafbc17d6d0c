"""Small images: matrices as heat maps, in a PNG file of a few kilobytes written here."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import TYPE_CHECKING

import numpy as np

from .markup import Html, tag

if TYPE_CHECKING:
    from ..gram.base import Gram

_STOPS = np.array(  # a scale from dark blue to yellow, as bright for everybody
    [[0, 32, 77], [43, 63, 110], [87, 93, 109], [124, 123, 120], [165, 155, 115], [210, 191, 96],
     [255, 234, 70]], dtype=float
)  # fmt: skip
_SIGNED = np.array(  # from rose over white to blue, for values of both signs
    [[170, 51, 85], [221, 150, 160], [247, 247, 247], [140, 170, 208], [51, 102, 160]], dtype=float
)
_MOST = 160  # pixels of a thumbnail


def colours(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Red, green and blue of values between two ends; those of both signs have white at 0."""
    stops = _STOPS
    if low < 0 < high:
        stops, size = _SIGNED, max(-low, high)
        low, high = -size, size
    span = high - low
    share = np.clip((values - low) / span, 0, 1) if span > 0 else np.full(np.shape(values), 0.5)
    at = np.linspace(0, 1, len(stops))
    return np.stack([np.interp(share, at, stops[:, c]) for c in range(3)], axis=-1).astype(np.uint8)


def hexadecimal(rgb: np.ndarray) -> str:
    """A colour as style sheets have it."""
    return "#" + "".join(f"{int(c):02x}" for c in rgb)


def png(rgb: np.ndarray) -> bytes:
    """An image of shape (height, width, 3) as a PNG file."""
    height, width = rgb.shape[:2]
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)  # each begins with its filter, none
    lines[:, 1:] = rgb.reshape(height, -1)

    def chunk(name: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (chunk(b"IHDR", header), chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


def image(rgb: np.ndarray, words: str, width: int, height: int) -> Html:
    """An image inside the page."""
    source = "data:image/png;base64," + b64encode(png(rgb)).decode()
    return tag("img", src=source, alt=words, width=width, height=height, class_="pixels")


def thumbnail(gram: Gram) -> Html:
    """A heat map of a Gram operator: of a large one, some rows and columns, evenly spaced."""
    rows, cols = (np.unique(np.linspace(0, n - 1, min(n, _MOST)).round().astype(int))
                  for n in gram.shape)  # fmt: skip
    values = np.asarray(gram.block(rows, cols), dtype=float)
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    every = len(rows) < gram.shape[0] or len(cols) < gram.shape[1]
    words = (
        f"heat map of {gram.shape[0]} × {gram.shape[1]} kernel values from {low:.3g} to {high:.3g}"
    )
    size = 2 * _MOST // 2
    tall = max(24, round(size * len(rows) / max(len(rows), len(cols))))
    wide = max(24, round(size * len(cols) / max(len(rows), len(cols))))
    shown = colours(np.nan_to_num(values, nan=low), low, high)
    return image(shown, words + (", some rows and columns of it" if every else ""), wide, tall)
