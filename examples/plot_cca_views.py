r"""
What two views have in common
=============================

The same samples are seen twice: by two instruments, in two languages, as picture and caption.
Canonical correlation analysis looks for a function of each view such that the two are correlated.
With a kernel for each view, these are functions in its space,

.. math:: \max_{f, g} \frac{\operatorname{cov}(f(X), g(Y))}
          {\sqrt{\operatorname{var} f(X) + \lambda \|f\|^2}
           \sqrt{\operatorname{var} g(Y) + \lambda \|g\|^2}}

Below, both views follow one hidden angle. The first goes around a circle once while the second goes
around twice, and both are noisy.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import CCA, KernelCCA, KernelCCACV

rng = np.random.default_rng(0)


def draw(n):
    angle = rng.uniform(0, 2 * np.pi, n)
    once = np.column_stack([np.cos(angle), np.sin(angle)])
    twice = np.column_stack([np.cos(2 * angle), np.sin(2 * angle)])
    return once + rng.normal(0, 0.3, (n, 2)), twice + rng.normal(0, 0.3, (n, 2))


X, Y = draw(120)
X_new, Y_new = draw(1000)

# %%
# Straight lines are not enough
# -----------------------------
# No coordinate of one view is correlated with one of the other. Functions of a Gaussian kernel are,
# also on samples that were not used to find them.

linear = CCA(2).fit(X, Y)
model = KernelCCA(2, regularization=0.01).fit(X, Y)
print("linear, on new samples:  ", linear.correlations(X_new, Y_new).round(2))
print("Gaussian, on new samples:", model.correlations(X_new, Y_new).round(2))

# %%
# The canonical functions are elements of the spaces of their kernels: they can be evaluated, drawn
# and added. Colours show f on the plane of the first view and g on that of the second, with the
# training samples. A sample in a red region on the left is also in one on the right: two opposite
# quarters of the first circle are one half of the second.

fig, rows = plt.subplots(2, 2, figsize=(7.6, 7.4), layout="constrained")
axis = np.linspace(-1.9, 1.9, 120)
grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
for component, panels in enumerate(rows):
    for view, (ax, data) in enumerate(zip(panels, (X, Y), strict=True)):
        values = model.project(grid, view)[:, component].reshape(120, 120)
        ax.contourf(axis, axis, values, np.linspace(-2, 2, 17), cmap="RdBu_r", extend="both")
        ax.plot(*data.T, "o", color="black", markersize=2.5, alpha=0.7)
        ax.set(aspect="equal", xticks=[], yticks=[])
        ax.set_title(f"{'fg'[view]}$_{component + 1}$ on view {view + 1}", fontsize="medium")
plt.show()

# %%
# Regularization decides
# ----------------------
# A rich space contains functions that agree on any finite sample. Without regularization the
# correlation on the training samples tends to 1, and means nothing. What matters is the correlation
# on new samples; cross-validation estimates it from the training samples alone.

path = np.logspace(-7, 1, 17)
training, held_out = [], []
for regularization in path:
    fitted = KernelCCA(2, regularization=regularization).fit(X, Y)
    training.append(fitted.correlations(X, Y).mean())
    held_out.append(fitted.correlations(X_new, Y_new).mean())
chosen = KernelCCACV(path, 2).fit(X, Y)

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ax.semilogx(path, training, color="#4477aa", label="training samples")
ax.semilogx(path, held_out, color="#cc6677", label="new samples")
ax.semilogx(
    path,
    chosen.cv_results_["mean_test_score"],
    "--",
    color="#cc6677",
    linewidth=1,
    label="cross-validation on the training samples",
)
ax.axvline(chosen.regularization_, color="0.6", linewidth=1)
ax.set(xlabel="regularization $\\lambda$", ylabel="mean correlation of two pairs", ylim=(0, 1.03))
ax.legend(frameon=False, loc="lower right")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
