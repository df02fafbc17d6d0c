"""Which inherited methods remain valid in a class that overrides others."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..data import length

_VALUES = ("prepare", "pairwise", "tiles", "diag")  # what a formula is a statement about
_OF_VALUES = (
    "grad_input", "grad_theta", "grad_theta_diag", "weighed", "log_tiles", "log_diag", "on_device",
)  # fmt: skip
_REAL = (np.float32, np.float64)


def settle(cls: Any, base: Any) -> None:
    """Give a new class the defaults of ``base`` where what it inherits is not about its values.

    ``tiles`` and ``diag`` of a parent are not those of a class with its own ``pairwise``, its
    features, gradients and logarithms not those of a class with its own blocks, and its formula not
    that of a class with any values of its own. A class whose values are those of its parent, and
    only faster, says so by stating them again: ``features = Parent.features``. Values of its own
    ``pairwise`` are floating point numbers, even if they are counts.
    """
    if "pairwise" in vars(cls):
        cls.pairwise = _in_floats(cls.pairwise)
    for name in ("tiles", "diag"):
        if _depth(cls, "pairwise") < _depth(cls, name):
            setattr(cls, name, getattr(base, name))
    blocks = min(_depth(cls, "pairwise"), _depth(cls, "tiles"))
    if blocks < _depth(cls, "features"):
        for name in ("features", "n_features", "features_pay"):
            if blocks < _depth(cls, name):
                setattr(cls, name, getattr(base, name))
    for name in _OF_VALUES:
        if blocks < _depth(cls, name):
            setattr(cls, name, getattr(base, name))
    if _depth(cls, "grad_theta") < _depth(cls, "weighed"):
        cls.weighed = base.weighed
    if min(_depth(cls, name) for name in _VALUES) < _depth(cls, "formula"):
        cls.formula = base.formula


def by_tiles(kernel: Any, owner: type, X: Any, Y: Any) -> np.ndarray:
    """``pairwise`` of a class that implements ``tiles``, or of a subclass of it that does.

    A subclass with its own ``pairwise`` may call that of the owner. The tiles are then those that
    it would have had without it.
    """
    mro = type(kernel).__mro__
    start = max((d for d in range(mro.index(owner)) if "pairwise" in vars(mro[d])), default=-1) + 1
    tiles = next(vars(parent)["tiles"] for parent in mro[start:] if "tiles" in vars(parent))
    return np.asarray(tiles(kernel, X, Y)(slice(0, length(X)), slice(0, length(Y))))


def _in_floats(pairwise: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """The same blocks; integers would make integers of whatever is multiplied with them."""

    @wraps(pairwise)
    def block(*args: Any, **kwargs: Any) -> np.ndarray:
        K = np.asarray(pairwise(*args, **kwargs))
        return K if K.dtype in _REAL else K.astype(np.float64)

    return block


def _depth(cls: type, name: str) -> int:
    """How far up in the order of its parents a class finds a method."""
    return next(depth for depth, parent in enumerate(cls.__mro__) if name in vars(parent))
