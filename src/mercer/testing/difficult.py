"""Samples of vectors as people have them: outliers, sentinels, offsets, mixed units, duplicates."""

from __future__ import annotations

import numpy as np

from ..checks import check_count
from ..randomness import as_generator

_SIZES = (1e3, 1e6, 1e9, 1e18, 1e30, 1e150, 1e300)


def difficult_samples(
    n: int = 60, d: int = 3, rng: int | np.random.Generator = 0
) -> dict[str, np.ndarray]:
    """Normal vectors that something has happened to, by what has happened.

    One entry far out, two groups far apart and a common offset, each of 10^3 to 10^300; a sentinel;
    times in bursts; groups; mixed units; ties, duplicates and constants; counts with rare ones;
    heavy tails. Whatever works on standard normal vectors should work on these, or refuse them in
    words.

    Parameters
    ----------
    n, d : int
        The shape of each sample; at least 20 and 2.
    rng : int or Generator
        The source of randomness.

    Examples
    --------
    >>> from mercer import Matern
    >>> from mercer.testing import check_kernel, difficult_samples
    >>> check_kernel(Matern(nu=2.5), difficult_samples()["a sentinel"])
    """
    check_count("n", n, 20)
    check_count("d", d, 2)
    rng = as_generator(rng)
    plain = rng.normal(size=(n, d))
    samples = {"plain": plain}
    for size in _SIZES:
        one, two = plain.copy(), plain.copy()
        one[n // 7, 1] = size
        two[::2, 0] += size
        samples[f"one entry of {size:g}"] = one
        samples[f"two groups {size:g} apart"] = two
        samples[f"an offset of {size:g}"] = plain + size
    few = 1 + n // 10
    starts = np.resize(rng.uniform(0, 3e7, few), n)
    bursts = plain.copy()
    bursts[:, 0] = 1.7e9 + starts + rng.exponential(5, n)
    return samples | {
        "a sentinel": np.where(rng.random((n, d)) < 0.2, -99999.0, plain),
        "times in bursts": bursts,
        "groups": np.resize(1e7 * plain[:few], (n, d)) + plain,
        "mixed units": plain * np.resize([1e-3, 1e3, 1e6], d),
        "ties": np.round(plain),
        "duplicates": np.resize(plain[:few], (n, d)),
        "a constant column": np.where(np.arange(d) == 1, 7.0, plain),
        "constants": np.full((n, d), 1e5),
        "rare ones": (np.arange(n * d).reshape(n, d) % (n + 1) == 0).astype(float),
        "heavy tails": rng.standard_cauchy((n, d)),
    }
