"""Pairs of samples on which the power of two-sample tests is compared in the literature."""

from __future__ import annotations

from itertools import product

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]


def mixture(n: int, std: float, rng: np.random.Generator) -> Pair:
    """Four normal distributions at (±20, ±20); one has another spread in the second sample.

    Biggs, Schrab & Gretton, *MMD-FUSE*, NeurIPS 2023.
    """
    corners = 20.0 * np.array([[1, 1], [-1, 1], [1, -1], [-1, -1]])

    def sample(last: float) -> np.ndarray:
        which = rng.integers(0, 4, n)
        noise = rng.standard_normal((n, 2))
        noise[which == 3] *= last
        return corners[which] + noise

    return sample(1.0), sample(std)


def perturbed_uniform(
    n: int, d: int, amplitude: float, rng: np.random.Generator, bumps: int = 2
) -> Pair:
    """A uniform density on [0, 1]^d with smooth bumps of random sign, against the uniform one.

    Schrab, Kim, Albert, Laurent, Guedj & Gretton, *MMD aggregated two-sample test*, JMLR 2023;
    the amplitude is relative to the largest one that leaves the density non-negative.
    """
    cells = list(product(range(1, bumps + 1), repeat=d))
    signs = rng.choice([-1.0, 1.0], len(cells))

    def density(x: np.ndarray) -> np.ndarray:
        waves = [s * _wave(bumps * x - np.array(c)) for s, c in zip(signs, cells, strict=True)]
        return 1 + amplitude * np.exp(d) * sum(waves)

    kept = np.empty((0, d))
    while len(kept) < n:
        x = rng.uniform(size=(4 * n, d))
        accepted = rng.uniform(0, 1 + amplitude, 4 * n) <= density(x)
        kept = np.concatenate([kept, x[accepted]])
    return kept[:n], rng.uniform(size=(n, d))


def _wave(t: np.ndarray) -> np.ndarray:
    """A positive bump on (-1, -1/2) and a negative one on (-1/2, 0), multiplied over columns."""
    up, down = (t > -1) & (t < -0.5), (t > -0.5) & (t < 0)
    centred = np.where(up, 4 * t + 3, 4 * t + 1)
    inside = (up | down) & (np.abs(centred) < 1)
    bump = np.exp(-1 / np.where(inside, 1 - centred**2, 1.0))
    return np.asarray(np.prod(np.where(inside, np.where(up, bump, -bump), 0.0), axis=1))


def blobs(n: int, rng: np.random.Generator) -> Pair:
    """A 3 x 3 grid of round blobs, against one of blobs that are tilted one by one.

    Liu, Xu, Lu, Zhang, Gretton & Sutherland, *Learning deep kernels*, ICML 2020.
    """
    tilts = [-0.02 - 0.002 * i for i in range(4)] + [0.0] + [0.02 + 0.002 * i for i in range(4)]
    roots = [np.linalg.cholesky([[0.03, tilt], [tilt, 0.03]]) for tilt in tilts]

    def sample(tilted: bool) -> np.ndarray:
        which = rng.integers(0, 9, n)
        noise = rng.standard_normal((n, 2))
        if tilted:
            noise = np.einsum("nij,nj->ni", np.array(roots)[which], noise)
        else:
            noise *= np.sqrt(0.03)
        return np.stack([which // 3, which % 3], axis=1) + noise

    return sample(False), sample(True)


def mean_shift(n: int, d: int, shift: float, rng: np.random.Generator) -> Pair:
    """Standard normal samples; the first coordinate of the second one is shifted."""
    X, Y = rng.standard_normal((2, n, d))
    Y[:, 0] += shift
    return X, Y


def variance_shift(n: int, d: int, factor: float, rng: np.random.Generator) -> Pair:
    """Standard normal samples; the first coordinate of the second one is stretched."""
    X, Y = rng.standard_normal((2, n, d))
    Y[:, 0] *= factor
    return X, Y
