r"""
Underfitting, overfitting, and a good fit
=========================================

Kernel ridge regression minimises

.. math:: \sum_i (y_i - f(x_i))^2 + \alpha \|f\|^2

over the functions f of the space H_k that a kernel spans. Two numbers decide the result: the
penalty alpha and the lengthscale of the kernel. Both trade smoothness for closeness to the data,
and each can be too small or too large.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelRidge, KernelRidgeCV, ridge_path

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-0.45, 1.4, 35))
y = np.sin(5 * x) * np.exp(-0.5 * x) + rng.normal(0, 0.25, x.size)
grid = np.linspace(-0.5, 1.5, 400)


def draw(ax, alpha, width, title):
    """The fit with the kernel exp(-|x - y|^2 / width), and the data."""
    model = KernelRidge(alpha, kernel=Gaussian.from_variance(width)).fit(x[:, None], y)
    ax.plot(x, y, "o", color="0.65", markersize=3.5)
    ax.plot(grid, model.predict(grid[:, None]), color="#4477aa", linewidth=2)
    ax.set_title(f"{title}\nalpha = {alpha:g}, width = {width:g}", fontsize="medium")
    ax.set(xlabel="$x$", ylim=(-1.6, 1.6))
    ax.spines[["top", "right"]].set_visible(False)


# %%
# The penalty
# -----------
# With a large alpha, the norm matters more than the data, and the curve is nearly flat. With a tiny
# one, the curve follows the noise. (The width of the kernel is written as in many lecture notes,
# exp(-\|x - y\|² / width); :meth:`mercer.Gaussian.from_variance` turns it into a lengthscale.)

fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True, layout="constrained")
draw(panels[0], 30, 0.1, "underfitting")
draw(panels[1], 1e-7, 0.1, "overfitting")
draw(panels[2], 0.1, 0.1, "a good fit")
panels[0].set_ylabel("$y$")
plt.show()

# %%
# The width of the kernel
# -----------------------
# Now the penalty stays, and the kernel changes. A wide kernel spans functions that are nearly
# straight over the range of the data; a narrow one spans functions for which a sample has an effect
# only in its immediate neighbourhood.

fig, panels = plt.subplots(1, 3, figsize=(9.6, 3.2), sharey=True, layout="constrained")
draw(panels[0], 0.1, 20, "underfitting")
draw(panels[1], 0.1, 0.001, "overfitting")
draw(panels[2], 0.1, 0.1, "a good fit")
panels[0].set_ylabel("$y$")
plt.show()

# %%
# Choosing both
# -------------
# The error on data that the model has not seen tells the three apart. Leave-one-out errors have a
# closed form, so the whole path of penalties costs one eigendecomposition
# (:func:`mercer.ridge_path`).

path = ridge_path(Gaussian.from_variance(0.1), x[:, None], y, np.logspace(-7, 2, 40))
path.plot()
plt.show()

# %%
# :class:`mercer.KernelRidgeCV` searches alpha and the parameters of the kernel together.

search = KernelRidgeCV(
    alphas=np.logspace(-6, 1, 15),
    kernel=Gaussian(),
    param_grid={"kernel__lengthscale": [0.03, 0.1, 0.2, 0.3, 0.5, 1.0, 3.0]},
).fit(x[:, None], y)
print(search.kernel_)
print(f"alpha = {search.alpha_:.2g}, mean squared error left out: {-search.best_score_:.3f}")
