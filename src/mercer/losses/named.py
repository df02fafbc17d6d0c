"""Losses by name."""

from __future__ import annotations

from typing import Any

from .base import Loss
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
