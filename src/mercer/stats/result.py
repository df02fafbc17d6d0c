"""The result of a test: statistic, p-value, how they were computed, and their limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from ..shown import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LEVEL = 0.05  # at which the verdict is phrased


class NullDistribution(Protocol):
    """A null distribution in closed form: anything with a survival function."""

    def sf(self, x: Any) -> Any:
        """P(T > x) under the null hypothesis."""


@dataclass(frozen=True, eq=False)
class TestResult(Shown):
    """The outcome of a test. ``statistic, pvalue = result`` unpacks it as in SciPy.

    Attributes
    ----------
    statistic : float
        The value of the statistic.
    pvalue : float
        The probability of a statistic at least this large under the null hypothesis.
    method : str
        The test and its null distribution, in words.
    hypothesis : str
        What is tested, as a statement that holds or not.
    null : ndarray or None
        Draws of the statistic under the null hypothesis, if it was resampled.
    distribution : object or None
        The null distribution if it is known in closed form, with a method ``sf``.
    n_permutations : int
        How many times the sample was permuted (or its null distribution drawn from); 0 if never.
    pvalue_interval : (float, float) or None
        A 95 % confidence interval of the p-value that infinitely many permutations would give.
    kernel : Kernel, list of Kernel or None
        The kernels used, with all parameters resolved to numbers.
    notes : tuple of str
        What to know before relying on the result, such as differences that the kernel cannot see.
    details : dict
        Further numbers, by name, such as one p-value per kernel.
    computation : str
        What was done with kernel matrices, in words: stored, in tiles, by features; on how many
        threads.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.result import TestResult
    >>> r = TestResult(2.5, 0.01, "a test (99 permutations)", "nothing is going on")
    >>> statistic, pvalue = r
    >>> print(r)
    a test (99 permutations)
      statistic 2.5, p-value 0.01
      At the 5 % level: evidence against "nothing is going on".
    """

    __test__: ClassVar[bool] = False  # not a test case of pytest

    statistic: float
    pvalue: float
    method: str
    hypothesis: str
    null: np.ndarray | None = field(default=None, repr=False)
    distribution: NullDistribution | None = field(default=None, repr=False)
    n_permutations: int = 0
    pvalue_interval: tuple[float, float] | None = None
    kernel: Any = None
    notes: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    computation: str = field(default="", repr=False)

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def __str__(self) -> str:
        between = ""
        if self.pvalue_interval is not None:
            low, high = self.pvalue_interval
            between = f" (95 % interval {low:.2g} to {high:.2g})"
        against = "evidence against" if self.pvalue <= _LEVEL else "no evidence against"
        lines = [
            self.method,
            f"  statistic {self.statistic:.4g}, p-value {self.pvalue:.4g}{between}",
            f'  At the 5 % level: {against} "{self.hypothesis}".',
        ]
        return "\n".join(lines + [f"  Note: {note}" for note in self.notes])

    def explain(self) -> str:
        """Say how the p-value was computed, and how kernel matrices were handled."""
        return f"{self.method}\n  {self.computation}" if self.computation else self.method

    def plot(self, ax: Axes | None = None) -> Axes:
        """The null distribution, with the statistic as a line."""
        from ..plots.two_sample import plot_null

        return plot_null(self, ax=ax)


def resampled(
    statistic: float, found: Any, method: str, hypothesis: str, **rest: Any
) -> TestResult:
    """The result of a test whose p-value was counted (:class:`~.nulls.MonteCarlo`)."""
    return TestResult(
        statistic,
        found.pvalue,
        method,
        hypothesis,
        null=found.draws,
        n_permutations=len(found.draws),
        pvalue_interval=found.interval,
        **rest,
    )
