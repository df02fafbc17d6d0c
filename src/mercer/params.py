"""Hyper-parameters: declared once as dataclass fields, named, nested, checked and vectorised.

A class with hyper-parameters is a dataclass (``eq=False``) deriving from :class:`Params`:

>>> from dataclasses import dataclass
>>> @dataclass(eq=False, repr=False)
... class Bump(Params):
...     width: float = positive(1.0)
>>> Bump(width=2.0)
Bump(width=2.0)
>>> Bump(width=-1.0)
Traceback (most recent call last):
    ...
ValueError: Bump: width must be positive, got -1.0.

Fields are mutable because scikit-learn's ``GridSearchCV`` discards what a nested
``set_params`` returns; everywhere else instances are treated as values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .checks import count_words, is_count, is_number, is_one_of

_MOST_SHOWN = 10_000  # numbers of one parameter that are printed
Check = Callable[[Any], str | None]
"""Returns what a value must be (``"positive"``) when it is not, else None."""


def parameter(
    default: Any = MISSING,
    *,
    check: Check | None = None,
    bounds: tuple[float, float] | None = None,
    log: bool = False,
    learned: tuple[str | None, ...] = (),
) -> Any:
    """A dataclass field with a check and, for continuous ones, its range for tuning.

    ``learned`` are values, None or names, in whose place comes what data tell.
    """
    metadata = {"check": check, "bounds": bounds, "log": log, "learned": learned}
    return field(default=default, metadata=metadata)


def positive(
    default: Any = MISSING,
    *,
    arrays: bool = False,
    choices: tuple[str, ...] = (),
    tuned: bool = True,
) -> Any:
    """A finite number > 0; with ``arrays`` also an array of them; or a rule, of the ``choices``.

    One that is not ``tuned`` (a tolerance, a number that picks a formula) is left out of theta.
    """
    wanted = "positive" + "".join(f' or "{c}"' for c in choices)

    def check(value: Any) -> str | None:
        if isinstance(value, str):
            return None if value in choices else wanted
        if not arrays:
            return None if is_number(value) and value > 0 else wanted
        try:
            array = np.asarray(value)
        except ValueError:
            return wanted
        fine = array.size > 0 and array.dtype.kind in "iuf" and bool(np.all(np.isfinite(array)))
        return None if fine and bool(np.all(array > 0)) else wanted

    bounds = (1e-5, 1e5) if tuned else None
    return parameter(default, check=check, bounds=bounds, log=tuned, learned=choices)


def number(
    default: Any,
    words: str,
    fine: Callable[[float], bool],
    *,
    bounds: tuple[float, float] | None = None,
    log: bool = False,
) -> Any:
    """A finite number that is as the ``words`` say; in theta if there are ``bounds``."""

    def check(value: Any) -> str | None:
        return None if is_number(value) and fine(value) else words

    return parameter(default, check=check, bounds=bounds, log=log)


def nonnegative(default: Any = MISSING, *, tuned: bool = True) -> Any:
    """A finite number >= 0; in theta if ``tuned``."""
    bounds = (1e-5, 1e5) if tuned else None
    return number(default, "a finite number >= 0", lambda v: v >= 0, bounds=bounds, log=tuned)


def fraction(default: Any = MISSING, *, tuned: bool = True) -> Any:
    """A number in (0, 1], such as a factor by which something decays; in theta if ``tuned``."""
    bounds = (1e-3, 1.0) if tuned else None
    return number(default, "a number in (0, 1]", lambda v: 0 < v <= 1, bounds=bounds, log=tuned)


def probability(default: Any = MISSING) -> Any:
    """A number in [0, 1]; in theta unless it is 0."""
    inside = (1e-3, 1.0)
    return number(default, "a number in [0, 1]", lambda v: 0 <= v <= 1, bounds=inside, log=True)


def square_matrix(value: Any) -> np.ndarray | None:
    """A value as a square matrix of finite numbers; None if it is not one."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return None
    square = array.ndim == 2 and array.shape[0] == array.shape[1] and array.size > 0
    return array if square and bool(np.all(np.isfinite(array))) else None


def integer(default: Any = MISSING, *, low: int = 0, also: tuple[str | None, ...] = ()) -> Any:
    """An integer >= ``low``, or one of the names ``also``."""

    def check(value: Any) -> str | None:
        fine = is_one_of(value, also) or is_count(value, low)
        return None if fine else count_words(low, also=also)

    return parameter(default, check=check)


def a_function(words: str) -> Any:
    """A function, such as "a function of a data set"."""
    return parameter(check=lambda value: None if callable(value) else words)


def one_of(default: Any, *choices: Any) -> Any:
    """One of a few values."""

    def check(value: Any) -> str | None:
        listed = ", ".join(map(repr, choices))
        return None if any(same(value, c) for c in choices) else f"one of {listed}"

    return parameter(default, check=check)


class Hyperparameter(NamedTuple):
    """One continuous hyper-parameter: its nested name, value and range."""

    name: str
    value: Any
    bounds: tuple[float, float]
    log: bool


