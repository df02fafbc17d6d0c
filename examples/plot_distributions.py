"""
Distributions as data
=====================

Each sample is a bag of points, drawn from a distribution of its own. A kernel between the mean
embeddings of bags turns regression on distributions into ridge regression.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import EmbeddingGaussian, Gaussian, KernelPCA, KernelRidge

rng = np.random.default_rng(0)

# %%
# The angle of a cloud
# --------------------
# Clouds of sixty points, each with an angle, a length and a position. The angle is to be learned
# from the points alone; their mean and number carry no information about it.

angles = rng.uniform(-np.pi / 2, np.pi / 2, 240)


def cloud(angle):
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    points = rng.normal(size=(60, 2)) * [1.0, rng.uniform(0.2, 0.4)]
    return points @ turn.T


clouds = [cloud(angle) for angle in angles]
target = np.column_stack([np.cos(2 * angles), np.sin(2 * angles)])  # angles are a circle
kernel = EmbeddingGaussian(Gaussian(1.0), lengthscale=0.3)
model = KernelRidge(1e-3, kernel=kernel).fit(clouds[:160], target[:160])
found = np.arctan2(*model.predict(clouds[160:]).T[::-1]) / 2

fig, panels = plt.subplots(
    1, 4, figsize=(10, 2.8), layout="constrained", width_ratios=[1, 1, 1, 1.3]
)
for ax, i in zip(panels, (161, 165, 170), strict=False):
    ax.plot(*clouds[i].T, ".", color="#4477aa", ms=4)
    ax.axline((0, 0), slope=np.tan(found[i - 160]), color="#cc6677")
    ax.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xticks=[], yticks=[])
panels[3].plot(np.degrees(angles[160:]), np.degrees(found), ".", color="#4477aa")
panels[3].plot([-90, 90], [-90, 90], color="0.7", zorder=0)
panels[3].set(xlabel="true angle", ylabel="learned", xticks=[-90, 0, 90], yticks=[-90, 0, 90])

# %%
# A map of distributions
# ----------------------
# Two components of kernel PCA: similar distributions lie side by side, and their angles, shown as
# colours, go round once.

map_ = KernelPCA(2, kernel=kernel).fit_transform(clouds)
fig, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
dots = ax.scatter(*map_.T, c=np.degrees(angles), cmap="twilight", s=22)
fig.colorbar(dots, ax=ax, label="angle")
ax.set(xlabel="first component", ylabel="second component")
plt.show()
