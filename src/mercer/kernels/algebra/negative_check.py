"""Is a function negative definite, as far as a sample shows?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ..base import Kernel
from .negative import as_negative, is_negative


@dataclass(frozen=True)
class NegativeCheck:
    """The verdict of :func:`is_negative_definite`, true without evidence to the contrary.

    Attributes
    ----------
    negative : bool
        Symmetric, and no eigenvalue of the centred matrix above the tolerance.
    max_eigenvalue : float
        The largest eigenvalue of H D H, with H = I - 11'/n: that of D on weights that sum to 0.
    asymmetry : float
        The largest difference between psi(x, y) and psi(y, x).
    tolerance : float
        What rounding errors alone may cause.
    witness : ndarray
        The unit vector c with sum 0 and c'Dc = max_eigenvalue.
    """

    negative: bool
    max_eigenvalue: float
    asymmetry: float
    tolerance: float
    witness: np.ndarray

    def __bool__(self) -> bool:
        return self.negative

    def __str__(self) -> str:
        if self.asymmetry > self.tolerance:
            return f"not symmetric: psi(x, y) and psi(y, x) differ by up to {self.asymmetry:.3g}."
        found = f"the largest eigenvalue on weights that sum to 0 is {self.max_eigenvalue:.3g}"
        allowed = f"rounding explains {self.tolerance:.1g}"
        if self.negative:
            return f"no evidence against negative definiteness on this sample: {found} ({allowed})."
        return f"not negative definite: {found} ({allowed}); see witness."


def is_negative_definite(psi: Any, X: Data | None = None, rtol: float | None = None) -> Any:
    r"""Check on a sample that sum_ij c_i c_j psi(x_i, x_j) <= 0 for all c that sum to 0.

    .. math:: D_{ij} = \psi(x_i, x_j), \quad H = I - \tfrac1n 1 1', \quad
              \lambda_{\max}(H D H) \le 0

    A numerical test can refute this, but never prove it. If it holds, exp(-t psi) is a kernel
    (:class:`mercer.Schoenberg`), and D is a matrix of squared Euclidean distances if its diagonal
    is 0.

    Parameters
    ----------
    psi : negative definite function, callable or array of shape (n, n)
        The function, of two samples; or a matrix of its values.
    X : data, optional
        The samples; not needed for a matrix.
    rtol : float, optional
        Rounding allowed per sample, relative to the largest entry; by default 100 units in the
        last place.

    Returns
    -------
    NegativeCheck
        Truthy if no counterexample was found; otherwise with a witness c, c'Dc > 0.

    Examples
    --------
    >>> from mercer import is_negative_definite
    >>> bool(is_negative_definite(lambda x, y: abs(x - y), [0.0, 1.0, 3.0]))
    True
    >>> print(is_negative_definite(lambda x, y: abs(x - y) ** 3, [0.0, 1.0, 3.0]))
    not negative definite: the largest eigenvalue on weights that sum to 0 is 3.53 (rounding ...

    References
    ----------
    Schoenberg, *Metric spaces and positive definite functions*, 1938.
    """
    D = _matrix(psi, X)
    if not np.all(np.isfinite(D)):
        raise ValueError("is_negative_definite: psi has values that are NaN or infinite.")
    unit = 100 * np.finfo(D.dtype).eps if rtol is None else rtol
    n = len(D)
    D = D.astype(np.float64)
    tolerance = float(unit * n * np.abs(D).max())
    asymmetry = float(np.abs(D - D.T).max())
    S = (D + D.T) / 2
    means = S.mean(axis=0)
    centred = S - means - means[:, None] + means.mean()
    values, vectors = np.linalg.eigh((centred + centred.T) / 2)
    ok = bool(values[-1] <= tolerance and asymmetry <= tolerance)
    return NegativeCheck(ok, float(values[-1]), asymmetry, tolerance, vectors[:, -1])


def _matrix(psi: Any, X: Data | None) -> np.ndarray:
    if X is None:
        try:
            D = np.asarray(psi)
            D = D if D.dtype == np.float32 else D.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                "is_negative_definite: pass samples X together with a function psi, or a matrix "
                "alone."
            ) from None
        if D.ndim != 2 or D.shape[0] != D.shape[1] or not len(D):
            raise ValueError(
                f"is_negative_definite: a matrix of values must be square, got shape {D.shape}."
            )
        return D
    if isinstance(psi, Kernel):
        raise TypeError(
            "is_negative_definite: a kernel is positive definite; its squared distance "
            "SquaredMetric(kernel) is negative definite."
        )
    if is_negative(psi):
        raise TypeError(f"is_negative_definite: psi must be {is_negative(psi)}.")
    return np.array(as_negative(psi)(X))
