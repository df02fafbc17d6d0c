"""
Clusters and regions of high density
====================================

Three ways to find groups without labels: by means in feature space, by a cut of the similarity
graph, and by the density of the samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVDD, Gaussian, KernelDensity, KernelKMeans, SpectralClustering

X, _ = make_moons(240, noise=0.06, random_state=0)

# %%
# Two ways to cut
# ---------------
# Kernel k-means looks for means in feature space, and cuts across the moons, because it prefers
# compact clusters. Spectral clustering cuts where few similarities are lost.

means = KernelKMeans(2, kernel=Gaussian(0.5), random_state=0).fit(X)
cut = SpectralClustering(2, kernel=Gaussian(0.1), random_state=0).fit(X)

fig, panels = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained", sharey=True)
for ax, model, title in zip(panels, (means, cut), ("kernel k-means", "spectral"), strict=True):
    ax.scatter(*X.T, c=np.array(["#4477aa", "#cc6677"])[model.labels_], s=14)
    ax.set(title=title, aspect="equal", xticks=[], yticks=[])

# %%
# Where 90 % of the samples are
# -----------------------------
# A level set of the estimated density contains a given share of the data. Support vector data
# description looks for the smallest ball in feature space that leaves at most a tenth outside.

density = KernelDensity(Gaussian(0.15), mass=0.9).fit(X)
ball = SVDD(Gaussian(0.3), nu=0.1).fit(X)
grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 90), np.linspace(-1.1, 1.6, 60)), axis=-1)
places = grid.reshape(-1, 2)

fig, panels = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained", sharey=True)
for ax, model, title in zip(panels, (density, ball), ("density", "smallest ball"), strict=True):
    inside = model.predict(places).reshape(grid.shape[:2])
    ax.contourf(grid[..., 0], grid[..., 1], inside, levels=[0, 1], colors=["#66ccee55"])
    ax.contour(grid[..., 0], grid[..., 1], inside, levels=[0], colors="#4477aa")
    outside = model.predict(X) < 0
    ax.plot(*X[~outside].T, ".", color="0.3", ms=4)
    ax.plot(*X[outside].T, "x", color="#cc6677")
    ax.set(title=f"{title}: {outside.mean():.0%} outside", aspect="equal", xticks=[], yticks=[])
plt.show()
