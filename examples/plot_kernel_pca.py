r"""
Principal components as functions
=================================

Principal component analysis looks for directions in which data vary most. In the feature space of a
kernel, directions are functions v in H_k of norm one, and the coordinate of a point x along one of
them is v(x), up to a constant:

.. math:: \langle \phi(x) - \mu, v \rangle = v(x) - \langle \mu, v \rangle
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelPCA, Linear

BLUE, RED, GREY = "#4477aa", "#ee6677", "0.6"

# %%
# A subspace, and distances from it
# ---------------------------------
# With the linear kernel this is PCA: the subspace is a line, and every point is projected onto it.
# With a Gaussian kernel, the subspace lies in the space of functions. The points of the plane whose
# features are nearest to the projections, their pre-images, gather along a curve.

rng = np.random.default_rng(0)
angle = rng.uniform(0, 1.5 * np.pi, 120)
arc = 2 * np.column_stack([np.cos(angle), np.sin(angle)]) + 0.22 * rng.normal(size=(120, 2))
models = {
    "linear kernel, one component": KernelPCA(1, kernel=Linear()),
    "Gaussian kernel, four components": KernelPCA(4, kernel=Gaussian(1.5)),
}
fig, panels = plt.subplots(1, 2, figsize=(8.4, 4.2), layout="constrained", sharey=True)
for ax, (title, model) in zip(panels, models.items(), strict=True):
    foot = model.fit(arc).denoise(arc, lengthen=False)
    ax.plot(*np.stack([arc, foot]).transpose(2, 0, 1), color=GREY, linewidth=0.8, zorder=1)
    ax.scatter(*arc.T, s=14, color=BLUE, label="data", zorder=2)
    ax.scatter(*foot.T, s=14, color=RED, label="pre-image of the projection", zorder=3)
    ax.set(title=title, xlabel="$x_1$", aspect="equal")
panels[0].set_ylabel("$x_2$")
handles, labels = ax.get_legend_handles_labels()
fig.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# The components of three clusters
# --------------------------------
# The first two functions tell the clusters apart. Each of the next six divides one cluster in two:
# two functions for every cluster, in perpendicular directions. Lines are contours.

centres = np.array([[-0.6, -0.35], [0.0, 0.6], [0.6, -0.35]])
X = np.concatenate([c + 0.12 * rng.normal(size=(40, 2)) for c in centres])
model = KernelPCA(8, kernel=Gaussian(0.25)).fit(X)
t = np.linspace(-1.15, 1.15, 120)
grid = np.stack([u.ravel() for u in np.meshgrid(t, t)], axis=1)
values = model.transform(grid)
fig, panels = plt.subplots(2, 4, figsize=(9.6, 5.1), layout="constrained", sharex=True, sharey=True)
for j, ax in enumerate(panels.flat):
    v, size = values[:, j].reshape(120, 120), np.abs(values[:, j]).max()
    ax.contourf(t, t, v, levels=np.linspace(-size, size, 18), cmap="RdBu_r", alpha=0.8)
    ax.contour(t, t, v, levels=np.linspace(-size, size, 18), colors="0.3", linewidths=0.4)
    ax.scatter(*X.T, s=5, color="black")
    share = model.explained_variance_ratio_[j]
    ax.set(title=f"component {j + 1}: {share:.0%}", aspect="equal", xticks=[-1, 0, 1])
plt.show()

# %%
# On the line
# -----------
# For a normal sample the components are close to the eigenfunctions of the kernel under the normal
# distribution, products of Hermite polynomials and a bump: each has one zero more than the one
# before. (The mean is subtracted, so the eigenfunction without a zero is not among them.)

x = rng.normal(size=(1500, 1))
model = KernelPCA(4, kernel=Gaussian(1.0), random_state=0).fit(x)
line = np.linspace(-3.5, 3.5, 300)[:, None]
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for j, v in enumerate(model.transform(line).T):
    ax.plot(line, v, label=f"component {j + 1}, variance {model.explained_variance_[j]:.3f}")
ax.plot(x[:200], np.full(200, -0.95), "|", color=GREY)
ax.axhline(0, color=GREY, linewidth=0.8)
ax.set(xlabel="$x$", ylabel=r"$\langle \phi(x) - \mu, v_j \rangle$")
ax.legend(frameon=False, fontsize="small", ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.22))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
