"""Errors and warnings: one sentence that names the parameter and the remedy."""

from __future__ import annotations

import sys
import warnings


class MercerWarning(UserWarning):
    """Base class of every warning raised by mercer."""


class ConvergenceWarning(MercerWarning):
    """An iterative solver stopped before it reached the requested accuracy."""


class NumericalWarning(MercerWarning):
    """A computation needed help (jitter, a higher precision) to finish."""


class IndefiniteKernelWarning(NumericalWarning):
    """A kernel is not positive definite where a positive definite one is needed."""


class DenseWarning(MercerWarning):
    """A method needs a whole kernel matrix that was meant to be computed piece by piece."""


class DeviceWarning(MercerWarning):
    """Something was computed on the CPU, although a device was requested."""


class BoundWarning(MercerWarning):
    """A search for hyper-parameters ended on a bound of one of them."""


def warn(message: str, category: type[MercerWarning]) -> None:
    """Warn at the line of the user's own code, from however deep in the library it comes."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("mercer."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class DomainError(ValueError):
    """Data outside the set on which a kernel is defined."""


def not_finite(kernel: object) -> DomainError:
    """The error for kernel values that are not finite."""
    return DomainError(
        f"{kernel!r} has values on these data that are not finite numbers; scale the data (such as "
        f"by StandardScaler), or give the kernel smaller parameters."
    )


class NotAKernelError(TypeError):
    """An expression that does not define a positive definite function."""


class UnresolvedError(ValueError):
    """A kernel whose parameters still depend on data (``"median"``, ``"scale"``)."""


class MemoryPlanError(MemoryError):
    """An array that does not fit the memory budget of the plan."""


class DeviceError(RuntimeError):
    """A device is not available, or does not have enough memory."""


class FileFormatError(ValueError):
    """A file that is not of mercer, is damaged, or contains what this version does not know."""
