"""The kernel with most power against a difference that is there: by choice, then by gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..data import Data, take
from ..gram.plan import Plan
from ..gram.tiles import contract, evaluate
from ..kernels.base import Kernel
from ..randomness import as_generator
from .aggregate import kernel_grid
from .discrepancy import group_sums
from .planned import planned
from .samples import Samples

_PROBE = 500  # samples on which the variance under the hypothesis is estimated
_SEARCH = 1000  # samples of each kind with which gradients are computed
_STARTS = 2  # candidates from which a search begins, at most
_SPLITS = 2  # into halves, of which each is searched and the other one says when to stop
_STEPS = 30
_TINY = 1e-30  # a kernel that sees no variance sees no difference, either
_LEAST = 8  # samples of each kind that can be split
_REACH = np.log(1e3)  # logarithms of parameters change by no more than this


@planned
def optimize_kernel(
    X: Data,
    Y: Data,
    kernels: Sequence[Any] | None = None,
    *,
    tune: bool = True,
    rng: Any = None,
    plan: Plan | None = None,
) -> Kernel:
    r"""Find the kernel with which a test of these two samples has the most power.

    .. math:: J = \widehat{\mathrm{MMD}}^2 \Big/ \sqrt{\operatorname{Var} \widehat{\mathrm{MMD}}^2}

    is largest for it. It is chosen from a list; then, from the best ones of the list, all numbers
    in the kernel are changed along the gradient of J: one lengthscale for each feature, say, so
    that features without a difference are left out. To avoid overfitting, the search on one half of
    the samples stops where J is largest on the other half; this is repeated for two splits into
    halves, and the logarithms of the results are averaged. Test on *other* samples: on these, the
    p-value would be far too small.

    Parameters
    ----------
    X, Y : data
        Samples set aside for this choice.
    kernels : list of Kernel, optional
        What to choose from; by default :func:`kernel_grid`.
    tune : bool
        Whether to optimise the parameters of the kernels by gradients. Kernels without gradients
        stay unchanged.
    rng : None, int or Generator
        Used to draw the samples from which the grid is made, and those used for gradients.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: as arrays, of some of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, optimize_kernel
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 200))
    >>> optimize_kernel(X, 2 * Y, [Gaussian(0.01), Gaussian(1.0), Gaussian(100)], tune=False)
    Gaussian()
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2, 200, 3))
    >>> k = optimize_kernel(X, Y + [0, 1, 0], rng=0)  # only the second feature differs
    >>> int(np.argmin(k.lengthscale))
    1

    References
    ----------
    Sutherland, Tung, Strathmann, De, Ramdas, Smola & Gretton, *Generative models and model
    criticism via optimized maximum mean discrepancy*, ICLR 2017; Liu, Xu, Lu, Zhang, Gretton &
    Sutherland, *Learning deep kernels for non-parametric two-sample tests*, ICML 2020.
    """
    rng = as_generator(rng)
    samples = Samples(X, Y)
    candidates = [samples.kernel(k, rng) for k in kernels or kernel_grid(samples.data, rng=rng)]
    probe = take(samples.data, rng.permutation(len(samples))[:_PROBE])
    order = np.argsort([-_power(k, samples, probe) for k in candidates], kind="stable")
    best = [candidates[i] for i in order]
    if not tune:
        return best[0]
    if min(samples.sizes) < _LEAST:
        return best[0]
    few = _some(samples, rng)
    found = [_improved(k, few, rng) for k in _one_of_each_type(best)[:_STARTS]]
    return max(found, key=lambda pair: pair[1])[0]


def _one_of_each_type(kernels: Sequence[Kernel]) -> list[Kernel]:
    """The first kernel of each type: numbers in a kernel are what the search changes."""
    found: dict[type, Kernel] = {}
    for kernel in kernels:
        found.setdefault(type(kernel), kernel)
    return list(found.values())


def _power(kernel: Kernel, samples: Samples, probe: Data) -> float:
    """J, with all samples, tile by tile; the part of its variance that is there if P = Q too."""
    sums = group_sums(kernel, samples)
    P = kernel.prepare(probe)
    K = kernel.pairwise(P, P).astype(np.float64, copy=False)
    np.fill_diagonal(K, 0)
    degenerate = _noise(samples.sizes) * float(np.mean(_centred(K) ** 2))
    return float(sums.mmd(False) / np.sqrt(sums.variance() + degenerate))


class Ratio(NamedTuple):
    """J of a kernel matrix, and its derivative with respect to every entry."""

    value: float
    slope: np.ndarray


def power_ratio(K: np.ndarray, sizes: tuple[int, ...]) -> Ratio:
    r"""J and dJ/dK from the kernel matrix of both samples; its diagonal does not count.

    With w_i the mean of k(x_i, x) over the other samples of the same kind, less that over the
    other kind, MMD^2 is the sum of the two means of w, and

    .. math:: \operatorname{Var} = \frac4n \operatorname{Var} w_x + \frac4m \operatorname{Var} w_y
              + 2 \left(\frac1n + \frac1m\right)^2 \operatorname{mean} (H K H)^2

    where the last term is what is left of it where the distributions agree.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.optimize import power_ratio
    >>> K = np.exp(-np.subtract.outer([0, 1, 2, 5.0, 6.0], [0, 1, 2, 5.0, 6.0]) ** 2)
    >>> round(power_ratio(K, (3, 2)).value, 3)
    2.911
    """
    K = K.astype(np.float64)
    np.fill_diagonal(K, 0)
    size = np.repeat(sizes, sizes).astype(float)
    kind = np.repeat([0, 1], sizes)
    C = np.where(kind[:, None] == kind, 1 / (size - 1), -1 / size)
    np.fill_diagonal(C, 0)
    w = np.einsum("ij,ij->i", K, C)
    means = np.array([w[kind == g].mean() for g in (0, 1)])
    away = w - means[kind]
    value = float(means.sum())
    centred = _centred(K)
    noise = _noise(sizes)
    variance = float(np.sum(4 * away**2 / (size * (size - 1)))) + noise * float(np.mean(centred**2))
    spread = max(float(np.sqrt(variance)), _TINY)
    by_variance = -value / (2 * spread**3)
    by_w = 1 / (size * spread) + 8 * by_variance * away / (size * (size - 1))
    slope = by_w[:, None] * C
    slope = (slope + slope.T) / 2 + by_variance * noise * 2 / len(K) ** 2 * centred
    np.fill_diagonal(slope, 0)
    return Ratio(value / spread, slope)


def _improved(kernel: Kernel, samples: Samples, rng: np.random.Generator) -> tuple[Kernel, float]:
    """The kernel after a search along gradients, and its J on samples that were not used for it.

    On as many samples as there are numbers to learn, J can be made large for no reason. So a
    search on one half of the samples stops where J is largest on the other half, the halves are
    exchanged, and the logarithms found on all of them are averaged.
    """
    thetas, scores = [], []
    for _ in range(_SPLITS):
        halves = _halves(samples, rng)
        for here, there in (halves, halves[::-1]):
            path = _path(kernel, here)
            heights = [_height(kernel.with_theta(theta), there) for theta in path]
            best = int(np.argmax(heights))
            thetas.append(path[best])
            scores.append(heights[best])
    return kernel.with_theta(np.mean(thetas, axis=0)), float(np.mean(scores))


def _path(kernel: Kernel, samples: Samples) -> list[np.ndarray]:
    """The steps of a search for the largest J, the start first."""
    known = kernel.hyperparameters()
    if not known:
        return [kernel.theta]
    ranges = [np.log(h.bounds) if h.log else np.array(h.bounds) for h in known]
    bounds = np.repeat(np.array(ranges), [np.size(h.value) for h in known], axis=0)
    start = kernel.theta  # from the data: beyond the usual bounds where their units are
    low = np.minimum(np.maximum(bounds[:, 0], start - _REACH), start)
    high = np.maximum(np.minimum(bounds[:, 1], start + _REACH), start)
    path = [start]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        k = kernel.with_theta(theta)
        P = k.prepare(samples.data)
        found = power_ratio(evaluate(k, P, P), samples.sizes)
        slope = -contract(k, P, lambda rows, cols: found.slope[rows, cols])
        return -found.value, np.where(np.isfinite(slope), slope, 0.0)  # of overflowing distances

    try:
        minimize(
            loss,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=np.column_stack([low, high]),
            callback=lambda theta: path.append(theta.copy()),
            options={"maxiter": _STEPS},
        )
    except NotImplementedError:  # no gradient: the kernel stays as it is
        return path[:1]
    return path


def _height(kernel: Kernel, samples: Samples) -> float:
    P = kernel.prepare(samples.data)
    return power_ratio(evaluate(kernel, P, P), samples.sizes).value


def _halves(samples: Samples, rng: np.random.Generator) -> tuple[Samples, Samples]:
    parts = np.split(np.arange(len(samples)), np.cumsum(samples.sizes)[:-1])
    moved = [rng.permutation(part) for part in parts]
    cut = [(order[: len(order) // 2], order[len(order) // 2 :]) for order in moved]
    first, second = (Samples(*(take(samples.data, c[i]) for c in cut)) for i in (0, 1))
    return first, second


def _some(samples: Samples, rng: np.random.Generator) -> Samples:
    """At most 1000 samples of each kind."""
    if max(samples.sizes) <= _SEARCH:
        return samples
    parts = np.split(np.arange(len(samples)), np.cumsum(samples.sizes)[:-1])
    few = [np.sort(rng.permutation(part)[:_SEARCH]) for part in parts]
    return Samples(*(take(samples.data, places) for places in few))


def _noise(sizes: tuple[int, ...]) -> float:
    return 2 * sum(1 / n for n in sizes) ** 2


def _centred(K: np.ndarray) -> np.ndarray:
    K = K - K.mean(axis=0)
    return np.asarray(K - K.mean(axis=1)[:, None])
