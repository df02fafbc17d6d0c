"""In how many digits kernel values are computed on a device: a choice of the plan."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...data import Data

PRECISIONS = ("fp64", "fp32", "tf32")


def is_precision(value: Any) -> str | None:
    """None for one of them, or for none; what it should be otherwise."""
    known = value is None or (isinstance(value, str) and value in PRECISIONS)
    return None if known else "None, " + " or ".join(map(repr, PRECISIONS))


def is_single(precision: str | None, X: Data, Z: Data, dtype: Any = None) -> bool:
    """Are values at X and Z in single precision?

    What a plan says counts; else by the solver, ``dtype``; else by the samples.
    """
    if precision is not None:
        return precision != "fp64"
    if dtype is not None:
        return np.dtype(dtype) == np.float32
    return all(getattr(part, "dtype", None) == np.float32 for part in (X, Z))


def products_in(precision: str | None) -> str:
    """That of fused products in single precision."""
    return "tf32" if precision == "tf32" else "fp32"
