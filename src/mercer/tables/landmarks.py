"""Ridge regression through landmarks in one pass, for samples read from files.

The products of M features of all samples are added up (:mod:`mercer.solvers.ridge_sums`); each
penalty then takes a system of M equations, and the one that predicts other samples best is chosen.
The cost is known in advance: M landmarks take about ``pair M + 2e-11 M^2`` seconds for a sample. So
the numbers of landmarks and samples follow from the available time.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..chunks.base import Chunk, Chunks
from ..data import length, take
from ..gram.implicit import ImplicitGram
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import Nystrom
from ..models.common import check_data
from ..models.ridge import KernelRidge
from ..solvers.base import Solution
from ..solvers.falkon import targets
from ..solvers.ridge_sums import RidgeSums
from .metric import Profile

MOST, _FEWEST = 2000, 100  # landmarks
_STEP = 1.1  # ratio of the numbers of landmarks that are considered
_ROWS = 500  # for each landmark; beyond that, more landmarks help more than more rows
_PAIR = {"m52": 8e-10, "likely": 8e-10, "l2": 6e-10, "l1": 1e-9, "linear": 2e-10}  # seconds
_COORDINATE = {"l1": 1.1e-10}  # seconds of each coordinate of a pair; of others
_OTHER = 1e-11
_SQUARE = 2e-11  # seconds of a pair of landmarks for each sample
_ENCODED = 1e-7, 1.5e-8  # seconds of a sample, and of each of its coordinates
_PER_PAIR = 100  # bytes of a fit for each pair of landmarks
_CHOSEN_FROM = 6  # candidates for each landmark
_SHARE = 0.25  # of the memory, for their kernel values
_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0, 100.0)  # times the best penalty for few samples


class Size(NamedTuple):
    """The numbers of landmarks and of samples, and the seconds they take."""

    landmarks: int
    rows: int
    seconds: float


def affordable(
    profile: Profile, n: int, d: int, seconds: float, memory: float | None = None
) -> Size | None:
    """As many landmarks, and then as many of n samples with d coordinates, as time allows.

    None if that is less than a hundred landmarks.
    """
    most = MOST if memory is None else int(min(MOST, np.sqrt(memory / _PER_PAIR)))
    pair = _PAIR[profile.kind] + d * _COORDINATE.get(profile.kind, _OTHER)
    if profile.kind == "linear":  # which has d + 1 features of its own
        most = min(most, d + 1)
    m: float = most
    while m >= min(_FEWEST, most):
        count = int(m)
        each = _ENCODED[0] + _ENCODED[1] * d + pair * count + _SQUARE * count**2
        if min(n, _ROWS * count) * each <= seconds:
            rows = int(min(n, seconds / each))
            return Size(count, rows, rows * each)
        m /= _STEP
    return None


def in_one_pass(
    chunks: Chunks,
    profile: Profile,
    landmarks: int,
    alpha: float,
    some: np.ndarray,
    check: Chunk,
    plan: Plan | None = None,
) -> KernelRidge:
    """A model of all samples of the chunks.

    Parameters
    ----------
    chunks : Chunks
        Coordinates, with targets of shape (n, t).
    profile : Profile
    landmarks : int
        How many of them.
    alpha : float
        A penalty; some smaller and larger ones are tried as well.
    some : ndarray
        Coordinates of samples from which landmarks are chosen.
    check : Chunk
        Samples that choose the penalty.
    plan : Plan, optional
        Memory and threads.
    """
    plan = plan or Plan()
    kernel: Any = profile.kernel
    if profile.kind != "linear" or landmarks <= some.shape[1]:
        count = _CHOSEN_FROM * landmarks
        if np.isfinite(plan.limit):
            count = int(min(count, _SHARE * plan.limit / (8.0 * landmarks)))
        places = np.linspace(0, len(some) - 1, min(max(count, 2 * landmarks), len(some)))
        some = take(some, places.astype(int))
        kernel = Nystrom(kernel, rank=min(landmarks, length(some))).resolve(some)
    device: Any = {"device": plan.device_for(kernel, some), "precision": plan.precision}
    gram = ImplicitGram(kernel, chunks, some, workers=plan.workers, **device)
    gram.limit = plan.limit
    sums = RidgeSums(gram)
    best, weights = _best(sums, alpha, gram.features_of(check), check)
    own = plan.replace(rank=landmarks, features=None, storage="streamed", budget=None)
    model = KernelRidge(best, kernel=profile.kernel, plan=own, random_state=0)
    check_data(model, some, model.kernel, reset=True, keep=False)
    t = weights.shape[1]
    solution = Solution(np.zeros((0, t)), stats={"method": "primal"}, weights=weights)
    return model._take_weights(gram, solution, np.full(t, best), t)


def _best(sums: RidgeSums, alpha: float, phi: np.ndarray, check: Chunk) -> tuple[float, Any]:
    """The penalty, and the weights of features, with the smallest error on other samples."""
    found, Y = [], targets(check)
    w = np.ones(len(Y)) if check.weight is None else check.weight
    for factor in _FACTORS:
        with suppress(np.linalg.LinAlgError):  # of a penalty below the rounding of the sums
            V = sums.solve([alpha * factor])[0]
            found.append((float(np.sum(w @ (phi @ V - Y) ** 2)), alpha * factor, V))
    if not found:
        raise ValueError("the features are too nearly dependent; use larger alphas.")
    _, best, V = min(found, key=lambda each: each[0])
    return best, V
