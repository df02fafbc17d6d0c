"""A sample compressed to few points that keep its mean embedding: herding and kernel thinning."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import check_choice, check_count
from ..data import Data, as_dense, length, take
from ..engine.lapack import lapack
from ..gram.base import Gram
from ..gram.plan import LEAN
from ..gram.tiles import run, slices
from ..kernels.base import Kernel
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_generator
from .function import RKHSFunction

METHODS = ("thinning", "herding")
_PAIRS = 256  # pairs of samples that are decided on between two passes over earlier ones
_COLUMNS = 64  # columns of K held at once
_STRIP = 128 * 128  # kernel values computed by one thread at a time
_FAILURE = 0.5  # probability with which the bound of a halving may fail
_ROUNDING = 1e-12  # of the largest k(x, x): exchanges that gain less are rounding


@dataclass(frozen=True)
class Compression:
    """A few points that represent a sample: the result of :func:`compress`.

    Attributes
    ----------
    indices : ndarray of shape (m,)
        Their places in the sample: in the order of choice for herding, sorted for thinning.
    weights : ndarray of shape (m,)
        Their weights, which sum to one.
    mmd : float
        The distance of their weighted mean embedding to that of the whole sample.
    points : data
        The points themselves.
    kernel : Kernel
        The kernel with all parameters resolved to numbers.
    """

    indices: np.ndarray
    weights: np.ndarray
    mmd: float
    points: Data = field(repr=False)
    kernel: Kernel

    @property
    def embedding(self) -> RKHSFunction:
        """The mean embedding of the points, a function in H_k."""
        return RKHSFunction(self.kernel, self.points, self.weights)

    def __len__(self) -> int:
        return len(self.indices)


def compress(
    X: Data,
    size: int | None = None,
    kernel: Kernel | None = None,
    *,
    method: str = "thinning",
    weights: bool | str = False,
    rng: Any = None,
) -> Compression:
    r"""Select points of a sample whose mean embedding is close to that of the whole sample.

    .. math:: \mathrm{MMD} = \left\| \sum_{i \in S} w_i\, k(x_i, \cdot)
              - \frac1n \sum_{i=1}^n k(x_i, \cdot) \right\|

    Means over the points are off by at most MMD times the norm of f, for every f in H_k. Random
    points have an MMD of order 1 / sqrt(m); both methods are well below.

    ``"herding"`` adds the point that lowers the MMD most, one after the other, so the first t
    points are the herding of size t. ``"thinning"`` halves the sample again and again: of two
    neighbours in the given order, a coin decides which is kept, biased so that the differences
    cancel. The remaining points are refined: points are exchanged for any of the sample until no
    single exchange lowers the MMD.

    The mean embedding takes n^2 kernel values once, tile by tile; herding takes n m more, thinning
    up to n^2 more. Nothing of size n x n is stored. With a kernel of few features, such as
    :class:`~mercer.Nystrom`, nothing takes more than n m of them.

    Parameters
    ----------
    X : data
        The sample: an array, a table, a list of anything the kernel accepts.
    size : int, optional
        The number of points m; by default the square root of the sample size.
    kernel : Kernel, optional
        The kernel, resolved on X; by default ``Gaussian("median")``.
    method : {"thinning", "herding"}
        See above.
    weights : {False, True, "nonnegative"}
        Equal weights, the weights with sum one that minimise the MMD, or the best non-negative
        weights with sum one.
    rng : None, int or numpy.random.Generator
        Used to flip the coins of thinning; herding is not random.

    Returns
    -------
    Compression
        ``indices``, ``weights``, ``mmd`` (exact, not an estimate), ``points`` and ``embedding``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import compress, distance_of_means
    >>> X = np.random.default_rng(0).normal(size=(900, 2))
    >>> few = compress(X, rng=0)
    >>> len(few), round(few.mmd, 3)
    (30, 0.01)
    >>> round(distance_of_means(few.kernel, X[:30], X), 3)  # as many at random
    0.155

    References
    ----------
    Chen, Welling & Smola, *Super-samples from kernel herding*, UAI 2010; Dwivedi & Mackey,
    *Kernel thinning*, COLT 2021, and *Generalized kernel thinning*, ICLR 2022.
    """
    n = length(X)
    kernel, size = _check(n, size, kernel, method, weights)
    single = isinstance(X, np.ndarray) and X.dtype == np.float32
    gram: Any = kernel.gram(X.astype(np.float64) if single else X, LEAN)
    own = np.asarray(gram.diag(), dtype=np.float64)
    mean = np.asarray(gram @ np.full(n, 1 / n), dtype=np.float64)
    if method == "herding":
        chosen = herd(gram, own, mean, size)
    else:
        chosen = _thin(gram, own, mean, size, as_generator(rng))
    K = np.array(gram.block(chosen, chosen), dtype=np.float64)
    np.fill_diagonal(K, own[chosen])
    K += mean.mean() - mean[chosen, None] - mean[chosen]
    w = _quadrature(K, weights)
    distance = float(np.sqrt(max(w @ K @ w, 0.0)))
    return Compression(chosen, w, distance, take(X, chosen), gram.kernel)


def herd(gram: Gram, own: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
    """Places of distinct samples whose mean feature greedily comes close to an element h of H_k.

    ``own`` is the diagonal of K, and ``values`` are <h, k(x_i, .)>. Each step minimises the
    distance of h to the mean of the points so far and the new one.
    """
    chosen = np.empty(size, dtype=np.int64)
    total = np.zeros(len(gram))  # sum over the points so far of k(x, .)
    for t in range(size):
        gain = values - (total + own / 2) / (t + 1)
        gain[chosen[:t]] = -np.inf
        chosen[t] = np.argmax(gain)
        total += _columns(gram, chosen[t : t + 1])[:, 0]
    return chosen


# ---- thinning ------------------------------------------------------------------------------
def _thin(
    gram: Gram, own: np.ndarray, mean: np.ndarray, size: int, rng: np.random.Generator
) -> np.ndarray:
    places = np.arange(len(gram))
    while len(places) // 2 >= size:
        places = _halve(gram, places, rng)
    return np.sort(_refine(gram, own, mean, _drop(gram, mean, places, size)))


def _halve(gram: Gram, places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One of each pair of neighbours, such that the differences f_i = phi(x_i) - phi(x'_i) cancel.

    The sign of f_i is +1 with probability (1 - <psi, f_i> / a) / 2, where psi is the signed sum
    so far; a and the variance proxy s2 of psi are those of the self-balancing walk.
    """
    pairs = len(places) // 2
    one, other = places[: 2 * pairs : 2], places[1 : 2 * pairs : 2]
    signs, coins, s2 = np.zeros(pairs), rng.random(pairs), 0.0
    spread = 2 * np.log(2 * pairs / _FAILURE)
    walk: Any = _Walk if gram.features is None else _FeatureWalk
    products = walk(gram, one, other, signs)
    for part in slices(pairs, _PAIRS):
        drift, G = products(part)
        for i in range(len(drift)):
            b2 = max(float(G[i, i]), 0.0)
            a = max(np.sqrt(b2 * s2 * spread), b2)
            chance = 0.5
            if a > 0:
                chance = (1 - (drift[i] + G[i, :i] @ signs[part][:i]) / a) / 2
                s2 += b2 * max(0.0, 1 + (b2 - 2 * a) * s2 / a**2)
            signs[part.start + i] = 1.0 if coins[part.start + i] < chance else -1.0
    return np.where(signs > 0, one, other)


