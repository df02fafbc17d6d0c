"""The problem of a test, as passed to user-defined statistics and null distributions.

A *statistic* is a function of kernel matrices, large where the hypothesis is wrong: of (K, labels)
for samples that are compared, of (K, L) for variables that may depend on each other. A *null
distribution* is a function of a problem and a random generator. It returns draws of the statistic
under the null hypothesis, or a distribution with a method ``sf``. Built-in null distributions are
functions of the same problems, in the tables of ``two_sample_nulls.py`` and
``independence_nulls.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..data import Data, length
from ..engine.memory import require_memory
from ..gram.tiles import evaluate
from ..kernels.base import Kernel
from ..progress import progress
from .dependence import from_centred
from .discrepancy import GroupSums
from .nulls import MonteCarlo, permutation_pvalue, sequential_pvalue
from .result import TestResult
from .samples import Samples, from_mean
from .smoothers import centre_in_place

Statistic = Callable[..., Any]
ROUNDING = 1e-12  # of kernel values: what differs by less is equal
_SUMMED = 64 * float(np.finfo(float).eps)  # of kernel values, for each of those that are added up
_RELATIVE = 1e-8  # of the largest statistic
_HELD = 6  # arrays of the size of K: K, and what it takes to change it a little
_LOOKS = 3  # at what rounding does to a statistic of which nothing is known


class Outcome(NamedTuple):
    """A statistic with its p-value, and where that comes from.

    ``strays`` says that the distribution over permutations has a longer tail.
    """

    statistic: float
    pvalue: float
    how: str
    null: np.ndarray | None = None
    distribution: Any = None
    interval: tuple[float, float] | None = None
    strays: bool = False

    def result(self, test: str, hypothesis: str, **rest: Any) -> TestResult:
        """What the test returns."""
        return TestResult(
            self.statistic,
            self.pvalue,
            f"{test}; p-value from {self.how}",
            hypothesis,
            null=self.null,
            distribution=self.distribution,
            n_permutations=0 if self.null is None else len(self.null),
            pvalue_interval=self.interval,
            **rest,
        )


class Null(NamedTuple):
    """A null distribution with a name: an entry of the table of a family of tests.

    Attributes
    ----------
    outcome : callable
        From a problem and a random generator to an :class:`Outcome`.
    statistics : tuple of str
        The estimators that it is about, the default first.
    series : bool
        Does it take the memory of series, given by ``blocks``?
    """

    outcome: Callable[[Any, np.random.Generator], Outcome]
    statistics: tuple[str, ...] = ("u", "v")
    series: bool = False


class Problem(ABC):
    """What problems share: an estimator, its value, and how often to draw.

    Attributes
    ----------
    estimator : str or callable
        The statistic, by its name, or as it was given.
    n_draws : int
        The requested number of draws (``n_permutations``).
    blocks : object
        What was given as ``blocks``: the memory of series, for example. None if nothing was.
    """

    def __init__(self, estimator: str | Statistic, n_draws: int, blocks: Any = None) -> None:
        self.estimator, self.n_draws, self.blocks = estimator, n_draws, blocks

    @property
    def biased(self) -> bool:
        """Is the statistic the biased estimate?"""
        return self.estimator == "v"

    @abstractmethod
    def statistic(self, arrangement: np.ndarray | None = None) -> float:
        """The statistic of the data as they are, or as they are rearranged."""

    @cached_property
    def observed(self) -> float:
        """The statistic of the data as they are."""
        return self.statistic()

    @property
    @abstractmethod
    def rounding(self) -> float:
        """By how much rounding may separate two values of the statistic that are equal.

        Of one that was given as a function, this is found out: kernel values are changed by as much
        as rounding does to sums of them.
        """

    def tolerance(self, draws: np.ndarray) -> float:
        """Which draws count as equal to the observed value."""
        largest = float(np.max(np.abs(draws), initial=abs(self.observed)))
        return max(self.rounding, _RELATIVE * largest)

    def _own(self, *arguments: np.ndarray) -> float:
        """The value of a statistic that was given as a function."""
        found: Any = self.estimator
        value = found(*arguments)
        number = isinstance(value, Real) or (isinstance(value, np.ndarray) and value.shape == ())
        if not number or not np.isfinite(value):
            raise ValueError(
                f"statistic={called(found)} must return one finite number, got {value!r}."
            )
        return float(value)


class Comparison(Problem):
    """Several samples and a kernel: do they come from the same distribution?

    Attributes
    ----------
    kernel : Kernel
        The kernel, with its parameters resolved to numbers.
    samples : Samples
        The samples, joined: ``samples.data``.
    labels : ndarray of shape (n,)
        The sample that each observation comes from: 0, 1, ...
    sizes : tuple of int
        How many there are of each.
    K : ndarray of shape (n, n)
        The kernel matrix of all observations, computed when it is first used. Read-only.
    """

    def __init__(
        self,
        kernel: Kernel,
        samples: Samples,
        estimator: str | Statistic,
        n_draws: int,
        blocks: Any = None,
    ) -> None:
        super().__init__(estimator, n_draws, blocks)
        self.kernel, self.samples = kernel, samples
        self.labels, self.sizes = samples.labels, samples.sizes

    @cached_property
    def K(self) -> np.ndarray:
        """The kernel matrix of all observations."""
        return _matrix(self.kernel, self.samples.data)

    @cached_property
    def rounding(self) -> float:
        """By how much rounding may separate two values of the statistic that are equal."""
        if not callable(self.estimator):
            return ROUNDING * float(np.abs(np.diagonal(self.K)).mean())
        return _unsettled(lambda K: self._own(K, np.array(self.labels)), self.K)

    def statistic(self, labels: np.ndarray | None = None) -> float:
        """The statistic, if observations came from these samples: MMD^2, or the dispersion of more.

        Parameters
        ----------
        labels : array of shape (n,), optional
            The sample of each observation; as it is by default.
        """
        codes = np.array(self.labels if labels is None else labels)
        if callable(self.estimator):
            return self._own(self.K, codes)
        groups = (codes[:, None] == np.arange(len(self.sizes))).astype(np.float64)
        sums = GroupSums(self.K @ groups, np.diagonal(self.K), codes)
        return sums.mmd(self.biased) if len(self.sizes) == 2 else sums.dispersion(self.biased)


class Dependence(Problem):
    """Two variables, each with a kernel: are they independent?

    Attributes
    ----------
    kernels : list of Kernel
        The kernel of each, with its parameters resolved to numbers.
    data : tuple of data
        The variables.
    n : int
        The number of observations.
    K, L : ndarray of shape (n, n)
        The kernel matrices, computed when they are first used. Read-only.
    centred : tuple of ndarray
        H K H and H L H with H = I - 11'/n.
    """

    def __init__(
        self,
        kernels: list[Kernel],
        data: tuple[Data, ...],
        estimator: str | Statistic,
        n_draws: int,
        blocks: Any = None,
    ) -> None:
        super().__init__(estimator, n_draws, blocks)
        self.kernels, self.data, self.n = kernels, data, length(data[0])

    def from_means(self) -> Dependence:
        """A problem with the same centred kernel matrices, in which large numbers do not cancel."""
        moved = [from_mean(k, X) for k, X in zip(self.kernels, self.data, strict=True)]
        kernels, data = [k for k, _ in moved], tuple(X for _, X in moved)
        return Dependence(kernels, data, self.estimator, self.n_draws, self.blocks)

    @cached_property
    def K(self) -> np.ndarray:
        """The kernel matrix of the first variable."""
        return _matrix(self.kernels[0], self.data[0])

    @cached_property
    def L(self) -> np.ndarray:
        """The kernel matrix of the second variable."""
        return _matrix(self.kernels[1], self.data[1])

    @cached_property
    def centred(self) -> tuple[np.ndarray, np.ndarray]:
        """Both kernel matrices, centred."""
        require_memory(4 * 8 * self.n**2, "a null distribution from whole kernel matrices")
        first, second = (centred_matrix(k, X) for k, X in zip(self.kernels, self.data, strict=True))
        return first, second

    @cached_property
    def size(self) -> float:
        """The size of products of kernel values, to which rounding is relative."""
        pairs = zip(self.kernels, self.data, strict=True)
        return float(np.prod([np.abs(k.diag(k.prepare(X))).mean() for k, X in pairs]))

    @cached_property
    def rounding(self) -> float:
        """By how much rounding may separate two values of the statistic that are equal."""
        if not callable(self.estimator):
            return ROUNDING * self.size
        first = _unsettled(lambda K: self._own(K, self.L), self.K)
        return max(first, _unsettled(lambda L: self._own(self.K, L), self.L))

    def statistic(self, order: np.ndarray | None = None) -> float:
        """The statistic, if the observations of the second variable stood in this order: HSIC.

        Parameters
        ----------
        order : array of shape (n,), optional
            A permutation of 0..n-1; as they are by default.
        """
        if callable(self.estimator):
            L = self.L if order is None else self.L[np.ix_(order, order)]
            return self._own(self.K, L)
        K, L = self.centred
        L = L if order is None else L[np.ix_(order, order)]
        own, traces = float(np.vdot(K.diagonal(), L.diagonal())), np.trace(K) * np.trace(L)
        return float(from_centred(float(np.vdot(K, L)), own, traces, self.n, self.biased))


def outcome_of(
    null: Callable[[Any, np.random.Generator], Any], problem: Problem, rng: np.random.Generator
) -> Outcome:
    """The outcome of a user-defined null distribution for a problem."""
    found, value = null(problem, rng), problem.observed
    if isinstance(found, Outcome):
        return found
    if hasattr(found, "sf"):
        pvalue = float(found.sf(value))
        if not 0 <= pvalue <= 1:
            raise ValueError(
                f"null={called(null)}: sf({value:.4g}) is {pvalue}, not a probability."
            )
        return Outcome(value, pvalue, called(null), distribution=found)
    try:
        draws = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        draws = np.empty((0, 0))
    if draws.ndim != 1 or not len(draws) or not np.all(np.isfinite(draws)):
        raise ValueError(
            f"null={called(null)} must return draws of the statistic, a 1-d array of finite "
            f"numbers, or a distribution with a method sf; got {_brief(found)}."
        )
    counted = permutation_pvalue(value, draws, problem.tolerance(draws))
    how = f"{called(null)}, {len(draws)} draws"
    return Outcome(value, counted.pvalue, how, counted.draws, interval=counted.interval)


def permuted(
    problem: Problem,
    rearranged: Callable[[int], np.ndarray],
    stop_after: int | None = None,
    verbose: bool = False,
) -> MonteCarlo:
    """The exact p-value of a statistic by permutation: it is recomputed for each of them.

    Parameters
    ----------
    problem : Problem
        With the statistic.
    rearranged : callable
        From a number to as many random rearrangements, one per row.
    stop_after : int, optional
        The number of statistics above the observed one after which to stop.
    verbose : bool
        Show a progress bar.
    """

    def draw(count: int) -> np.ndarray:
        rows = progress(list(rearranged(count)), verbose, "permutations")
        return np.array([problem.statistic(row) for row in rows])

    value = problem.observed
    if stop_after is not None:
        few = problem.tolerance(np.empty(0))
        return sequential_pvalue(value, draw, problem.n_draws, stop_after, few)
    draws = draw(problem.n_draws)
    return permutation_pvalue(value, draws, problem.tolerance(draws))


def called(function: Any) -> str:
    """The name of a user-defined function, in results and errors."""
    return str(getattr(function, "__name__", type(function).__name__))


def shown_as(value: Any) -> str:
    """A name in quotes, a function by its name."""
    return f'"{value}"' if isinstance(value, str) else called(value)


def check_null(null: Any, known: tuple[str, ...]) -> None:
    """Refuse what is neither the name of a null distribution nor a function."""
    if callable(null) or (isinstance(null, str) and null in known):
        return
    listed = ", ".join(map(repr, known))
    raise ValueError(
        f"null must be one of {listed}, or a function of a problem and a random generator, got "
        f"{null!r}."
    )


def centred_matrix(kernel: Kernel, X: Data, diagonal: bool = True) -> np.ndarray:
    """H K H as a fresh array in double precision; of K without its diagonal if asked for."""
    P = kernel.prepare(X)
    K = evaluate(kernel, P, P).astype(np.float64, copy=False)
    if not diagonal:
        np.fill_diagonal(K, 0)
    return centre_in_place(K)


def _unsettled(statistic: Callable[[np.ndarray], float], K: np.ndarray) -> float:
    """How much a statistic changes with K, if K changes as rounding changes sums of its values."""
    rng, here = np.random.default_rng(0), statistic(K)
    found = []
    for _ in range(_LOOKS):
        noise = rng.choice([-1.0, 1.0], K.shape)
        noise = np.tril(noise) + np.tril(noise, -1).T
        away = K * (1 + _SUMMED * len(K) * noise)
        found.append(abs(statistic(away) - here))
    return max(found)


def _matrix(kernel: Kernel, X: Data) -> np.ndarray:
    require_memory(_HELD * 8 * length(X) ** 2, "a statistic of the whole kernel matrix")
    P = kernel.prepare(X)
    K = evaluate(kernel, P, P).astype(np.float64, copy=False)
    K.flags.writeable = False  # a statistic that changes it would change the next one
    return K


def _brief(found: Any) -> str:
    shape = getattr(found, "shape", None)
    return f"an array of shape {shape}" if shape else f"a {type(found).__name__}"
