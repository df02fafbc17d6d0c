"""Tests of streams that may be looked at, and stopped, at any time: evidence by betting."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Data, join, length, take
from ..engine.limits import within
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from .aggregate import as_kernels, kernel_grid
from .bank import not_finite
from .betting import bet, payoff
from .independence_grid import dependence_grid
from .independence_kernels import blind_spots as blind_to_dependence
from .permutation_test import SAME, blind_spots
from .result import TestResult
from .samples import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLOCK = 128  # bets whose kernel values are computed at once
_WIDTHS = 5  # Gaussian kernels, where none is given
_ROUNDING = 64  # units in the last place of kernel values: gains below are none
_PARTS = 1000  # pieces of a path that are joined to one
_LEAST = 1e7  # bytes


class Sequential(ABC):
    """What sequential tests share: samples that wait, samples that are kept, and the wealth.

    Attributes
    ----------
    n_bets : int
        How many bets were made, those without a stake at the beginning included.
    path : ndarray of shape (n_bets,)
        The logarithm of the wealth after each of them.
    kernels : list of Kernel, or one of them for each variable; None until ``warm_up`` bets
        The kernels, with every parameter a number.
    """

    per_bet = 1  # rows of the data that one bet takes
    together = False  # do rows of both come together?
    unit, test, hypothesis = "pair", "", ""

    def __init__(
        self,
        kernel: Any = None,
        *,
        alpha: float = 0.05,
        warm_up: int = 20,
        budget: int = 2000,
        plan: Plan | None = None,
    ) -> None:
        if not 0 < alpha < 1:
            raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}.")
        for name, value, low in (("warm_up", warm_up, 2), ("budget", budget, 1)):
            if isinstance(value, bool) or int(value) != value or value < low:
                raise ValueError(f"{name} must be an integer >= {low}, got {value!r}.")
        if plan is not None and not isinstance(plan, Plan):
            raise TypeError(f"plan must be a mercer.Plan, got a {type(plan).__name__}.")
        self.kernel, self.alpha, self.plan = kernel, float(alpha), plan
        self.warm_up, self.budget = int(warm_up), int(budget)
        self.kernels: list[Any] | None = None
        self.n_bets = 0
        self.wealth_of: np.ndarray | None = None
        self.squares: np.ndarray | None = None
        self.kept: tuple[Data, Data] | None = None
        self.waiting: tuple[Any, Any] = (None, None)
        self.parts: list[np.ndarray] = []

    # ---- to be filled in ------------------------------------------------------------------
    @abstractmethod
    def _resolved(self, X: Data, Y: Data) -> list[Any]:
        """The kernels, their parameters from the samples of the warm-up."""

    @abstractmethod
    def _gains(self, past: int) -> tuple[np.ndarray, np.ndarray]:
        """Gains of each expert with all kept rows after ``past``, and their rounding."""

    def _experts(self) -> list[Any]:
        """What bets are made with: kernels, or pairs of them."""
        return self.kernels or []

    @abstractmethod
    def _notes(self) -> tuple[str, ...]:
        """What the kernels cannot see."""

    # ---- the stream -------------------------------------------------------------------------
    def update(self, X: Data, Y: Data) -> Any:
        """Bet on new samples, of which each is used once; returns the test itself."""
        given = [plain(sample, name) for sample, name in ((X, "X"), (Y, "Y"))]
        if self.together and length(given[0]) != length(given[1]):
            n, m = map(length, given)
            raise ValueError(f"variables must be observed together, as often each, got {n}, {m}.")
        held = [a if b is None else join(b, a) for a, b in zip(given, self.waiting, strict=True)]
        before = vars(self) | {"parts": list(self.parts)}
        try:
            if self.plan is None:
                self._play(held)
            else:
                with within(self.plan.workers, max(self.plan.limit, _LEAST)):
                    self._play(held)
        except BaseException:  # all of the new samples, or none
            vars(self).update(before)
            raise
        return self

    def _play(self, held: list[Data]) -> None:
        ready = min(map(length, held)) // self.per_bet
        done = 0
        if self.kernels is None and ready >= self.warm_up:
            first = slice(0, self.warm_up * self.per_bet)
            self.kernels = self._resolved(*(take(sample, first) for sample in held))
        while self.kernels is not None and done < ready:
            block = self.n_bets // _BLOCK * _BLOCK
            count = min(ready - done, block + _BLOCK - self.n_bets)
            rows = slice(done * self.per_bet, (done + count) * self.per_bet)
            self._block(block, [take(sample, rows) for sample in held])
            done += count
        rest = [slice(done * self.per_bet, length(sample)) for sample in held]
        left = [take(s, r) if r.stop > r.start else None for s, r in zip(held, rest, strict=True)]
        self.waiting = (left[0], left[1])

    def _block(self, start: int, new: list[Data]) -> None:
        """Bets on samples of one block, with a witness from all before that are kept."""
        count, past = length(new[0]) // self.per_bet, 0
        if self.kept is not None:
            past = min(self.n_bets, self.budget + self.n_bets - start) * self.per_bet
            old = [take(s, slice(length(s) - past, length(s))) for s in self.kept]
            new = [join(a, b) for a, b in zip(old, new, strict=True)]
        self.kept = (new[0], new[1])
        gains, rounding = self._gains(past)
        bad = ~np.all(np.isfinite(gains), axis=1)
        if bad.any():
            raise not_finite(repr(self._experts()[int(np.argmax(bad))]))
        gains[np.abs(gains) <= rounding] = 0.0
        squares = np.zeros(len(gains)) if self.squares is None else self.squares
        paid = np.array([payoff(g, s, self.n_bets) for g, s in zip(gains, squares, strict=True)])
        paid[:, : max(0, self.warm_up - self.n_bets)] = 0.0
        self.wealth_of, path = bet(paid, self.wealth_of)
        self.squares = squares + np.sum(np.square(gains), axis=1)
        self.n_bets += count
        self.parts.append(path)
        if len(self.parts) > _PARTS:
            self.parts = [self.path]

    # ---- the evidence -----------------------------------------------------------------------
    @property
    def path(self) -> np.ndarray:
        """The logarithm of the wealth after each bet."""
        return np.concatenate(self.parts) if self.parts else np.empty(0)

    @property
    def wealth(self) -> float:
        """What 1 has become: the evidence against the hypothesis, as an e-value."""
        return float(np.exp(min(self.parts[-1][-1], 700.0))) if self.parts else 1.0

    @property
    def pvalue(self) -> float:
        """One over the largest wealth so far: valid whenever, and why ever, one looks."""
        return float(np.exp(-max(0.0, self.path.max(initial=0.0))))

    @property
    def rejected_at(self) -> int | None:
        """The number of bets after which the p-value was at most ``alpha``; None if never."""
        over = self.path >= -np.log(self.alpha)
        return int(np.argmax(over)) + 1 if over.any() else None

    @property
    def rejected(self) -> bool:
        """Was there a time at which the p-value was at most ``alpha``?"""
        return self.rejected_at is not None

    def result(self) -> TestResult:
        """The state of affairs; its statistic is the logarithm of the largest wealth so far."""
        notes: tuple[str, ...] = ()
        if self.kernels is None:
            notes = (f"no bets were made: the first {self.warm_up} choose the scale of kernels.",)
        else:
            notes = self._notes()
            if self.n_bets > self.budget:
                notes += (f"bets go by the last {self.budget} {self.unit}s (budget).",)
        found = self.path
        experts = len(self._experts())
        return TestResult(
            float(max(0.0, found.max(initial=0.0))),
            self.pvalue,
            f"sequential {self.test}, {self.n_bets} bets by {experts} kernel{'s' * (experts != 1)}",
            self.hypothesis,
            kernel=self._experts()[0] if experts == 1 else self.kernels,
            notes=notes,
            details={"wealth": self.wealth, "path": found, "rejected_at": self.rejected_at},
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """The wealth over time, with the line at which the hypothesis is rejected."""
        from ..plots.sequential import plot_wealth

        return plot_wealth(self, ax=ax)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_bets} bets, p = {self.pvalue:.3g})"


class SequentialTwoSampleTest(Sequential):
    r"""Do two streams have the same distribution? A test that may be stopped at any time.

    Each new pair (x_t, y_t) is bet on with the witness function of all pairs before,

    .. math:: h_t = f_t(x_t) - f_t(y_t), \qquad
              f_t = \frac1{t-1} \sum_{s<t} \left(k(x_s, \cdot) - k(y_s, \cdot)\right)

    with the payoff tanh(h_t / scale), the scale from the past. If x_t and y_t can be exchanged
    given the past, gains and losses are equally likely, and nobody gets rich: the probability that
    the wealth ever reaches 1 / alpha is at most alpha. So p = 1 / (the largest wealth so far) is
    valid after any number of looks, and a test may go on as long as one likes. The price is power:
    to be sure of a difference takes two to three times the samples of a single test
    (:func:`two_sample_test`) of the right size, and less than a single test of the wrong one.

    Parameters
    ----------
    kernel : Kernel, str, callable or list of them, optional
        One kernel, or several to bet with, each with its share of the wealth. By default five
        Gaussian kernels of all bandwidths (:func:`kernel_grid`). Parameters such as "median" are
        resolved on the first ``warm_up`` pairs.
    alpha : float
        The level of ``rejected``.
    warm_up : int
        Pairs at the beginning that are not bet on: they set the scale of kernels.
    budget : int
        Pairs that the witness function is made of, the latest ones: about so many, up to 127 more,
        are kept, and a new pair costs as many kernel values.
    plan : Plan, optional
        Memory and threads to use.

    Attributes
    ----------
    pvalue : float
        The p-value, valid at any time.
    wealth : float
        The present wealth, an e-value.
    rejected, rejected_at : bool, int or None
        Has the p-value been at most alpha, and after how many pairs?
    path : ndarray
        The logarithm of the wealth after each pair.

    Notes
    -----
    Samples are paired in the order in which they come; what one stream has more of waits. Each is
    bet on once, also those of a reference: it cannot be used again for later samples. A stream
    whose samples depend on each other is fine only if x_t and y_t are exchangeable given all
    before.

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
            rounding.append(_rounding(own, past, 1, one.dtype))
        return np.array(gains), np.array(rounding)


