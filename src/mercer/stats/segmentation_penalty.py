"""How many segments? Penalties on their number, fixed or learned from the costs themselves."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

_LARGE = 0.6  # share of the largest number of segments from which on more of them only fit noise
_FEWEST = 6  # numbers of segments, for a slope
FACTOR = 2.0  # times the smallest penalty that does not break down


def slope_penalties(costs: np.ndarray, n: int) -> np.ndarray | None:
    r"""Penalties of 1, 2, ... segments of n samples by the slope heuristic.

    Where there are more segments than changes, the least cost falls like

    .. math:: C_D \approx c - a \log \binom{n-1}{D-1} - b D

    since the best of all segmentations fits noise. Twice that fall, estimated by least squares
    over large D, is the penalty. None where the costs are too few.

    References
    ----------
    Arlot, Celisse & Harchaoui, *A kernel multiple change-point algorithm via model selection*,
    JMLR 2019.
    """
    D = np.arange(1, len(costs) + 1)
    if len(costs) < _FEWEST:
        return None
    ways = gammaln(n) - gammaln(D) - gammaln(n - D + 1)
    large = _LARGE * len(costs) <= D
    terms = np.column_stack([np.ones(len(D)), ways, D])
    slopes = np.linalg.lstsq(terms[large], costs[large], rcond=None)[0]
    penalties = -FACTOR * (terms[:, 1:] @ slopes[1:])
    return np.maximum.accumulate(penalties - penalties[0])  # no number is cheaper than a lower one


def choose(costs: np.ndarray, penalties: np.ndarray, rounding: np.ndarray) -> int:
    """The number of segments of least penalised cost, among those that rounding can tell apart.

    Parameters
    ----------
    costs, penalties : ndarray of shape (D,)
        Of 1, ..., D segments.
    rounding : ndarray of shape (D,)
        By how much each cost may be off.
    """
    enough = int(np.argmax(costs <= costs.min() + rounding)) + 1  # the rest removes nothing
    return int(np.argmin((costs + penalties)[:enough])) + 1
