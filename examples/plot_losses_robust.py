r"""
Outliers and robust losses
==========================

:class:`mercer.KernelMachine` minimises

.. math:: \sum_i L(y_i, f(x_i) + b) + \tfrac{\alpha}{2} \|f\|^2

for any convex loss L. The influence of a sample on f is bounded by the slope of its loss. The slope
of the squared loss grows with the error, so a single outlier bends the curve. The absolute loss has
slope ±1 everywhere, and Huber's loss is between the two: quadratic for small errors, where the
noise is, and linear for large ones.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Absolute, Gaussian, Huber, KernelMachine, Squared
from mercer.plots.regression import plot_fit

losses = {"squared": Squared(), "Huber": Huber(0.5), "absolute": Absolute()}
hues = "#4477aa", "#cc6677", "#228833"

# %%
# Losses and their slopes
# -----------------------

r, zero = np.linspace(-3, 3, 301), np.zeros(301)
fig, panels = plt.subplots(1, 2, figsize=(9.6, 3.0), layout="constrained")
for (name, loss), hue in zip(losses.items(), hues, strict=True):
    panels[0].plot(r, loss.value(zero, r), color=hue, linewidth=2, label=name)
    panels[1].plot(r, loss.slope(zero, r), color=hue, linewidth=2)
panels[0].set(xlabel="error $f - y$", ylabel="loss", ylim=(-0.1, 4))
panels[1].set(xlabel="error $f - y$", ylabel="slope: the pull on $f$")
panels[0].legend(frameon=False)
for ax in panels:
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One value in ten is wrong
# -------------------------

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0, 6, 100))
X, truth = x[:, None], np.sin(x)
y = truth + rng.normal(0, 0.15, 100)
wrong = rng.choice(100, 10, replace=False)
y[wrong] += rng.uniform(3, 6, 10)

fig, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
models = {name: KernelMachine(Gaussian(), loss, 0.2).fit(X, y) for name, loss in losses.items()}
for name, model in models.items():
    error = np.sqrt(np.mean((model.predict(X) - truth) ** 2))
    plot_fit(model, X, y if name == "squared" else None, ax, label=f"{name}: error {error:.2f}")
t = np.linspace(0, 6, 200)
ax.plot(t, np.sin(t), ":", color="0.2", linewidth=1.6, label="truth", zorder=4)
ax.legend(frameon=False)
plt.show()

# %%
# The influence of each sample
# ----------------------------
# At the solution α c_i is minus the slope of the loss at sample i. The largest coefficients of the
# squared loss are those of the wrong values; the other two losses cap them.

fig, panels = plt.subplots(1, 3, figsize=(9.6, 2.8), sharex=True, sharey=True, layout="constrained")
for ax, (name, model), hue in zip(panels, models.items(), hues, strict=True):
    ax.vlines(x, 0, model.alpha * model.dual_coef_, color=hue, linewidth=1)
    ax.plot(x[wrong], model.alpha * model.dual_coef_[wrong], "o", color="0.2", markersize=3)
    ax.set(title=name, xlabel="$x$")
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel(r"$\alpha c_i$ (dots: wrong values)")
plt.show()
