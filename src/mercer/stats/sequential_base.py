"""What sequential tests share: samples that wait, samples that are kept, and the wealth."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_count, check_fraction
from ..data import Data, as_vectors, holds_numbers, join, length, take
from ..engine.limits import within
from ..gram.plan import Plan
from .bank import not_finite
from .betting import bet, payoff
from .result import TestResult
from .samples import plain, width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BLOCK = 128  # bets whose kernel values are computed at once
ROUNDING = 64  # units in the last place of kernel values: gains below are none
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
        The kernels, with all parameters resolved to numbers.
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
        if plan is not None and not isinstance(plan, Plan):
            raise TypeError(f"plan must be a mercer.Plan, got a {type(plan).__name__}.")
        self.kernel, self.alpha, self.plan = kernel, check_fraction("alpha", alpha), plan
        self.warm_up, self.budget = (
            check_count("warm_up", warm_up, 2),
            check_count("budget", budget),
        )
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
        """The kernels, or pairs of them, for bets."""
        return self.kernels or []

    @abstractmethod
    def _notes(self) -> tuple[str, ...]:
        """What the kernels cannot see."""

    # ---- the stream -------------------------------------------------------------------------
    def update(self, X: Data, Y: Data) -> Any:
        """Bet on new samples, of which each is used once; returns the test itself."""
        given = [plain(sample, name) for sample, name in ((X, "X"), (Y, "Y"))]
        for place, name in enumerate("XY"):
            self._check(given, place, name)
        if self.together and length(given[0]) != length(given[1]):
            n, m = map(length, given)
            raise ValueError(f"variables must have the same number of observations, got {n}, {m}.")
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

    def _check(self, given: list[Data], place: int, name: str) -> None:
        """Refuses now what no later samples could be bet on with: it would wait with them."""
        new, kept = given[place], self.kept or (None, None)
        if self.kernel is None and length(new) and holds_numbers(new):
            as_vectors(new, name)
        others = [self.waiting[place], kept[place], None if self.together else given[1 - place]]
        for other in others:
            sizes = [None if s is None else width(s) for s in (new, other)]
            if None not in sizes and sizes[0] != sizes[1]:
                raise ValueError(
                    f"{name} has {sizes[0]} feature(s), but other samples have {sizes[1]}."
                )

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
        """The wealth, which started at 1: the evidence against the hypothesis, as an e-value."""
        return float(np.exp(min(self.parts[-1][-1], 700.0))) if self.parts else 1.0

    @property
    def pvalue(self) -> float:
        """One over the largest wealth so far: valid whenever you look, and whatever the reason."""
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
        """The result so far; its statistic is the logarithm of the largest wealth."""
        notes: tuple[str, ...] = ()
        if self.kernels is None:
            notes = (
                f"no bets have been made: the first {self.warm_up} set the scale of the kernels.",
            )
        else:
            notes = self._notes()
            if self.n_bets > self.budget:
                notes += (f"bets use the last {self.budget} {self.unit}s (budget).",)
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


def rounding_of(own: np.ndarray, past: int, per_bet: int, dtype: Any) -> np.ndarray:
    """The rounding error of the gain of each bet, from k(x, x) of its samples and earlier ones.

    It does not change if samples of a bet are exchanged, and knows nothing of later ones.
    """
    largest = own.astype(np.float64)[past:].reshape(-1, per_bet).max(axis=1)
    before = np.maximum.accumulate(np.append(own[:past].max(initial=0.0), largest))[:-1]
    return np.asarray(ROUNDING * np.finfo(dtype).eps * np.sqrt(before * largest))
