"""Three variables: X and Y independent given Z, in twelve ways and more, or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Triple = tuple[np.ndarray, np.ndarray, np.ndarray]
Draw = Callable[[int, np.random.Generator], Triple]
Rng = np.random.Generator


def _of(function: Callable[[np.ndarray], np.ndarray], noise: float) -> Draw:
    """X and Y are the same function of one normal Z, plus noise."""

    def draw(n: int, rng: Rng) -> Triple:
        z = rng.standard_normal(n)
        e, f = noise * rng.standard_normal((2, n))
        return function(z) + e, function(z) + f, z

    return draw


def _of_several(
    function: Callable[[np.ndarray], np.ndarray], d: int, noise: float, common: float = 0.0
) -> Draw:
    """X and Y are the same function of d normal variables, plus noise of which some is common."""

    def draw(n: int, rng: Rng) -> Triple:
        Z = rng.standard_normal((n, d))
        e, f = noise * rng.standard_normal((2, n)) + common * rng.standard_normal(n)
        return function(Z) + e, function(Z) + f, Z

    return draw


def wave_and_square(n: int, rng: Rng) -> Triple:
    z = rng.standard_normal(n)
    e, f = 0.1 * rng.standard_normal((2, n))
    return np.sin(2 * z) + e, z**2 + f, z


def uneven_noise(n: int, rng: Rng) -> Triple:
    z, e, f = rng.standard_normal((3, n))
    return z + np.abs(z) * e, z**2 + np.abs(z) * f, z


def noise_only(n: int, rng: Rng) -> Triple:
    """Z sets how large X and Y are, not where."""
    z, e, f = rng.standard_normal((3, n))
    return np.exp(z) * e, np.exp(z) * f, z


def heavy_tails(n: int, rng: Rng) -> Triple:
    z = rng.standard_t(2, n)
    return z + rng.standard_t(3, n), np.tanh(z) + rng.standard_t(3, n), z


def chain(n: int, rng: Rng) -> Triple:
    x = rng.standard_normal(n)
    z = x + 0.5 * rng.standard_normal(n)
    return x, z + 0.5 * rng.standard_normal(n), z


def yes_or_no(n: int, rng: Rng) -> Triple:
    z = rng.standard_normal(n)
    x, y = rng.random((2, n)) < 1 / (1 + np.exp(-2 * z))
    return x.astype(float), y.astype(float), z


def five_values(n: int, rng: Rng) -> Triple:
    z = rng.integers(0, 5, n).astype(float)
    e, f = rng.standard_normal((2, n))
    return np.sin(3 * z) + 0.3 * e, z**2 + 0.3 * f, z


def _ten(Z: np.ndarray) -> np.ndarray:
    return np.asarray(Z.sum(axis=1) / np.sqrt(10))


def _three(Z: np.ndarray) -> np.ndarray:
    return np.asarray(np.sin(Z[:, 0] + Z[:, 1]) + Z[:, 2] ** 2 / 2)


NULLS: dict[str, Draw] = {
    "z, noise 1": _of(lambda z: z, 1.0),
    "sin 2z and z², noise .1": wave_and_square,
    "sin 2z, noise .1": _of(lambda z: np.sin(2 * z), 0.1),
    "sin 6z, noise .1": _of(lambda z: np.sin(6 * z), 0.1),
    "1[z > 0], noise .1": _of(lambda z: (z > 0).astype(float), 0.1),
    "|z|, noise .1": _of(np.abs, 0.1),
    "sum of ten z, noise .5": _of_several(_ten, 10, 0.5),
    "sin(z₁ + z₂) + z₃²/2, noise .3": _of_several(_three, 3, 0.3),
    "sin 2z₁ of five z, noise .3": _of_several(lambda Z: np.sin(2 * Z[:, 0]), 5, 0.3),
    "z and z², noise |z|": uneven_noise,
    "nothing, noise exp z": noise_only,
    "heavy tails": heavy_tails,
    "chain x → z → y": chain,
    "x, y in {0, 1}": yes_or_no,
    "z in {0, …, 4}": five_values,
}


# ---- dependence ----------------------------------------------------------------------------------
def low_noise(n: int, rng: Rng) -> Triple:
    x, y, z = wave_and_square(n, rng)
    common = 0.05 * rng.standard_normal(n)
    return x + common, y + common, z


def squared(n: int, rng: Rng) -> Triple:
    z, e, f = rng.standard_normal((3, n))
    return z + e, z + 0.3 * e**2 + f, z


def changing_sign(n: int, rng: Rng) -> Triple:
    z, e, f = rng.standard_normal((3, n))
    return z + e, z + 0.4 * z * e + f, z


def of_variance(n: int, rng: Rng) -> Triple:
    z, e, f = rng.standard_normal((3, n))
    return z + e, z + np.exp(0.3 * e) * f, z


def collider(n: int, rng: Rng) -> Triple:
    x, y = rng.standard_normal((2, n))
    return x, y, x + y + 2 * rng.standard_normal(n)


def from_yes_or_no(n: int, rng: Rng) -> Triple:
    z = rng.standard_normal(n)
    x = (rng.random(n) < 1 / (1 + np.exp(-2 * z))).astype(float)
    return x, z + 0.5 * x + rng.standard_normal(n), z


def within_values(n: int, rng: Rng) -> Triple:
    x, y, z = five_values(n, rng)
    common = 0.18 * rng.standard_normal(n)
    return x + common, y + common, z


ALTERNATIVES: dict[str, Draw] = {
    "z, noise in common": lambda n, rng: _of_several(lambda Z: Z[:, 0], 1, 1.0, 0.5)(n, rng),
    "sin 2z and z², noise in common": low_noise,
    "sum of ten z, noise in common": _of_several(_ten, 10, 0.5, 0.25),
    "three z, noise in common": _of_several(_three, 3, 0.3, 0.15),
    "square of the noise": squared,
    "sign that z changes": changing_sign,
    "variance": of_variance,
    "collider x → z ← y": collider,
    "x in {0, 1}": from_yes_or_no,
    "z in {0, …, 4}, noise in common": within_values,
}
