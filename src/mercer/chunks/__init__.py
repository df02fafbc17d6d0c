"""Samples that come in chunks: more than fit the memory, from files, or on other machines."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {"base": "Chunks"}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT, {"base": "ArrayChunks Chunk"})
