"""Solvers: linear algebra and optimisation on Gram operators, with certificates."""

from __future__ import annotations

from .._lazy import lazy

FLAT = {"pivoted": "pivoted_cholesky"}

__getattr__, __dir__, __all__ = lazy(__name__, FLAT, {"auto": "solve_ridge", "base": "Solution"})