class _Walk:
    """For the next pairs: <psi, f_i> with the signed sum so far, and [<f_i, f_j>]."""

    def __init__(self, gram: Gram, one: np.ndarray, other: np.ndarray, signs: np.ndarray) -> None:
        self.gram, self.one, self.other, self.signs = gram, one, other, signs

    def __call__(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        drift = np.zeros(part.stop - part.start)
        for past in slices(part.start, 4 * _PAIRS):
            drift += self._between(part, past) @ self.signs[past]
        return drift, self._between(part, part)

    def _between(self, rows: slice, cols: slice) -> np.ndarray:
        n, m = rows.stop - rows.start, cols.stop - cols.start
        left = np.concatenate([self.one[rows], self.other[rows]])
        right = np.concatenate([self.one[cols], self.other[cols]])
        K = self.gram.block(left, right)
        return np.asarray(K[:n, :m] - K[:n, m:] - K[n:, :m] + K[n:, m:], dtype=np.float64)


class _FeatureWalk:
    """The same from features, in which the signed sum is one vector."""

    def __init__(self, gram: Gram, one: np.ndarray, other: np.ndarray, signs: np.ndarray) -> None:
        self.phi, self.one, self.other, self.signs = gram.features, one, other, signs
        self.psi = np.zeros(self.phi.shape[1])

    def __call__(self, part: slice) -> tuple[np.ndarray, np.ndarray]:
        if part.start:
            before = slice(part.start - _PAIRS, part.start)
            self.psi += self._differences(before).T @ self.signs[before]
        F = self._differences(part)
        G = F @ F.T
        return F @ self.psi, as_dense(G)

    def _differences(self, part: slice) -> Any:
        return self.phi[self.one[part]] - self.phi[self.other[part]]


def _drop(gram: Gram, mean: np.ndarray, places: np.ndarray, size: int) -> np.ndarray:
    """Leave out point by point, each time the one without which the MMD is smallest."""
    if len(places) == size:
        return places
    K = np.asarray(gram.block(places, places), dtype=np.float64)
    own, totals, kept = np.diagonal(K), K.sum(axis=1), np.ones(len(places), dtype=bool)
    for left in range(len(places) - 1, size - 1, -1):
        loss = 2 * mean[places] + (own - 2 * totals) / left
        gone = int(np.argmin(np.where(kept, loss, np.inf)))
        kept[gone] = False
        totals -= K[gone]
    return places[kept]


def _refine(gram: Gram, own: np.ndarray, mean: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Exchange points, each for the best one of the sample, until no exchange lowers the MMD."""
    chosen, m = chosen.copy(), len(chosen)
    least = _ROUNDING * float(own.max(initial=0.0))
    taken = np.zeros(len(gram), dtype=bool)
    taken[chosen] = True
    total = np.zeros(len(gram))
    for part in slices(m, _COLUMNS):
        total += _columns(gram, chosen[part]).sum(axis=1)
    changed = True
    while changed:
        changed = False
        for part in slices(m, _COLUMNS):
            columns = _columns(gram, chosen[part])
            for j, column in enumerate(columns.T, start=part.start):
                gain = mean - (total - column + own / 2) / m
                gain[chosen[j]] += least
                taken[chosen[j]] = False
                best = int(np.argmax(np.where(taken, -np.inf, gain)))
                taken[best] = True
                if best != chosen[j]:
                    total += _columns(gram, np.array([best]))[:, 0] - column
                    chosen[j], changed = best, True
    return chosen


def _columns(gram: Gram, cols: np.ndarray) -> np.ndarray:
    """K[:, cols], in strips of rows on all cores."""
    found = np.empty((len(gram), len(cols)))

    def strip(rows: slice) -> None:
        found[rows] = gram.block(rows, cols)

    run(strip, slices(len(gram), max(_STRIP // len(cols), 500)))
    return found


# ---- weights -------------------------------------------------------------------------------
def _quadrature(K: np.ndarray, weights: bool | str) -> np.ndarray:
    """Weights w of sum one that minimise w'Kw, for K with features phi(x) - mu.

    Without signs w is proportional to K^-1 1. With them, v >= 0 minimises v'Kv + (sum v - 1)^2:
    for v = s w the best s gives q / (1 + q) with q = w'Kw, so w = v / sum v has the least q.
    """
    m = len(K)
    if weights is False:
        return np.full(m, 1 / m)
    s, U = lapack(len(K), np.linalg.eigh, K)
    s = np.maximum(s, m * np.finfo(float).eps * max(s[-1], 0.0))
    if s[-1] == 0:
        return np.full(m, 1 / m)
    if weights is True:
        v = U @ (U.sum(axis=0) / s)
    else:
        from scipy.optimize import nnls

        v = nnls(np.vstack([np.sqrt(s)[:, None] * U.T, np.ones(m)]), np.append(np.zeros(m), 1.0))[0]
    return v / v.sum()


def _check(n: int, size: Any, kernel: Any, method: Any, weights: Any) -> tuple[Kernel, int]:
    if n == 0:
        raise ValueError("compress: X has no samples.")
    check_choice("method", method, METHODS)
    if not (isinstance(weights, bool) or weights == "nonnegative"):
        raise ValueError(f'weights must be False, True or "nonnegative", got {weights!r}.')
    if kernel is not None and not isinstance(kernel, Kernel):
        raise TypeError(f"kernel must be a mercer kernel such as Gaussian(), got {kernel!r}.")
    size = max(1, round(np.sqrt(n))) if size is None else size
    return Gaussian("median") if kernel is None else kernel, check_count("size", size, 1, n)
