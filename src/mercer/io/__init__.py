"""Files: kernels, plans, functions, results and fitted models, without code in them."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {"files": "load save"}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT, {"onnx_model": "to_onnx"})