@dataclass(eq=False, repr=False)
class Params:
    """Base of everything with hyper-parameters; scikit-learn's parameter protocol."""

    registry: ClassVar[dict[str, type[Params]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Params.registry[cls.__name__] = cls

    def __setattr__(self, name: str, value: Any) -> None:
        """Check a field whenever it is set: by the constructor, by set_params or by hand."""
        declared = type(self).__dataclass_fields__.get(name)
        check = declared.metadata.get("check") if declared is not None else None
        wanted = check(value) if check is not None else None
        if wanted:
            raise ValueError(f"{type(self).__name__}: {name} must be {wanted}, got {value!r}.")
        object.__setattr__(self, name, value)

    # ---- the scikit-learn protocol -------------------------------------------------------
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; nested ones as ``outer__inner`` when ``deep``."""
        params = {}
        for name, value in self._items():
            params[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{k}": v for k, v in value.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by (nested) name, in place; returns self."""
        own = {name for name, _ in self._items()}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in own:
                known = ", ".join(sorted(own)) or "none"
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; its parameters: {known}."
                )
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, sub in nested.items():
            inner = getattr(self, name)
            if not hasattr(inner, "set_params"):
                raise ValueError(
                    f"{type(self).__name__}: {name} has no parameters of its own, so "
                    f"{name}__{next(iter(sub))} cannot be set."
                )
            inner.set_params(**sub)
        return self

    # ---- values --------------------------------------------------------------------------
    def replace(self, **changes: Any) -> Self:
        """A copy with some parameters changed."""
        return type(self)(**(dict(self._items()) | changes))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Params)
        mine, theirs = dict(self._items()), dict(other._items())
        return all(same(mine[name], theirs[name]) for name in mine)

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by value

    def __repr__(self) -> str:
        shown = []
        for f in fields(self):
            value = getattr(self, f.name)
            if f.default is MISSING or not same(value, f.default):
                whole = f.metadata.get("check") is not None  # a parameter, not data
                shown.append(f"{f.name}={show(value, whole=whole)}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def _items(self) -> Iterator[tuple[str, Any]]:
        return ((f.name, getattr(self, f.name)) for f in fields(self))

    # ---- tuning --------------------------------------------------------------------------
    def hyperparameters(self) -> list[Hyperparameter]:
        """Every continuous hyper-parameter with a number as value, nested ones included.

        A zero that could only grow on a logarithmic scale (no offset, no weight) stays zero.
        """
        found = []
        for f in fields(self):
            value, log = getattr(self, f.name), f.metadata.get("log")
            if isinstance(value, Params):
                found += [h._replace(name=f"{f.name}__{h.name}") for h in value.hyperparameters()]
            elif f.metadata.get("bounds") and not isinstance(value, str | type(None)):
                if log and not np.all(value):
                    continue
                found.append(Hyperparameter(f.name, value, f.metadata["bounds"], bool(log)))
        return found

    @property
    def theta(self) -> np.ndarray:
        """All continuous hyper-parameters as one vector (logarithms where natural)."""
        parts = [
            np.log(np.ravel(h.value)) if h.log else np.ravel(h.value)
            for h in self.hyperparameters()
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def with_theta(self, theta: np.ndarray) -> Self:
        """A copy whose continuous hyper-parameters are those of the vector ``theta``."""
        new, start = copy_params(self), 0
        for h in self.hyperparameters():
            size = np.size(h.value)
            part = np.asarray(theta[start : start + size], dtype=float)
            part = np.exp(part) if h.log else part
            new.set_params(**{h.name: float(part[0]) if np.ndim(h.value) == 0 else part})
            start += size
        return new


def copy_params(value: Params) -> Any:
    """A copy that shares no nested :class:`Params` with the original."""
    return value.replace(**{k: copy_params(v) for k, v in value._items() if isinstance(v, Params)})


def same(a: Any, b: Any) -> bool:
    """Equality that also understands arrays, sparse matrices, frames and lists of them."""
    if a is b:
        return True
    if isinstance(a, Params) or isinstance(b, Params):
        return type(a) is type(b) and a == b
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if hasattr(a, "tocsr") and hasattr(b, "tocsr"):
        return a.shape == b.shape and (a != b).nnz == 0
    if hasattr(a, "equals") and hasattr(b, "equals"):
        return bool(a.equals(b))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = np.asarray(a), np.asarray(b)
        return a.shape == b.shape and bool(np.all(a == b))
    return (type(a) is type(b) and bool(a == b)) or (is_number(a) and is_number(b) and a == b)


def show(value: Any, *, whole: bool = False) -> str:
    """A value as it would be written in source; long data in brief, unless ``whole``."""
    most = _MOST_SHOWN if whole else 64
    if isinstance(value, np.ndarray):
        return repr(value.tolist()) if value.size <= most else f"<array of shape {value.shape}>"
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.ufunc):
        return f"np.{value.__name__}"
    if isinstance(value, Params | str | int | float | type(None)):
        return repr(value)
    if isinstance(value, list | tuple) and len(value) > most:
        return f"<{len(value)} samples>"
    if isinstance(value, list):
        return f"[{', '.join(map(show, value))}]"
    if type(value) is tuple:
        return f"({', '.join(map(show, value))}{',' * (len(value) == 1)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return value.__qualname__
    if hasattr(value, "shape"):
        return f"<data of shape {value.shape}>"
    if hasattr(value, "number_of_nodes"):  # of networkx, which prints an address
        return f"<graph of {value.number_of_nodes()} nodes>"
    return repr(value)
