"""Gram operators: how a kernel matrix is stored, and how to multiply with it."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {"base": "Gram", "plan": "Plan"}

__getattr__, __dir__, __all__ = lazy(
    __name__,
    FLAT,
    {
        "algebra": "CenteredGram ScaledGram ShiftedGram SumGram",
        "device.gram": "DeviceGram",
        "products": "ProductGram",
        "stored": "DenseGram KernelGram LowRankGram TiledGram",
    },
)
