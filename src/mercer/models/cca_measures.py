"""Dependence of two or more variables by their kernel canonical correlations."""

from __future__ import annotations

from typing import Any

from ..data import Data
from ..gram.plan import Plan
from ..solvers.canonical import CanonicalProblem
from .cca import KernelCCA
from .multiview import as_views


def kernel_generalized_variance(
    views: Any,
    Y: Data = None,
    *,
    kernels: Any = None,
    regularization: Any = 0.02,
    form: str = "squared",
    rank: Any = "auto",
    sample_weight: Any = None,
    plan: Plan | None = None,
    rng: Any = None,
) -> float:
    r"""The kernel generalised variance, a measure of the dependence of two or more variables.

    .. math:: -\tfrac12 \log \det R, \qquad
              R_{mm} = I, \quad R_{ml} = B_m^{-1/2} K_m K_l B_l^{-1/2}

    with B_m = (K_m + (n lambda / 2) I)^2 or K_m^2 + n lambda K_m of centred Gram matrices. For two
    variables it is -1/2 sum_i log(1 - rho_i^2) over all kernel canonical correlations. It is >= 0,
    and 0 for features that are uncorrelated on the sample. For linear kernels and lambda -> 0 it
    is the mutual information of Gaussian variables.

    Parameters
    ----------
    views, Y, kernels, regularization, form, rank, sample_weight, plan
        As in :class:`KernelCCA` and its ``fit``.
    rng : None, int or numpy.random.Generator
        Used to draw the pivots of factors.

    Returns
    -------
    float
        inf if a function of one view is a function of the others, which only happens with
        regularization 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernel_generalized_variance
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 300))
    >>> round(kernel_generalized_variance(x, x**2 + 0.1 * e), 2)
    0.89
    >>> round(kernel_generalized_variance(x, e), 2)
    0.01

    References
    ----------
    Bach & Jordan, *Kernel independent component analysis*, JMLR 2002.
    """
    given = {"kernels": kernels, "regularization": regularization, "form": form, "rank": rank}
    problem, r = _problem(as_views(views, Y), sample_weight, plan=plan, random_state=rng, **given)
    return -0.5 * problem.log_det(r, form)


def kernel_canonical_correlation(
    views: Any,
    Y: Data = None,
    *,
    kernels: Any = None,
    regularization: Any = 0.02,
    form: str = "squared",
    rank: Any = "auto",
    sample_weight: Any = None,
    plan: Plan | None = None,
    rng: Any = None,
) -> float:
    r"""The largest kernel canonical correlation, a measure of dependence between 0 and 1.

    .. math:: 1 - \lambda_{\min}(R)

    with the regularised correlation matrix R of :func:`kernel_generalized_variance`. For two
    variables it is the supremum of regularised correlations of f(X) and g(Y), the first of
    :attr:`KernelCCA.correlations_`; it is consistent for zero if and only if X and Y are
    independent, provided that the kernels are universal and lambda goes to zero slowly. For more
    variables, 0 means pairwise independence.

    Parameters
    ----------
    views, Y, kernels, regularization, form, rank, sample_weight, plan, rng
        As in :func:`kernel_generalized_variance`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernel_canonical_correlation
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 300))
    >>> round(kernel_canonical_correlation(x, x**2 + 0.1 * e), 2)
    0.86
    >>> round(kernel_canonical_correlation(x, e), 2)
    0.07

    References
    ----------
    Bach & Jordan, *Kernel independent component analysis*, JMLR 2002; Fukumizu, Bach & Gretton,
    *Statistical consistency of kernel canonical correlation analysis*, JMLR 2007.
    """
    given = {"kernels": kernels, "regularization": regularization, "form": form, "rank": rank}
    problem, r = _problem(as_views(views, Y), sample_weight, plan=plan, random_state=rng, **given)
    return 1 - problem.smallest(r, form)


def _problem(
    views: list[Data], sample_weight: Any, **given: Any
) -> tuple[CanonicalProblem, list[float]]:
    model = KernelCCA(**given)
    regularization = model._check_parameters(views, model.regularization, model.form)
    parts = model._make_views(views, sample_weight, float(regularization.min()))
    return CanonicalProblem([part.view for part in parts]), regularization.tolist()
