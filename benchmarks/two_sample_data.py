"""Samples on which the power of tests is compared in the literature.

Of two samples, which may differ; and of two variables (the last four), which may be dependent.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product

import numpy as np

from .harness import Unavailable
from .svm_data import folder

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
    return _bumpy(n, d, amplitude, bumps, rng), rng.uniform(size=(n, d))


def _bumpy(n: int, d: int, amplitude: float, bumps: int, rng: np.random.Generator) -> np.ndarray:
    """A sample of the uniform density with bumps, by rejection."""
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
    return kept[:n]


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


def higgs_angles(n: int, rng: np.random.Generator) -> Pair:
    """Azimuths of four jets of simulated collisions, without and with a Higgs boson.

    Baldi, Sadowski & Whiteson, *Searching for exotic particles*, Nature Communications 2014. Each
    angle alone is nearly uniform in both.
    """
    angles, boson = _collisions()
    return tuple(  # type: ignore[return-value]
        angles[rng.choice(np.flatnonzero(boson == kind), n, replace=False)] for kind in (0, 1)
    )


@lru_cache(maxsize=1)
def _collisions() -> Pair:
    path = folder() / "vectors" / "higgs_7500.npz"
    if not path.exists():
        raise Unavailable("the HIGGS data are not at hand (MERCER_DATA names the folder)")
    with np.load(path) as file:
        return file["X"][:, [7, 11, 15, 19]].astype(np.float64), file["y"]


# ---- two variables -------------------------------------------------------------------------------
def rotated(n: int, angle: float, rng: np.random.Generator) -> Pair:
    """Two independent variables with two modes each, rotated in the plane: uncorrelated.

    Gretton, Fukumizu, Teo, Song, Schölkopf & Smola, *A kernel statistical test of independence*,
    NIPS 2007.
    """
    s = rng.choice([-1.0, 1.0], (2, n)) + 0.4 * rng.standard_normal((2, n))
    c, d = np.cos(angle), np.sin(angle)
    return c * s[0] - d * s[1], d * s[0] + c * s[1]


def sinusoid(n: int, frequency: int, rng: np.random.Generator) -> Pair:
    """The density 1 + sin(w x) sin(w y) on a square, by rejection.

    Sejdinovic, Sriperumbudur, Gretton & Fukumizu, *Equivalence of distance-based and RKHS-based
    statistics in hypothesis testing*, Annals of Statistics 2013.
    """
    kept = np.empty((0, 2))
    while len(kept) < n:
        Z = rng.uniform(-np.pi, np.pi, (4 * n, 2))
        density = 1 + np.prod(np.sin(frequency * Z), axis=1)
        kept = np.concatenate([kept, Z[rng.uniform(0, 2, 4 * n) < density]])
    return kept[:n, 0], kept[:n, 1]


def dependent_bumps(n: int, amplitude: float, rng: np.random.Generator, bumps: int = 1) -> Pair:
    """The coordinates of :func:`perturbed_uniform` in the plane: each alone is uniform.

    Schrab, Kim, Guedj & Gretton, *Efficient aggregated kernel tests using incomplete
    U-statistics*, NeurIPS 2022, who have one bump. More of them, of random sign, are harder.
    """
    x, y = _bumpy(n, 2, amplitude, bumps, rng).T
    return x, y


def independent(n: int, rng: np.random.Generator) -> Pair:
    """Two independent standard normal variables."""
    x, y = rng.standard_normal((2, n))
    return x, y
