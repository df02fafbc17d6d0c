"""Where does the distribution of an ordered sample change? Segments by their mean embeddings."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_vectors, length, take
from ..gram.base import Gram
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.distances import median_distance
from ..kernels.vectors.dot import Linear
from ..kernels.vectors.radial import Gaussian
from ..rkhs.embedding import mean_embedding
from ..rkhs.function import RKHSFunction
from .aggregate import column_units
from .planned import planned, threads
from .samples import plain
from .segmentation_bins import centred_features, cost_of, refined, squares
from .segmentation_penalty import choose, slope_penalties
from .segmentation_search import Search, best_segmentations

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_EXACT = 20_000  # samples up to which every one is a place where a change may be
_BINS = 10_000  # beyond, where there are features
_MOST, _FEWEST, _SHARE = 50, 20, 5  # segments by default: a fifth of the samples, within bounds
_DOUBLE, _SINGLE = 2.0**-38, 2.0**-13  # rounding of costs, relative to the trace


@dataclass(frozen=True, eq=False)
class Segmentation:
    """An ordered sample cut into segments; prints as a list of them.

    Attributes
    ----------
    changes : ndarray of int
        The first sample of each segment but the first.
    n_samples : int
        The length of the sample.
    cost : float
        The sum of squared distances in feature space from the mean of each segment.
    costs : ndarray of shape (D,)
        The least cost of 1, 2, ..., D segments: on bins, where there are such.
    penalties : ndarray of shape (D,) or None
        What was added to these; None if the number of changes was given.
    kernel : Kernel
        The kernel, with every parameter a number.
    step : int
        1 if the search was exact; else the samples of a bin, see :func:`change_points`.
    notes : tuple of str
        What to know before relying on the result.
    method, computation : str
        How the number of changes was chosen, and what was computed, in words.
    """

    changes: np.ndarray
    n_samples: int
    cost: float
    costs: np.ndarray = field(repr=False)
    penalties: np.ndarray | None = field(repr=False)
    kernel: Kernel
    step: int = 1
    notes: tuple[str, ...] = ()
    method: str = ""
    computation: str = field(default="", repr=False)

    @property
    def n_changes(self) -> int:
        """How many changes there are."""
        return len(self.changes)

    @property
    def segments(self) -> list[slice]:
        """The samples of each segment."""
        edges = [0, *map(int, self.changes), self.n_samples]
        return [slice(*ends) for ends in pairwise(edges)]

    @property
    def labels(self) -> np.ndarray:
        """The number of the segment that each sample is in, shape (n_samples,)."""
        return np.searchsorted(self.changes, np.arange(self.n_samples), side="right")

    def means(self, X: Data) -> list[RKHSFunction]:
        """The mean embedding of each segment of X, the sample that was segmented."""
        if length(X) != self.n_samples:
            raise ValueError(
                f"X has {length(X)} samples, but {self.n_samples} were segmented; give these."
            )
        return [mean_embedding(self.kernel, take(X, part)) for part in self.segments]

    def __str__(self) -> str:
        count = f"{self.n_changes or 'no'} change{'s' * (self.n_changes != 1)}"
        parts = ", ".join(f"{part.start}:{part.stop}" for part in self.segments)
        lines = [
            f"{count} among {self.n_samples} samples ({self.method})",
            f"  segments {parts}",
            f"  cost {self.cost:.4g}, {self.costs[0]:.4g} without changes",
        ]
        return "\n".join(lines + [f"  Note: {note}" for note in self.notes])

    def explain(self) -> str:
        """How the changes were found, and what was computed."""
        return f"{self}\n  {self.computation}\n  k = {self.kernel!r}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Costs by the number of changes, with the penalised ones."""
        from ..plots.segmentation import plot_costs

        return plot_costs(self, ax=ax)


