"""Shipped checks: what mercer's own kernels, losses, solvers, ... are tested with, for yours.

Kernels (``check_kernel``, ``check_properties``, ``check_psd``), Gram operators (``check_gram``),
kinds of data (``check_kind``), losses (``check_loss``), solvers (``check_solver``), statistics and
null distributions of tests (``check_statistic``, ``check_null``).

Every check raises an AssertionError that says what is wrong; none needs pytest.

>>> import numpy as np
>>> from mercer import Gaussian
>>> from mercer.testing import check_kernel, check_psd
>>> X = np.linspace(0, 1, 20)[:, None]
>>> check_kernel(Gaussian(lengthscale=0.2), X)
>>> def triangle(x, y):
...     return max(0.0, 1 - float(abs(x - y)[0]))
>>> check_psd(triangle, X).psd
True
"""

from __future__ import annotations

from .._lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "contracts": "PSDCheck check_gram check_kernel check_properties check_psd",
        "difficult": "difficult_samples",
        "kinds": "check_kind",
        "losses": "check_loss",
        "solvers": "check_solver",
        "statistics": "check_null check_statistic",
    },
)
