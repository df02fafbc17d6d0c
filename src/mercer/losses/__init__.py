r"""Losses L(y, f): what a score f costs when the target is y. All are convex in f.

Losses made of straight and parabolic pieces are given by their conjugate alone

.. math:: L^*(y, u) = \sup_f\, u f - L(y, f) = t u + \epsilon |u| + \tfrac{h}{2} u^2, \qquad
          l \le u \le r

(:class:`Dual`), from which value, slopes and proximal step follow. In a quadratic programme the
same numbers are targets, bounds, a penalty and a ridge.

A loss of your own needs ``value`` only. Slopes are then numerical, slow and approximate:

>>> from dataclasses import dataclass
>>> import numpy as np
>>> from mercer.losses import Loss
>>> @dataclass(eq=False, repr=False)
... class LogCosh(Loss):
...     def value(self, y, f):
...         return np.log(np.cosh(f - y))
>>> LogCosh().slope(np.array([0.0]), np.array([1.0])).round(6)  # tanh(1)
array([0.761594])
"""

from __future__ import annotations

from typing import Any

from .base import Dual, Loss, Piecewise
from .classification import Hinge, Logistic, Multinomial, SmoothedHinge, SquaredHinge
from .regression import (
    Absolute,
    EpsilonInsensitive,
    Expectile,
    Huber,
    Poisson,
    Quantile,
    Squared,
    SquaredEpsilonInsensitive,
)

__all__ = [
    "LOSSES",
    "Absolute",
    "Dual",
    "EpsilonInsensitive",
    "Expectile",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Multinomial",
    "Piecewise",
    "Poisson",
    "Quantile",
    "SmoothedHinge",
    "Squared",
    "SquaredEpsilonInsensitive",
    "SquaredHinge",
    "as_loss",
]

LOSSES: dict[str, type[Loss]] = {
    "squared": Squared,
    "absolute": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "expectile": Expectile,
    "epsilon_insensitive": EpsilonInsensitive,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smoothed_hinge": SmoothedHinge,
    "logistic": Logistic,
    "poisson": Poisson,
    "multinomial": Multinomial,
}


def as_loss(loss: Any) -> Loss:
    """A loss from a loss or its name.

    Examples
    --------
    >>> as_loss("huber")
    Huber()
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    listed = ", ".join(map(repr, LOSSES))
    raise ValueError(f"loss must be a mercer loss or one of {listed}; got {loss!r}.")
