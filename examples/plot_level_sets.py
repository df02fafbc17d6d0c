"""
Nested level sets, and the tree of clusters
===========================================

Where are the peaks of a density, and how deep are the valleys between them? The components of its
level sets form a tree: :class:`mercer.LevelSetTree`. The number of clusters need not be given, and
they may have any shape.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelDensity, LevelSetTree

rng = np.random.default_rng(0)
angle = rng.uniform(0, np.pi, 350)
arc = 2.2 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.18 * rng.normal(size=(350, 2))
ball = [0.0, 0.3] + 0.35 * rng.normal(size=(200, 2))
two = [[3.6, -0.4], [4.9, 0.6]] + 0.32 * rng.normal(size=(125, 2, 2))
X = np.vstack([arc, ball, two.reshape(-1, 2)])

model = LevelSetTree(Gaussian(0.22), min_mass=0.1).fit(X)
density = KernelDensity(Gaussian(0.22)).fit(X)

# %%
# On the left, level sets that contain 20 to 99 % of the data, and the samples coloured by cluster;
# on the right, the tree, in which the width of a branch is the share of the data above the level.

x, y = np.linspace(-3.2, 6.2, 140), np.linspace(-1.8, 3.0, 90)
grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
f = density.score_samples(grid).reshape(90, 140)
levels = [density.level(mass) for mass in (0.99, 0.9, 0.75, 0.5, 0.2)]
fig, (plane, tree) = plt.subplots(
    1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[3, 2]
)
plane.contourf(x, y, f, [*levels, f.max()], cmap="Greys", alpha=0.5)
model.plot(X, ax=plane)
plane.set(title="level sets, and clusters")
model.plot(ax=tree)
tree.set(title="their tree")
plt.show()
