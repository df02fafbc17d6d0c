"""Formulas in TeX as markup of a page."""

from __future__ import annotations

from ..kernels.notation.mathml import mathml as written
from .markup import Html


def mathml(tex: str, *, block: bool = False) -> Html:
    """A formula as an element ``math`` (:func:`mercer.kernels.notation.mathml.mathml`)."""
    return Html(written(tex, block=block))
