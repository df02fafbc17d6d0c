"""What users give as a source of randomness, as the generators of NumPy."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

_SOURCES = (
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    np.random.SeedSequence,
)


def check_random(seed: Any, name: str) -> None:
    """Refuse what no generator can be made of, by the name of the argument."""
    whole = isinstance(seed, Integral) and not isinstance(seed, bool) and int(seed) >= 0
    several = isinstance(seed, (list, tuple)) and all(isinstance(one, Integral) for one in seed)
    if not (seed is None or whole or (several and seed) or isinstance(seed, _SOURCES)):
        raise ValueError(
            f"{name} must be None, an integer >= 0, a numpy.random.Generator or a "
            f"numpy.random.RandomState, got {seed!r}."
        )


def as_generator(seed: Any, name: str = "rng") -> np.random.Generator:
    """A NumPy generator from None, a seed or a generator of either of NumPy's kinds.

    >>> from mercer.randomness import as_generator
    >>> int(as_generator(0).integers(10))
    8
    """
    check_random(seed, name)
    if isinstance(seed, np.random.RandomState):
        seed = seed.randint(2**31)
    return np.random.default_rng(seed)


def as_random_state(seed: Any, name: str = "random_state") -> np.random.RandomState:
    """The generator that scikit-learn draws from; a ``Generator`` shares its stream with it.

    >>> import numpy as np
    >>> from mercer.randomness import as_random_state
    >>> as_random_state(np.random.default_rng(0)).randint(10)
    1
    """
    check_random(seed, name)
    if isinstance(seed, np.random.Generator):
        seed = seed.bit_generator
    if isinstance(seed, (np.random.BitGenerator, np.random.SeedSequence)):
        bits = np.random.MT19937(seed) if isinstance(seed, np.random.SeedSequence) else seed
        return np.random.RandomState(bits)
    if isinstance(seed, (list, tuple)):
        return np.random.RandomState(seed)
    return check_random_state(seed)
