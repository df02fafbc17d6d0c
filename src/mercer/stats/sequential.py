"""Tests of streams that may be inspected and stopped at any time: evidence by betting."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..data import Data, join, length, take
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from .aggregate import as_kernels, kernel_grid
from .independence_grid import dependence_grid
from .independence_kernels import blind_spots as blind_to_dependence
from .permutation_test import SAME, blind_spots
from .sequential_base import Sequential, rounding_of

_WIDTHS = 5  # Gaussian kernels, where none is given


class SequentialTwoSampleTest(Sequential):
    r"""A sequential two-sample test: do two streams have the same distribution? It may be stopped
    at any time.

    Each new pair (x_t, y_t) is bet on with the witness function of all earlier pairs,

    .. math:: h_t = f_t(x_t) - f_t(y_t), \qquad
              f_t = \frac1{t-1} \sum_{s<t} \left(k(x_s, \cdot) - k(y_s, \cdot)\right)

    with the payoff tanh(h_t / scale), the scale from the past. If x_t and y_t are exchangeable
    given the past, gains and losses are equally likely, and the wealth is a martingale: the
    probability that it ever reaches 1 / alpha is at most alpha. So p = 1 / (the largest wealth so
    far) is valid after any number of looks, and the test may be continued as long as desired. The
    price is power: with the same number of samples, a single test (:func:`two_sample_test`) detects
    smaller differences.

    Parameters
    ----------
    kernel : Kernel, str, callable or list of them, optional
        One kernel, or several to bet with, each with its share of the wealth. By default five
        Gaussian kernels with a range of bandwidths (:func:`kernel_grid`). Parameters such as
        "median" are resolved on the first ``warm_up`` pairs.
    alpha : float
        The level of ``rejected``.
    warm_up : int
        Pairs at the beginning that are not bet on: they set the scale of kernels.
    budget : int
        The number of latest pairs in the witness function: this many, and up to 127 more, are kept,
        and a new pair costs as many kernel values.
    plan : Plan, optional
        Memory and threads to use.

    Attributes
    ----------
    pvalue : float
        The p-value, valid at any time.
    wealth : float
        The present wealth, an e-value.
    rejected, rejected_at : bool, int or None
        Whether the p-value has been at most alpha, and after how many pairs.
    path : ndarray
        The logarithm of the wealth after each pair.

    Notes
    -----
    Samples are paired in order of arrival; surplus samples of one stream wait. Each sample is used
    for one bet, including those of a reference sample, which cannot be used again. Streams with
    serial dependence are allowed only if x_t and y_t are exchangeable given the past.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SequentialTwoSampleTest
    >>> rng = np.random.default_rng(0)
    >>> test = SequentialTwoSampleTest()
    >>> for day in range(100):
    ...     X, Y = rng.normal(0, 1, (10, 2)), rng.normal(0.4, 1, (10, 2))
    ...     if test.update(X, Y).rejected:
    ...         break
    >>> test
    SequentialTwoSampleTest(190 bets, p = 0.0408)

    References
    ----------
    Shekhar & Ramdas, *Nonparametric two-sample testing by betting*, IEEE Transactions on
    Information Theory 2024; Podkopaev & Ramdas, *Sequential predictive two-sample and independence
    testing*, NeurIPS 2023 (odd payoffs).
    """

    test, hypothesis = "two-sample test by betting", SAME

    def _resolved(self, X: Data, Y: Data) -> list[Kernel]:
        both = join(X, Y)
        if self.kernel is None:
            return kernel_grid(both, _WIDTHS)[:_WIDTHS]
        given = as_kernels(self.kernel) or [self.kernel]
        return [as_kernel(k, both).resolve(both) for k in given]

    def _notes(self) -> tuple[str, ...]:
        return blind_spots(self.kernels or [])

    def _gains(self, past: int) -> tuple[np.ndarray, np.ndarray]:
        assert self.kernels is not None
        assert self.kept is not None
        X, Y = self.kept
        n = length(X)
        new, gains, rounding = slice(past, n), [], []
        seen = past + np.arange(n - past)
        earlier = np.arange(n)[:, None] < seen
        for k in self.kernels:
            P, Q = k.prepare(X), k.prepare(Y)
            p, q = take(P, new), take(Q, new)
            one, other = k.pairwise(P, p), k.pairwise(Q, q)
            G = one.astype(np.float64) + other - k.pairwise(P, q) - k.pairwise(Q, p)
            gains.append(np.sum(G, axis=0, where=earlier) / np.maximum(seen, 1))
            own = np.maximum(np.abs(k.diag(P)), np.abs(k.diag(Q)))
            rounding.append(rounding_of(own, past, 1, one.dtype))
        return np.array(gains), np.array(rounding)


class SequentialIndependenceTest(Sequential):
    r"""A sequential independence test: are two variables independent? It may be stopped at any
    time.

    For two new observations, the bet is that they are paired as observed, and not the other way
    round. With all earlier observations s,

    .. math:: h_t = \operatorname{cov}_s \left( k(x_s, x) - k(x_s, x'),\;
              l(y_s, y) - l(y_s, y') \right)

    is the gain of the witness of HSIC from (x, y), (x', y') over (x, y'), (x', y), and its payoff
    tanh(h_t / scale). If the variables are independent, y and y' can be exchanged, and the
    probability that the wealth ever reaches 1 / alpha is at most alpha.

    Parameters
    ----------
    kernel : Kernel, str, callable or list of two; optional
        One kernel for both variables, or a list with an entry for each: a kernel, or several. By
        default the three of :func:`dependence_grid` for each variable. Parameters are resolved on
        the first observations.
    alpha, warm_up, budget, plan
        As for :class:`SequentialTwoSampleTest`, in pairs of observations.

    Attributes
    ----------
    pvalue, wealth, rejected, rejected_at, path
        As of :class:`SequentialTwoSampleTest`; a bet takes two observations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SequentialIndependenceTest
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=600)
    >>> y = np.cos(3 * x) + rng.normal(0, 0.3, 600)
    >>> SequentialIndependenceTest().update(x, y).rejected_at
    36

    References
    ----------
    Podkopaev, Blöbaum, Kasiviswanathan & Ramdas, *Sequential kernelized independence testing*,
    ICML 2023.
    """

    per_bet = 2
    together = True
    unit = "pairs of observation"
    test, hypothesis = "independence test by betting", "the variables are independent"

    def _resolved(self, X: Data, Y: Data) -> list[list[Kernel]]:
        given = self.kernel
        if not isinstance(given, list | tuple):
            given = [given, given]
        if len(given) != 2:
            raise ValueError(f"kernel must hold an entry for each variable, got {len(given)}.")
        each = []
        for data, entry in zip((X, Y), given, strict=True):
            if entry is None:
                each.append(dependence_grid(data))
                continue
            several = as_kernels(entry) or [entry]
            each.append([as_kernel(k, data).resolve(data) for k in several])
        return each

    def _experts(self) -> list[Any]:
        return list(product(*(self.kernels or [[], []])))

    def _notes(self) -> tuple[str, ...]:
        return blind_to_dependence(self.kernels or [])

    def _gains(self, past: int) -> tuple[np.ndarray, np.ndarray]:
        assert self.kernels is not None
        assert self.kept is not None
        n = length(self.kept[0])
        seen = past + 2 * np.arange((n - past) // 2)
        earlier = (np.arange(n)[:, None] < seen) / np.maximum(seen, 1)  # weights of a mean
        differences: dict[int, Any] = {}
        for data, kernels in zip(self.kept, self.kernels, strict=True):
            for k in kernels:
                P = k.prepare(data)
                K = k.pairwise(P, take(P, slice(past, n)))
                D = K[:, ::2].astype(np.float64) - K[:, 1::2]
                error = rounding_of(np.abs(k.diag(P)), past, 2, K.dtype)
                differences[id(k)] = D, np.sum(earlier * D, axis=0), error
        gains, rounding = [], []
        for k, l in self._experts():
            (D, d, own), (E, e, other) = differences[id(k)], differences[id(l)]
            gains.append(np.sum(earlier * D * E, axis=0) - d * e)
            sizes = [np.sum(earlier * A**2, axis=0) for A in (D, E)]
            rounding.append(own * np.sqrt(sizes[1]) + other * np.sqrt(sizes[0]) + own * other)
        return np.array(gains), np.array(rounding)
