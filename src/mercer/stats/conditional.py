"""Are two variables independent given a third? The kernel conditional independence test."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data, as_vectors
from ..exceptions import DomainError
from ..gram.memory import require_memory
from ..gram.tiles import evaluate, one_blas_thread
from ..kernels.base import Kernel
from ..kernels.radial import Gaussian
from .mixtures import ChiSquareMixture
from .nulls import gamma_null
from .result import TestResult
from .smoothers import centre_in_place, residual_maker
from .variables import Variables

NULLS = ("gamma", "spectrum")
_WIDTH = 1.2  # lengthscale of X and Y, in units of sqrt(d) standard deviations
_WIDTHS_GIVEN = ((200, 1.2), (1200, 0.7), (np.inf, 0.4))  # of Z, by sample size
_WIDER = 2.0  # Z beside X, compared with Z alone


def conditional_independence_test(
    X: Data,
    Y: Data,
    Z: Data,
    *,
    kernels: Any = None,
    regularization: float = 1e-3,
    null: str = "gamma",
    corrected: bool = True,
) -> TestResult:
    r"""Test whether X and Y are independent given Z (KCI).

    What kernel ridge regression on Z leaves of the features of (X, Z) and of Y is tested for
    correlation:

    .. math:: T = \frac1n \operatorname{tr}(A B), \quad A = R\, (K_X \circ K_Z)_c\, R, \quad
              B = R\, (K_Y)_c\, R, \quad R = \varepsilon (K_Z + \varepsilon I)^{-1}

    Under the hypothesis T is a weighted sum of chi-square variables, with the eigenvalues of
    A o B (entry by entry) divided by n as weights, so its mean is tr(A o B) / n and its variance
    2 |A o B|^2 / n^2: the gamma distribution of these moments needs no eigenvalues.

    The residuals of a flexible regression are correlated with each other and smaller than the
    noise, which makes the test as it was published reject too often, the more so the more features
    Z has. With ``corrected``, T is divided by the factor by which this inflates it,
    tr(R^4) / sum_i (R^2)_ii^2.

    Parameters
    ----------
    X, Y, Z : data
        The variables, observed together.
    kernels : list of three kernels, optional
        For X, Y and Z; by default (and for an entry None) Gaussian kernels on the standardised
        features.
    regularization : float
        epsilon, as in kernel ridge regression with a kernel of size 1.
    null : {"gamma", "spectrum"}
        The gamma approximation, or the weighted sum of chi-square variables itself.
    corrected : bool
        Correct for the degrees of freedom of the regression.

    Returns
    -------
    TestResult
        With the statistic T. P-values are approximate: they rest on a regression that leaves
        nothing of Z, so look at results for strong dependence on Z with care.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import conditional_independence_test, independence_test
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=200)
    >>> x, y = z + 0.5 * rng.normal(size=200), np.sin(z) + 0.5 * rng.normal(size=200)
    >>> independence_test(x, y, rng=0).pvalue < 0.01
    True
    >>> conditional_independence_test(x, y, z).pvalue > 0.05
    True

    References
    ----------
    Zhang, Peters, Janzing & Schölkopf, *Kernel-based conditional independence test and application
    in causal discovery*, UAI 2011.
    """
    if null not in NULLS:
        raise ValueError(f"null must be one of {', '.join(map(repr, NULLS))}, got {null!r}.")
    if not regularization > 0:
        raise ValueError(f"regularization must be positive, got {regularization!r}.")
    joint = Variables(X, Y, Z, least=6)
    require_memory(5 * 8 * joint.n**2, "a test of conditional independence")
    given = joint.each(kernels)
    K, L, M = (_matrix(joint, place, _WIDTH, given[place]) for place in (0, 1, 2))
    K *= M if given[2] is not None else _matrix(joint, 2, _WIDER * _WIDTH)
    if given[2] is None:
        M = _matrix(joint, 2, next(w for n, w in _WIDTHS_GIVEN if joint.n <= n))
    R = residual_maker(centre_in_place(M), regularization)
    inflation = _inflation(R) if corrected else 1.0
    A, B = (R @ centre_in_place(S) @ R for S in (K, L))
    value = float(np.vdot(A, B)) / joint.n / inflation
    A *= B
    if null == "gamma":
        moments = float(np.trace(A)) / joint.n, 2 * float(np.vdot(A, A)) / joint.n**2
        distribution: Any = gamma_null(*moments)
        how = "a gamma distribution"
    else:
        with one_blas_thread():
            weights = np.maximum(np.linalg.eigvalsh((A + A.T) / 2), 0) / joint.n
        distribution = ChiSquareMixture(weights)
        how = "a sum of chi-square variables"
    return TestResult(
        statistic=value,
        pvalue=float(distribution.sf(value)),
        method=f"conditional independence test, KCI; p-value from {how}",
        hypothesis="the first two variables are independent given the third",
        distribution=distribution,
    )


def _matrix(joint: Variables, place: int, width: float, kernel: Any = None) -> np.ndarray:
    k = _gaussian(joint.data[place], width) if kernel is None else joint.kernel(place, kernel)
    P = k.prepare(joint.data[place])
    return evaluate(k, P, P).astype(np.float64, copy=False)


def _gaussian(X: Data, width: float) -> Kernel:
    """A Gaussian kernel on standardised features; their number widens it as it does distances."""
    try:
        V: Any = as_vectors(X, "the default kernel")
    except DomainError as error:
        raise DomainError(f"{error} For other data, kernels have to be given.") from None
    V = V.toarray() if hasattr(V, "toarray") else V
    spread = V.std(axis=0, dtype=np.float64)
    scale = width * np.sqrt(V.shape[1]) * np.where(spread > 0, spread, 1.0)
    return Gaussian(float(scale[0]) if len(scale) == 1 else scale)


def _inflation(R: np.ndarray) -> float:
    """tr(R^4) / sum_i (R^2)_ii^2: 1 / (1 - share of degrees of freedom used), for projections."""
    square = R @ R
    return float(np.vdot(square, square) / np.sum(np.diagonal(square) ** 2))