@planned
def change_points(
    X: Data,
    n_changes: int | None = None,
    kernel: Any = None,
    *,
    max_changes: int | None = None,
    min_size: int = 2,
    penalty: float | str = "slope",
    step: int | None = None,
    plan: Plan | None = None,
) -> Segmentation:
    r"""Find where the distribution of an ordered sample changes, by kernel segmentation.

    The sample is cut into segments such that features are close to the mean of their segment:

    .. math:: \min_{t_1 < \dots < t_{D-1}} \; \sum_{d=1}^D \; \sum_{t_{d-1} \le i < t_d}
              \|\phi(x_i) - \mu_d\|^2, \qquad \mu_d = \frac1{t_d - t_{d-1}} \sum_i \phi(x_i)

    by a dynamic programme over all segmentations: what is found is the minimum. With a
    characteristic kernel any change of distribution shows sooner or later; with the linear one, a
    change of the mean. Samples are taken to be independent: a slow drift, or strong
    autocorrelation, looks like many changes.

    Parameters
    ----------
    X : data
        The sample in its order: vectors, strings, graphs, anything that has a kernel.
    n_changes : int, optional
        How many changes there are; by default it is chosen by ``penalty``.
    kernel : Kernel, str or callable, optional
        By default a Gaussian kernel whose lengthscale is the median distance, columns in units of
        their spread.
    max_changes : int, optional
        The most changes that are looked for. By default a fifth of the samples, but at least 19 and
        at most 49, of which a sample of n has place for n / min_size - 1.
    min_size : int
        The smallest number of samples of a segment.
    penalty : "slope" or float
        What a change costs. A number is to be saved by each change. ``"slope"`` adds to the cost of
        D segments :math:`a \log \binom{n-1}{D-1} + b D` with a and b from the fall of the cost
        where segments are many. It is cautious with few samples, and needs 12 of them.
    step : int, optional
        The search goes over every step-th place; each change is then moved to the best
        sample between its neighbours, until none moves, which need not end in the minimum. Needs a
        kernel with dense features, its own or those of a plan. By default 1, which is exact, up to
        20,000 samples and without such features, and n / 10,000 beyond.
    plan : Plan, optional
        Memory and threads to use, and how K is approximated: with ``Plan(rank=100)`` samples are
        compared by 100 features. K is not stored, unless the plan says ``storage="dense"``.

    Returns
    -------
    Segmentation

    Notes
    -----
    Time is that of n^2 / 2 kernel values and, for each number of segments, as many additions.
    Memory grows with n: the costs of all segments that end at 256 places are there at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import change_points
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, 100), rng.normal(0, 4, 80), rng.laplace(3, 1, 120)])
    >>> found = change_points(X)
    >>> print(found)
    2 changes among 300 samples (penalty by the slope of costs)
      segments 0:100, 100:180, 180:300
      cost 87.39, 132.2 without changes
    >>> found.labels[[0, 150, 299]]
    array([0, 1, 2])

    References
    ----------
    Harchaoui & Cappé, *Retrospective multiple change-point estimation with kernels*, SSP 2007;
    Arlot, Celisse & Harchaoui, *A kernel multiple change-point algorithm via model selection*, JMLR
    2019; Celisse, Marot, Pierre-Jean & Rigaill, *New efficient algorithms for multiple change-point
    detection with reproducing kernels*, CSDA 2018.
    """
    X = plain(X, "X")
    n = length(X)
    min_size = _integer("min_size", min_size, 1)
    most = _segments(n, n_changes, max_changes, min_size)
    fixed = _fixed(penalty)
    step = None if step is None else _integer("step", step, 1)
    gram = _gram(X, kernel, plan)
    items = _Items(gram, _step(n, step, gram), min_size)
    search = best_segmentations(
        items.gram, items.trace, items.sizes, min(most, items.most), items.least
    )
    costs = search.costs
    notes: list[str] = []
    penalties = None
    if n_changes is not None:
        segments, method = most, "as many as asked for"
        if segments > len(costs):
            raise ValueError(
                f"n_changes={n_changes} do not fit on places {items.step} samples apart with "
                f"min_size={min_size}; give a smaller step."
            )
    else:
        penalties = slope_penalties(costs, n) if fixed is None else fixed * np.arange(len(costs))
        method = "penalty by the slope of costs" if fixed is None else f"penalty {fixed:g} each"
        if penalties is None:
            segments = 1
            notes.append(
                f"{n} samples are too few to choose a penalty by, so no change was looked for; "
                f"give n_changes, or a number as penalty."
            )
        else:
            segments = choose(costs, penalties, items.rounding(search))
            if 1 < segments == len(costs) < n // min_size:
                notes.append("these are as many changes as were looked for; raise max_changes.")
    changes, cost = items.found(search, segments)
    if items.step > 1:
        notes.append(
            f"searched on bins of {items.step} samples, then each change moved to the best sample "
            f"between its neighbours: not certain to be the minimum."
        )
    return Segmentation(
        changes,
        n,
        cost,
        costs,
        penalties,
        gram.kernel,
        items.step,
        tuple(notes),
        method,
        f"all segmentations of {len(items.sizes)} places into up to {len(costs)} segments; "
        f"{threads(plan)}",
    )


