"""
Semi-supervised learning with few labels
========================================

There are three labels for each of two moons, and 294 unlabelled samples. A support vector machine
only uses the six labelled ones. With :class:`mercer.SemiSupervised`, differences between neighbours
are penalised, and the boundary moves to where there are no data.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, Gaussian, SemiSupervised

rng = np.random.default_rng(2)
angle = rng.uniform(0, np.pi, 300)
truth = np.repeat([0, 1], 150)
X = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 - 2 * truth)[:, None]
X += truth[:, None] * [1.0, 0.5] + 0.08 * rng.normal(size=X.shape)
y = np.full(300, -1)
some = np.concatenate([rng.choice(np.flatnonzero(truth == c), 3, replace=False) for c in (0, 1)])
y[some] = truth[some]

machine = SVC(C=1e6, kernel=Gaussian(0.4))

# %%
# From left to right: the graph has no weight, some weight, and much weight.

side_x, side_y = np.linspace(-1.6, 2.6, 90), np.linspace(-1.1, 1.6, 70)
grid = np.stack(np.meshgrid(side_x, side_y), axis=-1).reshape(-1, 2)
fig, panels = plt.subplots(1, 3, figsize=(11, 3.2), sharex=True, sharey=True, layout="constrained")
for ax, strength in zip(panels, (0.0, 1e4, 1e8), strict=True):
    model = SemiSupervised(machine, strength=strength, neighbors=6).fit(X, y)
    f = model.decision_function(grid).reshape(70, 90)
    levels = np.linspace(-1.5, 1.5, 16)
    ax.contourf(side_x, side_y, f, levels, cmap="RdBu_r", alpha=0.6, extend="both")
    ax.contour(side_x, side_y, f, [0], colors="black")
    ax.scatter(*X.T, c="#555555", s=7, linewidth=0)
    for c, colour in enumerate(("#2166AC", "#B2182B")):
        ax.scatter(*X[y == c].T, c=colour, s=70, edgecolor="white", zorder=3)
    right = model.score(X, truth)
    ax.set(title=f"strength {strength:g}: {right:.0%} right", xticks=[], yticks=[])
plt.show()
