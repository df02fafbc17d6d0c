r"""
Where features lie
==================

A kernel maps samples into a space H. Their features :math:`\phi(x)` fill only a small part of it: a
curve for numbers, a surface for points of the plane, however many dimensions H has. Fitted
functions may be any elements of H,

.. math:: f(x) = \langle f, \phi(x) \rangle

and most of them are not the feature of any sample.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, XOR, Monomials, Polynomial, preimage

BLUE, RED = "#4477aa", "#cc6677"
rng = np.random.default_rng(0)

# %%
# The line becomes a parabola
# ---------------------------
# The map :math:`\phi(x) = (x, x^2)` takes numbers to a parabola in the plane. No threshold
# separates the numbers between -1 and 1.2 from the others, but a line in the plane does.

x = np.sort(rng.uniform(-2.2, 2.2, 40))
inside = (x > -1) & (x < 1.2)
k = Monomials(2)
machine = SVC(C=1e4, kernel=k).fit(x[:, None], inside)
w, b = machine.rkhs_function_.weights(), machine.intercept_[0]

t = np.linspace(-2.3, 2.3, 200)
fig, ax = plt.subplots(figsize=(5.6, 5.0), layout="constrained")
ax.plot(*k.features(k.prepare(t)).T, color="0.6", label=r"$\phi(x) = (x, x^2)$")
ax.plot(t, -(b + w[0] * t) / w[1], color="black", label=r"$\langle w, \phi \rangle + b = 0$")
for which, mark, hue in ((inside, "o", BLUE), (~inside, "s", RED)):
    phi = k.features(k.prepare(x[which]))
    ax.vlines(phi[:, 0], -0.6, phi[:, 1], color=hue, linewidth=0.5, alpha=0.5)
    ax.plot(phi[:, 0], np.full(len(phi), -0.6), mark, color=hue, markersize=5)
    ax.plot(*phi.T, mark, color=hue, markersize=5)
ax.axhline(-0.6, color="0.6", linewidth=0.8)
ax.set(xlabel="$x$", ylabel="$x^2$", xlim=(-2.4, 2.4), ylim=(-0.8, 5.2))
ax.legend(frameon=False, loc="upper center")
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Functions that are not features
# -------------------------------
# The features :math:`(x_1, x_2, x_1 x_2)` of points in the plane form a saddle in R³. The function
# f with weights (1, 1, -1) is an element of the space, but not on the saddle: no point z has
# :math:`\phi(z) = f`. The best that can be done is a pre-image, a point whose feature is closest;
# here there are two of them, and one is found.

k = XOR()
f = 2 * k.at([1.0, 0.0]) + 2 * k.at([0.0, 1.0]) - k.at([1.0, 1.0])
found = preimage(f)
print(f"f has weights {f.weights()} and the pre-image {found.x.round(3)},", end=" ")
print(f"whose feature is at the distance {np.sqrt(found.distance):.3f}")

u, v = np.meshgrid(np.linspace(-1.4, 1.4, 33), np.linspace(-1.4, 1.4, 33))
fig, ax = plt.subplots(figsize=(6.0, 5.4), subplot_kw={"projection": "3d"})
ax.plot_surface(u, v, u * v, cmap="coolwarm", alpha=0.6, linewidth=0)
for z, side in (([1.0, 0.0], "right"), ([0.0, 1.0], "left")):
    closest = k.features(k.prepare([z]))[0]
    ax.plot(*np.stack([f.weights(), closest]).T, color="black", zorder=9)
    ax.plot(*closest, "o", color="white", markeredgecolor="black", zorder=9)
    ax.text(*closest + [0, 0, 0.15], rf"$\phi({z[0]:.0f}, {z[1]:.0f})$", ha=side, zorder=9)
ax.plot(*f.weights(), "o", color="black", zorder=9)
ax.text(*f.weights() + [0.1, 0.0, -0.2], "$f$", zorder=9)
ax.set(xlabel="$x_1$", ylabel="$x_2$", zlabel="$x_1 x_2$", aspect="equal")
ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1], zticks=[-2, -1, 0, 1, 2])
ax.view_init(elev=12, azim=-35)
fig.subplots_adjust(0, 0, 1, 1)
plt.show()

# %%
# The plane becomes a cone
# ------------------------
# The polynomial kernel :math:`k(x, y) = \langle x, y \rangle^2` has the features :math:`(x_1^2,
# \sqrt2 x_1 x_2, x_2^2)`. They lie on a cone, on which x and -x are the same point. The separating
# plane of an SVM cuts the cone in an ellipse; the boundary in input space is also one.

X = rng.normal(size=(200, 2))
radius = X[:, 0] ** 2 + 0.5 * X[:, 1] ** 2 + 0.7 * X[:, 0] * X[:, 1]
X, radius = X[np.abs(radius - 1) > 0.2], radius[np.abs(radius - 1) > 0.2]
k = Polynomial(2, offset=0.0)
machine = SVC(C=1e4, kernel=k).fit(X, radius < 1)
w, b = machine.rkhs_function_.weights(), machine.intercept_[0]
angle = np.linspace(0, 2 * np.pi, 121)
unit = np.column_stack([np.cos(angle), np.sin(angle)])
reach = np.sqrt(-b / (k.features(k.prepare(unit)) @ w))  # <w, phi(r u)> + b = 0, along u
edge = reach[:, None] * unit

fig = plt.figure(figsize=(9.6, 4.8))
flat = fig.add_axes((0.07, 0.12, 0.38, 0.78))
space = fig.add_axes((0.48, 0.0, 0.48, 0.92), projection="3d")
r = np.linspace(0, 2, 21)[:, None, None] * unit
cone = k.features(k.prepare(r.reshape(-1, 2))).reshape(*r.shape[:2], 3)
space.plot_surface(*np.moveaxis(cone, -1, 0), color="0.7", alpha=0.3, linewidth=0)
phi = k.features(k.prepare(X))
shown = np.linalg.norm(X, axis=1) < 2
for which, mark, hue in ((radius < 1, "o", BLUE), (radius > 1, "s", RED)):
    flat.plot(*X[which & shown].T, mark, color=hue, markersize=4)
    space.plot(*phi[which & shown].T, mark, color=hue, markersize=3)
flat.plot(*edge.T, color="black")
cut = k.features(k.prepare(edge)).T
space.plot(*cut, color="black", linewidth=2, zorder=9)
space.plot_trisurf(*cut[:, ::2], color="black", alpha=0.15)
flat.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", title="samples")
space.set(xlabel="$x_1^2$", zlabel="$x_2^2$")
space.set_ylabel(r"$\sqrt{2}\, x_1 x_2$", labelpad=9)
space.set_title("features, and where a plane cuts the cone", y=0.98)
space.set(xticks=[0, 2, 4], yticks=[-2, 0, 2], zticks=[0, 2, 4])
space.set(xlim=(0, 4), ylim=(-2.9, 2.9), zlim=(0, 4))
space.set_box_aspect((4, 5.8, 4), zoom=0.9)
space.view_init(elev=20, azim=-40)
plt.show()
