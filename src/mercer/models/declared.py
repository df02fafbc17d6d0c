"""Constructor parameters against their annotations, before a fit begins.

A parameter is annotated once, in the class; values of another type are rejected here, by name,
rather than deep inside a solver. Ranges are checked where a parameter is used.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import cache
from math import inf
from numbers import Integral, Real
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from ..checks import is_count
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..randomness import check_random


class _Type(NamedTuple):
    words: str
    holds: Callable[[Any], bool]


_TYPES: dict[Any, _Type] = {
    bool: _Type("True or False", lambda value: isinstance(value, (bool, np.bool_, Integral))),
    int: _Type("an integer", lambda value: is_count(value, -inf)),
    float: _Type("a number", lambda value: isinstance(value, Real) and not isinstance(value, bool)),
    str: _Type("a string", lambda value: isinstance(value, str)),
    type(None): _Type("None", lambda value: value is None),
    Plan: _Type('a Plan such as Plan(memory="2 GB")', lambda value: isinstance(value, Plan)),
    dict: _Type("a dict", lambda value: isinstance(value, Mapping)),
    tuple: _Type("a tuple", lambda value: isinstance(value, (tuple, list))),
    Callable: _Type("a function", callable),
}


@cache
def _declared(cls: Any) -> dict[str, tuple[_Type, ...]]:
    """The types each parameter may have; parameters annotated as Any are left out."""
    hints, found = get_type_hints(cls), {}
    for name in cls._get_param_names():
        hint = hints.get(name, Any)
        several = get_origin(hint) in (Union, types.UnionType)
        origins = [get_origin(part) or part for part in (get_args(hint) if several else (hint,))]
        if all(origin in _TYPES for origin in origins):
            found[name] = tuple(_TYPES[origin] for origin in origins)
    return found


def check_declared(estimator: Any) -> None:
    """Refuse parameters of another type than they are declared with, and misplaced kernels."""
    cls: Any = type(estimator)
    names = cls._get_param_names()
    takes = next((name for name in ("kernel", "kernels") if name in names), None)
    for name in names:
        value = getattr(estimator, name)
        if takes and "kernel" not in name and isinstance(value, Kernel):  # alpha comes first
            raise ValueError(
                f"{name} must not be a kernel, got {value!r}; pass kernels by name: "
                f"{cls.__name__}({takes}=...)."
            )
        if "kernel" in name and isinstance(value, np.ndarray):
            raise ValueError(
                f"{name} must be a kernel, got an array of shape {value.shape}; pass a matrix of "
                'kernel values as X, with kernel="precomputed".'
            )
        if name == "random_state":
            check_random(value, name)
        types_ = _declared(cls).get(name, ())
        if types_ and not any(type_.holds(value) for type_ in types_):
            wanted = " or ".join(type_.words for type_ in types_)
            raise ValueError(f"{cls.__name__}: {name} must be {wanted}, got {_shown(value)}.")


def _shown(value: Any) -> str:
    """The value as errors name it: no array in full."""
    shape = np.shape(value) if hasattr(value, "__array__") else ()
    return f"an array of shape {shape}" if shape else repr(value)
