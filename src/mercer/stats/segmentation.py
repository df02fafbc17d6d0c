"""Where does the distribution of an ordered sample change? Segments by their mean embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import check_count, check_number
from ..data import Data, as_vectors, length
from ..gram.base import Gram
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..kernels.indefinite import known_indefinite
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.distances import median_distance
from ..kernels.vectors.radial import Gaussian
from .aggregate import column_units
from .planned import planned, threads
from .samples import plain
from .segmentation_bins import Items
from .segmentation_penalty import choose, slope_penalties
from .segmentation_result import Segmentation
from .segmentation_search import best_segmentations

_EXACT = 20_000  # samples up to which every one is a place where a change may be
_BINS = 10_000  # beyond, where there are features
_MOST, _FEWEST, _SHARE = 50, 20, 5  # segments by default: a fifth of the samples, within bounds


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

    The sample is divided into segments whose features are close to the mean of their segment:

    .. math:: \min_{t_1 < \dots < t_{D-1}} \; \sum_{d=1}^D \; \sum_{t_{d-1} \le i < t_d}
              \|\phi(x_i) - \mu_d\|^2, \qquad \mu_d = \frac1{t_d - t_{d-1}} \sum_i \phi(x_i)

    by dynamic programming over all segmentations, so the result is the global minimum. With a
    characteristic kernel, any change of distribution is detected with enough data; with the linear
    kernel, changes of the mean. Samples are assumed to be independent: a slow drift, or strong
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
        The maximum number of changes considered. By default a fifth of the samples, but at least 19
        and at most 49, and never more than n / min_size - 1.
    min_size : int
        The smallest number of samples of a segment.
    penalty : "slope" or float
        The penalty per change. If it is a number, each change must reduce the cost by at least this
        much. ``"slope"`` adds to the cost of D segments :math:`a \log \binom{n-1}{D-1} + b D` with
        a and b estimated from the decrease of the cost for many segments. It is cautious with few
        samples, and needs at least 12.
    step : int, optional
        The search only considers every step-th position; each change is then moved to the best
        sample between its neighbours, until none moves, which need not be the global minimum. Needs
        a kernel with dense features, its own or those of a plan. By default 1, which is exact, up
        to 20,000 samples and without such features, and n / 10,000 beyond.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: by default not at all. With
        ``Plan(rank=100)`` samples are compared by 100 features.

    Returns
    -------
    Segmentation

    Notes
    -----
    The time is that of n^2 / 2 kernel values and, for each number of segments, as many additions.
    Memory grows linearly with n: the costs of all segments that end at 256 positions are held at a
    time.

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
    min_size = check_count("min_size", min_size, 1)
    most = _segments(n, n_changes, max_changes, min_size)
    fixed = _fixed(penalty)
    step = check_count("step", step, also=(None,))
    gram = _gram(X, kernel, plan)
    items = Items(gram, _step(n, step, gram), min_size)
    if n_changes is not None and most > items.most:
        raise ValueError(
            f"n_changes={n_changes} do not fit on positions {items.step} samples apart with "
            f"min_size={min_size}; give a smaller step."
        )
    search = best_segmentations(
        items.gram, items.trace, items.sizes, min(most, items.most), items.least
    )
    costs, penalties, notes = search.costs, None, []
    if (found := known_indefinite(gram.kernel)) is not None:
        notes.append(f"{found}: costs of segments are not sums of squared distances.")
    if n_changes is not None:
        segments, method = most, "as many as asked for"
    elif fixed is not None:
        penalties, method = fixed * np.arange(len(costs)), f"penalty {fixed:g} each"
    else:
        penalties, method = slope_penalties(costs, n), "penalty by the slope of costs"
    if penalties is not None:
        segments = choose(costs, penalties, items.rounding(search))
        if 1 < segments == len(costs) < n // min_size:
            notes.append("this is the maximum number of changes considered; raise max_changes.")
    elif n_changes is None:
        segments = 1
        notes.append(
            f"{n} samples are too few to choose a penalty, so no changes were searched for; give "
            "n_changes, or a number as penalty."
        )
    if items.step > 1:
        notes.append(
            f"searched on bins of {items.step} samples, then each change moved to the best sample "
            "between its neighbours: not guaranteed to be the minimum."
        )
    return Segmentation(
        *items.found(search, segments, penalties),
        n_samples=n,
        costs=costs,
        penalties=penalties,
        kernel=gram.kernel,
        step=items.step,
        notes=tuple(notes),
        method=method,
        computation=f"all segmentations of {len(items.sizes)} places into up to {len(costs)} "
        f"segments; {threads(plan)}",
    )


def _gram(X: Data, kernel: Any, plan: Plan | None) -> Any:
    """K of all samples, computed when needed unless a plan requests something else."""
    plan = Plan() if plan is None else plan
    if kernel is None or (isinstance(kernel, str) and kernel != "precomputed"):
        X = as_vectors(X, "change_points without a kernel of its own")
    k = _usual(X) if kernel is None else as_kernel(kernel, X)
    gram: Any = plan.gram(k, X)
    if gram.streamed:
        raise ValueError(
            "change_points keeps the features of all samples; pass samples in memory and a plan "
            "with fewer features, such as Plan(rank=50)."
        )
    return gram.unstored() if plan.storage == "auto" else gram


def _usual(X: Any) -> Kernel:
    """The kernel of vectors for which none was given."""
    if sp.issparse(X):
        return Gaussian("median")
    units = column_units(X)
    return Gaussian(units * median_distance(X / units))


def _segments(n: int, n_changes: Any, max_changes: Any, min_size: int) -> int:
    """The largest number of segments to look for."""
    if n < 1:
        raise ValueError("X has no samples, at least 1 is needed.")
    place = max(n // min_size, 1)
    if n_changes is not None:
        wanted = check_count("n_changes", n_changes, 0) + 1
        if wanted > place:
            raise ValueError(
                f"n_changes={n_changes} with min_size={min_size} needs {wanted * min_size} "
                f"samples, but there are {n}; use fewer changes or a smaller min_size."
            )
        return wanted
    if max_changes is not None:
        return min(check_count("max_changes", max_changes, 0) + 1, place)
    return min(max(_FEWEST, min(_MOST, n // _SHARE)), place)


def _fixed(penalty: Any) -> float | None:
    """The penalty of a change; None if it is to be learned."""
    if isinstance(penalty, str) and penalty == "slope":
        return None
    return check_number(
        "penalty", penalty, '"slope" or a finite number >= 0', lambda v: 0 <= v < np.inf
    )


def _step(n: int, step: int | None, gram: Gram) -> int:
    """Samples of a bin."""
    phi = gram.features
    dense = phi is not None and not sp.issparse(phi)
    if step is None:
        return n // _BINS if n > _EXACT and dense else 1
    if step > 1 and not dense:
        raise ValueError(
            f"step={step} needs a kernel with dense features; use a plan such as Plan(rank=100)."
        )
    return min(step, n)
