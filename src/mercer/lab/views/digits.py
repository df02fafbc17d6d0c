"""Digits without their noise: projections onto the components of kernel PCA, as images again."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.datasets import load_digits

from ...kernels.base import Kernel
from ...kernels.vectors.dot import Linear
from ...models.pca import KernelPCA
from ..kernels import classes, written
from ..picture import Panel, Picture, code, in_words, spectrum
from ..state import Option, State

OPTIONS = (
    Option("noise", "noise", 0.5, 0.0, 1.0),
    Option("components", "components", 60, 1, 150),
)
_TRAIN = 200
_COUNT = 10


def compute(state: State, kernel: Kernel) -> Picture:
    """The picture of denoised digits."""
    train, clean, draws = _digits()
    noise, count = float(f"{state.options['noise']:.3g}"), state.options["components"]
    noisy = clean + noise * draws
    model = KernelPCA(count, kernel=kernel).fit(train)
    found = np.asarray(model.denoise(noisy))
    straight = np.asarray(KernelPCA(min(count, 60), kernel=Linear()).fit(train).denoise(noisy))
    rows = {"clean": clean, "noisy": noisy, "linear PCA": straight, "kernel PCA": found}
    images = Panel("digits", axes=False, wide=True)
    images.add(
        "images",
        names=list(rows),
        rows=[np.round(np.clip(v, -1, 1), 3).tolist() for v in rows.values()],
        side=8,
    )
    errors = {name: in_words(float(np.mean((v - clean) ** 2))) for name, v in rows.items()}
    facts = [(name, errors[name], "mean squared error") for name in list(rows)[1:]]
    python = code(
        ["KernelPCA", *classes(kernel)],
        [
            f"X = load_digits().data[:{_TRAIN + _COUNT}] / 8 - 1",
            f"noisy = X[-{_COUNT}:] + {noise} * np.random.default_rng(0)"
            f".normal(size=({_COUNT}, 64))",
            f"found = KernelPCA({count}, kernel={written(kernel)}).fit(X[:{_TRAIN}])"
            ".denoise(noisy)",
            "plt.imshow(found.reshape(-1, 8), cmap='gray_r')",
        ],
        module="import matplotlib.pyplot as plt\nfrom sklearn.datasets import load_digits",
    )
    variances = np.asarray(model.eigenvalues_) / len(train)
    return Picture([images, spectrum(variances, "variances λⱼ / n", 150)], facts, python)


@cache
def _digits() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Digits to learn from, ten others, and noise for these."""
    X = load_digits().data[: _TRAIN + _COUNT] / 8 - 1
    return X[:_TRAIN], X[_TRAIN:], np.random.default_rng(0).normal(size=(_COUNT, 64))
