"""Gram operators on a device of PyTorch: tiles, products, passes, factors, sums over all pairs."""

from __future__ import annotations

from ..._lazy import lazy

# modules that are attributes before they are imported: most programs never compute on a device
__getattr__, __dir__, __all__ = lazy(__name__, rooms="gram landmarks pairs tiles")
