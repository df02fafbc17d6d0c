r"""
XOR in feature space
====================

No line separates the four corners of the XOR pattern. In the features

.. math:: \phi(x) = (x_1,\, x_2,\, x_1 x_2)

a plane does, because the third coordinate alone has the right sign. A linear method in feature
space never needs to see phi: the kernel k(x, y) = <phi(x), phi(y)> is enough.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import XOR, KernelRidge, Linear

rng = np.random.default_rng(1)
corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]) * 2.0
X = np.repeat(corners, 40, axis=0) + rng.normal(0, 0.55, (160, 2))
y = np.repeat([1.0, 1.0, -1.0, -1.0], 40)

# %%
# The same points, before and after phi
# -------------------------------------

k = XOR()
phi = k.features(k.prepare(X))
fig = plt.figure(figsize=(9.6, 4.4))
flat = fig.add_axes((0.08, 0.13, 0.36, 0.78))
space = fig.add_axes((0.49, 0.02, 0.49, 0.9), projection="3d")
for sign, mark, hue in ((1, "o", "#4477aa"), (-1, "x", "#cc6677")):
    flat.plot(*X[y == sign].T, mark, color=hue, markersize=5, linestyle="none")
    space.plot(*phi[y == sign].T, mark, color=hue, markersize=4, linestyle="none")
flat.set(xlabel="$x_1$", ylabel="$x_2$", title="input space", aspect="equal")
flat.spines[["top", "right"]].set_visible(False)
a, b = np.meshgrid([-4, 4], [-4, 4])
space.plot_surface(a, b, np.zeros_like(a, dtype=float), color="0.5", alpha=0.25)
space.set(xlabel="$x_1$", ylabel="$x_2$", title="feature space, with a separating plane")
space.set_zlabel("$x_1 x_2$")
space.set(xticks=[-4, 0, 4], yticks=[-4, 0, 4], zticks=[-10, -5, 0, 5])
space.view_init(elev=12, azim=-62)
space.set_box_aspect((1, 1, 0.9), zoom=0.95)
plt.show()

# %%
# Regression on the labels
# ------------------------
# Least squares on the labels +1 and -1 finds that plane; the sign of the function is a classifier.
# No linear function in input space can do this.

for kernel in (Linear(), XOR()):
    model = KernelRidge(alpha=1.0, kernel=kernel).fit(X, y)
    right = np.mean(np.sign(model.predict(X)) == y)
    weights = model.rkhs_function_.weights().round(2)
    print(f"{kernel!r:9} {right:4.0%} right, weights of the features {weights}")

# %%
# In input space, the plane becomes the pair of axes, or a hyperbola if the data are not quite
# symmetric.

t = np.linspace(-4, 4, 200)
grid = np.stack([u.ravel() for u in np.meshgrid(t, t)], axis=1)
values = model.predict(grid).reshape(200, 200)
fig, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
ax.contourf(t, t, values, levels=[-np.inf, 0, np.inf], colors=["#cc6677", "#4477aa"], alpha=0.15)
ax.contour(t, t, values, levels=[-1, 0, 1], colors="0.3", linestyles=["--", "-", "--"])
for sign, mark, hue in ((1, "o", "#4477aa"), (-1, "x", "#cc6677")):
    ax.plot(*X[y == sign].T, mark, color=hue, markersize=5, linestyle="none")
ax.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", xlim=(-4, 4), ylim=(-4, 4))
plt.show()
