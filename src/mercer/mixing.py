"""Numbers of 64 bits, scattered: SplitMix64, of which codes, hashes and draws are made.

Reference: Steele, Lea & Flood, *Fast splittable pseudorandom number generators*, OOPSLA 2014.
"""

from __future__ import annotations

import numpy as np

from ._compiled import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # the step from one state of the generator to the next


def scatter(z: np.ndarray) -> np.ndarray:
    """A bijection that leads numbers near each other far apart; 0 stays 0."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def mix(z: np.ndarray) -> np.ndarray:
    """The number of the generator that follows the state z; a bijection, too.

    Examples
    --------
    >>> import numpy as np
    >>> int(mix(np.zeros(1, np.uint64))[0]) == 0xE220A8397B1DCDAF
    True
    """
    return scatter(z + GOLDEN)


_scattered = njit(cache=True, nogil=True)(scatter)


@njit(cache=True, nogil=True)
def mixed(z):
    """:func:`mix` of one number, for compiled loops."""
    return _scattered(z + GOLDEN)
