"""Does a sample come from a distribution, or from a family of them? Tests by simulation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import check_count
from ..data import Data, as_dense, as_vectors, length
from ..gram.plan import LEAN, Plan
from ..kernels.base import Kernel
from ..kernels.distributions.normal import as_mixture, drawn
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_generator
from ..rkhs.embedding import mean_embedding
from ..rkhs.known import KnownEmbedding, in_closed_form
from .aggregate import as_kernels, judged, kernel_grid
from .bank import not_finite
from .permutation_test import blind_spots
from .planned import planned, threads
from .result import TestResult, resampled
from .samples import plain

_WIDTHS = 5  # Gaussian kernels, where none is given
_PILOT = 200  # draws that set the scale of kernels
_QUANTILES = 500  # that stand for a distribution on the line without a closed form
_STANDING = 2000  # draws that stand for any other
_SMALL = 1000  # observations whose kernel matrix is stored for a moment
_LEAST = 4  # observations
_ROUNDING = 1e-12  # of the largest k(x, x): discrepancies closer than this are equal


def mmd_to(
    X: Data,
    distribution: Any,
    kernel: Any = None,
    *,
    biased: bool = False,
    plan: Plan | None = None,
) -> float:
    r"""The squared maximum mean discrepancy between a sample and a known distribution.

    .. math:: \mathrm{MMD}^2 = E\,k(x, x') - 2\,E\,\mu_P(x) + \|\mu_P\|^2, \qquad
              \mu_P(x) = E\,k(x, Z)

    with expectations over the sample, and those under P in closed form or by quadrature
    (:class:`KnownEmbedding`).

    Parameters
    ----------
    X : data
        The sample.
    distribution : object
        As for :class:`KnownEmbedding`.
    kernel : Kernel, optional
        The kernel, resolved on X; by default ``Gaussian("median")``.
    biased : bool
        Over all pairs (i, j), never negative, instead of pairs of distinct samples.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from mercer import Gaussian, mmd_to
    >>> x = norm.ppf((np.arange(1000) + 0.5) / 1000, loc=1.0)  # quantiles of N(1, 1)
    >>> round(mmd_to(x, norm(0, 1), Gaussian(), biased=True), 3)
    0.177
    >>> round(float(2 / 3**0.5 * (1 - np.exp(-1 / 6))), 3)  # the exact value
    0.177

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 2012.
    """
    X = plain(X, "X")
    k = as_kernel(Gaussian("median") if kernel is None else kernel, X).resolve(X)
    mu = KnownEmbedding(k, distribution)
    return _discrepancy(X, k, mu, mu.inner(mu), biased, plan)


def _discrepancy(
    X: Data, k: Kernel, mu: Any, norm: float, biased: bool, plan: Plan | None = None
) -> float:
    n = length(X)
    if n < 2 and not biased:
        raise ValueError("the unbiased estimate needs at least 2 samples, or biased=True.")
    if plan is None and n <= _SMALL:
        P = k.prepare(X)
        K = k.pairwise(P, P)
        total, own = float(np.sum(K, dtype=np.float64)), float(np.trace(K))
    else:
        gram = k.gram(X, plan or LEAN)
        total, own = float((gram @ np.ones(n)).sum()), float(gram.diag().sum())
    own = total / n**2 if biased else (total - own) / (n * (n - 1))
    found = own - 2 * float(np.mean(mu(X))) + norm
    if not np.isfinite(found):
        raise not_finite(repr(k))
    return found


@planned
def distribution_test(
    X: Data,
    distribution: Any,
    kernel: Any = None,
    *,
    n_draws: int = 199,
    rng: Any = None,
    plan: Plan | None = None,
) -> TestResult:
    r"""Test whether a sample comes from a given distribution, or from a member of a family.

    The statistic is the discrepancy between the sample and the distribution P, :math:`\|\mu_X -
    \mu_P\|^2`, from its mean embedding in closed form, or from 500 quantiles or 2000 draws if there
    is none. Its null distribution is simulated: samples of the same size are drawn from P. If P is
    given, the p-value is exact. For a *family*, the fitted member is used, and the family is fitted
    again to every sample drawn from it (the parametric bootstrap): parameters estimated from the
    data bring P closer to them, and a test that ignores this hardly ever rejects.

    Parameters
    ----------
    X : data
        The sample.
    distribution : object
        One distribution: of ``scipy.stats`` with its parameters, such as ``norm(0, 1)`` or
        ``multivariate_normal(mean, cov)``, a pair (mean, covariance), a
        :class:`mercer.NormalMixture`, anything with ``rvs(size, random_state)``. Or a family:
        of ``scipy.stats`` without parameters, such as ``norm`` or ``gamma``; ``"normal"``, for
        vectors; or a function that takes a sample and returns the distribution fitted to it.
    kernel : Kernel, or list of kernels; optional
        The kernels, of which the test uses the largest score. By default five Gaussian kernels with
        a range of bandwidths. Parameters such as "median" are resolved on draws from P.
    n_draws : int
        How many samples are drawn.
    rng : None, int or Generator
        The source of randomness.
    plan : Plan, optional
        Memory and threads to use, and how K is stored.

    Returns
    -------
    TestResult
        The statistic is the (biased) MMD^2, of several kernels the largest of their scores;
        ``details["distribution"]`` is the fitted one.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from mercer import distribution_test
    >>> x = np.random.default_rng(0).standard_t(2, 100)
    >>> distribution_test(x, norm, n_draws=39, rng=0).pvalue  # any normal distribution
    0.025
    >>> y = np.random.default_rng(0).normal(3, 2, 100)
    >>> distribution_test(y, norm, n_draws=39, rng=0).pvalue > 0.05
    True
    >>> distribution_test(y, norm(0, 1), n_draws=39, rng=0).pvalue
    0.025

    References
    ----------
    Key, Gretton, Briol & Fernandez, *Composite goodness-of-fit tests with kernels*, 2021; Stute,
    González-Manteiga & Presedo-Quindimil, *Bootstrap based goodness-of-fit tests*, Metrika 1993.
    """
    check_count("n_draws", n_draws)
    rng = as_generator(rng)
    X = plain(X, "X")
    if (n := length(X)) < _LEAST:
        raise ValueError(f"at least {_LEAST} observations are needed, got {n}.")
    fit = _family(distribution)
    P = distribution if fit is None else fit(X)
    several = kernel is None or as_kernels(kernel) is not None
    against = _embedded(kernel, P)
    columns = [_discrepancies(X, against, plan)]
    for _ in range(n_draws):
        sample = _drawn(P, n, rng)
        near = against if fit is None else _embedded(kernel, fit(sample))
        columns.append(_discrepancies(sample, near, plan))
    kernels = [k for k, _, _ in against]
    rounding = np.array([_ROUNDING * float(k.diag(k.prepare(X)).max()) for k in kernels])
    value, found, details = judged(
        np.transpose(columns), rounding, "mmd", kernels if several else None
    )
    what = f"largest score of {len(kernels)} kernels" if several else "MMD^2"
    source, of = ("the best fit", "a distribution of the family ") if fit else ("it", "")
    return resampled(
        value,
        found,
        f"distribution test, {what} ({n_draws} samples drawn from {source})",
        f"the sample comes from {of}{_named(distribution)}",
        kernel=kernels if several else kernels[0],
        notes=blind_spots(kernels),
        details=details | ({"distribution": P} if fit else {}),
        computation=f"kernel values of {n_draws + 1} samples of {n}, tile by tile; {threads(plan)}",
    )


Embedded = list[tuple[Kernel, Any, float]]


def _embedded(kernel: Any, P: Any) -> Embedded:
    """The kernels, and the mean embedding of a distribution in the space of each, with its norm.

    Whatever is drawn from P here comes from one seed: it is a function of P alone.
    """
    given = as_kernels(kernel) or [kernel]
    if kernel is None or any(getattr(k, "unresolved", True) for k in given):
        pilot = _drawn(P, _PILOT, np.random.default_rng(0))
        if kernel is None:
            given = kernel_grid(pilot, _WIDTHS)[:_WIDTHS]
        given = [as_kernel(k, pilot).resolve(pilot) for k in given]
    out: Embedded = []
    for k in given:
        if type(k) is Gaussian and in_closed_form(P):
            mu: Any = KnownEmbedding(k, P)
        elif hasattr(P, "ppf"):
            mu = mean_embedding(k, P.ppf((np.arange(_QUANTILES) + 0.5) / _QUANTILES))
        else:
            mu = mean_embedding(k, _drawn(P, _STANDING, np.random.default_rng(1)))
        out.append((k, mu, float(mu.inner(mu))))
    return out


def _discrepancies(X: Data, against: Embedded, plan: Plan | None) -> list[float]:
    return [_discrepancy(X, k, mu, square, True, plan) for k, mu, square in against]


def _family(distribution: Any) -> Callable[[Data], Any] | None:
    """How a family is fitted; None for a single distribution."""
    if isinstance(distribution, str):
        if distribution != "normal":
            raise ValueError(f'distribution must be "normal" or an object, got {distribution!r}.')
        return _normal
    if isinstance(distribution, type):
        return distribution
    if hasattr(distribution, "rvs") and not hasattr(distribution, "dist"):
        if hasattr(distribution, "fit"):  # of scipy, without parameters

            def fit(X: Data) -> Any:
                values = np.ravel(as_vectors(X, "distribution_test"))
                return distribution(*distribution.fit(values))

            return fit
        return None
    if hasattr(distribution, "rvs") or as_mixture(distribution) is not None:
        return None
    if callable(distribution):
        return distribution
    raise TypeError(
        f"distribution must be one of scipy.stats, a pair (mean, covariance), a NormalMixture, an "
        f'object with rvs(size, random_state), "normal", or a function that fits one to a sample, '
        f"got a {type(distribution).__name__}."
    )


def _normal(X: Data) -> Any:
    """The normal distribution of largest likelihood."""
    V = np.asarray(as_dense(as_vectors(X, "distribution_test")), dtype=np.float64)
    S = np.atleast_2d(np.cov(V.T, bias=True))
    if np.linalg.matrix_rank(S) < len(S):
        raise ValueError(
            "the sample has a singular covariance matrix, so no normal density fits it; drop "
            "constant columns, and those that are linear combinations of others."
        )
    return V.mean(axis=0), S


def _drawn(P: Any, n: int, rng: np.random.Generator) -> Data:
    """A sample of n from a distribution."""
    if hasattr(P, "rvs"):
        return P.rvs(size=n, random_state=rng)
    mixture = as_mixture(P)
    if mixture is None:
        raise TypeError(
            f"a {type(P).__name__} cannot be sampled from: it has no method rvs(size, "
            "random_state)."
        )
    return drawn(mixture, n, rng)


def _named(distribution: Any) -> str:
    if isinstance(distribution, str):
        return distribution
    frozen = getattr(distribution, "dist", None)
    name = getattr(frozen if frozen is not None else distribution, "name", None)
    given = getattr(distribution, "args", ())
    if name and frozen is not None:
        return f"{name}({', '.join(f'{a:g}' for a in given)})" if given else str(name)
    return str(name or getattr(distribution, "__name__", type(distribution).__name__))
