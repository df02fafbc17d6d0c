r"""
The hinge loss and its relatives
================================

A classifier sign f(x) should make few mistakes. Counting them is the zero-one loss of the margin
u = y f(x): one if u is negative, else zero. It is neither convex nor continuous, and minimising it
is hard. The hinge loss max(0, 1 - u) is a convex upper bound, and zero from u = 1 on, so
samples beyond the margin do not matter at all: that is why there are few support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LSSVC, SVC, Gaussian
from mercer.plots.svm import plot_losses

plot_losses()
plt.show()

# %%
# What the flat part does
# -----------------------
# The squared loss (1 - u)² of a least-squares SVM is also convex, but it pulls back samples that
# are right by a wide margin, and no coefficient is zero. The hinge loss leaves those samples alone:
# they spread to the right of u = 1, and their coefficients vanish.

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 2))
y = np.where(X[:, 0] + np.sin(3 * X[:, 1]) + rng.normal(0, 0.3, 400) > 0, 1, -1)
machines = SVC(kernel=Gaussian()), LSSVC(kernel=Gaussian())

fig, panels = plt.subplots(1, 2, figsize=(9.6, 3.2), sharex=True, sharey=True, layout="constrained")
for ax, model in zip(panels, machines, strict=True):
    u = y * model.fit(X, y).decision_function(X)
    used = np.count_nonzero(model.dual_coef_)
    ax.hist(u, bins=np.linspace(-2, 3, 51), color="#4477aa", alpha=0.8)
    ax.axvline(1, color="0.3", linestyle="--", linewidth=1)
    ax.set_title(f"{type(model).__name__}: {used} of {len(X)} coefficients are not zero")
    ax.set(xlabel="$u = y f(x)$", xlim=(-2, 3))
    ax.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("samples")
plt.show()
