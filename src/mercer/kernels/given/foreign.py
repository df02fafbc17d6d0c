"""Kernels written for scikit-learn: its kernel objects, and functions of samples or data sets."""

from __future__ import annotations

from math import isinf
from typing import Any

import numpy as np

from ...data import Data, length, take
from ..algebra.constant import Constant
from ..base import Kernel
from ..vectors.dot import Linear
from ..vectors.matern import Matern
from ..vectors.periodic import Periodic
from ..vectors.radial import Gaussian, RationalQuadratic
from .custom import Custom

_THEIRS = "sklearn.gaussian_process.kernels"


def from_function(function: Any, X: Data) -> Kernel:
    """The kernel of a function of two samples, or of two data sets as in scikit-learn's SVC.

    Which one it is, a call with two and three samples of X shows: a function of data sets returns
    a 2 x 3 block. One that can be called either way, such as ``lambda x, y: x @ y.T``, is called
    with data sets if that gives the same values.
    """
    n = length(X)
    two, three = (take(X, [i * (n - 1) // (m - 1) for i in range(m)]) for m in (2, 3))
    try:
        block = Custom(function, batch=True)(two, three)
    except Exception:
        return Custom(function)  # errors that are not about blocks come again
    try:
        same = np.allclose(block, Custom(function)(two, three), rtol=1e-6, atol=0)
    except Exception:
        same = True  # samples are nothing this function can be called with
    return Custom(function, batch=True) if same else Custom(function)


def is_foreign(kernel: Any) -> bool:
    """Is this a kernel object of scikit-learn's Gaussian processes?"""
    return any(base.__module__ == _THEIRS for base in type(kernel).__mro__)


def from_sklearn(kernel: Any, width: int) -> Kernel:
    """The same kernel on vectors with ``width`` entries, at the values its parameters have.

    Subclasses of users, and kernels there are no counterparts of here, are called as they are.
    """
    kind = type(kernel).__name__ if type(kernel).__module__ == _THEIRS else ""
    if kind == "WhiteKernel":
        raise ValueError(
            "kernel: WhiteKernel is noise, not a function of two samples; leave it out, and give "
            "its noise_level as the noise or penalty of the model (alpha)."
        )
    if kind in ("Sum", "Product"):
        left, right = from_sklearn(kernel.k1, width), from_sklearn(kernel.k2, width)
        return left + right if kind == "Sum" else left * right
    if kind == "Exponentiation" and kernel.exponent == int(kernel.exponent):
        return from_sklearn(kernel.kernel, width) ** int(kernel.exponent)
    if kind == "ConstantKernel":
        return Constant(float(kernel.constant_value))
    if kind == "DotProduct":
        return Linear() + float(kernel.sigma_0) ** 2
    if kind == "RBF" or (kind == "Matern" and isinf(kernel.nu)):
        return Gaussian(kernel.length_scale)
    if kind == "Matern":
        return Matern(kernel.length_scale, nu=float(kernel.nu))
    if kind == "RationalQuadratic":
        return RationalQuadratic(kernel.length_scale, alpha=float(kernel.alpha))
    if kind == "ExpSineSquared" and width == 1:
        return Periodic(float(kernel.length_scale), period=float(kernel.periodicity))
    return Custom(kernel, batch=True)
