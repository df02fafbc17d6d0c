"""The kernel of a picture: read from its expression, checked, and described for the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..kernels.base import Kernel
from ..kernels.notation.mathml import mathml
from ..kernels.notation.parse import parse
from ..kernels.notation.tex import tex
from ..params import Params

_MOST = 8  # parameters with a slider
_SYMBOLS = {"lengthscale": "σ", "decay": "λ", "alpha": "α", "offset": "c", "degree": "p", "nu": "ν"}
_LONGEST = 12  # of an integer: degrees, lengths of words
_VECTORS = ("vectors", "circle", "ball", "interval")
_Parameter = tuple[str, str, float, float, float, bool, bool]
"""Nested name, label, value, low, high, whether logarithmic, whether an integer."""
SHOWN = {
    "plane": (
        "Gaussian(1.0)", "Gaussian(0.5) + 0.1 * Linear()", "Linear()", "Polynomial(2)",
        "Polynomial(3)", "Laplacian(1.0)", "Matern(1.0)", "RationalQuadratic(1.0)", "XOR()",
        "Conic()", "Gaussian(2.0) * Linear()", "Exponential(0.3)",
    ),
    "line": (
        "Gaussian(1.0)", "Laplacian(1.0)", "Matern(1.0)", "Matern(1.0, 2.5)", "Linear() + 1",
        "Polynomial(3)", "Gaussian(0.5) + 0.1 * Linear()", "Periodic(1.0, 2.0)",
        "RationalQuadratic(1.0)", "Gaussian(2.0) * Periodic(1.0, 1.5)",
    ),
    "strings": (
        "Spectrum(3).normalize()", "Spectrum(3)", "BlendedSpectrum(4).normalize()",
        "Mismatch(4, 1).normalize()", "Subsequence(3, 0.5).normalize()",
        "GappyKmer(5, 3).normalize()", "LocalAlignment().normalize()", "Words().normalize()",
    ),
}  # fmt: skip


def read_kernel(text: str, changes: Mapping[str, Any], strings: bool = False) -> Kernel:
    """The kernel of an expression, with parameters that sliders have moved.

    Parameters
    ----------
    text : str
        Parsed, never run.
    changes : mapping
        Nested names of parameters, and their new values.
    strings : bool
        Whether samples are strings, and not vectors.
    """
    if not text.strip():
        raise ValueError("Write a kernel, for example Gaussian(1.0).")
    kernel = parse(text)
    numbers = {name: whole for name, *_, whole in _parameters(kernel)}
    kept = {name: value for name, value in changes.items() if name in numbers}
    for name, value in kept.items():
        kernel.set_params(**{name: round(value) if numbers[name] else float(f"{value:.3g}")})
    kind = kernel.properties.domain.kind
    if strings and kind in _VECTORS:
        raise ValueError(
            f"{kernel} compares vectors, but the data here are strings; use a kernel "
            "such as Spectrum(3)."
        )
    if not strings and kind not in (*_VECTORS, "any", "columns"):
        raise ValueError(
            f"{kernel} compares {kernel.properties.domain}, but the data here are points of the "
            "plane."
        )
    return kernel


def describe(kernel: Kernel) -> dict[str, Any]:
    """Expression, typeset formula, words, and the parameters that can be moved."""
    return {
        "text": written(kernel),
        "formula": "".join(mathml(line, block=True) for line in tex(kernel)),
        "words": kernel.explain(),
        "parameters": [
            dict(zip(("name", "label", "value", "low", "high", "log", "whole"), each, strict=True))
            for each in _parameters(kernel)[:_MOST]
        ],
    }


def written(kernel: Kernel) -> str:
    """The expression as a person writes it: ``Gaussian(0.5)``, with a number that can be moved."""
    return re.sub(r"\b([A-Z]\w*)\((\)|\w+=)", _shorter, repr(kernel))


def _shorter(found: re.Match[str]) -> str:
    """Without the name of the first parameter; with its value, if that is a number left out."""
    name, after = found.groups()
    first = next(iter(fields(Params.registry[name])), None) if name in Params.registry else None
    if first is None:
        return found[0]
    if after == f"{first.name}=":
        return f"{name}("
    number = isinstance(first.default, int | float) and not isinstance(first.default, bool)
    return f"{name}({first.default})" if after == ")" and number else found[0]


def classes(kernel: Kernel) -> list[str]:
    """The names that a program which writes this kernel down has to import."""
    return sorted(set(re.findall(r"\b([A-Z]\w*)\(", written(kernel))))


def _parameters(kernel: Params, prefix: str = "") -> list[_Parameter]:
    """Numbers in a kernel."""
    found: list[_Parameter] = []
    for f in fields(kernel):
        value, name = getattr(kernel, f.name), f"{prefix}{f.name}"
        if isinstance(value, Params):
            found += _parameters(value, f"{name}__")
        elif isinstance(value, bool) or not isinstance(value, int | float):
            continue
        else:
            found.append((name, _label(kernel, f.name), value, *_range(f, value)))
    return found


def _range(f: Any, value: float) -> tuple[float, float, bool, bool]:
    if "int" in str(f.type):
        return float(min(1, value)), float(max(_LONGEST, value)), False, True
    low, high = f.metadata.get("bounds") or (1e-5, 1e5)
    low, high = max(low, 0.03), min(high, 30.0)
    return min(low, value) if value > 0 else 0.0, max(high, value), value > 0, False


def _label(kernel: Params, name: str) -> str:
    kind = type(kernel).__name__
    if kind == "Constant":
        return "weight"
    symbol = f" {_SYMBOLS[name]}" if name in _SYMBOLS else ""
    return f"{kind} {name}{symbol}"
