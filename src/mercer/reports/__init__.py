"""Reports on models and tests, and how objects show themselves in notebooks."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {"front": "report", "page": "Report"}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT, {"formula": "mathml", "page": "Section Tile"})
