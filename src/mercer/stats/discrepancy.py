"""The maximum mean discrepancy: how far apart the mean embeddings of distributions are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..checks import check_count
from ..data import Data, length, take
from ..gram.base import Gram
from ..gram.plan import LEAN, Plan
from ..kernels.base import Kernel
from .planned import planned
from .samples import Samples

ESTIMATORS = ("u", "v", "h", "linear", "block", "incomplete")
_STEP = 32  # samples of a block of which only the diagonal is used


@planned
def mmd(
    X: Data,
    Y: Data,
    kernel: Any = None,
    *,
    biased: bool = False,
    estimator: str | None = None,
    block_size: int | None = None,
    n_shifts: int = 10,
    plan: Plan | None = None,
) -> float:
    r"""The squared maximum mean discrepancy between the distributions of two samples.

    .. math:: \mathrm{MMD}^2 = \|\mu_P - \mu_Q\|^2
              = E\,k(x, x') + E\,k(y, y') - 2\,E\,k(x, y)

    ==============  =========================================================  ==============
    estimator       means over                                                 kernel values
    ==============  =========================================================  ==============
    ``u``           all pairs of distinct samples; unbiased, may be negative   all
    ``v``           all pairs, (i, i) too; biased upwards, never negative      all
    ``h``           h(z_i, z_j), i != j, of pairs z = (x, y); unbiased, n = m  all
    ``linear``      h(z_1, z_2), h(z_3, z_4), ...; normal in the limit         2 n
    ``block``       ``u`` of blocks of samples; normal in the limit            n block_size
    ``incomplete``  h(z_i, z_{i+r}) for shifts r = 1..n_shifts                 4 n n_shifts
    ==============  =========================================================  ==============

    with h(z, z') = k(x, x') + k(y, y') - k(x, y') - k(x', y). The last three use as many pairs as
    the smaller sample has.

    Parameters
    ----------
    X, Y : data
        The samples: arrays, tables, lists of anything the kernel accepts.
    kernel : Kernel, str or callable, optional
        The kernel; parameters such as "median" are resolved on both samples together. By default
        ``Gaussian("median")``.
    biased : bool
        ``estimator="v"`` instead of ``"u"``.
    estimator : str, optional
        One of the table.
    block_size : int, optional
        Samples in a block; by default the square root of the sample size.
    n_shifts : int
        The number of pairs of the incomplete estimator that each sample is in, on either side.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Returns
    -------
    float
        An estimate of MMD^2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, mmd
    >>> X, Y = np.array([0.0, 2.0]), np.array([4.0, 5.0, 6.0])
    >>> round(mmd(X, Y, Linear(), biased=True), 10)  # the squared distance of the means
    16.0
    >>> round(mmd(X, Y, Linear()), 6)  # less what sampling alone adds to it
    14.666667

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 2012;
    Zaremba, Gretton & Blaschko, *B-tests*, NIPS 2013.
    """
    name = estimator or ("v" if biased else "u")
    if name not in ESTIMATORS or (biased and name != "v"):
        wanted = '"v" with biased=True' if biased else "one of " + ", ".join(map(repr, ESTIMATORS))
        raise ValueError(f"estimator must be {wanted}, got {estimator!r}.")
    samples = Samples(X, Y, least=1 if name == "v" else 2)
    k, samples = samples.from_mean(samples.kernel(kernel))
    if name in ("u", "v"):
        return group_sums(k, samples, plan).mmd(name == "v")
    if name == "h":
        if samples.sizes[0] != samples.sizes[1]:
            raise ValueError(
                f'estimator="h" pairs the samples and needs as many of each, got '
                f'{samples.sizes[0]} and {samples.sizes[1]}; use estimator="u".'
            )
        return group_sums(k, samples, plan).h_form(float(Pairs(k, samples).across(0).sum()))
    if name == "incomplete":
        return float(Pairs(k, samples).incomplete(n_shifts).mean())
    terms = linear_terms(k, samples) if name == "linear" else block_terms(k, samples, block_size)
    return float(terms.mean())


@planned
def mmd_multi(
    samples: Any, kernel: Any = None, *, biased: bool = False, plan: Plan | None = None
) -> float:
    r"""The dispersion between the distributions of two or more samples.

    .. math:: \sum_{g<h} \frac{n_g n_h}{N^2}\, \mathrm{MMD}^2(g, h)

    With ``biased=True`` this is the part of the variance in feature space that lies between the
    samples, sum_g (n_g / N) |mu_g - mu|^2.

    Parameters
    ----------
    samples : list of data
        The samples.
    kernel, biased, plan
        As for :func:`mmd`.

    Examples
    --------
    >>> from mercer import Linear, mmd_multi
    >>> round(mmd_multi([[0.0, 2.0], [3.0, 5.0], [6.0, 8.0]], Linear(), biased=True), 10)
    6.0
    """
    pooled = Samples(*samples, least=1 if biased else 2)
    k, pooled = pooled.from_mean(pooled.kernel(kernel))
    return group_sums(k, pooled, plan).dispersion(biased)


class GroupSums(NamedTuple):
    """Sums of kernel values of each sample (row) with each group (column), and k(x, x)."""

    rows: np.ndarray
    diag: np.ndarray
    labels: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """How many samples a group has."""
        return np.bincount(self.labels)

    def between(self) -> tuple[np.ndarray, np.ndarray]:
        """Sums over pairs of groups, and over the diagonal."""
        k = self.rows.shape[1]
        sums = np.array([self.rows[self.labels == g].sum(axis=0) for g in range(k)])
        return sums, np.bincount(self.labels, self.diag, k)

    def dispersion(self, biased: bool) -> float:
        """sum over pairs of groups of n_g n_h / N^2 MMD^2(g, h)."""
        (sums, own), n = self.between(), self.sizes
        if biased:
            inner = np.diagonal(sums) / n**2
        else:
            inner = (np.diagonal(sums) - own) / (n * (n - 1))
        D = inner[:, None] + inner - 2 * sums / np.multiply.outer(n, n)
        weights = np.multiply.outer(n, n) / n.sum() ** 2
        return float(np.sum(np.triu(weights * D, 1)))

    def mmd(self, biased: bool) -> float:
        """MMD^2 of two samples."""
        n, m = self.sizes
        return self.dispersion(biased) * float((n + m) ** 2 / (n * m))

    def h_form(self, paired: float) -> float:
        """The mean of h(z_i, z_j) over i != j, given the sum of k(x_i, y_i)."""
        (sums, own), n = self.between(), self.sizes[0]
        inner = np.trace(sums) - own.sum()
        return float((inner - 2 * (sums[0, 1] - paired)) / (n * (n - 1)))

    def variance(self) -> float:
        """The variance of the unbiased estimate, to first order: that of the witness function."""
        n = self.sizes
        total = 0.0
        for g in (0, 1):
            inside = self.labels == g
            own = (self.rows[inside, g] - self.diag[inside]) / (n[g] - 1)
            witness = own - self.rows[inside, 1 - g] / n[1 - g]
            total += 4 * float(np.var(witness, ddof=1)) / n[g]
        return total


def group_sums(kernel: Kernel, samples: Samples, plan: Plan | None = None) -> GroupSums:
    """Sums over all pairs of samples, tile by tile unless the plan says otherwise."""
    return sums_with(kernel.gram(samples.data, plan or LEAN), samples)


def sums_with(gram: Gram, samples: Samples) -> GroupSums:
    """Sums over all pairs of samples, of a kernel matrix."""
    groups = (samples.labels[:, None] == np.arange(len(samples.sizes))).astype(np.float64)
    return GroupSums(gram @ groups, np.asarray(gram.diag(), dtype=np.float64), samples.labels)


class Pairs:
    """Pairs z = (x, y) of two samples, as many as the smaller one has, and their h(z, z')."""

    def __init__(self, kernel: Kernel, samples: Samples) -> None:
        n, m = samples.sizes
        self.n = min(n, m)
        self.kernel = kernel
        P = kernel.prepare(samples.data)
        self.X, self.Y = take(P, slice(0, self.n)), take(P, slice(n, n + self.n))

    def values(self, A: Data, B: Data) -> np.ndarray:
        """[k(a_i, b_i)]."""
        n = length(A)
        parts = (slice(i, min(i + _STEP, n)) for i in range(0, n, _STEP))
        blocks = (self.kernel.pairwise(take(A, part), take(B, part)) for part in parts)
        return np.concatenate([np.diagonal(block) for block in blocks]).astype(np.float64)

    def across(self, shift: int) -> np.ndarray:
        """[k(x_i, y_{i+shift})]."""
        return self.values(take(self.X, slice(0, self.n - shift)), take(self.Y, slice(shift, None)))

    def h(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """[h(z_i, z_j)] for indices i of one and j of the other."""
        x, u = take(self.X, one), take(self.X, other)
        y, v = take(self.Y, one), take(self.Y, other)
        return self.values(x, u) + self.values(y, v) - self.values(x, v) - self.values(u, y)

    def incomplete(self, n_shifts: int) -> np.ndarray:
        """h(z_i, z_{i+r}) for r = 1..n_shifts."""
        check_count("n_shifts", n_shifts, 1, self.n - 1)
        places = np.arange(self.n)
        shifts = range(1, n_shifts + 1)
        return np.concatenate([self.h(places[:-r], places[r:]) for r in shifts])


def linear_terms(kernel: Kernel, samples: Samples) -> np.ndarray:
    """h(z_1, z_2), h(z_3, z_4), ...: independent, with mean MMD^2."""
    pairs = Pairs(kernel, samples)
    first = np.arange(0, pairs.n - 1, 2)
    return pairs.h(first, first + 1)


def block_terms(kernel: Kernel, samples: Samples, size: int | None = None) -> np.ndarray:
    """The unbiased MMD^2 of each block of samples: independent, with mean MMD^2."""
    pairs = Pairs(kernel, samples)
    size = max(2, round(np.sqrt(pairs.n))) if size is None else size
    check_count("block_size", size, 2, pairs.n)
    values = []
    for i in range(0, pairs.n - size + 1, size):
        x, y = (take(S, slice(i, i + size)) for S in (pairs.X, pairs.Y))
        inner = sum(kernel.pairwise(z, z).sum() - kernel.diag(z).sum() for z in (x, y))
        values.append(inner / (size * (size - 1)) - 2 * kernel.pairwise(x, y).mean())
    return np.array(values, dtype=np.float64)
