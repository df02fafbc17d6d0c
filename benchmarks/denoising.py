"""Denoising of USPS digits by kernel PCA: ``python benchmarks/denoising.py [--quick] [--draw]``.

Training: 300 digits of each class. Every method chooses its settings by the mean squared error on
500 noisy training digits that are not among them; the table is for the test digits, which nothing
is chosen on, except for linear PCA, which gets its best number of components there. Pixels are in
[-1, 1]. Noise: Gaussian of standard deviation 1/2, or a fifth of the pixels black or white.
``--draw`` draws the first test digit of each class, before and after, in place of the table.

The digits are read from the folder named by the environment variable MERCER_DATA, or else from
shared/data beside this checkout.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
if __name__ == "__main__":
    sys.path[0] = str(ROOT)  # so that ``benchmarks`` is a package, whatever the folder of the call

from benchmarks.svm_data import folder  # noqa: E402

PICTURE = ROOT / "docs" / "_static" / "usps.png"
Denoiser = Callable[[np.ndarray], np.ndarray]
Noise = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def gaussian(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return X + 0.5 * rng.normal(size=X.shape)


def salt_and_pepper(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    hit, white = rng.uniform(size=X.shape) < 0.2, rng.uniform(size=X.shape) < 0.5
    return np.where(hit, np.where(white, 1.0, -1.0), X)


NOISES: dict[str, Noise] = {"Gaussian noise": gaussian, "salt and pepper": salt_and_pepper}


@dataclass(frozen=True, eq=False)
class Digits:
    """Clean digits to learn from, to choose settings with, and to test on."""

    train: np.ndarray
    choose: np.ndarray
    test: np.ndarray
    labels: np.ndarray  # of those to test on

    @classmethod
    def load(cls, per_class: int, choose: int, test: int) -> Digits:
        with np.load(folder() / "vectors" / "usps.npz") as file:
            X, y, end = file["X"].astype(np.float64), file["y"], int(file["n_train"])
        rng = np.random.default_rng(0)
        order = rng.permutation(end)
        train = np.concatenate([order[y[order] == c][:per_class] for c in range(10)])
        rest = np.setdiff1d(order, train, assume_unique=True)
        return cls(X[train], X[rng.permutation(rest)[:choose]], X[end:][:test], y[end:][:test])


# ---- methods: settings, and what each makes of the training digits -----------------------------
Settings = Iterator[tuple[str, Callable[[], Denoiser]]]


def linear(digits: Digits, noise: Noise) -> Settings:
    mean = digits.train.mean(axis=0)
    axes = np.linalg.svd(digits.train - mean, full_matrices=False)[2]
    for q in range(4, 200, 4):
        P = axes[:q].T @ axes[:q]
        yield f"{q} components", lambda P=P: lambda X: mean + (X - mean) @ P


@cache
def peer(digits: Digits, q: int, gamma: float | None, alpha: float) -> Any:
    from sklearn.decomposition import KernelPCA

    return KernelPCA(
        q,
        kernel="rbf",
        gamma=gamma,
        alpha=alpha,
        fit_inverse_transform=True,
        eigen_solver="randomized",
        random_state=0,
    ).fit(digits.train)


def there_and_back(model: Any) -> Denoiser:
    return lambda X: model.inverse_transform(model.transform(X))


def scikit_learn_defaults(digits: Digits, noise: Noise) -> Settings:
    yield "gamma 1/256, alpha 1", lambda: there_and_back(peer(digits, 256, None, 1.0))


def scikit_learn(digits: Digits, noise: Noise) -> Settings:
    for width, q, alpha in product((14, 20, 28, 40), (64, 128, 256), (1e-2, 1e-3, 1e-4)):
        how = digits, q, 1 / (2 * width**2), alpha
        setting = f"lengthscale {width}, {q} components, alpha {alpha:g}"
        yield setting, lambda how=how: there_and_back(peer(*how))


@cache
def components(digits: Digits, q: int, width: float) -> Any:
    from mercer import Gaussian, KernelPCA

    return KernelPCA(q, kernel=Gaussian(width), random_state=0).fit(digits.train)


def mercer_denoise(digits: Digits, noise: Noise) -> Settings:
    for width, q in product((7, 8, 9, 10, 12), (300, 600, 1200)):
        setting = f"lengthscale {width}, {q} components"
        yield setting, lambda how=(digits, q, width): components(*how).denoise


def mercer_learned(digits: Digits, noise: Noise) -> Settings:
    from mercer import LearnedPreImage

    noisy = noise(digits.train, np.random.default_rng(1))

    def build(q: int, width: float) -> Denoiser:
        model = components(digits, q, width)
        back = LearnedPreImage().fit(model.transform(noisy), digits.train)
        return lambda X: back.predict(model.transform(X))

    for width, q in product((8, 10, 12), (300, 600)):
        yield f"lengthscale {width}, {q} components", lambda how=(q, width): build(*how)


METHODS: dict[str, Any] = {
    "linear PCA, best on test": linear,
    "scikit-learn, defaults": scikit_learn_defaults,
    "scikit-learn, tuned": scikit_learn,
    "mercer, denoise": mercer_denoise,
    "mercer, learned on noisy copies": mercer_learned,
}


def error(found: np.ndarray, clean: np.ndarray) -> float:
    return float(np.mean((found - clean) ** 2))


def chosen(method: Any, digits: Digits, noise: Noise, quick: bool) -> tuple[str, Denoiser]:
    """The setting with the smallest error on the digits for choosing (or on those for testing)."""
    clean = digits.test if method is linear else digits.choose
    noisy = noise(clean, np.random.default_rng(3 if method is linear else 2))
    best: tuple[float, str, Denoiser] | None = None
    for setting, build in islice(method(digits, noise), 0, None, 4 if quick else 1):
        denoise = build()
        score = error(denoise(noisy), clean)
        if best is None or score < best[0]:
            best = score, setting, denoise
    assert best is not None
    return best[1:]


# ---- the picture ---------------------------------------------------------------------------------
def draw(digits: Digits, quick: bool, path: Path) -> None:
    """Noisy digits and what each method makes of them, for both kinds of noise."""
    import matplotlib.pyplot as plt

    some = [int(np.flatnonzero(digits.labels == c)[0]) for c in range(10)]
    names = {linear: "linear PCA", mercer_denoise: "denoise", mercer_learned: "LearnedPreImage"}
    rows = [("clean", digits.test)]
    for title, noise in NOISES.items():
        noisy = noise(digits.test, np.random.default_rng(3))
        rows.append((title, noisy))
        for method, name in names.items():
            rows.append((name, chosen(method, digits, noise, quick)[1](noisy)))
    figure, lines = plt.subplots(len(rows), 10, figsize=(6.0, 0.51 * len(rows)))
    for line, (name, images) in zip(lines, rows, strict=True):
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize="small")
        for ax, image in zip(line, images[some], strict=True):
            ax.imshow(image.reshape(16, 16), cmap="gray_r", vmin=-1, vmax=1)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("0.8")
    figure.subplots_adjust(0.2, 0.01, 0.995, 0.99, 0.05, 0.05)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Denoise USPS digits, beside scikit-learn.")
    parser.add_argument("--quick", action="store_true", help="few digits and settings")
    parser.add_argument("--draw", action="store_true", help="the picture of the guide, no table")
    options = parser.parse_args(argv)
    digits = Digits.load(*((60, 100, 300) if options.quick else (300, 500, 2007)))
    if options.draw:
        draw(digits, options.quick, PICTURE)
        return 0
    print(
        f"{len(digits.train)} training digits, {len(digits.test)} test digits, mean squared error"
    )
    for name, noise in NOISES.items():
        noisy = noise(digits.test, np.random.default_rng(3))
        print(f"\n{name}\n  {'noisy digits':34}{error(noisy, digits.test):.4f}")
        for title, method in METHODS.items():
            began = time.process_time()
            setting, denoise = chosen(method, digits, noise, options.quick)
            score, cpu = error(denoise(noisy), digits.test), time.process_time() - began
            print(f"  {title:34}{score:.4f}   {setting} ({cpu:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
