r"""
Smoothing splines
=================

A smoothing spline minimises

.. math:: \sum_i (y_i - f(x_i))^2 + \alpha \int f''(x)^2 \, dx

over all functions with a second derivative. Straight lines have no curvature, and no penalty. The
solution is a natural cubic spline: a piecewise cubic polynomial with knots at the data, and linear
beyond them. It is kernel ridge regression with a conditionally positive definite kernel and an
unpenalised linear part.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SmoothingSpline, ThinPlateSpline
from mercer.plots.regression import plot_fit

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 10, 60))
y = np.exp(-((x - 4) ** 2)) * 3 + 0.3 * x + rng.normal(0, 0.3, 60)

# %%
# From interpolation to a line
# ----------------------------
# With a small penalty the spline follows every sample; with a large one it is the least-squares
# line. By default, the penalty is chosen by generalised cross-validation, with one
# eigendecomposition for all penalties.

fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True, layout="constrained")
for ax, alpha in zip(panels, (1e-6, "gcv", 1e5), strict=True):
    spline = SmoothingSpline(alpha=alpha).fit(x, y)
    plot_fit(spline, x, y, ax, where=(-2, 12))
    words = f"alpha = {spline.alpha_:.2g}\n{spline.degrees_of_freedom_:.1f} degrees of freedom"
    ax.set_title(words, fontsize="medium")
    ax.set_ylim(-2, 5.5)
    ax.get_legend().remove()
    ax.label_outer()
plt.show()

# %%
# Its error, and its slope
# ------------------------
# Both criteria have their minimum at about the same penalty. A spline has exact derivatives: on the
# right, the chosen spline and its slope, which is constant beyond the data.

spline = SmoothingSpline().fit(x, y)
fig, panels = plt.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained")
panels[0].loglog(spline.alphas_, spline.gcv_, color="#4477aa", linewidth=2, label="generalised")
panels[0].loglog(
    spline.alphas_, spline.loo_, color="#cc6677", linestyle="--", label="leave-one-out"
)
panels[0].axvline(spline.alpha_, color="0.4", linewidth=1, linestyle=":")
panels[0].set(xlabel="penalty alpha", ylabel="cross-validation error")
panels[0].legend(frameon=False)
t = np.linspace(-2, 12, 500)
panels[1].plot(t, spline.predict(t), color="#4477aa", linewidth=2, label="$f$")
panels[1].plot(t, spline.predict(t, derivative=1), "--", color="#4477aa", label="$f'$")
panels[1].set(xlabel="$x$")
panels[1].legend(frameon=False)
for ax in panels:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A bent plate
# ------------
# In two variables the penalty is the energy of a thin plate, the integral of f_xx² + 2 f_xy² +
# f_yy², and planes are not penalised. The figure shows 150 noisy heights of a landscape, the fitted
# surface, and the truth.


def height(X):
    """Two hills on a slope."""
    u, v = X.T
    return np.exp(-((u - 1) ** 2) - v**2) + 0.7 * np.exp(-((u + 1) ** 2) - (v - 1) ** 2) + 0.15 * u


X = rng.uniform(-2.5, 2.5, (150, 2))
z = height(X) + rng.normal(0, 0.1, 150)
plate = ThinPlateSpline().fit(X, z)
a = np.linspace(-2.5, 2.5, 60)
grid = np.stack([u.ravel() for u in np.meshgrid(a, a)], axis=1)
fitted, truth = (f(grid).reshape(60, 60) for f in (plate.predict, height))
print(f"{plate.degrees_of_freedom_:.1f} degrees of freedom, ", end="")
print(f"root mean squared error {np.sqrt(np.mean((fitted - truth) ** 2)):.3f} with noise 0.1")

fig = plt.figure(figsize=(9.6, 4.2), layout="constrained")
A, B = np.meshgrid(a, a)
for place, (name, surface) in enumerate({"spline": fitted, "truth": truth}.items()):
    ax = fig.add_subplot(1, 2, place + 1, projection="3d")
    ax.plot_surface(A, B, surface, cmap="viridis", alpha=0.85, linewidth=0, vmin=-0.5, vmax=1.1)
    if name == "spline":
        ax.scatter(*X.T, z, color="0.2", s=6)
    ax.set(title=name, xlabel="$x_1$", ylabel="$x_2$", zlim=(-0.6, 1.3))
    ax.view_init(35, -60)
plt.show()
