"""Similarities that are not positive definite: one policy for all models and tests.

Whether a kernel is positive definite is a property of it, ``k.properties.psd``:

yes       negative eigenvalues of its matrices are rounding.
no        models and tests warn once before the work begins (:class:`IndefiniteKernelWarning`),
          and say what it means for them.
unknown   (user-defined functions and matrices, some composite kernels) there is no warning in
          advance. A negative eigenvalue that is more than rounding is reported when it is found:
          by an error if nothing can be computed, otherwise by the same warning.

The remedy in one line is ``k.through()``: its matrix is K K, whose eigenvalues are squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from ..engine.lapack import lapack
from ..exceptions import IndefiniteKernelWarning, warn
from .base import Kernel

ROUNDING = 1e-5  # of the largest eigenvalue: a negative one beyond is more than rounding
_NO_SPACE = (
    "it has no feature space, the problem need not be convex, and the result need not be a solution"
)
_REMEDY = "Use a positive definite kernel, or {}.through(), whose matrix is K K"
REMEDY = _REMEDY.format("kernel")
_ROWS = 2000  # of which the eigenvalues are looked at
PROBED = 100  # samples of a dual solution of which they are
STATIONARY = (
    "the kernel matrix is not positive semi-definite: the solution is a stationary point of the "
    f"dual, without a duality gap. {REMEDY}."
)


def known_indefinite(kernel: object) -> str | None:
    """Why this is not positive definite, if that is known; None for all else.

    Examples
    --------
    >>> from mercer import DynamicTimeWarping, Gaussian
    >>> from mercer.kernels.indefinite import known_indefinite
    >>> known_indefinite(Gaussian()) is None
    True
    >>> known_indefinite(DynamicTimeWarping()).startswith("DynamicTimeWarping() is not positive")
    True
    """
    if not isinstance(kernel, Kernel) or all(leaf.properties.psd for leaf in _leaves(kernel)):
        return None
    psd = kernel.properties.psd
    return f"{kernel!r} is not positive definite ({psd.because})" if psd.no else None


def warn_if_indefinite(kernel: object, who: str, meaning: str | None = None) -> None:
    """Warn of a kernel that is known not to be positive definite.

    Parameters
    ----------
    kernel : object
        As it was given; anything that is not a kernel (a name, a function) is ignored.
    who : str
        The model or test.
    meaning : str, optional
        What it means there, after "so".
    """
    if (found := known_indefinite(kernel)) is not None:
        remedy = _REMEDY.format(kernel._wrapped(9))  # type: ignore[attr-defined]
        warn(f"{who}: {found}, so {meaning or _NO_SPACE}. {remedy}.", IndefiniteKernelWarning)


def negative_eigenvalue(smallest: float, largest: float) -> str:
    """What to say where a negative eigenvalue of a kernel matrix was met that is not rounding."""
    return (
        f"the kernel matrix is not positive semi-definite: its smallest eigenvalue is "
        f"{smallest:.2g}, its largest {largest:.2g}. {REMEDY}"
    )


def is_negative(smallest: float, largest: float) -> bool:
    """Is an eigenvalue negative, not by rounding, where the largest in size is this?"""
    return smallest < -ROUNDING * abs(largest)


def has_negative(K: np.ndarray) -> bool:
    """Has a matrix a negative eigenvalue that is more than rounding?

    Where a Cholesky factor of K + ROUNDING max(K_ii) I exists, it has none, as no entry of the
    diagonal exceeds the largest eigenvalue; that takes a tenth of the time of eigenvalues.
    """
    K = (K + K.T) / 2
    with suppress(np.linalg.LinAlgError):
        raised = K.copy()
        np.fill_diagonal(raised, K.diagonal() + ROUNDING * K.diagonal().max())
        lapack(len(K), np.linalg.cholesky, raised)
        return False
    values = lapack(len(K), np.linalg.eigvalsh, K)
    return is_negative(values[0], np.abs(values).max())


def why_no_factor(K: np.ndarray, alpha: float | None = None) -> str:
    """Why K + alpha I has no Cholesky factor, in words: K is indefinite, or nearly singular.

    For a large matrix, the eigenvalues of some rows and columns are checked; a negative one among
    them is proof.
    """
    if len(K) > _ROWS:
        some = np.linspace(0, len(K) - 1, _ROWS).astype(int)
        K = K[np.ix_(some, some)]
    values = np.linalg.eigvalsh(np.asarray(K, dtype=np.float64))
    smallest, largest = float(values[0]), float(np.abs(values).max())
    if is_negative(smallest, largest):
        more = "" if alpha is None else f", or a penalty (alpha, 1 / C) > {-smallest:.2g}"
        return f"{negative_eigenvalue(smallest, largest)}{more}."
    given = "" if alpha is None else f"alpha={alpha:.2g}, "
    return (
        f"the matrix is singular in double precision ({given}eigenvalues of K from {smallest:.1g} "
        f"to {largest:.2g}); raise alpha, or drop repeated samples."
    )


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    """The kernels that a kernel is made of."""
    parts = [value for _, value in kernel._items() if isinstance(value, Kernel)]
    for part in parts:
        yield from _leaves(part)
    if not parts:
        yield kernel
