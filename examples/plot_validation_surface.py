r"""
The validation surface
======================

Two numbers decide the result of kernel ridge regression: the penalty (alpha, or
:math:`\lambda` = alpha / n) and the width :math:`\sigma` of the kernel. Cross-validation gives each
pair a score: trained on four fifths of the data, how well does the model predict the last one? The
scores form a surface over the two parameters, and the best model is at its top.

:ref:`sphx_glr_auto_examples_plot_ridge_fits.py` shows what each parameter does alone.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict

from mercer import Gaussian, KernelLogisticRegression, KernelRidge, KernelRidgeCV

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(-0.5, 1.5, 80))
y = np.sin(5 * x) * np.exp(-0.5 * x) + rng.normal(0, 0.25, x.size)
X = x[:, None]

# %%
# The surface
# -----------
# :class:`mercer.KernelRidgeCV` runs the whole procedure. A quarter of the data is set aside, the
# rest is split into five folds, every setting is scored on each fold by the model fitted to the
# other four, and the best one is scored on the test set. For each width, one eigendecomposition
# gives the scores of all penalties and all folds: 20 of them replace 2500 fits.

alphas, widths = np.logspace(-6, 2, 25), np.geomspace(0.03, 3, 20)
search = KernelRidgeCV(
    alphas,
    kernel=Gaussian(),
    param_grid={"kernel__lengthscale": widths},
    cv=KFold(5, shuffle=True, random_state=0),
    test_size=0.25,
    random_state=0,
).fit(X, y)
print(f"chosen: alpha = {search.alpha_:.2g}, kernel = {search.kernel_}")
print(f"squared error in cross-validation {-search.best_score_:.3f}, on the test set "
      f"{-search.test_score_:.3f}; the noise alone has {0.25**2:.3f}")  # fmt: skip

places = {
    "A: penalty too large": (23, 7),
    "B: penalty too small": (2, 4),
    "C: width too large": (14, 18),
    "D: width too small": (14, 0),
}
ax = search.plot()
for name, (i, j) in places.items():
    ax.text(i, j, name[0], color="w", weight="bold", ha="center", va="center", size="large")
ax.set(xlabel="penalty alpha", ylabel="width (lengthscale)")
plt.show()

# %%
# Four kinds of poor fit
# ----------------------
# Where the surface is low the fit is poor, for a different reason at each border of the map.


def draw(ax, alpha, width, title):
    """The data, and the fit of one setting."""
    grid = np.linspace(-0.5, 1.5, 400)
    model = KernelRidge(alpha, kernel=Gaussian(width)).fit(X, y)
    ax.plot(x, y, "o", color="0.65", markersize=3)
    ax.plot(grid, model.predict(grid[:, None]), color="#4477aa", linewidth=2)
    ax.set_title(f"{title}\nalpha = {alpha:.2g}, width = {width:.2g}", fontsize="small")
    ax.set(ylim=(-1.6, 1.6))
    ax.spines[["top", "right"]].set_visible(False)


fig, panels = plt.subplots(1, 5, figsize=(12, 2.8), sharey=True, layout="constrained")
for ax, (name, (i, j)) in zip(panels, places.items(), strict=False):
    draw(ax, alphas[i], widths[j], name)
draw(panels[4], search.alpha_, search.kernel_.lengthscale, "the best setting")
plt.show()

# %%
# Labels: leaving one out without refitting
# -----------------------------------------
# For :class:`mercer.KernelLogisticRegression` there is no closed form, but one Newton step for each
# sample comes close (:meth:`mercer.KernelLogisticRegression.leave_one_out_loss`): one factorisation
# replaces n fits, whose results are shown as dots. The loss on the training data keeps decreasing
# with the penalty; the leave-one-out loss rises again, as does the loss on new data. Far to the
# left, where single samples decide, one step is not enough, and the estimate is too optimistic.

signal = np.sin(5 * x) * np.exp(-0.5 * x)
labels = (signal + rng.logistic(0, 0.3, x.size) > 0).astype(int)
fresh = rng.uniform(-0.5, 1.5, 4000)
truth = np.sin(5 * fresh) * np.exp(-0.5 * fresh) + rng.logistic(0, 0.3, fresh.size) > 0

penalties = np.logspace(-4, 2, 25)
models = [KernelLogisticRegression(a, kernel=Gaussian(0.3)).fit(X, labels) for a in penalties]
curves = {
    "training data": [log_loss(labels, m.predict_proba(X)) for m in models],
    "leave-one-out, one fit": [m.leave_one_out_loss() for m in models],
    "4000 new samples": [log_loss(truth, m.predict_proba(fresh[:, None])) for m in models],
}
refits = [
    log_loss(labels, cross_val_predict(m, X, labels, cv=LeaveOneOut(), method="predict_proba"))
    for m in models[::4]
]
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for (name, values), style in zip(curves.items(), (":", "-", "--"), strict=True):
    ax.semilogx(penalties, values, style, color="#4477aa", linewidth=2, label=name)
ax.plot(penalties[::4], refits, "o", color="#4477aa", label=f"leave-one-out, {len(x)} fits")
ax.set(xlabel="penalty alpha", ylabel="log loss", ylim=(0.2, 0.9))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
