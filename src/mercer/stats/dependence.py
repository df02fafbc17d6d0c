"""The Hilbert-Schmidt independence criterion and its relatives: how much variables depend."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import check_positive
from ..data import Data, as_vectors
from ..gram.base import Gram
from ..gram.plan import LEAN, Plan
from ..gram.tiles import symmetric_sum
from ..kernels.vectors.distance_induced import Distance
from .bank import not_finite
from .planned import planned
from .variables import Variables, cross_sum, in_unit, is_constant, too_few_to_vary

_ROUNDING = 1e-12  # of the squared trace of a covariance: squared norms below are rounding


@planned
def hsic(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    biased: bool = False,
    plan: Plan | None = None,
) -> float:
    r"""The Hilbert-Schmidt independence criterion: the squared norm of the cross-covariance.

    .. math:: \mathrm{HSIC} = \|C_{XY}\|_{HS}^2
              = E\,k(x, x')\,l(y, y') + E\,k(x, x')\, E\,l(y, y')
              - 2\,E\left[E_{x'} k(x, x')\; E_{y'} l(y, y')\right]

    For characteristic kernels it is 0 if and only if X and Y are independent. The biased estimate
    is tr(K H L H) / n^2; the unbiased one, with the diagonals of K and L set to 0, is

    .. math:: \frac{1}{n(n-3)} \left( \operatorname{tr}(K L)
              + \frac{1'K1\; 1'L1}{(n-1)(n-2)} - \frac{2}{n-2}\, 1'K L 1 \right)

    and may be negative.

    Parameters
    ----------
    X, Y : data
        The variables: y_i was observed with x_i.
    kernel_x, kernel_y : Kernel, str or callable, optional
        The kernels; parameters such as "median" are resolved on the data of their own variable.
        By default ``Gaussian("median")``.
    biased : bool
        The biased estimate, never negative, instead of the unbiased one.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Returns
    -------
    float
        An estimate of HSIC.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, hsic
    >>> x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 0.0, 3.0, 4.0])
    >>> round(hsic(x, y, Linear(), Linear(), biased=True), 10)  # the squared covariance
    2.25

    References
    ----------
    Gretton, Bousquet, Smola & Schölkopf, *Measuring statistical dependence with Hilbert-Schmidt
    norms*, ALT 2005; Song, Smola, Gretton, Bedo & Borgwardt, *Feature selection via dependence
    maximization*, JMLR 2012 (unbiased).
    """
    pair = Variables(X, Y, least=1 if biased else 4)
    K, L = (gram.center() for gram in pair.grams([kernel_x, kernel_y], plan))
    with np.errstate(over="ignore", invalid="ignore"):
        value = centred_hsic(K, L, biased)
    if not np.isfinite(value):
        raise not_finite(" with ".join(map(repr, pair.kernels([kernel_x, kernel_y]))))
    return value


def centred_hsic(K: Gram, L: Gram, biased: bool) -> float:
    """HSIC of two centred operators."""
    n, own = len(K), float(np.vdot(K.diag(), L.diag()))
    traces = float(K.diag().sum()) * float(L.diag().sum())
    return float(from_centred(cross_sum(K, L), own, traces, n, biased))


def from_centred(total: Any, own: Any, traces: Any, n: int, biased: bool) -> Any:
    """HSIC from centred matrices: sum_ij K_ij L_ij, sum_i K_ii L_ii, and tr K tr L."""
    if biased:
        return total / n**2
    total = total - n / (n - 2) * own + traces / ((n - 1) * (n - 2))
    return total / (n * (n - 3))


@planned
def dhsic(*variables: Data, kernels: Any = None, plan: Plan | None = None) -> float:
    r"""The joint HSIC of two or more variables: the distance of their law from independence.

    .. math:: \mathrm{dHSIC} = \left\| \mu_{X_1 \ldots X_d} - \mu_{X_1} \otimes \cdots \otimes
              \mu_{X_d} \right\|^2

    in the space of the product kernel. It can be positive although the variables are pairwise
    independent. The (biased) estimate is, with all means over all indices,

    .. math:: \operatorname{mean}_{ij} \prod_v K^v_{ij} + \prod_v \operatorname{mean}_{ij} K^v_{ij}
              - 2 \operatorname{mean}_i \prod_v \operatorname{mean}_j K^v_{ij}

    For two variables it is the biased HSIC.

    Parameters
    ----------
    *variables : data
        The variables, observed jointly.
    kernels : Kernel, or list with one for each variable; optional
        The kernels, each resolved on the data of its own variable; by default
        ``Gaussian("median")``.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import dhsic
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.choice([-1.0, 1.0], (2, 400))
    >>> z = x * y * rng.uniform(0.5, 1.5, 400)  # each pair of the three is independent
    >>> bool(dhsic(x, y, z) > 20 * dhsic(x, z))
    True

    References
    ----------
    Pfister, Bühlmann, Schölkopf & Peters, *Kernel-based tests for joint independence*, JRSS B
    2018.
    """
    joint = Variables(*variables)
    grams = joint.grams(kernels, plan, moved=len(joint) == 2)
    n, means = joint.n, [gram @ np.full(joint.n, 1 / joint.n) for gram in grams]

    def tile(rows: slice, cols: slice) -> float:
        blocks = [gram.block(rows, cols).astype(np.float64, copy=False) for gram in grams]
        return float(np.prod(blocks, axis=0).sum())

    together, apart = symmetric_sum(n, tile) / n**2, np.prod([m.mean() for m in means])
    return float(together + apart - 2 * np.prod(means, axis=0).mean())


@planned
def cka(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    biased: bool = True,
    plan: Plan | None = None,
) -> float:
    r"""Centred kernel alignment: the correlation of two centred kernel matrices.

    .. math:: \frac{\mathrm{HSIC}(X, Y)}{\sqrt{\mathrm{HSIC}(X, X)\, \mathrm{HSIC}(Y, Y)}}

    It lies between 0 and 1 (or, with ``biased=False``, around 0 for independent variables),
    whatever the scale of the kernels. With linear kernels it is the RV coefficient. Permutations
    change the numerator only, so the test by :func:`independence_test` with ``statistic="v"`` is
    its test.

    Parameters
    ----------
    X, Y, kernel_x, kernel_y, plan
        As for :func:`hsic`.
    biased : bool
        From biased estimates of HSIC, or from unbiased ones: with many features and few samples
        the biased alignment is close to 1 for any two variables.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, cka
    >>> X = np.array([[0.0, 1.0], [2.0, 0.0], [1.0, 5.0], [4.0, 2.0]])
    >>> turned = X @ np.array([[0.0, 3.0], [-3.0, 0.0]])
    >>> round(cka(X, turned, Linear(), Linear()), 10)
    1.0

    References
    ----------
    Cortes, Mohri & Rostamizadeh, *Algorithms for learning kernels based on centered alignment*,
    JMLR 2012; Kornblith, Norouzi, Lee & Hinton, *Similarity of neural network representations
    revisited*, ICML 2019.
    """
    pair = Variables(X, Y, least=2 if biased else 4)
    kernels = pair.kernels([kernel_x, kernel_y])
    for place, kernel in enumerate(kernels):
        if is_constant(kernel, pair.data[place]):
            raise ValueError(
                f"variable {place} is constant for its kernel: alignment with it is not defined."
            )
    units = [in_unit(kernel, X) for kernel, X in zip(kernels, pair.data, strict=True)]
    K, L = (kernel.gram(X, plan or LEAN).center() for kernel, X in units)
    own = [centred_hsic(gram, gram, biased) for gram in (K, L)]
    if any(s <= _ROUNDING * gram.diag().mean() ** 2 for s, gram in zip(own, (K, L), strict=True)):
        raise too_few_to_vary(pair.n)
    return centred_hsic(K, L, biased) / float(np.sqrt(own[0] * own[1]))


@planned
def nocco(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    regularization: float = 1e-3,
    plan: Plan | None = None,
) -> float:
    r"""The squared norm of the normalised cross-covariance operator.

    .. math:: \operatorname{tr}(R_X R_Y), \qquad R = K_c (K_c + n \varepsilon I)^{-1}

    with centred Gram matrices: all canonical correlations, squared and added up. As the
    regularisation epsilon goes to 0 with n, slowly, it converges to the chi-square divergence of
    the joint distribution from the product of its margins, whatever the characteristic kernels.
    :func:`independence_test` tests with it (``statistic="nocco"``).

    Parameters
    ----------
    X, Y, kernel_x, kernel_y, plan
        As for :func:`hsic`; n x n matrices are stored unless kernels have few features.
    regularization : float
        epsilon.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, nocco
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 200))
    >>> r = np.corrcoef(x, x + e)[0, 1]
    >>> bool(np.isclose(nocco(x, x + e, Linear(), Linear(), regularization=1e-12), r**2))
    True

    References
    ----------
    Fukumizu, Gretton, Sun & Schölkopf, *Kernel measures of conditional dependence*, NIPS 2007.
    """
    from .smoothers import Smoother

    check_positive("regularization", regularization)
    pair = Variables(X, Y)
    grams = pair.grams([kernel_x, kernel_y], plan or Plan())
    left, right = (Smoother(gram, pair.n * regularization) for gram in grams)
    return left.inner(right)


@planned
def distance_covariance(
    X: Data, Y: Data, *, exponent: float = 1.0, biased: bool = False, plan: Plan | None = None
) -> float:
    r"""The squared distance covariance, which is four times HSIC with kernels from distances.

    .. math:: \operatorname{dCov}^2 = E\,|x - x'|\,|y - y'| + E\,|x - x'|\, E\,|y - y'|
              - 2\,E\left[E_{x'}|x - x'|\; E_{y'}|y - y'|\right]

    Parameters
    ----------
    X, Y : array, sparse matrix or table of numbers
        The variables, observed jointly.
    exponent : float
        The power of the distances, in (0, 2); with 2 only linear dependence counts.
    biased : bool
        The biased estimate (never negative) or the unbiased one.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Examples
    --------
    >>> from mercer import distance_covariance
    >>> round(distance_covariance([0.0, 1.0, 2.0], [0.0, 1.0, 4.0], biased=True), 6)
    0.987654

    References
    ----------
    Székely, Rizzo & Bakirov, *Measuring and testing dependence by correlation of distances*,
    Annals of Statistics 2007; Sejdinovic, Sriperumbudur, Gretton & Fukumizu, *Equivalence of
    distance-based and RKHS-based statistics in hypothesis testing*, Annals of Statistics 2013.
    """
    return 4 * hsic(X, Y, *_distances(X, Y, exponent), biased=biased, plan=plan)


@planned
def distance_correlation(
    X: Data, Y: Data, *, exponent: float = 1.0, biased: bool = True, plan: Plan | None = None
) -> float:
    r"""The squared distance correlation: centred alignment of kernels from distances.

    .. math:: \frac{\operatorname{dCov}^2(X, Y)}{\sqrt{\operatorname{dCov}^2(X, X)\,
              \operatorname{dCov}^2(Y, Y)}}

    Parameters
    ----------
    X, Y, exponent, biased, plan
        As for :func:`distance_covariance`.

    Examples
    --------
    >>> from mercer import distance_correlation
    >>> round(distance_correlation([0.0, 1.0, 2.0], [10.0, 30.0, 50.0]), 10)  # a line
    1.0
    """
    return cka(X, Y, *_distances(X, Y, exponent), biased=biased, plan=plan)


def _distances(X: Data, Y: Data, exponent: float) -> list[Distance]:
    """Kernels with a base point in the middle of the data, so that nothing cancels."""
    centres = [as_vectors(Z, "distance_covariance").mean(axis=0) for Z in (X, Y)]
    return [Distance(exponent, np.asarray(z, dtype=float).ravel()) for z in centres]
