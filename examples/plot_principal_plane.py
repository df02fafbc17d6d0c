r"""
The principal subspace: a plane, and more
=========================================

Principal component analysis of data in R³ finds the plane through their mean that is closest to
them, spanned by the two directions in which they vary most. :class:`mercer.KernelPCA` with a linear
kernel finds it in the space of linear functions: a component is a function
:math:`v_j(x) = \langle w_j, x \rangle`, and the vector w_j is the principal direction.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelPCA, Linear


def space(ax, limit, elev, azim):
    """Axes that form a cube, with few ticks."""
    ticks = [-limit, 0, limit]
    ax.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_3$", xticks=ticks, yticks=ticks, zticks=ticks)
    ax.set(**dict.fromkeys(("xlim", "ylim", "zlim"), (-1.2 * limit, 1.2 * limit)))
    ax.set_box_aspect((1, 1, 1), zoom=0.97)
    ax.view_init(elev=elev, azim=azim)


# %%
# The closest plane
# -----------------
# Arrows are the principal directions, two standard deviations long. Grey lines lead to the
# projections; the sum of their squared lengths is the variation along the third component.

rng = np.random.default_rng(3)
axes = np.linalg.qr([[1.0, 0.3, 0.5], [0.4, 1.0, -0.6], [0.9, -0.6, 1.0]])[0]
X = rng.normal(size=(100, 3)) * [1.4, 0.9, 0.3] @ axes.T

model = KernelPCA(2, kernel=Linear()).fit(X)
w, mean = model.components_.weights().T, X.mean(axis=0)
foot = mean + model.transform(X) @ w

fig, ax = plt.subplots(figsize=(6.0, 5.4), subplot_kw={"projection": "3d"})
a, b = np.meshgrid([-3.8, 3.8], [-2.2, 2.2])
plane = mean[:, None, None] + a * w[0][:, None, None] + b * w[1][:, None, None]
ax.plot_surface(*plane, color="0.6", alpha=0.25)
for way in np.stack([X, foot], axis=1):
    ax.plot(*way.T, color="0.6", linewidth=0.8)
ax.plot(*X.T, "o", color="#4477aa", markersize=4, label="data")
ax.plot(*foot.T, "o", color="#cc6677", markersize=3, label="projection onto the plane")
for direction, variance in zip(w, model.explained_variance_, strict=True):
    arrow = 2 * np.sqrt(variance) * direction
    ax.quiver(*mean, *arrow, color="black", linewidth=2, arrow_length_ratio=0.12, zorder=9)
space(ax, 3, elev=16, azim=-62)
fig.legend(loc="lower center", ncols=2, frameon=False)
fig.subplots_adjust(0, 0.06, 1, 1)
plt.show()

squares, left = np.sum((X - foot) ** 2), model.reconstruction_error(X).sum()
angle = np.degrees(np.arccos(np.abs(np.cross(*w) @ axes[:, 2])))
print(f"squared distances from the plane {squares:.3f}, according to the model {left:.3f}")
print(f"angle to the plane that the data were made with: {angle:.1f} degrees")

# %%
# A subspace of functions
# -----------------------
# These data lie near a saddle, and no plane is close to all of them. The subspace of a Gaussian
# kernel consists of functions; the points of R³ whose features are closest to the projections,
# their pre-images, lie on a curved sheet. Fewer components lose the shape, more keep the noise.

flat = rng.uniform(-1.4, 1.4, (500, 2))
noisy = np.column_stack([flat, 0.6 * (flat[:, 0] ** 2 - flat[:, 1] ** 2)])
noisy += 0.15 * rng.normal(size=noisy.shape)
model = KernelPCA(8, kernel=Gaussian(1.0)).fit(noisy)
clean = model.denoise(noisy, lengthen=False)

fig, panels = plt.subplots(1, 2, figsize=(9.6, 4.7), subplot_kw={"projection": "3d"})
titles = "data near a saddle", "pre-images of their projections"
for ax, Z, title in zip(panels, (noisy, clean), titles, strict=True):
    ax.scatter(*Z.T, s=8, c=noisy[:, 0], cmap="coolwarm", depthshade=False)
    space(ax, 1.5, elev=14, azim=-50)
    ax.set_title(title, y=0.98)
fig.subplots_adjust(0, 0.03, 0.97, 0.97, 0.02)
plt.show()

for name, Z in {"data": noisy, "pre-images": clean}.items():
    height = 0.6 * (Z[:, 0] ** 2 - Z[:, 1] ** 2)
    print(f"{name:10} off the saddle by {np.sqrt(np.mean((Z[:, 2] - height) ** 2)):.3f}")