class SequentialIndependenceTest(Sequential):
    r"""Are two variables independent? A test of a stream that may be stopped at any time.

    Of two new observations, the bet is that they are paired as they came, and not the other way
    round. With all observations s before,

    .. math:: h_t = \operatorname{cov}_s \left( k(x_s, x) - k(x_s, x'),\;
              l(y_s, y) - l(y_s, y') \right)

    is the gain of the witness of HSIC from (x, y), (x', y') over (x, y'), (x', y), and its payoff
    tanh(h_t / scale). If the variables are independent, y and y' can be exchanged, and the
    probability that the wealth ever reaches 1 / alpha is at most alpha.

    Parameters
    ----------
    kernel : Kernel, str, callable or list of two; optional
        One for both variables, or a list of what is for each: a kernel, or several. By default the
        three of :func:`dependence_grid` for each variable. Parameters are resolved on
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
                error = _rounding(np.abs(k.diag(P)), past, 2, K.dtype)
                differences[id(k)] = D, np.sum(earlier * D, axis=0), error
        gains, rounding = [], []
        for k, l in self._experts():
            (D, d, own), (E, e, other) = differences[id(k)], differences[id(l)]
            gains.append(np.sum(earlier * D * E, axis=0) - d * e)
            sizes = [np.sum(earlier * A**2, axis=0) for A in (D, E)]
            rounding.append(own * np.sqrt(sizes[1]) + other * np.sqrt(sizes[0]) + own * other)
        return np.array(gains), np.array(rounding)


def _rounding(own: np.ndarray, past: int, per_bet: int, dtype: Any) -> np.ndarray:
    """What rounding does to the gain of each bet, from k(x, x) of its samples and those before.

    It does not change if samples of a bet are exchanged, and knows nothing of later ones.
    """
    largest = own.astype(np.float64)[past:].reshape(-1, per_bet).max(axis=1)
    before = np.maximum.accumulate(np.append(own[:past].max(initial=0.0), largest))[:-1]
    return np.asarray(_ROUNDING * np.finfo(dtype).eps * np.sqrt(before * largest))
