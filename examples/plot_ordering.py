"""
Learning to rank: judges with different scales
==============================================

Forty judges taste six dishes each, and give stars. Some are generous and some are strict, so the
stars of different judges cannot be compared, but the order of each judge's dishes can be used.
:class:`mercer.KernelRanker` only learns from comparisons within a judge; regression on the stars
mistakes strict judges for bad dishes.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelRanker, KernelRidge

rng = np.random.default_rng(3)
judges = np.repeat(np.arange(40), 6)
X = rng.uniform(-2, 2, (240, 2))  # how sweet, how salty


def quality(X):
    return np.exp(-np.sum((X - [0.7, -0.5]) ** 2, axis=1)) - 0.4 * np.exp(
        -np.sum((X + 1) ** 2, axis=1)
    )


strict = rng.normal(0, 2, 40)[judges]
stars = 4 * quality(X) + strict + 0.3 * rng.normal(size=240)

# %%
# The two models and the true preference, as functions of sweetness and saltiness.

ranker = KernelRanker(1.0, kernel=Gaussian(0.8)).fit(X, stars, judges)
ridge = KernelRidge(1.0, kernel=Gaussian(0.8)).fit(X, stars - stars.mean())

side = np.linspace(-2, 2, 70)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
truth = quality(grid)
fig, panels = plt.subplots(1, 3, figsize=(11, 3.6), sharex=True, sharey=True, layout="constrained")
pictures = {
    "how good dishes are": truth,
    "learned from orders": ranker.predict(grid),
    "learned from stars": ridge.predict(grid),
}
for ax, (title, values) in zip(panels, pictures.items(), strict=True):
    ax.contourf(side, side, values.reshape(70, 70), 14, cmap="viridis")
    rho = np.corrcoef(np.argsort(np.argsort(values)), np.argsort(np.argsort(truth)))[0, 1]
    ax.set(title=f"{title}\nrank correlation with the truth {rho:.2f}", xlabel="sweet")
panels[0].set(ylabel="salty")
panels[0].scatter(*X.T, c="white", s=6, alpha=0.6)
plt.show()
