"""Answers to what the page asks: the catalogue of views, and one picture after another."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from ..exceptions import MercerWarning
from .kernels import SHOWN, describe, read_kernel
from .presets import PRESETS
from .state import CLASSES, LONGEST_STRING, MOST_POINTS, MOST_STRINGS, WINDOW, read_state
from .views import VIEWS


@cache
def catalogue() -> dict[str, Any]:
    """Views with their options, kernels to start from, presets, and limits."""
    views = [
        {
            "name": v.name,
            "title": v.title,
            "lead": v.lead,
            "data": v.data,
            "classes": v.classes,
            "options": [asdict(option) | {"whole": option.whole} for option in v.options],
        }
        for v in VIEWS.values()
    ]
    return {
        "views": views,
        "kernels": SHOWN | {"none": SHOWN["plane"]},
        "presets": [preset.as_json() for preset in PRESETS],
        "limits": {
            "points": MOST_POINTS,
            "strings": MOST_STRINGS,
            "string": LONGEST_STRING,
            "classes": CLASSES,
        },
        "window": WINDOW,
    }


def answer(payload: Any) -> dict[str, Any]:
    """The picture of a state, or a sentence that says why there is none.

    Parameters
    ----------
    payload : object
        A state as it came out of JSON; whatever it is, this function returns.

    Returns
    -------
    dict
        With ``picture``, ``kernel``, ``python``, ``warnings`` and ``ms``; or with ``error``, what
        it is ``about``, and ``kernel`` where that could be read.
    """
    start = perf_counter()
    found: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as raised, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            state = read_state(payload, {v.name: v.options for v in VIEWS.values()})
            view = VIEWS[state.view]
            found["about"] = "kernel"
            kernel = read_kernel(state.kernel, state.changes, view.data == "strings")
            found["kernel"] = describe(kernel)
            found["about"] = "picture"
            picture = view.compute(state, kernel)
            found |= {"picture": picture.as_json(), "python": "\n".join(picture.python)}
        except MemoryError:
            found["error"] = "There is not enough memory for this; try fewer points."
        except Exception as error:  # whatever a kernel or a model says of data it cannot take
            found["error"] = _sentence(error)
    texts = dict.fromkeys(str(w.message) for w in raised if issubclass(w.category, MercerWarning))
    found["warnings"] = [" ".join(text.split())[:400] for text in list(texts)[:3]]
    found["ms"] = round(1e3 * (perf_counter() - start), 1)
    return found


def _sentence(error: Exception) -> str:
    """An error as one line; those that are not meant for users say their type."""
    text = " ".join(str(error).split())[:400]
    if isinstance(error, ValueError | TypeError | ArithmeticError) and text:
        return text[0].upper() + text[1:]
    return f"This cannot be computed ({type(error).__name__}: {text or 'no reason given'})."