class _Items:
    """What segments consist of: samples, or bins of them, and how sure costs are.

    Parameters
    ----------
    gram : Gram
        K of the samples.
    step : int
        Samples of a bin, or one more.
    min_size : int
        Samples of a segment.
    """

    def __init__(self, gram: Any, step: int, min_size: int) -> None:
        self.step, self.min_size = step, min_size
        n = len(gram)
        bins = max(n // step, 1)
        self.edges = np.arange(bins + 1) * n // bins  # sizes differ by one at most
        self.sizes = np.diff(self.edges)
        self.least = min(-(-min_size // (n // bins)), bins)  # one segment may always be shorter
        self.most = bins // self.least
        self.phi = centred_features(gram)  # whose rounding enters squared
        self.precision = _SINGLE if self.phi is None and gram.dtype.itemsize < 8 else _DOUBLE
        if self.phi is None:
            self.gram, self.trace = gram, np.asarray(gram.diag(), dtype=np.float64)
            return
        sums = self.phi if step == 1 else np.add.reduceat(self.phi, self.edges[:-1], axis=0)
        self.gram = Plan(workers=gram.workers, storage="lowrank").gram(Linear(), sums)
        self.gram.limit = gram.limit
        self.trace = np.add.reduceat(squares(self.phi), self.edges[:-1])

    def rounding(self, search: Search) -> np.ndarray:
        """By how much costs may be off; those of a single item are exact."""
        sums = np.concatenate([[0.0], np.cumsum(self.trace)])
        totals = []
        for segments in range(1, len(search.costs) + 1):
            edges = np.concatenate([[0], search.changes(segments), [len(self.trace)]])
            several = np.diff(edges) > 1
            totals.append(np.diff(sums[edges])[several].sum())
        return self.precision * np.array(totals)

    def found(self, search: Search, segments: int) -> tuple[np.ndarray, float]:
        """Changes as numbers of samples, and the cost."""
        changes = self.edges[search.changes(segments)]
        if self.step == 1 or self.phi is None:
            return changes, float(search.costs[segments - 1])
        changes = refined(self.phi, changes, self.min_size)
        return changes, cost_of(self.phi, changes)


def _gram(X: Data, kernel: Any, plan: Plan | None) -> Any:
    """K of all samples, computed when it is needed unless a plan asks for something else."""
    plan = Plan() if plan is None else plan
    k = _usual(X) if kernel is None else as_kernel(kernel, X)
    gram: Any = plan.gram(k, X)
    if gram.streamed:
        raise ValueError(
            "change_points keeps the features of all samples; give samples that are in memory and "
            "a plan with fewer features, such as Plan(rank=50)."
        )
    return gram.unstored() if plan.storage == "auto" else gram


def _usual(X: Data) -> Kernel:
    """The kernel of samples for which none was given."""
    Z: Any = as_vectors(X, "change_points without a kernel")
    if sp.issparse(Z):
        return Gaussian("median")
    units = column_units(Z)
    return Gaussian(units * median_distance(Z / units))


def _segments(n: int, n_changes: Any, max_changes: Any, min_size: int) -> int:
    """The largest number of segments to look for."""
    if n < 1:
        raise ValueError("X has no samples, at least 1 is needed.")
    place = max(n // min_size, 1)
    if n_changes is not None:
        wanted = _integer("n_changes", n_changes, 0) + 1
        if wanted > place:
            raise ValueError(
                f"n_changes={n_changes} with min_size={min_size} needs {wanted * min_size} "
                f"samples, but there are {n}; use fewer changes or a smaller min_size."
            )
        return wanted
    if max_changes is not None:
        return min(_integer("max_changes", max_changes, 0) + 1, place)
    return min(max(_FEWEST, min(_MOST, n // _SHARE)), place)


def _fixed(penalty: Any) -> float | None:
    """The penalty of a change; None if it is to be learned."""
    if isinstance(penalty, str) and penalty == "slope":
        return None
    number = isinstance(penalty, Real) and not isinstance(penalty, bool)
    if not number or not 0 <= float(penalty) < np.inf:
        raise ValueError(f'penalty must be "slope" or a finite number >= 0, got {penalty!r}.')
    return float(penalty)


def _step(n: int, step: int | None, gram: Gram) -> int:
    """Samples of a bin."""
    phi = gram.features
    dense = phi is not None and not sp.issparse(phi)
    if step is None:
        return n // _BINS if n > _EXACT and dense else 1
    if step > 1 and not dense:
        raise ValueError(
            f"step={step} needs a kernel with dense features; give a plan such as Plan(rank=100)."
        )
    return min(step, n)


def _integer(name: str, value: Any, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or int(value) < least:
        raise ValueError(f"{name} must be an integer >= {least}, got {value!r}.")
    return int(value)
