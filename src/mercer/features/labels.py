"""A number for each label: strings, whole numbers, dates, tuples of them; the same everywhere.

Equal numbers are one label (1, 1.0 and True), and so are None and NaN: *missing*. Whole numbers are
their own code, moved to be positive; all else is hashed above them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..exceptions import DomainError
from .sparse import stable_codes

_WHOLE = 2**55  # whole numbers between -2^55 and 2^55 are their own code, moved to be > 0
_HASHED = 2**56  # the codes of all other labels lie in [2^56, 2^57)
COLUMNS = 2**57


def label_codes(labels: Iterable[Any], owner: str) -> np.ndarray:
    """An int64 code in [1, 2^57) for each label, that depends on the label only.

    ``owner`` is the caller, for errors. Pass each distinct label once.

    Examples
    --------
    >>> from mercer.features.labels import label_codes
    >>> one, same, text = label_codes([1, 1.0, "1"], "Example")
    >>> print(one == same, one == text)
    True False
    """
    names = [_name(x, owner) for x in labels]
    codes = np.zeros(len(names), np.int64)
    whole = np.array([isinstance(name, int) for name in names], dtype=bool)
    codes[whole] = [_WHOLE + name for name in names if isinstance(name, int)]
    codes[~whole] = _HASHED + stable_codes((s for s in names if isinstance(s, str)), bits=56)
    return codes


def integer_codes(labels: np.ndarray) -> np.ndarray:
    """The same of an array of integers."""
    if labels.size and not (labels.min() > -_WHOLE and labels.max() < _WHOLE):
        values, places = np.unique(labels, return_inverse=True)
        return label_codes(values.tolist(), "labels")[places.reshape(labels.shape)]
    return labels.astype(np.int64) + _WHOLE


def _name(x: Any, owner: str) -> int | str:
    """The identity of a label: itself if a whole number, else a text with its kind in front."""
    if isinstance(x, str):
        return "str:" + x
    if isinstance(x, tuple):
        inner = [str(_name(each, owner)) for each in x]
        return f"tuple:{','.join(f'{len(text)}:{text}' for text in inner)}"
    if x is None or type(x).__name__ == "NAType" or x != x:
        return "missing"
    if isinstance(x, Real):
        return _number(x)
    kind = type(x)
    printed = any("__repr__" in vars(c) for c in kind.__mro__[:-1])  # not as an address
    if not printed or (isinstance(x, Collection) and not isinstance(x, bytes)):
        raise DomainError(
            f"{owner}: labels must be strings, numbers, dates, ..., not of type {kind.__name__}."
        )
    return f"{kind.__qualname__}:{x!r}"


def _number(x: Any) -> int | str:
    if not isinstance(x, Integral) and not (np.isfinite(float(x)) and x == int(x)):
        return f"number:{float(x)!r}"
    return int(x) if abs(x) < _WHOLE else f"number:{int(x)}"
