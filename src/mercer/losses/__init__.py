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

from .._lazy import lazy

FLAT = {
    "base": "Loss",
    "classification": "Hinge Logistic Multinomial SmoothedHinge SquaredHinge",
    "penalties": "NormBall NormPower Penalty",
    "regression": "Absolute EpsilonInsensitive Expectile Huber Poisson Quantile Squared "
    "SquaredEpsilonInsensitive",
}

__getattr__, __dir__, __all__ = lazy(
    __name__, FLAT, {"base": "Dual Piecewise", "named": "LOSSES as_loss"}
)
