"""Hyper-parameters chosen by gradients of a criterion, or along a path of penalties."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {"models": "Tuning tune", "path": "RidgePath ridge_path"}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT)
