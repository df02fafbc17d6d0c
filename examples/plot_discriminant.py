r"""
Functions that tell classes apart
=================================

Kernel PCA finds functions that vary most, whatever the labels. Fisher's discriminant finds those
that vary most *between* classes, relative to how they vary within them:

.. math:: \max_{f \in H_k} \frac{\sum_c n_c (m_c(f) - m(f))^2}
          {\sum_i (f(x_i) - m_{c(i)}(f))^2 + \alpha \|f\|^2}

:class:`mercer.KernelFisherDiscriminant` has one function fewer than there are classes.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelFisherDiscriminant, KernelPCA

rng = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 100)
angle = rng.uniform(0, 2 * np.pi, 300)
radius = np.array([0.4, 1.3, 2.2])[y] + 0.2 * rng.normal(size=300)
X = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
train, new = np.arange(300) % 2 == 0, np.arange(300) % 2 == 1
HUES = np.array(["#cc6677", "#4477aa", "#228833"])

fisher = KernelFisherDiscriminant(kernel=Gaussian(1.0), alpha=0.1).fit(X[train], y[train])
components = KernelPCA(2, kernel=Gaussian(1.0)).fit(X[train])

# %%
# In feature space
# ----------------
# Filled points are training samples, crosses are new ones. The components spread each ring out; the
# discriminant functions keep each ring together, new samples included, and apart from the others.


def draw(ax, Z, title):
    """Training samples and new ones, in two coordinates."""
    ax.scatter(*Z[train].T, c=HUES[y[train]], s=14)
    ax.scatter(*Z[new].T, c=HUES[y[new]], s=18, marker="x", linewidths=0.9)
    ax.set_title(title, fontsize="medium")
    ax.set(xticks=[], yticks=[])


fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.5), layout="constrained")
draw(panels[0], X, "three rings")
draw(panels[1], components.transform(X), "kernel PCA")
score = fisher.score(X[new], y[new])
draw(panels[2], fisher.transform(X), f"Fisher's discriminant, {score:.0%} of new ones right")
panels[2].plot(*fisher.means_.T, "k+", markersize=14)
plt.show()

# %%
# In the plane
# ------------
# The same functions as elements of the space, with their contour lines. The first separates the
# outer ring from the inner one, the second the middle one from both.

side = np.linspace(-3, 3, 121)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = fisher.transform(grid).reshape(121, 121, 2)
fig, panels = plt.subplots(1, 2, figsize=(8, 3.9), sharey=True, layout="constrained")
for j, ax in enumerate(panels):
    top = np.abs(values[..., j]).max()
    levels = np.linspace(-top, top, 15)
    ax.contourf(side, side, values[..., j], levels, cmap="RdBu_r", alpha=0.7)
    ax.scatter(*X[train].T, c=HUES[y[train]], s=8)
    ax.set_title(f"function {j + 1}, ratio {fisher.ratios_[j]:.1f}", fontsize="medium")
    ax.set_aspect("equal")
plt.show()
