r"""
A tube around the data
======================

Support vector regression looks for a function that stays within epsilon of the targets, and
charges C for every unit by which a target is farther away:

.. math:: \min_{f, b} \tfrac12 \|f\|^2 + C \sum_i \max(0, |y_i - f(x_i) - b| - \epsilon)

Samples inside the tube cost nothing and do not affect the solution. Those on its edge are free
support vectors; those outside are bounded, and pull with the same force however far away they are.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, Gaussian, KernelRidge, NuSVR
from mercer.plots.svm import plot_tube

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0, 6, 90))
X, y = x[:, None], np.sin(x) + 0.3 * x + rng.normal(0, 0.2, 90)


def side_by_side(*models):
    """The tubes of two models, with their legends below."""
    _, panels = plt.subplots(1, 2, figsize=(9.6, 3.9), sharey=True, layout="constrained")
    for ax, model in zip(panels, models, strict=True):
        plot_tube(model.fit(X, y), X, y, ax=ax)
        ax.set(title=f"{len(model.support_)} support vectors", ylabel="")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
    panels[0].set_ylabel("$y$")
    plt.show()


# %%
# The width of the tube
# ---------------------
# A wide tube contains almost all samples, and a few on its edge are the whole model. A narrow tube
# leaves most samples outside.

kernel = Gaussian(1.0)
side_by_side(SVR(C=10.0, epsilon=0.4, kernel=kernel), SVR(C=10.0, epsilon=0.1, kernel=kernel))

# %%
# Ask for a fraction instead
# --------------------------
# :class:`mercer.NuSVR` finds the width itself: at most a fraction nu of the samples is outside the
# tube, and at least a fraction nu are support vectors. Here nu is 0.1 and 0.5.

few, many = (NuSVR(nu=nu, C=10.0, kernel=kernel) for nu in (0.1, 0.5))
side_by_side(few, many)
for model in (few, many):
    outside = np.mean(np.abs(y - model.predict(X)) > model.epsilon_ + model.tol)
    support = len(model.support_) / len(X)
    print(f"nu = {model.nu:.0%}: epsilon = {model.epsilon_:.3f}, {outside:.0%} outside, ", end="")
    print(f"{support:.0%} support vectors")

# %%
# Outliers
# --------
# Six targets are outliers. With the squared loss, ridge regression follows them; the
# epsilon-insensitive loss grows only linearly, and the bound C on each coefficient limits what one
# sample can do.

spoiled = y.copy()
spoiled[20:80:10] += 6
t = np.linspace(0, 6, 300)
robust, squared = SVR(C=1.0, kernel=kernel), KernelRidge(0.5, kernel=kernel)
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.plot(x, spoiled, "o", color="0.6", markersize=4)
ax.plot(t, np.sin(t) + 0.3 * t, color="0.2", linewidth=1.2, linestyle=":", label="truth")
for model, hue in ((robust, "#4477aa"), (squared, "#cc6677")):
    f = model.fit(X, spoiled).predict(t[:, None])
    ax.plot(t, f, color=hue, linewidth=2, label=type(model).__name__)
ax.set(xlabel="$x$", ylabel="$y$")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
