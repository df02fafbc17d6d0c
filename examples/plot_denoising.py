r"""
Denoising digits
================

The components of kernel PCA describe what digits have in common. The projection of a noisy digit
onto them, :math:`P \phi(x)`, is a function in H_k without the noise; the corresponding digit is
its pre-image, the point z that solves

.. math:: \min_z \|\phi(z) - P \phi(x)\|^2

Linear PCA does the same with straight directions only, and has to choose between keeping noise and
losing the digit.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import Gaussian, KernelPCA, Linear, preimage

X, digit = load_digits(return_X_y=True)
X = X / 8 - 1  # pixels in [-1, 1]
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
train, rest = order[:1400], order[1400:]
chosen = np.array([rest[digit[rest] == d][0] for d in range(10)])
clean = X[chosen]

noises = {
    "Gaussian noise": clean + 0.5 * rng.normal(size=clean.shape),
    "Salt and pepper": np.where(
        rng.uniform(size=clean.shape) < 0.2, rng.choice([-1.0, 1.0], clean.shape), clean
    ),
}

# %%
# The number of components of linear PCA is the best for these ten digits. Those of kernel PCA, and
# the width of its kernel, were chosen on other digits.

kernel_pca = KernelPCA(200, kernel=Gaussian(3.0)).fit(X[train])
linear_pcas = [KernelPCA(q, kernel=Linear()).fit(X[train]) for q in range(4, 60, 4)]


def error(found):
    return np.mean((found - clean) ** 2)


def show(rows, title):
    fig, axes = plt.subplots(len(rows), 10, figsize=(7.6, 0.66 * len(rows) + 0.45))
    for line, (name, images) in zip(axes, rows.items(), strict=True):
        for ax, image in zip(line, images, strict=True):
            ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=-1, vmax=1, interpolation="nearest")
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_color("0.8")
        label = name if images is clean else f"{name}\n{error(images):.3f}"
        line[0].set_ylabel(label, rotation=0, ha="right", va="center", fontsize="small")
    fig.suptitle(f"{title}, with mean squared errors", fontsize="medium")
    fig.subplots_adjust(0.17, 0.02, 0.99, 0.88, 0.08, 0.06)
    plt.show()


for title, noisy in noises.items():
    linear = min((pca.denoise(noisy) for pca in linear_pcas), key=error)
    rows = {"clean": clean, "noisy": noisy, "linear PCA": linear}
    rows["kernel PCA"] = kernel_pca.denoise(noisy)
    show(rows, title)

# %%
# How far from the projection?
# ----------------------------
# No image has exactly the feature P phi(x). Each method of :func:`mercer.preimage` finds a
# different one, and the distance in feature space, which is part of the result, says how close it
# is.

psi = kernel_pca.project(noises["Gaussian noise"])
for method in ("fixed_point", "gradient", "distances", "nearest"):
    found = preimage(psi, method)
    print(f"{method:12} ||phi(z) - psi||^2 = {found.distance.mean():.4f}, {found.message}")
